/* What a replay found, as text: for a person at a terminal, and as JSON. Whether the stream took it is the
 * caller's to ask (ferror). */
#pragma once

#include "calibration/replay/replay.h"

#include <stdio.h>

/* What the place of a record is. */
enum replay_place { REPLAY_LINE, REPLAY_RECORD, REPLAY_OFFSET };

/* Records that could not be read. */
struct replay_faults {
	int64_t count;
	enum replay_place kind; /* of the first one, likewise below: a line of a file, from 1, */
	int64_t place;		/* the number of a record in a container, or an offset of the topic */
	int32_t partition;	/* of an offset */
	char first[512];	/* why */
	int64_t unavailable;	/* besides: records whose schema cannot be had now */
	struct err_detail why;	/* of the first of these */
};

/* "line 3", "record 3", "partition 0, offset 3". */
void replay_print_place(FILE *stream, const struct replay_faults *faults);

void replay_print_text(FILE *stream, const struct replay_rules *rules, const struct replay_result *result,
		       const struct replay_faults *faults);

/* One JSON object and a line end. What is not known is null. */
void replay_print_json(FILE *stream, const struct replay_rules *rules, const struct replay_result *result,
		       const struct replay_faults *faults);
