#include "kafka/topic_reader.h"

#include "common/clock.h"

#include <time.h>

enum { POLL_MS = 200, BOUNDS_TIMEOUT_MS = 15000, SILENCE_MS = 60000, CLOSE_MS = 5000 };

/* It reads as fast as it can: what is asked next waits behind a fetch of what is not there, and a queue that
 * is full is looked at once a second. */
struct property {
	const char *name, *value;
};

enum { READING_COUNT = 5 };

static const struct property READING[READING_COUNT] = {
	{ "fetch.wait.max.ms", "10" },
	{ "fetch.max.bytes", "16777216" },
	{ "max.partition.fetch.bytes", "8388608" },
	{ "queued.max.messages.kbytes", "131072" },
	{ "queued.min.messages", "1000000" },
};

/* Answers are of compressed bytes, of which all is unpacked, also what lies behind the end of a short span.
 */
static const struct property SEARCHING[READING_COUNT] = {
	{ "fetch.wait.max.ms", "10" },
	{ "fetch.max.bytes", "1048576" },
	{ "max.partition.fetch.bytes", "524288" },
	{ "queued.max.messages.kbytes", "65536" },
	{ "queued.min.messages", "1000000" },
};

struct topic_reader {
	rd_kafka_t *consumer;
	char *servers;	  /* as the configuration names them */
	bool knows_times; /* the brokers: one has told an offset by a time */
};

static err_t make_reader(const struct kafka_settings *settings, const char *group_suffix,
			 const struct property properties[READING_COUNT], struct topic_reader **ret_reader,
			 struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	_cleanup_(topic_reader_cleanup) struct topic_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		abort();
	reader->servers = strdup(settings->bootstrap_servers);
	if (!reader->servers)
		abort();
	err_t err = kafka_conf_new_reader(settings, group_suffix, &conf, detail);
	for (size_t i = 0; !err && i < READING_COUNT; i++)
		err = kafka_conf_set(conf, properties[i].name, properties[i].value, detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &reader->consumer, detail);
	if (err)
		return err;
	rd_kafka_poll_set_consumer(reader->consumer);
	*ret_reader = TAKE_PTR(reader);
	return ERR_OK;
}

err_t topic_reader_new(const struct kafka_settings *settings, const char *group_suffix,
		       struct topic_reader **ret_reader, struct err_detail *detail)
{
	return make_reader(settings, group_suffix, READING, ret_reader, detail);
}

err_t topic_reader_new_searching(const struct kafka_settings *settings, const char *group_suffix,
				 struct topic_reader **ret_reader, struct err_detail *detail)
{
	return make_reader(settings, group_suffix, SEARCHING, ret_reader, detail);
}

void topic_reader_free(struct topic_reader *reader)
{
	if (!reader)
		return;
	if (reader->consumer) {
		rd_kafka_assign(reader->consumer, NULL);
		rd_kafka_consumer_close(reader->consumer);
		kafka_client_close(reader->consumer, CLOSE_MS);
	}
	free(reader->servers);
	free(reader);
}

/* ---- errors ---- */

static const char *describe(rd_kafka_resp_err_t code)
{
	if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		return "this client may not read it: grant READ on it (kafka-acls.sh --add "
		       "--allow-principal … --operation Read --topic …)";
	bool missing = code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
		       code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
		       code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
	return missing ? "there is no such topic at this broker, or not with that partition; correct its "
			 "name or "
			 "kafka.bootstrap_servers"
		       : rd_kafka_err2str(code);
}

/* What the library answers when nobody answers it, whatever is wrong. */
static bool is_silence(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
	       code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__WAIT_COORD;
}

/* Of a topic, or of one of its partitions unless that is below 0. */
static err_t fail(const struct topic_reader *reader, const char *topic, int32_t partition,
		  rd_kafka_resp_err_t code, struct err_detail *detail)
{
	const struct kafka_settings settings = { .bootstrap_servers = reader->servers };
	if (is_silence(code))
		return kafka_no_answer(&settings, BOUNDS_TIMEOUT_MS, rd_kafka_err2str(code), detail);
	if (partition < 0)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "%s: %s", topic, describe(code));
	return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "partition %d of %s: %s", (int)partition, topic,
			describe(code));
}

/* ---- bounds ---- */

struct passing {
	int64_t since_us;
};

/* Whether to ask again, in a moment: a partition has no leader right after its topic was made, or for as long
 * as another broker takes it over. */
