/*
 * The tokens (OAuth 2.0) that the process's Kafka clients log in with: a thread fetches them ahead of their
 * end and hands each to all clients (login.h). It runs while there are clients. All clients of a process have
 * the same settings. All functions may be called in any thread.
 */
#pragma once

#include "kafka/settings.h"
#include "kafka/token.h"

#include <stdbool.h>

/* What tokens are fetched by from now on. Copies the settings. Nothing is fetched before. */
void token_keeper_configure(const struct kafka_oauth_settings *settings);

/* For each client, from its creation until it is destroyed: for client.h. Giving back the last one waits for
 * the thread, which ends at once. */
void token_keeper_hold(void);
void token_keeper_release(void);

/* Fetches one now and waits for it, whether there is one in use or not: for whoever wants to know whether
 * that goes. What it says of itself goes into `ret_description`. Otherwise like token_fetch. */
err_t token_keeper_try(const struct kafka_oauth_settings *settings,
		       char ret_description[sizeof((struct token *)0)->description], int64_t *ret_lifetime_ms,
		       struct err_detail *detail);

/* A broker has refused a client that logs in by a token: another one is fetched soon, though not many in a
 * row. Never waits. */
void token_keeper_refused(void);

/* Whom the token in use is for, where it tells; else "". Cut to the size. */
void token_keeper_subject(char *ret_subject, size_t size);

struct token_keeper_statistics {
	uint64_t fetched, failed;
	int64_t expires_ms; /* of the token in use, wall clock; 0: there is none yet */
	bool failing;	    /* the last fetch has failed */
	char failure[256];  /* why; kept until one succeeds */
};

void token_keeper_statistics(struct token_keeper_statistics *ret_statistics);
