/* Recount between a real Kafka and a real PostgreSQL: it finds what differs, and nothing where nothing does,
 * and a rebuild under a running calibrator neither loses nor doubles a case. */
#include "calibration/rebuild/rebuild_print.h"

#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/fixtures/calibration_rig.h"
#include "tests/harness/fixtures/long_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)
#define DAY_MS	  (24 * HOUR_MS)

static struct rebuild_outcome verify(struct arena *arena)
{
	const struct rebuild_options options = rig_rebuild_options();
	struct rebuild_outcome summary;
	struct err_detail detail = { "" };
	if (rebuild_verify(&options, arena, &summary, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return summary;
}

static struct rebuild_outcome rebuild(struct arena *arena)
{
	const struct rebuild_options options = rig_rebuild_options();
	struct rebuild_outcome summary;
	struct err_detail detail = { "" };
	if (rebuild_rebuild(&options, arena, &summary, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return summary;
}

/* Refused, with both texts in what is said of it; `arena` is whatever. */
static void expect_refusal(const struct rebuild_options *options, const char *first, const char *second)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct rebuild_outcome summary;
	struct err_detail detail = { "" };
	assert_int_equal(rebuild_rebuild(options, arena, &summary, &detail), ERR_CALIBRATION_LOG);
	if (!strstr(detail.message, first) || !strstr(detail.message, second) ||
	    strlen(detail.message) > sizeof detail.message - 2)
		fail_msg("\"%s\" has no \"%s\" and \"%s\"", detail.message, first, second);
}

static void run_sql(const char *sql)
{
	_cleanup_(database_cleanup) struct database *database = database_new(rig.server.socket_dsn, NULL);
	struct err_detail detail = { "" };
	assert_int_equal(database_connect(database, NULL, &detail), ERR_OK);
	if (database_script(database, sql, &detail) != ERR_OK)
		fail_msg("%s: %s", sql, detail.message);
}

static void count_records(int count)
{
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(count, true);
	rig_produce(count, false);
	rig_wait_counted(rig.sent);
	calibrator_stop(calibrator);
}

static void expect_no_drift(int64_t cases)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct rebuild_outcome summary = verify(arena);
	assert_int_equal(summary.differences.differing, 0);
	assert_int_equal(summary.differences.totals, 0);
	assert_int_equal(summary.differences.sequences, 0);
	assert_int_equal(summary.differences.examples, 0);
	assert_int_equal(summary.differences.claims, 0);
	assert_int_equal(summary.differences.events, 0);
	assert_int_equal(summary.differences.feedback, 0);
	assert_true(summary.differences.compared > 0);
	assert_int_equal(summary.cases, cases);
	assert_true(summary.complete);
	assert_int_equal(summary.notes_count, 0);
}

/* Every way to spoil a bucket of either width, with what is to be said of it. */
static const struct {
	const char *sql;
	int64_t width_s;
	int64_t stored, counted; /* cases of the difference */
	int64_t buckets;
} tamperings[] = {
	{ "UPDATE calibration_buckets SET weight_correct = weight_correct + 0.000000001 WHERE width_s = 300 "
	  "AND bin = 3 AND bucket_start = (SELECT min(bucket_start) FROM calibration_buckets)",
	  300, 10, 10, 1 },
	{ "UPDATE calibration_rollups SET cases = cases + 1 WHERE width_s = 3600 AND bin = 5", 3600, 11, 10,
	  1 },
	{ "UPDATE calibration_rollups SET weight_squared = weight_squared + 1 WHERE width_s = 3600 AND bin = "
	  "4",
	  3600, 10, 10, 1 },
	{ "UPDATE calibration_rollups SET weight_confidence = weight_confidence - 0.000000001 WHERE width_s "
	  "= "
	  "3600 AND bin = 6",
	  3600, 10, 10, 1 },
	{ "UPDATE calibration_buckets SET weight_squared_error = 0 WHERE bin = 7", 300, 10, 10, 1 },
	{ "UPDATE calibration_rollups SET label_source = 'RELEVANCE' WHERE width_s = 3600 AND bin = 8", 3600,
	  10, 0, 1 },
	{ "DELETE FROM calibration_rollups WHERE width_s = 3600 AND bin = 9", 3600, 0, 10, 1 },
	{ "INSERT INTO calibration_buckets SELECT width_s, bucket_start, 'made up', model, prompt_version, "
	  "label_source, level, bin, 7, 7, 7, 7, 7, 7 FROM calibration_buckets WHERE width_s = 300 LIMIT 1",
	  300, 7, 0, 1 },
	{ "UPDATE calibration_rollups SET level = 'HIGH_CONFIDENCE' WHERE width_s = 3600 AND bin = 4", 3600,
	  10, 0, 1 },
	{ "UPDATE calibration_rollups SET weight = weight + 1 WHERE width_s = 86400 AND bin = 6", 86400, 10,
	  10, 1 },
	{ "DELETE FROM calibration_rollups WHERE width_s = 86400 AND bin = 3", 86400, 0, 10, 1 },
	{ "UPDATE calibration_rollups SET bucket_start = bucket_start - interval '1 day' WHERE width_s = "
	  "86400 "
	  "AND bin = 3",
	  86400, 10, 10, 2 },
};

static void test_tampering_is_found_and_mended(void **state)
{
	(void)state;
	count_records(70);
	expect_no_drift(70);
	for (size_t i = 0; i < sizeof tamperings / sizeof *tamperings; i += whole_or(1, 3)) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		run_sql(tamperings[i].sql);
		struct rebuild_outcome summary = verify(arena);
		if (summary.differences.count == 0)
			fail_msg("not found: %s", tamperings[i].sql);
		const struct rebuild_difference *found = &summary.differences.items[0];
		if (found->width_s != tamperings[i].width_s || found->stored.cases != tamperings[i].stored ||
		    found->counted.cases != tamperings[i].counted || found->buckets != tamperings[i].buckets)
			fail_msg("%s: width %lld, %lld cases instead of %lld, %lld buckets",
				 tamperings[i].sql, (long long)found->width_s, (long long)found->stored.cases,
				 (long long)found->counted.cases, (long long)found->buckets);
		summary = rebuild(arena);
		assert_true(summary.removed + summary.added <= 2);
		expect_no_drift(70);
	}
}

/* Sequences are compared by how many cases they have seen, and left as they are. */
static void test_sequences_that_missed_a_case(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_records(70);
	expect_no_drift(70);
	run_sql("UPDATE calibration_sequences SET lower_sum = higher_sum"); /* no matter which order */
	expect_no_drift(70);
	run_sql("UPDATE calibration_sequences SET cases = cases - 1");
	struct rebuild_outcome summary = verify(arena);
	assert_true(summary.differences.sequences > 0);
	assert_int_equal(summary.differences.differing, 0);
	rebuild(arena);
	expect_no_drift(70); /* from here on it is known */
}

/* Days of all segments together are kept up by the tables themselves, and looked after as well. */
static void test_totals_that_were_changed(void **state)
{
	static const char *const sql[] = {
		"UPDATE calibration_totals SET weight_correct = weight_correct + 0.000000001 WHERE bin = 3",
		"DELETE FROM calibration_totals WHERE bin = 4",
		"INSERT INTO calibration_totals SELECT bucket_start - interval '1 day', label_source, level, "
		"bin, "
		"7, 7, 7, 7, 7, 7 FROM calibration_totals LIMIT 1",
		"UPDATE calibration_hour_totals SET cases = cases + 1 WHERE (bucket_start, bin) = "
		"(SELECT bucket_start, bin FROM calibration_hour_totals LIMIT 1)",
		"DELETE FROM calibration_hour_totals WHERE (bucket_start, bin) = "
		"(SELECT bucket_start, bin FROM calibration_hour_totals LIMIT 1)",
		"INSERT INTO calibration_hour_totals SELECT bucket_start - interval '1 hour', label_source, "
		"level, bin, 7, 7, 7, 7, 7, 7 FROM calibration_hour_totals ORDER BY bucket_start LIMIT 1",
	};
	(void)state;
	count_records(70);
	expect_no_drift(70);
	for (size_t i = 0; i < sizeof sql / sizeof *sql; i += whole_or(1, 3)) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		run_sql(sql[i]);
		struct rebuild_outcome summary = verify(arena);
		assert_int_equal(summary.differences.totals, 1);
		assert_int_equal(summary.differences.differing, 0);
		assert_int_equal(rebuild(arena).totals, 1);
		expect_no_drift(70);
	}
	/* what changes days changes their totals */
	run_sql("DELETE FROM calibration_rollups WHERE width_s = 86400 AND bin = 5; "
		"UPDATE calibration_rollups SET cases = cases + 3 WHERE width_s = 86400 AND bin = 6; "
		"UPDATE calibration_rollups SET bin = 0 WHERE width_s = 86400 AND bin = 7");
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct rebuild_outcome summary = verify(arena);
	assert_int_equal(summary.differences.totals, 0);
	assert_true(summary.differences.differing > 0);
	assert_int_equal(rebuild(arena).totals, 0); /* which followed their days */
	expect_no_drift(70);
}

