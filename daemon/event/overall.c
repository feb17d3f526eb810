#include "event/overall.h"

#include "event/record/rules.h"

struct level_thresholds overall_thresholds(const struct config_thresholds *thresholds)
{
	return (struct level_thresholds){ thresholds->high, thresholds->medium, thresholds->low };
}

void overall_of_event(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct config *config = facts->config;
	enum overall_factor factors[FACTOR_COUNT_];
	struct overall_input input = {
		.factors = factors,
		.unsafe = analysis->sql.verdict == SQL_UNSAFE,
		.technical_alone =
			config->confidence.technical_alone == CONFIG_ALONE_HIGH ? SCORE_HIGH : SCORE_MEDIUM,
		.thresholds = overall_thresholds(&config->confidence_thresholds),
	};
	for (size_t i = 0; i < config->confidence.factors.count && i < FACTOR_COUNT_; i++)
		factors[input.factors_count++] = (enum overall_factor)config->confidence.factors.items[i];
	if (analysis->technical.set)
		input.values[FACTOR_TECHNICAL] = opt_double(analysis->technical.value / 100);
	if (analysis->has_advisory)
		input.values[FACTOR_ADVISORY] = opt_double(analysis->advisory.confidence);
	if (analysis->has_retrieval)
		input.values[FACTOR_RETRIEVAL] = opt_double(analysis->retrieval.confidence);
	if (analysis->has_retrieval && !analysis->has_advisory)
		input.values[FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = opt_double(analysis->retrieval.confidence);
	input.values[FACTOR_GENERATOR] = analysis->generator;
	input.values[FACTOR_AGREEMENT] = analysis->agreement_factor;
	overall_score(&input, &analysis->overall);
}

str_t overall_rules(const struct config *config)
{
	return config_derived(config, record_rules_of_overall);
}
