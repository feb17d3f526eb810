/*
 * Webhook: advisories as HTTP POSTs that a receiver can trust, as Standard Webhooks has them
 * (standardwebhooks.com): the body is one JSON object, and three headers name and sign it:
 *
 *   webhook-id         the advisory's id, the same whenever it is sent again
 *   webhook-timestamp  when this attempt was sent, seconds since 1970
 *   webhook-signature  "v1," and base 64 of HMAC-SHA256 over "ID.TIMESTAMP.BODY", of several secrets one each
 *                      with a space between
 *
 * The body is {"type": "advisory.KIND", "timestamp": "…", "data": {…}}: the gravest kind in lower case, when
 * the advisory was raised, and the advisory with the fields of its schema.
 *
 * The file of the secrets is read for every request: "whsec_" and 24 to 64 bytes in base 64, one secret a
 * line; whoever changes it writes the new one above the old one until the receiver knows it.
 */
#pragma once

#include "avro/codec.h"
#include "outward/outlet.h"

enum { WEBHOOK_SECRETS_MAX = 4, WEBHOOK_SECRET_BYTES = 64, WEBHOOK_ID_MAX = 512 };

struct webhook_options {
	const struct codec *codec; /* outlives the outlet, and so do the texts */
	const char *url;
	const char *secret_file;
	const char *ca_file; /* or NULL: the system's authorities */
	unsigned kinds;	     /* bits of enum advisory_kind; 0: all */
	unsigned levels;     /* bits of enum confidence_level; 0: all. Drift has none, and always passes */
	int64_t timeout_ms;
	int64_t give_up_after_ms; /* 0: never */
};

/* To be handed to a forwarder of the topic of advisories, or released by its `release`. */
struct outlet webhook_outlet(const struct webhook_options *options);

struct webhook_secrets {
	size_t count;
	struct {
		unsigned char bytes[WEBHOOK_SECRET_BYTES];
		size_t len;
	} items[WEBHOOK_SECRETS_MAX];
};

/* Reads the file; the caller wipes what it is given. The detail names the file and never shows a secret. */
err_t webhook_read_secrets(const char *file, struct webhook_secrets *ret_secrets, struct err_detail *detail);

/* The same of a text. Pure, likewise below. */
err_t webhook_parse_secrets(str_t text, struct webhook_secrets *ret_secrets, struct err_detail *detail);

/* Appends the value of webhook-signature. */
void webhook_sign(const struct webhook_secrets *secrets, const char *id, int64_t timestamp_s, str_t body,
		  struct buf *out);

/* Appends the body of an advisory. */
void webhook_body(const struct advisory *advisory, struct buf *out);

/* Whether it is one of those that are to be sent. */
bool webhook_selects(const struct advisory *advisory, unsigned kinds, unsigned levels);
