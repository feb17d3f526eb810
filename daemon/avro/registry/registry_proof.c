#include "avro/registry/registry_proof.h"

/* Answers that are further apart say nothing of the time between them: longer than any pause of a name that
 * is asked for again. */
#define APART_US INT64_C(300000000)

static int64_t clock_at(const struct registry_proof *proof, int64_t now_us)
{
	int64_t apart_us = now_us - proof->proven_us;
	return proof->clock_us + (proof->since_us && apart_us <= APART_US ? apart_us : 0);
}

void registry_proof_give(struct registry_proof *proof, int64_t now_us)
{
	proof->clock_us = clock_at(proof, now_us);
	proof->proven_us = now_us;
	if (!proof->since_us)
		proof->since_us = now_us;
}

void registry_proof_miss(struct registry_proof *proof)
{
	proof->since_us = 0;
}

void registry_fails(struct registry_failing *failing, const struct registry_proof *proof, int64_t now_us)
{
	if (!failing->last_us)
		failing->from_us = clock_at(proof, now_us);
	failing->last_us = now_us;
}

bool registry_fails_alone(const struct registry_failing *failing, const struct registry_proof *proof,
			  int64_t wait_us)
{
	return failing->last_us && proof->since_us && failing->last_us >= proof->since_us &&
	       proof->clock_us - failing->from_us > wait_us;
}
