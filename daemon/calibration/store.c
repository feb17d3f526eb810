#include "calibration/store.h"

#include "avro/advisory.h"
#include "avro/utf8.h"
#include "calibration/array.h"
#include "calibration/schema.h"
#include "common/backoff.h"
#include "common/buf.h"
#include "common/log.h"

#include <math.h>
#include <time.h>

enum { CONFLICT_ATTEMPTS = 8, SEGMENT_TEXT_BYTES = 256 };

/* Until the year 3000. */
#define LATEST_MS INT64_C(32503680000000)

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

const char *calibration_source_name(int label_source)
{
	static const char *const names[] = {
		[LABEL_FEEDBACK] = "FEEDBACK",
		[LABEL_RESULT] = "RESULT",
		[LABEL_CORRECTNESS] = "CORRECTNESS",
		[LABEL_RELEVANCE] = "RELEVANCE",
	};
	return names[label_source];
}

int calibration_source_of(const char *name)
{
	int source = LABEL_FEEDBACK;
	while (source < LABEL_RELEVANCE && strcmp(calibration_source_name(source), name) != 0)
		source++;
	return source;
}

static bool storable(str_t text)
{
	return !str_present(text) ||
	       (utf8_valid(text.ptr, text.len) && !(text.len && memchr(text.ptr, '\0', text.len)));
}

bool calibration_case_valid(const struct calibration_case *item)
{
	return item->scored_at_ms >= 0 && item->scored_at_ms < LATEST_MS && item->level >= LEVEL_VERY_LOW &&
	       item->level <= LEVEL_HIGH && item->label_source >= LABEL_FEEDBACK &&
	       item->label_source <= LABEL_RELEVANCE && item->confidence >= 0 && item->confidence <= 1 &&
	       item->weight > 0 && item->weight <= 1e12 && storable(item->application) &&
	       storable(item->model) && storable(item->prompt_version);
}

/* ---- parameters ---- */

/* An array of PostgreSQL as text, one per parameter. */
struct columns {
	struct buf scored_at, application, model, prompt_version, source, level, confidence, weight, correct;
};

enum { COLUMNS_COUNT = sizeof(struct columns) / sizeof(struct buf) };

static void free_columns(struct columns *columns)
{
	struct buf *buffers = (struct buf *)columns;
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		buf_free(&buffers[i]);
}

/* The shortest decimal that reads back as the same double: exact sums need exact terms, and this is the term
 * that everybody sees who prints the number. */
static void append_double(struct buf *out, double value)
{
	char text[32];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		double back = strtod(text, NULL);
		if (back >= value && back <= value)
			break;
	}
	buf_append_text(out, text);
}

/* Segments are names: what is longer is cut, so that a key always fits into an index. */
static void append_text(struct buf *out, str_t text)
{
	size_t len =
		text.len > SEGMENT_TEXT_BYTES ? utf8_valid_prefix(text.ptr, SEGMENT_TEXT_BYTES) : text.len;
	array_append_quoted(out, (str_t){ text.ptr, len });
}

static void append_case(struct columns *columns, const struct calibration_case *item)
{
	struct buf *buffers = (struct buf *)columns;
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		buf_append_char(&buffers[i], buffers[i].len == 0 ? '{' : ',');
	buf_printf(&columns->scored_at, "%lld", (long long)item->scored_at_ms);
	append_text(&columns->application, item->application);
	append_text(&columns->model, item->model);
	append_text(&columns->prompt_version, item->prompt_version);
	buf_append_text(&columns->source, calibration_source_name(item->label_source));
	buf_append_text(&columns->level, confidence_level_name((enum confidence_level)item->level));
	append_double(&columns->confidence, item->confidence);
	append_double(&columns->weight, item->weight);
	buf_append_char(&columns->correct, item->correct ? '1' : '0');
}

