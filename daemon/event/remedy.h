/*
 * What to do about the cause of an advisory, and who does it: by what was found and, where one finding has
 * several causes, by what the event shows of them. Pure; static texts.
 */
#pragma once

#include "event/event.h"

/* Of the decisive finding of a finalised event. */
const char *remedy_of_finding(const struct event *event);

/* Of OWN_FALSE_NEGATIVE. `truth_given`: there is a ground truth in SQL. */
const char *remedy_of_false_negative(bool truth_given);

/* Of PERFORMANCE_REGRESSION. `than_truth`: slower than the truth beside it, else than before. */
const char *remedy_of_slowness(bool than_truth);
