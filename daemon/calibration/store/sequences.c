#include "calibration/store/sequences.h"

#include "calibration/store/cases.h"
#include "calibration/store/claims.h"
#include "database/array.h"
#include "database/values.h"

#include <assert.h>

const char *sequences_direction_name(enum drift_direction direction)
{
	return direction == DRIFT_OVERCONFIDENT ? "LOWER" : "HIGHER";
}

enum drift_direction sequences_direction_of(const char *name)
{
	return strcmp(name, "HIGHER") == 0 ? DRIFT_UNDERCONFIDENT : DRIFT_OVERCONFIDENT;
}

void sequences_add_case(struct sequence_cases *cases, const struct sequence_case *item)
{
	ARENA_PUSH(cases->arena, cases->items, cases->count, cases->capacity, *item);
}

/* ---- the rows of a transaction ---- */

struct sequence_row {
	struct calibration_segment segment; /* the result's texts */
	int label_source;
	bool made;		/* by this transaction */
	int64_t fed, oldest_ms; /* by this transaction */
	struct source_sequence sequence;
};

struct sequence_rows {
	PGresult *result;
	struct sequence_row *items; /* by segment and label source */
	size_t count;
};

static void free_rows(struct sequence_rows *rows)
{
	PQclear(rows->result);
	free(rows->items);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const struct calibration_segment *a, int a_source,
			const struct calibration_segment *b, int b_source)
{
	int order = calibration_segment_compare(a, b);
	return order ? order : compare_numbers(a_source, b_source);
}

static int by_segment(const void *a, const void *b)
{
	const struct sequence_case *left = a, *right = b;
	int order = compare_keys(&left->segment, left->label_source, &right->segment, right->label_source);
	return order ? order : compare_numbers(left->placed, right->placed);
}

static int by_time(const void *a, const void *b)
{
	const struct sequence_case *left = a, *right = b;
	int order = compare_numbers((int64_t)left->row, (int64_t)right->row);
	if (!order)
		order = compare_numbers(left->scored_at_ms, right->scored_at_ms);
	if (!order)
		order = compare_numbers(left->partition, right->partition);
	return order ? order : compare_numbers(left->offset, right->offset);
}

static int by_key(const void *a, const void *b)
{
	const struct sequence_row *left = a, *right = b;
	return compare_keys(&left->segment, left->label_source, &right->segment, right->label_source);
}

/* ---- reading ---- */

/* Makes the rows that are missing and locks all of them, in the order of their keys; the columns are those
 * that read_row reads. */
#define LOCK_ROWS                                                                                            \
	"INSERT INTO calibration_sequences AS q (application, model, prompt_version, label_source) "         \
	"SELECT DISTINCT CASE WHEN c.placed THEN c.application ELSE coalesce(s.application, "                \
	"'" CALIBRATION_OTHER "') END, CASE WHEN c.placed THEN c.model ELSE coalesce(s.model, '') END, "     \
	"CASE WHEN c.placed THEN c.prompt_version ELSE coalesce(s.prompt_version, '') END, c.label_source "  \
	"FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[]) "                        \
	"AS c (application, model, prompt_version, label_source, placed) "                                   \
	"LEFT JOIN calibration_segments s USING (application, model, prompt_version) ORDER BY 1, 2, 3, 4 "   \
	"ON CONFLICT (application, model, prompt_version, label_source) DO UPDATE SET fed_at = now() "       \
	"RETURNING q.application, q.model, q.prompt_version, q.label_source, q.cases, q.changes, q.open, "   \
	"coalesce(q.direction, ''), coalesce(round(extract(epoch FROM q.since) * 1000)::bigint, 0), "        \
	"q.stretch_cases, q.stretch_residual, q.return_sum, q.past_cases, q.past_correct, q.since_cases, "   \
	"q.since_correct, q.lower_sum, q.higher_sum"

enum {
	APPLICATION,
	MODEL,
	PROMPT_VERSION,
	LABEL_SOURCE,
	CASES,
	CHANGES,
	OPEN,
	DIRECTION,
	SINCE,
	STRETCH_CASES,
	STRETCH_RESIDUAL,
	RETURN_SUM,
	PAST_CASES,
	PAST_CORRECT,
	SINCE_CASES,
	SINCE_CORRECT,
	LOWER_SUM,
	HIGHER_SUM,
	OLDEST, /* written only */
};

