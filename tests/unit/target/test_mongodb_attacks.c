/*
 * Texts that write, run code or tell of the server, handed to the engine of a MongoDB target all the same:
 * none is SAFE, none is run, and all databases are the same afterwards. The server does write when it is
 * asked to: what the parser reads of such texts is sent past the engine as well, and then something changes.
 */
#include <mongoc/mongoc.h> // first: it calls what banned.h forbids

#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/fixtures/streams.h"
#include "tests/harness/servers/mongodb.h"

#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/mongodb/command.h"
#include "target/engine.h"
#include "target/mongodb_values.h"
#include "tests/unit/target/calls.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define STEP		5    /* of places */
#define LOOK_EACH	2000 /* attacks */
#define DEEPEST		120  /* documents in each other that are tried: more than are allowed */
#define WORD_LENGTH	3    /* of wrappers in each other, in every order */

static struct test_mongodb server;
static mongoc_client_t *client;
static struct worker_settings settings;
static const struct engine *engine;
static void *session;
static struct buf world = BUF_INIT;
static size_t tried;

/* --- the world --- */

static const char *const contents[][3] = {
	{ "shop", "people", "{\"_id\": 1, \"name\": \"Ann\", \"a\": [1, 2], \"b\": {\"c\": 3}}" },
	{ "shop", "people", "{\"_id\": 2, \"name\": \"Bo\", \"a\": [], \"b\": {\"c\": null}}" },
	{ "shop", "orders", "{\"_id\": 1, \"person\": 1, \"amount\": 5}" },
	{ "shop", "orders", "{\"_id\": 2, \"person\": 2, \"amount\": 7}" },
	{ "other", "people", "{\"_id\": 1, \"name\": \"Cy\"}" },
};

static void drop_world(void)
{
	static const char *const names[] = { "shop", "other" };
	bson_error_t error;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		mongoc_database_t *database = mongoc_client_get_database(client, names[i]);
		if (!mongoc_database_drop(database, &error))
			fail_msg("%s", error.message);
		mongoc_database_destroy(database);
	}
}

static void make_world(void)
{
	bson_error_t error;
	drop_world();
	for (size_t i = 0; i < COUNT_OF(contents); i++) {
		mongoc_collection_t *collection =
			mongoc_client_get_collection(client, contents[i][0], contents[i][1]);
		bson_t *document = bson_new_from_json((const uint8_t *)contents[i][2], -1, &error);
		assert_non_null(document);
		if (!mongoc_collection_insert_one(collection, document, NULL, NULL, &error))
			fail_msg("%s", error.message);
		bson_destroy(document);
		mongoc_collection_destroy(collection);
	}
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void sort_names(char **names)
{
	size_t count = 0;
	assert_non_null(names);
	while (names[count])
		count++;
	qsort(names, count, sizeof *names, by_text);
}

static void look_at_collection(const char *database, const char *name, struct buf *seen)
{
	mongoc_collection_t *collection = mongoc_client_get_collection(client, database, name);
	bson_t all = BSON_INITIALIZER;
	mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(collection, &all, NULL, NULL);
	const bson_t *document;
	bson_error_t error;
	buf_printf(seen, "%s.%s\n", database, name);
	while (mongoc_cursor_next(cursor, &document)) {
		char *text = bson_as_canonical_extended_json(document, NULL);
		buf_printf(seen, "  %s\n", text);
		bson_free(text);
	}
	if (mongoc_cursor_error(cursor, &error))
		fail_msg("%s.%s: %s", database, name, error.message);
	mongoc_cursor_destroy(cursor);
	mongoc_collection_destroy(collection);
}

/* All databases, collections and documents, as one text. */
static void look(struct buf *seen)
{
	bson_error_t error;
	char **databases = mongoc_client_get_database_names_with_opts(client, NULL, &error);
	sort_names(databases);
	buf_reset(seen);
	for (size_t i = 0; databases[i]; i++) {
		mongoc_database_t *database = mongoc_client_get_database(client, databases[i]);
		char **names = mongoc_database_get_collection_names_with_opts(database, NULL, &error);
		sort_names(names);
		buf_printf(seen, "%s\n", databases[i]);
		for (size_t j = 0; names[j]; j++)
			look_at_collection(databases[i], names[j], seen);
		bson_strfreev(names);
		mongoc_database_destroy(database);
	}
	bson_strfreev(databases);
}

static bool has_changed(void)
{
	_cleanup_(buf_free) struct buf now = BUF_INIT;
	look(&now);
	return !str_equal(buf_str(&now), buf_str(&world));
}

static void nothing_has_changed(const char *latest)
{
	_cleanup_(buf_free) struct buf now = BUF_INIT;
	look(&now);
	if (!str_equal(buf_str(&now), buf_str(&world)))
		fail_msg("%s, or one of the %d before it, has changed something:\n%s\n%s", latest, LOOK_EACH,
			 world.data, now.data);
}

/* --- one text --- */

static void run_text(str_t text, struct arena *arena, struct query_run *ret_run)
{
	struct err_detail detail = { "" };
	*ret_run = (struct query_run){ .result = { .arena = arena, .max_rows = 100, .max_bytes = 1 << 20 } };
	if (engine->run(session, text, ret_run, &detail))
		fail_msg(STR_FMT ": %s", STR_ARG(text), detail.message);
	result_free(&ret_run->result);
}

static void attack_bytes(str_t text)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct sql_request request = { .sql = text, .dialect = SQL_MONGODB };
	struct sql_analysis analysis;
	struct query_run run;
	sql_analyse(&request, arena, &analysis);
	if (analysis.verdict == SQL_SAFE)
		fail_msg(STR_FMT ": is SAFE", STR_ARG(text));
	run_text(text, arena, &run);
	if (run.outcome != QUERY_FAILED)
		fail_msg(STR_FMT ": was run", STR_ARG(text));
	if (++tried % LOOK_EACH == 0)
		nothing_has_changed(text.ptr);
}

static void attack(const char *text)
{
	attack_bytes(str_from(text));
}

/* Sends to the server what the parser reads of an aggregate, with nobody in between, and puts all in order
 * again. Whether something changed. */
