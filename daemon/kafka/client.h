/*
 * Kafka clients of the daemon: properties from the configuration with our own fixed ones on top, and the
 * mapping of librdkafka's errors and log lines to ours.
 */
#pragma once

#include "common/cleanup.h"
#include "common/err.h"
#include "common/tick.h"

#include <librdkafka/rdkafka.h>

/* Of the calibrator's consumer group, behind the group's name. */
#define KAFKA_CALIBRATION_SUFFIX ".calibration"

struct kafka_settings {
	const char *bootstrap_servers;
	const char *group_id;
	const char *instance_id; /* static member of the group, and the transactional id */
	const char *input_topic;
	const char *scored_topic;
	const char *advisory_topic;
	const char *dead_letter_topic;
	const char *feedback_topic;    /* or NULL: feedback is not read */
	const char *const *properties; /* "name=value", passed through to every client */
	size_t properties_count;
	bool exactly_once; /* false: at least once */
	int session_timeout_ms;
	int heartbeat_ms;
	int transaction_timeout_ms;
	size_t transaction_max_events;
	size_t transaction_max_bytes;
	int transaction_linger_ms;
	size_t max_in_flight_bytes;
	int drain_on_revoke_ms;
	size_t max_message_bytes; /* the largest event that is taken; what is larger becomes a dead letter */
};

/* The daemon can go on no longer (fenced, fatal client error): called once, from any thread; must not block.
 */
typedef void (*kafka_fatal_fn)(err_t err, const char *message, void *context);

/* A configuration with bootstrap servers, passed-through properties and our logger. The caller owns it. */
err_t kafka_conf_new(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
		     struct err_detail *detail);

/* Sets one property; the error names it. */
err_t kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, struct err_detail *detail);
err_t kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, long long value, struct err_detail *detail);

/* How a consumer notices that the group or a connection is gone. */
err_t kafka_conf_set_liveness(rd_kafka_conf_t *conf, const struct kafka_settings *settings,
			      struct err_detail *detail);

/* Creates a client; takes over `*conf` on success and leaves NULL behind. */
err_t kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t **conf, rd_kafka_t **ret_client,
		       struct err_detail *detail);

/* When the message was written (wall clock), as far as that can be true: now where nothing tells. */
int64_t kafka_written_ms(const rd_kafka_message_t *message);

DEFINE_CLEANUP(rd_kafka_conf_t, kafka_conf_cleanup, rd_kafka_conf_destroy)
DEFINE_CLEANUP(rd_kafka_topic_partition_list_t, kafka_list_cleanup, rd_kafka_topic_partition_list_destroy)
DEFINE_CLEANUP(rd_kafka_error_t, kafka_error_cleanup, rd_kafka_error_destroy)
