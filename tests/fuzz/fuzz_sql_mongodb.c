/*
 * MongoDB's front end over foreign bytes: never crashes; what it calls safe names no stage or operator that
 * is refused, begins as a query does, and has a canonical form; every offset is inside of the text; a text
 * that is analysed twice is the same query.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sql_analysis analyse(str_t text, struct arena *arena)
{
	struct sql_analysis analysis = { 0 };
	sql_analyse(&(struct sql_request){ .sql = text, .dialect = SQL_MONGODB }, arena, &analysis);
	return analysis;
}

/* A key that is written plainly; within $literal it is data. */
static bool names(str_t text, const char *key)
{
	const char *at = strstr(text.ptr, key);
	while (at && at > text.ptr && !strchr("{, \n", at[-1])) /* the end of a longer one */
		at = strstr(at + 1, key);
	return at && !strstr(text.ptr, "literal") && !strstr(text.ptr, "const") &&
	       !strpbrk(text.ptr, "\"'`/\\");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const refused[] = { "$out:", "$merge:", "$where:", "$function:", "$accumulator:" };
	struct arena *arena = arena_new();
	str_t text = arena_text(arena, (const char *)data, size);
	struct sql_analysis analysis = analyse(text, arena);
	if (analysis.verdict == SQL_SAFE) {
		if (!analysis.valid || !str_present(analysis.canonical) || !analysis.tables_known)
			abort();
		for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
			if (names(analysis.text, refused[i]))
				abort();
		struct sql_analysis again = analyse(analysis.text, arena);
		if (!str_equal(again.canonical, analysis.canonical))
			abort();
	}
	for (size_t i = 0; i < analysis.diagnostics_count; i++)
		if (analysis.diagnostics[i].offset < 0 || (size_t)analysis.diagnostics[i].offset > size)
			abort();
	for (size_t i = 0; i < analysis.violations_count; i++)
		if (analysis.violations[i].offset < 0 || (size_t)analysis.violations[i].offset > size)
			abort();
	arena_free(arena);
	return 0;
}
