/*
 * A token from the token endpoint of an authorization server, by the grant client_credentials (RFC 6749,
 * section 4.4). Blocks until its deadline; one thread at a time for each fetcher.
 */
#pragma once

#include "fetch/fetcher.h"
#include "kafka/settings.h"
#include "kafka/token.h"

/* Reads the client's secret from its file, and fetches. ERR_KAFKA_UNAVAILABLE, or ERR_FILE_UNREADABLE for the
 * secret, with what went wrong and how to mend it; the caller frees the token. `ret_retry_after_ms`: when the
 * server wants to be asked again, −1 where it does not say; set in any case. */
err_t token_fetch(struct fetcher *fetcher, const struct kafka_oauth_settings *settings,
		  struct token *ret_token, int64_t *ret_retry_after_ms, struct err_detail *detail);
