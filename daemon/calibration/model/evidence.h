/*
 * Evidence: what a candidate, and before it what was learnt from fewer of its labels, would have lost less
 * than what it is compared with, for answers that came later. Pure; any thread. Inside of calibration/model
 * only.
 *
 * By the labels after its span alone a candidate of few can show nothing. Until 1,000 came after it, models
 * of the first quarter, half and three quarters of its span are fitted, too, and each is held against the
 * labels between its own span and the next one's (prequential validation; Dawid 1984): four fifths of all
 * labels tell then of what is learnt, and each of them of a model that was learnt before it came.
 *
 * Answers to one question are right and wrong together. Where a later answer is to a question of the span,
 * the score is by coefficients that were fitted without that part of the span (lines over it are numbers of
 * all cases, and stay): what is learnt has to tell of other questions. Only a model in use whose own span has
 * the question is met by all that the candidate knows, for it knows the question, too. And answers to one
 * question are one unit: units are what may be taken for independent, but for one thing. Where questions come
 * back, what was learnt from one half of them is held against the other half, and the other way about: both
 * say the same of each pair. `known` says how often that may be so.
 *
 * Where there is no current model, each model is compared with the mean of its own estimates for the cases
 * that it is held against: whether it tells these apart is asked, and not whether it knows better than a mean
 * of few labels how many are right. The candidate itself has to be better than the mean of its labels, too.
 */
#pragma once

#include "calibration/model/model.h"
#include "common/arena.h"

/* What is lost less for a case, and what would be were the outcome the other one. */
struct model_gain {
	double value, other, weight;
	double likely; /* the outcome, where it is drawn so that neither is better */
	size_t unit;   /* 0, 1, ... in the order of their first answers */
	size_t place;  /* in time */
};

struct model_evidence {
	struct model_gain *gains; /* by unit, in an arena */
	size_t count, units;
	double sum;
	double own;   /* what the candidate loses less after its span than the mean of its labels */
	double known; /* share of cases whose question was known, by weight */
};

/* By later examples alone, whatever their questions are; `current` NULL: the constant that is the mean of the
 * candidate's labels. */
struct model_evidence model_evidence_of(const struct model *candidate, const struct model *current,
					const struct model_example *examples, size_t count,
					struct arena *arena);

/* By all that it was chosen from: those of its span, which it was fitted to, and later ones. What the current
 * model learnt from is not looked at. ERR_SHUTTING_DOWN alone. */
err_t model_evidence_from(const struct model *candidate, const struct model *current,
			  const struct model_example *examples, size_t count,
			  const struct model_options *options, struct arena *arena,
			  struct model_evidence *ret_evidence, struct err_detail *detail);
