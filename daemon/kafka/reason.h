/*
 * Why the Kafka cluster cannot be reached, in words for whoever has to mend it.
 *
 * librdkafka answers a call with "timed out" whatever is wrong; why, it says in its log alone. The last thing
 * that it said of a connection is kept here, with a hint. All clients of the process have the same brokers
 * and properties, so there is one for all of them. All functions are for any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { KAFKA_REASON_SIZE = 320 };

/* A connection has failed: a line of librdkafka's log. One that says more than this is kept for a while. */
void kafka_reason_note(const char *line);

/* The cluster has answered. */
void kafka_reason_forget(void);

/* What is known, of the last minute, printable and without line feeds; false and an empty text: nothing. */
bool kafka_reason(char ret_text[KAFKA_REASON_SIZE]);
