/*
 * Probe of a topic: looks at its partitions from aside, with a client of its own that belongs to no group:
 * where they begin and end, and whether they still are the logs that were read (identity.h). A consumer does
 * not tell: it goes on at its offset in whatever is there.
 *
 * It looks at the group, too: whether all partitions belong to somebody (group.h).
 *
 * A thread of its own asks every few seconds, so that nobody waits for a broker; all waits have deadlines.
 */
#pragma once

#include "kafka/client.h"
#include "kafka/identity.h"

struct topic_probe;

struct topic_probe_question {
	int32_t partition;
	int64_t next; /* to be read next; negative: nothing was read yet, only its ends are looked at */
	struct witness witness;
};

struct topic_probe_answer {
	struct topic_probe_question question;
	enum identity identity;
	rd_kafka_resp_err_t err; /* why it is unknown */
	int64_t low, end;	 /* −1: unknown */
};

/* Creates the client and starts the thread. `settings` outlive it, and so does `reader`: the client that
 * reads the topic, which is asked at rest. */
err_t topic_probe_start(const struct kafka_settings *settings, const char *topic, rd_kafka_t *reader,
			struct topic_probe **ret_topic_probe, struct err_detail *detail);

/* Answers no more, and ends no poll of the reader any more. Any thread. */
void topic_probe_close(struct topic_probe *topic_probe);

/* Ends the thread; NULL is fine. */
void topic_probe_stop(struct topic_probe *topic_probe);

/* Hands over what is to be asked, in place of what was handed over before, and begins at once. `at_rest`: all
 * that there is was read; if nothing has moved then since the last look (landmarks.h), its answers are given
 * again. The answers end the reader's poll. Any thread. */
void topic_probe_ask(struct topic_probe *topic_probe, const struct topic_probe_question *questions,
		     size_t count, bool at_rest);

/* The answers to what was asked last, in the same order, once they are all there; the caller frees them.
 * False: not yet, or they were taken. Waits for up to `timeout_ms`. */
bool topic_probe_take(struct topic_probe *topic_probe, int64_t timeout_ms,
		      struct topic_probe_answer **ret_answers, size_t *ret_count);

/* The first partition that has belonged to nobody for long (12 s, above what a member takes to notice new
 * ones), where it is for this instance to bring about a rebalance; negative: there is none. Where that does
 * not help, it is told again after twice as long, up to 10 minutes. Looked for with every question that is
 * asked. Any thread. */
int32_t topic_probe_take_uncovered(struct topic_probe *topic_probe);

/*
 * How many of the arrivals, from the last one backwards, are in the log as it is now. They were read one
 * after the other; from one of them on they are of the new log. Asks the broker again and again for up to
 * `timeout_ms`; where it does not answer, none. Not beside questions of another thread.
 */
size_t topic_probe_count_present(struct topic_probe *topic_probe, int32_t partition,
				 const struct witness *arrivals, size_t count, int64_t timeout_ms);
