/*
 * The topics that the configuration names: whether they exist, for the start, and what is doubtful about
 * them, for `assayd check`. Each connects anew, and blocks; any thread.
 */
#pragma once

#include "common/arena.h"
#include "kafka/rights.h"

/* Asks the cluster for up to `timeout_ms`; ERR_KAFKA_UNAVAILABLE or ERR_KAFKA_TOPIC with a sentence. */
err_t topics_check(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail);

/* The same for all of them, that of feedback included where it is read: tells each that cannot be used.
 * ERR_KAFKA_UNAVAILABLE with a detail, and nothing told, where the cluster does not answer.
 * `ret_untestable`: the rights to write to those that are not there, which trying might create; a topic that
 * only lacks permissions is there. */
typedef void (*topics_refused_fn)(err_t err, const struct err_detail *detail, void *context);

err_t topics_check_all(const struct kafka_settings *settings, int timeout_ms, topics_refused_fn refused,
		       void *context, right_set *ret_untestable, struct err_detail *detail);

/* The same for the topic of events, for commands that write into it. */
err_t topics_check_input(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail);

/* The same for the topic of feedback, where that is read: scoring does without it. */
err_t topics_check_feedback(const struct kafka_settings *settings, int timeout_ms, struct err_detail *detail);

/* The same for the topic of checkpoints of the audit log, which there is; whether it is compacted, as it has
 * to be. */
err_t topics_check_checkpoints(const struct kafka_settings *settings, int timeout_ms, bool *ret_compacted,
			       struct err_detail *detail);

/* Topics of which records go away while later ones of the same key stay (cleanup.policy = compact): a log
 * that is not what was written, and does not say so. False also where the cluster does not tell. */
struct topics_compacted {
	bool scored, feedback;
};

err_t topics_compacted(const struct kafka_settings *settings, int timeout_ms,
		       struct topics_compacted *ret_compacted, struct err_detail *detail);

/* What a person ought to know about topics that exist, one remark a line: too few replicas, limits of
 * messages that do not fit each other, records that go away too early, for feedback that comes within
 * `feedback_horizon_ms` (0: none is read), say. Limits that the cluster does not tell are left out, and so
 * are topics that are not there. In the arena. */
err_t topics_inspect(const struct kafka_settings *settings, int64_t feedback_horizon_ms, int timeout_ms,
		     struct arena *arena, str_t *ret_notes, struct err_detail *detail);
