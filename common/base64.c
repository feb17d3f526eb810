#include "common/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_append(struct buf *out, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t word = 0;
		size_t have = len - i < 3 ? len - i : 3;
		for (size_t j = 0; j < 3; j++)
			word = word << 8 | (j < have ? bytes[i + j] : 0u);
		for (size_t j = 0; j < 4; j++)
			buf_append_char(out, j <= have ? digits[word >> (18 - 6 * j) & 63] : '=');
	}
}

static int digit_value(char digit)
{
	if (digit >= 'A' && digit <= 'Z')
		return digit - 'A';
	if (digit >= 'a' && digit <= 'z')
		return digit - 'a' + 26;
	if (digit >= '0' && digit <= '9')
		return digit - '0' + 52;
	return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

bool base64_read(str_t text, size_t capacity, void *ret_data, size_t *ret_len)
{
	unsigned char *bytes = ret_data;
	size_t len = 0;
	if (text.len % 4 != 0)
		return false;
	for (size_t i = 0; i < text.len; i += 4) {
		size_t have = 4; /* digits; one more than bytes */
		if (i + 4 == text.len)
			while (have > 2 && text.ptr[i + have - 1] == '=')
				have--;
		uint32_t word = 0;
		for (size_t j = 0; j < 4; j++) {
			int value = j < have ? digit_value(text.ptr[i + j]) : 0;
			if (value < 0)
				return false;
			word = word << 6 | (uint32_t)value;
		}
		if (word & ((1u << (8 * (4 - have))) - 1) || capacity - len < have - 1)
			return false;
		for (size_t j = 0; j + 1 < have; j++)
			bytes[len++] = (unsigned char)(word >> (16 - 8 * j));
	}
	*ret_len = len;
	return true;
}