static bool changes_something(const char *text)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct mongodb_reader reader = { .text = str_from(text), .arena = arena };
	const struct mongodb_value *wrong;
	struct mongodb_command command;
	const bson_t *document;
	bool more;
	if (!mongodb_read_command(&reader, &command, &more) || command.verb != MONGODB_AGGREGATE ||
	    !str_present(command.collection))
		return false;
	bson_t pipeline = BSON_INITIALIZER;
	assert_true(mongodb_values_append_as(&pipeline, "pipeline", command.pipeline, 0, &wrong));
	mongoc_collection_t *collection =
		mongoc_client_get_collection(client, "shop", command.collection.ptr);
	mongoc_cursor_t *cursor =
		mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, &pipeline, NULL, NULL);
	while (mongoc_cursor_next(cursor, &document)) {
	}
	mongoc_cursor_destroy(cursor);
	mongoc_collection_destroy(collection);
	bson_destroy(&pipeline);
	bool changed = has_changed();
	if (changed)
		make_world();
	return changed;
}

/* --- texts from forms --- */

/* Appends the form with what stands for the mark put in everywhere. */
static void put(struct buf *to, const char *form, char mark, const char *with)
{
	for (const char *place; (place = strchr(form, mark)); form = place + 1) {
		buf_append(to, form, (size_t)(place - form));
		buf_append_text(to, with);
	}
	buf_append_text(to, form);
}

/* Calls `use` with the form filled. */
static void with(const char *form, char mark, const char *filling, void (*use)(const char *text))
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	put(&text, form, mark, filling);
	use(text.data);
}

/* --- every refused operator, however it is spelt, wherever it stands --- */

static const struct {
	const char *name, *refusal;
} operators[] = {
#define OPERATOR(name, places, refusal) { name, #refusal },
#include "sql/mongodb/operators.def"
#undef OPERATOR
};

static const char *const operands[][2] = {
	{ "$out", "'loot'" },
	{ "$out", "'people'" },
	{ "$out", "{db: 'other', coll: 'loot'}" },
	{ "$merge", "'loot'" },
	{ "$merge", "{into: 'loot'}" },
	{ "$merge", "{into: {db: 'other', coll: 'people'}, on: '_id', whenMatched: 'replace'}" },
	{ "$merge", "{into: 'people', whenMatched: [{$set: {gone: true}}], whenNotMatched: 'discard'}" },
	{ "$where", "'db.people.drop()'" },
	{ "$function", "{body: 'function() { return 1 }', args: [], lang: 'js'}" },
	{ "$accumulator", "{init: 'x', accumulate: 'x', accumulateArgs: [], merge: 'x', lang: 'js'}" },
	{ "$currentOp", "{allUsers: true}" },
	{ "$collStats", "{storageStats: {}}" },
};

/* `@`: the name; `~`: what is behind its dollar. */
static const char *const spellings[] = {
	"@",
	"'@'",
	"\"@\"",
	"`@`",
	"'\\x24~'",
	"\"\\u0024~\"",
	"'\\u{24}~'",
	"\"\\u{000024}~\"",
	"\\u0024~",
	"'\\44~'",
	"'\\$~'",
	"'\\\n@'",
	"\"@\\\r\n\"",
	"'\\\xE2\x80\xA8@'",
	"['@']",
	"[\"$\" + \"~\"]",
	"[`${'@'}`]",
	"/* a */ @ /* b */",
	"// a\n@",
	"// a\xE2\x80\xA8@",
	"\n\t@\r\n",
	"\xEF\xBB\xBF@",
	"\xC2\xA0'@'\xE3\x80\x80",
	"'@\\0'",
	"\"@\\u0000x\"",
	"'@\\x00.a'",
	"'@.a'",
	"'a.@'",
	"'@ '",
	"\xC0\xA4~",
	"'\xC0\xA4~'",
};

