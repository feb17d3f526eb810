/*
 * Primitive values of Avro's binary encoding, read from foreign bytes. No read goes past the end: one that
 * would is ERR_AVRO_TRUNCATED, and the reader then stands anywhere before the end. Pure.
 */
#pragma once

#include "common/str.h"

struct wire {
	const unsigned char *at;
	const unsigned char *end;
};

static inline size_t wire_left(const struct wire *wire)
{
	return (size_t)(wire->end - wire->at);
}

/* wire_long where it takes more than one byte. */
err_t wire_long_of_any_length(struct wire *wire, int64_t *ret_value);

/* Zig-zag variable-length integer; ERR_AVRO_VALUE when it has more than 64 bits. */
static inline err_t wire_long(struct wire *wire, int64_t *ret_value)
{
	if (wire->at == wire->end || *wire->at > 0x7f)
		return wire_long_of_any_length(wire, ret_value);
	unsigned char byte = *wire->at++;
	*ret_value = (int64_t)(byte >> 1) ^ -(int64_t)(byte & 1);
	return ERR_OK;
}

/* The same; ERR_AVRO_VALUE when it has more than 32 bits. */
err_t wire_int(struct wire *wire, int32_t *ret_value);

/* One byte, 0 or 1; ERR_AVRO_VALUE for others. */
err_t wire_boolean(struct wire *wire, bool *ret_value);

/* Little-endian IEEE 754, of four and of eight bytes. */
err_t wire_float(struct wire *wire, float *ret_value);

static inline err_t wire_double(struct wire *wire, double *ret_value)
{
	const unsigned char *at = wire->at;
	if (wire_left(wire) < 8)
		return ERR_AVRO_TRUNCATED;
	uint64_t bits = (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
			(uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 |
			(uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
	memcpy(ret_value, &bits, sizeof *ret_value);
	wire->at += 8;
	return ERR_OK;
}

/* Length and bytes, of a string as of bytes; they stay where they are and no NUL follows them.
 * ERR_AVRO_LENGTH when the length is negative or more than what is left. */
static inline err_t wire_bytes(struct wire *wire, str_t *ret_bytes)
{
	int64_t len;
	err_t err = wire_long(wire, &len);
	if (err)
		return err;
	if (len < 0 || (uint64_t)len > wire_left(wire))
		return ERR_AVRO_LENGTH;
	*ret_bytes = (str_t){ (const char *)wire->at, (size_t)len };
	wire->at += len;
	return ERR_OK;
}

/* Steps over `len` bytes. */
static inline err_t wire_skip(struct wire *wire, size_t len)
{
	if (wire_left(wire) < len)
		return ERR_AVRO_TRUNCATED;
	wire->at += len;
	return ERR_OK;
}

/* Head of a block of an array or map: `ret_count` items (0: the end), and the bytes that they are said to
 * take, or −1 when nothing is said. ERR_AVRO_LENGTH when a length is impossible. */
err_t wire_block(struct wire *wire, uint64_t *ret_count, int64_t *ret_size_bytes);
