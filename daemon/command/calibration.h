/* `assayd calibration`: how well confidence predicts correctness, from the calibration database; and whether
 * that database holds what its log says. */
#pragma once

#include "common/err.h"

enum calibration_action {
	CALIBRATION_REPORT,
	CALIBRATION_MODEL,
	CALIBRATION_DOCUMENTS,
	CALIBRATION_REPLAY,
	CALIBRATION_VERIFY,
	CALIBRATION_REBUILD
};

struct calibration_options {
	const char *config_file;
	enum calibration_action action;
	const char *window;	 /* "1h", "24h", "7d", …; NULL: 24 h */
	const char *application; /* of this one alone; NULL: all */
	const char *accuracy;	 /* what ought to be right above a threshold, such as "0.9"; NULL: that */
	/* of a replay: their file; NULL: the scored topic, over the window */
	const char *records;
	const char *model_version; /* of a replay: a model's number; NULL: the one in use */
	bool dry_run;		   /* of a rebuild: it changes nothing */
	bool json;
};

/* Prints the report, the model in use, the documents, what a replay, or what the verification or rebuild
 * found; the latter before it changes anything, and only if standard output takes it.
 * ERR_CALIBRATION_DIFFERS: the verification found differences; ERR_CALIBRATION_LOG: it had nothing to
 * compare, or a rebuild would lose what only the database has. Blocks; once, main thread. */
err_t calibration_run(const struct calibration_options *options, struct err_detail *detail);
