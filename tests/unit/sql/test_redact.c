#include "sql/redact.h"

#include <ctype.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_redact(void **state)
{
	static const struct {
		enum sql_dialect dialect;
		const char *sql;
		const char *redacted;
	} cases[] = {
		{ SQL_POSTGRESQL, "SELECT 'it''s', 12.5e3 FROM t1", "SELECT ?, ? FROM t1" },
		{ SQL_POSTGRESQL, "SELECT E'\\'x', $$y$$, $a$ $$ $a$, B'01', U&'z'", "SELECT ?, ?, ?, ?, ?" },
		{ SQL_POSTGRESQL, "SELECT \"a'b\", $1 -- 5 'x'\nLIMIT 10",
		  "SELECT \"a'b\", $1 -- ?\nLIMIT ?" },
		{ SQL_POSTGRESQL, "SELECT -1, true, NULL", "SELECT -?, true, NULL" },
		{ SQL_POSTGRESQL, "SELECT 1; DELETE FROM t WHERE a = 'x'",
		  "SELECT ?; DELETE FROM t WHERE a = ?" },
		{ SQL_POSTGRESQL, "SELEC 'secret'", "?" },
		{ SQL_POSTGRESQL, "SELECT 'secret", "?" },
		{ SQL_POSTGRESQL, "", "?" },
		{ SQL_SQLITE, "SELECT \"a\", [b c], `d`, 'x', x'00' FROM nowhere WHERE e = 0x1F",
		  "SELECT \"a\", [b c], `d`, ?, ? FROM nowhere WHERE e = ?" },
		{ SQL_SQLITE, "SELECT FROM 'x'", "?" },
		{ SQL_MYSQL, "SELECT \"a\\\"b\", `c` # 'x'\nFROM t WHERE d = 1",
		  "SELECT ?, `c` # ?\nFROM t WHERE d = ?" },
		{ SQL_MYSQL, "SELECT 'x", "?" },
		{ SQL_MONGODB, "{\"find\": \"a\", \"filter\": {\"b\": \"x\"}, \"limit\": 5}",
		  "{\"find\": \"a\", \"filter\": {\"b\": ?}, \"limit\": ?}" },
		{ SQL_MONGODB,
		  "db.a.find({b: 'x', c: {$in: [1, /y/i]}, d: null}, {b: 1, e: true}).sort({b: -1}) // z",
		  "db.a.find({b: ?, c: {$in: [?, ?]}, d: null}, {b: 1, e: true}).sort({b: -1}) /* ? */" },
		{ SQL_MONGODB,
		  "db.a.aggregate([{$match: {d: {$gt: ISODate('2024-01-01')}, i: {$oid: "
		  "'507f1f77bcf86cd799439011'}}}, {$lookup: {from: 'b', localField: 'c', foreignField: 'd', "
		  "as: "
		  "'e'}}, {$project: {f: {$cond: ['$g', 'x', 1]}, h: 0}}, {$unset: ['i']}, {$sort: {f: 1}}])",
		  "db.a.aggregate([{$match: {d: {$gt: ?}, i: ?}}, {$lookup: {from: 'b', localField: 'c', "
		  "foreignField: 'd', as: 'e'}}, {$project: {f: {$cond: ['$g', ?, ?]}, h: 0}}, {$unset: "
		  "['i']}, "
		  "{$sort: {f: 1}}])" },
		{ SQL_MONGODB, "db.a.find({from: 'x', as: {field: 'y'}, sort: 7, $or: [{coll: 'z'}]})",
		  "db.a.find({from: ?, as: {field: ?}, sort: ?, $or: [{coll: ?}]})" },
		{ SQL_MONGODB, "db.a.find({$expr: {$gt: ['$b', '$c']}, d: '$e'})",
		  "db.a.find({$expr: {$gt: ['$b', '$c']}, d: ?})" },
		{ SQL_MONGODB,
		  "db.a.find({a: {$sort: {b: 1234}, $project: {c: 5}}}, {d: 6, e: 1}).sort({f: -1, g: 7})",
		  "db.a.find({a: {$sort: {b: ?}, $project: {c: ?}}}, {d: ?, e: 1}).sort({f: -1, g: ?})" },
		{ SQL_MONGODB,
		  "db.a.aggregate([{$facet: {x: [{$unionWith: 'b'}, {$unionWith: {coll: 'c', pipeline: "
		  "[{$match: "
		  "{from: 'd'}}, {$count: 'e'}]}}]}}])",
		  "db.a.aggregate([{$facet: {x: [{$unionWith: 'b'}, {$unionWith: {coll: 'c', pipeline: "
		  "[{$match: {from: ?}}, "
		  "{$count: 'e'}]}}]}}])" },
		{ SQL_MONGODB, "db.a.find({b: 60 * (2 + 3) , c: 1 /* x */ + 2}).sort('b')",
		  "db.a.find({b: ? , c: ?}).sort('b')" },
		{ SQL_MONGODB, "db.a.find({b: Timestamp({t: 1, i: 2}), c: Long.fromString('5')})",
		  "db.a.find({b: ?, c: ?})" },
		{ SQL_MONGODB, "db.a.find({b: 'x'", "?" },
		{ SQL_MONGODB, "db.a.insertOne({b: 'x'})", "?" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		str_t redacted = sql_redact_literals(str_from(cases[i].sql), cases[i].dialect, arena);
		assert_string_equal(redacted.ptr, cases[i].redacted);
		assert_int_equal(redacted.len, strlen(cases[i].redacted));
		arena_free(arena);
	}
}

/* Every way to write the same secret; none may be left. */
static void test_no_literal_survives(void **state)
{
	static const struct {
		enum sql_dialect dialect;
		const char *literal;
	} literals[] = {
		{ SQL_POSTGRESQL, "'sEcret'" },
		{ SQL_POSTGRESQL, "'a''sEcret'" },
		{ SQL_POSTGRESQL, "E'\\'sEcret'" },
		{ SQL_POSTGRESQL, "E'a'\n'\\'sEcret'" },
		{ SQL_POSTGRESQL, "'a'\n'sEcret'" },
		{ SQL_POSTGRESQL, "'a'\n-- sEcret\n'sEcret'" },
		{ SQL_POSTGRESQL, "U&'sEcret'" },
		{ SQL_POSTGRESQL, "U&'a'\n 'sEcret'" },
		{ SQL_POSTGRESQL, "U&'a'\n -- sEcret\n 'sEcret'" },
		{ SQL_POSTGRESQL, "U&'sEcret' UESCAPE '!'" },
		{ SQL_POSTGRESQL, "N'sEcret'" },
		{ SQL_POSTGRESQL, "$$sEcret$$" },
		{ SQL_POSTGRESQL, "$t$ $$ sEcret $t$" },
		{ SQL_POSTGRESQL, "interval 'sEcret' day" },
		{ SQL_POSTGRESQL, "date 'sEcret'" },
		{ SQL_POSTGRESQL, "'sEcret'::text" },
		{ SQL_POSTGRESQL, "CAST('sEcret' AS text)" },
		{ SQL_POSTGRESQL, "1 /* 'sEcret' /* sEcret */ */" },
		{ SQL_POSTGRESQL, "1 -- sEcret\n" },
		{ SQL_POSTGRESQL, "'a' COLLATE \"C\" || 'sEcret'" },
		{ SQL_SQLITE, "'sEcret'" },
		{ SQL_SQLITE, "'a''sEcret'" },
		{ SQL_SQLITE, "1 /* 'sEcret' */" },
		{ SQL_SQLITE, "1 -- sEcret\n" },
		{ SQL_SQLITE, "a = \"sEcret\"" },
		{ SQL_SQLITE, "a IN (\"x\", \"sEcret\")" },
		{ SQL_SQLITE, "a NOT LIKE \"sEcret\"" },
		{ SQL_SQLITE, "a BETWEEN \"x\" AND \"sEcret\"" },
		{ SQL_SQLITE, "1 /* sEcret" },
	};
	static const char *const of_mongodb[] = {
		"db.a.find({b: 'sEcret'})",
		"db.a.find({b: `sEcret`, c: [{d: ['sEcret']}]})",
		"db.a.find({from: 'sEcret', $or: [{as: 'sEcret'}]}, {b: 'sEcret'}, 'sEcret')",
		"db.a.find({b: /sEcret/, c: {$regex: 'sEcret', $options: 'i'}, d: RegExp('sEcret')})",
		"db.a.find({}).comment('sEcret').hint('sEcret').sort({b: {$meta: 'sEcret'}})",
		"db.a.find({b: UUID('sEcret'), c: BinData(0, 'sEcret'), d: {$uuid: 'sEcret'}})",
		"db.a.find({b: 1 /* sEcret */}) // sEcret",
		"db.a.find({}, {}, {comment: 'sEcret', explain: 'sEcret'})",
		"db.a.aggregate([{$match: {b: 'sEcret'}}, {$lookup: {from: 'b', let: {x: 'sEcret'}, "
		"pipeline: "
		"[{$match: {from: 'sEcret'}}], as: 'c'}}, {$project: {b: 'sEcret'}}], "
		"'sEcret')",
		"{find: 'a', filter: {b: 'sEcret'}, comment: 'sEcret', explain: 'sEcret'}",
		"db.a.distinct('b', {c: 'sEcret'}, {d: 'sEcret'})",
		"db.a.count({c: 'sEcret'}, {hint: 'sEcret'})",
		"db.a.find({c: '$sEcret', d: {$in: ['$sEcret']}})",
		"db.a.find({}, {a: {$elemMatch: {b: '$sEcret'}}})",
		"db.a.find({a: {$unset: 'sEcret', $count: 'sEcret'}, $or: [{$unionWith: 'sEcret'}]})",
		"db.a.find({a: {$unwind: {from: 'sEcret'}, $expr: '$sEcret'}})",
		"db.a.aggregate([{$search: {equals: {value: '$sEcret'}}}, {$vectorSearch: {filter: {a: "
		"'$sEcret'}}}])",
		"db.a.aggregate([{$project: {a: {$literal: {$expr: '$sEcret', from: 'sEcret'}}}}])",
		"db.a.aggregate([{$match: {c: '$sEcret'}}, {$project: {d: {$literal: '$sEcret'}}}, {$facet: "
		"{e: "
		"[{$match: {c: {$ne: '$sEcret'}}}]}}])",
	};
	(void)state;
	for (size_t i = 0; i < sizeof of_mongodb / sizeof of_mongodb[0]; i++) {
		struct arena *arena = arena_new();
		str_t redacted = sql_redact_literals(str_from(of_mongodb[i]), SQL_MONGODB, arena);
		if (strstr(redacted.ptr, "sEcret") || strcmp(redacted.ptr, "?") == 0)
			fail_msg("%s\nleft: %s", of_mongodb[i], redacted.ptr);
		arena_free(arena);
	}
	for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
		struct arena *arena = arena_new();
		str_t sql = arena_printf(arena, "SELECT b FROM t WHERE b = %s", literals[i].literal);
		struct sql_redaction redaction;
		sql_redact(sql, literals[i].dialect, arena, &redaction);
		if (strstr(redaction.text.ptr, "sEcret"))
			fail_msg("%s\nleft: %s", sql.ptr, redaction.text.ptr);
		arena_free(arena);
	}
}

