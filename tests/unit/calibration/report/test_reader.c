/* Reports read back from a real PostgreSQL, printed for people and as JSON; the check of the database. */
#include "calibration/report/reader.h"

#include "calibration/count/store.h"
#include "calibration/report/print.h"
#include "calibration/store/check.h"
#include "calibration/store/schema.h"
#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

/* 2026-01-08 12:00:00 UTC */
#define NOON_MS	  INT64_C(1767873600000)
#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)

/* Like cases, `correct` of them right. */
struct portion {
	int64_t age_ms; /* before noon */
	const char *application, *model;
	int label_source, level;
	double confidence;
	int cases, correct;
};

static void count(const struct portion *portions, size_t portions_count)
{
	struct calibration_store_options options = { .dsn = server.socket_dsn,
						     .bucket_s = 300,
						     .max_segments = 100 };
	_cleanup_(calibration_store_cleanup) struct calibration_store *store =
		calibration_store_new(&options);
	for (size_t i = 0; i < portions_count; i++) {
		const struct portion *portion = &portions[i];
		struct calibration_step step = { "t", false, (int32_t)i, CALIBRATION_POSITION_NONE,
						 portion->cases };
		struct calibration_case *cases = calloc((size_t)portion->cases, sizeof *cases);
		assert_non_null(cases);
		for (int j = 0; j < portion->cases; j++)
			cases[j] = (struct calibration_case){
				.scored_at_ms = NOON_MS - portion->age_ms,
				.application = str_from(portion->application),
				.model = str_from(portion->model),
				.label_source = portion->label_source,
				.level = portion->level,
				.confidence = portion->confidence,
				.weight = 1,
				.correct = j < portion->correct,
			};
		assert_int_equal(calibration_store_apply(store,
							 &(const struct calibration_work){
								 .cases = cases,
								 .cases_count = (size_t)portion->cases,
								 .steps = &step,
								 .steps_count = 1 },
							 NULL, NULL, NULL),
				 ERR_OK);
		free(cases);
	}
}

static struct calibration_query new_query(int64_t window_s)
{
	return (struct calibration_query){ .window_s = window_s,
					   .bucket_s = 300,
					   .until_ms = NOON_MS,
					   .min_cases = 20,
					   .label_source = ENUM_ABSENT };
}

static struct calibration_reports read_reports(const struct calibration_query *query, struct arena *arena)
{
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	struct calibration_reports reports;
	struct err_detail detail = { "" };
	if (calibration_read(database, query, arena, &reports, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return reports;
}

static const struct portion example[] = {
	{ 10 * MINUTE_MS, "app", "m1", LABEL_RESULT, LEVEL_HIGH, 0.95, 20, 19 },
	{ 10 * MINUTE_MS, "app", "m2", LABEL_RESULT, LEVEL_MEDIUM, 0.75, 15, 12 },
	{ 10 * MINUTE_MS, "other app", NULL, LABEL_RESULT, LEVEL_LOW, 0.55, 10, 4 },
	{ 10 * MINUTE_MS, "app", "m1", LABEL_RELEVANCE, LEVEL_HIGH, 0.95, 3, 0 },
	{ 5 * HOUR_MS, "app", "m1", LABEL_RESULT, LEVEL_HIGH, 0.95, 100, 0 },
	{ 48 * HOUR_MS, "app", "m1", LABEL_RESULT, LEVEL_VERY_LOW, 0.05, 1000, 1000 },
	{ 8 * 24 * HOUR_MS, "app", "m1", LABEL_RESULT, LEVEL_VERY_LOW, 0.05, 7, 7 },
};

#define COUNT_EXAMPLE() count(example, sizeof example / sizeof *example)

static void test_windows_and_sources(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports = read_reports(&query, arena);
	assert_int_equal(reports.count, 2);
	assert_int_equal(reports.entries[0].label_source, LABEL_RELEVANCE);
	assert_int_equal(reports.entries[0].report.cases, 3);
	assert_int_equal(reports.entries[1].label_source, LABEL_RESULT);
	assert_int_equal(reports.entries[1].report.cases, 45);
	assert_float_equal(reports.entries[1].report.band_score.value, 0.9166666666666667, 1e-9);
	assert_false(str_present(reports.entries[1].application));
	query.label_source = LABEL_RESULT;
	query.window_s = 86400;
	assert_int_equal(read_reports(&query, arena).entries[0].report.cases, 145);
	query.window_s = 7 * 86400;
	assert_int_equal(read_reports(&query, arena).entries[0].report.cases, 1145);
}

static void test_segments(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	struct calibration_query query = new_query(3600);
	query.by_segment = true;
	query.label_source = LABEL_RESULT;
	struct calibration_reports reports = read_reports(&query, arena);
	assert_int_equal(reports.count, 3);
	assert_true(str_is(reports.entries[0].model, "m1"));
	assert_true(str_is(reports.entries[1].model, "m2"));
	assert_true(str_is(reports.entries[2].application, "other app"));
	query.application = "app";
	assert_int_equal(read_reports(&query, arena).count, 2);
	query.model = "m2";
	reports = read_reports(&query, arena);
	assert_int_equal(reports.count, 1);
	assert_int_equal(reports.entries[0].report.groups[LEVEL_MEDIUM].cases, 15);
	query.application = "nobody";
	assert_int_equal(read_reports(&query, arena).count, 0);
}

static void test_trend(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct portion portions[] = {
		{ 58 * MINUTE_MS, "app", NULL, LABEL_RESULT, LEVEL_HIGH, 0.95, 4, 4 },
		{ 0, "app", NULL, LABEL_RESULT, LEVEL_HIGH, 0.95, 4, 1 },
	};
	count(portions, 2);
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports = read_reports(&query, arena);
	const struct calibration_moment *trend = reports.entries[0].trend[LEVEL_HIGH];
	assert_int_equal(trend[0].cases, 4);
	assert_float_equal(trend[0].accuracy, 1, 1e-12);
	assert_int_equal(trend[5].cases, 0);
	assert_int_equal(trend[CALIBRATION_STEPS - 1].cases, 4);
	assert_float_equal(trend[CALIBRATION_STEPS - 1].accuracy, 0.25, 1e-12);
}

static char *print_reports(const struct calibration_reports *reports,
			   void (*print)(FILE *, const struct calibration_reports *))
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	print(stream, reports);
	fclose(stream);
	return text;
}

/* What is missing is told: tables, labels of whatever time, or those of this one. */
static void test_nothing_to_report(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports = read_reports(&query, arena);
	assert_true(reports.count == 0 && !reports.tables && !reports.counted);
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	assert_int_equal(database_connect(database, NULL, NULL), ERR_OK);
	assert_int_equal(calibration_schema_migrate(database, NULL), ERR_OK);
	reports = read_reports(&query, arena);
	assert_true(reports.count == 0 && reports.tables && !reports.counted);
	_cleanup_(cleanup_free) char *never = print_reports(&reports, calibration_print);
	assert_non_null(strstr(never, "\nNo labelled event is counted in this database, of whatever time. "));
	_cleanup_(cleanup_free) char *json = print_reports(&reports, calibration_print_json);
	assert_non_null(strstr(json, "\"counted\":false"));
	COUNT_EXAMPLE();
	query.until_ms += 30 * 24 * HOUR_MS;
	reports = read_reports(&query, arena);
	assert_true(reports.count == 0 && reports.tables && reports.counted);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
	assert_non_null(strstr(text, "\nNo labelled events were scored in this time.\n"));
}

static void test_person_reads_it(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
	assert_non_null(strstr(text, "Calibration over 1 h until 2026-01-08 12:00:00 UTC"));
	assert_non_null(strstr(text, "45 cases (weight 45): well calibrated"));
	assert_non_null(strstr(text, "insufficient data (need ≥ 20 cases)"));
	assert_non_null(strstr(text, "band score     0.9167"));
	assert_non_null(strstr(text, "●"));
}

static void test_names_do_not_speak_to_the_terminal(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const struct portion portion = {
		0, "evil\x1b[2J\xc2\x9b\u202e", NULL, LABEL_RESULT, LEVEL_HIGH, 0.95, 1, 1
	};
	count(&portion, 1);
	struct calibration_query query = new_query(3600);
	query.by_segment = true;
	struct calibration_reports reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
	assert_null(strpbrk(text, "\x1b\x9b"));
	assert_non_null(strstr(text, "application evil\\u001b[2J\\u009b\\u202e, "));
}

static void test_program_reads_it(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print_json);
	json_t *root = json_loads(text, 0, NULL);
	assert_non_null(root);
	json_t *list = json_object_get(root, "reports");
	assert_int_equal(json_array_size(list), 2);
	json_t *few = json_array_get(list, 0), *many = json_array_get(list, 1);
	assert_true(json_is_null(json_object_get(few, "band_score")));
	assert_true(json_is_null(json_object_get(few, "application")));
	assert_float_equal(json_real_value(json_object_get(many, "band_score")), 0.9166666666666667, 1e-9);
	assert_int_equal(json_array_size(json_object_get(many, "bins")), CALIBRATION_BINS);
	json_t *high = json_object_get(json_object_get(many, "groups"), "high");
	assert_int_equal(json_integer_value(json_object_get(high, "cases")), 20);
	assert_int_equal(json_array_size(json_object_get(high, "trend")), CALIBRATION_STEPS);
	json_decref(root);
}

