/* Late truth against a real PostgreSQL: whatever is read first, the same is counted. */
#include "calibration/feedback/feedback.h"

#include "calibration/count/store.h"
#include "calibration/store/retention.h"
#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/fixtures/counting.h"
#include "tests/harness/servers/database_server.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define HOUR_MS	   INT64_C(3600000)
#define DAY_MS	   (24 * HOUR_MS)
#define HORIZON_MS (7 * DAY_MS)

static int64_t today_ms; /* midnight, UTC */

static struct calibration_store *new_store(void)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 300,
							   .max_segments = 3,
							   .feedback_horizon_ms = HORIZON_MS,
							   .retention_ms = 90 * DAY_MS };
	return calibration_store_new(&options);
}

/* ---- reading ---- */

static struct calibration_case new_event(const char *id, double age_days, double confidence, int64_t offset)
{
	return (struct calibration_case){ .scored_at_ms = today_ms - (int64_t)(age_days * (double)DAY_MS),
					  .application = STR("app"),
					  .label_source = ENUM_ABSENT,
					  .level = LEVEL_HIGH,
					  .confidence = confidence,
					  .weight = 1,
					  .event = calibration_event_key(str_from(id)),
					  .offset = offset };
}

static struct calibration_feedback new_feedback(const char *id, double age_days, bool correct, int64_t offset)
{
	return (struct calibration_feedback){ .event = calibration_event_key(str_from(id)),
					      .said_at_ms = today_ms - (int64_t)(age_days * (double)DAY_MS),
					      .offset = offset,
					      .correct = correct };
}

/* Cases, weight of correct ones, confidence and squared error of all widths, which have to agree. */
static void expect_sums(const char *expected)
{
	char text[160];
	query("SELECT string_agg(DISTINCT s, ' | ') FROM (SELECT concat_ws(' ', sum(cases), "
	      "trim_scale(sum(weight)), trim_scale(sum(weight_squared)), trim_scale(sum(weight_correct)), "
	      "trim_scale(sum(weight_confidence)), trim_scale(sum(weight_squared_error))) AS s "
	      "FROM calibration_sums WHERE label_source = 'FEEDBACK' GROUP BY width_s) AS widths",
	      text, sizeof text);
	assert_string_equal(text, expected);
}

static void expect_outcome(const struct feedback_outcome *outcome, const char *expected)
{
	char text[96];
	snprintf(text, sizeof text, "%d %d %d %d %d %d", (int)outcome->counted, (int)outcome->corrected,
		 (int)outcome->unchanged, (int)outcome->unknown, (int)outcome->expired,
		 (int)outcome->refused);
	assert_string_equal(text, expected);
}

/* ---- tests ---- */

/* One event of confidence 0.9; what is said, one message after the other, and what it does: counted,
 * corrected, unchanged, unknown, expired, refused. */
static const struct step_case {
	const char *name;
	double said_days; /* age; the event's is 3.5 */
	bool correct;
	const char *outcome, *sums;
} steps_after[] = {
	{ "first", 3, true, "1 0 0 0 0 0", "1 1 1 1 0.9 0.01" },
	{ "again", 2.5, true, "0 0 1 0 0 0", "1 1 1 1 0.9 0.01" },
	{ "corrected", 2, false, "0 1 0 0 0 0", "1 1 1 0 0.9 0.81" },
	{ "said before that", 2.25, true, "0 0 1 0 0 0", "1 1 1 0 0.9 0.81" },
	{ "corrected back", 1, true, "0 1 0 0 0 0", "1 1 1 1 0.9 0.01" },
	{ "on the last moment", -3.5, false, "0 1 0 0 0 0", "1 1 1 0 0.9 0.81" },
	{ "too late", -3.51, true, "0 0 0 0 1 0", "1 1 1 0 0.9 0.81" },
	{ "too early", 10.51, true, "0 0 0 0 1 0", "1 1 1 0 0.9 0.81" },
};