/* Items of "{1,2.5,…}"; what is missing stays as it is. */
static void read_numbers(const char *text, double *numbers, size_t count)
{
	for (size_t i = 0; i < count && (*text == '{' || *text == ','); i++) {
		char *end;
		numbers[i] = strtod(text + 1, &end);
		text = end;
	}
}

static void read_counts(const PGresult *result, int row, int column, int64_t counts[SOURCE_BINS])
{
	double numbers[SOURCE_BINS] = { 0 };
	read_numbers(PQgetvalue(result, row, column), numbers, SOURCE_BINS);
	for (int i = 0; i < SOURCE_BINS; i++)
		counts[i] = (int64_t)numbers[i];
}

static struct cusum_sum sum_at(const PGresult *result, int row, int column)
{
	double numbers[4] = { 0 };
	read_numbers(PQgetvalue(result, row, column), numbers, 4);
	return (struct cusum_sum){ .value = numbers[0],
				   .cases = (int64_t)numbers[1],
				   .residual = numbers[2],
				   .since_ms = (int64_t)numbers[3] };
}

static struct sequence_row row_at(const PGresult *result, int row)
{
	struct sequence_row item = {
		.segment = { str_from(PQgetvalue(result, row, APPLICATION)),
			     str_from(PQgetvalue(result, row, MODEL)),
			     str_from(PQgetvalue(result, row, PROMPT_VERSION)) },
		.label_source = calibration_source_of(PQgetvalue(result, row, LABEL_SOURCE)),
		.made = database_integer_at(result, row, CASES) == 0,
		.sequence = {
			.drift = { .open = PQgetvalue(result, row, OPEN)[0] == 't',
				   .back = database_number_at(result, row, RETURN_SUM),
				   .stretch = { sequences_direction_of(PQgetvalue(result, row, DIRECTION)),
						database_integer_at(result, row, SINCE),
						database_integer_at(result, row, STRETCH_CASES),
						database_number_at(result, row, STRETCH_RESIDUAL) } },
			.changes = database_integer_at(result, row, CHANGES),
		},
	};
	struct source_sequence *sequence = &item.sequence;
	sequence->drift.cusum.sides[CUSUM_LOWER] = sum_at(result, row, LOWER_SUM);
	sequence->drift.cusum.sides[CUSUM_HIGHER] = sum_at(result, row, HIGHER_SUM);
	read_counts(result, row, PAST_CASES, sequence->past.cases);
	read_counts(result, row, PAST_CORRECT, sequence->past.correct);
	read_counts(result, row, SINCE_CASES, sequence->since.cases);
	read_counts(result, row, SINCE_CORRECT, sequence->since.correct);
	return item;
}

static void append_key(struct buf *columns, const struct calibration_segment *segment, int label_source)
{
	array_append(&columns[APPLICATION], segment->application);
	array_append(&columns[MODEL], segment->model);
	array_append(&columns[PROMPT_VERSION], segment->prompt_version);
	array_append(&columns[LABEL_SOURCE], str_from(calibration_source_name(label_source)));
}

/* Those of the cases, which are in the order of their segments. */
static err_t lock_rows(struct database *database, const struct sequence_cases *cases,
		       struct sequence_rows *ret_rows, struct err_detail *detail)
{
	enum { COLUMNS = 5 };
	struct buf columns[COLUMNS] = { 0 };
	const char *parameters[COLUMNS];
	for (size_t i = 0; i < cases->count; i++) {
		const struct sequence_case *item = &cases->items[i];
		if (i > 0 && by_segment(item - 1, item) == 0)
			continue;
		append_key(columns, &item->segment, item->label_source);
		array_append(&columns[COLUMNS - 1], item->placed ? STR("t") : STR("f"));
	}
	for (int i = 0; i < COLUMNS; i++) {
		array_end(&columns[i]);
		parameters[i] = columns[i].data;
	}
	err_t err = database_query(database, LOCK_ROWS, COLUMNS, parameters, &ret_rows->result, detail);
	for (int i = 0; i < COLUMNS; i++)
		buf_free(&columns[i]);
	if (err)
		return err;
	ret_rows->count = (size_t)PQntuples(ret_rows->result);
	ret_rows->items = calloc(ret_rows->count + 1, sizeof *ret_rows->items);
	if (!ret_rows->items)
		abort();
	for (size_t i = 0; i < ret_rows->count; i++)
		ret_rows->items[i] = row_at(ret_rows->result, (int)i);
	qsort(ret_rows->items, ret_rows->count, sizeof *ret_rows->items, by_key);
	return ERR_OK;
}

