/*
 * The login (SASL) of the process's Kafka clients, which may change while they run: a client that has joined
 * makes its next connections with the login that was set last. Connections that are open stay as they are.
 * All functions may be called in any thread.
 */
#pragma once

#include "common/err.h"

#include <librdkafka/rdkafka.h>

/* From the client's creation until just before it is destroyed: for client.h. */
void kafka_login_join(rd_kafka_t *client);
void kafka_login_leave(rd_kafka_t *client);

/* A name and its password, for all clients that have joined and those that will. Copies both. */
void kafka_login_set(const char *username, const char *password);

/* A token for clients that log in by OAUTHBEARER; others take none. */
struct kafka_login_token {
	const char *value;	 /* secret */
	const char *subject;	 /* whom it is for: librdkafka wants a name */
	int64_t expires_ms;	 /* wall clock */
	const char **extensions; /* of SASL: name, value, name, …; borrowed as long as the process lives */
	size_t extensions_count; /* names and values */
};

/* For all clients that have joined and those that will. Copies value and subject. ERR_KAFKA_CONFIG with what
 * librdkafka has against it: then clients keep the one that they have. */
err_t kafka_login_set_token(const struct kafka_login_token *token, struct err_detail *detail);