/* ---- examples ---- */

static long examples(const char *which)
{
	char sql[160], text[64];
	snprintf(sql, sizeof sql, "SELECT count(*) FROM calibration_examples WHERE %s", which);
	rig_query(sql, text, sizeof text);
	return strtol(text, NULL, 10);
}

#define FIRST_EXAMPLE                                                                                        \
	"(event_key, record_offset) = (SELECT event_key, record_offset FROM calibration_examples "           \
	"ORDER BY event_key, partition, record_offset LIMIT 1)"

static void test_examples_that_were_changed(void **state)
{
	static const struct {
		const char *sql;
		int64_t examples;
	} changes[] = {
		{ "DELETE FROM calibration_examples WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET correct = NOT correct WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET weight = weight + 1e-12 WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET overall = 0.123 WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET scored_at = scored_at + interval '1 ms' "
		  "WHERE " FIRST_EXAMPLE,
		  1 },
		{ "UPDATE calibration_examples SET model = 'another' WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET features = NULL WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET probability = 0.42 WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET documents = '[\"another\"]' WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET documents = NULL WHERE " FIRST_EXAMPLE, 0 },
		{ "UPDATE calibration_examples SET rules = rules + 1 WHERE " FIRST_EXAMPLE, 1 },
		{ "UPDATE calibration_examples SET rules = NULL WHERE " FIRST_EXAMPLE, 0 },
		{ "UPDATE calibration_examples SET features = features || '{\"length\": 2.25}' WHERE "
		  "" FIRST_EXAMPLE,
		  1 },
		{ "UPDATE calibration_examples SET features = features || '{\"question\": 5}'", 0 },
		{ "INSERT INTO calibration_examples SELECT day, application, label_source, "
		  "gen_random_uuid(), "
		  "partition, record_offset, scored_at, model, prompt_version, overall, weight, correct, "
		  "features FROM calibration_examples LIMIT 1",
		  1 },
		{ "UPDATE calibration_examples SET application = 'made up' WHERE " FIRST_EXAMPLE, 2 },
		{ "UPDATE calibration_examples SET day = day - 1 WHERE " FIRST_EXAMPLE, 2 },
		{ "TRUNCATE calibration_examples", 70 },
	};
	(void)state;
	count_records(70);
	expect_no_drift(70);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i += whole_or(1, 3)) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		run_sql(changes[i].sql);
		struct rebuild_differences found = verify(arena).differences;
		if (found.examples != changes[i].examples || found.differing)
			fail_msg("%s: %lld examples, %lld buckets", changes[i].sql, (long long)found.examples,
				 (long long)found.differing);
		assert_int_equal(rebuild(arena).examples.drawn, 70);
		assert_int_equal(examples("true"), 70);
		assert_int_equal(examples("rules = (SELECT number FROM calibration_rules)"), 70);
		expect_no_drift(70);
	}
}

/* Whoever makes the tables anew has the rules of the records again. */
static void test_rules_of_a_rebuild(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char before[160], after[160];
	count_records(70);
	rig_query("SELECT r::text FROM calibration_rules r", before, sizeof before);
	assert_non_null(strstr(before, "factors=generator source=own"));
	run_sql("TRUNCATE calibration_rules");
	rebuild(arena);
	rig_query("SELECT r::text FROM calibration_rules r", after, sizeof after);
	assert_string_equal(before, after);
}

/* More than a past day has room for: whatever was thinned out, those with the lowest digests have to be
 * there, and a rebuild leaves it at them. */
static void test_examples_of_a_full_day(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_records(700);
	expect_no_drift(700);
	assert_int_equal(rebuild(arena).examples.drawn, 500);
	assert_int_equal(examples("true"), 500);
	expect_no_drift(700);
	run_sql("DELETE FROM calibration_examples WHERE event_key = (SELECT event_key FROM "
		"calibration_examples ORDER BY 1 DESC LIMIT 1)");
	assert_int_equal(verify(arena).differences.examples, 1);
	rebuild(arena);
	/* today all are kept */
	rig.first_scored_at_ms = clock_wall_ms() - 200 * MINUTE_MS;
	count_records(600);
	expect_no_drift(1300);
	run_sql("DELETE FROM calibration_examples WHERE event_key = (SELECT event_key FROM "
		"calibration_examples WHERE scored_at > now() - interval '1 day' ORDER BY 1 DESC LIMIT 1)");
	assert_int_equal(verify(arena).differences.examples, 1);
	assert_int_equal(rebuild(arena).examples.drawn, 1100);
	expect_no_drift(1300);
}

