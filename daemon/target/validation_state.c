#include "target/validation_state.h"

static bool holds_nul(str_t sql) /* the rest would not be seen by the database */
{
	return memchr(sql.ptr, '\0', sql.len) != NULL;
}

err_t validation_run_query_and(const struct validation *validation, str_t sql, str_t next,
			       struct arena *arena, struct query_run *ret_run, struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	*ret_run = (struct query_run){
		.next = str_present(next) && !holds_nul(next) ? next : STR_NONE,
		.result = { .arena = arena,
			    .max_rows = target->max_rows,
			    .max_bytes = target->max_result_bytes },
	};
	if (holds_nul(sql)) {
		ret_run->outcome = QUERY_FAILED;
		ret_run->message = STR("the statement holds a NUL byte");
		return ERR_OK;
	}
	return tries_run(validation->tries, validation->engine, *validation->session, sql, ret_run, detail);
}

err_t validation_run_query(const struct validation *validation, str_t sql, struct arena *arena,
			   struct query_run *ret_run, struct err_detail *detail)
{
	return validation_run_query_and(validation, sql, STR_NONE, arena, ret_run, detail);
}

void validation_take_doubt(struct validation *validation, size_t index, enum validation_doubt doubt)
{
	if (validation->nondeterministic)
		return;
	validation->nondeterministic = true;
	validation->doubt = doubt;
	validation->doubted_truth = index;
}

void validation_set_keys(const struct sql_order_key *keys, size_t count, struct arena *arena,
			 struct compare_options *options)
{
	struct compare_order_key *visible = ARENA_ARRAY(arena, struct compare_order_key, count);
	options->order_keys = visible;
	options->order_keys_count = 0;
	while (options->order_keys_count < count && keys[options->order_keys_count].column >= 0) {
		visible[options->order_keys_count].column = (size_t)keys[options->order_keys_count].column;
		options->order_keys_count++;
	}
	options->all_keys_visible = options->order_keys_count == count;
}

void validation_set_shown_keys(const struct sort_keys *shown, size_t columns, struct arena *arena,
			       struct compare_options *options)
{
	struct sql_order_key *keys = ARENA_ARRAY(arena, struct sql_order_key, shown->keys_count);
	for (size_t i = 0; i < shown->keys_count; i++) {
		keys[i] = shown->keys[i];
		keys[i].column += shown->documents ? (int)columns : 0;
	}
	validation_set_keys(keys, shown->keys_count, arena, options);
}

struct compare_options validation_options(const struct validation *validation,
					  const struct validation_truth *truth, struct arena *arena)
{
	const struct target_settings *target = &validation->settings->target;
	const struct validation_comparing *comparing = &validation->request->comparing;
	const struct sort_cut *cut = &truth->shown.cut;
	bool known = str_present(truth->shown.sql) && cut->known;
	struct compare_options options = {
		.ordered = truth->ordered && !comparing->ignore_order,
		.keys_any_case = target->engine == TARGET_MARIADB,
		.keys_exact = target->engine == TARGET_MONGODB,
		.limited = truth->limited,
		.limit = known && cut->limit > 0 ? (size_t)cut->limit : 0,
		.offset = known && cut->offset > 0 ? (size_t)cut->offset : 0,
		.absolute_tolerance = comparing->absolute_tolerance > 0 ? comparing->absolute_tolerance
									: target->absolute_tolerance,
		.relative_tolerance = target->relative_tolerance,
	};
	validation_set_keys(truth->order_keys, truth->order_keys_count, arena, &options);
	options.all_keys_visible &= !truth->table; /* nobody knows what a table was sorted by */
	return options;
}

/* What the results differ in, unless in nothing. */
static struct compare_explanation *explain(const struct validation *validation, size_t index,
					   const struct validation_finding *finding)
{
	const struct compare_verdict *verdict = &finding->verdict;
	if (verdict->schema_match && verdict->row_count_match && verdict->content_match_rate >= 1)
		return NULL;
	const struct validation_request *request = validation->request;
	struct compare_options options =
		validation_options(validation, &request->truths[index], validation->arena);
	struct compare_explanation *explanation = ARENA_NEW(validation->arena, struct compare_explanation);
	compare_explain(&finding->shown, verdict, &options, request->comparing.sample_rows, validation->arena,
			explanation);
	explanation->estimated = finding->estimate.known;
	explanation->generated_more = finding->shown.generated.truncated && !finding->counted;
	explanation->truth_more = finding->shown.truth.truncated && !finding->counted;
	return explanation;
}

void validation_take_finding(struct validation *validation, size_t index,
			     const struct validation_finding *finding)
{
	struct validation_result *result = &validation->result;
	const struct compare_verdict *verdict = &finding->verdict;
	bool better = verdict->score > result->score ||
		      (verdict->score == result->score && verdict->proven && !result->conclusive);
	validation->undecided |= !verdict->proven;
	if (validation->compared && !better)
		return;
	validation->compared = true;
	result->status = VALIDATION_COMPARED;
	result->truth_index = index;
	result->generated = finding->generated;
	result->truth = finding->truth;
	result->match_rate_low = result->match_rate_high = (opt_double_t){ 0 };
	if (finding->estimate.known) {
		result->match_rate_low = opt_double(finding->estimate.low);
		result->match_rate_high = opt_double(finding->estimate.high);
	}
	result->score = verdict->score;
	result->schema_match = verdict->schema_match;
	result->row_count_match = verdict->row_count_match;
	result->content_match_rate = verdict->content_match_rate;
	result->rows_matched = (int64_t)verdict->rows_matched;
	result->rows_compared = (int64_t)verdict->rows_compared;
	result->ordering_matters = verdict->ordering_matters;
	result->truncated = verdict->truncated;
	result->conclusive = verdict->proven;
	result->limit_cut_tie = verdict->limit_cut_tie;
	result->explanation = explain(validation, index, finding);
}

