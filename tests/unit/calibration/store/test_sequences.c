/* Sequences in a real PostgreSQL: fed with what is counted, once, whatever comes twice and in which order. */
#include "calibration/store/sequences.h"

#include "calibration/count/store.h"
#include "calibration/store/retention.h"
#include "common/log.h"
#include "tests/harness/fixtures/counting.h"
#include "tests/harness/fixtures/streams.h"
#include "tests/harness/servers/database_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 2026-01-08 12:00:00 UTC */
#define NOON_MS INT64_C(1767873600000)
#define DAY_MS	INT64_C(86400000)

enum { BATCH = 100 };

static struct calibration_store *new_store(void)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 300,
							   .max_segments = 2,
							   .feedback_horizon_ms = DAY_MS,
							   .false_alarms_per_10k = 1 };
	return calibration_store_new(&options);
}

/* A case of a record at the offset, one a second; right as often as `accuracy` says. */
static struct calibration_case random_case(const char *application, int64_t offset, double accuracy,
					   uint64_t *seed)
{
	double confidence = 0.5 + stream_uniform(seed) / 2;
	return (struct calibration_case){ .scored_at_ms = NOON_MS + 1000 * offset,
					  .application = str_from(application),
					  .model = STR("m\"1"),
					  .label_source = LABEL_RESULT,
					  .level = LEVEL_MEDIUM,
					  .confidence = confidence,
					  .weight = 1,
					  .correct = stream_uniform(seed) < accuracy,
					  .offset = offset };
}

static err_t apply(struct calibration_store *store, const struct calibration_case *cases, size_t count,
		   int32_t partition, int64_t from)
{
	const struct calibration_step step = { "t", true, partition, from ? from : CALIBRATION_POSITION_NONE,
					       from + (int64_t)count };
	const struct calibration_work work = {
		.cases = cases, .cases_count = count, .steps = &step, .steps_count = 1
	};
	return calibration_store_apply(store, &work, NULL, NULL, NULL);
}

/* A stream through the store, and the same by the formula alone. */
static void feed(struct calibration_store *store, const char *application, int64_t from, int batches,
		 double accuracy, uint64_t *seed, struct source_sequence *same)
{
	for (int i = 0; i < batches; i++) {
		struct calibration_case cases[BATCH];
		for (int j = 0; j < BATCH; j++) {
			cases[j] = random_case(application, from + BATCH * i + j, accuracy, seed);
			source_sequence_add(same, source_sequence_threshold(1),
					    cases[j].confidence >= 1 ? 9 : (int)(cases[j].confidence * 10),
					    cases[j].correct, cases[j].scored_at_ms);
		}
		assert_int_equal(apply(store, cases, BATCH, 0, from + BATCH * i), ERR_OK);
	}
}

#define STATE                                                                                                \
	"SELECT concat_ws(' ', cases, past_cases[10], past_correct[10], changes, open, direction, "          \
	"round(extract(epoch FROM since) * 1000)::bigint, stretch_cases, stretch_residual, return_sum, "     \
	"since_cases[10], lower_sum, higher_sum, whole) FROM calibration_sequences"

static void expect_state(const struct source_sequence *same, int64_t cases)
{
	const struct cusum_sum *lower = &same->drift.cusum.sides[CUSUM_LOWER],
			       *higher = &same->drift.cusum.sides[CUSUM_HIGHER];
	const struct drift_stretch *stretch = &same->drift.stretch;
	char expected[1024], since[64] = "";
	if (same->changes)
		snprintf(since, sizeof since, " %s %lld",
			 stretch->direction == DRIFT_OVERCONFIDENT ? "LOWER" : "HIGHER",
			 (long long)stretch->since_ms);
	snprintf(expected, sizeof expected,
		 "SELECT concat_ws(' ', %lld, %lld, %lld, %lld, %s%s%s%s %lld, '%.17g'::float8, "
		 "'%.17g'::float8, %lld, ARRAY[%.17g, %lld, %.17g, %lld]::float8[], "
		 "ARRAY[%.17g, %lld, %.17g, %lld]::float8[], true)",
		 (long long)cases, (long long)same->past.cases[9], (long long)same->past.correct[9],
		 (long long)same->changes, same->drift.open ? "true" : "false", since[0] ? ", '" : "",
		 since[0] ? since + 1 : "", since[0] ? "'," : ",", (long long)stretch->cases,
		 stretch->residual, same->drift.back, (long long)same->since.cases[9], lower->value,
		 (long long)lower->cases, lower->residual, (long long)lower->since_ms, higher->value,
		 (long long)higher->cases, higher->residual, (long long)higher->since_ms);
	char text[1024];
	query(expected, text, sizeof text);
	expect(STATE, text);
}

