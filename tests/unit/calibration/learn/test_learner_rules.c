/* What is learnt under other rules of overall confidence is passed over, against a real PostgreSQL. */
#include "calibration/learn/learner.h"

#include "calibration/count/store.h"
#include "calibration/learn/model_file.h"
#include "calibration/learn/model_store.h"
#include "calibration/statistics/outcomes.h"
#include "calibration/store/retention.h"
#include "calibration/store/rules.h"
#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/fixtures/counting.h"
#include "tests/harness/servers/database_server.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define DAY_MS INT64_C(86400000)

#define A_TEXT "factors=generator source=own retrieval=formula"
#define B_TEXT "factors=technical source=own retrieval=formula"

static const str_t A = { A_TEXT, sizeof A_TEXT - 1 };
static const str_t B = { B_TEXT, sizeof B_TEXT - 1 };

static int64_t today_ms; /* midnight, UTC */

struct rig {
	struct arena *arena;
	struct calibration_store *store;
	struct database *database;
	int counted;
};

static void rig_begin(struct rig *rig)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 300,
							   .max_segments = 100,
							   .feedback_horizon_ms = 7 * DAY_MS,
							   .retention_ms = 90 * DAY_MS,
							   .learns = true };
	*rig = (struct rig){ .arena = arena_new(), .store = calibration_store_new(&options) };
	rig->database = counting_database(rig->store);
}

static void rig_end(struct rig *rig)
{
	calibration_store_free(rig->store);
	arena_free(rig->arena);
}

/* Events that are right the more likely, the more anchors they have; the other way round: the less. */
static void count(struct rig *rig, int number, str_t rules, bool opposite)
{
	struct calibration_case *cases = ARENA_ARRAY(rig->arena, struct calibration_case, (size_t)number);
	for (int i = 0; i < number; i++) {
		int n = rig->counted++, anchors = n % 4;
		bool right = fmod(n * 0.6180339887498949, 1) < outcomes_sigmoid(1.5 * (anchors - 1.5));
		str_t id = arena_printf(rig->arena, "event %d", n);
		cases[i] = (struct calibration_case){
			.scored_at_ms = today_ms - 3 * DAY_MS + n * INT64_C(10000),
			.application = STR("shop"),
			.label_source = LABEL_RESULT,
			.level = LEVEL_HIGH,
			.confidence = 0.5 + 0.1 * anchors,
			.weight = 1,
			.correct = right != opposite,
			.key = calibration_event_key(id),
			.features =
				arena_printf(rig->arena, "{\"anchors\":%d,\"question\":%d}", anchors, n + 1),
			.rules = rules,
			.offset = n,
		};
	}
	counting_apply(rig->store, cases, (size_t)number, NULL, 0);
}

static err_t fit(struct rig *rig, str_t rules, bool *ret_replaced)
{
	struct learner_outcome outcome;
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = MODEL_FEATURES, .rules = rules };
	run_sql("UPDATE calibration_model_looks SET labels = 0");
	err_t err = learner_fit(rig->database, &options, &outcome, &detail);
	*ret_replaced = outcome.replaced;
	if (err && err != ERR_SAMPLES)
		fail_msg("%s", detail.message);
	return err;
}

/* Whether a new model is in use. */
static bool learns(struct rig *rig, str_t rules)
{
	bool replaced;
	return fit(rig, rules, &replaced) == ERR_OK && replaced;
}

/* Which model these rules have; 0: none. */
static int64_t used(struct rig *rig, str_t rules, struct model_found *found)
{
	const struct model_known nothing = { 0 };
	struct err_detail detail = { "" };
	if (model_store_read(rig->database, MODEL_FEATURES, rules, &nothing, found, &detail) ||
	    model_store_note_read(rig->database, MODEL_FEATURES, rules, found, &detail))
		fail_msg("%s", detail.message);
	int64_t version = found->model ? model_info(found->model)->version : 0;
	assert_true(!found->model || str_equal(model_rules(found->model), rules));
	assert_int_equal(version, found->known.used);
	model_unref(TAKE_PTR(found->model));
	return version;
}

