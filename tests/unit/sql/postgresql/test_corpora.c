/*
 * Queries that people wrote: ground truths must never be refused, and fragments of real injections must never
 * crash the analysis. Skipped, by name, where the corpora are not there (ASSAYD_CORPORA, or
 * ../shared/corpora).
 */
#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/fixtures/truths.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static const char *corpora(void)
{
	const char *configured = getenv("ASSAYD_CORPORA");
	return configured ? configured : ASSAYD_SOURCE_DIR "/../shared/corpora";
}

/* Opens a file of the corpora, or skips the test. */
static FILE *open_corpus(const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", corpora(), name);
	FILE *file = fopen(path, "r");
	if (!file) {
		print_message("skipped: %s is not there\n", path);
		skip();
	}
	return file;
}

static enum sql_verdict judge(str_t sql, enum sql_dialect dialect, bool print)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_request request = { .sql = arena_str(arena, sql), .dialect = dialect };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	if (print && analysis.verdict != SQL_SAFE) {
		print_error(STR_FMT "\n", STR_ARG(sql));
		for (size_t i = 0; i < analysis.violations_count; i++)
			print_error("  %s: " STR_FMT "\n", analysis.violations[i].code,
				    STR_ARG(analysis.violations[i].detail));
	}
	return analysis.verdict;
}

struct event_metrics {
	unsigned count, refused;
};

static void judge_truth(void *context, const struct truth *truth)
{
	struct event_metrics *event_metrics = context;
	event_metrics->count++;
	event_metrics->refused += judge(truth->sql, SQL_POSTGRESQL, true) != SQL_SAFE;
}

static void test_defog_truths_are_safe(void **state)
{
	_cleanup_(cleanup_fclose) FILE *file = open_corpus("defog/questions_gen_postgres.csv");
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct event_metrics event_metrics = { 0 };
	(void)state;
	truths_read(file, arena, judge_truth, &event_metrics);
	print_message("%u of %u ground truths are refused\n", event_metrics.refused, event_metrics.count);
	assert_true(event_metrics.count > 210);
	assert_int_equal(event_metrics.refused, 0);
}

/* One query per line, a tab and the database's name behind it. */
static void judge_lines(const char *name, enum sql_dialect dialect, unsigned *count, unsigned *refused)
{
	_cleanup_(cleanup_fclose) FILE *file = open_corpus(name);
	_cleanup_(cleanup_free) char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, file) > 0) {
		size_t len = strcspn(line, "\t\r\n");
		if (len == 0)
			continue;
		(*count)++;
		*refused += judge((str_t){ line, len }, dialect, true) == SQL_UNSAFE;
	}
}

static void test_spider_gold_is_safe(void **state)
{
	unsigned count = 0;
	unsigned refused = 0;
	(void)state;
	judge_lines("spider/gold_example.txt", SQL_SQLITE, &count, &refused);
	judge_lines("spider/classical_test_gold.txt", SQL_SQLITE, &count, &refused);
	print_message("%u of %u Spider queries are refused\n", refused, count);
	assert_true(count > 4000);
	assert_int_equal(refused, 0);
}

/* Fragments behind a literal of a careless program, in both dialects. */
static void try_fragments(const char *path)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	_cleanup_(cleanup_free) char *line = NULL;
	size_t capacity = 0;
	struct buf sql = BUF_INIT;
	assert_non_null(file);
	for (unsigned i = 0; getline(&line, &capacity, file) > 0; i++) {
		if (i % whole_or(1, 4) != 0)
			continue;
		line[strcspn(line, "\r\n")] = '\0';
		static const char *const careless[] = { "SELECT * FROM users WHERE name = '%s'",
							"SELECT * FROM users WHERE id = %s",
							"SELECT * FROM users ORDER BY %s" };
		const char *hole = strchr(careless[i % 3], '%');
		buf_reset(&sql);
		buf_append(&sql, careless[i % 3], (size_t)(hole - careless[i % 3]));
		buf_append_text(&sql, line);
		buf_append_text(&sql, hole + 2);
		judge(buf_str(&sql), i % 2 ? SQL_SQLITE : SQL_POSTGRESQL, false);
	}
	buf_free(&sql);
}

static void test_injections_do_not_crash(void **state)
{
	char folder[512];
	(void)state;
	snprintf(folder, sizeof folder, "%s/libinjection", corpora());
	DIR *directory = opendir(folder);
	if (!directory) {
		print_message("skipped: %s is not there\n", folder);
		skip();
	}
	for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
		char path[1024];
		if (strncmp(entry->d_name, "sqli-", 5) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		try_fragments(path);
	}
	closedir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defog_truths_are_safe),
		cmocka_unit_test(test_spider_gold_is_safe),
		cmocka_unit_test(test_injections_do_not_crash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