/* `%`: the operator with its operand. */
static const char *const places[] = {
	"db.people.aggregate([{%}])",
	"db.people.aggregate([{%}], {allowDiskUse: true})",
	"db.people.aggregate({%})",
	"db.people.aggregate({$match: {}}, {%})",
	"db.people.aggregate([{$match: {}}, {%}, {$limit: 1}])",
	"db.people.aggregate([{$match: {}, %}, {$limit: 1}])",
	"db.people.aggregate([{%, $limit: 1}])",
	"db['people'].aggregate([{%}]);",
	"db.getCollection(\"people\").aggregate([{%}]).toArray()",
	"db.aggregate([{%}])",
	"```js\ndb.people.aggregate([{%}])\n```",
	"{aggregate: 'people', pipeline: [{%}], cursor: {}}",
	"{\"aggregate\": \"people\", \"pipeline\": [{\"$match\": {}}, {%}], \"cursor\": {\"batchSize\": 1}}",
	"{aggregate: 1, pipeline: [{%}], cursor: {}}",
	"{aggregate: 'people', pipeline: [], pipeline: [{%}], cursor: {}}",
	"{aggregate: 'people', pipeline: [{%}], pipeline: [], cursor: {}}",
	"db.runCommand({aggregate: 'people', pipeline: [{%}], cursor: {}})",
	"db.adminCommand({aggregate: 1, pipeline: [{%}], cursor: {}})",
	"db.people.explain().aggregate([{%}])",
	"db.people.aggregate([{%}], {explain: true})",
	"db.people.aggregate([{$facet: {x: [{%}]}}])",
	"db.people.aggregate([{$facet: {x: [], y: [{$match: {}}, {%}]}}])",
	"db.people.aggregate([{$lookup: {from: 'orders', pipeline: [{%}], as: 'c'}}])",
	"db.people.aggregate([{$lookup: {from: 'orders', localField: '_id', foreignField: 'person', let: {p: "
	"'$_id'}, pipeline: [{%}], as: 'c'}}])",
	"db.people.aggregate([{$unionWith: {coll: 'orders', pipeline: [{%}]}}])",
	"db.people.aggregate([{$match: {%}}])",
	"db.people.aggregate([{$match: {a: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$match: {$nor: [{a: 1}, {$and: [{%}]}]}}, {$limit: 1}])",
	"db.people.aggregate([{$match: {$expr: {$gt: [{%}, 1]}}}, {$limit: 1}])",
	"db.people.aggregate([{$graphLookup: {from: 'people', startWith: {%}, connectFromField: 'a', "
	"connectToField: 'b', as: 'c', maxDepth: 1}}, {$limit: 1}])",
	"db.people.aggregate([{$graphLookup: {from: 'people', startWith: '$a', connectFromField: 'a', "
	"connectToField: 'b', as: 'c', maxDepth: 1, restrictSearchWithMatch: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$group: {_id: {%}}}])",
	"db.people.aggregate([{$group: {_id: {x: {%}}}}])",
	"db.people.aggregate([{$group: {_id: 1, x: {%}}}])",
	"db.people.aggregate([{$group: {_id: 1, x: {$push: {%}}}}])",
	"db.people.aggregate([{$sortByCount: {%}}])",
	"db.people.aggregate([{$project: {x: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$addFields: {x: [{y: {%}}]}}, {$limit: 1}])",
	"db.people.aggregate([{$set: {%}}, {$limit: 1}])",
	"db.people.aggregate([{$replaceRoot: {newRoot: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$replaceWith: {%}}, {$limit: 1}])",
	"db.people.aggregate([{$redact: {%}}, {$limit: 1}])",
	"db.people.aggregate([{$bucket: {groupBy: {%}, boundaries: [1, 2]}}])",
	"db.people.aggregate([{$bucketAuto: {groupBy: '$a', buckets: 2, output: {x: {%}}}}])",
	"db.people.aggregate([{$setWindowFields: {sortBy: {a: 1}, output: {x: {%}}}}, {$limit: 1}])",
	"db.people.aggregate([{$fill: {output: {a: {value: {%}}}}}, {$limit: 1}])",
	"db.people.aggregate([{$geoNear: {near: [1, 1], distanceField: 'd', query: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$documents: [{x: {%}}]}])",
	"db.people.aggregate([{$unwind: {%}}, {$limit: 1}])",
	"db.people.aggregate([{$sort: {%}}, {$limit: 1}])",
	"db.people.aggregate([{$sample: {%}}])",
	"db.people.aggregate([{$count: {%}}])",
	"db.people.aggregate([{$limit: {%}}])",
	"db.people.find({%}).limit(1)",
	"db.people.find({a: {%}}).limit(1)",
	"db.people.find({a: {$not: {%}}}).limit(1)",
	"db.people.find({a: {$elemMatch: {%}}}).limit(1)",
	"db.people.find({a: {$all: [{$elemMatch: {%}}]}}).limit(1)",
	"db.people.find({a: {$in: [{%}]}}).limit(1)",
	"db.people.find({a: {$eq: {%}}}).limit(1)",
	"db.people.find({a: 1, a: {%}}).limit(1)",
	"db.people.find({}, {%}).limit(1)",
	"db.people.find({}, {x: {%}}).limit(1)",
	"db.people.find({}, {a: {$elemMatch: {%}}}).limit(1)",
	"db.people.find({}).projection({x: {%}}).limit(1)",
	"db.people.find({}).sort({%}).limit(1)",
	"db.people.find({}).min({%}).limit(1)",
	"db.people.find({}).hint({%}).limit(1)",
	"db.people.find({}).collation({%}).limit(1)",
	"db.people.find({}).limit({%})",
	"db.people.find({}, {}, {%}).limit(1)",
	"db.people.find({}, {}, {let: {x: {%}}}).limit(1)",
	"db.people.find({%}).count()",
	"db.people.findOne({%})",
	"db.people.countDocuments({%})",
	"db.people.estimatedDocumentCount({%})",
	"db.people.distinct('a', {%})",
	"db.people.distinct({%})",
	"{find: 'people', filter: {%}, limit: 1}",
	"{find: 'people', limit: 1, %}",
	"{find: {%}, limit: 1}",
	"{count: 'people', query: {%}}",
	"{distinct: 'people', key: 'a', query: {%}}",
	"{%}",
	"{%, find: 'people'}",
	"db.people.aggregate([{...{%}}])",
	"db.people.aggregate([Object.assign({}, {%})])",
	"db.people.aggregate([].concat([{%}]))",
	"db.people.aggregate(JSON.parse('[{%}]'))",
	"[{%}]",
	"db.people.aggregate([{$literal: {%}}])",
	"db.people.aggregate([{$facet: {$literal: [{%}]}}])",
	"db.people.aggregate([{$facet: {'$const': [{$match: {}}, {%}]}}])",
	"db.people.aggregate([{$lookup: {from: 'orders', $literal: [{%}], as: 'c'}}, {$limit: 1}])",
	"db.people.aggregate([{$match: {$literal: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$match: {a: {$literal: {%}}}}, {$limit: 1}])",
	"db.people.aggregate([{$group: {_id: 1, $literal: {%}}}])",
	"db.people.aggregate([{$group: {_id: 1, x: {$const: {%}}}}])",
	"db.people.aggregate([{$bucket: {groupBy: '$a', boundaries: [1, 2], $literal: {%}}}])",
	"db.people.aggregate([{$setWindowFields: {output: {$literal: {%}}}}, {$limit: 1}])",
	"db.people.aggregate([{$sort: {$literal: {%}}}, {$limit: 1}])",
	"db.people.aggregate([{$limit: 1}], {$literal: {%}})",
	"db.people.aggregate([{$limit: 1}], {let: {$literal: {%}}})",
	"db.people.find({$literal: {%}}).limit(1)",
	"db.people.find({a: {$const: {%}}}).limit(1)",
	"db.people.find({$or: [{$literal: {%}}]}).limit(1)",
	"db.people.find({}, {$literal: {%}}).limit(1)",
	"db.people.find({}).sort({$literal: {%}}).limit(1)",
	"{$literal: {%}}",
	"{find: 'people', $literal: {%}, limit: 1}",
};

/* Every operator in every place, and in every spelling; all three together in a long run. */
static void attack_places(size_t first, const char *operation)
{
	size_t step = whole_or(1, STEP);
	for (size_t i = first % step; i < COUNT_OF(places); i += step)
		with(places[i], '%', operation, attack);
}

static void attack_spelt(const char *name, const char *operand)
{
	for (size_t i = 0; i < COUNT_OF(spellings); i++) {
		_cleanup_(buf_free) struct buf half = BUF_INIT, whole = BUF_INIT;
		put(&half, spellings[i], '@', name);
		put(&whole, half.data, '~', name + 1);
		buf_printf(&whole, ": %s", operand);
		attack_places(i, whole.data);
	}
}

static void refused_operators_change_nothing(void **state)
{
	size_t before = tried;
	(void)state;
	for (size_t i = 0; i < COUNT_OF(operators); i++)
		if (strcmp(operators[i].refusal, "NONE") != 0)
			attack_spelt(operators[i].name, "{}");
	for (size_t i = 0; i < COUNT_OF(operands); i++)
		attack_spelt(operands[i][0], operands[i][1]);
	nothing_has_changed("the last operator");
	assert_true(tried - before > whole_or(100000, 20000));
}

/* What safety has to know, whatever its own table says. */
static void the_table_knows_them(void **state)
{
	static const char *const named[] = {
		"$out",	       "$merge",	  "$function",		"$accumulator", "$where",
		"$currentOp",  "$listSessions",	  "$listLocalSessions", "$collStats",	"$changeStream",
		"$indexStats", "$planCacheStats", "$queryStats",	"$mergeCursors"
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(named); i++) {
		bool refused = false;
		for (size_t j = 0; j < COUNT_OF(operators); j++)
			refused |= strcmp(operators[j].name, named[i]) == 0 &&
				   strcmp(operators[j].refusal, "NONE") != 0;
		if (!refused)
			fail_msg("%s is not refused", named[i]);
	}
}

