#include "kafka/stops.h"

#include "common/clock.h"
#include "common/log.h"
#include "kafka/rights.h"

/* Offsets can be set while a group has no members only; one with a name stays one until its session is over.
 */
static void append_reset(const struct kafka_settings *settings, const struct stop *stop, const char *to,
			 struct buf *out)
{
	buf_printf(out,
		   "stop all instances, wait %g s (kafka.session_timeout_ms), run: kafka-consumer-groups.sh "
		   "--bootstrap-server %s --group %s --topic %s:%d --reset-offsets %s --execute, start them",
		   settings->session_timeout_ms / 1000.0, settings->bootstrap_servers, settings->group_id,
		   settings->input_topic, (int)stop->partition, to);
}

static void append_deleted(const struct kafka_settings *settings, const struct stop *stop, struct buf *out)
{
	buf_printf(out,
		   "the topic begins at offset %lld: the events from offset %lld to %lld were deleted before "
		   "they were read; to continue with the remaining events, ",
		   (long long)stop->low, (long long)stop->next, (long long)stop->low - 1);
	append_reset(settings, stop, "--to-earliest", out);
}

static void append_diverged(const struct kafka_settings *settings, const struct stop *stop, struct buf *out)
{
	buf_printf(out, "all offsets below %lld were read, but ", (long long)stop->next);
	if (stop->end >= 0 && stop->end < stop->next)
		buf_printf(out, "the topic ends at %lld", (long long)stop->end);
	else
		buf_append_text(out, "other events are at these offsets now");
	buf_append_text(out, "; if the topic was deleted and created again, ");
	append_reset(settings, stop, "--to-earliest", out);
	buf_append_text(out, "; if the broker lost the end of the topic, do the same with --to-latest");
}

static void append_map(const struct kafka_settings *settings, const struct stop *stop, struct buf *out)
{
	char to[64];
	snprintf(to, sizeof to, "--to-offset %lld", (long long)stop->next);
	buf_printf(
		out,
		"the metadata of its committed offset %lld cannot be read (written by a newer version?); run "
		"that version, or, to process all events from there on, even if they were finished before, ",
		(long long)stop->next);
	append_reset(settings, stop, to, out);
}

static void append_reason(const struct kafka_settings *settings, const struct stop *stop, struct buf *out)
{
	const char *error = stop->err ? rd_kafka_err2str((rd_kafka_resp_err_t)stop->err) : "no answer";
	switch (stop->reason) {
	case STOP_DELETED:
		append_deleted(settings, stop, out);
		return;
	case STOP_DIVERGED:
		append_diverged(settings, stop, out);
		return;
	case STOP_MAP:
		append_map(settings, stop, out);
		return;
	case STOP_LETTERS:
		buf_printf(out,
			   "an event of it cannot be published, not even as a dead letter; correct the topic "
			   "\"%s\" or the permissions on it, and the partition resumes by itself",
			   settings->dead_letter_topic);
		return;
	case STOP_UNREADABLE:
		buf_printf(out,
			   "a batch of messages cannot be decompressed, because it is damaged or too large "
			   "when decompressed (%s); to skip it, ",
			   error);
		append_reset(settings, stop, "--to-offset N", out);
		buf_append_text(out, ", where N is the offset after it");
		return;
	case STOP_FETCH:
		if (rights_are_missing((rd_kafka_resp_err_t)stop->err)) {
			right_describe(settings, RIGHT_READ_INPUT, out);
			return;
		}
		buf_printf(out,
			   "the broker refuses to read it (%s); correct that, and the partition resumes by "
			   "itself",
			   error);
		return;
	}
}

static void append_stop(const struct kafka_settings *settings, const struct stop *stop, struct buf *out)
{
	if (stop->partition == STOP_ALL)
		buf_printf(out, "topic %s cannot be read: ", settings->input_topic);
	else
		buf_printf(out, "partition %d of %s is stopped: ", (int)stop->partition,
			   settings->input_topic);
	append_reason(settings, stop, out);
}

/* ---- the table ---- */

void stops_init(struct stops *stops, const struct kafka_settings *settings)
{
	*stops = (struct stops){ .settings = settings };
	pthread_mutex_init(&stops->mutex, NULL);
}

void stops_destroy(struct stops *stops)
{
	pthread_mutex_destroy(&stops->mutex);
	free(stops->items);
}

static struct stop *find(const struct stops *stops, int32_t partition)
{
	for (size_t i = 0; i < stops->count; i++)
		if (stops->items[i].partition == partition)
			return &stops->items[i];
	return NULL;
}

