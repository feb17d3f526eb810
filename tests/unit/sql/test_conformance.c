/*
 * Rules that dialects share say the same of the same statement in each of them: conformance.def, where an
 * exception has its reason.
 */
#include "tests/unit/sql/dialect_catalogs.h"

static const struct {
	const char *sql;
	const char *codes[COUNT(dialects)]; /* in the order of `dialects` */
	const char *reason;
} cases[] = {
#define SAME(sql, codes) { (sql), { (codes), (codes), (codes) }, NULL },
#define DIFFERS(sql, postgresql, mysql, sqlite, reason)                                                      \
	{ (sql), { (postgresql), (mysql), (sqlite) }, (reason) },
#define EQUAL(a, b)
#define UNEQUAL(a, b)
#include "conformance.def"
#undef SAME
#undef DIFFERS
#undef EQUAL
#undef UNEQUAL
};

static const struct {
	const char *a, *b;
	bool equal;
} pairs[] = {
#define SAME(sql, codes)
#define DIFFERS(sql, postgresql, mysql, sqlite, reason)
#define EQUAL(a, b)   { (a), (b), true },
#define UNEQUAL(a, b) { (a), (b), false },
#include "conformance.def"
};

static struct sql_analysis analyse(const char *sql, size_t dialect, struct arena *arena)
{
	struct sql_request request = { .sql = str_from(sql),
				       .dialect = dialects[dialect].dialect,
				       .target_named = true,
				       .catalog = catalogs[dialect] };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *codes_of(const char *sql, size_t dialect, struct arena *arena)
{
	struct sql_analysis analysis = analyse(sql, dialect, arena);
	const char *codes[64];
	size_t count = 0;
	str_t text = STR("");
	for (size_t i = 0; i < analysis.diagnostics_count && count < COUNT(codes); i++)
		codes[count++] = analysis.diagnostics[i].sub_code ? analysis.diagnostics[i].sub_code
								  : analysis.diagnostics[i].code;
	for (size_t i = 0; i < analysis.violations_count && count < COUNT(codes); i++)
		codes[count++] = analysis.violations[i].code;
	qsort(codes, count, sizeof codes[0], compare);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(codes[i], codes[i - 1]) != 0)
			text = arena_printf(arena, STR_FMT "%s%s", STR_ARG(text), i ? " " : "", codes[i]);
	return text.ptr;
}

static void dialects_agree(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t d = 0; d < COUNT(dialects); d++) {
			struct arena *arena = arena_new();
			const char *expected = cases[i].codes[d];
			const char *found = expected ? codes_of(cases[i].sql, d, arena) : NULL;
			if (found && strcmp(found, expected) != 0)
				wrong++, print_error("%s: %s\n  \"%s\", not \"%s\"\n", dialects[d].name,
						     cases[i].sql, found, expected);
			arena_free(arena);
		}
	}
	assert_int_equal(wrong, 0);
}

static void forms_agree(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		for (size_t d = 0; d < COUNT(dialects); d++) {
			struct arena *arena = arena_new();
			struct sql_analysis a = analyse(pairs[i].a, d, arena),
					    b = analyse(pairs[i].b, d, arena);
			if (str_equal(a.canonical, b.canonical) != pairs[i].equal)
				wrong++,
					print_error("%s:\n  %s\n  %s\n  %s\n  %s\n", dialects[d].name,
						    pairs[i].a, pairs[i].b, a.canonical.ptr, b.canonical.ptr);
			arena_free(arena);
		}
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(dialects_agree), cmocka_unit_test(forms_agree) };
	return cmocka_run_group_tests(tests, load_catalogs, drop_catalogs);
}