/* Both forms show the open episodes, those of the application that was asked for. */
static void test_open_episodes_are_shown(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	run_sql("INSERT INTO calibration_drift_episodes (id, application, model, prompt_version, "
		"label_source, "
		"window_s, opened_at, threshold, opening_score, opening_cases, judged_at, score, cases, "
		"closed_at) "
		"SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, application, 'm1', '', 'RESULT', "
		"3600, "
		"'2026-01-08 11:00Z', 0.5, 0.15, 45, '2026-01-08 11:30Z', 0.25, 50, closed_at "
		"FROM (VALUES (1, 'app', NULL), (2, 'app', timestamptz '2026-01-08 12:00Z'), (3, 'b', NULL)) "
		"AS v (n, application, closed_at)");
	struct calibration_query query = new_query(3600);
	query.application = "app";
	struct calibration_reports reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
	assert_non_null(strstr(text, "all segments of application app, label source RESULT"));
	assert_non_null(strstr(text,
			       "  application app, model m1, prompt version -, label source RESULT, window 1 "
			       "h\n    since 2026-01-08 11:00:00 UTC: band score 0.1500 (45 cases), last "
			       "0.2500 (50 cases)\n"));
	assert_null(strstr(text, "application b"));
	_cleanup_(cleanup_free) char *json = print_reports(&reports, calibration_print_json);
	json_t *root = json_loads(json, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(root, "application")), "app");
	json_t *entry = json_array_get(json_object_get(root, "reports"), 0);
	assert_string_equal(json_string_value(json_object_get(entry, "application")), "app");
	json_t *list = json_object_get(root, "open_drift_episodes");
	assert_int_equal(json_array_size(list), 1);
	json_t *episode = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(episode, "episode_id")),
			    "00000000-0000-4000-8000-000000000001");
	assert_true(json_is_null(json_object_get(episode, "prompt_version")));
	assert_float_equal(json_real_value(json_object_get(episode, "score")), 0.25, 0);
	assert_true(json_is_null(json_object_get(episode, "drift_direction")));
	assert_true(json_is_null(json_object_get(episode, "drift_size")));
	assert_true(json_is_null(json_object_get(episode, "opening_group")));
	assert_true(json_is_null(json_object_get(episode, "opening_confidence")));
	json_decref(root);
	run_sql("UPDATE calibration_drift_episodes SET opening_confidence = 0.75, opening_accuracy = 0.25, "
		"opening_group = 'LOW_CONFIDENCE', opening_group_cases = 9, opening_group_confidence = 0.5, "
		"opening_group_accuracy = 0.125");
	reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *gap = print_reports(&reports, calibration_print_json);
	root = json_loads(gap, 0, NULL);
	episode = json_array_get(json_object_get(root, "open_drift_episodes"), 0);
	assert_float_equal(json_real_value(json_object_get(episode, "opening_confidence")), 0.75, 0);
	assert_float_equal(json_real_value(json_object_get(episode, "opening_accuracy")), 0.25, 0);
	assert_string_equal(json_string_value(json_object_get(episode, "opening_group")), "LOW_CONFIDENCE");
	assert_int_equal(json_integer_value(json_object_get(episode, "opening_group_cases")), 9);
	assert_float_equal(json_real_value(json_object_get(episode, "opening_group_confidence")), 0.5, 0);
	assert_float_equal(json_real_value(json_object_get(episode, "opening_group_accuracy")), 0.125, 0);
	json_decref(root);
	query.application = NULL;
	assert_int_equal(read_reports(&query, arena).episodes_count, 2);
}

