#include "avro/framing.h"

#define SINGLE_OBJECT_HEADER_BYTES 10u
#define CONFLUENT_HEADER_BYTES	   5u

static uint64_t little_endian_64(const unsigned char *bytes)
{
	uint64_t value = 0;
	for (int i = 7; i >= 0; i--)
		value = value << 8 | bytes[i];
	return value;
}

static uint32_t big_endian_32(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool read_json(const char *data, size_t len, struct frame *frame)
{
	size_t start = len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	size_t first = start;
	while (first < len && strchr(" \t\r\n", data[first]) && data[first] != '\0')
		first++;
	if (first == len || data[first] != '{')
		return false;
	*frame = (struct frame){ .kind = FRAME_JSON, .payload = { data + start, len - start } };
	return true;
}

err_t framing_read(const void *data, size_t len, struct frame *ret_frame, struct err_detail *detail)
{
	const unsigned char *bytes = data;
	const char *text = data;
	if (!data || len == 0)
		return err_fail(detail, ERR_FRAME_UNKNOWN, "the message is empty");
	if (read_json(text, len, ret_frame))
		return ERR_OK;
	if (len >= SINGLE_OBJECT_HEADER_BYTES && bytes[0] == 0xc3 && bytes[1] == 0x01) {
		*ret_frame = (struct frame){
			.kind = FRAME_SINGLE_OBJECT,
			.fingerprint = little_endian_64(bytes + 2),
			.payload = { text + SINGLE_OBJECT_HEADER_BYTES, len - SINGLE_OBJECT_HEADER_BYTES },
		};
		return ERR_OK;
	}
	if (len >= CONFLUENT_HEADER_BYTES && bytes[0] == 0) {
		*ret_frame = (struct frame){
			.kind = FRAME_CONFLUENT,
			.schema_id = big_endian_32(bytes + 1),
			.payload = { text + CONFLUENT_HEADER_BYTES, len - CONFLUENT_HEADER_BYTES },
		};
		return ERR_OK;
	}
	return err_fail(
		detail, ERR_FRAME_UNKNOWN,
		"the message begins with the byte 0x%02x and is neither single-object Avro (C3 01 and a "
		"fingerprint), Confluent Avro nor a JSON object",
		bytes[0]);
}

void framing_write_single_object(uint64_t fingerprint, struct buf *out)
{
	buf_append(out, "\xc3\x01", 2);
	buf_append_u64(out, fingerprint);
}
