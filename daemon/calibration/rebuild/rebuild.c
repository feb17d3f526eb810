#include "calibration/rebuild/rebuild.h"

#include "calibration/count/records.h"
#include "calibration/rebuild/log_policy.h"
#include "calibration/rebuild/rebuild_claims.h"
#include "calibration/rebuild/rebuild_examples.h"
#include "calibration/rebuild/rebuild_log.h"
#include "calibration/store/claims.h"
#include "calibration/store/days.h"
#include "calibration/store/examples.h"
#include "calibration/store/rollup.h"
#include "calibration/store/rules.h"
#include "calibration/store/schema.h"
#include "calibration/store/sequences.h"

#include "common/clock.h"
#include "database/values.h"

enum {
	BATCH_CASES = 5000,
	NEARLY_THERE = 1000, /* records that may be left to be read while counting has to wait */
	LOCK_TRIES = 15,     /* 0.2 s apart */
	MAX_ROUNDS = 20,
};

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS	  (60 * MINUTE_MS)

/* Until the year 3000. */
#define LATEST_TIME_MS INT64_C(32503680000000)

/* Records are scored before they are published, by clocks that may differ by so much. */
#define CLOCK_MARGIN_MS (10 * MINUTE_MS)

struct rebuild {
	const struct rebuild_options *options;
	struct database *database;
	struct topic_reader *reader;
	struct arena *arena; /* the caller's */
	bool admits;	     /* segments get places as in the daemon */
	bool samples;	     /* examples are drawn */
	int64_t now_ms;

	bool replacing;		    /* in its transaction */
	int64_t horizon_ms;	    /* 0: feedback is left out */
	int64_t keep_since_ms;	    /* events from here on are kept, for a rebuild or to be compared */
	int64_t former_ms;	    /* rows of what was scored before may be of another log */
	int64_t feedback_former_ms; /* likewise, of messages */
	int64_t totals;		    /* that differ, at the moment of the snapshot; likewise: */
	int64_t sequences;
	struct rebuild_log scored, feedback;

	struct arena *batch_arena;
	struct calibration_case *cases;
	size_t cases_count, cases_capacity;
	struct calibration_feedback *messages;
	size_t messages_count, messages_capacity;

	struct rebuild_outcome summary;
	size_t notes_capacity;
};

/* ---- counting ---- */

static void forget_batch(struct rebuild *rebuild)
{
	arena_free(rebuild->batch_arena);
	rebuild->batch_arena = arena_new();
	rebuild->cases = NULL;
	rebuild->cases_count = rebuild->cases_capacity = 0;
	rebuild->messages = NULL;
	rebuild->messages_count = rebuild->messages_capacity = 0;
}

static err_t count_cases(struct rebuild *rebuild, struct err_detail *detail)
{
	_cleanup_(case_columns_free) struct case_columns columns = { 0 };
	const struct rebuild_options *options = rebuild->options;
	const struct feedback_tables *tables = &rebuild_log_tables;
	struct feedback_outcome ignored = { 0 };
	err_t err = ERR_OK;
	case_columns_make(&columns, rebuild->cases, rebuild->cases_count);
	if (rebuild->admits)
		err = cases_add_segments(rebuild->database, &tables->cases, &columns, options->max_segments,
					 detail);
	if (!err)
		err = cases_add(rebuild->database, &tables->cases, &columns, options->bucket_s, NULL, detail);
	if (!err && rebuild->samples)
		err = examples_add(rebuild->database, REBUILD_EXAMPLES, tables->cases.segments,
				   rebuild->cases, rebuild->cases_count, detail);
	if (!err && rebuild->samples)
		err = rules_add(rebuild->database, "rebuild_rules", rebuild->cases, rebuild->cases_count,
				detail);
	if (!err && rebuild->samples)
		err = claims_add(rebuild->database, REBUILD_CLAIMS, tables->cases.segments, rebuild->cases,
				 rebuild->cases_count, detail);
	if (!err && rebuild->horizon_ms)
		err = feedback_add_events(rebuild->database, tables, &columns, options->bucket_s,
					  rebuild->horizon_ms, rebuild->keep_since_ms, NULL, &ignored,
					  detail);
	return err;
}