/* Of a change there is no score, until a window sees it, too. */
static void test_changes_are_shown(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	run_sql("INSERT INTO calibration_drift_episodes (application, model, prompt_version, label_source, "
		"opened_at, judged_at, direction, size, since) VALUES ('app', 'm1', '', 'RESULT', "
		"'2026-01-08 11:00Z', '2026-01-08 11:30Z', 'LOWER', -0.25, '2026-01-08 10:00Z')");
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
	assert_non_null(strstr(text,
			       "prompt version -, label source RESULT\n"
			       "    since 2026-01-08 11:00:00 UTC\n"
			       "    right less often than before by 25.0 points since 2026-01-08 10:00:00 "
			       "UTC\n"));
	_cleanup_(cleanup_free) char *json = print_reports(&reports, calibration_print_json);
	json_t *root = json_loads(json, 0, NULL);
	json_t *episode = json_array_get(json_object_get(root, "open_drift_episodes"), 0);
	assert_string_equal(json_string_value(json_object_get(episode, "drift_direction")), "LOWER");
	assert_float_equal(json_real_value(json_object_get(episode, "drift_size")), -0.25, 0);
	assert_int_equal(json_integer_value(json_object_get(episode, "drift_since_ms")), 1767866400000);
	assert_true(json_is_null(json_object_get(episode, "window_s")));
	assert_true(json_is_null(json_object_get(episode, "score")));
	json_decref(root);
	run_sql("UPDATE calibration_drift_episodes SET window_s = 3600, score = 0.25, cases = 30");
	reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *seen = print_reports(&reports, calibration_print);
	assert_non_null(strstr(seen, "window 1 h\n    since 2026-01-08 11:00:00 UTC: band score, last 0.2500 "
				     "(30 cases)\n    right less"));
}

/* Between an update of the program and the next start of the daemon. */
static void test_older_tables_are_refused(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	struct calibration_query query = new_query(3600);
	struct calibration_reports reports;
	struct err_detail detail = { "" };
	COUNT_EXAMPLE();
	run_sql("DELETE FROM calibration_migrations WHERE version > 5");
	assert_int_equal(calibration_read(database, &query, arena, &reports, &detail), ERR_DATABASE_REFUSED);
	char expected[160];
	snprintf(expected, sizeof expected,
		 "the calibration tables have version 5, this program needs %d; the daemon brings them up to "
		 "date when it starts",
		 calibration_schema_version());
	assert_string_equal(detail.message, expected);
}

static void test_windows_in_words(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t seconds; /* 0: refused */
	} cases[] = { { "90s", 90 },	    { "30m", 1800 },
		      { "24h", 86400 },	    { "7d", 604800 },
		      { "366d", 31622400 }, { "", 0 },
		      { "24", 0 },	    { "h", 0 },
		      { "-1h", 0 },	    { "1w", 0 },
		      { "1hh", 0 },	    { "99999d", 0 },
		      { "0h", 0 },	    { "9999999999999999999d", 0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t seconds = 0;
		bool read = calibration_parse_window(cases[i].text, &seconds);
		assert_int_equal(read, cases[i].seconds != 0);
		assert_true(seconds == cases[i].seconds);
	}
}

static err_t check(const char *role, str_t *ret_notes, str_t *ret_warnings, struct arena *arena,
		   struct err_detail *detail)
{
	char dsn[512];
	snprintf(dsn, sizeof dsn, "%s user=%s", server.socket_dsn, role);
	return calibration_check(dsn, NULL, arena, ret_notes, ret_warnings, detail);
}

static void test_check_names_what_is_wrong(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	str_t notes, warnings;
	run_sql("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN");
	assert_int_equal(check("poor", &notes, &warnings, arena, &detail), ERR_DATABASE_REFUSED);
	assert_non_null(strstr(detail.message, "CREATE"));
	run_sql("GRANT CREATE, USAGE ON SCHEMA public TO poor");
	assert_int_equal(check("poor", &notes, &warnings, arena, &detail), ERR_OK);
	assert_non_null(strstr(notes.ptr, "version 0"));
	COUNT_EXAMPLE();
	assert_int_equal(check("poor", &notes, &warnings, arena, &detail), ERR_DATABASE_REFUSED);
	run_sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO poor");
	assert_int_equal(check("poor", &notes, &warnings, arena, &detail), ERR_OK);
	assert_null(notes.ptr);
	assert_null(warnings.ptr);
	assert_int_equal(check("postgres", &notes, &warnings, arena, &detail), ERR_OK);
	assert_non_null(strstr(warnings.ptr, "superuser"));
	assert_int_equal(check("nobody_of_that_name", &notes, &warnings, arena, &detail),
			 ERR_DATABASE_UNAVAILABLE);
	run_sql("DROP OWNED BY poor; DROP ROLE poor");
}

static void test_secrets_stay_secret(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	str_t notes, warnings;
	char file[] = "/tmp/assayd-password-XXXXXX";
	int fd = mkstemp(file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "hunter2\n", 8), 8);
	close(fd);
	assert_int_equal(calibration_check("host=127.0.0.1 port=1 user=postgres", file, arena, &notes,
					   &warnings, &detail),
			 ERR_DATABASE_UNAVAILABLE);
	assert_null(strstr(detail.message, "hunter2"));
	unlink(file);
	assert_int_equal(calibration_check(server.socket_dsn, file, arena, &notes, &warnings, &detail),
			 ERR_FILE_UNREADABLE);
}

/* ---- random cases ---- */

enum { RANDOM_CASES = 20000 };

/* cmocka compares floats, which have seven digits. */
static void expect_near(double figure, long double expected)
{
	if (!(fabsl((long double)figure - expected) <= 1e-9L))
		fail_msg("%.17g instead of %.17Lg", figure, expected);
}

struct random_case {
	double confidence, weight;
	bool correct;
};

static const double weights[] = { 1, 1, 1, 2.5, 10, 3.3333333333333335 };

static void make_random(struct random_case *cases)
{
	unsigned short seed[3] = { 3, 1, 4 };
	for (int i = 0; i < RANDOM_CASES; i++) {
		double confidence = i % 50 == 0 ? (double)(nrand48(seed) % 11) / 10 : erand48(seed);
		cases[i] = (struct random_case){ confidence, weights[nrand48(seed) % 6],
						 erand48(seed) < confidence * 0.8 + 0.1 };
	}
}

static int random_level(double confidence)
{
	return confidence >= 0.9   ? LEVEL_HIGH
	       : confidence >= 0.7 ? LEVEL_MEDIUM
	       : confidence >= 0.5 ? LEVEL_LOW
				   : LEVEL_VERY_LOW;
}

static void count_random(const struct random_case *cases)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 3600,
							   .max_segments = 100 };
	_cleanup_(calibration_store_cleanup) struct calibration_store *store =
		calibration_store_new(&options);
	static struct calibration_case items[1000];
	int64_t now_ms = clock_wall_ms();
	for (int i = 0; i < RANDOM_CASES; i++) {
		items[i % 1000] = (struct calibration_case){ .scored_at_ms = now_ms - i * 60,
							     .application = STR("random"),
							     .label_source = LABEL_RESULT,
							     .level = random_level(cases[i].confidence),
							     .confidence = cases[i].confidence,
							     .weight = cases[i].weight,
							     .correct = cases[i].correct };
		const struct calibration_step step = { "t", false, i, CALIBRATION_POSITION_NONE, 1 };
		const struct calibration_work work = {
			.cases = items, .cases_count = 1000, .steps = &step, .steps_count = 1
		};
		if (i % 1000 == 999)
			assert_int_equal(calibration_store_apply(store, &work, NULL, NULL, NULL), ERR_OK);
	}
}