/* What was counted before anything was learnt is not missed; a rebuild samples it, too. */
static void test_examples_from_some_day_on(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	rig.learns = false;
	count_records(30);
	assert_int_equal(examples("true"), 0);
	expect_no_drift(30);
	assert_int_equal(rebuild(arena).examples.drawn, 0);
	assert_int_equal(examples("true"), 0);
	rig.learns = true;
	count_records(30);
	assert_int_equal(examples("true"), 30);
	expect_no_drift(60);
	assert_int_equal(verify(arena).differences.sampled, 30);
	run_sql("DELETE FROM calibration_examples WHERE " FIRST_EXAMPLE);
	assert_int_equal(verify(arena).differences.examples, 1);
	/* a gap: a program that does not sample, or does not say so, has counted */
	run_sql("UPDATE calibration_positions SET learnt_until = learnt_until - 1");
	count_records(6);
	expect_no_drift(66);
	assert_int_equal(verify(arena).differences.sampled, 6);
	assert_int_equal(examples("true"), 35);
	assert_int_equal(rebuild(arena).examples.drawn, 66);
	assert_int_equal(examples("true"), 66);
	expect_no_drift(66);
	assert_int_equal(verify(arena).differences.sampled, 66);
}

/* Those of deleted records keep their places, also the lowest ones. */
static void test_examples_of_deleted_records(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	rig.first_scored_at_ms = clock_wall_ms() / DAY_MS * DAY_MS - 3 * DAY_MS;
	count_records(700);
	rebuild(arena);
	assert_int_equal(examples("true"), 500);
	for (int partition = 0; partition < RIG_PARTITIONS; partition++)
		rig_delete_records(partition, 100);
	long older = examples("record_offset < 100");
	assert_true(older > 0);
	struct rebuild_differences found = verify(arena).differences;
	assert_int_equal(found.examples, 0);
	assert_int_equal(found.sampled, 500 - older);
	run_sql("DELETE FROM calibration_examples WHERE event_key = (SELECT event_key FROM "
		"calibration_examples WHERE record_offset >= 100 ORDER BY 1 LIMIT 1)");
	assert_int_equal(verify(arena).differences.examples, 1);
	assert_int_equal(rebuild(arena).examples.drawn, 500 - older);
	assert_int_equal(examples("record_offset < 100"), older);
	assert_int_equal(examples("true"), 500);
	assert_int_equal(verify(arena).differences.examples, 0);
}

/* ---- claims ---- */

#define FIRST_CLAIM                                                                                          \
	"(scored_at, partition) = (SELECT scored_at, partition FROM calibration_claims "                     \
	"ORDER BY scored_at, partition LIMIT 1)"

static long claims(const char *which)
{
	char sql[160], text[64];
	snprintf(sql, sizeof sql, "SELECT count(*) FROM calibration_claims WHERE %s", which);
	rig_query(sql, text, sizeof text);
	return strtol(text, NULL, 10);
}

static int64_t differing_claims(void)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct rebuild_differences found = verify(arena).differences;
	assert_int_equal(found.differing + found.examples, 0);
	return found.claims;
}

/* To the last digit, and a rebuild finds the same again. */
static void test_claims_that_were_changed(void **state)
{
	static const struct {
		const char *sql;
		int64_t claims, removed, added;
	} changes[] = {
		{ "DELETE FROM calibration_claims WHERE " FIRST_CLAIM, 1, 0, 1 },
		{ "UPDATE calibration_claims SET correct = NOT correct WHERE " FIRST_CLAIM, 1, 1, 1 },
		{ "UPDATE calibration_claims SET probability = probability + 1e-16 WHERE " FIRST_CLAIM, 1, 1,
		  1 },
		{ "UPDATE calibration_claims SET scored_at = scored_at + interval '1 ms' WHERE " FIRST_CLAIM,
		  2, 1, 1 },
		{ "UPDATE calibration_claims SET application = 'made up' WHERE " FIRST_CLAIM, 2, 1, 1 },
		{ "UPDATE calibration_claims SET record_offset = 12345 WHERE " FIRST_CLAIM, 2, 1, 1 },
		{ "INSERT INTO calibration_claims SELECT application, 'made up', prompt_version, "
		  "label_source, "
		  "scored_at, partition, record_offset, probability, correct FROM calibration_claims LIMIT 1",
		  1, 1, 0 },
		{ "TRUNCATE calibration_claims", 70, 0, 70 },
	};
	(void)state;
	count_records(70);
	expect_no_drift(70);
	assert_int_equal(claims("true"), 70);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i += whole_or(1, 3)) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		run_sql(changes[i].sql);
		int64_t found = differing_claims();
		if (found != changes[i].claims)
			fail_msg("%s: %lld claims", changes[i].sql, (long long)found);
		struct rebuild_claims_replaced done = rebuild(arena).claims;
		assert_int_equal(done.removed, changes[i].removed);
		assert_int_equal(done.added, changes[i].added);
		assert_int_equal(claims("true"), 70);
		expect_no_drift(70);
	}
}

/* Of more than there is room for the latest, in partitions that were read in whatever order. */
static void test_the_latest_claims(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_records(1300);
	assert_int_equal(claims("true"), 1000);
	expect_no_drift(1300);
	run_sql("DELETE FROM calibration_claims WHERE " FIRST_CLAIM);
	assert_int_equal(differing_claims(), 1);
	rebuild(arena);
	expect_no_drift(1300);
	/* what the log has lost is left as it is */
	for (int partition = 0; partition < RIG_PARTITIONS; partition++)
		rig_delete_records(partition, 300);
	long older = claims("record_offset < 300");
	assert_true(older > 0);
	assert_int_equal(differing_claims(), 0);
	run_sql("UPDATE calibration_claims SET correct = NOT correct WHERE record_offset IN (299, 300) "
		"AND partition = 0");
	assert_int_equal(differing_claims(), claims("record_offset = 300 AND partition = 0"));
	rebuild(arena);
	assert_int_equal(claims("record_offset < 300"), older);
	assert_int_equal(claims("true"), 1000);
	assert_int_equal(differing_claims(), 0);
}