/* --- in each other --- */

/* `%`: what is within. */
static const char *const pipeline_wrappers[] = {
	"{$facet: {x: [%]}}",
	"{$lookup: {from: 'orders', let: {}, pipeline: [%], as: 'c'}}",
	"{$unionWith: {coll: 'orders', pipeline: [%]}}",
	"{$match: {}}, %",
	"%, {$limit: 1}",
};

static const char *const expression_wrappers[] = {
	"{$cond: [true, %, 1]}",
	"{$cond: {if: %, then: 1, else: 2}}",
	"{$let: {vars: {v: %}, in: '$$v'}}",
	"{$let: {vars: {v: 1}, in: %}}",
	"{$map: {input: '$a', as: 'i', in: %}}",
	"{$filter: {input: '$a', as: 'i', cond: %}}",
	"{$reduce: {input: '$a', initialValue: 0, in: %}}",
	"{$switch: {branches: [{case: true, then: %}], default: 0}}",
	"{$ifNull: ['$nothing', %]}",
	"{$convert: {input: 'x', to: 'int', onError: %}}",
	"{$getField: {field: 'a', input: %}}",
	"{$sortArray: {input: %, sortBy: 1}}",
	"{$concatArrays: [[%]]}",
	"[[%]]",
	"{x: {y: %}}",
};

static const char *const filter_wrappers[] = {
	"{$or: [{a: 1}, %]}", "{$and: [%]}",	      "{$nor: [%]}",
	"{a: {$not: %}}",     "{a: {$elemMatch: %}}", "{a: {$all: [{$elemMatch: %}]}}",
};

/* Fills `inner` into all wrappers, and those into all again, `length` deep, and hands each to `use`. */
static void wrap(const char *const *wrappers, size_t count, int length, const char *inner,
		 void (*use)(const char *text))
{
	use(inner);
	for (size_t i = 0; length > 0 && i < count; i++) {
		_cleanup_(buf_free) struct buf outer = BUF_INIT;
		put(&outer, wrappers[i], '%', inner);
		wrap(wrappers, count, length - 1, outer.data, use);
	}
}

static void attack_pipeline(const char *stages)
{
	with("db.people.aggregate([%])", '%', stages, attack);
	with("{aggregate: 'people', cursor: {}, pipeline: [%]}", '%', stages, attack);
}

static void attack_expression(const char *expression)
{
	with("db.people.aggregate([{$project: {x: %}}, {$limit: 1}])", '%', expression, attack);
	with("db.people.find({$expr: %}).limit(1)", '%', expression, attack);
}

static void attack_filter(const char *filter)
{
	with("db.people.findOne(%)", '%', filter, attack);
	with("db.people.aggregate([{$match: %}, {$limit: 1}])", '%', filter, attack);
}

static void wrapped_ones_change_nothing(void **state)
{
	static const char *const stages[] = { "{$out: 'loot'}", "{'\\x24merge': {into: 'people'}}",
					      "{$match: {$where: 'true'}}", "{$currentOp: {}}",
					      "{$project: {x: {$function: {}}}}" };
	size_t before = tried;
	(void)state;
	for (size_t i = 0; i < COUNT_OF(stages); i++)
		wrap(pipeline_wrappers, COUNT_OF(pipeline_wrappers), WORD_LENGTH, stages[i], attack_pipeline);
	wrap(expression_wrappers, COUNT_OF(expression_wrappers), WORD_LENGTH,
	     "{$function: {body: 'x', args: [], lang: 'js'}}", attack_expression);
	wrap(filter_wrappers, COUNT_OF(filter_wrappers), WORD_LENGTH, "{$where: 'true'}", attack_filter);
	nothing_has_changed("the last wrapped one");
	assert_true(tried - before > 5000);
}

/* At every depth that there is, and beyond. */
static void deep_ones_change_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(pipeline_wrappers); i++) {
		struct buf inner = BUF_INIT;
		buf_append_text(&inner, "{$out: 'loot'}");
		for (int depth = 0; depth < DEEPEST; depth++) {
			struct buf outer = BUF_INIT;
			put(&outer, pipeline_wrappers[i], '%', inner.data);
			attack_pipeline(outer.data);
			buf_free(&inner);
			inner = outer;
		}
		buf_free(&inner);
	}
	nothing_has_changed("the deepest one");
}

/* --- in whatever else there is --- */

/* Names of fields and of operands, beside all operators. */
static const char *const field_names[] = { "a",	       "b.c",	    "_id",     "from",
					   "pipeline", "as",	    "let",     "in",
					   "input",    "vars",	    "cond",    "output",
					   "query",    "filter",    "coll",    "startWith",
					   "value",    "window",    "sortBy",  "groupBy",
					   "default",  "branches",  "then",    "restrictSearchWithMatch",
					   "$oid",     "$date",	    "$uuid",   "$code",
					   "$natural", "$geometry", "$binary", "$regularExpression",
					   "newRoot" };

/* `%`: a document. */
static const char *const carriers[] = {
	"db.people.aggregate([%])",
	"db.people.aggregate([{$match: %}, {$limit: 1}])",
	"db.people.aggregate([{$set: {x: %}}, {$limit: 1}])",
	"db.people.aggregate([{$group: {_id: 1, x: %}}])",
	"db.people.aggregate([{$facet: {x: [%]}}])",
	"db.people.aggregate([{$facet: %}])",
	"db.people.aggregate([{$lookup: %}, {$limit: 1}])",
	"db.people.aggregate([{$unionWith: %}, {$limit: 1}])",
	"db.people.aggregate([{$setWindowFields: %}, {$limit: 1}])",
	"db.people.aggregate([{$limit: 1}], %)",
	"db.people.find(%).limit(1)",
	"db.people.find({}, %).limit(1)",
	"db.people.find({}, {}, %).limit(1)",
	"db.people.find({}).sort(%).limit(1)",
	"db.people.find({}).collation(%).hint(%).limit(1)",
	"db.people.countDocuments(%)",
	"db.people.distinct('a', %)",
	"{find: 'people', filter: %, limit: 1}",
	"{aggregate: 'people', pipeline: [%], cursor: %}",
};

static size_t draw(uint64_t *seed, size_t count)
{
	return (size_t)(stream_uniform(seed) * (double)count);
}