static err_t count_messages(struct rebuild *rebuild, struct err_detail *detail)
{
	struct feedback_outcome ignored = { 0 };
	return feedback_add_feedback(rebuild->database, &rebuild_log_tables, rebuild->messages,
				     rebuild->messages_count, rebuild->options->bucket_s, rebuild->horizon_ms,
				     0, NULL, &ignored, detail);
}

/* Within the transaction of a rebuild, if that is under way, else in one of its own. */
static err_t count_batch(struct rebuild *rebuild, struct err_detail *detail)
{
	err_t err = ERR_OK;
	if (rebuild->cases_count + rebuild->messages_count == 0)
		return ERR_OK;
	if (!rebuild->replacing)
		err = database_script(rebuild->database, "BEGIN", detail);
	if (!err && rebuild->horizon_ms)
		err = feedback_lock(rebuild->database, false, detail);
	if (!err && rebuild->cases_count)
		err = count_cases(rebuild, detail);
	if (!err && rebuild->messages_count)
		err = count_messages(rebuild, detail);
	if (!err && !rebuild->replacing)
		err = database_script(rebuild->database, "COMMIT", detail);
	forget_batch(rebuild);
	return err;
}

static err_t count_full_batch(struct rebuild *rebuild, struct err_detail *detail)
{
	bool full = rebuild->cases_count + rebuild->messages_count >= BATCH_CASES;
	return full ? count_batch(rebuild, detail) : ERR_OK;
}

/* What cannot be read is skipped, unless its schema could be had from a registry that cannot be asked. */
static err_t skip(struct rebuild *rebuild, const rd_kafka_message_t *message, err_t err,
		  const struct err_detail *reason, struct err_detail *detail)
{
	rebuild->summary.skipped++;
	if (!codec_awaits_schema(err))
		return ERR_OK;
	return err_fail(detail, err, "partition %d of %s, offset %lld cannot be read now: %s",
			(int)message->partition, rd_kafka_topic_name(message->rkt),
			(long long)message->offset, err_message(err, reason));
}

static err_t take_scored(size_t span, const rd_kafka_message_t *message, void *context,
			 struct err_detail *detail)
{
	struct rebuild *rebuild = context;
	const struct rebuild_partition *partition = &rebuild->scored.partitions[span];
	struct calibration_case item;
	struct err_detail reason = { "" };
	bool read = false;
	rebuild->summary.records++;
	rebuild_log_note_time(&rebuild->scored, span, message, rebuild->now_ms);
	err_t err = calibration_record_case(rebuild->options->codec, message, rebuild->batch_arena, &item,
					    &read, &reason);
	if (err)
		return skip(rebuild, message, err, &reason, detail);
	if (!read)
		return ERR_OK;
	rebuild_log_note_begin(&rebuild->scored, item.scored_at_ms);
	if (!rebuild->horizon_ms || message->offset < partition->remembered_from)
		item.event.text[0] = '\0';
	if (message->offset < partition->learnt_from)
		item.key.text[0] = '\0';
	item.untested = message->offset < partition->claims_from;
	rebuild->summary.cases += item.label_source != ENUM_ABSENT;
	if (item.label_source != ENUM_ABSENT || item.event.text[0]) {
		calibration_case_complete(&item, rebuild->batch_arena);
		ARENA_PUSH(rebuild->batch_arena, rebuild->cases, rebuild->cases_count,
			   rebuild->cases_capacity, item);
	}
	return count_full_batch(rebuild, detail);
}

/* Times that PostgreSQL cannot hold say nothing about any event. */
static bool storable_time(int64_t time_ms)
{
	return time_ms >= 0 && time_ms < LATEST_TIME_MS;
}

