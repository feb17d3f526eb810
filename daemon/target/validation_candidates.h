/*
 * Other texts for the question of a validation: run behind its truths, in the same snapshot, and compared
 * with what the generated query returned. Belongs to validation.c: a worker process, one thread.
 */
#pragma once

#include "target/validation_state.h"

/* Fills in `candidates` of the result, unless the generated query does not run: none then. Texts for which
 * the budget does not suffice, and results that cannot be compared for their size, are left out. Nothing here
 * changes what was found with the truths; a lost session ends it. */
void validation_run_candidates(struct validation *validation);
