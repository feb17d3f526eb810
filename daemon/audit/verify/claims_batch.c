#include "audit/verify/claims_batch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { NOTES_MAX = 4096, BYTES_MAX = 4 << 20, THREADS_MAX = 64, AT_ONCE = 16 };

struct claims_batch {
	struct log_claims_reader reader;
	claims_batch_take_fn *take;
	void *context;
	struct buf texts;
	size_t begins[NOTES_MAX + 1]; /* of each text, and the end */
	struct claims_batch_note notes[NOTES_MAX];
	size_t count;
	atomic_size_t next; /* to be verified */
};

struct claims_batch *claims_batch_new(const struct log_claims_reader *reader, claims_batch_take_fn *take,
				      void *context)
{
	struct claims_batch *batch = calloc(1, sizeof *batch);
	if (!batch)
		abort();
	batch->reader = *reader;
	batch->take = take;
	batch->context = context;
	return batch;
}

void claims_batch_free(struct claims_batch *batch)
{
	if (!batch)
		return;
	buf_free(&batch->texts);
	free(batch);
}

static void *verify(void *argument)
{
	struct claims_batch *batch = argument;
	for (size_t from; (from = atomic_fetch_add(&batch->next, AT_ONCE)) < batch->count;)
		for (size_t i = from; i < from + AT_ONCE && i < batch->count; i++) {
			struct claims_batch_note *note = &batch->notes[i];
			note->detail.message[0] = '\0';
			note->err = log_claims_read(&batch->reader, note->text, &note->partition,
						    &note->claim, &note->detail);
		}
	return NULL;
}

/* By this thread and as many more as there are processors and work for them. */
static void verify_all(struct claims_batch *batch)
{
	pthread_t threads[THREADS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t wanted = processors > 1 ? (size_t)processors - 1 : 0, started = 0;
	if (wanted > batch->count / AT_ONCE)
		wanted = batch->count / AT_ONCE;
	if (wanted > THREADS_MAX)
		wanted = THREADS_MAX;
	atomic_store(&batch->next, 0);
	while (started < wanted && pthread_create(&threads[started], NULL, verify, batch) == 0)
		started++;
	verify(batch);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

void claims_batch_end(struct claims_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		batch->notes[i].text = (str_t){ batch->texts.data + batch->begins[i],
						batch->begins[i + 1] - batch->begins[i] };
	verify_all(batch);
	for (size_t i = 0; i < batch->count; i++)
		batch->take(batch->context, &batch->notes[i]);
	batch->count = 0;
	buf_reset(&batch->texts);
}

void claims_batch_add(struct claims_batch *batch, str_t note, unsigned tag)
{
	batch->begins[batch->count] = batch->texts.len;
	buf_append_str(&batch->texts, note);
	batch->notes[batch->count++].tag = tag;
	batch->begins[batch->count] = batch->texts.len;
	if (batch->count == NOTES_MAX || batch->texts.len > BYTES_MAX)
		claims_batch_end(batch);
}
