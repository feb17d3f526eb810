/* What a model consists of, and the steps of fitting it. */
#pragma once

#include "calibration/model/model.h"
#include "calibration/statistics/nearby.h"
#include "common/hash.h"

/* Parts of about as many examples each: every one is left out in turn. */
#define MODEL_SPANS 10

/* Standardised features are cut off here. */
#define MODEL_FEATURE_LIMIT 4.0

#define MODEL_TERMS_MAX (FEATURE_COUNT_ + 1)
#define MODEL_Z		1.959963984540054

/* Of the log odds over the score. */
struct model_line {
	double intercept, slope;
	double variance_intercept, variance_slope, covariance;
};

/* What one number of a case adds to the score. */
struct model_term {
	const char *name;
	int feature; /* enum feature; MODEL_TERM_OVERALL; MODEL_TERM_UNKNOWN */
	double mean, deviation, scale;
	double coefficient;	      /* of the standardised, cut off and scaled value */
	double left_out[MODEL_SPANS]; /* likewise without the examples of each span */
};

enum { MODEL_TERM_OVERALL = -1, MODEL_TERM_UNKNOWN = -2 };

enum model_depth { MODEL_ALL, MODEL_APPLICATION, MODEL_SEGMENT };

struct model_node {
	struct model_segment segment; /* of an application: its name alone */
	enum model_depth depth;
	int64_t labels;
	struct model_line line;
};

/* A map of so many labels has steps, at most so many of them. */
#define MODEL_STEPS_LABELS 200
#define MODEL_STEPS_MAX	   200

/* What overall confidence of that value says: the log odds of its Venn–Abers value. In between it is linear.
 */
struct model_step {
	double overall, score;
	double left_out[MODEL_SPANS]; /* likewise without the examples of each span */
};

/* What labels near a value leave open of it, whatever form the lines have; in between it is linear. A
 * document has at most so many of them. */
#define MODEL_PLACES_MAX 64

struct model_place {
	double log_odds;
	struct nearby near;
};

/* Variances of what children of a node differ from it by. */
struct model_spread {
	double intercept, slope;
};

struct model {
	_Atomic int *references;
	struct arena *arena;
	struct model *self;
	struct model_info info;
	str_t rules;		      /* or absent */
	str_t document;		      /* that it was decoded from; or absent */
	char digest[DIGEST_HEX_SIZE]; /* SHA-256 of it; or "" */
	double mean;		      /* of the labels */
	struct model_term *terms;
	size_t terms_count;
	struct model_step *steps; /* of a map, by overall; none: its score is the term's standardised value */
	size_t steps_count;
	double constant, constant_left_out[MODEL_SPANS]; /* of the score */
	int spans;					 /* that were left out; 0: none */
	double centre;
	struct model_node *nodes; /* that of all cases first, then sorted */
	size_t nodes_count;
	struct model_spread applications, segments;
	double spans_variance;	    /* of the intercept, between parts of the examples */
	struct model_place *places; /* by log odds; none: of a document that was written without them */
	size_t places_count;
};

struct model_sample; /* sample.h */

/* Zeroed, with one reference. */
struct model *model_new(void);

/* The value of a term in a case. */
double model_term_value(const struct model_term *term, const struct model_case *item);

/* The same standardised, cut off and scaled. */
double model_term_standard(const struct model_term *term, double value);

/* Whether the case has what the kind needs. */
bool model_can_score(enum model_kind kind, const struct model_case *item);

/* Order of nodes: by depth, application, model, prompt version. */
int model_compare_nodes(const void *left, const void *right);

/* The node of a segment at a depth; NULL: it has none. */
const struct model_node *model_find(const struct model *model, const struct model_segment *segment,
				    enum model_depth depth);

/* The score by steps, of which there are some; `left_out` -1: of all examples, else without that span. */
double model_step_score(const struct model *model, double overall, int left_out);

/* Fills steps and spans of a map; `ret_scores`: one for each example, by steps that were fitted without its
 * span. */
err_t model_fit_steps(const struct model_sample *sample, struct model *model, double *ret_scores,
		      struct err_detail *detail);

/* Fills centre, nodes and variances. */
void model_fit_lines(const struct model_sample *sample, const double *scores, struct model *model);

/* Fills places, from the line of all cases. */
void model_fit_places(const struct model_sample *sample, const double *scores, struct model *model);

/* As model_estimate, with a score of which the examples of a span had no part; -1: all had. */
bool model_estimate_without(const struct model *model, const struct model_case *item, int span,
			    struct model_estimate *ret);

/* Beyond the outermost place no label is near. */
struct nearby model_place_at(const struct model *model, double log_odds);
