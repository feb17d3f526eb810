#include "target/validation_full.h"

bool validation_may_stream(const struct validation *validation, size_t index)
{
	return validation->settings->target.stream_large_results &&
	       !validation->request->truths[index].table && validation->request->comparing.columns_count == 0;
}

/* What both results in full have in common is exact; else the counts are, and the rate is that of a sample.
 */
static void refine(struct validation_finding *finding, const struct stream_comparison *full)
{
	struct compare_verdict *verdict = &finding->verdict;
	if (full->verdict != COMPARE_DIGEST_UNEQUAL) {
		verdict->score = verdict->content_match_rate = 1;
		verdict->rows_matched = verdict->rows_compared = (size_t)finding->truth.rows;
		verdict->row_count_match = true;
		verdict->truncated = false;
		verdict->proven = true;
		verdict->limit_cut_tie = full->verdict == COMPARE_DIGEST_EQUAL_TO_CUT;
		return;
	}
	verdict->row_count_match = full->same_count;
	verdict->proven = !full->same_count || full->estimate.known;
	finding->estimate = full->estimate;
	if (full->estimate.known)
		verdict->content_match_rate = full->estimate.rate;
	verdict->score =
		full->same_count ? compare_ladder(verdict->content_match_rate) : COMPARE_SCORE_OTHER_COUNT;
}

/* The truth as it runs in full: with the sort keys that it does not return, where it has any. False: as it
 * is.
 */
static bool show_keys(const struct validation_truth *truth, struct arena *arena,
		      struct compare_options *options, struct stream_query *query)
{
	const struct sort_keys *shown = &truth->shown;
	if (!str_present(shown->sql) || shown->added == 0)
		return false;
	str_t sql = shown->sql;
	if (shown->cut.known && shown->cut.limit >= 0)
		sql = sort_keys_limit(shown, shown->cut.limit, arena);
	if (shown->cut.known && shown->cut.offset > 0)
		return false;
	query->sql = sql;
	query->added = shown->added;
	validation_set_shown_keys(shown, query->fetched->columns_count, arena, options);
	return true;
}

err_t validation_read_in_full(const struct validation *validation, struct stream_query *ours,
			      struct stream_query *theirs, const struct validation_truth *asked,
			      struct arena *arena, struct stream_comparison *ret_full,
			      struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	const struct stream_query plain = *theirs;
	struct compare_options options = validation_options(validation, asked, arena);
	bool shown = show_keys(asked, arena, &options, theirs);
	err_t err = stream_compare(validation->tries, validation->engine, *validation->session, target, ours,
				   theirs, &options, arena, ret_full, detail);
	if (err || !shown || ret_full->outcome == STREAM_READ || !ret_full->truth_failed ||
	    !validation->engine->usable(*validation->session))
		return err;
	*theirs = plain;
	options = validation_options(validation, asked, arena);
	return stream_compare(validation->tries, validation->engine, *validation->session, target, ours,
			      theirs, &options, arena, ret_full, detail);
}

/* Whether the rows were held to an order whose ties could not be told: keys that the truth does not return,
 * and that it could not be asked for. */
static bool order_unknown(const struct validation *validation, const struct validation_truth *asked,
			  const struct stream_query *truth, struct arena *arena)
{
	const struct compare_options options = validation_options(validation, asked, arena);
	return options.ordered && !options.all_keys_visible && truth->added == 0;
}

err_t validation_compare_in_full(struct validation *validation, size_t index, const struct query_run *truth,
				 struct arena *arena, struct validation_finding *finding, bool *ret_compared,
				 struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	const struct result_set generated_set = result_finish(&validation->generated.result);
	const struct result_set truth_set = result_finish(&truth->result);
	struct stream_query ours = { .sql = validation->request->generated_sql, .fetched = &generated_set };
	struct stream_query theirs = { .sql = asked->sql, .fetched = &truth_set };
	struct stream_comparison full = { 0 };
	err_t err = validation_read_in_full(validation, &ours, &theirs, asked, arena, &full, detail);
	if (err)
		return err;
	if (full.outcome == STREAM_READ) {
		finding->generated = ours.execution;
		finding->truth = theirs.execution;
		finding->counted = true;
		refine(finding, &full);
		finding->verdict.proven &= finding->verdict.score >= 1.0 || !full.same_count ||
					   !order_unknown(validation, asked, &theirs, arena);
	}
	*ret_compared = full.outcome != STREAM_FAILED;
	if (full.outcome == STREAM_FAILED && full.generated_failed) {
		validation->generated.outcome = full.failed.outcome;
		validation->generated.execution = full.failed.execution;
		validation->generated.message = arena_str(validation->generated_arena, full.failed.message);
		validation_take_failure(validation, index, truth);
	} else if (full.outcome == STREAM_FAILED) {
		validation_take_broken(validation, index, &full.failed);
	}
	return ERR_OK;
}
