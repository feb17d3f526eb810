/*
 * Candidates of an event: what else was written for its question, and how far that agrees with the answer. By
 * what the texts mean, at once; by what they return, where the target is asked. On the thread and in the
 * arena of the event.
 */
#pragma once

#include "event/record/facts.h"

struct analysis_cache;

/* Analyses them beside the answer, which has been, and leaves their share by meaning and those that differ
 * from the answer. The share counts as confidence until candidates_settle. More than AGREEMENT_CANDIDATES_MAX
 * are an error of the event. Does nothing for fewer than two. The cache (or NULL) may have their analyses. */
void candidates_analyse(struct record_facts *facts, struct analysis_cache *analyses);

/* What the target is to run of them: none, or those that mean something else than the answer and are proven
 * reads. */
void candidates_ask(const struct record_facts *facts, struct validation_candidates *ret_candidates);

/* Leaves the share by results, where the target has run them, or why a share that the settings ask for is not
 * there, and which share counts as confidence; once the target has answered. */
void candidates_settle(struct record_facts *facts);
