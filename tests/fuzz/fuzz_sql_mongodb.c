/*
 * MongoDB's front end over foreign bytes: never crashes; what it calls safe names no stage or operator that
 * is refused, begins as a query does, and has a canonical form; every offset is inside of the text; a text
 * that is analysed twice is the same query. A catalog adds warnings and unknown names to what is said without
 * one, and takes nothing away.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names are short, so that a fuzzer finds them. */
static const char collections[] =
	"{\"format\":1,\"database\":\"d\",\"sample_size\":9}\n"
	"{\"collection\":\"c\",\"kind\":\"collection\",\"sampled\":9,\"complete\":true,\"fields\":["
	"{\"path\":\"_id\",\"types\":[\"objectId\"]},{\"path\":\"a\",\"types\":[\"int\"]},"
	"{\"path\":\"b\",\"types\":[\"object\"]},{\"path\":\"b.c\",\"types\":[\"string\"]},"
	"{\"path\":\"d\",\"types\":[\"array\"],\"elements\":[\"object\"]},"
	"{\"path\":\"d.a\",\"types\":[\"date\"]}]}\n"
	"{\"collection\":\"users\",\"kind\":\"collection\",\"sampled\":9,\"complete\":false,\"fields\":["
	"{\"path\":\"name\",\"types\":[\"string\"]},{\"path\":\"age\",\"types\":[\"int\"]}],\"validator\":{"
	"\"$jsonSchema\":{\"properties\":{\"name\":{\"bsonType\":\"string\"}},\"additionalProperties\":"
	"false}}}\n";

static struct sql_analysis analyse_with(str_t text, const struct catalog *catalog, struct arena *arena)
{
	struct sql_analysis analysis = { 0 };
	const struct sql_request request = { .sql = text, .dialect = SQL_MONGODB, .catalog = catalog };
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static struct sql_analysis analyse(str_t text, struct arena *arena)
{
	return analyse_with(text, NULL, arena);
}

static void check_offsets(const struct sql_analysis *analysis, size_t size)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (analysis->diagnostics[i].offset < 0 || (size_t)analysis->diagnostics[i].offset > size)
			abort();
	for (size_t i = 0; i < analysis->violations_count; i++)
		if (analysis->violations[i].offset < 0 || (size_t)analysis->violations[i].offset > size)
			abort();
}

static void check_with_catalog(str_t text, const struct sql_analysis *without, struct arena *arena)
{
	static struct catalog *catalog;
	struct err_detail detail;
	if (!catalog && catalog_compile_mongodb(str_from(collections), &catalog, &detail) != ERR_OK)
		abort();
	struct sql_analysis with = analyse_with(text, catalog, arena);
	check_offsets(&with, text.len);
	if (strstr(text.ptr, "getSiblingDB")) /* the catalog tells whether that is another database */
		return;
	if (with.verdict != without->verdict || with.valid != without->valid ||
	    with.diagnostics_count < without->diagnostics_count ||
	    !str_equal(with.canonical, without->canonical))
		abort();
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
	check_offsets(&analysis, size);
	check_with_catalog(text, &analysis, arena);
	arena_free(arena);
	return 0;
}