/* Straight from the cases, without buckets or sums of the program. */
struct expectation {
	long double weight, ece, mce, brier, band;
	long double accuracy[CALIBRATION_BINS], low[CALIBRATION_BINS], high[CALIBRATION_BINS];
};

/* The interval's ends solve (p − a)² = z²·a·(1 − a)/n for a. */
static void wilson(struct expectation *expected, int bin, long double share, long double n)
{
	const long double z2 = 1.959963984540054L * 1.959963984540054L;
	long double a = 1 + z2 / n, b = -(2 * share + z2 / n), c = share * share;
	long double root = sqrtl(b * b - 4 * a * c);
	expected->accuracy[bin] = share;
	expected->low[bin] = (-b - root) / (2 * a);
	expected->high[bin] = (-b + root) / (2 * a);
}

static void expect_bin(struct expectation *expected, const struct random_case *cases, int bin)
{
	long double weight = 0, squared = 0, correct = 0, confidence = 0;
	int cases_of_bin = 0;
	for (int i = 0; i < RANDOM_CASES; i++) {
		const struct random_case *item = &cases[i];
		bool above = item->confidence >= bin / 10.0, below = item->confidence < (bin + 1) / 10.0;
		if (!above || (!below && bin < 9))
			continue;
		cases_of_bin++;
		weight += (long double)item->weight;
		squared += (long double)item->weight * (long double)item->weight;
		correct += item->correct ? (long double)item->weight : 0;
		confidence += (long double)item->weight * (long double)item->confidence;
	}
	long double error = fabsl(correct - confidence) / weight;
	expected->ece += error * weight / expected->weight;
	if (cases_of_bin >= CALIBRATION_MCE_CASES)
		expected->mce = fmaxl(expected->mce, error);
	wilson(expected, bin, correct / weight, weight * weight / squared);
}

static long double group_error(const struct random_case *cases, int level)
{
	static const long double targets[] = { 0.25L, 0.45L, 0.75L, 0.95L };
	long double weight = 0, correct = 0;
	for (int i = 0; i < RANDOM_CASES; i++)
		if (random_level(cases[i].confidence) == level) {
			weight += (long double)cases[i].weight;
			correct += cases[i].correct ? (long double)cases[i].weight : 0;
		}
	return weight * fabsl(correct / weight - targets[level]);
}

static struct expectation expect_all(const struct random_case *cases)
{
	struct expectation expected = { 0 };
	long double error = 0;
	for (int i = 0; i < RANDOM_CASES; i++)
		expected.weight += (long double)cases[i].weight;
	for (int i = 0; i < RANDOM_CASES; i++) {
		long double off = (long double)cases[i].confidence - cases[i].correct;
		expected.brier += (long double)cases[i].weight * off * off / expected.weight;
	}
	for (int bin = 0; bin < CALIBRATION_BINS; bin++)
		expect_bin(&expected, cases, bin);
	for (int level = 0; level < CALIBRATION_GROUPS; level++)
		error += group_error(cases, level);
	expected.band = fmaxl(0, 1 - 3 * error / expected.weight);
	return expected;
}

static void expect_report(const struct calibration_report *report, const struct expectation *expected)
{
	assert_int_equal(report->cases, RANDOM_CASES);
	expect_near(report->expected_error.value, expected->ece);
	expect_near(report->maximum_error.value, expected->mce);
	expect_near(report->brier.value, expected->brier);
	expect_near(report->band_score.value, expected->band);
	for (int bin = 0; bin < CALIBRATION_BINS; bin++) {
		expect_near(report->bins[bin].accuracy, expected->accuracy[bin]);
		expect_near(report->bins[bin].low, expected->low[bin]);
		expect_near(report->bins[bin].high, expected->high[bin]);
	}
}

/* Dashboards see what the report says. */
static void expect_view(const char *view, int row, const char *column, double expected)
{
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct err_detail detail = { "" };
	char sql[160];
	snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE window_s = 86400", column, view);
	if (row >= 0)
		snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE window_s = 86400 AND bin = %d", column,
			 view, row);
	assert_int_equal(database_connect(database, NULL, &detail), ERR_OK);
	if (database_query(database, sql, 0, NULL, &result, &detail) != ERR_OK)
		fail_msg("%s: %s", sql, detail.message);
	assert_int_equal(PQntuples(result), 1);
	expect_near(strtod(PQgetvalue(result, 0, 0), NULL), expected);
}

static void expect_number(const char *sql, double expected)
{
	char text[64];
	query(sql, text, sizeof text);
	expect_near(strtod(text, NULL), expected);
}

/* Tenths of the confidence, for discrimination and coverage. */
static void expect_ranking_views(const struct ranking *ranking)
{
	assert_true(ranking->by_tenths);
	expect_view("calibration_discrimination", -1, "cases", (double)ranking->cases);
	expect_view("calibration_discrimination", -1, "auroc", ranking->discrimination.auroc);
	expect_view("calibration_discrimination", -1, "aurc", ranking->risk_area);
#define COVERAGE "SELECT %s FROM calibration_coverage WHERE window_s = 86400 AND threshold = 0.%d"
#define EXPECT_COVERAGE(column, tenth, expected)                                                             \
	do {                                                                                                 \
		char sql[128];                                                                               \
		snprintf(sql, sizeof sql, COVERAGE, column, tenth);                                          \
		expect_number(sql, expected);                                                                \
	} while (0)
	const struct risk_point *point = &ranking->threshold.point;
	int tenth = (int)lround(point->threshold * 10);
	EXPECT_COVERAGE("cases", tenth, (double)point->cases);
	EXPECT_COVERAGE("coverage", tenth, point->coverage);
	EXPECT_COVERAGE("accuracy", tenth, 1 - point->risk);
	EXPECT_COVERAGE("low", tenth, point->low);
	EXPECT_COVERAGE("high", tenth, point->high);
	EXPECT_COVERAGE("accuracy", 0, ranking->accuracies[RANKING_COVERAGES - 1]);
	EXPECT_COVERAGE("coverage", 0, 1);
}

static void expect_views(const struct calibration_report *report)
{
	expect_view("calibration_summary", -1, "cases", (double)report->cases);
	expect_view("calibration_summary", -1, "accuracy", report->accuracy.value);
	expect_view("calibration_summary", -1, "confidence", report->confidence.value);
	expect_view("calibration_summary", -1, "band_score", report->band_score.value);
	expect_view("calibration_summary", -1, "ece", report->expected_error.value);
	expect_view("calibration_summary", -1, "mce", report->maximum_error.value);
	expect_view("calibration_summary", -1, "brier", report->brier.value);
	for (int bin = 0; bin < CALIBRATION_BINS; bin++) {
		expect_view("calibration_reliability", bin, "accuracy", report->bins[bin].accuracy);
		expect_view("calibration_reliability", bin, "confidence", report->bins[bin].confidence);
		expect_view("calibration_reliability", bin, "low", report->bins[bin].low);
		expect_view("calibration_reliability", bin, "high", report->bins[bin].high);
	}
}

