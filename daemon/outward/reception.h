/*
 * Reception: what an HTTP receiver made of a request, and so what becomes of what it carried. Pure.
 *
 * Another try may succeed after a network fault, a 408, 425, 429 or 5xx. Of 401, 403, 404, 405, 407 and of
 * redirects, which nobody follows, the configuration or the receiver is the cause, not what is carried: it
 * waits until somebody has mended that. Any other 4xx is about what is carried, which is given up. 410 says
 * that the receiver wants nothing any more.
 */
#pragma once

#include "fetch/fetcher.h"

enum reception {
	RECEPTION_TAKEN,
	RECEPTION_LATER,   /* the same again later */
	RECEPTION_REFUSED, /* it will never be taken */
	RECEPTION_GONE,	   /* nothing is to be sent there any more */
	RECEPTION_STOPPED  /* we have ended the request ourselves */
};

struct reception_answer {
	enum reception reception;
	int64_t after_ms; /* not before, if it is sent again; −1: the receiver said nothing of it */
	char reason[512]; /* for a person, unless it was taken */
};

/* `setting`: that which names the receiver's address. */
void reception_of(const struct fetch_answer *answer, const char *setting,
		  struct reception_answer *ret_answer);