static err_t take_feedback(size_t span, const rd_kafka_message_t *message, void *context,
			   struct err_detail *detail)
{
	struct rebuild *rebuild = context;
	struct calibration_feedback item;
	struct err_detail reason = { "" };
	rebuild->summary.records++;
	rebuild->summary.feedback++;
	rebuild_log_note_time(&rebuild->feedback, span, message, rebuild->now_ms);
	err_t err = calibration_record_feedback(rebuild->options->codec, message, &item, &reason);
	if (err)
		return skip(rebuild, message, err, &reason, detail);
	if (storable_time(item.said_at_ms))
		rebuild_log_note_begin(&rebuild->feedback, item.said_at_ms);
	if (storable_time(item.said_at_ms))
		ARENA_PUSH(rebuild->batch_arena, rebuild->messages, rebuild->messages_count,
			   rebuild->messages_capacity, item);
	return count_full_batch(rebuild, detail);
}

/* Reads and counts up to the ends of the spans: feedback first, so that events find it, also those that were
 * read before it in an earlier round. */
static err_t read_log(struct rebuild *rebuild, struct err_detail *detail)
{
	struct rebuild_log *scored = &rebuild->scored, *feedback = &rebuild->feedback;
	forget_batch(rebuild);
	err_t err = topic_reader_read(rebuild->reader, feedback->spans, feedback->count, take_feedback,
				      rebuild, detail);
	if (!err)
		err = count_batch(rebuild, detail);
	if (!err)
		err = topic_reader_read(rebuild->reader, scored->spans, scored->count, take_scored, rebuild,
					detail);
	return err ? err : count_batch(rebuild, detail);
}

/* ---- positions ---- */

static err_t take_positions_of(struct rebuild *rebuild, struct rebuild_log *log, struct err_detail *detail)
{
	return rebuild_log_take_positions(log, rebuild->database, rebuild->reader, rebuild->arena, detail);
}

/* How far the topics are counted. */
static err_t take_positions(struct rebuild *rebuild, struct err_detail *detail)
{
	err_t err = take_positions_of(rebuild, &rebuild->scored, detail);
	return err || !rebuild->horizon_ms ? err : take_positions_of(rebuild, &rebuild->feedback, detail);
}

/* ---- what can be said ---- */

