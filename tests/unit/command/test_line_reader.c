#include "command/line_reader.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static bool told_to_stop;

static bool stopping(void)
{
	return told_to_stop;
}

/* A file with these bytes. */
static int open_with(const char *bytes, size_t len)
{
	char path[] = "/tmp/test_line_reader.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void lines(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
		const char *expected; /* lines with | between; ! for one that is too long */
	} cases[] = {
		{ "nothing", "", "" },
		{ "an empty line", "\n", "|" },
		{ "one", "a\n", "a|" },
		{ "without an end", "a\nbc", "a|bc|" },
		{ "carriage returns", "a\r\n\r\nb\r", "a||b|" },
		{ "as long as is allowed", "12345678\n", "12345678|" },
		{ "too long", "123456789\na\n", "!|a|" },
		{ "too long at the end", "a\n123456789", "a|!|" },
		{ "all too long", "1234567890123456789012345678901234567890", "!|" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct line_reader reader;
		_cleanup_(buf_free) struct buf found = BUF_INIT;
		enum line_reading reading;
		str_t line;
		int fd = open_with(cases[i].text, strlen(cases[i].text));
		line_reader_init(&reader, fd, 8, stopping);
		while ((reading = line_reader_next(&reader, &line)) <= LINE_TOO_LONG) {
			if (reading == LINE_TAKEN)
				buf_append_str(&found, line);
			else
				buf_append_char(&found, '!');
			buf_append_char(&found, '|');
		}
		assert_int_equal(reading, LINE_END);
		if (strcmp(buf_str(&found).ptr, cases[i].expected) != 0)
			fail_msg("%s: %s", cases[i].name, found.data);
		line_reader_end(&reader);
		close(fd);
	}
}

/* A line that is longer than any buffer of ours takes no more memory than its limit. */
static void a_long_line_is_passed_over(void **state)
{
	(void)state;
	enum { BYTES = 4 << 20, LIMIT = 100000 };
	struct line_reader reader;
	str_t line;
	char *text = malloc(BYTES);
	assert_non_null(text);
	memset(text, 'x', BYTES);
	memcpy(text + BYTES - 5, "\nnul\0", 5);
	int fd = open_with(text, BYTES);
	line_reader_init(&reader, fd, LIMIT, stopping);
	assert_int_equal(line_reader_next(&reader, &line), LINE_TOO_LONG);
	assert_true(reader.data.capacity < 4 * LIMIT);
	assert_int_equal(line_reader_next(&reader, &line), LINE_TAKEN);
	assert_true(line.len == 4 && memcmp(line.ptr, "nul\0", 4) == 0);
	assert_int_equal(line_reader_next(&reader, &line), LINE_END);
	line_reader_end(&reader);
	close(fd);
	free(text);
}

static void stopping_ends_a_wait(void **state)
{
	(void)state;
	struct line_reader reader;
	str_t line;
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "a\nb", 3), 3);
	line_reader_init(&reader, ends[0], 8, stopping);
	assert_int_equal(line_reader_next(&reader, &line), LINE_TAKEN);
	told_to_stop = true;
	assert_int_equal(line_reader_next(&reader, &line), LINE_INTERRUPTED);
	told_to_stop = false;
	close(ends[1]);
	assert_int_equal(line_reader_next(&reader, &line), LINE_TAKEN);
	assert_true(str_is(line, "b"));
	line_reader_end(&reader);
	close(ends[0]);
}

static void what_cannot_be_read(void **state)
{
	(void)state;
	struct line_reader reader;
	str_t line;
	int fd = open("/", O_RDONLY | O_CLOEXEC);
	line_reader_init(&reader, fd, 8, stopping);
	assert_int_equal(line_reader_next(&reader, &line), LINE_FAILED);
	line_reader_end(&reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(a_long_line_is_passed_over),
		cmocka_unit_test(stopping_ends_a_wait),
		cmocka_unit_test(what_cannot_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
