/* The table of all settings, and the checks that take more than one of them. Inside of config/ only. */
#pragma once

#include "config/config.h"

extern const struct conf_table config_table;

/* Checks what the table cannot say, and adds what is wrong to the problems. What reading found wrong before
 * leaves out what would be compared within the same group. */
void config_check(const struct config *config, const struct conf_file *file, struct conf_problems *problems);
