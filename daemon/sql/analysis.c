#include "sql/front_end.h"
#include "sql/mysql.h"
#include "sql/sqlite.h"

#include "sql/analysis_copy.h"
#include "sql/diagnose.h"

static void refuse_dialect(const struct sql_request *request, struct arena *arena,
			   struct sql_analysis *ret_analysis)
{
	front_end_refuse(request, arena, VIOLATION_UNANALYSABLE,
			 "statements of this dialect cannot be analysed", 0, ret_analysis);
}

static const front_end_fn front_ends[] = {
	[SQL_POSTGRESQL] = sql_analyse_postgresql,
	[SQL_SQLITE] = sql_analyse_sqlite,
	[SQL_MYSQL] = sql_analyse_mysql,
	[SQL_MONGODB] = refuse_dialect,
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
	violations_add(&violations, code, offset, "%s", reason);
	violations_end(&violations, request, ret_analysis);
}

void sql_analyse(const struct sql_request *request, struct arena *arena, struct sql_analysis *ret_analysis)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct sql_analysis analysis = { 0 };
	front_ends[request->dialect](request, scratch, &analysis);
	analysis_copy(&analysis, arena, ret_analysis);
}
