/*
 * Receipts: which dead letters of one partition were put back into the input topic.
 *
 * A receipt is a message in the very partition of the dead letters that it is about, written in the
 * transaction that puts their events back. It has no key, the header `redrive_receipt` with the version of
 * its form, and as its value the offsets of the letters: ascending numbers and ranges (both ends included)
 * with a space between, such as "12 15-20 31". All receipts of a partition together say what is done.
 *
 * Why there: whatever takes the letters takes what is known of them, and nothing else does. Retention and
 * deletion take the start of a log, and a receipt lies behind its letters; a topic that is made again has
 * neither. Committed offsets of a group would expire, and their metadata has no room for a map of letters
 * that were chosen here and there. Values are foreign bytes. Pure; not thread-safe.
 */
#pragma once

#include "common/buf.h"

#define RECEIPTS_VERSION "1"

struct receipts;

struct receipts *receipts_new(void);
void receipts_free(struct receipts *receipts); /* NULL is fine */

/* Adds what a receipt says that was found at offset `at`; `version` is its header. ERR_OFFSETS_METADATA: it
 * is of a later version or damaged, so that nothing can be relied on; the detail names no place. */
err_t receipts_take(struct receipts *receipts, str_t version, str_t value, int64_t at,
		    struct err_detail *detail);

/* After all were taken, before the question. */
void receipts_settle(struct receipts *receipts);

/* Whether the letter at that offset was put back. */
bool receipts_have(const struct receipts *receipts, int64_t offset);

/* Appends offsets, which ascend through `count` of them, as the value of a receipt. */
void receipts_write(const int64_t *offsets, size_t count, struct buf *out);

DEFINE_CLEANUP(struct receipts, receipts_cleanup, receipts_free)
