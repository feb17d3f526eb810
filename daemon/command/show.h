/* `assayd show`: all that the topics have of one event. */
#pragma once

#include "common/err.h"

struct show_options {
	const char *config_file;
	const char *event_id;
	const char *since; /* "24h": no message before that is looked at; NULL: all that are kept */
	bool json;
	bool to_terminal; /* what it would obey is written as an escape */
};

/*
 * Prints the scored record, the advisory, the dead letter and the feedback that have this key. The record is
 * looked for where the calibration's database says, then at the time that the id tells (id_time.h); each
 * topic is read backwards, in the partition that the key belongs to first, until a message of the key is
 * found: what an id that comes again had before that is not looked for. Where it is in none of the partitions
 * that keys go to, the others are read, too. ERR_NOT_FOUND: none of the topics has it. Errors as of tail_run.
 * Main thread.
 */
err_t show_run(const struct show_options *options, struct err_detail *detail);