/* Nobody kept them before something was learnt, nor does a program that does not know of them. */
static void test_claims_from_some_day_on(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	rig.learns = false;
	count_records(30);
	assert_int_equal(claims("true"), 0);
	expect_no_drift(30);
	rig.learns = true;
	count_records(30);
	assert_int_equal(claims("true"), 30);
	expect_no_drift(60);
	run_sql("DELETE FROM calibration_claims WHERE " FIRST_CLAIM);
	assert_int_equal(differing_claims(), 1);
	run_sql("UPDATE calibration_positions SET claims_until = claims_until - 1");
	count_records(6);
	expect_no_drift(66);
	assert_int_equal(claims("true"), 35);
	rebuild(arena);
	assert_int_equal(claims("true"), 66);
	expect_no_drift(66);
}

/* ---- odd states ---- */

static void set_application(const char *name)
{
	char sql[256];
	snprintf(sql, sizeof sql,
		 "UPDATE calibration_buckets SET application = '%s'; "
		 "UPDATE calibration_rollups SET application = '%s'; "
		 "UPDATE calibration_examples SET application = '%s'",
		 name, name, name);
	run_sql(sql);
}

/* Segments beyond the limit are "other", in a recount as well. */
static void expect_moved_cases(struct arena *arena)
{
	set_application("other");
	struct rebuild_outcome summary = verify(arena);
	assert_int_equal(summary.differences.differing, 0);
	assert_int_equal(summary.differences.moved, 70);
	assert_int_equal(summary.differences.examples, 0);
	run_sql("UPDATE calibration_examples SET correct = NOT correct WHERE record_offset = 3");
	assert_true(verify(arena).differences.examples > 0);
	run_sql("UPDATE calibration_examples SET correct = NOT correct WHERE record_offset = 3");
	/* the other way round it is a difference */
	set_application("somebody else");
	summary = verify(arena);
	assert_true(summary.differences.differing > 0);
	assert_int_equal(summary.differences.examples, 140);
	set_application("app");
}

/* The width of buckets is an installation's choice, and may change. */
static void expect_another_width(struct arena *arena)
{
	struct rebuild_options options = rig_rebuild_options();
	struct rebuild_outcome summary;
	options.bucket_s = 60;
	assert_int_equal(rebuild_verify(&options, arena, &summary, NULL), ERR_OK);
	assert_int_equal(summary.differences.differing, 0);
	assert_int_equal(summary.differences.compared, 7);
	assert_int_equal(summary.differences.days, 7);
	assert_int_equal(summary.notes_count, 1);
}

static void expect_one_rebuild_at_a_time(struct arena *arena)
{
	_cleanup_(database_cleanup) struct database *other = database_new(rig.server.socket_dsn, NULL);
	const struct rebuild_options options = rig_rebuild_options();
	struct rebuild_outcome summary;
	assert_int_equal(database_connect(other, NULL, NULL), ERR_OK);
	assert_int_equal(database_script(other, "SELECT pg_advisory_lock(7236837205)", NULL), ERR_OK);
	assert_int_equal(rebuild_rebuild(&options, arena, &summary, NULL), ERR_CONFLICT);
}

/* A topic that is not the one that was counted. */
static void expect_nothing_of_another_topic(struct arena *arena)
{
	const struct rebuild_options options = rig_rebuild_options();
	char position[80];
	snprintf(position, sizeof position, "partition 1 of %s is counted up to offset 1000000", rig.topic);
	run_sql("UPDATE calibration_positions SET next_offset = 1000000 WHERE partition = 1");
	struct rebuild_outcome summary = verify(arena);
	assert_false(summary.complete);
	assert_int_equal(summary.differences.compared, 0);
	assert_int_equal(summary.differences.differing, 0);
	expect_refusal(&options, position,
		       "21 buckets (70 cases), 0 events, 0 feedback messages and 70 examples");
	assert_int_equal(rig_counted(), 70);
}

static void test_odd_states(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_records(70);
	expect_moved_cases(arena);
	expect_another_width(arena);
	expect_one_rebuild_at_a_time(arena);
	expect_nothing_of_another_topic(arena);
}

/* Of what is older than the log nothing is said, and a rebuild leaves it alone. */
static void test_deleted_records_are_not_missed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char older[64], still[64];
	int64_t hour_ms = clock_wall_ms() / HOUR_MS * HOUR_MS;
	rig.first_scored_at_ms = hour_ms - 3 * HOUR_MS;
	count_records(60);
	rig.first_scored_at_ms = hour_ms - HOUR_MS;
	count_records(60);
	rig_query("SELECT sum(weight_confidence) FROM calibration_sums", older, sizeof older);
	for (int partition = 0; partition < RIG_PARTITIONS; partition++)
		rig_delete_records(partition, 5);
	struct rebuild_outcome summary = verify(arena);
	assert_false(summary.complete);
	assert_int_equal(summary.notes_count, RIG_PARTITIONS);
	assert_int_equal(summary.range.since_ms, hour_ms - 2 * HOUR_MS);
	assert_int_equal(summary.differences.differing, 0);
	assert_true(summary.differences.compared > 0);
	run_sql("UPDATE calibration_buckets SET cases = cases + 1 WHERE bucket_start >= now() - interval '2 "
		"hours'; UPDATE calibration_rollups SET cases = cases + 1 WHERE bucket_start >= now() - "
		"interval '2 hours' OR width_s = 86400");
	summary = verify(arena);
	assert_int_equal(summary.differences.differing,
			 summary.differences.compared + summary.differences.days);
	rebuild(arena);
	assert_int_equal(verify(arena).differences.differing, 0);
	rig_query("SELECT sum(weight_confidence) FROM calibration_sums", still, sizeof still);
	assert_string_equal(still, older);
	assert_int_equal(rig_counted(), 120);
}

/* Calibrators count on while everything is spoilt and rebuilt, again and again. */
static void test_rebuilding_under_running_calibrators(void **state)
{
	(void)state;
	struct calibrator *first = rig_start_calibrator(), *second = rig_start_calibrator();
	for (int round = 0; round < 2; round++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		rig_produce(1500, true);
		while (rig_counted() == 0) /* what was never counted cannot be rebuilt */
			rig_sleep_ms(100);
		run_sql("DO $$ BEGIN IF to_regclass('calibration_rollups') IS NOT NULL THEN "
			"UPDATE calibration_buckets SET cases = cases + 5 WHERE bin = 6; "
			"DELETE FROM calibration_rollups WHERE bin = 7; "
			"UPDATE calibration_rollups SET cases = cases + 3 WHERE bin = 5; "
			"DELETE FROM calibration_buckets WHERE bin = 8; END IF; END $$");
		rig_sleep_ms(700);
		rebuild(arena);
	}
	rig_wait_counted(rig.sent);
	rig_sleep_ms(1000);
	expect_no_drift(3000);
	calibrator_stop(first);
	calibrator_stop(second);
	expect_no_drift(3000);
}

