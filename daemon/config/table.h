/* The table of all settings, and the checks that take more than one of them. Inside of config/ only. */
#pragma once

#include "config/config.h"

extern const struct conf_table config_table;

/* Checks what the table cannot say; names the setting at fault. */
err_t config_check(const struct config *config, const struct conf_file *file, struct err_detail *detail);