/* ---- feeding ---- */

/* To the last digit, over many transactions: stable, changed, settled. */
static void test_as_the_formula_says(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct source_sequence same = { 0 };
	uint64_t seed = 7;
	(void)state;
	feed(store, "app", 0, 10, 0.85, &seed, &same);
	assert_int_equal(same.changes, 0);
	expect_state(&same, 1000);
	feed(store, "app", 1000, 2, 0.45, &seed, &same);
	assert_true(same.drift.open);
	expect_state(&same, 1200);
	feed(store, "app", 1200, 6, 0.45, &seed, &same);
	assert_false(same.drift.open);
	expect_state(&same, 1800);
	int64_t differing = -1;
	assert_int_equal(sequences_compare(counting_database(store), 0, &differing, NULL), ERR_OK);
	assert_int_equal(differing, 0);
}

/* However the records of a transaction were read; and what comes twice is refused and fed once. */
static void test_order_within_a_transaction(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct calibration_case cases[BATCH];
	struct source_sequence same = { 0 };
	uint64_t seed = 9;
	(void)state;
	feed(store, "app", 0, 3, 0.8, &seed, &same);
	for (int i = 0; i < BATCH; i++) {
		cases[BATCH - 1 - i] = random_case("app", 300 + i, 0.7, &seed);
		source_sequence_add(&same, source_sequence_threshold(1),
				    (int)(cases[BATCH - 1 - i].confidence * 10), cases[BATCH - 1 - i].correct,
				    cases[BATCH - 1 - i].scored_at_ms);
	}
	assert_int_equal(apply(store, cases, BATCH, 0, 300), ERR_OK);
	expect_state(&same, 400);
	assert_int_equal(apply(store, cases, BATCH, 0, 300), ERR_CONFLICT);
	expect_state(&same, 400);
}

/* Segments without a place are one, and sources are apart; what has no label is no case. */
static void test_keys(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct calibration_case cases[6];
	uint64_t seed = 1;
	(void)state;
	for (int i = 0; i < 6; i++) {
		static const char *const names[] = { "a", "b", "a", "a", "c", "d" };
		cases[i] = random_case(names[i], i, 0.5, &seed);
		cases[i].label_source = i == 2 ? LABEL_CORRECTNESS : i == 3 ? ENUM_ABSENT : LABEL_RESULT;
	}
	assert_int_equal(apply(store, cases, 2, 0, 0), ERR_OK);
	assert_int_equal(apply(store, cases + 2, 4, 1, 0), ERR_OK);
	expect("SELECT string_agg(concat_ws(' ', application, model, label_source, cases, whole), ', ' ORDER "
	       "BY application, label_source) FROM calibration_sequences",
	       "a m\"1 CORRECTNESS 1 t, a m\"1 RESULT 1 t, b m\"1 RESULT 1 t, other  RESULT 2 t");
}

