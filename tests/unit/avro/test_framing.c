#include "support.h"

#include "avro/framing.h"

static void test_read(void **state)
{
	(void)state;
	static const struct {
		str_t message;
		err_t err;
		struct frame frame;
		size_t payload_at, payload_len;
	} CASES[] = {
		{ .message = BYTES("\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x01xy"),
		  .frame = { .kind = FRAME_SINGLE_OBJECT, .fingerprint = 0x0102030405060708 },
		  .payload_at = 10,
		  .payload_len = 2 },
		{ .message = BYTES("\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x01"),
		  .frame = { .kind = FRAME_SINGLE_OBJECT, .fingerprint = 0x0102030405060708 },
		  .payload_at = 10 },
		{ .message = BYTES("\xc3\x01\x08\x07\x06\x05\x04\x03\x02"), .err = ERR_FRAME_UNKNOWN },
		{ .message = BYTES("\xc3\x02\x08\x07\x06\x05\x04\x03\x02\x01"), .err = ERR_FRAME_UNKNOWN },
		{ .message = BYTES("\x00\x01\x02\x03\x04z"),
		  .frame = { .kind = FRAME_CONFLUENT, .name.id = 0x01020304 },
		  .payload_at = 5,
		  .payload_len = 1 },
		{ .message = BYTES("\x00\x01\x02\x03"), .err = ERR_FRAME_UNKNOWN },
		{ .message = BYTES("{}"), .frame = { .kind = FRAME_JSON }, .payload_len = 2 },
		{ .message = BYTES(" \t\r\n{"), .frame = { .kind = FRAME_JSON }, .payload_len = 5 },
		{ .message = BYTES("\xef\xbb\xbf{}"),
		  .frame = { .kind = FRAME_JSON },
		  .payload_at = 3,
		  .payload_len = 2 },
		{ .message = BYTES("[]"), .err = ERR_FRAME_UNKNOWN },
		{ .message = BYTES("   "), .err = ERR_FRAME_UNKNOWN },
		{ .message = BYTES(" \0{"), .err = ERR_FRAME_UNKNOWN },
		{ .message = BYTES(""), .err = ERR_FRAME_UNKNOWN },
		{ .message = STR_NONE, .err = ERR_FRAME_UNKNOWN },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct frame frame;
		struct err_detail detail = { "" };
		err_t err =
			framing_read(STR_NONE, CASES[i].message.ptr, CASES[i].message.len, &frame, &detail);
		assert_int_equal(err, CASES[i].err);
		if (err) {
			assert_true(detail.message[0]);
			continue;
		}
		assert_int_equal(frame.kind, CASES[i].frame.kind);
		assert_true(frame.fingerprint == CASES[i].frame.fingerprint);
		assert_int_equal(frame.name.id, CASES[i].frame.name.id);
		assert_ptr_equal(frame.payload.ptr, CASES[i].message.ptr + CASES[i].payload_at);
		assert_int_equal(frame.payload.len, CASES[i].payload_len);
	}
}

static void test_header(void **state)
{
	(void)state;
	static const struct {
		str_t header;
		struct schema_name name;
		err_t err;
	} CASES[] = {
		{ BYTES("\x00\x00\x00\x01\x02"), { .id = 0x102 }, ERR_OK },
		{ BYTES("\x01"
			"0123456789abcdef"),
		  { .by_guid = true, .guid = "0123456789abcde\x66" },
		  ERR_OK },
		{ BYTES(""), { 0 }, ERR_FRAME_UNKNOWN },
		{ BYTES("\x01\x02"), { 0 }, ERR_FRAME_UNKNOWN },
		{ BYTES("\x02"
			"0123456789abcdef"),
		  { 0 },
		  ERR_FRAME_UNKNOWN },
		{ BYTES("\x00"
			"0123456789abcdef"),
		  { 0 },
		  ERR_FRAME_UNKNOWN },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct frame frame;
		struct err_detail detail = { "" };
		/* the bytes would be a frame by themselves */
		err_t err = framing_read(CASES[i].header, "\0\0\0\0\x09x", 6, &frame, &detail);
		assert_int_equal(err, CASES[i].err);
		if (err) {
			assert_non_null(strstr(detail.message, FRAMING_HEADER));
			continue;
		}
		assert_int_equal(frame.kind, FRAME_CONFLUENT);
		assert_true(framing_same_name(&frame.name, &CASES[i].name));
		assert_int_equal(frame.payload.len, 6);
	}
}

static void test_names(void **state)
{
	(void)state;
	char text[SCHEMA_NAME_SIZE];
	const struct schema_name id = { .id = 4294967295u },
				 guid = { .by_guid = true, .guid = { 0x01, 0xff } };
	framing_name_text(&id, text);
	assert_string_equal(text, "schema 4294967295");
	framing_name_text(&guid, text);
	assert_string_equal(text, "schema 01ff0000-0000-0000-0000-000000000000");
}

static void test_write(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	framing_write_single_object(0x0102030405060708, &out);
	assert_int_equal(out.len, 10);
	assert_memory_equal(out.data, "\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x01", 10);
	buf_reset(&out);
	framing_write_confluent(0x01020304, &out);
	assert_int_equal(out.len, 5);
	assert_memory_equal(out.data, "\0\x01\x02\x03\x04", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_read), cmocka_unit_test(test_header),
					    cmocka_unit_test(test_names), cmocka_unit_test(test_write) };
	return cmocka_run_group_tests_name("framing", tests, NULL, NULL);
}
