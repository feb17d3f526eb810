#include "calibration/model/internal.h"

#include <math.h>
#include <stdatomic.h>

#include "calibration/model/sample.h"
#include "calibration/statistics/logistic.h"

/* Quadratic penalty of standardised features: a share of the examples, so that what carries over to other
 * data is preferred to what fits these best. */
#define PENALTY_SHARE 0.3
#define PENALTY_MIN   100.0
#define PENALTY_MAX   1000.0

/* Features that vary less do not vary. */
#define DEVIATION_MIN 1e-9

/* Mean and deviation by weight; false: it does not vary. */
static bool measure_term(const struct model_sample *sample, struct model_term *term)
{
	double weight = 0, sum = 0, squares = 0;
	for (size_t i = 0; i < sample->count; i++) {
		const struct model_case *item = &sample->items[i]->item;
		if (term->feature == MODEL_TERM_OVERALL && !item->overall.set)
			continue;
		weight += sample->items[i]->weight;
		sum += sample->items[i]->weight * model_term_value(term, item);
	}
	if (weight == 0)
		return false;
	term->mean = sum / weight;
	for (size_t i = 0; i < sample->count; i++) {
		double distance = model_term_value(term, &sample->items[i]->item) - term->mean;
		squares += sample->items[i]->weight * distance * distance;
	}
	term->deviation = sqrt(squares / weight);
	return term->deviation >= DEVIATION_MIN;
}

static void choose_terms(const struct model_sample *sample, struct model *model)
{
	model->terms = ARENA_ARRAY(model->arena, struct model_term, MODEL_TERMS_MAX);
	for (int i = 0; model->info.kind == MODEL_FEATURES && i < FEATURE_COUNT_; i++) {
		struct model_term term = { .name = FEATURE_INFO[i].name,
					   .feature = i,
					   .scale = FEATURE_INFO[i].scale };
		if (measure_term(sample, &term))
			model->terms[model->terms_count++] = term;
	}
	struct model_term term = { .name = "overall", .feature = MODEL_TERM_OVERALL, .scale = 1 };
	if (measure_term(sample, &term))
		model->terms[model->terms_count++] = term;
}

struct regression {
	const struct model_sample *sample;
	size_t columns;
	double *rows; /* of the sample */
	double penalty, share;
	const _Atomic bool *stopping; /* or NULL */
	struct arena *arena;
};

/* Coefficients, the constant first; `left_out` -1: of all examples. */
static err_t regress(const struct regression *regression, int left_out, double *ret_coefficients,
		     struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	const struct model_sample *sample = regression->sample;
	size_t columns = regression->columns, rows = 0;
	double *features = ARENA_ARRAY(scratch, double, sample->count *columns + 1);
	double *weights = ARENA_ARRAY(scratch, double, sample->count);
	bool *labels = ARENA_ARRAY(scratch, bool, sample->count);
	double penalties[MODEL_TERMS_MAX + 1];
	for (size_t i = 0; i < sample->count; i++) {
		if (sample->spans[i] == left_out)
			continue;
		memcpy(features + rows * columns, regression->rows + i * columns, columns * sizeof *features);
		weights[rows] = sample->items[i]->weight * regression->share;
		labels[rows++] = sample->items[i]->correct;
	}
	for (size_t j = 0; j <= columns; j++)
		penalties[j] = j == 0 ? 1e-2 : regression->penalty;
	const struct logistic_problem problem = { .features = features,
						  .labels = labels,
						  .weights = weights,
						  .rows = rows,
						  .columns = columns,
						  .penalties = penalties };
	struct logistic_model fitted;
	err_t err = logistic_fit(&problem, scratch, &fitted, detail);
	if (!err)
		memcpy(ret_coefficients, fitted.coefficients, (columns + 1) * sizeof *ret_coefficients);
	return err;
}

static void fill_rows(struct regression *regression, const struct model *model)
{
	const struct model_sample *sample = regression->sample;
	regression->rows = ARENA_ARRAY(regression->arena, double, sample->count * model->terms_count + 1);
	for (size_t i = 0; i < sample->count; i++)
		for (size_t j = 0; j < model->terms_count; j++)
			regression->rows[i * model->terms_count + j] = model_term_standard(
				&model->terms[j],
				model_term_value(&model->terms[j], &sample->items[i]->item));
}

static double apply(const double *coefficients, const double *row, size_t columns)
{
	double score = coefficients[0];
	for (size_t j = 0; j < columns; j++)
		score += coefficients[j + 1] * row[j];
	return score;
}

