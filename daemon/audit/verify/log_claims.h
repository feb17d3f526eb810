/*
 * What checkpoints claim of the log of one partition: sizes and roots, from wherever they were found, each
 * with a signature that a trusted key has made. Pure; one thread.
 */
#pragma once

#include "audit/checkpoint.h"

/* Where one was found, and where the database says that it is: bits. */
enum log_claims_place {
	LOG_CLAIMS_DATABASE = 1,
	LOG_CLAIMS_TOPIC = 2,
	LOG_CLAIMS_FILE = 4,
	LOG_CLAIMS_SAID_TOPIC = 8,
	LOG_CLAIMS_SAID_FILE = 16,
};

const char *log_claims_place_name(enum log_claims_place place);

struct log_claim {
	uint64_t size;
	struct merkle_hash root;
	uint64_t digest; /* of its note: log_claims_digest */
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

/* Adds one; the same from another place is one, once they are sorted. */
void log_claims_add(struct log_claims *claims, const struct log_claim *claim);

/* Puts them in order of size and finds forks. Before they are used, after the last was added. */
void log_claims_sort(struct log_claims *claims);

/* Which logs a reader of notes knows. */
struct log_claims_reader {
	const struct note_key *keys;
	size_t keys_count;
	const char *topic;
};

/* Of which partition's log that is the origin; negative: of none that the reader knows. */
int32_t log_claims_partition(const struct log_claims_reader *reader, str_t origin);

/* Whether a text may be the beginning of a note of such a log. */
bool log_claims_may_begin(const struct log_claims_reader *reader, str_t text);

/* A number by which a note is known again in this process. */
uint64_t log_claims_digest(str_t note);

/* The one of that size with that note, among those that are sorted already: it was verified. NULL: there is
 * none. */
struct log_claim *log_claims_find(const struct log_claims *claims, uint64_t size, uint64_t digest);

/*
 * Reads a note that was found somewhere; the claim has no places yet. ERR_OK with `*ret_partition` negative:
 * it is of another topic or another key's log. ERR_AUDIT_UNVERIFIED and ERR_AUDIT_MALFORMED: it says that it
 * is of such a log, or that a trusted key has signed it (then the partition is negative), and is not signed
 * by a trusted key, or makes no sense; the detail says what. Any thread.
 */
err_t log_claims_read(const struct log_claims_reader *reader, str_t note, int32_t *ret_partition,
		      struct log_claim *ret_claim, struct err_detail *detail);
