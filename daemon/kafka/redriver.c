#include "kafka/redriver.h"

#include "common/arena.h"
#include "common/clock.h"
#include "common/log.h"
#include "kafka/header.h"
#include "kafka/producer.h"
#include "kafka/receipts.h"
#include "kafka/rights.h"

#include <time.h>

enum {
	CALL_MS = 5000,
	FLUSH_MS = 100,
	PAUSE_MS = 300,
	STOPPING_MS = 10000, /* patience once told to stop */
	CLOSE_MS = 5000,
	LARGEST_BYTES = 64 << 20, /* of an event, at least */
	PURGES_MAX = 20,	  /* transactions in a row that fail for no reason of their own */
};

/* One letter that is to be put back. */
struct redriven {
	int32_t partition; /* of the dead-letter topic, with the offset */
	int64_t offset;
	int32_t to; /* partition of the input topic */
	str_t key, value;
	rd_kafka_headers_t *headers;
	rd_kafka_resp_err_t refusal; /* of this transaction */
};

struct redriver {
	struct redriver_options options;
	rd_kafka_t *client;
	rd_kafka_topic_t *input, *letters;
	int input_partitions;
	struct arena *arena; /* of the batch */
	struct redriven *batch;
	size_t count, capacity, bytes;
	rd_kafka_resp_err_t receipt_refusal;
	bool in_doubt;
};

void redriver_id(const struct kafka_settings *settings, struct buf *out)
{
	buf_printf(out, "%s.redrive", settings->dead_letter_topic);
}

bool redriver_is_in_doubt(const struct redriver *redriver)
{
	return redriver->in_doubt;
}

/* ---- life ---- */

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	rd_kafka_resp_err_t *refusal = message->_private;
	(void)client;
	(void)opaque;
	if (message->err && refusal)
		*refusal = message->err;
}

static err_t build_conf(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
			struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(buf_free) struct buf id = BUF_INIT;
	long long largest = (long long)settings->max_message_bytes * 2;
	if (largest < LARGEST_BYTES)
		largest = LARGEST_BYTES;
	redriver_id(settings, &id);
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "transactional.id", id.data, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "transaction.timeout.ms", settings->transaction_timeout_ms,
					 detail);
	if (!err) /* as in producer.c: aborted before the broker does it */
		err = kafka_conf_set_int(conf, "message.timeout.ms", settings->transaction_timeout_ms / 3 * 2,
					 detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.max.bytes", largest, detail);
	if (!err)
		err = kafka_conf_set_int(
			conf, "queue.buffering.max.kbytes",
			((long long)settings->transaction_max_bytes + 2 * largest) / 1024 + 65536, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queue.buffering.max.messages",
					 (long long)settings->transaction_max_events * 2 + 100000, detail);
	if (!err)
		err = kafka_conf_set(conf, "linger.ms", "5", detail);
	if (!err)
		err = producer_set_compression(conf, settings, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static err_t claim(struct redriver *redriver, int timeout_ms, struct err_detail *detail)
{
	const struct kafka_settings *settings = redriver->options.settings;
	int64_t deadline_us = clock_monotonic_us() + INT64_C(1000) * timeout_ms;
	_cleanup_(buf_free) struct buf id = BUF_INIT;
	redriver_id(settings, &id);
	for (;;) {
		_cleanup_(kafka_error_cleanup) rd_kafka_error_t *error =
			rd_kafka_init_transactions(redriver->client, CALL_MS);
		if (!error)
			return ERR_OK;
		rd_kafka_resp_err_t code = rd_kafka_error_code(error);
		if (rights_are_missing(code))
			return err_fail(
				detail, ERR_KAFKA_TOPIC,
				"this client may not use the transactional id \"%s\": grant WRITE on it "
				"(kafka-acls.sh --add --allow-principal … --operation Write "
				"--transactional-id %s)",
				id.data, id.data);
		if (!rd_kafka_error_is_retriable(error) && !kafka_is_passing(code))
			return err_fail(detail, ERR_KAFKA_FATAL, "transactions cannot be used as \"%s\": %s",
					id.data, rd_kafka_error_string(error));
		if (redriver->options.stopping())
			return ERR_SHUTTING_DOWN;
		if (clock_monotonic_us() >= deadline_us)
			return kafka_no_answer(settings, timeout_ms, rd_kafka_error_string(error), detail);
	}
}

static err_t count_partitions(struct redriver *redriver, int timeout_ms, struct err_detail *detail)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t code =
		rd_kafka_metadata(redriver->client, 0, redriver->input, &metadata, timeout_ms);
	if (code)
		return kafka_no_answer(redriver->options.settings, timeout_ms, rd_kafka_err2str(code),
				       detail);
	redriver->input_partitions = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
	rd_kafka_metadata_destroy(metadata);
	return ERR_OK;
}

err_t redriver_new(const struct redriver_options *options, int timeout_ms, struct redriver **ret_redriver,
		   struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(redriver_cleanup) struct redriver *redriver = calloc(1, sizeof *redriver);
	if (!redriver)
		abort();
	redriver->options = *options;
	redriver->arena = arena_new();
	err_t err = build_conf(options->settings, &conf, detail);
	if (err)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &redriver->client, detail);
	if (err)
		return err;
	redriver->input = rd_kafka_topic_new(redriver->client, options->settings->input_topic, NULL);
	redriver->letters = rd_kafka_topic_new(redriver->client, options->settings->dead_letter_topic, NULL);
	if (!redriver->input || !redriver->letters)
		return err_fail(detail, ERR_KAFKA_TOPIC,
				"kafka.input_topic or kafka.dead_letter_topic is not a valid topic name");
	err = claim(redriver, timeout_ms, detail);
	if (!err)
		err = count_partitions(redriver, timeout_ms, detail);
	if (!err)
		*ret_redriver = TAKE_PTR(redriver);
	return err;
}

