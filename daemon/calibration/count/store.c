#include "calibration/count/store.h"

#include "calibration/store/claims.h"
#include "calibration/store/days.h"
#include "calibration/store/examples.h"
#include "calibration/store/rules.h"
#include "calibration/store/schema.h"
#include "calibration/store/sequences.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "database/values.h"

#include <math.h>
#include <time.h>

enum { CONFLICT_ATTEMPTS = 8 };

static const struct feedback_tables tables = {
	{ "calibration_buckets", "calibration_rollups", "calibration_segments" },
	"calibration_events",
	"calibration_feedback",
};

/* Buckets are deleted by their starts. */
#define RETENTION_MARGIN_MS (2 * INT64_C(3600000))

struct calibration_store {
	struct database *database;
	int64_t bucket_s;
	int64_t max_segments;
	int64_t horizon_ms;
	int64_t retention_ms;
	bool learns;
	double threshold; /* of the sequences */
	struct days days;
};

struct calibration_store *calibration_store_new(const struct calibration_store_options *options)
{
	struct calibration_store *store = calloc(1, sizeof *store);
	if (!store)
		abort();
	store->database = database_new(options->dsn, options->password_file);
	database_set_settings(store->database, "calibration.");
	database_set_application(store->database, "assayd calibration");
	database_set_waits(store->database, options->waits, options->waits_context);
	store->bucket_s = options->bucket_s;
	store->max_segments = options->max_segments;
	store->horizon_ms = options->feedback_horizon_ms;
	store->retention_ms = options->retention_ms;
	store->learns = options->learns;
	store->threshold = options->false_alarms_per_10k > 0
				   ? source_sequence_threshold(
					     sequences_alarms(options->false_alarms_per_10k, options->learns))
				   : INFINITY;
	return store;
}

void calibration_store_limit_waits(struct calibration_store *store, int64_t until_us)
{
	database_limit_waits(store->database, until_us);
}

void calibration_store_free(struct calibration_store *store)
{
	if (!store)
		return;
	database_free(store->database);
	days_free(&store->days);
	free(store);
}

int64_t calibration_store_since_ms(const struct calibration_store *store)
{
	return store->retention_ms ? clock_wall_ms() - store->retention_ms + RETENTION_MARGIN_MS : 0;
}

/* ---- the transaction ---- */

#define MOVE_POSITION                                                                                        \
	"UPDATE calibration_positions SET next_offset = $3::bigint, updated_at = now(), fed_until = "        \
	"$3::bigint, "                                                                                       \
	"fed_since = CASE WHEN fed_until = next_offset THEN fed_since ELSE now() END, "                      \
	"remembered_from = CASE WHEN $4::boolean THEN coalesce(remembered_from, next_offset) END, "          \
	"learnt_from = CASE WHEN $5::boolean THEN "                                                          \
	"CASE WHEN learnt_until = next_offset THEN learnt_from ELSE next_offset END END, "                   \
	"learnt_until = CASE WHEN $5::boolean THEN $3::bigint END, "                                         \
	"claims_from = CASE WHEN $5::boolean THEN "                                                          \
	"CASE WHEN claims_until = next_offset THEN claims_from ELSE next_offset END END, "                   \
	"claims_until = CASE WHEN $5::boolean THEN $3::bigint END "                                          \
	"WHERE topic = $1 AND partition = $2 AND next_offset = $6"

#define FIRST_POSITION                                                                                       \
	"INSERT INTO calibration_positions (topic, partition, next_offset, fed_until, fed_since, "           \
	"remembered_from, learnt_from, learnt_until, claims_from, claims_until) "                            \
	"VALUES ($1, $2, $3::bigint, $3::bigint, '-infinity', "                                              \
	"CASE WHEN $4::boolean THEN 0 END, CASE WHEN $5::boolean THEN 0 END, "                               \
	"CASE WHEN $5::boolean THEN $3::bigint END, CASE WHEN $5::boolean THEN 0 END, "                      \
	"CASE WHEN $5::boolean THEN $3::bigint END) ON CONFLICT DO NOTHING"