static err_t fit_features(struct regression *regression, struct model *model, double *ret_scores,
			  struct err_detail *detail)
{
	size_t columns = model->terms_count, count = regression->sample->count;
	double coefficients[MODEL_TERMS_MAX + 1];
	for (int span = -1; span < MODEL_SPANS; span++) {
		bool stops = regression->stopping && atomic_load(regression->stopping);
		err_t err = stops ? ERR_SHUTTING_DOWN : regress(regression, span, coefficients, detail);
		if (err)
			return err;
		*(span < 0 ? &model->constant : &model->constant_left_out[span]) = coefficients[0];
		for (size_t j = 0; j < columns; j++)
			*(span < 0 ? &model->terms[j].coefficient : &model->terms[j].left_out[span]) =
				coefficients[j + 1];
		for (size_t i = 0; i < count; i++)
			if (regression->sample->spans[i] == span)
				ret_scores[i] = apply(coefficients, regression->rows + i * columns, columns);
	}
	model->spans = MODEL_SPANS;
	return ERR_OK;
}

/* Fills terms, constant and spans of the model; `ret_scores`: one for each example, by coefficients that were
 * fitted without its span. */
static err_t fit_score(const struct model_sample *sample, const _Atomic bool *stopping, struct model *model,
		       double *ret_scores, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	choose_terms(sample, model);
	struct regression regression = { .sample = sample,
					 .columns = model->terms_count,
					 .share = model_sample_share(sample),
					 .stopping = stopping,
					 .arena = scratch };
	regression.penalty = fmax(PENALTY_MIN, fmin(PENALTY_MAX, PENALTY_SHARE * (double)sample->count));
	fill_rows(&regression, model);
	if (model->info.kind == MODEL_FEATURES)
		return fit_features(&regression, model, ret_scores, detail);
	for (size_t j = 0; j < model->terms_count; j++)
		model->terms[j].coefficient = 1;
	if (model->terms_count > 0 && sample->count >= MODEL_STEPS_LABELS)
		return model_fit_steps(sample, model, ret_scores, detail);
	for (size_t i = 0; i < sample->count; i++)
		ret_scores[i] = model->terms_count ? regression.rows[i] : 0;
	return ERR_OK;
}

static err_t check(const struct model_sample *sample, bool trial, struct err_detail *detail)
{
	const size_t least = trial ? MODEL_TRIAL_LABELS_MIN : MODEL_LABELS_MIN;
	const size_t either = trial ? MODEL_TRIAL_EITHER_MIN : MODEL_EITHER_MIN;
	size_t correct = 0;
	for (size_t i = 0; i < sample->count; i++)
		correct += sample->items[i]->correct;
	if (sample->count < least || sample->count > MODEL_EXAMPLES_MAX)
		return err_fail(detail, ERR_SAMPLES, "%zu labels that a model can use: it takes %zu to %d",
				sample->count, least, MODEL_EXAMPLES_MAX);
	if (correct < either || sample->count - correct < either)
		return err_fail(detail, ERR_SAMPLES,
				"%zu of %zu labels say correct: it takes %zu of either kind", correct,
				sample->count, either);
	return ERR_OK;
}

static double mean_of(const struct model_sample *sample)
{
	double weight = 0, correct = 0;
	for (size_t i = 0; i < sample->count; i++) {
		weight += sample->items[i]->weight;
		correct += sample->items[i]->correct ? sample->items[i]->weight : 0;
	}
	return correct / weight;
}

err_t model_fit(const struct model_example *examples, size_t count, const struct model_options *options,
		struct model **ret_model, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct model_sample sample = model_sample_of(examples, count, options->kind, scratch);
	err_t err = check(&sample, options->trial, detail);
	if (err)
		return err;
	_cleanup_(model_cleanup) struct model *model = model_new();
	model->info = (struct model_info){ .kind = options->kind,
					   .from_ms = sample.items[0]->scored_at_ms,
					   .to_ms = sample.items[sample.count - 1]->scored_at_ms,
					   .labels = (int64_t)sample.count };
	model_set_rules(model, options->rules);
	model->mean = mean_of(&sample);
	model_sample_divide(&sample, options->kind, scratch);
	double *scores = ARENA_ARRAY(scratch, double, sample.count);
	err = fit_score(&sample, options->stopping, model, scores, detail);
	if (err)
		return err;
	model_fit_lines(&sample, scores, model);
	model_fit_places(&sample, scores, model);
	*ret_model = TAKE_PTR(model);
	return ERR_OK;
}