/* ---- feeding ---- */

/* The row of a segment that has no place of its own is that of all the others. */
static size_t find_row(const struct sequence_rows *rows, const struct sequence_case *item)
{
	struct sequence_row key = { .segment = item->segment, .label_source = item->label_source };
	const struct sequence_row *found =
		bsearch(&key, rows->items, rows->count, sizeof *rows->items, by_key);
	key.segment = (struct calibration_segment){ STR(CALIBRATION_OTHER), STR(""), STR("") };
	if (!found)
		found = bsearch(&key, rows->items, rows->count, sizeof *rows->items, by_key);
	assert(found);
	return (size_t)(found - rows->items);
}

static void feed_rows(struct sequence_rows *rows, struct sequence_cases *cases, double threshold)
{
	for (size_t i = 0; i < cases->count; i++) {
		struct sequence_case *item = &cases->items[i];
		item->row = i > 0 && by_segment(item - 1, item) == 0 ? item[-1].row : find_row(rows, item);
	}
	qsort(cases->items, cases->count, sizeof *cases->items, by_time);
	for (size_t i = 0; i < cases->count; i++) {
		const struct sequence_case *item = &cases->items[i];
		struct sequence_row *row = &rows->items[item->row];
		if (row->fed++ == 0)
			row->oldest_ms = item->scored_at_ms;
		source_sequence_add(&row->sequence, threshold, item->bin, item->correct, item->scored_at_ms);
	}
}

/* ---- writing ---- */

#define OF_KEY(table)                                                                                        \
	"(q.application, q.model, q.prompt_version, q.label_source) = (" table ".application, " table        \
	".model, " table ".prompt_version, " table ".label_source)"

#define WRITE_ROWS                                                                                           \
	"UPDATE calibration_sequences q SET cases = q.cases + u.cases::bigint, "                             \
	"changes = u.changes::bigint, open = u.open::boolean, direction = nullif(u.direction, ''), "         \
	"since = CASE WHEN u.direction <> '' THEN to_timestamp(u.since::bigint / 1000.0) END, "              \
	"stretch_cases = u.stretch_cases::bigint, stretch_residual = u.stretch_residual::float8, "           \
	"return_sum = u.return_sum::float8, past_cases = u.past_cases::bigint[], "                           \
	"past_correct = u.past_correct::bigint[], since_cases = u.since_cases::bigint[], "                   \
	"since_correct = u.since_correct::bigint[], lower_sum = u.lower_sum::float8[], "                     \
	"higher_sum = u.higher_sum::float8[], "                                                              \
	"oldest = least(q.oldest, to_timestamp(u.oldest::bigint / 1000.0)) "                                 \
	"FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], "   \
	"$8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], "          \
	"$15::text[], $16::text[], $17::text[], $18::text[], $19::text[]) AS u (application, model, "        \
	"prompt_version, label_source, cases, changes, open, direction, since, stretch_cases, "              \
	"stretch_residual, return_sum, past_cases, past_correct, since_cases, since_correct, lower_sum, "    \
	"higher_sum, oldest) WHERE " OF_KEY("u")

static void append_integer(struct buf *column, int64_t number)
{
	struct database_number_text text;
	array_append(column, str_from(database_number_text(&text, number)));
}

static void append_number(struct buf *column, double number)
{
	char text[32];
	snprintf(text, sizeof text, "%.17g", number);
	array_append(column, str_from(text));
}

static void append_counts(struct buf *column, const int64_t counts[SOURCE_BINS])
{
	char text[SOURCE_BINS * 24];
	size_t len = 0;
	for (int i = 0; i < SOURCE_BINS; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%c%lld", i ? ',' : '{',
					(long long)counts[i]);
	snprintf(text + len, sizeof text - len, "}");
	array_append(column, str_from(text));
}

