/*
 * Which documents of the retrieval come with wrong answers: the view calibration_documents, for people and as
 * JSON. Of the sampled results of a day or a week. Reads the calibration database; not thread-safe.
 */
#pragma once

#include "common/arena.h"
#include "database/database.h"

#include <stdio.h>

/* The windows that there are. */
#define CALIBRATION_DOCUMENTS_DAY_S  86400
#define CALIBRATION_DOCUMENTS_WEEK_S 604800

/* Documents that are read: those that are most surely worse than the rest come first. */
#define CALIBRATION_DOCUMENTS_MAX 1000

struct calibration_document {
	str_t application;
	str_t document_id;
	int64_t cases, correct;	    /* in the sample */
	double accuracy, low, high; /* weighted; with the Wilson interval at 95 % */
	int64_t rest_cases;	    /* of the application without the document */
	double rest_accuracy;	    /* of these; only where there are any */
};

struct calibration_documents {
	int64_t window_s;
	bool tables; /* without them there is nothing else */
	struct calibration_document *items;
	size_t count;
	int64_t all; /* documents that there are */
};

/* `application`: of this one alone; NULL: all. Connects; reads into the arena. */
err_t calibration_documents_read(struct database *database, int64_t window_s, const char *application,
				 struct arena *arena, struct calibration_documents *ret_documents,
				 struct err_detail *detail);

void calibration_documents_print(FILE *stream, const struct calibration_documents *documents);
void calibration_documents_print_json(FILE *stream, const struct calibration_documents *documents);
