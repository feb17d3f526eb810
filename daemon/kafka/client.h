/*
 * Kafka clients of the daemon: properties from the configuration with our own fixed ones on top, and the
 * mapping of librdkafka's errors and log lines to ours.
 */
#pragma once

#include "common/cleanup.h"
#include "common/err.h"
#include "common/heartbeat.h"
#include "common/str.h"
#include "kafka/settings.h"

#include <librdkafka/rdkafka.h>

/* Of the calibrator's consumer group, behind the group's name. */
#define KAFKA_CALIBRATION_SUFFIX ".calibration"
/* Of the keeper of the audit log. */
#define KAFKA_AUDIT_SUFFIX ".audit"

/* Of the forwarder of advisories to the webhook. */
#define KAFKA_WEBHOOK_SUFFIX ".webhook"
/* Of the forwarder of evaluation results to an OTLP collector. */
#define KAFKA_OTLP_SUFFIX ".otlp"

/* The daemon can go on no longer (fenced, fatal client error): called once, from any thread; must not block.
 */
typedef void (*kafka_fatal_fn)(err_t err, const char *message, void *context);

/* A configuration with bootstrap servers, passed-through properties and our logger. The caller owns it. */
err_t kafka_conf_new(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
		     struct err_detail *detail);

/* The same for a consumer of outputs, in the group whose name is ours and the suffix: committed records only,
 * and where it reads on is not Kafka's business. */
err_t kafka_conf_new_reader(const struct kafka_settings *settings, const char *group_suffix,
			    rd_kafka_conf_t **ret_conf, struct err_detail *detail);

/* Sets one property; the error names it. */
err_t kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err_detail *detail);
err_t kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, long long value, struct err_detail *detail);

/* How a consumer notices that the group or a connection is gone, and the group that the consumer is. */
err_t kafka_conf_set_liveness(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			      struct err_detail *detail);

/* Bytes of an answer that a consumer has to take: a message that is larger than we take still has to be
 * fetched, to be set aside, so that the topic's limit is what counts. */
long long kafka_response_limit(const struct kafka_settings *settings);

/* Creates a client with the login of now (login.h), to be destroyed by kafka_client_close; takes over `*conf`
 * on success and leaves NULL behind. */
err_t kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t **conf, rd_kafka_t **ret_client,
		       struct err_detail *detail);

/* Whether a client can be made of this configuration: one that knows no broker is, and reaches nothing. */
err_t kafka_client_try(const struct kafka_settings *settings, struct err_detail *detail);

/* ERR_KAFKA_UNAVAILABLE and a sentence with what librdkafka said last of its connections, or else `error`. */
err_t kafka_no_answer(const struct kafka_settings *settings, int timeout_ms, const char *error,
		      struct err_detail *detail);

/* Whether the error passes by itself: a broker that is away, a coordinator that moves or is not there yet. */
bool kafka_is_passing(rd_kafka_resp_err_t err);

/* The number of a broker that answers within `timeout_ms`, or where only an address of bootstrap_servers
 * does, which has no number, that of any broker which it names; < 0: none does. */
int32_t kafka_answering_broker(rd_kafka_t *client, int timeout_ms);

/* Destroys the client, without a word to its group, within `timeout_ms`; NULL is fine. librdkafka may wait
 * for its own threads for ever: then they are left behind, which kafka_clients_left counts. Callbacks of the
 * client are not called any more, unless it is left behind. */
void kafka_client_close(rd_kafka_t *client, int timeout_ms);

/* Clients that were left behind and have not ended since: the process has to end by _exit, since what exit()
 * destroys is used by their threads. */
unsigned kafka_clients_left(void);

/* Tells the client that its thread is alive though it does not poll, because it waits for something else with
 * a deadline: else the client would leave the group after max.poll.interval.ms. Serves nothing. The polling
 * thread's, in a callback, too. */
void kafka_count_as_poll(rd_kafka_t *consumer);

/* Ends rd_kafka_consumer_poll, or the next one where nobody polls. Any thread. */
void kafka_end_poll(rd_kafka_t *consumer);

/* Has the client look again at what it waits for: librdkafka 2.0.2 may miss that the group's coordinator can
 * be reached, and see it only when its main thread wakes the next time, up to a second later. Waits for that
 * thread alone. Any thread. */
void kafka_nudge(rd_kafka_t *consumer);

/* When the message was written (wall clock), as far as that can be true: now where nothing tells. */
int64_t kafka_written_ms(const rd_kafka_message_t *message);

/* The value of the message's first header of that name, which lives as long as the message; absent where
 * there is none. */
str_t kafka_header(const rd_kafka_message_t *message, const char *name);

DEFINE_CLEANUP(rd_kafka_conf_t, kafka_conf_cleanup, rd_kafka_conf_destroy)
DEFINE_CLEANUP(rd_kafka_topic_partition_list_t, kafka_list_cleanup, rd_kafka_topic_partition_list_destroy)
DEFINE_CLEANUP(rd_kafka_error_t, kafka_error_cleanup, rd_kafka_error_destroy)
DEFINE_CLEANUP(rd_kafka_event_t, kafka_event_cleanup, rd_kafka_event_destroy)
DEFINE_CLEANUP(rd_kafka_queue_t, kafka_queue_cleanup, rd_kafka_queue_destroy)
