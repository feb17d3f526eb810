#include "event/candidates.h"

#include "score/agreement.h"
#include "sql/analysis_cache.h"

/* The texts of one meaning; NULL: there is none yet. */
static struct record_meaning *find_meaning(const struct record_analysis *analysis, str_t form)
{
	for (size_t i = 0; i < analysis->meanings_count; i++)
		if (str_equal(analysis->meanings[i].form, form))
			return &analysis->meanings[i];
	return NULL;
}

static void count_meaning(struct record_facts *facts, const struct sql_analysis *sql)
{
	struct record_analysis *analysis = &facts->analysis;
	if (!str_present(sql->canonical))
		return;
	if (str_present(analysis->sql.canonical) && str_equal(sql->canonical, analysis->sql.canonical)) {
		analysis->same_meaning_count++;
		return;
	}
	struct record_meaning *meaning = find_meaning(analysis, sql->canonical);
	if (!meaning) {
		meaning = &analysis->meanings[analysis->meanings_count++];
		*meaning = (struct record_meaning){ .form = arena_str(facts->arena, sql->canonical) };
	}
	meaning->texts++;
	if (!str_present(meaning->sql) && sql->verdict == SQL_SAFE)
		meaning->sql = arena_str(facts->arena, sql->text);
}

/* Leaves nothing of the analysis in the event's arena but what a meaning keeps. */
static void analyse_candidate(struct record_facts *facts, str_t text, struct analysis_cache *analyses)
{
	const struct record_analysis *analysis = &facts->analysis;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sql_analysis sql;
	const struct sql_request request = {
		.sql = text,
		.dialect = analysis->dialect,
		.target_named = str_present(facts->query->target),
		.catalog = analysis->catalog,
		.policy = analysis->target ? &analysis->target->policy : NULL,
	};
	analysis_cache_analyse(analyses, &request, arena, &sql);
	count_meaning(facts, &sql);
}

void candidates_analyse(struct record_facts *facts, struct analysis_cache *analyses)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct candidate *candidates = facts->query->candidates;
	size_t count = facts->query->candidates_count;
	if (count < AGREEMENT_CANDIDATES_MIN || analysis->dialect >= SQL_UNKNOWN_DIALECT)
		return;
	if (count > AGREEMENT_CANDIDATES_MAX) {
		struct err_detail detail;
		err_fail(&detail, ERR_CANDIDATES_LIMIT,
			 "the event has %zu candidates, of which the first %d count; publish fewer", count,
			 AGREEMENT_CANDIDATES_MAX);
		record_add_error(facts, "agreement", ERR_CANDIDATES_LIMIT, detail.message);
		count = AGREEMENT_CANDIDATES_MAX;
	}
	analysis->candidates_count = count;
	analysis->meanings = ARENA_ARRAY(facts->arena, struct record_meaning, count);
	for (size_t i = 0; i < count; i++) {
		if (str_equal(candidates[i].sql, facts->query->sql))
			count_meaning(facts, &analysis->sql);
		else
			analyse_candidate(facts, candidates[i].sql, analyses);
	}
	if (str_present(analysis->sql.canonical))
		analysis->agreement =
			opt_double(agreement_share(analysis->same_meaning_count, analysis->candidates_count));
	analysis->agreement_factor = analysis->agreement;
}

void candidates_ask(const struct record_facts *facts, struct validation_candidates *ret_candidates)
{
	const struct record_analysis *analysis = &facts->analysis;
	const struct config_agreement *settings = &facts->config->agreement;
	const struct sql_analysis *sql = &analysis->sql;
	*ret_candidates = (struct validation_candidates){ 0 };
	if (!settings->execute || !analysis->target || sql->verdict != SQL_SAFE ||
	    analysis->candidates_count == 0)
		return;
	str_t *texts = ARENA_ARRAY(facts->arena, str_t, analysis->meanings_count);
	size_t count = 0;
	for (size_t i = 0; i < analysis->meanings_count; i++)
		if (str_present(analysis->meanings[i].sql))
			texts[count++] = analysis->meanings[i].sql;
	if (count == 0)
		return;
	*ret_candidates = (struct validation_candidates){
		.texts = texts,
		.count = count,
		.answer = { .ordered = sql->ordered,
			    .order_keys = sql->order_keys,
			    .order_keys_count = sql->order_keys_count,
			    .limited = sql->limited },
		.budget_ms = settings->budget_ms,
		.max_rows = settings->max_rows,
	};
}

