/*
 * A verification of the tamper-evident log: what was found of each partition, wherever it was. What
 * `assayd audit verify` does, step by step. Main thread; blocks.
 */
#pragma once

#include "audit/log/snapshot.h"
#include "audit/verify/log_rows.h"
#include "command/audit_log.h"
#include "command/audit_verify.h"

/* One partition: what is claimed of it, what the database has, and the check that goes through its records.
 */
struct verification_part {
	int32_t partition;
	struct log_claims claims;
	struct differences differences;
	unsigned bad; /* notes that say that they are of its log, and are not signed or make no sense */
	char first_bad[256];

	bool in_database, has_row, has_tiles;
	str_t stopped; /* absent: it was not */
	struct log_rows rows;
	struct log_rows_spare spare;
	struct audit_store_tiles tiles;
	struct err_detail tiles_detail;
	uint64_t tiles_size;
	int64_t next_offset, low;
	bool knows_position;
	struct growth_position position;
	struct growth_mark *marks;
	size_t marks_count, marks_capacity;

	struct partition_check *check; /* NULL: no record was seen yet */
	struct partition_check_result result;
};

struct verification {
	const struct audit_verify_options *options;
	struct config *config; /* or NULL */
	struct arena *arena;
	const char *topic; /* NULL: the export says it first */
	struct note_key keys[NOTE_KEYS_MAX];
	size_t keys_count;
	struct audit_store *store;	  /* or NULL */
	struct topic_reader *reader;	  /* or NULL */
	struct verification_part **parts; /* each in the arena: checks point into it */
	size_t parts_count, parts_capacity;
	uint64_t others;		/* notes of other logs */
	uint64_t torn;			/* appends to files that were interrupted */
	struct differences differences; /* that are of no partition */
	struct err_detail *detail;
};

/* Frees what the members point to. */
void verification_end(struct verification *verification);

/* What is known of that partition, begun where it is not known yet; NULL: there are too many. */
struct verification_part *verification_part_of(struct verification *verification, int32_t partition);

/* Reads the checkpoints, wherever there are some, and what else the database has of the logs. */
err_t verification_read_checkpoints(struct verification *verification);

/* Whether nothing speaks against a partition and a checkpoint for it. */
bool verification_is_verified(const struct verification_part *part);

/* Whether a partition has nothing that could be verified. */
bool verification_is_empty(const struct verification_part *part);

/* Whether all its records are below a checkpoint, and whether all its leaves have their records. */
bool verification_is_covered(const struct verification_part *part);
bool verification_is_kept(const struct verification_part *part);

/* Prints what was found, for people or as JSON. */
void verification_print(const struct verification *verification);
