#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include "common/buf.h"
#include "common/pool.h"
#include "sql/findings/violations.h"
#include "tests/unit/sql/catalog_fixture.h"

struct row {
	const char *sql;
	const char *text;
	size_t text_offset;
	bool valid;
	enum sql_verdict verdict;
	const char *diagnostics; /* code@offset, separated by spaces */
};

static const struct row rows[] = {
	{ "SELECT 1", "SELECT 1", 0, true, SQL_SAFE, "" },
	{ " SELECT a.id FROM t a LIMIT 1; ", "SELECT a.id FROM t a LIMIT 1", 1, true, SQL_SAFE, "" },
	{ "SELECT 1; -- done", "SELECT 1", 0, true, SQL_SAFE, "" },
	{ "SELECT nope, 1 FROM t LIMIT 1", "SELECT nope, 1 FROM t LIMIT 1", 0, true, SQL_SAFE,
	  "unknown_column@7" },
	{ "```sql\nSELECT nope FROM t LIMIT 1;\n```", "SELECT nope FROM t LIMIT 1", 7, true, SQL_SAFE,
	  "markdown_fence@0 unknown_column@14" },
	{ "SELECT '\n```\n'", "SELECT '\n```\n'", 0, true, SQL_SAFE, "" },
	{ "SELECT 1; SELECT 2", "SELECT 1; SELECT 2", 0, false, SQL_UNSAFE, "syntax_error@9" },
	{ "SELEC 1", "SELEC 1", 0, false, SQL_UNKNOWN, "syntax_error@0" },
	{ "", "", 0, false, SQL_UNKNOWN, "syntax_error@0" },
	{ "DROP TABLE t", "DROP TABLE t", 0, true, SQL_UNSAFE, "" },
	{ "SELECT x, y FROM t, t2 WHERE z", "SELECT x, y FROM t, t2 WHERE z", 0, true, SQL_SAFE,
	  "unknown_table@20 missing_limit@0" },
};

static str_t codes(const struct sql_analysis *analysis, struct arena *arena)
{
	struct buf buf = BUF_INIT;
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		buf_printf(&buf, "%s%s@%lld", i > 0 ? " " : "", analysis->diagnostics[i].code,
			   (long long)analysis->diagnostics[i].offset);
	str_t text = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return text;
}

static struct sql_analysis analyse(struct sql_request request, struct arena *arena)
{
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static void analyses_postgresql(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse((struct sql_request){ .sql = str_from(rows[i].sql),
									     .target_named = true,
									     .catalog = catalog },
						       arena);
		assert_string_equal(analysis.text.ptr, rows[i].text);
		assert_int_equal(analysis.text_offset, rows[i].text_offset);
		assert_int_equal(analysis.valid, rows[i].valid);
		assert_int_equal(analysis.verdict, rows[i].verdict);
		assert_int_equal(analysis.names_resolved, rows[i].valid);
		assert_string_equal(codes(&analysis, arena).ptr, rows[i].diagnostics);
		arena_free(arena);
	}
}

static void says_that_the_catalog_is_missing(void **state)
{
	struct arena *arena = arena_new();
	(void)state;
	struct sql_analysis analysis = analyse(
		(struct sql_request){ .sql = STR("SELECT a FROM b LIMIT 1"), .target_named = true }, arena);
	assert_string_equal(codes(&analysis, arena).ptr, "catalog_unavailable@0");
	assert_int_equal(analysis.verdict, SQL_UNKNOWN);
	assert_string_equal(analysis.doubt.ptr, "the target's catalog cannot be had");
	assert_false(analysis.names_resolved);
	analysis = analyse((struct sql_request){ .sql = STR("SELECT a FROM b LIMIT 1") }, arena);
	assert_string_equal(codes(&analysis, arena).ptr, "");
	assert_int_equal(analysis.verdict, SQL_SAFE);
	arena_free(arena);
}

