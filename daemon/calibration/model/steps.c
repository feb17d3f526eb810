#include "calibration/model/internal.h"

#include <math.h>

#include "calibration/model/sample.h"
#include "calibration/statistics/outcomes.h"
#include "calibration/statistics/venn_abers.h"

/* What a line cannot say of overall confidence, isotonic regression does, without a shape that it must have.
 * Venn–Abers values are between that of a further wrong case and that of a further right one, so that few
 * labels of one value are not taken for certain. */

double model_step_score(const struct model *model, double overall, int left_out)
{
	const struct model_step *steps = model->steps;
	size_t low = 0, high = model->steps_count; /* the first that is above lies within */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (steps[middle].overall > overall)
			high = middle;
		else
			low = middle + 1;
	}
	const struct model_step *above = &steps[low < model->steps_count ? low : model->steps_count - 1];
	const struct model_step *below = &steps[low > 0 ? low - 1 : 0];
	double first = left_out < 0 ? below->score : below->left_out[left_out];
	double last = left_out < 0 ? above->score : above->left_out[left_out];
	if (above == below || overall <= below->overall)
		return first;
	return first + (last - first) * (overall - below->overall) / (above->overall - below->overall);
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* Different values, in order; of too many some that are evenly apart. */
static void choose_steps(const struct model_sample *sample, struct model *model)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	double *values = ARENA_ARRAY(scratch, double, sample->count);
	size_t count = 0;
	for (size_t i = 0; i < sample->count; i++)
		values[i] = sample->items[i]->item.overall.value;
	qsort(values, sample->count, sizeof *values, compare_values);
	for (size_t i = 0; i < sample->count; i++)
		if (i == 0 || values[i] != values[count - 1])
			values[count++] = values[i];
	model->steps_count = count < MODEL_STEPS_MAX ? count : MODEL_STEPS_MAX;
	model->steps = ARENA_ARRAY(model->arena, struct model_step, model->steps_count);
	for (size_t i = 0; i < model->steps_count; i++)
		model->steps[i].overall =
			values[count <= MODEL_STEPS_MAX ? i : i * (count - 1) / (MODEL_STEPS_MAX - 1)];
}

static double log_odds(double probability)
{
	double p = outcomes_clamp(probability);
	return log(p / (1 - p));
}

/* Of all examples but those of a span; -1: of all. */
static err_t fit_steps(const struct model_sample *sample, int left_out, struct model *model,
		       struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct outcome *outcomes = ARENA_ARRAY(scratch, struct outcome, sample->count);
	struct venn_abers *predictor;
	double share = model_sample_share(sample);
	size_t count = 0;
	for (size_t i = 0; i < sample->count; i++)
		if (sample->spans[i] != left_out)
			outcomes[count++] = (struct outcome){ sample->items[i]->item.overall.value,
							      sample->items[i]->weight * share,
							      sample->items[i]->correct };
	err_t err = venn_abers_fit(outcomes, count, scratch, &predictor, detail);
	for (size_t i = 0; !err && i < model->steps_count; i++) {
		struct model_step *step = &model->steps[i];
		double score = log_odds(venn_abers_predict(predictor, step->overall).value);
		*(left_out < 0 ? &step->score : &step->left_out[left_out]) = score;
	}
	return err;
}

err_t model_fit_steps(const struct model_sample *sample, struct model *model, double *ret_scores,
		      struct err_detail *detail)
{
	err_t err = ERR_OK;
	choose_steps(sample, model);
	for (int span = -1; !err && span < MODEL_SPANS; span++)
		err = fit_steps(sample, span, model, detail);
	for (size_t i = 0; !err && i < sample->count; i++)
		ret_scores[i] =
			model_step_score(model, sample->items[i]->item.overall.value, sample->spans[i]);
	model->spans = MODEL_SPANS;
	return err;
}
