/* What is learnt from, and the models that are, against a real PostgreSQL. */
#include "calibration/learn/learner.h"

#include "calibration/count/store.h"
#include "calibration/learn/model_file.h"
#include "calibration/learn/model_store.h"
#include "calibration/statistics/outcomes.h"
#include "calibration/store/examples.h"
#include "calibration/store/retention.h"
#include "calibration/store/schema.h"
#include "common/clock.h"
#include "common/log.h"
#include "tests/harness/fixtures/counting.h"
#include "tests/harness/servers/database_server.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#define DAY_MS	   INT64_C(86400000)
#define HORIZON_MS (7 * DAY_MS)

static int64_t today_ms; /* midnight, UTC */

static struct calibration_store *new_store(void)
{
	const struct calibration_store_options options = { .dsn = server.socket_dsn,
							   .bucket_s = 300,
							   .max_segments = 100,
							   .feedback_horizon_ms = HORIZON_MS,
							   .retention_ms = 90 * DAY_MS,
							   .learns = true };
	return calibration_store_new(&options);
}

/* An event that is right the more likely, the more anchors it has and the fewer errors. */
static struct calibration_case new_case(struct arena *arena, int number, int label_source)
{
	int anchors = number % 4, errors = number / 4 % 3;
	double truth = outcomes_sigmoid(0.9 * (anchors - 1.5) - 1.3 * (errors - 1));
	double luck = fmod(number * 0.6180339887498949, 1);
	str_t id = arena_printf(arena, "event %d", number);
	return (struct calibration_case){
		.scored_at_ms = today_ms - 3 * DAY_MS + number * INT64_C(10000),
		.application = STR("shop"),
		.model = STR("m"),
		.label_source = label_source,
		.level = LEVEL_HIGH,
		.confidence = 1 - 0.1 * errors,
		.weight = 1,
		.correct = luck < truth,
		.event = calibration_event_key(id),
		.key = calibration_event_key(id),
		.features = arena_printf(
			arena, "{\"anchors\":%d,\"errors\":%d,\"of another version\":1,\"question\":%d}",
			anchors, errors, number + 1),
		.offset = number,
	};
}

static struct calibration_case *new_cases(struct arena *arena, int first, int number, int label_source)
{
	struct calibration_case *cases = ARENA_ARRAY(arena, struct calibration_case, (size_t)number);
	for (int i = 0; i < number; i++)
		cases[i] = new_case(arena, first + i, label_source);
	return cases;
}

