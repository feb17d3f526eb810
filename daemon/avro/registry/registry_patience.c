#include "avro/registry/registry_patience.h"

bool registry_patience_take(struct registry_patience *patience, int64_t now_us, int64_t for_us)
{
	if (!patience->until_us && now_us >= patience->again_us)
		patience->until_us = now_us + for_us;
	return now_us < patience->until_us;
}

void registry_patience_spend(struct registry_patience *patience, int64_t now_us, int64_t pause_us)
{
	patience->until_us = 0;
	patience->again_us = now_us + pause_us;
}

bool registry_patience_is_over(struct registry_patience *patience, bool exceeded, int64_t now_us,
			       int64_t pause_us)
{
	bool lasted = patience->until_us && now_us >= patience->until_us;
	if (!exceeded)
		patience->until_us = 0;
	else if (lasted)
		registry_patience_spend(patience, now_us, pause_us);
	return exceeded && lasted;
}
