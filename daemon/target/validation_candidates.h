/*
 * Other texts for the question of a validation: run behind its truths, in the same snapshot, and compared
 * with what the generated query returned. Belongs to validation.c: a worker process, one thread.
 */
#pragma once

#include "target/validation_state.h"

/* Fills in `candidates` of the result, or why there are none: the generated query does not run, or what it
 * returns is above the limits. Whoever returns more rows than it is different, however many more these are,
 * and takes nothing of the budget. Texts for which the budget does not suffice, and results that cannot be
 * compared for their size, are left out. Nothing here changes what was found with the truths. An error is the
 * target's, is in the result, too, and ends it. */
err_t validation_run_candidates(struct validation *validation, struct err_detail *detail);
