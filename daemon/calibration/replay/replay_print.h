/* What a replay found, as text: for a person at a terminal, and as JSON. Whether the stream took it is the
 * caller's to ask (ferror). */
#pragma once

#include "calibration/replay/replay.h"

#include <stdio.h>

/* Records that could not be read. */
struct replay_faults {
	int64_t count;
	int64_t place;	 /* of the first one */
	char first[512]; /* why */
};

void replay_print_text(FILE *stream, const struct replay_rules *rules, const struct replay_result *result,
		       const struct replay_faults *faults);

/* One JSON object and a line end. What is not known is null. */
void replay_print_json(FILE *stream, const struct replay_rules *rules, const struct replay_result *result,
		       const struct replay_faults *faults);
