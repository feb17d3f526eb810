#include "common/terminal.h"

#include <setjmp.h>

#include <cmocka.h>

#define BYTES(literal)                                                                                       \
	{                                                                                                    \
		(literal), sizeof(literal) - 1                                                               \
	}

static void texts(void **state)
{
	(void)state;
	static const struct {
		str_t text;
		const char *expected;
	} cases[] = {
		{ BYTES(""), "" },
		{ BYTES("orders \"x\" \\ 10 %s"), "orders \"x\" \\ 10 %s" },
		{ BYTES("Größe 数量 🙂 👩‍🔧 می‌خواهم"),
		  "Größe 数量 🙂 👩‍🔧 می‌خواهم" },
		/* control characters of ASCII and of C1, which begin the same sequences */
		{ BYTES("\x1b[2J\x1b]0;x\a"), "\\u001b[2J\\u001b]0;x\\u0007" },
		{ BYTES("a\nb\tc\rd\be\x7f"), "a\\nb\\tc\\rd\\u0008e\\u007f" },
		{ BYTES("a\0b"), "a\\u0000b" },
		{ BYTES("\xc2\x9b[31m\xc2\x80\xc2\x9f\xc2\xa0"), "\\u009b[31m\\u0080\\u009f\xc2\xa0" },
		/* direction, line ends, what is not seen */
		{ BYTES("\u202eevil\u2066\u2069\u200f\u061c"), "\\u202eevil\\u2066\\u2069\\u200f\\u061c" },
		{ BYTES("\u2028\u2029\ufeff\u200b\U000e0041"), "\\u2028\\u2029\\ufeff\\u200b\\udb40\\udc41" },
		{ BYTES("\u2027\u202f\u2070\ufffd\U000e0080"), "\u2027\u202f\u2070\ufffd\U000e0080" },
		/* what is no UTF-8: a lone C1 byte, overlong, cut off, a surrogate */
		{ BYTES("\x9b[31m\xc0\x9b\xe2\x82\xed\xa0\x80"),
		  "\\x9b[31m\\xc0\\x9b\\xe2\\x82\\xed\\xa0\\x80" },
		{ BYTES("\xff\xf4\x90\x80\x80"), "\\xff\\xf4\\x90\\x80\\x80" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf out = BUF_INIT;
		terminal_append(&out, cases[i].text);
		assert_string_equal(buf_str(&out).ptr, cases[i].expected);
	}
}

static void lines(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	terminal_append_lines(&out, STR("{\"a\": \"\x7f\xc2\x9b\"}\r\n[]\n"));
	terminal_append_line(&out, "%s: %d", "x\ny", 7);
	assert_string_equal(out.data, "{\"a\": \"\\u007f\\u009b\"}\\r\n[]\nx\\ny: 7\n");
}

static void streams(void **state)
{
	(void)state;
	char *written = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&written, &len);
	terminal_print(stream, STR("a\x1b"));
	terminal_print(stream, STR_NONE);
	terminal_print_line(stream, "%s", "b\n");
	fclose(stream);
	assert_string_equal(written, "a\\u001bb\\n\n");
	free(written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(lines),
		cmocka_unit_test(streams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
