/*
 * Names of MongoDB's queries against a catalog: collections and fields that are not there, through all stages
 * and expressions, and literals that no value of a field can equal; where each is told, and what is meant.
 */
#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Of the orders all were looked at, of the customers some; the documents of "strict" are held to a schema. */
static const char shop[] =
	"{\"format\":1,\"database\":\"shop\",\"sample_size\":1000}\n"
	"{\"collection\":\"orders\",\"kind\":\"collection\",\"sampled\":9,\"complete\":true,\"fields\":[{"
	"\"path\":\"_id\",\"types\":[\"objectId\"]},"
	"{\"path\":\"customer_id\",\"types\":[\"objectId\"]},{\"path\":\"no\",\"types\":[\"int\"]},"
	"{\"path\":\"total\",\"types\":[\"double\",\"int\"]},{\"path\":\"status\",\"types\":[\"string\"]},"
	"{\"path\":\"paid\",\"types\":[\"bool\"]},{\"path\":\"placed\",\"types\":[\"date\"]},"
	"{\"path\":\"note\",\"types\":[\"null\"]},{\"path\":\"mixed\",\"types\":[\"string\",\"int\"]},"
	"{\"path\":\"tags\",\"types\":[\"array\"],\"elements\":[\"string\"]},{\"path\":\"items\",\"types\":["
	"\"array\"],\"elements\":[\"object\"]},"
	"{\"path\":\"items.sku\",\"types\":[\"string\"]},{\"path\":\"items.price\",\"types\":[\"double\"]},"
	"{\"path\":\"items.parts\",\"types\":[\"array\"],\"elements\":[\"object\"]},"
	"{\"path\":\"items.parts.weight\",\"types\":[\"int\"]},{\"path\":\"ship\",\"types\":[\"object\"]},"
	"{\"path\":\"ship.city\",\"types\":[\"string\"]},{\"path\":\"ship.at\",\"types\":[\"date\",\"null\"]}"
	","
	"{\"path\":\"counters\",\"types\":[\"object\"],\"open\":true},{\"path\":\"grid\",\"types\":["
	"\"array\"],\"elements\":[\"array\"]}]}\n"
	"{\"collection\":\"customers\",\"kind\":\"collection\",\"sampled\":1000,\"complete\":false,"
	"\"fields\":[{\"path\":\"_id\",\"types\":[\"objectId\"]},"
	"{\"path\":\"name\",\"types\":[\"string\"]},{\"path\":\"born\",\"types\":[\"date\"]},"
	"{\"path\":\"age\",\"types\":[\"int\"]},{\"path\":\"active\",\"types\":[\"bool\"]},"
	"{\"path\":\"boss\",\"types\":[\"objectId\"]},{\"path\":\"address\",\"types\":[\"object\"]},"
	"{\"path\":\"address.city\",\"types\":[\"string\"]}]}\n"
	"{\"collection\":\"strict\",\"kind\":\"collection\",\"sampled\":3,\"complete\":false,\"fields\":[{"
	"\"path\":\"_id\",\"types\":[\"objectId\"]},"
	"{\"path\":\"a\",\"types\":[\"int\"]},{\"path\":\"in\",\"types\":[\"object\"]},"
	"{\"path\":\"in.b\",\"types\":[\"int\"]},{\"path\":\"loose\",\"types\":[\"object\"]},"
	"{\"path\":\"loose.c\",\"types\":[\"int\"]}],\"validator\":{\"$jsonSchema\":{\"bsonType\":\"object\","
	"\"properties\":{\"_id\":{},\"a\":{\"bsonType\":\"int\"},\"in\":{\"bsonType\":\"object\","
	"\"properties\":{\"b\":{\"bsonType\":\"int\"}},\"additionalProperties\":false},\"loose\":{"
	"\"bsonType\":\"object\"},\"rare\":{\"bsonType\":\"string\"}},\"additionalProperties\":false}},"
	"\"validation_action\":\"error\",\"validation_level\":\"strict\"}\n"
	"{\"collection\":\"Empty\",\"kind\":\"collection\",\"sampled\":0,\"complete\":true,\"fields\":[]}\n"
	"{\"collection\":\"log.entries\",\"kind\":\"view\",\"sampled\":5,\"complete\":false,\"fields\":[{"
	"\"path\":\"msg\",\"types\":[\"string\"]}]}\n";

static struct arena *arena;
static struct catalog *catalog;

static int set_up(void **state)
{
	struct err_detail detail = { "" };
	(void)state;
	arena = arena_new();
	if (catalog_compile_mongodb(str_from(shop), &catalog, &detail) == ERR_OK)
		return 0;
	print_error("%s\n", detail.message);
	return -1;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_unref(catalog);
	arena_free(arena);
	return 0;
}

static struct sql_analysis analyse(str_t text)
{
	struct sql_analysis analysis;
	sql_analyse(
		&(struct sql_request){
			.sql = text, .dialect = SQL_MONGODB, .target_named = true, .catalog = catalog },
		arena, &analysis);
	return analysis;
}

struct mongodb_case {
	const char *text;
	const char *expected; /* code@offset:object of each, separated by spaces */
};

