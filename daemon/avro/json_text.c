#include "avro/json_text.h"

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of the first byte that is zero, and perhaps of bytes behind it. */
static uint64_t zero_bytes(uint64_t word)
{
	return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

static bool all_plain(uint64_t word)
{
	uint64_t control = (word - EACH_BYTE(0x20)) & ~word & EACH_BYTE(0x80);
	return !(zero_bytes(word ^ EACH_BYTE('"')) | zero_bytes(word ^ EACH_BYTE('\\')) | control);
}

size_t json_plain_prefix(const char *data, size_t len)
{
	size_t i = 0;
	for (uint64_t word; len - i >= sizeof word; i += sizeof word) {
		memcpy(&word, data + i, sizeof word);
		if (!all_plain(word))
			break;
	}
	while (i < len && (unsigned char)data[i] >= 0x20 && data[i] != '"' && data[i] != '\\')
		i++;
	return i;
}