static err_t move_position(struct calibration_store *store, const struct calibration_step *step,
			   struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	bool first = step->from == CALIBRATION_POSITION_NONE;
	struct database_number_text partition, to, from;
	const char *const parameters[] = { step->topic,
					   database_number_text(&partition, step->partition),
					   database_number_text(&to, step->to),
					   store->horizon_ms && step->remembers ? "true" : "false",
					   store->learns && step->remembers ? "true" : "false",
					   database_number_text(&from, step->from) };
	err_t err = database_query(store->database, first ? FIRST_POSITION : MOVE_POSITION, first ? 5 : 6,
				   parameters, &result, detail);
	if (!err && strcmp(PQcmdTuples(result), "1") != 0)
		err = err_fail(
			detail, ERR_CONFLICT,
			"the stored position of partition %d of %s is no longer %s (concurrent update)",
			(int)step->partition, step->topic, from.text);
	return err;
}

static err_t count_cases(struct calibration_store *store, const struct calibration_work *work,
			 const struct case_columns *columns, struct segments *touched,
			 struct feedback_outcome *counts, struct err_detail *detail)
{
	err_t err = cases_add_segments(store->database, &tables.cases, columns, store->max_segments, detail);
	if (!err)
		err = cases_add(store->database, &tables.cases, columns, store->bucket_s, touched, detail);
	if (!err && store->learns)
		err = examples_add(store->database, "calibration_examples", tables.cases.segments,
				   work->cases, work->cases_count, detail);
	if (!err && store->learns)
		err = rules_add(store->database, "calibration_rules", work->cases, work->cases_count, detail);
	if (!err && store->learns)
		err = claims_add(store->database, "calibration_claims", tables.cases.segments, work->cases,
				 work->cases_count, detail);
	if (!err && store->horizon_ms)
		err = feedback_add_events(store->database, &tables, columns, store->bucket_s,
					  store->horizon_ms, 0, touched, counts, detail);
	return err;
}

/* A transaction's work: positions first, they are what two writers meet at. */
struct transaction {
	const struct calibration_work *work;
	const struct case_columns *columns; /* of its cases */
	struct segments *touched;	    /* or NULL */
	struct feedback_outcome counts;
};

/* As cases_add counts them. */
static void take_cases(struct sequence_cases *outcomes, const struct calibration_work *work)
{
	for (size_t i = 0; i < work->cases_count; i++) {
		const struct calibration_case *item = &work->cases[i];
		if (item->label_source == ENUM_ABSENT)
			continue;
		sequences_add_case(outcomes,
				   &(const struct sequence_case){
					   .segment = { calibration_segment_text(item->application),
							calibration_segment_text(item->model),
							calibration_segment_text(item->prompt_version) },
					   .label_source = item->label_source,
					   .scored_at_ms = item->scored_at_ms,
					   .partition = item->partition,
					   .offset = item->offset,
					   .bin = item->confidence >= 1
							  ? SOURCE_BINS - 1
							  : (int)(item->confidence * SOURCE_BINS),
					   .correct = item->correct,
				   });
	}
}

static err_t count_all(struct calibration_store *store, struct transaction *transaction,
		       struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct calibration_work *work = transaction->work;
	struct sequence_cases outcomes = { .arena = arena };
	err_t err = ERR_OK;
	transaction->counts.verdicts = &outcomes;
	take_cases(&outcomes, work);
	if (store->horizon_ms && (work->cases_count || work->feedback_count))
		err = feedback_lock(store->database, work->feedback_count > 0, detail);
	if (!err && work->cases_count)
		err = count_cases(store, work, transaction->columns, transaction->touched,
				  &transaction->counts, detail);
	if (!err && work->feedback_count)
		err = feedback_add_feedback(store->database, &tables, work->feedback, work->feedback_count,
					    store->bucket_s, store->horizon_ms,
					    calibration_store_since_ms(store), transaction->touched,
					    &transaction->counts, detail);
	transaction->counts.verdicts = NULL;
	return err ? err : sequences_feed(store->database, &outcomes, store->threshold, detail);
}

