/*
 * Learnt probability: how likely an answer is right, learnt from labels of others. Pure; any thread.
 *
 * A model has two parts. The score: in the kind "features" a logistic regression over the features of
 * question and query (score/features.def) and overall confidence, standardised and with quadratic penalties;
 * in the kind "map" overall confidence itself, or,
 * from 200 labels on, the log odds of its Venn–Abers value (steps.c). The map: a line from the score to the
 * log odds, one for all cases, one for each application and one for each segment, each with its parent's as
 * the mean of a normal prior (Lindley and Smith 1972), all fitted together, over scores of cases that the
 * regression had not seen. How far applications and segments differ is learnt, too; an application or a
 * segment that no label is of has its parent's line and an interval that is wider by that difference.
 * A child's line is held back towards its parent's, intercept and slope each by 2.5 posterior deviations of
 * its own where 20 labels or fewer are of it, by nearly one where many are: what the first of them say by
 * chance does no harm.
 *
 *   log odds = line.intercept + line.slope · (score − centre),   value = 1 / (1 + e^−log odds)
 *
 * The interval at 95 % has five parts: the line's posterior variance (Laplace), the score's (jackknife over
 * spans), what applications and segments differ by, what spans differ by, and what labels near the value
 * leave open of it, whatever form the lines have (statistics/nearby.h); the end towards which these differ
 * from the line is moved by the difference. Spans are ten parts of the examples, along the time; answers to
 * questions that features do not tell apart are in one, since they are right and wrong together. For the
 * same reason answers to one question count as one label where labels near a value are looked at: an interval
 * that begins at 0.8, which HIGH takes, needs some tens of different questions there, nearly all of them
 * right.
 *
 * Fitting sorts examples into a total order first: the same examples in any order give the same document to
 * the last byte.
 */
#pragma once

#include "common/buf.h"
#include "score/features.h"

/* Labels that a model needs, and those of either kind among them. */
#define MODEL_LABELS_MIN 50
#define MODEL_EITHER_MIN 5

/* Likewise of one that shows what is learnt from so many (evidence.h). */
#define MODEL_TRIAL_LABELS_MIN 15
#define MODEL_TRIAL_EITHER_MIN 3

/* Labels that a model is fitted from at most; a segment or an application needs a line of its own in the
 * document, and those with the most labels have it. */
#define MODEL_EXAMPLES_MAX 200000
#define MODEL_LINES_MAX	   1000

/* A document has at most so many bytes, and its rules. */
#define MODEL_DOCUMENT_MAX (4 << 20)
#define MODEL_RULES_MAX	   1000

enum model_kind { MODEL_MAP, MODEL_FEATURES };

#define MODEL_KINDS 2

/* "map", "features". */
const char *model_kind_name(enum model_kind kind);

/* Immutable but for its setters, and counted. */
struct model;

/* Whose answer it is; an absent text is the empty one. */
struct model_segment {
	str_t application, model, prompt_version;
};

struct model_case {
	struct model_segment segment;
	opt_double_t overall;	/* 0..1 */
	const double *features; /* FEATURE_COUNT_ values, or NULL */
};

struct model_estimate {
	double value, low, high; /* 0..1; the interval is at 95 % */
	int64_t labels;		 /* that the model was fitted from */
	int64_t segment_labels;	 /* of the case's own segment among them */
	double log_odds;	 /* of the value */
};

/* False: the case lacks what the score needs (features, or overall confidence). */
bool model_estimate(const struct model *model, const struct model_case *item, struct model_estimate *ret);

/* What one feature adds to the log odds, against the mean of the examples. */
struct model_contribution {
	const char *name; /* of a feature, or "overall"; lives as long as the model */
	double value;	  /* of the case */
	double addend;
};

/* The largest addends first (of either sign), at most `room` (up to FEATURE_COUNT_ + 1) of them and none that
 * is 0; how many there are. The addends of all features and the log odds of a mean case are the log odds. */
size_t model_contributions(const struct model *model, const struct model_case *item,
			   struct model_contribution *ret, size_t room);

