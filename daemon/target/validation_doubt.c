#include "target/validation_doubt.h"

#include "target/any_rows.h"
#include "target/validation_full.h"
#include "target/validation_inner.h"

/* Whether rows of the truth may tie with rows that it does not return. */
static bool may_be_cut(const struct compare_options *options, const struct result_set *truth)
{
	bool cut = options->limited && (options->limit == 0 || truth->rows_count >= options->limit);
	return cut || options->offset > 0;
}

void validation_doubt_order(struct validation *validation, size_t index, const struct result_set *truth,
			    struct arena *arena, struct compare_verdict *verdict)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct compare_options options = validation_options(validation, asked, arena);
	struct compare_verdict any_order = { 0 };
	struct compare_part part;
	str_t missing;
	if (!options.ordered || asked->table || verdict->score >= 1.0 || !verdict->schema_match ||
	    !verdict->row_count_match || verdict->truncated || verdict->ties_certain ||
	    validation->ties_settled)
		return;
	if (!options.all_keys_visible && may_be_cut(&options, truth)) {
		verdict->proven = false;
		return;
	}
	const struct result_set ours = result_finish(&validation->generated.result);
	options.ordered = false;
	if (validation_find_part(validation, truth, arena, &part, &missing))
		compare_part_results(&ours, truth, &part, &options, arena, &any_order, NULL);
	verdict->proven &= any_order.score <= verdict->score;
}

err_t validation_settle_any_rows(struct validation *validation, size_t index, const struct result_set *truth,
				 struct arena *arena, struct compare_verdict *verdict,
				 struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	const struct validation_truth *asked = &validation->request->truths[index];
	bool fits =
		verdict->schema_match || asked->shown.documents; /* which have the fields that they have */
	if (!fits || verdict->score >= 1.0 || asked->ordered || !asked->limited ||
	    !validation->engine->usable(*validation->session))
		return ERR_OK;
	bool known = !verdict->truncated && any_rows_would_do(asked); /* no more of them than are kept */
	if (!known && verdict->row_count_match && verdict->schema_match) {
		verdict->proven = false;
		validation_take_doubt(validation, index, VALIDATION_ANY_ROWS);
	}
	if (!known || !verdict->row_count_match)
		return ERR_OK;
	const struct result_set ours = result_finish(&validation->generated.result);
	const struct compare_options options = validation_options(validation, asked, arena);
	struct compare_part part;
	str_t missing;
	if (!validation_find_part(validation, truth, arena, &part, &missing))
		return ERR_OK;
	return any_rows_compare(validation->tries, validation->engine, *validation->session, target, asked,
				&ours, &part, &options, arena, verdict, detail);
}

/* Whether the truth, read in full once more, is what it was. */
static err_t differs_in_full(const struct validation *validation, size_t index,
			     const struct result_set *truth, struct arena *arena, bool *ret_differs,
			     struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct stream_query once = { .sql = asked->sql, .fetched = truth }, again = once;
	struct stream_comparison full = { 0 };
	err_t err = validation_read_in_full(validation, &again, &once, asked, arena, &full, detail);
	*ret_differs =
		!err && full.outcome == STREAM_READ && full.verdict == COMPARE_DIGEST_UNEQUAL &&
		(!full.same_count || (full.estimate.known && compare_ladder(full.estimate.rate) < 1.0));
	return err;
}

/* Whether the truth, run once more, is not its own equal: who differs from it may be right. */
static err_t differs_from_itself(const struct validation *validation, size_t index,
				 const struct result_set *truth, struct arena *arena, bool *ret_differs,
				 struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct query_run run;
	if (truth->truncated)
		return differs_in_full(validation, index, truth, arena, ret_differs, detail);
	err_t err = validation_run_query(validation, asked->sql, arena, &run, detail);
	struct result_set again = result_finish(&run.result);
	*ret_differs = false;
	if (!err && run.outcome == QUERY_RETURNED)
		*ret_differs = validation_compare(validation, index, &again, truth, arena, NULL).score < 1.0;
	result_free(&run.result);
	return err;
}

static err_t find_doubt(const struct validation *validation, size_t index, const struct result_set *truth,
			struct arena *arena, enum validation_doubt *ret_doubt, struct err_detail *detail)
{
	bool differs = false;
	err_t err = validation_inner_doubt(validation, index, arena, ret_doubt, detail);
	if (err || *ret_doubt != VALIDATION_NO_DOUBT || !validation->engine->usable(*validation->session) ||
	    (truth->truncated && !validation_may_stream(validation, index)))
		return err;
	err = differs_from_itself(validation, index, truth, arena, &differs, detail);
	*ret_doubt = differs ? VALIDATION_NOT_ITS_EQUAL : VALIDATION_NO_DOUBT;
	return err;
}

err_t validation_doubt_truth(struct validation *validation, size_t index, const struct result_set *truth,
			     struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail)
{
	enum validation_doubt doubt = VALIDATION_NO_DOUBT;
	if (verdict->score >= 1.0 || !verdict->schema_match || validation->request->truths[index].table ||
	    !validation->engine->usable(*validation->session))
		return ERR_OK;
	err_t err = find_doubt(validation, index, truth, arena, &doubt, detail);
	if (doubt != VALIDATION_NO_DOUBT) {
		validation_take_doubt(validation, index, doubt);
		verdict->proven = false;
	}
	return err;
}
