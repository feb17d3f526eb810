/*
 * MongoDB's front end: what is read, where a failure is told, what is said of stages and operators, which
 * texts are no plain reads, and which two are the same query.
 */
#include "sql/dialects.h"
#include "sql/mongodb/command.h"
#include "sql/mongodb/operators.h"

#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static struct arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static struct sql_analysis analyse(const char *text)
{
	struct sql_analysis analysis;
	sql_analyse(&(struct sql_request){ .sql = str_from(text), .dialect = SQL_MONGODB }, arena, &analysis);
	for (size_t i = 0; i < analysis.diagnostics_count; i++)
		assert_true(analysis.diagnostics[i].offset >= 0 &&
			    (size_t)analysis.diagnostics[i].offset <= strlen(text));
	return analysis;
}

/* code@offset of each, separated by spaces; of a risky_pattern its sub code. */
static const char *codes_of(const struct sql_analysis *analysis)
{
	struct buf buf = BUF_INIT;
	for (size_t i = 0; i < analysis->diagnostics_count; i++) {
		const struct sql_diagnostic *one = &analysis->diagnostics[i];
		buf_printf(&buf, "%s%s@%lld", i > 0 ? " " : "", one->sub_code ? one->sub_code : one->code,
			   (long long)one->offset);
	}
	str_t text = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return text.ptr;
}

/* --- reading --- */

static void reads_what_generators_write(void **state)
{
	static const char *const texts[] = {
		"db.users.find()",
		"db.users.find({});",
		"  db . users . find ( { } ) . limit ( 1 ) ;; ",
		"db['users'].find({}).limit(1)",
		"db[\"a.b c\"].findOne({a: 1})",
		"db.getCollection('users').find({a: 1}).limit(2).toArray()",
		"db.a.b.c.find({a: 1}).sort({a: 1, b: -1}).skip(2).limit(1).pretty()",
		"db.users.find({a: {b: [1, -2.5, .5, 5., 1e3, 0x1F, +7]}})",
		"db.users.find({'a': 'it\\'s', \"b\": \"\\u00e9\\x41\\n\", c: `x`})",
		"db.users.find({a: 1\u00a0})",
		"db.find.find()",
		"db.users.find({a: true, b: false, c: null, d: undefined, e: NaN, f: -Infinity})",
		"db.users.find({_id: ObjectId('507f1f77bcf86cd799439011')})",
		"db.users.find({at: {$gte: ISODate('2024-01-01'), $lt: new "
		"Date(\"2024-02-01T00:00:00.000Z\")}})",
		"db.users.find({at: {$lt: new Date()}, n: NumberLong('9007199254740993')})",
		"db.users.find({n: NumberInt(3), d: NumberDecimal('1.10'), l: Long(5), i: Int32(1)})",
		"db.users.find({u: UUID('c8edabc3-f738-4ca3-b68d-ab92a91478a3'), m: MinKey, x: MaxKey()})",
		"db.users.find({at: {$gte: new Date('2024/1/31'), $lt: new Date('2024/02/01 12:30')}})",
		"db.users.find({ts: {$gt: Timestamp({t: 1, i: 2})}, n: Long.fromString('5')})",
		"db.users.find({d: Decimal128.fromString('1.10')})",
		"db.users.find({}).sort('name')",
		"db.users.find({age: {$lt: 60 * 60 * 24 * 1000, $gt: 2 * (3 - -1) / 4 + 1}}).limit(10 / 2)",
		"db.users.find({age: (5), n: [1+1,2*3 /* six */ ]})",
		"db.users.find({name: /^a[/]b\\/c/im})",
		"db.users.find({name: RegExp('^a', 'i')})",
		"db.users.find({a: 1, /* a comment */ b: 2 // another\n})",
		"db.users.find({a: [1, 2, ], b: {c: 1,},})",
		"db.users.find({'$and': [{a: 1}, {'b.c': {$exists: true}}]}, {a: 1, _id: 0}, {sort: {a: 1}, "
		"limit: 3})",
		"db.users.find({'items.0.name': 'x', 5: 1})",
		"db.users.find({_id: {\"$oid\": \"507f1f77bcf86cd799439011\"}, n: {$numberLong: '5'}})",
		"db.users.find({at: {$date: '2024-01-01T00:00:00Z'}, b: {$date: {$numberLong: '0'}}})",
		"db.users.aggregate([{$match: {a: 1}}, {$group: {_id: '$b', n: {$sum: 1}}}])",
		"db.users.aggregate({$match: {a: 1}}, {$limit: 3})",
		"db.users.aggregate([{$count: 'n'}], {allowDiskUse: false})",
		"db.users.aggregate([])",
		"db.users.countDocuments({a: 1})",
		"db.users.estimatedDocumentCount()",
		"db.users.find({a: 1}).count()",
		"db.users.count()",
		"db.users.distinct('a.b', {c: 1})",
		"db.runCommand({find: 'users', filter: {a: 1}, limit: 2})",
		"{\"find\": \"users\", \"filter\": {\"a\": 1}, \"limit\": 3}",
		"{aggregate: 'users', pipeline: [{$limit: 1}], cursor: {}}",
		"{distinct: 'users', key: 'a', query: {b: 1}}",
		"{count: 'users', query: {a: 1}}",
		"```javascript\ndb.users.find({a: 1}).limit(1)\n```",
		"db.users.aggregate([{$documents: [{a: 1}]}])",
		"db.aggregate([{$documents: [{a: 1}]}, {$limit: 1}])",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct sql_analysis analysis = analyse(texts[i]);
		if (!analysis.valid)
			fail_msg("%s: %s at %lld", texts[i], analysis.diagnostics[0].message.ptr,
				 (long long)analysis.diagnostics[0].offset);
		if (analysis.verdict != SQL_SAFE)
			fail_msg("%s: is not SAFE: %s", texts[i],
				 str_present(analysis.doubt) ? analysis.doubt.ptr
							     : analysis.violations[0].detail.ptr);
		assert_true(str_present(analysis.canonical) && str_present(analysis.shape));
	}
}

