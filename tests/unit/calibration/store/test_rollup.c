/* Hours and days against the single cases: every figure of every window, to the last digit, while a database
 * of a former version is taken over and others count. */
#include "calibration/store/rollup.h"

#include "calibration/count/store.h"
#include "calibration/report/reader.h"
#include "calibration/store/retention.h"
#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 2026-01-08 12:34:56 UTC; cases are of the forty days before. */
#define END_S	 INT64_C(1767875696)
#define BUCKET_S 300
#define SPAN_S	 (40 * CALIBRATION_DAY_S)
#define BATCH	 300

static struct database *connect_database(void)
{
	struct database *database = database_new(server.socket_dsn, NULL);
	struct err_detail detail = { "" };
	if (database_connect(database, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return database;
}

static err_t try_sql(const char *sql, struct err_detail *detail)
{
	_cleanup_(database_cleanup) struct database *database = connect_database();
	return database_script(database, sql, detail);
}

static PGresult *read_rows(const char *sql)
{
	_cleanup_(database_cleanup) struct database *database = connect_database();
	PGresult *result = NULL;
	struct err_detail detail = { "" };
	if (database_query(database, sql, 0, NULL, &result, &detail) != ERR_OK)
		fail_msg("%s: %s", sql, detail.message);
	return result;
}

/* ---- a database as version 4 left it ---- */

#define RANDOM_CASES                                                                                         \
	"SELECT %d AS batch, (SELECT s FROM ends) - floor(random() * 40 * 86400)::bigint AS at, "            \
	"'app ' || floor(random() * 3) AS application, 'model ' || floor(random() * 2) AS model, "           \
	"CASE WHEN random() < 0.7 THEN 'RESULT' ELSE 'CORRECTNESS' END AS source, "                          \
	"confidence, CASE WHEN confidence >= 0.9 THEN 'HIGH_CONFIDENCE' WHEN confidence >= 0.7 "             \
	"THEN 'MEDIUM_CONFIDENCE' WHEN confidence >= 0.5 THEN 'LOW_CONFIDENCE' "                             \
	"ELSE 'VERY_LOW_CONFIDENCE' END AS level, (random() < confidence)::integer AS correct, "             \
	"(ARRAY[1, 2.5, 3.333333333333333, 10])[1 + floor(random() * 4)] AS weight "                         \
	"FROM (SELECT random()::numeric(6, 5) AS confidence FROM generate_series(1, %d)) AS made"

/* What a program of version 4 did to count cases; its INSERT names no columns. */
#define COUNT_AS_BEFORE                                                                                      \
	"INSERT INTO calibration_buckets AS b SELECT w, to_timestamp(at / w * w), application, model, '', "  \
	"source, level, least(floor(confidence * 10), 9)::smallint, count(*), sum(weight), "                 \
	"sum(weight * weight), sum(weight * correct), sum(weight * confidence), "                            \
	"sum(weight * (confidence - correct) * (confidence - correct)) "                                     \
	"FROM cases, (VALUES (300), (3600)) AS v (w) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 " CASES_ADD_UP

static void read_script(char *ret_script, size_t size)
{
	FILE *file = fopen(ASSAYD_SOURCE_DIR "/schemas/calibration.sql", "r");
	assert_non_null(file);
	size_t len = fread(ret_script, 1, size, file);
	fclose(file);
	assert_true(len < size);
	ret_script[len] = '\0';
}

static void make_version_4(void)
{
	char script[131072], sql[2048];
	read_script(script, sizeof script);
	char *end = strstr(script, "\n-- migration 5");
	assert_non_null(end);
	*end = '\0';
	run_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE calibration_migrations "
		"(version "
		"integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()); "
		"INSERT INTO calibration_migrations SELECT generate_series(1, 4)");
	run_sql(script);
	snprintf(sql, sizeof sql,
		 "CREATE TABLE ends AS SELECT %lld::bigint AS s; SELECT setseed(0.25); "
		 "CREATE TABLE cases AS " RANDOM_CASES "; " COUNT_AS_BEFORE,
		 (long long)END_S, -1, 9000);
	run_sql(sql);
}

static struct calibration_store *new_store(void)
{
	return calibration_store_new(&(const struct calibration_store_options){
		.dsn = server.socket_dsn, .bucket_s = BUCKET_S, .max_segments = 100 });
}

/* ---- counting on ---- */

static enum confidence_level level_of(const char *name)
{
	enum confidence_level level = LEVEL_VERY_LOW;
	while (strcmp(advisory_level_name(level), name) != 0)
		level++;
	return level;
}

/* Makes more cases and counts them as the daemon does. */
static err_t count_batch(struct calibration_store *store, int32_t partition, int batch)
{
	static const char columns[] =
		"SELECT at, application, model, source, confidence, level, correct, weight FROM cases "
		"WHERE batch = %d";
	char sql[1536];
	struct calibration_case cases[BATCH];
	const int number = partition * 1000 + batch;
	const struct calibration_step step = { "t", false, partition,
					       batch ? batch * BATCH : CALIBRATION_POSITION_NONE,
					       (batch + 1) * BATCH };
	snprintf(sql, sizeof sql, "INSERT INTO cases " RANDOM_CASES, number, BATCH);
	run_sql(sql);
	snprintf(sql, sizeof sql, columns, number);
	_cleanup_(database_result_cleanup) PGresult *rows = read_rows(sql);
	for (int i = 0; i < BATCH; i++)
		cases[i] = (struct calibration_case){
			.scored_at_ms = strtoll(PQgetvalue(rows, i, 0), NULL, 10) * 1000,
			.application = str_from(PQgetvalue(rows, i, 1)),
			.model = str_from(PQgetvalue(rows, i, 2)),
			.label_source = calibration_source_of(PQgetvalue(rows, i, 3)),
			.confidence = strtod(PQgetvalue(rows, i, 4), NULL),
			.level = (int)level_of(PQgetvalue(rows, i, 5)),
			.correct = PQgetvalue(rows, i, 6)[0] == '1',
			.weight = strtod(PQgetvalue(rows, i, 7), NULL),
		};
	return calibration_store_apply(
		store,
		&(const struct calibration_work){
			.cases = cases, .cases_count = BATCH, .steps = &step, .steps_count = 1 },
		NULL, NULL, NULL);
}

/* ---- what a report has to say ---- */

struct window {
	int64_t since_s, until_s; /* of whole buckets */
	bool days;
};

static int64_t down(int64_t value, int64_t step)
{
	return value / step * step;
}

/* Start of the bucket that a case is read from, as SQL. */
static void start_of_bucket(const struct window *window, char *sql, size_t size)
{
	int64_t days_since_s = down(window->since_s + CALIBRATION_DAY_S - 1, CALIBRATION_DAY_S);
	int64_t hours_since_s = down(window->since_s + CALIBRATION_HOUR_S - 1, CALIBRATION_HOUR_S);
	snprintf(sql, size,
		 "CASE WHEN %s AND at >= %lld AND at < %lld THEN at / 86400 * 86400 "
		 "WHEN at >= %lld AND at < %lld THEN at / 3600 * 3600 ELSE at / 300 * 300 END",
		 window->days ? "true" : "false", (long long)days_since_s,
		 (long long)down(window->until_s, CALIBRATION_DAY_S), (long long)hours_since_s,
		 (long long)down(window->until_s, CALIBRATION_HOUR_S));
}

static struct calibration_sums sums_at(const PGresult *rows, int row, int column)
{
	return (struct calibration_sums){
		.cases = strtoll(PQgetvalue(rows, row, column), NULL, 10),
		.weight = strtod(PQgetvalue(rows, row, column + 1), NULL),
		.weight_squared = strtod(PQgetvalue(rows, row, column + 2), NULL),
		.weight_correct = strtod(PQgetvalue(rows, row, column + 3), NULL),
		.weight_confidence = strtod(PQgetvalue(rows, row, column + 4), NULL),
		.weight_squared_error = strtod(PQgetvalue(rows, row, column + 5), NULL),
	};
}

#define SUMS_OF_CASES                                                                                        \
	"count(*), sum(weight)::float8, sum(weight * weight)::float8, sum(weight * correct)::float8, "       \
	"sum(weight * confidence)::float8, "                                                                 \
	"sum(weight * (confidence - correct) * (confidence - correct))::float8 "

/* Straight from the cases. */
static struct calibration_entry expect_entry(const struct window *window, const char *source)
{
	char sql[1536], start[512];
	struct calibration_entry entry = { 0 };
	struct calibration_cells cells = { 0 };
	start_of_bucket(window, start, sizeof start);
	snprintf(sql, sizeof sql,
		 "SELECT level, least(floor(confidence * 10), 9), NULL, " SUMS_OF_CASES
		 "FROM cases WHERE source = '%s' AND at >= %lld AND at < %lld GROUP BY 1, 2 UNION ALL "
		 "SELECT level, NULL, (%s - %lld) * 12 / %lld, " SUMS_OF_CASES
		 "FROM cases WHERE source = '%s' AND at >= %lld AND at < %lld GROUP BY 1, 3",
		 source, (long long)window->since_s, (long long)window->until_s, start,
		 (long long)window->since_s, (long long)(window->until_s - window->since_s), source,
		 (long long)window->since_s, (long long)window->until_s);
	_cleanup_(database_result_cleanup) PGresult *rows = read_rows(sql);
	for (int row = 0; row < PQntuples(rows); row++) {
		enum confidence_level level = level_of(PQgetvalue(rows, row, 0));
		struct calibration_sums sums = sums_at(rows, row, 3);
		if (PQgetisnull(rows, row, 2))
			cells.cells[level][strtol(PQgetvalue(rows, row, 1), NULL, 10)] = sums;
		else
			entry.trend[level][strtol(PQgetvalue(rows, row, 2), NULL, 10)] =
				(struct calibration_moment){ sums.cases, sums.weight_correct / sums.weight };
	}
	calibration_report_make(&cells, 20, &entry.report);
	return entry;
}

static void print_part(FILE *to, const struct calibration_part *part)
{
	fprintf(to, "%lld", (long long)part->cases);
	if (part->cases)
		fprintf(to, " %a %a %a %a %a", part->weight, part->accuracy, part->confidence, part->low,
			part->high);
	fputc('\n', to);
}

/* Every figure with all of its bits. */
static char *print_report(const struct calibration_report *report)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	const opt_double_t figures[] = { report->band_score,  report->accuracy,	      report->confidence,
					 report->brier,	      report->expected_error, report->maximum_error,
					 report->reliability, report->resolution,     report->uncertainty,
					 report->residual };
	fprintf(to, "%lld %a %d\n", (long long)report->cases, report->weight, (int)report->grade);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		fprintf(to, figures[i].set ? "%a\n" : "none\n", figures[i].value);
	for (int i = 0; i < CALIBRATION_BINS; i++)
		print_part(to, &report->bins[i]);
	for (int i = 0; i < CALIBRATION_GROUPS; i++)
		print_part(to, &report->groups[i]);
	fclose(to);
	return text;
}

