#include "sql/findings/front_end.h"

#include "sql/findings/unparsed.h"
#include "sql/lex/scan.h"

void front_end_refuse(const struct sql_request *request, struct arena *arena, enum sql_violation_code code,
		      const char *reason, int64_t offset, struct sql_analysis *ret_analysis)
{
	struct diagnostics diagnostics = { .arena = arena };
	diagnostics_add(&diagnostics, DIAG_SYNTAX_ERROR, SUB_NONE, STR("statement"), offset, "%s", reason);
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

bool front_end_lists_function(const struct sql_policy *policy, const struct catalog_function *function,
			      bool (*same)(str_t a, str_t b))
{
	for (size_t i = 0; i < policy->allowed_functions_count; i++) {
		str_t allowed = policy->allowed_functions[i];
		size_t schema = function->schema.len;
		bool qualified = allowed.len == schema + 1 + function->name.len &&
				 allowed.ptr[schema] == '.' &&
				 same((str_t){ allowed.ptr, schema }, function->schema);
		str_t last = qualified ? (str_t){ allowed.ptr + schema + 1, function->name.len } : allowed;
		if (same(last, function->name))
			return true;
	}
	return false;
}

void front_end_check_comments(str_t text, enum sql_dialect dialect, const char *skipped,
			      struct violations *violations)
{
	struct scan_token token = scan_token_at(text, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_token_at(text, token.offset + token.len, dialect)) {
		if (token.kind != SCAN_COMMENT || text.ptr[token.offset] != '-')
			continue;
		size_t begin = 2 + strspn(text.ptr + token.offset + 2, skipped);
		if (begin < token.len && text.ptr[token.offset + begin] == '\'')
			violations_add(violations, VIOLATION_INJECTION_PATTERN, (int64_t)token.offset,
				       "a comment swallows the rest of a literal");
	}
}

void front_end_note_fence(const struct code_fence_result *part, struct diagnostics *diagnostics)
{
	diagnostics->text_offset = 0; /* the fence is around the part */
	if (part->wrapped)
		diagnostics_add(diagnostics, DIAG_MARKDOWN_FENCE, SUB_NONE, STR("fence"), 0,
				"the statement is wrapped in a fence or in prose; return the SQL alone");
	diagnostics->text_offset = part->offset;
}

void front_end_note_catalog(const struct sql_request *request, struct diagnostics *diagnostics)
{
	if (request->target_named && !request->catalog)
		diagnostics_add(diagnostics, DIAG_CATALOG_UNAVAILABLE, SUB_NONE, STR("catalog"), 0,
				"the target's catalog cannot be had: names are not checked");
}
