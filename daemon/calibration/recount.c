#include "calibration/recount.h"

#include "calibration/days.h"
#include "calibration/log_policy.h"
#include "calibration/records.h"
#include "calibration/recount_log.h"
#include "calibration/rollup.h"
#include "calibration/schema.h"

#include "common/clock.h"
#include "database/values.h"

enum {
	BATCH_CASES = 5000,
	NEARLY_THERE = 1000, /* records that may be left to be read while counting has to wait */
	MOST_ROUNDS = 20,
};

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)

/* Until the year 3000. */
#define LATEST_TIME_MS INT64_C(32503680000000)

/* Records are scored before they are published, by clocks that may differ by so much. */
#define CLOCK_MARGIN_MS (10 * MINUTE_MS)

struct recount {
	const struct recount_options *options;
	struct database *database;
	struct topic_reader *reader;
	struct arena *arena; /* the caller's */
	bool admits;	     /* segments get places as in the daemon */
	int64_t now_ms;

	bool replacing;	       /* in its transaction */
	int64_t horizon_ms;    /* 0: feedback is left out */
	int64_t keep_since_ms; /* events from here on are kept for a rebuild */
	struct recount_log scored, feedback;

	struct arena *batch_arena;
	struct calibration_case *cases;
	size_t cases_count, cases_capacity;
	struct calibration_feedback *messages;
	size_t messages_count, messages_capacity;

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
	recount->messages = NULL;
	recount->messages_count = recount->messages_capacity = 0;
}

static err_t count_cases(struct recount *recount, struct err_detail *detail)
{
	_cleanup_(case_columns_free) struct case_columns columns = { 0 };
	const struct recount_options *options = recount->options;
	const struct late_truth_tables *tables = &recount_log_tables;
	struct late_truth_outcome ignored = { 0 };
	err_t err = ERR_OK;
	case_columns_make(&columns, recount->cases, recount->cases_count);
	if (recount->admits)
		err = cases_add_segments(recount->database, &tables->cases, &columns, options->max_segments,
					 detail);
	if (!err)
		err = cases_add(recount->database, &tables->cases, &columns, options->bucket_s, NULL, detail);
	if (!err && recount->horizon_ms)
		err = late_truth_add_events(recount->database, tables, &columns, options->bucket_s,
					    recount->horizon_ms, recount->keep_since_ms, NULL, &ignored,
					    detail);
	return err;
}

static err_t count_messages(struct recount *recount, struct err_detail *detail)
{
	struct late_truth_outcome ignored = { 0 };
	return late_truth_add_feedback(recount->database, &recount_log_tables, recount->messages,
				       recount->messages_count, recount->options->bucket_s,
				       recount->horizon_ms, 0, NULL, &ignored, detail);
}

/* Within the transaction of a rebuild, if that is under way, else in one of its own. */
static err_t count_batch(struct recount *recount, struct err_detail *detail)
{
	err_t err = ERR_OK;
	if (recount->cases_count + recount->messages_count == 0)
		return ERR_OK;
	if (!recount->replacing)
		err = database_script(recount->database, "BEGIN", detail);
	if (!err && recount->horizon_ms)
		err = late_truth_lock(recount->database, false, detail);
	if (!err && recount->cases_count)
		err = count_cases(recount, detail);
	if (!err && recount->messages_count)
		err = count_messages(recount, detail);
	if (!err && !recount->replacing)
		err = database_script(recount->database, "COMMIT", detail);
	forget_batch(recount);
	return err;
}

static err_t count_full_batch(struct recount *recount, struct err_detail *detail)
{
	bool full = recount->cases_count + recount->messages_count >= BATCH_CASES;
	return full ? count_batch(recount, detail) : ERR_OK;
}