static void test_offsets(void **state)
{
	static const char sql[] = "SELECT a, 'long text', b /* words */, 12345, c FROM t -- end";
	struct arena *arena = arena_new();
	struct sql_redaction redaction;
	(void)state;
	sql_redact(STR(sql), SQL_POSTGRESQL, arena, &redaction);
	assert_string_equal(redaction.text.ptr, "SELECT a, ?, b /* ? */, ?, c FROM t -- ?");
	for (const char *mark = "abc"; *mark; mark++) {
		char name[4] = { ' ', *mark, '\0', '\0' };
		int64_t before = strstr(sql, name) - sql + 1;
		int64_t after = strstr(redaction.text.ptr, name) - redaction.text.ptr + 1;
		assert_int_equal(sql_redaction_offset(&redaction, before), after);
	}
	assert_int_equal(sql_redaction_offset(&redaction, 0), 0);
	assert_int_equal(sql_redaction_offset(&redaction, 10), 10); /* the literal */
	assert_int_equal(sql_redaction_offset(&redaction, 15), 10); /* within it */
	assert_int_equal(sql_redaction_offset(&redaction, sizeof sql - 1), redaction.text.len);
	sql_redact(STR("SELEC 'x'"), SQL_POSTGRESQL, arena, &redaction);
	assert_true(redaction.whole);
	assert_int_equal(sql_redaction_offset(&redaction, 7), 0);
	arena_free(arena);
}

