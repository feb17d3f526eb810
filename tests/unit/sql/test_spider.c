/*
 * Real questions' SQL through the whole analysis: nothing crashes, and every statement is either valid or
 * says why not. Needs the corpora (ASSAYD_CORPORA, else ../shared/corpora beside the source); skipped without
 * them.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/harness/fixtures/long_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MAX_LINE ((size_t)1 << 20)

static FILE *open_corpus(const char *name)
{
	const char *folder = getenv("ASSAYD_CORPORA");
	char path[4096];
	(void)snprintf(path, sizeof path, "%s/%s", folder ? folder : ASSAYD_SOURCE_DIR "/../shared/corpora",
		       name);
	FILE *file = fopen(path, "r");
	if (!file) {
		print_message("skipped: %s is not there\n", path);
		skip();
	}
	return file;
}

struct count {
	size_t lines;
	size_t valid;
	size_t unsafe; /* of those that are not valid, in any dialect */
};

/* Analyses lines, each up to the first tab: all as SQLite, of the other dialects a part. */
static struct count analyse_lines(const char *name)
{
	_cleanup_(cleanup_fclose) FILE *file = open_corpus(name);
	_cleanup_(cleanup_free) char *line = malloc(MAX_LINE);
	struct count count = { 0 };
	while (fgets(line, (int)MAX_LINE, file)) {
		struct arena *arena = arena_new();
		line[strcspn(line, "\t\n")] = '\0';
		struct sql_request request = { .sql = str_from(line) };
		struct sql_analysis analysis;
		sql_analyse(&request, arena, &analysis);
		if (!analysis.valid)
			assert_true(analysis.diagnostics_count > 0 && analysis.verdict != SQL_SAFE);
		count.lines++;
		count.valid += analysis.valid;
		for (enum sql_dialect dialect = SQL_POSTGRESQL;
		     dialect <= SQL_MYSQL && count.lines % whole_or(1, 5) == 0; dialect++) {
			request.dialect = dialect;
			sql_analyse(&request, arena, &analysis);
			count.unsafe += !analysis.valid && analysis.verdict == SQL_UNSAFE;
		}
		arena_free(arena);
	}
	return count;
}

static void spider_gold(void **state)
{
	(void)state;
	struct count count = analyse_lines("spider/gold_example.txt");
	assert_int_equal(count.lines, 1034);
	/* Six are SQLite's own: subqueries without an alias, JOIN without ON. */
	assert_int_equal(count.valid, 1028);
	assert_int_equal(count.unsafe, 0);
}

static void spider_classical(void **state)
{
	(void)state;
	struct count count = analyse_lines("spider/classical_test_gold.txt");
	assert_true(count.lines > 3000);
	assert_true(count.valid * 100 >= count.lines * 95);
	assert_int_equal(count.unsafe, 0);
}

static void spider_predictions(void **state)
{
	(void)state;
	struct count count = analyse_lines("spider/pred_example.txt");
	assert_true(count.lines > 1000);
	assert_true(count.valid < count.lines);
	assert_int_equal(count.unsafe, 0);
}

/* Fragments that are no statements: hardly any parses, none gets through as valid and unnoticed. */
static void injections(void **state)
{
	(void)state;
	assert_true(analyse_lines("libinjection/sqli-forums.txt").lines > 0);
	assert_true(analyse_lines("libinjection/sqli-fullqueries.txt").lines > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spider_gold),
		cmocka_unit_test(spider_classical),
		cmocka_unit_test(spider_predictions),
		cmocka_unit_test(injections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
