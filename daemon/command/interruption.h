/*
 * Interruptions of a command by a person or the system: SIGINT, SIGTERM, and SIGHUP unless it is ignored (as
 * nohup has it). They are told, and what waits in the kernel returns at once. Of the whole process; any
 * thread may ask.
 */
#pragma once

#include <stdbool.h>

/* From now on they end nothing by themselves. */
void interruption_catch(void);

bool interruption_came(void);
