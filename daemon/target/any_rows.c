#include "target/any_rows.h"

#include "compare/members.h"

#include <math.h>

/* The rows that pass by and may be among the generated ones. */
struct any_rows_gathering {
	struct compare_members *members;
	struct result_builder found;
	size_t columns_count;
};

bool any_rows_would_do(const struct validation_truth *truth)
{
	const struct sort_cut *cut = &truth->shown.cut;
	return !truth->ordered && truth->limited && str_present(truth->shown.sql) && cut->known &&
	       truth->shown.keys_count == 0;
}

static bool gather(void *context, const str_t *cells, size_t cells_count)
{
	struct any_rows_gathering *gathering = context;
	size_t bytes = 0;
	char *text = NULL;
	if (cells_count != gathering->columns_count || !compare_members_may_hold(gathering->members, cells))
		return true;
	for (size_t i = 0; i < cells_count; i++)
		bytes += cells[i].len;
	str_t *kept = result_add_row(&gathering->found, bytes, &text);
	for (size_t i = 0; kept && i < cells_count; i++) {
		if (!str_present(cells[i]))
			continue;
		memcpy(text, cells[i].ptr, cells[i].len);
		text[cells[i].len] = '\0';
		kept[i] = (str_t){ text, cells[i].len };
		text += cells[i].len + 1;
	}
	return kept != NULL;
}

/* How many of the generated rows are among `rows`: by the share of the larger number that matches. */
static void judge(const struct result_set *generated, const struct result_set *rows,
		  const struct compare_part *part, const struct compare_options *options, struct arena *arena,
		  struct compare_verdict *verdict)
{
	struct compare_verdict found = { 0 };
	size_t larger = rows->rows_count > generated->rows_count ? rows->rows_count : generated->rows_count;
	compare_part_results(generated, rows, part, options, arena, &found, NULL);
	if (!found.schema_match || generated->rows_count == 0)
		return;
	double matched = round(found.content_match_rate * (double)larger);
	if (!verdict->schema_match && matched < (double)generated->rows_count) /* fields of its own */
		return;
	verdict->schema_match = true;
	verdict->content_match_rate = matched / (double)generated->rows_count;
	verdict->rows_matched = (size_t)matched;
	verdict->rows_compared = generated->rows_count;
	verdict->score = compare_ladder(verdict->content_match_rate);
}

/* Columns that names do not pair are taken as they stand: whether that is right shows where all rows are
 * found. */
static bool pair_columns(const struct result_set *generated, const struct result_set *rows,
			 struct arena *arena, struct compare_pairing *ret_pairing)
{
	size_t count = rows->columns_count, next = 0;
	bool *taken = ARENA_ARRAY(arena, bool, count);
	*ret_pairing = (struct compare_pairing){ ARENA_ARRAY(arena, struct compare_pair, count), count, 1 };
	if (compare_pair_names(generated, rows, ret_pairing, taken, arena) == 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		if (ret_pairing->pairs[i].generated != COMPARE_NOT_PAIRED_YET)
			continue;
		while (taken[next])
			next++;
		compare_set_pair(ret_pairing, generated, rows, i, next++);
	}
	return false;
}

/* More rows than are kept: only those that may be wanted are. */
static err_t compare_passing(struct tries *tries, const struct engine *engine, void *session,
			     const struct target_settings *settings, str_t sql,
			     const struct result_set *generated, const struct result_set *first,
			     const struct compare_options *options, struct arena *arena,
			     struct compare_verdict *verdict, struct err_detail *detail)
{
	static const struct compare_part all_columns = { 0 };
	struct compare_pairing pairing;
	bool named = pair_columns(generated, first, arena, &pairing);
	_cleanup_(compare_members_cleanup) struct compare_members *members =
		compare_members_new(generated, &pairing);
	struct any_rows_gathering gathering = {
		.members = members,
		.found = { .arena = arena,
			   .max_rows = settings->max_rows,
			   .max_bytes = settings->max_result_bytes },
		.columns_count = first->columns_count,
	};
	result_begin(&gathering.found, first->columns_count);
	struct query_run run = { .result = { .arena = arena,
					     .sink = { gather, &gathering },
					     .max_bytes = settings->max_result_bytes } };
	err_t err = tries_run(tries, engine, session, sql, &run, detail);
	bool whole =
		!err && run.outcome == QUERY_RETURNED && !run.result.truncated && !gathering.found.truncated;
	struct result_set found = result_finish(&gathering.found);
	found.columns = first->columns;
	if (whole)
		judge(generated, &found, &all_columns, options, arena, verdict);
	verdict->proven &= verdict->score >= 1.0 || (whole && named);
	result_free(&run.result);
	result_free(&gathering.found);
	return err;
}

err_t any_rows_compare(struct tries *tries, const struct engine *engine, void *session,
		       const struct target_settings *settings, const struct validation_truth *truth,
		       const struct result_set *generated, const struct compare_part *part,
		       const struct compare_options *options, struct arena *arena,
		       struct compare_verdict *verdict, struct err_detail *detail)
{
	struct compare_options any = *options;
	any.limited = false;
	struct query_run run = { .result = { .arena = arena,
					     .max_rows = settings->max_rows,
					     .max_bytes = settings->max_result_bytes } };
	err_t err = tries_run(tries, engine, session, truth->shown.sql, &run, detail);
	struct result_set rows = result_finish(&run.result), wide = *generated;
	if (truth->shown.documents && wide.columns_count < rows.columns_count)
		wide = result_widened(generated, rows.columns_count, arena);
	bool usable = !err && engine->usable(session);
	if (!usable || run.outcome != QUERY_RETURNED || (rows.truncated && part->columns))
		verdict->proven = false;
	else if (!rows.truncated)
		judge(&wide, &rows, part, &any, arena, verdict);
	else if (wide.columns_count == rows.columns_count)
		err = compare_passing(tries, engine, session, settings, truth->shown.sql, &wide, &rows, &any,
				      arena, verdict, detail);
	result_free(&run.result);
	return err;
}
