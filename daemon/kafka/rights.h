/*
 * Rights: what Kafka has to allow this client, by resource and operation, and how each is named and granted.
 *
 * A broker that asks who one is refuses what its lists of permissions do not allow, at the start as well as
 * later, when somebody has changed them.
 */
#pragma once

#include "common/buf.h"
#include "kafka/client.h"

enum right {
	RIGHT_READ_GROUP,
	RIGHT_READ_INPUT,
	RIGHT_WRITE_SCORED, /* the topics of outputs in the order of enum output_topic */
	RIGHT_WRITE_ADVISORY,
	RIGHT_WRITE_DEAD_LETTER,
	RIGHT_WRITE_TRANSACTIONS, /* the transactional id; exactly once only */
	RIGHT_READ_CALIBRATION,	  /* the calibrator's group */
	RIGHT_READ_SCORED,
	RIGHT_READ_FEEDBACK, /* where feedback is read */
	RIGHT_READ_AUDIT,    /* the group of the audit log's keeper, likewise below where there is one */
	RIGHT_WRITE_CHECKPOINTS,
	RIGHT_READ_WEBHOOK, /* the group of the webhook's forwarder, likewise below where there is one */
	RIGHT_READ_ADVISORIES,
	RIGHT_READ_OTLP, /* the group of the forwarder to the collector */
	RIGHT_COUNT_
};

/* A set of them: bits. */
typedef unsigned right_set;
#define RIGHT_BIT(right) (1U << (right))

/* Without one of these events of all or some partitions are not read or not published. */
#define RIGHTS_OF_SCORING (RIGHT_BIT(RIGHT_WRITE_TRANSACTIONS + 1) - 1)
#define RIGHTS_OF_OUTPUTS                                                                                    \
	(RIGHT_BIT(RIGHT_WRITE_SCORED) | RIGHT_BIT(RIGHT_WRITE_ADVISORY) | RIGHT_BIT(RIGHT_WRITE_DEAD_LETTER))

/* Those that an instance with these settings needs. */
right_set rights_needed(const struct kafka_settings *settings, bool calibrates);

struct right_name {
	const char *operation; /* "READ" or "WRITE" */
	const char *resource;  /* "group", "topic" or "transactional id" */
	char name[256];
};

/* What a right of rights_needed is called. */
void right_name(const struct kafka_settings *settings, enum right right, struct right_name *ret_name);

/* Appends a sentence that names all that are missing, and how rights are granted. */
void rights_describe(const struct kafka_settings *settings, right_set missing, struct buf *out);

/* Appends one that is missing, with the command that grants it. */
void right_describe(const struct kafka_settings *settings, enum right right, struct buf *out);

/* Whether the broker refused something because a right is missing. */
bool rights_are_missing(rd_kafka_resp_err_t err);
