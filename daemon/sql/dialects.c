#include "sql/dialects.h"

#include "sql/findings/analysis_copy.h"
#include "sql/findings/front_end.h"
#include "sql/lex/gate.h"
#include "sql/lex/prose.h"
#include "sql/mongodb/front_end.h"
#include "sql/mysql/front_end.h"
#include "sql/postgresql/front_end.h"
#include "sql/sqlite/front_end.h"

static void refuse_dialect(const struct sql_request *request, struct arena *arena,
			   struct sql_analysis *ret_analysis)
{
	front_end_refuse(request, arena, VIOLATION_UNANALYSABLE,
			 "statements of this dialect cannot be analysed", 0, ret_analysis);
}

/* PostgreSQL's grammar covers most of SQLite's recursive queries, and of those it can tell more. */
static void analyse_sqlite(const struct sql_request *request, struct arena *arena,
			   struct sql_analysis *ret_analysis)
{
	sql_analyse_sqlite(request, sql_recursion_postgresql, arena, ret_analysis);
}

static const front_end_fn front_ends[] = {
	[SQL_POSTGRESQL] = sql_analyse_postgresql, [SQL_SQLITE] = analyse_sqlite,
	[SQL_MYSQL] = sql_analyse_mysql,	   [SQL_MONGODB] = sql_analyse_mongodb,
	[SQL_UNKNOWN_DIALECT] = refuse_dialect,
};

/* Where prose stops to be SQL is of no use to anybody. */
static void tell_prose(const struct sql_request *request, struct sql_analysis *analysis)
{
	if (!analysis->valid && analysis->diagnostics_count > 0 && request->dialect < SQL_MONGODB &&
	    strcmp(analysis->diagnostics[0].code, diagnostic_name(DIAG_SYNTAX_ERROR)) == 0 &&
	    prose_is(request->sql, request->dialect))
		analysis->diagnostics[0].message = STR(PROSE_TEXT);
}

static void analyse(const struct sql_request *request, struct arena *arena, struct sql_analysis *ret_analysis)
{
	static const enum sql_violation_code refusals[] = {
		[GATE_TOO_LONG] = VIOLATION_TOO_LONG,
		[GATE_ENCODING] = VIOLATION_UNANALYSABLE,
		[GATE_NUL] = VIOLATION_UNANALYSABLE,
		[GATE_TOO_DEEP] = VIOLATION_TOO_DEEP,
	};
	struct gate_result gate =
		request->dialect == SQL_MONGODB ? gate_check_bytes(request->sql) : gate_check(request->sql);
	if (gate.verdict == GATE_PASSED) {
		front_ends[request->dialect](request, arena, ret_analysis);
		tell_prose(request, ret_analysis);
		return;
	}
	front_end_refuse(request, arena, refusals[gate.verdict], gate.reason, (int64_t)gate.offset,
			 ret_analysis);
}

void sql_analyse(const struct sql_request *request, struct arena *arena, struct sql_analysis *ret_analysis)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct sql_analysis analysis = { 0 };
	analyse(request, scratch, &analysis);
	analysis_copy(&analysis, arena, ret_analysis);
}
