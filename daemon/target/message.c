#include "target/message.h"

#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define LENGTH_BYTES  4u
#define ABSENT	      UINT32_MAX
#define RECEIVE_BYTES 65536u

/* Least bytes that a truth, a part of it that is cut, a sort key, a text, a column, a broken truth and a
 * candidate's outcome take: an announced count above what is left is a lie. */
#define TRUTH_MIN_BYTES	 44u
#define CUT_MIN_BYTES	 31u
#define KEY_BYTES	 6u
#define TEXT_MIN_BYTES	 4u
#define COLUMN_MIN_BYTES 8u
#define BROKEN_MIN_BYTES 12u
#define CANDIDATE_BYTES	 8u

/* --- writing --- */

static size_t frame_begin(struct buf *out, enum message_kind kind)
{
	size_t start = out->len;
	buf_append_u32(out, 0);
	buf_append_char(out, (char)kind);
	return start;
}

/* Fills in the length; takes the frame back when it is too long. */
static err_t frame_end(struct buf *out, size_t start)
{
	size_t length = out->len - start - LENGTH_BYTES;
	if (length > MESSAGE_MAX_BYTES) {
		out->len = start;
		out->data[start] = '\0';
		return ERR_TARGET_PROTOCOL;
	}
	for (size_t i = 0; i < LENGTH_BYTES; i++)
		out->data[start + i] = (char)(unsigned char)(length >> (8 * i) & 0xff);
	return ERR_OK;
}

static void put_bool(struct buf *out, bool value)
{
	buf_append_char(out, value ? 1 : 0);
}

static void put_i64(struct buf *out, int64_t value)
{
	buf_append_u64(out, (uint64_t)value);
}

static void put_double(struct buf *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	buf_append_u64(out, bits);
}

/* A share; −1: it is not set. */
static void put_rate(struct buf *out, opt_double_t rate)
{
	put_double(out, rate.set ? rate.value : -1);
}

static void put_text(struct buf *out, str_t text)
{
	bool present = str_present(text) && text.len < ABSENT;
	buf_append_u32(out, present ? (uint32_t)text.len : ABSENT);
	if (present)
		buf_append_str(out, text);
}

static void put_texts(struct buf *out, const str_t *texts, size_t count)
{
	buf_append_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_text(out, texts[i]);
}

err_t message_put_settings(struct buf *out, const struct worker_settings *settings)
{
	const struct target_settings *target = &settings->target;
	size_t start = frame_begin(out, MESSAGE_SETTINGS);
	put_text(out, str_from(target->name));
	buf_append_u32(out, (uint32_t)target->engine);
	put_text(out, str_from(target->dsn));
	put_text(out, settings->password);
	put_text(out, str_from(target->path));
	put_i64(out, target->statement_timeout_ms);
	put_i64(out, target->lock_timeout_ms);
	put_i64(out, target->max_rows);
	put_i64(out, target->max_result_bytes);
	put_bool(out, target->stream_large_results);
	put_i64(out, target->worker_memory_bytes);
	put_i64(out, target->connections);
	put_i64(out, target->truth_cache_bytes);
	put_i64(out, target->sample_documents);
	put_i64(out, target->truth_cache_ttl_s);
	put_double(out, target->absolute_tolerance);
	put_double(out, target->relative_tolerance);
	put_bool(out, target->policy.double_quotes_are_names);
	put_bool(out, target->no_trace);
	return frame_end(out, start);
}

static void put_order_keys(struct buf *out, const struct sql_order_key *keys, size_t count)
{
	buf_append_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		buf_append_u32(out, (uint32_t)keys[i].column);
		put_bool(out, keys[i].descending);
		put_bool(out, keys[i].nulls_first);
	}
}

static void put_table(struct buf *out, const struct result_set *table)
{
	put_bool(out, table != NULL);
	if (!table)
		return;
	buf_append_u32(out, (uint32_t)table->columns_count);
	for (size_t i = 0; i < table->columns_count; i++) {
		put_text(out, table->columns[i].name);
		buf_append_u32(out, (uint32_t)table->columns[i].type);
	}
	buf_append_u32(out, (uint32_t)table->rows_count);
	for (size_t i = 0; i < table->rows_count * table->columns_count; i++)
		put_text(out, table->cells[i]);
}

