/* The features of an event (score/features.h), where its settings ask for them. On the thread of the event.
 */
#pragma once

#include "event/record/facts.h"

/* When all who were asked have answered: agreement is one of them. Without effect on events whose settings
 * ask for none, and on those in a dialect that is not analysed. */
void features_of_event(struct record_facts *facts);

/* The relations that the statement reads, as far as the catalog has them. Pure; any thread. */
void features_take_relations(const struct catalog *catalog, const struct sql_analysis *sql,
			     struct arena *arena, struct features_input *input);
