/*
 * What may go wrong with a request, and what follows: one table. Pure. What would be refused whatever is
 * asked (no key, no money, no such model) is a failure of the server, so that not every call is sent to be
 * refused.
 */
#pragma once

#include "common/err.h"
#include "judge/transport.h"

struct fault {
	err_t err;
	bool retry;	   /* another try may succeed */
	bool failing;	   /* the server fails: counts towards leaving it alone */
	bool overloaded;   /* it was one request too many */
	bool unauthorized; /* the key is not taken */
};

/* Of an answer with that status, which is none of success. */
struct fault fault_of_status(long status);

/* Of a transfer that was not answered. */
struct fault fault_of_outcome(enum transfer_outcome outcome);
