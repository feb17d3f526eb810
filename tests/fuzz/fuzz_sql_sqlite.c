/*
 * SQLite front end over foreign bytes: never crashes, and never calls a statement safe that the library
 * itself, without an authorizer, would not call read-only.
 */
#include "sql/analysis.h"

#include <sqlite3.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_read_only(str_t sql)
{
	sqlite3 *handle = NULL;
	sqlite3_stmt *statement = NULL;
	if (sqlite3_open(":memory:", &handle) == SQLITE_OK &&
	    sqlite3_prepare_v2(handle, sql.ptr, (int)sql.len + 1, &statement, NULL) == SQLITE_OK &&
	    statement && !sqlite3_stmt_readonly(statement))
		abort();
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(handle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct sql_request request = { .sql = arena_text(arena, (const char *)data, size),
				       .dialect = SQL_SQLITE };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	if (analysis.verdict == SQL_SAFE)
		check_read_only(analysis.text);
	(void)sql_redact_literals(request.sql, SQL_SQLITE, arena);
	arena_free(arena);
	return 0;
}
