#include "avro/framing.h"

#define SINGLE_OBJECT_HEADER_BYTES 10u
#define CONFLUENT_HEADER_BYTES	   5u
#define GUID_HEADER_BYTES	   17u

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

static err_t read_header(str_t header, const void *data, size_t len, struct frame *ret_frame,
			 struct err_detail *detail)
{
	const unsigned char *bytes = (const unsigned char *)header.ptr;
	struct frame frame = { .kind = FRAME_CONFLUENT, .payload = { data ? data : "", len } };
	if (header.len == GUID_HEADER_BYTES && bytes[0] == 1) {
		frame.name.by_guid = true;
		memcpy(frame.name.guid, bytes + 1, sizeof frame.name.guid);
	} else if (header.len == CONFLUENT_HEADER_BYTES && bytes[0] == 0) {
		frame.name.id = big_endian_32(bytes + 1);
	} else {
		return err_fail(
			detail, ERR_FRAME_UNKNOWN,
			"the message's header " FRAMING_HEADER
			" has %zu bytes and is neither the byte 1 and a GUID nor the byte 0 and an id",
			header.len);
	}
	*ret_frame = frame;
	return ERR_OK;
}

err_t framing_read(str_t header, const void *data, size_t len, struct frame *ret_frame,
		   struct err_detail *detail)
{
	const unsigned char *bytes = data;
	const char *text = data;
	if (str_present(header))
		return read_header(header, data, len, ret_frame, detail);
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
			.name.id = big_endian_32(bytes + 1),
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

void framing_write_confluent(uint32_t schema_id, struct buf *out)
{
	const unsigned char prefix[] = { 0, (unsigned char)(schema_id >> 24),
					 (unsigned char)(schema_id >> 16), (unsigned char)(schema_id >> 8),
					 (unsigned char)schema_id };
	buf_append(out, prefix, sizeof prefix);
}

void framing_name_text(const struct schema_name *name, char ret_text[SCHEMA_NAME_SIZE])
{
	const unsigned char *guid = name->guid;
	if (!name->by_guid)
		snprintf(ret_text, SCHEMA_NAME_SIZE, "schema %u", name->id);
	else
		snprintf(ret_text, SCHEMA_NAME_SIZE,
			 "schema %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			 guid[0], guid[1], guid[2], guid[3], guid[4], guid[5], guid[6], guid[7], guid[8],
			 guid[9], guid[10], guid[11], guid[12], guid[13], guid[14], guid[15]);
}
