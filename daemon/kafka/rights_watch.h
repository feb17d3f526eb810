/*
 * Watch over rights: which of those that scoring needs the broker refuses just now, since when, and when they
 * are there again. The journal, /readyz, the status line and the metrics tell the same.
 *
 * Whoever is refused something says so: which right it was, where the broker's answer tells, or that there is
 * a doubt. Then a thread tries all of them (permissions.h) with clients of its own, once a few seconds for as
 * long as one is missing, so that nobody has to find out by failing again and again. The right to the
 * transactional id is not tried: whoever claims the id tells.
 *
 * Functions are for any thread and wait for nobody, unless they say so; a NULL watch is fine, and misses
 * nothing.
 */
#pragma once

#include "kafka/rights.h"

struct rights_watch;

/* Starts the thread, which does nothing until there is a doubt; `settings` outlive it. */
struct rights_watch *rights_watch_start(const struct kafka_settings *settings);

/* Looks no more. */
void rights_watch_close(struct rights_watch *watch);

/* Ends the thread of one that is closed; waits for up to `timeout_ms`. False: it has not ended, and the watch
 * cannot be released. */
bool rights_watch_ended(struct rights_watch *watch, int64_t timeout_ms);

/* Releases one that has ended. */
void rights_watch_free(struct rights_watch *watch);

/* The broker's answer says that this right is missing, or was there. */
void rights_watch_set(struct rights_watch *watch, enum right right, bool missing);

/* Something was refused, perhaps for want of a right. */
void rights_watch_doubt(struct rights_watch *watch);

/* Those that are missing, as far as is known. */
right_set rights_watch_missing(struct rights_watch *watch);

/* Whether there is a doubt that has not been looked into to the end. */
bool rights_watch_doubts(struct rights_watch *watch);

/* For how long the one that is missing longest has been; 0: none is. */
int64_t rights_watch_age_ms(struct rights_watch *watch);

/* Appends a line for each of those that are missing, with what grants it. */
void rights_watch_describe(struct rights_watch *watch, struct buf *out);

/* Those that are needed. */
right_set rights_watch_needed(const struct rights_watch *watch);

/* What a right of rights_watch_needed is called. */
void rights_watch_name(const struct rights_watch *watch, enum right right, struct right_name *ret_name);
