#include "command/key_finder.h"

#include "common/pool.h"

#include <inttypes.h>

enum { READERS_MAX = 4, PART_MIN = 5000, PART_MAX = 80000, SHOW_MS = 100 };

/* Of a span, and where the key lies in it: from `first` to `last`, −1: nowhere. */
struct key_part {
	struct topic_span span;
	int64_t first, last;
};

struct key_finder {
	struct topic_reader *readers[READERS_MAX];
	unsigned readers_count;
	_Atomic uint64_t looked_at;
	/* of the search that runs */
	str_t key;
	struct key_part *parts; /* in the order of the search */
	size_t count;
	_Atomic size_t next;  /* that nobody has begun with */
	_Atomic size_t found; /* the first that has the key; `count`: none so far */
	_Atomic bool failed;
	err_t errors[READERS_MAX];
	struct err_detail details[READERS_MAX];
};

/* What a reader is at. */
struct key_reading {
	struct key_finder *finder;
	size_t part;
};

/* ---- life ---- */

err_t key_finder_new(const struct kafka_settings *settings, struct key_finder **ret_finder,
		     struct err_detail *detail)
{
	_cleanup_(key_finder_cleanup) struct key_finder *finder = calloc(1, sizeof *finder);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	err_t err = ERR_OK;
	if (!finder)
		abort();
	finder->readers_count = processors < 1		   ? 1
				: processors > READERS_MAX ? READERS_MAX
							   : (unsigned)processors;
	for (unsigned i = 0; !err && i < finder->readers_count; i++)
		err = topic_reader_new_searching(settings, KAFKA_CALIBRATION_SUFFIX, &finder->readers[i],
						 detail);
	if (!err)
		*ret_finder = TAKE_PTR(finder);
	return err;
}

void key_finder_free(struct key_finder *finder)
{
	if (!finder)
		return;
	for (unsigned i = 0; i < finder->readers_count; i++)
		topic_reader_free(finder->readers[i]);
	free(finder);
}

uint64_t key_finder_looked_at(const struct key_finder *finder)
{
	return finder->looked_at;
}

/* ---- parts ---- */

static void add_part(struct key_finder *finder, const struct topic_span *span, int64_t from, int64_t until,
		     size_t *capacity)
{
	if (finder->count == *capacity) {
		*capacity = *capacity ? 2 * *capacity : 64;
		finder->parts = reallocarray(finder->parts, *capacity, sizeof *finder->parts);
		if (!finder->parts)
			abort();
	}
	struct key_part *part = &finder->parts[finder->count++];
	*part = (struct key_part){ .span = *span, .first = -1, .last = -1 };
	part->span.from = from;
	part->span.until = until;
}

/* From the end, each twice as long as the one before. Returns how many offsets there are. */
static uint64_t divide(struct key_finder *finder, const struct topic_span *spans, size_t count)
{
	size_t capacity = 0;
	uint64_t offsets = 0;
	finder->count = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t step = PART_MIN, from;
		for (int64_t until = spans[i].until; until > spans[i].from; until = from) {
			from = until - step > spans[i].from ? until - step : spans[i].from;
			add_part(finder, &spans[i], from, until, &capacity);
			offsets += (uint64_t)(until - from);
			step = step * 2 < PART_MAX ? step * 2 : PART_MAX;
		}
	}
	return offsets;
}

/* ---- searching ---- */

static void note_found(struct key_finder *finder, size_t part)
{
	size_t found = atomic_load(&finder->found);
	while (part < found && !atomic_compare_exchange_weak(&finder->found, &found, part))
		;
}

static err_t take(size_t span, const rd_kafka_message_t *message, void *context, struct err_detail *detail)
{
	struct key_reading *reading = context;
	struct key_finder *finder = reading->finder;
	struct key_part *part = &finder->parts[reading->part];
	(void)span;
	(void)detail;
	finder->looked_at++;
	if (message->key && str_equal((str_t){ message->key, message->key_len }, finder->key)) {
		part->first = part->first < 0 ? message->offset : part->first;
		part->last = message->offset;
		note_found(finder, reading->part);
	}
	return finder->failed || atomic_load(&finder->found) < reading->part ? ERR_SHUTTING_DOWN : ERR_OK;
}

static void fail(struct key_finder *finder, unsigned index, err_t err)
{
	finder->errors[index] = err;
	finder->failed = true;
}

/* What is deleted meanwhile is not there. */
static err_t search_part(struct key_finder *finder, unsigned index, struct key_reading *reading)
{
	struct topic_reader *reader = finder->readers[index];
	struct err_detail *detail = &finder->details[index];
	struct topic_span span = finder->parts[reading->part].span;
	err_t err = topic_reader_read(reader, &span, 1, take, reading, detail);
	while (err == ERR_CONFLICT) {
		err = topic_reader_pass_deleted(reader, &span, 1, detail);
		if (!err)
			err = topic_reader_read(reader, &span, 1, take, reading, detail);
	}
	return err;
}

static void search_main(void *context, unsigned index)
{
	struct key_finder *finder = context;
	int partitions;
	/* librdkafka looks once a second for topics that are new to it, unless they are asked for */
	err_t err = topic_reader_partitions(finder->readers[index], finder->parts[0].span.topic, &partitions,
					    &finder->details[index]);
	if (err) {
		fail(finder, index, err);
		return;
	}
	for (;;) {
		struct key_reading reading = { finder, finder->next++ };
		if (reading.part >= finder->count || reading.part > atomic_load(&finder->found) ||
		    finder->failed)
			return;
		err = search_part(finder, index, &reading);
		if (err && err != ERR_SHUTTING_DOWN)
			fail(finder, index, err);
	}
}

static err_t failure_of(const struct key_finder *finder, struct err_detail *detail)
{
	for (unsigned i = 0; i < finder->readers_count; i++)
		if (finder->errors[i])
			return err_fail(detail, finder->errors[i], "%s", finder->details[i].message);
	return ERR_OK;
}

err_t key_finder_run(struct key_finder *finder, str_t key, const struct topic_span *spans, size_t count,
		     struct progress *progress, struct topic_span *ret_found, struct err_detail *detail)
{
	uint64_t before = finder->looked_at, offsets = divide(finder, spans, count);
	unsigned threads =
		finder->count < finder->readers_count ? (unsigned)finder->count : finder->readers_count;
	*ret_found = (struct topic_span){ 0 };
	finder->key = key;
	finder->next = 0;
	finder->found = finder->count;
	finder->failed = false;
	memset(finder->errors, 0, sizeof finder->errors);
	if (threads > 0) {
		struct pool *pool = pool_start("search", threads, search_main, finder);
		while (!pool_join_within(pool, SHOW_MS))
			progress_show(progress,
				      "%" PRIu64 " messages of %s looked at, of %" PRIu64 " at most",
				      finder->looked_at - before, spans[0].topic, offsets);
	}
	err_t err = failure_of(finder, detail);
	if (!err && finder->found < finder->count) {
		const struct key_part *part = &finder->parts[finder->found];
		*ret_found = part->span;
		ret_found->from = part->first;
		ret_found->until = part->last + 1;
	}
	free(TAKE_PTR(finder->parts));
	return err;
}