static size_t read_examples(struct database *database, struct arena *arena,
			    struct model_example **ret_examples)
{
	size_t found = 0;
	struct err_detail detail = { "" };
	if (model_store_examples(database, STR_NONE, arena, ret_examples, &found, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return found;
}

/* ---- examples ---- */

static void test_keeps_labels_of_results_alone(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	static const int sources[] = { LABEL_RESULT, LABEL_CORRECTNESS, LABEL_RELEVANCE, ENUM_ABSENT };
	struct calibration_case cases[4];
	struct model_example *examples;
	for (int i = 0; i < 4; i++)
		cases[i] = new_case(arena, i + 5, sources[i]);
	counting_apply(store, cases, 4, NULL, 0);
	assert_int_equal(read_examples(counting_database(store), arena, &examples), 1);
	assert_true(str_is(examples[0].item.segment.application, "shop"));
	assert_true(str_is(examples[0].item.segment.model, "m"));
	assert_int_equal(examples[0].scored_at_ms, cases[0].scored_at_ms);
	assert_int_equal(examples[0].correct, cases[0].correct);
	assert_true(examples[0].item.overall.set && examples[0].item.overall.value == cases[0].confidence);
	assert_true(examples[0].item.features[FEATURE_ANCHORS] == 1);
	assert_true(examples[0].item.features[FEATURE_ERRORS] == 1);
	assert_true(examples[0].item.features[FEATURE_LENGTH] == 0);
	assert_int_equal(examples[0].question, 6);
	for (size_t i = 0; i < MODEL_ID_BYTES; i++) {
		char byte[3];
		snprintf(byte, sizeof byte, "%02x", examples[0].id[i]);
		assert_memory_equal(byte, cases[0].key.text + 2 * i, 2);
	}
	calibration_store_free(store);
	arena_free(arena);
}

#define DIGEST                                                                                               \
	"SELECT count(*) || ' ' || md5(string_agg(e::text, ',' ORDER BY event_key)) FROM "                   \
	"calibration_examples e"

/* More than a day has room for: whatever the order and the batches, the same stay. */
static void test_sample_does_not_depend_on_order(void **state)
{
	(void)state;
	enum { CASES = EXAMPLES_A_DAY + 700 };
	struct arena *arena = arena_new();
	struct calibration_case *cases = new_cases(arena, 0, CASES, LABEL_RESULT);
	char first[64], second[64];
	for (int i = 0; i < CASES; i++)
		cases[i].scored_at_ms = today_ms - DAY_MS + i;
	struct calibration_store *store = new_store();
	for (int i = 0; i < CASES; i += 1900)
		counting_apply(store, cases + i, (size_t)(CASES - i < 1900 ? CASES - i : 1900), NULL, 0);
	query(DIGEST, first, sizeof first);
	run_sql("TRUNCATE calibration_examples");
	for (int i = 0; i < CASES / 2; i++) {
		struct calibration_case item = cases[i];
		cases[i] = cases[CASES - 1 - i];
		cases[CASES - 1 - i] = item;
	}
	for (int i = 0; i < CASES; i += 2500)
		counting_apply(store, cases + i, (size_t)(CASES - i < 2500 ? CASES - i : 2500), NULL, 0);
	query(DIGEST, second, sizeof second);
	assert_string_equal(first, second);
	assert_memory_equal(first, "5000 ", 5);
	/* Later, fewer are kept: again those with the lowest digests. */
	bool more = true;
	int rounds = 0;
	run_sql("CREATE TABLE lowest AS SELECT event_key FROM calibration_examples ORDER BY event_key LIMIT "
		"500");
	assert_int_equal(examples_thin(counting_database(store), today_ms, &more, NULL), ERR_OK);
	assert_false(more);
	for (more = true; more; rounds++)
		assert_int_equal(examples_thin(counting_database(store), today_ms + 2 * DAY_MS, &more, NULL),
				 ERR_OK);
	assert_int_equal(rounds, 2);
	expect("SELECT count(*) FROM calibration_examples JOIN lowest USING (event_key)", "500");
	expect("SELECT count(*) FROM calibration_examples", "500");
	run_sql("DROP TABLE lowest");
	calibration_store_free(store);
	arena_free(arena);
}

/* Feedback finds the features of its event; the last word counts; an event's own label comes before it. */
static void test_feedback_is_learnt_from(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct calibration_case cases[2] = { new_case(arena, 6, ENUM_ABSENT),
					     new_case(arena, 7, LABEL_RESULT) };
	struct calibration_feedback feedback[2];
	struct model_example *examples;
	cases[1].correct = true;
	for (int i = 0; i < 2; i++)
		feedback[i] = (struct calibration_feedback){
			.event = cases[i].event, .said_at_ms = today_ms, .offset = i, .correct = false
		};
	counting_apply(store, cases, 2, NULL, 0);
	assert_int_equal(read_examples(counting_database(store), arena, &examples), 1);
	counting_apply(store, NULL, 0, feedback, 2);
	assert_int_equal(read_examples(counting_database(store), arena, &examples), 2);
	size_t first = examples[0].item.features[FEATURE_ANCHORS] == 2 ? 0 : 1;
	assert_true(examples[first].item.features[FEATURE_ANCHORS] == 2);
	assert_false(examples[first].correct);
	assert_true(examples[1 - first].correct);
	feedback[0].said_at_ms += 1000;
	feedback[0].correct = true;
	counting_apply(store, NULL, 0, feedback, 1);
	assert_int_equal(read_examples(counting_database(store), arena, &examples), 2);
	assert_true(examples[0].correct && examples[1].correct);
	calibration_store_free(store);
	arena_free(arena);
}

/* ---- models ---- */

/* Another look is due, whether or not there are new labels. */
#define LOOK_AGAIN "UPDATE calibration_model_looks SET labels = 0"

static bool fit(struct database *database, enum model_kind kind)
{
	struct learner_outcome outcome;
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = kind };
	run_sql(LOOK_AGAIN);
	if (learner_fit(database, &options, &outcome, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return outcome.replaced;
}

static int64_t last_judgement(void)
{
	char text[32];
	query("SELECT coalesce(max(judgement), 0) FROM calibration_model_judgements", text, sizeof text);
	return strtoll(text, NULL, 10);
}

/* The caller, who knows of that version and of all judgements, releases its model. */
static struct model_found find_model(struct database *database, enum model_kind kind, int64_t version)
{
	struct model_found found;
	struct err_detail detail = { "" };
	const struct model_known known = { version, last_judgement() };
	if (model_store_read(database, kind, STR_NONE, &known, &found, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return found;
}

static void test_models_replace_each_other(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	struct err_detail detail = { "" };
	struct learner_outcome outcome;
	const struct model_options features = { .kind = MODEL_FEATURES };
	assert_int_equal(learner_fit(database, &features, &outcome, &detail), ERR_SAMPLES);
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	assert_true(fit(database, MODEL_FEATURES));
	struct model_found found = find_model(database, MODEL_FEATURES, 0);
	assert_true(found.known.used == 1 && !found.same && !found.unreadable);
	assert_int_equal(model_info(found.model)->version, 1);
	assert_int_equal(model_info(found.model)->labels, 800);
	assert_int_equal(model_info(found.model)->quality.cases, 200);
	assert_true(model_info(found.model)->quality.auroc > 0.7);
	model_unref(found.model);
	/* the same labels do not make a better one, nor are they looked at again */
	assert_false(fit(database, MODEL_FEATURES));
	assert_int_equal(learner_fit(database, &features, &outcome, &detail), ERR_SAMPLES);
	assert_non_null(strstr(detail.message, "since the last look"));
	found = find_model(database, MODEL_FEATURES, 1);
	assert_true(found.same && found.known.used == 1 && !found.model);
	/* one whose opposite is true is replaced */
	run_sql("UPDATE calibration_examples SET correct = NOT correct");
	assert_true(fit(database, MODEL_FEATURES));
	expect("SELECT string_agg(version || ' ' || coalesce(replaced_by::text, '-'), ',' ORDER BY version) "
	       "FROM calibration_models",
	       "1 2,2 -");
	found = find_model(database, MODEL_FEATURES, 1);
	assert_false(found.same);
	assert_int_equal(model_info(found.model)->version, 2);
	/* whoever does not know of it does not replace it */
	assert_int_equal(model_store_write(database, found.model, &found.judgement, 1, &detail),
			 ERR_CONFLICT);
	expect("SELECT count(*) FROM calibration_models WHERE replaced_by IS NULL", "1");
	model_unref(found.model);
	found = find_model(database, MODEL_MAP, 0);
	assert_null(found.model);
	assert_int_equal(found.known.used, 0);
	calibration_store_free(store);
	arena_free(arena);
}

/* Labels of a map, which have no features, are no part of what is divided. */
static void test_labels_without_features_do_not_count(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	struct err_detail detail = { "" };
	struct learner_outcome outcome;
	const struct model_options options = { .kind = MODEL_FEATURES };
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	run_sql("UPDATE calibration_examples SET features = NULL");
	counting_apply(store, new_cases(arena, 1000, 49, LABEL_RESULT), 49, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_SAMPLES);
	assert_string_equal(detail.message, "49 labels that it can use: a model takes 50");
	expect("SELECT count(*) FROM calibration_model_looks", "0");
	counting_apply(store, new_cases(arena, 1049, 951, LABEL_RESULT), 951, NULL, 0);
	assert_true(fit(database, MODEL_FEATURES));
	struct model_found found = find_model(database, MODEL_FEATURES, 0);
	assert_int_equal(model_info(found.model)->labels, 800);
	assert_int_equal(model_info(found.model)->quality.cases, 200);
	model_unref(found.model);
	calibration_store_free(store);
	arena_free(arena);
}

/* Whether the opposite of what was true so far is learnt. */
static bool fit_opposite(struct database *database)
{
	run_sql("UPDATE calibration_examples SET correct = NOT correct");
	return fit(database, MODEL_FEATURES);
}

/* Two models of these numbers, whose second one is in use. */
static void make_models(struct database *database, int first, int second)
{
	char sql[160];
	assert_true(fit(database, MODEL_FEATURES));
	assert_true(fit_opposite(database));
	snprintf(sql, sizeof sql,
		 "SELECT count(*) FROM calibration_models WHERE (version, coalesce(replaced_by, 0)) IN "
		 "((%d, %d), (%d, 0))",
		 first, second, second);
	expect(sql, "2");
}

/* Whatever is wrong with the one in use, the newest before it is found, and it can be replaced. */
static void test_an_unreadable_model_is_passed_over(void **state)
{
	static const struct {
		const char *sql, *fault;
	} damages[] = {
		{ "UPDATE calibration_models SET document = left(document, 1000) WHERE version = 2",
		  "the model's document: " },
		{ "UPDATE calibration_models SET document = replace(document, '\"format\":1', "
		  "'\"format\":3') "
		  "WHERE version = 2",
		  "has format 3, this program reads up to 2" },
		{ "UPDATE calibration_models SET document = '' WHERE version = 2", "the model's document: " },
		{ "UPDATE calibration_models SET document = replace(replace(document, "
		  "'\"kind\":\"features\"', "
		  "'\"kind\":\"map\"'), '\"terms\":[', '\"terms\":[],\"x\":[') WHERE version = 2",
		  "\"kind\" is another one" },
	};
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	make_models(database, 1, 2);
	run_sql("CREATE TABLE sound AS SELECT * FROM calibration_models");
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		run_sql(damages[i].sql);
		struct model_found found = find_model(database, MODEL_FEATURES, 0);
		assert_true(found.unreadable && found.known.used == 2);
		if (!strstr(found.fault.message, damages[i].fault))
			fail_msg("%s instead of %s", found.fault.message, damages[i].fault);
		assert_int_equal(model_info(found.model)->version, 1);
		model_unref(found.model);
		assert_true(find_model(database, MODEL_FEATURES, 2).same);
		run_sql("UPDATE calibration_models m SET document = s.document FROM sound s WHERE s.version "
			"= "
			"m.version");
	}
	/* none of them */
	run_sql("UPDATE calibration_models SET document = '{}'");
	struct model_found found = find_model(database, MODEL_FEATURES, 0);
	assert_true(found.unreadable && !found.model);
	assert_int_equal(model_store_note_read(database, MODEL_FEATURES, STR_NONE, &found, NULL), ERR_OK);
	expect("SELECT count(*) FROM calibration_model_history WHERE unreadable AND NOT in_use", "2");
	run_sql("UPDATE calibration_models m SET document = s.document FROM sound s WHERE s.version = "
		"m.version AND m.version = 1");
	/* without it, the one before it is in use again */
	run_sql("DELETE FROM calibration_models WHERE version = 2");
	found = find_model(database, MODEL_FEATURES, 2);
	assert_true(found.known.used == 1 && !found.unreadable && found.model);
	assert_int_equal(model_store_note_read(database, MODEL_FEATURES, STR_NONE, &found, NULL), ERR_OK);
	expect("SELECT count(*) FROM calibration_model_history WHERE in_use AND NOT unreadable", "1");
	model_unref(found.model);
	run_sql("DROP TABLE sound");
	calibration_store_free(store);
	arena_free(arena);
}

/* A better one takes its place, whether or not another one can be read. */
static void test_an_unreadable_model_is_replaced(void **state)
{
	(void)state;
	for (int readable = 0; readable < 2; readable++) {
		struct arena *arena = arena_new();
		struct calibration_store *store = new_store();
		struct database *database = counting_database(store);
		counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
		make_models(database, 1, 2);
		run_sql(readable ? "UPDATE calibration_models SET document = '{}' WHERE version = 2"
				 : "UPDATE calibration_models SET document = '{}'");
		assert_true(fit(database, MODEL_FEATURES));
		expect("SELECT string_agg(version || ' ' || coalesce(replaced_by::text, '-'), ',' ORDER BY "
		       "version) FROM calibration_models",
		       "1 2,2 3,3 -");
		struct model_found found = find_model(database, MODEL_FEATURES, 2);
		assert_true(found.known.used == 3 && !found.unreadable);
		assert_int_equal(model_info(found.model)->version, 3);
		model_unref(found.model);
		calibration_store_free(store);
		arena_free(arena);
		assert_int_equal(drop_tables(NULL), 0);
	}
}

/* Records name models: a number means the same for ever, whatever rows are deleted. */
static void test_numbers_are_not_used_again(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	assert_true(fit(database, MODEL_FEATURES));
	run_sql("DELETE FROM calibration_models");
	make_models(database, 2, 3);
	/* nor are those that a program before this one has given itself */
	run_sql("DELETE FROM calibration_model_judgements; DELETE FROM calibration_models WHERE version = 2; "
		"UPDATE calibration_models SET version = 4 WHERE version = 3");
	assert_true(fit_opposite(database));
	expect("SELECT string_agg(version || ' ' || coalesce(replaced_by::text, '-'), ',' ORDER BY version) "
	       "FROM calibration_models",
	       "4 5,5 -");
	calibration_store_free(store);
	arena_free(arena);
}

/* Tables of a program that counted them otherwise go on from what they have. */
static void test_numbers_of_former_tables(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	make_models(counting_database(store), 1, 2);
	calibration_store_free(store);
	run_sql("DELETE FROM calibration_model_judgements; "
		"ALTER TABLE calibration_models ALTER COLUMN version DROP IDENTITY; "
		"UPDATE calibration_models SET replaced_by = NULL, kind = 'map' WHERE version = 1; "
		"UPDATE calibration_models SET version = 17 WHERE version = 2; "
		"ALTER TABLE calibration_positions DROP COLUMN learnt_from, DROP COLUMN learnt_until, "
		"DROP COLUMN claims_from, DROP COLUMN claims_until; "
		"ALTER TABLE calibration_drift_episodes DROP COLUMN expected_by, "
		"DROP COLUMN opening_confidence, DROP COLUMN opening_accuracy, "
		"DROP COLUMN opening_group, DROP COLUMN opening_group_cases, "
		"DROP COLUMN opening_group_confidence, DROP COLUMN opening_group_accuracy; "
		"ALTER TABLE calibration_sequences DROP COLUMN claims_open, DROP COLUMN claims_direction, "
		"DROP COLUMN claims_since, DROP COLUMN claims_after; DROP TABLE calibration_claims; "
		"DROP VIEW calibration_documents; ALTER TABLE calibration_examples DROP COLUMN documents; "
		"DROP TABLE calibration_model_looks; DROP FUNCTION calibration_share_rights; "
		"DROP FUNCTION calibration_claims_since; "
		"DROP VIEW calibration_discrimination, calibration_coverage, calibration_probability, "
		"calibration_model_history; DROP TABLE calibration_model_judgements; "
		"ALTER TABLE calibration_events DROP COLUMN probability, DROP COLUMN rules; "
		"ALTER TABLE calibration_examples DROP COLUMN probability, DROP COLUMN rules; "
		"ALTER TABLE calibration_models DROP COLUMN unreadable, DROP COLUMN rules; "
		"CREATE UNIQUE INDEX calibration_models_used ON calibration_models (kind) WHERE replaced_by "
		"IS NULL; DROP TABLE calibration_rules; "
		"DROP TABLE calibration_hour_totals; DROP FUNCTION calibration_add_hour_totals CASCADE; "
		"DROP FUNCTION calibration_change_hour_totals CASCADE; "
		"DROP FUNCTION calibration_remove_hour_totals CASCADE; "
		"DROP FUNCTION calibration_hour_totals_since; "
		"DROP INDEX calibration_rollup_days_application; "
		"DELETE FROM calibration_migrations WHERE version >= 11");
	store = new_store();
	assert_true(fit_opposite(counting_database(store)));
	expect("SELECT string_agg(version::text, ',' ORDER BY version) FROM calibration_models", "1,17,18");
	calibration_store_free(store);
	arena_free(arena);
}

/* Whoever may use the tables needs no right on anything else. */
static void test_rights_on_tables_suffice(void **state)
{
	(void)state;
	char dsn[512];
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct err_detail detail = { "" };
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	run_sql("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN; GRANT USAGE ON SCHEMA public TO poor; "
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO poor");
	snprintf(dsn, sizeof dsn, "%s user=poor", server.socket_dsn);
	struct database *database = database_new(dsn, NULL);
	if (database_connect(database, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	assert_true(fit(database, MODEL_FEATURES));
	run_sql("UPDATE calibration_examples SET correct = NOT correct");
	assert_true(fit(database, MODEL_FEATURES));
	database_free(database);
	run_sql("DROP OWNED BY poor; DROP ROLE poor");
	calibration_store_free(store);
	arena_free(arena);
}

#define LOOKS                                                                                                \
	"SELECT string_agg(kind || ' ' || version || ' ' || looks || ' ' || labels, ', ' ORDER BY version) " \
	"FROM calibration_model_looks"

/* Where the model that took a place is gone, labels that are there suffice for the next look at that, which
 * goes on counting. */
static void test_a_vacant_place_is_taken_at_once(void **state)
{
	static const struct {
		const char *sql, *looks;
	} losses[] = {
		{ "DELETE FROM calibration_models", "features 0 2 0, features 1 0 200, features 2 0 200" },
		{ "UPDATE calibration_models SET document = '{}'",
		  "features 0 3 0, features 1 0 200, features 2 0 200, features 3 0 200" },
	};
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = MODEL_FEATURES };
	struct learner_outcome outcome;
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_OK);
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_SAMPLES);
		run_sql(losses[i].sql);
		assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_OK);
		assert_true(outcome.replaced);
		expect(LOOKS, losses[i].looks);
	}
	calibration_store_free(store);
	arena_free(arena);
}

/* Looks are counted for the place of one model, and wait for labels. */
static void test_looks_are_noted(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = MODEL_FEATURES };
	struct learner_outcome outcome;
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_OK);
	assert_true(outcome.replaced);
	expect(LOOKS, "features 0 1 0, features 1 0 200");
	counting_apply(store, new_cases(arena, 1000, 100, LABEL_RESULT), 100, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_SAMPLES);
	counting_apply(store, new_cases(arena, 1100, 200, LABEL_RESULT), 200, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_OK);
	assert_false(outcome.replaced);
	expect(LOOKS, "features 0 1 0, features 1 1 260");
	counting_apply(store, new_cases(arena, 1300, 400, LABEL_RESULT), 400, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_OK);
	assert_false(outcome.replaced);
	expect(LOOKS, "features 0 1 0, features 1 2 340");
	calibration_store_free(store);
	arena_free(arena);
}