static void append_sum(struct buf *column, const struct cusum_sum *sum)
{
	char text[128];
	snprintf(text, sizeof text, "{%.17g,%lld,%.17g,%lld}", sum->value, (long long)sum->cases,
		 sum->residual, (long long)sum->since_ms);
	array_append(column, str_from(text));
}

static void append_row(struct buf *columns, const struct sequence_row *row)
{
	const struct source_sequence *sequence = &row->sequence;
	const struct drift_stretch *stretch = &sequence->drift.stretch;
	append_key(columns, &row->segment, row->label_source);
	append_integer(&columns[CASES], row->fed);
	append_integer(&columns[CHANGES], sequence->changes);
	array_append(&columns[OPEN], sequence->drift.open ? STR("t") : STR("f"));
	array_append(&columns[DIRECTION],
		     sequence->changes ? str_from(sequences_direction_name(stretch->direction)) : STR(""));
	append_integer(&columns[SINCE], stretch->since_ms);
	append_integer(&columns[STRETCH_CASES], stretch->cases);
	append_number(&columns[STRETCH_RESIDUAL], stretch->residual);
	append_number(&columns[RETURN_SUM], sequence->drift.back);
	append_counts(&columns[PAST_CASES], sequence->past.cases);
	append_counts(&columns[PAST_CORRECT], sequence->past.correct);
	append_counts(&columns[SINCE_CASES], sequence->since.cases);
	append_counts(&columns[SINCE_CORRECT], sequence->since.correct);
	append_sum(&columns[LOWER_SUM], &sequence->drift.cusum.sides[CUSUM_LOWER]);
	append_sum(&columns[HIGHER_SUM], &sequence->drift.cusum.sides[CUSUM_HIGHER]);
	append_integer(&columns[OLDEST], row->oldest_ms);
}

static err_t write_rows(struct database *database, const struct sequence_rows *rows,
			struct err_detail *detail)
{
	enum { COLUMNS = OLDEST + 1 };
	struct buf columns[COLUMNS] = { 0 };
	const char *parameters[COLUMNS];
	for (size_t i = 0; i < rows->count; i++)
		append_row(columns, &rows->items[i]);
	for (int i = 0; i < COLUMNS; i++) {
		array_end(&columns[i]);
		parameters[i] = columns[i].data;
	}
	err_t err = database_query(database, WRITE_ROWS, COLUMNS, parameters, NULL, detail);
	for (int i = 0; i < COLUMNS; i++)
		buf_free(&columns[i]);
	return err;
}

/* Since when all that is counted is fed. A partition whose position moved without is one of a program that
 * feeds nothing. */
#define FED_SINCE                                                                                            \
	"(SELECT coalesce(max(CASE WHEN p.fed_until = p.next_offset THEN p.fed_since ELSE 'infinity' END), " \
	"'-infinity') FROM calibration_positions p)"

/* Whether rows that were just made have seen all that was ever counted. */
#define MARK_WHOLE                                                                                           \
	"UPDATE calibration_sequences q SET whole = coalesce((SELECT s.first_seen FROM "                     \
	"calibration_segments s WHERE (s.application, s.model, s.prompt_version) = "                         \
	"(q.application, q.model, q.prompt_version)), '-infinity') >= " FED_SINCE                            \
	" FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) "                                      \
	"AS u (application, model, prompt_version, label_source) WHERE " OF_KEY("u")

static err_t mark_whole(struct database *database, const struct sequence_rows *rows,
			struct err_detail *detail)
{
	enum { COLUMNS = LABEL_SOURCE + 1 };
	struct buf columns[COLUMNS] = { 0 };
	const char *parameters[COLUMNS];
	size_t made = 0;
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].made) {
			append_key(columns, &rows->items[i].segment, rows->items[i].label_source);
			made++;
		}
	for (int i = 0; i < COLUMNS; i++) {
		array_end(&columns[i]);
		parameters[i] = columns[i].data;
	}
	err_t err = made ? database_query(database, MARK_WHOLE, COLUMNS, parameters, NULL, detail) : ERR_OK;
	for (int i = 0; i < COLUMNS; i++)
		buf_free(&columns[i]);
	return err;
}

