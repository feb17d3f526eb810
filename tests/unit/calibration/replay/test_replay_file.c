/* Files of records: lines of JSON and Avro containers, as they are and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calibration/replay/replay_file.h"
#include "tests/harness/fixtures/avro_container.h"
#include "tests/harness/fixtures/long_run.h"

#include <sys/resource.h>
#include <zlib.h>

#define SEED   ASSAYD_SOURCE_DIR "/tests/fuzz/seeds/fuzz_avro_json/scored"
#define SCHEMA ASSAYD_SOURCE_DIR "/schemas/scored_query.avsc"

#define RECORD_MAX	   ((size_t)1 << 20)
#define SINGLE_OBJECT_HEAD 10

static char path[] = "/tmp/assayd-records-XXXXXX";
static struct buf record_json; /* one line */
static struct buf record_avro; /* of the present schema */
static struct buf schema_text;

static void read_all(const char *name, struct buf *to)
{
	FILE *file = fopen(name, "re");
	assert_non_null(file);
	size_t got;
	while ((got = fread(buf_reserve(to, 65536), 1, 65536, file)) > 0)
		to->len += got;
	fclose(file);
}

static struct codec *new_codec(void)
{
	struct codec *codec;
	const struct codec_options options = { .max_event_bytes = RECORD_MAX };
	assert_int_equal(codec_new(&options, &codec, NULL), ERR_OK);
	return codec;
}

static int prepare(void **state)
{
	(void)state;
	_cleanup_(codec_cleanup) struct codec *codec = new_codec();
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf seed = BUF_INIT, message = BUF_INIT;
	struct scored_query *scored;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	read_all(SEED, &seed);
	read_all(SCHEMA, &schema_text);
	assert_int_equal(codec_decode_scored(codec, seed.data + 1, seed.len - 1, arena, &scored, NULL),
			 ERR_OK);
	codec_json_scored(scored, &record_json);
	assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
	buf_append(&record_avro, message.data + SINGLE_OBJECT_HEAD, message.len - SINGLE_OBJECT_HEAD);
	return 0;
}

static int tidy_up(void **state)
{
	(void)state;
	unlink(path);
	buf_free(&record_json);
	buf_free(&record_avro);
	buf_free(&schema_text);
	return 0;
}

static void write_file(const struct buf *content)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(content->data, 1, content->len, file), content->len);
	assert_int_equal(fclose(file), 0);
}

struct reading {
	int records, faults;
	int alike; /* records that begin like the one that was written */
	int64_t first_fault;
	err_t fault, err;
	struct err_detail detail;
};

static struct reading read_path(const char *name)
{
	_cleanup_(codec_cleanup) struct codec *codec = new_codec();
	_cleanup_(replay_file_cleanup) struct replay_file *file = NULL;
	struct reading reading = { .err = ERR_OK };
	bool end = false;
	reading.err = replay_file_open(name, codec, RECORD_MAX, &file, &reading.detail);
	while (!reading.err && !end) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct scored_query *scored = NULL;
		err_t fault;
		reading.err = replay_file_next(file, arena, &scored, &end, &fault, &reading.detail);
		if (reading.err || end)
			break;
		if (fault && reading.faults++ == 0) {
			reading.fault = fault;
			reading.first_fault = replay_file_place(file);
		}
		if (!fault) {
			reading.records++;
			reading.alike += str_is(scored->application, "app");
		}
	}
	return reading;
}

static struct reading read_content(const struct buf *content)
{
	write_file(content);
	return read_path(path);
}

/* ---- lines ---- */

static void test_lines(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	for (int i = 0; i < 3; i++) {
		buf_append_str(&content, buf_str(&record_json));
		buf_append_text(&content, i == 0 ? "\n" : i == 1 ? "\r\n\n  \n" : "");
	}
	struct reading reading = read_content(&content);
	assert_int_equal(reading.err, ERR_OK);
	assert_int_equal(reading.records, 3);
	assert_int_equal(reading.alike, 3);
	assert_int_equal(reading.faults, 0);
	buf_reset(&content);
	buf_append_text(&content, "{\"error\":{\"code\":\"json_syntax\",\"message\":\"x\"},\"line\":1}\n");
	buf_append_str(&content, buf_str(&record_json));
	buf_append_text(&content, "\nrubbish\n\xff\xfe\n{\"event_id\": \xc3}\n[]\n");
	buf_append(&content, "\0\n", 2);
	buf_append_str(&content, buf_str(&record_json));
	reading = read_content(&content);
	assert_int_equal(reading.err, ERR_OK);
	assert_int_equal(reading.records, 2);
	assert_int_equal(reading.faults, 6);
	assert_int_equal(reading.first_fault, 1);
}

