#include "calibration/model/internal.h"

#include <math.h>
#include <stdlib.h>

#include "calibration/statistics/outcomes.h"

/* ---- the score ---- */

struct score {
	double value, variance;
};

/* Grouped jackknife (Tukey 1958): each span left out in turn. */
static double variance_of(const double *values, int count)
{
	double mean = 0, sum = 0;
	for (int i = 0; i < count; i++)
		mean += values[i] / count;
	for (int i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return count > 1 ? sum * (count - 1) / count : 0;
}

/* Of all examples, or of those outside of a span. */
static struct score score_of(const struct model *model, const struct model_case *item, int span)
{
	struct score score = { model->constant, 0 };
	double left_out[MODEL_SPANS];
	if (model->steps_count > 0) {
		for (int k = 0; k < model->spans; k++)
			left_out[k] = model_step_score(model, item->overall.value, k);
		score.value = model_step_score(model, item->overall.value, span);
		score.variance = variance_of(left_out, model->spans);
		return score;
	}
	memcpy(left_out, model->constant_left_out, sizeof left_out);
	for (size_t i = 0; i < model->terms_count; i++) {
		const struct model_term *term = &model->terms[i];
		double standard = model_term_standard(term, model_term_value(term, item));
		if (standard == 0)
			continue;
		score.value += term->coefficient * standard;
		for (int k = 0; k < MODEL_SPANS; k++) /* those beyond its spans are not read */
			left_out[k] += term->left_out[k] * standard;
	}
	if (span >= 0)
		score.value = left_out[span];
	score.variance = variance_of(left_out, model->spans);
	return score;
}

/* ---- the map ---- */

/* The deepest node of the segment, and what it may differ from that by. */
static const struct model_node *place(const struct model *model, const struct model_segment *segment,
				      struct model_spread *ret_spread)
{
	const struct model_node *node = model_find(model, segment, MODEL_SEGMENT);
	*ret_spread = (struct model_spread){ 0, 0 };
	if (node)
		return node;
	*ret_spread = model->segments;
	node = model_find(model, segment, MODEL_APPLICATION);
	if (node)
		return node;
	ret_spread->intercept += model->applications.intercept;
	ret_spread->slope += model->applications.slope;
	return &model->nodes[0];
}

bool model_estimate_without(const struct model *model, const struct model_case *item, int span,
			    struct model_estimate *ret)
{
	struct model_spread spread;
	if (!model_can_score(model->info.kind, item))
		return false;
	const struct score score = score_of(model, item, span);
	const struct model_node *node = place(model, &item->segment, &spread);
	const struct model_line *line = &node->line;
	double from_centre = score.value - model->centre;
	double odds = line->intercept + line->slope * from_centre;
	double variance = line->variance_intercept + 2 * from_centre * line->covariance +
			  from_centre * from_centre * (line->variance_slope + spread.slope) +
			  spread.intercept + model->spans_variance +
			  line->slope * line->slope * score.variance;
	const struct nearby near = model_place_at(model, odds);
	double half = MODEL_Z * sqrt(fmax(variance, 0) + near.variance);
	*ret = (struct model_estimate){ .value = outcomes_sigmoid(odds),
					.low = outcomes_sigmoid(odds + fmin(near.shift, 0) - half),
					.high = outcomes_sigmoid(odds + fmax(near.shift, 0) + half),
					.labels = model->info.labels,
					.segment_labels = node->depth == MODEL_SEGMENT ? node->labels : 0,
					.log_odds = odds };
	return true;
}

bool model_estimate(const struct model *model, const struct model_case *item, struct model_estimate *ret)
{
	return model_estimate_without(model, item, -1, ret);
}

static int compare_contributions(const void *left, const void *right)
{
	const struct model_contribution *a = left, *b = right;
	double size_a = fabs(a->addend), size_b = fabs(b->addend);
	return size_a != size_b ? (size_a < size_b) - (size_a > size_b) : strcmp(a->name, b->name);
}

/* What a term of that value adds to the score, against its mean. */
static double share_of(const struct model *model, const struct model_term *term, double value, int left_out)
{
	if (model->steps_count > 0)
		return model_step_score(model, value, left_out) -
		       model_step_score(model, term->mean, left_out);
	double coefficient = left_out < 0 ? term->coefficient : term->left_out[left_out];
	return coefficient * model_term_standard(term, value);
}

size_t model_contributions(const struct model *model, const struct model_case *item,
			   struct model_contribution *ret, size_t room)
{
	struct model_contribution all[MODEL_TERMS_MAX];
	struct model_spread spread;
	size_t count = 0;
	if (!model_can_score(model->info.kind, item))
		return 0;
	double slope = place(model, &item->segment, &spread)->line.slope;
	for (size_t i = 0; i < model->terms_count; i++) {
		const struct model_term *term = &model->terms[i];
		double value = model_term_value(term, item);
		double addend = slope * share_of(model, term, value, -1);
		if (addend != 0)
			all[count++] = (struct model_contribution){ term->name, value, addend };
	}
	qsort(all, count, sizeof *all, compare_contributions);
	count = count < room ? count : room;
	memcpy(ret, all, count * sizeof *ret);
	return count;
}

/* ---- weights ---- */

static const char *sentence_of(int feature)
{
	if (feature == MODEL_TERM_OVERALL)
		return "overall confidence";
	return feature >= 0 ? FEATURE_INFO[feature].sentence : NULL;
}

static int compare_weights(const void *left, const void *right)
{
	const struct model_weight *a = left, *b = right;
	double size_a = fabs(a->addend), size_b = fabs(b->addend);
	return size_a != size_b ? (size_a < size_b) - (size_a > size_b) : strcmp(a->name, b->name);
}

size_t model_weights(const struct model *model, struct model_weight *ret, size_t room, size_t *ret_all)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct model_weight *all = ARENA_ARRAY(scratch, struct model_weight, model->terms_count + 1);
	size_t count = 0;
	for (size_t i = 0; i < model->terms_count; i++) {
		const struct model_term *term = &model->terms[i];
		const struct model_line *line = &model->nodes[0].line;
		double value = term->mean + term->deviation, left_out[MODEL_SPANS];
		double share = share_of(model, term, value, -1);
		if (line->slope * share == 0)
			continue;
		for (int k = 0; k < model->spans; k++)
			left_out[k] = share_of(model, term, value, k);
		all[count++] = (struct model_weight){
			.name = term->name,
			.sentence = sentence_of(term->feature),
			.mean = term->mean,
			.deviation = term->deviation,
			.addend = line->slope * share,
			.error = sqrt(line->slope * line->slope * variance_of(left_out, model->spans) +
				      share * share * line->variance_slope),
		};
	}
	qsort(all, count, sizeof *all, compare_weights);
	if (ret_all)
		*ret_all = count;
	count = count < room ? count : room;
	memcpy(ret, all, count * sizeof *ret);
	return count;
}