static void note(struct rebuild *rebuild, str_t text)
{
	struct rebuild_outcome *summary = &rebuild->summary;
	ARENA_PUSH(rebuild->arena, summary->notes, summary->notes_count, rebuild->notes_capacity, text);
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

static str_t of_partition(struct rebuild *rebuild, const struct rebuild_log *log, size_t i, const char *what)
{
	return arena_printf(rebuild->arena, "partition %d of %s %s", (int)log->spans[i].partition, log->topic,
			    what);
}

/* Records that were deleted are older than the first that is kept; their cases are in the buckets still. */
static void limit_by_scored(struct rebuild *rebuild, size_t i)
{
	const struct rebuild_partition *partition = &rebuild->scored.partitions[i];
	int64_t first_ms = partition->first_ms < 0 ? rebuild->now_ms : partition->first_ms;
	int64_t *since_ms = &rebuild->summary.range.since_ms;
	if (partition->foreign) {
		note(rebuild, of_partition(rebuild, &rebuild->scored, i,
					   "ends before the position up to which it is counted: the topic "
					   "was deleted and created again"));
		rebuild->summary.complete = false;
		raise_to(since_ms, round_up_hour(rebuild->now_ms + CLOCK_MARGIN_MS));
	} else if (partition->low > 0) {
		note(rebuild, of_partition(rebuild, &rebuild->scored, i,
					   "has lost its earliest records, their cases cannot be counted "
					   "again"));
		rebuild->summary.complete = false;
		raise_to(since_ms, round_up_hour(first_ms + CLOCK_MARGIN_MS));
	}
}

/* Feedback counts for events from where they are remembered. */
static void limit_feedback_by_scored(struct rebuild *rebuild, const struct rebuild_partition *partition)
{
	int64_t since_ms = partition->remembered_ms < 0 ? rebuild->now_ms : partition->remembered_ms;
	if (partition->remembered_from > partition->low)
		raise_to(&rebuild->summary.range.feedback_since_ms,
			 round_up_hour(since_ms + CLOCK_MARGIN_MS));
}

/* What was said before the first message that is kept is about events of up to a horizon later. */
static void limit_by_feedback(struct rebuild *rebuild, size_t i)
{
	const struct rebuild_partition *partition = &rebuild->feedback.partitions[i];
	int64_t first_ms = partition->first_ms < 0 ? rebuild->now_ms : partition->first_ms;
	if (partition->low == 0 && !partition->foreign)
		return;
	note(rebuild,
	     of_partition(rebuild, &rebuild->feedback, i,
			  "does not contain its first messages any more: older feedback is not changed"));
	raise_to(&rebuild->summary.range.feedback_since_ms,
		 round_up_hour((partition->foreign ? rebuild->now_ms : first_ms) + rebuild->horizon_ms +
			       CLOCK_MARGIN_MS));
}

static err_t check_log(struct rebuild *rebuild, struct err_detail *detail)
{
	struct log_policy policy;
	err_t err = log_policy_read(rebuild->options, rebuild->arena, &policy, detail);
	if (err)
		return err;
	rebuild->summary.trusted = policy.trusted;
	for (size_t i = 0; i < policy.notes_count; i++)
		note(rebuild, policy.notes[i]);
	return ERR_OK;
}

/* What is beyond the retention may be deleted already. */
static int64_t kept_since_ms(const struct rebuild *rebuild)
{
	int64_t days = rebuild->options->retention_days;
	return days > 0 ? rebuild->now_ms - days * DAY_MS + CLOCK_MARGIN_MS : 0;
}

static void limit_feedback(struct rebuild *rebuild)
{
	struct rebuild_range *range = &rebuild->summary.range;
	range->feedback_since_ms = rebuild->horizon_ms ? range->since_ms : INT64_MAX;
	if (rebuild->horizon_ms && rebuild->options->retention_days) /* nobody counts it any more for these */
		raise_to(&range->feedback_since_ms, kept_since_ms(rebuild) + 2 * HOUR_MS);
	for (size_t i = 0; rebuild->horizon_ms && i < rebuild->scored.count; i++)
		limit_feedback_by_scored(rebuild, &rebuild->scored.partitions[i]);
	for (size_t i = 0; i < rebuild->feedback.count; i++)
		limit_by_feedback(rebuild, i);
}

static str_t of_topic(struct rebuild *rebuild, const char *topic, const char *what)
{
	return arena_printf(rebuild->arena, "%s %s", topic, what);
}

/* What was counted of another log is in the same buckets, and its rows have the same offsets. */
static err_t limit_by_other(struct rebuild *rebuild, struct err_detail *detail)
{
	struct rebuild_other other;
	err_t err = rebuild_guard_other(rebuild->database, rebuild->scored.topic, rebuild->feedback.topic,
					rebuild->arena, &other, detail);
	if (err || !other.topic)
		return err;
	note(rebuild,
	     of_topic(rebuild, other.topic,
		      "was counted into these tables, too: what was scored until then stays as it is"));
	rebuild->summary.complete = false;
	rebuild->former_ms = rebuild->feedback_former_ms = other.counted_ms + CLOCK_MARGIN_MS;
	raise_to(&rebuild->summary.range.since_ms, round_up_hour(rebuild->former_ms));
	return ERR_OK;
}

static void limit_by_former(struct rebuild *rebuild, const struct rebuild_former *former)
{
	if (!former->buckets && !former->rows)
		return;
	if (rebuild->summary.complete)
		note(rebuild, of_topic(rebuild, rebuild->scored.topic,
				       "begins later than what is stored: it does not have all that was "
				       "counted"));
	rebuild->summary.complete = false;
	if (former->rows)
		raise_to(&rebuild->former_ms, rebuild->scored.begin_ms);
	raise_to(&rebuild->summary.range.since_ms, round_up_hour(rebuild->scored.begin_ms + CLOCK_MARGIN_MS));
}

static void limit_feedback_by_former(struct rebuild *rebuild, const struct rebuild_former *former)
{
	if (!former->verdicts)
		return;
	raise_to(&rebuild->feedback_former_ms, rebuild->feedback.begin_ms);
	raise_to(&rebuild->summary.range.feedback_since_ms,
		 round_up_hour(rebuild->feedback.begin_ms + rebuild->horizon_ms + CLOCK_MARGIN_MS));
}

/* `stored` is the table with the hours. */
static err_t limit_range(struct rebuild *rebuild, const char *stored, struct err_detail *detail)
{
	struct rebuild_range *range = &rebuild->summary.range;
	struct rebuild_former former;
	*range = (struct rebuild_range){ .bucket_s = rebuild->options->bucket_s,
					 .since_ms = kept_since_ms(rebuild) };
	rebuild->summary.complete = true;
	rebuild_log_note_begin(&rebuild->scored, rebuild->now_ms);
	rebuild_log_note_begin(&rebuild->feedback, rebuild->now_ms);
	err_t err = limit_by_other(rebuild, detail);
	if (!err)
		err = rebuild_guard_former(rebuild->database, &rebuild->scored, &rebuild->feedback, stored,
					   range->since_ms, rebuild->horizon_ms, &former, detail);
	if (err)
		return err;
	for (size_t i = 0; i < rebuild->scored.count; i++)
		limit_by_scored(rebuild, i);
	limit_by_former(rebuild, &former);
	range->fine_since_ms = range->since_ms;
	limit_feedback(rebuild);
	limit_feedback_by_former(rebuild, &former);
	return ERR_OK;
}

/* ---- both ---- */

static err_t check_tables(struct database *database, struct err_detail *detail)
{
	int version = 0;
	err_t err = calibration_schema_read(database, &version, detail);
	if (!err && version != calibration_schema_version())
		err = calibration_schema_mismatch(version, detail);
	return err;
}

static err_t begin(struct rebuild *rebuild, const struct rebuild_options *options, struct arena *arena,
		   struct err_detail *detail)
{
	*rebuild =
		(struct rebuild){ .options = options,
				  .arena = arena,
				  .now_ms = options->now_ms ? options->now_ms : clock_wall_ms(),
				  .keep_since_ms = LATEST_TIME_MS,
				  .horizon_ms = options->feedback_horizon_ms,
				  .scored = { .topic = options->kafka->scored_topic, .begin_ms = INT64_MAX },
				  .feedback = { .topic = options->feedback_topic, .begin_ms = INT64_MAX } };
	if (options->retention_days && rebuild->horizon_ms > options->retention_days * DAY_MS)
		rebuild->horizon_ms = options->retention_days * DAY_MS;
	rebuild->database = database_new(options->dsn, options->password_file);
	database_set_settings(rebuild->database, "calibration.");
	database_set_application(rebuild->database, "assayd recount");
	err_t err = topic_reader_new(options->kafka, KAFKA_CALIBRATION_SUFFIX, &rebuild->reader, detail);
	if (!err)
		err = database_connect(rebuild->database, NULL, detail);
	if (!err)
		err = check_tables(rebuild->database, detail);
	return err;
}

static void rebuild_end(struct rebuild *rebuild)
{
	topic_reader_free(rebuild->reader);
	database_free(rebuild->database);
	arena_free(rebuild->batch_arena);
}

/* ---- verify ---- */

/* Segments, positions and buckets as they were at one moment. */
static err_t take_snapshot(struct rebuild *rebuild, struct err_detail *detail)
{
	err_t err = database_script(rebuild->database, "BEGIN ISOLATION LEVEL REPEATABLE READ", detail);
	if (!err)
		err = rebuild_tables_make(rebuild->database, detail);
	if (!err)
		err = rebuild_tables_copy(rebuild->database, kept_since_ms(rebuild) / DAY_MS * DAY_MS,
					  detail);
	if (!err)
		err = rebuild_tables_compare_totals(rebuild->database, &rebuild->totals, detail);
	if (!err)
		err = sequences_compare(rebuild->database, kept_since_ms(rebuild), &rebuild->sequences,
					detail);
	if (!err)
		err = rebuild_examples_copy(rebuild->database, kept_since_ms(rebuild), detail);
	if (!err)
		err = rebuild_claims_copy(rebuild->database, detail);
	if (!err && rebuild->horizon_ms)
		err = rebuild_tables_copy_memory(rebuild->database, rebuild->keep_since_ms, detail);
	if (!err)
		err = take_positions(rebuild, detail);
	return err ? err : database_script(rebuild->database, "COMMIT", detail);
}

/* The configured width may be a new one. */
static err_t limit_fine(struct rebuild *rebuild, struct err_detail *detail)
{
	int64_t other_until_ms;
	struct rebuild_range *range = &rebuild->summary.range;
	err_t err = rebuild_tables_other_width(rebuild->database, range->bucket_s, &other_until_ms, detail);
	if (!err && other_until_ms > range->fine_since_ms) {
		note(rebuild,
		     STR("calibration.bucket_s was changed: older buckets are compared by the hour"));
		raise_to(&range->fine_since_ms, other_until_ms);
	}
	return err;
}

/* What is older may be of another log; it has its place behind the others. */
static int64_t claims_since_ms(const struct rebuild *rebuild)
{
	int64_t since_ms = kept_since_ms(rebuild);
	return since_ms > rebuild->former_ms ? since_ms : rebuild->former_ms;
}

/* Whoever thins out days may have a clock that is ahead. */
static err_t verify_examples(struct rebuild *rebuild, struct err_detail *detail)
{
	struct rebuild_differences *differences = &rebuild->summary.differences;
	const struct rebuild_examples_range range = { .since_ms = kept_since_ms(rebuild),
						      .former_ms = rebuild->former_ms,
						      .now_ms = rebuild->now_ms + CLOCK_MARGIN_MS,
						      .scored = &rebuild->scored };
	return rebuild_examples_compare(rebuild->database, &range, &differences->sampled,
					&differences->examples, detail);
}

/* Since the horizon, nothing of the memory has been deleted by its age. */
static err_t verify_memory(struct rebuild *rebuild, struct err_detail *detail)
{
	struct rebuild_differences *differences = &rebuild->summary.differences;
	int64_t since_ms = rebuild->keep_since_ms;
	raise_to(&since_ms, rebuild->former_ms);
	raise_to(&since_ms, rebuild->feedback_former_ms);
	const struct rebuild_memory memory = { .since_ms = since_ms,
					       .until_ms = rebuild->now_ms,
					       .verdicts_since_ms = rebuild->summary.range.feedback_since_ms,
					       .scored = &rebuild->scored,
					       .feedback = &rebuild->feedback };
	return rebuild_tables_compare_memory(rebuild->database, &memory, &differences->events,
					     &differences->feedback, detail);
}

static err_t verify(struct rebuild *rebuild, struct err_detail *detail)
{
	rebuild->keep_since_ms = rebuild->now_ms - rebuild->horizon_ms;
	rebuild->samples = true;
	err_t err = check_log(rebuild, detail);
	if (!err)
		err = take_snapshot(rebuild, detail);
	if (!err)
		err = rebuild_guard_counted(rebuild->database, &rebuild->scored, detail);
	if (!err)
		err = read_log(rebuild, detail);
	if (!err)
		err = limit_range(rebuild, "rebuild_stored", detail);
	if (!err)
		err = limit_fine(rebuild, detail);
	if (!err)
		err = rebuild_tables_compare(rebuild->database, &rebuild->summary.range, rebuild->arena,
					     &rebuild->summary.differences, detail);
	rebuild->summary.differences.totals = rebuild->totals;
	rebuild->summary.differences.sequences = rebuild->sequences;
	if (!err)
		err = verify_examples(rebuild, detail);
	if (!err)
		err = rebuild_claims_compare(rebuild->database, &rebuild->scored, claims_since_ms(rebuild),
					     &rebuild->summary.differences.claims, detail);
	return err || !rebuild->horizon_ms ? err : verify_memory(rebuild, detail);
}

err_t rebuild_verify(const struct rebuild_options *options, struct arena *arena,
		     struct rebuild_outcome *ret_summary, struct err_detail *detail)
{
	_cleanup_(rebuild_end) struct rebuild rebuild;
	err_t err = begin(&rebuild, options, arena, detail);
	if (!err)
		err = verify(&rebuild, detail);
	if (!err)
		*ret_summary = rebuild.summary;
	return err;
}

/* ---- rebuild ---- */

/* Held until the connection ends. The server may notice that of the former rebuild a moment late. */
static err_t lock_rebuilds(struct database *database, struct err_detail *detail)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		_cleanup_(database_result_cleanup) PGresult *result = NULL;
		err_t err = database_query(database,
					   "SELECT pg_sleep($1::float8), pg_try_advisory_lock(7236837205)", 1,
					   (const char *const[]){ tries ? "0.2" : "0" }, &result, detail);
		if (err || PQgetvalue(result, 0, 1)[0] == 't')
			return err;
	}
	return err_fail(detail, ERR_CONFLICT, "another rebuild of the calibration is running");
}

