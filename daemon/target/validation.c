#include "target/validation.h"

#include "common/clock.h"
#include "score/compare_part.h"
#include "target/any_rows.h"
#include "target/stream.h"

#include <time.h>

#define ATTEMPTS       2
#define RETRY_PAUSE_MS 250

/* One validation in progress. */
struct validation {
	const struct engine *engine;
	const struct worker_settings *settings;
	void **session;
	struct truth_cache *cache;
	const struct validation_request *request;
	struct arena *arena;	       /* of the answer */
	struct arena *generated_arena; /* of the generated query's result */
	struct query_run generated;
	bool generated_ran; /* in the transaction that is open */
	bool compared;	    /* at least one truth ran */
	struct tries *tries;
	bool nondeterministic; /* one of them is */
	bool undecided;	       /* one of them may fit better than could be seen */
	struct validation_result result;
	struct validation_broken *broken; /* one a truth at most */
	size_t broken_count;
};

void session_close(const struct engine *engine, void **session)
{
	if (*session)
		engine->close(*session);
	*session = NULL;
}

err_t session_ensure(const struct engine *engine, const struct worker_settings *settings, void **session,
		     struct err_detail *detail)
{
	if (*session && engine->usable(*session))
		return ERR_OK;
	session_close(engine, session);
	return engine->open(settings, session, detail);
}

static err_t run_query(const struct validation *validation, str_t sql, struct arena *arena,
		       struct query_run *ret_run, struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	*ret_run = (struct query_run){
		.result = { .arena = arena,
			    .max_rows = target->max_rows,
			    .max_bytes = target->max_result_bytes },
	};
	if (memchr(sql.ptr, '\0', sql.len)) { /* the rest would not be seen by the database */
		ret_run->outcome = QUERY_FAILED;
		ret_run->message = STR("the statement holds a NUL byte");
		return ERR_OK;
	}
	return tries_run(validation->tries, validation->engine, *validation->session, sql, ret_run, detail);
}

/* The sort keys that can be seen in the output; the first that cannot ends them. */
static void set_keys(const struct sql_order_key *keys, size_t count, struct arena *arena,
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

static struct compare_options options_of(const struct validation *validation,
					 const struct validation_truth *truth, struct arena *arena)
{
	const struct target_settings *target = &validation->settings->target;
	const struct validation_comparing *comparing = &validation->request->comparing;
	const struct sort_cut *cut = &truth->shown.cut;
	bool known = str_present(truth->shown.sql) && cut->known;
	struct compare_options options = {
		.ordered = truth->ordered && !comparing->ignore_order,
		.keys_any_case = target->engine == TARGET_MARIADB,
		.limited = truth->limited,
		.limit = known && cut->limit > 0 ? (size_t)cut->limit : 0,
		.offset = known && cut->offset > 0 ? (size_t)cut->offset : 0,
		.absolute_tolerance = comparing->absolute_tolerance > 0 ? comparing->absolute_tolerance
									: target->absolute_tolerance,
		.relative_tolerance = target->relative_tolerance,
	};
	set_keys(truth->order_keys, truth->order_keys_count, arena, &options);
	options.all_keys_visible &= !truth->table; /* nobody knows what a table was sorted by */
	return options;
}

/* What comparing with one truth has shown. */
struct finding {
	struct compare_verdict verdict;
	struct validation_execution generated, truth;
	struct compare_estimate estimate;
	struct compare_shown shown;
	bool counted; /* both were read to their end */
};

/* What the results differ in, unless in nothing. */
static struct compare_explanation *explain(const struct validation *validation, size_t index,
					   const struct finding *finding)
{
	const struct compare_verdict *verdict = &finding->verdict;
	if (verdict->schema_match && verdict->row_count_match && verdict->content_match_rate >= 1)
		return NULL;
	const struct validation_request *request = validation->request;
	struct compare_options options = options_of(validation, &request->truths[index], validation->arena);
	struct compare_explanation *explanation = ARENA_NEW(validation->arena, struct compare_explanation);
	compare_explain(&finding->shown, verdict, &options, request->comparing.sample_rows, validation->arena,
			explanation);
	explanation->estimated = finding->estimate.known;
	explanation->generated_more = finding->shown.generated.truncated && !finding->counted;
	explanation->truth_more = finding->shown.truth.truncated && !finding->counted;
	return explanation;
}

/* Takes the finding over when it is the first or the best so far. */
static void take_finding(struct validation *validation, size_t index, const struct finding *finding)
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
	result->ordering_matters = verdict->ordering_matters;
	result->truncated = verdict->truncated;
	result->conclusive = verdict->proven;
	result->limit_cut_tie = verdict->limit_cut_tie;
	result->explanation = explain(validation, index, finding);
}