static bool asked(const struct record_facts *facts)
{
	return facts->target_asked && facts->validation.candidates.count > 0;
}

/* What each of them returned, as far as the target has told. */
static void settle_results(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct target_call *call = &facts->validation;
	size_t same = analysis->same_meaning_count, next = 0;
	size_t *places =
		ARENA_ARRAY(facts->arena, size_t, analysis->meanings_count + 1); /* of what was run */
	for (size_t i = 0; i < analysis->meanings_count; i++) {
		struct record_meaning *meaning = &analysis->meanings[i];
		meaning->other_result = !str_present(meaning->sql);
		meaning->same_as = i;
		if (meaning->other_result) /* it is no read, and not run */
			continue;
		const struct candidate_result *result = &call->result.candidates[next];
		enum candidate_outcome outcome = result->outcome;
		places[next++] = i;
		if (outcome == CANDIDATE_DIFFERENT)
			meaning->same_as = places[result->same_as];
		meaning->other_result = outcome != CANDIDATE_EQUAL && outcome != CANDIDATE_LEFT_OUT;
		if (outcome == CANDIDATE_EQUAL)
			same += meaning->texts;
		if (outcome == CANDIDATE_LEFT_OUT)
			analysis->candidates_left_out += meaning->texts;
	}
	size_t known = analysis->candidates_count - analysis->candidates_left_out;
	if (agreement_is_known(analysis->candidates_count, analysis->candidates_left_out))
		analysis->agreement_results = opt_double(agreement_share(same, known));
}

/* Why the target was not asked; ERR_OK: nothing has to be said of that. */
static err_t lack_of_asking(const struct record_facts *facts)
{
	const struct record_analysis *analysis = &facts->analysis;
	const struct sql_analysis *sql = &analysis->sql;
	if (!facts->config->agreement.execute || !str_present(facts->query->target) ||
	    analysis->candidates_count == 0)
		return ERR_OK; /* none is asked for */
	if (sql->verdict == SQL_UNSAFE || !sql->valid)
		return ERR_OK; /* the record says so, and what that means */
	if (!analysis->target)
		return record_has_error(facts, "target", ERR_DIALECT_MISMATCH) ? ERR_DIALECT_MISMATCH
									       : ERR_TARGET_UNKNOWN;
	if (!analysis->catalog)
		return ERR_CATALOG_UNAVAILABLE;
	if (sql->verdict != SQL_SAFE)
		return ERR_SAFETY_UNKNOWN;
	bool one_form = analysis->same_meaning_count == analysis->candidates_count;
	return one_form ? ERR_OK : ERR_CANDIDATES_UNPROVEN;
}

/* Why what was asked for was not answered, or not of all. */
static err_t lack_of_answer(const struct record_facts *facts, str_t *ret_message)
{
	const struct target_call *call = &facts->validation;
	const struct validation_result *result = &call->result;
	bool failed = result->status == VALIDATION_EXECUTION_FAILED || result->status == VALIDATION_TIMEOUT;
	if (result->candidates_count != call->candidates.count && !result->candidates_error) {
		*ret_message = result->message;
		return failed ? ERR_ANSWER_FAILED : result->error ? result->error : ERR_TARGET_PROTOCOL;
	}
	*ret_message = result->candidates_message;
	if (result->candidates_error)
		return failed ? ERR_ANSWER_FAILED : result->candidates_error;
	return facts->analysis.agreement_results.set ? ERR_OK : ERR_CANDIDATES_LEFT_OUT;
}

void candidates_settle(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct target_call *call = &facts->validation;
	if (!asked(facts)) {
		analysis->agreement_error = lack_of_asking(facts);
	} else {
		if (call->result.candidates_count == call->candidates.count)
			settle_results(facts);
		analysis->agreement_error = lack_of_answer(facts, &analysis->agreement_message);
	}
	err_t err = analysis->agreement_error;
	str_t code = err ? str_from(err_name(err)) : STR_NONE;
	analysis->agreement_factor = agreement_factor(analysis->agreement, analysis->agreement_results, code);
	analysis->agreement_target_failed =
		asked(facts) && !analysis->agreement_results.set && agreement_error_of_target(code);
}