/* What is replaced is in one place. */
static err_t take_over(struct rebuild *rebuild, struct err_detail *detail)
{
	bool more = true;
	err_t err = ERR_OK;
	while (!err && more)
		err = rollup_take_over(rebuild->database, &more, detail);
	return err;
}

static bool nearly_there(const struct rebuild *rebuild)
{
	return rebuild_log_left(&rebuild->scored) + rebuild_log_left(&rebuild->feedback) <= NEARLY_THERE;
}

/* Whether the topics are what was counted, by how long they are. */
static err_t check_length(struct rebuild *rebuild, struct err_detail *detail)
{
	err_t err = rebuild_guard_counted(rebuild->database, &rebuild->scored, detail);
	if (!err)
		err = rebuild_guard_length(rebuild->database, &rebuild->scored, detail);
	return err ? err : rebuild_guard_length(rebuild->database, &rebuild->feedback, detail);
}

/* Until few records are left, while others go on counting. */
static err_t catch_up(struct rebuild *rebuild, struct err_detail *detail)
{
	err_t err = take_positions(rebuild, detail);
	if (!err)
		err = check_length(rebuild, detail);
	for (int round = 0; !err && round < MAX_ROUNDS && !nearly_there(rebuild); round++) {
		err = read_log(rebuild, detail);
		if (!err)
			err = take_positions(rebuild, detail);
	}
	return err;
}