/* A feedback topic that nobody has created holds up nothing else. */
static void test_a_feedback_topic_that_is_missing(void **state)
{
	(void)state;
	rig.horizon_ms = DAY_MS;
	snprintf(rig.feedback_topic, sizeof rig.feedback_topic, "missing-%ld", (long)getpid());
	count_records(30);
	expect_no_drift(30);
}

/* What to do about tables of another program is the opposite, by whether it is older or newer. */
static void test_a_database_without_these_tables(void **state)
{
	static const struct {
		const char *sql, *said;
	} databases[] = {
		{ "SELECT", "there are no calibration tables in this database: the daemon makes them" },
		{ "CREATE TABLE calibration_migrations (version integer); "
		  "INSERT INTO calibration_migrations VALUES (3)",
		  "have version 3, this program needs " },
		{ "UPDATE calibration_migrations SET version = 999",
		  "a newer version of assayd has brought them up to date; use that" },
	};
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct rebuild_options options = rig_rebuild_options();
	struct rebuild_outcome summary;
	for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
		struct err_detail detail = { "" };
		run_sql(databases[i].sql);
		assert_int_equal(rebuild_verify(&options, arena, &summary, &detail), ERR_DATABASE_REFUSED);
		if (!strstr(detail.message, databases[i].said))
			fail_msg("%s instead of %s", detail.message, databases[i].said);
		assert_int_equal(rebuild_rebuild(&options, arena, &summary, NULL), ERR_DATABASE_REFUSED);
	}
}

/* ---- feedback ---- */

static const bool right = true, wrong = false;

static long verdicts(void)
{
	char text[64];
	rig_query("SELECT sum(cases) || '000' FROM calibration_buckets WHERE width_s = 300 "
		  "AND label_source = 'FEEDBACK'",
		  text, sizeof text);
	return strtol(text, NULL, 10) / 1000;
}

static void wait_verdicts(long expected)
{
	int64_t deadline_us = clock_monotonic_us() + INT64_C(60000000);
	while (verdicts() != expected && clock_monotonic_us() < deadline_us)
		rig_sleep_ms(100);
	assert_int_equal(verdicts(), expected);
}

static void expect_correct(const char *expected)
{
	char text[64];
	rig_query("SELECT trim_scale(sum(weight_correct)) FROM calibration_rollups WHERE width_s = 3600 "
		  "AND label_source = 'FEEDBACK'",
		  text, sizeof text);
	assert_string_equal(text, expected);
}

/* Event n was scored at n · 100 ms from the first on; the horizon is a day. */
static int64_t first_ms(void)
{
	return rig.first_scored_at_ms;
}

static void test_feedback_is_recounted(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibrator_statistics statistics;
	rig.horizon_ms = DAY_MS;
	rig.first_scored_at_ms = clock_wall_ms() - 3 * HOUR_MS;
	for (int i = 0; i < 30; i++) /* before anything is scored: the even ones are right */
		rig_say(i, i % 2 == 0 ? &right : &wrong, first_ms() + HOUR_MS);
	rig_say(5000, &right, first_ms()); /* never scored */
	rig_flush_feedback();
	struct calibrator *first = rig_start_calibrator();
	rig_produce(60, true);
	wait_verdicts(33); /* every tenth is there twice */
	expect_correct("18");
	struct calibrator *second = rig_start_calibrator();
	for (int i = 0; i < 60; i++) {
		rig_say(i, &right, first_ms() + 2 * HOUR_MS); /* 30 are new, 15 corrected, 15 said again */
		rig_say(i, &wrong, first_ms() + 2 * DAY_MS);  /* too late */
		rig_say(i, NULL, first_ms() + 2 * HOUR_MS);   /* rubbish */
	}
	rig_flush_feedback();
	wait_verdicts(66);
	rig_produce(60, true); /* meanwhile it goes on */
	calibrator_stop(first);
	rig_wait_counted(120);
	expect_correct("66");
	calibrator_statistics(second, &statistics);
	calibrator_stop(second);
	struct rebuild_outcome summary = verify(arena);
	assert_int_equal(summary.differences.differing, 0);
	assert_int_equal(summary.feedback, 211);
	rig_say(7, &wrong, first_ms() + 2 * HOUR_MS + 1); /* after a restart the memory is still there */
	rig_flush_feedback();
	first = rig_start_calibrator();
	for (int i = 0; i < 600 && statistics.feedback_corrected != 1; i++) {
		rig_sleep_ms(100);
		calibrator_statistics(first, &statistics);
	}
	calibrator_stop(first);
	expect_correct("65");
	expect_no_drift(120);
	/* a rebuild comes to the same, and feedback goes on after it */
	run_sql("UPDATE calibration_buckets SET weight_correct = 3 WHERE label_source = 'FEEDBACK'; "
		"UPDATE calibration_rollups SET weight_correct = 3 WHERE label_source = 'FEEDBACK'; "
		"UPDATE calibration_events SET correct = NULL");
	summary = verify(arena);
	assert_true(summary.differences.differing > 0);
	assert_int_equal(summary.differences.items[0].label_source, LABEL_FEEDBACK);
	rebuild(arena);
	expect_correct("65");
	expect_no_drift(120);
	rig_say(7, &right, first_ms() + 2 * HOUR_MS + 2);
	rig_say(100, &right, first_ms() + 2 * HOUR_MS);
	rig_flush_feedback();
	first = rig_start_calibrator();
	wait_verdicts(68);
	calibrator_stop(first);
	expect_correct("68");
	expect_no_drift(120);
}

/* Of those within the horizon. */
#define FIRST_MESSAGE                                                                                        \
	"(partition, record_offset) IN (SELECT partition, record_offset FROM calibration_feedback "          \
	"WHERE said_at > now() - interval '1 day' LIMIT 1)"

