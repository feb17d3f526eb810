#include "calibration/report/reader.h"

#include "avro/advisory.h"
#include "calibration/count/store.h"
#include "calibration/report/sample.h"
#include "calibration/store/schema.h"
#include "common/clock.h"
#include "database/values.h"

enum { LONGEST_WINDOW_S = 366 * CALIBRATION_DAY_S };

/* Tables have calibration_totals since this version, and calibration_hour_totals. */
#define TOTALS_SINCE_VERSION	  6
#define HOUR_TOTALS_SINCE_VERSION 19

#define COLUMNS                                                                                              \
	"width_s, bucket_start, application, model, prompt_version, label_source, level, bin, cases, "       \
	"weight, weight_squared, weight_correct, weight_confidence, weight_squared_error"

/*
 * Ranges of buckets ($1 to $4), each read by itself, in one step, and summed up at once: so the planner
 * knows, however many rows it expects, that there are few groups, and hashes instead of sorting rows, which
 * takes longer than all the rest. `keys` are the columns that tell reports from each other besides the label
 * source.
 *
 * Sums are exact until they leave the database, those of the window by bins as well as those of the steps: so
 * they do not depend on the widths that were read.
 */
#define READ_BUCKETS(tables, keys, names)                                                                    \
	"WITH cells AS MATERIALIZED (SELECT step, b.* "                                                      \
	"FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::integer[]) "                             \
	"AS r (width_s, since_s, until_s, step) CROSS JOIN LATERAL (SELECT " keys                            \
	"label_source, level, bin, " CASES_SUM "FROM (" tables ") AS b "                                     \
	"WHERE b.width_s = r.width_s AND bucket_start >= to_timestamp(r.since_s) "                           \
	"AND bucket_start < to_timestamp(r.until_s) AND ($5::text IS NULL OR application = $5) "             \
	"AND ($6::text IS NULL OR model = $6) AND ($7::text IS NULL OR prompt_version = $7) "                \
	"AND ($8::text IS NULL OR label_source = $8) AND ($9::text[] IS NULL OR "                            \
	"(application, model, prompt_version) IN (SELECT * FROM unnest($9::text[], $10::text[], "            \
	"$11::text[]))) GROUP BY " keys "label_source, level, bin OFFSET 0) AS b) "                          \
	"SELECT " names "label_source, level, bin, step, sum(cases), "                                       \
	"sum(weight)::float8, sum(weight_squared)::float8, sum(weight_correct)::float8, "                    \
	"sum(weight_confidence)::float8, sum(weight_squared_error)::float8 FROM cells "                      \
	"GROUP BY " keys "label_source, level, GROUPING SETS (bin, step) ORDER BY 1, 2, 3, 4"

#define SEGMENT_KEYS "application, model, prompt_version, "

#define TABLES                                                                                               \
	"SELECT " COLUMNS " FROM calibration_buckets UNION ALL SELECT " COLUMNS " FROM calibration_rollups"

#define TOTALS_OF(width_s, table)                                                                            \
	"SELECT " width_s ", bucket_start, NULL, NULL, NULL, label_source, level, bin, cases, weight, "      \
	"weight_squared, weight_correct, weight_confidence, weight_squared_error FROM " table

/* Days of all segments in one: where none is asked for by name. */
#define TABLES_AND_DAYS TABLES " WHERE width_s < 86400 UNION ALL " TOTALS_OF("86400", "calibration_totals")

/* Hours as well, but for those that have not been summed. */
#define TABLES_AND_TOTALS                                                                                    \
	TABLES " WHERE width_s < 86400 AND bucket_start < calibration_hour_totals_since() "                  \
	       "UNION ALL " TOTALS_OF("3600", "calibration_hour_totals") " UNION ALL " TOTALS_OF(            \
		       "86400", "calibration_totals")

#define NO_NAMES "NULL::text, NULL::text, NULL::text, "

