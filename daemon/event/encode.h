/* The outputs of an event: scored record and advisories, or a dead letter; and what to do when one is
 * refused. */
#pragma once

#include "event/event.h"

/* Encodes the outputs of a finalised or dead event into its publication, whose `refused` it sets. A worker's
 * thread; a refusal encodes again on the publisher's. */
err_t event_encode(struct event *event, struct err_detail *detail);
