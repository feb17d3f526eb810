/* `assayd score`: the daemon's stages without Kafka and calibration, from standard input to standard output.
 */
#pragma once

#include "common/err.h"

struct score_options {
	const char *config_file;  /* or NULL: the defaults, no targets, no judge */
	const char *catalog_file; /* CREATE statements: the catalog of events without a target; or NULL */
	bool interactive;	  /* the terminal's view instead of JSON */
	bool to_terminal;	  /* what it would obey is written as an escape, in JSON too */
};

/* Reads GeneratedQuery objects, one JSON text per line, and prints one ScoredQuery each, in the same order,
 * until the input ends; a line that cannot be read gives an error object and is no error of this function.
 * Configuration and catalog errors before the first line; ERR_IO when input or output fails. Blocks; once,
 * main thread. */
err_t score_run(const struct score_options *options, struct err_detail *detail);
