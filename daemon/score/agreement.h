/*
 * Agreement: how many of the texts that were written for a question mean the same as the answer. What several
 * samples or several models agree on is right more often (self-consistency: Wang et al., 2023). Pure; any
 * thread.
 */
#pragma once

#include <stddef.h>

/* With fewer candidates there is no agreement; of more, the first count. */
enum { AGREEMENT_CANDIDATES_MIN = 2, AGREEMENT_CANDIDATES_MAX = 16 };

/* Share of all texts, the answer included, that agree with it: (1 + same) / (1 + candidates), above 0 to 1.
 * `same` is at most `candidates`. */
double agreement_share(size_t same, size_t candidates);
