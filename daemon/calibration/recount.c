#include "calibration/recount.h"

#include "calibration/schema.h"
#include "calibration/topic_reader.h"
#include "common/clock.h"

enum {
	BATCH_CASES = 5000,
	NEARLY_THERE = 1000, /* records that may be left to be read while counting has to wait */
	MOST_ROUNDS = 20,
};

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)
#define DAY_MS	  (24 * HOUR_MS)

/* Records are scored before they are published, by clocks that may differ by so much. */
#define CLOCK_MARGIN_MS (10 * MINUTE_MS)

/* A partition that is counted. */
struct partition {
	int32_t number;
	int64_t low;	  /* its first record that is kept */
	int64_t first_ms; /* when that was published; −1: there was none to be read */
	bool foreign;	  /* it ends before the stored position: it is not what was counted */
};

struct recount {
	const struct recount_options *options;
	struct database *database;
	struct topic_reader *reader;
	struct arena *arena; /* the caller's */
	bool admits;	     /* segments get places as in the daemon */
	int64_t now_ms;

	struct partition *partitions; /* in the arena, likewise below */
	struct topic_span *spans;     /* one a partition */
	size_t count, partitions_capacity, spans_capacity;

	struct arena *batch_arena;
	struct calibration_case *cases;
	size_t cases_count, cases_capacity;

	struct recount_outcome outcome;
	size_t notes_capacity;
};

/* ---- counting ---- */

static void forget_batch(struct recount *recount)
{
	arena_free(recount->batch_arena);
	recount->batch_arena = arena_new();
	recount->cases = NULL;
	recount->cases_count = recount->cases_capacity = 0;
}

static err_t count_batch(struct recount *recount, struct err_detail *detail)
{
	_cleanup_(case_columns_free) struct case_columns columns = { 0 };
	err_t err = ERR_OK;
	if (recount->cases_count == 0)
		return ERR_OK;
	case_columns_make(&columns, recount->cases, recount->cases_count);
	if (recount->admits)
		err = cases_add_segments(recount->database, &recount_case_tables, &columns,
					 recount->options->max_segments, detail);
	if (!err)
		err = cases_add(recount->database, &recount_case_tables, &columns, recount->options->bucket_s,
				NULL, detail);
	forget_batch(recount);
	return err;
}

static void note_first(struct recount *recount, size_t span, const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t published_ms = rd_kafka_message_timestamp(message, &type);
	if (recount->partitions[span].first_ms < 0)
		recount->partitions[span].first_ms =
			type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? recount->now_ms : published_ms;
}

static err_t take_record(size_t span, const rd_kafka_message_t *message, void *context,
			 struct err_detail *detail)
{
	struct recount *recount = context;
	struct calibration_case item;
	bool read = false;
	recount->outcome.records++;
	note_first(recount, span, message);
	if (calibration_case_read(recount->options->codec, message->payload, message->len,
				  recount->batch_arena, &item, &read, NULL)) {
		recount->outcome.skipped++;
		return ERR_OK;
	}
	if (!read || item.label_source == ENUM_ABSENT)
		return ERR_OK;
	recount->outcome.cases++;
	ARENA_PUSH(recount->batch_arena, recount->cases, recount->cases_count, recount->cases_capacity, item);
	return recount->cases_count >= BATCH_CASES ? count_batch(recount, detail) : ERR_OK;
}

/* Reads and counts up to the ends of the spans. */
static err_t read_log(struct recount *recount, struct err_detail *detail)
{
	forget_batch(recount);
	err_t err = topic_reader_read(recount->reader, recount->spans, recount->count, take_record, recount,
				      detail);
	return err ? err : count_batch(recount, detail);
}

/* ---- positions ---- */

static struct topic_span *find_span(struct recount *recount, int32_t partition)
{
	for (size_t i = 0; i < recount->count; i++)
		if (recount->spans[i].partition == partition)
			return &recount->spans[i];
	return NULL;
}

static err_t add_partition(struct recount *recount, int32_t number, int64_t position,
			   struct err_detail *detail)
{
	struct partition partition = { .number = number, .first_ms = -1 };
	int64_t high;
	err_t err = topic_reader_bounds(recount->reader, recount->options->kafka->scored_topic, number,
					&partition.low, &high, detail);
	if (err)
		return err;
	size_t count = recount->count;
	partition.foreign = position > high;
	const struct topic_span span = {
		.topic = recount->options->kafka->scored_topic,
		.partition = number,
		.from = partition.foreign ? position : partition.low,
		.until = position,
	};
	ARENA_PUSH(recount->arena, recount->partitions, count, recount->partitions_capacity, partition);
	ARENA_PUSH(recount->arena, recount->spans, recount->count, recount->spans_capacity, span);
	return ERR_OK;
}

