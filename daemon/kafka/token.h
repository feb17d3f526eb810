/*
 * What the token endpoint of an authorization server answers (RFC 6749, sections 5.1 and 5.2), whose bytes
 * are hostile until they are checked. Pure.
 */
#pragma once

#include "common/str.h"

enum {
	TOKEN_VALUE_MAX = 32768,	 /* bytes */
	TOKEN_LIFETIME_MAX_MS = 86400000 /* what lives longer counts as living a day */
};

struct token {
	char *value;	       /* secret */
	int64_t lifetime_ms;   /* from the answer on; at least a second */
	char subject[128];     /* whom it is for, where it tells; printable, likewise below */
	char description[256]; /* what it says of itself: "subject a, audience b, …"; "" where it cannot be
				  read */
};

/* Reads a success. The lifetime is what the answer calls expires_in, but not beyond the end that a JSON web
 * token names itself, if that is in the future by `now_ms` (wall clock). ERR_KAFKA_UNAVAILABLE with a detail
 * that never shows the token. */
err_t token_read(str_t answer, int64_t now_ms, struct token *ret_token, struct err_detail *detail);

/* Wipes and releases what is in it. */
void token_free(struct token *token);

/* What a refusal says: the code of the error ("" where there is none) and code and sentence in one, printable
 * and without `secret`. */
struct token_refusal {
	char code[64];
	char text[200];
};

void token_read_refusal(str_t answer, const char *secret, struct token_refusal *ret_refusal);
