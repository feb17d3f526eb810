/* `assayd produce`: events as JSON lines into the input topic. */
#pragma once

#include "common/err.h"

struct produce_options {
	const char *config_file;
	const char *const *files; /* "-": standard input; none: that */
	size_t files_count;
	bool dry_run; /* checks, and reaches no broker */
	bool json;
	bool to_terminal; /* of standard output; what it would obey is written as an escape */
};

/*
 * Checks each line as the daemon would read it and sends it in the configured format, keyed by its event_id;
 * one without gets an id. Prints how many were sent; what cannot be sent is told on standard error by its
 * line. ERR_INCOMPLETE: some were not sent, all others were. ERR_SHUTTING_DOWN: interrupted; what had been
 * read was sent. ERR_FILE_UNREADABLE; errors of the configuration and of Kafka. Blocks; once, main thread.
 */
err_t produce_run(const struct produce_options *options, struct err_detail *detail);
