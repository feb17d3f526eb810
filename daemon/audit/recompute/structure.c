/* Safety, structure and meaning against the truth's, results. */
#include "audit/recompute/internal.h"
#include "compare/compare.h"
#include "compare/fingerprint.h"
#include "event/record/stage.h"
#include "score/match.h"
#include "score/semantic.h"

#include <math.h>

bool recompute_has_truth_query(const struct generated_query *input)
{
	const struct ground_truth *truth = input->ground_truth;
	return truth && (str_present(truth->sql) || truth->alternatives_count > 0);
}

bool recompute_has_truth(const struct recompute *work)
{
	const struct scored_query *scored = work->scored;
	if (!work->input) /* without a target the weights of what could be computed are the same */
		return scored->result_validation || !work->read.has_target;
	const struct ground_truth *truth = work->input->ground_truth;
	return truth && (recompute_has_truth_query(work->input) || truth->results_count > 0);
}

static void check_safety(struct recompute *work)
{
	const struct record_safety *safety = &work->scored->safety;
	recompute_presence(work, "safety.doubt", str_present(safety->doubt),
			   safety->verdict == VERDICT_UNKNOWN);
	if (safety->violations_count > 0)
		recompute_flag(work, "safety.verdict", safety->verdict == VERDICT_UNSAFE, true);
}

/* ---- meaning ---- */

static opt_double_t semantic_of(const struct record_structure_truth *truth)
{
	const struct record_clauses *said = truth->clauses;
	if (!truth->same_form.set)
		return opt_double(0);
	if (truth->same_form.value || !said)
		return opt_double(1);
	const double clauses[SEMANTIC_CLAUSE_COUNT_] = {
		[SEMANTIC_SELECT] = said->select, [SEMANTIC_WHERE] = said->where,
		[SEMANTIC_FROM] = said->from,	  [SEMANTIC_GROUP] = said->group,
		[SEMANTIC_ORDER] = said->order,	  [SEMANTIC_JOIN] = said->join,
	};
	return opt_double(semantic_of_clauses(clauses));
}

static void check_semantic(struct recompute *work)
{
	const struct record_structure *structure = &work->scored->structure;
	const struct record_structure_truth *truth = structure->truth;
	bool others = truth && truth->same_form.set && !truth->same_form.value;
	recompute_presence(work, "structure.truth.clauses", truth && truth->clauses, others);
	if (work->input && !recompute_presence(work, "structure.semantic", structure->semantic.set,
					       recompute_has_truth_query(work->input)))
		return;
	if (!structure->semantic.set) {
		recompute_flag(work, "structure.truth.same_form", truth && truth->same_form.set, false);
		return;
	}
	if (recompute_presence(work, "structure.truth", truth != NULL, true))
		recompute_share(work, "structure.semantic", structure->semantic, semantic_of(truth));
}

static void check_expected_tables(struct recompute *work, const struct record_structure_truth *truth)
{
	const struct ground_truth *expected = work->input->ground_truth;
	if (!work->shown || !expected || !expected->tables_set || !truth)
		return;
	recompute_integer(work, "structure.truth.tables", (int64_t)truth->tables_count,
			  (int64_t)expected->tables_count);
	for (size_t i = 0; i < truth->tables_count && i < expected->tables_count; i++)
		recompute_text(work, "structure.truth.tables", truth->tables[i], expected->tables[i]);
}

static void check_tables(struct recompute *work)
{
	/* names on the search path come without their schema, but for what was written with this one */
	static const str_t path[] = { { "public", 6 } };
	const struct record_structure *structure = &work->scored->structure;
	const struct record_structure_truth *truth = structure->truth;
	opt_double_t follows = OPT_NONE;
	if (work->input) {
		const struct ground_truth *expected = work->input->ground_truth;
		recompute_presence(work, "structure.truth", truth != NULL,
				   (expected && expected->tables_set) ||
					   recompute_has_truth_query(work->input));
		check_expected_tables(work, truth);
	} else {
		recompute_leave(work, RECOMPUTE_GAP_TRUTH);
	}
	if (truth)
		follows = opt_double(work->read.tables_unreadable
					     ? 0
					     : semantic_table_accuracy(structure->tables,
								       structure->tables_count, truth->tables,
								       truth->tables_count, path, 1,
								       work->report->arena));
	recompute_share(work, "structure.table_accuracy", structure->table_accuracy, follows);
}

void recompute_structure(struct recompute *work)
{
	const struct record_structure *structure = &work->scored->structure;
	check_safety(work);
	recompute_number(work, "structure.structural", structure->structural,
			 semantic_structural_score(work->read.valid, work->read.errors));
	recompute_presence(work, "structure.findings", structure->findings != NULL,
			   !work->scored->confidence.technical);
	check_semantic(work);
	check_tables(work);
}

/* ---- results ---- */

