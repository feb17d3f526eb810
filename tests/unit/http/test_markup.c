#include "http/markup.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void texts_stay_texts(void **state)
{
	static const struct {
		const char *text, *markup;
	} cases[] = {
		{ "", "" },
		{ NULL, "" },
		{ "plain, r\xc3\xa4t", "plain, r\xc3\xa4t" },
		{ "<script>&\"'</script>", "&lt;script&gt;&amp;&quot;&#39;&lt;/script&gt;" },
		{ "a\nb", "a\nb" },
		{ "\x1b[31m", "\\u001b[31m" },
		{ "\xe2\x80\xae right to left", "\\u202e right to left" },
		{ "bad \xff byte", "bad \\xff byte" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf out = BUF_INIT;
		buf_append_text(&out, "");
		markup_append(&out, cases[i].text);
		assert_string_equal(buf_str(&out).ptr, cases[i].markup);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(texts_stay_texts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