/* How far the topic is counted. */
static err_t take_positions(struct recount *recount, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { recount->options->kafka->scored_topic };
	err_t err =
		database_query(recount->database,
			       "SELECT partition, next_offset FROM calibration_positions WHERE topic = $1 "
			       "ORDER BY 1",
			       1, parameters, &result, detail);
	for (int row = 0; !err && row < PQntuples(result); row++) {
		int32_t number = (int32_t)strtol(PQgetvalue(result, row, 0), NULL, 10);
		int64_t position = strtoll(PQgetvalue(result, row, 1), NULL, 10);
		struct topic_span *span = find_span(recount, number);
		if (span && position < span->until)
			err = err_fail(detail, ERR_CONFLICT,
				       "the position of partition %d of %s was set back meanwhile",
				       (int)number, span->topic);
		else if (span)
			span->until = position;
		else
			err = add_partition(recount, number, position, detail);
	}
	return err;
}

static int64_t left_to_read(const struct recount *recount)
{
	int64_t left = 0;
	for (size_t i = 0; i < recount->count; i++)
		if (recount->spans[i].from < recount->spans[i].until)
			left += recount->spans[i].until - recount->spans[i].from;
	return left;
}

/* ---- what can be said ---- */

static void note(struct recount *recount, str_t text)
{
	struct recount_outcome *outcome = &recount->outcome;
	ARENA_PUSH(recount->arena, outcome->notes, outcome->notes_count, recount->notes_capacity, text);
	outcome->complete = false;
}

static void raise_to(int64_t *bound_ms, int64_t ms)
{
	if (*bound_ms < ms)
		*bound_ms = ms;
}

