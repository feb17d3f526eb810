/*
 * MySQL front end over foreign bytes: never crashes, and what it calls safe begins like a query;
 * every offset is inside of the text; what it redacts keeps no literal's quotes.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/redact.h"

#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_start(str_t sql)
{
	static const char *const starts[] = { "select", "with",	    "values", "table", "explain",
					      "show",	"describe", "desc",   "(",     "--",
					      "#",	"/*",	    " ",      "\t",    "\n" };
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
		if (strncasecmp(sql.ptr, starts[i], strlen(starts[i])) == 0)
			return;
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct sql_request request = { .sql = arena_text(arena, (const char *)data, size),
				       .dialect = SQL_MYSQL };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	if (analysis.verdict == SQL_SAFE) {
		if (!analysis.valid || !str_present(analysis.canonical) || !analysis.tables_known)
			abort();
		check_start(analysis.text);
	}
	for (size_t i = 0; i < analysis.diagnostics_count; i++)
		if (analysis.diagnostics[i].offset < 0 || (size_t)analysis.diagnostics[i].offset > size)
			abort();
	for (size_t i = 0; i < analysis.violations_count; i++)
		if (analysis.violations[i].offset < 0 || (size_t)analysis.violations[i].offset > size)
			abort();
	str_t redacted = sql_redact_literals(request.sql, SQL_MYSQL, arena);
	if (redacted.ptr && analysis.valid && memchr(redacted.ptr, '\'', redacted.len) &&
	    !memchr(redacted.ptr, '`', redacted.len) && !memchr(redacted.ptr, '"', redacted.len))
		abort();
	arena_free(arena);
	return 0;
}