static void test_feedback_after_its_event(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct calibration_case event = new_event("e", 3.5, 0.9, 0);
	struct feedback_outcome outcome = counting_apply(store, &event, 1, NULL, 0);
	expect_outcome(&outcome, "0 0 0 0 0 0");
	for (size_t i = 0; i < sizeof steps_after / sizeof *steps_after; i++) {
		const struct step_case *item = &steps_after[i];
		struct calibration_feedback feedback =
			new_feedback("e", item->said_days, item->correct, (int64_t)i);
		print_message("%s\n", item->name);
		outcome = counting_apply(store, NULL, 0, &feedback, 1);
		expect_outcome(&outcome, item->outcome);
		expect_sums(item->sums);
	}
}

static void test_feedback_before_its_event(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	const struct calibration_feedback feedback[] = { new_feedback("e", 4, false, 0),
							 new_feedback("e", 3, true, 1),
							 new_feedback("e", -5, false, 2) };
	const struct calibration_case event = new_event("e", 3.5, 0.9, 0);
	struct feedback_outcome outcome = counting_apply(store, NULL, 0, feedback, 3);
	expect_outcome(&outcome, "0 0 0 3 0 0");
	outcome = counting_apply(store, &event, 1, NULL, 0);
	expect_outcome(&outcome, "1 0 0 0 0 0");
	expect_sums("1 1 1 1 0.9 0.01");
}

static void test_both_at_once(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	const struct calibration_feedback feedback[] = { new_feedback("e", 1, false, 0),
							 new_feedback("e", 1, true, 1),
							 new_feedback("nobody", 1, true, 2) };
	const struct calibration_case events[] = { new_event("e", 3.5, 0.9, 0), new_event("e", 3.25, 0.5, 1),
						   new_event("f", 3.5, 0.9, 2) };
	struct feedback_outcome outcome = counting_apply(store, events, 3, feedback, 3);
	expect_outcome(&outcome, "2 0 1 1 0 0");
	expect_sums("2 2 2 2 1.4 0.26");
}

/* A batch whose position has moved on changes nothing, feedback included. */
static void test_redelivery_changes_nothing(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	const struct calibration_feedback feedback = new_feedback("e", 1, true, 0);
	const struct calibration_case event = new_event("e", 3.5, 0.9, 0);
	const struct calibration_step steps[] = {
		{ COUNTING_FEEDBACK, false, 0, CALIBRATION_POSITION_NONE, 1 },
		{ COUNTING_SCORED, true, 0, CALIBRATION_POSITION_NONE, 1 }
	};
	const struct calibration_work work = { &event, 1, &feedback, 1, steps, 2 };
	assert_int_equal(calibration_store_apply(store, &work, NULL, NULL, NULL), ERR_OK);
	assert_int_equal(calibration_store_apply(store, &work, NULL, NULL, NULL), ERR_CONFLICT);
	const struct calibration_step behind[] = { { COUNTING_FEEDBACK, false, 0, 1, 2 },
						   { COUNTING_SCORED, true, 0, CALIBRATION_POSITION_NONE,
						     1 } };
	const struct calibration_work half = { &event, 1, &feedback, 1, behind, 2 };
	assert_int_equal(calibration_store_apply(store, &half, NULL, NULL, NULL), ERR_CONFLICT);
	expect_sums("1 1 1 1 0.9 0.01");
}

/* ---- any order ---- */

enum { EVENTS = 60, MESSAGES = 240, IDS = 40, WRITERS = 2 };

struct shuffle {
	struct calibration_case events[EVENTS];
	struct calibration_feedback messages[MESSAGES];
};

static char ids[IDS][8];

static void make_shuffle(struct shuffle *shuffle, unsigned short seed[3])
{
	for (int i = 0; i < IDS; i++)
		snprintf(ids[i], sizeof ids[i], "id%d", i);
	for (int i = 0; i < EVENTS; i++)
		shuffle->events[i] = new_event(ids[nrand48(seed) % IDS], (double)(nrand48(seed) % 400) / 20.0,
					       (double)(nrand48(seed) % 101) / 100.0, i);
	for (int i = 0; i < MESSAGES; i++) {
		shuffle->messages[i] = new_feedback(
			ids[nrand48(seed) % IDS], (double)(nrand48(seed) % 400) / 20.0, nrand48(seed) % 2, i);
		shuffle->messages[i].partition = (int32_t)(nrand48(seed) % 3);
	}
}