static const char read_segments[] = READ_BUCKETS(TABLES, SEGMENT_KEYS, SEGMENT_KEYS);
static const char read_together[] = READ_BUCKETS(TABLES, "", NO_NAMES);
static const char read_days_together[] = READ_BUCKETS(TABLES_AND_DAYS, "", NO_NAMES);
static const char read_everything[] = READ_BUCKETS(TABLES_AND_TOTALS, "", NO_NAMES);

/* Days miss the hours that have not been taken over yet (rollup.h); once there are none, none come. */
#define DAYS_ARE_COMPLETE "SELECT NOT EXISTS (SELECT FROM calibration_buckets WHERE width_s = 3600)"

enum {
	APPLICATION,
	MODEL,
	PROMPT_VERSION,
	LABEL_SOURCE,
	LEVEL,
	BIN,
	STEP,
	CASES,
	WEIGHT,
	WEIGHT_SQUARED,
	WEIGHT_CORRECT,
	WEIGHT_CONFIDENCE,
	WEIGHT_SQUARED_ERROR
};

/* An entry while its rows are read. */
struct report_gathering {
	struct calibration_entry entry;
	struct calibration_cells cells;
	struct calibration_sums steps[CALIBRATION_GROUPS][CALIBRATION_STEPS];
};

bool calibration_parse_window(const char *text, int64_t *ret_window_s)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", CALIBRATION_DAY_S } };
	char *end;
	long long count = strtoll(text, &end, 10);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (count > 0 && count <= LONGEST_WINDOW_S / units[i].seconds &&
		    strcmp(end, units[i].unit) == 0) {
			*ret_window_s = count * units[i].seconds;
			return true;
		}
	return false;
}

static struct calibration_sums sums_at(const PGresult *result, int row)
{
	return (struct calibration_sums){
		.cases = database_integer_at(result, row, CASES),
		.weight = database_number_at(result, row, WEIGHT),
		.weight_squared = database_number_at(result, row, WEIGHT_SQUARED),
		.weight_correct = database_number_at(result, row, WEIGHT_CORRECT),
		.weight_confidence = database_number_at(result, row, WEIGHT_CONFIDENCE),
		.weight_squared_error = database_number_at(result, row, WEIGHT_SQUARED_ERROR),
	};
}

static int level_at(const PGresult *result, int row)
{
	int level = LEVEL_VERY_LOW;
	while (level < LEVEL_HIGH &&
	       strcmp(advisory_level_name((enum confidence_level)level), PQgetvalue(result, row, LEVEL)) != 0)
		level++;
	return level;
}

static bool same_entry(const PGresult *result, int a, int b)
{
	for (int column = APPLICATION; column <= LABEL_SOURCE; column++)
		if (strcmp(PQgetvalue(result, a, column), PQgetvalue(result, b, column)) != 0)
			return false;
	return true;
}

static void gather_row(struct report_gathering *gathering, const PGresult *result, int row)
{
	struct calibration_sums sums = sums_at(result, row);
	int level = level_at(result, row);
	if (PQgetisnull(result, row, STEP))
		gathering->cells.cells[level][database_integer_at(result, row, BIN)] = sums;
	else
		gathering->steps[level][database_integer_at(result, row, STEP)] = sums;
}

static struct calibration_entry finish_entry(struct report_gathering *gathering, int64_t min_cases)
{
	calibration_report_make(&gathering->cells, min_cases, &gathering->entry.report);
	for (int group = 0; group < CALIBRATION_GROUPS; group++)
		for (int step = 0; step < CALIBRATION_STEPS; step++) {
			const struct calibration_sums *sums = &gathering->steps[group][step];
			gathering->entry.trend[group][step] = (struct calibration_moment){
				sums->cases, sums->cases ? sums->weight_correct / sums->weight : 0
			};
		}
	return gathering->entry;
}

