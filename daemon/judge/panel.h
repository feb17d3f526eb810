/*
 * Panel: what several judges say of one question, taken together. One that failed leaves the others.
 *
 * The score is the mean over the judges that answered. Their disagreement is the mean, over all pairs of
 * them, of how far the two are apart, in the unit of the score (Gini's mean difference): of two judges their
 * distance. Unlike a range or a standard deviation it is expected to be the same however many judges answer,
 * so a panel that lacks one can be compared with a whole one. Scores are whole numbers and halves, whose sums
 * are exact: neither depends on the order of the judges.
 *
 * Pure; any thread.
 */
#pragma once

#include "judge/judge.h"

/* Bytes of each judge's reason in that of the panel. */
#define PANEL_REASON_MAX 200

struct panel_opinion {
	const char *judge; /* its name */
	const struct judge_verdict *verdict;
};

struct panel_score {
	size_t answered;	   /* judges */
	opt_double_t mean;	   /* none: nobody answered */
	opt_double_t disagreement; /* none: fewer than two answered */
	bool cached;		   /* everyone who answered did so from a cache */
	err_t error;		   /* of the panel as a whole, where nobody answered; else ERR_OK */
};

/* The error of a panel in which nobody answered is that of the first judge that failed for another reason
 * than that it had no slot; ERR_JUDGE_SATURATED where all had none. */
void panel_score(const struct panel_opinion *opinions, size_t count, struct panel_score *ret_score);

/* What a judge's tokens cost, at prices of a million of them; none: neither has a price. */
opt_double_t panel_cost(int64_t prompt_tokens, int64_t completion_tokens, double prompt_price,
			double completion_price);

/* The digests of the prompts of all: those that each names, separated by spaces, each once and as they come.
 * Absent ones name none. In the arena. */
str_t panel_prompts(const str_t *digests, size_t count, struct arena *arena);

/* Decimals with which a mean of relevance is shown to a person: as few as do not make it look like a bound
 * that it has not reached. Of whole numbers, up to JUDGE_MEMBERS_MAX of them. */
int panel_decimals(double mean);

/* Why: `one 80: its reason; two 20: its reason`, of those that answered; each reason is cut to
 * PANEL_REASON_MAX at a character's bound. In the arena. */
str_t panel_reason(const struct panel_opinion *opinions, size_t count, struct arena *arena);