#define RESULT(name) "result_validation." name

/* 97.5 % quantile of the normal distribution. */
#define Z95 1.959963984540054

/* What is out of range is an error, and 0. */
opt_double_t recompute_similarity(const struct ground_truth *truth)
{
	opt_double_t similarity = truth->similarity;
	if (similarity.set && !(similarity.value >= 0 && similarity.value <= 1))
		similarity.value = 0;
	return similarity;
}

static void check_weight(struct recompute *work, const struct record_result_validation *said)
{
	const struct ground_truth *truth = work->input ? work->input->ground_truth : NULL;
	if (truth) {
		const struct match_truth match = match_truth(recompute_similarity(truth));
		recompute_number(work, RESULT("weight"), said->weight, match.factor);
		recompute_level(work, RESULT("match_confidence"), said->match_confidence, (int)match.level);
		return;
	}
	recompute_leave(work, RECOMPUTE_GAP_WEIGHT);
	static const double factors[] = { [SCORE_LOW] = 0.5, [SCORE_MEDIUM] = 0.8, [SCORE_HIGH] = 1 };
	bool known = said->match_confidence >= SCORE_LOW && said->match_confidence <= SCORE_HIGH;
	if (recompute_presence(work, RESULT("match_confidence"), known, true))
		recompute_number(work, RESULT("weight"), said->weight, factors[said->match_confidence]);
}

/* What is out of range is reported, each by itself. JSON has null for what is no number, which is out of
 * range, too. */
static void check_truth(struct recompute *work, const struct record_result_validation *said)
{
	const struct ground_truth *truth = work->input->ground_truth;
	str_t code = str_from(err_name(ERR_INPUT_RANGE));
	int64_t reported = recompute_errors(work, stage_name(STAGE_RESULT), code);
	int outside = 0, hidden = 0;
	if (truth) {
		opt_double_t similarity = truth->similarity;
		outside += similarity.set && !(similarity.value >= 0 && similarity.value <= 1);
		hidden += !similarity.set;
	}
	if (truth && truth->compare) {
		opt_double_t tolerance = truth->compare->absolute_tolerance;
		outside += tolerance.set && !(isfinite(tolerance.value) && tolerance.value >= 0);
		hidden += !tolerance.set;
	}
	recompute_range(work, "errors", (double)reported, outside, outside + hidden);
	if (truth && said)
		recompute_range(work, RESULT("truth_index"), (double)said->truth_index, 0,
				(double)(truth->alternatives_count + truth->results_count));
}

/* Whether the numbers of rows are known to differ. */
static bool counts_differ(const struct record_execution *ours, const struct record_execution *theirs)
{
	if (ours->more == theirs->more)
		return !ours->more && ours->rows != theirs->rows;
	return ours->more ? ours->rows >= theirs->rows : theirs->rows >= ours->rows;
}

/* How many independent cases a bound of Wilson's interval of the share p is of. */
static double cases_of_bound(double bound, double p)
{
	return Z95 * Z95 * bound * (1 - bound) / ((p - bound) * (p - bound));
}

/* A share of 0 or 1 is a bound itself, and so is every share of what was seen as a whole; else both bounds
 * are of as many cases, and the lower one is given again by those of the upper one. */
static void check_interval(struct recompute *work, const struct record_result_validation *said)
{
	double p = said->content_match_rate, low = said->match_rate_low.value,
	       high = said->match_rate_high.value;
	recompute_range(work, RESULT("content_match_rate"), p, low, high);
	recompute_presence(work, RESULT("rows_matched"), said->rows_matched.set, false);
	recompute_range(work, RESULT("match_rate_low"), low, 0, 1);
	recompute_range(work, RESULT("match_rate_high"), high, 0, 1);
	if (p <= 0 || p >= 1) {
		recompute_number(work, p <= 0 ? RESULT("match_rate_low") : RESULT("match_rate_high"),
				 p <= 0 ? low : high, p);
		return;
	}
	double cases = high > p ? cases_of_bound(high, p) : INFINITY, follows = p;
	if (isfinite(cases)) {
		double z2 = Z95 * Z95;
		follows =
			(p + z2 / (2 * cases) - Z95 * sqrt(p * (1 - p) / cases + z2 / (4 * cases * cases))) /
			(1 + z2 / cases);
	}
	recompute_number(work, RESULT("match_rate_low"), low, fmax(0, follows));
}

static void check_rate(struct recompute *work, const struct record_result_validation *said)
{
	bool ours_larger = said->generated.rows > said->truth.rows;
	int64_t larger = ours_larger ? said->generated.rows : said->truth.rows;
	if (said->match_rate_low.set) {
		check_interval(work, said);
	} else if (said->rows_matched.set) {
		recompute_range(work, RESULT("rows_matched"), (double)said->rows_matched.value, 0,
				(double)(ours_larger ? said->truth.rows : said->generated.rows));
		recompute_number(work, RESULT("content_match_rate"), said->content_match_rate,
				 larger ? (double)said->rows_matched.value / (double)larger : 1);
	} else {
		recompute_flag(work, RESULT("truncated"), said->truncated, true);
		recompute_leave(work, RECOMPUTE_GAP_MATCH_RATE);
	}
}

