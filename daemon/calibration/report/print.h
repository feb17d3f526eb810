/* Calibration reports as text: for a person at a terminal, and as JSON. Whether the stream took it is the
 * caller's to ask (ferror). */
#pragma once

#include "calibration/report/reader.h"

/* Tables with a reliability diagram of block characters, one report below the other. */
void calibration_print(FILE *stream, const struct calibration_reports *reports);

/* One JSON object and a line end. What is not known is null. */
void calibration_print_json(FILE *stream, const struct calibration_reports *reports);
