/*
 * Agreement: how many of the texts that were written for a question mean the same as the answer. What several
 * samples or several models agree on is right more often (self-consistency: Wang et al., 2023). Pure; any
 * thread.
 */
#pragma once

#include "common/str.h"

/* With fewer candidates there is no agreement; of more, the first count. */
enum { AGREEMENT_CANDIDATES_MIN = 2, AGREEMENT_CANDIDATES_MAX = 16 };

/* Share of all texts, the answer included, whose form is the answer's: (1 + equal ones) / (1 + candidates),
 * in 0..1. Not set where the answer has no form (absent). A candidate without a form agrees with nothing. */
opt_double_t agreement_share(str_t answer, const str_t *candidates, size_t count);