static void expect_same(const struct calibration_entry *entry, const struct calibration_entry *expected,
			bool trend)
{
	char *text = print_report(&entry->report), *expected_text = print_report(&expected->report);
	assert_string_equal(text, expected_text);
	free(text);
	free(expected_text);
	for (int i = 0; trend && i < CALIBRATION_GROUPS * CALIBRATION_STEPS; i++) {
		const struct calibration_moment *moment = &(&entry->trend[0][0])[i];
		const struct calibration_moment *expected_moment = &(&expected->trend[0][0])[i];
		assert_int_equal(moment->cases, expected_moment->cases);
		if (moment->cases)
			assert_memory_equal(&moment->accuracy, &expected_moment->accuracy, sizeof(double));
	}
}

static void expect_window(struct database *database, int64_t until_s, int64_t window_s, bool taken_over)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_query wanted = { .window_s = window_s,
					    .bucket_s = BUCKET_S,
					    .until_ms = until_s * 1000,
					    .min_cases = 20,
					    .label_source = LABEL_RESULT };
	const struct window window = { down(until_s - window_s, BUCKET_S), down(until_s, BUCKET_S) + BUCKET_S,
				       taken_over && window_s >= CALIBRATION_DAYS_SINCE_S };
	struct calibration_reports reports, figures;
	struct calibration_entry expected = expect_entry(&window, "RESULT");
	assert_int_equal(calibration_read_entries(database, &wanted, arena, &reports, NULL), ERR_OK);
	wanted.without_trend = true;
	assert_int_equal(calibration_read_entries(database, &wanted, arena, &figures, NULL), ERR_OK);
	assert_int_equal(reports.count, expected.report.cases > 0);
	assert_int_equal(figures.count, reports.count);
	if (reports.count == 0)
		return;
	expect_same(&reports.entries[0], &expected, true);
	expect_same(&figures.entries[0], &expected, false);
}

