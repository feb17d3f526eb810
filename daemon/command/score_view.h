/* A scored query for a person at a terminal: level, score, what limits it, what to do. */
#pragma once

#include "avro/scored_query.h"
#include "common/buf.h"

/* Appends some lines and an empty one. Pure. */
void score_view(const struct scored_query *scored, struct buf *out);