/* Rows of one entry follow each other. */
static void gather(const PGresult *result, const struct calibration_query *query, struct arena *arena,
		   struct calibration_reports *reports)
{
	size_t capacity = 0;
	int rows = PQntuples(result);
	struct report_gathering gathering = { 0 };
	for (int row = 0; row < rows; row++) {
		if (row == 0 || !same_entry(result, row - 1, row)) {
			gathering = (struct report_gathering){ 0 };
			gathering.entry.application = database_text_at(result, row, APPLICATION, arena);
			gathering.entry.model = database_text_at(result, row, MODEL, arena);
			gathering.entry.prompt_version = database_text_at(result, row, PROMPT_VERSION, arena);
			gathering.entry.label_source =
				calibration_source_of(PQgetvalue(result, row, LABEL_SOURCE));
		}
		gather_row(&gathering, result, row);
		if (row + 1 == rows || !same_entry(result, row, row + 1))
			ARENA_PUSH(arena, reports->entries, reports->count, capacity,
				   finish_entry(&gathering, query->min_cases));
	}
}

static int64_t round_down(int64_t value, int64_t step)
{
	return value / step * step;
}

/* Columns of the ranges as arrays of PostgreSQL. */
struct ranges {
	struct buf width, since, until, step;
};

static void ranges_free(struct ranges *ranges)
{
	buf_free(&ranges->width);
	buf_free(&ranges->since);
	buf_free(&ranges->until);
	buf_free(&ranges->step);
}

static void append_number(struct buf *array, int64_t number)
{
	buf_append_char(array, array->len == 0 ? '{' : ',');
	buf_printf(array, "%lld", (long long)number);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void ranges_add(struct ranges *ranges, int64_t width_s, int64_t since_s, int64_t until_s, int step)
{
	if (since_s >= until_s)
		return;
	append_number(&ranges->width, width_s);
	append_number(&ranges->since, since_s);
	append_number(&ranges->until, until_s);
	append_number(&ranges->step, step);
}

/* A part of the window that is read from buckets of one width: whole ones of them. */
struct zone {
	int64_t width_s, since_s, until_s;
};

/* Fine buckets, hours, days, hours, fine buckets; those at the edges may be empty. */
#define MAX_ZONES 5

/* Divides a zone into the whole buckets of a coarser width in it, and what is left before and behind. */
static void split_zone(struct zone *zones, size_t *count, int64_t width_s)
{
	size_t middle = *count / 2;
	struct zone whole = zones[middle];
	struct zone inner = { width_s, round_down(whole.since_s + width_s - 1, width_s),
			      round_down(whole.until_s, width_s) };
	if (inner.since_s >= inner.until_s)
		return;
	memmove(zones + middle + 3, zones + middle + 1, (*count - middle - 1) * sizeof *zones);
	zones[middle] = (struct zone){ whole.width_s, whole.since_s, inner.since_s };
	zones[middle + 1] = inner;
	zones[middle + 2] = (struct zone){ whole.width_s, inner.until_s, whole.until_s };
	*count += 2;
}

/* The window is made of whole buckets, from the one that it begins in to the one that it ends in. What is
 * within it of hours and days is read from their buckets; days only where the steps, if any are wanted, are
 * not shorter. A bucket belongs to the step that it starts in. */
static void ranges_make(struct ranges *ranges, const struct calibration_query *query,
			const struct calibration_reports *reports, bool days_complete)
{
	int64_t width_s = query->bucket_s < CALIBRATION_HOUR_S ? query->bucket_s : CALIBRATION_HOUR_S;
	int64_t since_s = round_down(reports->since_ms / 1000, width_s);
	int64_t span_s = round_down(reports->until_ms / 1000, width_s) + width_s - since_s;
	int steps = query->without_trend ? 1 : CALIBRATION_STEPS;
	struct zone zones[MAX_ZONES] = { { width_s, since_s, since_s + span_s } };
	size_t count = 1;
	split_zone(zones, &count, CALIBRATION_HOUR_S);
	if (days_complete && (query->without_trend || query->window_s >= CALIBRATION_DAYS_SINCE_S))
		split_zone(zones, &count, CALIBRATION_DAY_S);
	for (int step = 0; step < steps; step++) {
		int64_t from_s = since_s + (span_s * step + steps - 1) / steps;
		int64_t to_s = since_s + (span_s * (step + 1) + steps - 1) / steps;
		for (size_t i = 0; i < count; i++)
			ranges_add(ranges, zones[i].width_s, larger(from_s, zones[i].since_s),
				   smaller(to_s, zones[i].until_s), step);
	}
	buf_append_char(&ranges->width, '}');
	buf_append_char(&ranges->since, '}');
	buf_append_char(&ranges->until, '}');
	buf_append_char(&ranges->step, '}');
}

static err_t look_for_days(struct database *database, bool *ret_complete, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, DAYS_ARE_COMPLETE, 0, NULL, &result, detail);
	if (!err)
		*ret_complete = PQgetvalue(result, 0, 0)[0] == 't';
	return err;
}

