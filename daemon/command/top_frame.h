/* The status of a daemon (/status.json) as a frame for a terminal. Pure. */
#pragma once

#include "common/buf.h"

#include <jansson.h>

struct top_size {
	unsigned columns, rows; /* lines are cut to the columns; 0 rows: as many as there are */
	bool colours;
};

/* Appends the lines of the frame. What is missing in the status, or is of another type, is left out; texts of
 * others are written as in common/terminal.h. */
void top_frame(const json_t *status, const struct top_size *size, struct buf *out);
