/* `assayd redrive`: dead letters back into the input topic, once what made them so is mended. */
#pragma once

#include "common/err.h"

struct redrive_options {
	const char *config_file;
	const char *const *reasons; /* letters of these */
	size_t reasons_count;
	const char *const *event_ids; /* with these keys */
	size_t event_ids_count;
	const char *since, *until; /* a span up to now, or a time; or NULL */
	const char *limit;	   /* so many; or NULL */
	const char *max_redrives;  /* or NULL: three times */
	bool all;     /* of all reasons; without it, and without reasons and ids, nothing is done */
	bool dry_run; /* says what would be done, and touches nothing */
	bool json;
	bool to_terminal; /* of standard output; what it would obey is written as an escape */
};

/*
 * Prints the letters by their reasons and what was done (or would be) with them. Each that is chosen comes
 * back exactly once: see kafka/redriver.h. ERR_USAGE: an option is wrong, or nothing was chosen, and all were
 * listed. ERR_INCOMPLETE: some that were chosen cannot be put back, and all others were. ERR_SHUTTING_DOWN:
 * interrupted; errors of the configuration and of Kafka: what had been committed by then is done, and the
 * next run does the rest. Blocks; once, main thread.
 */
err_t redrive_run(const struct redrive_options *options, struct err_detail *detail);