static size_t examples(struct rig *rig, str_t rules)
{
	struct model_example *found;
	size_t number;
	assert_int_equal(model_store_examples(rig->database, rules, rig->arena, &found, &number, NULL),
			 ERR_OK);
	return number;
}

#define HISTORY                                                                                              \
	"SELECT string_agg(concat_ws(' ', version, in_use, unreadable, rules), ', ' ORDER BY version) "      \
	"FROM calibration_model_history"

static void test_each_has_its_own(void **state)
{
	(void)state;
	struct rig rig;
	struct model_found found;
	int64_t others;
	bool replaced;
	rig_begin(&rig);
	count(&rig, 1000, A, false);
	assert_true(learns(&rig, A));
	assert_int_equal(used(&rig, A, &found), 1);
	assert_int_equal(found.passed_over, 0);
	/* after a change there is neither a model nor anything to learn from */
	assert_int_equal(used(&rig, B, &found), 0);
	assert_int_equal(found.passed_over, 1);
	assert_string_equal(found.passed_over_rules, A_TEXT);
	assert_int_equal(examples(&rig, B), 0);
	assert_int_equal(fit(&rig, B, &replaced), ERR_SAMPLES);
	/* nor do new labels of other rules replace the former model or judge it */
	count(&rig, 600, B, true);
	assert_int_equal(examples(&rig, A), 1000);
	assert_int_equal(examples(&rig, B), 600);
	assert_int_equal(model_store_count_others(rig.database, B, &others, NULL), ERR_OK);
	assert_int_equal(others, 1000);
	assert_int_equal(fit(&rig, A, &replaced), ERR_OK);
	assert_false(replaced);
	assert_true(learns(&rig, B));
	assert_int_equal(used(&rig, B, &found), 2);
	assert_int_equal(used(&rig, A, &found), 1);
	expect(HISTORY, "1 t f " A_TEXT ", 2 t f " B_TEXT);
	/* side by side, each replaces its own */
	count(&rig, 3000, A, true);
	assert_true(learns(&rig, A));
	assert_int_equal(used(&rig, B, &found), 2);
	assert_int_equal(used(&rig, A, &found), 3);
	expect("SELECT string_agg(version || ' ' || coalesce(replaced_by, 0), ', ' ORDER BY version) FROM "
	       "calibration_models",
	       "1 3, 2 0, 3 0");
	run_sql("DELETE FROM calibration_models WHERE version = 3");
	assert_int_equal(used(&rig, A, &found), 1);
	assert_int_equal(used(&rig, B, &found), 2);
	run_sql("UPDATE calibration_models SET document = '{}' WHERE version = 2");
	const struct model_known nothing = { 0 };
	assert_int_equal(model_store_read(rig.database, MODEL_FEATURES, B, &nothing, &found, NULL), ERR_OK);
	assert_true(found.unreadable && !found.model && !found.passed_over);
	rig_end(&rig);
}

/* What candidates for the first place have spent is not the others'. */
static void test_each_looks_for_itself(void **state)
{
	(void)state;
	struct rig rig;
	struct model_looks looks;
	rig_begin(&rig);
	/* of a program before this one, for all */
	run_sql("INSERT INTO calibration_model_looks (kind, version, looks, labels, until) VALUES "
		"('features', 0, 2, 40, '2026-01-08Z')");
	assert_int_equal(model_store_looks(rig.database, MODEL_FEATURES, A, 0, &looks, NULL), ERR_OK);
	assert_true(looks.count == 2 && looks.labels == 40);
	looks.count = 3;
	assert_int_equal(model_store_note_look(rig.database, MODEL_FEATURES, A, &looks, NULL), ERR_OK);
	looks = (struct model_looks){ .version = 7, .count = 5 };
	assert_int_equal(model_store_note_look(rig.database, MODEL_FEATURES, B, &looks, NULL), ERR_OK);
	assert_int_equal(model_store_looks(rig.database, MODEL_FEATURES, A, 0, &looks, NULL), ERR_OK);
	assert_int_equal(looks.count, 3);
	assert_int_equal(model_store_looks(rig.database, MODEL_FEATURES, B, 0, &looks, NULL), ERR_OK);
	assert_int_equal(looks.count, 2);
	/* the place of a model is the same whoever asks */
	assert_int_equal(model_store_looks(rig.database, MODEL_FEATURES, A, 7, &looks, NULL), ERR_OK);
	assert_int_equal(looks.count, 5);
	rig_end(&rig);
}