/* What cannot be known is never SAFE, and hides no violation. */
static void doubts_are_unknown(void **state)
{
	struct arena *arena = arena_new();
	struct sql_request request = { .sql = STR("SELECT 1") };
	struct sql_analysis analysis = { 0 };
	struct violations list = violations_begin(&analysis, arena);
	(void)state;
	violations_doubt(&list, "function %s", "f");
	violations_doubt(&list, "type %s", "t");
	violations_end(&list, &request, &analysis);
	assert_int_equal(analysis.verdict, SQL_UNKNOWN);
	assert_string_equal(analysis.doubt.ptr, "function f");
	list = violations_begin(&analysis, arena);
	violations_add(&list, VIOLATION_NOT_A_READ, 0, "%s", "");
	violations_end(&list, &request, &analysis);
	assert_int_equal(analysis.verdict, SQL_UNSAFE);
	assert_string_equal(analysis.doubt.ptr, "function f");
	arena_free(arena);
}

static void refuses_what_it_cannot_analyse(void **state)
{
	static const struct {
		str_t sql;
		enum sql_dialect dialect;
		const char *violation;
	} refused[] = {
		{ { "SELECT '\0'", 10 }, SQL_POSTGRESQL, NULL },
		{ { "SELECT 1;\0 DROP TABLE t", 23 }, SQL_POSTGRESQL, "multiple_statements" },
		{ STR("SELECT '\xFF'"), SQL_POSTGRESQL, NULL },
		{ STR("SELECT /*/*/*/*/*/*/*/*/* 1"), SQL_POSTGRESQL, "too_deep" },
		{ STR("SELECT 1 /*! + 1 */"), SQL_MYSQL, "unanalysable" },
		{ STR("SELECT 1"), SQL_MONGODB, NULL },
		{ { "db.c.find({a: '\0'})", 20 }, SQL_MONGODB, NULL },
		{ STR_NONE, SQL_MYSQL, NULL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(
			(struct sql_request){ .sql = refused[i].sql, .dialect = refused[i].dialect }, arena);
		assert_false(analysis.valid);
		assert_int_equal(analysis.verdict, refused[i].violation ? SQL_UNSAFE : SQL_UNKNOWN);
		if (refused[i].violation)
			assert_string_equal(analysis.violations[0].code, refused[i].violation);
		else
			assert_true(analysis.violations_count == 0 && str_present(analysis.doubt));
		assert_string_equal(analysis.diagnostics[0].code, "syntax_error");
		assert_true(str_present(analysis.text));
		arena_free(arena);
	}
}

static const struct {
	const char *head, *unit, *tail;
	int times;
} shapes[] = {
	{ "SELECT 1", "+1", "", 4000 },
	{ "SELECT ", "NOT ", "true", 4000 },
	{ "SELECT 1", "::int", "", 2000 },
	{ "SELECT ", "- ", "1", 4000 },
	{ "SELECT 1", " UNION SELECT 1", "", 500 },
	{ "SELECT 1 FROM t a0", " NATURAL JOIN t", "", 1300 },
	{ "SELECT 1 FROM t", ",t", "", 9000 },
	{ "SELECT a", "[1]", "", 4000 },
	{ "SELECT ", "(SELECT ", "1", 120 },
	{ "SELECT (x)", ".a", "", 2000 },
};

static bool survives(size_t shape)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct buf sql = BUF_INIT;
	buf_append_text(&sql, shapes[shape].head);
	for (int n = 0; n < shapes[shape].times; n++)
		buf_append_text(&sql, shapes[shape].unit);
	buf_append_text(&sql, shapes[shape].tail);
	struct sql_analysis analysis =
		analyse((struct sql_request){ .sql = buf_str(&sql), .catalog = catalog }, arena);
	buf_free(&sql);
	return analysis.verdict != SQL_SAFE || analysis.valid;
}

static void run_shapes(void *context, unsigned index)
{
	bool *survived = context;
	(void)index;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		survived[i] = survives(i);
}

/* Deep trees that the gate lets pass end as too deep, in the stack that workers have. */
static void survives_depth(void **state)
{
	bool survived[sizeof shapes / sizeof *shapes] = { false };
	(void)state;
	pool_join(pool_start("depth", 1, run_shapes, survived));
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		assert_true(survived[i]);
}

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog("CREATE TABLE t (id int, a int)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(analyses_postgresql), cmocka_unit_test(says_that_the_catalog_is_missing),
		cmocka_unit_test(doubts_are_unknown),  cmocka_unit_test(refuses_what_it_cannot_analyse),
		cmocka_unit_test(survives_depth),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
