/* When a drift episode opens and closes: by its rules, and in a real PostgreSQL with several that judge. */
#include "calibration/drift/drift.h"

#include "calibration/count/store.h"
#include "calibration/drift/drift_publisher.h"
#include "calibration/drift/update.h"
#include "calibration/store/retention.h"
#include "common/log.h"
#include "tests/harness/fixtures/counting.h"
#include "tests/harness/servers/database_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 2026-01-08 12:00:00 UTC */
#define NOON_MS	  INT64_C(1767873600000)
#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)
#define DAY_MS	  (24 * HOUR_MS)

static const struct drift_limits limits = { 0.5, 0.55, 20, 1 };

static bool claims_are_tested; /* false at each test's begin */

/* ---- the rules ---- */

/* A report of one group: that many cases, effectively as many, and its figures. */
static struct calibration_report report_of(int64_t cases, opt_double_t score, double accuracy,
					   double confidence)
{
	struct calibration_report report = { .cases = cases, .weight = (double)cases, .band_score = score };
	report.groups[LEVEL_HIGH] = (struct calibration_part){ .cases = cases,
							       .weight = (double)cases,
							       .effective = (double)cases,
							       .accuracy = accuracy,
							       .confidence = confidence };
	return report;
}

static void test_rules(void **state)
{
	(void)state;
	static const struct {
		bool open;
		int64_t cases;
		opt_double_t score;
		double accuracy, confidence;
		enum drift_change change;
	} cases[] = {
		{ false, 20, { true, 0.15 }, 0.4, 0.95, DRIFT_OPENS },
		{ false, 20, { true, 0.0 }, 0, 0.95, DRIFT_OPENS },
		{ false, 20, { true, 0.0 }, 0.95, 1, DRIFT_OPENS },
		{ false, 20, { true, 0.0 }, 0.05, 0, DRIFT_OPENS },
		{ false, 20, { true, 0.499999 }, 0.4, 0.95, DRIFT_OPENS },
		{ false, 20, { true, 0.5 }, 0.4, 0.95, DRIFT_STAYS },
		{ false, 20, { true, 1 - 3 * (1.0 / 6) }, 0.4, 0.95, DRIFT_STAYS },
		{ false, 20, { true, 0.92 }, 0.4, 0.95, DRIFT_STAYS },
		{ false, 19, { true, 0.15 }, 0.4, 0.95, DRIFT_STAYS },
		{ false, 0, OPT_NONE, 0, 0, DRIFT_STAYS },
		{ false, 1000, OPT_NONE, 0.4, 0.95, DRIFT_STAYS },
		/* a low score that confidence does not contradict, or only as chance may */
		{ false, 10000, { true, 0.2 }, 0.48, 0.49, DRIFT_STAYS },
		{ false, 10000, { true, 0.2 }, 0.49, 0.49, DRIFT_STAYS },
		{ false, 10000, { true, 0.2 }, 1, 1, DRIFT_STAYS },
		{ false, 10000, { true, 0.2 }, 0.4, 0.49, DRIFT_OPENS },
		{ false, 20, { true, 0.2 }, 0.6, 0.9, DRIFT_STAYS },
		{ false, 40, { true, 0.2 }, 0.6, 0.9, DRIFT_OPENS },
		/* log(8 / 0.0001) / KL(0.6 ‖ 0.9) = 36.3 */
		{ false, 37, { true, 0.2 }, 0.6, 0.9, DRIFT_OPENS },
		{ false, 36, { true, 0.2 }, 0.6, 0.9, DRIFT_STAYS },
		{ true, 20, { true, 0.15 }, 0.4, 0.95, DRIFT_STAYS },
		{ true, 20, { true, 0.5 }, 0.4, 0.95, DRIFT_STAYS },
		{ true, 20, { true, 0.549999 }, 0.4, 0.95, DRIFT_STAYS },
		{ true, 20, { true, 0.55 }, 0.4, 0.95, DRIFT_CLOSES },
		{ true, 20, { true, 1 - 3 * 0.15 }, 0.4, 0.95, DRIFT_CLOSES },
		{ true, 20, { true, 1 }, 0.4, 0.95, DRIFT_CLOSES },
		{ true, 19, { true, 1 }, 0.4, 0.95, DRIFT_STAYS },
		{ true, 0, OPT_NONE, 0, 0, DRIFT_STAYS },
		/* what cannot reach the score closes when it is calibrated */
		{ true, 1000, { true, 0.2 }, 0.46, 0.49, DRIFT_CLOSES },
		{ true, 1000, { true, 0.2 }, 0.4, 0.49, DRIFT_STAYS },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct calibration_report report =
			report_of(cases[i].cases, cases[i].score, cases[i].accuracy, cases[i].confidence);
		if (drift_judge(&limits, cases[i].open, &report) != cases[i].change)
			fail_msg("case %zu", i);
	}
}

