/*
 * Outages: which targets do not answer, so that an outage raises one advisory and not one for each event of
 * the target. An episode begins with the first event that finds its target away and ends with the first that
 * has an answer from it. Bounded; any thread.
 */
#pragma once

#include "common/str.h"

struct outages;

/* The caller owns it; freeing NULL is fine. */
struct outages *outages_new(void);
void outages_free(struct outages *outages);

/* An event has found its target away: whether that begins an episode. `configured`: there is a target of that
 * name; an episode of one that is not lasts an hour, and of such names those beyond a bound share one.
 * `reached`: its catalog was there, so an answer of the target alone ends the episode. */
bool outages_away(struct outages *outages, str_t target, bool configured, bool reached, int64_t now_us);

/* An event has met its configured target again. `ran`: a query was answered; else its catalog was there. */
void outages_back(struct outages *outages, str_t target, bool ran);
