#include "common/base64.h"

#include <setjmp.h>

#include <cmocka.h>

/* RFC 4648, section 10, and bytes that need the last digits. */
static void texts_and_bytes(void **state)
{
	(void)state;
	static const struct {
		str_t bytes;
		const char *text;
	} cases[] = {
		{ STR(""), "" },
		{ STR("f"), "Zg==" },
		{ STR("fo"), "Zm8=" },
		{ STR("foo"), "Zm9v" },
		{ STR("foob"), "Zm9vYg==" },
		{ STR("fooba"), "Zm9vYmE=" },
		{ STR("foobar"), "Zm9vYmFy" },
		{ STR("\xff\xff\xfe"), "///+" },
		{ STR("\0\0"), "AAA=" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(buf_free) struct buf out = BUF_INIT;
		char bytes[8];
		size_t len;
		base64_append(&out, cases[i].bytes.ptr, cases[i].bytes.len);
		assert_true(str_is(buf_str(&out), cases[i].text));
		assert_true(base64_read(buf_str(&out), cases[i].bytes.len, bytes, &len));
		assert_true(str_equal((str_t){ bytes, len }, cases[i].bytes));
		if (len)
			assert_false(base64_read(buf_str(&out), len - 1, bytes, &len));
	}
}

static void nothing_else_is_read(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"Z",	"Zg",	"Zg=",	"Zg===", "=",	 "====", "Z===", "Zg==Zg==", "Zm9v\n", "Zm9\n",
		" Zm9", "Zm9-", "Zm9_", "Zm=v",	 "Zh==", "Zm9=", "Zm8",	 "Zm9vYm=",  "\0mo=",
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char bytes[16];
		size_t len;
		str_t text = { cases[i], cases[i][0] ? strlen(cases[i]) : 4 };
		assert_false(base64_read(text, sizeof bytes, bytes, &len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_and_bytes),
		cmocka_unit_test(nothing_else_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