#define JUDGEMENTS                                                                                           \
	"SELECT coalesce(string_agg(version || ' ' || looks || ' ' || cases || ' ' || proven, ',' ORDER BY " \
	"judgement), '') FROM calibration_model_judgements"

/* What a first model's few labels cannot say, later ones do; the last word counts, also against it. */
static void test_models_are_judged_again(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = MODEL_FEATURES };
	struct learner_outcome outcome;
	counting_apply(store, new_cases(arena, 0, 500, LABEL_RESULT), 500, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_OK);
	assert_true(outcome.replaced && !outcome.judged);
	expect(JUDGEMENTS, "1 0 100 false");
	struct model_found found = find_model(database, MODEL_FEATURES, 0);
	assert_false(model_info(found.model)->proven);
	assert_int_equal(model_info(found.model)->judgement, 1);
	model_unref(found.model);
	/* too few are new */
	counting_apply(store, new_cases(arena, 500, 50, LABEL_RESULT), 50, NULL, 0);
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_SAMPLES);
	assert_false(outcome.judged);
	/* enough for one judgement, which instances find though the model is the same */
	counting_apply(store, new_cases(arena, 550, 1450, LABEL_RESULT), 1450, NULL, 0);
	const struct model_known known = { 1, 1 };
	learner_fit(database, &options, &outcome, &detail);
	assert_true(outcome.judged);
	expect(JUDGEMENTS, "1 0 100 false,1 1 1600 true");
	assert_int_equal(model_store_read(database, MODEL_FEATURES, STR_NONE, &known, &found, &detail),
			 ERR_OK);
	assert_true(!found.same && found.known.used == 1 && found.known.judgement == 2);
	assert_true(model_info(found.model)->proven && found.judgement.proven);
	assert_int_equal(model_info(found.model)->judgement, 2);
	assert_int_equal(model_info(found.model)->quality.cases, 1600);
	assert_true(model_info(found.model)->quality.ece_deviation > 0);
	model_unref(found.model);
	/* the row is what it was */
	expect("SELECT proven || ' ' || later_cases FROM calibration_models", "false 100");
	expect("SELECT proven || ' ' || later_cases || ' ' || judgement FROM calibration_model_history",
	       "true 1600 2");
	assert_int_equal(learner_fit(database, &options, &outcome, &detail), ERR_SAMPLES);
	assert_false(outcome.judged);
	/* what was right is wrong: it is refuted, whether or not another one is better */
	run_sql("UPDATE calibration_examples SET correct = NOT correct");
	run_sql("UPDATE calibration_model_looks SET labels = 1000000, until = now()");
	counting_apply(store, new_cases(arena, 2000, 1000, LABEL_RESULT), 1000, NULL, 0);
	learner_fit(database, &options, &outcome, &detail);
	assert_true(outcome.judged && !outcome.replaced);
	expect(JUDGEMENTS, "1 0 100 false,1 1 1600 true,1 2 2600 false");
	/* a model that goes takes its judgements along */
	run_sql("DELETE FROM calibration_models");
	expect(JUDGEMENTS, "");
	calibration_store_free(store);
	arena_free(arena);
}

