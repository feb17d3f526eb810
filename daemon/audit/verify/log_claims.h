/*
 * What checkpoints claim of the log of one partition: sizes and roots, from wherever they were found, each
 * with a signature that a trusted key has made. Pure; one thread.
 */
#pragma once

#include "audit/checkpoint.h"

/* Where one was found: bits. */
enum log_claims_place { LOG_CLAIMS_DATABASE = 1, LOG_CLAIMS_TOPIC = 2, LOG_CLAIMS_FILE = 4 };

const char *log_claims_place_name(enum log_claims_place place);

struct log_claim {
	uint64_t size;
	struct merkle_hash root;
	unsigned places;
};

/* Of a partition; begins zeroed. */
struct log_claims {
	struct log_claim *items;
	size_t count, capacity;
	bool forked; /* two of the same size have different roots */
	uint64_t forked_size;
};

void log_claims_free(struct log_claims *claims);

/* Adds one; the same from another place is one. */
void log_claims_add(struct log_claims *claims, uint64_t size, const struct merkle_hash *root,
		    enum log_claims_place place);

/* Puts them in order of size and finds forks. Before they are used, after the last was added. */
void log_claims_sort(struct log_claims *claims);

/* Which logs a reader of notes knows. */
struct log_claims_reader {
	const struct note_key *keys;
	size_t keys_count;
	const char *topic;
};

/*
 * Reads a note that was found somewhere. ERR_OK with `*ret_partition` negative: it is of another topic or
 * another key's log. ERR_AUDIT_UNVERIFIED and ERR_AUDIT_MALFORMED: it says that it is of such a log, and is
 * not signed by a trusted key, or makes no sense; the detail says what.
 */
err_t log_claims_read(const struct log_claims_reader *reader, str_t note, int32_t *ret_partition,
		      uint64_t *ret_size, struct merkle_hash *ret_root, struct err_detail *detail);