static void put_shown(struct buf *out, const struct sort_keys *shown)
{
	put_text(out, shown->sql);
	buf_append_u32(out, (uint32_t)shown->added);
	put_order_keys(out, shown->keys, shown->keys_count);
	put_bool(out, shown->documents);
	put_bool(out, shown->cut.known);
	put_i64(out, shown->cut.offset);
	put_i64(out, shown->cut.limit);
}

static void put_truth(struct buf *out, const struct validation_truth *truth)
{
	put_text(out, truth->sql);
	put_table(out, truth->table);
	put_bool(out, truth->ordered);
	put_bool(out, truth->limited);
	put_order_keys(out, truth->order_keys, truth->order_keys_count);
	put_shown(out, &truth->shown);
	buf_append_u32(out, (uint32_t)truth->inner_cuts_count);
	for (size_t i = 0; i < truth->inner_cuts_count; i++) {
		put_bool(out, truth->inner_cuts[i].ordered);
		put_bool(out, truth->inner_cuts[i].distinct_on);
		put_shown(out, &truth->inner_cuts[i].shown);
	}
}

err_t message_put_validate(struct buf *out, const struct validation_request *request)
{
	size_t start = frame_begin(out, MESSAGE_VALIDATE);
	put_text(out, request->generated_sql);
	put_text(out, request->catalog_digest);
	buf_append_u32(out, (uint32_t)request->truths_count);
	for (size_t i = 0; i < request->truths_count; i++)
		put_truth(out, &request->truths[i]);
	put_texts(out, request->comparing.columns, request->comparing.columns_count);
	put_bool(out, request->comparing.ignore_order);
	put_double(out, request->comparing.absolute_tolerance);
	buf_append_u32(out, (uint32_t)request->comparing.sample_rows);
	put_texts(out, request->candidates.texts, request->candidates.count);
	put_truth(out, &request->candidates.answer);
	put_i64(out, request->candidates.budget_ms);
	put_i64(out, request->candidates.max_rows);
	return frame_end(out, start);
}

err_t message_put_request(struct buf *out, enum message_kind kind)
{
	return frame_end(out, frame_begin(out, kind));
}

static void put_execution(struct buf *out, const struct validation_execution *execution)
{
	put_i64(out, execution->rows);
	put_bool(out, execution->more);
	put_double(out, execution->time_ms);
	put_text(out, str_from(execution->sqlstate));
	buf_append_u32(out, (uint32_t)execution->code);
	put_text(out, str_from(execution->digest));
}

static void put_cells(struct buf *out, const struct compare_cells *rows, size_t count)
{
	buf_append_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_texts(out, rows[i].items, rows[i].count);
}

static void put_explanation(struct buf *out, const struct compare_explanation *explanation)
{
	put_bool(out, explanation != NULL);
	if (!explanation)
		return;
	buf_append_u64(out, explanation->generated_columns);
	buf_append_u64(out, explanation->truth_columns);
	buf_append_u32(out, (uint32_t)explanation->paired_count);
	for (size_t i = 0; i < explanation->paired_count; i++) {
		put_text(out, explanation->paired[i].truth);
		put_text(out, explanation->paired[i].generated);
	}
	put_texts(out, explanation->missing, explanation->missing_count);
	put_texts(out, explanation->extra, explanation->extra_count);
	put_cells(out, explanation->missing_rows, explanation->missing_rows_count);
	put_cells(out, explanation->extra_rows, explanation->extra_rows_count);
	put_bool(out, explanation->other_order);
	put_bool(out, explanation->shortened);
	put_bool(out, explanation->estimated);
	put_bool(out, explanation->generated_more);
	put_bool(out, explanation->truth_more);
}

static void put_broken(struct buf *out, const struct validation_result *result)
{
	buf_append_u32(out, (uint32_t)result->broken_count);
	for (size_t i = 0; i < result->broken_count; i++) {
		buf_append_u32(out, (uint32_t)result->broken[i].truth_index);
		buf_append_u32(out, (uint32_t)result->broken[i].error);
		put_text(out, result->broken[i].message);
	}
}