/* The columns of the truth that are asked for. False: it has no such column. */
static bool find_part(const struct validation *validation, const struct result_set *truth,
		      struct arena *arena, struct compare_part *ret_part, str_t *ret_missing)
{
	const struct validation_comparing *comparing = &validation->request->comparing;
	return compare_part_find(truth, comparing->columns, comparing->columns_count, arena, ret_part,
				 ret_missing);
}

static struct compare_verdict compare_two(const struct validation *validation, size_t index,
					  const struct result_set *ours, const struct result_set *truth,
					  struct arena *arena, struct compare_shown *ret_shown)
{
	struct compare_options options = options_of(validation, &validation->request->truths[index], arena);
	struct compare_verdict verdict = { 0 };
	struct compare_part part;
	str_t missing;
	if (find_part(validation, truth, arena, &part, &missing))
		compare_part_results(ours, truth, &part, &options, arena, &verdict, ret_shown);
	return verdict;
}

static struct compare_verdict compare_with(const struct validation *validation, size_t index,
					   const struct result_set *truth, struct arena *arena,
					   struct compare_shown *ret_shown)
{
	const struct result_set ours = result_finish(&validation->generated.result);
	return compare_two(validation, index, &ours, truth, arena, ret_shown);
}

/* The generated query could not be run although a truth could. Where the truth was a table, which needs no
 * rights, the role's are no measure. */
static void take_failure(struct validation *validation, size_t index, const struct query_run *truth)
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

/* What a truth would have returned that does not run may be what the query returns: whoever matches no other
 * is not proven wrong. Of one that our role may not run nobody who wrote it is at fault: it is told rather
 * than that another one is broken. */
static void take_broken_truth(struct validation *validation, size_t index, const struct query_run *truth)
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

static void forget_generated(struct validation *validation)
{
	result_free(&validation->generated.result);
	arena_free(validation->generated_arena);
	validation->generated_arena = NULL;
	validation->generated_ran = false;
}

/* A failed query may have taken the session with it. What was run before belongs to another snapshot then. */
static err_t begin_again(struct validation *validation, struct err_detail *detail)
{
	if (*validation->session && validation->engine->usable(*validation->session))
		return ERR_OK;
	forget_generated(validation);
	err_t err = session_ensure(validation->engine, validation->settings, validation->session, detail);
	return err ? err : validation->engine->begin(*validation->session, detail);
}

/* Runs the generated query once per transaction. */
static err_t ensure_generated(struct validation *validation, struct err_detail *detail)
{
	if (validation->generated_ran)
		return ERR_OK;
	forget_generated(validation);
	validation->generated_arena = arena_new();
	err_t err = run_query(validation, validation->request->generated_sql, validation->generated_arena,
			      &validation->generated, detail);
	validation->generated_ran = !err;
	validation->result.generated = validation->generated.execution;
	return err;
}

/* Whether the generated query returns exactly what one of the cached truths did: that is final. */
static err_t try_cached(struct validation *validation, bool *ret_matched, struct err_detail *detail)
{
	const struct validation_request *request = validation->request;
	*ret_matched = false;
	for (size_t i = 0; !*ret_matched && i < request->truths_count; i++) {
		const struct cached_truth *cached =
			request->truths[i].table
				? NULL
				: truth_cache_get(validation->cache, request->truths[i].sql,
						  request->catalog_digest, clock_monotonic_us());
		if (!cached)
			continue;
		err_t err = ensure_generated(validation, detail);
		if (err || validation->generated.outcome != QUERY_RETURNED)
			return err;
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct compare_shown shown;
		struct compare_verdict verdict = compare_with(validation, i, &cached->result, arena, &shown);
		*ret_matched = verdict.score >= 1.0 && !verdict.truncated && !verdict.limit_cut_tie &&
			       !verdict.loose_tie;
		if (*ret_matched) {
			take_finding(validation, i,
				     &(struct finding){ .verdict = verdict,
							.generated = validation->generated.execution,
							.truth = cached->execution,
							.shown = shown });
			validation->result.truth_cached = true;
		}
	}
	return ERR_OK;
}

