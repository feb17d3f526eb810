/*
 * Fingerprint of a result: a digest of its rows that anybody who has them can compute again, unlike those of
 * compare/digest.h, whose key is forgotten. The manual, assayd-formulas(7), has it for others.
 *
 * A row is the text of its cells in the order of its columns: the byte N for NULL, else the length in bytes
 * as a decimal number, a colon and the bytes. The fingerprint is the sum modulo 2^128 of the first 16 bytes,
 * as big-endian numbers, of the SHA-256 of every row: 32 hexadecimal digits. It counts duplicates and does
 * not depend on the order of the rows; names and classes of columns are no part of it. It recognises a
 * result. It does not withstand somebody who may make up many rows: sums without a key can be met on purpose.
 *
 * Not thread-safe; no I/O.
 */
#pragma once

#include "common/buf.h"
#include "common/hash.h"
#include "compare/compare.h"

/* Hexadecimal digits and a NUL. */
#define FINGERPRINT_SIZE 33

/* Of no row so far when it is all zeros. */
struct fingerprint {
	struct hash_128 sum;
	struct buf row; /* of the row that is being added */
};

/* Takes a row, of which nothing is kept. */
void fingerprint_row(struct fingerprint *fingerprint, const str_t *cells, size_t cells_count);

/* Of all rows so far. */
void fingerprint_hex(const struct fingerprint *fingerprint, char ret_hex[FINGERPRINT_SIZE]);

/* Forgets all rows and frees what they took. */
void fingerprint_reset(struct fingerprint *fingerprint);

/* Of a whole result; "" of one that is truncated. */
void fingerprint_of(const struct result_set *set, char ret_hex[FINGERPRINT_SIZE]);
