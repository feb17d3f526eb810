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
		  .frame = { .kind = FRAME_CONFLUENT, .schema_id = 0x01020304 },
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
		err_t err = framing_read(CASES[i].message.ptr, CASES[i].message.len, &frame, &detail);
		assert_int_equal(err, CASES[i].err);
		if (err) {
			assert_true(detail.message[0]);
			continue;
		}
		assert_int_equal(frame.kind, CASES[i].frame.kind);
		assert_true(frame.fingerprint == CASES[i].frame.fingerprint);
		assert_int_equal(frame.schema_id, CASES[i].frame.schema_id);
		assert_ptr_equal(frame.payload.ptr, CASES[i].message.ptr + CASES[i].payload_at);
		assert_int_equal(frame.payload.len, CASES[i].payload_len);
	}
}

static void test_write(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	framing_write_single_object(0x0102030405060708, &out);
	assert_int_equal(out.len, 10);
	assert_memory_equal(out.data, "\xc3\x01\x08\x07\x06\x05\x04\x03\x02\x01", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_read), cmocka_unit_test(test_write) };
	return cmocka_run_group_tests_name("framing", tests, NULL, NULL);
}
