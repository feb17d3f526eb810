/*
 * Log policy: whether what a rebuild reads is all that was written. Records that retention deletes are the
 * oldest ones, which shows where a partition begins; records that compaction deletes leave gaps like those of
 * transactions' marks, which show nothing: so the topics' settings are asked, as they are now.
 */
#pragma once

#include "calibration/rebuild/rebuild.h"

struct log_policy {
	bool trusted;	/* the scored topic is not compacted, as far as the cluster tells */
	str_t notes[2]; /* in the arena; the scored topic's first */
	size_t notes_count;
};

/* Blocks. */
err_t log_policy_read(const struct rebuild_options *options, struct arena *arena,
		      struct log_policy *ret_policy, struct err_detail *detail);
