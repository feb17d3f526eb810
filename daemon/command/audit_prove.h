/* `assayd audit prove`: files that prove that the records of an event are in the log. Main thread; blocks. */
#pragma once

#include "common/err.h"

#include <stddef.h>

struct audit_prove_options {
	const char *config_file;
	const char *event_id;
	const char *partition;	 /* where to look; NULL: where its key belongs, else everywhere */
	const char *const *keys; /* public keys to verify with; none: those of the configuration */
	size_t keys_count;
	const char *folder; /* NULL: the current one */
};

/*
 * Writes two files for each record of the event: TOPIC-PARTITION-OFFSET.tlog-proof (C2SP tlog-proof, with the
 * newest checkpoint) and .leaf, the data of the leaf. Each proof was verified before. ERR_AUDIT_UNSIGNED: no
 * checkpoint covers a record yet. ERR_AUDIT_LOG_DIFFERS: there is no such record, or the log has another one
 * in its place.
 */
err_t audit_prove_run(const struct audit_prove_options *options, struct err_detail *detail);
