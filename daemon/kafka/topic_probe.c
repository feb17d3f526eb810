#include "kafka/topic_probe.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/group.h"
#include "kafka/landmarks.h"

#include <pthread.h>

enum {
	POLL_MS = 100,
	READ_MS = 5000,	      /* of reading records */
	QUERY_MS = 2000,      /* of asking for ends, which a stop has to wait for */
	CONFIRM_MS = 1000,    /* between two looks at what seems to be another log */
	GROUP_MS = 1000,      /* of each question about the group, likewise */
	UNCOVERED_MS = 12000, /* until that is told: above the interval of librdkafka's own looks at topics */
	UNCOVERED_MAX_MS = 600000,
	CLIENT_CLOSE_MS = 1000,
	CLIENT_REST_MS = 20000, /* without a look in full, until the client is closed */
	MAX_BYTES = 16384,
	AHEAD_MESSAGES = 1000,
	AHEAD_KBYTES = 1024,
	FETCH_WAIT_MS = 10, /* of the broker: other requests wait behind one that waits for records */
};

struct topic_probe {
	const struct kafka_settings *settings;
	const char *topic_name;
	rd_kafka_t *reader;
	rd_kafka_topic_t *reader_topic;
	struct pool *pool;
	pthread_mutex_t asking; /* held by whoever uses what follows; taken before `mutex`, never within */
	rd_kafka_t *client;	/* NULL: at rest */
	rd_kafka_topic_t *topic;
	int64_t client_used_us;
	bool client_fails;	    /* and that was told */
	struct landmarks landmarks; /* the thread's */
	pthread_mutex_t mutex;	    /* guards what follows */
	pthread_cond_t changed;
	struct topic_probe_question *questions;
	size_t count;
	bool at_rest; /* see topic_probe_ask */
	bool asked;   /* and not looked for yet */
	struct topic_probe_answer *answers;
	size_t answers_count;
	bool answered; /* to what was asked last, and not taken */
	bool stopping;
	int32_t uncovered;	    /* negative: none */
	int64_t uncovered_since_us; /* or since it was told */
	int64_t patience_ms;
	int32_t coordinator;  /* the thread's: the broker to ask about the group, negative: not known */
	bool group_is_secret; /* the thread's: the broker cannot tell of groups */
};

static void *allocate(size_t count, size_t size)
{
	void *items = calloc(count + 1, size);
	if (!items)
		abort();
	return items;
}

static bool stops(struct topic_probe *topic_probe)
{
	pthread_mutex_lock(&topic_probe->mutex);
	bool stopping = topic_probe->stopping;
	pthread_mutex_unlock(&topic_probe->mutex);
	return stopping;
}

/* ---- the client ---- */

