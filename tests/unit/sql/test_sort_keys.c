#include "sql/dialects.h"
#include "sql/sort_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct row {
	enum sql_dialect dialect;
	const char *sql;
	const char *shown; /* NULL: left alone */
	size_t added;
	bool cut_stays; /* the cut is not known */
	int64_t limit, offset;
};

enum { ALL = -1 };

static const struct row rows[] = {
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY b", "SELECT a, (b) FROM t ORDER BY b", 1, false, ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY b DESC NULLS LAST, a, lower(c) LIMIT 3",
	  "SELECT a, (b), (lower(c)) FROM t ORDER BY b DESC NULLS LAST, a, lower(c) ", 2, false, 3, 0 },
	{ SQL_POSTGRESQL, "SELECT g FROM t GROUP BY g ORDER BY count(*) DESC, (max(a) + 1)",
	  "SELECT g, (count(*)), ((max(a) + 1)) FROM t GROUP BY g ORDER BY count(*) DESC, (max(a) + 1)", 2,
	  false, ALL, 0 },
	{ SQL_POSTGRESQL, "WITH w AS (SELECT a, b FROM t ORDER BY a) SELECT a -- the name\nFROM w ORDER BY b",
	  "WITH w AS (SELECT a, b FROM t ORDER BY a) SELECT a, (b) -- the name\nFROM w ORDER BY b", 1, false,
	  ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a IS DISTINCT FROM b, extract(year FROM d) FROM t ORDER BY c",
	  "SELECT a IS DISTINCT FROM b, extract(year FROM d), (c) FROM t ORDER BY c", 1, false, ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY b COLLATE \"C\" FETCH FIRST 2 ROWS ONLY",
	  "SELECT a, (b COLLATE \"C\") FROM t ORDER BY b COLLATE \"C\" ", 1, false, 2, 0 },
	{ SQL_POSTGRESQL, "SELECT a, ' FROM x ' FROM t ORDER BY CASE WHEN b > 1 THEN 1 ELSE 2 END, a",
	  "SELECT a, ' FROM x ', (CASE WHEN b > 1 THEN 1 ELSE 2 END) FROM t ORDER BY CASE WHEN b > 1 THEN 1 "
	  "ELSE 2 END, a",
	  1, false, ALL, 0 },
	{ SQL_MYSQL, "SELECT a FROM t ORDER BY b DESC LIMIT 2", "SELECT a, (b) FROM t ORDER BY b DESC ", 1,
	  false, 2, 0 },
	{ SQL_SQLITE, "SELECT a FROM t ORDER BY b DESC LIMIT 2", "SELECT a, (b) FROM t ORDER BY b DESC ", 1,
	  false, 2, 0 },
	/* Nothing is hidden, but something is cut. */
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 2 ;", "SELECT a FROM t ORDER BY a ", 0,
	  false, 3, 2 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY a OFFSET 2 ROWS FETCH NEXT ROW ONLY",
	  "SELECT a FROM t ORDER BY a ", 0, false, 1, 2 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY a OFFSET 2", "SELECT a FROM t ORDER BY a ", 0, false, ALL,
	  2 },
	{ SQL_POSTGRESQL, "SELECT a FROM t UNION SELECT b FROM u ORDER BY a FETCH FIRST 4 ROWS ONLY -- few",
	  "SELECT a FROM t UNION SELECT b FROM u ORDER BY a ", 0, false, 4, 0 },
	{ SQL_POSTGRESQL, "SELECT DISTINCT a FROM (SELECT a FROM t LIMIT 9) AS s ORDER BY a LIMIT 0",
	  "SELECT DISTINCT a FROM (SELECT a FROM t LIMIT 9) AS s ORDER BY a ", 0, false, 0, 0 },
	{ SQL_SQLITE, "SELECT a FROM t ORDER BY a LIMIT 2, 3", "SELECT a FROM t ORDER BY a ", 0, false, 3,
	  2 },
	{ SQL_MYSQL, "SELECT a FROM t ORDER BY a LIMIT 2, 3", "SELECT a FROM t ORDER BY a ", 0, false, 3, 2 },
	{ SQL_MYSQL, "SELECT a FROM t WHERE t.offset > 1 ORDER BY a LIMIT 3 OFFSET 1",
	  "SELECT a FROM t WHERE t.offset > 1 ORDER BY a ", 0, false, 3, 1 },
	/* A cut that is no plain number stays. */
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY b LIMIT 1 + 1",
	  "SELECT a, (b) FROM t ORDER BY b LIMIT 1 + 1", 1, true, ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY b FETCH FIRST 2 ROWS WITH TIES",
	  "SELECT a, (b) FROM t ORDER BY b FETCH FIRST 2 ROWS WITH TIES", 1, true, ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY a LIMIT ALL", "SELECT a FROM t ORDER BY a LIMIT ALL", 0,
	  true, ALL, 0 },
	{ SQL_SQLITE, "SELECT a FROM t ORDER BY a LIMIT -1", "SELECT a FROM t ORDER BY a LIMIT -1", 0, true,
	  ALL, 0 },
	/* Nothing is hidden. */
	{ SQL_POSTGRESQL, "SELECT a, b FROM t ORDER BY b, 1", "SELECT a, b FROM t ORDER BY b, 1", 0, false,
	  ALL, 0 },
	{ SQL_SQLITE, "SELECT DISTINCT a AS b FROM t ORDER BY b", "SELECT DISTINCT a AS b FROM t ORDER BY b",
	  0, false, ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t", NULL, 0, false, 0, 0 },
	/* Added columns would change what these return. */
	{ SQL_SQLITE, "SELECT DISTINCT a FROM t ORDER BY b", NULL, 0, false, 0, 0 },
	{ SQL_SQLITE, "SELECT DISTINCT a FROM t ORDER BY a + 1", NULL, 0, false, 0, 0 },
	/* An output that is the column itself is the same by either name. */
	{ SQL_SQLITE, "SELECT a FROM t ORDER BY a % 3", "SELECT a, (a % 3) FROM t ORDER BY a % 3", 1, false,
	  ALL, 0 },
	{ SQL_MYSQL, "SELECT a FROM t ORDER BY a % 3", "SELECT a, (a % 3) FROM t ORDER BY a % 3", 1, false,
	  ALL, 0 },
	{ SQL_MYSQL, "SELECT t.a AS a FROM t ORDER BY A % 3, abs(a) DESC LIMIT 2",
	  "SELECT t.a AS a, (A % 3), (abs(a)) FROM t ORDER BY A % 3, abs(a) DESC ", 2, false, 2, 0 },
	{ SQL_MYSQL, "SELECT b AS a FROM t ORDER BY a % 3", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT a, b AS a FROM t ORDER BY a % 3", NULL, 0, false, 0, 0 },
	/* An alias may be meant, which the target list does not know. */
	{ SQL_SQLITE, "SELECT -a AS a FROM t ORDER BY a + 0", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT -a AS a FROM t ORDER BY a + 0", NULL, 0, false, 0, 0 },
	/* A position, not a constant. */
	{ SQL_SQLITE, "SELECT a, b FROM t ORDER BY (1) COLLATE NOCASE", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT a, b FROM t ORDER BY TRUE", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT a, TRUE FROM t ORDER BY TRUE", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT a, b FROM t ORDER BY -(-2)", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT a, b FROM t ORDER BY 4294967298", NULL, 0, false, 0, 0 },
	{ SQL_MYSQL, "SELECT a, b FROM t ORDER BY +2", "SELECT a, b FROM t ORDER BY +2", 0, false, ALL, 0 },
	{ SQL_SQLITE, "SELECT a, b FROM t ORDER BY - -0x2", "SELECT a, b FROM t ORDER BY - -0x2", 0, false,
	  ALL, 0 },
	/* A constant, not a position: all rows tie. */
	{ SQL_MYSQL, "SELECT a, b FROM t ORDER BY 2.5", "SELECT a, b, (2.5) FROM t ORDER BY 2.5", 1, false,
	  ALL, 0 },
	{ SQL_SQLITE, "SELECT a, b FROM t ORDER BY 2e0", "SELECT a, b, (2e0) FROM t ORDER BY 2e0", 1, false,
	  ALL, 0 },
	{ SQL_POSTGRESQL, "SELECT a, b FROM t ORDER BY +2", "SELECT a, b, (+2) FROM t ORDER BY +2", 1, false,
	  ALL, 0 },
	/* Refused anyway. */
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY pg_sleep(1)", NULL, 0, false, 0, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t ORDER BY b) FROM t", NULL, 0, false, 0, 0 },
	/* Brackets around it all change nothing. */
	{ SQL_POSTGRESQL, "(SELECT a FROM t ORDER BY b)", " SELECT a, (b) FROM t ORDER BY b ", 1, false, ALL,
	  0 },
	{ SQL_MYSQL, "((SELECT a FROM t ORDER BY b));", "  SELECT a, (b) FROM t ORDER BY b  ", 1, false, ALL,
	  0 },
	{ SQL_MYSQL, "(SELECT a FROM t ORDER BY b LIMIT 5)", " SELECT a, (b) FROM t ORDER BY b ", 1, false, 5,
	  0 },
	{ SQL_POSTGRESQL, "(SELECT a FROM t ORDER BY b) LIMIT 5 OFFSET 1",
	  " SELECT a, (b) FROM t ORDER BY b  ", 1, false, 5, 1 },
	{ SQL_MYSQL, "(SELECT a FROM t ORDER BY a LIMIT 5 OFFSET 2) LIMIT 9 OFFSET 1",
	  " SELECT a FROM t ORDER BY a ", 0, false, 4, 3 },
	{ SQL_MYSQL, "(SELECT a FROM t ORDER BY a LIMIT 5) LIMIT 3", " SELECT a FROM t ORDER BY a ", 0, false,
	  3, 0 },
	{ SQL_POSTGRESQL, "(SELECT a FROM t ORDER BY b LIMIT 1 + 1)",
	  " SELECT a, (b) FROM t ORDER BY b LIMIT 1 + 1 ", 1, true, ALL, 0 },
	{ SQL_MYSQL, "WITH w AS (SELECT a, b FROM t) (SELECT a FROM w ORDER BY b LIMIT 2)",
	  "WITH w AS (SELECT a, b FROM t)  SELECT a, (b) FROM w ORDER BY b ", 1, false, 2, 0 },
	{ SQL_MYSQL, "(SELECT a FROM t) UNION ALL (SELECT b FROM u) ORDER BY a LIMIT 3",
	  "(SELECT a FROM t) UNION ALL (SELECT b FROM u) ORDER BY a ", 0, false, 3, 0 },
	/* PostgreSQL cuts behind the order. */
	{ SQL_POSTGRESQL, "(SELECT a FROM t LIMIT 5) ORDER BY a", "(SELECT a FROM t LIMIT 5) ORDER BY a", 0,
	  true, ALL, 0 },
	/* No order, but a cut. */
	{ SQL_POSTGRESQL, "SELECT a FROM t LIMIT 2", "SELECT a FROM t ", 0, false, 2, 0 },
	{ SQL_POSTGRESQL, "(SELECT a FROM t LIMIT 2)", " SELECT a FROM t ", 0, false, 2, 0 },
	{ SQL_MYSQL, "((SELECT a FROM t) LIMIT 2)", "  SELECT a FROM t  ", 0, false, 2, 0 },
	{ SQL_POSTGRESQL, "(SELECT a FROM t) UNION ALL (SELECT b FROM u) LIMIT 2",
	  "(SELECT a FROM t) UNION ALL (SELECT b FROM u) ", 0, false, 2, 0 },
	{ SQL_MYSQL, "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT b FROM u LIMIT 1) LIMIT 2",
	  "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT b FROM u LIMIT 1) ", 0, false, 2, 0 },
	/* MongoDB: whatever an order is by is added. */
	{ SQL_MONGODB, "db.t.find({a: 1}, {b: 1}).sort({c: -1, 'd.e': 1}).skip(2).limit(3)",
	  "db.getCollection(\"t\").aggregate([{$match:{a: 1}},{$sort:{c: -1, 'd.e': 1}},{$addFields:{"
	  "assayd_sort_key_0:{$ifNull:[\"$c\",null]},assayd_sort_key_1:{$ifNull:[\"$d.e\",null]}}},{$project:"
	  "{"
	  "b: 1,assayd_sort_key_0:1,assayd_sort_key_1:1}},])",
	  2, false, 3, 2 },
	{ SQL_MONGODB, "db.t.find().sort({c: 1})",
	  "db.getCollection(\"t\").aggregate([{$sort:{c: 1}},{$addFields:{assayd_sort_key_0:{$ifNull:[\"$c\","
	  "null]}}},])",
	  1, false, ALL, 0 },
	{ SQL_MONGODB, "db.t.find({}, {b: 0, }).sort({c: 1}).limit(0)",
	  "db.getCollection(\"t\").aggregate([{$match:{}},{$sort:{c: 1}},{$addFields:{assayd_sort_key_0:{"
	  "$ifNull:[\"$c\",null]}}},{$project:{b: 0, }},])",
	  1, false, ALL, 0 },
	{ SQL_MONGODB, "db.t.find({}, {_id: 0, b: 1, }).sort({c: 1})",
	  "db.getCollection(\"t\").aggregate([{$match:{}},{$sort:{c: 1}},{$addFields:{assayd_sort_key_0:{"
	  "$ifNull:[\"$c\",null]}}},{$project:{_id: 0, b: 1,  assayd_sort_key_0:1}},])",
	  1, false, ALL, 0 },
	{ SQL_MONGODB,
	  "db['a\"b'].aggregate([{$group: {_id: '$a'}}, {$sort: {_id: 1}}, {$set: {x: 1}}, {$limit: 5}, "
	  "{$unset: 'y'}])",
	  "db.getCollection(\"a\\\"b\").aggregate([{$group: {_id: '$a'}},{$sort:{_id: 1}},{$addFields:{"
	  "assayd_sort_key_0:{$ifNull:[\"$_id\",null]}}},{$set:{x: 1}},{$unset:'y'},])",
	  1, false, 5, 0 },
	{ SQL_MONGODB, "db.t.aggregate([{$limit: 9}, {$sort: {a: 1}}, {$limit: 2}])",
	  "db.getCollection(\"t\").aggregate([{$limit: 9},{$sort:{a: 1}},{$addFields:{assayd_sort_key_0:{"
	  "$ifNull:[\"$a\",null]}}},])",
	  1, false, 2, 0 },
	{ SQL_MONGODB, "{\"aggregate\": \"t\", \"pipeline\": [{\"$sort\": {\"a\": 1}}], \"cursor\": {}}",
	  "db.getCollection(\"t\").aggregate([{$sort:{\"a\": 1}},{$addFields:{assayd_sort_key_0:{"
	  "$ifNull:[\"$a\",null]}}},])",
	  1, false, ALL, 0 },
	{ SQL_MONGODB,
	  "db.t.aggregate([{$sort: {a: 1}}, {$match: {b: 1}}, {$match: {}}, {$unwind: '$c'}, {$limit: 2}, "
	  "{$match: {}}, {$lookup: {from: 'u', localField: 'd', foreignField: 'e', as: 'f'}}])",
	  "db.getCollection(\"t\").aggregate([{$match:{b: 1}},{$sort:{a: 1}},{$addFields:{assayd_sort_key_0:{"
	  "$ifNull:[\"$a\",null]}}},{$unwind:'$c'},{$lookup:{from: 'u', localField: 'd', foreignField: 'e', "
	  "as: 'f'}},])",
	  1, false, 2, 0 },
	{ SQL_MONGODB, "db.t.find({a: 1}).limit(2)", "db.getCollection(\"t\").aggregate([{$match:{a: 1}},])",
	  0, false, 2, 0 },
	{ SQL_MONGODB, "db.t.findOne({a: 1})", "db.getCollection(\"t\").aggregate([{$match:{a: 1}},])", 0,
	  false, 1, 0 },
	{ SQL_MONGODB, "db.t.aggregate([{$limit: 2}, {$match: {}}])", "db.getCollection(\"t\").aggregate([])",
	  0, false, 2, 0 },
	{ SQL_MONGODB, "db.t.aggregate([{$match: {a: 1}}, {$skip: 3}, {$limit: 2}])",
	  "db.getCollection(\"t\").aggregate([{$match: {a: 1}},])", 0, false, 2, 3 },
	/* Other rows, or rows in an order that is not seen. */
	{ SQL_MONGODB, "db.t.aggregate([{$limit: 5}, {$skip: 2}])", NULL, 0, false, 0, 0 },
	{ SQL_MONGODB, "db.t.aggregate([{$sort: {a: 1}}, {$limit: 5}, {$limit: 2}])", NULL, 0, false, 0, 0 },
	{ SQL_MONGODB, "db.t.aggregate([{$sort: {a: 1}}, {$limit: 3}, {$unwind: '$b'}])", NULL, 0, false, 0,
	  0 },
	{ SQL_MONGODB, "db.t.aggregate([{$sort: {a: 1}}, {$limit: 3}, {$match: {b: 1}}])", NULL, 0, false, 0,
	  0 },
	{ SQL_MONGODB, "db.t.aggregate([{$sort: {a: 1}}, {$project: {c: '$b'}}, {$match: {c: 1}}])", NULL, 0,
	  false, 0, 0 },
	{ SQL_MONGODB, "db.t.aggregate([{$limit: 3}, {$match: {b: 1}}])", NULL, 0, false, 0, 0 },
	{ SQL_MONGODB, "db.t.find().sort({a: 1}).collation({locale: 'de'})", NULL, 0, false, 0, 0 },
	{ SQL_MONGODB, "db.t.find().sort({a: {$meta: 'textScore'}})", NULL, 0, false, 0, 0 },
	{ SQL_MONGODB, "db.t.find()", NULL, 0, false, 0, 0 },
	{ SQL_MONGODB, "db.t.distinct('a')", NULL, 0, false, 0, 0 },
	{ SQL_POSTGRESQL, "SELECT a FROM t LIMIT (SELECT 1)", NULL, 0, false, 0, 0 },
	{ SQL_POSTGRESQL, "(SELECT a FROM t LIMIT (SELECT 1))", NULL, 0, false, 0, 0 },
};

static void shows_hidden_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		struct arena *arena = arena_new();
		struct sql_request request = { .sql = str_from(row->sql), .dialect = row->dialect };
		struct sql_analysis analysis;
		struct sort_keys keys;
		sql_analyse(&request, arena, &analysis);
		bool shown = sort_keys_show(&request, &analysis, arena, &keys);
		if (shown != (row->shown != NULL))
			fail_msg("%s: %s", row->sql, shown ? keys.sql.ptr : "left alone");
		if (shown) {
			assert_string_equal(keys.sql.ptr, row->shown);
			assert_int_equal(keys.added, row->added);
			assert_int_equal(keys.keys_count, analysis.order_keys_count);
			assert_int_equal(keys.cut.known, !row->cut_stays);
			assert_int_equal(row->cut_stays ? row->limit : keys.cut.limit, row->limit);
			assert_int_equal(keys.cut.known ? keys.cut.offset : 0, row->offset);
		}
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shows_hidden_keys) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