static void test_nothing(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	buf_append_text(&content, "");
	struct reading reading = read_content(&content);
	assert_int_equal(reading.err, ERR_OK);
	assert_int_equal(reading.records + reading.faults, 0);
	assert_int_equal(read_path("/nonexistent/records").err, ERR_FILE_UNREADABLE);
	reading = read_path("/tmp");
	assert_int_equal(reading.err, ERR_FILE_UNREADABLE);
	assert_non_null(strstr(reading.detail.message, "/tmp: "));
	replay_file_close(NULL);
}

static int64_t peak_bytes(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return INT64_C(1024) * usage.ru_maxrss;
}

/* A line without an end takes no more memory than a record may. */
static void test_a_line_that_does_not_end(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	for (int i = 0; i < 128; i++) {
		static char piece[1 << 20];
		memset(piece, '{', sizeof piece);
		assert_int_equal(fwrite(piece, 1, sizeof piece, file), sizeof piece);
	}
	fprintf(file, "\n%s\n", record_json.data);
	assert_int_equal(fclose(file), 0);
	int64_t before = peak_bytes();
	struct reading reading = read_path(path);
	assert_int_equal(reading.err, ERR_OK);
	assert_int_equal(reading.records, 1);
	assert_int_equal(reading.faults, 1);
	assert_int_equal(reading.fault, ERR_EVENT_TOO_LARGE);
	assert_int_equal(reading.first_fault, 1);
	assert_true(peak_bytes() - before < 64 << 20);
}

/* ---- containers ---- */

static void append_block(struct buf *out, int records)
{
	_cleanup_(buf_free) struct buf bytes = BUF_INIT;
	for (int i = 0; i < records; i++)
		buf_append_str(&bytes, buf_str(&record_avro));
	avro_container_append_block(out, records, buf_str(&bytes));
}

static void test_containers(void **state)
{
	(void)state;
	static const char *const codecs[] = { NULL, "null", "" };
	for (size_t i = 0; i < 3; i++) {
		_cleanup_(buf_free) struct buf content = BUF_INIT;
		avro_container_append_head(&content, buf_str(&schema_text), codecs[i]);
		assert_int_equal(read_content(&content).records, 0);
		append_block(&content, 3);
		append_block(&content, 0);
		append_block(&content, 2);
		struct reading reading = read_content(&content);
		if (reading.err)
			fail_msg("%s", reading.detail.message);
		assert_int_equal(reading.records, 5);
		assert_int_equal(reading.alike, 5);
		assert_int_equal(reading.faults, 0);
	}
}

