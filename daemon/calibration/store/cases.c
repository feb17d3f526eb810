#include "calibration/store/cases.h"

#include "avro/overall_rules.h"
#include "calibration/store/rules.h"
#include "common/decimal.h"
#include "common/hash.h"
#include "common/utf8.h"
#include "database/array.h"
#include "database/values.h"

#include <math.h>

enum { SEGMENT_TEXT_BYTES = 256, MAX_FEATURES = 256, MAX_FEATURE_NAME = 64, MAX_DOCUMENTS = 32 };

#define MAX_FEATURE 1e6

/* Until the year 3000. */
#define LATEST_MS INT64_C(32503680000000)

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

struct calibration_event_key calibration_event_key(str_t event_id)
{
	struct calibration_event_key key;
	char hex[DIGEST_HEX_SIZE];
	hash_sha256_hex(event_id.ptr, event_id.len, hex);
	snprintf(key.text, sizeof key.text, "%.32s", hex);
	return key;
}

static bool storable(str_t text)
{
	return !str_present(text) ||
	       (utf8_valid(text.ptr, text.len) && !(text.len && memchr(text.ptr, '\0', text.len)));
}

bool calibration_weight_valid(double weight)
{
	return weight >= 1e-12 && weight <= 1e12;
}

static bool label_valid(const struct calibration_case *item)
{
	return item->label_source == ENUM_ABSENT ||
	       (item->label_source >= LABEL_FEEDBACK && item->label_source <= LABEL_RELEVANCE &&
		calibration_weight_valid(item->weight));
}

bool calibration_case_valid(const struct calibration_case *item)
{
	return item->scored_at_ms >= 0 && item->scored_at_ms < LATEST_MS && item->level >= LEVEL_VERY_LOW &&
	       item->level <= LEVEL_HIGH && item->confidence >= 0 && item->confidence <= 1 &&
	       label_valid(item) && storable(item->application) && storable(item->model) &&
	       storable(item->prompt_version);
}

/* The shortest decimal that reads back as the same double: exact sums need exact terms, and this is the term
 * that everybody sees who prints the number. */
static void append_double(struct buf *out, double value)
{
	out->len += decimal_write(value, buf_reserve(out, DECIMAL_SIZE));
}

/* Names are a program's own, but a record may come from anywhere: what is none is left out. */
static bool is_name(str_t text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!((text.ptr[i] >= 'a' && text.ptr[i] <= 'z') || text.ptr[i] == '_' ||
		      (text.ptr[i] >= '0' && text.ptr[i] <= '9')))
			return false;
	return text.len > 0 && text.len <= MAX_FEATURE_NAME;
}

/* 0: there is none. */
static uint64_t number_question(const struct generated_query *input, struct arena *arena)
{
	str_t question = input ? input->question : STR("");
	char *text = arena_alloc(arena, question.len + 1);
	unsigned char digest[DIGEST_BYTES];
	uint64_t number = 0;
	size_t len = 0;
	for (size_t i = 0; i < question.len; i++) {
		unsigned char c = (unsigned char)question.ptr[i];
		if (c > ' ')
			text[len++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
		else if (len > 0 && text[len - 1] != ' ')
			text[len++] = ' ';
	}
	len -= len > 0 && text[len - 1] == ' ';
	if (len == 0)
		return 0;
	hash_sha256(text, len, digest);
	for (size_t i = 0; i < 7; i++)
		number = number << 8 | digest[i];
	return number >> 4;
}

/* A member's quotes, colon and comma, and its number. */
enum { MEMBER_SIZE = 4 + DECIMAL_SIZE };

/* Appends the name and the colon of a member of an object; the text has room. */
static char *begin_member(char *at, const char *object, str_t name)
{
	char first = at == object ? '{' : ',';
	*at++ = first;
	*at++ = '"';
	memcpy(at, name.ptr, name.len);
	at += name.len;
	*at++ = '"';
	*at++ = ':';
	return at;
}

/* A JSON object. */
static str_t write_features(const struct record_feature *features, size_t count, uint64_t question,
			    struct arena *arena)
{
	const str_t question_name = STR(CALIBRATION_QUESTION);
	size_t size = sizeof "{}" + MEMBER_SIZE + question_name.len;
	for (size_t i = 0; i < count; i++)
		size += MEMBER_SIZE +
			(features[i].name.len < MAX_FEATURE_NAME ? features[i].name.len : MAX_FEATURE_NAME);
	char *object = arena_alloc(arena, size), *at = object;
	for (size_t i = 0; i < count; i++) {
		const struct record_feature *feature = &features[i];
		if (!is_name(feature->name) || !(fabs(feature->value) <= MAX_FEATURE))
			continue;
		at = begin_member(at, object, feature->name);
		at += decimal_write(feature->value, at);
	}
	if (question) {
		at = begin_member(at, object, question_name);
		at += decimal_write_integer((int64_t)question, at);
	}
	if (at == object)
		*at++ = '{';
	*at++ = '}';
	*at = '\0';
	return (str_t){ object, (size_t)(at - object) };
}

static bool is_among(str_t name, const str_t *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(names[i], name))
			return true;
	return false;
}