err_t message_put_validated(struct buf *out, const struct validation_result *result)
{
	size_t start = frame_begin(out, MESSAGE_VALIDATED);
	buf_append_u32(out, (uint32_t)result->status);
	buf_append_u32(out, (uint32_t)result->error);
	put_text(out, result->message);
	put_double(out, result->score);
	buf_append_u64(out, result->truth_index);
	put_bool(out, result->schema_match);
	put_bool(out, result->row_count_match);
	put_double(out, result->content_match_rate);
	put_i64(out, result->rows_matched);
	put_i64(out, result->rows_compared);
	put_bool(out, result->ordering_matters);
	put_bool(out, result->truncated);
	put_bool(out, result->nondeterministic);
	buf_append_u32(out, (uint32_t)result->doubt);
	buf_append_u32(out, (uint32_t)result->doubted_truth);
	put_bool(out, result->conclusive);
	put_bool(out, result->limit_cut_tie);
	put_bool(out, result->truth_cached);
	put_bool(out, result->apart);
	put_rate(out, result->match_rate_low);
	put_rate(out, result->match_rate_high);
	put_explanation(out, result->explanation);
	put_execution(out, &result->generated);
	put_execution(out, &result->truth);
	put_broken(out, result);
	buf_append_u32(out, (uint32_t)result->candidates_count);
	for (size_t i = 0; i < result->candidates_count; i++) {
		buf_append_u32(out, (uint32_t)result->candidates[i].outcome);
		buf_append_u32(out, result->candidates[i].same_as);
	}
	buf_append_u32(out, (uint32_t)result->candidates_error);
	put_text(out, result->candidates_message);
	return frame_end(out, start);
}

err_t message_put_text(struct buf *out, const struct text_reply *reply)
{
	size_t start = frame_begin(out, MESSAGE_TEXT);
	buf_append_u32(out, (uint32_t)reply->error);
	put_text(out, reply->text);
	return frame_end(out, start);
}

/* --- reading --- */

/* Once something does not fit, `bad` stays set and every further field reads as zero. */
struct message_reader {
	const unsigned char *at;
	size_t left;
	struct arena *arena;
	bool bad;
};

static struct message_reader reader_init(str_t payload, struct arena *arena)
{
	return (struct message_reader){ (const unsigned char *)payload.ptr, payload.len, arena, false };
}

static err_t reader_end(const struct message_reader *reader)
{
	return reader->bad || reader->left ? ERR_TARGET_PROTOCOL : ERR_OK;
}

static const unsigned char *get_bytes(struct message_reader *reader, size_t count)
{
	if (reader->bad || reader->left < count) {
		reader->bad = true;
		return NULL;
	}
	const unsigned char *bytes = reader->at;
	reader->at += count;
	reader->left -= count;
	return bytes;
}

