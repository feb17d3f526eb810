/*
 * The language model server that the judge asks: its address, key, model and prompts, checked when they are
 * loaded. Holds the key, which never leaves it except in the request's header. One thread at a time.
 */
#pragma once

#include "judge/prompt.h"
#include "judge/provider.h"

struct endpoint {
	struct arena *arena; /* its own, likewise all below */
	const char *name;    /* among the members, or NULL */
	const char *setting; /* how the names of its settings begin: "judge", "judges[1]" */
	const char *who;     /* for messages: `the judge`, `the judge "NAME"` */
	const struct provider *provider;
	const char *url;
	const char *model;
	const char *key_file; /* or NULL */
	char *header;	      /* with the key, secret; NULL without a key */
	str_t key;	      /* within the header, secret; absent without a key */
	char *former_header;  /* of the key before, which may still be under way; likewise */
	str_t former_key;
	unsigned key_generation; /* counts the keys */
	int64_t key_read_us;
	struct prompts *prompts;
	enum structured_output structured; /* what the server is known to take */
	struct buf scratch[2];		   /* memory for texts that are made and read at once */
};

/* Reads the settings, the key and the prompts, and looks whether the authorities' certificates can be read.
 * ERR_CONFIG_* or ERR_FILE_UNREADABLE with a detail that names the setting. */
err_t endpoint_open(struct endpoint *endpoint, const struct judge_settings *settings,
		    struct err_detail *detail);

/* Reads the key's file again, where there is one; true: it holds another key, which is in use from then on.
 * One that cannot be read or holds no key changes nothing, and is told. */
bool endpoint_renew_key(struct endpoint *endpoint);

/* The same, but not more often than once a second. */
bool endpoint_renew_refused_key(struct endpoint *endpoint, int64_t now_us);

/* Wipes the keys and releases all. */
void endpoint_close(struct endpoint *endpoint);

/* The server's sentence made fit for messages: without the keys, on one line, of bounded length. */
str_t endpoint_quote(const struct endpoint *endpoint, str_t sentence, struct arena *arena);

/* The text without the keys: itself, or a copy in the arena. */
str_t endpoint_redact(const struct endpoint *endpoint, str_t text, struct arena *arena);