static void append_json_text(struct buf *json, str_t text)
{
	buf_append_char(json, '"');
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c < ' ')
			buf_printf(json, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			buf_printf(json, "\\%c", c);
		else
			buf_append_char(json, (char)c);
	}
	buf_append_char(json, '"');
}

/* A JSON array of the first documents, in the order of the chunks. Names that are too long are cut. */
static str_t write_documents(const struct scored_query *scored, struct arena *arena)
{
	const struct retrieval *retrieval = scored->input ? scored->input->retrieval : NULL;
	str_t names[MAX_DOCUMENTS];
	size_t count = 0;
	struct buf json = BUF_INIT;
	buf_append_char(&json, '[');
	for (size_t i = 0; retrieval && i < retrieval->chunks_count && count < MAX_DOCUMENTS; i++) {
		str_t name = calibration_segment_text(retrieval->chunks[i].document_id);
		if (!str_present(name) || !storable(name) || is_among(name, names, count))
			continue;
		if (count > 0)
			buf_append_char(&json, ',');
		append_json_text(&json, name);
		names[count++] = name;
	}
	buf_append_char(&json, ']');
	str_t text = arena_str(arena, buf_str(&json));
	buf_free(&json);
	return text;
}

/* One that is out of range is none: what it was is not the calibration's to say. */
static opt_double_t read_probability(const struct record_confidence *confidence)
{
	const struct record_probability *probability = confidence->probability;
	bool valid = probability && probability->value >= 0 && probability->value <= 1;
	return valid ? opt_double(probability->value) : (opt_double_t)OPT_NONE;
}

static str_t write_rules(const struct scored_query *scored, struct arena *arena)
{
	struct buf text = BUF_INIT;
	if (!scored->rules)
		return STR_NONE;
	overall_rules_write(scored->rules, scored->confidence.retrieval != NULL, &text);
	str_t rules = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return rules;
}

void calibration_case_complete(struct calibration_case *item, struct arena *arena)
{
	const struct scored_query *record = item->record;
	size_t count = record ? record->confidence.features_count : 0;
	if (count > 0)
		item->features = write_features(record->confidence.features,
						count < MAX_FEATURES ? count : MAX_FEATURES,
						number_question(record->input, arena), arena);
	if (record)
		item->rules = write_rules(record, arena);
}

err_t calibration_case_read(const struct codec *codec, const void *data, size_t len, struct arena *arena,
			    struct calibration_case *ret_case, bool *ret_read, struct err_detail *detail)
{
	struct scored_query *scored;
	err_t err = codec_decode_scored(codec, data, len, arena, &scored, detail);
	if (err)
		return err;
	const struct record_label *label = scored->label;
	const struct calibration_event_key key = calibration_event_key(scored->event_id);
	const struct calibration_case item = {
		.scored_at_ms = scored->scored_at,
		.application = scored->application,
		.model = scored->model,
		.prompt_version = scored->prompt_version,
		.label_source = label ? label->source : ENUM_ABSENT,
		.level = scored->confidence.level,
		.confidence = scored->confidence.overall.value,
		.weight = label ? label->weight : 1,
		.correct = label && label->correct,
		.event = key,
		.key = key,
		.documents =
			label && label->source == LABEL_RESULT ? write_documents(scored, arena) : STR_NONE,
		.probability = read_probability(&scored->confidence),
		.record = scored,
	};
	if (scored->confidence.overall.set && !calibration_case_valid(&item))
		return err_fail(detail, ERR_AVRO_VALUE,
				"its time, confidence, weight or segment is out of range");
	*ret_read = scored->confidence.overall.set;
	*ret_case = item;
	return ERR_OK;
}