static void test_figures_of_random_cases(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static struct random_case cases[RANDOM_CASES];
	make_random(cases);
	count_random(cases);
	const struct expectation expected = expect_all(cases);
	const struct calibration_query day = {
		.window_s = 86400, .bucket_s = 3600, .min_cases = 20, .label_source = ENUM_ABSENT
	};
	struct calibration_reports reports = read_reports(&day, arena);
	assert_int_equal(reports.count, 1);
	expect_report(&reports.entries[0].report, &expected);
	expect_views(&reports.entries[0].report);
	assert_int_equal(reports.entries[0].rankings_count, 1);
	expect_ranking_views(&reports.entries[0].rankings[0]);
}

/* ---- single cases ---- */

/* Not in the last minutes of a day: what is kept of a case depends on the day. */
static int64_t now_within_a_day(void)
{
	int64_t now_ms = clock_wall_ms(), left_ms = 86400000 - now_ms % 86400000;
	if (left_ms > 5 * MINUTE_MS)
		return now_ms;
	const struct timespec time = { left_ms / 1000 + 1, 0 };
	nanosleep(&time, NULL);
	return clock_wall_ms();
}

enum { SINGLE_CASES = 300 };

/* Of two applications, some with a probability; feedback about each third, with the opposite label. */
static void count_single(int64_t now_ms)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 300,
							   .max_segments = 100,
							   .feedback_horizon_ms = 7 * 24 * HOUR_MS,
							   .learns = true };
	_cleanup_(calibration_store_cleanup) struct calibration_store *store =
		calibration_store_new(&options);
	static struct calibration_case cases[SINGLE_CASES];
	static struct calibration_feedback feedback[SINGLE_CASES / 3];
	struct err_detail detail = { "" };
	for (int i = 0; i < SINGLE_CASES; i++) {
		char id[16];
		snprintf(id, sizeof id, "event %d", i);
		double confidence = (i + 0.5) / SINGLE_CASES;
		cases[i] = (struct calibration_case){
			.scored_at_ms = now_ms - i,
			.application = i % 2 ? STR("a") : STR("b"),
			.label_source = LABEL_RESULT,
			.level = LEVEL_LOW,
			.confidence = confidence,
			.weight = 1,
			.correct = i % 2,
			.event = calibration_event_key(str_from(id)),
			.key = calibration_event_key(str_from(id)),
			.probability = i % 3 ? opt_double(i % 2 ? 0.75 + i / 10000.0 : confidence / 2)
					     : (opt_double_t)OPT_NONE,
			.offset = i,
		};
		if (i % 3 == 0)
			feedback[i / 3] = (struct calibration_feedback){ .event = cases[i].event,
									 .said_at_ms = now_ms,
									 .offset = i / 3,
									 .correct = !(i % 2) };
	}
	const struct calibration_step steps[] = { { "f", false, 0, CALIBRATION_POSITION_NONE, 100 },
						  { "t", true, 0, CALIBRATION_POSITION_NONE, SINGLE_CASES } };
	const struct calibration_work work = { cases, SINGLE_CASES, feedback, SINGLE_CASES / 3, steps, 2 };
	if (calibration_store_apply(store, &work, NULL, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
}

static const struct calibration_entry *entry_of(const struct calibration_reports *reports, int label_source)
{
	for (size_t i = 0; i < reports->count; i++)
		if (reports->entries[i].label_source == label_source)
			return &reports->entries[i];
	fail_msg("no entry of source %d", label_source);
	return NULL;
}

static struct calibration_query last_day(const char *application)
{
	return (struct calibration_query){ .window_s = 86400,
					   .bucket_s = 300,
					   .min_cases = 20,
					   .application = application,
					   .label_source = ENUM_ABSENT };
}

static void test_single_cases_are_ranked(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	int64_t now_ms = now_within_a_day();
	count_single(now_ms);
	struct calibration_query query = last_day(NULL);
	query.wish = 0.95;
	struct calibration_reports reports = read_reports(&query, arena);
	const struct calibration_entry *results = entry_of(&reports, LABEL_RESULT);
	assert_int_equal(results->rankings_count, 4);
	const struct ranking *tenths = &results->rankings[0], *overall = &results->rankings[1],
			     *same = &results->rankings[2], *probability = &results->rankings[3];
	assert_true(tenths->by_tenths && !overall->by_tenths && !probability->by_tenths);
	assert_int_equal(tenths->cases, SINGLE_CASES);
	assert_int_equal(overall->cases, SINGLE_CASES);
	assert_int_equal(overall->since_ms, now_ms - SINGLE_CASES + 1);
	/* every second one is right: of each confidence but the first */
	expect_near(overall->discrimination.auroc, 0.5 + 0.5 / (SINGLE_CASES / 2.0));
	assert_int_equal(probability->score, RANKING_PROBABILITY);
	/* the cases that have both, by what each of them says */
	assert_true(same->score == RANKING_OVERALL && same->with_probability && !overall->with_probability);
	assert_int_equal(same->cases, probability->cases);
	assert_int_equal(same->since_ms, probability->since_ms);
	expect_near(same->accuracies[RANKING_COVERAGES - 1], probability->accuracies[RANKING_COVERAGES - 1]);
	assert_true(same->discrimination.auroc < 0.6);
	assert_int_equal(probability->cases, SINGLE_CASES / 3 * 2);
	expect_near(probability->discrimination.auroc, 1);
	assert_true(probability->threshold.found);
	expect_near(probability->threshold.point.threshold, 0.75);
	expect_near(probability->threshold.point.coverage, 0.5);
	const struct calibration_entry *feedback = entry_of(&reports, LABEL_FEEDBACK);
	assert_int_equal(feedback->rankings_count, 2);
	assert_int_equal(feedback->rankings[1].cases, SINGLE_CASES / 3);
	assert_true(feedback->rankings[1].discrimination.auroc < 0.52);
	/* of one application, which is always right */
	query = last_day("a");
	reports = read_reports(&query, arena);
	results = entry_of(&reports, LABEL_RESULT);
	assert_int_equal(results->rankings[1].cases, SINGLE_CASES / 2);
	assert_false(results->rankings[1].both_kinds);
	/* each segment by itself: tenths alone */
	query = last_day(NULL);
	query.by_segment = true;
	assert_int_equal(read_reports(&query, arena).entries[0].rankings_count, 1);
	/* tables that the daemon has yet to bring up to date */
	run_sql("DELETE FROM calibration_migrations WHERE version > 11");
	query = last_day(NULL);
	reports = read_reports(&query, arena);
	assert_int_equal(entry_of(&reports, LABEL_RESULT)->rankings_count, 1);
}

/* Half of what application a had is kept: it stands for the rest. */
static void test_a_sample_stands_for_its_day(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_single(now_within_a_day());
	run_sql("DELETE FROM calibration_examples WHERE event_key IN (SELECT event_key FROM "
		"calibration_examples WHERE application = 'a' ORDER BY 1 LIMIT 75)");
	const struct calibration_query query = last_day(NULL);
	struct calibration_reports reports = read_reports(&query, arena);
	const struct ranking *overall = &entry_of(&reports, LABEL_RESULT)->rankings[1];
	assert_int_equal(overall->cases, SINGLE_CASES - 75);
	expect_near(overall->accuracies[RANKING_COVERAGES - 1], 0.5);
}

/* The days before the last ones are not read where these have enough. */
static void test_as_many_days_as_it_takes(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char sql[2048];
	int64_t now_ms = now_within_a_day(), today_s = now_ms / 86400000 * 86400;
	count_single(now_ms);
	snprintf(sql, sizeof sql,
		 "TRUNCATE calibration_examples, calibration_rollups; DELETE FROM calibration_totals; DELETE "
		 "FROM calibration_hour_totals; "
		 "CREATE TEMP TABLE made AS SELECT to_timestamp(%lld - d * 86400) AS at, d, n FROM (VALUES "
		 "(0, "
		 "5000), (1, 5000), (2, 500)) AS v (d, n); "
		 "INSERT INTO calibration_rollups SELECT 86400, at, 'a', '', '', 'RESULT', "
		 "'LOW_CONFIDENCE', 5, 12000, 12000, 12000, 6000, 6600, 3000 FROM made; "
		 "INSERT INTO calibration_rollups SELECT 3600, at, 'a', '', '', 'RESULT', "
		 "'LOW_CONFIDENCE', 5, 12000, 12000, 12000, 6000, 6600, 3000 FROM made; "
		 "INSERT INTO calibration_examples SELECT (at AT TIME ZONE 'UTC')::date, 'a', 'RESULT', "
		 "gen_random_uuid(), 0, d * 5000 + i, at, '', '', 0.55, 1, i %% 2 = 0, NULL, d / 2.0 "
		 "FROM made, generate_series(1, n) AS i; "
		 "DELETE FROM calibration_segments WHERE application = 'b'; "
		 "ANALYZE calibration_examples",
		 (long long)today_s);
	run_sql(sql);
	struct calibration_query query = {
		.window_s = 7 * 86400, .bucket_s = 300, .min_cases = 20, .label_source = LABEL_RESULT
	};
	struct calibration_reports reports = read_reports(&query, arena);
	const struct ranking *overall = &entry_of(&reports, LABEL_RESULT)->rankings[1];
	assert_int_equal(overall->cases, 5000);
	assert_int_equal(overall->since_ms, today_s * 1000);
	expect_near(overall->accuracies[RANKING_COVERAGES - 1], 0.5);
	assert_int_equal(entry_of(&reports, LABEL_RESULT)->rankings[2].cases, 5000);
}

static void test_rankings_are_told(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count_single(now_within_a_day());
	struct calibration_query query = last_day(NULL);
	query.label_source = LABEL_RESULT;
	query.wish = 0.95;
	struct calibration_reports reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
	assert_non_null(strstr(text, "\n  confidence, tenths      300  0.5"));
	assert_non_null(strstr(text, "  no better than chance\n  confidence, same        200  0."));
	assert_non_null(strstr(text, "\n  probability, cases      200  1.000  "));
	assert_non_null(strstr(text, "\n  same: the 200 of them that have a probability, too; compare the "
				     "probability with these\n"));
	assert_non_null(strstr(text, "\n  probability         cases   mean  right  95 % interval\n  0.7"));
	assert_non_null(strstr(text, "        20  0.7"));
	assert_non_null(strstr(text, "  0.000  0.000 to 0.1"));
	assert_non_null(strstr(text, "\n  95 % right is at no threshold of overall confidence with 20 "
				     "cases or more; the nearest is ≥ 0."));
	assert_non_null(strstr(text, "\n  95 % right needs probability ≥ 0.75: 50 % of the cases (100, of "
				     "them 1.000 right, 0.963 by the lower end of the interval)\n"));
	assert_non_null(strstr(text, "\n  cases: 300 that are kept singly, scored since "));
	_cleanup_(cleanup_free) char *json = print_reports(&reports, calibration_print_json);
	json_t *root = json_loads(json, 0, NULL);
	json_t *list = json_object_get(json_array_get(json_object_get(root, "reports"), 0), "rankings");
	assert_int_equal(json_array_size(list), 4);
	json_t *tenths = json_array_get(list, 0), *same = json_array_get(list, 2),
	       *probability = json_array_get(list, 3);
	assert_string_equal(json_string_value(json_object_get(same, "score")), "overall");
	assert_string_equal(json_string_value(json_object_get(same, "computed_from")),
			    "cases_with_probability");
	assert_int_equal(json_integer_value(json_object_get(same, "cases")), 200);
	assert_string_equal(json_string_value(json_object_get(tenths, "computed_from")), "tenths");
	assert_true(json_is_null(json_object_get(tenths, "since_ms")));
	assert_string_equal(json_string_value(json_object_get(probability, "score")), "probability");
	assert_string_equal(json_string_value(json_object_get(probability, "computed_from")), "cases");
	assert_int_equal(json_array_size(json_object_get(probability, "bins")), RANKING_BINS);
	assert_int_equal(json_array_size(json_object_get(probability, "coverage")), RANKING_COVERAGES);
	json_t *threshold = json_object_get(probability, "threshold");
	assert_true(json_is_true(json_object_get(threshold, "found")));
	expect_near(json_real_value(json_object_get(threshold, "threshold")), 0.75);
	assert_true(json_is_false(json_object_get(json_object_get(tenths, "threshold"), "found")));
	json_decref(root);
	query.wish = 0.97; /* which takes 125 cases: there are 200, but of these 100 are wrong */
	reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *unshown = print_reports(&reports, calibration_print);
	assert_non_null(strstr(unshown,
			       "\n  97 % right may be, but so few cases cannot show it for "
			       "probability; the nearest is ≥ 0.75: 50 % of the cases (100, of them 1.000 "));
	query.wish = 0.95;
	/* of a few there is nothing to say */
	run_sql("DELETE FROM calibration_examples WHERE probability IS NULL OR probability < 0.77");
	reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *few = print_reports(&reports, calibration_print);
	assert_non_null(strstr(few,
			       "\n  95 % right cannot be shown for probability: it takes 73 cases, all of "
			       "them right\n"));
	assert_non_null(strstr(few, "  all of one kind\n"));
	run_sql("UPDATE calibration_examples SET correct = false WHERE record_offset % 7 = 1");
	reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *mixed = print_reports(&reports, calibration_print);
	assert_non_null(strstr(mixed, "  too few to tell from chance\n"));
	run_sql("UPDATE calibration_examples SET correct = probability < 0.775");
	reports = read_reports(&query, arena);
	_cleanup_(cleanup_free) char *opposite = print_reports(&reports, calibration_print);
	assert_non_null(strstr(opposite, "  worse than chance\n"));
}

/* A role that reads sums alone is told so, and has the report of these. */
static void test_single_cases_need_rights(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char dsn[512];
	count_single(now_within_a_day());
	run_sql("DROP ROLE IF EXISTS reporter; CREATE ROLE reporter LOGIN; GRANT USAGE ON SCHEMA public TO "
		"reporter; GRANT SELECT ON calibration_migrations, calibration_buckets, calibration_rollups, "
		"calibration_totals, calibration_hour_totals, calibration_drift_episodes TO reporter");
	snprintf(dsn, sizeof dsn, "%s user=reporter", server.socket_dsn);
	for (int granted = 0; granted < 2; granted++) {
		_cleanup_(database_cleanup) struct database *database = database_new(dsn, NULL);
		const struct calibration_query query = last_day(NULL);
		struct calibration_reports reports;
		struct err_detail detail = { "" };
		if (calibration_read(database, &query, arena, &reports, &detail) != ERR_OK)
			fail_msg("%s", detail.message);
		for (size_t i = 0; i < reports.count; i++) {
			assert_int_equal(str_present(reports.entries[i].fault), !granted);
			assert_int_equal(reports.entries[i].rankings_count > 1, granted);
		}
		_cleanup_(cleanup_free) char *text = print_reports(&reports, calibration_print);
		_cleanup_(cleanup_free) char *json = print_reports(&reports, calibration_print_json);
		assert_int_equal(strstr(text, "cannot be read: ERROR:  permission denied for") != NULL,
				 !granted);
		assert_int_equal(strstr(json, "\"rankings_fault\":null") != NULL, granted);
		run_sql("GRANT SELECT ON calibration_examples, calibration_events, calibration_segments TO "
			"reporter");
	}
	run_sql("DROP OWNED BY reporter; DROP ROLE reporter");
}

/* What dashboards see of probabilities, and who may see it. */
static void test_views_of_probabilities(void **state)
{
	(void)state;
	count_single(now_within_a_day());
	expect("SELECT sum(cases) FROM calibration_probability WHERE window_s = 86400 AND label_source = "
	       "'RESULT' AND bin >= 7 AND accuracy = 1 AND low > 0.9 AND high > 0.999 AND application = 'a'",
	       "100");
	expect("SELECT sum(cases) FROM calibration_probability WHERE window_s = 3600 AND label_source = "
	       "'RESULT' AND accuracy = 0 AND low < 0.001 AND high < 1 AND application = 'b'",
	       "100");
	expect("SELECT count(*) FROM calibration_probability WHERE label_source = 'FEEDBACK'", "0");
	run_sql("UPDATE calibration_events SET probability = 1");
	expect("SELECT concat_ws(' ', bin, cases, probability, accuracy) FROM calibration_probability WHERE "
	       "window_s = 604800 AND label_source = 'FEEDBACK' AND application = 'b'",
	       "9 50 1 1");
	run_sql("INSERT INTO calibration_models (version, kind, document, trained_from, trained_to, labels, "
		"later_cases, log_loss, auroc, ece, proven, used_from, replaced_by) VALUES "
		"(2, 'map', '', 'epoch', 'epoch', 90, 30, 0.5, 0.8, 0.02, true, '2026-01-09Z', NULL), "
		"(1, 'map', '', 'epoch', 'epoch', 60, 20, 0.6, 0.7, 0.04, false, '2026-01-08Z', 2)");
	expect("SELECT string_agg(concat_ws(' ', version, in_use, (used_until AT TIME ZONE 'UTC')::date, "
	       "auroc), ', ' ORDER BY version) FROM calibration_model_history",
	       "1 f 2026-01-09 0.7, 2 t 0.8");
}

/* A sample of a tenth of a day counts as much as the day, in the view as in the report. */
static void test_samples_of_probabilities_are_weighed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char sql[2048];
	int64_t now_ms = now_within_a_day(), today_s = now_ms / 86400000 * 86400;
	count_single(now_ms);
	snprintf(sql, sizeof sql,
		 "TRUNCATE calibration_examples, calibration_rollups; DELETE FROM calibration_totals; DELETE "
		 "FROM calibration_hour_totals; "
		 "CREATE TEMP TABLE made AS SELECT to_timestamp(%lld - d * 86400) AS at, d, cases FROM "
		 "(VALUES "
		 "(0, 100), (1, 1000)) AS v (d, cases); "
		 "INSERT INTO calibration_rollups SELECT width_s, at, 'a', '', '', 'RESULT', "
		 "'LOW_CONFIDENCE', 5, "
		 "cases, cases, cases, cases / 2, cases / 2, cases / 4 FROM made, (VALUES (3600), (86400)) "
		 "AS w "
		 "(width_s); "
		 "INSERT INTO calibration_examples SELECT (at AT TIME ZONE 'UTC')::date, 'a', 'RESULT', "
		 "gen_random_uuid(), 0, d * 100 + i, at, '', '', 0.55, 1, d = 0, NULL, 0.75 "
		 "FROM made, generate_series(1, 100) AS i",
		 (long long)today_s);
	run_sql(sql);
	struct calibration_query query = {
		.window_s = 7 * 86400, .bucket_s = 300, .min_cases = 20, .label_source = LABEL_RESULT
	};
	struct calibration_reports reports = read_reports(&query, arena);
	const struct ranking *reported = &entry_of(&reports, LABEL_RESULT)->rankings[2];
	expect_near(reported->accuracies[RANKING_COVERAGES - 1], 100.0 / 1100);
	expect("SELECT concat_ws(' ', bin, cases, weight, round(accuracy::numeric, 12)) FROM "
	       "calibration_probability WHERE window_s = 604800 AND label_source = 'RESULT'",
	       "7 200 1100 0.090909090909");
}