static bool later(const struct calibration_feedback *a, const struct calibration_feedback *b)
{
	if (a->said_at_ms != b->said_at_ms)
		return a->said_at_ms > b->said_at_ms;
	return a->partition != b->partition ? a->partition > b->partition : a->offset > b->offset;
}

/* By walking over everything. */
static void expected_sums(const struct shuffle *shuffle, char *text, size_t size)
{
	long cases = 0, correct = 0, confidence = 0, error = 0; /* confidences in hundredths */
	for (int i = 0; i < EVENTS; i++) {
		const struct calibration_case *event = &shuffle->events[i];
		const struct calibration_feedback *last = NULL;
		for (int j = 0; j < MESSAGES; j++) {
			const struct calibration_feedback *message = &shuffle->messages[j];
			if (strcmp(message->event.text, event->event.text) == 0 &&
			    llabs(message->said_at_ms - event->scored_at_ms) <= HORIZON_MS &&
			    (!last || later(message, last)))
				last = message;
		}
		if (!last)
			continue;
		long hundredths = lround(event->confidence * 100);
		cases++;
		correct += last->correct;
		confidence += hundredths;
		error += (hundredths - 100 * last->correct) * (hundredths - 100 * last->correct);
	}
	char sql[256];
	snprintf(sql, sizeof sql,
		 "SELECT concat_ws(' ', %ld, %ld, %ld, %ld, trim_scale(%ld / 100.0), trim_scale(%ld / "
		 "10000.0))",
		 cases, cases, cases, correct, confidence, error);
	query(sql, text, size);
	assert_true(cases > EVENTS / 2);
}

/* Writers share what there is: one has events or messages of even numbers, the other those of odd ones. */
struct writer {
	const struct shuffle *shuffle;
	int number;
	bool failed;
};

static void *write_share(void *context)
{
	struct writer *writer = context;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	unsigned short seed[3] = { (unsigned short)writer->number, 7, 9 };
	int event = writer->number, message = writer->number, batch = 0;
	while (event < EVENTS || message < MESSAGES) {
		struct calibration_case events[8];
		struct calibration_feedback messages[8];
		size_t events_count = 0, messages_count = 0;
		for (long n = nrand48(seed) % 4; n > 0 && event < EVENTS; n--, event += WRITERS)
			events[events_count++] = writer->shuffle->events[event];
		for (long n = nrand48(seed) % 8; n > 0 && message < MESSAGES; n--, message += WRITERS)
			messages[messages_count++] = writer->shuffle->messages[message];
		const struct calibration_step step = { "any", true, writer->number,
						       batch ? batch : CALIBRATION_POSITION_NONE, batch + 1 };
		const struct calibration_work work = { events,	       events_count, messages,
						       messages_count, &step,	     1 };
		batch++;
		if (calibration_store_apply(store, &work, NULL, NULL, NULL) != ERR_OK)
			writer->failed = true;
	}
	return NULL;
}

static void test_order_and_writers_do_not_matter(void **state)
{
	(void)state;
	static struct shuffle shuffle;
	for (unsigned short round = 1; round <= 6; round++) {
		unsigned short seed[3] = { round, 2, 3 };
		struct writer writers[WRITERS];
		pthread_t threads[WRITERS];
		char expected[160];
		make_shuffle(&shuffle, seed);
		expected_sums(&shuffle, expected, sizeof expected);
		for (int i = 0; i < WRITERS; i++) {
			writers[i] = (struct writer){ &shuffle, i, false };
			assert_int_equal(pthread_create(&threads[i], NULL, write_share, &writers[i]), 0);
		}
		for (int i = 0; i < WRITERS; i++) {
			pthread_join(threads[i], NULL);
			assert_false(writers[i].failed);
		}
		expect_sums(expected);
		drop_tables(state);
	}
}

/* ---- what goes ---- */