static const char *drawn_name(uint64_t *seed)
{
	size_t place = draw(seed, COUNT_OF(operators) + COUNT_OF(field_names));
	return place < COUNT_OF(operators) ? operators[place].name : field_names[place - COUNT_OF(operators)];
}

/* A document in which the operator stands so deep, below names that were drawn. */
static void put_drawn(struct buf *to, uint64_t *seed, size_t depth, const char *operation)
{
	bool listed = draw(seed, 3) == 0;
	if (depth == 0) {
		buf_printf(to, "{%s}", operation);
		return;
	}
	buf_append_char(to, '{');
	if (draw(seed, 4) == 0)
		buf_printf(to, "'%s': 1, ", drawn_name(seed));
	buf_printf(to, "'%s': %s", drawn_name(seed), listed ? "[1, " : "");
	put_drawn(to, seed, depth - 1, operation);
	buf_append_text(to, listed ? "]}" : "}");
}

static void drawn_ones_change_nothing(void **state)
{
	uint64_t seed = 20;
	size_t rounds = whole_or(1000000, 20000);
	(void)state;
	for (size_t i = 0; i < rounds; i++) {
		_cleanup_(buf_free) struct buf document = BUF_INIT, operation = BUF_INIT;
		const char *const *operand = operands[draw(&seed, COUNT_OF(operands))];
		buf_printf(&operation, "%s: %s", operand[0], operand[1]);
		put_drawn(&document, &seed, draw(&seed, 7), operation.data);
		with(carriers[draw(&seed, COUNT_OF(carriers))], '%', document.data, attack);
	}
	nothing_has_changed("the last one drawn");
}

/* --- methods and commands --- */

static const char *const methods[] = {
	"insert",
	"insertOne",
	"insertMany",
	"update",
	"updateOne",
	"updateMany",
	"replaceOne",
	"save",
	"remove",
	"deleteOne",
	"deleteMany",
	"findAndModify",
	"findOneAndDelete",
	"findOneAndReplace",
	"findOneAndUpdate",
	"bulkWrite",
	"initializeOrderedBulkOp",
	"initializeUnorderedBulkOp",
	"drop",
	"dropDatabase",
	"dropIndex",
	"dropIndexes",
	"createIndex",
	"createIndexes",
	"ensureIndex",
	"reIndex",
	"createCollection",
	"createView",
	"renameCollection",
	"convertToCapped",
	"mapReduce",
	"eval",
	"group",
	"createUser",
	"createRole",
	"updateUser",
	"dropUser",
	"dropAllUsers",
	"grantRolesToUser",
	"revokeRolesFromUser",
	"changeUserPassword",
	"auth",
	"logout",
	"setProfilingLevel",
	"setLogLevel",
	"fsyncLock",
	"fsyncUnlock",
	"shutdownServer",
	"killOp",
	"watch",
	"hideIndex",
	"copyTo",
	"cloneDatabase",
	"copyDatabase",
	"setSecondaryOk",
	"getSiblingDB",
	"currentOp",
	"serverStatus",
	"getUsers",
	"stats",
	"validate",
	"getIndexes",
	"latencyStats",
	"aggregate.call",
	"find.constructor",
	"constructor",
	"__proto__",
	"toString",
	"getMongo",
	"runCommandWithMetadata",
};

/* `@`: the method. */
static const char *const calls[] = {
	"db.people.@({_id: 1}, {$set: {a: 0}})",
	"db.people.@()",
	"db['people'].@({})",
	"db['people']['@']({})",
	"db.people['@']({})",
	"db.people[`@`]({})",
	"db.getCollection('people').@({})",
	"db.getSiblingDB('shop').people.@({})",
	"db.getMongo().getDB('shop').people.@({})",
	"db . people . @ ({})",
	"db.people/* a */./* b */@/* c */({})",
	"db.people\n.@({})",
	"db.people?.@({})",
	"db.people.@`x`",
	"db.@('people')",
	"db.@()",
	"db.people.find({}).@({})",
	"db.people.find({}).limit(1).@({})",
	"db.people.find({}).limit(1); db.people.@({})",
	"db.people.find({}).limit(1)\ndb.people.@({})",
	"db.people.find({}).limit(1), db.people.@({})",
	"db.people.find({}).limit(1) || db.people.@({})",
	"db.people.find({a: db.people.@({})}).limit(1)",
	"db.people.find({a: 1}, db.people.@({})).limit(1)",
	"db.people.find({}).forEach(function (d) { db.people.@(d) })",
	"db.people.find({}).map(d => db.people.@(d))",
	"(() => db.people.@({}))()",
	"var x = db.people.@({}); x",
	"await db.people.@({})",
	"db.people.aggregate([{$match: {}}]).@({})",
	"db.people.aggregate([{$match: {a: `${db.people.@({})}`}}, {$limit: 1}])",
	"// db.people.find()\xE2\x80\xA8"
	"db.people.@({})",
	"/* */ db.people.@({}) /* .find() */",
	"db.people.find({}).limit(1) //\ndb.people.@({})",
	"```\ndb.people.find({}).limit(1)\n```\n```\ndb.people.@({})\n```",
	"use shop\ndb.people.@({})",
	"{find: 'people', limit: 1}; db.people.@({})",
	"{find: 'people', filter: {a: db.people.@({})}, limit: 1}",
	"eval('db.people.@({})')",
};

/* Of databases and of all the server. */
static const char *const commands[] = {
	"insert",
	"update",
	"delete",
	"findAndModify",
	"findandmodify",
	"bulkWrite",
	"drop",
	"dropDatabase",
	"dropIndexes",
	"create",
	"createIndexes",
	"collMod",
	"renameCollection",
	"convertToCapped",
	"cloneCollectionAsCapped",
	"compact",
	"reIndex",
	"mapReduce",
	"mapreduce",
	"$eval",
	"eval",
	"group",
	"applyOps",
	"createUser",
	"updateUser",
	"dropUser",
	"grantRolesToUser",
	"createRole",
	"saslStart",
	"logout",
	"setParameter",
	"shutdown",
	"fsync",
	"killOp",
	"killSessions",
	"killAllSessions",
	"killCursors",
	"currentOp",
	"profile",
	"logRotate",
	"replSetReconfig",
	"shardCollection",
	"startSession",
	"endSessions",
	"commitTransaction",
	"abortTransaction",
	"getMore",
	"explain",
	"validate",
	"collStats",
	"dbStats",
	"listCollections",
	"listDatabases",
	"listIndexes",
	"serverStatus",
	"getLog",
	"getCmdLineOpts",
	"hostInfo",
	"usersInfo",
	"connectionStatus",
	"isMaster",
	"hello",
	"ping",
	"whatsmyuri",
	"getParameter",
	"top",
	"FIND",
	"Aggregate",
	"DROP",
	"Insert",
};