/* ---- retention ---- */

/* One a day of the kind "features" until today, and one of the kind "map" 60 days ago. */
#define OLD_MODELS                                                                                           \
	"INSERT INTO calibration_models (version, kind, document, trained_from, trained_to, labels, "        \
	"later_cases, log_loss, auroc, ece, proven, used_from, replaced_by) "                                \
	"SELECT i, CASE WHEN i = 41 THEN 'map' ELSE 'features' END, '{}', now(), now(), 1, 1, 1, 1, 1, "     \
	"true, date_trunc('day', now(), 'UTC') - CASE WHEN i = 41 THEN 60 ELSE 40 - i END * interval '1 "    \
	"day', CASE WHEN i < 40 THEN i + 1 END FROM generate_series(1, 41) AS i"

#define MODELS_LEFT "SELECT min(version) || ' ' || count(*) FROM calibration_models"

static void apply_retention(struct database *database, int64_t days)
{
	struct err_detail detail = { "" };
	for (bool more = true; more;)
		if (retention_apply(database, days, today_ms + DAY_MS / 2, &more, &detail) != ERR_OK)
			fail_msg("%s", detail.message);
}

/* A model is in use until the next one is: it stays for as long as records of that time do. */
static void test_old_models_are_deleted(void **state)
{
	(void)state;
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	run_sql(OLD_MODELS);
	apply_retention(database, 40);
	expect(MODELS_LEFT, "1 41");
	/* the 9th was in use until the 10th was, 30 days ago */
	apply_retention(database, 30);
	expect(MODELS_LEFT, "9 33");
	/* the newest ones stay, and the only one of its kind */
	apply_retention(database, 10);
	expect(MODELS_LEFT, "21 21");
	run_sql("UPDATE calibration_models SET used_from = used_from - interval '1 year'");
	apply_retention(database, 10);
	expect(MODELS_LEFT, "21 21");
	expect("SELECT string_agg(version::text, ',' ORDER BY version) FROM calibration_models WHERE "
	       "replaced_by IS NULL",
	       "40,41");
	calibration_store_free(store);
}

