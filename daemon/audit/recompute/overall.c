/* Overall confidence, level and learnt probability. */
#include "score/overall.h"
#include "audit/recompute/internal.h"
#include "avro/overall_rules.h"
#include "score/agreement.h"

#include <math.h>

_Static_assert((int)RECORD_FACTOR_OTHER == (int)FACTOR_COUNT_,
	       "the factors of records and scores are the same");

bool recompute_smallest(const struct recompute *work, opt_double_t agreement, opt_double_t *ret_overall,
			int *ret_level, const char **ret_limiting)
{
	const struct record_confidence *confidence = &work->scored->confidence;
	const struct record_rules *rules = work->rules;
	enum overall_factor factors[FACTOR_COUNT_];
	struct overall_score score;
	struct overall_input input = {
		.factors = factors,
		.factors_count = rules->factors_count,
		.unsafe = work->scored->safety.verdict == VERDICT_UNSAFE,
		.technical_alone = (enum score_level)rules->technical_alone,
		.thresholds = { rules->thresholds.high, rules->thresholds.medium, rules->thresholds.low },
	};
	for (size_t i = 0; i < rules->factors_count; i++)
		factors[i] = (enum overall_factor)rules->factors[i];
	if (confidence->technical)
		input.values[FACTOR_TECHNICAL] = opt_double(confidence->technical->score / 100);
	if (confidence->advisory)
		input.values[FACTOR_ADVISORY] = opt_double(confidence->advisory->confidence);
	if (confidence->retrieval)
		input.values[FACTOR_RETRIEVAL] = opt_double(confidence->retrieval->confidence);
	if (confidence->retrieval && !confidence->advisory)
		input.values[FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = input.values[FACTOR_RETRIEVAL];
	input.values[FACTOR_GENERATOR] = confidence->generator;
	input.values[FACTOR_AGREEMENT] = agreement;
	overall_score(&input, &score);
	*ret_overall = score.confidence;
	*ret_level = score.confidence.set ? (int)score.level : ENUM_ABSENT;
	*ret_limiting = score.limiting_factor;
	return score.confidence.set;
}

/* ---- probability ---- */

#define PROBABILITY(name) "confidence.probability." name

/* What this version does not know is left out. */
static void read_features(const struct record_confidence *confidence, double *values)
{
	for (size_t i = 0; i < confidence->features_count; i++)
		for (int feature = 0; feature < FEATURE_COUNT_; feature++)
			if (str_is(confidence->features[i].name, FEATURE_INFO[feature].name)) {
				values[feature] = confidence->features[i].value;
				break;
			}
}

static void check_reasons(struct recompute *work, const struct model *model, const struct model_case *item)
{
	const struct record_probability *said = work->scored->confidence.probability;
	struct model_contribution follows[FEATURE_COUNT_ + 1];
	size_t wanted = recompute_model_reasons(work, said->reasons_count);
	size_t count = model_contributions(model, item, follows,
					   wanted <= FEATURE_COUNT_ + 1 ? wanted : FEATURE_COUNT_ + 1);
	recompute_integer(work, PROBABILITY("reasons"), (int64_t)said->reasons_count, (int64_t)count);
	for (size_t i = 0; i < count && i < said->reasons_count; i++) {
		recompute_text(work, PROBABILITY("reasons.feature"), said->reasons[i].feature,
			       str_from(follows[i].name));
		recompute_number(work, PROBABILITY("reasons.value"), said->reasons[i].value,
				 follows[i].value);
		recompute_number(work, PROBABILITY("reasons.addend"), said->reasons[i].addend,
				 follows[i].addend);
	}
}

/* The model of that number; where several have it (their database was made anew), the one that says the same.
 */
static const struct model *find_model(struct recompute *work, const struct model_case *item,
				      struct model_estimate *ret_estimate, bool *ret_estimated)
{
	const struct record_probability *said = work->scored->confidence.probability;
	const struct recompute_archive *archive = work->archive;
	const struct model *first = archive ? archive->find_model(archive->context, said->model, 0) : NULL;
	const struct model *model = first;
	for (size_t i = 1; model; model = archive->find_model(archive->context, said->model, i++)) {
		*ret_estimated = model_estimate(model, item, ret_estimate);
		if (*ret_estimated && fabs(ret_estimate->value - said->value) <= RECOMPUTE_TOLERANCE)
			return model;
	}
	if (first)
		*ret_estimated = model_estimate(first, item, ret_estimate);
	return first;
}

static void check_by_model(struct recompute *work)
{
	const struct scored_query *scored = work->scored;
	const struct record_probability *said = scored->confidence.probability;
	double features[FEATURE_COUNT_] = { 0 };
	struct model_estimate follows;
	bool estimated = false;
	read_features(&scored->confidence, features);
	const struct model_case item = {
		.segment = { scored->application, scored->model, scored->prompt_version },
		.overall = scored->confidence.overall,
		.features = features,
	};
	const struct model *model = find_model(work, &item, &follows, &estimated);
	if (!model) {
		recompute_leave(work, RECOMPUTE_GAP_PROBABILITY);
		return;
	}
	estimated &= !str_present(model_rules(model)) || overall_rules_hold(model_rules(model), scored);
	if (!recompute_presence(work, "confidence.probability", true, estimated))
		return;
	recompute_number(work, PROBABILITY("value"), said->value, follows.value);
	recompute_number(work, PROBABILITY("low"), said->low, follows.low);
	recompute_number(work, PROBABILITY("high"), said->high, follows.high);
	recompute_integer(work, PROBABILITY("labels"), said->labels, follows.labels);
	recompute_integer(work, PROBABILITY("segment_labels"), said->segment_labels, follows.segment_labels);
	check_reasons(work, model, &item);
}

static void check_probability(struct recompute *work)
{
	const struct record_probability *said = work->scored->confidence.probability;
	if (!work->read.analysed || work->scored->safety.verdict == VERDICT_UNSAFE)
		recompute_presence(work, "confidence.probability", said != NULL, false);
	if (!said)
		return;
	recompute_range(work, PROBABILITY("value"), said->value, 0, 1);
	recompute_range(work, PROBABILITY("low"), said->low, 0, said->value);
	recompute_range(work, PROBABILITY("high"), said->high, said->value, 1);
	check_by_model(work);
}

/* ---- level ---- */

static void check_level(struct recompute *work, int level)
{
	const struct record_confidence *confidence = &work->scored->confidence;
	const struct record_probability *probability = confidence->probability;
	const struct record_bounds *bounds = &work->rules->thresholds;
	const struct level_thresholds thresholds = { bounds->high, bounds->medium, bounds->low };
	if (!str_is(confidence->level_by, "probability")) {
		recompute_level(work, "confidence.level", confidence->level, level);
		recompute_text(work, "confidence.level_by", confidence->level_by,
			       level == ENUM_ABSENT ? STR_NONE : STR("overall"));
		return;
	}
	if (recompute_presence(work, "confidence.probability", probability != NULL, true))
		recompute_level(work, "confidence.level", confidence->level,
				(int)level_of_estimate(probability->value, probability->low, &thresholds));
}

void recompute_overall(struct recompute *work)
{
	const struct record_confidence *confidence = &work->scored->confidence;
	const struct record_agreement *agreement = confidence->agreement;
	opt_double_t agreed = OPT_NONE, overall;
	const char *limiting;
	int level;
	if (agreement)
		agreed = agreement_factor(agreement->canonical, agreement->results,
					  scored_query_agreement_error(work->scored));
	recompute_smallest(work, agreed, &overall, &level, &limiting);
	recompute_share(work, "confidence.overall", confidence->overall, overall);
	recompute_text(work, "confidence.limiting_factor", confidence->limiting_factor, str_from(limiting));
	check_probability(work);
	check_level(work, level);
}