static err_t take_scored(size_t span, const rd_kafka_message_t *message, void *context,
			 struct err_detail *detail)
{
	struct recount *recount = context;
	const struct recount_partition *partition = &recount->scored.partitions[span];
	struct calibration_case item;
	bool read = false;
	recount->outcome.records++;
	recount_log_note_time(&recount->scored, span, message, recount->now_ms);
	if (calibration_record_case(recount->options->codec, message, recount->batch_arena, &item, &read,
				    NULL)) {
		recount->outcome.skipped++;
		return ERR_OK;
	}
	if (!read)
		return ERR_OK;
	if (!recount->horizon_ms || message->offset < partition->remembered_from)
		item.event.text[0] = '\0';
	recount->outcome.cases += item.label_source != ENUM_ABSENT;
	if (item.label_source != ENUM_ABSENT || item.event.text[0])
		ARENA_PUSH(recount->batch_arena, recount->cases, recount->cases_count,
			   recount->cases_capacity, item);
	return count_full_batch(recount, detail);
}

/* Times that PostgreSQL cannot hold say nothing about any event. */
static bool storable_time(int64_t time_ms)
{
	return time_ms >= 0 && time_ms < LATEST_TIME_MS;
}

static err_t take_feedback(size_t span, const rd_kafka_message_t *message, void *context,
			   struct err_detail *detail)
{
	struct recount *recount = context;
	struct calibration_feedback item;
	recount->outcome.records++;
	recount->outcome.feedback++;
	recount_log_note_time(&recount->feedback, span, message, recount->now_ms);
	if (calibration_record_feedback(recount->options->codec, message, &item, NULL)) {
		recount->outcome.skipped++;
		return ERR_OK;
	}
	if (storable_time(item.said_at_ms))
		ARENA_PUSH(recount->batch_arena, recount->messages, recount->messages_count,
			   recount->messages_capacity, item);
	return count_full_batch(recount, detail);
}

/* Reads and counts up to the ends of the spans: feedback first, so that events find it, also those that were
 * read before it in an earlier round. */
static err_t read_log(struct recount *recount, struct err_detail *detail)
{
	struct recount_log *scored = &recount->scored, *feedback = &recount->feedback;
	forget_batch(recount);
	err_t err = topic_reader_read(recount->reader, feedback->spans, feedback->count, take_feedback,
				      recount, detail);
	if (!err)
		err = count_batch(recount, detail);
	if (!err)
		err = topic_reader_read(recount->reader, scored->spans, scored->count, take_scored, recount,
					detail);
	return err ? err : count_batch(recount, detail);
}

/* ---- positions ---- */

static err_t take_positions_of(struct recount *recount, struct recount_log *log, struct err_detail *detail)
{
	return recount_log_take_positions(log, recount->database, recount->reader, recount->arena, detail);
}

/* How far the topics are counted. */
static err_t take_positions(struct recount *recount, struct err_detail *detail)
{
	err_t err = take_positions_of(recount, &recount->scored, detail);
	return err || !recount->horizon_ms ? err : take_positions_of(recount, &recount->feedback, detail);
}

/* ---- what can be said ---- */