static void test_days_are_dropped(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct database *database;
	char text[64];
	bool more = true;
	const struct calibration_case events[] = { new_event("a", 0, 0.9, 0), new_event("b", 7.5, 0.9, 1),
						   new_event("c", 8.5, 0.9, 2), new_event("d", 9.5, 0.9, 3) };
	const struct calibration_feedback feedback[] = { new_feedback("d", 9.4, true, 0),
							 new_feedback("a", -0.5, true, 1) };
	counting_apply(store, events, 4, feedback, 2);
	assert_int_equal(calibration_store_database(store, &database, NULL), ERR_OK);
	int rounds = 0;
	for (; more; rounds++)
		assert_int_equal(retention_forget(database, 90, HORIZON_MS, today_ms + HOUR_MS, &more, NULL),
				 ERR_OK);
	assert_int_equal(rounds, 5); /* two days of both, and nothing */
	query("SELECT string_agg(record_offset::text, ' ' ORDER BY record_offset) FROM calibration_events",
	      text, sizeof text);
	assert_string_equal(text, "0 1");
	/* what was counted stays, and a day that is needed again is made again */
	expect_sums("2 2 2 2 1.8 0.02");
	const struct calibration_case again = new_event("e", 9.5, 0.9, 4);
	counting_apply(store, &again, 1, NULL, 0);
}

/* ---- bounds ---- */

#define GIB (INT64_C(1) << 30)

/* Makes the feedback of a day long past `bytes` large, without any disk: what it holds is never looked at. */
static void fill_feedback(int64_t bytes)
{
	char path[512], segment[520];
	query("SELECT current_setting('data_directory') || '/' || "
	      "pg_relation_filepath('calibration_feedback_20010101')",
	      path, sizeof path);
	for (int number = 0; number * GIB < bytes; number++) {
		snprintf(segment, sizeof segment, number ? "%s.%d" : "%s", path, number);
		int fd = open(segment, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, GIB), 0);
		assert_int_equal(close(fd), 0);
	}
}

static void expect_said(struct calibration_store *store, const char *id, bool correct, int64_t offset,
			const char *expected)
{
	const struct calibration_feedback feedback = new_feedback(id, 1, correct, offset);
	const struct feedback_outcome outcome = counting_apply(store, NULL, 0, &feedback, 1);
	expect_outcome(&outcome, expected);
}

/* Feedback that waits for its events has room for a GiB, all feedback for two. */
static void test_what_waits_is_bounded(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	const struct calibration_case event = new_event("e", 3.5, 0.9, 0);
	struct database *database;
	bool more;
	counting_apply(store, &event, 1, NULL, 0);
	run_sql("CREATE TABLE calibration_feedback_20010101 PARTITION OF calibration_feedback "
		"FOR VALUES FROM ('2001-01-01 00:00:00+00') TO ('2001-01-02 00:00:00+00')");
	expect_said(store, "nobody", true, 0, "0 0 0 1 0 0");
	fill_feedback(GIB);
	expect_said(store, "nobody else", true, 1, "0 0 0 0 0 1");
	expect_said(store, "e", true, 2, "1 0 0 0 0 0");
	fill_feedback(2 * GIB);
	expect_said(store, "e", false, 3, "0 0 0 0 0 1");
	expect_sums("1 1 1 1 0.9 0.01");
	expect("SELECT count(*) FROM calibration_feedback WHERE said_at > '2002-01-01'", "2");
	/* the oldest day goes first, and makes room */
	assert_int_equal(calibration_store_database(store, &database, NULL), ERR_OK);
	assert_int_equal(retention_forget(database, 90, HORIZON_MS, today_ms + HOUR_MS, &more, NULL), ERR_OK);
	expect_said(store, "e", false, 4, "0 1 0 0 0 0");
}

/* Segments that nothing was scored of for as long as buckets are kept give their places to others. */
static void test_unseen_segments_make_room(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct database *database;
	char text[64];
	bool more;
	struct calibration_case events[4];
	static const char *const names[] = { "a", "b", "c", "d" };
	for (int i = 0; i < 4; i++) {
		events[i] = new_event(names[i], 0, 0.9, i);
		events[i].application = str_from(names[i]);
		events[i].label_source = LABEL_RESULT;
	}
	counting_apply(store, events, 4, NULL, 0);
	run_sql("UPDATE calibration_segments SET last_seen = now() - interval '91 days'; "
		"DELETE FROM calibration_buckets WHERE application = 'a'; "
		"DELETE FROM calibration_rollups WHERE application = 'a'");
	events[1].offset = 4;
	counting_apply(store, &events[1], 1, NULL, 0); /* b is seen again; of c there are buckets still */
	assert_int_equal(calibration_store_database(store, &database, NULL), ERR_OK);
	assert_int_equal(retention_apply(database, 90, 0, &more, NULL), ERR_OK);
	query("SELECT string_agg(application, ' ' ORDER BY application) FROM calibration_segments", text,
	      sizeof text);
	assert_string_equal(text, "b c");
	events[3].offset = 5;
	counting_apply(store, &events[3], 1, NULL, 0);
	query("SELECT string_agg(application, ' ' ORDER BY application) FROM calibration_segments", text,
	      sizeof text);
	assert_string_equal(text, "b c d");
}