/* What later feedback is counted by: a changed row changes no sum yet, and will. */
static void test_a_memory_that_was_changed(void **state)
{
	static const struct {
		const char *sql;
		int64_t events, feedback;
	} changes[] = {
		{ "UPDATE calibration_events SET correct = NOT correct WHERE (partition, record_offset) IN "
		  "(SELECT partition, record_offset FROM calibration_events WHERE correct ORDER BY 1, 2 "
		  "LIMIT 1)",
		  1, 0 },
		{ "UPDATE calibration_events SET correct = NULL WHERE (partition, record_offset) IN "
		  "(SELECT partition, record_offset FROM calibration_events WHERE correct ORDER BY 1, 2 "
		  "LIMIT 2)",
		  2, 0 },
		{ "DELETE FROM calibration_events WHERE partition = 1 AND record_offset = (SELECT "
		  "min(record_offset) FROM calibration_events WHERE partition = 1)",
		  1, 0 },
		{ "INSERT INTO calibration_events SELECT gen_random_uuid(), scored_at, partition, "
		  "record_offset, "
		  "application, model, prompt_version, level, confidence, NULL FROM calibration_events LIMIT "
		  "1",
		  1, 0 },
		{ "UPDATE calibration_events SET confidence = confidence / 2 WHERE confidence > 0 AND "
		  "partition "
		  "= 1 AND record_offset = (SELECT min(record_offset) FROM calibration_events WHERE "
		  "partition = "
		  "1 AND confidence > 0)",
		  1, 0 },
		{ "UPDATE calibration_events SET features = features || '{\"length\": 2.25}' WHERE "
		  "(partition, "
		  "record_offset) IN (SELECT partition, record_offset FROM calibration_events LIMIT 1)",
		  1, 0 },
		{ "UPDATE calibration_events SET features = features || '{\"question\": 5}'", 0, 0 },
		{ "UPDATE calibration_events SET rules = rules + 1 WHERE (partition, record_offset) IN "
		  "(SELECT partition, record_offset FROM calibration_events LIMIT 1)",
		  1, 0 },
		{ "UPDATE calibration_events SET rules = NULL", 0, 0 },
		{ "DELETE FROM calibration_feedback WHERE " FIRST_MESSAGE, 0, 1 },
		{ "UPDATE calibration_feedback SET correct = NOT correct WHERE " FIRST_MESSAGE, 0, 1 },
	};
	(void)state;
	rig.horizon_ms = DAY_MS;
	rig.first_scored_at_ms = clock_wall_ms() - 3 * HOUR_MS;
	for (int i = 0; i < 30; i++)
		rig_say(i, i % 2 == 0 ? &right : &wrong, first_ms() + HOUR_MS);
	rig_say(0, &right, clock_wall_ms() + 30 * DAY_MS); /* refused when it comes: nobody means that time */
	rig_say(1, &right, clock_wall_ms() - 30 * DAY_MS);
	rig_flush_feedback();
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(60, true);
	wait_verdicts(33);
	calibrator_stop(calibrator);
	expect_no_drift(60);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i += whole_or(1, 3)) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		run_sql(changes[i].sql);
		struct rebuild_differences found = verify(arena).differences;
		if (found.events != changes[i].events || found.feedback != changes[i].feedback ||
		    found.differing)
			fail_msg("%s: %lld events, %lld messages, %lld buckets", changes[i].sql,
				 (long long)found.events, (long long)found.feedback,
				 (long long)found.differing);
		rebuild(arena);
		expect_no_drift(60);
	}
}

/* Feedback that is asked for later only: for events from then on, and for all after a rebuild. */
static void test_feedback_from_some_day_on(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	rig.first_scored_at_ms = clock_wall_ms() - 5 * HOUR_MS;
	for (int i = 0; i < 60; i++)
		rig_say(i, &right, clock_wall_ms() - HOUR_MS);
	rig_flush_feedback();
	count_records(30);
	rig.horizon_ms = DAY_MS;
	rig.first_scored_at_ms = clock_wall_ms() - 2 * HOUR_MS;
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(30, true);
	wait_verdicts(33);
	calibrator_stop(calibrator);
	struct rebuild_outcome summary = verify(arena);
	assert_int_equal(summary.differences.differing, 0);
	rebuild(arena);
	assert_int_equal(verdicts(), 66);
	assert_int_equal(verify(arena).differences.differing, 0);
}

/* ---- what the topics cannot supply ---- */

/* All that a rebuild may change, in one text. */
static void read_tables(char *text, size_t size)
{
	rig_query("SELECT md5(string_agg(line, ' ' ORDER BY line)) FROM (SELECT b::text AS line FROM "
		  "calibration_sums b UNION ALL SELECT c::text FROM calibration_claims c UNION ALL SELECT "
		  "e::text FROM calibration_events e UNION ALL "
		  "SELECT f::text FROM calibration_feedback f UNION ALL SELECT x::text FROM "
		  "calibration_examples x "
		  "UNION ALL SELECT p::text FROM calibration_positions p) AS lines",
		  text, size);
}

static char tables_before[64];

static void note_tables(void)
{
	read_tables(tables_before, sizeof tables_before);
}

static void expect_same_tables(void)
{
	char text[64];
	read_tables(text, sizeof text);
	assert_string_equal(text, tables_before);
}

static long count_rows(const char *from)
{
	char sql[256], text[64];
	snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", from);
	rig_query(sql, text, sizeof text);
	return strtol(text, NULL, 10);
}

static void delete_all_records(void)
{
	for (int partition = 0; partition < RIG_PARTITIONS; partition++)
		rig_delete_records(partition, RD_KAFKA_OFFSET_END);
}

/* Events since three hours ago, the first 30 of them with verdicts. */
static void count_with_feedback(int count)
{
	rig.horizon_ms = DAY_MS;
	rig.first_scored_at_ms = clock_wall_ms() - 3 * HOUR_MS;
	for (int i = 0; i < 30; i++)
		rig_say(i, i % 2 == 0 ? &right : &wrong, first_ms() + HOUR_MS);
	rig_flush_feedback();
	struct calibrator *calibrator = rig_start_calibrator();
	rig_produce(count, true);
	wait_verdicts(33); /* every tenth is there twice */
	rig_wait_counted(rig.sent);
	calibrator_stop(calibrator);
}

static void test_all_records_are_gone(void **state)
{
	(void)state;
	count_with_feedback(60);
	const struct rebuild_options options = rig_rebuild_options();
	note_tables();
	delete_all_records();
	expect_refusal(&options, "no scored event left", "66 events, 30 feedback messages and 60 examples");
	expect_same_tables();
}

/* Events of deleted records stay with their verdicts, as the buckets do that have counted them; those of
 * others are mended. */
