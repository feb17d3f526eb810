/* One question to a daemon that listens at `http.listen`. */
#pragma once

#include "common/buf.h"
#include "common/err.h"

enum { HTTP_GET_MS = 3000, HTTP_GET_BYTES = 4 << 20 };

/* GETs the path from that address, without a proxy, for HTTP_GET_MS at most. ERR_HTTP_UNREACHABLE: there is
 * no answer of HTTP, or one above HTTP_GET_BYTES; the detail says why, in libcurl's words. Blocks; any
 * thread. */
err_t http_get(const char *address, const char *path, struct buf *ret_body, long *ret_status,
	       struct err_detail *detail);
