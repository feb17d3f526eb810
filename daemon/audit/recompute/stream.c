#include "audit/recompute/stream.h"

#include "audit/recompute/print.h"
#include "common/pool.h"
#include "common/queue.h"

enum { BATCH_RECORDS = 64, BATCH_BYTES = 1 << 20, BATCHES_PER_THREAD = 4 };

/* Records that are next to each other. */
struct recompute_batch {
	struct list_node node;
	uint64_t number;
	struct buf bytes; /* of all messages, one behind the other */
	struct {
		size_t end; /* in `bytes` */
		bool fault; /* these say why there is no message */
		struct recompute_place place;
	} items[BATCH_RECORDS];
	size_t count;
	struct buf out;
};

struct recompute_stream {
	struct recompute_stream_options options;
	struct queue free, full; /* of batches */
	struct pool *pool;
	struct recompute_batch *current; /* of whoever adds; or NULL */
	uint64_t batches;		 /* handed over */
	pthread_mutex_t mutex;		 /* guards what follows */
	pthread_cond_t printed;
	uint64_t printed_count;
	struct recompute_totals totals;
};

/* ---- threads ---- */

static void add_report(const struct recompute_report *report, struct recompute_totals *totals)
{
	totals->recomputed += report->checked > 0;
	totals->checked += (int64_t)report->checked;
	totals->differing += report->differences_count > 0;
	totals->differences += (int64_t)report->differences_count;
	for (int gap = 0; gap < RECOMPUTE_GAP_COUNT_; gap++)
		totals->gaps[gap] += report->gaps[gap];
}

/* A line of `assayd score` for an event that it could not read. */
static bool is_refusal(str_t message)
{
	static const char start[] = "{\"error\":";
	return message.len >= sizeof start - 1 && memcmp(message.ptr, start, sizeof start - 1) == 0;
}

static void work_on(const struct recompute_stream_options *options, str_t message,
		    const struct recompute_place *place, struct buf *out, struct recompute_totals *totals)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct recompute_report report = { .arena = arena, .release = options->release };
	struct err_detail detail = { "" };
	struct scored_query *scored;
	if (is_refusal(message)) {
		totals->refused++;
		return;
	}
	err_t err = codec_decode_scored(options->codec, message.ptr, message.len, arena, &scored, &detail);
	if (codec_awaits_schema(err)) {
		if (totals->unavailable++ == 0)
			snprintf(totals->why.message, sizeof totals->why.message, "%s",
				 err_message(err, &detail));
		return;
	}
	if (err) {
		totals->unreadable++;
		recompute_print_fault(options->json, place, err_message(err, &detail), out);
		return;
	}
	totals->records++;
	recompute_record(scored, options->archive, options->targets, &report);
	add_report(&report, totals);
	if (report.differences_count > 0)
		recompute_print_differences(options->json, place, scored, &report, out);
}

static void work_on_batch(const struct recompute_stream_options *options, struct recompute_batch *batch,
			  struct recompute_totals *totals)
{
	size_t start = 0;
	for (size_t i = 0; i < batch->count; i++) {
		str_t text = { batch->bytes.data + start, batch->items[i].end - start };
		start = batch->items[i].end;
		if (batch->items[i].fault) {
			totals->unreadable++;
			recompute_print_fault(options->json, &batch->items[i].place, text.ptr, &batch->out);
		} else {
			text.len--; /* a NUL is behind it */
			work_on(options, text, &batch->items[i].place, &batch->out, totals);
		}
	}
}

static void add_totals(struct recompute_totals *to, const struct recompute_totals *part)
{
	to->records += part->records;
	to->recomputed += part->recomputed;
	to->checked += part->checked;
	to->differing += part->differing;
	to->differences += part->differences;
	to->unreadable += part->unreadable;
	if (to->unavailable == 0)
		to->why = part->why;
	to->unavailable += part->unavailable;
	to->refused += part->refused;
	for (int gap = 0; gap < RECOMPUTE_GAP_COUNT_; gap++)
		to->gaps[gap] += part->gaps[gap];
}