/* Also where a clock was set back, nothing in between goes. */
static void test_no_model_comes_back_into_use(void **state)
{
	(void)state;
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	run_sql(OLD_MODELS);
	run_sql("UPDATE calibration_models SET used_from = now() WHERE version = 6");
	apply_retention(database, 30);
	expect(MODELS_LEFT, "5 37");
	expect("SELECT count(*) FROM calibration_models WHERE replaced_by IS NULL", "2");
	calibration_store_free(store);
}

static void test_old_examples_are_deleted(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct calibration_case cases[4];
	static const int days[] = { 0, 10, 11, 80 };
	for (int i = 0; i < 4; i++) {
		cases[i] = new_case(arena, i, LABEL_RESULT);
		cases[i].scored_at_ms = today_ms - days[i] * DAY_MS;
	}
	counting_apply(store, cases, 4, NULL, 0);
	apply_retention(counting_database(store), 90);
	expect("SELECT count(*) FROM calibration_examples", "4");
	apply_retention(counting_database(store), 10);
	expect("SELECT string_agg(record_offset::text, ',' ORDER BY record_offset) FROM calibration_examples",
	       "0,1");
	calibration_store_free(store);
	arena_free(arena);
}

static int64_t peak_bytes(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return INT64_C(1024) * usage.ru_maxrss;
}