static void check_compared(struct recompute *work, const struct record_result_validation *said)
{
	recompute_flag(work, RESULT("row_count_match"), said->row_count_match,
		       said->generated.rows == said->truth.rows && said->generated.more == said->truth.more);
	if (!said->schema_match) {
		recompute_number(work, RESULT("score"), said->score, 0.1);
		recompute_number(work, RESULT("content_match_rate"), said->content_match_rate, 0);
		recompute_presence(work, RESULT("rows_matched"), said->rows_matched.set, false);
		return;
	}
	check_rate(work, said);
	recompute_number(work, RESULT("score"), said->score,
			 counts_differ(&said->generated, &said->truth)
				 ? COMPARE_SCORE_OTHER_COUNT
				 : compare_ladder(said->content_match_rate));
}

static bool is_digest(str_t text)
{
	bool hexadecimal = text.len == FINGERPRINT_SIZE - 1;
	for (size_t i = 0; i < text.len && hexadecimal; i++)
		hexadecimal = memchr("0123456789abcdef", text.ptr[i], 16) != NULL;
	return hexadecimal;
}

/* Of a result that was not read as a whole, or is hidden, there is no digest. */
static void check_digest(struct recompute *work, const char *field, const struct record_execution *said)
{
	if (!str_present(said->digest))
		return;
	recompute_known(work, field, said->digest, is_digest(said->digest));
	recompute_presence(work, field, true, !said->more && !work->rules->redacted);
}

/* What has not been run has returned nothing. */
static void check_not_run(struct recompute *work, const struct record_execution *said, const char *rows,
			  const char *more, const char *time, const char *digest)
{
	recompute_integer(work, rows, said->rows, 0);
	recompute_flag(work, more, said->more, false);
	recompute_number(work, time, said->time_ms, 0);
	recompute_presence(work, digest, str_present(said->digest), false);
}

static void check_runs(struct recompute *work, const struct record_result_validation *said)
{
	check_digest(work, RESULT("generated.digest"), &said->generated);
	check_digest(work, RESULT("truth.digest"), &said->truth);
	if (!str_is(said->status, "UNSAFE") && !str_is(said->status, "INVALID"))
		return;
	check_not_run(work, &said->generated, RESULT("generated.rows"), RESULT("generated.more"),
		      RESULT("generated.time_ms"), RESULT("generated.digest"));
	check_not_run(work, &said->truth, RESULT("truth.rows"), RESULT("truth.more"), RESULT("truth.time_ms"),
		      RESULT("truth.digest"));
}

/* Both bounds are there or none, and only of what was compared column by column. */
static void check_bounds(struct recompute *work, const struct record_result_validation *said)
{
	bool compared = str_is(said->status, "COMPARED") && said->schema_match;
	if (!compared)
		recompute_presence(work, RESULT("match_rate_low"), said->match_rate_low.set, false);
	recompute_presence(work, RESULT("match_rate_high"), said->match_rate_high.set,
			   said->match_rate_low.set);
}

void recompute_result(struct recompute *work)
{
	const struct record_result_validation *said = work->scored->result_validation;
	if (work->input)
		check_truth(work, said);
	if (work->input && !recompute_presence(work, "result_validation", said != NULL,
					       recompute_has_truth(work) && work->read.has_target))
		return;
	if (!said)
		return;
	check_weight(work, said);
	check_runs(work, said);
	check_bounds(work, said);
	bool unsafe = work->scored->safety.verdict == VERDICT_UNSAFE;
	recompute_flag(work, RESULT("status"), str_is(said->status, "UNSAFE"), unsafe);
	recompute_flag(work, RESULT("status"), str_is(said->status, "INVALID"),
		       !unsafe && !work->read.valid && work->read.analysed && !work->read.target_unknown);
	if (str_is(said->status, "COMPARED")) {
		check_compared(work, said);
		return;
	}
	recompute_number(work, RESULT("score"), said->score, 0);
	recompute_number(work, RESULT("content_match_rate"), said->content_match_rate, 0);
	recompute_presence(work, RESULT("rows_matched"), said->rows_matched.set, false);
	recompute_flag(work, RESULT("schema_match"), said->schema_match, false);
	recompute_flag(work, RESULT("row_count_match"), said->row_count_match, false);
	recompute_flag(work, RESULT("conclusive"), said->conclusive,
		       !str_is(said->status, "GROUND_TRUTH_FAILED") && !str_is(said->status, "UNAVAILABLE"));
}
