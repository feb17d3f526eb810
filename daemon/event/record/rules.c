/* What of the settings a record's numbers follow from. */
#include "event/record/rules.h"
#include "event/record/builder.h"

#include "avro/overall_rules.h"

_Static_assert((int)RECORD_FACTOR_TECHNICAL == (int)CONFIG_TECHNICAL &&
		       (int)RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY ==
			       (int)CONFIG_RETRIEVAL_WITHOUT_ADVISORY &&
		       (int)RECORD_FACTOR_OTHER == (int)FACTOR_COUNT_,
	       "the factors of records, settings and scores are the same");
_Static_assert((int)RECORD_SOURCE_OWN == (int)CONFIG_DIAGNOSTIC_OWN &&
		       (int)RECORD_SOURCE_EVENT == (int)CONFIG_DIAGNOSTIC_EVENT &&
		       (int)RECORD_SOURCE_WORST == (int)CONFIG_DIAGNOSTIC_WORST,
	       "the sources of records and settings are the same");

static struct record_bounds bounds_of(const struct config_thresholds *thresholds)
{
	return (struct record_bounds){ thresholds->high, thresholds->medium, thresholds->low };
}

static struct record_retrieval_rules retrieval_in_force(const struct config *config)
{
	const struct config_retrieval_weights *weights = &config->retrieval_weights;
	return (struct record_retrieval_rules){
		.weights = { .top = weights->top,
			     .gap = weights->gap,
			     .consensus = weights->consensus,
			     .agreement = weights->agreement,
			     .low_spread = weights->low_spread,
			     .graph = weights->graph,
			     .low_diversity = weights->low_diversity },
		.rrf_scale = config->retrieval.rrf_scale,
		.consensus_above = config->retrieval.consensus_above,
		.gap_scale = config->retrieval.gap_scale,
		.spread_scale = config->retrieval.spread_scale,
		.thresholds = bounds_of(&config->retrieval_thresholds),
	};
}

const struct record_retrieval_rules RECORD_RETRIEVAL_FORMULA = {
	.weights = { 0.30, 0.20, 0.15, 0.15, 0.10, 0.05, 0.05 },
	.rrf_scale = 1,
	.consensus_above = 0.75,
	.gap_scale = 0.3,
	.spread_scale = 0.2,
	.thresholds = { 0.85, 0.70, 0.50 },
};

const struct record_result_rules RECORD_RESULT_DEFAULTS = { 1e-4, 1e-9, 5, 250 };

/* All its members are doubles. */
static bool is_the_formula(const struct record_retrieval_rules *rules)
{
	return memcmp(rules, &RECORD_RETRIEVAL_FORMULA, sizeof *rules) == 0;
}

static struct record_retrieval_rules *retrieval_rules(const struct record_facts *facts)
{
	const struct record_retrieval_rules rules = retrieval_in_force(facts->config);
	if (!facts->analysis.has_retrieval || is_the_formula(&rules))
		return NULL;
	struct record_retrieval_rules *record = ARENA_NEW(facts->arena, struct record_retrieval_rules);
	*record = rules;
	return record;
}

/* Of a judge that the configuration does not have any more nothing is known. */
static struct record_price price_of(const struct config_judge *judge)
{
	return judge ? (struct record_price){ judge->prompt_token_price, judge->completion_token_price }
		     : (struct record_price){ 0, 0 };
}

static struct record_judge_rules *judge_rules(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct judge *judge = builder->sources->judge;
	if (!judge)
		return NULL;
	const struct config_panel judging = config_judging(facts->config);
	struct record_judge_rules *rules = ARENA_NEW(facts->arena, struct record_judge_rules);
	*rules = (struct record_judge_rules){
		.sample_rate = judging.sample_rate,
		.always_below = (int)judging.always_below,
		.unsafe = judging.unsafe,
		.prices = ARENA_ARRAY(facts->arena, struct record_price, facts->judging.members_count),
		.prices_count = facts->judging.members_count,
	};
	for (size_t i = 0; i < rules->prices_count; i++)
		rules->prices[i] = price_of(config_judge_named(facts->config, judge_name(judge, i)));
	return rules;
}

static struct record_result_rules *result_rules(const struct record_builder *builder)
{
	const struct config_result *config = &builder->facts->config->result;
	const struct record_result_rules rules = { config->absolute_tolerance, config->relative_tolerance,
						   config->performance_factor, config->performance_floor_ms };
	if (!builder->scored->result_validation || memcmp(&rules, &RECORD_RESULT_DEFAULTS, sizeof rules) == 0)
		return NULL;
	struct record_result_rules *record = ARENA_NEW(builder->facts->arena, struct record_result_rules);
	*record = rules;
	return record;
}

static void list_factors(const struct config_confidence *confidence, int *factors)
{
	for (size_t i = 0; i < confidence->factors.count; i++)
		factors[i] = (int)confidence->factors.items[i];
}

void record_rules_of_overall(const struct config *config, struct buf *out)
{
	int factors[RECORD_FACTOR_OTHER];
	struct record_retrieval_rules retrieval = retrieval_in_force(config);
	const struct record_rules rules = { .diagnostic_source = (int)config->diagnostic.source,
					    .factors = factors,
					    .factors_count = config->confidence.factors.count,
					    .retrieval = &retrieval };
	list_factors(&config->confidence, factors);
	overall_rules_write(&rules, true, out);
}

void record_build_rules(struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct config *config = facts->config;
	const struct config_confidence *confidence = &config->confidence;
	struct record_rules *rules = ARENA_NEW(facts->arena, struct record_rules);
	*rules = (struct record_rules){
		.diagnostic_source = (int)config->diagnostic.source,
		.factors = ARENA_ARRAY(facts->arena, int, confidence->factors.count),
		.factors_count = confidence->factors.count,
		.technical_alone =
			confidence->technical_alone == CONFIG_ALONE_HIGH ? LEVEL_HIGH : LEVEL_MEDIUM,
		.thresholds = bounds_of(&config->confidence_thresholds),
		.retrieval = retrieval_rules(facts),
		.pass_score = config->evaluation.pass_score,
		.low_confidence_below = config->advisories.low_confidence_below,
		.low_relevance_below = config->advisories.low_relevance_below,
		.judge = judge_rules(builder),
		.redacted = config->records.redact_literals,
		.result = result_rules(builder),
		.formulas = RECORD_FORMULAS,
	};
	list_factors(confidence, rules->factors);
	builder->scored->rules = rules;
}