static void test_a_large_document_is_not_fetched(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct database *database = counting_database(store);
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	assert_true(fit(database, MODEL_FEATURES));
	run_sql("UPDATE calibration_models SET document = repeat('x', 128 << 20)");
	int64_t before = peak_bytes();
	struct model_found found = find_model(database, MODEL_FEATURES, 0);
	assert_true(peak_bytes() - before < 64 << 20);
	assert_true(found.unreadable && !found.model);
	assert_non_null(strstr(found.fault.message, "more than"));
	calibration_store_free(store);
	arena_free(arena);
}

static void sleep_ms(int64_t ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&time, NULL);
}

static struct model *wait_for_model(struct model_current *current)
{
	struct model *model = NULL;
	for (int i = 0; !model && i < 1200; i++) {
		sleep_ms(100);
		model = model_current_get(current);
	}
	assert_non_null(model);
	return model;
}

static void test_thread_fits_and_reads(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct learner_statistics statistics;
	struct model_current *current = model_current_new(), *others = model_current_new();
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	const struct learner_options options = {
		.dsn = server.socket_dsn, .kind = MODEL_FEATURES, .current = current, .interval_ms = 3600000
	};
	const struct learner_options reads = { .dsn = server.socket_dsn,
					       .kind = MODEL_FEATURES,
					       .current = others };
	struct learner *learner = learner_start(&options);
	struct model *model = wait_for_model(current);
	assert_non_null(learner_heartbeat(learner)->name);
	struct learner *other = learner_start(&reads);
	struct model *read = wait_for_model(others);
	assert_int_equal(model_info(read)->version, 1);
	learner_close(other, clock_monotonic_us());
	assert_true(learner_ended(other, 120000));
	learner_stop(other);
	learner_close(learner, INT64_MAX);
	learner_statistics(learner, &statistics);
	assert_int_equal(statistics.fits, 1);
	assert_int_equal(statistics.replaced, 1);
	assert_true(statistics.age_ms >= 0);
	learner_stop(learner);
	/* it outlives the learner */
	assert_int_equal(model_info(model)->labels, 800);
	model_unref(model);
	model_unref(read);
	model_current_free(current);
	model_current_free(others);
	calibration_store_free(store);
	arena_free(arena);
}

