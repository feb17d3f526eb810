/* The second half of an event's way: builds the scored record from all answers. A worker's thread. */
#pragma once

#include "event/event.h"

/* Sets `scored`. The answers of the branches are there, and their arenas are the event's. */
void event_finalise(struct event *event);