static const char *const command_forms[] = {
	"{@: 'people'}",
	"{\"@\": \"people\"}",
	"{'@': 'people', documents: [{a: 1}]}",
	"{@: 'people', deletes: [{q: {}, limit: 0}]}",
	"{@: 'people', updates: [{q: {}, u: {$set: {a: 0}}, multi: true}]}",
	"{@: 'people', query: {}, remove: true}",
	"{@: 1}",
	"{@: 'shop.people', to: 'shop.loot'}",
	"{@: 'people', find: 'people', limit: 1}",
	"{find: 'people', @: 'people', limit: 1}",
	"{$query: {@: 'people'}}",
	"{query: {@: 'people'}}",
	"{explain: {@: 'people'}}",
	"{find: 'people', filter: {}, limit: 1, $db: 'shop', @: 1}",
	"db.runCommand({@: 'people'})",
	"db.runCommand('@')",
	"db.runCommand({@: 'people'}, {readPreference: 'primary'})",
	"db.adminCommand({@: 1})",
	"db['runCommand']({@: 'people'})",
	"db.people.runCommand('@')",
	"db.people.runCommand({@: 'people'})",
	"db.getSiblingDB('admin').runCommand({@: 1})",
	"db.$cmd.findOne({@: 'people'})",
	"db.getCollection('$cmd').findOne({@: 'people'})",
	"db['$cmd'].find({@: 'people'}).limit(1)",
	"db['$cmd\\0.x'].find({@: 'people'}).limit(1)",
	"db.runCommand({find: 'people', limit: 1}); db.runCommand({@: 'people'})",
};

static void methods_and_commands_change_nothing(void **state)
{
	size_t before = tried;
	(void)state;
	for (size_t i = 0; i < COUNT_OF(methods); i++)
		for (size_t j = 0; j < COUNT_OF(calls); j++)
			with(calls[j], '@', methods[i], attack);
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		for (size_t j = 0; j < COUNT_OF(command_forms); j++)
			with(command_forms[j], '@', commands[i], attack);
	nothing_has_changed("the last command");
	assert_true(tried - before > 4000);
}

/* --- collections of the server's own --- */