static void note(struct recount *recount, str_t text)
{
	struct recount_outcome *outcome = &recount->outcome;
	ARENA_PUSH(recount->arena, outcome->notes, outcome->notes_count, recount->notes_capacity, text);
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

static str_t of_partition(struct recount *recount, const struct recount_log *log, size_t i, const char *what)
{
	return arena_printf(recount->arena, "partition %d of %s %s", (int)log->spans[i].partition, log->topic,
			    what);
}

/* Records that were deleted are older than the first that is kept; their cases are in the buckets still. */
static void limit_by_scored(struct recount *recount, size_t i)
{
	const struct recount_partition *partition = &recount->scored.partitions[i];
	int64_t first_ms = partition->first_ms < 0 ? recount->now_ms : partition->first_ms;
	int64_t *since_ms = &recount->outcome.range.since_ms;
	if (partition->foreign) {
		note(recount, of_partition(recount, &recount->scored, i,
					   "ends before the position up to which it is counted: it is "
					   "another topic of that name"));
		recount->outcome.complete = false;
		raise_to(since_ms, round_up_hour(recount->now_ms + CLOCK_MARGIN_MS));
	} else if (partition->low > 0) {
		note(recount, of_partition(recount, &recount->scored, i,
					   "has lost its earliest records, their cases cannot be counted "
					   "again"));
		recount->outcome.complete = false;
		raise_to(since_ms, round_up_hour(first_ms + CLOCK_MARGIN_MS));
	}
}

/* Feedback counts for events from where they are remembered. */
static void limit_feedback_by_scored(struct recount *recount, const struct recount_partition *partition)
{
	int64_t since_ms = partition->remembered_ms < 0 ? recount->now_ms : partition->remembered_ms;
	if (partition->remembered_from > partition->low)
		raise_to(&recount->outcome.range.feedback_since_ms,
			 round_up_hour(since_ms + CLOCK_MARGIN_MS));
}

/* What was said before the first message that is kept is about events of up to a horizon later. */
static void limit_by_feedback(struct recount *recount, size_t i)
{
	const struct recount_partition *partition = &recount->feedback.partitions[i];
	int64_t first_ms = partition->first_ms < 0 ? recount->now_ms : partition->first_ms;
	if (partition->low == 0 && !partition->foreign)
		return;
	note(recount, of_partition(recount, &recount->feedback, i,
				   "does not reach back to its first message: older feedback is left as it "
				   "is"));
	raise_to(&recount->outcome.range.feedback_since_ms,
		 round_up_hour((partition->foreign ? recount->now_ms : first_ms) + recount->horizon_ms +
			       CLOCK_MARGIN_MS));
}

static err_t judge_log(struct recount *recount, struct err_detail *detail)
{
	struct log_policy policy;
	err_t err = log_policy_read(recount->options, recount->arena, &policy, detail);
	if (err)
		return err;
	recount->outcome.trusted = policy.trusted;
	for (size_t i = 0; i < policy.notes_count; i++)
		note(recount, policy.notes[i]);
	return ERR_OK;
}

/* What is beyond the retention may be deleted already. */
static int64_t kept_since_ms(const struct recount *recount)
{
	int64_t days = recount->options->retention_days;
	return days > 0 ? recount->now_ms - days * DAY_MS + CLOCK_MARGIN_MS : 0;
}

static void limit_feedback(struct recount *recount)
{
	struct recount_range *range = &recount->outcome.range;
	range->feedback_since_ms = recount->horizon_ms ? range->since_ms : INT64_MAX;
	if (recount->horizon_ms && recount->options->retention_days) /* nobody counts it any more for these */
		raise_to(&range->feedback_since_ms, kept_since_ms(recount) + 2 * HOUR_MS);
	for (size_t i = 0; recount->horizon_ms && i < recount->scored.count; i++)
		limit_feedback_by_scored(recount, &recount->scored.partitions[i]);
	for (size_t i = 0; i < recount->feedback.count; i++)
		limit_by_feedback(recount, i);
}

static void limit_range(struct recount *recount)
{
	struct recount_range *range = &recount->outcome.range;
	*range = (struct recount_range){ .bucket_s = recount->options->bucket_s,
					 .since_ms = kept_since_ms(recount) };
	recount->outcome.complete = true;
	for (size_t i = 0; i < recount->scored.count; i++)
		limit_by_scored(recount, i);
	range->fine_since_ms = range->since_ms;
	limit_feedback(recount);
}

/* ---- both ---- */

static err_t check_tables(struct database *database, struct err_detail *detail)
{
	int version = 0;
	err_t err = calibration_schema_read(database, &version, detail);
	if (!err && version != calibration_schema_version())
		err = calibration_schema_outdated(version, detail);
	return err;
}

static err_t begin(struct recount *recount, const struct recount_options *options, struct arena *arena,
		   struct err_detail *detail)
{
	*recount = (struct recount){ .options = options,
				     .arena = arena,
				     .now_ms = options->now_ms ? options->now_ms : clock_wall_ms(),
				     .keep_since_ms = LATEST_TIME_MS,
				     .horizon_ms = options->feedback_horizon_ms,
				     .scored = { .topic = options->kafka->scored_topic },
				     .feedback = { .topic = options->feedback_topic } };
	if (options->retention_days && recount->horizon_ms > options->retention_days * DAY_MS)
		recount->horizon_ms = options->retention_days * DAY_MS;
	recount->database = database_new(options->dsn, options->password_file);
	database_set_settings(recount->database, "calibration.");
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
		err = recount_tables_copy(recount->database, kept_since_ms(recount) / DAY_MS * DAY_MS,
					  detail);
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
	err_t err = judge_log(recount, detail);
	if (!err)
		err = take_snapshot(recount, detail);
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

/* What is replaced is in one place. */
static err_t take_over(struct recount *recount, struct err_detail *detail)
{
	bool more = true;
	err_t err = ERR_OK;
	while (!err && more)
		err = rollup_take_over(recount->database, &more, detail);
	return err;
}

static bool nearly_there(const struct recount *recount)
{
	return recount_log_left(&recount->scored) + recount_log_left(&recount->feedback) <= NEARLY_THERE;
}

/* Until few records are left, while others go on counting. */
static err_t catch_up(struct recount *recount, struct err_detail *detail)
{
	err_t err = take_positions(recount, detail);
	for (int round = 0; !err && round < MOST_ROUNDS && !nearly_there(recount); round++) {
		err = read_log(recount, detail);
		if (!err)
			err = take_positions(recount, detail);
	}
	return err;
}

/* From here on nobody counts, until the transaction ends: so the positions stay where they are. */
#define LOCK_TABLES                                                                                          \
	"BEGIN; LOCK TABLE calibration_positions IN SHARE ROW EXCLUSIVE MODE; "                              \
	"LOCK TABLE calibration_buckets, calibration_rollups, calibration_segments IN SHARE ROW EXCLUSIVE "  \
	"MODE"

/* From the beginning of the log on events are remembered, so far as they are not too old. */
static err_t replace_memory(struct recount *recount, struct err_detail *detail)
{
	const char *const parameters[] = { recount->scored.topic };
	int64_t span_ms = recount->horizon_ms + DAY_MS;
	err_t err = recount_tables_replace_memory(recount->database,
						  recount->now_ms - recount->horizon_ms - span_ms,
						  recount->now_ms + span_ms, detail);
	return err ? err
		   : database_query(recount->database,
				    "UPDATE calibration_positions SET remembered_from = 0 WHERE topic = $1",
				    1, parameters, NULL, detail);
}

/* late_truth_lock() has its own needs. */
#define ANY_PLAN                                                                                             \
	"SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"

static err_t replace(struct recount *recount, struct err_detail *detail)
{
	err_t err = database_script(recount->database, LOCK_TABLES, detail);
	recount->replacing = true;
	if (!err)
		err = take_positions(recount, detail);
	if (!err)
		err = read_log(recount, detail);
	if (!err)
		err = database_script(recount->database, ANY_PLAN, detail);
	if (err)
		return err;
	limit_range(recount);
	err = recount_tables_replace(recount->database, &recount->outcome.range, &recount->outcome.removed,
				     &recount->outcome.added, detail);
	if (!err && recount->horizon_ms)
		err = replace_memory(recount, detail);
	return err ? err : database_script(recount->database, "COMMIT", detail);
}

err_t recount_rebuild(const struct recount_options *options, struct arena *arena,
		      struct recount_outcome *ret_outcome, struct err_detail *detail)
{
	_cleanup_(recount_end) struct recount recount;
	err_t err = begin(&recount, options, arena, detail);
	recount.admits = true;
	recount.scored.remembers_all = true;
	recount.keep_since_ms = recount.now_ms - recount.horizon_ms - DAY_MS;
	if (!err)
		err = judge_log(&recount, detail);
	if (!err && !recount.outcome.trusted)
		err = err_fail(detail, ERR_CALIBRATION_LOG,
			       "the log may have lost records, what is counted would be replaced by less; "
			       "nothing was changed (" STR_FMT ")",
			       STR_ARG(recount.outcome.notes[0]));
	if (!err)
		err = lock_rebuilds(recount.database, detail);
	if (!err)
		err = recount_tables_make(recount.database, detail);
	if (!err)
		err = take_over(&recount, detail);
	if (!err)
		err = catch_up(&recount, detail);
	if (!err)
		err = replace(&recount, detail);
	if (!err)
		*ret_outcome = recount.outcome;
	return err;
}