/* ---- hostile messages ---- */

static const struct {
	const char *bytes;
	size_t len;
	bool readable;
} messages[] = {
#define MESSAGE(text, readable)                                                                              \
	{                                                                                                    \
		text, sizeof text - 1, readable                                                              \
	}
	MESSAGE("{\"event_id\": \"e\", \"correct\": true}", true),
	MESSAGE("{\"event_id\": \"e\", \"correct\": false, \"source\": \"Ann\", \"note\": null, \"more\": "
		"[1]}",
		true),
	MESSAGE("{\"event_id\": \"e\\u0000f\", \"correct\": true}", true),
	MESSAGE("{\"event_id\": \"\", \"correct\": true}", false),
	MESSAGE("{\"event_id\": \"e\"}", false),
	MESSAGE("{\"correct\": true}", false),
	MESSAGE("{\"event_id\": 7, \"correct\": true}", false),
	MESSAGE("{\"event_id\": \"e\", \"correct\": \"true\"}", false),
	MESSAGE("{\"event_id\": \"e\", \"correct\": 1}", false),
	MESSAGE("{\"event_id\": \"e\", \"correct\": true", false),
	MESSAGE("[[[[[[[[[[[[[[[[[[[[", false),
	MESSAGE("", false),
	MESSAGE("\xc3\x01", false),
	MESSAGE("\xc3\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02e\x01\x00\x00", false),
	MESSAGE("\x00\x00\x00\x00\x01\x02e\x01\x00\x00", false),
};

static void test_messages_are_read_or_refused(void **state)
{
	(void)state;
	struct codec *codec;
	const struct codec_options options = { .output = WIRE_SINGLE_OBJECT };
	assert_int_equal(codec_new(&options, &codec, NULL), ERR_OK);
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		struct calibration_feedback feedback;
		struct err_detail detail = { "" };
		err_t err = calibration_feedback_read(codec, STR_NONE, messages[i].bytes, messages[i].len,
						      &feedback, &detail);
		if ((err == ERR_OK) != messages[i].readable)
			fail_msg("message %zu: %s", i, detail.message);
	}
	_cleanup_(buf_free) struct buf value = BUF_INIT;
	const struct query_feedback sent = { STR("e"), true, STR("Ann"), STR_NONE };
	struct calibration_feedback read = { 0 };
	assert_int_equal(codec_encode_feedback(codec, &sent, &value), ERR_OK);
	assert_int_equal(calibration_feedback_read(codec, STR_NONE, value.data, value.len, &read, NULL),
			 ERR_OK);
	assert_true(read.correct);
	assert_string_equal(read.event.text, calibration_event_key(STR("e")).text);
	for (size_t len = 0; len < value.len; len++) /* no part of it is taken for a whole */
		assert_int_not_equal(calibration_feedback_read(codec, STR_NONE, value.data, len, &read, NULL),
				     ERR_OK);
	codec_free(codec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_feedback_after_its_event, drop_tables),
		cmocka_unit_test_setup(test_feedback_before_its_event, drop_tables),
		cmocka_unit_test_setup(test_both_at_once, drop_tables),
		cmocka_unit_test_setup(test_redelivery_changes_nothing, drop_tables),
		cmocka_unit_test_setup(test_order_and_writers_do_not_matter, drop_tables),
		cmocka_unit_test_setup(test_days_are_dropped, drop_tables),
		cmocka_unit_test_setup(test_what_waits_is_bounded, drop_tables),
		cmocka_unit_test_setup(test_unseen_segments_make_room, drop_tables),
		cmocka_unit_test(test_messages_are_read_or_refused),
	};
	log_set_level(LOG_LEVEL_ERROR);
	today_ms = clock_wall_ms() / DAY_MS * DAY_MS;
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
