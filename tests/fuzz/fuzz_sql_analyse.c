/*
 * Any bytes as generated SQL, with and without a catalog: the analysis ends, within its arena, and what it
 * says is consistent.
 */
#include "sql/dialects.h"
#include "sql/postgresql/ddl/ddl.h"
#include "sql/redact.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct catalog *catalog;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	static const char schema[] = "CREATE TABLE t (id int PRIMARY KEY, a text, b numeric, tenant int);"
				     "CREATE TABLE u (id int, t_id int NOT NULL, a text);"
				     "CREATE VIEW v AS SELECT t.id, u.a FROM t JOIN u ON u.t_id = t.id;"
				     "CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS '';";
	return ddl_compile(STR(schema), &catalog, NULL) == ERR_OK ? 0 : 1;
}

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void analyse(str_t sql, const struct catalog *with)
{
	static const struct sql_required_column rule = { STR("t"), STR("tenant") };
	static const struct sql_policy policy = { .required_columns = &rule, .required_columns_count = 1 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sql_request request = {
		.sql = sql, .target_named = with != NULL, .catalog = with, .policy = &policy
	};
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	require(analysis.valid || analysis.verdict != SQL_SAFE);
	require((analysis.verdict == SQL_UNSAFE) == (analysis.violations_count > 0));
	require(analysis.text_offset + analysis.text.len <= sql.len);
	for (size_t i = 0; i < analysis.diagnostics_count; i++)
		require(analysis.diagnostics[i].offset >= 0 &&
			(size_t)analysis.diagnostics[i].offset <= sql.len);
}

static void check_redaction(str_t sql, struct arena *arena)
{
	struct sql_redaction redaction;
	int64_t previous = 0;
	sql_redact(sql, SQL_POSTGRESQL, arena, &redaction);
	for (size_t i = 0; i <= sql.len && i < 200; i++) {
		int64_t offset = sql_redaction_offset(&redaction, (int64_t)i);
		require(offset >= previous && (size_t)offset <= redaction.text.len);
		previous = offset;
	}
	/* A quote that is left is one of an identifier. */
	require(!strchr(redaction.text.ptr, '\'') || strchr(redaction.text.ptr, '"'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t sql = arena_text(arena, (const char *)data, size);
	analyse(sql, NULL);
	analyse(sql, catalog);
	check_redaction(sql, arena);
	return 0;
}
