#include "audit/keeper/keeper_publisher.h"

#include "audit/checkpoint.h"
#include "audit/publish/checkpoint_file.h"
#include "audit/publish/checkpoint_topic.h"
#include "common/clock.h"
#include "common/log.h"

enum {
	AT_ONCE = 50,	    /* notes of a log in one round */
	AGAIN_MS = 1000,    /* between rounds while something is left */
	FAILURE_MS = 10000, /* after what failed */
};

/* What is known of one place. */
struct place {
	bool due;      /* there may be something to be published */
	int64_t at_us; /* not before */
	bool failing;  /* and that was logged */
};

struct keeper_publisher {
	struct keeper_publisher_options options;
	struct checkpoint_topic *topic; /* or NULL */
	struct place places[2];		/* by enum audit_store_place */
	struct keeper_publisher_statistics statistics;
};

err_t keeper_publisher_new(const struct keeper_publisher_options *options,
			   struct keeper_publisher **ret_publisher, struct err_detail *detail)
{
	struct checkpoint_topic *topic = NULL;
	err_t err = options->topic ? checkpoint_topic_new(options->kafka, options->topic, &topic, detail)
				   : ERR_OK;
	if (err)
		return err;
	struct keeper_publisher *publisher = calloc(1, sizeof *publisher);
	if (!publisher)
		abort();
	publisher->options = *options;
	publisher->topic = topic;
	*ret_publisher = publisher;
	return ERR_OK;
}

void keeper_publisher_free(struct keeper_publisher *publisher)
{
	if (!publisher)
		return;
	checkpoint_topic_free(publisher->topic);
	free(publisher);
}

void keeper_publisher_look(struct keeper_publisher *publisher)
{
	publisher->places[AUDIT_STORE_TOPIC].due = publisher->options.topic != NULL;
	publisher->places[AUDIT_STORE_FILE].due = publisher->options.file != NULL;
}

bool keeper_publisher_is_busy(const struct keeper_publisher *publisher)
{
	return publisher->topic && checkpoint_topic_count(publisher->topic) > 0;
}

void keeper_publisher_statistics(const struct keeper_publisher *publisher,
				 struct keeper_publisher_statistics *ret_statistics)
{
	*ret_statistics = publisher->statistics;
}

/* ---- what succeeds and what fails ---- */

static const char *name_of(const struct keeper_publisher *publisher, enum audit_store_place place)
{
	return place == AUDIT_STORE_TOPIC ? publisher->options.topic : publisher->options.file;
}

static void note_failure(struct keeper_publisher *publisher, enum audit_store_place place, const char *reason)
{
	struct place *at = &publisher->places[place];
	if (!at->failing)
		log_error("checkpoints of the audit log cannot be published to %s and will be sent again: %s",
			  name_of(publisher, place), reason);
	at->failing = true;
	at->at_us = clock_monotonic_us() + INT64_C(1000) * FAILURE_MS;
	if (place == AUDIT_STORE_TOPIC)
		publisher->statistics.topic_failures++;
	else
		publisher->statistics.file_failures++;
}

static err_t note_success(struct keeper_publisher *publisher, enum audit_store_place place,
			  const struct audit_store_log *log, uint64_t size, struct err_detail *detail)
{
	struct place *at = &publisher->places[place];
	err_t err = audit_store_published(publisher->options.store, log, place, size, detail);
	if (err == ERR_AUDIT_DAMAGED) { /* its row is gone, which a verification tells */
		log_error("%s", err_message(err, detail));
		err = ERR_OK;
	}
	if (err)
		return err;
	if (at->failing)
		log_notice("checkpoints of the audit log are published to %s again",
			   name_of(publisher, place));
	at->failing = false;
	if (place == AUDIT_STORE_TOPIC)
		publisher->statistics.in_topic++;
	else
		publisher->statistics.in_file++;
	return ERR_OK;
}

/* ---- one place ---- */

