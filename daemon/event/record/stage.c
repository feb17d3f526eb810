#include "event/record/stage.h"

static const char *const names[] = {
#define STAGE(symbol, name) [STAGE_##symbol] = name,
#include "event/record/stage.def"
#undef STAGE
};

const char *stage_name(enum stage stage)
{
	return names[stage];
}
