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

/* Zig-zag variable-length integer; ERR_AVRO_VALUE when it has more than 64 bits. */
err_t wire_long(struct wire *wire, int64_t *ret_value);

/* The same; ERR_AVRO_VALUE when it has more than 32 bits. */
err_t wire_int(struct wire *wire, int32_t *ret_value);

/* One byte, 0 or 1; ERR_AVRO_VALUE for others. */
err_t wire_boolean(struct wire *wire, bool *ret_value);

/* Little-endian IEEE 754, of four and of eight bytes. */
err_t wire_float(struct wire *wire, float *ret_value);
err_t wire_double(struct wire *wire, double *ret_value);

/* Length and bytes, of a string as of bytes; they stay where they are and no NUL follows them.
 * ERR_AVRO_LENGTH when the length is negative or more than what is left. */
err_t wire_bytes(struct wire *wire, str_t *ret_bytes);

/* Steps over `len` bytes. */
err_t wire_skip(struct wire *wire, size_t len);

/* Head of a block of an array or map: `ret_count` items (0: the end), and the bytes that they are said to
 * take, or −1 when nothing is said. ERR_AVRO_LENGTH when a length is impossible. */
err_t wire_block(struct wire *wire, uint64_t *ret_count, int64_t *ret_size_bytes);
