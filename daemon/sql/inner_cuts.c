#include "sql/inner_cuts.h"

#include "sql/dialects.h"
#include "sql/lex/scan.h"
#include "sql/mongodb_sort_keys.h"

/* What stands in the innermost brackets around a byte; absent: there are none. */
static str_t brackets_around(str_t sql, size_t offset, enum sql_dialect dialect, struct arena *arena)
{
	size_t *opened = NULL;
	size_t depth = 0, capacity = 0, below = 0;
	struct scan_token token = scan_next(sql, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_next(sql, token.offset + token.len, dialect)) {
		bool before = token.offset < offset;
		if (token.kind == SCAN_BROKEN)
			break;
		if (before && scan_is_char(sql, token, '('))
			ARENA_PUSH(arena, opened, depth, capacity, token.offset + 1);
		else if (before && scan_is_char(sql, token, ')') && depth > 0)
			depth--;
		else if (!before && scan_is_char(sql, token, '('))
			below++;
		else if (!before && scan_is_char(sql, token, ')') && below-- == 0)
			return depth > 0 ? (str_t){ sql.ptr + opened[depth - 1],
						    token.offset - opened[depth - 1] }
					 : STR_NONE;
	}
	return STR_NONE;
}

static bool has_errors(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (analysis->diagnostics[i].severity == SQL_ERROR)
			return true;
	return false;
}

/* As a statement of its own. */
static bool show(const struct sql_request *request, const struct sql_analysis *analysis,
		 const struct sql_inner_cut *cut, struct arena *arena, struct sort_keys *ret_shown)
{
	struct sql_request part = *request;
	struct sql_analysis found;
	struct sort_keys shown;
	if (cut->offset < 0 || !cut->alone)
		return false;
	part.sql = brackets_around(analysis->text, (size_t)cut->offset, request->dialect, arena);
	if (!str_present(part.sql))
		return false;
	sql_analyse(&part, arena, &found);
	if (!found.valid || has_errors(&found) || found.ordered != cut->ordered ||
	    !sort_keys_show(&part, &found, arena, &shown) || !shown.cut.known ||
	    (shown.cut.limit < 0 && shown.cut.offset == 0))
		return false;
	*ret_shown = shown;
	return true;
}

/* Of MongoDB: each pipeline that ends with one may have another within. */
static size_t show_documents(const struct sql_request *request, const struct sql_analysis *analysis,
			     struct arena *arena, struct inner_cut *cuts)
{
	struct sql_request part = *request;
	struct sql_analysis found = *analysis;
	size_t count = 0;
	for (size_t i = 0; i < SQL_MAX_INNER_CUTS && found.valid; i++) {
		part.sql = mongodb_sort_keys_inner_cut(&found, arena);
		if (!str_present(part.sql))
			break;
		sql_analyse(&part, arena, &found);
		struct inner_cut cut = { .ordered = found.ordered };
		if (sort_keys_show(&part, &found, arena, &cut.shown) || !cut.ordered)
			cuts[count++] = cut;
	}
	return count;
}

size_t inner_cuts_show(const struct sql_request *request, const struct sql_analysis *analysis,
		       struct arena *arena, struct inner_cut **ret_cuts)
{
	size_t count = 0;
	if (request->dialect == SQL_MONGODB) {
		*ret_cuts = ARENA_ARRAY(arena, struct inner_cut, SQL_MAX_INNER_CUTS);
		return show_documents(request, analysis, arena, *ret_cuts);
	}
	*ret_cuts = ARENA_ARRAY(arena, struct inner_cut, analysis->inner_cuts_count);
	for (size_t i = 0; i < analysis->inner_cuts_count; i++) {
		const struct sql_inner_cut *cut = &analysis->inner_cuts[i];
		struct inner_cut shown = { .ordered = cut->ordered, .distinct_on = cut->distinct_on };
		if (show(request, analysis, cut, arena, &shown.shown) || !cut->ordered)
			(*ret_cuts)[count++] = shown;
	}
	return count;
}
