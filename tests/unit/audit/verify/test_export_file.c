/* Lines of exports: what is written is read again, and nothing else is. */
#include "audit/verify/export_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static err_t parse(const char *text, struct arena *arena, struct export_file_line *ret_line)
{
	struct err_detail detail = { "" };
	return export_file_parse(str_from(text), arena, ret_line, &detail);
}

static void what_is_written_is_read_again(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct export_file_line line;
	const str_t bytes[] = { STR_NONE, STR(""), STR("a\0b"), STR("\xff\xfe\"\\") };
	for (size_t i = 0; i < 4; i++) {
		buf_reset(&text);
		export_file_write("a.topic", 3, INT64_C(1) << 40, bytes[i], bytes[3 - i], &text);
		assert_int_equal(parse(text.data, arena, &line), ERR_OK);
		assert_true(str_is(line.topic, "a.topic") && line.partition == 3 && !line.is_mark);
		assert_true(line.offset == INT64_C(1) << 40);
		assert_true(str_equal(line.key, bytes[i]) && str_equal(line.value, bytes[3 - i]));
	}
	struct growth_mark mark = { .index = 7,
				    .mark = { LEAF_MARK_BEGINS_AGAIN, 9, 0, STR("w\"\xc3\xa4\n") } };
	buf_reset(&text);
	export_file_write_mark("t", 0, &mark, &text);
	assert_int_equal(parse(text.data, arena, &line), ERR_OK);
	assert_true(line.is_mark && line.mark.index == 7 && line.mark.mark.kind == LEAF_MARK_BEGINS_AGAIN);
	assert_true(line.mark.mark.from_offset == 9 && str_equal(line.mark.mark.reason, mark.mark.reason));
}

static void what_is_none_is_refused(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct {
		const char *text;
		err_t err;
	} cases[] = {
		{ "", ERR_JSON_SYNTAX },
		{ "{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"key\":null,\"value\":null",
		  ERR_JSON_SYNTAX },
		{ "{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"offset\":2,\"key\":null,\"value\":null}",
		  ERR_JSON_SYNTAX },
		{ "[]", ERR_JSON_SHAPE },
		{ "{\"partition\":0,\"offset\":1,\"key\":null,\"value\":null}", ERR_JSON_SHAPE },
		{ "{\"topic\":\"t\",\"partition\":-1,\"offset\":1,\"key\":null,\"value\":null}",
		  ERR_JSON_SHAPE },
		{ "{\"topic\":\"t\",\"partition\":0,\"offset\":1.5,\"key\":null,\"value\":null}",
		  ERR_JSON_SHAPE },
		{ "{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"value\":null}", ERR_JSON_SHAPE },
		{ "{\"topic\":\"t\",\"partition\":0,\"offset\":1,\"key\":\"a\",\"value\":null}",
		  ERR_JSON_SHAPE },
		{ "{\"topic\":\"t\",\"partition\":0,\"index\":1,\"mark\":\"other\",\"from\":0,\"to\":1,"
		  "\"reason\":\"\"}",
		  ERR_JSON_SHAPE },
		{ "{\"topic\":\"t\",\"partition\":0,\"index\":1,\"mark\":\"gap\",\"from\":1,\"to\":1,"
		  "\"reason\":\"\"}",
		  ERR_JSON_SHAPE },
	};
	struct export_file_line line;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (parse(cases[i].text, arena, &line) != cases[i].err)
			fail_msg("%s", cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(what_is_none_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
