/* `assayd tail`: an output topic as it goes on, as JSON or for people. */
#pragma once

#include "common/err.h"

struct tail_options {
	const char *config_file;
	const char *topic; /* see topic_message.h; NULL: the scored topic */
	const char *level; /* only these, likewise below; NULL: all */
	const char *action;
	const char *application;
	const char *since; /* "15m": from then on; NULL: the last ten */
	bool json;
	bool once;	  /* ends where the topic ends now */
	bool to_terminal; /* what it would obey is written as an escape */
	bool colours;
};

/* Prints until it is interrupted, or standard output is closed, both of which are no error. Messages that
 * cannot be read are said on standard error. ERR_USAGE: an option is wrong; ERR_IO; errors of the
 * configuration and of Kafka. Blocks; once, main thread. */
err_t tail_run(const struct tail_options *options, struct err_detail *detail);

/* "90s", "15m", "24h", "7d" in milliseconds; ERR_USAGE: it is no such span above 0. */
err_t tail_parse_span(const char *text, int64_t *ret_ms, struct err_detail *detail);

/* When a span that ends now began (ms since 1970); 0 of none. */
int64_t tail_since_ms(int64_t span_ms);
