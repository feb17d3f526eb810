#include "sql/parse.h" // first: see pg_nodes.h

#include "sql/analysis.h"

#include "common/buf.h"
#include "sql/gate.h"
#include "sql/scan.h"
#include "sql/sqlite_database.h"

static bool parses_postgresql(str_t sql, struct arena *arena)
{
	struct parsed_statement parsed;
	parse_begin(sql, arena, &parsed);
	bool parses = parsed.count > 0;
	parse_end(&parsed);
	return parses;
}

/* Names need not be known: only the grammar matters. */
static bool parses_sqlite(str_t sql, struct arena *arena)
{
	struct violations violations = { .arena = arena };
	struct sqlite_trace trace = { .arena = arena, .violations = &violations, .text = sql };
	_cleanup_(sqlite_database_cleanup) struct sqlite_database *database = sqlite_database_borrow(NULL);
	struct sqlite_result result = sqlite_database_prepare(database, sql, &trace);
	return result.problem != SQLITE_PROBLEM_SYNTAX && result.problem != SQLITE_PROBLEM_TOO_DEEP;
}

static bool parses(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	if (!sql.ptr || gate_check(sql).verdict != GATE_PASSED)
		return false;
	switch (dialect) {
	case SQL_POSTGRESQL:
		return parses_postgresql(sql, arena);
	case SQL_SQLITE:
		return parses_sqlite(sql, arena);
	case SQL_MYSQL:
		return true; /* no grammar here; a literal that never ends is found below */
	case SQL_MONGODB:
	default:
		return false;
	}
}

str_t sql_redact_literals(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	if (!str_present(sql))
		return STR_NONE;
	sql = arena_text(arena, sql.ptr, sql.len);
	if (!parses(sql, dialect, arena))
		return STR("?");
	struct buf redacted = BUF_INIT;
	bool broken = false;
	struct scan_token token = scan_token_at(sql, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_token_at(sql, token.offset + token.len, dialect)) {
		broken = broken || token.kind == SCAN_BROKEN;
		if (token.kind == SCAN_STRING || token.kind == SCAN_NUMBER)
			buf_append_char(&redacted, '?');
		else
			buf_append(&redacted, sql.ptr + token.offset, token.len);
	}
	str_t text = broken ? STR("?") : arena_str(arena, buf_str(&redacted));
	buf_free(&redacted);
	return text;
}
