#include "kafka/identity.h"

/* By so much the clocks of those who write may differ. */
enum { SKEW_MS = 60000 };

/* The witness is not where it was. Compaction takes records, but puts no other in their place, and does not
 * shorten a log. */
static enum identity judge_by_first(int64_t next, struct witness witness, const struct identity_sight *sight)
{
	bool compacted = !sight->there.sign && sight->end >= next;
	if (!sight->first.sign || sight->first.offset >= next)
		return compacted ? IDENTITY_SAME : IDENTITY_RECREATED;
	int64_t first_ms = witness_time_ms(sight->first.sign), witness_ms = witness_time_ms(witness.sign);
	if (witness_ms && first_ms > witness_ms - (compacted ? 0 : SKEW_MS))
		return IDENTITY_RECREATED;
	return compacted ? IDENTITY_SAME : IDENTITY_DIVERGED;
}

enum identity identity_judge(int64_t next, struct witness witness, const struct identity_sight *sight)
{
	if (sight->low > next)
		return IDENTITY_DELETED;
	if (!witness.sign)
		return sight->end >= next		    ? IDENTITY_SAME
		       : sight->end == 0 && sight->low == 0 ? IDENTITY_RECREATED
							    : IDENTITY_DIVERGED;
	if (sight->end >= next && sight->low > witness.offset)
		return IDENTITY_SAME;
	if (sight->there.sign == witness.sign)
		return sight->end < next ? IDENTITY_DIVERGED : IDENTITY_SAME;
	return judge_by_first(next, witness, sight);
}
