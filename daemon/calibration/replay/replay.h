/*
 * Replay: what other rules (factors, thresholds, a model) would have said of past records, from what these
 * carry, and whether it would have been better where they have a label. Pure; one thread at a time.
 *
 * A record keeps the value of every factor and, where a model was learnt, the features; what was not known
 * then (an agreement that nobody computed) is not known now. Memory is bounded: of each label source the
 * first REPLAY_CASES_MAX labelled records enter rankings, the rest is only counted.
 *
 * A model knows the labels of the time that it has learnt from. So figures of probabilities, those of the
 * records as well as its own, are of records that were scored after that, and what was right of each level is
 * told apart for records of that time and for later ones.
 *
 * A record that comes more than once counts once: one of the same topic, partition and offset of its event,
 * or without these of the same event_id. Of the first REPLAY_KEYS_MAX records this is known.
 */
#pragma once

#include "avro/scored_query.h"
#include "calibration/model/model.h"
#include "calibration/report/ranking.h"
#include "score/overall.h"

#define REPLAY_CASES_MAX 100000

#define REPLAY_KEYS_MAX ((size_t)8 << 20)

#define REPLAY_SOURCES 4

/* No level, then those of enum confidence_level. */
#define REPLAY_LEVELS 5

struct replay_rules {
	enum overall_factor factors[FACTOR_COUNT_];
	size_t factors_count;
	enum score_level technical_alone;
	struct level_thresholds thresholds;
	const struct model *model; /* outlives the replay; NULL: there are no probabilities */
	bool level_follows;	   /* its probability, where there is one */
};

struct replay_verdict {
	opt_double_t overall;
	int level; /* enum confidence_level, or ENUM_ABSENT */
	bool by_probability;
	bool estimated;
	struct model_estimate estimate; /* only then */
};

/* What the rules say of one record. */
void replay_record(const struct replay_rules *rules, const struct scored_query *scored,
		   struct replay_verdict *ret_verdict);

struct replay;

/* Copies the rules. */
struct replay *replay_new(const struct replay_rules *rules);
void replay_free(struct replay *replay); /* NULL is fine */

DEFINE_CLEANUP(struct replay, replay_cleanup, replay_free)

/* One record more; nothing of it is kept but numbers. ERR_AVRO_VALUE: it is left out, since its label weighs
 * what cannot be counted (store/cases.h). */
err_t replay_add(struct replay *replay, const struct scored_query *scored, struct err_detail *detail);

enum replay_side { REPLAY_THEN, REPLAY_NOW, REPLAY_SIDES };

/* Scored after the labels that the model has learnt from, or without a model; or in their time. */
enum replay_time { REPLAY_LATER, REPLAY_LEARNT, REPLAY_TIMES };

struct replay_group {
	int64_t cases;
	double accuracy, low, high; /* weighted; mean nothing without cases */
};

/* Labelled records of one source. */
struct replay_labelled {
	int label_source; /* enum label_source */
	int64_t cases;
	int64_t ranked;		     /* of these, that rankings may be of */
	int64_t learnt_from;	     /* of these, scored when the model's labels were */
	int64_t times[REPLAY_TIMES]; /* of all cases */
	struct replay_group groups[REPLAY_TIMES][REPLAY_SIDES][REPLAY_LEVELS];
	struct ranking overall[REPLAY_SIDES];	  /* of records that have one on both sides */
	struct ranking probability[REPLAY_SIDES]; /* a ranking of 0 cases is none */
};

struct replay_result {
	int64_t records;
	int64_t repeated;				 /* that are not among these */
	bool unchecked;					 /* others may be among these more than once */
	int64_t first_ms, last_ms;			 /* scored_at */
	int64_t moved[REPLAY_LEVELS][REPLAY_LEVELS];	 /* records, by their level then and now */
	int64_t kept, higher, lower;			 /* their level; without one it is the lowest */
	struct replay_labelled labelled[REPLAY_SOURCES]; /* those with cases */
	size_t labelled_count;
};

/* Of all records so far; in the arena. */
void replay_finish(const struct replay *replay, double wish, struct arena *arena,
		   struct replay_result *ret_result);
