/*
 * Forwarder: a thread that reads one of the output topics as any consumer would (read_committed, a group of
 * its own) and hands what it reads to a receiver over HTTP (outlet.h). At least once: a message counts as
 * done, and its offset is committed, when the receiver has taken it, or when it is given up, which is logged
 * and counted. What is sent again after a crash, a rebalance or an answer that was lost carries the same id.
 *
 * While the receiver is away partitions are paused and what was read for the request is kept: memory does not
 * grow, and the topic holds the rest for as long as its retention. Scoring never waits for any of it.
 *
 * A group that has never committed begins at the ends of all partitions, and commits that at once: who
 * switches this on is not told the past, and from then on nothing is lost. A partition that comes later is
 * read from its beginning, and so is one whose topic was made again.
 */
#pragma once

#include "common/heartbeat.h"
#include "kafka/client.h"
#include "kafka/rights.h"
#include "outward/outlet.h"

struct forwarder;

struct forwarder_options {
	const struct kafka_settings *kafka; /* outlives the forwarder, and so do the texts */
	const char *topic;
	const char *group_suffix;
	enum right group_right, topic_right;
	struct outlet outlet; /* the forwarder's from a successful start on */
};

/* Since the start. */
struct forwarder_statistics {
	uint64_t sent;		  /* items that were taken */
	uint64_t given_up;	  /* items that were not, and are not sent again */
	uint64_t failures;	  /* attempts after which the same is sent again */
	uint64_t passed;	  /* messages that were not to be sent */
	uint64_t unreadable;	  /* messages */
	uint64_t lost;		  /* offsets that were deleted before they were read */
	bool away;		  /* the last attempt failed */
	bool gone;		  /* the receiver wants nothing any more, until the next start */
	uint64_t behind;	  /* offsets that are not done, as far as is known */
	int64_t waiting_since_ms; /* since when the oldest message that was read waits, or a right has been
				     missing (wall clock); 0: none does */
	unsigned assigned;	  /* partitions */
	char reason[512];	  /* while it is away or gone, or a right is missing: why */
};

/* Creates the consumer and starts the thread; needs neither broker nor receiver to be there yet. The outlet
 * is the caller's still when this fails. */
err_t forwarder_start(const struct forwarder_options *options, struct forwarder **ret_forwarder,
		      struct err_detail *detail);

/* Has the thread end the request under way, commit what is done and leave the group. Returns at once; NULL is
 * fine. */
void forwarder_close(struct forwarder *forwarder);

/* Whether the thread has ended within `timeout_ms` after that; else it cannot be released. NULL is fine. */
bool forwarder_ended(struct forwarder *forwarder, int64_t timeout_ms);

/* Closes it, where that was not done, and releases it; NULL is fine. */
void forwarder_stop(struct forwarder *forwarder);

/* Any thread. */
void forwarder_statistics(struct forwarder *forwarder, struct forwarder_statistics *ret_statistics);
struct heartbeat *forwarder_heartbeat(struct forwarder *forwarder);