static void test_memory_of_deleted_records(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_with_feedback(60);
	long events = count_rows("calibration_events");
	for (int partition = 0; partition < RIG_PARTITIONS; partition++)
		rig_delete_records(partition, 10);
	long older = count_rows("calibration_events WHERE record_offset < 10");
	assert_true(older > 0 && older < events);
	run_sql("UPDATE calibration_events SET level = 'LOW_CONFIDENCE' WHERE (partition, record_offset) = "
		"(SELECT partition, record_offset FROM calibration_events WHERE record_offset >= 10 LIMIT "
		"1); "
		"DELETE FROM calibration_events WHERE (partition, record_offset) = (SELECT partition, "
		"record_offset FROM calibration_events WHERE record_offset >= 10 "
		"AND level <> 'LOW_CONFIDENCE' AND correct IS NULL LIMIT 1)");
	struct rebuild_outcome done = rebuild(arena);
	assert_int_equal(done.memory.events_removed, 1);
	assert_int_equal(done.memory.events_added, 2);
	assert_int_equal(done.memory.feedback_removed, 0);
	assert_int_equal(done.stored.events, events);
	assert_int_equal(count_rows("calibration_events"), events);
	assert_int_equal(count_rows("calibration_events WHERE correct IS NOT NULL"), 33);
	assert_int_equal(verdicts(), 33);
	assert_int_equal(verify(arena).differences.events, 0);
	/* what was counted once is corrected, and not counted again */
	for (int i = 0; i < 30; i++)
		rig_say(i, &right, first_ms() + 2 * HOUR_MS);
	rig_flush_feedback();
	struct calibrator *calibrator = rig_start_calibrator();
	for (int i = 0; i < 600 && count_rows("calibration_events WHERE correct") != 33; i++)
		rig_sleep_ms(100);
	calibrator_stop(calibrator);
	assert_int_equal(verdicts(), 33);
	expect_correct("33");
}

/* Messages that are gone leave the verdicts that they gave. */
static void test_verdicts_of_deleted_messages(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char topic[sizeof rig.topic];
	count_with_feedback(60);
	memcpy(topic, rig.topic, sizeof topic);
	memcpy(rig.topic, rig.feedback_topic, sizeof rig.topic); /* deletes of what it has there */
	delete_all_records();
	memcpy(rig.topic, topic, sizeof topic);
	note_tables();
	struct rebuild_outcome done = rebuild(arena);
	assert_int_equal(done.memory.events_removed + done.memory.feedback_removed + done.removed, 0);
	run_sql("UPDATE calibration_positions SET updated_at = updated_at"); /* remembered_from is noted */
	assert_int_equal(count_rows("calibration_events WHERE correct IS NOT NULL"), 33);
	assert_int_equal(count_rows("calibration_feedback"), 30);
	assert_int_equal(verdicts(), 33);
	expect_correct("18");
	assert_int_equal(verify(arena).differences.events, 0);
}

/* One that never was counted, whatever it has. */
static void test_a_topic_that_was_never_counted(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct kafka_settings kafka = rig_kafka_settings();
	struct rebuild_options options = rig_rebuild_options();
	struct rebuild_outcome summary;
	count_with_feedback(60);
	note_tables();
	kafka.scored_topic = rig.advisory_topic;
	options.kafka = &kafka;
	options.feedback_horizon_ms = rig.horizon_ms;
	expect_refusal(&options, rig.advisory_topic, rig.topic);
	expect_same_tables();
	assert_int_equal(rebuild_verify(&options, arena, &summary, NULL), ERR_CALIBRATION_LOG);
	char missing[200];
	snprintf(missing, sizeof missing,
		 "UPDATE calibration_positions SET topic = 'nowhere' WHERE topic = '%s'", rig.topic);
	run_sql(missing);
	note_tables();
	kafka.scored_topic = "nowhere";
	struct err_detail detail = { "" };
	assert_int_equal(rebuild_rebuild(&options, arena, &summary, &detail), ERR_KAFKA_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "of nowhere: there is no such topic at this broker"));
	expect_same_tables();
	run_sql("TRUNCATE calibration_positions");
	note_tables();
	expect_refusal(&options, "was ever counted", "66 events");
	expect_same_tables();
	run_sql("TRUNCATE calibration_buckets, calibration_rollups, calibration_events, "
		"calibration_feedback, "
		"calibration_examples");
	expect_refusal(&options, "nothing was ever counted", "start that");
}

/* The same name, the same length, the same offsets: what is stored of records that the topic does not have
 * stays, and what came since is mended. */
static void test_a_topic_that_was_made_again(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_with_feedback(60);
	long cases = rig_counted();
	rig_make_topic_again();
	const struct rebuild_options options = rig_rebuild_options();
	note_tables();
	expect_refusal(&options, rig.topic, "and ends at 0");
	expect_same_tables();
	char deletion[160];
	snprintf(deletion, sizeof deletion, "DELETE FROM calibration_positions WHERE topic = '%s'",
		 rig.topic);
	run_sql(deletion);
	rig.first_scored_at_ms = clock_wall_ms() - 2 * MINUTE_MS;
	count_records(90);
	assert_int_equal(rig_counted(), cases + 90);
	note_tables();
	struct rebuild_outcome done = rebuild(arena);
	assert_int_equal(done.removed, 0);
	assert_int_equal(done.memory.events_removed, 0);
	assert_int_equal(done.examples.removed, 0);
	assert_int_equal(rig_counted(), cases + 90);
	assert_int_equal(count_rows("calibration_events WHERE correct IS NOT NULL"), 33);
	assert_int_equal(examples("true"), 150);
	struct rebuild_outcome found = verify(arena);
	assert_false(found.complete);
	assert_int_equal(found.differences.differing + found.differences.examples + found.differences.events,
			 0);
	run_sql("DELETE FROM calibration_examples WHERE record_offset = (SELECT max(record_offset) FROM "
		"calibration_examples)");
	assert_true(verify(arena).differences.examples > 0);
	assert_true(rebuild(arena).examples.added > 0);
	assert_int_equal(examples("true"), 150);
}

/* Another topic that was counted into the same tables: what was scored until then stays. */
static void test_another_topic_before(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	rig.first_scored_at_ms = clock_wall_ms() - 2 * DAY_MS;
	count_records(60);
	run_sql("UPDATE calibration_positions SET topic = 'the-one-before', updated_at = now() - interval '1 "
		"day'");
	rig_make_topic_again();
	rig.first_scored_at_ms = clock_wall_ms() - 3 * HOUR_MS;
	count_records(60);
	struct rebuild_outcome done = rebuild(arena);
	assert_int_equal(done.removed + done.added, 0);
	assert_false(done.complete);
	assert_int_equal(rig_counted(), 120);
	assert_int_equal(examples("true"), 120);
	run_sql("DELETE FROM calibration_rollups WHERE width_s = 3600");
	assert_true(rebuild(arena).added > 0);
	assert_int_equal(count_rows("calibration_rollups WHERE width_s = 3600 AND bucket_start < now() - "
				    "interval '1 day'"),
			 0); /* nobody can make those again */
	assert_true(count_rows("calibration_rollups WHERE width_s = 3600") > 0);
}

