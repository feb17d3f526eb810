/*
 * Disposition: the one conclusion about an answer, from everything that is known of it. Confidence says what
 * may be done at the most; every finding may lower that and none raises it. Everything else that a record
 * concludes (whether it passed, whether a person has to look, what is advised, which advisory is raised)
 * follows from it, so that no two of them contradict each other. Pure; any thread.
 *
 *   level HIGH USE, MEDIUM USE_WITH_CAUTION, LOW VERIFY, VERY_LOW or none WITHHOLD
 *   known to be wrong WITHHOLD: unsafe, expected to be rejected, no statement, failed to execute, a result
 *     below 0.5 against a truth that is no doubtful match, relevance below 30, or, where no result says
 *     otherwise, a correctness below 0.5
 *   a relation that does not exist, and other errors for which a database refuses the query: WITHHOLD
 *   doubts VERIFY: unknown safety, a truth or target that was asked for and did not answer, a result that
 *     proves nothing or is partly right, a relevance below 50, a correctness below 1, errors in the SQL, weak
 *     retrieval, an evaluation that did not pass
 *   retrieval of level MEDIUM, for which a review is recommended: USE_WITH_CAUTION
 */
#pragma once

#include "common/str.h"
#include "score/level.h"

/* Lowest first; same numeric order as the records' actions. */
enum disposition_action {
	DISPOSITION_WITHHOLD,
	DISPOSITION_VERIFY,
	DISPOSITION_USE_WITH_CAUTION,
	DISPOSITION_USE,
	DISPOSITION_ACTION_COUNT_
};

/* "WITHHOLD", …; and what a person is to do. Static texts. */
const char *disposition_action_name(enum disposition_action action);
const char *disposition_action_text(enum disposition_action action);

/* The findings (disposition.def), the graver ones of an action first. */
enum disposition_finding {
#define DISPOSITION_FINDING(symbol, code, action, wrong, remedy) FINDING_##symbol,
#include "score/disposition.def"
#undef DISPOSITION_FINDING
	FINDING_COUNT_
};

/* The code of the reason, static; the most that the finding allows; whether the answer is known to be wrong.
 */
const char *disposition_finding_code(enum disposition_finding finding);
enum disposition_action disposition_finding_action(enum disposition_finding finding);
bool disposition_finding_wrong(enum disposition_finding finding);

/* What whoever runs the application may do about the cause; static text. */
const char *disposition_finding_remedy(enum disposition_finding finding);

enum disposition_safety { DISPOSITION_SAFE, DISPOSITION_UNSAFE, DISPOSITION_UNKNOWN };

/* What came of comparing with a ground truth. */
enum disposition_result {
	RESULT_NOT_ASKED,
	RESULT_COMPARED,
	RESULT_INCONCLUSIVE, /* compared, but its score proves nothing */
	RESULT_EXECUTION_FAILED,
	RESULT_TIMED_OUT,
	RESULT_TRUTH_FAILED,
	RESULT_UNAVAILABLE,
};

struct disposition_input {
	/* confidence */
	opt_double_t confidence;     /* 0..1, which the level is of; none: there is no level either */
	enum score_level level;	     /* only where the confidence is set */
	double low_confidence_below; /* the bound of advisories; 0: none */
	bool retrieval_weak;	     /* what was retrieved is of level LOW or VERY_LOW */
	bool retrieval_moderate;     /* it is of level MEDIUM */
	/* the SQL */
	enum disposition_safety safety;
	bool valid;	    /* exactly one statement of its dialect; true where that cannot be told */
	bool unknown_table; /* a relation that does not exist */
	bool sql_refused;   /* other errors for which a database refuses it */
	bool sql_errors;    /* those for which it does not */
	/* correctness */
	bool rejection_expected; /* the truth says that it must not pass */
	bool target_missing;	 /* one is named and nothing is known of it */
	bool target_unknown;	 /* likewise, since none of that name is configured */
	bool answer_failed;	 /* it was run beside its candidates, and does not run */
	bool agreement_missing;	 /* the target was asked what they return, and did not answer */
	enum disposition_result result;
	double result_score;	    /* 0..1, of RESULT_COMPARED */
	bool truth_doubtful;	    /* a match of level LOW */
	opt_double_t relevance;	    /* 0..100 */
	double low_relevance_below; /* the bound of advisories; 0: none */
	opt_double_t correctness;   /* 0..1 */
	bool not_passed;	    /* the evaluation's; it may depend on what is known to be wrong */
};

struct disposition {
	enum disposition_action action;
	enum disposition_finding findings[FINDING_COUNT_]; /* that apply, the decisive one first */
	size_t count;					   /* at least one */
};

/* By the rules above. */
void disposition_of(const struct disposition_input *input, struct disposition *ret_disposition);

/* Whether the finding is one of those that apply. */
bool disposition_has(const struct disposition *disposition, enum disposition_finding finding);

/* The finding by which the answer is known to be wrong, the gravest of several, or FINDING_COUNT_. Does not
 * read `not_passed`. */
enum disposition_finding disposition_known_wrong(const struct disposition_input *input);