/* In the order in which they came: those before it are worked on, or done. */
static void print_batch(struct recompute_stream *stream, struct recompute_batch *batch,
			const struct recompute_totals *totals)
{
	pthread_mutex_lock(&stream->mutex);
	while (stream->printed_count < batch->number)
		pthread_cond_wait(&stream->printed, &stream->mutex);
	if (batch->out.len)
		fwrite(batch->out.data, 1, batch->out.len, stream->options.out);
	stream->printed_count++;
	add_totals(&stream->totals, totals);
	pthread_cond_broadcast(&stream->printed);
	pthread_mutex_unlock(&stream->mutex);
}

static void stream_main(void *context, unsigned index)
{
	struct recompute_stream *stream = context;
	(void)index;
	for (struct list_node *node; (node = queue_take(&stream->full, -1));) {
		struct recompute_batch *batch = container_of(node, struct recompute_batch, node);
		struct recompute_totals totals = { 0 };
		work_on_batch(&stream->options, batch, &totals);
		print_batch(stream, batch, &totals);
		queue_push(&stream->free, &batch->node);
	}
}

/* ---- who adds ---- */

struct recompute_stream *recompute_stream_start(const struct recompute_stream_options *options)
{
	struct recompute_stream *stream = calloc(1, sizeof *stream);
	if (!stream)
		abort();
	stream->options = *options;
	queue_init(&stream->free, false);
	queue_init(&stream->full, false);
	pthread_mutex_init(&stream->mutex, NULL);
	pthread_cond_init(&stream->printed, NULL);
	for (unsigned i = 0; i < BATCHES_PER_THREAD * options->threads; i++) {
		struct recompute_batch *batch = calloc(1, sizeof *batch);
		if (!batch)
			abort();
		queue_push(&stream->free, &batch->node);
	}
	stream->pool = pool_start("recompute", options->threads, stream_main, stream);
	return stream;
}

static void hand_over(struct recompute_stream *stream)
{
	struct recompute_batch *batch = TAKE_PTR(stream->current);
	if (!batch)
		return;
	batch->number = stream->batches++;
	queue_push(&stream->full, &batch->node);
}

static void add(struct recompute_stream *stream, str_t text, bool fault, struct recompute_place place)
{
	if (!stream->current) {
		stream->current = container_of(queue_take(&stream->free, -1), struct recompute_batch, node);
		stream->current->count = 0;
		buf_reset(&stream->current->bytes);
		buf_reset(&stream->current->out);
	}
	struct recompute_batch *batch = stream->current;
	buf_append_str(&batch->bytes, text);
	buf_append(&batch->bytes, "", 1);
	batch->items[batch->count].end = batch->bytes.len;
	batch->items[batch->count].fault = fault;
	batch->items[batch->count++].place = place;
	if (batch->count == BATCH_RECORDS || batch->bytes.len >= BATCH_BYTES)
		hand_over(stream);
}

void recompute_stream_add(struct recompute_stream *stream, str_t message, struct recompute_place place)
{
	add(stream, message, false, place);
}

void recompute_stream_add_fault(struct recompute_stream *stream, const char *why,
				struct recompute_place place)
{
	add(stream, str_from(why), true, place);
}

void recompute_stream_end(struct recompute_stream *stream, struct recompute_totals *ret_totals)
{
	struct list_node *node;
	hand_over(stream);
	queue_close(&stream->full);
	pool_join(stream->pool);
	while ((node = queue_take(&stream->free, 0))) {
		struct recompute_batch *batch = container_of(node, struct recompute_batch, node);
		buf_free(&batch->bytes);
		buf_free(&batch->out);
		free(batch);
	}
	*ret_totals = stream->totals;
	recompute_print_totals(stream->options.json, &stream->totals, stream->options.out);
	queue_destroy(&stream->free);
	queue_destroy(&stream->full);
	pthread_cond_destroy(&stream->printed);
	pthread_mutex_destroy(&stream->mutex);
	free(stream);
}