/* What a feature weighs in a model, over all cases. */
struct model_weight {
	const char *name;	/* of a feature, or "overall"; lives as long as the model */
	const char *sentence;	/* what it is, static; NULL: this version does not know it */
	double mean, deviation; /* of its values in the examples */
	double addend;		/* to the log odds, where it is one deviation above its mean */
	double error;		/* standard error of the addend, by spans and that of the line's slope */
};

/* The largest addends first (of either sign), at most `room` of them and none that is 0; `ret_all` (may be
 * NULL) is how many there are. */
size_t model_weights(const struct model *model, struct model_weight *ret, size_t room, size_t *ret_all);

/* How good its values were for labelled cases that were scored after its span. */
struct model_quality {
	int64_t cases; /* 0: it was not measured */
	double log_loss;
	double log_loss_constant; /* of the constant that is the mean of the model's own labels */
	double auroc, auroc_low, auroc_high;
	double auroc_overall; /* of overall confidence for the same cases; 0.5: it was not there */
	double ece, ece_low;  /* debiased, with bins of equal mass; lower end of the interval */
	double ece_deviation; /* its standard error; 0: not known, of a document or a row */
};

struct model_info {
	enum model_kind kind;
	int64_t version;	/* number of its row; 0: none yet */
	int64_t from_ms, to_ms; /* scored_at of the first and of the last example */
	int64_t labels;
	struct model_quality quality; /* as it was judged last (judgement.h), likewise below */
	bool proven;		      /* its values may stand for overall confidence */
	int64_t judgement;	      /* number of the judgement's row; 0: none, it is as of its document */
};

/* Lives as long as the model. */
const struct model_info *model_info(const struct model *model);

/* By the owner, before anyone else has the model. */
void model_set_version(struct model *model, int64_t version);
void model_set_quality(struct model *model, const struct model_quality *quality, bool proven);
void model_set_judgement(struct model *model, int64_t judgement);

/* What overall confidence of its examples followed from, as a text whose meaning is not this folder's;
 * absent: it is not known. Lives as long as the model, as long as its owner sets no other. */
str_t model_rules(const struct model *model);

/* By the owner, as above: copies the text. */
void model_set_rules(struct model *model, str_t rules);

/* One reference more, one less; the last one releases it. model_unref(NULL) is fine. */
struct model *model_ref(const struct model *model);
void model_unref(struct model *model);

DEFINE_CLEANUP(struct model, model_cleanup, model_unref)

/* Appends the document: one JSON object with all digits, features by name. */
void model_encode(const struct model *model, struct buf *document);

/* Checks everything. A feature that this version does not have counts as its mean. ERR_JSON_SYNTAX,
 * ERR_JSON_SHAPE with a detail. The model has one reference. */
err_t model_decode(str_t document, struct model **ret_model, struct err_detail *detail);

/* The document that it was decoded from, and its SHA-256 in hexadecimal; of one that was fitted here, absent
 * and "". They live as long as the model. */
str_t model_document(const struct model *model);
const char *model_digest(const struct model *model);

#define MODEL_ID_BYTES 16

struct model_example {
	struct model_case item;
	int64_t scored_at_ms;
	unsigned char id[MODEL_ID_BYTES]; /* of the event; orders those of one time */
	uint64_t question; /* equal for answers to one question of an application; 0: it is not known */
	double weight;	   /* 1 / its probability of being labelled; more than 0 */
	bool correct;
};

struct model_options {
	enum model_kind kind;
	bool trial;		      /* it is not for use: MODEL_TRIAL_LABELS_MIN labels will do */
	str_t rules;		      /* that overall confidence of the examples is by; or absent */
	const _Atomic bool *stopping; /* ERR_SHUTTING_DOWN soon after it is set; or NULL */
};

/* Moves those that the kind can learn from and be judged by to the front, in their order; how many they are.
 */
size_t model_keep_usable(enum model_kind kind, struct model_example *examples, size_t count);

/* Examples that lack what the kind needs are left out. ERR_SAMPLES with a detail: too few are left. The model
 * has one reference. */
err_t model_fit(const struct model_example *examples, size_t count, const struct model_options *options,
		struct model **ret_model, struct err_detail *detail);

/* Of the examples that it has an estimate for; ERR_SAMPLES: there are fewer than two of either label. */
err_t model_measure(const struct model *model, const struct model_example *examples, size_t count,
		    struct model_quality *ret_quality, struct err_detail *detail);
