#include "sql/front_end.h"
#include "sql/mysql/front_end.h"
#include "sql/sqlite/front_end.h"

#include "sql/analysis_copy.h"
#include "sql/gate.h"
#include "sql/unparsed.h"

static void refuse_dialect(const struct sql_request *request, struct arena *arena,
			   struct sql_analysis *ret_analysis)
{
	front_end_refuse(request, arena, VIOLATION_UNANALYSABLE,
			 "statements of this dialect cannot be analysed", 0, ret_analysis);
}

static const front_end_fn front_ends[] = {
	[SQL_POSTGRESQL] = sql_analyse_postgresql, [SQL_SQLITE] = sql_analyse_sqlite,
	[SQL_MYSQL] = sql_analyse_mysql,	   [SQL_MONGODB] = refuse_dialect,
	[SQL_UNKNOWN_DIALECT] = refuse_dialect,
};

void front_end_refuse(const struct sql_request *request, struct arena *arena, enum sql_violation_code code,
		      const char *reason, int64_t offset, struct sql_analysis *ret_analysis)
{
	struct diagnostics diagnostics = { .arena = arena };
	diagnostics_add(&diagnostics, DIAG_SYNTAX_ERROR, NULL, STR("statement"), offset, "%s", reason);
	*ret_analysis = (struct sql_analysis){
		.text = arena_text(arena, request->sql.ptr ? request->sql.ptr : "", request->sql.len),
		.diagnostics = diagnostics.items,
		.diagnostics_count = diagnostics.count,
	};
	struct violations violations = violations_begin(ret_analysis, arena);
	if (code == VIOLATION_UNANALYSABLE)
		unparsed_check(ret_analysis->text, request->dialect, NULL, str_from(reason), &violations);
	else
		violations_add(&violations, code, offset, "%s", reason);
	violations_end(&violations, request, ret_analysis);
}

void front_end_note_fence(const struct fence_result *part, struct diagnostics *diagnostics)
{
	diagnostics->text_offset = 0; /* the fence is around the part */
	if (part->wrapped)
		diagnostics_add(diagnostics, DIAG_MARKDOWN_FENCE, NULL, STR("fence"), 0,
				"the statement is wrapped in a fence or in prose; return the SQL alone");
	diagnostics->text_offset = part->offset;
}

void front_end_note_catalog(const struct sql_request *request, struct diagnostics *diagnostics)
{
	if (request->target_named && !request->catalog)
		diagnostics_add(diagnostics, DIAG_CATALOG_UNAVAILABLE, NULL, STR("catalog"), 0,
				"the target's catalog cannot be had: names are not checked");
}

static void analyse(const struct sql_request *request, struct arena *arena, struct sql_analysis *ret_analysis)
{
	static const enum sql_violation_code refusals[] = {
		[GATE_TOO_LONG] = VIOLATION_TOO_LONG,
		[GATE_ENCODING] = VIOLATION_UNANALYSABLE,
		[GATE_NUL] = VIOLATION_UNANALYSABLE,
		[GATE_TOO_DEEP] = VIOLATION_TOO_DEEP,
	};
	struct gate_result gate = gate_check(request->sql);
	if (gate.verdict == GATE_PASSED)
		front_ends[request->dialect](request, arena, ret_analysis);
	else
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
