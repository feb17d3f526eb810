/* `assayd run`: the daemon. Starts every part in order, serves signals and the watchdog, stops in order. */
#pragma once

#include "common/err.h"

/* Returns when the daemon was told to stop (ERR_OK), could not start, or can go on no longer. Main thread. */
err_t app_run(const char *config_file, struct err_detail *detail);