/* ---- parameters ---- */

enum { COLUMNS_COUNT = sizeof(struct case_columns) / sizeof(struct buf), COUNTED_COLUMNS = 9 };

void case_columns_free(struct case_columns *columns)
{
	struct buf *buffers = (struct buf *)columns;
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		buf_free(&buffers[i]);
}

str_t calibration_segment_text(str_t text)
{
	size_t len =
		text.len > SEGMENT_TEXT_BYTES ? utf8_valid_prefix(text.ptr, SEGMENT_TEXT_BYTES) : text.len;
	return (str_t){ text.ptr, len };
}

static void append_text(struct buf *out, str_t text)
{
	array_append_quoted(out, calibration_segment_text(text));
}

static void append_case(struct case_columns *columns, const struct calibration_case *item)
{
	struct buf *buffers = (struct buf *)columns;
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		buf_append_char(&buffers[i], buffers[i].len == 0 ? '{' : ',');
	buf_printf(&columns->scored_at, "%lld", (long long)item->scored_at_ms);
	append_text(&columns->application, item->application);
	append_text(&columns->model, item->model);
	append_text(&columns->prompt_version, item->prompt_version);
	buf_append_text(&columns->source, item->label_source == ENUM_ABSENT
						  ? "NULL"
						  : calibration_source_name(item->label_source));
	buf_append_text(&columns->level, advisory_level_name((enum confidence_level)item->level));
	append_double(&columns->confidence, item->confidence);
	append_double(&columns->weight, item->weight);
	buf_append_char(&columns->correct, item->correct ? '1' : '0');
	buf_append_text(&columns->event, item->event.text[0] ? item->event.text : "NULL");
	buf_printf(&columns->partition, "%d", (int)item->partition);
	buf_printf(&columns->offset, "%lld", (long long)item->offset);
	buf_append_text(&columns->key, item->key.text[0] ? item->key.text : "NULL");
	if (str_present(item->features))
		array_append_quoted(&columns->features, item->features);
	else
		buf_append_text(&columns->features, "NULL");
	if (item->probability.set)
		append_double(&columns->probability, item->probability.value);
	else
		buf_append_text(&columns->probability, "NULL");
	if (str_present(item->documents) && item->key.text[0])
		array_append_quoted(&columns->documents, item->documents);
	else
		buf_append_text(&columns->documents, "NULL");
	if (str_present(item->rules))
		buf_printf(&columns->rules, "%lld", (long long)rules_number(item->rules));
	else
		buf_append_text(&columns->rules, "NULL");
}

void case_columns_make(struct case_columns *columns, const struct calibration_case *cases, size_t count)
{
	struct buf *buffers = (struct buf *)columns;
	for (size_t i = 0; i < count; i++)
		append_case(columns, &cases[i]);
	if (count == 0)
		for (size_t i = 0; i < COLUMNS_COUNT; i++)
			buf_append_char(&buffers[i], '{');
	for (size_t i = 0; i < COLUMNS_COUNT; i++)
		buf_append_char(&buffers[i], '}');
}

/* ---- segments ---- */

#define SEGMENTS_HERE "unnest($1::text[], $2::text[], $3::text[]) AS c (application, model, prompt_version) "

/* Unknown ones as long as there is room for more, and those that were not seen for long. */
#define NEWS_OF_SEGMENTS                                                                                     \
	"SELECT FROM " SEGMENTS_HERE "LEFT JOIN %s s USING (application, model, prompt_version) WHERE "      \
	"CASE WHEN s.last_seen IS NULL THEN (SELECT count(*) FROM %s) < $4::bigint "                         \
	"ELSE s.last_seen < now() - interval '1 day' END LIMIT 1"

/* The limit counts, so only one at a time may add. */
#define LOCK_SEGMENTS "SELECT pg_advisory_xact_lock(7236837202)"

