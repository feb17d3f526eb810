/*
 * Holds the records of one partition against what checkpoints claim of its log, and says where they differ.
 *
 * Two ways, both where both can be gone. By the records alone: where all since the log's beginning are there,
 * the tree is grown again from them and has to have each claim's root at its size; whom nobody has to trust
 * is the database. By the tiles of the database: its leaves are grown to a tree, which has to have these
 * roots; then they are those that were signed, and every record is held against its leaf, one by one: so the
 * records that are still kept can be verified when older ones are gone, and what differs is found to the
 * record. Where records stop fitting, a window of leaves and records behind tells whether they were changed,
 * removed, inserted or put in another order. What else the database has of the log is held against that tree,
 * too: its upper tiles, its marks, where the log stands, and where its checkpoints lie.
 *
 * Records that the log has not come to yet are no difference, where they stand behind all logged ones and in
 * order of their offsets: they are counted apart, as is what no checkpoint covers.
 *
 * Records come in the order in which they are found. One thread; only the reader of tiles does I/O.
 */
#pragma once

#include "audit/growth.h"
#include "audit/verify/differences.h"
#include "audit/verify/log_claims.h"

/* How far records are looked for behind a difference at first; where that finds nothing, it becomes wider, up
 * to the other one. */
#define PARTITION_CHECK_WINDOW	   2048
#define PARTITION_CHECK_WINDOW_MAX (1 << 20)

#define PARTITION_CHECK_LOW_UNKNOWN (-1)

/* What the database says of one of its checkpoints. */
struct partition_check_row {
	uint64_t size;
	int64_t next_offset; /* where the log then stood */
};

struct partition_check_options {
	const struct log_claims *claims; /* sorted; outlive it, likewise below */
	tile_read_fn *tiles;		 /* or NULL: there are none. ERR_AUDIT_DAMAGED: that one is none */
	void *tiles_context;
	const struct err_detail *tiles_detail; /* what the reader of tiles says is wrong; or NULL */
	uint64_t tiles_size;		       /* of the tree that they are of */
	int64_t next_offset; /* the database's word of where its log ends; without tiles −1 */
	const struct growth_position *position; /* of that size, as its row has it; NULL: not known */
	const struct partition_check_row *rows; /* by size */
	size_t rows_count;
	const struct growth_mark *marks; /* by index */
	size_t marks_count;
	int64_t low; /* records below are gone from the topic; 0: none is; PARTITION_CHECK_LOW_UNKNOWN */
	struct differences *differences; /* where they are added */
};

struct partition_check_result {
	uint64_t records;  /* that were there */
	uint64_t compared; /* of these, those that were held against their leaves one by one */
	uint64_t covered;  /* records that are verified: below a checkpoint that fits */
	uint64_t logged;   /* records that have their leaf in the database, below no such checkpoint */
	uint64_t unlogged; /* records that are in no leaf yet; without tiles: that are below no checkpoint */
	int64_t unlogged_from, unlogged_to; /* their offsets; −1: there is none */
	uint64_t gone;			    /* leaves whose records are not kept any more */
	uint64_t claims_fitting, claims_count;
	uint64_t verified_size; /* of the largest checkpoint that fits */
	int64_t first_offset;	/* of those that were held against their leaves; −1: none was */
	bool whole;		/* all checkpoints fit the tree of the records alone, from its beginning on */
};

struct partition_check;

struct partition_check *partition_check_new(const struct partition_check_options *options);
void partition_check_free(struct partition_check *check);

/* A record was found. Errors are those of the reader of tiles, but for ERR_AUDIT_DAMAGED: then the rest goes
 * by the records alone. */
err_t partition_check_add(struct partition_check *check, int64_t offset, str_t key, str_t value);

/* There are no more. Verified is a partition with fitting checkpoints and without differences, as far as
 * records are covered. */
err_t partition_check_finish(struct partition_check *check, struct partition_check_result *ret_result);

DEFINE_CLEANUP(struct partition_check, partition_check_cleanup, partition_check_free)
