/*
 * Looks: when a candidate is compared with the model in use, and how sure it has to be of being better.
 *
 * A model in use is compared again and again, and each comparison may err. What is promised is of all of
 * them together: that a model is ever replaced by one that is no better on labels to come, for as long as it
 * is in use, has a chance of 5 % at most. The same holds of the first model, which is compared with a
 * constant.
 *
 * A look is taken only when twice as many labels are new as it judges by, or 200 and a quarter as many,
 * whichever is less, or when it judges by twice as many as the last one: so there are some ten looks up to
 * 2,000 labels, and not one at every interval. Looks are counted for each place by itself: where the model
 * that took it is gone (its row was deleted or cannot be read), the next look is due at once and counts on.
 *
 * The first two looks at candidates for one place may err with 1 % each, the next four with 0.5 %, and the
 * k-th after them with 1 % / (k (k + 1)): over all k that adds up to 5 %. A sum of chances is a bound
 * whatever the looks have in common (Bonferroni 1936); an error that is spent look by look is Lan and DeMets'
 * (Biometrika 70, 1983).
 *
 * A look is one-sided and compares logarithmic losses (evidence.h says of which answers): Student's t of the
 * sums of 8 to 30 groups of neighbours in time, of two questions at least (batch means: what neighbours share
 * does not count often). Answers to one question are in one group and count as one when groups are made, and
 * where questions are not known, a run of the same estimate and outcome does: a question that comes again and
 * again shows once what it shows. Besides, the sum has to be as unlikely where outcomes are drawn from
 * between both models, so that neither is better: a few labels that happen to agree prove nothing. That is by
 * the normal distribution, or by Chernoff's bound where it is stricter with chance: sums that can hardly be
 * larger, of labels that are all as the candidate says, are far less likely than a normal distribution of
 * their variance has it.
 *
 * That a look errs as seldom as it may is exact for sums of groups that are normal and independent, and tried
 * by simulation for others (tests/unit/calibration/model/test_looks.c): up to 1 % in all of streams of noise,
 * also where it is compared with a model that knows all, and where each question comes five times in a row; 2
 * to 4 % where questions come back between others. Pure; any thread.
 */
#pragma once

#include "calibration/model/model.h"

/* The last look that was taken at candidates for a place. */
struct model_looks {
	int64_t version; /* what candidates were compared with; 0: the constant */
	int64_t count;	 /* looks at candidates for its place */
	int64_t labels; /* that the last one judged by; 0: there was none, or none that is to be waited for */
	int64_t until_ms; /* scored_at of the last but some of these: of 19 of 20 */
};

/* Whether it is time for another look by these labels, of which those from `inside` on came after a
 * candidate's span and are what it judges by; others than the kind can use do not count. */
bool model_look_is_due(const struct model_looks *last, enum model_kind kind,
		       const struct model_example *examples, size_t inside, size_t count);

/* What is to be noted of a look, before it is taken, at candidates for the place of `version`; `later` is
 * what it judges by. */
struct model_looks model_look_next(const struct model_looks *last, int64_t version, enum model_kind kind,
				   const struct model_example *later, size_t count);

/* What look number `look` (1, 2, ...) may err with; together 5 %. */
double model_look_rate(int64_t look);

/*
 * Whether look number `look` (1, 2, ...) finds that what was learnt as the candidate was has a lower
 * logarithmic loss than the current model (NULL: than a constant), by all examples that the candidate was
 * chosen from, those that it was fitted to and later ones (evidence.h); and that the candidate itself has, in
 * sum, for examples after its span. False where fewer than 20 tell. ERR_SHUTTING_DOWN alone.
 */
err_t model_replaces(const struct model *candidate, const struct model *current,
		     const struct model_example *examples, size_t count, const struct model_options *options,
		     int64_t look, bool *ret_replaces, struct err_detail *detail);

/* The same by examples scored after the candidate's span alone (earlier ones are left out), also where the
 * current model has no estimate. */
bool model_better(const struct model *candidate, const struct model *current,
		  const struct model_example *examples, size_t count, int64_t look);