/* Fixed ones on and beside the edges of days, and random ones. */
static void expect_windows(bool taken_over)
{
	static const struct {
		int64_t until_s, window_s;
	} edges[] = {
		{ END_S, 7 * CALIBRATION_DAY_S },
		{ END_S, 366 * CALIBRATION_DAY_S },
		{ END_S / CALIBRATION_DAY_S * CALIBRATION_DAY_S, 12 * CALIBRATION_DAY_S },
		{ END_S / CALIBRATION_DAY_S * CALIBRATION_DAY_S - 1, 12 * CALIBRATION_DAY_S },
		{ END_S / CALIBRATION_DAY_S * CALIBRATION_DAY_S - 1, 12 * CALIBRATION_DAY_S - 1 },
		{ END_S / CALIBRATION_DAY_S * CALIBRATION_DAY_S - BUCKET_S, 30 * CALIBRATION_DAY_S },
		{ END_S / CALIBRATION_HOUR_S * CALIBRATION_HOUR_S, 90 },
	};
	_cleanup_(database_cleanup) struct database *database = connect_database();
	unsigned short seed[3] = { 2, 7, 1 };
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		expect_window(database, edges[i].until_s, edges[i].window_s, taken_over);
	for (int i = 0; i < 5; i++)
		expect_window(database, END_S - nrand48(seed) % SPAN_S, 1 + nrand48(seed) % SPAN_S,
			      taken_over);
}

