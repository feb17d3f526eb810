/* How likely the answer of an event is right, by a model that learnt from labels of others. On the thread of
 * the event. */
#pragma once

#include "calibration/model/model_current.h"
#include "event/record/facts.h"

struct archive;

/* When overall confidence and features are known. The settings say whether the level follows. Without effect
 * where there is no model, for an event that lacks what the model scores, for one in a dialect that is not
 * analysed, of which nothing is claimed, and for one that is UNSAFE: that is not run however right it is. */
void probability_of_event(struct record_facts *facts, struct model_current *models, struct archive *archive);