/* What dashboards see of it. */
#define HISTORY                                                                                              \
	"SELECT string_agg(concat_ws(' ', version, in_use, unreadable), ', ' ORDER BY version) "             \
	"FROM calibration_model_history"

/* It is said once however often the thread looks; it goes on with the model before, and learning goes on. */
static void test_thread_survives_an_unreadable_model(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct learner_statistics statistics = { 0 };
	struct model_current *current = model_current_new();
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	make_models(counting_database(store), 1, 2);
	run_sql("UPDATE calibration_models SET document = '{}' WHERE version = 2; "
		"UPDATE calibration_examples SET correct = NOT correct");
	const struct learner_options options = {
		.dsn = server.socket_dsn, .kind = MODEL_FEATURES, .current = current, .interval_ms = 1000
	};
	struct learner *learner = learner_start(&options);
	struct model *model = wait_for_model(current);
	assert_int_equal(model_info(model)->version, 1);
	model_unref(model);
	sleep_ms(5000); /* it has looked some times */
	learner_statistics(learner, &statistics);
	assert_int_equal(statistics.version, 1);
	assert_int_equal(statistics.failures, 1);
	expect(HISTORY, "1 t f, 2 f t");
	run_sql("UPDATE calibration_examples SET correct = NOT correct");
	for (int i = 0; statistics.version != 3 && i < 1200; i++) {
		if (i % 20 == 0)
			run_sql(LOOK_AGAIN);
		sleep_ms(100);
		learner_statistics(learner, &statistics);
	}
	assert_int_equal(statistics.version, 3);
	assert_int_equal(statistics.failures, 1);
	expect(HISTORY, "1 f f, 2 f t, 3 t f");
	learner_stop(learner);
	model_current_free(current);
	calibration_store_free(store);
	arena_free(arena);
}

static void test_without_a_server(void **state)
{
	(void)state;
	struct learner_statistics statistics = { 0 };
	struct model_current *current = model_current_new();
	const struct learner_options options = { .dsn = "host=/nonexistent connect_timeout=1",
						 .kind = MODEL_MAP,
						 .current = current,
						 .interval_ms = 1000 };
	struct learner *learner = learner_start(&options);
	for (int i = 0; statistics.failures == 0 && i < 1200; i++) {
		sleep_ms(100);
		learner_statistics(learner, &statistics);
	}
	assert_true(statistics.failures > 0);
	assert_int_equal(statistics.age_ms, -1);
	assert_null(model_current_get(current));
	learner_stop(learner);
	learner_stop(NULL);
	learner_close(NULL, 0);
	assert_true(learner_ended(NULL, 0));
	model_current_free(current);
}

#define AWAY "host=/nonexistent connect_timeout=1"

static char state_directory[] = "/tmp/learner-state.XXXXXX";

/* A learner by what was kept, while its database is away, has that model, or none. */
static void expect_kept(const char *dsn, enum model_kind kind, int64_t version)
{
	struct learner_statistics statistics = { 0 };
	struct model_current *current = model_current_new();
	const struct learner_options options = {
		.dsn = dsn, .kind = kind, .current = current, .state_directory = state_directory
	};
	struct learner *learner = learner_start(&options);
	struct model *model = model_current_get(current);
	learner_statistics(learner, &statistics);
	assert_int_equal(statistics.version, version);
	assert_int_equal(model ? model_info(model)->version : 0, version);
	assert_true(version ? statistics.age_ms >= 0 && statistics.age_ms < 600000 : statistics.age_ms == -1);
	model_unref(model);
	learner_stop(learner);
	model_current_free(current);
}

