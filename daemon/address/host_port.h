/* A host and a port, as people write them: "db.example.org:9092", "127.0.0.1:80", "[::1]:80". Pure. */
#pragma once

#include "common/err.h"

enum { HOST_SIZE = 256 };

struct host_port {
	char host[HOST_SIZE]; /* without brackets */
	unsigned port;
};

/* Reads `len` bytes of `text`. `lowest` is the smallest port that is allowed; `usual` the one that is meant
 * where there is none, or 0: one has to be given. ERR_CONFIG_RANGE with what is wrong, without the text
 * itself. */
err_t host_port_read(const char *text, size_t len, unsigned lowest, unsigned usual,
		     struct host_port *ret_host_port, struct err_detail *detail);