/* Each is told by its name, wherever a collection is named. `@`: the name. */
static void the_servers_own_collections_are_not_read(void **state)
{
	static const char *const names[] = {
		"system.users",	    "system.profile",	 "system.js",	     "system.views",
		"system.sessions",  "system.namespaces", "SYSTEM.users",     "system.buckets.weather",
		"people.system.js", "oplog.rs",		 "startup_log",	     "$cmd",
		"$cmd.sys.inprog",  "$cmd.aggregate",	 "$external",	     "people\\0",
		"\\0people",	    "$cmd\\u0000.x",	 "sy\\x73tem.users", "system\\u002eusers",
	};
	static const char *const readers[] = {
		"db['@'].find({}).limit(1)",
		"db[\"@\"].findOne()",
		"db.getCollection('@').aggregate([{$limit: 1}])",
		"db['@'].countDocuments({})",
		"db['@'].distinct('a')",
		"{find: '@', limit: 1}",
		"{aggregate: '@', pipeline: [{$limit: 1}], cursor: {}}",
		"{count: '@'}",
		"{distinct: '@', key: 'a'}",
		"db.people.aggregate([{$lookup: {from: '@', localField: 'a', foreignField: 'a', as: 'c'}}, "
		"{$limit: 1}])",
		"db.people.aggregate([{$facet: {x: [{$lookup: {from: '@', localField: 'a', foreignField: "
		"'a', "
		"as: 'c'}}]}}])",
		"db.people.aggregate([{$unionWith: '@'}, {$limit: 1}])",
		"db.people.aggregate([{$unionWith: {coll: '@'}}, {$limit: 1}])",
		"db.people.aggregate([{$graphLookup: {from: '@', startWith: '$a', connectFromField: 'a', "
		"connectToField: 'b', as: 'c', maxDepth: 1}}, {$limit: 1}])",
	};
	static const char *const elsewhere[] = {
		"db.people.aggregate([{$lookup: {from: {db: 'other', coll: 'people'}, localField: 'a', "
		"foreignField: 'a', as: 'c'}}, {$limit: 1}])",
		"db.people.aggregate([{$unionWith: {db: 'other', coll: 'people'}}, {$limit: 1}])",
		"{find: 'people', $db: 'other', limit: 1}",
		"{find: 'people', limit: 1, $readPreference: {mode: 'primary'}}",
		"{find: 'people', limit: 1, lsid: {id: UUID('00112233-4455-6677-8899-aabbccddeeff')}, "
		"txnNumber: 1}",
		"{find: 'people', limit: 1, writeConcern: {w: 1}}",
		"{aggregate: 'people', pipeline: [], cursor: {}, bypassDocumentValidation: true}",
		"{aggregate: 'people', pipeline: [], cursor: {}, exchange: {policy: 'broadcast'}}",
		"{aggregate: 'people', pipeline: [], cursor: {}, fromMongos: true, needsMerge: true}",
		"db.getSiblingDB('admin').people.find().limit(1)",
		"db.people.aggregate([{$set: {r: '$$USER_ROLES'}}, {$limit: 1}])",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		for (size_t j = 0; j < COUNT_OF(readers); j++)
			with(readers[j], '@', names[i], attack);
	for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
		attack(elsewhere[i]);
	nothing_has_changed("the last collection");
}

/* --- what else a text can be --- */

static const char *const odd[] = {
	"db.people.find('this.drop()').limit(1)",
	"db.people.find(function () { return true }).limit(1)",
	"db.people.find(() => true).limit(1)",
	"db.people.find({a: function () { db.people.drop() }}).limit(1)",
	"db.people.find({a: Code('db.people.drop()')}).limit(1)",
	"db.people.find({a: new Code('x', {})}).limit(1)",
	"db.people.find({a: {$code: 'db.people.drop()'}}).limit(1)",
	"db.people.find({a: {$code: 'x', $scope: {}}}).limit(1)",
	"db.people.find({a: {'$co\\x64e': 'x'}}).limit(1)",
	"db.people.find({$where: {$code: 'true'}}).limit(1)",
	"db.people.find({$where: /x/}).limit(1)",
	"db.people.find({$or: [{$where: 'true'}]}).limit(1)",
	"db.people.find({a: 1, $where: 'true', a: 2}).limit(1)",
	"db.people.find({$expr: true, $expr: {$function: {}}}).limit(1)",
	"db.people.aggregate([{$match: {}, $match: {$where: 'true'}}, {$limit: 1}])",
	"db.people.aggregate([{$out: 'loot', $out: 'people'}])",
	"db.people.aggregate([{'a.$out': 'loot'}])",
	"db.people.aggregate([{'$out.x': 'loot'}])",
	"db.people.aggregate([{'.$out': 'loot'}])",
	"db.people.aggregate([{'$out.': 'loot'}])",
	"db.people.aggregate([{'$$out': 'loot'}])",
	"db.people.aggregate([{'$OUT': 'loot'}])",
	"db.people.aggregate([{'$Merge': 'loot'}])",
	"db.people.aggregate([{' $out': 'loot'}])",
	"db.people.aggregate([{'$out\\t': 'loot'}])",
	"db.people.aggregate([{'\xEF\xBC\x84out': 'loot'}])",
	"db.people.aggregate([{'\xEF\xB9\xA9out': 'loot'}])",
	"db.people.aggregate([{'\xE2\x80\x8B$out': 'loot'}])",
	"db.people.aggregate([{'$\xD0\xBEut': 'loot'}])",
	"db.people.aggregate([{'\\ud83d$out': 'loot'}])",
	"db.people.aggregate([{'\\u{110000}$out': 'loot'}])",
	"db.people.aggregate([['$out', 'loot']])",
	"db.people.aggregate(['$out'])",
	"db.people.aggregate('[{\"$out\": \"loot\"}]')",
	"db.people.aggregate({pipeline: [{$out: 'loot'}]})",
	"db.people.aggregate([{$match: {}}], [{$out: 'loot'}])",
	"db.people.aggregate([{$limit: 1}], {pipeline: [{$out: 'loot'}]})",
	"db.people.aggregate([{$limit: 1}], {let: {x: {$function: {body: 'x', args: [], lang: 'js'}}}})",
	"db.people.aggregate([{$limit: 1}], {$out: 'loot'})",
	"db.people.aggregate([{$limit: 1}], {out: 'loot'})",
	"db.people.aggregate([{$set: {$out: 1}}, {$limit: 1}])",
	"db.people.aggregate([{$set: {'a.$function': 1}}, {$limit: 1}])",
	"db.people.aggregate([{$set: {'a.$out.b': 1}}, {$limit: 1}])",
	"db.people.aggregate([{$project: {x: {'$a.b': 1}}}, {$limit: 1}])",
	"db.people.aggregate([{$project: {x: {$literal: 1, $function: {}}}}, {$limit: 1}])",
	"db.people.aggregate([{$lookup: {from: 'orders', pipeline: [], pipeline: [{$out: 'loot'}], as: "
	"'c'}}, "
	"{$limit: 1}])",
	"db.people.aggregate([{$lookup: {from: 'orders', as: 'c', pipeline: {$out: 'loot'}}}, {$limit: 1}])",
	"db.people.aggregate([{$facet: {x: {$out: 'loot'}}}])",
	"db.people.aggregate([{$unionWith: [{$out: 'loot'}]}, {$limit: 1}])",
	"db.people.find({}).sort({$function: 1}).limit(1)",
	"db.people.find({a: 1}).explain('executionStats')",
	"db.people.find({a: DBRef('people', 1, 'other'), $where: 1}).limit(1)",
	"db.people.find({a: {$oid: 1, $out: 1}}).limit(1)",
	"db.people.find({a: {$date: {$where: 1}}}).limit(1)",
	"db.people.find({a: {$numberLong: {$function: 1}}}).limit(1)",
	"{find: 'people', filter: {$where: 'true'}, filter: {}, limit: 1}",
	"{find: 'people', filter: {}, filter: {$where: 'true'}, limit: 1}",
	"{aggregate: 'people', pipeline: [], explain: {$out: 1}, cursor: {}}",
	"{aggregate: 'people', pipeline: {$out: 'loot'}, cursor: {}}",
	"{aggregate: {$out: 1}, pipeline: [], cursor: {}}",
	"{aggregate: 'people', cursor: {$out: 'loot'}, pipeline: []}",
	"db.people.find({}).limit(1); while (true) {}",
	"for (;;) db.people.drop()",
	"if (1) db.people.drop()",
	"load('/tmp/x.js')",
	"quit()",
	"new Mongo().getDB('shop').people.drop()",
	"require('child_process').exec('true')",
	"process.exit()",
	"sh.shardCollection('shop.people', {a: 1})",
	"rs.stepDown()",
	"show collections",
	"use admin",
	"db",
	"db.people",
	"db.people.find",
	"",
	";",
	"{}",
	"[]",
	"null",
};

static void odd_texts_change_nothing(void **state)
{
	static const char raw[] = "db.people.find().limit(1)\0; db.people.drop()";
	static const char hidden[] = "db.people.aggregate([{'$out\0': 'loot'}])";
	(void)state;
	for (size_t i = 0; i < COUNT_OF(odd); i++)
		attack(odd[i]);
	attack_bytes((str_t){ raw, sizeof raw - 1 });
	attack_bytes((str_t){ hidden, sizeof hidden - 1 });
	nothing_has_changed("the last odd one");
}

/* --- limits of texts and of BSON --- */

static void put_times(struct buf *to, const char *text, size_t times)
{
	for (size_t i = 0; i < times; i++)
		buf_append_text(to, text);
}

/* So often `each`, and behind them what closes it. */
static void attack_padded(const char *before, const char *each, size_t times, const char *behind,
			  const char *closing, const char *end)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	buf_append_text(&text, before);
	put_times(&text, each, times);
	buf_append_text(&text, behind);
	put_times(&text, closing, times);
	buf_append_text(&text, end);
	attack(text.data);
}

static void long_and_deep_texts_change_nothing(void **state)
{
	static const size_t times[] = { 1,   96,  97,	98,    99,    100,   101,
					102, 200, 5000, 20000, 25000, 33000, 1 << 20 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		size_t n = times[i];
		attack_padded("db.people.aggregate([{$match: {a: ", "[", n, "1", "]", "}}, {$out: 'loot'}])");
		attack_padded("db.people.aggregate([{$match: {a: ", "{b: ", n, "{$where: 1}", "}", "}}])");
		attack_padded("db.people.aggregate([{$match: {$or: ", "[", n, "{$where: 1}", "]", "}}])");
		attack_padded("db.people.find({a: {$in: [", "1,", n, "2]}, $where: 'true'", "", "})");
		attack_padded("db.people.aggregate([", "{$match: {}},", n, "{$out: 'loot'}", "", "])");
		attack_padded("db.people.aggregate([{'$out", "\\0", n, "': 'loot'}", "", "])");
		attack_padded("db.people.aggregate([{'", "x", n, ".$out': 'loot'}", "", "])");
		attack_padded("db.people.aggregate([{$out: '", "x", n, "'}", "", "])");
		attack_padded("db.people.aggregate([{", " ", n, "$out: 'loot'}", "", "])");
		attack_padded("", "/**/", n, "db.people.drop()", "", "");
		attack_padded("db.people.find({a: '", "x", n, "', $where: 'true'", "", "})");
		attack_padded("", "(", n, "db.people.drop()", ")", "");
	}
	nothing_has_changed("the longest one");
}