/* More false alarms, fewer cases until there is one. */
static void test_false_alarms_are_set(void **state)
{
	static const struct drift_limits rare = { 0.5, 0.55, 20, 0.01 }, often = { 0.5, 0.55, 20, 100 };
	const struct calibration_report report = report_of(37, opt_double(0.2), 0.6, 0.9);
	(void)state;
	assert_int_equal(drift_judge(&rare, false, &report), DRIFT_STAYS);
	assert_int_equal(drift_judge(&limits, false, &report), DRIFT_OPENS);
	const struct calibration_report fewer = report_of(25, opt_double(0.2), 0.6, 0.9);
	assert_int_equal(drift_judge(&limits, false, &fewer), DRIFT_STAYS);
	assert_int_equal(drift_judge(&often, false, &fewer), DRIFT_OPENS);
}

/* One episode, whatever the windows say. */
static void test_windows(void **state)
{
	const struct calibration_report low = report_of(50, opt_double(0.1), 0.5, 0.95),
					good = report_of(50, opt_double(0.9), 0.93, 0.95),
					few = report_of(5, (opt_double_t)OPT_NONE, 0, 0.95);
	const struct {
		int window;
		const struct calibration_report *reports[DRIFT_WINDOWS];
		enum drift_change change;
		int opening;
	} cases[] = {
		{ -1, { &good, &good, &good }, DRIFT_STAYS, -1 },
		{ -1, { NULL, NULL, NULL }, DRIFT_STAYS, -1 },
		{ -1, { &low, &low, &low }, DRIFT_OPENS, 0 },
		{ -1, { NULL, &few, &low }, DRIFT_OPENS, 2 },
		{ -1, { &good, &low, &good }, DRIFT_OPENS, 1 },
		{ 0, { &low, &low, &low }, DRIFT_STAYS, -1 },
		{ 0, { &good, &good, &good }, DRIFT_CLOSES, -1 },
		{ 0, { &good, &low, &good }, DRIFT_STAYS, -1 },
		{ 0, { &few, &good, &good }, DRIFT_STAYS, -1 },
		{ 0, { NULL, NULL, &good }, DRIFT_STAYS, -1 },
		{ 2, { NULL, NULL, &good }, DRIFT_CLOSES, -1 },
		{ 2, { &low, NULL, &good }, DRIFT_STAYS, -1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct drift_standing standing = { .open = cases[i].window >= 0,
							 .window = cases[i].window,
							 .reported = true };
		int window = -1;
		enum drift_change change = drift_judge_windows(&limits, &standing, cases[i].reports, &window);
		if (change != cases[i].change || (change == DRIFT_OPENS && window != cases[i].opening))
			fail_msg("case %zu", i);
	}
}

/* A change opens it and keeps it open, whatever the windows say; it closes when neither sees anything. */
static void test_changes(void **state)
{
	const struct calibration_report low = report_of(50, opt_double(0.1), 0.5, 0.95),
					good = report_of(50, opt_double(0.9), 0.93, 0.95);
	const struct {
		struct drift_standing standing;
		const struct calibration_report *report; /* of the first window */
		enum drift_change change;
		int window;
	} cases[] = {
		{ { false, -1, true, false }, NULL, DRIFT_OPENS, -1 },
		{ { false, -1, true, false }, &good, DRIFT_OPENS, -1 },
		{ { false, -1, false, false }, &good, DRIFT_OPENS, -1 },
		{ { false, -1, true, false }, &low, DRIFT_OPENS, 0 },
		{ { false, -1, true, true }, &good, DRIFT_STAYS, -1 },
		{ { true, -1, true, true }, &good, DRIFT_STAYS, -1 },
		{ { true, -1, true, true }, &low, DRIFT_STAYS, 0 },
		{ { true, -1, false, false }, &good, DRIFT_CLOSES, -1 },
		{ { true, -1, false, true }, &good, DRIFT_CLOSES, -1 },
		{ { true, -1, false, true }, NULL, DRIFT_CLOSES, -1 },
		{ { true, -1, false, true }, &low, DRIFT_STAYS, 0 },
		{ { true, 0, true, true }, &good, DRIFT_STAYS, 0 },
		{ { true, 0, false, true }, &good, DRIFT_CLOSES, 0 },
		{ { true, 0, false, true }, NULL, DRIFT_STAYS, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct calibration_report *const reports[DRIFT_WINDOWS] = { cases[i].report };
		int window = -2;
		if (drift_judge_windows(&limits, &cases[i].standing, reports, &window) != cases[i].change ||
		    window != cases[i].window)
			fail_msg("case %zu", i);
	}
}

/* One whose sequences never alarm without such a rate. */
static struct calibration_store *new_store_of(double false_alarms_per_10k)
{
	struct calibration_store_options options = { .dsn = server.socket_dsn,
						     .bucket_s = 300,
						     .max_segments = 3,
						     .false_alarms_per_10k = false_alarms_per_10k };
	return calibration_store_new(&options);
}

static struct calibration_store *new_store(void)
{
	return new_store_of(0);
}

static int make_tables(void **state)
{
	claims_are_tested = false;
	drop_tables(state);
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	counting_database(store);
	return 0;
}

/* ---- counting and judging ---- */

/* Cases of the high group, `correct` of them right, that many minutes before noon. */
static void count_cases(struct calibration_store *store, const char *application, int64_t age_ms, int cases,
			int correct, struct segments *touched)
{
	static int32_t partition;
	struct calibration_step step = { "t", false, partition++, CALIBRATION_POSITION_NONE, cases };
	struct calibration_case *items = calloc((size_t)cases, sizeof *items);
	assert_non_null(items);
	for (int i = 0; i < cases; i++)
		items[i] = (struct calibration_case){ .scored_at_ms = NOON_MS - age_ms,
						      .application = str_from(application),
						      .model = STR("m\"1"),
						      .label_source = LABEL_RESULT,
						      .level = LEVEL_HIGH,
						      .confidence = 0.95,
						      .weight = 1,
						      .correct = i < correct };
	assert_int_equal(
		calibration_store_apply(store,
					&(const struct calibration_work){ .cases = items,
									  .cases_count = (size_t)cases,
									  .steps = &step,
									  .steps_count = 1 },
					touched, NULL, NULL),
		ERR_OK);
	free(items);
}

static struct drift_changes judge(struct calibration_store *store, const struct segments *segments,
				  int64_t now_ms)
{
	const struct drift_update_options options = { limits, 300, claims_are_tested, now_ms };
	struct drift_changes outcome;
	struct err_detail detail = { "" };
	if (drift_update(counting_database(store), &options, segments->items, segments->count, &outcome,
			 &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return outcome;
}

#define EPISODES                                                                                             \
	"SELECT coalesce(string_agg(concat_ws(' ', application, window_s / 3600, opening_cases, "            \
	"round(opening_score::numeric, 4), CASE WHEN closed_at IS NULL THEN 'open' ELSE 'closed' END), "     \
	"', ' ORDER BY application, window_s, opened_at), 'none') FROM calibration_drift_episodes"

#define GAPS                                                                                                 \
	"SELECT string_agg(concat_ws(' ', round(opening_confidence::numeric, 4)::float8, "                   \
	"opening_accuracy, opening_group, opening_group_cases, "                                             \
	"round(opening_group_confidence::numeric, 4)::float8, opening_group_accuracy), ', ') "               \
	"FROM calibration_drift_episodes"

static void test_touched_segments_are_named_as_in_the_tables(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_cases(store, "b", 0, 2, 1, &touched);
	count_cases(store, "a", 0, 2, 1, &touched);
	count_cases(store, "b", HOUR_MS, 2, 1, &touched);
	count_cases(store, "c", 0, 2, 1, &touched);
	count_cases(store, "beyond the limit", 0, 2, 1, &touched);
	count_cases(store, "beyond it as well", 0, 2, 1, &touched);
	static const char *const names[] = { "a", "b", "c", "other" };
	assert_int_equal(touched.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_true(str_is(touched.items[i].application, names[i]));
		assert_true(str_is(touched.items[i].model, i < 3 ? "m\"1" : ""));
		assert_true(str_is(touched.items[i].prompt_version, ""));
	}
}

/* 20 of 100 right: 1 − 3·|0.20 − 0.95| is below 0. 80 of 100: 1 − 3·0.15 = 0.55. */
static void test_opens_once_and_closes(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_cases(store, "app", 0, 19, 0, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 0);
	expect(EPISODES, "none");
	count_cases(store, "app", 0, 6, 5, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect(EPISODES, "app 1 25 0.0000 open");
	expect(GAPS, "0.95 0.2 HIGH_CONFIDENCE 25 0.95 0.2");
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 0);
	/* 78 of 100 is 0.49, 79 of 100 is 0.52: neither closes. */
	count_cases(store, "app", 0, 75, 74, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).closed, 0);
	expect("SELECT concat_ws(' ', cases, round(score::numeric, 4)) FROM "
	       "calibration_drift_episodes",
	       "100 0.5200");
	count_cases(store, "app", 0, 20, 17, &touched);
	struct drift_changes outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.closed, 1);
	assert_int_equal(outcome.opened, 0);
	expect(EPISODES, "app 1 25 0.0000 closed");
	/* Again below the bound: a second episode. */
	count_cases(store, "app", 0, 80, 0, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect("SELECT count(*) FROM calibration_drift_episodes WHERE closed_at IS NULL", "1");
	expect("SELECT count(*) FROM calibration_drift_episodes", "2");
}

/* What lies outside of a window does not count for it; without enough cases an episode stays open. */
static void test_windows_roll_on(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_cases(store, "app", 10 * MINUTE_MS, 20, 0, &touched);
	count_cases(store, "app", 12 * HOUR_MS, 200, 190, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect(EPISODES, "app 1 20 0.0000 open");
	assert_int_equal(judge(store, &touched, NOON_MS + 3 * HOUR_MS).closed, 0);
	expect(EPISODES, "app 1 20 0.0000 open");
	count_cases(store, "app", -5 * HOUR_MS, 20, 19, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS + 5 * HOUR_MS).closed, 1);
	expect(EPISODES, "app 1 20 0.0000 closed");
}

/* The well calibrated segment of the same application is left alone, and only what is asked for is judged. */
static void test_segments_are_judged_apart(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments good = { 0 }, bad = { 0 };
	count_cases(store, "good", 0, 100, 95, &good);
	count_cases(store, "bad", 0, 30, 3, &bad);
	assert_int_equal(judge(store, &good, NOON_MS).opened, 0);
	assert_int_equal(judge(store, &bad, NOON_MS).opened, 1);
	expect("SELECT string_agg(application, ' ') FROM calibration_drift_episodes", "bad");
}

struct judge_thread {
	const struct segments *segments;
	_Atomic size_t *opened;
};

static void *judge_until_done(void *context)
{
	struct judge_thread *thread = context;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	struct drift_changes outcome = { .busy = true };
	const struct drift_update_options options = { limits, 300, claims_are_tested, NOON_MS };
	for (int attempt = 0; attempt < 10000 && outcome.busy; attempt++) {
		struct database *database;
		if (calibration_store_database(store, &database, NULL) != ERR_OK ||
		    drift_update(database, &options, thread->segments->items, thread->segments->count,
				 &outcome, NULL) != ERR_OK)
			return thread;
	}
	*thread->opened += outcome.opened;
	return outcome.busy ? thread : NULL;
}

static void test_many_judges_open_one(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	_Atomic size_t opened = 0;
	pthread_t threads[4];
	struct judge_thread context = { &touched, &opened };
	count_cases(store, "app", 0, 30, 3, &touched);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, judge_until_done, &context), 0);
	for (size_t i = 0; i < 4; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(opened, 1);
	expect("SELECT count(*) FROM calibration_drift_episodes", "1");
}

static void test_a_judge_does_not_wait_for_another(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(database_cleanup) struct database *other = database_new(server.socket_dsn, NULL);
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_cases(store, "app", 0, 30, 3, &touched);
	assert_int_equal(database_connect(other, NULL, NULL), ERR_OK);
	assert_int_equal(database_script(other, "BEGIN; SELECT pg_advisory_xact_lock(7236837203)", NULL),
			 ERR_OK);
	assert_true(judge(store, &touched, NOON_MS).busy);
	expect(EPISODES, "none");
	assert_int_equal(database_script(other, "COMMIT", NULL), ERR_OK);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
}

/* ---- changes ---- */

#define CHANGES                                                                                              \
	"SELECT coalesce(string_agg(concat_ws(' ', application, coalesce(window_s / 3600, 0), direction, "   \
	"round(10 * size::numeric), CASE WHEN closed_at IS NULL THEN 'open' ELSE 'closed' END), ', ' "       \
	"ORDER BY application, opened_at), 'none') FROM calibration_drift_episodes"

/* Batches of ten with so many right, counted long before the windows that are judged. */
static void count_tens(struct calibration_store *store, const char *application, int tens, int correct,
		       struct segments *touched)
{
	for (int i = 0; i < tens; i++)
		count_cases(store, application, 100 * DAY_MS - i, 10, correct, touched);
}

/* A source that is always as wrong has not changed, whatever its confidence says. */
static void test_a_change_opens_and_closes(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store_of(1);
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_tens(store, "app", 50, 6, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 0);
	count_tens(store, "app", 10, 1, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect(CHANGES, "app 0 LOWER -5 open");
	expect("SELECT concat_ws(' ', threshold, opening_score, score, since > '2025-09-01Z') FROM "
	       "calibration_drift_episodes",
	       "t");
	struct drift_changes outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.opened + outcome.closed, 0);
	/* it stays so, and is what is expected from then on */
	count_tens(store, "app", 50, 1, &touched);
	outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.closed, 1);
	assert_int_equal(outcome.opened, 0);
	count_tens(store, "app", 50, 1, &touched);
	outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.opened + outcome.closed, 0);
	expect(CHANGES, "app 0 LOWER -5 closed");
	/* and back */
	count_tens(store, "app", 10, 6, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect("SELECT count(*) FROM calibration_drift_episodes WHERE direction = 'HIGHER'", "1");
}

/* One that began and ended between two judgements is an episode, too, and only one. */
static void test_a_change_that_is_over(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store_of(1);
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_tens(store, "app", 50, 9, &touched);
	count_tens(store, "app", 10, 2, &touched);
	count_tens(store, "app", 60, 9, &touched);
	expect("SELECT concat_ws(' ', open, changes, reported) FROM calibration_sequences", "f 1 0");
	struct drift_changes outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.opened, 1);
	assert_int_equal(outcome.closed, 1);
	expect("SELECT concat_ws(' ', open, changes, reported) FROM calibration_sequences", "f 1 1");
	outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.opened + outcome.closed, 0);
	expect("SELECT concat_ws(' ', direction, closed_at = opened_at) FROM calibration_drift_episodes",
	       "LOWER t");
}

