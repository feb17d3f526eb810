#include "calibration/store.h"

#include "calibration/schema.h"
#include "common/backoff.h"
#include "common/log.h"

#include <time.h>

enum { CONFLICT_ATTEMPTS = 8 };

static const struct case_tables tables = { "calibration_buckets", "calibration_segments" };

struct calibration_store {
	struct database *database;
	int64_t bucket_s;
	int64_t max_segments;
};

struct calibration_store *calibration_store_new(const struct calibration_store_options *options)
{
	struct calibration_store *store = calloc(1, sizeof *store);
	if (!store)
		abort();
	store->database = database_new(options->dsn, options->password_file);
	database_set_application(store->database, "assayd calibration");
	store->bucket_s = options->bucket_s;
	store->max_segments = options->max_segments;
	return store;
}

void calibration_store_free(struct calibration_store *store)
{
	if (!store)
		return;
	database_free(store->database);
	free(store);
}

/* ---- the transaction ---- */

#define MOVE_POSITION                                                                                        \
	"UPDATE calibration_positions SET next_offset = $3, updated_at = now() "                             \
	"WHERE topic = $1 AND partition = $2 AND next_offset = $4"

#define FIRST_POSITION                                                                                       \
	"INSERT INTO calibration_positions (topic, partition, next_offset) VALUES ($1, $2, $3) "             \
	"ON CONFLICT DO NOTHING"

static err_t move_position(struct calibration_store *store, const char *topic,
			   const struct calibration_step *step, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	bool first = step->from == CALIBRATION_POSITION_NONE;
	char partition[16], to[24], from[24];
	snprintf(partition, sizeof partition, "%d", (int)step->partition);
	snprintf(to, sizeof to, "%lld", (long long)step->to);
	snprintf(from, sizeof from, "%lld", (long long)step->from);
	const char *const parameters[] = { topic, partition, to, from };
	err_t err = database_query(store->database, first ? FIRST_POSITION : MOVE_POSITION, first ? 3 : 4,
				   parameters, &result, detail);
	if (!err && strcmp(PQcmdTuples(result), "1") != 0)
		err = err_fail(detail, ERR_CONFLICT, "partition %d of %s is not at offset %s any more",
			       (int)step->partition, topic, from);
	return err;
}

/* A transaction's work: positions first, they are what two writers meet at. */
struct transaction {
	const char *topic;
	const struct case_columns *columns; /* NULL: no case */
	const struct calibration_step *steps;
	size_t steps_count;
	struct segments *touched; /* or NULL */
};

static err_t run_transaction(struct calibration_store *store, const struct transaction *transaction,
			     bool *ret_moved_on, struct err_detail *detail)
{
	*ret_moved_on = false;
	err_t err = database_script(store->database, "BEGIN", detail);
	for (size_t i = 0; !err && i < transaction->steps_count; i++) {
		err = move_position(store, transaction->topic, &transaction->steps[i], detail);
		*ret_moved_on = err == ERR_CONFLICT;
	}
	if (!err && transaction->columns)
		err = cases_add_segments(store->database, &tables, transaction->columns, store->max_segments,
					 detail);
	if (!err && transaction->columns)
		err = cases_add(store->database, &tables, transaction->columns, store->bucket_s,
				transaction->touched, detail);
	if (!err)
		err = database_script(store->database, "COMMIT", detail);
	if (err && database_script(store->database, "ROLLBACK", NULL) != ERR_OK)
		database_disconnect(store->database);
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

err_t calibration_store_apply(struct calibration_store *store, const char *topic,
			      const struct calibration_case *cases, size_t cases_count,
			      const struct calibration_step *steps, size_t steps_count,
			      struct segments *touched, struct err_detail *detail)
{
	struct backoff backoff = { .base_ms = 10, .cap_ms = 500 };
	_cleanup_(case_columns_free) struct case_columns columns = { 0 };
	struct transaction transaction = { topic, cases_count ? &columns : NULL, steps, steps_count,
					   touched };
	bool moved_on = false;
	case_columns_make(&columns, cases, cases_count);
	err_t err = prepare(store, detail);
	if (err)
		return err;
	for (int attempt = 1;; attempt++) {
		err = run_transaction(store, &transaction, &moved_on, detail);
		if (err != ERR_CONFLICT || moved_on || attempt == CONFLICT_ATTEMPTS)
			break;
		log_debug("calibration transaction is run again: %s", err_message(err, detail));
		sleep_ms(backoff_next_ms(&backoff));
	}
	/* Locked out again and again: nothing has moved on, the same can be tried later. */
	return err == ERR_CONFLICT && !moved_on ? ERR_DATABASE_UNAVAILABLE : err;
}

/* ---- positions ---- */

static int64_t find_position(const PGresult *result, int32_t partition)
{
	for (int row = 0; row < PQntuples(result); row++)
		if (strtol(PQgetvalue(result, row, 0), NULL, 10) == partition)
			return strtoll(PQgetvalue(result, row, 1), NULL, 10);
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