/* From here on nobody counts, until the transaction ends: so the positions stay where they are. */
#define LOCK_TABLES                                                                                          \
	"BEGIN; LOCK TABLE calibration_positions IN SHARE ROW EXCLUSIVE MODE; "                              \
	"LOCK TABLE calibration_buckets, calibration_rollups, calibration_segments, calibration_examples, "  \
	"calibration_claims IN SHARE ROW EXCLUSIVE MODE"

/* From the beginning of the log on events are remembered, so far as they are not too old. */
static err_t replace_memory(struct rebuild *rebuild, struct err_detail *detail)
{
	const char *const parameters[] = { rebuild->scored.topic };
	int64_t span_ms = rebuild->horizon_ms + DAY_MS;
	struct rebuild_memory_range range = { .since_ms = rebuild->now_ms - rebuild->horizon_ms - span_ms,
					      .until_ms = rebuild->now_ms + span_ms,
					      .former_ms = rebuild->former_ms,
					      .feedback_former_ms = rebuild->feedback_former_ms,
					      .verdicts_since_ms = rebuild->summary.range.feedback_since_ms,
					      .scored = &rebuild->scored,
					      .feedback = &rebuild->feedback };
	raise_to(&range.former_ms, rebuild->keep_since_ms); /* older ones were not kept of the log */
	err_t err = rebuild_memory_replace(rebuild->database, &range, &rebuild->summary.memory, detail);
	return err ? err
		   : database_query(rebuild->database,
				    "UPDATE calibration_positions SET remembered_from = 0 WHERE topic = $1",
				    1, parameters, NULL, detail);
}