/* Models and labels that say nothing are of the rules that were met first. */
static void test_of_before_there_were_rules(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		struct rig rig;
		struct model_found found;
		rig_begin(&rig);
		count(&rig, 1000, STR_NONE, false);
		assert_true(learns(&rig, STR_NONE));
		expect("SELECT count(*) FROM calibration_models WHERE document LIKE '%\"rules\"%' OR rules "
		       "IS "
		       "NOT NULL",
		       "0");
		if (round == 0) { /* nothing was met: who asks first has it, for good */
			assert_int_equal(used(&rig, B, &found), 1);
			expect("SELECT rules FROM calibration_rules", B_TEXT);
		} else {
			count(&rig, 1, B, false);
		}
		assert_int_equal(used(&rig, A, &found), 0);
		assert_int_equal(found.passed_over, 1);
		assert_string_equal(found.passed_over_rules, B_TEXT);
		assert_int_equal(used(&rig, B, &found), 1);
		assert_int_equal(examples(&rig, A), 0);
		assert_int_equal(examples(&rig, B), (size_t)(1000 + round));
		/* and a new one takes its place */
		count(&rig, 3000, B, true);
		assert_true(learns(&rig, B));
		assert_int_equal(used(&rig, B, &found), 2);
		expect(HISTORY, "1 f f " B_TEXT ", 2 t f " B_TEXT);
		expect("SELECT count(*) FROM calibration_models WHERE document LIKE "
		       "'%\"rules\":\"" B_TEXT "\"%'",
		       "1");
		rig_end(&rig);
		assert_int_equal(drop_tables(NULL), 0);
	}
}

#define ADD_MODELS(from, to, rules, used_from)                                                               \
	"INSERT INTO calibration_models (version, kind, document, trained_from, trained_to, labels, "        \
	"later_cases, log_loss, auroc, ece, proven, rules, used_from, replaced_by) SELECT v, 'map', '', "    \
	"now(), now(), 1, 1, 0, 0, 0, true, " rules ", " used_from ", nullif(least(v + 1, " to "), v) "      \
	"FROM generate_series(" to ", " from ", -1) AS v; "

/* However many of others come after it, one that is in use and what was before it stay. */
static void test_old_models_of_others_stay(void **state)
{
	(void)state;
	struct rig rig;
	bool more = true;
	rig_begin(&rig);
	run_sql(ADD_MODELS("1", "3", "5", "now() - interval '300 days'")
			ADD_MODELS("11", "60", "NULL", "now() - interval '200 days'")
				ADD_MODELS("61", "90", "6",
					   "now() - interval '200 days'") "INSERT INTO calibration_rules "
									  "VALUES (6, 'six', now())");
	run_sql("UPDATE calibration_models SET replaced_by = 61 WHERE version = 60");
	while (more)
		assert_int_equal(retention_apply(rig.database, 100, 0, &more, NULL), ERR_OK);
	/* those that say nothing are of the rules of the last ones */
	expect("SELECT string_agg(version::text, ',' ORDER BY version) FROM calibration_models WHERE version "
	       "< 72",
	       "1,2,3,71");
	expect("SELECT count(*) FROM calibration_models WHERE version > 70", "20");
	rig_end(&rig);
}

/* ---- the thread ---- */

static pthread_mutex_t ear_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct buf ear; /* what was said */

static void hear(enum log_level level, const char *line, void *context)
{
	(void)level;
	(void)context;
	pthread_mutex_lock(&ear_mutex);
	buf_printf(&ear, "%s\n", line);
	pthread_mutex_unlock(&ear_mutex);
}

static void listen_to_log(bool listens)
{
	buf_free(&ear);
	log_set_level(listens ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR);
	log_set_sink(listens ? hear : NULL, NULL);
}

static int times_told(const char *text)
{
	int count = 0;
	pthread_mutex_lock(&ear_mutex);
	for (const char *at = ear.data; at && (at = strstr(at, text)); at++)
		count++;
	pthread_mutex_unlock(&ear_mutex);
	return count;
}

