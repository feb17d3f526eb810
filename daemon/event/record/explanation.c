/* Why a result is what it is. */
#include "event/record/builder.h"

#include "common/utf8.h"

#include <inttypes.h>
#include <math.h>

/* Of a server's message. */
#define MAX_MESSAGE_BYTES 1024

static str_t cut_message(const struct record_builder *builder, str_t message)
{
	return arena_excerpt(builder->facts->arena, record_server_message(builder, message),
			     MAX_MESSAGE_BYTES);
}

/* What names of columns may show: a database names what has no name by its text, literals included. */
struct explanation_names {
	const struct record_builder *builder;
	bool hidden;
	struct sql_redaction truth; /* of the truth compared with, where that is SQL */
	bool truth_is_sql;
};

static bool ends_cut(str_t name)
{
	size_t len = strlen("…");
	return name.len >= len && memcmp(name.ptr + name.len - len, "…", len) == 0;
}

/* Of a name that was cut nobody can tell what it was. Short literals are told by quotes around them. */
static str_t show_name(const struct explanation_names *names, str_t name)
{
	struct arena *arena = names->builder->facts->arena;
	if (!names->hidden)
		return name;
	if (ends_cut(name))
		return STR("?");
	str_t quoted = arena_printf(arena, "\"" STR_FMT "\"", STR_ARG(name));
	str_t shown = record_message(names->builder, quoted);
	if (names->truth_is_sql)
		shown = sql_redaction_message(&names->truth, shown, arena);
	return shown.len >= 2 ? arena_text(arena, shown.ptr + 1, shown.len - 2) : STR("?");
}

static struct explanation_names names_of(const struct record_builder *builder,
					 const struct validation_result *result)
{
	const struct record_analysis *analysis = &builder->facts->analysis;
	struct explanation_names names = { .builder = builder, .hidden = record_hides_literals(builder) };
	names.truth_is_sql = names.hidden && result->truth_index < analysis->truth_queries_count;
	if (names.truth_is_sql)
		sql_redact(analysis->truth_texts[result->truth_index], analysis->dialect,
			   builder->facts->arena, &names.truth);
	return names;
}

static str_t *copy_list(const struct explanation_names *names, const str_t *from, size_t count)
{
	str_t *list = ARENA_ARRAY(names->builder->facts->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		list[i] = show_name(names, from[i]);
	return list;
}

static void copy_names(struct record_explanation *record, const struct compare_explanation *from,
		       const struct explanation_names *names)
{
	record->columns_paired =
		ARENA_ARRAY(names->builder->facts->arena, struct record_column_pair, from->paired_count);
	record->columns_paired_count = from->paired_count;
	for (size_t i = 0; i < from->paired_count; i++)
		record->columns_paired[i] =
			(struct record_column_pair){ show_name(names, from->paired[i].truth),
						     show_name(names, from->paired[i].generated) };
	record->columns_missing = copy_list(names, from->missing, from->missing_count);
	record->columns_missing_count = from->missing_count;
	record->columns_extra = copy_list(names, from->extra, from->extra_count);
	record->columns_extra_count = from->extra_count;
}

static struct truth_row *copy_rows(const struct compare_cells *from, size_t count, bool hidden,
				   struct arena *arena)
{
	struct truth_row *rows = ARENA_ARRAY(arena, struct truth_row, count);
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct truth_row){ ARENA_ARRAY(arena, str_t, from[i].count), from[i].count };
		for (size_t cell = 0; cell < from[i].count; cell++)
			rows[i].cells[cell] =
				hidden && str_present(from[i].items[cell]) ? STR("?") : from[i].items[cell];
	}
	return rows;
}

static void append_names(struct buf *text, const char *what, const str_t *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(text, "%s" STR_FMT, i ? ", " : what, STR_ARG(names[i]));
}

/* A line of it: names and messages may hold anything. */
static str_t one_line(struct buf *text, struct arena *arena)
{
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->data[i] < 0x20 || text->data[i] == 0x7f)
			text->data[i] = ' ';
	str_t line = arena_str(arena, buf_str(text));
	buf_free(text);
	return line;
}

/* The only value of each side, where results have no more and may be shown. */
static bool summarise_values(const struct validation_result *result, bool hidden, struct buf *text)
{
	const struct compare_explanation *why = result->explanation;
	if (hidden || why->generated_columns != 1 || why->truth_columns != 1 || result->generated.rows != 1 ||
	    result->truth.rows != 1 || why->missing_rows_count != 1 || why->extra_rows_count != 1)
		return false;
	str_t ours = why->extra_rows[0].items[0], theirs = why->missing_rows[0].items[0];
	buf_printf(text, "returned " STR_FMT ", the truth is " STR_FMT,
		   STR_ARG(str_present(ours) ? ours : STR("NULL")),
		   STR_ARG(str_present(theirs) ? theirs : STR("NULL")));
	return true;
}

/* Of rows that were not fetched or counted nothing is said as if it were known. */
static void summarise_rows(const struct validation_result *result, struct buf *text)
{
	const struct compare_explanation *why = result->explanation;
	int64_t ours = result->generated.rows, theirs = result->truth.rows,
		larger = ours > theirs ? ours : theirs;
	int64_t same = (int64_t)llround(result->content_match_rate * (double)larger);
	const char *about = why->estimated ? "about " : "";
	bool more = why->generated_more || why->truth_more;
	if (!result->row_count_match) {
		buf_printf(text, "returned %s%" PRId64 " rows, the truth has %s%" PRId64,
			   why->generated_more ? "more than " : "", ours, why->truth_more ? "more than " : "",
			   theirs);
		if (why->estimated || !result->truncated)
			buf_printf(text, "; %s%" PRId64 " match", about, same);
	} else {
		buf_printf(text, "%s%" PRId64 " of %s%" PRId64 " rows match the truth's", about, same,
			   more ? "the first " : "", larger);
	}
}

