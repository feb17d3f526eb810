/* The checks that take more than one setting. Inside of config/ only. */
#pragma once

#include "config/config.h"

/* Checks what the table cannot say, and adds what is wrong to the problems. What reading found wrong before
 * leaves out what would be compared within the same group. */
void config_check(const struct config *config, const struct conf_file *file, struct conf_problems *problems);