static void wait_until_told(const char *text, int count)
{
	for (int i = 0; times_told(text) < count && i < 12000; i++) {
		const struct timespec time = { 0, 10000000 };
		nanosleep(&time, NULL);
	}
	assert_int_equal(times_told(text), count);
}

#define OTHERS	"was learnt under other rules of overall confidence"
#define PRESENT ", which was learnt under the present rules, is in use"
#define BARE	"none of the present rules of overall confidence is at hand"
#define KEPT	" is used as it was kept"

static struct learner_statistics wait_for(struct learner *learner, int64_t version)
{
	struct learner_statistics statistics = { .version = -1 };
	for (int i = 0; statistics.version != version && i < 12000; i++) {
		const struct timespec time = { 0, 10000000 };
		nanosleep(&time, NULL);
		learner_statistics(learner, &statistics);
	}
	assert_int_equal(statistics.version, version);
	return statistics;
}

static void expect_current(struct model_current *current, int64_t version, str_t rules)
{
	struct model *model = model_current_get(current);
	assert_non_null(model);
	assert_int_equal(model_info(model)->version, version);
	assert_true(str_equal(model_rules(model), rules));
	model_unref(model);
}

static void test_the_thread_changes_over(void **state)
{
	(void)state;
	struct rig rig;
	struct model_current *current = model_current_new();
	rig_begin(&rig);
	count(&rig, 1000, A, false);
	assert_true(learns(&rig, A));
	const struct learner_options options = {
		.dsn = server.socket_dsn, .kind = MODEL_FEATURES, .current = current, .rules = A_TEXT
	};
	listen_to_log(true);
	struct learner *learner = learner_start(&options);
	wait_for(learner, 1);
	expect_current(current, 1, A);
	learner_set_rules(learner, A_TEXT); /* no change */
	wait_for(learner, 1);
	learner_set_rules(learner, B_TEXT);
	wait_until_told(OTHERS, 1);
	wait_for(learner, 0);
	assert_null(model_current_get(current));
	/* and back, which needs no new labels */
	learner_set_rules(learner, A_TEXT);
	wait_until_told("model 1" PRESENT, 1);
	wait_for(learner, 1);
	expect_current(current, 1, A);
	/* where both have one, nothing is missing */
	count(&rig, 600, B, true);
	assert_true(learns(&rig, B));
	for (int round = 1; round <= 2; round++) {
		learner_set_rules(learner, B_TEXT);
		wait_until_told("model 2" PRESENT, round);
		wait_for(learner, 2);
		expect_current(current, 2, B);
		learner_set_rules(learner, A_TEXT);
		wait_until_told("model 1" PRESENT, round + 1);
	}
	assert_int_equal(times_told(OTHERS), 1);
	learner_set_rules(NULL, B_TEXT);
	learner_stop(learner);
	listen_to_log(false);
	model_current_free(current);
	rig_end(&rig);
}

/* What is fitted under rules that are no more is given up. */
static void test_a_fit_is_interrupted(void **state)
{
	(void)state;
	struct rig rig;
	struct model_current *current = model_current_new();
	rig_begin(&rig);
	count(&rig, 1000, A, false);
	const struct learner_options options = { .dsn = server.socket_dsn,
						 .kind = MODEL_FEATURES,
						 .current = current,
						 .rules = B_TEXT,
						 .interval_ms = 3600000 };
	struct learner *learner = learner_start(&options);
	/* the next round has to come before the hour is over */
	for (int i = 0; i < 5; i++) {
		const struct timespec time = { 0, 200000000 };
		nanosleep(&time, NULL);
		learner_set_rules(learner, i % 2 ? B_TEXT : A_TEXT);
	}
	wait_for(learner, 1);
	expect_current(current, 1, A);
	learner_stop(learner);
	model_current_free(current);
	rig_end(&rig);
}

struct fitting {
	struct rig *rig;
	_Atomic bool stopping;
	err_t err;
};

static void *fit_beside(void *context)
{
	struct fitting *fitting = context;
	struct learner_outcome outcome;
	const struct model_options options = { .kind = MODEL_FEATURES,
					       .rules = A,
					       .stopping = &fitting->stopping };
	fitting->err = learner_fit(fitting->rig->database, &options, &outcome, NULL);
	return NULL;
}

