/* The oracle of a test program: loaded before its tests, which are skipped where there is none or no corpus.
 */
#pragma once

#include "tests/harness/oracles/oracle.h"

static struct oracle oracle;

static inline int load_oracle(void **state)
{
	(void)state;
	int status = oracle_load(&oracle);
	if (status != 0 || !oracle.has_corpus)
		exit(status != 0 ? status : 77);
	return 0;
}

static inline int free_oracle(void **state)
{
	(void)state;
	oracle_free(&oracle);
	return 0;
}
