/*
 * What the tables of the log have for whoever publishes checkpoints, verifies the log (see also snapshot.h)
 * or proves something of it. Nothing of it has to be trusted. Errors and threads as store.h has them.
 */
#pragma once

#include "audit/log/store.h"

/* Where a checkpoint is published besides the tables. */
enum audit_store_place { AUDIT_STORE_TOPIC, AUDIT_STORE_FILE };

struct audit_store_checkpoint {
	int32_t partition;
	uint64_t size;
	int64_t next_offset;
	int64_t made_at_ms; /* the server's clock */
	str_t note;
};

/* The oldest checkpoints of a partition that are not known to be at that place, `limit` at most; in the
 * arena. */
err_t audit_store_unpublished(struct audit_store *store, const struct audit_store_log *log,
			      enum audit_store_place place, unsigned limit, struct arena *arena,
			      struct audit_store_checkpoint **ret_checkpoints, size_t *ret_count,
			      struct err_detail *detail);

/* Notes that the checkpoint of that size is at that place. */
err_t audit_store_published(struct audit_store *store, const struct audit_store_log *log,
			    enum audit_store_place place, uint64_t size, struct err_detail *detail);

/* The newest checkpoint of a log, in the arena; `*ret_count` 0: there is none. */
err_t audit_store_newest(struct audit_store *store, const struct audit_store_log *log, struct arena *arena,
			 struct audit_store_checkpoint **ret_checkpoints, size_t *ret_count,
			 struct err_detail *detail);

/* A log as it stands in its row. */
struct audit_store_row {
	int32_t partition;
	str_t origin;
	uint64_t size;
	int64_t next_offset;
	str_t stopped; /* absent: it was not */
};

/* All logs of a topic, by partition; in the arena. */
err_t audit_store_rows(struct audit_store *store, const char *topic, struct arena *arena,
		       struct audit_store_row **ret_rows, size_t *ret_count, struct err_detail *detail);

/* The marks of a log, by index; in the arena. Rows that are none are ERR_AUDIT_DAMAGED. */
err_t audit_store_marks(struct audit_store *store, const struct audit_store_log *log, struct arena *arena,
			struct growth_mark **ret_marks, size_t *ret_count, struct err_detail *detail);

/* The last leaf with that hash. `*ret_found` false: there is none. Looks through all tiles of leaves, on the
 * server. */
err_t audit_store_find_leaf(struct audit_store *store, const struct audit_store_log *log,
			    const struct merkle_hash *leaf, bool *ret_found, uint64_t *ret_index,
			    struct err_detail *detail);