static err_t run_transaction(struct calibration_store *store, struct transaction *transaction,
			     bool *ret_moved_on, struct err_detail *detail)
{
	*ret_moved_on = false;
	transaction->counts = (struct feedback_outcome){ 0 };
	err_t err = database_script(store->database, "BEGIN", detail);
	for (size_t i = 0; !err && i < transaction->work->steps_count; i++) {
		err = move_position(store, &transaction->work->steps[i], detail);
		*ret_moved_on = err == ERR_CONFLICT;
	}
	if (!err)
		err = count_all(store, transaction, detail);
	if (!err)
		err = database_script(store->database, "COMMIT", detail);
	if (err && database_script(store->database, "ROLLBACK", NULL) != ERR_OK)
		database_disconnect(store->database);
	return err;
}

/* Partitions for what is to be remembered. Others may drop old ones: what failed once looks at them anew. */
static err_t need_days(struct calibration_store *store, const struct calibration_work *work,
		       struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (size_t i = 0; !err && store->horizon_ms && i < work->cases_count; i++)
		if (work->cases[i].event.text[0])
			err = days_need(&store->days, store->database, work->cases[i].scored_at_ms, detail);
	for (size_t i = 0; !err && i < work->feedback_count; i++)
		err = days_need(&store->days, store->database, work->feedback[i].said_at_ms, detail);
	return err;
}

static void sleep_ms(int64_t ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&time, NULL);
}

/* Connects; on a fresh connection the tables are brought up to date. */
static err_t prepare(struct calibration_store *store, struct err_detail *detail)
{
	bool fresh = false;
	err_t err = database_connect(store->database, &fresh, detail);
	if (!err && fresh)
		err = calibration_schema_migrate(store->database, detail);
	if (err)
		database_disconnect(store->database);
	return err;
}

err_t calibration_store_database(struct calibration_store *store, struct database **ret_database,
				 struct err_detail *detail)
{
	err_t err = prepare(store, detail);
	if (!err)
		*ret_database = store->database;
	return err;
}

err_t calibration_store_apply(struct calibration_store *store, const struct calibration_work *work,
			      struct segments *touched, struct feedback_outcome *ret_counts,
			      struct err_detail *detail)
{
	struct backoff backoff = { .base_ms = 10, .cap_ms = 500 };
	_cleanup_(case_columns_free) struct case_columns columns = { 0 };
	struct transaction transaction = { work, &columns, touched, { 0 } };
	bool moved_on = false;
	case_columns_make(&columns, work->cases, work->cases_count);
	err_t err = prepare(store, detail);
	if (!err)
		err = need_days(store, work, detail);
	for (int attempt = 1; !err; attempt++) {
		err = run_transaction(store, &transaction, &moved_on, detail);
		bool again = err == ERR_CONFLICT && !moved_on;
		bool days_gone = err == ERR_DATABASE_REFUSED && store->days.count && attempt == 1;
		if ((!again && !days_gone) || attempt == CONFLICT_ATTEMPTS)
			break;
		log_debug("the calibration transaction is retried: %s", err_message(err, detail));
		sleep_ms(backoff_next_ms(&backoff));
		days_free(&store->days);
		err = need_days(store, work, detail);
	}
	if (err)
		days_free(&store->days);
	else if (ret_counts)
		*ret_counts = transaction.counts;
	/* Locked out again and again: nothing has moved on, the same can be tried later. */
	return err == ERR_CONFLICT && !moved_on ? ERR_DATABASE_UNAVAILABLE : err;
}

/* ---- positions ---- */

static int64_t find_position(const PGresult *result, int32_t partition)
{
	for (int row = 0; row < PQntuples(result); row++)
		if (database_integer_at(result, row, 0) == partition)
			return database_integer_at(result, row, 1);
	return CALIBRATION_POSITION_NONE;
}

err_t calibration_store_positions(struct calibration_store *store, const char *topic,
				  const int32_t *partitions, size_t count, int64_t *ret_next_offsets,
				  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { topic };
	err_t err = prepare(store, detail);
	if (!err)
		err = database_query(
			store->database,
			"SELECT partition, next_offset FROM calibration_positions WHERE topic = $1", 1,
			parameters, &result, detail);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		ret_next_offsets[i] = find_position(result, partitions[i]);
	return ERR_OK;
}