/* Who may do what with a table may do it with the ones that are to go with it. */
static void test_rights_are_shared(void **state)
{
	(void)state;
	COUNT_EXAMPLE();
	run_sql("DROP ROLE IF EXISTS sharer; CREATE ROLE sharer; CREATE TABLE calibration_more (); "
		"CREATE TABLE calibration_most (); GRANT SELECT, INSERT ON calibration_rollups TO sharer; "
		"GRANT SELECT ON calibration_rollups TO PUBLIC; "
		"SELECT calibration_share_rights('calibration_rollups', '{calibration_more, "
		"calibration_most}')");
	expect("SELECT string_agg(concat_ws(' ', relname, a.privilege_type, a.grantee::regrole), ', ' "
	       "ORDER BY relname, a.privilege_type, a.grantee::bigint) FROM pg_class "
	       "CROSS JOIN LATERAL aclexplode(relacl) AS a "
	       "WHERE relname ~ '^calibration_mo[rs]' AND a.grantee <> relowner",
	       "calibration_more INSERT sharer, calibration_more SELECT -, calibration_more SELECT sharer, "
	       "calibration_most INSERT sharer, calibration_most SELECT -, calibration_most SELECT sharer");
	run_sql("DROP OWNED BY sharer; DROP ROLE sharer; DROP TABLE calibration_more, calibration_most");
}

