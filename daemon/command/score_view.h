/* A scored query for a person at a terminal: level, score, what limits it, what to do. */
#pragma once

#include "avro/advisory.h"
#include "common/buf.h"

/* Appends some lines and an empty one. `advisory`: that the event raises, or NULL. Pure. */
void score_view(const struct scored_query *scored, const struct advisory *advisory, struct buf *out);
