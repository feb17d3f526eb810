/* A recount's outcome as text for people and as JSON; `rebuilt`: of recount_rebuild, else of recount_verify.
 * Whether the stream took it is the caller's to ask (ferror). */
#pragma once

#include "calibration/recount.h"

#include <stdio.h>

void recount_print(FILE *stream, const struct recount_outcome *outcome, bool rebuilt);
void recount_print_json(FILE *stream, const struct recount_outcome *outcome, bool rebuilt);