/* Whatever has been taken over: buckets of each width, wherever they are, hold the cases once. */
static void expect_all_widths(void)
{
	expect("WITH widths AS (SELECT w, to_timestamp(at / w * w) AS at, application, model, source, level, "
	       "least(floor(confidence * 10), 9) AS bin, count(*) AS n, sum(weight) AS weight, "
	       "sum(weight * weight) AS squared, sum(weight * correct) AS correct, "
	       "sum(weight * confidence) AS confidence, "
	       "sum(weight * (confidence - correct) * (confidence - correct)) AS error "
	       "FROM cases, (VALUES (300), (3600), (86400)) AS v (w) GROUP BY 1, 2, 3, 4, 5, 6, 7), "
	       "stored AS (SELECT width_s AS w, bucket_start AS at, application, model, label_source AS "
	       "source, "
	       "level, bin, sum(cases) AS n, sum(weight) AS weight, sum(weight_squared) AS squared, "
	       "sum(weight_correct) AS correct, sum(weight_confidence) AS confidence, "
	       "sum(weight_squared_error) AS error FROM calibration_sums GROUP BY 1, 2, 3, 4, 5, 6, 7) "
	       "SELECT (SELECT count(*) FROM widths) > 0 AND NOT EXISTS (TABLE widths EXCEPT TABLE stored) "
	       "AND NOT EXISTS (TABLE stored EXCEPT TABLE widths)",
	       "t");
}

/* ---- the tests ---- */

struct counter {
	struct calibration_store *store;
	int32_t partition;
	int failures;
};

static void *count_on(void *context)
{
	struct counter *counter = context;
	for (int batch = 0; batch < 4; batch++)
		counter->failures += count_batch(counter->store, counter->partition, batch) != ERR_OK;
	return NULL;
}

/* A victim of a deadlock tries again, as the daemon does. */
static void *take_over_all(void *context)
{
	int *failures = context;
	_cleanup_(database_cleanup) struct database *database = connect_database();
	bool more = true;
	while (more) {
		err_t err = rollup_take_over(database, &more, NULL);
		*failures += err != ERR_OK && err != ERR_CONFLICT;
		if (err && err != ERR_CONFLICT)
			break;
	}
	return NULL;
}