static void test_messages(void **state)
{
	static const struct {
		const char *sql;
		const char *message;
		const char *redacted;
	} cases[] = {
		{ "SELECT a = 'Miller' FROM t", "\"a\" is compared with 'Miller'",
		  "\"a\" is compared with ?" },
		{ "SELECT a = 'O''Brien'", "invalid input for integer: \"O'Brien\"",
		  "invalid input for integer: \"?\"" },
		{ "SELECT a = 'x'", "index text: \"x\", \"xy\"", "index text: \"?\", \"xy\"" },
		{ "SELECT a = 12345", "12345 of 312345", "? of 312345" },
		{ "SELECT a LIMIT 2", "there are 2 of them", "there are 2 of them" },
		{ "SELECT a = $$pass word$$", "text pass word here", "text ? here" },
		{ "SELEC 'Miller'", "syntax error at or near \"'Miller'\"", "syntax error at or near \"?\"" },
		{ "SELEC 'Miller'", "there is no statement", "there is no statement" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		struct sql_redaction redaction;
		sql_redact(str_from(cases[i].sql), SQL_POSTGRESQL, arena, &redaction);
		assert_string_equal(sql_redaction_message(&redaction, str_from(cases[i].message), arena).ptr,
				    cases[i].redacted);
		arena_free(arena);
	}
}

static void test_quotations(void **state)
{
	static const struct {
		const char *message;
		const char *redacted;
	} cases[] = {
		{ "invalid input syntax for type integer: \"SECRETx\"",
		  "invalid input syntax for type integer: \"?\"" },
		{ "invalid input: \"a\" SECRET \"b\" (1)", "invalid input: \"?\" (1)" },
		{ "Incorrect DATE value: 'O'Brien'", "Incorrect DATE value: \"?\"" },
		{ "Table 'shop.SECRET' doesn't exist", "Table \"?\" doesn't exist" },
		{ "it doesn't exist", "it doesn't exist" },
		{ "near `SECRET", "near \"?\"" },
		{ "division by zero", "division by zero" },
		{ "", "" },
	};
	struct arena *arena = arena_new();
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_string_equal(sql_redaction_quotations(str_from(cases[i].message), arena).ptr,
				    cases[i].redacted);
	arena_free(arena);
}

/* Skipped without the corpora (see test_spider.c). */
static void test_corpus(void **state)
{
	const char *folder = getenv("ASSAYD_CORPORA");
	char path[4096], line[16384];
	size_t lines = 0;
	(void)state;
	(void)snprintf(path, sizeof path, "%s/spider/gold_example.txt",
		       folder ? folder : ASSAYD_SOURCE_DIR "/../shared/corpora");
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	if (!file) {
		print_message("skipped: %s is not there\n", path);
		skip();
	}
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\t\n")] = '\0';
		struct arena *arena = arena_new();
		struct sql_redaction redaction, again;
		sql_redact(str_from(line), SQL_SQLITE, arena, &redaction);
		assert_false(redaction.whole);
		assert_null(strchr(redaction.text.ptr, '\''));
		for (size_t i = 0; i < redaction.text.len; i++) /* no number that is not part of a name */
			assert_false(isdigit((unsigned char)redaction.text.ptr[i]) && i > 0 &&
				     strchr(" (=<>", redaction.text.ptr[i - 1]));
		sql_redact(redaction.text, SQL_SQLITE, arena, &again);
		assert_true(str_equal(again.text, redaction.text));
		lines++;
		arena_free(arena);
	}
	assert_true(lines > 1000);
}

static void test_absent_stays_absent(void **state)
{
	struct arena *arena = arena_new();
	(void)state;
	assert_false(str_present(sql_redact_literals(STR_NONE, SQL_POSTGRESQL, arena)));
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redact),
		cmocka_unit_test(test_no_literal_survives),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_quotations),
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_absent_stays_absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
