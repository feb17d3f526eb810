/*
 * SQLite front end over foreign bytes, without a catalog and with one: never crashes, never calls a statement
 * safe that the library itself, without an authorizer, would not call read-only, and finds errors where the
 * library does.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/redact.h"

#include <sqlite3.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct catalog *catalog;
static sqlite3 *oracle;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char table_t[] =
		"CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b NUMERIC, tenant INT)";
	static const char table_u[] = "CREATE TABLE u (id INTEGER, t_id INTEGER NOT NULL, a TEXT)";
	char json[512];
	(void)argc, (void)argv;
	snprintf(json, sizeof json, "[\"%s\", \"%s\"]", table_t, table_u);
	if (sqlite3_open(":memory:", &oracle) != SQLITE_OK)
		abort();
	(void)sqlite3_exec(oracle, table_t, NULL, NULL, NULL);
	(void)sqlite3_exec(oracle, table_u, NULL, NULL, NULL);
	return catalog_compile_sqlite(str_from(json), &catalog, NULL) == ERR_OK ? 0 : 1;
}

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool has(const struct sql_analysis *analysis, const char *code)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (strcmp(analysis->diagnostics[i].code, code) == 0)
			return true;
	return false;
}

/* What is safe only reads, and what has no error can be prepared. */
static void check(const struct sql_analysis *analysis, bool with_catalog)
{
	sqlite3_stmt *statement = NULL;
	bool errors = !analysis->valid;
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		errors = errors || analysis->diagnostics[i].severity == SQL_ERROR;
	int status =
		sqlite3_prepare_v2(oracle, analysis->text.ptr, (int)analysis->text.len, &statement, NULL);
	if (analysis->verdict == SQL_SAFE && status == SQLITE_OK)
		require(!statement || sqlite3_stmt_readonly(statement));
	if (with_catalog && !errors && analysis->verdict == SQL_SAFE)
		require(status == SQLITE_OK);
	if (with_catalog && status == SQLITE_OK && statement && analysis->verdict == SQL_SAFE)
		require(!errors || has(analysis, "markdown_fence") || has(analysis, "missing_required"));
	(void)sqlite3_finalize(statement);
}

static void analyse(str_t sql, const struct catalog *with)
{
	static const struct sql_required_column rule = { STR("t"), STR("tenant") };
	static const struct sql_policy policy = { .required_columns = &rule, .required_columns_count = 1 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sql_request request = { .sql = sql,
				       .dialect = SQL_SQLITE,
				       .target_named = with != NULL,
				       .catalog = with,
				       .policy = &policy };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	require(analysis.valid || analysis.verdict != SQL_SAFE);
	for (size_t i = 0; i < analysis.diagnostics_count; i++)
		require(analysis.diagnostics[i].offset >= 0 &&
			(size_t)analysis.diagnostics[i].offset <= sql.len);
	check(&analysis, with != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t sql = arena_text(arena, (const char *)data, size);
	analyse(sql, NULL);
	analyse(sql, catalog);
	(void)sql_redact_literals(sql, SQL_SQLITE, arena);
	return 0;
}
