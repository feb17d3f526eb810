/* The features of an event (score/features.h), where its settings ask for them. On the thread of the event.
 */
#pragma once

#include "event/record/facts.h"

/* When all who were asked have answered: agreement is one of them. Without effect on events whose settings
 * ask for none, and on those in a dialect that is not analysed. */
void features_of_event(struct record_facts *facts);
