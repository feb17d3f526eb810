/*
 * `assayd audit verify` and `assayd audit export`: the scored topic, or an export of it, held against the
 * checkpoints of its log, wherever they are. Main thread; blocks.
 */
#pragma once

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

struct audit_verify_options {
	const char *config_file; /* or NULL: with an export, keys and a file of checkpoints */
	const char *const *keys; /* public ones, or files of them; none: those of the configuration */
	size_t keys_count;
	const char *checkpoints_file; /* or NULL: that of the configuration, if it is there */
	const char *export_file;      /* or NULL: the topic */
	bool no_database;	      /* which then has not to be trusted for anything */
	bool json;
};

/* Prints what was found of each partition. ERR_AUDIT_LOG_DIFFERS: something differs, or nothing could be
 * verified. */
err_t audit_verify_run(const struct audit_verify_options *options, struct err_detail *detail);

/* Writes the marks of the log and the records of the topic to standard output, as JSON lines. */
err_t audit_verify_export(const char *config_file, bool no_database, struct err_detail *detail);