#define ADD_SEGMENTS                                                                                         \
	"INSERT INTO %s (application, model, prompt_version) "                                               \
	"SELECT DISTINCT c.application, c.model, c.prompt_version FROM " SEGMENTS_HERE                       \
	"LEFT JOIN %s s USING (application, model, prompt_version) WHERE s.last_seen IS NULL "               \
	"ORDER BY 1, 2, 3 LIMIT greatest(0, $4::bigint - (SELECT count(*) FROM %s))"

#define SEE_SEGMENTS                                                                                         \
	"UPDATE %s s SET last_seen = now() FROM (SELECT DISTINCT * FROM " SEGMENTS_HERE ") AS c "            \
	"WHERE s.application = c.application AND s.model = c.model "                                         \
	"AND s.prompt_version = c.prompt_version AND s.last_seen < now() - interval '1 day'"

err_t cases_add_segments(struct database *database, const struct case_tables *tables,
			 const struct case_columns *columns, int64_t most, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *table = tables->segments;
	struct database_number_text limit;
	char sql[1024];
	const char *const parameters[] = { columns->application.data, columns->model.data,
					   columns->prompt_version.data, database_number_text(&limit, most) };
	snprintf(sql, sizeof sql, NEWS_OF_SEGMENTS, table, table);
	err_t err = database_query(database, sql, 4, parameters, &result, detail);
	if (err || PQntuples(result) == 0)
		return err;
	err = database_query(database, LOCK_SEGMENTS, 0, NULL, NULL, detail);
	snprintf(sql, sizeof sql, ADD_SEGMENTS, table, table, table);
	if (!err)
		err = database_query(database, sql, 4, parameters, NULL, detail);
	snprintf(sql, sizeof sql, SEE_SEGMENTS, table);
	return err ? err : database_query(database, sql, 3, parameters, NULL, detail);
}

/* ---- buckets ---- */

#define ADD_CASES                                                                                            \
	"WITH cells AS (SELECT c.scored_at / (1000 * $10::bigint) * $10 AS start_s, "                        \
	"coalesce(s.application, '" CALIBRATION_OTHER "') AS application, coalesce(s.model, '') AS model, "  \
	"coalesce(s.prompt_version, '') AS prompt_version, c.label_source, c.level, "                        \
	"least(floor(c.confidence * 10), 9)::smallint AS bin, count(*) AS cases, sum(c.weight) AS weight, "  \
	"sum(c.weight * c.weight) AS weight_squared, sum(c.weight * c.correct) AS weight_correct, "          \
	"sum(c.weight * c.confidence) AS weight_confidence, "                                                \
	"sum(c.weight * (c.confidence - c.correct) * (c.confidence - c.correct)) AS weight_squared_error "   \
	"FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], "             \
	"$7::numeric[], $8::numeric[], $9::integer[]) AS c (scored_at, application, model, prompt_version, " \
	"label_source, level, confidence, weight, correct) "                                                 \
	"LEFT JOIN %s s USING (application, model, prompt_version) "                                         \
	"WHERE c.label_source IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6, 7), " CASES_ADD_CELLS(                  \
		"$10") "SELECT DISTINCT * FROM rolled_up"

static void touch_segments(struct segments *touched, const PGresult *result)
{
	for (int row = 0; touched && row < PQntuples(result); row++)
		segments_add_row(touched, result, row);
}

err_t cases_add(struct database *database, const struct case_tables *tables,
		const struct case_columns *columns, int64_t bucket_s, struct segments *touched,
		struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const struct buf *buffers = (const struct buf *)columns;
	const char *parameters[COUNTED_COLUMNS + 1];
	char fine[24], sql[4096];
	snprintf(fine, sizeof fine, "%lld", (long long)bucket_s);
	snprintf(sql, sizeof sql, ADD_CASES, tables->segments, tables->buckets, tables->rollups);
	for (size_t i = 0; i < COUNTED_COLUMNS; i++)
		parameters[i] = buffers[i].data;
	parameters[COUNTED_COLUMNS] = fine;
	err_t err = database_query(database, sql, COUNTED_COLUMNS + 1, parameters, &result, detail);
	if (!err)
		touch_segments(touched, result);
	return err;
}