static err_t build_conf(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
			struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	/* what is not committed counts, too: all that is asked is which log it is */
	if (!err)
		err = kafka_conf_set(conf, "isolation.level", "read_uncommitted", detail);
	if (!err)
		err = kafka_conf_set(conf, "auto.offset.reset", "error", detail);
	if (!err)
		err = kafka_conf_set(conf, "enable.partition.eof", "true", detail);
	if (!err)
		err = kafka_conf_set_int(conf, "max.partition.fetch.bytes", MAX_BYTES, detail);
	/* librdkafka 2.0.2 puts a mark into the queue for each partition that is started: where that fills
	 * it, nothing is fetched until the broker's thread looks again, a second later */
	if (!err)
		err = kafka_conf_set_int(conf, "queued.min.messages", AHEAD_MESSAGES, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queued.max.messages.kbytes", AHEAD_KBYTES, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "fetch.wait.max.ms", FETCH_WAIT_MS, detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.max.bytes", (long long)settings->max_message_bytes,
					 detail);
	if (!err)
		err = kafka_conf_set_int(conf, "receive.message.max.bytes", kafka_response_limit(settings),
					 detail);
	if (!err)
		err = kafka_conf_set_liveness(conf, settings, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static err_t open_client(struct topic_probe *topic_probe, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	rd_kafka_t *client = NULL;
	err_t err = build_conf(topic_probe->settings, &conf, detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &client, detail);
	if (err)
		return err;
	topic_probe->topic = rd_kafka_topic_new(client, topic_probe->topic_name, NULL);
	if (!topic_probe->topic) {
		kafka_client_close(client, CLIENT_CLOSE_MS);
		return err_fail(detail, ERR_KAFKA_TOPIC, "topic \"%s\": %s", topic_probe->topic_name,
				rd_kafka_err2str(rd_kafka_last_error()));
	}
	topic_probe->client = client;
	return ERR_OK;
}

static void close_client(struct topic_probe *topic_probe)
{
	if (!topic_probe->client)
		return;
	rd_kafka_topic_destroy(TAKE_PTR(topic_probe->topic));
	kafka_client_close(TAKE_PTR(topic_probe->client), CLIENT_CLOSE_MS);
}

/* False: there is none, because one cannot be made anew. */
static bool use_client(struct topic_probe *topic_probe)
{
	struct err_detail detail;
	if (!topic_probe->client && open_client(topic_probe, &detail) != ERR_OK) {
		if (!topic_probe->client_fails)
			log_warning("it cannot be seen whether topic %s is still the one that was read: %s",
				    topic_probe->topic_name, detail.message);
		topic_probe->client_fails = true;
		return false;
	}
	topic_probe->client_fails = false;
	topic_probe->client_used_us = clock_monotonic_us();
	rd_kafka_poll(topic_probe->client, 0);
	return true;
}

/* Most of the time that a topic is read there is nothing new in it. */
static void let_client_rest(struct topic_probe *topic_probe)
{
	if (clock_monotonic_us() >= topic_probe->client_used_us + INT64_C(1000) * CLIENT_REST_MS)
		close_client(topic_probe);
}

/* ---- records ---- */

struct wanted {
	int32_t partition;
	int64_t offset;
	struct witness found; /* the first record from there on; sign 0: there is none */
	rd_kafka_resp_err_t err;
	bool done;
};

static void take_message(struct wanted *wanted, const rd_kafka_message_t *message)
{
	wanted->done = true;
	switch (message->err) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		wanted->found = (struct witness){ message->offset, witness_sign(message) };
		break;
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		break;
	default:
		wanted->err = message->err;
	}
}

/* Reads until each has its answer, or the deadline. */
static void collect(struct topic_probe *topic_probe, rd_kafka_queue_t *queue, struct wanted *wanted,
		    size_t count)
{
	size_t open = count;
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * READ_MS;
	while (open > 0 && clock_monotonic_us() < until_us && !stops(topic_probe)) {
		rd_kafka_message_t *message = rd_kafka_consume_queue(queue, POLL_MS);
		if (!message)
			continue;
		for (size_t i = 0; i < count; i++)
			if (wanted[i].partition == message->partition && !wanted[i].done) {
				take_message(&wanted[i], message);
				open--;
			}
		rd_kafka_message_destroy(message);
	}
}

/* The records at these places, at most one of a partition. */
static void read_records(struct topic_probe *topic_probe, struct wanted *wanted, size_t count)
{
	if (count == 0)
		return;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(topic_probe->client);
	for (size_t i = 0; i < count; i++) {
		wanted[i].err = RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (rd_kafka_consume_start_queue(topic_probe->topic, wanted[i].partition, wanted[i].offset,
						 queue) == 0)
			wanted[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	collect(topic_probe, queue, wanted, count);
	for (size_t i = 0; i < count; i++) {
		rd_kafka_consume_stop(topic_probe->topic, wanted[i].partition);
		if (!wanted[i].done && !wanted[i].err)
			wanted[i].err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	}
	rd_kafka_queue_destroy(queue);
}

/* ---- ends ---- */

/* The first or the last offsets. Partitions without a leader fail the whole request: the others are asked
 * anew. */
static void query(struct topic_probe *topic_probe, rd_kafka_topic_partition_list_t *list, int64_t which)
{
	for (int round = 0; round < 2 && !stops(topic_probe); round++) {
		_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *part =
			rd_kafka_topic_partition_list_new(list->cnt);
		for (int i = 0; i < list->cnt; i++)
			if (round == 0 || !list->elems[i].err)
				rd_kafka_topic_partition_list_add(part, topic_probe->topic_name,
								  list->elems[i].partition)
					->offset = which;
		rd_kafka_resp_err_t err =
			part->cnt ? rd_kafka_offsets_for_times(topic_probe->client, part, QUERY_MS) : 0;
		bool some_failed = false;
		for (int i = 0; i < part->cnt; i++) {
			rd_kafka_topic_partition_t *to = rd_kafka_topic_partition_list_find(
				list, topic_probe->topic_name, part->elems[i].partition);
			to->err = part->elems[i].err;
			some_failed |= to->err != RD_KAFKA_RESP_ERR_NO_ERROR;
			to->offset = err || to->err ? -1 : part->elems[i].offset;
		}
		if (!err)
			return;
		for (int i = 0; i < list->cnt && !some_failed; i++)
			list->elems[i].err = err;
		if (!some_failed)
			return;
	}
}

static void look_at_ends(struct topic_probe *topic_probe, struct topic_probe_answer *answers, size_t count)
{
	for (int side = 0; side < 2; side++) {
		_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
			rd_kafka_topic_partition_list_new((int)count);
		for (size_t i = 0; i < count; i++)
			rd_kafka_topic_partition_list_add(list, topic_probe->topic_name,
							  answers[i].question.partition);
		query(topic_probe, list, side ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING);
		for (size_t i = 0; i < count; i++) {
			*(side ? &answers[i].end : &answers[i].low) = list->elems[i].offset;
			if (list->elems[i].err)
				answers[i].err = list->elems[i].err;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (!answers[i].err && (answers[i].low < 0 || answers[i].end < 0))
			answers[i].err = RD_KAFKA_RESP_ERR__TIMED_OUT;
}

/* ---- what is there ---- */

/* The witness's place, or the first record where that was not enough. */
static bool wants(const struct topic_probe_answer *answer, const struct identity_sight *sight, bool first)
{
	struct witness witness = answer->question.witness;
	if (answer->err || answer->question.next < 0 || !witness.sign || answer->low >= answer->end)
		return false;
	if (first)
		return sight->there.sign != witness.sign && answer->low <= witness.offset;
	return answer->low <= witness.offset && witness.offset < answer->end;
}

static void look_at_records(struct topic_probe *topic_probe, struct topic_probe_answer *answers, size_t count,
			    struct identity_sight *sights, bool first)
{
	_cleanup_(cleanup_free) struct wanted *wanted = allocate(count, sizeof *wanted);
	_cleanup_(cleanup_free) size_t *places = allocate(count, sizeof *places);
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		if (!wants(&answers[i], &sights[i], first))
			continue;
		wanted[used] = (struct wanted){
			.partition = answers[i].question.partition,
			.offset = first ? answers[i].low : answers[i].question.witness.offset,
		};
		places[used++] = i;
	}
	read_records(topic_probe, wanted, used);
	for (size_t i = 0; i < used; i++) {
		struct identity_sight *sight = &sights[places[i]];
		answers[places[i]].err = wanted[i].err;
		if (first)
			sight->first = wanted[i].found;
		else if (wanted[i].found.offset == wanted[i].offset)
			sight->there = wanted[i].found;
	}
}

static void look(struct topic_probe *topic_probe, struct topic_probe_answer *answers, size_t count)
{
	_cleanup_(cleanup_free) struct identity_sight *sights = allocate(count, sizeof *sights);
	for (size_t i = 0; i < count; i++)
		answers[i].err = RD_KAFKA_RESP_ERR_NO_ERROR;
	look_at_ends(topic_probe, answers, count);
	look_at_records(topic_probe, answers, count, sights, false);
	look_at_records(topic_probe, answers, count, sights, true);
	for (size_t i = 0; i < count; i++) {
		struct topic_probe_answer *answer = &answers[i];
		sights[i].low = answer->low;
		sights[i].end = answer->end;
		answer->identity =
			answer->err ? IDENTITY_UNKNOWN
			: answer->question.next < 0
				? IDENTITY_SAME
				: identity_judge(answer->question.next, answer->question.witness, &sights[i]);
	}
}

static bool is_alarming(const struct topic_probe_answer *answer)
{
	return answer->identity != IDENTITY_SAME && answer->identity != IDENTITY_UNKNOWN;
}

/* Between two steps of a look records may go, and a new leader may not know the end at once: what alarms has
 * to be seen twice. */
static void look_twice(struct topic_probe *topic_probe, struct topic_probe_answer *answers, size_t count)
{
	_cleanup_(cleanup_free) struct topic_probe_answer *again = allocate(count, sizeof *again);
	bool alarming = false;
	if (!use_client(topic_probe)) {
		for (size_t i = 0; i < count; i++)
			answers[i] = (struct topic_probe_answer){
				.question = answers[i].question,
				.identity = IDENTITY_UNKNOWN,
				.err = RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE,
				.low = -1,
				.end = -1,
			};
		return;
	}
	look(topic_probe, answers, count);
	for (size_t i = 0; i < count; i++) {
		again[i].question = answers[i].question;
		alarming |= is_alarming(&answers[i]);
	}
	if (!alarming || stops(topic_probe))
		return;
	usleep(CONFIRM_MS * 1000);
	look(topic_probe, again, count);
	for (size_t i = 0; i < count; i++) {
		if (is_alarming(&answers[i]) && is_alarming(&again[i]) &&
		    answers[i].identity != again[i].identity)
			again[i].identity = IDENTITY_UNKNOWN;
		if (is_alarming(&answers[i]))
			answers[i] = again[i];
	}
}

/* At rest the look of before stands for as long as its landmarks do. */
static void answer(struct topic_probe *topic_probe, struct topic_probe_answer *answers, size_t count,
		   bool at_rest)
{
	int64_t *offsets = at_rest ? landmarks_ask(topic_probe->reader, topic_probe->topic_name, answers,
						   count, QUERY_MS)
				   : NULL;
	if (landmarks_tell(&topic_probe->landmarks, offsets, answers, count, clock_monotonic_us())) {
		free(offsets);
		return;
	}
	look_twice(topic_probe, answers, count);
	landmarks_keep(&topic_probe->landmarks, offsets, answers, count, clock_monotonic_us());
}

size_t topic_probe_count_present(struct topic_probe *topic_probe, int32_t partition,
				 const struct witness *arrivals, size_t count, int64_t timeout_ms)
{
	size_t low = 0, high = count; /* the first that is present is among them, or `count` */
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * timeout_ms;
	pthread_mutex_lock(&topic_probe->asking);
	bool usable = use_client(topic_probe);
	while (usable && low < high && clock_monotonic_us() < until_us && !stops(topic_probe)) {
		size_t middle = low + (high - low) / 2;
		struct wanted wanted = { .partition = partition, .offset = arrivals[middle].offset };
		read_records(topic_probe, &wanted, 1);
		if (wanted.err)
			continue;
		if (wanted.found.offset == wanted.offset && wanted.found.sign == arrivals[middle].sign)
			high = middle;
		else
			low = middle + 1;
	}
	pthread_mutex_unlock(&topic_probe->asking);
	return low < high ? 0 : count - low;
}

/* ---- the group ---- */

static void look_at_group(struct topic_probe *topic_probe)
{
	struct group_coverage coverage;
	if (topic_probe->group_is_secret || stops(topic_probe))
		return;
	bool own = topic_probe->client != NULL;
	group_look(own ? topic_probe->client : topic_probe->reader,
		   own ? topic_probe->topic : topic_probe->reader_topic, topic_probe->settings, GROUP_MS,
		   &topic_probe->coordinator, &coverage);
	topic_probe->group_is_secret = coverage.err == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
	if (coverage.err) { /* the reader's answers may come too late, behind those to its fetches */
		landmarks_clear(&topic_probe->landmarks);
		return;
	}
	pthread_mutex_lock(&topic_probe->mutex);
	if (coverage.at_rest && coverage.uncovered < 0)
		topic_probe->patience_ms = UNCOVERED_MS;
	bool ours = coverage.uncovered >= 0 && coverage.first;
	if (ours && topic_probe->uncovered < 0)
		topic_probe->uncovered_since_us = clock_monotonic_us();
	topic_probe->uncovered = ours ? coverage.uncovered : -1;
	pthread_mutex_unlock(&topic_probe->mutex);
}

int32_t topic_probe_take_uncovered(struct topic_probe *topic_probe)
{
	int32_t partition = -1;
	int64_t now_us = clock_monotonic_us();
	pthread_mutex_lock(&topic_probe->mutex);
	if (topic_probe->uncovered >= 0 &&
	    now_us >= topic_probe->uncovered_since_us + INT64_C(1000) * topic_probe->patience_ms) {
		partition = topic_probe->uncovered;
		topic_probe->uncovered = -1;
		topic_probe->patience_ms *= 2;
		if (topic_probe->patience_ms > UNCOVERED_MAX_MS)
			topic_probe->patience_ms = UNCOVERED_MAX_MS;
	}
	pthread_mutex_unlock(&topic_probe->mutex);
	return partition;
}

/* ---- the thread ---- */

/* The questions, to be answered in place; NULL: the thread ends. */
static struct topic_probe_answer *await_questions(struct topic_probe *topic_probe, size_t *ret_count,
						  bool *ret_at_rest)
{
	struct topic_probe_answer *answers = NULL;
	pthread_mutex_lock(&topic_probe->mutex);
	while (!topic_probe->asked && !topic_probe->stopping)
		pthread_cond_wait(&topic_probe->changed, &topic_probe->mutex);
	if (!topic_probe->stopping) {
		answers = allocate(topic_probe->count, sizeof *answers);
		for (size_t i = 0; i < topic_probe->count; i++)
			answers[i].question = topic_probe->questions[i];
		*ret_count = topic_probe->count;
		*ret_at_rest = topic_probe->at_rest;
		topic_probe->asked = false;
	}
	pthread_mutex_unlock(&topic_probe->mutex);
	return answers;
}

static void hand_over(struct topic_probe *topic_probe, struct topic_probe_answer *answers, size_t count)
{
	pthread_mutex_lock(&topic_probe->mutex);
	if (topic_probe->asked) { /* something else, meanwhile */
		free(answers);
	} else {
		free(topic_probe->answers);
		topic_probe->answers = answers;
		topic_probe->answers_count = count;
		topic_probe->answered = true;
		pthread_cond_broadcast(&topic_probe->changed);
		if (!topic_probe->stopping)
			kafka_end_poll(topic_probe->reader);
	}
	pthread_mutex_unlock(&topic_probe->mutex);
}

static void topic_probe_main(void *context, unsigned index)
{
	struct topic_probe *topic_probe = context;
	struct topic_probe_answer *answers;
	size_t count;
	bool at_rest;
	(void)index;
	while ((answers = await_questions(topic_probe, &count, &at_rest))) {
		pthread_mutex_lock(&topic_probe->asking);
		answer(topic_probe, answers, count, at_rest);
		hand_over(topic_probe, answers, count);
		look_at_group(topic_probe);
		let_client_rest(topic_probe);
		pthread_mutex_unlock(&topic_probe->asking);
	}
}

void topic_probe_ask(struct topic_probe *topic_probe, const struct topic_probe_question *questions,
		     size_t count, bool at_rest)
{
	struct topic_probe_question *copy = allocate(count, sizeof *copy);
	if (count)
		memcpy(copy, questions, count * sizeof *copy);
	pthread_mutex_lock(&topic_probe->mutex);
	free(topic_probe->questions);
	topic_probe->questions = copy;
	topic_probe->count = count;
	topic_probe->at_rest = at_rest;
	topic_probe->asked = true;
	topic_probe->answered = false;
	pthread_cond_broadcast(&topic_probe->changed);
	pthread_mutex_unlock(&topic_probe->mutex);
}

bool topic_probe_take(struct topic_probe *topic_probe, int64_t timeout_ms,
		      struct topic_probe_answer **ret_answers, size_t *ret_count)
{
	struct timespec deadline = clock_deadline_after(timeout_ms);
	pthread_mutex_lock(&topic_probe->mutex);
	while (timeout_ms > 0 && !topic_probe->answered)
		if (pthread_cond_timedwait(&topic_probe->changed, &topic_probe->mutex, &deadline) != 0)
			break;
	bool taken = topic_probe->answered;
	if (taken) {
		*ret_answers = TAKE_PTR(topic_probe->answers);
		*ret_count = topic_probe->answers_count;
		topic_probe->answered = false;
	}
	pthread_mutex_unlock(&topic_probe->mutex);
	return taken;
}

/* ---- life ---- */

err_t topic_probe_start(const struct kafka_settings *settings, const char *topic, rd_kafka_t *reader,
			struct topic_probe **ret_topic_probe, struct err_detail *detail)
{
	struct topic_probe *topic_probe = allocate(1, sizeof *topic_probe);
	topic_probe->settings = settings;
	topic_probe->topic_name = topic;
	topic_probe->uncovered = -1;
	topic_probe->coordinator = -1;
	topic_probe->patience_ms = UNCOVERED_MS;
	err_t err = open_client(topic_probe, detail);
	if (err) {
		free(topic_probe);
		return err;
	}
	topic_probe->reader = reader;
	topic_probe->reader_topic = rd_kafka_topic_new(reader, topic, NULL);
	if (!topic_probe->reader_topic)
		abort();
	pthread_mutex_init(&topic_probe->asking, NULL);
	pthread_mutex_init(&topic_probe->mutex, NULL);
	clock_cond_init(&topic_probe->changed);
	topic_probe->pool = pool_start("topic-probe", 1, topic_probe_main, topic_probe);
	*ret_topic_probe = topic_probe;
	return ERR_OK;
}

void topic_probe_close(struct topic_probe *topic_probe)
{
	pthread_mutex_lock(&topic_probe->mutex);
	topic_probe->stopping = true;
	pthread_cond_broadcast(&topic_probe->changed);
	pthread_mutex_unlock(&topic_probe->mutex);
}

void topic_probe_stop(struct topic_probe *topic_probe)
{
	if (!topic_probe)
		return;
	topic_probe_close(topic_probe);
	pool_join(topic_probe->pool);
	close_client(topic_probe);
	rd_kafka_topic_destroy(topic_probe->reader_topic);
	landmarks_clear(&topic_probe->landmarks);
	pthread_cond_destroy(&topic_probe->changed);
	pthread_mutex_destroy(&topic_probe->mutex);
	pthread_mutex_destroy(&topic_probe->asking);
	free(topic_probe->questions);
	free(topic_probe->answers);
	free(topic_probe);
}