static bool passes(struct passing *passing, rd_kafka_resp_err_t code)
{
	const struct timespec moment = { 0, 200 * 1000000 };
	if (code != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION &&
	    code != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
		return false;
	if (!passing->since_us)
		passing->since_us = clock_monotonic_us();
	if (clock_monotonic_us() - passing->since_us > INT64_C(1000) * BOUNDS_TIMEOUT_MS)
		return false;
	nanosleep(&moment, NULL);
	return true;
}

err_t topic_reader_bounds(struct topic_reader *reader, const char *topic, int32_t partition, int64_t *ret_low,
			  int64_t *ret_high, struct err_detail *detail)
{
	int64_t low, high;
	struct passing passing = { 0 };
	rd_kafka_resp_err_t code;
	do {
		code = rd_kafka_query_watermark_offsets(reader->consumer, topic, partition, &low, &high,
							BOUNDS_TIMEOUT_MS);
	} while (passes(&passing, code));
	if (code)
		return fail(reader, topic, partition, code, detail);
	*ret_low = low;
	*ret_high = high;
	return ERR_OK;
}

/* ---- spans ---- */

DEFINE_CLEANUP(rd_kafka_topic_t, handle_cleanup, rd_kafka_topic_destroy)

err_t topic_reader_partitions(struct topic_reader *reader, const char *topic, int *ret_count,
			      struct err_detail *detail)
{
	_cleanup_(handle_cleanup) rd_kafka_topic_t *handle =
		rd_kafka_topic_new(reader->consumer, topic, NULL);
	const struct rd_kafka_metadata *metadata = NULL;
	rd_kafka_resp_err_t code =
		handle ? rd_kafka_metadata(reader->consumer, 0, handle, &metadata, BOUNDS_TIMEOUT_MS)
		       : rd_kafka_last_error();
	if (code)
		return fail(reader, topic, -1, code, detail);
	err_t err = ERR_OK;
	if (metadata->topic_cnt != 1 || metadata->topics[0].err)
		err = err_fail(detail, ERR_KAFKA_TOPIC, "%s: %s", topic,
			       describe(metadata->topic_cnt == 1 ? metadata->topics[0].err
								 : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC));
	else
		*ret_count = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	return err;
}

/* Where records of that time begin in each partition of the list; below 0 where the broker says nowhere. */
static rd_kafka_resp_err_t ask_offsets(struct topic_reader *reader, rd_kafka_topic_partition_list_t *list,
				       int64_t since_ms)
{
	struct passing passing = { 0 };
	rd_kafka_resp_err_t code;
	do {
		for (int i = 0; i < list->cnt; i++)
			list->elems[i].offset = since_ms;
		code = rd_kafka_offsets_for_times(reader->consumer, list, BOUNDS_TIMEOUT_MS);
		for (int i = 0; !code && i < list->cnt; i++)
			code = list->elems[i].err;
	} while (passes(&passing, code));
	for (int i = 0; !code && i < list->cnt; i++)
		reader->knows_times |= list->elems[i].offset >= 0;
	return code;
}

/* A broker answers alike where nothing is that young and where it knows no offsets by time, as librdkafka's
 * own in memory: one that knows them has an answer for the first record that is kept. */
static rd_kafka_resp_err_t learn_whether_times_are_known(struct topic_reader *reader,
							 const struct topic_span *spans, size_t count)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)count);
	for (size_t i = 0; i < count; i++)
		if (spans[i].from < spans[i].until)
			rd_kafka_topic_partition_list_add(list, spans[i].topic, spans[i].partition);
	return list->cnt ? ask_offsets(reader, list, 1) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Begins each span, which has all that is kept, with the first record of that time; what has none ends where
 * it begins. Where the broker does not know, records are left out by their timestamps while they are read. */
static err_t move_to(struct topic_reader *reader, struct topic_span *spans, size_t count, int64_t since_ms,
		     struct err_detail *detail)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)count);
	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, spans[i].topic, spans[i].partition);
	rd_kafka_resp_err_t code = ask_offsets(reader, list, since_ms);
	if (!code && !reader->knows_times)
		code = learn_whether_times_are_known(reader, spans, count);
	if (code)
		return fail(reader, spans[0].topic, -1, code, detail);
	for (size_t i = 0; i < count; i++) {
		int64_t found = list->elems[i].offset;
		if (found >= 0 && found < spans[i].until)
			spans[i].from = found;
		else if (found >= 0 || reader->knows_times)
			spans[i].from = spans[i].until;
		else
			spans[i].since_ms = since_ms;
	}
	return ERR_OK;
}

err_t topic_reader_span(struct topic_reader *reader, const char *topic, int32_t partition, int64_t since_ms,
			struct topic_span *ret_span, struct err_detail *detail)
{
	struct topic_span span = { .topic = topic, .partition = partition };
	err_t err = topic_reader_bounds(reader, topic, partition, &span.from, &span.until, detail);
	if (!err && since_ms > 0)
		err = move_to(reader, &span, 1, since_ms, detail);
	if (!err)
		*ret_span = span;
	return err;
}

err_t topic_reader_spans(struct topic_reader *reader, const char *topic, int64_t since_ms,
			 struct arena *arena, struct topic_span **ret_spans, size_t *ret_count,
			 struct err_detail *detail)
{
	int count = 0;
	err_t err = topic_reader_partitions(reader, topic, &count, detail);
	if (err)
		return err;
	struct topic_span *spans = ARENA_ARRAY(arena, struct topic_span, (size_t)count);
	for (int i = 0; !err && i < count; i++) {
		spans[i] = (struct topic_span){ .topic = topic, .partition = i };
		err = topic_reader_bounds(reader, topic, i, &spans[i].from, &spans[i].until, detail);
	}
	if (!err && count > 0 && since_ms > 0)
		err = move_to(reader, spans, (size_t)count, since_ms, detail);
	if (err)
		return err;
	*ret_spans = spans;
	*ret_count = (size_t)count;
	return ERR_OK;
}

