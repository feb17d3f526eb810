/* Advisory: a doubtful event or a drifting calibration, as a plain value (schemas/advisory.avsc). Its texts
 * are whose who filled it in; the functions give static ones. */
#pragma once

#include "avro/scored_query.h"

enum advisory_kind {
	ADVISORY_LOW_CONFIDENCE,
	ADVISORY_UNSAFE_QUERY,
	ADVISORY_LOW_RELEVANCE,
	ADVISORY_GROUND_TRUTH_FAILED,
	ADVISORY_PERFORMANCE_REGRESSION,
	ADVISORY_CALIBRATION_DRIFT,
	ADVISORY_FORMER_KINDS, /* those of the schema's enum */
	ADVISORY_WRONG_ANSWER = ADVISORY_FORMER_KINDS,
	ADVISORY_OWN_FALSE_NEGATIVE,
	ADVISORY_TARGET_UNAVAILABLE,
	ADVISORY_REVIEW_REQUIRED,
	ADVISORY_KIND_COUNT_
};

struct advisory {
	str_t advisory_id; /* deterministic: topic-partition-offset, or the episode's id */
	int kind;	   /* enum advisory_kind, below ADVISORY_FORMER_KINDS: the nearest to the gravest */
	str_t *kinds;	   /* all of them by name, the gravest first */
	size_t kinds_count;
	str_t event_type;		       /* RAG_ADVISORY_LOW_CONFIDENCE, … */
	int64_t raised_at;		       /* ms since 1970 */
	int level;			       /* enum confidence_level or ENUM_ABSENT */
	int action;			       /* enum record_action or ENUM_ABSENT (drift) */
	struct record_recommendation *reasons; /* the decisive one first */
	size_t reasons_count;
	opt_double_t threshold;
	opt_double_t value;
	str_t limiting_factor;	       /* or absent */
	struct record_weight *factors; /* that confidence was made of, by name, 0..1 */
	size_t factors_count;
	str_t summary;
	str_t remedy;	/* what to do about the cause; or absent */
	str_t question; /* an excerpt; or absent, likewise below */
	str_t sql;
	str_t truth_sql;
	str_t event_id; /* or absent (drift), likewise below */
	opt_int64_t occurred_at;
	str_t application;
	str_t model;
	str_t prompt_version;
	str_t target;
	str_t topic;
	opt_int64_t partition;
	opt_int64_t offset;
	str_t scored_topic; /* where the scored record lies, by the key event_id */
	str_t episode_id;
	str_t drift_direction;	 /* LOWER or HIGHER: right less or more often than before; or absent, likewise
				    below */
	opt_double_t drift_size; /* share right less share expected, −1..1 */
	opt_int64_t drift_since; /* ms since 1970 */
	int64_t suppressed; /* advisories of this kind and segment that were held back since the last one */
};

/* "LOW_CONFIDENCE", …: the symbol, also sent as the header `kind`. */
const char *advisory_kind_name(enum advisory_kind kind);

/* The kind that readers of former schemas are given in place of one that they do not know. */
enum advisory_kind advisory_kind_former(enum advisory_kind kind);

/* "USE", …: the symbol of an action, also sent as the header `action`. */
const char *advisory_action_name(enum record_action action);

/* "HIGH_CONFIDENCE", …: the symbol of a level, also sent as the header `level`. */
const char *advisory_level_name(enum confidence_level level);
