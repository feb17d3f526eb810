/*
 * The ground truths of an event: which of them can be used, and what is said of the others. On the thread and
 * in the arena of the event.
 */
#pragma once

#include "event/record/facts.h"

/* Truths of one event, SQL and tables together. */
#define TRUTHS_MAX 64

/* Cells of all tables of one event together: 16 MiB of places for them. */
#define TRUTH_CELLS_MAX ((size_t)1 << 20)

/* Fills in the truths of the analysis, SQL not analysed yet. What cannot be used (more than the limits allow,
 * tables whose rows are ragged) is an error of the event, and `truths_left_out` is set. */
void truths_take(struct record_facts *facts);

/* Chooses the truths that the target is asked about, once they are analysed: the tables, and the SQL that is
 * proven to be a read. The others are errors of the event, like those that cannot be used. */
void truths_choose(struct record_facts *facts);
