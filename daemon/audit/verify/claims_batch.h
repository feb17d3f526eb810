/*
 * Notes that are read and verified by all processors: a signature takes a tenth of a millisecond of one, and
 * a file of checkpoints may have millions. So many wait at most as a batch has. One thread adds and is given
 * what came of them, in the order in which they were added.
 */
#pragma once

#include "audit/verify/log_claims.h"

struct claims_batch_note {
	str_t text;   /* lives until what takes it returns */
	unsigned tag; /* the caller's */
	err_t err;    /* of log_claims_read, likewise below */
	int32_t partition;
	struct log_claim claim;
	struct err_detail detail;
};

typedef void claims_batch_take_fn(void *context, const struct claims_batch_note *note);

struct claims_batch;

/* The reader and what it points to outlive the batch. The caller frees it. */
struct claims_batch *claims_batch_new(const struct log_claims_reader *reader, claims_batch_take_fn *take,
				      void *context);
void claims_batch_free(struct claims_batch *batch);

/* Adds a copy of a note. */
void claims_batch_add(struct claims_batch *batch, str_t note, unsigned tag);

/* Has all that wait taken. */
void claims_batch_end(struct claims_batch *batch);

DEFINE_CLEANUP(struct claims_batch, claims_batch_cleanup, claims_batch_free)
