/*
 * Agreement: how many of the texts that were written for a question mean the same as the answer. What several
 * samples or several models agree on is right more often (self-consistency: Wang et al., 2023). Pure; any
 * thread.
 */
#pragma once

#include "common/str.h"

/* With fewer candidates there is no agreement; of more, the first count. */
enum { AGREEMENT_CANDIDATES_MIN = 2, AGREEMENT_CANDIDATES_MAX = 16 };

/* Share of all texts, the answer included, that agree with it: (1 + same) / (1 + candidates), above 0 to 1.
 * `same` is at most `candidates`. */
double agreement_share(size_t same, size_t candidates);

/* Whether a share may be taken of those that are left: of candidates of which nothing is known, `left_out`,
 * there are no more than of other texts, the answer included. What a few agree on says nothing of all. */
bool agreement_is_known(size_t candidates, size_t left_out);

/* What counts as confidence of the shares by meaning and by results. `code`: of the error that says why there
 * is none by results, absent where none was asked for or nothing had to be run. A share that was asked for
 * and is not known is missing rather than the lower one; an answer that fails agrees with nothing; where no
 * candidate could be run that means something else, none agrees that does not mean the same. */
opt_double_t agreement_factor(opt_double_t canonical, opt_double_t results, str_t code);

/* Whether an error of the metric is that the target did not answer. */
bool agreement_error_of_target(str_t code);