/* Whole hours: from here on no bucket of either width began earlier. */
static int64_t round_up_hour(int64_t ms)
{
	return (ms + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
}

/* Records that were deleted are older than the first that is kept; their cases are in the buckets still. */
static void limit_by_partition(struct recount *recount, const struct partition *partition)
{
	int64_t first_ms = partition->first_ms < 0 ? recount->now_ms : partition->first_ms;
	if (partition->foreign) {
		note(recount, arena_printf(recount->arena,
					   "partition %d of %s ends before the position up to which it is "
					   "counted: it is another topic of that name",
					   (int)partition->number, recount->options->kafka->scored_topic));
		raise_to(&recount->outcome.range.since_ms, round_up_hour(recount->now_ms + CLOCK_MARGIN_MS));
	} else if (partition->low > 0) {
		note(recount, arena_printf(recount->arena,
					   "partition %d of %s begins at offset %lld: earlier records are "
					   "deleted, their cases cannot be counted again",
					   (int)partition->number, recount->options->kafka->scored_topic,
					   (long long)partition->low));
		raise_to(&recount->outcome.range.since_ms, round_up_hour(first_ms + CLOCK_MARGIN_MS));
	}
}

/* What is beyond the retention may be deleted already. */
static int64_t kept_since_ms(const struct recount *recount)
{
	int64_t days = recount->options->retention_days;
	return days > 0 ? recount->now_ms - days * DAY_MS + CLOCK_MARGIN_MS : 0;
}

static void limit_range(struct recount *recount)
{
	struct recount_range *range = &recount->outcome.range;
	*range = (struct recount_range){ .bucket_s = recount->options->bucket_s,
					 .since_ms = kept_since_ms(recount),
					 .feedback_since_ms = INT64_MAX };
	recount->outcome.complete = true;
	for (size_t i = 0; i < recount->count; i++)
		limit_by_partition(recount, &recount->partitions[i]);
	range->fine_since_ms = range->since_ms;
}

/* ---- both ---- */

static err_t check_tables(struct database *database, struct err_detail *detail)
{
	int version = 0;
	err_t err = calibration_schema_read(database, &version, detail);
	if (!err && version != calibration_schema_version())
		err = err_fail(detail, ERR_DATABASE_REFUSED,
			       "the calibration tables have version %d, this program needs %d; the daemon "
			       "brings them up to date when it starts",
			       version, calibration_schema_version());
	return err;
}

static err_t begin(struct recount *recount, const struct recount_options *options, struct arena *arena,
		   struct err_detail *detail)
{
	*recount = (struct recount){ .options = options,
				     .arena = arena,
				     .now_ms = options->now_ms ? options->now_ms : clock_wall_ms() };
	recount->database = database_new(options->dsn, options->password_file);
	database_set_application(recount->database, "assayd recount");
	err_t err = topic_reader_new(options->kafka, &recount->reader, detail);
	if (!err)
		err = database_connect(recount->database, NULL, detail);
	if (!err)
		err = check_tables(recount->database, detail);
	return err;
}

static void recount_end(struct recount *recount)
{
	topic_reader_free(recount->reader);
	database_free(recount->database);
	arena_free(recount->batch_arena);
}

/* ---- verify ---- */

/* Segments, positions and buckets as they were at one moment. */
static err_t take_snapshot(struct recount *recount, struct err_detail *detail)
{
	err_t err = database_script(recount->database, "BEGIN ISOLATION LEVEL REPEATABLE READ", detail);
	if (!err)
		err = recount_tables_make(recount->database, detail);
	if (!err)
		err = recount_tables_copy(recount->database, kept_since_ms(recount), detail);
	if (!err)
		err = take_positions(recount, detail);
	return err ? err : database_script(recount->database, "COMMIT", detail);
}

/* The configured width may be a new one. */
static err_t limit_fine(struct recount *recount, struct err_detail *detail)
{
	int64_t other_until_ms;
	struct recount_range *range = &recount->outcome.range;
	err_t err = recount_tables_other_width(recount->database, range->bucket_s, &other_until_ms, detail);
	if (!err && other_until_ms > range->fine_since_ms) {
		note(recount,
		     STR("calibration.bucket_s was changed: older buckets are compared by the hour"));
		raise_to(&range->fine_since_ms, other_until_ms);
	}
	return err;
}

static err_t verify(struct recount *recount, struct err_detail *detail)
{
	err_t err = take_snapshot(recount, detail);
	if (!err)
		err = read_log(recount, detail);
	if (err)
		return err;
	limit_range(recount);
	err = limit_fine(recount, detail);
	return err ? err
		   : recount_tables_compare(recount->database, &recount->outcome.range, recount->arena,
					    &recount->outcome.differences, detail);
}

err_t recount_verify(const struct recount_options *options, struct arena *arena,
		     struct recount_outcome *ret_outcome, struct err_detail *detail)
{
	_cleanup_(recount_end) struct recount recount;
	err_t err = begin(&recount, options, arena, detail);
	if (!err)
		err = verify(&recount, detail);
	if (!err)
		*ret_outcome = recount.outcome;
	return err;
}

/* ---- rebuild ---- */

/* Held until the connection ends. */
static err_t lock_rebuilds(struct database *database, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err =
		database_query(database, "SELECT pg_try_advisory_lock(7236837205)", 0, NULL, &result, detail);
	if (!err && PQgetvalue(result, 0, 0)[0] != 't')
		err = err_fail(detail, ERR_CONFLICT, "another rebuild of the calibration is running");
	return err;
}

/* Until few records are left, while others go on counting. */
static err_t catch_up(struct recount *recount, struct err_detail *detail)
{
	err_t err = take_positions(recount, detail);
	for (int round = 0; !err && round < MOST_ROUNDS && left_to_read(recount) > NEARLY_THERE; round++) {
		err = read_log(recount, detail);
		if (!err)
			err = take_positions(recount, detail);
	}
	return err;
}

/* From here on nobody counts, until the transaction ends: so the positions stay where they are. */
#define LOCK_TABLES                                                                                          \
	"BEGIN; LOCK TABLE calibration_positions IN SHARE ROW EXCLUSIVE MODE; "                              \
	"LOCK TABLE calibration_buckets, calibration_segments IN SHARE ROW EXCLUSIVE MODE"

static err_t replace(struct recount *recount, struct err_detail *detail)
{
	err_t err = database_script(recount->database, LOCK_TABLES, detail);
	if (!err)
		err = take_positions(recount, detail);
	if (!err)
		err = read_log(recount, detail);
	if (err)
		return err;
	limit_range(recount);
	err = recount_tables_replace(recount->database, &recount->outcome.range, &recount->outcome.removed,
				     &recount->outcome.added, detail);
	return err ? err : database_script(recount->database, "COMMIT", detail);
}

err_t recount_rebuild(const struct recount_options *options, struct arena *arena,
		      struct recount_outcome *ret_outcome, struct err_detail *detail)
{
	_cleanup_(recount_end) struct recount recount;
	err_t err = begin(&recount, options, arena, detail);
	recount.admits = true;
	if (!err)
		err = lock_rebuilds(recount.database, detail);
	if (!err)
		err = recount_tables_make(recount.database, detail);
	if (!err)
		err = catch_up(&recount, detail);
	if (!err)
		err = replace(&recount, detail);
	if (!err)
		*ret_outcome = recount.outcome;
	return err;
}