static struct stop *add(struct stops *stops, int32_t partition)
{
	size_t place = 0;
	struct stop *larger = reallocarray(stops->items, stops->count + 1, sizeof *larger);
	if (!larger)
		abort();
	stops->items = larger;
	while (place < stops->count && larger[place].partition < partition)
		place++;
	memmove(&larger[place + 1], &larger[place], (stops->count - place) * sizeof *larger);
	stops->count++;
	return &larger[place];
}

static void take_out(struct stops *stops, struct stop *item)
{
	size_t place = (size_t)(item - stops->items);
	stops->count--;
	memmove(item, item + 1, (stops->count - place) * sizeof *item);
}

void stops_set(struct stops *stops, const struct stop *stop)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	pthread_mutex_lock(&stops->mutex);
	struct stop *item = find(stops, stop->partition);
	int64_t since_ms = item ? item->since_ms : clock_wall_ms();
	bool fresh = !item || item->reason != stop->reason;
	if (!item)
		item = add(stops, stop->partition);
	*item = *stop;
	item->since_ms = since_ms;
	item->confirmed = true;
	if (fresh)
		append_stop(stops->settings, item, &text);
	pthread_mutex_unlock(&stops->mutex);
	/* the publisher, or the watch over rights, has told of these */
	if (fresh && stop->reason != STOP_LETTERS && !rights_are_missing((rd_kafka_resp_err_t)stop->err))
		log_write(stop->reason == STOP_FETCH ? LOG_LEVEL_WARNING : LOG_LEVEL_CRITICAL, NULL, "%s",
			  text.data);
}

bool stops_lift(struct stops *stops, int32_t partition, enum stop_reason reason)
{
	pthread_mutex_lock(&stops->mutex);
	struct stop *item = find(stops, partition);
	bool had = item && item->reason == reason;
	if (had)
		take_out(stops, item);
	pthread_mutex_unlock(&stops->mutex);
	return had;
}

bool stops_find(struct stops *stops, int32_t partition, struct stop *ret_stop)
{
	pthread_mutex_lock(&stops->mutex);
	const struct stop *item = find(stops, partition);
	if (item)
		*ret_stop = *item;
	pthread_mutex_unlock(&stops->mutex);
	return item != NULL;
}

void stops_doubt(struct stops *stops)
{
	pthread_mutex_lock(&stops->mutex);
	for (size_t i = 0; i < stops->count; i++)
		stops->items[i].confirmed = false;
	pthread_mutex_unlock(&stops->mutex);
}

void stops_settle(struct stops *stops)
{
	_cleanup_(buf_free) struct buf gone = BUF_INIT;
	size_t kept = 0;
	pthread_mutex_lock(&stops->mutex);
	for (size_t i = 0; i < stops->count; i++)
		if (stops->items[i].confirmed || stops->items[i].partition == STOP_ALL)
			stops->items[kept++] = stops->items[i];
		else
			buf_printf(&gone, "%s%d", gone.len ? ", " : "", (int)stops->items[i].partition);
	stops->count = kept;
	pthread_mutex_unlock(&stops->mutex);
	if (gone.len)
		log_notice("no longer stopped here: partition %s of %s", gone.data,
			   stops->settings->input_topic);
}

/* Others are fetched, or would be, so that the lag counts them. */
static uint64_t behind(const struct stop *stop)
{
	int64_t from = stop->next > stop->low ? stop->next : stop->low;
	bool unknown = stop->reason > STOP_MAP || stop->end < 0;
	return unknown || stop->end <= from ? 0 : (uint64_t)(stop->end - from);
}

void stops_sum(struct stops *stops, struct stops_sum *ret_sum)
{
	*ret_sum = (struct stops_sum){ .oldest_ms = INT64_MAX };
	pthread_mutex_lock(&stops->mutex);
	for (size_t i = 0; i < stops->count; i++) {
		const struct stop *item = &stops->items[i];
		ret_sum->any = true;
		ret_sum->partitions += item->partition != STOP_ALL;
		ret_sum->behind += behind(item);
		if (item->since_ms < ret_sum->oldest_ms)
			ret_sum->oldest_ms = item->since_ms;
	}
	pthread_mutex_unlock(&stops->mutex);
}

void stops_describe(struct stops *stops, size_t most, struct buf *out)
{
	pthread_mutex_lock(&stops->mutex);
	for (size_t i = 0; i < stops->count && i < most; i++) {
		append_stop(stops->settings, &stops->items[i], out);
		buf_append_char(out, '\n');
	}
	if (stops->count > most)
		buf_printf(out, "and %zu more\n", stops->count - most);
	pthread_mutex_unlock(&stops->mutex);
}
