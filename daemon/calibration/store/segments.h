/* A set of segments, sorted; zeroed it is empty. Not thread-safe. */
#pragma once

#include "common/buf.h"

#include <libpq-fe.h>

/* An absent model or prompt version is the empty text. */
struct calibration_segment {
	str_t application;
	str_t model;
	str_t prompt_version;
};

/* In the order of bytes. Pure. */
int calibration_segment_compare(const struct calibration_segment *a, const struct calibration_segment *b);

struct segments {
	struct calibration_segment *items; /* the set's own copies */
	size_t count, capacity;
};

/* Adds a copy unless it is there. */
void segments_add(struct segments *segments, const struct calibration_segment *segment);

/* The same of a row whose first three columns, none NULL, are application, model and prompt version. */
void segments_add_row(struct segments *segments, const PGresult *result, int row);

/* Releases the last `count` segments. */
void segments_drop(struct segments *segments, size_t count);

/* Releases everything; the set is empty and can be used again. */
void segments_free(struct segments *segments);

/* A set's columns as arrays of PostgreSQL. */
struct segment_arrays {
	struct buf application, model, prompt_version;
};

/* The arrays own their texts, until segment_arrays_free. */
void segment_arrays_make(struct segment_arrays *arrays, const struct calibration_segment *segments,
			 size_t count);
void segment_arrays_free(struct segment_arrays *arrays);
