/*
 * Standard output of a command, which is not done before what it said has arrived. Main thread.
 */
#pragma once

#include "common/err.h"

/* Whether standard output took all that was written to it until now: what is buffered is written. ERR_IO: it
 * did not. */
err_t output_end(struct err_detail *detail);