/* One that is interrupted while it looks at a candidate is no reason to wait for more labels. */
static void test_a_look_is_interrupted(void **state)
{
	(void)state;
	struct rig rig;
	struct fitting fitting = { .rig = &rig };
	struct database *other = database_new(server.socket_dsn, NULL);
	struct learner_outcome outcome;
	pthread_t thread;
	const struct model_options options = { .kind = MODEL_FEATURES, .rules = A };
	rig_begin(&rig);
	count(&rig, 1000, A, false);
	assert_int_equal(database_connect(other, NULL, NULL), ERR_OK);
	assert_int_equal(database_query(other, "BEGIN", 0, NULL, NULL, NULL), ERR_OK);
	assert_int_equal(database_query(other, "LOCK TABLE calibration_model_looks IN SHARE MODE", 0, NULL,
					NULL, NULL),
			 ERR_OK);
	assert_int_equal(pthread_create(&thread, NULL, fit_beside, &fitting), 0);
	char waiting[8] = "0";
	for (int i = 0; strcmp(waiting, "0") == 0 && i < 1200; i++)
		query("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
		      "'calibration_model_looks'::regclass",
		      waiting, sizeof waiting);
	assert_string_equal(waiting, "1");
	fitting.stopping = true;
	assert_int_equal(database_query(other, "COMMIT", 0, NULL, NULL, NULL), ERR_OK);
	pthread_join(thread, NULL);
	assert_int_equal(fitting.err, ERR_SHUTTING_DOWN);
	expect("SELECT count(*) FROM calibration_model_looks WHERE looks > 0", "0");
	assert_int_equal(learner_fit(rig.database, &options, &outcome, NULL), ERR_OK);
	assert_true(outcome.replaced);
	expect("SELECT max(looks) FROM calibration_model_looks WHERE version = 0", "1");
	database_free(other);
	rig_end(&rig);
}

#define AWAY "host=/nonexistent connect_timeout=1"

static char state_directory[] = "/tmp/learner-rules.XXXXXX";

/* What a learner has at its start, while its database is away. */
static int64_t kept_version(const char *rules)
{
	struct model_current *current = model_current_new();
	const struct learner_options options = { .dsn = AWAY,
						 .kind = MODEL_FEATURES,
						 .current = current,
						 .state_directory = state_directory,
						 .rules = rules };
	struct learner_statistics statistics;
	struct learner *learner = learner_start(&options);
	struct model *model = model_current_get(current);
	learner_statistics(learner, &statistics);
	int64_t version = model ? model_info(model)->version : 0;
	assert_int_equal(statistics.version, version);
	assert_true(!model || str_equal(model_rules(model), str_from(rules)));
	model_unref(model);
	learner_stop(learner);
	model_current_free(current);
	return version;
}

static void write_kept(const char *path, struct rig *rig, str_t rules)
{
	const struct model_known nothing = { 0 };
	struct model_found found;
	assert_int_equal(model_store_read(rig->database, MODEL_FEATURES, rules, &nothing, &found, NULL),
			 ERR_OK);
	assert_int_equal(model_file_write(path, AWAY, found.model, &found.known, NULL), ERR_OK);
	model_unref(found.model);
}

/* Also one whose document does not say, after it was known which rules it is of. */
static void test_the_kept_model_has_rules(void **state)
{
	(void)state;
	struct rig rig;
	struct buf path = BUF_INIT;
	assert_non_null(mkdtemp(state_directory));
	model_file_path(state_directory, MODEL_FEATURES, &path);
	for (int says = 0; says < 2; says++) {
		rig_begin(&rig);
		count(&rig, 1000, says ? A : STR_NONE, false);
		assert_true(learns(&rig, says ? A : STR_NONE));
		write_kept(path.data, &rig, A);
		assert_int_equal(kept_version(A_TEXT), 1);
		assert_int_equal(kept_version(B_TEXT), 0);
		assert_int_equal(kept_version(A_TEXT), 1); /* it is still there */
		/* an instance that has none of its own leaves it alone */
		const struct learner_options options = { .dsn = server.socket_dsn,
							 .kind = MODEL_FEATURES,
							 .current = model_current_new(),
							 .state_directory = state_directory,
							 .rules = B_TEXT };
		struct learner *learner = learner_start(&options);
		struct learner_statistics statistics = { .age_ms = -1 };
		while (statistics.age_ms < 0)
			learner_statistics(learner, &statistics);
		learner_stop(learner);
		model_current_free(options.current);
		assert_int_equal(kept_version(A_TEXT), 1);
		rig_end(&rig);
		assert_int_equal(drop_tables(NULL), 0);
	}
	assert_int_equal(unlink(path.data), 0);
	assert_int_equal(rmdir(state_directory), 0);
	buf_free(&path);
}