static uint64_t get_integer(struct message_reader *reader, size_t size_bytes)
{
	const unsigned char *bytes = get_bytes(reader, size_bytes);
	uint64_t value = 0;
	for (size_t i = 0; bytes && i < size_bytes; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static uint32_t get_u32(struct message_reader *reader)
{
	return (uint32_t)get_integer(reader, 4);
}

static int64_t get_i64(struct message_reader *reader)
{
	return (int64_t)get_integer(reader, 8);
}

static bool get_bool(struct message_reader *reader)
{
	uint64_t value = get_integer(reader, 1);
	if (value > 1)
		reader->bad = true;
	return value == 1;
}

static double get_double(struct message_reader *reader)
{
	uint64_t bits = get_integer(reader, 8);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static opt_double_t get_rate(struct message_reader *reader)
{
	double value = get_double(reader);
	bool in_range = value >= 0 && value <= 1; /* a NaN is not */
	if (!in_range && value != -1)
		reader->bad = true;
	return in_range ? opt_double(value) : (opt_double_t){ 0 };
}

/* A number below `limit`. */
static uint32_t get_below(struct message_reader *reader, uint32_t limit)
{
	uint32_t value = get_u32(reader);
	if (value >= limit)
		reader->bad = true;
	return reader->bad ? 0 : value;
}

static str_t get_text(struct message_reader *reader)
{
	uint32_t length = get_u32(reader);
	if (reader->bad || length == ABSENT)
		return STR_NONE;
	const unsigned char *bytes = get_bytes(reader, length);
	return bytes ? arena_text(reader->arena, (const char *)bytes, length) : STR_NONE;
}

/* The number of items of at least `item_bytes` that follow. */
static size_t get_count(struct message_reader *reader, size_t item_bytes)
{
	uint32_t count = get_u32(reader);
	if (count > reader->left / item_bytes)
		reader->bad = true;
	return reader->bad ? 0 : count;
}

err_t message_get_settings(str_t payload, struct arena *arena, struct worker_settings *ret_settings)
{
	struct message_reader reader = reader_init(payload, arena);
	struct worker_settings settings = { 0 };
	settings.target.name = get_text(&reader).ptr;
	settings.target.engine = (enum target_engine)get_below(&reader, TARGET_ENGINES_COUNT);
	settings.target.dsn = get_text(&reader).ptr;
	settings.password = get_text(&reader);
	settings.target.path = get_text(&reader).ptr;
	settings.target.statement_timeout_ms = get_i64(&reader);
	settings.target.lock_timeout_ms = get_i64(&reader);
	settings.target.max_rows = get_i64(&reader);
	settings.target.max_result_bytes = get_i64(&reader);
	settings.target.stream_large_results = get_bool(&reader);
	settings.target.worker_memory_bytes = get_i64(&reader);
	settings.target.connections = (unsigned)get_i64(&reader);
	settings.target.truth_cache_bytes = get_i64(&reader);
	settings.target.sample_documents = get_i64(&reader);
	settings.target.truth_cache_ttl_s = get_i64(&reader);
	settings.target.absolute_tolerance = get_double(&reader);
	settings.target.relative_tolerance = get_double(&reader);
	settings.target.policy.double_quotes_are_names = get_bool(&reader);
	settings.target.no_trace = get_bool(&reader);
	err_t err = reader_end(&reader);
	if (!err)
		*ret_settings = settings;
	return err;
}

static const struct sql_order_key *get_order_keys(struct message_reader *reader, size_t *ret_count)
{
	*ret_count = get_count(reader, KEY_BYTES);
	struct sql_order_key *keys = ARENA_ARRAY(reader->arena, struct sql_order_key, *ret_count);
	for (size_t i = 0; i < *ret_count; i++) {
		keys[i].column = (int)get_u32(reader);
		keys[i].descending = get_bool(reader);
		keys[i].nulls_first = get_bool(reader);
	}
	return keys;
}

static const str_t *get_texts(struct message_reader *reader, size_t *ret_count)
{
	*ret_count = get_count(reader, TEXT_MIN_BYTES);
	str_t *texts = ARENA_ARRAY(reader->arena, str_t, *ret_count);
	for (size_t i = 0; i < *ret_count; i++)
		texts[i] = get_text(reader);
	return texts;
}

static const struct result_set *get_table(struct message_reader *reader)
{
	if (!get_bool(reader))
		return NULL;
	struct result_set *table = ARENA_NEW(reader->arena, struct result_set);
	table->columns_count = get_count(reader, COLUMN_MIN_BYTES);
	struct result_column *columns =
		ARENA_ARRAY(reader->arena, struct result_column, table->columns_count);
	for (size_t i = 0; i < table->columns_count; i++) {
		columns[i].name = get_text(reader);
		columns[i].type = (enum cell_class)get_below(reader, CELL_NULL + 1);
	}
	table->columns = columns;
	reader->bad |= table->columns_count == 0; /* rows of it would take no bytes */
	table->rows_count = reader->bad ? 0 : get_count(reader, table->columns_count * TEXT_MIN_BYTES);
	str_t *cells = ARENA_ARRAY(reader->arena, str_t, table->rows_count * table->columns_count);
	for (size_t i = 0; i < table->rows_count * table->columns_count; i++)
		cells[i] = get_text(reader);
	table->cells = cells;
	return table;
}

static struct sort_keys get_shown(struct message_reader *reader)
{
	struct sort_keys shown = { .sql = get_text(reader) };
	shown.added = get_u32(reader);
	shown.keys = get_order_keys(reader, &shown.keys_count);
	shown.documents = get_bool(reader);
	shown.cut.known = get_bool(reader);
	shown.cut.offset = get_i64(reader);
	shown.cut.limit = get_i64(reader);
	return shown;
}

static void get_truth(struct message_reader *reader, struct validation_truth *truth)
{
	truth->sql = get_text(reader);
	truth->table = get_table(reader);
	truth->ordered = get_bool(reader);
	truth->limited = get_bool(reader);
	truth->order_keys = get_order_keys(reader, &truth->order_keys_count);
	truth->shown = get_shown(reader);
	truth->inner_cuts_count = get_count(reader, CUT_MIN_BYTES);
	struct inner_cut *cuts = ARENA_ARRAY(reader->arena, struct inner_cut, truth->inner_cuts_count);
	for (size_t i = 0; i < truth->inner_cuts_count; i++) {
		cuts[i].ordered = get_bool(reader);
		cuts[i].distinct_on = get_bool(reader);
		cuts[i].shown = get_shown(reader);
	}
	truth->inner_cuts = cuts;
}

err_t message_get_validate(str_t payload, struct arena *arena, struct validation_request *ret_request)
{
	struct message_reader reader = reader_init(payload, arena);
	struct validation_request request = { .generated_sql = get_text(&reader) };
	request.catalog_digest = get_text(&reader);
	request.truths_count = get_count(&reader, TRUTH_MIN_BYTES);
	struct validation_truth *truths = ARENA_ARRAY(arena, struct validation_truth, request.truths_count);
	for (size_t i = 0; i < request.truths_count; i++)
		get_truth(&reader, &truths[i]);
	request.truths = truths;
	request.comparing.columns = get_texts(&reader, &request.comparing.columns_count);
	request.comparing.ignore_order = get_bool(&reader);
	request.comparing.absolute_tolerance = get_double(&reader);
	request.comparing.sample_rows = get_u32(&reader);
	request.candidates.texts = get_texts(&reader, &request.candidates.count);
	get_truth(&reader, &request.candidates.answer);
	request.candidates.budget_ms = get_i64(&reader);
	request.candidates.max_rows = get_i64(&reader);
	if (!(request.comparing.absolute_tolerance >= 0)) /* nor a NaN */
		reader.bad = true;
	err_t err = reader_end(&reader);
	if (!err)
		*ret_request = request;
	return err;
}

static struct validation_execution get_execution(struct message_reader *reader)
{
	struct validation_execution execution = { .rows = get_i64(reader) };
	execution.more = get_bool(reader);
	execution.time_ms = get_double(reader);
	str_t sqlstate = get_text(reader);
	execution.code = (int32_t)get_u32(reader);
	if (sqlstate.len >= sizeof execution.sqlstate)
		reader->bad = true;
	else if (sqlstate.len)
		memcpy(execution.sqlstate, sqlstate.ptr, sqlstate.len);
	str_t digest = get_text(reader);
	if (digest.len >= sizeof execution.digest)
		reader->bad = true;
	else if (digest.len)
		memcpy(execution.digest, digest.ptr, digest.len);
	return execution;
}

/* A text of an explanation: what is longer was not made by us. */
static str_t get_short_text(struct message_reader *reader)
{
	str_t text = get_text(reader);
	if (text.len > COMPARE_EXPLAIN_TEXT + strlen("…"))
		reader->bad = true;
	return reader->bad ? STR_NONE : text;
}

static str_t *get_short_texts(struct message_reader *reader, size_t *ret_count)
{
	*ret_count = get_below(reader, COMPARE_EXPLAIN_NAMES + 1);
	str_t *texts = ARENA_ARRAY(reader->arena, str_t, *ret_count);
	for (size_t i = 0; i < *ret_count; i++)
		texts[i] = get_short_text(reader);
	return texts;
}

static struct compare_cells *get_cells(struct message_reader *reader, size_t *ret_count)
{
	*ret_count = get_below(reader, COMPARE_EXPLAIN_ROWS + 1);
	struct compare_cells *rows = ARENA_ARRAY(reader->arena, struct compare_cells, *ret_count);
	for (size_t i = 0; i < *ret_count; i++)
		rows[i].items = get_short_texts(reader, &rows[i].count);
	return rows;
}

static struct compare_explanation *get_explanation(struct message_reader *reader)
{
	if (!get_bool(reader))
		return NULL;
	struct compare_explanation *explanation = ARENA_NEW(reader->arena, struct compare_explanation);
	explanation->generated_columns = get_integer(reader, 8);
	explanation->truth_columns = get_integer(reader, 8);
	explanation->paired_count = get_below(reader, COMPARE_EXPLAIN_NAMES + 1);
	explanation->paired = ARENA_ARRAY(reader->arena, struct compare_names, explanation->paired_count);
	for (size_t i = 0; i < explanation->paired_count; i++) {
		explanation->paired[i].truth = get_short_text(reader);
		explanation->paired[i].generated = get_short_text(reader);
	}
	explanation->missing = get_short_texts(reader, &explanation->missing_count);
	explanation->extra = get_short_texts(reader, &explanation->extra_count);
	explanation->missing_rows = get_cells(reader, &explanation->missing_rows_count);
	explanation->extra_rows = get_cells(reader, &explanation->extra_rows_count);
	explanation->other_order = get_bool(reader);
	explanation->shortened = get_bool(reader);
	explanation->estimated = get_bool(reader);
	explanation->generated_more = get_bool(reader);
	explanation->truth_more = get_bool(reader);
	return explanation;
}

static const struct validation_broken *get_broken(struct message_reader *reader, size_t *ret_count)
{
	*ret_count = get_count(reader, BROKEN_MIN_BYTES);
	struct validation_broken *broken = ARENA_ARRAY(reader->arena, struct validation_broken, *ret_count);
	for (size_t i = 0; i < *ret_count; i++) {
		broken[i].truth_index = get_u32(reader);
		broken[i].error = (err_t)get_below(reader, ERR_COUNT_);
		broken[i].message = get_text(reader);
	}
	return broken;
}

static const struct candidate_result *get_candidates(struct message_reader *reader, size_t *ret_count)
{
	*ret_count = get_count(reader, CANDIDATE_BYTES);
	struct candidate_result *results = ARENA_ARRAY(reader->arena, struct candidate_result, *ret_count);
	for (size_t i = 0; i < *ret_count; i++) {
		results[i].outcome = (enum candidate_outcome)get_below(reader, CANDIDATE_OUTCOME_COUNT_);
		results[i].same_as = (uint32_t)get_below(reader, (unsigned)i + 1); /* itself or one before */
	}
	return results;
}

err_t message_get_validated(str_t payload, struct arena *arena, struct validation_result *ret_result)
{
	struct message_reader reader = reader_init(payload, arena);
	struct validation_result result = { 0 };
	result.status = (enum validation_status)get_below(&reader, VALIDATION_STATUS_COUNT_);
	result.error = (err_t)get_below(&reader, ERR_COUNT_);
	result.message = get_text(&reader);
	result.score = get_double(&reader);
	result.truth_index = get_integer(&reader, 8);
	result.schema_match = get_bool(&reader);
	result.row_count_match = get_bool(&reader);
	result.content_match_rate = get_double(&reader);
	result.rows_matched = get_i64(&reader);
	result.rows_compared = get_i64(&reader);
	result.ordering_matters = get_bool(&reader);
	result.truncated = get_bool(&reader);
	result.nondeterministic = get_bool(&reader);
	result.doubt = (enum validation_doubt)get_below(&reader, VALIDATION_DOUBT_COUNT_);
	result.doubted_truth = get_u32(&reader);
	result.conclusive = get_bool(&reader);
	result.limit_cut_tie = get_bool(&reader);
	result.truth_cached = get_bool(&reader);
	result.apart = get_bool(&reader);
	result.match_rate_low = get_rate(&reader);
	result.match_rate_high = get_rate(&reader);
	result.explanation = get_explanation(&reader);
	result.generated = get_execution(&reader);
	result.truth = get_execution(&reader);
	result.broken = get_broken(&reader, &result.broken_count);
	result.candidates = get_candidates(&reader, &result.candidates_count);
	result.candidates_error = (err_t)get_below(&reader, ERR_COUNT_);
	result.candidates_message = get_text(&reader);
	/* written so that a NaN is out of range too */
	bool in_range = result.score >= 0 && result.score <= 1 && result.content_match_rate >= 0 &&
			result.content_match_rate <= 1;
	if (reader_end(&reader) || !in_range)
		return ERR_TARGET_PROTOCOL;
	*ret_result = result;
	return ERR_OK;
}

err_t message_get_text(str_t payload, struct arena *arena, struct text_reply *ret_reply)
{
	struct message_reader reader = reader_init(payload, arena);
	struct text_reply reply = { .error = (err_t)get_below(&reader, ERR_COUNT_) };
	reply.text = get_text(&reader);
	err_t err = reader_end(&reader);
	if (!err)
		*ret_reply = reply;
	return err;
}

err_t message_peek(str_t in, bool *ret_complete, struct message *ret_message)
{
	struct message_reader reader = reader_init(in, NULL);
	*ret_complete = false;
	if (in.len < LENGTH_BYTES)
		return ERR_OK;
	size_t length = get_u32(&reader);
	if (length < 1 || length > MESSAGE_MAX_BYTES)
		return ERR_TARGET_PROTOCOL;
	if (reader.left < length)
		return ERR_OK;
	ret_message->kind = (enum message_kind)get_integer(&reader, 1);
	ret_message->payload = (str_t){ (const char *)reader.at, length - 1 };
	ret_message->frame_bytes = LENGTH_BYTES + length;
	*ret_complete = true;
	return ERR_OK;
}

/* --- blocking --- */

err_t message_send(int fd, const struct buf *frame)
{
	for (size_t sent = 0; sent < frame->len;) {
		ssize_t count = send(fd, frame->data + sent, frame->len - sent, MSG_NOSIGNAL);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return ERR_IO;
		sent += (size_t)count;
	}
	return ERR_OK;
}

/* Waits until `fd` can be read. */
static err_t wait_readable(int fd, int64_t deadline_us)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	for (;;) {
		int64_t left_us = deadline_us - clock_monotonic_us();
		int ready = poll(&poll_fd, 1, left_us <= 0 ? 0 : (int)(left_us / 1000 + 1));
		if (ready > 0)
			return ERR_OK;
		if (ready == 0)
			return ERR_TIMEOUT;
		if (errno != EINTR)
			return ERR_IO;
	}
}

static err_t receive_bytes(int fd, int64_t deadline_us, size_t count, struct buf *buffer)
{
	while (count > 0) {
		err_t err = deadline_us < 0 ? ERR_OK : wait_readable(fd, deadline_us); /* recv waits, too */
		if (err)
			return err;
		size_t step = count < RECEIVE_BYTES ? count : RECEIVE_BYTES;
		ssize_t got = recv(fd, buf_reserve(buffer, step), step, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return ERR_IO;
		buffer->len += (size_t)got;
		buffer->data[buffer->len] = '\0';
		count -= (size_t)got;
	}
	return ERR_OK;
}

err_t message_receive(int fd, int64_t timeout_ms, struct buf *buffer, struct message *ret_message)
{
	int64_t deadline_us = timeout_ms < 0 ? -1 : clock_monotonic_us() + timeout_ms * 1000;
	bool complete = false;
	buf_reset(buffer);
	err_t err = receive_bytes(fd, deadline_us, LENGTH_BYTES, buffer);
	if (!err)
		err = message_peek(buf_str(buffer), &complete, ret_message);
	if (err)
		return err;
	struct message_reader reader = reader_init(buf_str(buffer), NULL);
	err = receive_bytes(fd, deadline_us, get_u32(&reader), buffer);
	if (!err)
		err = message_peek(buf_str(buffer), &complete, ret_message);
	return err;
}

/* --- several frames at a time --- */

str_t message_inbox_rest(const struct message_inbox *inbox)
{
	str_t all = buf_str(&inbox->bytes);
	return (str_t){ all.ptr + inbox->taken, all.len - inbox->taken };
}

void message_inbox_take(struct message_inbox *inbox, const struct message *message)
{
	inbox->taken += message->frame_bytes;
}

static void drop_taken(struct message_inbox *inbox)
{
	str_t rest = message_inbox_rest(inbox);
	if (inbox->taken > 0)
		memmove(inbox->bytes.data, rest.ptr, rest.len);
	inbox->bytes.len = rest.len;
	inbox->taken = 0;
}

err_t message_inbox_fill(struct message_inbox *inbox, bool wait)
{
	ssize_t got;
	drop_taken(inbox);
	do {
		char *to = buf_reserve(&inbox->bytes, RECEIVE_BYTES);
		got = recv(inbox->fd, to, RECEIVE_BYTES, wait ? 0 : MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	if (got < 0 && !wait && (errno == EAGAIN || errno == EWOULDBLOCK))
		return ERR_OK;
	if (got <= 0)
		return ERR_IO;
	inbox->bytes.len += (size_t)got;
	inbox->bytes.data[inbox->bytes.len] = '\0';
	return ERR_OK;
}
