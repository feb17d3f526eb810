#include "calibration/model/internal.h"

#include <math.h>

#include "calibration/model/sample.h"
#include "calibration/statistics/binned.h"
#include "calibration/statistics/discrimination.h"
#include "calibration/statistics/outcomes.h"

enum { BINS_MAX = 10 };

static double loss_of(double probability, bool correct)
{
	double p = outcomes_clamp(probability);
	return -log(correct ? p : 1 - p);
}

struct case_list {
	struct outcome *outcomes, *overall;
	size_t count, overall_count;
	double loss, loss_constant, weight;
};

static void measure_case(const struct model *model, const struct model_example *example,
			 struct case_list *cases)
{
	struct model_estimate estimate;
	if (!(example->weight > 0) || !model_estimate(model, &example->item, &estimate))
		return;
	cases->outcomes[cases->count++] =
		(struct outcome){ estimate.value, example->weight, example->correct };
	if (example->item.overall.set)
		cases->overall[cases->overall_count++] =
			(struct outcome){ example->item.overall.value, example->weight, example->correct };
	cases->weight += example->weight;
	cases->loss += example->weight * loss_of(estimate.value, example->correct);
	cases->loss_constant += example->weight * loss_of(model->mean, example->correct);
}

static double auroc_of(const struct outcome *outcomes, size_t count)
{
	struct discrimination discrimination;
	return count > 0 && discrimination_of(outcomes, count, &discrimination, NULL) == ERR_OK
		       ? discrimination.auroc
		       : 0.5;
}

err_t model_measure(const struct model *model, const struct model_example *examples, size_t count,
		    struct model_quality *ret_quality, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	const struct model_sample sample = model_sample_in_order(examples, count, INT64_MIN, scratch);
	struct case_list cases = { .outcomes = ARENA_ARRAY(scratch, struct outcome, count),
				   .overall = ARENA_ARRAY(scratch, struct outcome, count) };
	struct discrimination discrimination;
	struct binned_part *bins;
	struct binned_error error;
	size_t bins_count;
	for (size_t i = 0; i < sample.count; i++)
		measure_case(model, sample.items[i], &cases);
	if (cases.count == 0)
		return err_fail(detail, ERR_SAMPLES, "there are no cases to measure a model by");
	err_t err = discrimination_of(cases.outcomes, cases.count, &discrimination, detail);
	if (!err)
		err = binned_equal_mass(cases.outcomes, cases.count, BINS_MAX, scratch, &bins, &bins_count,
					detail);
	if (err)
		return err;
	binned_error_of(bins, bins_count, &error);
	*ret_quality = (struct model_quality){
		.cases = (int64_t)cases.count,
		.log_loss = cases.loss / cases.weight,
		.log_loss_constant = cases.loss_constant / cases.weight,
		.auroc = discrimination.auroc,
		.auroc_low = discrimination.low,
		.auroc_high = discrimination.high,
		.auroc_overall = auroc_of(cases.overall, cases.overall_count),
		.ece = fmin(error.debiased, 1),
		.ece_low = error.low,
		.ece_deviation = error.deviation,
	};
	return ERR_OK;
}
