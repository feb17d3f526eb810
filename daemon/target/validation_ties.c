#include "target/validation_ties.h"

/* Which fields documents have depends on which of them are returned. */
static bool may_change(const struct validation_truth *truth, const struct compare_verdict *verdict)
{
	return str_present(truth->shown.sql) && (verdict->schema_match || truth->shown.documents) &&
	       verdict->row_count_match && !verdict->truncated;
}

/* Whether rows that tie could decide: those of keys that the truth does not return, or those at its cut that
 * have the same keys. */
static bool ties_may_decide(const struct validation_truth *truth, const struct compare_verdict *verdict)
{
	return may_change(truth, verdict) && ((verdict->limit_cut_tie && truth->shown.cut.known) ||
					      (truth->shown.added > 0 && verdict->content_match_rate < 1));
}

/* Whether that depends on what the database takes for the same key. */
static bool rank_may_decide(const struct validation_truth *truth, const struct compare_verdict *verdict)
{
	return may_change(truth, verdict) && truth->shown.keys_count > 0 && !truth->shown.documents &&
	       (verdict->loose_tie || (verdict->content_match_rate < 1 && !verdict->ties_certain));
}

str_t validation_whole_query(const struct validation *validation, const struct sort_keys *shown,
			     struct arena *arena)
{
	return sort_keys_limit(shown, validation->settings->target.max_rows + 1, arena);
}

/* Returns what the truth was cut from, as far as it is fetched, with the keys. */
static struct sort_keys query_with_keys(const struct validation *validation,
					const struct validation_truth *truth, struct arena *arena)
{
	struct sort_keys query = truth->shown;
	if (query.cut.known && (query.cut.limit >= 0 || query.cut.offset > 0))
		query.sql = validation_whole_query(validation, &truth->shown, arena);
	return query;
}

static void put_columns(struct buf *sql, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(sql, "%sc%zu", i ? ", " : "", i + 1);
}

/* The columns of a subquery keep the collations of what they are made of, and need no expression or alias of
 * the truth to be named. */
static void put_rank(struct buf *sql, const struct sort_keys *shown, bool nulls_placed)
{
	buf_append_text(sql, ", dense_rank() OVER (ORDER BY ");
	for (size_t i = 0; i < shown->keys_count; i++) {
		const struct sql_order_key *key = &shown->keys[i];
		buf_printf(sql, "%sc%d%s", i ? ", " : "", key->column + 1, key->descending ? " DESC" : "");
		if (nulls_placed)
			buf_append_text(sql, key->nulls_first ? " NULLS FIRST" : " NULLS LAST");
	}
	buf_append_text(sql, ")");
}

str_t validation_rank_query(const struct validation *validation, const struct sort_keys *shown,
			    size_t columns, struct arena *arena)
{
	const struct target_settings *target = &validation->settings->target;
	struct buf sql = BUF_INIT;
	buf_append_text(&sql, "WITH assayd_rows (");
	put_columns(&sql, columns + shown->added);
	buf_append_text(&sql, ") AS (\n");
	buf_append_str(&sql, shown->sql);
	buf_append_text(&sql, "\n) SELECT ");
	put_columns(&sql, columns);
	put_rank(&sql, shown, target->engine != TARGET_MARIADB);
	buf_printf(&sql, " FROM assayd_rows ORDER BY %zu LIMIT %lld", columns + 1,
		   (long long)target->max_rows + 1);
	str_t text = arena_str(arena, buf_str(&sql));
	buf_free(&sql);
	return text;
}

/* Whether rows that tie with the truth's may be beyond what was fetched of the whole, and nothing in the
 * output tells them: any of them would be as good. */
static bool tie_beyond_seen(const struct validation_truth *asked, const struct result_set *keyed,
			    enum compare_fit fit)
{
	return asked->shown.added > 0 && keyed->truncated && fit != COMPARE_FITS;
}

/* Judges anew by what the truth was cut from. Without a limit that is known, the cut is still in it. */
static void judge_by_whole(struct validation *validation, const struct validation_truth *asked,
			   const struct sort_keys *query, const struct result_set *truth,
			   const struct result_set *keyed, struct arena *arena,
			   struct compare_verdict *verdict)
{
	struct result_set ours = result_finish(&validation->generated.result), arranged;
	struct result_set rows = result_without(keyed, query->added, arena);
	if (query->documents && result_arranged(truth, &rows, arena, &arranged)) {
		truth = &arranged;
		if (ours.columns_count < rows.columns_count)
			ours = result_widened(&ours, rows.columns_count, arena);
	}
	struct compare_options options = validation_options(validation, asked, arena);
	struct compare_whole whole = { &rows, keyed, options.offset };
	rows.columns = truth->columns; /* classes may follow from the values */
	options.limited = options.limit > 0;
	validation_set_shown_keys(query, rows.columns_count, arena, &options);
	struct compare_part part;
	str_t missing;
	enum compare_fit fit = compare_whole_fit(truth, &options, &whole, arena);
	validation->undecided |= tie_beyond_seen(asked, keyed, fit);
	if (fit == COMPARE_FITS_NOT)
		return;
	struct compare_verdict again = { 0 };
	options.whole = &whole;
	if (validation_find_part(validation, truth, arena, &part, &missing))
		compare_part_results(&ours, truth, &part, &options, arena, &again, NULL);
	bool all_seen = fit == COMPARE_FITS && (asked->shown.cut.known || !asked->limited);
	validation->ties_settled |= all_seen && again.ties_certain;
	if (!verdict->schema_match && again.score < 1.0) /* it has fields of its own, or lacks some */
		return;
	if (all_seen || again.content_match_rate > verdict->content_match_rate)
		*verdict = again;
}

/* The truth runs once more with what tells its ties and without its cut. Nothing changes when that fails. */
static err_t compare_with_whole(struct validation *validation, size_t index, const struct sort_keys *query,
				const struct result_set *truth, struct arena *arena,
				struct compare_verdict *verdict, struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct query_run run;
	err_t err = validation_run_query(validation, query->sql, arena, &run, detail);
	struct result_set keyed = result_finish(&run.result);
	if (!err && run.outcome == QUERY_RETURNED && keyed.columns_count > query->added)
		judge_by_whole(validation, asked, query, truth, &keyed, arena, verdict);
	result_free(&run.result);
	return err;
}

err_t validation_settle_ties(struct validation *validation, size_t index, const struct result_set *truth,
			     struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct sort_keys query;
	struct sql_order_key rank;
	err_t err = ERR_OK;
	validation->ties_settled = false;
	if (ties_may_decide(asked, verdict)) {
		query = query_with_keys(validation, asked, arena);
		err = compare_with_whole(validation, index, &query, truth, arena, verdict, detail);
	}
	if (!err && validation->engine->usable(*validation->session) && rank_may_decide(asked, verdict)) {
		rank = (struct sql_order_key){ .column = (int)truth->columns_count };
		query = (struct sort_keys){ .sql = validation_rank_query(validation, &asked->shown,
									 truth->columns_count, arena),
					    .added = 1,
					    .keys = &rank,
					    .keys_count = 1 };
		err = compare_with_whole(validation, index, &query, truth, arena, verdict, detail);
	}
	verdict->limit_cut_tie |= verdict->loose_tie;
	return err;
}