static const char *statement_of(const struct calibration_query *query, int version)
{
	if (query->by_segment)
		return read_segments;
	bool everything = !query->application && !query->model && !query->prompt_version && !query->segments;
	if (!everything)
		return read_together;
	return version < HOUR_TOTALS_SINCE_VERSION ? read_days_together : read_everything;
}

static err_t read_buckets(struct database *database, const struct calibration_query *query, int version,
			  struct calibration_reports *reports, PGresult **ret_result,
			  struct err_detail *detail)
{
	bool any_source = query->label_source == ENUM_ABSENT;
	_cleanup_(segment_arrays_free) struct segment_arrays only = { BUF_INIT, BUF_INIT, BUF_INIT };
	_cleanup_(ranges_free) struct ranges ranges = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT };
	bool days_complete = false;
	err_t err = look_for_days(database, &days_complete, detail);
	if (err)
		return err;
	segment_arrays_make(&only, query->segments, query->segments_count);
	ranges_make(&ranges, query, reports, days_complete);
	const char *const parameters[] = {
		ranges.width.data,
		ranges.since.data,
		ranges.until.data,
		ranges.step.data,
		query->application,
		query->model,
		query->prompt_version,
		any_source ? NULL : calibration_source_name(query->label_source),
		query->segments ? only.application.data : NULL,
		query->segments ? only.model.data : NULL,
		query->segments ? only.prompt_version.data : NULL,
	};
	return database_query(database, statement_of(query, version), sizeof parameters / sizeof *parameters,
			      parameters, ret_result, detail);
}

static struct calibration_reports new_reports(const struct calibration_query *query)
{
	int64_t until_ms = query->until_ms ? query->until_ms : clock_wall_ms();
	return (struct calibration_reports){
		.application = query->application,
		.window_s = query->window_s,
		.since_ms = until_ms - query->window_s * 1000,
		.until_ms = until_ms,
	};
}

static err_t read_entries(struct database *database, const struct calibration_query *query, int version,
			  struct arena *arena, struct calibration_reports *ret_reports,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct calibration_reports reports = new_reports(query);
	err_t err = read_buckets(database, query, version, &reports, &result, detail);
	if (err)
		return err;
	gather(result, query, arena, &reports);
	*ret_reports = reports;
	return ERR_OK;
}

err_t calibration_read_entries(struct database *database, const struct calibration_query *query,
			       struct arena *arena, struct calibration_reports *ret_reports,
			       struct err_detail *detail)
{
	return read_entries(database, query, calibration_schema_version(), arena, ret_reports, detail);
}

/* ---- rankings ---- */

/* A score without cases has none. */
static void add_ranking(struct calibration_entry *entry, enum ranking_score score,
			const struct outcome *outcomes, size_t count, int64_t since_ms, double wish,
			struct arena *arena)
{
	struct ranking *ranking = &entry->rankings[entry->rankings_count];
	if (count == 0 || ranking_of_cases(score, outcomes, count, wish, arena, ranking, NULL) != ERR_OK)
		return;
	ranking->since_ms = since_ms;
	entry->rankings_count++;
}

