/*
 * Judgements: whether a model has proven itself, so that levels may follow its probability.
 *
 * A model is judged when it comes into use, and again as labels of later events come: those of its own span
 * tell nothing of it. A judgement goes by all of them that are kept. It is proven where
 *
 *   there are 200 of them at least, and
 *   its logarithmic loss is lower than that of a constant, by the same test as a look (looks.h),
 *   its calibration error (ECE, debiased, bins of equal mass) is 0.05 at most, and it is below 0.1 by a
 *   one-sided test, the normal distribution of the estimate,
 *   its AUROC is above 0.5, lower end of the interval, and not below that of overall confidence by more than
 *   0.01, which equal values of a map may cost.
 *
 * Both tests may err at every judgement as a look of that number may: that a model is ever taken for proven
 * that is no better than a constant, or whose calibration error is 0.1 or more, has a chance of 5 % at most
 * for each, however often it is judged. What is proven stays so until a judgement by as many labels refutes
 * it: its loss is not below the constant's, its calibration error above 0.05 by its interval, or its AUROC's
 * interval below that of overall confidence. Judgements are as far apart as looks are. Pure; any thread.
 */
#pragma once

#include "calibration/model/looks.h"

/* Labels that a model takes to be proven. */
#define MODEL_PROVEN_CASES_MIN 200

struct model_judgement {
	struct model_looks looks; /* version: of the model; count: judgements so far that could prove it */
	struct model_quality quality;
	bool proven;
};

/* Whether it is time for another judgement by these labels, of which those from `inside` on came after the
 * model's span; others than the kind can use do not count. `last`: all zeros, there was none. */
bool model_judgement_is_due(const struct model_judgement *last, enum model_kind kind,
			    const struct model_example *examples, size_t inside, size_t count);

/* Judges by examples that were scored after the span. ERR_SAMPLES: there are fewer than two of either label.
 */
err_t model_judge(const struct model *model, const struct model_judgement *last,
		  const struct model_example *later, size_t count, struct model_judgement *ret_judgement,
		  struct err_detail *detail);
