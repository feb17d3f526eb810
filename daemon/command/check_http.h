/* `assayd check`: whether the HTTP server can listen where it is told to. */
#pragma once

#include "command/findings.h"
#include "config/config.h"

/* Tries the address, and asks whoever has it already. Blocks for some seconds at most. */
void check_http(const struct config *config, struct findings *findings);

/* What the file alone tells of it. */
void check_http_offline(const struct config *config, struct findings *findings);
