/* `assayd calibration`: how well confidence predicts correctness, from the calibration database. */
#pragma once

#include "common/err.h"

struct calibration_options {
	const char *config_file;
	const char *window;	 /* "1h", "24h", "7d", …; NULL: 24 h */
	const char *application; /* of this one alone; NULL: all */
	bool json;
};

err_t calibration_run(const struct calibration_options *options, struct err_detail *detail);