/* What both results in full have in common is exact; else the counts are, and the rate is that of a sample.
 */
static void refine(struct finding *finding, const struct stream_comparison *full)
{
	struct compare_verdict *verdict = &finding->verdict;
	if (full->verdict != COMPARE_DIGEST_UNEQUAL) {
		verdict->score = verdict->content_match_rate = 1;
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
		sql = arena_printf(arena, STR_FMT "\nLIMIT %lld", STR_ARG(sql), (long long)shown->cut.limit);
	if (shown->cut.known && shown->cut.offset > 0)
		return false;
	query->sql = sql;
	query->added = shown->added;
	set_keys(shown->keys, shown->keys_count, arena, options);
	return true;
}

static err_t read_in_full(const struct validation *validation, struct stream_query *ours,
			  struct stream_query *theirs, const struct validation_truth *asked,
			  struct arena *arena, struct stream_comparison *ret_full, struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	const struct stream_query plain = *theirs;
	struct compare_options options = options_of(validation, asked, arena);
	bool shown = show_keys(asked, arena, &options, theirs);
	err_t err = stream_compare(validation->tries, validation->engine, *validation->session, target, ours,
				   theirs, &options, arena, ret_full, detail);
	if (err || !shown || ret_full->outcome == STREAM_READ || !ret_full->truth_failed ||
	    !validation->engine->usable(*validation->session))
		return err;
	*theirs = plain;
	options = options_of(validation, asked, arena);
	return stream_compare(validation->tries, validation->engine, *validation->session, target, ours,
			      theirs, &options, arena, ret_full, detail);
}

/* The limits have cut a result: reads both in full. `finding` is what the parts within the limits have shown,
 * which stands when a query has no end within its time. `ret_compared`: false when one of them failed, which
 * is in the result then. */
static err_t compare_in_full(struct validation *validation, size_t index, const struct query_run *truth,
			     struct arena *arena, struct finding *finding, bool *ret_compared,
			     struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	const struct result_set generated_set = result_finish(&validation->generated.result);
	const struct result_set truth_set = result_finish(&truth->result);
	struct stream_query ours = { .sql = validation->request->generated_sql, .fetched = &generated_set };
	struct stream_query theirs = { .sql = asked->sql, .fetched = &truth_set };
	struct stream_comparison full = { 0 };
	err_t err = read_in_full(validation, &ours, &theirs, asked, arena, &full, detail);
	if (err)
		return err;
	if (full.outcome == STREAM_READ) {
		finding->generated = ours.execution;
		finding->truth = theirs.execution;
		finding->counted = true;
		refine(finding, &full);
	}
	*ret_compared = full.outcome != STREAM_FAILED;
	if (full.outcome == STREAM_FAILED && full.generated_failed) {
		validation->generated.outcome = full.failed.outcome;
		validation->generated.execution = full.failed.execution;
		validation->generated.message = arena_str(validation->generated_arena, full.failed.message);
		take_failure(validation, index, truth);
	} else if (full.outcome == STREAM_FAILED) {
		take_broken_truth(validation, index, &full.failed);
	}
	return ERR_OK;
}

/* A statement that tells which rows of the truth, and of what it was cut from, tie. */
struct tie_query {
	str_t sql;
	size_t added; /* columns at the end that the truth does not return */
	const struct sql_order_key *keys;
	size_t keys_count;
};

static bool may_change(const struct validation_truth *truth, const struct compare_verdict *verdict)
{
	return str_present(truth->shown.sql) && verdict->schema_match && verdict->row_count_match &&
	       !verdict->truncated;
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
	return may_change(truth, verdict) && truth->shown.keys_count > 0 &&
	       (verdict->loose_tie || (verdict->content_match_rate < 1 && !verdict->ties_certain));
}

/* Returns what the truth was cut from, as far as it is fetched, with the keys. */
static struct tie_query query_with_keys(const struct validation *validation,
					const struct validation_truth *truth, struct arena *arena)
{
	const struct sort_keys *shown = &truth->shown;
	struct tie_query query = { shown->sql, shown->added, shown->keys, shown->keys_count };
	if (shown->cut.known && (shown->cut.limit >= 0 || shown->cut.offset > 0))
		query.sql = arena_printf(arena, STR_FMT "\nLIMIT %lld", STR_ARG(shown->sql),
					 (long long)validation->settings->target.max_rows + 1);
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

/* The same rows, with the rank that the database gives each by the keys. The truth stands in brackets as it
 * was found to be safe, and nothing is added to it but a number of its rows. `key` is to live as long as what
 * is returned. */
static struct tie_query query_with_rank(const struct validation *validation,
					const struct validation_truth *truth, size_t columns,
					struct sql_order_key *key, struct arena *arena)
{
	const struct sort_keys *shown = &truth->shown;
	const struct target_settings *target = &validation->settings->target;
	struct buf sql = BUF_INIT;
	*key = (struct sql_order_key){ .column = (int)columns };
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
	return (struct tie_query){ text, 1, key, 1 };
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
			   const struct tie_query *query, const struct result_set *truth,
			   const struct result_set *keyed, struct arena *arena,
			   struct compare_verdict *verdict)
{
	struct result_set ours = result_finish(&validation->generated.result);
	struct result_set rows = result_without(keyed, query->added, arena);
	struct compare_options options = options_of(validation, asked, arena);
	struct compare_whole whole = { &rows, keyed, options.offset };
	rows.columns = truth->columns; /* classes may follow from the values */
	options.limited = options.limit > 0;
	set_keys(query->keys, query->keys_count, arena, &options);
	struct compare_part part;
	str_t missing;
	enum compare_fit fit = compare_whole_fit(truth, &options, &whole, arena);
	validation->undecided |= tie_beyond_seen(asked, keyed, fit);
	if (fit == COMPARE_FITS_NOT)
		return;
	struct compare_verdict again = { 0 };
	options.whole = &whole;
	if (find_part(validation, truth, arena, &part, &missing))
		compare_part_results(&ours, truth, &part, &options, arena, &again, NULL);
	bool all_seen = fit == COMPARE_FITS && (asked->shown.cut.known || !asked->limited);
	if (all_seen || again.content_match_rate > verdict->content_match_rate)
		*verdict = again;
}

/* The truth runs once more with what tells its ties and without its cut. Nothing changes when that fails. */
static err_t compare_with_whole(struct validation *validation, size_t index, const struct tie_query *query,
				const struct result_set *truth, struct arena *arena,
				struct compare_verdict *verdict, struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct query_run run;
	err_t err = run_query(validation, query->sql, arena, &run, detail);
	struct result_set keyed = result_finish(&run.result);
	if (!err && run.outcome == QUERY_RETURNED && keyed.columns_count > query->added)
		judge_by_whole(validation, asked, query, truth, &keyed, arena, verdict);
	result_free(&run.result);
	return err;
}

/* Lets the database say which rows tie where that could change the verdict. Ties of keys that are not written
 * alike, which it did not confirm, are doubtful. */
static err_t settle_ties(struct validation *validation, size_t index, const struct result_set *truth,
			 struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	struct tie_query query;
	struct sql_order_key rank;
	err_t err = ERR_OK;
	if (ties_may_decide(asked, verdict)) {
		query = query_with_keys(validation, asked, arena);
		err = compare_with_whole(validation, index, &query, truth, arena, verdict, detail);
	}
	if (!err && validation->engine->usable(*validation->session) && rank_may_decide(asked, verdict)) {
		query = query_with_rank(validation, asked, truth->columns_count, &rank, arena);
		err = compare_with_whole(validation, index, &query, truth, arena, verdict, detail);
	}
	verdict->limit_cut_tie |= verdict->loose_tie;
	return err;
}

/* Large results are read in full where both sides can be, and all columns are compared. */
static bool may_stream(const struct validation *validation, size_t index)
{
	return validation->settings->target.stream_large_results &&
	       !validation->request->truths[index].table && validation->request->comparing.columns_count == 0;
}

/* What any rows would have been as good for. Where it is not known from which ones the truth took its own,
 * as with LIMIT (SELECT 1), nobody is proven wrong. */
static err_t settle_any_rows(struct validation *validation, size_t index, const struct result_set *truth,
			     struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail)
{
	const struct target_settings *target = &validation->settings->target;
	const struct validation_truth *asked = &validation->request->truths[index];
	if (!verdict->schema_match || verdict->score >= 1.0 || asked->ordered || !asked->limited ||
	    !validation->engine->usable(*validation->session))
		return ERR_OK;
	bool known = !verdict->truncated && any_rows_would_do(asked); /* no more of them than are kept */
	if (!known && verdict->row_count_match) {
		verdict->proven = false;
		validation->nondeterministic = true;
	}
	if (!known || !verdict->row_count_match)
		return ERR_OK;
	const struct result_set ours = result_finish(&validation->generated.result);
	const struct compare_options options = options_of(validation, asked, arena);
	struct compare_part part;
	str_t missing;
	if (!find_part(validation, truth, arena, &part, &missing))
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
	err_t err = read_in_full(validation, &again, &once, asked, arena, &full, detail);
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
	err_t err = run_query(validation, asked->sql, arena, &run, detail);
	struct result_set again = result_finish(&run.result);
	*ret_differs = false;
	if (!err && run.outcome == QUERY_RETURNED)
		*ret_differs = compare_two(validation, index, &again, truth, arena, NULL).score < 1.0;
	result_free(&run.result);
	return err;
}

/* A result below the full score is only a verdict where the truth would have had it. */
static err_t doubt_truth(struct validation *validation, size_t index, const struct result_set *truth,
			 struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail)
{
	bool differs = false;
	if (verdict->score >= 1.0 || !verdict->schema_match || validation->request->truths[index].table ||
	    (truth->truncated && !may_stream(validation, index)) ||
	    !validation->engine->usable(*validation->session))
		return ERR_OK;
	err_t err = differs_from_itself(validation, index, truth, arena, &differs, detail);
	validation->nondeterministic |= differs;
	verdict->proven &= !differs;
	return err;
}

/* A truth that lacks a column which has to be there is broken. */
static bool has_columns(struct validation *validation, size_t index, const struct query_run *truth,
			const struct result_set *result, struct arena *arena)
{
	struct compare_part part;
	struct query_run broken = *truth;
	str_t missing;
	if (find_part(validation, result, arena, &part, &missing))
		return true;
	broken.message = arena_printf(
		arena, "ground_truth.compare.columns names \"" STR_FMT "\", which the truth does not return",
		STR_ARG(missing));
	take_broken_truth(validation, index, &broken);
	return false;
}

/* A truth whose result is there, and behind the first of them the generated query. */
static err_t compare_fresh(struct validation *validation, size_t index, const struct query_run *truth,
			   const struct result_set *result, struct arena *arena, struct err_detail *detail)
{
	if (!has_columns(validation, index, truth, result, arena))
		return ERR_OK;
	err_t err = ensure_generated(validation, detail);
	if (err)
		return err;
	if (validation->generated.outcome != QUERY_RETURNED) {
		take_failure(validation, index, truth);
		return ERR_OK;
	}
	struct finding finding = { .generated = validation->generated.execution, .truth = truth->execution };
	finding.verdict = compare_with(validation, index, result, arena, &finding.shown);
	err = settle_ties(validation, index, result, arena, &finding.verdict, detail);
	bool compared = true;
	if (!err && !finding.verdict.proven && may_stream(validation, index))
		err = compare_in_full(validation, index, truth, arena, &finding, &compared, detail);
	if (!err && compared)
		err = settle_any_rows(validation, index, result, arena, &finding.verdict, detail);
	bool last = index + 1 == validation->request->truths_count;
	if (!err && compared && last)
		err = doubt_truth(validation, index, result, arena, &finding.verdict, detail);
	if (!err && compared)
		take_finding(validation, index, &finding);
	return err;
}

static err_t try_query(struct validation *validation, size_t index, struct arena *arena,
		       struct err_detail *detail)
{
	const struct validation_request *request = validation->request;
	struct query_run truth;
	err_t err = run_query(validation, request->truths[index].sql, arena, &truth, detail);
	if (!err && truth.outcome == QUERY_RETURNED) {
		struct result_set result = result_finish(&truth.result);
		truth_cache_put(validation->cache, request->truths[index].sql, request->catalog_digest,
				&truth, clock_monotonic_us());
		err = compare_fresh(validation, index, &truth, &result, arena, detail);
	} else if (!err) {
		take_broken_truth(validation, index, &truth);
	}
	result_free(&truth.result);
	return err;
}

static err_t try_table(struct validation *validation, size_t index, struct arena *arena,
		       struct err_detail *detail)
{
	const struct result_set *table = validation->request->truths[index].table;
	const struct query_run truth = { .outcome = QUERY_RETURNED,
					 .execution.rows = (int64_t)table->rows_count };
	return compare_fresh(validation, index, &truth, table, arena, detail);
}

/* `ret_finished`: no other truth can change the outcome. */
static err_t try_truth(struct validation *validation, size_t index, bool *ret_finished,
		       struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	err_t err = validation->request->truths[index].table ? try_table(validation, index, arena, detail)
							     : try_query(validation, index, arena, detail);
	const struct validation_result *result = &validation->result;
	bool usable = *validation->session && validation->engine->usable(*validation->session);
	*ret_finished = validation->compared && (!usable || result->status != VALIDATION_COMPARED ||
						 (result->score >= 1.0 && result->conclusive));
	return err;
}

/* Of several truths, those before the last one are only doubted when none of them has fitted. */
static err_t doubt_others(struct validation *validation, struct err_detail *detail)
{
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i + 1 < validation->request->truths_count; i++) {
		const struct validation_result *result = &validation->result;
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct compare_verdict verdict = { .schema_match = true, .proven = true };
		struct query_run truth;
		if (!validation->compared || result->status != VALIDATION_COMPARED || result->score >= 1.0 ||
		    validation->nondeterministic || validation->request->truths[i].table ||
		    !*validation->session || !validation->engine->usable(*validation->session))
			continue;
		err = run_query(validation, validation->request->truths[i].sql, arena, &truth, detail);
		if (!err && truth.outcome == QUERY_RETURNED) {
			const struct result_set set = result_finish(&truth.result);
			err = doubt_truth(validation, i, &set, arena, &verdict, detail);
		}
		result_free(&truth.result);
		validation->undecided |= !verdict.proven;
	}
	return err;
}

/* The truth warms the database's caches for the generated query, not the other way round: a slow generated
 * query is slow by its own fault. */
static err_t run_all(struct validation *validation, struct err_detail *detail)
{
	bool finished = false;
	err_t err = try_cached(validation, &finished, detail);
	for (size_t i = 0; !err && !finished && i < validation->request->truths_count; i++) {
		err = begin_again(validation, detail);
		if (!err)
			err = try_truth(validation, i, &finished, detail);
	}
	if (!err && !finished)
		err = doubt_others(validation, detail);
	if (!err && validation->compared) {
		if (validation->result.status != VALIDATION_UNAVAILABLE)
			validation->result.error = ERR_OK;
		if (validation->result.status == VALIDATION_COMPARED)
			validation->result.message = STR_NONE;
		if (validation->result.score < 1.0) {
			validation->result.conclusive &= !validation->undecided;
			validation->result.nondeterministic = validation->nondeterministic;
		}
	}
	return err;
}

static err_t run_once(struct validation *validation, struct err_detail *detail)
{
	validation->compared = validation->undecided = validation->nondeterministic = false;
	validation->broken_count = 0;
	validation->result = (struct validation_result){
		.status = VALIDATION_GROUND_TRUTH_FAILED,
		.error = ERR_GROUND_TRUTH_FAILED,
		.message = STR("no ground truth was given"),
	};
	err_t err = session_ensure(validation->engine, validation->settings, validation->session, detail);
	if (!err)
		err = validation->engine->begin(*validation->session, detail);
	if (!err)
		err = run_all(validation, detail);
	forget_generated(validation);
	validation->result.broken = validation->broken;
	validation->result.broken_count = validation->broken_count;
	if (*validation->session)
		validation->engine->end(*validation->session);
	if (*validation->session && !validation->engine->usable(*validation->session))
		session_close(validation->engine, validation->session);
	return err;
}

static void pause_before_retry(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_PAUSE_MS * 1000000L };
	nanosleep(&pause, NULL);
}

void validation_run(const struct engine *engine, const struct worker_settings *settings, void **session,
		    struct truth_cache *cache, const struct validation_request *request, struct arena *arena,
		    struct validation_result *ret_result)
{
	struct validation validation = {
		.engine = engine,
		.settings = settings,
		.session = session,
		.cache = cache,
		.request = request,
		.arena = arena,
		.broken = ARENA_ARRAY(arena, struct validation_broken, request->truths_count),
	};
	struct err_detail detail = { "" };
	struct tries tries;
	tries_begin(&tries, &settings->target);
	validation.tries = &tries;
	err_t err = run_once(&validation, &detail);
	for (int attempt = 1; err && attempt < ATTEMPTS && tries_again(&tries); attempt++) {
		pause_before_retry();
		err = run_once(&validation, &detail);
	}
	*ret_result = validation.result;
	if (err)
		*ret_result = (struct validation_result){
			.status = VALIDATION_UNAVAILABLE,
			.error = err,
			.message = arena_str(arena, str_from(err_message(err, &detail))),
		};
}
