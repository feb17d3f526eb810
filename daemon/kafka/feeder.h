/*
 * Feeder: events into the input topic, by an idempotent producer. Each that is sent is reported once: when
 * the broker has it, or when it is known not to come there.
 *
 * Bounded: while so many wait for the broker, sending waits. A batch that the topic refuses is sent again one
 * by one, so that a refusal is about the event itself. Not thread-safe; reports come from within its calls.
 */
#pragma once

#include "common/str.h"
#include "kafka/client.h"

enum feeder_outcome {
	FEEDER_DELIVERED,
	FEEDER_REFUSED,	 /* the topic does not take this very event */
	FEEDER_LOST,	 /* it was not written */
	FEEDER_DOUBTFUL, /* it may have been written: the broker did not answer */
};

/* `number`: the caller's; `reason`: for a person, of all but a delivered one; lives until this returns. */
typedef void (*feeder_report_fn)(uint64_t number, enum feeder_outcome outcome, const char *reason,
				 void *context);

struct feeder_options {
	const struct kafka_settings *settings; /* outlive the feeder */
	int patience_ms;		       /* for which an event waits for the broker */
	feeder_report_fn report;
	bool (*stopping)(void); /* whether waiting is to end */
	void *context;
};

struct feeder;

/* Connects by itself. ERR_KAFKA_CONFIG with a detail. The caller owns the feeder. */
err_t feeder_new(const struct feeder_options *options, struct feeder **ret_feeder, struct err_detail *detail);

/* What waits yet is not reported any more: see feeder_give_up. NULL is fine. */
void feeder_free(struct feeder *feeder);

/* Sends a copy, with a number below 2^62. An event that is refused at once is reported, and no error.
 * ERR_SHUTTING_DOWN: told to stop while there was no room; it is not sent and not reported, as with any
 * error. Others: the broker takes nothing (ERR_KAFKA_UNAVAILABLE), permits nothing (ERR_KAFKA_TOPIC), or the
 * client has failed (ERR_KAFKA_FATAL); no more will be sent. */
err_t feeder_send(struct feeder *feeder, str_t key, str_t value, uint64_t number, struct err_detail *detail);

/* Waits until all that was sent is reported, or until the deadline (0: none but the patience) or told to
 * stop. Errors as of feeder_send. */
err_t feeder_flush(struct feeder *feeder, int timeout_ms, struct err_detail *detail);

/* Reports what waits yet as lost or doubtful. */
void feeder_give_up(struct feeder *feeder);

DEFINE_CLEANUP(struct feeder, feeder_cleanup, feeder_free)