/* Tables as a program of that version made them. */
static void make_version(int version)
{
	char script[131072], mark[32], sql[256];
	FILE *file = fopen(ASSAYD_SOURCE_DIR "/schemas/calibration.sql", "r");
	assert_non_null(file);
	size_t len = fread(script, 1, sizeof script - 1, file);
	fclose(file);
	assert_true(len < sizeof script - 1);
	script[len] = '\0';
	snprintf(mark, sizeof mark, "\n-- migration %d", version + 1);
	char *end = strstr(script, mark);
	assert_non_null(end);
	*end = '\0';
	run_sql(script);
	snprintf(sql, sizeof sql,
		 "CREATE TABLE calibration_migrations (version integer PRIMARY KEY, applied_at timestamptz "
		 "NOT "
		 "NULL DEFAULT now()); INSERT INTO calibration_migrations SELECT generate_series(1, %d)",
		 version);
	run_sql(sql);
}

/* Whoever read the views of before reads those of now. */
static void test_dashboards_keep_reading(void **state)
{
	(void)state;
	make_version(11);
	run_sql("DROP ROLE IF EXISTS dashboard; CREATE ROLE dashboard; GRANT USAGE ON SCHEMA public TO "
		"dashboard; GRANT SELECT ON calibration_summary TO dashboard");
	_cleanup_(database_cleanup) struct database *database = database_new(server.socket_dsn, NULL);
	assert_int_equal(database_connect(database, NULL, NULL), ERR_OK);
	assert_int_equal(calibration_schema_migrate(database, NULL), ERR_OK);
	expect("SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind IN ('r', 'v') "
	       "AND relname LIKE 'calibration%' AND has_table_privilege('dashboard', oid, 'SELECT')",
	       "calibration_coverage calibration_discrimination calibration_documents "
	       "calibration_model_history calibration_probability calibration_summary");
	run_sql("SET ROLE dashboard; TABLE calibration_discrimination; TABLE calibration_coverage; "
		"TABLE calibration_probability; TABLE calibration_model_history");
	run_sql("DROP OWNED BY dashboard; DROP ROLE dashboard");
}

