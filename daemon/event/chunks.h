/* Retrieved chunks as the formulas take them. Pure; any thread. */
#pragma once

#include "avro/generated_query.h"
#include "common/arena.h"
#include "score/retrieval.h"

/* As many as the retrieval has, in its order, in the arena. */
struct retrieval_chunk *event_chunks(const struct retrieval *retrieval, struct arena *arena);
