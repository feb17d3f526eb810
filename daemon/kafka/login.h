/*
 * The login (SASL) of the process's Kafka clients, which may change while they run: a client that has joined
 * makes its next connections with the login that was set last. Connections that are open stay as they are.
 * All functions may be called in any thread.
 */
#pragma once

#include <librdkafka/rdkafka.h>

/* From the client's creation until just before it is destroyed: for client.h. */
void kafka_login_join(rd_kafka_t *client);
void kafka_login_leave(rd_kafka_t *client);

/* For all clients that have joined and those that will. Copies both. */
void kafka_login_set(const char *username, const char *password);
