#include "event/probability.h"

#include "event/archiving.h"
#include "event/overall.h"

static void take_reasons(struct record_facts *facts, const struct model *model, const struct model_case *item)
{
	struct record_probability *probability = facts->analysis.probability;
	struct model_contribution contributions[FEATURE_COUNT_ + 1];
	size_t room = (size_t)facts->config->calibration.model_reasons;
	if (room == 0)
		return;
	size_t count = model_contributions(model, item, contributions, room);
	probability->reasons = ARENA_ARRAY(facts->arena, struct record_reason, count + 1);
	for (size_t i = 0; i < count; i++)
		probability->reasons[i] =
			(struct record_reason){ arena_str(facts->arena, str_from(contributions[i].name)),
						contributions[i].value, contributions[i].addend };
	probability->reasons_count = count;
}

/* By the settings: always, never, or where the model has shown itself on labels later than those it learnt
 * from. */
static bool level_follows(const struct config *config, const struct model *model)
{
	enum config_level_by by = config->confidence.level_by;
	return by == CONFIG_LEVEL_BY_PROBABILITY || (by == CONFIG_LEVEL_BY_AUTO && model_info(model)->proven);
}

/* What it has learnt of overall confidence is of that alone which follows from the same rules. */
static bool has_rules_of(const struct model *model, const struct config *config)
{
	return !str_present(model_rules(model)) || str_equal(model_rules(model), overall_rules(config));
}

void probability_of_event(struct record_facts *facts, struct model_current *models, struct archive *archive)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct generated_query *query = facts->query;
	const struct config *config = facts->config;
	const struct model_case item = {
		.segment = { query->application, query->model, query->prompt_version },
		.overall = analysis->overall.confidence,
		.features = analysis->features,
	};
	struct model_estimate estimate;
	if (!config->calibration.configured || config->calibration.model == CONFIG_MODEL_OFF ||
	    analysis->dialect >= SQL_MONGODB || analysis->sql.verdict == SQL_UNSAFE)
		return;
	_cleanup_(model_cleanup) struct model *model = model_current_get(models);
	if (!model || !has_rules_of(model, config) || !model_estimate(model, &item, &estimate))
		return;
	analysis->probability = ARENA_NEW(facts->arena, struct record_probability);
	*analysis->probability = (struct record_probability){
		.value = estimate.value,
		.low = estimate.low,
		.high = estimate.high,
		.labels = estimate.labels,
		.segment_labels = estimate.segment_labels,
		.model = model_info(model)->version,
		.judgement = model_info(model)->judgement,
	};
	take_reasons(facts, model, &item);
	archiving_of_model(archive, model);
	if (!level_follows(config, model))
		return;
	const struct level_thresholds thresholds = overall_thresholds(&config->confidence_thresholds);
	analysis->level_by_probability = true;
	analysis->overall.level = level_of_estimate(estimate.value, estimate.low, &thresholds);
}