/* Those bytes as one block of that many records, raw deflate. */
static void append_deflated(struct buf *out, int records, const char *data, size_t len)
{
	z_stream zip = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len };
	_cleanup_(buf_free) struct buf packed = BUF_INIT;
	assert_int_equal(deflateInit2(&zip, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	size_t room = deflateBound(&zip, len);
	zip.next_out = (Bytef *)buf_reserve(&packed, room);
	zip.avail_out = (uInt)room;
	assert_int_equal(deflate(&zip, Z_FINISH), Z_STREAM_END);
	packed.len = room - zip.avail_out;
	deflateEnd(&zip);
	avro_container_append_long(out, records);
	avro_container_append_bytes(out, (str_t){ packed.data, packed.len });
	buf_append_text(out, AVRO_CONTAINER_SYNC);
}

static void expect_refused(const struct buf *content, err_t err, const char *sentence);

/* As they are; empty; damaged; and a small block that becomes a large one. */
static void test_deflated_containers(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT, two = BUF_INIT;
	buf_append_str(&two, buf_str(&record_avro));
	buf_append_str(&two, buf_str(&record_avro));
	avro_container_append_head(&content, buf_str(&schema_text), "deflate");
	size_t head = content.len;
	append_deflated(&content, 2, two.data, two.len);
	append_deflated(&content, 0, "", 0);
	append_deflated(&content, 1, record_avro.data, record_avro.len);
	struct reading reading = read_content(&content);
	if (reading.err)
		fail_msg("%s", reading.detail.message);
	assert_int_equal(reading.records, 3);
	assert_int_equal(reading.alike, 3);
	content.len = head;
	append_block(&content, 1);
	expect_refused(&content, ERR_AVRO_VALUE, "damaged after record 0: a block is no deflate");
	_cleanup_(buf_free) struct buf zeros = BUF_INIT;
	size_t len = (size_t)65 << 20;
	memset(buf_reserve(&zeros, len), 0, len);
	content.len = head;
	append_deflated(&content, 1, zeros.data, len);
	expect_refused(&content, ERR_AVRO_LENGTH, "a block of the container has more than 67108864 bytes");
}

/* The head in two blocks, one of them with its size; entries that nobody knows. */
static void test_heads_of_others(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	buf_append(&content, "Obj\x01", 4);
	avro_container_append_long(&content, -1);
	avro_container_append_long(&content, 77);
	avro_container_append_bytes(&content, STR("user.note"));
	avro_container_append_bytes(&content, STR("\xff\x01"));
	avro_container_append_long(&content, 1);
	avro_container_append_bytes(&content, STR("avro.schema"));
	avro_container_append_bytes(&content, buf_str(&schema_text));
	avro_container_append_long(&content, 0);
	buf_append_text(&content, AVRO_CONTAINER_SYNC);
	append_block(&content, 1);
	assert_int_equal(read_content(&content).records, 1);
}

static void expect_refused(const struct buf *content, err_t err, const char *sentence)
{
	struct reading reading = read_content(content);
	if (reading.err != err || !strstr(reading.detail.message, sentence))
		fail_msg("%s: %s", err_name(reading.err), reading.detail.message);
}

static void test_refused_containers(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	buf_append_text(&content, "Object");
	expect_refused(&content, ERR_FRAME_UNKNOWN, "neither an Avro container nor JSON");
	buf_reset(&content);
	avro_container_append_head(&content, buf_str(&schema_text), "snappy");
	expect_refused(
		&content, ERR_AVRO_VALUE,
		"compressed with the codec \"snappy\"; those that are read are \"null\" and \"deflate\"");
	buf_reset(&content);
	avro_container_append_head(&content, STR("{"), NULL);
	expect_refused(&content, ERR_JSON_SYNTAX, "");
	buf_reset(&content);
	buf_append(&content, "Obj\x01\0", 5);
	buf_append_text(&content, AVRO_CONTAINER_SYNC);
	expect_refused(&content, ERR_SCHEMA_UNKNOWN, "has no schema");
	buf_reset(&content);
	buf_append(&content, "Obj\x01", 4);
	avro_container_append_long(&content, INT64_MIN);
	avro_container_append_long(&content, 0);
	avro_container_append_long(&content, INT64_MAX);
	expect_refused(&content, ERR_AVRO_LENGTH, "the head of the container has 9223372036854775807 bytes");
	buf_reset(&content);
	avro_container_append_head(&content, buf_str(&schema_text), NULL);
	append_block(&content, 1);
	content.data[content.len - 1] ^= 1;
	expect_refused(&content, ERR_AVRO_VALUE, "damaged after record 0");
	buf_reset(&content);
	avro_container_append_head(&content, buf_str(&schema_text), NULL);
	avro_container_append_long(&content, 1);
	avro_container_append_long(&content, INT64_C(1) << 40);
	expect_refused(&content, ERR_AVRO_LENGTH, "a block of the container has 1099511627776 bytes");
	buf_reset(&content);
	avro_container_append_head(&content, buf_str(&schema_text), NULL);
	avro_container_append_long(&content, -3);
	expect_refused(&content, ERR_AVRO_LENGTH, "has -3 records");
	/* as many records as one likes, of no bytes */
	buf_reset(&content);
	avro_container_append_head(&content, STR("\"null\""), NULL);
	avro_container_append_long(&content, INT64_MAX);
	avro_container_append_long(&content, 0);
	buf_append_text(&content, AVRO_CONTAINER_SYNC);
	expect_refused(&content, ERR_AVRO_VALUE, "record 1 of the container is damaged");
	/* another record's schema: each is told, none is read */
	buf_reset(&content);
	avro_container_append_head(&content, STR("\"long\""), NULL);
	avro_container_append_long(&content, 2);
	avro_container_append_long(&content, 2);
	buf_append(&content, "\x02\x04", 2);
	buf_append_text(&content, AVRO_CONTAINER_SYNC);
	struct reading reading = read_content(&content);
	assert_int_equal(reading.err, ERR_OK);
	assert_int_equal(reading.faults, 2);
	assert_int_equal(reading.fault, ERR_SCHEMA_INCOMPATIBLE);
	/* bytes that no record is made of */
	buf_reset(&content);
	avro_container_append_head(&content, STR("\"long\""), NULL);
	avro_container_append_long(&content, 1);
	avro_container_append_long(&content, 2);
	buf_append(&content, "\x02\x04", 2);
	buf_append_text(&content, AVRO_CONTAINER_SYNC);
	expect_refused(&content, ERR_AVRO_TRAILING, "bytes behind record 1");
}

/* Files that are compressed as a whole are not taken for lines that cannot be read. */
static void test_compressed_files(void **state)
{
	static const struct {
		const char *begin, *name;
	} kinds[] = { { "\x1f\x8b\x08", "gzip" },
		      { "BZh9", "bzip2" },
		      { "\xfd"
			"7zXZ",
			"xz" },
		      { "\x28\xb5\x2f\xfd", "zstd" },
		      { "PK\x03\x04", "zip" } };
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char hint[64];
		buf_reset(&content);
		buf_append_text(&content, kinds[i].begin);
		snprintf(hint, sizeof hint, "is compressed with %s: decompress it first", kinds[i].name);
		expect_refused(&content, ERR_AVRO_VALUE, hint);
	}
	buf_reset(&content); /* lines that begin alike */
	buf_append_text(&content, "Bad\nP\nB");
	assert_int_equal(read_content(&content).faults, 3);
	buf_reset(&content);
	buf_append_text(&content, "B");
	assert_int_equal(read_content(&content).faults, 1);
}