/* Sums of every tenth of confidence in so many intervals of that width. */
static void insert_sums(const char *table, int width_s, int intervals, int app)
{
	char sql[1024];
	snprintf(sql, sizeof sql,
		 "INSERT INTO %s SELECT %d, to_timestamp(1767873600 - %d * b), 'app%d', 'm', 'p', 'RESULT', "
		 "CASE WHEN n = 9 THEN 'HIGH_CONFIDENCE' WHEN n >= 7 THEN 'MEDIUM_CONFIDENCE' "
		 "WHEN n >= 5 THEN 'LOW_CONFIDENCE' ELSE 'VERY_LOW_CONFIDENCE' END, n, 10, "
		 "33.333333333333335, "
		 "111.1111111111, 17.5, 8.1234567890123456789, 2.98765432109876543 "
		 "FROM generate_series(1, %d) AS b, generate_series(0, 9) AS n",
		 table, width_s, width_s, app, intervals);
	run_sql(sql);
}

/* A week of dense traffic in twenty segments and the four of the example. How long it takes is printed only:
 * bench_calibration has the bar. */
static void test_full_reports(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	COUNT_EXAMPLE();
	for (int app = 0; app < 20; app++) {
		insert_sums("calibration_buckets", 300, 288, app);
		insert_sums("calibration_rollups", 3600, 168, app);
	}
	run_sql("ANALYZE calibration_buckets, calibration_rollups");
	static const int64_t windows_s[] = { 3600, 86400, 7 * 86400 };
	for (size_t i = 0; i < 3; i++) {
		struct calibration_query query = new_query(windows_s[i]);
		query.by_segment = true;
		int64_t start_us = clock_monotonic_us();
		struct calibration_reports reports = read_reports(&query, arena);
		int64_t took_ms = (clock_monotonic_us() - start_us) / 1000;
		print_message("window of %lld h: %zu reports in %lld ms\n", (long long)windows_s[i] / 3600,
			      reports.count, (long long)took_ms);
		assert_int_equal(reports.count, 24);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_windows_and_sources, drop_tables),
		cmocka_unit_test_setup(test_segments, drop_tables),
		cmocka_unit_test_setup(test_trend, drop_tables),
		cmocka_unit_test_setup(test_nothing_to_report, drop_tables),
		cmocka_unit_test_setup(test_person_reads_it, drop_tables),
		cmocka_unit_test_setup(test_names_do_not_speak_to_the_terminal, drop_tables),
		cmocka_unit_test_setup(test_program_reads_it, drop_tables),
		cmocka_unit_test_setup(test_open_episodes_are_shown, drop_tables),
		cmocka_unit_test_setup(test_changes_are_shown, drop_tables),
		cmocka_unit_test_setup(test_older_tables_are_refused, drop_tables),
		cmocka_unit_test(test_windows_in_words),
		cmocka_unit_test_setup(test_check_names_what_is_wrong, drop_tables),
		cmocka_unit_test(test_secrets_stay_secret),
		cmocka_unit_test_setup(test_figures_of_random_cases, drop_tables),
		cmocka_unit_test_setup(test_single_cases_are_ranked, drop_tables),
		cmocka_unit_test_setup(test_a_sample_stands_for_its_day, drop_tables),
		cmocka_unit_test_setup(test_as_many_days_as_it_takes, drop_tables),
		cmocka_unit_test_setup(test_rankings_are_told, drop_tables),
		cmocka_unit_test_setup(test_single_cases_need_rights, drop_tables),
		cmocka_unit_test_setup(test_samples_of_probabilities_are_weighed, drop_tables),
		cmocka_unit_test_setup(test_rights_are_shared, drop_tables),
		cmocka_unit_test_setup(test_views_of_probabilities, drop_tables),
		cmocka_unit_test_setup(test_dashboards_keep_reading, drop_tables),
		cmocka_unit_test_setup(test_full_reports, drop_tables),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