/* The same while a window's episode is open: nobody counts again, and it closes all the same. */
static void test_a_change_that_is_over_within_an_episode(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store_of(1);
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_cases(store, "app", 0, 60, 0, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	count_cases(store, "app", 0, 1340, 1340, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).closed, 1);
	expect(CHANGES, "app 1 HIGHER 5 closed");
	expect("SELECT concat_ws(' ', open, changes, reported) FROM calibration_sequences", "f 1 1");
}

/* One episode says both: what the window sees first, and the change. */
static void test_one_episode_of_both(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store_of(1);
	_cleanup_(segments_free) struct segments touched = { 0 };
	count_tens(store, "app", 50, 9, &touched);
	count_cases(store, "app", 0, 20, 3, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect(EPISODES, "app 1 20 0.0000 open");
	count_cases(store, "app", 0, 100, 15, &touched);
	struct drift_changes outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.opened + outcome.closed, 0);
	expect("SELECT concat_ws(' ', count(*), min(direction), min(window_s)) FROM "
	       "calibration_drift_episodes",
	       "1 LOWER 3600");
	/* the change has become what is expected; the window still sees it */
	for (int i = 0; i < 50; i++)
		count_cases(store, "app", 0, 10, 2, &touched);
	outcome = judge(store, &touched, NOON_MS);
	assert_int_equal(outcome.opened + outcome.closed, 0);
	expect("SELECT concat_ws(' ', open, reported) FROM calibration_sequences", "f 1");
}

