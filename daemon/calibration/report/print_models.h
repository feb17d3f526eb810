/* Models of the learnt probability as text: for a person at a terminal, and as JSON. Whether the stream took
 * it is the caller's to ask (ferror). */
#pragma once

#include "calibration/report/models.h"

#include <stdio.h>

/* The model in use, its largest features, and the versions; or what there is instead. */
void print_models_text(FILE *stream, const struct calibration_models *models);

/* One JSON object and a line end, with all features. What is not known is null. */
void print_models_json(FILE *stream, const struct calibration_models *models);