/* First verdicts are fed, whichever comes first, the event or what is said of it; another one is not. */
static void test_verdicts(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct calibration_case cases[3];
	struct calibration_feedback said[5];
	uint64_t seed = 1;
	(void)state;
	for (int i = 0; i < 3; i++) {
		char id[8];
		snprintf(id, sizeof id, "e%d", i);
		cases[i] = random_case("app", i, 0.5, &seed);
		cases[i].label_source = ENUM_ABSENT;
		cases[i].confidence = 0.35;
		cases[i].event = calibration_event_key(str_from(id));
	}
	for (int i = 0; i < 5; i++)
		said[i] = (struct calibration_feedback){
			.event = cases[i % 3].event, .said_at_ms = NOON_MS + i, .offset = i, .correct = i < 3
		};
	const struct calibration_step steps[] = { { "f", false, 0, CALIBRATION_POSITION_NONE, 1 },
						  { "f", false, 0, 1, 5 } };
	assert_int_equal(calibration_store_apply(store,
						 &(const struct calibration_work){ .feedback = said,
										   .feedback_count = 1,
										   .steps = steps,
										   .steps_count = 1 },
						 NULL, NULL, NULL),
			 ERR_OK);
	expect("SELECT count(*) FROM calibration_sequences", "0");
	assert_int_equal(apply(store, cases, 3, 0, 0), ERR_OK);
	expect("SELECT concat_ws(' ', label_source, cases, past_cases[4], past_correct[4]) FROM "
	       "calibration_sequences",
	       "FEEDBACK 1 1 1");
	assert_int_equal(calibration_store_apply(store,
						 &(const struct calibration_work){ .feedback = said + 1,
										   .feedback_count = 4,
										   .steps = steps + 1,
										   .steps_count = 1 },
						 NULL, NULL, NULL),
			 ERR_OK);
	/* of the second event only what was said last counts, and that is its first verdict */
	expect("SELECT concat_ws(' ', label_source, cases, past_cases[4], past_correct[4]) FROM "
	       "calibration_sequences",
	       "FEEDBACK 3 3 2");
	int64_t differing = -1;
	assert_int_equal(sequences_compare(counting_database(store), 0, &differing, NULL), ERR_OK);
	assert_int_equal(differing, 0);
}

struct writer {
	int32_t partition;
	err_t err;
};

static void *write_partition(void *context)
{
	struct writer *writer = context;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	uint64_t seed = (uint64_t)writer->partition;
	for (int i = 0; !writer->err && i < 20; i++) {
		struct calibration_case cases[20];
		for (int j = 0; j < 20; j++) {
			cases[j] = random_case(j % 2 ? "a" : "b", 20 * i + j, 1, &seed);
			cases[j].partition = writer->partition;
		}
		writer->err = apply(store, cases, 20, writer->partition, 20 * i);
	}
	return NULL;
}

/* Several count partitions of the same segments. All are right: who comes first may decide whether chance
 * makes a change, and a change what of the past is kept. */
