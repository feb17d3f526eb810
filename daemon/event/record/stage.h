/* Stages of an event that take time, and their names (stage.def). Pure; any thread. */
#pragma once

enum stage {
#define STAGE(symbol, name) STAGE_##symbol,
#include "event/record/stage.def"
#undef STAGE
	STAGE_COUNT_
};

/* As records and metrics name it; static. The error of a metric that one stage computes has the same name. */
const char *stage_name(enum stage stage);
