/*
 * Files of past records: whatever they hold, reading ends, and what was read can be replayed and printed. The
 * first byte chooses: even ones are a file as it is; odd ones are the records of a container of our schema,
 * in blocks of as many records as the second byte says.
 */
#include "avro/builtin.h"
#include "calibration/replay/replay_file.h"
#include "calibration/replay/replay_print.h"
#include "tests/harness/fixtures/avro_container.h"

#include <assert.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD_MAX ((size_t)1 << 16)

static void append_container(struct buf *out, int records, const uint8_t *data, size_t size)
{
	avro_container_append_head(out, builtin_schema(RECORD_SCORED), NULL);
	avro_container_append_block(out, records, (str_t){ (const char *)data, size });
}

static void print_all(const struct replay *replay, const struct replay_rules *rules)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct replay_faults none = { 0 };
	struct replay_result result;
	char *text = NULL;
	size_t len;
	replay_finish(replay, RANKING_WISH, arena, &result);
	FILE *stream = open_memstream(&text, &len);
	if (!stream)
		abort();
	replay_print_text(stream, rules, &result, &none);
	replay_print_json(stream, rules, &result, &none);
	fclose(stream);
	free(text);
}

static void read_all(struct replay_file *file, struct replay *replay)
{
	bool end = false;
	while (!end) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct scored_query *scored = NULL;
		struct err_detail detail = { "" };
		err_t fault;
		int64_t place = replay_file_place(file);
		if (replay_file_next(file, arena, &scored, &end, &fault, &detail))
			return;
		assert(end || replay_file_place(file) > place);
		assert(end || fault || scored);
		if (!end && !fault)
			replay_add(replay, scored, NULL);
	}
}

static struct codec *new_codec(void)
{
	const struct codec_options options = { .max_event_bytes = RECORD_MAX, .max_items = 1000 };
	struct codec *codec;
	if (codec_new(&options, &codec, NULL))
		abort();
	return codec;
}

/* `codec` learns the schema of a container. */
static void replay_content(const struct buf *content, struct codec *codec)
{
	static const struct replay_rules rules = {
		.factors = { FACTOR_TECHNICAL, FACTOR_ADVISORY, FACTOR_GENERATOR, FACTOR_AGREEMENT },
		.factors_count = 4,
		.technical_alone = SCORE_MEDIUM,
		.thresholds = { 0.9, 0.7, 0.5 },
	};
	_cleanup_(replay_file_cleanup) struct replay_file *file = NULL;
	_cleanup_(replay_cleanup) struct replay *replay = replay_new(&rules);
	struct err_detail detail = { "" };
	char path[64];
	int fd = memfd_create("records", 0);
	if (fd < 0 || write(fd, content->data, content->len) != (ssize_t)content->len)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (replay_file_open(path, codec, RECORD_MAX, &file, &detail) == ERR_OK) {
		read_all(file, replay);
		print_all(replay, &rules);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct codec *shared; /* that has our schemas alone; one takes long to make */
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	if (size < 2)
		return 0;
	if (!shared)
		shared = new_codec();
	if (data[0] % 2)
		append_container(&content, data[1], data + 2, size - 2);
	else
		buf_append(&content, data + 1, size - 1);
	if (data[0] % 2 || data[1] != 'O') {
		replay_content(&content, shared);
	} else {
		_cleanup_(codec_cleanup) struct codec *codec = new_codec();
		replay_content(&content, codec);
	}
	return 0;
}
