/* Which models there are and how good the one in use is, read from a real PostgreSQL and printed. */
#include "calibration/report/models.h"

#include "calibration/count/store.h"
#include "calibration/learn/learner.h"
#include "calibration/report/print_models.h"
#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DAY_MS INT64_C(86400000)

static int64_t today_ms;

static struct database *connect(void)
{
	struct database *database = database_new(server.socket_dsn, NULL);
	struct err_detail detail = { "" };
	if (database_connect(database, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return database;
}

/* Labelled events from that number on: right the likelier the more anchors and the fewer errors, or the less.
 */
static void count(int first, int number, bool opposite)
{
	const struct calibration_store_options options = {
		.dsn = server.socket_dsn, .bucket_s = 300, .max_segments = 100, .learns = true
	};
	_cleanup_(calibration_store_cleanup) struct calibration_store *store =
		calibration_store_new(&options);
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_case *cases = ARENA_ARRAY(arena, struct calibration_case, (size_t)number);
	struct err_detail detail = { "" };
	for (int i = 0; i < number; i++) {
		int n = first + i, anchors = n % 4, errors = n / 4 % 3;
		double truth = 0.5 + 0.18 * (anchors - 1.5) - 0.28 * (errors - 1);
		bool right = fmod(n * 0.6180339887498949, 1) < truth;
		cases[i] = (struct calibration_case){
			.scored_at_ms = today_ms - DAY_MS + n * INT64_C(10000),
			.application = STR("shop"),
			.label_source = LABEL_RESULT,
			.level = LEVEL_HIGH,
			.confidence = 1 - 0.1 * errors,
			.weight = 1,
			.correct = right != opposite,
			.key = calibration_event_key(arena_printf(arena, "event %d", n)),
			.features = arena_printf(arena, "{\"anchors\":%d,\"errors\":%d}", anchors, errors),
			.offset = n,
		};
	}
	const struct calibration_step step = { "t", false, first, CALIBRATION_POSITION_NONE, number };
	const struct calibration_work work = {
		.cases = cases, .cases_count = (size_t)number, .steps = &step, .steps_count = 1
	};
	if (calibration_store_apply(store, &work, NULL, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
}

static void fit(enum model_kind kind)
{
	_cleanup_(database_cleanup) struct database *database = connect();
	const struct model_options options = { .kind = kind };
	struct err_detail detail = { "" };
	struct learner_outcome outcome;
	if (learner_fit(database, &options, &outcome, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	assert_true(outcome.replaced);
}

static struct calibration_models read_models(const char *kind, struct arena *arena)
{
	_cleanup_(database_cleanup) struct database *database = connect();
	struct calibration_models models;
	struct err_detail detail = { "" };
	if (calibration_models_read(database, kind, STR_NONE, arena, &models, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return models;
}

static char *print(const struct calibration_models *models,
		   void (*write)(FILE *, const struct calibration_models *))
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	write(stream, models);
	fclose(stream);
	return text;
}

/* ---- nothing ---- */

static void expect_nothing(const char *kind, const char *sentence, bool tables)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct calibration_models models = read_models(kind, arena);
	assert_null(models.used);
	assert_null(models.model);
	assert_int_equal(models.tables, tables);
	_cleanup_(cleanup_free) char *text = print(&models, print_models_text);
	if (!strstr(text, sentence))
		fail_msg("%s", text);
	_cleanup_(cleanup_free) char *json = print(&models, print_models_json);
	json_t *root = json_loads(json, 0, NULL);
	assert_true(json_is_null(json_object_get(root, "model")));
	assert_int_equal(json_is_true(json_object_get(root, "tables")), tables);
	json_decref(root);
}

static void test_nothing_to_show(void **state)
{
	(void)state;
	expect_nothing("map", "The database has no calibration tables yet; the daemon makes them", false);
	count(0, 30, false);
	expect_nothing(
		"features",
		"There is no model of the kind \"features\" yet. A first one takes 50 labels (results or "
		"feedback), 5 of them right and 5 wrong at least",
		true);
	run_sql("UPDATE calibration_examples SET features = NULL WHERE record_offset < 20");
	expect_nothing("features", "now there are 10 that it can learn from, ", true);
	expect_nothing("map", "now there are 30 that it can learn from, ", true);
	expect_nothing(NULL, "Nothing is learnt: calibration.model is \"off\"", true);
	run_sql("DELETE FROM calibration_migrations WHERE version > 8");
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(database_cleanup) struct database *database = connect();
	struct calibration_models models;
	assert_int_equal(calibration_models_read(database, NULL, STR_NONE, arena, &models, NULL),
			 ERR_DATABASE_REFUSED);
}

/* ---- models ---- */

/* The first is replaced when the opposite becomes true; then labels come that neither has seen. */
static void make_two(void)
{
	count(0, 500, false);
	fit(MODEL_FEATURES);
	run_sql("UPDATE calibration_examples SET correct = NOT correct; "
		"UPDATE calibration_model_looks SET labels = 0"); /* so that it looks again */
	fit(MODEL_FEATURES);
	count(500, 200, true);
}

static void test_model_in_use(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	make_two();
	struct calibration_models models = read_models("features", arena);
	assert_int_equal(models.rows_count, 2);
	assert_int_equal(models.versions, 2);
	assert_int_equal(models.rows[0].version, models.used->version);
	assert_int_equal(models.rows[1].replaced_by, models.used->version);
	assert_int_equal(models.used->labels, 400);
	assert_int_equal(models.used->later_cases, 100);
	assert_int_equal(models.used->trained_from_ms, today_ms - DAY_MS);
	assert_int_equal(models.used->trained_to_ms, today_ms - DAY_MS + 399 * 10000);
	assert_int_equal(model_info(models.model)->version, models.used->version);
	assert_int_equal(models.labels, 700);
	/* the labels that came after those it has learnt from: better than the former, whose opposite they
	 * are */
	assert_true(models.measured && models.former_measured);
	assert_int_equal(models.former, models.rows[1].version);
	assert_int_equal(models.now.cases, 300);
	assert_int_equal(models.former_now.cases, 300);
	assert_true(models.now.auroc > 0.65 && models.former_now.auroc < 0.35);
	assert_true(models.now.log_loss < models.former_now.log_loss);
	calibration_models_free(&models);
	/* of another kind there is none; whatever came into use last */
	models = read_models("map", arena);
	assert_null(models.used);
	assert_int_equal(models.rows_count, 2);
	models = read_models(NULL, arena);
	assert_int_equal(models.used->version, models.rows[0].version);
	calibration_models_free(&models);
	calibration_models_free(&models);
}

static const json_t *feature_named(const json_t *features, const char *name)
{
	const json_t *feature;
	size_t i;
	json_array_foreach(features, i, feature)
	{
		if (strcmp(json_string_value(json_object_get(feature, "name")), name) == 0)
			return feature;
	}
	fail_msg("no %s", name);
	return NULL;
}

static void test_models_are_printed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	make_two();
	struct calibration_models models = read_models("features", arena);
	_cleanup_(cleanup_free) char *text = print(&models, print_models_text);
	static const char *const wanted[] = {
		"Version 2 (features), in use since ",
		", 0 minutes ago\n  learnt from 400 labels, scored from ",
		"\n  judged by 100 labels that came later: log loss 0.",
		"\n    not proven: with confidence.level_by = \"auto\" levels do not follow it\n",
		"\n  by what is kept now of labels that came later (300): log loss 0.",
		"\n    version 1, which it replaced, on the same: log loss ",
		"  anchors: literals that the question has word by word",
		"  2  features     400      100    0.",
		"  replaced by 2\n",
		"  in use\n",
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!strstr(text, wanted[i]))
			fail_msg("%s is not in\n%s", wanted[i], text);
	_cleanup_(cleanup_free) char *json = print(&models, print_models_json);
	json_t *root = json_loads(json, 0, NULL);
	json_t *used = json_object_get(root, "model"), *features = json_object_get(used, "features");
	assert_int_equal(json_integer_value(json_object_get(used, "version")), 2);
	assert_true(json_is_null(json_object_get(used, "fault")));
	assert_int_equal(json_integer_value(json_object_get(used, "former_version")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(used, "judged"), "cases")), 100);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(used, "present"), "cases")), 300);
	assert_int_equal(json_array_size(json_object_get(root, "versions")), 2);
	/* the opposite of what count() says */
	const json_t *anchors = feature_named(features, "anchors"),
		     *errors = feature_named(features, "errors");
	assert_true(json_real_value(json_object_get(anchors, "addend")) < -0.1);
	assert_true(json_real_value(json_object_get(errors, "addend")) > 0.1);
	assert_true(fabs(json_real_value(json_object_get(anchors, "mean")) - 1.5) < 0.05);
	assert_true(json_real_value(json_object_get(anchors, "standard_error")) > 0);
	json_decref(root);
	calibration_models_free(&models);
}

/* How sure the slope of a map is, in its interval. */
static void test_a_map_has_an_interval(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	count(0, 500, false);
	run_sql("UPDATE calibration_examples SET overall = CASE WHEN correct = (record_offset % 5 <> 0) "
		"THEN 0.8 ELSE 0.4 END");
	fit(MODEL_MAP);
	struct calibration_models models = read_models("map", arena);
	struct model_weight weight;
	assert_int_equal(model_weights(models.model, &weight, 1, NULL), 1);
	assert_string_equal(weight.name, "overall");
	/* of some hundred labels: neither nothing nor anything */
	assert_true(weight.error > 0.02 && weight.error < 1);
	_cleanup_(cleanup_free) char *text = print(&models, print_models_text);
	assert_null(strstr(text, "not known"));
	calibration_models_free(&models);
}

/* It is told what is wrong with it, in words that a terminal may have, and what is used instead. */
static void test_a_model_that_cannot_be_read(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	make_two();
	run_sql("UPDATE calibration_models SET document = '{\"format\": 1}' WHERE replaced_by IS NULL");
	struct calibration_models models = read_models("features", arena);
	assert_int_equal(models.unreadable, 2);
	assert_int_equal(models.used->version, 1);
	assert_int_equal(model_info(models.model)->version, 1);
	_cleanup_(cleanup_free) char *instead = print(&models, print_models_text);
	assert_non_null(strstr(instead, "Version 1 (features), in use since "));
	assert_non_null(
		strstr(instead, "  version 2, which replaced it, cannot be read: the model's document: "));
	assert_non_null(strstr(instead, "  in use instead of 2\n"));
	assert_non_null(strstr(instead, "  cannot be read\n"));
	assert_null(strstr(instead, "  in use\n"));
	_cleanup_(cleanup_free) char *other = print(&models, print_models_json);
	json_t *told = json_loads(other, 0, NULL);
	const json_t *unreadable = json_object_get(told, "unreadable");
	assert_int_equal(json_integer_value(json_object_get(unreadable, "version")), 2);
	assert_true(json_is_string(json_object_get(unreadable, "fault")));
	const json_t *model = json_object_get(told, "model");
	assert_int_equal(json_integer_value(json_object_get(model, "version")), 1);
	assert_true(json_is_null(json_object_get(model, "fault")));
	json_decref(told);
	calibration_models_free(&models);
	/* none of them */
	run_sql("DROP TABLE IF EXISTS sound; CREATE TABLE sound AS SELECT * FROM calibration_models; "
		"UPDATE calibration_models SET document = '{\"format\": 1}'");
	models = read_models("features", arena);
	assert_null(models.model);
	assert_int_equal(models.used->version, 2);
	assert_int_equal(models.unreadable, 2);
	assert_false(models.measured || models.former_measured);
	_cleanup_(cleanup_free) char *text = print(&models, print_models_text);
	assert_non_null(strstr(text, "  it cannot be read: the model's document: \""));
	assert_non_null(strstr(text, "replaced by 2"));
	_cleanup_(cleanup_free) char *json = print(&models, print_models_json);
	json_t *root = json_loads(json, 0, NULL);
	json_t *used = json_object_get(root, "model");
	assert_true(json_is_string(json_object_get(used, "fault")));
	assert_true(json_is_null(json_object_get(used, "features")));
	json_decref(root);
	run_sql("UPDATE calibration_models SET kind = E'\\x1b[2J' WHERE replaced_by IS NULL");
	models = read_models(NULL, arena);
	_cleanup_(cleanup_free) char *evil = print(&models, print_models_text);
	assert_null(strchr(evil, '\x1b'));
	/* too few labels came later */
	run_sql("TRUNCATE calibration_examples; UPDATE calibration_models SET kind = 'features', document = "
		"(SELECT document FROM sound WHERE version = 1); DROP TABLE sound");
	models = read_models("features", arena);
	assert_non_null(models.model);
	_cleanup_(cleanup_free) char *few = print(&models, print_models_text);
	assert_non_null(strstr(few, "labels that came later: too few to tell"));
	calibration_models_free(&models);
}

/* Only the newest are listed; the one in use need not be one of them. */
static void test_many_versions(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	make_two();
	run_sql("INSERT INTO calibration_models (version, kind, document, trained_from, trained_to, labels, "
		"later_cases, log_loss, auroc, ece, proven, replaced_by) SELECT v, 'map', '', now(), now(), "
		"1, "
		"1, 0, 0, 0, true, v FROM generate_series(3, 70) AS v");
	struct calibration_models models = read_models("features", arena);
	assert_int_equal(models.rows_count, CALIBRATION_MODELS_MAX);
	assert_int_equal(models.versions, 70);
	assert_int_equal(models.used->version, 2);
	_cleanup_(cleanup_free) char *text = print(&models, print_models_text);
	assert_non_null(strstr(text, "  and 20 older ones\n"));
	calibration_models_free(&models);
}

static err_t load(int64_t version, const char *kind, int64_t *ret_version, struct err_detail *detail)
{
	_cleanup_(database_cleanup) struct database *database = connect();
	_cleanup_(model_cleanup) struct model *model = NULL;
	err_t err = calibration_model_load(database, version, kind, STR_NONE, &model, detail);
	*ret_version = !err && model ? model_info(model)->version : 0;
	return err;
}

static void test_one_model_is_loaded(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	int64_t version;
	assert_int_equal(load(0, "map", &version, &detail), ERR_OK);
	assert_int_equal(version, 0);
	assert_int_equal(load(2, NULL, &version, &detail), ERR_SAMPLES);
	make_two();
	assert_int_equal(load(0, "features", &version, &detail), ERR_OK);
	assert_int_equal(version, 2);
	assert_int_equal(load(0, "map", &version, &detail), ERR_OK);
	assert_int_equal(version, 0);
	assert_int_equal(load(1, "map", &version, &detail), ERR_OK);
	assert_int_equal(version, 1);
	assert_int_equal(load(77, NULL, &version, &detail), ERR_SAMPLES);
	assert_non_null(strstr(detail.message, "there is no version 77 of the model"));
	run_sql("UPDATE calibration_models SET document = 'x' WHERE version = 1");
	assert_int_equal(load(1, NULL, &version, &detail), ERR_JSON_SHAPE);
	assert_int_equal(load(0, "features", &version, &detail), ERR_OK);
	assert_int_equal(version, 2);
	assert_non_null(strstr(detail.message, "version 1 of the model: the model's document: "));
	run_sql("UPDATE calibration_models SET document = 'x'");
	assert_int_equal(load(0, "features", &version, &detail), ERR_JSON_SHAPE);
	run_sql("DELETE FROM calibration_migrations WHERE version > 8");
	assert_int_equal(load(1, NULL, &version, &detail), ERR_DATABASE_REFUSED);
}

/* What is in use under other rules than those of the file is shown as that, and not applied. */
static void test_models_of_other_rules(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(database_cleanup) struct database *database = connect();
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct calibration_models models;
	struct err_detail detail = { "" };
	make_two();
	run_sql("INSERT INTO calibration_rules VALUES (5, 'factors=generator', now()), (6, "
		"'factors=technical', '2020-01-01Z'); UPDATE calibration_models SET rules = 5; "
		"UPDATE calibration_examples SET rules = 5 WHERE record_offset % 2 = 0");
	assert_int_equal(calibration_models_read(database, "features", STR("mine"), arena, &models, &detail),
			 ERR_OK);
	assert_null(models.used);
	assert_int_equal(models.passed_over->version, 2);
	assert_int_equal(models.labels, 0);
	assert_true(models.labels_of_others > 0);
	_cleanup_(cleanup_free) char *text = print(&models, print_models_text);
	assert_non_null(strstr(text, "There is no model of the kind \"features\" yet"));
	assert_non_null(strstr(text,
			       "Version 2 is passed over: it was learnt under other rules of overall "
			       "confidence\n  factors=generator\n  and those of the file are\n  mine\n"));
	assert_non_null(strstr(text, "labels are left out: they are of other rules"));
	assert_non_null(strstr(text, "  in use under other rules\n"));
	_cleanup_(cleanup_free) char *json = print(&models, print_models_json);
	json_t *root = json_loads(json, 0, NULL);
	const json_t *passed_over = json_object_get(root, "passed_over");
	assert_int_equal(json_integer_value(json_object_get(passed_over, "version")), 2);
	assert_string_equal(json_string_value(json_object_get(passed_over, "rules")), "factors=generator");
	assert_string_equal(json_string_value(json_object_get(root, "rules")), "mine");
	assert_int_equal(json_integer_value(json_object_get(root, "labels_of_other_rules")),
			 models.labels_of_others);
	json_decref(root);
	calibration_models_free(&models);
	assert_int_equal(calibration_model_load(database, 0, "features", STR("mine"), &model, &detail),
			 ERR_OK);
	assert_null(model);
	assert_int_equal(calibration_model_load(database, 2, "features", STR("mine"), &model, &detail),
			 ERR_SAMPLES);
	assert_non_null(strstr(detail.message,
			       "version 2 of the model was learnt under other rules of overall "
			       "confidence (factors=generator)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_to_show, drop_tables),
		cmocka_unit_test_setup(test_model_in_use, drop_tables),
		cmocka_unit_test_setup(test_models_are_printed, drop_tables),
		cmocka_unit_test_setup(test_a_map_has_an_interval, drop_tables),
		cmocka_unit_test_setup(test_a_model_that_cannot_be_read, drop_tables),
		cmocka_unit_test_setup(test_many_versions, drop_tables),
		cmocka_unit_test_setup(test_one_model_is_loaded, drop_tables),
		cmocka_unit_test_setup(test_models_of_other_rules, drop_tables),
	};
	log_set_level(LOG_LEVEL_ERROR);
	today_ms = clock_wall_ms() / DAY_MS * DAY_MS;
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
