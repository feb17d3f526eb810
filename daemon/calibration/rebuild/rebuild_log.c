#include "calibration/rebuild/rebuild_log.h"

#include "database/values.h"

static struct topic_span *find_span(const struct rebuild_log *log, int32_t partition)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->spans[i].partition == partition)
			return &log->spans[i];
	return NULL;
}

/* What is stored of a partition; offsets are INT64_MAX where there is none. */
struct stored_position {
	struct topic_span span;
	int64_t remembered_from, learnt_from, claims_from;
};

static int64_t offset_at(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) ? INT64_MAX : database_integer_at(result, row, column);
}

static err_t add_partition(struct rebuild_log *log, struct topic_reader *reader, struct arena *arena,
			   const struct stored_position *stored, struct err_detail *detail)
{
	struct topic_span span = stored->span;
	struct rebuild_partition partition = {
		.first_ms = -1,
		.remembered_ms = -1,
		.remembered_from = log->remembers_all ? 0 : stored->remembered_from,
		.learnt_from = log->learns_all ? 0 : stored->learnt_from,
		.claims_from = log->learns_all ? 0 : stored->claims_from,
	};
	err_t err = topic_reader_bounds(reader, log->topic, span.partition, &partition.low, &partition.high,
					detail);
	if (err)
		return err;
	size_t count = log->count;
	partition.foreign = span.until > partition.high;
	span.from = partition.foreign ? span.until : partition.low;
	ARENA_PUSH(arena, log->partitions, count, log->partitions_capacity, partition);
	ARENA_PUSH(arena, log->spans, log->count, log->spans_capacity, span);
	return ERR_OK;
}

err_t rebuild_log_take_positions(struct rebuild_log *log, struct database *database,
				 struct topic_reader *reader, struct arena *arena, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { log->topic };
	err_t err = database_query(database,
				   "SELECT partition, next_offset, remembered_from, CASE WHEN learnt_until = "
				   "next_offset THEN learnt_from END, CASE WHEN claims_until = next_offset "
				   "THEN claims_from END FROM calibration_positions "
				   "WHERE topic = $1 ORDER BY 1",
				   1, parameters, &result, detail);
	for (int row = 0; !err && row < PQntuples(result); row++) {
		const struct stored_position stored = {
			.span = { .topic = log->topic,
				  .partition = (int32_t)database_integer_at(result, row, 0),
				  .until = database_integer_at(result, row, 1) },
			.remembered_from = offset_at(result, row, 2),
			.learnt_from = offset_at(result, row, 3),
			.claims_from = offset_at(result, row, 4),
		};
		struct topic_span *span = find_span(log, stored.span.partition);
		if (span && stored.span.until < span->until)
			err = err_fail(
				detail, ERR_CONFLICT,
				"the stored position of partition %d of %s was reset during the verification",
				(int)stored.span.partition, log->topic);
		else if (span)
			span->until = stored.span.until;
		else
			err = add_partition(log, reader, arena, &stored, detail);
	}
	return err;
}

void rebuild_log_note_begin(struct rebuild_log *log, int64_t time_ms)
{
	if (log->begin_ms > time_ms)
		log->begin_ms = time_ms;
}

void rebuild_log_note_time(struct rebuild_log *log, size_t index, const rd_kafka_message_t *message,
			   int64_t now_ms)
{
	struct rebuild_partition *partition = &log->partitions[index];
	rd_kafka_timestamp_type_t type;
	int64_t published_ms = rd_kafka_message_timestamp(message, &type);
	if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
		published_ms = now_ms;
	if (partition->first_ms < 0)
		partition->first_ms = published_ms;
	if (partition->remembered_ms < 0 && message->offset >= partition->remembered_from)
		partition->remembered_ms = published_ms;
}

int64_t rebuild_log_left(const struct rebuild_log *log)
{
	int64_t left = 0;
	for (size_t i = 0; i < log->count; i++)
		if (log->spans[i].from < log->spans[i].until)
			left += log->spans[i].until - log->spans[i].from;
	return left;
}

void rebuild_places_free(struct rebuild_places *places)
{
	buf_free(&places->partitions);
	buf_free(&places->first);
}

static int64_t first_of(const struct rebuild_partition *partition, enum rebuild_part part)
{
	const int64_t from[] = {
		[REBUILD_ALL] = partition->low,
		[REBUILD_REMEMBERED] = partition->remembered_from,
		[REBUILD_LEARNT] = partition->learnt_from,
		[REBUILD_CLAIMED] = partition->claims_from,
	};
	return from[part] > partition->low ? from[part] : partition->low;
}

void rebuild_log_places(const struct rebuild_log *log, enum rebuild_part part,
			struct rebuild_places *ret_places)
{
	struct buf *partitions = &ret_places->partitions, *first = &ret_places->first;
	for (size_t i = 0; i < log->count; i++) {
		if (log->partitions[i].foreign)
			continue;
		buf_printf(partitions, "%s%d", partitions->len ? "," : "{", (int)log->spans[i].partition);
		buf_printf(first, "%s%lld", first->len ? "," : "{",
			   (long long)first_of(&log->partitions[i], part));
	}
	buf_append_text(partitions, partitions->len ? "}" : "{}");
	buf_append_text(first, first->len ? "}" : "{}");
}
