/*
 * Evaluation: one score for how correct a query is, the decision by its relevance, and the label that
 * calibration counts. Pure; any thread.
 */
#pragma once

#include "common/str.h"

enum evaluation_metric {
	EVALUATION_STRUCTURAL,
	EVALUATION_SEMANTIC,
	EVALUATION_JUDGE,
	EVALUATION_RESULT,
	EVALUATION_METRIC_COUNT_
};

/* "structural", "semantic", "judge", "result". */
const char *evaluation_metric_name(enum evaluation_metric metric);

enum metric_state {
	METRIC_NOT_ASKED, /* left out */
	METRIC_COMPUTED,
	METRIC_UNCHECKED, /* computed without all that it takes: counts, and the evaluation is degraded */
	METRIC_FAILED	  /* could not be computed: left out, and the evaluation is degraded */
};

struct evaluation_value {
	enum metric_state state;
	double value; /* 0..1, of a computed or unchecked one */
};

struct evaluation_input {
	struct evaluation_value metrics[EVALUATION_METRIC_COUNT_];
	bool has_truth;
	bool has_target;      /* a database to run on */
	bool unsafe;	      /* where there is a target its result counts as 0 */
	double result_factor; /* of the truth match; see match.h */
	double pass_score;    /* 0: 0.7 */
	bool known_wrong;     /* never passes; see disposition.h */
};

/*
 * score = Σ weight·value / Σ weight over the metrics that were computed, checked or not. Weights: with truth
 * and target structural 0.40, semantic 0.15, judge 0.15, result 0.30 × factor; with a truth alone structural
 * 0.60, semantic 0.10, judge 0.30; with neither structural 0.60 and judge 0.30. Structure alone is no
 * evaluation.
 */
struct evaluation_score {
	opt_double_t score; /* none when nothing but the structure could be computed */
	bool passed; /* from the pass score on, unless known to be wrong; not where the result was asked for
			and could not be had, and no judge has taken its place */
	bool degraded;
	double weights[EVALUATION_METRIC_COUNT_]; /* before the division; 0: left out */
	bool below_pass_score;
};

/* By the formula above. */
void evaluation_score(const struct evaluation_input *input, struct evaluation_score *ret_score);

/* The judge's part: the correctness, else the relevance (0..100) as a share, else none. */
opt_double_t evaluation_judge(opt_double_t correctness, opt_double_t relevance);

/* Decision by relevance; same numeric order as the records' decisions. */
enum evaluation_decision {
	RELEVANCE_REJECT,
	RELEVANCE_WARN,
	RELEVANCE_ACCEPT,
	RELEVANCE_ACCEPT_HIGH,
	RELEVANCE_UNJUDGED
};

/* Below 30 REJECT, below 50 WARN, below 80 ACCEPT, else ACCEPT_HIGH; no relevance: UNJUDGED. */
enum evaluation_decision evaluation_decision(opt_double_t relevance);

/* What the decision means, for a person; static text. */
const char *evaluation_decision_text(enum evaluation_decision decision);

/* Where a label comes from; same numeric order as the records' label sources. */
enum label_origin { ORIGIN_FEEDBACK, ORIGIN_RESULT, ORIGIN_CORRECTNESS, ORIGIN_RELEVANCE };

struct label_input {
	opt_double_t feedback;	     /* 0..1 */
	opt_double_t result;	     /* 0..1; none when the truth failed or nothing ran */
	opt_double_t correctness;    /* 0..1 */
	opt_double_t relevance;	     /* 0..100 */
	double sampling_probability; /* with which the judge was asked, in (0, 1] */
	bool identical;		     /* the correctness is known without asking, whether sampled or not */
};

struct label {
	double value; /* 0..1 */
	bool correct; /* value ≥ 0.5 */
	enum label_origin origin;
	double weight;
};

/* Chooses the label: the first of the four that is there; false when none is. Verdicts of the judge weigh
 * 1 / sampling probability; feedback, results and what is identical to a truth do not depend on that sampling
 * and weigh 1. */
bool evaluation_label(const struct label_input *input, struct label *ret_label);
