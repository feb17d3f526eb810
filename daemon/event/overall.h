/* The overall confidence of an event, by the settings that it began with. On the thread of the event. */
#pragma once

#include "event/record/facts.h"

/* The bounds of the levels in the form that the scores want. */
struct level_thresholds overall_thresholds(const struct config_thresholds *thresholds);

/* From the factors that are known by now; again when one is known better. */
void overall_of_event(struct record_facts *facts);

/* What it follows from by these settings, which a learnt model belongs to (avro/overall_rules.h). Lives as
 * long as they do; any thread. */
str_t overall_rules(const struct config *config);
