/*
 * The tables of the log as they are at one moment, for whoever verifies them: every row, whatever is in it.
 * Nothing of it has to be trusted, nor to make sense. Errors and threads as store.h has them.
 */
#pragma once

#include "audit/log/store.h"

/* The server's clock, as a text that audit_snapshot_checkpoints takes. */
#define AUDIT_SNAPSHOT_TIME_SIZE 48
err_t audit_snapshot_time(struct audit_store *store, char ret_time[AUDIT_SNAPSHOT_TIME_SIZE],
			  struct err_detail *detail);

/* What is read between these two is of one moment. */
err_t audit_snapshot_begin(struct audit_store *store, struct err_detail *detail);
err_t audit_snapshot_end(struct audit_store *store, struct err_detail *detail);

/* A row of audit_logs. */
struct audit_snapshot_log {
	int32_t partition;
	str_t origin;
	int64_t size, next_offset, last_offset; /* GROWTH_OFFSET_NONE: null */
	str_t last_leaf, state;			/* bytes; an absent leaf is null */
	str_t stopped;				/* absent: it was not */
};

/* All logs of a topic, by partition; in the arena, likewise below. */
err_t audit_snapshot_logs(struct audit_store *store, const char *topic, struct arena *arena,
			  struct audit_snapshot_log **ret_logs, size_t *ret_count, struct err_detail *detail);

/* Partitions of which there are tiles, checkpoints or marks. */
err_t audit_snapshot_partitions(struct audit_store *store, const char *topic, struct arena *arena,
				int32_t **ret_partitions, size_t *ret_count, struct err_detail *detail);

/* A row of audit_checkpoints. */
struct audit_snapshot_checkpoint {
	int64_t size, next_offset;
	str_t state; /* bytes */
	str_t note;
	bool in_topic, in_file; /* since before `time`, as it says */
};

/* Checkpoints of a partition whose size is above that, by size, `limit` at most. */
err_t audit_snapshot_checkpoints(struct audit_store *store, const struct audit_store_log *log, int64_t above,
				 const char *time, unsigned limit, struct arena *arena,
				 struct audit_snapshot_checkpoint **ret_checkpoints, size_t *ret_count,
				 struct err_detail *detail);

/* A tile, and how many hashes it has. */
struct audit_snapshot_tile {
	unsigned level;
	uint64_t index;
	unsigned width, wanted;
};

/* The first tiles of a log that have more hashes than a tree of its size has there, `limit` at most. */
err_t audit_snapshot_wide_tiles(struct audit_store *store, const struct audit_store_log *log, unsigned limit,
				struct arena *arena, struct audit_snapshot_tile **ret_tiles,
				size_t *ret_count, struct err_detail *detail);