/* ---- probabilities ---- */

/* Cases of a low confidence, so that no window has an opinion, whose probability was another one. */
static void count_claims(struct calibration_store *store, int label_source, int cases, double probability,
			 int right_of_ten, struct segments *touched)
{
	static int32_t partition = 1000;
	static int64_t number;
	struct calibration_step step = { "t", true, partition++, CALIBRATION_POSITION_NONE, cases };
	struct calibration_case items[200];
	struct calibration_feedback said[200];
	assert_true(cases <= 200);
	for (int i = 0; i < cases; i++) {
		char id[32];
		snprintf(id, sizeof id, "%lld", (long long)number);
		items[i] = (struct calibration_case){
			.scored_at_ms = NOON_MS - HOUR_MS + number * 100,
			.application = STR("app"),
			.model = STR("m\"1"),
			.label_source = label_source == LABEL_FEEDBACK ? ENUM_ABSENT : label_source,
			.level = LEVEL_VERY_LOW,
			.confidence = 0.5,
			.weight = 1,
			.correct = i % 10 < right_of_ten,
			.event = calibration_event_key(str_from(id)),
			.probability = opt_double(probability),
			.offset = number++,
		};
		said[i] = (struct calibration_feedback){ .event = items[i].event,
							 .said_at_ms = NOON_MS,
							 .offset = items[i].offset,
							 .correct = items[i].correct };
	}
	const struct calibration_work work = { .cases = items,
					       .cases_count = (size_t)cases,
					       .feedback = said,
					       .feedback_count =
						       label_source == LABEL_FEEDBACK ? (size_t)cases : 0,
					       .steps = &step,
					       .steps_count = 1 };
	struct err_detail detail = { "" };
	if (calibration_store_apply(store, &work, touched, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
}

static struct calibration_store *new_learning_store(void)
{
	struct calibration_store_options options = { .dsn = server.socket_dsn,
						     .bucket_s = 300,
						     .max_segments = 3,
						     .feedback_horizon_ms = DAY_MS,
						     .learns = true,
						     .false_alarms_per_10k = 1 };
	claims_are_tested = true;
	return calibration_store_new(&options);
}

#define NOTICED                                                                                              \
	"SELECT coalesce(string_agg(concat_ws(' ', label_source, window_s, expected_by, direction, "         \
	"CASE WHEN closed_at IS NULL THEN 'open' ELSE 'closed' END), ', ' ORDER BY opened_at, "              \
	"label_source), 'none') FROM calibration_drift_episodes"

/* What outcomes do has not changed, but what is said of them has: only the probability tells. The same by
 * results and by feedback; not by a judge, of whom probabilities claim nothing. */
static void test_probabilities_that_are_wrong(void **state)
{
	static const struct {
		int source;
		const char *opened, *closed;
	} sources[] = {
		{ LABEL_RESULT, "RESULT PROBABILITY LOWER open", "RESULT PROBABILITY LOWER closed" },
		{ LABEL_FEEDBACK, "FEEDBACK PROBABILITY LOWER open", "FEEDBACK PROBABILITY LOWER closed" },
		{ LABEL_RELEVANCE, "none", "none" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
		run_sql("TRUNCATE calibration_drift_episodes, calibration_sequences, calibration_claims, "
			"calibration_events, calibration_feedback, calibration_buckets, "
			"calibration_positions");
		_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_learning_store();
		_cleanup_(segments_free) struct segments touched = { 0 };
		count_claims(store, sources[i].source, 200, 0.3, 3, &touched);
		judge(store, &touched, NOON_MS);
		expect(NOTICED, "none");
		count_claims(store, sources[i].source, 100, 0.6, 3, &touched);
		judge(store, &touched, NOON_MS);
		expect(NOTICED, sources[i].opened);
		struct drift_changes again = judge(store, &touched, NOON_MS);
		assert_int_equal(again.opened + again.closed, 0);
		count_claims(store, sources[i].source, 200, 0.3, 3, &touched);
		count_claims(store, sources[i].source, 200, 0.3, 3, &touched);
		judge(store, &touched, NOON_MS);
		expect(NOTICED, sources[i].closed);
		again = judge(store, &touched, NOON_MS);
		assert_int_equal(again.opened + again.closed, 0);
	}
}

/* Whichever of both notices, and when the other does as well: one episode, which ends with the last. */
static void test_one_episode_for_both(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_learning_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	(void)state;
	count_claims(store, LABEL_RESULT, 200, 0.4, 4, &touched);
	count_claims(store, LABEL_RESULT, 200, 0.4, 4, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 0);
	count_claims(store, LABEL_RESULT, 100, 0.4, 1, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	expect(NOTICED, "RESULT PAST LOWER open");
	expect("SELECT concat_ws(' ', open, claims_open, claims_direction) FROM calibration_sequences",
	       "t t LOWER");
	/* the past learns that it stays so, the probabilities do not */
	for (int i = 0; i < 3; i++)
		count_claims(store, LABEL_RESULT, 200, 0.4, 1, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).closed, 0);
	expect("SELECT concat_ws(' ', open, claims_open) FROM calibration_sequences", "f t");
	expect(NOTICED, "RESULT PROBABILITY LOWER open");
	for (int i = 0; i < 5; i++)
		count_claims(store, LABEL_RESULT, 200, 0.1, 1, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).closed, 1);
	expect(NOTICED, "RESULT PROBABILITY LOWER closed");
	expect("SELECT concat_ws(' ', open, claims_open, changes, reported) FROM calibration_sequences",
	       "f f 1 1");
}

/* A change that came and went before anybody looked has its episode; and where nothing is learnt any more
 * what was open is over. */
static void test_ends_of_claims(void **state)
{
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_learning_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	(void)state;
	count_claims(store, LABEL_RESULT, 200, 0.3, 3, &touched);
	count_claims(store, LABEL_RESULT, 100, 0.6, 3, &touched);
	count_claims(store, LABEL_RESULT, 200, 0.3, 3, &touched);
	count_claims(store, LABEL_RESULT, 200, 0.3, 3, &touched);
	struct drift_changes outcome = judge(store, &touched, NOON_MS);
	assert_true(outcome.opened == 1 && outcome.closed == 1);
	expect(NOTICED, "RESULT PROBABILITY LOWER closed");
	count_claims(store, LABEL_RESULT, 100, 0.6, 3, &touched);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 1);
	claims_are_tested = false;
	assert_int_equal(judge(store, &touched, NOON_MS).closed, 1);
	assert_int_equal(judge(store, &touched, NOON_MS).opened, 0);
	expect("SELECT claims_open FROM calibration_sequences", "f");
}

/* Open episodes of several windows, of a program before this one: the shortest window's stays. */
static void test_former_episodes(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	counting_database(store);
	run_sql("DROP INDEX calibration_drift_open; DELETE FROM calibration_migrations WHERE version >= 7; "
		"DROP VIEW calibration_discrimination, calibration_coverage, calibration_probability, "
		"calibration_model_history, calibration_documents; "
		"DROP TABLE calibration_sequences, calibration_examples, calibration_models, "
		"calibration_model_looks, calibration_model_judgements, calibration_claims, "
		"calibration_rules; "
		"DROP FUNCTION calibration_share_rights; "
		"DROP FUNCTION calibration_claims_since; "
		"DROP TABLE calibration_hour_totals; DROP FUNCTION calibration_add_hour_totals CASCADE; "
		"DROP FUNCTION calibration_change_hour_totals CASCADE; "
		"DROP FUNCTION calibration_remove_hour_totals CASCADE; "
		"DROP FUNCTION calibration_hour_totals_since; "
		"DROP INDEX calibration_rollup_days_application; "
		"ALTER TABLE calibration_events DROP COLUMN features, DROP COLUMN probability, "
		"DROP COLUMN rules; DROP INDEX calibration_events_judged; "
		"ALTER TABLE calibration_positions DROP COLUMN fed_until, DROP COLUMN fed_since, "
		"DROP COLUMN learnt_from, DROP COLUMN learnt_until, "
		"DROP COLUMN claims_from, DROP COLUMN claims_until; "
		"ALTER TABLE calibration_drift_episodes DROP COLUMN direction, DROP COLUMN size, "
		"DROP COLUMN since, DROP COLUMN expected_by, "
		"DROP COLUMN opening_confidence, DROP COLUMN opening_accuracy, "
		"DROP COLUMN opening_group, DROP COLUMN opening_group_cases, "
		"DROP COLUMN opening_group_confidence, DROP COLUMN opening_group_accuracy; "
		"INSERT INTO calibration_drift_episodes (application, model, prompt_version, label_source, "
		"window_s, opened_at, threshold, opening_score, opening_cases, judged_at, score, cases) "
		"SELECT a, 'm', '', 'RESULT', w, '2026-01-08 12:00Z', 0.5, 0, 25, '2026-01-08 12:30Z', 0, 25 "
		"FROM (VALUES ('a', 3600), ('a', 604800), ('a', 86400), ('b', 86400)) AS v (a, w); "
		"CREATE UNIQUE INDEX calibration_drift_open ON calibration_drift_episodes (application, "
		"model, prompt_version, label_source, window_s) WHERE closed_at IS NULL");
	_cleanup_(calibration_store_cleanup) struct calibration_store *fresh = new_store();
	counting_database(fresh);
	expect(EPISODES,
	       "a 1 25 0.0000 open, a 24 25 0.0000 closed, a 168 25 0.0000 closed, b 24 25 0.0000 open");
}

/* ---- publishing ---- */

static void test_unpublished_until_marked(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct drift_episode *episodes;
	size_t count;
	count_cases(store, "app", 0, 30, 3, &touched);
	count_cases(store, "b", 0, 30, 3, &touched);
	count_cases(store, "c", 0, 30, 3, &touched);
	judge(store, &touched, NOON_MS);
	struct database *database = counting_database(store);
	char published[EPISODE_ID_SIZE], refused[EPISODE_ID_SIZE];
	assert_int_equal(episodes_claim(database, 2, HOUR_MS, arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 2);
	memcpy(published, episodes[0].id, sizeof published);
	memcpy(refused, episodes[1].id, sizeof refused);
	assert_int_equal(episodes_set_published(database, published, NULL), ERR_OK);
	/* the third is free, the second is somebody's until he gives it back */
	assert_int_equal(episodes_claim(database, 9, HOUR_MS, arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_string_not_equal(episodes[0].id, refused);
	assert_int_equal(episodes_release(database, refused, NULL), ERR_OK);
	assert_int_equal(episodes_claim(database, 9, 0, arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_string_equal(episodes[0].id, refused);
	/* a claim that is over is none */
	assert_int_equal(episodes_claim(database, 9, HOUR_MS, arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_int_equal(episodes_open(database, NULL, arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 3);
	assert_int_equal(episodes_open(database, "app", arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 1);
	assert_true(episodes[0].window_s == 3600);
	assert_true(episodes[0].opened_at_ms == NOON_MS);
	assert_int_equal(episodes[0].opening_cases, 30);
	assert_int_equal(episodes_open(database, "nobody", arena, &episodes, &count, NULL), ERR_OK);
	assert_int_equal(count, 0);
}

static void test_advisory_says_what_is_wrong(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct drift_episode episode = { .id = "7a3e2c1e-0000-4000-8000-000000000000",
					 .segment = { STR("app"), STR(""), STR("v1") },
					 .label_source = LABEL_RESULT,
					 .window_s = 604800,
					 .opened_at_ms = NOON_MS,
					 .threshold = 0.5,
					 .opening_score = 0.15,
					 .opening_cases = 45 };
	struct advisory advisory = drift_publisher_advisory(&episode, arena);
	assert_int_equal(advisory.kind, ADVISORY_CALIBRATION_DRIFT);
	assert_true(str_is(advisory.advisory_id, episode.id));
	assert_true(str_is(advisory.episode_id, episode.id));
	assert_int_equal(advisory.level, ENUM_ABSENT);
	assert_false(str_present(advisory.event_id));
	assert_false(str_present(advisory.model));
	assert_false(advisory.offset.set);
	assert_float_equal(advisory.threshold.value, 0.5, 0);
	assert_float_equal(advisory.value.value, 0.15, 0);
	assert_string_equal(advisory.summary.ptr,
			    "Confidence does not predict correctness for app, prompt version v1: band score "
			    "0.15 over the last 7 days, below 0.50 (45 cases, label source RESULT)");
	assert_non_null(strstr(advisory.remedy.ptr, "never as right"));
	episode.opening_group = STR("HIGH_CONFIDENCE");
	episode.opening_group_cases = 30;
	episode.opening_confidence = 0.82;
	episode.opening_accuracy = 0.45;
	episode.opening_group_confidence = 0.95;
	episode.opening_group_accuracy = 0.52;
	advisory = drift_publisher_advisory(&episode, arena);
	assert_non_null(strstr(advisory.summary.ptr,
			       "Confidence is too high: 45 % of 45 answers were right where it said 82 %, "
			       "most surely at HIGH_CONFIDENCE (30 cases, 52 % right, said 95 %). Confidence "
			       "does not predict"));
	episode.opening_group_accuracy = 1;
	advisory = drift_publisher_advisory(&episode, arena);
	assert_non_null(strstr(advisory.summary.ptr, "Confidence is too low"));
	assert_non_null(strstr(advisory.remedy.ptr, "right more often"));
}

static void test_advisory_says_what_changed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct drift_episode episode = { .id = "7a3e2c1e-0000-4000-8000-000000000000",
					 .segment = { STR("app"), STR("m1"), STR("") },
					 .label_source = LABEL_FEEDBACK,
					 .opened_at_ms = NOON_MS,
					 .changed = true,
					 .direction = DRIFT_OVERCONFIDENT,
					 .size = -0.214,
					 .since_ms = NOON_MS - HOUR_MS };
	struct advisory advisory = drift_publisher_advisory(&episode, arena);
	assert_true(str_is(advisory.drift_direction, "LOWER"));
	assert_float_equal(advisory.drift_size.value, -0.214, 0);
	assert_true(advisory.drift_since.set && advisory.drift_since.value == NOON_MS - HOUR_MS);
	assert_false(advisory.threshold.set || advisory.value.set);
	assert_string_equal(
		advisory.summary.ptr,
		"Answers are right less often than before at the same confidence since "
		"2026-01-08T11:00:00Z: of 100, 21 fewer, for app, model m1 (label source FEEDBACK)");
	assert_non_null(strstr(advisory.remedy.ptr, "what has changed since then"));
	episode.direction = DRIFT_UNDERCONFIDENT;
	episode.window_s = 3600;
	episode.threshold = 0.5;
	episode.opening_score = 0.25;
	episode.opening_cases = 40;
	advisory = drift_publisher_advisory(&episode, arena);
	assert_true(str_is(advisory.drift_direction, "HIGHER"));
	assert_float_equal(advisory.value.value, 0.25, 0);
	assert_non_null(strstr(advisory.summary.ptr, "right more often than before"));
	assert_non_null(strstr(advisory.summary.ptr, "band score 0.25 over the last hour"));
	assert_non_null(strstr(advisory.remedy.ptr, "More answers are right"));
	episode.changed = false;
	advisory = drift_publisher_advisory(&episode, arena);
	assert_false(str_present(advisory.drift_direction));
	assert_false(advisory.drift_size.set || advisory.drift_since.set);
}

/* ---- retention ---- */

static void test_what_is_old_is_deleted(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(segments_free) struct segments touched = { 0 };
	bool more;
	count_cases(store, "app", 100 * DAY_MS, 30, 3, &touched);
	judge(store, &touched, NOON_MS - 100 * DAY_MS);
	run_sql("UPDATE calibration_drift_episodes SET closed_at = opened_at WHERE window_s = 3600");
	count_cases(store, "app", 10 * DAY_MS, 30, 3, &touched);
	judge(store, &touched, NOON_MS - 10 * DAY_MS);
	struct database *database = counting_database(store);
	expect("SELECT count(*) FROM calibration_drift_episodes", "2");
	assert_int_equal(retention_apply(database, 90, NOON_MS, &more, NULL), ERR_OK);
	assert_false(more);
	expect("SELECT sum(cases) FROM calibration_buckets WHERE width_s = 300", "30");
	expect("SELECT sum(cases) FROM calibration_rollups WHERE width_s = 3600", "30");
	expect("SELECT sum(cases) FROM calibration_rollups WHERE width_s = 86400", "30");
	expect("SELECT count(*) FROM calibration_drift_episodes", "1");
	assert_int_equal(retention_apply(database, 8, NOON_MS, &more, NULL), ERR_OK);
	expect("SELECT count(*) FROM calibration_sums", "0");
	expect("SELECT count(*) FROM calibration_drift_episodes", "0");
}

static void test_much_is_deleted_in_pieces(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	bool more;
	struct database *database = counting_database(store);
	run_sql("INSERT INTO calibration_buckets SELECT 300, to_timestamp(1700000000 + 300 * n), 'a', 'm', "
		"'p', "
		"'RESULT', 'HIGH_CONFIDENCE', 9, 1, 1, 1, 1, 1, 0 FROM generate_series(1, 7000) AS n; "
		"INSERT INTO calibration_rollups SELECT w, to_timestamp(1600000000 / w * w), 'a' || n, 'm', "
		"'p', 'RESULT', 'HIGH_CONFIDENCE', 9, 1, 1, 1, 1, 1, 0 "
		"FROM generate_series(1, 6000) AS n, (VALUES (3600), (86400)) AS v (w)");
	assert_int_equal(retention_apply(database, 90, NOON_MS, &more, NULL), ERR_OK);
	assert_true(more);
	expect("SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM calibration_sums "
	       "GROUP BY width_s ORDER BY width_s) AS s",
	       "2000 1000 1000");
	assert_int_equal(retention_apply(database, 90, NOON_MS, &more, NULL), ERR_OK);
	assert_false(more);
	expect("SELECT count(*) FROM calibration_sums", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_false_alarms_are_set),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_advisory_says_what_is_wrong),
		cmocka_unit_test(test_advisory_says_what_changed),
		cmocka_unit_test_setup(test_touched_segments_are_named_as_in_the_tables, make_tables),
		cmocka_unit_test_setup(test_opens_once_and_closes, make_tables),
		cmocka_unit_test_setup(test_windows_roll_on, make_tables),
		cmocka_unit_test_setup(test_segments_are_judged_apart, make_tables),
		cmocka_unit_test_setup(test_many_judges_open_one, make_tables),
		cmocka_unit_test_setup(test_a_judge_does_not_wait_for_another, make_tables),
		cmocka_unit_test_setup(test_a_change_opens_and_closes, make_tables),
		cmocka_unit_test_setup(test_a_change_that_is_over, make_tables),
		cmocka_unit_test_setup(test_a_change_that_is_over_within_an_episode, make_tables),
		cmocka_unit_test_setup(test_one_episode_of_both, make_tables),
		cmocka_unit_test_setup(test_probabilities_that_are_wrong, make_tables),
		cmocka_unit_test_setup(test_one_episode_for_both, make_tables),
		cmocka_unit_test_setup(test_ends_of_claims, make_tables),
		cmocka_unit_test_setup(test_former_episodes, make_tables),
		cmocka_unit_test_setup(test_unpublished_until_marked, make_tables),
		cmocka_unit_test_setup(test_what_is_old_is_deleted, make_tables),
		cmocka_unit_test_setup(test_much_is_deleted_in_pieces, make_tables),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