/* What results differ in. */
static void summarise(const struct validation_result *result, const struct record_explanation *from,
		      bool hidden, struct buf *text)
{
	if (!result->schema_match) {
		buf_printf(text, "returned %" PRId64 " columns, the truth has %" PRId64,
			   from->generated_columns, from->truth_columns);
		append_names(text, "; missing: ", from->columns_missing, from->columns_missing_count);
		append_names(text, "; not in the truth: ", from->columns_extra, from->columns_extra_count);
	} else if (from->other_order) {
		buf_printf(text, "the %" PRId64 " rows of the truth, in another order", result->truth.rows);
	} else if (!summarise_values(result, hidden, text)) {
		summarise_rows(result, text);
	}
}

/* Why a difference from the truth proves nothing, where that lies in a truth; else absent. */
static str_t doubt_text(const struct record_builder *builder, const struct validation_result *result)
{
	static const char *const texts[VALIDATION_DOUBT_COUNT_] = {
		[VALIDATION_NOT_ITS_EQUAL] = "does not return the same twice",
		[VALIDATION_ANY_ROWS] =
			"has a LIMIT and no ORDER BY, and not all rows were seen that it may take",
		[VALIDATION_INNER_ANY_ROWS] =
			"has a LIMIT inside without an ORDER BY that decides which rows it takes",
		[VALIDATION_INNER_TIE] = "has a LIMIT inside that cuts through rows that tie by its ORDER BY",
		[VALIDATION_ANY_OF_KEY] =
			"has a DISTINCT ON without an ORDER BY that decides which rows it takes",
	};
	if (result->conclusive || result->doubt == VALIDATION_NO_DOUBT)
		return STR_NONE;
	str_t name = record_truth_name(builder->facts, result->doubted_truth);
	return arena_printf(builder->facts->arena, STR_FMT " %s", STR_ARG(name), texts[result->doubt]);
}

static struct record_explanation *explain_difference(const struct record_builder *builder,
						     const struct validation_result *result)
{
	struct arena *arena = builder->facts->arena;
	const struct compare_explanation *from = result->explanation;
	struct record_explanation *record = ARENA_NEW(arena, struct record_explanation);
	bool hidden = record_hides_literals(builder);
	const struct explanation_names names = names_of(builder, result);
	struct buf text = BUF_INIT;
	record->generated_columns = (int64_t)from->generated_columns;
	record->truth_columns = (int64_t)from->truth_columns;
	record->other_order = from->other_order;
	copy_names(record, from, &names);
	summarise(result, record, hidden, &text);
	record->summary = one_line(&text, arena);
	record->message = doubt_text(builder, result);
	record->rows_missing = copy_rows(from->missing_rows, from->missing_rows_count, hidden, arena);
	record->rows_missing_count = from->missing_rows_count;
	record->rows_extra = copy_rows(from->extra_rows, from->extra_rows_count, hidden, arena);
	record->rows_extra_count = from->extra_rows_count;
	record->shortened = from->shortened;
	return record;
}

/* Whether it was our bound that ended the query: a server may have a shorter one. */
static bool reached_bound(const struct record_builder *builder, const struct validation_result *result)
{
	const struct target_settings *target = builder->facts->analysis.target;
	return target && result->generated.time_ms >= 0.9 * (double)target->statement_timeout_ms;
}

static struct record_explanation *explain_failure(const struct record_builder *builder,
						  const struct validation_result *result)
{
	static const char *const what[VALIDATION_STATUS_COUNT_] = {
		[VALIDATION_EXECUTION_FAILED] = "the query failed",
		[VALIDATION_TIMEOUT] = "the query took too long",
		[VALIDATION_GROUND_TRUTH_FAILED] = "the ground truth failed",
		[VALIDATION_UNAVAILABLE] = "nothing could be compared",
	};
	struct arena *arena = builder->facts->arena;
	struct record_explanation *record = ARENA_NEW(arena, struct record_explanation);
	str_t message = cut_message(builder, result->message);
	if (!str_present(message) && result->error)
		message = str_from(err_text(result->error));
	const struct validation_execution *failed =
		result->status == VALIDATION_GROUND_TRUTH_FAILED || result->error == ERR_TARGET_DENIED
			? &result->truth
			: &result->generated;
	struct buf text = BUF_INIT;
	if (result->status == VALIDATION_TIMEOUT && reached_bound(builder, result))
		buf_printf(&text, "the query did not end within %g s (targets.statement_timeout_ms)",
			   (double)builder->facts->analysis.target->statement_timeout_ms / 1000);
	else
		buf_printf(&text, "%s%s" STR_FMT, what[result->status], str_present(message) ? ": " : "",
			   STR_ARG(message));
	if (failed->sqlstate[0])
		buf_printf(&text, " (%s)", failed->sqlstate);
	else if (failed->code > 1) /* SQLite's 1 is any error */
		buf_printf(&text, " (%d)", failed->code);
	*record = (struct record_explanation){
		.summary = one_line(&text, arena),
		.error = result->error ? str_from(err_name(result->error)) : STR_NONE,
		.message = message,
	};
	return record;
}

struct record_explanation *record_build_explanation(const struct record_builder *builder,
						    const struct validation_result *result)
{
	switch (result->status) {
	case VALIDATION_COMPARED:
		return result->explanation ? explain_difference(builder, result) : NULL;
	case VALIDATION_UNSAFE:
	case VALIDATION_INVALID:
	case VALIDATION_STATUS_COUNT_:
		return NULL;
	default:
		return explain_failure(builder, result);
	}
}
