/* Rankings of a report as text: for a person at a terminal, and as JSON. */
#pragma once

#include "calibration/report/reader.h"

#include <jansson.h>

/* A ranking as a line of tables. */
struct print_ranking_row {
	const char *name; /* up to 19 characters */
	const struct ranking *ranking;
};

/* The two tables: figures with intervals, and what is right among the highest. */
void print_ranking_rows(FILE *stream, const struct print_ranking_row *rows, size_t count);

/* "90 % right needs NAME ≥ 0.83: …", or that there is no such threshold; one line. */
void print_ranking_threshold(FILE *stream, const struct ranking *ranking, const char *name);

/* One ranking as a new object, of the caller's. */
json_t *print_ranking_object(const struct ranking *ranking);

/* Tables, thresholds, and what all of it is computed from. Whether the stream took it is the caller's to ask.
 */
void print_ranking_text(FILE *stream, const struct calibration_entry *entry);

/* A new array, of the caller's. */
json_t *print_ranking_json(const struct calibration_entry *entry);