/* Documents have fields, a result has not: without documents it has whatever columns the other one has. */
static bool may_have_any_columns(const struct validation *validation, const struct result_set *set)
{
	return validation->settings->target.engine == TARGET_MONGODB && set->columns_count == 0 &&
	       set->rows_count == 0;
}

static bool has_column(const struct result_set *set, str_t name)
{
	for (size_t i = 0; i < set->columns_count; i++)
		if (str_equal(set->columns[i].name, name))
			return true;
	return false;
}

/* A field that is null in all documents of one result is, in one whose documents lack it, the same. */
static struct result_set with_nulls_of(const struct result_set *set, const struct result_set *other,
				       struct arena *arena)
{
	struct result_column *columns =
		ARENA_ARRAY(arena, struct result_column, set->columns_count + other->columns_count);
	size_t count = set->columns_count;
	for (size_t i = 0; i < count; i++)
		columns[i] = set->columns[i];
	for (size_t i = 0; i < other->columns_count; i++)
		if (other->columns[i].type == CELL_NULL && !has_column(set, other->columns[i].name))
			columns[count++] = other->columns[i];
	if (count == set->columns_count)
		return *set;
	struct result_set wide = result_widened(set, count, arena);
	wide.columns = columns;
	return wide;
}

bool validation_find_part(const struct validation *validation, const struct result_set *truth,
			  struct arena *arena, struct compare_part *ret_part, str_t *ret_missing)
{
	const struct validation_comparing *comparing = &validation->request->comparing;
	if (may_have_any_columns(validation, truth)) {
		*ret_part = (struct compare_part){ 0 };
		return true;
	}
	return compare_part_find(truth, comparing->columns, comparing->columns_count, arena, ret_part,
				 ret_missing);
}

struct compare_verdict validation_compare(const struct validation *validation, size_t index,
					  const struct result_set *ours, const struct result_set *truth,
					  struct arena *arena, struct compare_shown *ret_shown)
{
	struct compare_options options =
		validation_options(validation, &validation->request->truths[index], arena);
	struct compare_verdict verdict = { 0 };
	struct result_set generated = *ours, expected = *truth;
	struct compare_part part;
	str_t missing;
	if (may_have_any_columns(validation, ours)) {
		generated.columns = truth->columns;
		generated.columns_count = truth->columns_count;
	} else if (may_have_any_columns(validation, truth)) {
		expected.columns = ours->columns;
		expected.columns_count = ours->columns_count;
	} else if (validation->settings->target.engine == TARGET_MONGODB) {
		generated = with_nulls_of(ours, truth, arena);
		expected = with_nulls_of(truth, ours, arena);
	}
	if (validation_find_part(validation, truth, arena, &part, &missing))
		compare_part_results(&generated, &expected, &part, &options, arena, &verdict, ret_shown);
	return verdict;
}

void validation_take_failure(struct validation *validation, size_t index, const struct query_run *truth)
{
	bool denied = validation->generated.denied && validation->request->truths[index].table;
	validation->compared = true;
	validation->undecided = validation->nondeterministic = false;
	validation->result = (struct validation_result){
		.conclusive = true,
		.status = denied					   ? VALIDATION_UNAVAILABLE
			  : validation->generated.outcome == QUERY_TIMEOUT ? VALIDATION_TIMEOUT
									   : VALIDATION_EXECUTION_FAILED,
		.error = denied ? ERR_TARGET_DENIED : ERR_OK,
		.message = arena_str(validation->arena, validation->generated.message),
		.truth_index = index,
		.generated = validation->generated.execution,
		.truth = truth->execution,
		.ordering_matters = validation->request->truths[index].ordered,
	};
}

static void note_broken(struct validation *validation, size_t index, const struct query_run *truth)
{
	for (size_t i = 0; i < validation->broken_count; i++)
		if (validation->broken[i].truth_index == index)
			return;
	validation->broken[validation->broken_count++] = (struct validation_broken){
		.truth_index = index,
		.error = truth->denied ? ERR_TARGET_DENIED : ERR_GROUND_TRUTH_FAILED,
		.message = arena_str(validation->arena, truth->message),
	};
}

void validation_take_broken(struct validation *validation, size_t index, const struct query_run *truth)
{
	struct validation_result *result = &validation->result;
	validation->undecided = true;
	note_broken(validation, index, truth);
	if (validation->compared || result->error == ERR_TARGET_DENIED)
		return;
	result->status = truth->denied ? VALIDATION_UNAVAILABLE : VALIDATION_GROUND_TRUTH_FAILED;
	result->error = truth->denied ? ERR_TARGET_DENIED : ERR_GROUND_TRUTH_FAILED;
	result->truth_index = index;
	result->truth = truth->execution;
	result->message = arena_str(validation->arena, truth->message);
}
