#include "common/log.h"

#include "common/cleanup.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

/* What a process of its own writes to its standard error, which is a pipe. The stream is looked for once in a
 * process, hence one for each case. */
static void written_by(void (*body)(void), const char *journal_stream, char *ret_text, size_t size)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct stat status;
		char ours[64];
		dup2(ends[1], STDERR_FILENO);
		fstat(STDERR_FILENO, &status);
		snprintf(ours, sizeof ours, "%llu:%llu", (unsigned long long)status.st_dev,
			 (unsigned long long)status.st_ino);
		unsetenv("JOURNAL_STREAM");
		if (journal_stream)
			setenv("JOURNAL_STREAM", *journal_stream ? journal_stream : ours, 1);
		body();
		_exit(0);
	}
	close(ends[1]);
	size_t len = 0;
	ssize_t got;
	while ((got = read(ends[0], ret_text + len, size - 1 - len)) > 0)
		len += (size_t)got;
	ret_text[len] = '\0';
	close(ends[0]);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void every_level(void)
{
	log_set_level(LOG_LEVEL_DEBUG);
	log_write(LOG_LEVEL_CRITICAL, NULL, "c");
	log_error("e %d", 1);
	log_warning("w");
	log_notice("n");
	log_info("i");
	log_debug("d");
}

static void as_it_starts(void)
{
	log_debug("not this");
	log_info("this");
	log_set_level(LOG_LEVEL_ERROR);
	log_warning("not this");
	log_error("and this");
}

static void with_fields(void)
{
	log_write(LOG_LEVEL_WARNING, LOG_FIELDS({ "partition", "3" }, { "topic", NULL }), "stopped");
}

static void with_control_characters(void)
{
	log_write(LOG_LEVEL_ERROR, LOG_FIELDS({ "sql", "SELECT 1;\nDROP\tTABLE x" }),
		  "one\nassayd: error: forged\r\x1b[31m");
}

static void of_any_length(void)
{
	char text[5000];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	log_error("%s", text);
}

static void to_standard_error(void **state)
{
	(void)state;
	static const struct {
		void (*body)(void);
		const char *journal_stream, *expected;
	} cases[] = {
		{ every_level, NULL,
		  "assayd: critical: c\nassayd: error: e 1\nassayd: warning: w\nassayd: notice: n\n"
		  "assayd: info: i\nassayd: debug: d\n" },
		{ as_it_starts, NULL, "assayd: info: this\nassayd: error: and this\n" },
		{ with_fields, NULL, "assayd: warning: stopped partition=3 topic=\n" },
		{ with_control_characters, NULL,
		  "assayd: error: one\\nassayd: error: forged\\r\\u001b[31m sql=SELECT 1;\\nDROP\\tTABLE "
		  "x\n" },
		/* the journal's stream is another one, or none at all: standard error was redirected */
		{ with_fields, "1:2", "assayd: warning: stopped partition=3 topic=\n" },
		{ with_fields, "nonsense", "assayd: warning: stopped partition=3 topic=\n" },
		{ with_fields, "1", "assayd: warning: stopped partition=3 topic=\n" },
		/* standard error is the journal's own: lines go to the journal, with their fields */
		{ with_fields, "", "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[4096];
		written_by(cases[i].body, cases[i].journal_stream, text, sizeof text);
		assert_string_equal(text, cases[i].expected);
	}
}

static void long_lines_are_cut_and_ended(void **state)
{
	(void)state;
	char text[8192];
	written_by(of_any_length, NULL, text, sizeof text);
	assert_memory_equal(text, "assayd: error: xxx", 18);
	assert_in_range(strlen(text), 1000, 2100);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void remember(enum log_level level, const char *line, void *context)
{
	snprintf(context, 100, "%d %s", (int)level, line);
}

static void sinks_of_tests(void **state)
{
	(void)state;
	char heard[100] = "";
	log_set_sink(remember, heard);
	log_warning("%s", "heard");
	assert_string_equal(heard, "2 heard");
	log_debug("too low");
	assert_string_equal(heard, "2 heard");
	log_set_sink(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_standard_error),
		cmocka_unit_test(long_lines_are_cut_and_ended),
		cmocka_unit_test(sinks_of_tests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