err_t sequences_feed(struct database *database, struct sequence_cases *cases, double threshold,
		     struct err_detail *detail)
{
	_cleanup_(free_rows) struct sequence_rows rows = { 0 };
	if (cases->count == 0)
		return ERR_OK;
	qsort(cases->items, cases->count, sizeof *cases->items, by_segment);
	err_t err = lock_rows(database, cases, &rows, detail);
	if (err)
		return err;
	feed_rows(&rows, cases, threshold);
	err = write_rows(database, &rows, detail);
	return err ? err : mark_whole(database, &rows, detail);
}

/* ---- news ---- */

double sequences_alarms(double false_alarms_per_10k, bool claims)
{
	return claims ? false_alarms_per_10k / 2 : false_alarms_per_10k;
}

#define READ_NEWS                                                                                            \
	"SELECT q.application, q.model, q.prompt_version, q.label_source, q.open, q.direction, "             \
	"round(extract(epoch FROM q.since) * 1000)::bigint, q.stretch_cases, q.stretch_residual, "           \
	"q.changes, q.reported, q.claims_open, coalesce(q.claims_direction, ''), "                           \
	"coalesce(round(extract(epoch FROM q.claims_since) * 1000)::bigint, 0), q.claims_after[1], "         \
	"q.claims_after[2], q.claims_after[3], " CLAIMS_OF_Q                                                 \
	" FROM calibration_sequences q WHERE (q.application, q.model, q.prompt_version) IN "                 \
	"(SELECT * FROM unnest($1::text[], $2::text[], $3::text[])) ORDER BY 1, 2, 3, 4"

enum { NEWS_OPEN = 4, NEWS_DIRECTION, NEWS_SINCE, NEWS_CASES, NEWS_RESIDUAL, NEWS_CHANGES, NEWS_REPORTED };
enum { NEWS_CLAIMS_OPEN = NEWS_REPORTED + 1, NEWS_CLAIMS_DIRECTION, NEWS_CLAIMS_SINCE, NEWS_CLAIMS_AFTER };
enum { NEWS_CLAIMS = NEWS_CLAIMS_AFTER + 3 };

static struct claims_sequence claims_at(const PGresult *result, int row)
{
	return (struct claims_sequence){
		.open = PQgetvalue(result, row, NEWS_CLAIMS_OPEN)[0] == 't',
		.direction = sequences_direction_of(PQgetvalue(result, row, NEWS_CLAIMS_DIRECTION)),
		.since_ms = database_integer_at(result, row, NEWS_CLAIMS_SINCE),
		.after = { database_integer_at(result, row, NEWS_CLAIMS_AFTER),
			   database_integer_at(result, row, NEWS_CLAIMS_AFTER + 1),
			   database_integer_at(result, row, NEWS_CLAIMS_AFTER + 2) },
	};
}

static struct claims_look look_at_claims(const PGresult *result, int row, double threshold,
					 struct claims_sequence *claims)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	size_t count;
	const struct claim *items = claims_parse(PQgetvalue(result, row, NEWS_CLAIMS), arena, &count);
	return claims_sequence_look(claims, threshold, items, threshold > 0 ? count : 0);
}

/* False: there is nothing new. */
static bool news_at(const PGresult *result, int row, double threshold, struct arena *arena,
		    struct sequence_news *ret_news)
{
	struct sequence_news news = {
		.label_source = calibration_source_of(PQgetvalue(result, row, 3)),
		.open = PQgetvalue(result, row, NEWS_OPEN)[0] == 't',
		.changes = database_integer_at(result, row, NEWS_CHANGES),
		.claims = claims_at(result, row),
	};
	const struct claims_look look = look_at_claims(result, row, threshold, &news.claims);
	news.unreported = news.changes > database_integer_at(result, row, NEWS_REPORTED);
	if (news.open || news.unreported) {
		news.noticed = NOTICED_BY_PAST;
		news.stretch = (struct drift_stretch){
			sequences_direction_of(PQgetvalue(result, row, NEWS_DIRECTION)),
			database_integer_at(result, row, NEWS_SINCE),
			database_integer_at(result, row, NEWS_CASES),
			database_number_at(result, row, NEWS_RESIDUAL),
		};
	} else if ((news.claims.open || look.found) && look.stretch.cases) {
		news.noticed = NOTICED_BY_PROBABILITY;
		news.stretch = look.stretch;
	}
	news.open |= news.claims.open;
	news.unreported |= look.found;
	news.moved = look.moved;
	if (news.noticed == NOTICED_NOTHING && !news.moved)
		return false;
	news.segment = (struct calibration_segment){ database_text_at(result, row, 0, arena),
						     database_text_at(result, row, 1, arena),
						     database_text_at(result, row, 2, arena) };
	*ret_news = news;
	return true;
}

