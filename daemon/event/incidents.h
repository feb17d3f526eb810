/*
 * Incidents: what may befall a great many events in a short time, as the journal has it: the first at once,
 * then one line a minute at most with how many they were, by reason, and where the first of each is to be
 * found. Bounded; any thread.
 */
#pragma once

#include "event/event.h"

enum incident {
	INCIDENT_DEAD_LETTER,	     /* by err_t */
	INCIDENT_SHORTENED,	     /* records that were too large for their topic; the reason is 0 */
	INCIDENT_ADVISORY_REFUSED,   /* likewise 0 */
	INCIDENT_ADVISORY_HELD_BACK, /* by enum advisory_kind */
	INCIDENT_COUNT_
};

struct incidents;

/* The caller owns it; freeing NULL is fine. */
struct incidents *incidents_new(void);
void incidents_free(struct incidents *incidents);

/* One more, of an event from a topic: others are not told. `detail` is foreign. */
void incidents_note(struct incidents *incidents, enum incident incident, unsigned reason,
		    const struct event_origin *origin, str_t detail, int64_t now_us);

/* Tells what is due; from time to time. `all`: also what is not due yet, at the end. */
void incidents_log(struct incidents *incidents, int64_t now_us, bool all);