static void alter_byte(const char *path, long at)
{
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	int byte = fgetc(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
	assert_int_equal(fclose(file), 0);
}

/* What was in use goes on after a start without PostgreSQL, with what is known of it. */
static void test_the_model_is_kept(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct calibration_store *store = new_store();
	struct model_current *current = model_current_new();
	struct model_kept kept;
	struct buf path = BUF_INIT;
	assert_non_null(mkdtemp(state_directory));
	model_file_path(state_directory, MODEL_FEATURES, &path);
	expect_kept(AWAY, MODEL_FEATURES, 0);
	counting_apply(store, new_cases(arena, 0, 1000, LABEL_RESULT), 1000, NULL, 0);
	make_models(counting_database(store), 1, 2);
	const struct learner_options options = { .dsn = server.socket_dsn,
						 .kind = MODEL_FEATURES,
						 .current = current,
						 .state_directory = state_directory };
	struct learner *learner = learner_start(&options);
	struct model *model = wait_for_model(current);
	learner_stop(learner);
	assert_int_equal(model_file_read(path.data, server.socket_dsn, MODEL_FEATURES, &kept, NULL), ERR_OK);
	struct buf one = BUF_INIT, other = BUF_INIT;
	model_encode(model, &one);
	model_encode(kept.model, &other);
	assert_string_equal(one.data, other.data);
	assert_int_equal(strlen(model_digest(model)), 64);
	assert_string_equal(model_digest(model), model_digest(kept.model));
	assert_int_equal(kept.known.used, 2);
	assert_int_equal(model_info(kept.model)->judgement, model_info(model)->judgement);
	assert_int_equal(model_info(kept.model)->proven, model_info(model)->proven);
	assert_memory_equal(&model_info(kept.model)->quality, &model_info(model)->quality,
			    sizeof(struct model_quality));
	assert_int_equal(model_file_write(path.data, AWAY, kept.model, &kept.known, NULL), ERR_OK);
	expect_kept(AWAY, MODEL_FEATURES, 2);
	expect_kept(AWAY, MODEL_MAP, 0);
	expect_kept("host=/nonexistent dbname=other connect_timeout=1", MODEL_FEATURES, 0);
	for (long at = 0; at < 2000; at += 97) {
		alter_byte(path.data, at);
		assert_int_equal(model_file_read(path.data, AWAY, MODEL_FEATURES, &kept, NULL),
				 ERR_FILE_UNREADABLE);
		alter_byte(path.data, at);
	}
	/* what is not in use any more is not kept either */
	assert_int_equal(model_file_write(path.data, AWAY, NULL, &kept.known, NULL), ERR_OK);
	expect_kept(AWAY, MODEL_FEATURES, 0);
	assert_int_equal(rmdir(state_directory), 0);
	model_unref(kept.model);
	model_unref(model);
	buf_free(&one);
	buf_free(&other);
	buf_free(&path);
	model_current_free(current);
	calibration_store_free(store);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_keeps_labels_of_results_alone, drop_tables),
		cmocka_unit_test_setup(test_sample_does_not_depend_on_order, drop_tables),
		cmocka_unit_test_setup(test_feedback_is_learnt_from, drop_tables),
		cmocka_unit_test_setup(test_models_replace_each_other, drop_tables),
		cmocka_unit_test_setup(test_labels_without_features_do_not_count, drop_tables),
		cmocka_unit_test_setup(test_an_unreadable_model_is_passed_over, drop_tables),
		cmocka_unit_test_setup(test_an_unreadable_model_is_replaced, drop_tables),
		cmocka_unit_test_setup(test_numbers_are_not_used_again, drop_tables),
		cmocka_unit_test_setup(test_numbers_of_former_tables, drop_tables),
		cmocka_unit_test_setup(test_rights_on_tables_suffice, drop_tables),
		cmocka_unit_test_setup(test_models_are_judged_again, drop_tables),
		cmocka_unit_test_setup(test_a_vacant_place_is_taken_at_once, drop_tables),
		cmocka_unit_test_setup(test_looks_are_noted, drop_tables),
		cmocka_unit_test_setup(test_old_models_are_deleted, drop_tables),
		cmocka_unit_test_setup(test_no_model_comes_back_into_use, drop_tables),
		cmocka_unit_test_setup(test_old_examples_are_deleted, drop_tables),
		cmocka_unit_test_setup(test_a_large_document_is_not_fetched, drop_tables),
		cmocka_unit_test_setup(test_thread_fits_and_reads, drop_tables),
		cmocka_unit_test_setup(test_thread_survives_an_unreadable_model, drop_tables),
		cmocka_unit_test(test_without_a_server),
		cmocka_unit_test_setup(test_the_model_is_kept, drop_tables),
	};
	log_set_level(LOG_LEVEL_ERROR);
	today_ms = clock_wall_ms() / DAY_MS * DAY_MS;
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