err_t sequences_read(struct database *database, const struct calibration_segment *segments, size_t count,
		     double claims_threshold, struct arena *arena, struct sequence_news **ret_news,
		     size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(segment_arrays_free) struct segment_arrays only = { BUF_INIT, BUF_INIT, BUF_INIT };
	segment_arrays_make(&only, segments, count);
	const char *const parameters[] = { only.application.data, only.model.data, only.prompt_version.data };
	err_t err = database_query(database, READ_NEWS, 3, parameters, &result, detail);
	if (err)
		return err;
	struct sequence_news *news = ARENA_ARRAY(arena, struct sequence_news, (size_t)PQntuples(result));
	size_t found = 0;
	for (int row = 0; row < PQntuples(result); row++)
		found += news_at(result, row, claims_threshold, arena, &news[found]);
	*ret_news = news;
	*ret_count = found;
	return ERR_OK;
}

#define SET_REPORTED                                                                                         \
	"UPDATE calibration_sequences SET reported = $5::bigint, claims_open = $6::boolean, "                \
	"claims_direction = CASE WHEN $10::boolean THEN $7 ELSE claims_direction END, "                      \
	"claims_since = CASE WHEN $10::boolean THEN to_timestamp($8::bigint / 1000.0) "                      \
	"ELSE claims_since END, claims_after = $9::bigint[] "                                                \
	"WHERE application = $1 AND model = $2 AND prompt_version = $3 AND label_source = $4"

err_t sequences_set_reported(struct database *database, const struct sequence_news *news,
			     struct err_detail *detail)
{
	struct database_number_text changes, since;
	const struct claims_sequence *claims = &news->claims;
	char after[80];
	snprintf(after, sizeof after, "{%lld,%lld,%lld}", (long long)claims->after.scored_at_ms,
		 (long long)claims->after.partition, (long long)claims->after.offset);
	const char *const parameters[] = { news->segment.application.ptr,
					   news->segment.model.ptr,
					   news->segment.prompt_version.ptr,
					   calibration_source_name(news->label_source),
					   database_number_text(&changes, news->changes),
					   claims->open ? "true" : "false",
					   sequences_direction_name(claims->direction),
					   database_number_text(&since, claims->since_ms),
					   after,
					   news->moved ? "true" : "false" };
	return database_query(database, SET_REPORTED, 10, parameters, NULL, detail);
}

/* ---- comparing ---- */

/* Rows q and how many cases are counted of each. */
#define COUNTED                                                                                              \
	"(SELECT application, model, prompt_version, label_source, sum(cases) AS cases "                     \
	"FROM calibration_sums WHERE width_s = 86400 GROUP BY 1, 2, 3, 4) AS c"

#define COMPARE                                                                                              \
	"SELECT count(*) FROM calibration_sequences q LEFT JOIN " COUNTED " USING (application, model, "     \
	"prompt_version, label_source) WHERE q.whole AND q.oldest >= to_timestamp($1::bigint / 1000.0) "     \
	"AND q.began_at >= " FED_SINCE " AND q.cases <> coalesce(c.cases, 0)"

#define DOUBT                                                                                                \
	"UPDATE calibration_sequences q SET whole = false WHERE q.whole AND (q.application, q.model, "       \
	"q.prompt_version, q.label_source, q.cases) NOT IN (SELECT c.application, c.model, "                 \
	"c.prompt_version, c.label_source, c.cases FROM " COUNTED ")"

err_t sequences_compare(struct database *database, int64_t kept_since_ms, int64_t *ret_differing,
			struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text since;
	const char *const parameters[] = { database_number_text(&since, kept_since_ms) };
	err_t err = database_query(database, COMPARE, 1, parameters, &result, detail);
	if (!err)
		*ret_differing = database_integer_at(result, 0, 0);
	return err;
}

err_t sequences_doubt(struct database *database, struct err_detail *detail)
{
	return database_script(database, DOUBT, detail);
}
