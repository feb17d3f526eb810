/* `assayd check`: whether what is configured fits into what the installed unit allows the daemon. */
#pragma once

#include "command/findings.h"
#include "config/config.h"

/* Tells what does not; nothing where no unit is installed. Files are looked at as the unit's user where the
 * check is root's. Blocks on files alone; single-threaded, since it forks. */
void check_unit(const struct config *config, struct findings *findings);
