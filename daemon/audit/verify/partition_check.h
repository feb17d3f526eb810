/*
 * Holds the records of one partition against what checkpoints claim of its log, and says where they differ.
 *
 * Two ways, both where both can be gone. By the records alone: where all since the log's beginning are there,
 * the tree is grown again from them and has to have each claim's root at its size; whom nobody has to trust
 * is the database. By the tiles of the database: its leaves are grown to a tree, which has to have these
 * roots; then they are those that were signed, and every record is held against its leaf, one by one: so the
 * records that are still kept can be verified when older ones are gone, and what differs is found to the
 * record. Where records stop fitting, a window of leaves and records behind tells whether they were changed,
 * removed, inserted or put in another order.
 *
 * Records come in the order in which they are found. One thread; only the reader of tiles does I/O.
 */
#pragma once

#include "audit/growth.h"
#include "audit/verify/log_claims.h"

/* How far records may be looked for behind a difference. */
#define PARTITION_CHECK_WINDOW 2048

/* So many differences are described; the others are counted. */
#define PARTITION_CHECK_DIFFERENCES 20

enum partition_check_kind {
	CHECK_CHANGED,	 /* records are not those that were logged in their place */
	CHECK_REMOVED,	 /* logged records are not there */
	CHECK_INSERTED,	 /* records are there that were not logged */
	CHECK_REORDERED, /* logged records are there in another order */
	CHECK_LOST,	 /* from here on nothing fits */
	CHECK_ROOT,	 /* the tree has not the root that a checkpoint claims */
	CHECK_DATABASE,	 /* leaves of the database are not those that were signed */
	CHECK_FORK,	 /* two checkpoints of one size have different roots */
};

const char *partition_check_kind_name(enum partition_check_kind kind);

struct partition_check_difference {
	enum partition_check_kind kind;
	int64_t from_offset, to_offset; /* of the records that it is about; −1: not known */
	char text[320];
};

struct partition_check_options {
	const struct log_claims *claims; /* sorted; outlive it, likewise below */
	tile_read_fn *tiles;		 /* or NULL: there are none */
	void *tiles_context;
	uint64_t tiles_size; /* of the tree that they are of */
	int64_t next_offset; /* the database's word of where its log ends; records behind it are new; −1 */
	const struct growth_mark *marks; /* by index */
	size_t marks_count;
	int64_t low; /* records below are gone from the topic, as far as is known; 0: none is */
};

struct partition_check_result {
	uint64_t records;  /* that were there */
	uint64_t compared; /* of these, those that were held against their leaves one by one */
	uint64_t gone;	   /* leaves whose records are not kept any more */
	uint64_t claims_fitting, claims_count;
	uint64_t verified_size; /* of the largest checkpoint that fits */
	int64_t first_offset;	/* of those that were held against their leaves; −1: none was */
	bool whole;		/* all checkpoints fit the tree of the records alone, from its beginning on */
	uint64_t differences_count;
	struct partition_check_difference differences[PARTITION_CHECK_DIFFERENCES];
};

struct partition_check;

struct partition_check *partition_check_new(const struct partition_check_options *options);
void partition_check_free(struct partition_check *check);

/* A record was found. Errors are those of the reader of tiles. */
err_t partition_check_add(struct partition_check *check, int64_t offset, str_t key, str_t value);

/* There are no more. Verified is a partition with fitting checkpoints and without differences. */
err_t partition_check_finish(struct partition_check *check, struct partition_check_result *ret_result);

DEFINE_CLEANUP(struct partition_check, partition_check_cleanup, partition_check_free)
