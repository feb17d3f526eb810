/* `assayd top`: the status page of a running daemon on a terminal. */
#pragma once

#include "common/err.h"

struct top_options {
	const char *config_file; /* of the daemon: says where it listens */
	bool once;		 /* one frame, in any case */
	bool json;		 /* one /status.json as it comes */
	bool to_terminal;	 /* what it would obey is written as an escape */
	bool live;		 /* drawn again and again; else one frame */
	bool colours;
};

/* Draws until it is interrupted, which is no error. A daemon that does not answer is an error at first
 * (ERR_HTTP_UNREACHABLE), and said in the frame later. ERR_CONFIG_RANGE: it has no HTTP server, or a port
 * that the configuration does not tell. ERR_IO: standard output. Blocks; once, main thread. */
err_t top_run(const struct top_options *options, struct err_detail *detail);