static void says_where_a_text_is_no_query(void **state)
{
	static const struct {
		const char *text;
		int64_t offset;
	} rows[] = {
		{ "", 0 },
		{ "SELECT 1", 0 },
		{ "db", 2 },
		{ "db.users", 8 },
		{ "db.find()", 3 },
		{ "db.users.find.find()", 9 },
		{ "db.users.find({a: 1)", 19 },
		{ "db.users.find({a 1})", 17 },
		{ "db.users.find({a: })", 18 },
		{ "db.users.find({a: 1}", 20 },
		{ "db.users.find({a: 1 + x})", 22 },
		{ "db.users.find({a: 1 +})", 21 },
		{ "db.users.find({a: 1--1})", 20 },
		{ "db.users.find({a: 1++1})", 20 },
		{ "db.users.find({a: 2 ** 3})", 21 },
		{ "db.users.find({a: 5 % 2})", 20 },
		{ "db.users.find({a: 1 / 0})", 18 },
		{ "db.users.find({a: (1 + 2})", 24 },
		{ "db.users.find({a: (1, 2)})", 20 },
		{ "db.users.find({a: ('x')})", 19 },
		{ "db.users.find({a: 1 + 'x'})", 22 },
		{ "db.users.find({a: 'x' + 1})", 22 },
		{ "db.users.find({a: 1 + NumberInt(2)})", 22 },
		{ "db.users.find({a: NumberInt(2) + 1})", 31 },
		{ "db.users.find({a: 1 < 2})", 20 },
		{ "db.users.find({a: new Date('2024/13/01')})", 22 },
		{ "db.users.find({a: new Date('2024/1')})", 22 },
		{ "db.users.find({a: new Date('24/1/1')})", 22 },
		{ "db.users.find({a: new Date('2024/1/1 5')})", 22 },
		{ "db.users.find({a: new Date('2024/1/1x')})", 22 },
		{ "db.users.find({a: ISODate('2024/01/01')})", 18 },
		{ "db.users.find({a: Timestamp({t: 1})})", 18 },
		{ "db.users.find({a: Timestamp({t: 1, i: 'x'})})", 18 },
		{ "db.users.find({a: Timestamp({t: 1, i: 2, x: 3})})", 18 },
		{ "db.users.find({a: Long.fromString(5)})", 18 },
		{ "db.users.find({a: Long.fromString('x')})", 18 },
		{ "db.users.find({a: Long.ZERO})", 18 },
		{ "db.getSiblingDB('a')", 20 },
		{ "db.getSiblingDB().a.find()", 16 },
		{ "db.getSiblingDB('a').getSiblingDB('b').c.find()", 21 },
		{ "db.a.getSiblingDB('b').c.find()", 5 },
		{ "db.users.find({a: NumberLong.fromString('5')})", 18 },
		{ "db.users.find({a: x})", 18 },
		{ "db.users.find({a: f(1)})", 18 },
		{ "db.users.find({a: function() { return 1 }})", 18 },
		{ "db.users.find({a: 'x})", 18 },
		{ "db.users.find({a: 'x\n'})", 20 },
		{ "db.users.find({a: '\\u12'})", 19 },
		{ "db.users.find({a: '\\ud800'})", 19 },
		{ "db.users.find({a: `${1}`})", 19 },
		{ "db.users.find({a: /x})", 18 },
		{ "db.users.find({a: /x/q})", 21 },
		{ "db.users.find({a: 12abc})", 20 },
		{ "db.users.find({a: 1, b: 2, a: 3})", 27 },
		{ "db.users.find({__proto__: 1})", 15 },
		{ "db.users.find({a: ObjectId('12')})", 18 },
		{ "db.users.find({a: ISODate('soon')})", 18 },
		{ "db.users.find({a: NumberInt('5000000000')})", 18 },
		{ "db.users.find({a: Date('2024-01-01')})", 18 },
		{ "db.users.find(/* never closed", 14 },
		{ "db.users.find({}).srt({a: 1})", 18 },
		{ "db.users.find({}).limit()", 23 },
		{ "db.users.find({}, {}, {}, {})", 13 },
		{ "db.users.findOne({}).limit(1)", 21 },
		{ "db.users.find({}).forEach(printjson)", 18 },
		{ "db.users.get({})", 9 },
		{ "db.users.find({}) db.users.find({})", 18 },
		{ "db.users.find({a: 1})[0]", 21 },
		{ "{find: 1}", 7 },
		{ "{ping: 1}", 1 },
		{ "[1]", 0 },
		{ "var a = db.users.find()", 0 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sql_analysis analysis = analyse(rows[i].text);
		if (analysis.valid || analysis.verdict == SQL_SAFE)
			fail_msg("%s: is taken for a query", rows[i].text);
		assert_string_equal(analysis.diagnostics[0].code, "syntax_error");
		if (analysis.diagnostics[0].offset != rows[i].offset)
			fail_msg("%s: %lld: %s", rows[i].text, (long long)analysis.diagnostics[0].offset,
				 analysis.diagnostics[0].message.ptr);
	}
}

static void bounds_hold(void **state)
{
	struct buf buf = BUF_INIT;
	(void)state;
	buf_append_text(&buf, "db.users.find({a: ");
	for (int i = 0; i < 5000; i++)
		buf_append_char(&buf, '[');
	struct sql_analysis analysis = analyse(buf_str(&buf).ptr);
	assert_int_equal(analysis.verdict, SQL_UNSAFE);
	assert_string_equal(analysis.violations[0].code, "too_deep");
	assert_int_equal(analysis.violations[0].offset, 18 + MONGODB_MAX_DEPTH - 1);
	buf_reset(&buf);
	buf_append_text(&buf, "db.users.find({a: {$in: [");
	for (int i = 0; i < 30000; i++)
		buf_append_text(&buf, "1,");
	buf_append_text(&buf, "1]}}).limit(1)");
	analysis = analyse(buf_str(&buf).ptr);
	assert_int_equal(analysis.verdict, SQL_UNSAFE);
	assert_string_equal(analysis.violations[0].code, "too_long");
	buf_reset(&buf);
	buf_append_text(&buf, "db.a.aggregate([");
	for (int i = 0; i < 30; i++)
		buf_append_text(
			&buf,
			"{$lookup: {from: 'b', as: 'c', localField: 'd', foreignField: 'e', pipeline: [");
	for (int i = 0; i < 30; i++)
		buf_append_text(&buf, "]}}");
	buf_append_text(&buf, ", {$limit: 1}])");
	size_t before = arena_size_bytes(arena);
	assert_int_equal(analyse(buf_str(&buf).ptr).verdict, SQL_SAFE);
	assert_true(arena_size_bytes(arena) - before < 1 << 20);
	buf_reset(&buf);
	for (int i = 0; i < 70000; i++)
		buf_append_char(&buf, ' ');
	analysis = analyse(buf_str(&buf).ptr);
	assert_string_equal(analysis.violations[0].code, "too_long");
	buf_free(&buf);
}

/* --- diagnostics --- */

static void says_what_is_wrong_with_a_query(void **state)
{
	static const struct {
		const char *text, *codes;
	} rows[] = {
		{ "db.a.find({})", "missing_limit@0" },
		{ "db.a.findOne({})", "" },
		{ "db.a.aggregate([{$match: {a: 1}}])", "missing_limit@0" },
		{ "db.a.aggregate([{$sortByCount: '$a'}])", "" },
		{ "db.a.find({a: /x/}).limit(1)", "leading_wildcard@14" },
		{ "db.a.find({a: /^x/}).limit(1)", "" },
		{ "db.a.find({a: {$regex: 'x', $options: 'i'}}).limit(1)", "leading_wildcard@23" },
		{ "db.a.find({a: {$options: 'i'}}).limit(1)", "invalid_use@15" },
		{ "db.a.find({$an: [{a: 1}]}).limit(1)", "unknown_function@11" },
		{ "db.a.find({a: {$grt: 1}}).limit(1)", "unknown_function@15" },
		{ "db.a.find({a: {$in: 1}}).limit(1)", "invalid_type@15" },
		{ "db.a.find({$or: {a: 1}}).limit(1)", "invalid_type@11" },
		{ "db.a.find({$or: []}).limit(1)", "invalid_type@11" },
		{ "db.a.find({a: {$gt: 1, b: 2}}).limit(1)", "invalid_use@23" },
		{ "db.a.find({a: {$size: -1}}).limit(1)", "invalid_type@15" },
		{ "db.a.find({a: 1}).limit('5')", "invalid_type@24" },
		{ "db.a.find({}).limit(0)", "missing_limit@0" },
		{ "db.a.find({a: {gt: 3, lte: 5}}).limit(1)", "missing_dollar@15" },
		{ "db.a.find({a: {gt: 3, b: 5}}).limit(1)", "" },
		{ "db.a.find({a: {}}).limit(1)", "" },
		{ "db.a.aggregate([{$group: {_id: 'b', n: {$sum: 1}}}])", "missing_dollar@31" },
		{ "db.a.aggregate([{$group: {_id: '$b', n: {$sum: 'c'}, m: {$max: 'c'}}}])",
		  "missing_dollar@47" },
		{ "db.a.find({}, {_id: 0, b: 1}).limit(1)", "" },
		{ "db.a.find({}, {_id: 1, b: 0}).limit(1)", "" },
		{ "db.a.find({}, {b: 1, c: 0}).limit(1)", "invalid_use@21" },
		{ "db.a.find({}).sort({a: 2}).limit(1)", "invalid_order@20" },
		{ "db.a.find([1]).limit(1)", "invalid_type@10" },
		{ "db.a.aggregate([{$limit: 0}])", "invalid_type@17" },
		{ "db.a.aggregate([{$skip: -1}, {$limit: 1}])", "invalid_type@17" },
		{ "db.a.aggregate([{$mach: {a: 1}}, {$limit: 1}])", "unknown_function@17" },
		{ "db.a.aggregate([{$match: {a: 1}, $limit: 1}])", "invalid_use@16 missing_limit@0" },
		{ "db.a.aggregate([{$group: {n: {$sum: 1}}}])", "invalid_use@17" },
		{ "db.a.aggregate([{$group: {_id: '$a', n: '$b'}}])", "invalid_aggregate@37" },
		{ "db.a.aggregate([{$group: {_id: '$a', n: {$adn: 1}}}])", "unknown_function@41" },
		{ "db.a.aggregate([{$group: {_id: '$a', n: {$sum: {$dvide: [1, 2]}}}}])",
		  "unknown_function@48" },
		{ "db.a.aggregate([{$project: {x: {$divide: ['$a']}}}, {$limit: 1}])", "invalid_use@32" },
		{ "db.a.aggregate([{$project: {x: '$$rot.a'}}, {$limit: 1}])", "unknown_column@31" },
		{ "db.a.aggregate([{$project: {x: '$a..b'}}, {$limit: 1}])", "invalid_use@28" },
		{ "db.a.aggregate([{$project: {x: {$map: {input: '$a', as: 'i', in: '$$i.b'}}}}, {$limit: "
		  "1}])",
		  "" },
		{ "db.a.aggregate([{$project: {x: {$let: {vars: {t: '$a'}, in: {$add: ['$$t', 1]}}}}}, "
		  "{$limit: 1}])",
		  "" },
		{ "db.a.aggregate([{$unwind: 'a'}, {$limit: 1}])", "invalid_type@17" },
		{ "db.a.aggregate([{$unwind: {path: '$a'}}, {$limit: 1}])", "" },
		{ "db.a.aggregate([{$lookup: {from: 'b', as: 'c'}}, {$limit: 1}])", "invalid_use@17" },
		{ "db.a.aggregate([{$lookup: {from: 'b', pipeline: [], as: 'c'}}, {$limit: 1}])",
		  "cartesian_product@26" },
		{ "db.a.aggregate([{$lookup: {from: 'b', let: {x: '$a'}, pipeline: [{$match: {$expr: {$eq: "
		  "['$$x', '$b']}}}], as: 'c'}}, {$limit: 1}])",
		  "" },
		{ "db.a.aggregate([{$count: '$n'}])", "invalid_type@17" },
		{ "db.a.distinct()", "invalid_type@5" },
		{ "{aggregate: 'a'}", "invalid_use@1" },
		{ "db.a.find({a: 1}, {}, {secret: 1}).limit(1)", "invalid_use@23" },
		{ "```\ndb.a.find({a: {$grt: 1}}).limit(1)\n```", "markdown_fence@0 unknown_function@19" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sql_analysis analysis = analyse(rows[i].text);
		if (strcmp(codes_of(&analysis), rows[i].codes) != 0)
			fail_msg("%s: %s", rows[i].text, codes_of(&analysis));
	}
}

static void offers_what_may_be_meant(void **state)
{
	static const struct {
		const char *text, *hint;
	} rows[] = {
		{ "db.a.aggregate([{$mach: {a: 1}}, {$limit: 1}])", "did you mean \"$match\"?" },
		{ "db.a.find({a: {$gte_: 1}}).limit(1)", "did you mean \"$gte\"?" },
		{ "db.a.aggregate([{$group: {_id: 1, n: {$summ: 1}}}])", "did you mean \"$sum\"?" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sql_analysis analysis = analyse(rows[i].text);
		if (!strstr(analysis.diagnostics[0].message.ptr, rows[i].hint))
			fail_msg("%s: %s", rows[i].text, analysis.diagnostics[0].message.ptr);
	}
}

/* --- safety --- */

static void refuses_what_is_no_plain_read(void **state)
{
	static const struct {
		const char *text, *code;
		int64_t offset;
	} rows[] = {
		{ "db.a.deleteMany({})", "not_a_read", 5 },
		{ "db.a.insertOne({a: 1})", "not_a_read", 5 },
		{ "db.a.b.updateOne({a: 1}, {$set: {a: function() {}}})", "not_a_read", 7 },
		{ "db.a.mapReduce(function() {}, function() {}, {out: 'b'})", "not_a_read", 5 },
		{ "db.dropDatabase()", "not_a_read", 3 },
		{ "db.runCommand({drop: 'a'})", "not_a_read", 15 },
		{ "{\"delete\": \"a\", \"deletes\": []}", "not_a_read", 1 },
		{ "db.a.find().drop()", "not_a_read", 12 },
		{ "db.a.find({}); db.a.drop()", "multiple_statements", 15 },
		{ "x = 1; db.a.remove({})", "not_a_read", 12 },
		{ "db.a.aggregate([{$out: 'b'}])", "select_into", 17 },
		{ "db.a.aggregate([{$merge: {into: 'b'}}])", "select_into", 17 },
		{ "db.a.aggregate([{'\\u0024out': 'b'}])", "select_into", 17 },
		{ "db.a.aggregate([{$facet: {x: [{$out: 'b'}]}}])", "select_into", 31 },
		{ "db.a.aggregate([{$out: f()}])", "select_into", 17 },
		{ "db.a.find({$where: 'true'})", "dangerous_function", 11 },
		{ "db.a.find({'a.$where': 'true'})", "dangerous_function", 11 },
		{ "db.a.find({$expr: {$function: {body: 'x', args: [], lang: 'js'}}})", "dangerous_function",
		  19 },
		{ "db.a.aggregate([{$group: {_id: 1, x: {$accumulator: {}}}}])", "dangerous_function", 38 },
		{ "db.a.aggregate([{$_internalFoo: {}}])", "dangerous_function", 17 },
		{ "db.a.aggregate([{$currentOp: {}}])", "system_catalog", 17 },
		{ "db.a.aggregate([{$collStats: {}}])", "system_catalog", 17 },
		{ "db.a.aggregate([{$changeStream: {}}])", "system_catalog", 17 },
		{ "db.system.users.find({})", "system_catalog", 3 },
		{ "db.getCollection('system.profile').find()", "system_catalog", 17 },
		{ "db.a.aggregate([{$lookup: {from: 'system.users', localField: 'a', foreignField: 'b', as: "
		  "'c'}}])",
		  "system_catalog", 33 },
		{ "db.a.aggregate([{$unionWith: 'system.js'}])", "system_catalog", 29 },
		{ "db.a.aggregate([{$project: {r: '$$USER_ROLES'}}])", "system_catalog", 31 },
		{ "db.a.aggregate([{$graphLookup: {from: 'b', startWith: '$a', connectFromField: 'a', "
		  "connectToField: 'b', as: 'c'}}])",
		  "resource_bomb", 31 },
		{ "db.a.aggregate([{$project: {x: {$range: [0, 1000000000]}}}])", "resource_bomb", 40 },
		{ "db.a.aggregate([{$bucketAuto: {groupBy: '$a', buckets: 1000000}}])", "resource_bomb", 55 },
		{ "db.a.aggregate([{$sample: {size: 100000000}}])", "resource_bomb", 33 },
		{ "db.a.find({a: /^(a+)+$/})", "resource_bomb", 14 },
		{ "db.a.find({a: {$regex: '^(a|b*)*c'}})", "resource_bomb", 23 },
		{ "db.a.aggregate([{$project: {x: {$reduce: {input: '$a', initialValue: 'x', in: {$concat: "
		  "['$$value', '$$value']}}}}}])",
		  "resource_bomb", 78 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sql_analysis analysis = analyse(rows[i].text);
		if (analysis.verdict != SQL_UNSAFE ||
		    strcmp(analysis.violations[0].code, rows[i].code) != 0 ||
		    analysis.violations[0].offset != rows[i].offset)
			fail_msg("%s: %d %s at %lld", rows[i].text, analysis.verdict,
				 analysis.violations_count ? analysis.violations[0].code : "nothing",
				 analysis.violations_count ? (long long)analysis.violations[0].offset : -1);
	}
}

static void doubts_what_it_does_not_know(void **state)
{
	static const char *const texts[] = {
		"db.a.aggregate([{$newStage: {}}, {$limit: 1}])",
		"db.a.find({a: {$newOperator: 1}}).limit(1)",
		"db.a.aggregate([{$project: {a: {$newExpression: 1}}}, {$limit: 1}])",
		"db.a.find({'a.$b': 1}).limit(1)",
		"db.a.find({}, {}, {newOption: 1}).limit(1)",
		"db.a.find({}).explain()",
		"db.a.aggregate([{$lookup: {from: {db: 'b', coll: 'c'}, localField: 'a', foreignField: 'b', "
		"as: "
		"'c'}}, {$limit: 1}])",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct sql_analysis analysis = analyse(texts[i]);
		if (!analysis.valid || analysis.verdict != SQL_UNKNOWN)
			fail_msg("%s: %d", texts[i], analysis.verdict);
	}
}

/* What is asked for twice, and what ends where another reader sees no end. */
static void is_not_led_astray(void **state)
{
	static const char *const texts[] = {
		"db.a.find({}, {a: {$function: {body: 'x', args: [], lang: 'js'}}}, {projection: {b: "
		"1}}).limit(1)",
		"db.a.find({}, {a: {$function: {}}}).projection({b: 1}).limit(1)",
		"db.a.find({}).sort({a: 1}).sort({b: 1}).limit(1)",
		"db.a.find({}).collation({locale: 'a'}).collation({locale: 'b'}).limit(1)",
		"db.a.findOne({}) //\xE2\x80\xA8; db.a.drop()",
		"// x\xE2\x80\xA9"
		"db.a.drop()\ndb.a.findOne({})",
		"db.a.findOne({\"\\\xE2\x80\xA8$where\": \"while(1);\"})",
		"db[\"sys\\\xE2\x80\xA8tem.users\"].findOne()",
		"db[\"sys\\\r\ntem.users\"].findOne()",
		"db.system\xC2\xA0.users.findOne()",
		"db.startup_log\xE2\x80\x83.findOne()",
		"db.a.aggregate([{$fill: {output: {r: {value: '$$USER_ROLES'}}}}, {$limit: 1}])",
		"db.a.aggregate([{$project: {r: {$max: ['$$USER_ROLES']}}}, {$limit: 1}])",
		"db.a.aggregate([{$set: {x: '$$r'}}, {$limit: 1}], {let: {r: '$$USER_ROLES'}})",
		"db.a.aggregate([{$project: {r: {$slice: [{$futureOp: 1}, 5]}}}, {$limit: 1}])",
		"db.a.findOne({a: {$all: [{$elemMatch: {b: {$futureOp: 1}}}]}})",
		"db.a.findOne({a: {$all: [{$elemMatch: {b: /(x+x+)+y/}}]}})",
		"db.a.aggregate([{$setWindowFields: {output: {x: {$sum: 1, window: {$futureOp: 1}}}}}, "
		"{$limit: 1}])",
		"{find: 'sessions', $db: 'config', filter: {}, limit: 1}",
		"db.a.find({}, {}, {$db: 'config'}).limit(1)",
		"db.a.aggregate([{$unionWith: {coll: 'b', db: 'other'}}, {$limit: 1}])",
		"db.a.aggregate([{$project: {x: {$range: [0, {$literal: 2000000000}]}}}, {$limit: 1}])",
		"db.a.aggregate([{$project: {x: {$range: [{$add: [-2000000000, 1]}, 0]}}}, {$limit: 1}])",
		"db.a.find({a: 010}).limit(1)",
		"db.a.find('this.a').limit(1)",
		"db.a.findOne({$or: ['this.a']})",
		"db.a.aggregate('[]')",
		"db.a.aggregate(['$out'])",
		"db.a.aggregate([['$out', 'b']])",
		"db.a.aggregate([{$limit: 1}], [{$out: 'b'}])",
		"db.a.find({}, {}, 5).limit(1)",
		"db.a.aggregate([{$facet: {$literal: [{$out: 'b'}]}}])",
		"db.a.aggregate([{$facet: {'$const': [{$merge: 'b'}]}}])",
		"db.a.find({$literal: {$where: '1'}}).limit(1)",
		"db.a.find({}, {$literal: {x: {$function: {}}}}).limit(1)",
		"db.a.aggregate([{$project: {x: {$literal: {$out: 'b'}}}}, {$limit: 1}])",
		"db.getSiblingDB('other').a.find().limit(1)",
		"db.getSiblingDB('').a.find().limit(1)",
		"db.getSiblingDB('other')['a'].find().limit(1)",
		"db.getSiblingDB('other').getCollection('a').find().limit(1)",
		"db.getSiblingDB('other').runCommand({find: 'a', limit: 1})",
		"db.getSiblingDB('other').aggregate([{$documents: [{a: 1}]}])",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (analyse(texts[i]).verdict == SQL_SAFE)
			fail_msg("%s: is SAFE", texts[i]);
}

/* `before`, then `count` times `each` with its number for "#", then `behind`. */
static const char *repeated(const char *before, const char *each, int count, const char *behind)
{
	struct buf buf = BUF_INIT;
	buf_append_text(&buf, before);
	for (int i = 0; i < count; i++) {
		const char *mark = strchr(each, '#');
		if (mark)
			buf_printf(&buf, "%.*s%d%s", (int)(mark - each), each, i, mark + 1);
		else
			buf_append_text(&buf, each);
	}
	buf_append_text(&buf, behind);
	const char *text = arena_strdup(arena, buf.data);
	buf_free(&buf);
	return text;
}

/* A path is written beside each field and condition that lies within it. */
static void no_text_takes_more_than_its_share(void **state)
{
	const char *key = repeated("\"", "k", 30000, "\": {");
	const char *long_key = repeated("", "k", 60000, ": ");
	const char *texts[] = {
		repeated(arena_printf(arena, "db.a.aggregate([{$project: {%s", key).ptr, "a#: 1, ", 3500,
			 "}}}])"),
		repeated(arena_printf(arena, "db.a.aggregate([{$set: {%s", key).ptr, "a#: 1, ", 3500,
			 "}}}])"),
		repeated(arena_printf(arena, "db.a.find({%s", key).ptr, "$aaa#: 1, ", 3000, "}})"),
		repeated(repeated(arena_printf(arena, "db.a.find({%s", long_key).ptr, "{$not: ", 90,
				  "{$gt: 1}"),
			 "}", 90, "})"),
		repeated("db", ".a", 32000, ".find()"),
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct arena *own = arena_new();
		struct sql_analysis analysis;
		sql_analyse(&(struct sql_request){ .sql = str_from(texts[i]), .dialect = SQL_MONGODB }, own,
			    &analysis);
		assert_int_not_equal(analysis.verdict, SQL_SAFE);
		assert_true(arena_size_bytes(own) < 1 << 20);
		arena_free(own);
	}
}

/* What is no operator where it stands is data. */
static void takes_data_for_data(void **state)
{
	static const char *const texts[] = {
		"db.a.find({a: '$out', b: \"db.b.drop()\"}).limit(1)",
		"db.a.find({a: '{$where: 1}'}).limit(1)",
		"db.a.find({/* {$out: 1} */ a: 1}).limit(1)",
		"db.a.aggregate([{$project: {x: {$literal: '$out'}, y: {$literal: {out: 'b'}}}}, {$limit: "
		"1}])",
		"db.a.find({out: 1, where: 2, 'a.out': 3}).limit(1)",
		"db.drop.find({remove: 1}).limit(1)",
		"db.systems.find({}).limit(1)",
		"db.a.find({a: {$elemMatch: {b: 1}}}, {'a.$': 1}).limit(1)",
		"db.a.find({a: /^(ab)+c*$/}).limit(1)",
		"db.a.find({a: /^([a-z]+ )?[0-9]{1,3}$/}).limit(1)",
		"db.a.find({email: /^[\\w.-]+@([\\w-]+\\.)+[\\w-]{2,4}$/}).limit(1)",
		"db.a.find({a: /^(\\w+\\s)*\\w+$/}).limit(1)",
		"db.a.find({}).sort({$natural: -1}).limit(1)",
		"db.a.find({}, {}, {batchSize: 5}).count()",
		"db.a.find({a: 1}).min({a: 1}).hint({a: 1}).count()",
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct sql_analysis analysis = analyse(texts[i]);
		if (analysis.verdict != SQL_SAFE)
			fail_msg("%s: %d %s", texts[i], analysis.verdict,
				 analysis.violations_count ? analysis.violations[0].detail.ptr
							   : analysis.doubt.ptr);
	}
}

/* The text with what stands for "%s" put in. */
static void fill(const char *form, const char *with, char *ret_text, size_t size)
{
	const char *place = strstr(form, "%s");
	snprintf(ret_text, size, "%.*s%s%s", (int)(place - form), form, with, place + 2);
}

/* Every refused operator, in every place where a text may put one, under every way to write its name. */
static void refuses_it_wherever_it_stands(void **state)
{
	static const char *const refused[] = {
		"$out",	       "$merge",	  "$function",		"$accumulator",	 "$where",
		"$currentOp",  "$listSessions",	  "$listLocalSessions", "$changeStream", "$collStats",
		"$indexStats", "$planCacheStats", "$_internalJsEmit",	"$mergeCursors", "$eval",
		"$queryStats", "$listCatalog",
	};
	static const char *const names[] = {
		"%s",	 "'%s'", "\"%s\"", "'\\x24%s'", "\"\\u0024%s\"", "'\\u{24}%s'", "/* a */ %s /* b */",
		"\n%s\n"
	};
	static const char *const places[] = {
		"db.a.aggregate([{%s: 'b'}])",
		"db.a.aggregate([{%s: {into: 'b', body: 'x'}}])",
		"db.a.aggregate({%s: 'b'})",
		"db.a.aggregate([{$match: {}}, {%s: {}}])",
		"db.a.aggregate([{$match: {a: 1, %s: 1}}])",
		"db.a.aggregate([{$match: {a: {%s: 1}}}])",
		"db.a.aggregate([{$match: {$or: [{a: 1}, {$and: [{%s: 1}]}]}}])",
		"db.a.aggregate([{$match: {$expr: {$gt: [{%s: 1}, 1]}}}])",
		"db.a.aggregate([{$facet: {x: [{$facet: {y: [{%s: 'b'}]}}]}}])",
		"db.a.aggregate([{$lookup: {from: 'b', let: {}, pipeline: [{%s: 'b'}], as: 'c'}}])",
		"db.a.aggregate([{$unionWith: {coll: 'b', pipeline: [{%s: 'b'}]}}])",
		"db.a.aggregate([{$group: {_id: {%s: 1}}}])",
		"db.a.aggregate([{$group: {_id: 1, x: {%s: 1}}}])",
		"db.a.aggregate([{$project: {x: {y: {%s: 1}}}}])",
		"db.a.aggregate([{$project: {x: {$cond: [{%s: 1}, 1, 2]}}}])",
		"db.a.aggregate([{$setWindowFields: {sortBy: {a: 1}, output: {x: {%s: 1}}}}])",
		"db.a.aggregate([{$bucket: {groupBy: {%s: 1}, boundaries: [1, 2]}}])",
		"db.a.aggregate([{$fill: {output: {a: {value: {%s: 1}}}}}])",
		"db.a.aggregate([{$search: {%s: 1}}])",
		"db.a.find({%s: 'x'})",
		"db.a.find({a: {$not: {%s: 1}}})",
		"db.a.find({a: {$elemMatch: {%s: 1}}})",
		"db.a.find({}, {a: {%s: 1}})",
		"db.a.find({}).sort({%s: 1})",
		"db.a.find({}, {}, {let: {x: {%s: 1}}})",
		"db.a.countDocuments({%s: 'x'})",
		"db.a.distinct('a', {%s: 'x'})",
		"{find: 'a', filter: {%s: 'x'}}",
		"{aggregate: 'a', pipeline: [{%s: 'b'}], cursor: {}}",
		"db.runCommand({aggregate: 'a', pipeline: [{%s: 'b'}], cursor: {}})",
		"db.a.aggregate([{%s: b}])",
	};
	size_t tried = 0;
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refused); i++)
		for (size_t j = 0; j < COUNT_OF(names); j++)
			for (size_t k = 0; k < COUNT_OF(places); k++, tried++) {
				char name[64], text[256];
				bool escaped = strstr(names[j], "24") != NULL;
				fill(names[j], refused[i] + (escaped ? 1 : 0), name, sizeof name);
				fill(places[k], name, text, sizeof text);
				struct sql_analysis analysis = analyse(text);
				bool hidden = escaped && k + 1 == COUNT_OF(places); /* it does not parse */
				if (analysis.verdict != (hidden ? SQL_UNKNOWN : SQL_UNSAFE))
					fail_msg("%s: %d", text, analysis.verdict);
			}
	assert_true(tried > 4000);
}

static void the_table_is_in_order(void **state)
{
	static const char *const names[] = {
#define OPERATOR(name, places, refusal) name,
#include "sql/mongodb/operators.def"
#undef OPERATOR
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
		assert_string_equal(mongodb_operator(str_from(names[i]))->name, names[i]);
	}
	assert_null(mongodb_operator(STR("$nothing")));
}

/* --- the same query --- */

static const char *const same[][2] = {
	{ "db.a.find({b: 60 * 60 * 24})", "db.a.find({b: 86400})" },
	{ "db.a.find({b: 7 / 2})", "db.a.find({b: 3.5})" },
	{ "db.a.find({b: 1 + 2 * 3 - (4 - 6)})", "db.a.find({b: 9})" },
	{ "db.a.find().sort('b').limit(1)", "db.a.find().sort({b: 1}).limit(1)" },
	{ "db.a.find({b: Timestamp({i: 2, t: 1})})", "db.a.find({b: Timestamp(1, 2)})" },
	{ "db.a.find({b: Long.fromString('5')})", "db.a.find({b: NumberLong('5')})" },
	{ "db.a.find({b: new Date('2024/1/5')})", "db.a.find({b: new Date('2024-01-05T00:00:00')})" },
	{ "db.a.find({a: 1})", "db.a.aggregate([{$match: {a: {$eq: 1}}}])" },
	{ "db.a.find({a: 1, b: 2})", "db.a.find({b: 2, a: 1})" },
	{ "db.a.find({$and: [{a: 1}, {b: 2}]})", "db.a.find({a: 1, b: 2})" },
	{ "db.a.find({$and: [{a: 1}]})", "db.a.find({a: 1})" },
	{ "db.a.find({$or: [{a: 1}]})", "db.a.find({a: 1})" },
	{ "db.a.find({$or: [{a: 1}, {b: 1}]})", "db.a.find({$or: [{b: 1}, {a: 1}, {b: 1}]})" },
	{ "db.a.find({a: {$gt: 1, $lt: 5}})", "db.a.find({$and: [{a: {$lt: 5}}, {a: {$gt: 1}}]})" },
	{ "db.a.find({a: {$in: [1, 2]}})", "db.a.find({a: {$in: [2, 1, 1.0]}})" },
	{ "db.a.find({a: {$in: ['x']}})", "db.a.find({a: \"x\"})" },
	{ "db.a.find({a: {$nin: ['x']}})", "db.a.find({a: {$ne: 'x'}})" },
	{ "db.a.find({a: /x/i})", "db.a.find({a: {$regex: 'x', $options: 'i'}})" },
	{ "db.a.find({a: /x/})", "db.a.find({a: {$regex: /x/}})" },
	{ "db.a.find({a: NumberInt(1)})", "db.a.find({a: 1.0})" },
	{ "db.a.find({_id: ObjectId('507F1F77BCF86CD799439011')})",
	  "db.a.find({_id: {$oid: '507f1f77bcf86cd799439011'}})" },
	{ "db.a.find({a: 1}, {b: 1, c: 1}).sort({b: 1}).limit(3)",
	  "db.a.aggregate([{$match: {a: 1}}, {$project: {c: true, b: 1}}, {$sort: {b: 1}}, {$limit: 3}])" },
	{ "db.a.find({a: 1}, {b: 1, _id: 0}).sort({b: 1}).skip(1).limit(3)",
	  "db.a.aggregate([{$match: {a: 1}}, {$sort: {b: 1}}, {$skip: 1}, {$limit: 3}, {$project: {_id: 0, "
	  "b: "
	  "1}}])" },
	{ "db.a.find({}).limit(3).sort({a: 1})", "db.a.find().sort({a: 1}).limit(3)" },
	{ "db.a.findOne({a: 1})", "db.a.find({a: 1}).limit(1)" },
	{ "db.a.aggregate([{$match: {a: 1}}, {$match: {b: 2}}])",
	  "db.a.aggregate([{$match: {b: 2, a: 1}}])" },
	{ "db.a.aggregate([{$sort: {c: 1}}, {$match: {a: 1}}])", "db.a.find({a: 1}).sort({c: 1})" },
	{ "db.a.aggregate([{$match: {}}, {$group: {_id: '$a', n: {$sum: 1}, m: {$max: '$b'}}}])",
	  "db.a.aggregate([{$group: {m: {$max: '$b'}, _id: '$a', n: {$sum: 1}}}])" },
	{ "db.a.aggregate([{$set: {x: 1}}])", "db.a.aggregate([{$addFields: {x: 1}}])" },
	{ "db.a.aggregate([{$unset: ['x', 'y']}])", "db.a.aggregate([{$project: {y: 0, x: 0}}])" },
	{ "db.a.aggregate([{$unwind: '$x'}])",
	  "db.a.aggregate([{$unwind: {path: '$x', preserveNullAndEmptyArrays: false}}])" },
	{ "db.a.aggregate([{$replaceWith: '$x'}])", "db.a.aggregate([{$replaceRoot: {newRoot: '$x'}}])" },
	{ "db.a.aggregate([{$project: {x: {$cond: [{$gt: ['$a', 1]}, 'y', 'z']}}}])",
	  "db.a.aggregate([{$project: {x: {$cond: {if: {$lt: [1, '$a']}, else: 'z', then: 'y'}}}}])" },
	{ "db.a.aggregate([{$project: {a: {b: 1}}}])", "db.a.aggregate([{$project: {'a.b': 1}}])" },
	{ "db.a.aggregate([{$project: {_id: 1, a: 1}}])", "db.a.aggregate([{$project: {a: 1}}])" },
	{ "db.a.countDocuments({a: 1})", "db.a.find({a: 1}).count()" },
	{ "{find: 'a', filter: {a: 1}, sort: {b: 1}}", "db.a.find({a: 1}).sort({b: 1})" },
	{ "db['a'].find()", "db.getCollection('a').find({})" },
	{ "db.a.find({}).sort({b: 1, 10: 1, '9': 1})", "db.a.find({}).sort({9: 1, 10: 1, b: 1})" },
	{ "db.a.find({b: `x\r\ny\rz`})", "db.a.find({b: 'x\\ny\\nz'})" },
};

static const char *const other[][2] = {
	{ "db.getSiblingDB('x').a.find()", "db.a.find()" },
	{ "db.getSiblingDB('x').a.find()", "db.getSiblingDB('y').a.find()" },
	{ "db.a.find({b: 60 * 60})", "db.a.find({b: 3601})" },
	{ "{find: 'a', sort: {b: 1, 9: 1}}", "db.a.find({}).sort({b: 1, 9: 1})" },
	{ "db.a.find({}).sort({b: 1, '09': 1})", "db.a.find({}).sort({'09': 1, b: 1})" },
	{ "db.a.find({b: new Date('2024/1/5')})", "db.a.find({b: new Date('2024-01-05')})" },
	{ "db.a.find({b: new Date('2024/1/5')})", "db.a.find({b: new Date('2024/5/1')})" },
	{ "db.a.find({a: 1})", "db.b.find({a: 1})" },
	{ "db.a.find({a: 1})", "db.A.find({a: 1})" },
	{ "db.a.find({a: 1})", "db.a.find({a: '1'})" },
	{ "db.a.find({a: 1})", "db.a.find({a: 2})" },
	{ "db.a.find({a: /x/})", "db.a.find({a: {$eq: /x/}})" },
	{ "db.a.find({a: /x/})", "db.a.find({a: /x/i})" },
	{ "db.a.find({a: {$in: [/x/]}})", "db.a.find({a: {$eq: /x/}})" },
	{ "db.a.find({a: {$gt: 1}})", "db.a.find({a: {$gte: 1}})" },
	{ "db.a.find({$or: [{a: 1}, {b: 1}]})", "db.a.find({a: 1, b: 1})" },
	{ "db.a.find({$nor: [{a: 1}]})", "db.a.find({a: 1})" },
	{ "db.a.find({a: {b: 1, c: 2}})", "db.a.find({a: {c: 2, b: 1}})" },
	{ "db.a.find({a: {b: 1}})", "db.a.find({'a.b': 1})" },
	{ "db.a.find({a: {$elemMatch: {b: 1, c: 2}}})", "db.a.find({'a.b': 1, 'a.c': 2})" },
	{ "db.a.find({a: {$not: {$gt: 1}}})", "db.a.find({a: {$lte: 1}})" },
	{ "db.a.find({a: null})", "db.a.find({a: {$exists: false}})" },
	{ "db.a.find({}, {a: 1})", "db.a.find({}, {a: 0})" },
	{ "db.a.find({}, {a: 1})", "db.a.find({}, {a: 1, _id: 0})" },
	{ "db.a.find().sort({a: 1, b: 1})", "db.a.find().sort({b: 1, a: 1})" },
	{ "db.a.find().sort({a: 1})", "db.a.find().sort({a: -1})" },
	{ "db.a.find().limit(1)", "db.a.find().limit(2)" },
	{ "db.a.find().skip(1)", "db.a.find()" },
	{ "db.a.aggregate([{$limit: 5}, {$sort: {a: 1}}])",
	  "db.a.aggregate([{$sort: {a: 1}}, {$limit: 5}])" },
	{ "db.a.aggregate([{$limit: 5}, {$match: {a: 1}}])",
	  "db.a.aggregate([{$match: {a: 1}}, {$limit: 5}])" },
	{ "db.a.aggregate([{$skip: 1}, {$limit: 5}])", "db.a.aggregate([{$limit: 5}, {$skip: 1}])" },
	{ "db.a.aggregate([{$project: {b: 1}}, {$sort: {a: 1}}])", "db.a.find({}, {b: 1}).sort({a: 1})" },
	{ "db.a.aggregate([{$project: {a: '$b'}}, {$sort: {a: 1}}])",
	  "db.a.aggregate([{$sort: {a: 1}}, {$project: {a: '$b'}}])" },
	{ "db.a.aggregate([{$addFields: {a: 1}}, {$sort: {a: 1}}])",
	  "db.a.aggregate([{$sort: {a: 1}}, {$addFields: {a: 1}}])" },
	{ "db.a.aggregate([{$project: {a: 0}}, {$sort: {'a.b': 1}}])",
	  "db.a.aggregate([{$sort: {'a.b': 1}}, {$project: {a: 0}}])" },
	{ "db.a.aggregate([{$project: {a: 1}}, {$match: {b: 1}}])",
	  "db.a.aggregate([{$match: {b: 1}}, {$project: {a: 1}}])" },
	{ "db.a.aggregate([{$addFields: {x: 1}}])", "db.a.aggregate([{$project: {x: 1}}])" },
	{ "db.a.aggregate([{$unwind: '$x'}])",
	  "db.a.aggregate([{$unwind: {path: '$x', preserveNullAndEmptyArrays: true}}])" },
	{ "db.a.aggregate([{$project: {x: {$subtract: ['$a', '$b']}}}])",
	  "db.a.aggregate([{$project: {x: {$subtract: ['$b', '$a']}}}])" },
	{ "db.a.aggregate([{$project: {x: '$a'}}])", "db.a.aggregate([{$project: {x: {$literal: '$a'}}}])" },
	{ "db.a.aggregate([{$project: {x: {$type: NumberLong(1)}}}])",
	  "db.a.aggregate([{$project: {x: {$type: 1}}}])" },
	{ "db.a.countDocuments({})", "db.a.estimatedDocumentCount()" },
	{ "db.a.countDocuments({a: 1})", "db.a.find({a: 1})" },
	{ "db.a.distinct('a')", "db.a.distinct('b')" },
	{ "db.a.find({a: 'x'}).collation({locale: 'en', strength: 2})", "db.a.find({a: 'x'})" },
	{ "db.a.find({a: ISODate('2024-01-01')})", "db.a.find({a: '2024-01-01'})" },
	{ "db.a.find({a: \"b' = 'c\"})", "db.a.find({a: \"b\"})" },
	{ "db.a.find({}, {score: {$meta: 'textScore'}})",
	  "db.a.aggregate([{$match: {}}, {$project: {score: {$meta: 'textScore'}}}])" },
	{ "db.a.find({}, {c: {$slice: 5}})", "db.a.find({}, {_id: 1, c: {$slice: 5}})" },
	{ "db.a.find().limit(5).count()", "db.a.find().count()" },
	{ "db.a.find().skip(5).count()", "db.a.countDocuments({})" },
	{ "db.a.find().sort('a').limit(1)", "db.a.find().limit(1)" },
	{ "db.a.aggregate([{$project: {'_id.x': 1, n: 1}}, {$sort: {_id: 1}}, {$limit: 3}])",
	  "db.a.aggregate([{$sort: {_id: 1}}, {$limit: 3}, {$project: {'_id.x': 1, n: 1}}])" },
	{ "db.a.find().returnKey(true)", "db.a.find()" },
	{ "db.a.find({a: 1}).hint({$natural: -1}).limit(1)", "db.a.find({a: 1}).limit(1)" },
	{ "{find: 'a', batchSize: 2, singleBatch: true}", "{find: 'a'}" },
	{ "db.a.find({a: new Date('2024-01-01T00:00:00')})",
	  "db.a.find({a: ISODate('2024-01-01T00:00:00')})" },
	{ "db.a.find({a: /a.b/g})", "db.a.find({a: /a.b/})" },
	{ "db.a.find({a: /a.b/s})", "db.a.find({a: {$regex: 'a.b', $options: 's'}})" },
	{ "db.a.find({a: NumberDecimal('0.1')})", "db.a.find({a: 0.1})" },
	{ "db.a.find({a: Double('9007199254740993')})", "db.a.find({a: NumberLong('9007199254740993')})" },
	{ "db.a.aggregate([{$geoNear: {near: [1, 2], query: {t: {$gt: [1, 2]}}}}])",
	  "db.a.aggregate([{$geoNear: {near: [1, 2], query: {t: {$lt: [2, 1]}}}}])" },
	{ "db.a.aggregate([{$project: {x: {$type: Double(5)}}}])",
	  "db.a.aggregate([{$project: {x: {$type: 5}}}])" },
};

static void brings_the_same_into_one_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		struct sql_analysis left = analyse(same[i][0]), right = analyse(same[i][1]);
		if (!str_equal(left.canonical, right.canonical))
			fail_msg("%s\n%s\n%s\n%s", same[i][0], same[i][1], left.canonical.ptr,
				 right.canonical.ptr);
	}
	for (size_t i = 0; i < COUNT_OF(other); i++) {
		struct sql_analysis left = analyse(other[i][0]), right = analyse(other[i][1]);
		if (!left.valid || !right.valid)
			fail_msg("%s or %s: does not parse", other[i][0], other[i][1]);
		if (str_equal(left.canonical, right.canonical))
			fail_msg("%s\n%s\n%s", other[i][0], other[i][1], left.canonical.ptr);
	}
}

static void literals_make_no_other_shape(void **state)
{
	(void)state;
	str_t first = analyse("db.a.find({a: 1, b: 'x'}).limit(3)").shape;
	assert_true(str_equal(first, analyse("db.a.find({b: 'yy', a: 22}).limit(5)").shape));
	assert_false(str_equal(first, analyse("db.a.find({a: 1, c: 'x'}).limit(3)").shape));
}

static void tells_collections_order_and_limit(void **state)
{
	static const char text[] =
		"db.Users.aggregate([{$lookup: {from: 'orders', localField: '_id', foreignField: 'u', as: "
		"'o'}},"
		"{$unionWith: 'archive'}, {$graphLookup: {from: 'tree', startWith: '$a', connectFromField: "
		"'a', "
		"connectToField: 'b', as: 'c', maxDepth: 2}}, {$sort: {a: -1, b: 1}}, {$limit: 5}])";
	static const char *const tables[] = { "archive", "orders", "tree", "users" };
	struct sql_analysis analysis = analyse(text);
	(void)state;
	assert_int_equal(analysis.verdict, SQL_SAFE);
	assert_int_equal(analysis.tables_count, COUNT_OF(tables));
	for (size_t i = 0; i < COUNT_OF(tables); i++)
		assert_string_equal(analysis.tables[i].ptr, tables[i]);
	assert_true(analysis.ordered && analysis.limited);
	assert_int_equal(analysis.order_keys_count, 2);
	assert_true(analysis.order_keys[0].descending && !analysis.order_keys[1].descending);
	analysis = analyse("db.a.aggregate([{$sort: {a: 1}}, {$group: {_id: '$a'}}])");
	assert_true(!analysis.ordered && !analysis.limited);
	assert_true(analyse("db.a.findOne()").limited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_generators_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(says_where_a_text_is_no_query, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bounds_hold, set_up, tear_down),
		cmocka_unit_test_setup_teardown(says_what_is_wrong_with_a_query, set_up, tear_down),
		cmocka_unit_test_setup_teardown(offers_what_may_be_meant, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_plain_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(doubts_what_it_does_not_know, set_up, tear_down),
		cmocka_unit_test_setup_teardown(is_not_led_astray, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_text_takes_more_than_its_share, set_up, tear_down),
		cmocka_unit_test_setup_teardown(takes_data_for_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_it_wherever_it_stands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_table_is_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(brings_the_same_into_one_form, set_up, tear_down),
		cmocka_unit_test_setup_teardown(literals_make_no_other_shape, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tells_collections_order_and_limit, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
