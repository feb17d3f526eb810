/*
 * From stored checkpoints to where others read them: the topic and the file. Each checkpoint is stored first
 * (made, in the transaction of its batch), then sent to the topic and appended to the file, and each of both
 * is noted in its row. Whatever ends the process between two of these steps: what is not noted is done again
 * by whoever has the partition then, with the same note. So each place gets each note at least once, in order
 * of size. The keeper's thread; waits for the database and for the disk, never for the broker.
 */
#pragma once

#include "audit/keeper/keeper_log.h"
#include "audit/log/reading.h"
#include "common/heartbeat.h"
#include "kafka/client.h"

struct keeper_publisher;

struct keeper_publisher_options {
	struct audit_store *store; /* likewise below: outlive it */
	const struct kafka_settings *kafka;
	struct heartbeat *heartbeat;
	const char *scored_topic; /* whose logs they are */
	const char *topic;	  /* or NULL */
	const char *file;	  /* or NULL */
};

/* Since the start. */
struct keeper_publisher_statistics {
	uint64_t in_topic, in_file;		/* published */
	uint64_t topic_failures, file_failures; /* attempts */
};

err_t keeper_publisher_new(const struct keeper_publisher_options *options,
			   struct keeper_publisher **ret_publisher, struct err_detail *detail);
void keeper_publisher_free(struct keeper_publisher *publisher);

/* There may be checkpoints that are not published. */
void keeper_publisher_look(struct keeper_publisher *publisher);

/* Does what is due for these logs, whose origins begin with `name`. An error is the database's. */
err_t keeper_publisher_step(struct keeper_publisher *publisher, const struct keeper_log *logs, size_t count,
			    const char *name, struct err_detail *detail);

/* Whether notes are on their way to the topic. */
bool keeper_publisher_is_busy(const struct keeper_publisher *publisher);

void keeper_publisher_statistics(const struct keeper_publisher *publisher,
				 struct keeper_publisher_statistics *ret_statistics);
