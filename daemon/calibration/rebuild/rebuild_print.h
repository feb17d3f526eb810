/* Summary of a rebuild or a verification as text for people and as JSON; `rebuilt`: of rebuild_rebuild, else
 * of rebuild_verify. Whether the stream took it is the caller's to ask (ferror). */
#pragma once

#include "calibration/rebuild/rebuild.h"

#include <stdio.h>

void rebuild_print(FILE *stream, const struct rebuild_outcome *summary, bool rebuilt);
void rebuild_print_json(FILE *stream, const struct rebuild_outcome *summary, bool rebuilt);
