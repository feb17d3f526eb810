/* Features that follow from the record; the others are counts of words that the analysis has made. */
#include "score/features.h"
#include "audit/recompute/internal.h"

/* Diagnostics that are a feature each. */
static const struct {
	const char *code, *sub_code;
	enum feature feature;
} diagnosed[] = {
	{ "syntax_error", NULL, FEATURE_DIAGNOSED_SYNTAX },
	{ "unknown_table", NULL, FEATURE_DIAGNOSED_TABLE },
	{ "unknown_column", NULL, FEATURE_DIAGNOSED_COLUMN },
	{ "ambiguous_column", NULL, FEATURE_DIAGNOSED_AMBIGUOUS },
	{ "unknown_function", NULL, FEATURE_DIAGNOSED_FUNCTION },
	{ "markdown_fence", NULL, FEATURE_DIAGNOSED_FENCE },
	{ "type_mismatch", NULL, FEATURE_DIAGNOSED_TYPES },
	{ "risky_pattern", "cartesian_product", FEATURE_DIAGNOSED_PRODUCT },
	{ "missing_limit", NULL, FEATURE_DIAGNOSED_NO_LIMIT },
};

static double said_of(const struct record_confidence *confidence, enum feature feature)
{
	for (size_t i = 0; i < confidence->features_count; i++)
		if (str_is(confidence->features[i].name, FEATURE_INFO[feature].name))
			return confidence->features[i].value;
	return 0;
}

static void check(struct recompute *work, enum feature feature, double follows)
{
	char field[96];
	snprintf(field, sizeof field, "confidence.features.%s", FEATURE_INFO[feature].name);
	recompute_number(work, field, said_of(&work->scored->confidence, feature), follows);
}

static void check_given(struct recompute *work, enum feature given, enum feature feature, opt_double_t value)
{
	check(work, given, value.set);
	check(work, feature, value.set ? value.value : 0);
}

static bool has_diagnostic(const struct recompute *work, const char *code, const char *sub_code)
{
	for (size_t i = 0; i < work->diagnostics_count; i++)
		if (str_is(work->diagnostics[i].code, code) &&
		    (!sub_code || str_is(work->diagnostics[i].sub_code, sub_code)))
			return true;
	return false;
}

static double count_at_most(const struct recompute *work, enum severity severity, const char *but,
			    size_t most)
{
	size_t count = 0;
	for (size_t i = 0; i < work->diagnostics_count; i++)
		count += work->diagnostics[i].severity == (int)severity &&
			 !str_is(work->diagnostics[i].code, but);
	return (double)(count < most ? count : most);
}

void recompute_features(struct recompute *work)
{
	const struct scored_query *scored = work->scored;
	const struct record_confidence *confidence = &scored->confidence;
	const struct record_judge_rules *judge = work->rules->judge;
	opt_double_t retrieval = OPT_NONE, form = OPT_NONE, disagreement = OPT_NONE;
	if (confidence->features_count == 0) /* the settings asked for none */
		return;
	check(work, FEATURE_TECHNICAL, confidence->technical ? confidence->technical->score / 100 : 0);
	check(work, FEATURE_ERRORS, count_at_most(work, SEVERITY_ERROR, "markdown_fence", 3));
	check(work, FEATURE_WARNINGS, count_at_most(work, SEVERITY_WARNING, "missing_limit", 3));
	for (size_t i = 0; i < sizeof diagnosed / sizeof *diagnosed; i++)
		check(work, diagnosed[i].feature,
		      has_diagnostic(work, diagnosed[i].code, diagnosed[i].sub_code));
	check(work, FEATURE_DIAGNOSED_NOT_SAFE, scored->safety.verdict != VERDICT_SAFE);
	check_given(work, FEATURE_GENERATOR_GIVEN, FEATURE_GENERATOR_CONFIDENCE, confidence->generator);
	if (confidence->retrieval)
		retrieval = opt_double(confidence->retrieval->confidence);
	check_given(work, FEATURE_RETRIEVAL_GIVEN, FEATURE_RETRIEVAL_CONFIDENCE, retrieval);
	check(work, FEATURE_RETRIEVAL_TOP, confidence->retrieval ? confidence->retrieval->top_score : 0);
	if (confidence->agreement)
		form = confidence->agreement->canonical;
	check_given(work, FEATURE_CANDIDATES_GIVEN, FEATURE_AGREEMENT_FORM, form);
	check(work, FEATURE_AGREEMENT_EXECUTED, confidence->agreement && confidence->agreement->results.set);
	if (judge && judge->sample_rate == 1 && scored->judge.relevance_disagreement.set)
		disagreement = opt_double(scored->judge.relevance_disagreement.value / 100);
	check_given(work, FEATURE_PANEL_GIVEN, FEATURE_PANEL_DISAGREEMENT, disagreement);
}
