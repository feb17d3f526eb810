/* What a client takes, by its Accept header (RFC 9110, 12.5.1). Pure. */
#pragma once

#include <stdbool.h>

/* Whether a page that there is as OpenMetrics 1.0.0 and as Prometheus' text 0.0.4 is to be the former: it is
 * named, and wanted as least as much. Whoever takes anything, or neither, gets text. */
bool accept_openmetrics(const char *accept);
