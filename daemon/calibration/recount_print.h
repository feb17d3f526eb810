/* A recount's outcome as text for people and as JSON. */
#pragma once

#include "calibration/recount.h"

#include <stdio.h>

void recount_print(FILE *stream, const struct recount_outcome *outcome, bool rebuilt);
void recount_print_json(FILE *stream, const struct recount_outcome *outcome, bool rebuilt);