static err_t replace_examples(struct rebuild *rebuild, struct err_detail *detail)
{
	const struct rebuild_examples_range range = { .since_ms = kept_since_ms(rebuild),
						      .former_ms = rebuild->former_ms,
						      .now_ms = rebuild->now_ms,
						      .scored = &rebuild->scored };
	return rebuild_examples_replace(rebuild->database, &range, &rebuild->summary.examples, detail);
}

/* feedback_lock() has its own needs. */
#define ANY_PLAN                                                                                             \
	"SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"

/* All was read, and nothing is replaced yet. */
static err_t check_what_was_read(struct rebuild *rebuild, struct err_detail *detail)
{
	int64_t since_ms = rebuild->keep_since_ms;
	err_t err = rebuild_guard_empty(rebuild->database, &rebuild->scored, detail);
	if (!err)
		err = limit_range(rebuild, "calibration_rollups", detail);
	raise_to(&since_ms, rebuild->former_ms);
	if (!err && rebuild->horizon_ms)
		err = rebuild_guard_identity(rebuild->database, &rebuild->scored, REBUILD_OF_EVENTS, since_ms,
					     detail);
	if (!err && rebuild->samples)
		err = rebuild_guard_identity(rebuild->database, &rebuild->scored, REBUILD_OF_EXAMPLES,
					     rebuild->former_ms, detail);
	return err;
}