/* Without PostgreSQL; it is at hand at once, before the learner's next look. */
static void test_other_rules_find_the_kept_model(void **state)
{
	(void)state;
	struct rig rig;
	struct buf path = BUF_INIT;
	struct learner_statistics statistics;
	struct learner_options options = { .dsn = AWAY,
					   .kind = MODEL_FEATURES,
					   .current = model_current_new(),
					   .state_directory = state_directory,
					   .rules = B_TEXT };
	memcpy(strrchr(state_directory, '.'), ".XXXXXX", sizeof ".XXXXXX");
	assert_non_null(mkdtemp(state_directory));
	model_file_path(state_directory, MODEL_FEATURES, &path);
	rig_begin(&rig);
	count(&rig, 1000, A, false);
	assert_true(learns(&rig, A));
	write_kept(path.data, &rig, A);
	listen_to_log(true);
	struct learner *learner = learner_start(&options);
	wait_until_told(BARE, 1);
	learner_statistics(learner, &statistics);
	assert_int_equal(statistics.version, 0);
	assert_int_equal(statistics.age_ms, -1);
	learner_set_rules(learner, A_TEXT);
	learner_statistics(learner, &statistics);
	assert_int_equal(statistics.version, 1);
	assert_true(statistics.age_ms >= 0);
	expect_current(options.current, 1, A);
	/* nor is the file needed for what is at hand still */
	learner_set_rules(learner, B_TEXT);
	wait_until_told(BARE, 2);
	wait_for(learner, 0);
	assert_int_equal(unlink(path.data), 0);
	learner_set_rules(learner, A_TEXT);
	learner_statistics(learner, &statistics);
	assert_int_equal(statistics.version, 1);
	expect_current(options.current, 1, A);
	learner_stop(learner);
	assert_int_equal(times_told("model 1" KEPT), 1);
	assert_int_equal(times_told(OTHERS), 0);
	/* with PostgreSQL, a start with rules that have another one misses nothing either */
	options.dsn = server.socket_dsn;
	options.rules = A_TEXT;
	learner = learner_start(&options);
	while (access(path.data, F_OK) != 0)
		wait_for(learner, 1);
	learner_stop(learner);
	count(&rig, 600, B, true);
	assert_true(learns(&rig, B));
	options.rules = B_TEXT;
	learner = learner_start(&options);
	wait_until_told("model 2" PRESENT, 1);
	learner_stop(learner);
	assert_int_equal(times_told(OTHERS), 0);
	listen_to_log(false);
	model_current_free(options.current);
	rig_end(&rig);
	assert_int_equal(unlink(path.data), 0);
	assert_int_equal(rmdir(state_directory), 0);
	buf_free(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_has_its_own, drop_tables),
		cmocka_unit_test_setup(test_each_looks_for_itself, drop_tables),
		cmocka_unit_test_setup(test_of_before_there_were_rules, drop_tables),
		cmocka_unit_test_setup(test_old_models_of_others_stay, drop_tables),
		cmocka_unit_test_setup(test_the_thread_changes_over, drop_tables),
		cmocka_unit_test_setup(test_a_fit_is_interrupted, drop_tables),
		cmocka_unit_test_setup(test_a_look_is_interrupted, drop_tables),
		cmocka_unit_test_setup(test_the_kept_model_has_rules, drop_tables),
		cmocka_unit_test_setup(test_other_rules_find_the_kept_model, drop_tables),
	};
	log_set_level(LOG_LEVEL_ERROR);
	today_ms = clock_wall_ms() / DAY_MS * DAY_MS;
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
