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
#define MONGODB(mongosh, sql)
#define MONGODB_DIFFERS(mongosh, sql, codes, reason)
#define MONGODB_EQUAL(a, b)
#define MONGODB_UNEQUAL(a, b)
#include "conformance.def"
#undef SAME
#undef DIFFERS
#undef EQUAL
#undef UNEQUAL
#undef MONGODB
#undef MONGODB_DIFFERS
#undef MONGODB_EQUAL
#undef MONGODB_UNEQUAL
};

/* `sql`: the statement that says the same; of two of MongoDB's queries NULL, and their forms are compared. */
static const struct {
	const char *mongosh, *sql;
	const char *codes; /* where they are others than the statement's */
	const char *other;
	bool equal;
} documents[] = {
#define SAME(sql, codes)
#define DIFFERS(sql, postgresql, mysql, sqlite, reason)
#define EQUAL(a, b)
#define UNEQUAL(a, b)
#define MONGODB(mongosh, sql)			     { (mongosh), (sql), NULL, NULL, true },
#define MONGODB_DIFFERS(mongosh, sql, codes, reason) { (mongosh), (sql), (codes), NULL, false },
#define MONGODB_EQUAL(a, b)			     { (a), NULL, NULL, (b), true },
#define MONGODB_UNEQUAL(a, b)			     { (a), NULL, NULL, (b), false },
#include "conformance.def"
#undef SAME
#undef DIFFERS
#undef EQUAL
#undef UNEQUAL
#undef MONGODB
#undef MONGODB_DIFFERS
#undef MONGODB_EQUAL
#undef MONGODB_UNEQUAL
};

static const struct {
	const char *a, *b;
	bool equal;
} pairs[] = {
#define SAME(sql, codes)
#define DIFFERS(sql, postgresql, mysql, sqlite, reason)
#define EQUAL(a, b)   { (a), (b), true },
#define UNEQUAL(a, b) { (a), (b), false },
#define MONGODB(mongosh, sql)
#define MONGODB_DIFFERS(mongosh, sql, codes, reason)
#define MONGODB_EQUAL(a, b)
#define MONGODB_UNEQUAL(a, b)
#include "conformance.def"
};

#define MONGODB_INDEX COUNT(dialects)

/* `dialect`: one of `dialects`, or MONGODB_INDEX. */
static struct sql_analysis analyse(const char *sql, size_t dialect, struct arena *arena)
{
	bool documents_named = dialect == MONGODB_INDEX;
	struct sql_request request = { .sql = str_from(sql),
				       .dialect = documents_named ? SQL_MONGODB : dialects[dialect].dialect,
				       .target_named = true,
				       .catalog = documents_named ? mongodb_catalog : catalogs[dialect] };
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

static void mongodb_agrees(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		if (!documents[i].sql)
			continue;
		const char *found = codes_of(documents[i].mongosh, MONGODB_INDEX, arena);
		const char *of_sql = codes_of(documents[i].sql, 0, arena);
		const char *expected = documents[i].codes ? documents[i].codes : of_sql;
		if (strcmp(found, expected) != 0)
			wrong++, print_error("%s\n  \"%s\", not \"%s\"\n", documents[i].mongosh, found,
					     expected);
		if (documents[i].codes && strcmp(of_sql, expected) == 0)
			wrong++, print_error("%s\n  no difference\n", documents[i].mongosh);
	}
	assert_int_equal(wrong, 0);
}

static void mongodb_forms_agree(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		if (documents[i].sql)
			continue;
		struct sql_analysis a = analyse(documents[i].mongosh, MONGODB_INDEX, arena),
				    b = analyse(documents[i].other, MONGODB_INDEX, arena);
		if (str_equal(a.canonical, b.canonical) != documents[i].equal)
			wrong++, print_error("%s\n  %s\n  %s\n  %s\n", documents[i].mongosh,
					     documents[i].other, a.canonical.ptr, b.canonical.ptr);
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(dialects_agree), cmocka_unit_test(forms_agree),
					    cmocka_unit_test(mongodb_agrees),
					    cmocka_unit_test(mongodb_forms_agree) };
	return cmocka_run_group_tests(tests, load_catalogs, drop_catalogs);
}