static err_t replace_all(struct rebuild *rebuild, struct err_detail *detail)
{
	struct rebuild_outcome *summary = &rebuild->summary;
	err_t err = rebuild_tables_replace(rebuild->database, &summary->range, &summary->removed,
					   &summary->added, &summary->totals, detail);
	if (!err && rebuild->horizon_ms)
		err = replace_memory(rebuild, detail);
	if (!err && rebuild->samples)
		err = replace_examples(rebuild, detail);
	if (!err && rebuild->samples)
		err = rebuild_claims_replace(rebuild->database, &rebuild->scored, claims_since_ms(rebuild),
					     &summary->claims, detail);
	if (!err)
		err = sequences_doubt(rebuild->database, detail);
	return err ? err : rebuild_guard_stored(rebuild->database, &summary->stored, detail);
}

static err_t commit(struct rebuild *rebuild, struct err_detail *detail)
{
	const struct rebuild_options *options = rebuild->options;
	err_t err = ERR_OK;
	rebuild->summary.dry = options->dry;
	if (options->ready)
		err = options->ready(&rebuild->summary, options->ready_context, detail);
	return err ? err : database_script(rebuild->database, options->dry ? "ROLLBACK" : "COMMIT", detail);
}

static err_t replace(struct rebuild *rebuild, struct err_detail *detail)
{
	err_t err = database_script(rebuild->database, LOCK_TABLES, detail);
	rebuild->replacing = true;
	if (!err)
		err = take_positions(rebuild, detail);
	if (!err)
		err = check_length(rebuild, detail);
	if (!err)
		err = read_log(rebuild, detail);
	if (!err)
		err = database_script(rebuild->database, ANY_PLAN, detail);
	if (!err)
		err = check_what_was_read(rebuild, detail);
	if (!err)
		err = replace_all(rebuild, detail);
	return err ? err : commit(rebuild, detail);
}

err_t rebuild_rebuild(const struct rebuild_options *options, struct arena *arena,
		      struct rebuild_outcome *ret_summary, struct err_detail *detail)
{
	_cleanup_(rebuild_end) struct rebuild rebuild;
	err_t err = begin(&rebuild, options, arena, detail);
	rebuild.admits = true;
	rebuild.samples = options->learns;
	rebuild.scored.remembers_all = true;
	rebuild.scored.learns_all = options->learns;
	rebuild.keep_since_ms = rebuild.now_ms - rebuild.horizon_ms - DAY_MS;
	if (!err)
		err = check_log(&rebuild, detail);
	if (!err && !rebuild.summary.trusted)
		err = err_fail(detail, ERR_CALIBRATION_LOG,
			       "the log may have lost records, so that a rebuild would lose cases; nothing "
			       "was changed (" STR_FMT ")",
			       STR_ARG(rebuild.summary.notes[0]));
	if (!err)
		err = lock_rebuilds(rebuild.database, detail);
	if (!err)
		err = rebuild_tables_make(rebuild.database, detail);
	if (!err)
		err = take_over(&rebuild, detail);
	if (!err)
		err = catch_up(&rebuild, detail);
	if (!err)
		err = replace(&rebuild, detail);
	if (!err)
		*ret_summary = rebuild.summary;
	return err;
}