static void assert_cases(const struct mongodb_case *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(buf_free) struct buf found = BUF_INIT;
		struct sql_analysis analysis = analyse(str_from(rows[i].text));
		assert_true(analysis.valid && analysis.names_resolved);
		for (size_t at = 0; at < analysis.diagnostics_count; at++) {
			const struct sql_diagnostic *one = &analysis.diagnostics[at];
			buf_printf(&found, "%s%s@%lld:" STR_FMT, at > 0 ? " " : "", one->code,
				   (long long)one->offset, STR_ARG(one->object));
		}
		str_t text = buf_str(&found);
		if (!str_is(text, rows[i].expected))
			fail_msg("%s\nexpected: %s\nfound: " STR_FMT, rows[i].text, rows[i].expected,
				 STR_ARG(text));
	}
}

static void tells_of_unknown_collections(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.find({no: 1}).limit(1)", "" },
		{ "db.order.find().limit(1)", "unknown_table@3:order" },
		{ "db.ORDERS.find().limit(1)", "unknown_table@3:ORDERS" },
		{ "db.getCollection('log.entries').find({msg: 'x'}).limit(1)", "" },
		{ "db.log.entry.find().limit(1)", "unknown_table@3:log.entry" },
		{ "db.nothing.find({whatever: 1}).limit(1)", "unknown_table@3:nothing" },
		{ "db.system.users.find().limit(1)", "" },
		{ "db.Empty.find({anything: 'x', b: {$gt: 1}}).limit(1)", "" },
		{ "{find: 'orderz', limit: 1}", "unknown_table@7:orderz" },
		{ "{count: 'orders', query: {nope: 1}}", "unknown_field@26:nope" },
		{ "db.orders.aggregate([{$unionWith: 'custmers'}, {$limit: 1}])",
		  "unknown_table@34:custmers" },
		{ "db.orders.aggregate([{$lookup: {from: 'Customers', localField: 'customer_id', "
		  "foreignField: 'x', as: 'c'}}, {$limit: 1}])",
		  "unknown_table@38:Customers" },
		{ "db.aggregate([{$documents: [{a: 1}]}, {$match: {a: 1}}, {$limit: 1}])", "" },
		{ "db.aggregate([{$documents: [{a: 1}]}, {$match: {b: 1}}, {$limit: 1}])",
		  "unknown_field@48:b" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void resolves_filters(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.find({statuz: 'x'}).limit(1)", "unknown_field@16:statuz" },
		{ "db.orders.find({price: 5}).limit(1)", "unknown_field@16:price" },
		{ "db.orders.find({'items.price': 5, 'items.0.price': 6, 'items.parts.0.weight': "
		  "1}).limit(1)",
		  "" },
		{ "db.orders.find({'items.prise': 5}).limit(1)", "unknown_field@16:items.prise" },
		{ "db.orders.find({\"ship.town\": 5}).limit(1)", "unknown_field@16:ship.town" },
		{ "db.orders.find({'status.x': 5}).limit(1)", "unknown_field@16:status.x" },
		{ "db.orders.find({'counters.anything.at.all': 5, 'note.x': 1, 'grid.x': 1}).limit(1)", "" },
		{ "db.orders.find({$or: [{no: 1}, {$and: [{nix: 1}, {nix: 2}]}]}).limit(1)",
		  "unknown_field@40:nix" },
		{ "db.orders.find({items: {$elemMatch: {sku: 'x', colour: 'red'}}}).limit(1)",
		  "unknown_field@47:colour" },
		{ "db.orders.find({tags: {$elemMatch: {$eq: 'x'}}}).limit(1)", "" },
		{ "db.orders.find({items: {$all: [{$elemMatch: {nope: 1}}]}}).limit(1)",
		  "unknown_field@45:nope" },
		{ "db.orders.find({$expr: {$gt: ['$total', '$limit']}}).limit(1)", "unknown_field@40:limit" },
		{ "db.orders.find({a: {$exists: false}, b: null, c: {$eq: null}, d: {$exists: true, $ne: 1}, "
		  "e: {$ne: null}}).limit(1)",
		  "unknown_field@62:d" },
		{ "db.orders.find({$or: [{gone: false}, {$and: [{no: 1}, {gone: {$exists: "
		  "false}}]}]}).limit(1)",
		  "" },
		{ "db.orders.find({$or: [{gone: false}, {left: {$exists: false}}]}).limit(1)",
		  "unknown_field@23:gone" },
		{ "db.orders.find({items: {$elemMatch: {$or: [{lost: null}, {lost: 0}]}}, 'ship.by': "
		  "null}).limit(1)",
		  "" },
		{ "db.strict.find({b: null}).limit(1)", "unknown_column@16:b" },
		{ "db.orders.find({no: {$regex: \"^5\"}}).limit(1)", "type_mismatch@29:no" },
		{ "db.customers.find({age: {$regex: \"^5\"}}).limit(1)", "" },
		{ "db.orders.find({'0': 1}).limit(1)", "unknown_field@16:0" },
		{ "db.orders.find({Status: 'x'}).limit(1)", "unknown_field@16:Status" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void resolves_what_a_find_names(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.find({}, {status: 1, stat: 1}).sort({no: 1, placd: -1}).limit(1)",
		  "unknown_field@54:placd unknown_field@31:stat" },
		{ "db.orders.find({}, {status: 0, nope: 0}).limit(1)", "unknown_field@31:nope" },
		{ "db.orders.find({}, {_id: 0, x: '$ship.city', y: '$ship.zip'}).limit(1)",
		  "unknown_field@48:ship.zip" },
		{ "db.orders.find({tags: 'a'}, {'tags.$': 1, items: {$slice: 2}, 'items.sku': 1}).limit(1)",
		  "" },
		{ "db.orders.find({}, {items: {$elemMatch: {skuu: 'x'}}}).limit(1)",
		  "unknown_field@41:skuu" },
		{ "db.orders.find({}, {ship: {city: 1, street: 1}}).limit(1)",
		  "unknown_field@36:ship.street" },
		{ "db.orders.find({$text: {$search: 'x'}}, {score: {$meta: 'textScore'}}).sort({score: "
		  "{$meta: 'textScore'}}).limit(1)",
		  "" },
		{ "db.orders.distinct('ship.city')", "" },
		{ "db.orders.distinct('ship.cit', {nope: 1})",
		  "unknown_field@32:nope unknown_field@19:ship.cit" },
		{ "db.orders.countDocuments({statu: 'x'})", "unknown_field@26:statu" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void follows_projections(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.aggregate([{$project: {no: 1, t: '$total'}}, {$match: {t: 1, no: 2, _id: 3}}, "
		  "{$limit: 1}])",
		  "type_mismatch@83:_id" },
		{ "db.orders.aggregate([{$project: {no: 1}}, {$sort: {total: -1}}, {$limit: 1}])",
		  "unknown_field@51:total" },
		{ "db.orders.aggregate([{$project: {_id: 0, no: 1}}, {$match: {_id: 1}}, {$limit: 1}])",
		  "unknown_field@60:_id" },
		{ "db.orders.aggregate([{$project: {_id: 0}}, {$match: {_id: 1, no: 1}}, {$limit: 1}])",
		  "unknown_field@53:_id" },
		{ "db.orders.aggregate([{$project: {no: 0, 'ship.at': 0}}, {$match: {no: 1, status: 'x', "
		  "'ship.at': 1, 'ship.city': 'y'}}, {$limit: 1}])",
		  "unknown_field@66:no unknown_field@86:ship.at" },
		{ "db.orders.aggregate([{$project: {'items.sku': 1}}, {$match: {'items.sku': 'x', "
		  "'items.price': 1}}, {$limit: 1}])",
		  "unknown_field@79:items.price" },
		{ "db.orders.aggregate([{$project: {x: {y: '$no', z: {w: 1}}}}, {$match: {'x.y': 1, 'x.q': "
		  "1}}, {$limit: 1}])",
		  "unknown_field@51:x unknown_field@81:x.q" },
		{ "db.orders.aggregate([{$addFields: {double: {$multiply: ['$total', 2]}}}, {$sort: {double: "
		  "1, status: 1, dooble: 1}}, {$limit: 1}])",
		  "unknown_field@104:dooble" },
		{ "db.orders.aggregate([{$set: {'ship.zip': 1, a: {b: 1}}}, {$match: {'ship.zip': 1, "
		  "'ship.city': 'x', 'a.b': 1, 'a.c': 1}}, {$limit: 1}])",
		  "unknown_field@110:a.c" },
		{ "db.orders.aggregate([{$set: {a: '$b', b: 1}}, {$match: {a: 1, b: 1}}, {$limit: 1}])",
		  "unknown_field@32:b" },
		{ "db.orders.aggregate([{$unset: 'ship'}, {$match: {'ship.city': 'x'}}, {$limit: 1}])",
		  "unknown_field@49:ship" },
		{ "db.orders.aggregate([{$unset: ['ship.city', 'nope']}, {$match: {'ship.city': 'x', "
		  "'ship.at': null}}, {$limit: 1}])",
		  "unknown_field@44:nope unknown_field@64:ship.city" },
		{ "db.orders.aggregate([{$set: {old: '$$ROOT'}}, {$set: {'old.x': 1}}, {$match: {'old.no': "
		  "1, 'old.x': 1, x: 1, 'old.old.no': 1}}, {$limit: 1}])",
		  "unknown_field@103:x unknown_field@109:old.old" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void follows_groups(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.aggregate([{$group: {_id: '$status', n: {$sum: 1}, t: {$sum: '$total'}}}, "
		  "{$sort: {n: -1, t: 1, total: 1}}])",
		  "unknown_field@106:total" },
		{ "db.orders.aggregate([{$group: {_id: {s: '$status', y: {$year: '$placed'}}}}, {$project: "
		  "{s: '$_id.s', y: '$_id.y', z: '$_id.z'}}])",
		  "unknown_field@118:_id.z" },
		{ "db.orders.aggregate([{$group: {_id: null, docs: {$push: '$$ROOT'}}}, {$unwind: '$docs'}, "
		  "{$match: {'docs.no': 1, 'docs.nr': 1}}])",
		  "unknown_field@113:docs.nr" },
		{ "db.orders.aggregate([{$group: {_id: '$stats', last: {$last: '$ship'}}}, {$match: "
		  "{'last.city': 'x', 'last.town': 'y'}}])",
		  "unknown_field@36:stats unknown_field@100:last.town" },
		{ "db.orders.aggregate([{$group: {_id: '$no', top: {$top: {output: '$ship', sortBy: {plac: "
		  "1}}}}}, {$match: {'top.city': 'x'}}])",
		  "unknown_field@82:plac" },
		{ "db.orders.aggregate([{$bucket: {groupBy: '$totl', boundaries: [0, 10], output: {n: {$sum: "
		  "1}}}}, {$match: {n: 1, count: 1, _id: 0}}])",
		  "unknown_field@41:totl unknown_field@113:count" },
		{ "db.orders.aggregate([{$bucketAuto: {groupBy: '$total', buckets: 4}}, {$match: {count: 1, "
		  "'_id.min': 1, n: 1}}])",
		  "unknown_field@103:n" },
		{ "db.orders.aggregate([{$count: 'n'}, {$match: {n: 1, no: 2}}])", "unknown_field@52:no" },
		{ "db.orders.aggregate([{$sortByCount: '$status'}, {$match: {_id: 'x', count: 1, status: "
		  "1}}])",
		  "unknown_field@78:status" },
		{ "db.orders.aggregate([{$facet: {a: [{$match: {nope: 1}}, {$limit: 1}], b: [{$count: "
		  "'n'}]}}, {$match: {'a.no': 1, 'a.nr': 1, 'b.n': 1, 'b.no': 1}}])",
		  "unknown_field@45:nope unknown_field@113:a.nr unknown_field@134:b.no" },
		{ "db.orders.aggregate([{$setWindowFields: {partitionBy: '$stat', sortBy: {placed: 1, plced: "
		  "1}, output: {run: {$sum: '$totals', window: {documents: ['unbounded', 'current']}}}}}, "
		  "{$match: {run: 1, rum: 1}}, {$limit: 1}])",
		  "unknown_field@54:stat unknown_field@83:plced unknown_field@115:totals "
		  "unknown_field@195:rum" },
		{ "db.orders.aggregate([{$densify: {field: 'plcd', range: {step: 1, unit: 'day', bounds: "
		  "'full'}}}, {$fill: {sortBy: {placed: 1}, output: {total: {method: 'linear'}, extra: "
		  "{value: '$non'}}}}, {$match: {extra: 1}}, {$limit: 1}])",
		  "unknown_field@40:plcd unknown_field@178:non" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void follows_roots(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.aggregate([{$replaceRoot: {newRoot: '$ship'}}, {$match: {city: 'x', no: 1}}, "
		  "{$limit: 1}])",
		  "unknown_field@78:no" },
		{ "db.orders.aggregate([{$replaceWith: {$mergeObjects: ['$ship', {k: 1}]}}, {$match: {city: "
		  "'x', k: 1, no: 1}}, {$limit: 1}])",
		  "unknown_field@100:no" },
		{ "db.orders.aggregate([{$replaceRoot: {newRoot: {$mergeObjects: [{$arrayElemAt: ['$items', "
		  "0]}, '$$ROOT']}}}, {$match: {sku: 'x', no: 1, zip: 1}}, {$limit: 1}])",
		  "unknown_field@135:zip" },
		{ "db.orders.aggregate([{$replaceRoot: {newRoot: {$arrayToObject: '$tags'}}}, {$match: {any: "
		  "1}}, {$limit: 1}])",
		  "" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void follows_joins(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.aggregate([{$unwind: {path: '$items', includeArrayIndex: 'i'}}, {$match: "
		  "{'items.price': 1, i: 0, j: 0}}, {$limit: 1}])",
		  "unknown_field@108:j" },
		{ "db.orders.aggregate([{$unwind: '$item'}, {$match: {'item.price': 1}}, {$limit: 1}])",
		  "unknown_field@31:item" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'customer_id', "
		  "foreignField: '_id', as: 'c'}}, {$unwind: '$c'}, {$match: {'c.name': 'x', 'c.nam': 'y', "
		  "'c.address.city': 'z'}}, {$limit: 1}])",
		  "unknown_field@152:c.nam" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'cust_id', foreignField: "
		  "'id', as: 'c'}}, {$limit: 1}])",
		  "unknown_field@63:cust_id unknown_field@88:id" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', let: {c: '$customer_id', s: '$ship'}, "
		  "pipeline: [{$match: {$expr: {$eq: ['$_id', '$$c']}}}, {$project: {name: 1, city: "
		  "'$$s.city', town: '$$s.town', no: 1}}], as: 'c'}}, {$match: {'c.name': 'x', 'c.city': "
		  "'y', 'c.age': 1}}, {$limit: 1}])",
		  "unknown_field@188:town unknown_field@200:no unknown_field@261:c.age" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'customer_id', "
		  "foreignField: '_id', pipeline: [{$match: {status: 'x'}}], as: 'ship.who'}}, {$match: "
		  "{'ship.who.name': 'x', 'ship.city': 'y'}}, {$limit: 1}])",
		  "unknown_field@120:status" },
		{ "db.customers.aggregate([{$graphLookup: {from: 'customers', startWith: '$bos', "
		  "connectFromField: 'boss', connectToField: '_idd', as: 'chain', maxDepth: 3, depthField: "
		  "'d', restrictSearchWithMatch: {agee: 1}}}, {$match: {'chain.d': 1, 'chain.name': 'x', "
		  "'chain.x': 1}}, {$limit: 1}])",
		  "unknown_field@70:bos unknown_field@120:_idd unknown_field@197:agee "
		  "unknown_field@252:chain.x" },
		{ "db.orders.aggregate([{$unionWith: {coll: 'customers', pipeline: [{$match: {no: 1}}]}}, "
		  "{$match: {no: 1, name: 'x', nix: 1}}, {$limit: 1}])",
		  "unknown_field@75:no unknown_field@115:nix" },
		{ "db.orders.aggregate([{$lookup: {from: 'gone', localField: 'no', foreignField: 'x', as: "
		  "'g'}}, {$match: {'g.anything': 1}}, {$limit: 1}])",
		  "unknown_table@38:gone" },
		{ "db.orders.aggregate([{$geoNear: {near: [0, 0], distanceField: 'd', query: {nope: 1}}}, "
		  "{$match: {d: 1}}, {$limit: 1}])",
		  "unknown_field@75:nope" },
		{ "db.orders.aggregate([{$search: {text: {path: 'x', query: 'y'}}}, {$match: {nope: 1}}, "
		  "{$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$redact: {$cond: [{$eq: ['$level', 5]}, '$$PRUNE', '$$DESCEND']}}, "
		  "{$limit: 1}])",
		  "" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void resolves_expressions(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.aggregate([{$project: {x: {$map: {input: '$items', as: 'i', in: {p: "
		  "'$$i.price', q: '$$i.qty', r: '$$ROOT.no', s: '$$CURRENT.nr'}}}}}, {$match: {'x.p': 1, "
		  "'x.z': 1}}, {$limit: 1}])",
		  "unknown_field@94:qty unknown_field@124:nr unknown_field@165:x.z" },
		{ "db.orders.aggregate([{$project: {x: {$filter: {input: '$items', cond: {$gt: "
		  "['$$this.price', '$$this.cost']}}}}}, {$match: {'x.sku': 'a', 'x.cost': 1}}, {$limit: "
		  "1}])",
		  "unknown_field@93:cost unknown_field@138:x.cost" },
		{ "db.orders.aggregate([{$project: {x: {$reduce: {input: '$items', initialValue: {n: 0}, in: "
		  "{n: {$add: ['$$value.n', '$$this.price', '$$this.nope']}}}}}}, {$match: {'x.any': 1}}, "
		  "{$limit: 1}])",
		  "unknown_field@131:nope" },
		{ "db.orders.aggregate([{$project: {x: {$let: {vars: {s: '$ship', u: {$objectToArray: "
		  "'$counters'}}, in: {c: '$$s.city', d: '$$s.nope', e: '$$u.k'}}}}}, {$limit: 1}])",
		  "unknown_field@121:nope" },
		{ "db.orders.aggregate([{$project: {x: {$cond: [{$gt: ['$totl', 1]}, '$ship', '$$REMOVE']}, "
		  "y: {$cond: {if: '$paid', then: '$ship', else: {zip: 1}}}}}, {$match: {'x.city': 'a', "
		  "'x.zip': 1, 'y.city': 'a', 'y.zip': 1, 'y.no': 1}}, {$limit: 1}])",
		  "unknown_field@52:totl unknown_field@174:x.zip unknown_field@213:y.no" },
		{ "db.orders.aggregate([{$project: {x: {$ifNull: ['$ship', {}]}, y: {$switch: {branches: "
		  "[{case: '$pay', then: '$ship'}], default: null}}}}, {$match: {'x.city': 'a', 'x.no': 1, "
		  "'y.city': 'a', 'y.no': 1}}, {$limit: 1}])",
		  "unknown_field@94:pay unknown_field@163:x.no unknown_field@189:y.no" },
		{ "db.orders.aggregate([{$project: {x: {$concatArrays: ['$items', [{extra: 1}]]}, y: "
		  "{$literal: {a: 1}}}}, {$match: {'x.sku': 'a', 'x.extra': 1, 'x.no': 1, 'y.b': 1}}, "
		  "{$limit: 1}])",
		  "unknown_field@142:x.no" },
		{ "db.orders.aggregate([{$match: {$expr: {$in: ['$status', ['a', '$ship.nope']]}}}, {$limit: "
		  "1}])",
		  "unknown_field@62:ship.nope" },
		{ "db.orders.aggregate([{$project: {x: {$dateToString: {format: '%Y', date: '$placd'}}, y: "
		  "{$getField: 'any'}, z: '$$NOW'}}, {$limit: 1}])",
		  "unknown_field@73:placd" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void knows_what_a_validator_refuses(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.strict.find({a: 1, 'in.b': 2, rare: 'x', 'loose.c': 1}).limit(1)", "" },
		{ "db.strict.find({b: 1}).limit(1)", "unknown_column@16:b" },
		{ "db.strict.find({'in.c': 1, 'loose.d': 1}).limit(1)",
		  "unknown_column@16:in.c unknown_field@27:loose.d" },
		{ "db.strict.aggregate([{$project: {a: 1}}, {$match: {b: 1}}, {$limit: 1}])",
		  "unknown_field@51:b" },
		{ "db.strict.find({a: 'x', rare: 5}).limit(1)", "type_mismatch@19:a type_mismatch@30:rare" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void compares_types(void **state)
{
	static const struct mongodb_case rows[] = {
		{ "db.orders.find({placed: {$gte: '2024-01-01', $lt: ISODate('2024-02-01')}}).limit(1)",
		  "type_mismatch@31:placed" },
		{ "db.orders.find({_id: '507f1f77bcf86cd799439011'}).limit(1)", "type_mismatch@21:_id" },
		{ "db.orders.find({total: '5'}).limit(1)", "type_mismatch@23:total" },
		{ "db.orders.find({status: 5}).limit(1)", "type_mismatch@24:status" },
		{ "db.orders.find({total: {$in: ['1', '2']}}).limit(1)", "type_mismatch@30:total" },
		{ "db.orders.find({total: {$in: ['1', 2]}}).limit(1)", "" },
		{ "db.orders.find({total: {$nin: []}, no: null, status: /^x/}).limit(1)", "" },
		{ "db.orders.find({tags: 5}).limit(1)", "type_mismatch@22:tags" },
		{ "db.orders.find({tags: 'x', mixed: 5, note: 'x', 'counters.x': 'y', grid: 'x'}).limit(1)",
		  "" },
		{ "db.orders.find({mixed: true}).limit(1)", "type_mismatch@23:mixed" },
		{ "db.orders.find({paid: 'true'}).limit(1)", "type_mismatch@22:paid" },
		{ "db.orders.find({no: /^5/}).limit(1)", "type_mismatch@20:no" },
		{ "db.orders.find({'ship.at': '2024-01-01'}).limit(1)", "type_mismatch@27:ship.at" },
		{ "db.orders.find({'items.price': {$gt: '5'}}).limit(1)", "type_mismatch@37:items.price" },
		{ "db.orders.find({items: {$elemMatch: {price: {$gt: '5'}}}}).limit(1)",
		  "type_mismatch@50:price" },
		{ "db.orders.find({items: 'x'}).limit(1)", "type_mismatch@23:items" },
		{ "db.orders.find({tags: {$all: ['x', 5]}}).limit(1)", "type_mismatch@35:tags" },
		{ "db.orders.find({total: {$not: {$gt: 'x'}}}).limit(1)", "type_mismatch@36:total" },
		{ "db.orders.find({total: '$no'}).limit(1)", "type_mismatch@23:total" },
		{ "db.orders.find({ship: {city: 'x'}, tags: ['x']}).limit(1)", "" },
		{ "db.customers.find({born: '1980-01-01', age: '5'}).limit(1)",
		  "type_mismatch@25:born type_mismatch@44:age" },
		{ "db.customers.find({name: 5}).limit(1)", "type_mismatch@25:name" },
		{ "db.customers.find({active: 'true', age: true, born: 5}).limit(1)", "" },
		{ "db.customers.find({boss: 'x'}).limit(1)", "type_mismatch@25:boss" },
		{ "db.orders.aggregate([{$match: {$expr: {$gt: ['$placed', '2024-01-01']}}}, {$limit: 1}])",
		  "type_mismatch@56:placed" },
		{ "db.orders.aggregate([{$match: {$expr: {$eq: ['x', '$no']}}}, {$limit: 1}])",
		  "type_mismatch@45:no" },
		{ "db.orders.aggregate([{$match: {$expr: {$in: ['$no', ['1', '2']]}}}, {$limit: 1}])",
		  "type_mismatch@53:no" },
		{ "db.orders.aggregate([{$match: {$expr: {$eq: ['$items.price', 'x']}}}, {$limit: 1}])", "" },
		{ "db.orders.aggregate([{$match: {$expr: {$eq: [{$year: '$placed'}, '2024']}}}, {$limit: "
		  "1}])",
		  "type_mismatch@65:$year" },
		{ "db.orders.aggregate([{$unwind: '$items'}, {$match: {'items.price': 'x', $expr: {$eq: "
		  "['$items.sku', 5]}}}, {$limit: 1}])",
		  "type_mismatch@67:items.price type_mismatch@100:items.sku" },
		{ "db.orders.aggregate([{$group: {_id: '$status', n: {$sum: 1}}}, {$match: {n: {$gt: '5'}, "
		  "_id: 5}}])",
		  "type_mismatch@82:n type_mismatch@93:_id" },
		{ "db.orders.aggregate([{$project: {x: {$filter: {input: '$items', as: 'i', cond: {$eq: "
		  "['$$i.price', 'x']}}}}}, {$limit: 1}])",
		  "type_mismatch@99:i.price" },
		{ "db.orders.aggregate([{$set: {total: {$toString: '$total'}}}, {$match: {total: '5'}}, "
		  "{$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$set: {placed: {$dateToString: {date: '$placed', format: '%Y'}}}}, "
		  "{$match: {placed: '2024'}}, {$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'customer_id', "
		  "foreignField: '_id', as: 'c'}}, {$match: {'c.age': '5', c: []}}, {$limit: 1}])",
		  "type_mismatch@129:c.age" },
		{ "db.runCommand({aggregate: 'orders', pipeline: [{$match: {$expr: {$eq: ['$no', '$$x']}}}, "
		  "{$limit: 1}], cursor: {}, let: {x: '5'}})",
		  "type_mismatch@71:no" },
		{ "db.customers.find({age: ''}).limit(1)", "" },
		{ "db.orders.aggregate([{$match: {total: {$ne: ''}, $expr: {$ne: ['$no', '']}}}, {$limit: "
		  "1}])",
		  "" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'customer_id', "
		  "foreignField: 'name', as: 'c'}}, {$limit: 1}])",
		  "type_mismatch@63:customer_id" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'total', foreignField: "
		  "'age', as: 'c'}}, {$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'tags', foreignField: "
		  "'name', as: 'c'}}, {$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'tags', foreignField: "
		  "'age', as: 'c'}}, {$limit: 1}])",
		  "type_mismatch@63:tags" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'paid', foreignField: "
		  "'active', as: 'c'}}, {$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'paid', foreignField: "
		  "'age', as: 'c'}}, {$limit: 1}])",
		  "" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', let: {n: '$no'}, pipeline: [{$match: "
		  "{$expr: {$eq: ['$name', '$$n']}}}], as: 'c'}}, {$limit: 1}])",
		  "type_mismatch@103:name" },
		{ "db.orders.aggregate([{$match: {$expr: {$gt: ['$total', '$no']}}}, {$limit: 1}])", "" },
		{ "db.orders.aggregate([{$match: {$expr: {$gt: ['$placed', '$ship.city']}}}, {$limit: 1}])",
		  "type_mismatch@45:placed" },
		{ "db.orders.aggregate([{$match: {$expr: {$eq: ['$tags', '$no']}}}, {$limit: 1}])", "" },
	};
	(void)state;
	assert_cases(rows, COUNT_OF(rows));
}

static void says_what_may_be_meant(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "db.ORDERS.findOne()", "there is no collection \"ORDERS\"; did you mean \"orders\"?" },
		{ "db.custmers.findOne()",
		  "there is no collection \"custmers\"; did you mean \"customers\"?" },
		{ "db.nothing.findOne()", "there is no collection \"nothing\"" },
		{ "db.orders.findOne({Status: 'x'})",
		  "no document of \"orders\" that was looked at has a field \"Status\"; did you mean "
		  "\"status\"?" },
		{ "db.orders.findOne({customerId: null, id: 1})",
		  "no document of \"orders\" that was looked at has a field \"id\"; did you mean \"_id\"?" },
		{ "db.orders.aggregate([{$sort: {customerId: 1}}, {$limit: 1}])",
		  "no document of \"orders\" that was looked at has a field \"customerId\"; did you mean "
		  "\"customer_id\"?" },
		{ "db.orders.findOne({price: 1})",
		  "no document of \"orders\" that was looked at has a field \"price\"; did you mean "
		  "\"items.price\"?" },
		{ "db.orders.findOne({'ship.weight': 1})",
		  "no document of \"orders\" that was looked at has a field \"ship.weight\"; did you mean "
		  "\"items.parts.weight\"?" },
		{ "db.orders.findOne({items: {$elemMatch: {prize: 1}}})",
		  "no document of \"orders\" that was looked at has a field \"prize\"; did you mean "
		  "\"price\"?" },
		{ "db.orders.findOne({nothing: 1})",
		  "no document of \"orders\" that was looked at has a field \"nothing\"" },
		{ "db.orders.aggregate([{$group: {_id: '$no', sum: {$sum: '$total'}}}, {$sort: {sums: 1}}])",
		  "the documents have no field \"sums\" here; did you mean \"sum\"?" },
		{ "db.orders.aggregate([{$unset: 'no'}, {$match: {no: 1}}, {$limit: 1}])",
		  "the documents have no field \"no\" here" },
		{ "db.strict.findOne({Rare: 'x'})",
		  "the validator of \"strict\" lets no field \"Rare\" in; did you mean "
		  "\"rare\"?" },
		{ "db.orders.findOne({placed: '2024-01-01'})",
		  "\"placed\" holds dates and is compared with a string; write ISODate(\"\u2026\")" },
		{ "db.orders.findOne({_id: 'x'})",
		  "\"_id\" holds ObjectIds and is compared with a string; write ObjectId(\"\u2026\")" },
		{ "db.orders.findOne({no: '5'})",
		  "\"no\" holds numbers and is compared with a string; leave the quotes out" },
		{ "db.orders.findOne({no: '$total'})",
		  "\"no\" holds numbers and is compared with a string; a path is read within $expr alone" },
		{ "db.orders.aggregate([{$lookup: {from: 'customers', localField: 'customer_id', "
		  "foreignField: 'name', "
		  "as: 'c'}}, {$limit: 1}])",
		  "\"customer_id\" holds ObjectIds and is compared with \"name\", which holds strings" },
		{ "db.orders.findOne({mixed: true})",
		  "\"mixed\" holds values of other types and is compared with a boolean" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sql_analysis analysis = analyse(str_from(rows[i].text));
		assert_int_equal(analysis.diagnostics_count, 1);
		assert_string_equal(analysis.diagnostics[0].message.ptr, rows[i].message);
	}
}

/* Fields are warned of, since documents that were not looked at may have them. */
static void warns_of_fields(void **state)
{
	(void)state;
	struct sql_analysis analysis = analyse(STR("db.orders.findOne({nope: 1})"));
	assert_int_equal(analysis.diagnostics[0].severity, SQL_WARNING);
	assert_null(analysis.diagnostics[0].sqlstate);
	analysis = analyse(STR("db.strict.findOne({nope: 1})"));
	assert_int_equal(analysis.diagnostics[0].severity, SQL_ERROR);
}

static void says_nothing_without_a_catalog(void **state)
{
	struct sql_analysis analysis;
	(void)state;
	sql_analyse(&(struct sql_request){ .sql = STR("db.gone.findOne({nope: 1})"), .dialect = SQL_MONGODB },
		    arena, &analysis);
	assert_true(analysis.valid && !analysis.names_resolved);
	assert_int_equal(analysis.diagnostics_count, 0);
}

/* Its own database has a name, by which it may be called: then names are those of the catalog. */
static void knows_the_database(void **state)
{
	static const char *const others[] = { "db.getSiblingDB('Shop').gone.findOne()",
					      "db.getSiblingDB('shop.').orders.findOne()" };
	(void)state;
	struct sql_analysis named = analyse(STR("db.getSiblingDB('shop').orders.findOne({nope: 1})"));
	struct sql_analysis plain = analyse(STR("db.orders.findOne({nope: 1})"));
	assert_true(named.verdict == SQL_UNKNOWN && plain.verdict == SQL_SAFE);
	assert_true(named.names_resolved && named.diagnostics_count == 1);
	assert_string_equal(named.canonical.ptr, plain.canonical.ptr);
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		struct sql_analysis other = analyse(str_from(others[i]));
		assert_true(other.verdict == SQL_UNKNOWN && !other.names_resolved);
		assert_int_equal(other.diagnostics_count, 0);
	}
}

/* Stages that build on each other, and on themselves. */
static str_t long_pipeline(struct buf *buf, const char *stage)
{
	buf_reset(buf);
	buf_append_text(buf, "db.orders.aggregate([");
	while (buf->len < 60000)
		buf_printf(buf, "%s, ", stage);
	buf_append_text(buf, "{$match: {nope: 1}}, {$limit: 1}])");
	return buf_str(buf);
}

static void is_bounded(void **state)
{
	static const char *const stages[] = {
		"{$set: {all: '$$ROOT'}}",
		"{$set: {x: {$ifNull: ['$x', '$x.y']}}}",
		"{$set: {x: {$map: {input: '$$ROOT', in: ['$$this', '$$this.x']}}}}",
		"{$unionWith: 'customers'}",
		"{$unionWith: {coll: 'orders', pipeline: [{$set: {a: '$$ROOT'}}]}}",
		"{$replaceWith: {$mergeObjects: ['$$ROOT', '$ship']}}",
		"{$facet: {a: [{$set: {'b.c': 1}}], b: []}}",
		"{$lookup: {from: 'orders', localField: 'no', foreignField: 'no', as: 'o'}}",
		"{$unwind: '$items'}",
	};
	_cleanup_(buf_free) struct buf buf = BUF_INIT;
	(void)state;
	for (size_t i = 0; i < COUNT_OF(stages); i++) {
		struct sql_analysis analysis = analyse(long_pipeline(&buf, stages[i]));
		assert_true(analysis.valid && analysis.names_resolved);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_of_unknown_collections),
		cmocka_unit_test(resolves_filters),
		cmocka_unit_test(resolves_what_a_find_names),
		cmocka_unit_test(follows_projections),
		cmocka_unit_test(follows_groups),
		cmocka_unit_test(follows_roots),
		cmocka_unit_test(follows_joins),
		cmocka_unit_test(resolves_expressions),
		cmocka_unit_test(knows_what_a_validator_refuses),
		cmocka_unit_test(compares_types),
		cmocka_unit_test(says_what_may_be_meant),
		cmocka_unit_test(warns_of_fields),
		cmocka_unit_test(says_nothing_without_a_catalog),
		cmocka_unit_test(knows_the_database),
		cmocka_unit_test(is_bounded),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