static err_t send_note(struct keeper_publisher *publisher, const struct audit_store_log *log,
		       const char *name, const struct audit_store_checkpoint *checkpoint,
		       struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf origin = BUF_INIT;
	err_t err = checkpoint_origin(str_from(name), str_from(log->topic), log->partition, &origin);
	if (!err)
		err = checkpoint_topic_send(publisher->topic, log->partition, checkpoint->size,
					    buf_str(&origin), checkpoint->note, detail);
	if (err)
		note_failure(publisher, AUDIT_STORE_TOPIC, err_message(err, detail));
	return ERR_OK;
}

static err_t append_note(struct keeper_publisher *publisher, const struct audit_store_log *log,
			 const struct audit_store_checkpoint *checkpoint, struct err_detail *detail)
{
	struct err_detail reason = { "" };
	heartbeat_waiting(publisher->options.heartbeat, "checkpoint file");
	err_t err = checkpoint_file_append(publisher->options.file, checkpoint->note, &reason);
	if (!err)
		return note_success(publisher, AUDIT_STORE_FILE, log, checkpoint->size, detail);
	note_failure(publisher, AUDIT_STORE_FILE, err_message(err, &reason));
	return ERR_OK;
}

/* The oldest of a log; `*left` is set where there are some. */
static err_t publish_log(struct keeper_publisher *publisher, enum audit_store_place place, int32_t partition,
			 const char *name, bool *left, struct err_detail *detail)
{
	const struct audit_store_log log = { publisher->options.scored_topic, partition };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct audit_store_checkpoint *checkpoints;
	size_t count;
	err_t err = audit_store_unpublished(publisher->options.store, &log, place, AT_ONCE, arena,
					    &checkpoints, &count, detail);
	if (err)
		return err;
	int64_t at_us = publisher->places[place].at_us;
	for (size_t i = 0; !err && i < count && publisher->places[place].at_us == at_us; i++)
		err = place == AUDIT_STORE_TOPIC ? send_note(publisher, &log, name, &checkpoints[i], detail)
						 : append_note(publisher, &log, &checkpoints[i], detail);
	*left |= place == AUDIT_STORE_TOPIC ? count > 0
					    : count == AT_ONCE || publisher->places[place].at_us != at_us;
	return err;
}

static err_t publish(struct keeper_publisher *publisher, enum audit_store_place place,
		     const struct keeper_log *logs, size_t count, const char *name, struct err_detail *detail)
{
	struct place *at = &publisher->places[place];
	bool left = false;
	err_t err = ERR_OK;
	if (!at->due || clock_monotonic_us() < at->at_us)
		return ERR_OK;
	for (size_t i = 0; !err && i < count; i++)
		err = publish_log(publisher, place, logs[i].partition, name, &left, detail);
	if (err)
		return err;
	at->due = left;
	if (at->at_us < clock_monotonic_us())
		at->at_us = clock_monotonic_us() + INT64_C(1000) * AGAIN_MS;
	return ERR_OK;
}

static err_t settle(struct keeper_publisher *publisher, struct err_detail *detail)
{
	struct checkpoint_topic_outcome outcome;
	err_t err = ERR_OK;
	checkpoint_topic_poll(publisher->topic, 0);
	while (!err && checkpoint_topic_take(publisher->topic, &outcome)) {
		const struct audit_store_log log = { publisher->options.scored_topic, outcome.partition };
		if (outcome.err)
			note_failure(publisher, AUDIT_STORE_TOPIC, rd_kafka_err2str(outcome.err));
		else
			err = note_success(publisher, AUDIT_STORE_TOPIC, &log, outcome.size, detail);
		publisher->places[AUDIT_STORE_TOPIC].due = true; /* others may have waited for it */
	}
	return err;
}

err_t keeper_publisher_step(struct keeper_publisher *publisher, const struct keeper_log *logs, size_t count,
			    const char *name, struct err_detail *detail)
{
	err_t err = publisher->topic ? settle(publisher, detail) : ERR_OK;
	if (!err)
		err = publish(publisher, AUDIT_STORE_TOPIC, logs, count, name, detail);
	if (!err)
		err = publish(publisher, AUDIT_STORE_FILE, logs, count, name, detail);
	return err;
}
