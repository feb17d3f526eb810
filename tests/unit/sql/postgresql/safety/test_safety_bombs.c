/*
 * Sizes, recursions and paths that hide what they ask for, and honest queries that come close to them.
 *
 * tests/corpora/safety/bombs.txt: each line is refused as a resource bomb; each took gigabytes, or did not
 * end within seconds, on a real server. tests/corpora/safety/counting.txt: none is refused.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/unit/sql/catalog_fixture.h"

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static const char schema[] =
	"CREATE TABLE t (a integer, b integer, c text, d numeric, f timestamptz);"
	"CREATE TABLE customers (id integer, name text, signup date);"
	"CREATE TABLE orders (id bigint, ordered_at timestamptz);"
	"CREATE TABLE employees (id integer, name text, manager_id integer, salary numeric);"
	"CREATE TABLE events (id bigint, dur interval);";

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog(schema);
}

/* Whether the verdict on the line is another one. */
static bool is_wrong(str_t sql, bool bomb)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_request request = {
		.sql = sql, .dialect = SQL_POSTGRESQL, .target_named = true, .catalog = catalog
	};
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	bool found = false;
	for (size_t i = 0; i < analysis.violations_count; i++)
		found = found || strcmp(analysis.violations[i].code, "resource_bomb") == 0;
	bool wrong = bomb ? !found || analysis.verdict != SQL_UNSAFE : analysis.verdict != SQL_SAFE;
	if (wrong)
		print_error("%s: " STR_FMT "\n", bomb ? "passes" : "refused", STR_ARG(sql));
	for (size_t i = 0; wrong && i < analysis.violations_count; i++)
		print_error("\t%s " STR_FMT "\n", analysis.violations[i].code,
			    STR_ARG(analysis.violations[i].detail));
	return wrong;
}

static void check_lines(const char *name, bool bombs, size_t least)
{
	char path[512];
	char line[4096];
	size_t lines = 0;
	size_t wrong = 0;
	snprintf(path, sizeof path, "%s/tests/corpora/safety/%s", ASSAYD_SOURCE_DIR, name);
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0' || line[0] == '#')
			continue;
		lines++;
		wrong += is_wrong(str_from(line), bombs);
	}
	assert_int_equal(wrong, 0);
	assert_true(lines >= least);
}

static void test_bombs(void **state)
{
	(void)state;
	check_lines("bombs.txt", true, 150);
}

static void test_counting(void **state)
{
	(void)state;
	check_lines("counting.txt", false, 45);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_counting),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
