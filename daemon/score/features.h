/*
 * Features: what is known of an answer before anyone looks at it, as named numbers (features.def), for a
 * model that learns how likely an answer is right. Nothing of the event's own correctness enters them: no
 * truth, no label, no verdict. Of several judges, whether they agree about the question and the query is one
 * of them: not what they say, and nothing that they say of the truth.
 *
 * They are made to mean the same for databases, models and questions that no label is of: no feature is a
 * name of any. All are finite and lie within FEATURES_BOUND. Pure; no I/O, no clock; bounded for hostile
 * texts (question.h, sketch.h); any thread.
 */
#pragma once

#include "common/str.h"
#include "sql/lex/scan.h"
#include "sql/lex/words.h"

#define FEATURES_BOUND 16.0

/* Columns of the relations read that are looked at. */
#define FEATURES_MAX_COLUMNS 512

enum feature {
#define FEATURE(symbol, name, group, scale, sentence) FEATURE_##symbol,
#include "score/features.def"
#undef FEATURE
	FEATURE_COUNT_
};

enum feature_group {
	FEATURES_QUESTION,
	FEATURES_ANSWER,
	FEATURES_SHAPE,
	FEATURES_SCHEMA,
	FEATURES_DIAGNOSTICS,
	FEATURES_GENERATOR,
	FEATURES_RETRIEVAL,
	FEATURES_AGREEMENT,
	FEATURES_PANEL,
	FEATURES_GROUP_COUNT_,
};

struct feature_info {
	const char *name;
	size_t name_len;
	enum feature_group group;
	double scale; /* see features.def */
	const char *sentence;
};

extern const struct feature_info FEATURE_INFO[FEATURE_COUNT_];

struct features_diagnostic {
	const char *code;
	const char *sub_code; /* or NULL */
	bool error;
};

struct features_relation {
	const struct name_words *name;
	const struct name_words *columns;
	size_t columns_count;
};

struct features_input {
	str_t question; /* or absent */
	str_t sql;	/* the statement itself, unwrapped */
	enum sql_dialect dialect;
	const struct features_diagnostic *diagnostics;
	size_t diagnostics_count;
	opt_double_t technical; /* 0..100 */
	bool safe;		/* the verdict is SAFE */
	const struct features_relation
		*relations; /* that the statement reads, as far as a catalog has them */
	size_t relations_count;
	opt_double_t
		literals_absent; /* how many literals their columns do not have, where the target was asked */
	opt_double_t generator;
	opt_double_t retrieval, retrieval_top;
	opt_double_t agreement_form; /* share of all texts, the answer included, by canonical form */
	opt_double_t
		agreement_results; /* by results, or by form where that is not known; not set: no texts */
	bool agreement_executed;   /* by results */
	double agreement_other;	   /* largest share that agrees on something else */
	bool agreement_alone;	   /* no other text agrees with the answer */
	opt_double_t disagreement; /* of several judges, in relevance: 0..100 */
};

/* Takes some 60 KB of stack and no other memory. */
void features_fill(const struct features_input *input, double ret_values[FEATURE_COUNT_]);