static err_t rank_entry(struct database *database, const struct calibration_query *query, bool single_cases,
			const struct calibration_reports *reports, struct arena *arena,
			struct calibration_entry *entry, struct err_detail *detail)
{
	double wish = query->wish > 0 ? query->wish : RANKING_WISH;
	struct err_detail fault = { "" };
	struct sample sample;
	if (entry->report.cases == 0)
		return ERR_OK;
	ranking_of_report(&entry->report, wish, arena, &entry->rankings[entry->rankings_count++]);
	if (!single_cases)
		return ERR_OK;
	err_t err = sample_read(database, query, entry->label_source, reports->since_ms, reports->until_ms,
				arena, &sample, &fault);
	if (err == ERR_DATABASE_REFUSED) { /* a role for reports need not have the rights */
		entry->fault = arena_str(arena, str_from(err_message(err, &fault)));
		return ERR_OK;
	}
	if (err)
		return err_fail(detail, err, "%s", err_message(err, &fault));
	add_ranking(entry, RANKING_OVERALL, sample.overall, sample.overall_count, sample.overall_since_ms,
		    wish, arena);
	if (sample.both_count < sample.overall_count && sample.both_count == sample.probability_count) {
		size_t before = entry->rankings_count;
		add_ranking(entry, RANKING_OVERALL, sample.both, sample.both_count,
			    sample.probability_since_ms, wish, arena);
		for (size_t i = before; i < entry->rankings_count; i++)
			entry->rankings[i].with_probability = true;
	}
	add_ranking(entry, RANKING_PROBABILITY, sample.probability, sample.probability_count,
		    sample.probability_since_ms, wish, arena);
	return ERR_OK;
}

static err_t rank(struct database *database, const struct calibration_query *query, int version,
		  struct arena *arena, struct calibration_reports *reports, struct err_detail *detail)
{
	bool single_cases = version >= SAMPLE_SINCE_VERSION && !query->by_segment && !query->segments;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < reports->count; i++)
		err = rank_entry(database, query, single_cases, reports, arena, &reports->entries[i], detail);
	return err;
}

#define COUNTED                                                                                              \
	"SELECT (EXISTS (SELECT FROM calibration_rollups) OR EXISTS (SELECT FROM "                           \
	"calibration_buckets))::integer"

/* Why there may be nothing to report. */
static err_t look_for_any(struct database *database, struct calibration_reports *reports,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	reports->counted = reports->count > 0;
	if (reports->counted)
		return ERR_OK;
	err_t err = database_query(database, COUNTED, 0, NULL, &result, detail);
	if (!err)
		reports->counted = database_integer_at(result, 0, 0) != 0;
	return err;
}

/* Rows of an application lie together within a day, which the planner does not know: it would rather read the
 * index of all days. */
#define PREFER_INDEXES "SET random_page_cost = 1.1"

err_t calibration_read(struct database *database, const struct calibration_query *query, struct arena *arena,
		       struct calibration_reports *ret_reports, struct err_detail *detail)
{
	struct calibration_reports reports = new_reports(query);
	int version = 0;
	err_t err = database_connect(database, NULL, detail);
	if (!err)
		err = database_script(database, PREFER_INDEXES, detail);
	if (!err)
		err = calibration_schema_read(database, &version, detail);
	if (!err && version > 0 && version < TOTALS_SINCE_VERSION)
		err = calibration_schema_mismatch(version, detail);
	if (!err && version > 0)
		err = read_entries(database, query, version, arena, &reports, detail);
	reports.tables = version > 0;
	if (!err && version > 0)
		err = look_for_any(database, &reports, detail);
	if (!err)
		err = rank(database, query, version, arena, &reports, detail);
	if (!err && version > 0)
		err = episodes_open(database, query->application, arena, &reports.episodes,
				    &reports.episodes_count, detail);
	if (!err)
		*ret_reports = reports;
	return err;
}
