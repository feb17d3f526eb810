/*
 * Producer: the librdkafka client that outputs go through, under the transactional id of this instance, and
 * what its errors mean.
 *
 * A client that has failed for good can be closed and opened again; the new one claims the id anew, which
 * ends whatever transaction the old one had left open. Used by one thread at a time.
 */
#pragma once

#include "kafka/client.h"
#include "kafka/publication.h"

struct producer {
	const struct kafka_settings *settings;
	rd_kafka_t *client;
	rd_kafka_topic_t *topics[OUTPUT_TOPIC_COUNT_];
};

/* Makes the client, which connects by itself; the settings outlive it. ERR_KAFKA_CONFIG with a detail. */
err_t producer_open(struct producer *producer, const struct kafka_settings *settings,
		    struct err_detail *detail);

/* Makes the transactional id this client's own; waits up to `timeout_ms` for the broker.
 * ERR_KAFKA_UNAVAILABLE: may be called again; ERR_KAFKA_FATAL: not. At least once: nothing to claim. */
err_t producer_claim(struct producer *producer, int timeout_ms, struct err_detail *detail);

/* Discards what is on its way; afterwards no delivery report comes any more. Fine when it is closed. */
void producer_close(struct producer *producer);

/* Outputs and events are compressed unless kafka.properties say how; ERR_KAFKA_CONFIG with a detail. */
err_t producer_set_compression(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			       struct err_detail *detail);

/* Enqueues a copy of the output. Its `refusal` is set when the broker does not take it, from within calls of
 * this client. RD_KAFKA_RESP_ERR__QUEUE_FULL: serve the client and try again. */
rd_kafka_resp_err_t producer_send(struct producer *producer, struct output *output);

/* Errors that say something about the message itself. */
bool producer_is_refusal(rd_kafka_resp_err_t err);

/* Errors of messages that failed because of another one, or of the transaction before: librdkafka 2.0.2 may
 * purge the next one's messages, too. */
bool producer_is_consequence(rd_kafka_resp_err_t err);
bool producer_is_too_large(rd_kafka_resp_err_t err);

/* The transactional id is somebody else's, or the broker has taken it from a transaction that took too long.
 */
bool producer_is_fenced(rd_kafka_resp_err_t err);
