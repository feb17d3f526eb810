/*
 * Queries that people wrote: ground truths must never be refused, and fragments of real injections must never
 * crash the analysis. Skipped, by name, where the corpora are not there (ASSAYD_CORPORA, or
 * ../shared/corpora).
 */
#include "common/buf.h"
#include "sql/analysis.h"

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

/* Next field of a CSV file (quotes doubled inside quotes); false at its end. `ret_last`: it ends its record.
 */
static bool next_field(FILE *file, struct buf *field, bool *ret_last)
{
	int c = fgetc(file);
	bool quoted = c == '"';
	buf_reset(field);
	if (c == EOF)
		return false;
	if (quoted)
		c = fgetc(file);
	for (; c != EOF; c = fgetc(file)) {
		if (quoted && c == '"') {
			c = fgetc(file);
			if (c != '"')
				break;
		} else if (!quoted && (c == ',' || c == '\n' || c == '\r')) {
			break;
		}
		buf_append_char(field, (char)c);
	}
	while (c == '\r')
		c = fgetc(file);
	*ret_last = c != ',';
	return true;
}

/* `{a,b}` offers columns to choose from: all of them; `{}` repeats the first choice. */
static void fill_choices(str_t sql, struct buf *filled)
{
	str_t first = STR_NONE;
	buf_reset(filled);
	for (size_t i = 0; i < sql.len; i++) {
		const char *close = sql.ptr[i] == '{' ? memchr(sql.ptr + i, '}', sql.len - i) : NULL;
		if (!close) {
			buf_append_char(filled, sql.ptr[i]);
			continue;
		}
		str_t choice = { sql.ptr + i + 1, (size_t)(close - sql.ptr) - i - 1 };
		if (choice.len > 0 && !str_present(first))
			first = choice;
		buf_append_str(filled, choice.len > 0 ? choice : first);
		i = (size_t)(close - sql.ptr);
	}
}

static void judge_truths(str_t truths, unsigned *count, unsigned *refused)
{
	struct buf filled = BUF_INIT;
	size_t start = 0;
	for (size_t i = 0; i <= truths.len; i++) {
		if (i < truths.len && truths.ptr[i] != ';')
			continue;
		fill_choices((str_t){ truths.ptr + start, i - start }, &filled);
		start = i + 1;
		if (filled.len < 7)
			continue;
		(*count)++;
		*refused += judge(buf_str(&filled), SQL_POSTGRESQL, true) != SQL_SAFE;
	}
	buf_free(&filled);
}

static void judge_csv(const char *name, unsigned query_field, unsigned *count)
{
	_cleanup_(cleanup_fclose) FILE *file = open_corpus(name);
	struct buf field = BUF_INIT;
	unsigned refused = 0;
	unsigned records = 0;
	unsigned index = 0;
	bool last = false;
	while (next_field(file, &field, &last)) {
		if (index == query_field && records > 0)
			judge_truths(buf_str(&field), count, &refused);
		index = last ? 0 : index + 1;
		records += last;
	}
	buf_free(&field);
	assert_int_equal(refused, 0);
}

static void test_defog_truths_are_safe(void **state)
{
	unsigned count = 0;
	(void)state;
	judge_csv("defog/questions_gen_postgres.csv", 1, &count);
	assert_true(count > 210);
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
		*refused += judge((str_t){ line, len }, dialect, true) != SQL_SAFE;
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
