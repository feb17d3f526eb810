#include "kafka/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A record's sign: its time and a digest. */
#define SIGN(time_ms, digest) ((uint64_t)(time_ms) << 14 | (digest))

#define HOUR_MS INT64_C(3600000)

static const struct witness none = { -1, 0 };

struct sighting {
	const char *what;
	int64_t next;
	struct witness witness;
	struct identity_sight sight;
	enum identity expected;
};

/* Read up to 100, the last of it at noon. */
#define NOON (12 * HOUR_MS)
#define WITNESS                                                                                              \
	{                                                                                                    \
		99, SIGN(NOON, 7)                                                                            \
	}
#define LATER	SIGN(NOON + HOUR_MS, 8)
#define EARLIER SIGN(NOON - HOUR_MS, 9)

static const struct sighting sightings[] = {
	{ "nothing has changed", 100, WITNESS, { 0, 100, WITNESS, { 0, EARLIER } }, IDENTITY_SAME },
	{ "more has come", 100, WITNESS, { 0, 900, WITNESS, { 0, EARLIER } }, IDENTITY_SAME },
	{ "old ones are gone", 100, WITNESS, { 60, 900, WITNESS, { 60, EARLIER } }, IDENTITY_SAME },
	{ "all that was read is gone", 100, WITNESS, { 100, 900, { 99, 0 }, { 100, LATER } }, IDENTITY_SAME },
	{ "all is gone", 100, WITNESS, { 100, 100, { 99, 0 }, { -1, 0 } }, IDENTITY_SAME },
	{ "unread ones are gone", 100, WITNESS, { 101, 900, { 99, 0 }, { 101, LATER } }, IDENTITY_DELETED },
	{ "all is gone, unread ones too",
	  100,
	  WITNESS,
	  { 200, 200, { 99, 0 }, { -1, 0 } },
	  IDENTITY_DELETED },
	{ "the witness was compacted", 100, WITNESS, { 0, 900, { 99, 0 }, { 3, EARLIER } }, IDENTITY_SAME },
	{ "all that was read was compacted",
	  100,
	  WITNESS,
	  { 0, 900, { 99, 0 }, { 300, LATER } },
	  IDENTITY_SAME },
	{ "made again, empty", 100, WITNESS, { 0, 0, { 99, 0 }, { -1, 0 } }, IDENTITY_RECREATED },
	{ "made again, shorter", 100, WITNESS, { 0, 50, { 99, 0 }, { 0, LATER } }, IDENTITY_RECREATED },
	{ "made again, longer", 100, WITNESS, { 0, 500, { 99, LATER }, { 0, LATER } }, IDENTITY_RECREATED },
	{ "made again, a mark there", 100, WITNESS, { 0, 500, { 99, 0 }, { 0, LATER } }, IDENTITY_RECREATED },
	{ "made again, its clock behind",
	  100,
	  WITNESS,
	  { 0, 500, { 99, LATER }, { 0, SIGN(NOON - 5000, 3) } },
	  IDENTITY_RECREATED },
	{ "made again of the same records",
	  100,
	  WITNESS,
	  { 0, 500, WITNESS, { 0, EARLIER } },
	  IDENTITY_SAME },
	{ "cut off", 100, WITNESS, { 0, 50, { 99, 0 }, { 0, EARLIER } }, IDENTITY_DIVERGED },
	{ "cut off and written on",
	  100,
	  WITNESS,
	  { 0, 500, { 99, LATER }, { 0, EARLIER } },
	  IDENTITY_DIVERGED },
	{ "nothing is known", 100, none, { 0, 100, { 0, 0 }, { 0, LATER } }, IDENTITY_SAME },
	{ "nothing is known, all deleted", 100, none, { 101, 101, { 0, 0 }, { -1, 0 } }, IDENTITY_DELETED },
	{ "nothing is known, shorter", 100, none, { 0, 50, { 0, 0 }, { 0, LATER } }, IDENTITY_DIVERGED },
	{ "nothing is known, empty", 100, none, { 0, 0, { 0, 0 }, { -1, 0 } }, IDENTITY_RECREATED },
	{ "records have no time",
	  100,
	  { 99, SIGN(0, 7) },
	  { 0, 500, { 99, SIGN(0, 8) }, { 0, SIGN(0, 9) } },
	  IDENTITY_DIVERGED },
};

static void a_log_is_known_by_a_record_of_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof sightings / sizeof *sightings; i++) {
		const struct sighting *item = &sightings[i];
		enum identity found = identity_judge(item->next, item->witness, &item->sight);
		if (found != item->expected)
			fail_msg("%s: %d instead of %d", item->what, (int)found, (int)item->expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_is_known_by_a_record_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
