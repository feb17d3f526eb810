/*
 * What records name by digest goes into the archive as soon as a record names it. Any thread; waits for
 * nothing. Without an archive (NULL) nothing is done.
 */
#pragma once

#include "event/event.h"

struct archive;
struct model;

/* Starts the archive of a daemon with these settings; NULL: they want none. */
struct archive *archiving_start(const struct config *config);

/* What the event's record names, but for the model. */
void archiving_of_event(struct event *event);

/* The model that the event's probability is of. */
void archiving_of_model(struct archive *archive, const struct model *model);

/* The settings, and the prompts that the judge, which may be NULL, has now. */
void archiving_of_config(struct archive *archive, const struct config *config);
void archiving_of_prompts(struct archive *archive, struct judge *judge);