static void test_a_full_database_is_taken_over(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	_cleanup_(calibration_store_cleanup) struct calibration_store *other = new_store();
	struct err_detail detail = { "" };
	bool more;
	make_version_4();
	run_sql("CREATE ROLE auditor; GRANT SELECT ON calibration_buckets TO auditor");
	struct database *database;
	assert_int_equal(calibration_store_database(store, &database, NULL), ERR_OK);
	expect("SELECT has_table_privilege('auditor', 'calibration_sums', 'SELECT') AND "
	       "has_table_privilege('auditor', 'calibration_rollups', 'SELECT') AND NOT "
	       "has_table_privilege('auditor', 'calibration_rollups', 'DELETE')",
	       "t");
	expect("SELECT count(*) FROM calibration_rollups", "0");
	expect_all_widths();
	expect_windows(false);
	/* a program of before fails as a whole */
	assert_int_equal(try_sql("BEGIN; " COUNT_AS_BEFORE "; COMMIT", &detail), ERR_DATABASE_REFUSED);
	assert_non_null(strstr(detail.message, "calibration_buckets_fine"));
	assert_int_equal(count_batch(store, 0, 0), ERR_OK);
	expect_all_widths();
	assert_int_equal(rollup_take_over(database, &more, NULL), ERR_OK);
	assert_true(more);
	assert_int_equal(count_batch(store, 0, 1), ERR_OK);
	expect_all_widths();
	expect_windows(false);
	/* two take over while two count */
	pthread_t threads[4];
	struct counter counters[] = { { store, 1, 0 }, { other, 2, 0 } };
	int failures[2] = { 0, 0 };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, take_over_all, &failures[i]), 0);
		assert_int_equal(pthread_create(&threads[2 + i], NULL, count_on, &counters[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failures[0] + failures[1] + counters[0].failures + counters[1].failures, 0);
	expect("SELECT count(*) FROM calibration_buckets WHERE width_s >= 3600", "0");
	expect_all_widths();
	expect_windows(true);
}

#define WITHOUT_HOUR_TOTALS                                                                                  \
	"DROP TABLE calibration_hour_totals; DROP FUNCTION calibration_add_hour_totals CASCADE; "            \
	"DROP FUNCTION calibration_change_hour_totals CASCADE; DROP FUNCTION "                               \
	"calibration_remove_hour_totals CASCADE; DROP FUNCTION calibration_hour_totals_since; "              \
	"DROP INDEX calibration_rollup_days_application"

/* Of the database that the test before left, forty days of hours: the last two weeks are summed over the
 * segments, and what is before them is read as it was. */
static void test_hours_of_a_full_database_are_summed(void **state)
{
	(void)state;
	_cleanup_(calibration_store_cleanup) struct calibration_store *store = new_store();
	char script[131072];
	read_script(script, sizeof script);
	run_sql(WITHOUT_HOUR_TOTALS);
	*strstr(script, "\n-- migration 20") = 0;
	run_sql(strstr(script, "\n-- migration 19"));
	expect("SELECT calibration_hour_totals_since() = (SELECT date_trunc('day', max(bucket_start), 'UTC') "
	       "- "
	       "interval '14 days' FROM calibration_rollups WHERE width_s = 3600)",
	       "t");
	expect("SELECT min(bucket_start) >= calibration_hour_totals_since() AND count(*) > 0 FROM "
	       "calibration_hour_totals",
	       "t");
	expect_windows(true);
	assert_int_equal(count_batch(store, 3, 0), ERR_OK);
	expect_windows(true);
}

/* Of the database that the test before left: whole days go. */
static void test_days_go_with_their_hours(void **state)
{
	(void)state;
	_cleanup_(database_cleanup) struct database *database = connect_database();
	bool more = true;
	while (more)
		assert_int_equal(retention_apply(database, 10, END_S * 1000, &more, NULL), ERR_OK);
	run_sql("DELETE FROM cases WHERE at < (SELECT s FROM ends) / 86400 * 86400 - 10 * 86400");
	expect_all_widths();
	expect_windows(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_database_is_taken_over),
		cmocka_unit_test(test_hours_of_a_full_database_are_summed),
		cmocka_unit_test(test_days_go_with_their_hours),
	};
	log_set_level(LOG_LEVEL_WARNING);
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