static void make_columns(struct columns *columns, const struct calibration_case *cases, size_t count)
{
	struct buf *buffers = (struct buf *)columns;
	for (size_t i = 0; i < count; i++)
		append_case(columns, &cases[i]);
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		buf_append_char(&buffers[i], '}');
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

/* Unknown segments among the cases, as long as there is room for more. */
#define NEW_SEGMENTS                                                                                         \
	"SELECT FROM unnest($1::text[], $2::text[], $3::text[]) AS c (application, model, prompt_version) "  \
	"WHERE NOT EXISTS (SELECT FROM calibration_segments s WHERE s.application = c.application "          \
	"AND s.model = c.model AND s.prompt_version = c.prompt_version) "                                    \
	"AND (SELECT count(*) FROM calibration_segments) < $4::bigint LIMIT 1"

/* The limit counts, so only one at a time may add. */
#define LOCK_SEGMENTS "SELECT pg_advisory_xact_lock(7236837202)"

#define ADD_SEGMENTS                                                                                         \
	"INSERT INTO calibration_segments (application, model, prompt_version) "                             \
	"SELECT DISTINCT c.application, c.model, c.prompt_version "                                          \
	"FROM unnest($1::text[], $2::text[], $3::text[]) AS c (application, model, prompt_version) "         \
	"WHERE NOT EXISTS (SELECT FROM calibration_segments s WHERE s.application = c.application "          \
	"AND s.model = c.model AND s.prompt_version = c.prompt_version) "                                    \
	"ORDER BY 1, 2, 3 LIMIT greatest(0, $4::bigint - (SELECT count(*) FROM calibration_segments))"

static err_t add_segments(struct calibration_store *store, const struct columns *columns,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	char limit[24];
	snprintf(limit, sizeof limit, "%lld", (long long)store->max_segments);
	const char *const parameters[] = { columns->application.data, columns->model.data,
					   columns->prompt_version.data, limit };
	err_t err = database_query(store->database, NEW_SEGMENTS, 4, parameters, &result, detail);
	if (err || PQntuples(result) == 0)
		return err;
	err = database_query(store->database, LOCK_SEGMENTS, 0, NULL, NULL, detail);
	if (!err)
		err = database_query(store->database, ADD_SEGMENTS, 4, parameters, NULL, detail);
	return err;
}

/* Rows are added in the order of the key, so that two writers wait for each other instead of locking each
 * other out. */
#define ADD_CASES                                                                                            \
	"WITH counted AS (INSERT INTO calibration_buckets AS b "                                             \
	"SELECT w.width_s, to_timestamp(c.scored_at / (1000 * w.width_s) * w.width_s), "                     \
	"coalesce(s.application, '" CALIBRATION_OTHER "'), coalesce(s.model, ''), "                          \
	"coalesce(s.prompt_version, ''), c.label_source, c.level, "                                          \
	"least(floor(c.confidence * 10), 9)::smallint, count(*), sum(c.weight), sum(c.weight * c.weight), "  \
	"sum(c.weight * c.correct), sum(c.weight * c.confidence), "                                          \
	"sum(c.weight * (c.confidence - c.correct) * (c.confidence - c.correct)) "                           \
	"FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], "             \
	"$7::numeric[], $8::numeric[], $9::integer[]) AS c (scored_at, application, model, prompt_version, " \
	"label_source, level, confidence, weight, correct) "                                                 \
	"LEFT JOIN calibration_segments s USING (application, model, prompt_version) "                       \
	"CROSS JOIN (SELECT DISTINCT unnest(ARRAY[$10::bigint, $11::bigint]) AS width_s) AS w "              \
	"GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8 "                                   \
	"ON CONFLICT (width_s, bucket_start, application, model, prompt_version, label_source, level, bin) " \
	"DO UPDATE SET cases = b.cases + excluded.cases, weight = b.weight + excluded.weight, "              \
	"weight_squared = b.weight_squared + excluded.weight_squared, "                                      \
	"weight_correct = b.weight_correct + excluded.weight_correct, "                                      \
	"weight_confidence = b.weight_confidence + excluded.weight_confidence, "                             \
	"weight_squared_error = b.weight_squared_error + excluded.weight_squared_error "                     \
	"RETURNING b.application, b.model, b.prompt_version) SELECT DISTINCT * FROM counted"

static str_t text_at(const PGresult *result, int row, int column)
{
	return (str_t){ PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column) };
}

static void touch_segments(struct segments *touched, const PGresult *result)
{
	for (int row = 0; touched && row < PQntuples(result); row++)
		segments_add(touched,
			     &(struct calibration_segment){ text_at(result, row, 0), text_at(result, row, 1),
							    text_at(result, row, 2) });
}

static err_t add_cases(struct calibration_store *store, const struct columns *columns,
		       struct segments *touched, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const struct buf *buffers = (const struct buf *)columns;
	const char *parameters[COLUMNS_COUNT + 2];
	char fine[24], coarse[24];
	snprintf(fine, sizeof fine, "%lld", (long long)store->bucket_s);
	snprintf(coarse, sizeof coarse, "%d", CALIBRATION_COARSE_S);
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		parameters[i] = buffers[i].data;
	parameters[COLUMNS_COUNT] = fine;
	parameters[COLUMNS_COUNT + 1] = coarse;
	err_t err =
		database_query(store->database, ADD_CASES, COLUMNS_COUNT + 2, parameters, &result, detail);
	if (!err)
		touch_segments(touched, result);
	return err;
}

/* A transaction's work: positions first, they are what two writers meet at. */
struct transaction {
	const char *topic;
	const struct columns *columns; /* NULL: no case */
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
		err = add_segments(store, transaction->columns, detail);
	if (!err && transaction->columns)
		err = add_cases(store, transaction->columns, transaction->touched, detail);
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
	_cleanup_(free_columns) struct columns columns = { 0 };
	struct transaction transaction = { topic, cases_count ? &columns : NULL, steps, steps_count,
					   touched };
	bool moved_on = false;
	make_columns(&columns, cases, cases_count);
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
