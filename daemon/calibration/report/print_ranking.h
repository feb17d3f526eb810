/* Rankings of a report as text: for a person at a terminal, and as JSON. */
#pragma once

#include "calibration/report/reader.h"

#include <jansson.h>

/* Tables, thresholds, and what all of it is computed from. Whether the stream took it is the caller's to ask.
 */
void print_ranking_text(FILE *stream, const struct calibration_entry *entry);

/* A new array, of the caller's. */
json_t *print_ranking_json(const struct calibration_entry *entry);
