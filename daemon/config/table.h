/* The table of all settings. Inside of config/ only. */
#pragma once

#include "config/config.h"

extern const struct conf_table config_table;