/* ---- reading ---- */

struct topic_reading {
	struct topic_span *spans;
	size_t count;
	size_t open; /* not read to their ends */
	topic_reader_take_fn take;
	void *context;
	int64_t heard_us; /* when the last record came */
};

static struct topic_span *find_span(const struct topic_reading *reading, const rd_kafka_message_t *message)
{
	const char *topic = message->rkt ? rd_kafka_topic_name(message->rkt) : "";
	for (size_t i = 0; i < reading->count; i++)
		if (reading->spans[i].partition == message->partition &&
		    strcmp(reading->spans[i].topic, topic) == 0)
			return &reading->spans[i];
	return NULL;
}

/* Nothing is left below its end: that can hold records of aborted transactions and marks of others only. */
static void end_span(struct topic_reading *reading, struct topic_span *span)
{
	span->from = span->until;
	reading->open--;
}

static err_t take_record(struct topic_reading *reading, struct topic_span *span,
			 const rd_kafka_message_t *message, struct err_detail *detail)
{
	err_t err = ERR_OK;
	if (message->offset < span->from)
		return ERR_OK;
	bool old = span->since_ms > 0 && kafka_written_ms(message) < span->since_ms;
	if (message->offset < span->until && !old)
		err = reading->take((size_t)(span - reading->spans), message, reading->context, detail);
	if (err)
		return err;
	span->from = message->offset + 1;
	if (span->from >= span->until)
		end_span(reading, span);
	return ERR_OK;
}

static err_t take_error(struct topic_reading *reading, struct topic_span *span,
			const rd_kafka_message_t *message, struct err_detail *detail)
{
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		if (span && span->from < span->until && message->offset >= span->until)
			end_span(reading, span);
		return ERR_OK;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED: /* the library asks for the group all the same */
		return ERR_OK;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		return err_fail(detail, ERR_CONFLICT, "records were deleted while they were read: %s",
				rd_kafka_message_errstr(message));
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		return err_fail(detail, ERR_KAFKA_TOPIC, "%s: %s",
				span ? span->topic : rd_kafka_topic_name(message->rkt),
				describe(message->err));
	default:
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "%s", rd_kafka_message_errstr(message));
	}
}

static err_t take_message(struct topic_reading *reading, const rd_kafka_message_t *message,
			  struct err_detail *detail)
{
	struct topic_span *span = find_span(reading, message);
	if (message->err)
		return take_error(reading, span, message, detail);
	reading->heard_us = clock_monotonic_us();
	return span && span->from < span->until ? take_record(reading, span, message, detail) : ERR_OK;
}

static err_t poll_once(struct topic_reader *reader, struct topic_reading *reading, struct err_detail *detail)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(reader->consumer, POLL_MS);
	err_t err = message ? take_message(reading, message, detail) : ERR_OK;
	if (message)
		rd_kafka_message_destroy(message);
	if (!err && clock_monotonic_us() - reading->heard_us > INT64_C(1000) * SILENCE_MS)
		err = kafka_no_answer(&(const struct kafka_settings){ .bootstrap_servers = reader->servers },
				      SILENCE_MS, "no record arrived", detail);
	return err;
}

err_t topic_reader_read(struct topic_reader *reader, struct topic_span *spans, size_t count,
			topic_reader_take_fn take, void *context, struct err_detail *detail)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)count);
	struct topic_reading reading = { spans, count, 0, take, context, clock_monotonic_us() };
	for (size_t i = 0; i < count; i++) {
		if (spans[i].from >= spans[i].until)
			continue;
		reading.open++;
		rd_kafka_topic_partition_list_add(list, spans[i].topic, spans[i].partition)->offset =
			spans[i].from;
	}
	if (reading.open == 0)
		return ERR_OK;
	rd_kafka_resp_err_t code = rd_kafka_assign(reader->consumer, list);
	if (code)
		return err_fail(detail, ERR_KAFKA_UNAVAILABLE, "partitions cannot be assigned: %s",
				rd_kafka_err2str(code));
	err_t err = ERR_OK;
	while (!err && reading.open > 0)
		err = poll_once(reader, &reading, detail);
	rd_kafka_assign(reader->consumer, NULL);
	return err;
}

err_t topic_reader_pass_deleted(struct topic_reader *reader, struct topic_span *spans, size_t count,
				struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < count; i++) {
		struct topic_span *span = &spans[i];
		int64_t low, high;
		if (span->from >= span->until)
			continue;
		err = topic_reader_bounds(reader, span->topic, span->partition, &low, &high, detail);
		if (err)
			break;
		if (high < span->until) /* it was made again, and is shorter */
			span->until = high;
		if (low > span->from || span->from > span->until)
			span->from = low < span->until ? low : span->until;
	}
	return err;
}
