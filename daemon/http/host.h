/* The Host header of a request. Pure. */
#pragma once

#include <stdbool.h>

/* Whether the header's host, with or without a port, is "localhost" or an address. No name that somebody else
 * lets point at this machine is either. */
bool host_is_local(const char *host);