static void forget_batch(struct redriver *redriver)
{
	for (size_t i = 0; i < redriver->count; i++)
		if (redriver->batch[i].headers)
			rd_kafka_headers_destroy(redriver->batch[i].headers);
	redriver->count = redriver->bytes = 0;
	arena_free(redriver->arena);
	redriver->arena = arena_new();
}

/* Reports of deliveries point into the batch: they come before it goes. */
void redriver_free(struct redriver *redriver)
{
	if (!redriver)
		return;
	if (redriver->client) {
		rd_kafka_purge(redriver->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(redriver->client, CALL_MS);
	}
	if (redriver->input)
		rd_kafka_topic_destroy(redriver->input);
	if (redriver->letters)
		rd_kafka_topic_destroy(redriver->letters);
	kafka_client_close(redriver->client, CLOSE_MS);
	forget_batch(redriver);
	arena_free(redriver->arena);
	free(redriver->batch);
	free(redriver);
}

/* ---- errors ---- */

/* How a call has ended; AGAIN: it is to be made once more. */
enum redrive_step { STEP_DONE, STEP_CALL_AGAIN, STEP_ABORT, STEP_FAILED };

struct redrive_attempt {
	struct redriver *redriver;
	int64_t until_us; /* when patience ends */
	bool commit_asked;
	err_t err; /* of STEP_FAILED */
	struct err_detail *detail;
};

static void wait_a_moment(struct redriver *redriver)
{
	rd_kafka_poll(redriver->client, PAUSE_MS);
}

static bool patience_is_over(struct redrive_attempt *attempt)
{
	int64_t now_us = clock_monotonic_us();
	if (attempt->redriver->options.stopping() && attempt->until_us > now_us + STOPPING_MS * INT64_C(1000))
		attempt->until_us = now_us + STOPPING_MS * INT64_C(1000);
	return now_us >= attempt->until_us;
}

static enum redrive_step give_up(struct redrive_attempt *attempt, err_t err)
{
	attempt->err = err;
	attempt->redriver->in_doubt = attempt->commit_asked;
	return STEP_FAILED;
}

static enum redrive_step fail_lost(struct redrive_attempt *attempt, rd_kafka_resp_err_t code,
				   const char *reason)
{
	const struct kafka_settings *settings = attempt->redriver->options.settings;
	if (producer_is_fenced(code))
		return give_up(
			attempt,
			err_fail(attempt->detail, ERR_KAFKA_FENCED,
				 "another redrive of \"%s\" has taken over, or the broker was away for "
				 "longer than kafka.transaction_timeout_ms; what is left is put back by "
				 "that one, or by running this again",
				 settings->dead_letter_topic));
	return give_up(attempt, err_fail(attempt->detail, ERR_KAFKA_FATAL,
					 "the Kafka client failed permanently: %s; run it again", reason));
}

/* A client that has failed for good answers with whatever made it fail. */
static bool is_lost(struct redrive_attempt *attempt, enum redrive_step *ret_step)
{
	char reason[256];
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(attempt->redriver->client, reason, sizeof reason);
	if (!code)
		return false;
	*ret_step = fail_lost(attempt, code, reason);
	return true;
}

static enum redrive_step fail_right(struct redrive_attempt *attempt, const char *topic)
{
	return give_up(attempt,
		       err_fail(attempt->detail, ERR_KAFKA_TOPIC,
				"this client lacks WRITE on topic \"%s\"; grant it (kafka-acls.sh --add "
				"--allow-principal … --operation Write --topic %s)",
				topic, topic));
}

static enum redrive_step fail_silent(struct redrive_attempt *attempt, const char *reason)
{
	return give_up(attempt,
		       kafka_no_answer(attempt->redriver->options.settings,
				       attempt->redriver->options.patience_ms, reason, attempt->detail));
}

/* After an error of a call of the transaction. */
static enum redrive_step step_after(struct redrive_attempt *attempt, rd_kafka_error_t *error)
{
	_cleanup_(kafka_error_cleanup) rd_kafka_error_t *owned = error;
	enum redrive_step step;
	if (!error)
		return STEP_DONE;
	log_debug("redrive: %s", rd_kafka_error_string(owned));
	if (is_lost(attempt, &step))
		return step;
	if (rd_kafka_error_is_fatal(owned))
		return fail_lost(attempt, rd_kafka_error_code(owned), rd_kafka_error_string(owned));
	if (rd_kafka_error_txn_requires_abort(owned))
		return STEP_ABORT;
	if (patience_is_over(attempt))
		return fail_silent(attempt, rd_kafka_error_string(owned));
	if (!rd_kafka_error_is_retriable(owned) && rd_kafka_error_code(owned) != RD_KAFKA_RESP_ERR__TIMED_OUT)
		return STEP_ABORT;
	wait_a_moment(attempt->redriver);
	return STEP_CALL_AGAIN;
}

/* ---- a transaction ---- */

/* The messages point at what becomes of them. */
static rd_kafka_resp_err_t produce(struct redriver *redriver, rd_kafka_topic_t *topic, int32_t partition,
				   str_t key, str_t value, rd_kafka_headers_t *headers,
				   rd_kafka_resp_err_t *refusal)
{
	for (;;) {
		rd_kafka_headers_t *copy = rd_kafka_headers_copy(headers);
		rd_kafka_vu_t arguments[] = {
			{ .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic },
			{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
			{ .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition },
			{ .vtype = RD_KAFKA_VTYPE_KEY, .u.mem = { (void *)(uintptr_t)key.ptr, key.len } },
			{ .vtype = RD_KAFKA_VTYPE_VALUE,
			  .u.mem = { (void *)(uintptr_t)value.ptr, value.len } },
			{ .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = copy },
			{ .vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = refusal },
		};
		rd_kafka_error_t *error =
			rd_kafka_produceva(redriver->client, arguments, sizeof arguments / sizeof *arguments);
		if (!error)
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		rd_kafka_resp_err_t code = rd_kafka_error_code(error);
		rd_kafka_error_destroy(error);
		rd_kafka_headers_destroy(copy);
		if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return code;
		rd_kafka_poll(redriver->client, FLUSH_MS);
	}
}

static bool produce_events(struct redriver *redriver, struct redriven *batch, size_t count)
{
	for (size_t i = 0; i < count; i++)
		batch[i].refusal = RD_KAFKA_RESP_ERR_NO_ERROR;
	for (size_t i = 0; i < count; i++) {
		rd_kafka_resp_err_t code = produce(redriver, redriver->input, batch[i].to, batch[i].key,
						   batch[i].value, batch[i].headers, &batch[i].refusal);
		if (code) {
			batch[i].refusal = code;
			return false;
		}
		rd_kafka_poll(redriver->client, 0);
	}
	return true;
}

/* One for each partition that letters of the batch lie in. */
static bool produce_receipts(struct redriver *redriver, const struct redriven *batch, size_t count)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	int64_t *offsets = ARENA_ARRAY(arena, int64_t, count);
	bool *written = ARENA_ARRAY(arena, bool, count);
	redriver->receipt_refusal = RD_KAFKA_RESP_ERR_NO_ERROR;
	for (size_t i = 0; i < count; i++) {
		size_t offsets_count = 0;
		if (written[i])
			continue;
		for (size_t j = i; j < count; j++)
			if (batch[j].partition == batch[i].partition) {
				offsets[offsets_count++] = batch[j].offset;
				written[j] = true;
			}
		_cleanup_(buf_free) struct buf value = BUF_INIT;
		receipts_write(offsets, offsets_count, &value);
		rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
		rd_kafka_header_add(headers, header_name(HEADER_REDRIVE_RECEIPT), -1, RECEIPTS_VERSION, -1);
		rd_kafka_resp_err_t code = produce(redriver, redriver->letters, batch[i].partition, STR_NONE,
						   buf_str(&value), headers, &redriver->receipt_refusal);
		rd_kafka_headers_destroy(headers);
		if (code) {
			redriver->receipt_refusal = code;
			return false;
		}
	}
	return true;
}

/* The one of the batch that tells most, for another reason than that it fell with others. */
static rd_kafka_resp_err_t find_failure(const struct redriven *batch, size_t count, size_t *ret_place)
{
	rd_kafka_resp_err_t found = RD_KAFKA_RESP_ERR_NO_ERROR;
	for (size_t i = 0; i < count; i++) {
		if (!batch[i].refusal || (found && producer_is_consequence(batch[i].refusal)))
			continue;
		bool better =
			!found || producer_is_consequence(found) || producer_is_refusal(batch[i].refusal);
		if (!better)
			continue;
		found = batch[i].refusal;
		*ret_place = i;
	}
	return found;
}

/* Until the broker has all of it, or one has failed. */
static enum redrive_step flush(struct redrive_attempt *attempt, const struct redriven *batch, size_t count)
{
	struct redriver *redriver = attempt->redriver;
	enum redrive_step step;
	size_t place;
	while (rd_kafka_outq_len(redriver->client) > 0) {
		rd_kafka_flush(redriver->client, FLUSH_MS);
		if (is_lost(attempt, &step))
			return step;
		if (redriver->receipt_refusal || find_failure(batch, count, &place))
			return STEP_ABORT;
		if (patience_is_over(attempt))
			return STEP_ABORT;
	}
	return redriver->receipt_refusal || find_failure(batch, count, &place) ? STEP_ABORT : STEP_DONE;
}

static enum redrive_step abort_transaction(struct redrive_attempt *attempt)
{
	enum redrive_step step;
	/* what is on its way arrives before, and with it the reports of what was refused */
	rd_kafka_flush(attempt->redriver->client, FLUSH_MS * 10);
	attempt->commit_asked = false;
	do {
		step = step_after(attempt, rd_kafka_abort_transaction(attempt->redriver->client, CALL_MS));
		if (step == STEP_ABORT) { /* of no more use, but for what is said of it */
			if (patience_is_over(attempt))
				return fail_silent(attempt, "a transaction cannot be aborted");
			wait_a_moment(attempt->redriver);
			step = STEP_CALL_AGAIN;
		}
	} while (step == STEP_CALL_AGAIN);
	return step == STEP_DONE ? STEP_ABORT : step;
}

/* STEP_DONE: committed; STEP_ABORT: it is aborted, and refusals say why. */
static enum redrive_step run(struct redrive_attempt *attempt, struct redriven *batch, size_t count)
{
	struct redriver *redriver = attempt->redriver;
	enum redrive_step step;
	do {
		step = step_after(attempt, rd_kafka_begin_transaction(redriver->client));
	} while (step == STEP_CALL_AGAIN);
	if (step != STEP_DONE)
		return step;
	if (!produce_events(redriver, batch, count) || !produce_receipts(redriver, batch, count))
		step = STEP_ABORT;
	if (step == STEP_DONE)
		step = flush(attempt, batch, count);
	if (step == STEP_DONE) {
		attempt->commit_asked = true;
		do {
			step = step_after(attempt, rd_kafka_commit_transaction(redriver->client, CALL_MS));
		} while (step == STEP_CALL_AGAIN);
	}
	return step == STEP_ABORT ? abort_transaction(attempt) : step;
}

/* ---- batches ---- */

static void report(const struct redriver *redriver, const struct redriven *batch, size_t count,
		   const char *refused)
{
	for (size_t i = 0; i < count; i++)
		redriver->options.report(batch[i].partition, batch[i].offset, refused,
					 redriver->options.context);
}

static err_t put_back(struct redriver *redriver, struct redriven *batch, size_t count,
		      struct err_detail *detail);

/* What to do with a batch whose transaction was aborted. `*ret_again`: the same once more. */
static err_t heed_abort(struct redrive_attempt *attempt, struct redriven *batch, size_t count,
			unsigned *purges, bool *ret_again)
{
	struct redriver *redriver = attempt->redriver;
	const struct kafka_settings *settings = redriver->options.settings;
	size_t place = 0;
	rd_kafka_resp_err_t failure = find_failure(batch, count, &place);
	*ret_again = false;
	if (rights_are_missing(redriver->receipt_refusal) || rights_are_missing(failure)) {
		fail_right(attempt,
			   rights_are_missing(failure) ? settings->input_topic : settings->dead_letter_topic);
		return attempt->err;
	}
	if (producer_is_refusal(redriver->receipt_refusal))
		return err_fail(attempt->detail, ERR_KAFKA_TOPIC,
				"the topic \"%s\" does not take the receipts of a redrive: %s; it needs "
				"cleanup.policy = delete and room for messages of %zu bytes, or lower "
				"kafka.transaction_max_events",
				settings->dead_letter_topic, rd_kafka_err2str(redriver->receipt_refusal),
				count * 20);
	if (producer_is_refusal(failure) && count == 1) {
		report(redriver, batch, 1, rd_kafka_err2str(failure));
		return ERR_OK;
	}
	if (producer_is_refusal(failure)) {
		err_t err = put_back(redriver, batch, count / 2, attempt->detail);
		return err ? err : put_back(redriver, batch + count / 2, count - count / 2, attempt->detail);
	}
	const char *reason = failure			 ? rd_kafka_err2str(failure)
			     : redriver->receipt_refusal ? rd_kafka_err2str(redriver->receipt_refusal)
							 : "transactions are aborted";
	if (patience_is_over(attempt) || ++*purges > PURGES_MAX) {
		fail_silent(attempt, reason);
		return attempt->err;
	}
	wait_a_moment(redriver);
	*ret_again = true;
	return ERR_OK;
}

/* In one transaction, or in as many as it takes to leave out what is refused. */
static err_t put_back(struct redriver *redriver, struct redriven *batch, size_t count,
		      struct err_detail *detail)
{
	struct redrive_attempt attempt = { .redriver = redriver,
					   .until_us = clock_monotonic_us() +
						       INT64_C(1000) * redriver->options.patience_ms,
					   .detail = detail };
	unsigned purges = 0;
	bool again = count > 0;
	err_t err = ERR_OK;
	while (again && !err) {
		switch (run(&attempt, batch, count)) {
		case STEP_DONE:
			report(redriver, batch, count, NULL);
			return ERR_OK;
		case STEP_FAILED:
			return attempt.err;
		case STEP_ABORT:
		case STEP_CALL_AGAIN:
			err = heed_abort(&attempt, batch, count, &purges, &again);
			break;
		}
	}
	return err;
}

err_t redriver_commit(struct redriver *redriver, struct err_detail *detail)
{
	err_t err = put_back(redriver, redriver->batch, redriver->count, detail);
	if (!err)
		forget_batch(redriver);
	return err;
}

err_t redriver_add(struct redriver *redriver, const rd_kafka_message_t *message,
		   const struct dead_letter *letter, struct err_detail *detail)
{
	const struct kafka_settings *settings = redriver->options.settings;
	rd_kafka_headers_t *headers;
	err_t err = ERR_OK;
	size_t bytes = message->len + message->key_len;
	if (redriver->count > 0 && (redriver->count >= settings->transaction_max_events ||
				    redriver->bytes + bytes > settings->transaction_max_bytes))
		err = redriver_commit(redriver, detail);
	if (err)
		return err;
	if (redriver->count == redriver->capacity) {
		redriver->capacity = redriver->capacity ? 2 * redriver->capacity : 256;
		redriver->batch = reallocarray(redriver->batch, redriver->capacity, sizeof *redriver->batch);
		if (!redriver->batch)
			abort();
	}
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err_fail(detail, ERR_CONFLICT, "a dead letter has no headers");
	redriver->batch[redriver->count++] = (struct redriven){
		.partition = message->partition,
		.offset = message->offset,
		.to = letter->partition < redriver->input_partitions ? letter->partition
								     : RD_KAFKA_PARTITION_UA,
		.key = arena_text(redriver->arena, message->key, message->key_len),
		.value = arena_text(redriver->arena, message->payload, message->len),
		.headers = dead_letter_event_headers(headers, letter, settings->dead_letter_topic,
						     message->partition, message->offset),
	};
	redriver->bytes += bytes;
	return ERR_OK;
}