static void test_writers_side_by_side(void **state)
{
	struct writer writers[4];
	pthread_t threads[4];
	(void)state;
	for (int i = 0; i < 4; i++) {
		writers[i] = (struct writer){ .partition = i };
		assert_int_equal(pthread_create(&threads[i], NULL, write_partition, &writers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(writers[i].err, ERR_OK);
	}
	expect("SELECT string_agg(concat_ws(' ', application, cases, (SELECT sum(n) FROM unnest(past_cases) "
	       "AS n), whole), ', ' ORDER BY application) FROM calibration_sequences",
	       "a 800 800 t, b 800 800 t");
}

/* ---- comparing ---- */

static int64_t differing(struct calibration_store *store, int64_t kept_since_ms)
{
	int64_t count = -1;
	assert_int_equal(sequences_compare(counting_database(store), kept_since_ms, &count, NULL), ERR_OK);
	return count;
}

static void test_what_is_compared(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct source_sequence same = { 0 };
	uint64_t seed = 2;
	(void)state;
	feed(store, "app", 0, 2, 0.8, &seed, &same);
	assert_int_equal(differing(store, 0), 0);
	run_sql("UPDATE calibration_sequences SET cases = cases + 1");
	assert_int_equal(differing(store, 0), 1);
	assert_int_equal(differing(store, NOON_MS), 1);
	assert_int_equal(differing(store, NOON_MS + 1), 0); /* what was counted may be deleted */
	/* a program that counts and does not feed */
	run_sql("UPDATE calibration_positions SET next_offset = 210");
	assert_int_equal(differing(store, 0), 0);
	feed(store, "app", 210, 1, 0.8, &seed, &same);
	assert_int_equal(differing(store, 0), 0);
	feed(store, "other", 310, 1, 0.8, &seed, &same);
	assert_int_equal(differing(store, 0), 0);
	run_sql("UPDATE calibration_sequences SET cases = 7 WHERE application = 'other'");
	assert_int_equal(differing(store, 0), 1);
	assert_int_equal(sequences_doubt(counting_database(store), NULL), ERR_OK);
	assert_int_equal(differing(store, 0), 0);
	expect("SELECT string_agg(concat_ws(' ', application, whole), ', ' ORDER BY application) FROM "
	       "calibration_sequences",
	       "app f, other f");
}

/* Cases that were counted before there were sequences. */
static void test_not_whole(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct source_sequence same = { 0 };
	uint64_t seed = 2;
	(void)state;
	feed(store, "app", 0, 1, 0.8, &seed, &same);
	run_sql("DELETE FROM calibration_sequences; "
		"UPDATE calibration_positions SET fed_until = NULL, fed_since = NULL");
	feed(store, "app", 100, 1, 0.8, &seed, &same);
	expect("SELECT concat_ws(' ', cases, whole) FROM calibration_sequences", "100 f");
	assert_int_equal(differing(store, 0), 0);
	/* a segment that is new since then */
	feed(store, "b", 200, 1, 0.8, &seed, &same);
	expect("SELECT concat_ws(' ', cases, whole) FROM calibration_sequences WHERE application = 'b'",
	       "100 t");
	run_sql("UPDATE calibration_sequences SET cases = 99");
	assert_int_equal(differing(store, 0), 1);
}

/* ---- news ---- */

static void test_news(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct calibration_segment segments[] = { { STR("app"), STR("m\"1"), STR("") },
							{ STR("b"), STR("m\"1"), STR("") } };
	struct source_sequence same = { 0 };
	struct sequence_news *news;
	size_t count;
	uint64_t seed = 7;
	(void)state;
	feed(store, "app", 0, 10, 0.85, &seed, &same);
	struct database *database = counting_database(store);
	assert_int_equal(sequences_read(database, segments, 2, 0, arena, &news, &count, NULL), ERR_OK);
	assert_int_equal(count, 0);
	feed(store, "app", 1000, 2, 0.45, &seed, &same);
	assert_int_equal(sequences_read(database, segments + 1, 1, 0, arena, &news, &count, NULL), ERR_OK);
	assert_int_equal(count, 0);
	assert_int_equal(sequences_read(database, segments, 2, 0, arena, &news, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_true(str_is(news->segment.application, "app") && news->open);
	assert_int_equal(news->label_source, LABEL_RESULT);
	assert_int_equal(news->stretch.direction, DRIFT_OVERCONFIDENT);
	assert_int_equal(news->stretch.since_ms, same.drift.stretch.since_ms);
	assert_int_equal(news->stretch.cases, same.drift.stretch.cases);
	assert_true(news->stretch.residual == same.drift.stretch.residual);
	assert_int_equal(news->changes, 1);
	assert_true(news->unreported);
	assert_int_equal(news->noticed, NOTICED_BY_PAST);
	/* as long as it is open it is news, and after that when nobody was told */
	assert_int_equal(sequences_set_reported(database, news, NULL), ERR_OK);
	assert_int_equal(sequences_read(database, segments, 2, 0, arena, &news, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_false(news->unreported);
	feed(store, "app", 1200, 6, 0.45, &seed, &same);
	assert_int_equal(sequences_read(database, segments, 2, 0, arena, &news, &count, NULL), ERR_OK);
	assert_int_equal(count, 0);
	run_sql("UPDATE calibration_sequences SET reported = 0");
	assert_int_equal(sequences_read(database, segments, 2, 0, arena, &news, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_false(news->open);
}

/* ---- retention ---- */

static void test_what_is_not_fed_any_more_goes(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct source_sequence same = { 0 };
	uint64_t seed = 3;
	bool more;
	(void)state;
	feed(store, "old", 0, 1, 0.8, &seed, &same);
	feed(store, "new", 100, 1, 0.8, &seed, &same);
	run_sql("UPDATE calibration_sequences SET fed_at = '2025-01-01Z' WHERE application = 'old'");
	assert_int_equal(retention_apply(counting_database(store), 90, NOON_MS, &more, NULL), ERR_OK);
	expect("SELECT string_agg(application, ' ') FROM calibration_sequences", "new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_as_the_formula_says, drop_tables),
		cmocka_unit_test_setup(test_order_within_a_transaction, drop_tables),
		cmocka_unit_test_setup(test_keys, drop_tables),
		cmocka_unit_test_setup(test_verdicts, drop_tables),
		cmocka_unit_test_setup(test_writers_side_by_side, drop_tables),
		cmocka_unit_test_setup(test_what_is_compared, drop_tables),
		cmocka_unit_test_setup(test_not_whole, drop_tables),
		cmocka_unit_test_setup(test_news, drop_tables),
		cmocka_unit_test_setup(test_what_is_not_fed_any_more_goes, drop_tables),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