/* All places around heads and ends, and some of the others. */
static size_t step_at(size_t at, size_t head, size_t whole)
{
	size_t half = head + (whole - head) / 2;
	size_t near = whole_or(40, 10);
	bool edge = at < near || (at + near > head && at < head + near / 2) ||
		    (at + near > half && at < half + near / 2) || at + near > whole;
	return edge ? 1 : at < head ? 997 : whole_or(41, 331);
}

/* Cut off, or with another bit: an error or fewer records, never more. */
static void test_damaged_containers(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	avro_container_append_head(&content, buf_str(&schema_text), "null");
	size_t head = content.len;
	append_block(&content, 1);
	append_block(&content, 1);
	size_t whole = content.len;
	for (size_t len = 1; len < whole; len += step_at(len, head, whole)) {
		content.len = len;
		struct reading reading = read_content(&content);
		bool between = len == head || len == head + (whole - head) / 2;
		assert_int_equal(reading.err == ERR_OK, between);
		assert_true(reading.records < 2);
	}
	content.len = whole;
	for (size_t at = 0; at < whole; at += step_at(at, head, whole)) {
		char byte = content.data[at];
		content.data[at] = (char)(byte ^ (1 << at % 8));
		struct reading reading = read_content(&content);
		assert_true(reading.records <= 2);
		content.data[at] = byte;
	}
	assert_int_equal(read_content(&content).records, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_a_line_that_does_not_end),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_deflated_containers),
		cmocka_unit_test(test_heads_of_others),
		cmocka_unit_test(test_refused_containers),
		cmocka_unit_test(test_compressed_files),
		cmocka_unit_test(test_damaged_containers),
	};
	return cmocka_run_group_tests_name("replay_file", tests, prepare, tidy_up);
}
