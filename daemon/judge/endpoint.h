/*
 * The language model server that the judge asks: its address, key, model and prompts, checked when they are
 * loaded. Holds the key, which never leaves it except in the request's header. One thread at a time.
 */
#pragma once

#include "judge/prompt.h"
#include "judge/provider.h"

struct endpoint {
	struct arena *arena; /* its own, likewise all below */
	const struct provider *provider;
	const char *url;
	const char *model;
	char *header; /* with the key, secret; NULL without a key */
	str_t key;    /* within the header, secret; absent without a key */
	struct prompts *prompts;
	enum structured_output structured; /* what the server is known to take */
	struct buf scratch[2];		   /* memory for texts that are made and read at once */
};

/* Reads the settings, the key and the prompts, and looks whether the authorities' certificates can be read.
 * ERR_CONFIG_* or ERR_FILE_UNREADABLE with a detail that names the setting. */
err_t endpoint_open(struct endpoint *endpoint, const struct judge_settings *settings,
		    struct err_detail *detail);

/* Wipes the key and releases all. */
void endpoint_close(struct endpoint *endpoint);

/* The server's sentence made fit for messages: without the key, on one line, of bounded length. */
str_t endpoint_quote(const struct endpoint *endpoint, str_t sentence, struct arena *arena);

/* The text without the key: itself, or a copy in the arena. */
str_t endpoint_redact(const struct endpoint *endpoint, str_t text, struct arena *arena);