/* --- what only looks like it --- */

/* They are run. */
static void data_that_look_like_it_change_nothing(void **state)
{
	static const char *const reads[] = {
		"db.people.find({}).limit(5)",
		"db.people.find({name: '$out'}).limit(5)",
		"db.people.find({name: '{$out: \"loot\"}'}).limit(5)",
		"db.people.find({name: \"'}); db.people.drop(); ({'\"}).limit(5)",
		"db.people.find({/* {$out: 'loot'} */}).limit(5)",
		"db.people.find({out: 1, merge: 2, where: 3}).limit(5)",
		"db.people.find({'a.out': 1}).limit(5)",
		"db.people.find({name: /\\$out/}).limit(5)",
		"db.people.aggregate([{$match: {name: 'db.people.deleteMany({})'}}, {$limit: 5}])",
		"db.people.aggregate([{$project: {x: {$literal: {out: 'loot'}}}}, {$limit: 5}])",
		"db.people.aggregate([{$group: {_id: '$name', out: {$sum: 1}}}, {$limit: 5}])",
		"db.people.aggregate([{$lookup: {from: 'orders', localField: '_id', foreignField: 'person', "
		"as: "
		"'out'}}, {$limit: 5}])",
		"db.drop.find({}).limit(5)",
		"db['people.drop()'].find({}).limit(5)",
		"db.insert.countDocuments({})",
		"{find: 'people', filter: {name: 'drop'}, limit: 5}",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(reads); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct query_run run;
		run_text(str_from(reads[i]), arena, &run);
		if (run.outcome != QUERY_RETURNED)
			fail_msg("%s: " STR_FMT, reads[i], STR_ARG(run.message));
		nothing_has_changed(reads[i]);
	}
}

/* --- that all this is worth something --- */

static size_t sent, wrote;

static void send_past(const char *text)
{
	sent++;
	wrote += changes_something(text);
}

static void send_everywhere(const char *operation)
{
	for (size_t i = 0; i < COUNT_OF(places); i++)
		with(places[i], '%', operation, send_past);
}

static void send_pipeline(const char *stages)
{
	with("db.people.aggregate([%])", '%', stages, send_past);
}

/* With nobody in between, the server writes: however the name is spelt, wherever the stage is one. */
static void the_server_would_write(void **state)
{
	static const char *const alone[] = {
		"db.people.aggregate([{$out: 'loot'}])",
		"db.people.aggregate([{$merge: {into: 'loot'}}])",
		"db.people.aggregate([{$match: {}}, {$merge: {into: {db: 'other', coll: 'loot'}}}])",
		"db.people.aggregate([{'\\x24out': 'loot'}])",
		"db.people.aggregate([{\"\\u0024merge\": {into: 'loot'}}])",
		"db.people.aggregate([{'\\u{24}out': 'loot'}])",
		"db.people.aggregate([{'\\\n$out': 'loot'}])",
		"{aggregate: 'people', pipeline: [{$out: 'loot'}], cursor: {}}",
		"db.people.aggregate({$out: 'loot'})",
		"db.people.aggregate([{$facet: {x: [{$merge: {into: 'loot'}}]}}])",
		"db.people.aggregate([{$lookup: {from: 'orders', let: {}, pipeline: [{$merge: {into: "
		"'loot'}}], as: "
		"'c'}}])",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(alone); i++)
		if (!changes_something(alone[i]))
			fail_msg("%s: changes nothing", alone[i]);
	for (size_t i = 0; i < COUNT_OF(spellings); i++) {
		_cleanup_(buf_free) struct buf half = BUF_INIT, whole = BUF_INIT;
		put(&half, spellings[i], '@', "$merge");
		put(&whole, half.data, '~', "merge");
		buf_append_text(&whole, ": {into: 'loot'}");
		send_everywhere(whole.data);
	}
	wrap(pipeline_wrappers, COUNT_OF(pipeline_wrappers), WORD_LENGTH, "{$out: 'loot'}", send_pipeline);
	print_message("%zu of %zu texts write when nobody stops them; %zu were stopped\n", wrote, sent,
		      tried);
	assert_true(wrote > 300);
	assert_false(has_changed());
}

/* --- all of it --- */

static int start(void **state)
{
	static char dsn[64], uri[64];
	struct err_detail detail = { "" };
	(void)state;
	snprintf(uri, sizeof uri, "mongodb://127.0.0.1:%d", server.port);
	snprintf(dsn, sizeof dsn, "%s/shop", uri);
	mongoc_init();
	client = mongoc_client_new(uri);
	assert_non_null(client);
	settings.target = postgresql_settings("shop", dsn);
	settings.target.engine = TARGET_MONGODB;
	engine = engine_of(TARGET_MONGODB);
	make_world();
	if (engine->open(&settings, &session, &detail) || engine->begin(session, &detail))
		fail_msg("%s", detail.message);
	look(&world);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	engine->end(session);
	engine->close(session);
	mongoc_client_destroy(client);
	buf_free(&world);
	return 0;
}

int main(void)
{
	int status = test_mongodb_start(&server);
	if (status == 77)
		printf("skipped: unit.target.mongodb_attacks needs a server for MongoDB's protocol\n");
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_knows_them),
		cmocka_unit_test(refused_operators_change_nothing),
		cmocka_unit_test(wrapped_ones_change_nothing),
		cmocka_unit_test(deep_ones_change_nothing),
		cmocka_unit_test(drawn_ones_change_nothing),
		cmocka_unit_test(methods_and_commands_change_nothing),
		cmocka_unit_test(the_servers_own_collections_are_not_read),
		cmocka_unit_test(odd_texts_change_nothing),
		cmocka_unit_test(long_and_deep_texts_change_nothing),
		cmocka_unit_test(data_that_look_like_it_change_nothing),
		cmocka_unit_test(the_server_would_write),
	};
	status = cmocka_run_group_tests(tests, start, stop);
	mongoc_cleanup();
	test_mongodb_stop(&server);
	return status;
}