/* As long as what was counted, and with other events in it. */
static void test_a_topic_with_other_events(void **state)
{
	(void)state;
	count_with_feedback(60);
	const struct rebuild_options options = rig_rebuild_options();
	run_sql("UPDATE calibration_examples SET event_key = gen_random_uuid()");
	note_tables();
	expect_refusal(&options, "is not the topic that was counted", "60 examples");
	expect_same_tables();
	run_sql("UPDATE calibration_events SET event_key = gen_random_uuid()");
	note_tables();
	expect_refusal(&options, "is not the topic that was counted", "66 events");
	expect_same_tables();
}

static char *print(const struct rebuild_outcome *outcome,
		   void (*write)(FILE *, const struct rebuild_outcome *, bool))
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	write(stream, outcome, true);
	fclose(stream);
	return text;
}

static void expect_in(const char *text, const char *format, ...)
{
	char part[160];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(part, sizeof part, format, arguments);
	va_end(arguments);
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in\n%s", part, text);
}

/* All that goes and comes, for people and programs. */
static void expect_told(const struct rebuild_outcome *told)
{
	_cleanup_(cleanup_free) char *text = print(told, rebuild_print);
	_cleanup_(cleanup_free) char *json = print(told, rebuild_print_json);
	expect_in(text, "\n%lld buckets removed, %lld added; %lld of 93 cases are there then\n",
		  (long long)told->removed, (long long)told->added, (long long)told->stored.buckets);
	expect_in(text, "\nremembered events: 0 removed, %lld added; 66 are there then\n",
		  (long long)told->memory.events_added);
	expect_in(text, "\nremembered feedback messages: 0 removed, 10 added; 30 are there then\n");
	expect_in(text, "\nexamples to learn from: 0 removed, %lld added; 60 are there then\n",
		  (long long)told->examples.added);
	expect_in(text, "\nprobabilities tested for drift: 0 removed, 0 added; 60 are there then\n");
	expect_in(text, "\nnot changed: 0 models, 0 episodes of drift\nnothing is changed (--dry-run)\n");
	expect_in(json, "\"feedback_added\":10");
	expect_in(json, "\"events\":66");
	expect_in(json, "\"examples_added\":%lld", (long long)told->examples.added);
	expect_in(json, "\"claims\":60");
	expect_in(json, "\"dry_run\":true");
}

static err_t refuse(const struct rebuild_outcome *outcome, void *context, struct err_detail *detail)
{
	*(int64_t *)context = outcome->removed;
	return err_fail(detail, ERR_IO, "no");
}

/* What would be done is told before it is. */
static void test_what_is_only_told(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct rebuild_outcome told, done;
	int64_t removed = -1;
	count_with_feedback(60);
	run_sql("UPDATE calibration_rollups SET cases = cases + 1 WHERE width_s = 3600 AND bin = 5; "
		"DELETE FROM calibration_examples WHERE record_offset < 5; "
		"DELETE FROM calibration_events WHERE record_offset < 5 AND partition = 1; "
		"DELETE FROM calibration_feedback WHERE partition = 0");
	note_tables();
	struct rebuild_options options = rig_rebuild_options();
	options.dry = true;
	assert_int_equal(rebuild_rebuild(&options, arena, &told, NULL), ERR_OK);
	expect_same_tables();
	expect_told(&told);
	options.dry = false;
	options.ready = refuse;
	options.ready_context = &removed;
	assert_int_equal(rebuild_rebuild(&options, arena, &done, NULL), ERR_IO);
	expect_same_tables();
	done = rebuild(arena);
	assert_true(told.removed > 0 && told.removed == done.removed && removed == done.removed);
	assert_int_equal(told.added, done.added);
	assert_true(told.examples.added > 0 && told.examples.added == done.examples.added);
	assert_true(told.memory.events_added > 0 && told.memory.events_added == done.memory.events_added);
	assert_int_equal(told.memory.feedback_added, 10);
	assert_int_equal(done.memory.feedback_added, 10);
	assert_int_equal(told.stored.examples, 60);
	expect_no_drift(60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_tampering_is_found_and_mended, rig_begin_test),
		cmocka_unit_test_setup(test_totals_that_were_changed, rig_begin_test),
		cmocka_unit_test_setup(test_sequences_that_missed_a_case, rig_begin_test),
		cmocka_unit_test_setup(test_examples_that_were_changed, rig_begin_test),
		cmocka_unit_test_setup(test_examples_of_a_full_day, rig_begin_test),
		cmocka_unit_test_setup(test_rules_of_a_rebuild, rig_begin_test),
		cmocka_unit_test_setup(test_examples_from_some_day_on, rig_begin_test),
		cmocka_unit_test_setup(test_examples_of_deleted_records, rig_begin_test),
		cmocka_unit_test_setup(test_claims_that_were_changed, rig_begin_test),
		cmocka_unit_test_setup(test_the_latest_claims, rig_begin_test),
		cmocka_unit_test_setup(test_claims_from_some_day_on, rig_begin_test),
		cmocka_unit_test_setup(test_odd_states, rig_begin_test),
		cmocka_unit_test_setup(test_deleted_records_are_not_missed, rig_begin_test),
		cmocka_unit_test_setup(test_rebuilding_under_running_calibrators, rig_begin_test),
		cmocka_unit_test_setup(test_feedback_is_recounted, rig_begin_test),
		cmocka_unit_test_setup(test_a_memory_that_was_changed, rig_begin_test),
		cmocka_unit_test_setup(test_feedback_from_some_day_on, rig_begin_test),
		cmocka_unit_test_setup(test_a_feedback_topic_that_is_missing, rig_begin_test),
		cmocka_unit_test_setup(test_all_records_are_gone, rig_begin_test),
		cmocka_unit_test_setup(test_memory_of_deleted_records, rig_begin_test),
		cmocka_unit_test_setup(test_verdicts_of_deleted_messages, rig_begin_test),
		cmocka_unit_test_setup(test_a_topic_that_was_never_counted, rig_begin_test),
		cmocka_unit_test_setup(test_a_topic_that_was_made_again, rig_begin_test),
		cmocka_unit_test_setup(test_another_topic_before, rig_begin_test),
		cmocka_unit_test_setup(test_a_topic_with_other_events, rig_begin_test),
		cmocka_unit_test_setup(test_what_is_only_told, rig_begin_test),
		cmocka_unit_test_setup(test_a_database_without_these_tables, rig_begin_test),
	};
	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, rig_start, rig_stop);
}
