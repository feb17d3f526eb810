/*
 * `assayd audit verify`: the scored topic, or an export of it, held against the checkpoints of its log,
 * wherever they are, and the database against both. Main thread; blocks.
 */
#pragma once

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

struct audit_verify_options {
	const char *config_file; /* or NULL: with an export, keys and a file of checkpoints */
	const char *const *keys; /* public ones, or files of them; none: those of the configuration */
	size_t keys_count;
	const char *const *checkpoints; /* files of them; none: that of the configuration */
	size_t checkpoints_count;
	const char *export_file; /* or NULL: the topic */
	bool no_database;	 /* which then has not to be trusted for anything */
	bool all_covered;	 /* a record that no checkpoint covers is a failure */
	bool all_kept;		 /* and so is a leaf whose record is not there */
	bool json;
};

/* Prints what was found of each partition. ERR_AUDIT_LOG_DIFFERS: something differs, or nothing could be
 * verified. */
err_t audit_verify_run(const struct audit_verify_options *options, struct err_detail *detail);
