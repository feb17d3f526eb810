/* Where the calibration's tables say that records of an event lie: those that feedback may still come for. */
#pragma once

#include "common/arena.h"
#include "config/config.h"
#include "kafka/topic_reader.h"

enum { REMEMBERED_MAX = 8 };

/* The newest first, each the span of one offset of the scored topic; in the arena, but for the topic's name,
 * which is the configuration's. They may be of records that are gone, and are no promise that there are no
 * others. None where there is no such database, or it does not answer within two seconds. Blocks; the thread
 * that asks. */
void remembered_places(const struct config *config, str_t event_id, struct arena *arena,
		       struct topic_span **ret_spans, size_t *ret_count);
