/*
 * Versions of the learnt probability, and the one that is in use: what it has learnt, how it was judged, and
 * how it and the one before it do on the labels that have come since. Reads the calibration database; not
 * thread-safe.
 */
#pragma once

#include "calibration/model/model.h"
#include "common/arena.h"
#include "database/database.h"

/* The newest versions that are listed. */
#define CALIBRATION_MODELS_MAX 50

/* A row of calibration_models; times are in ms since 1970. */
struct calibration_model_row {
	int64_t version;
	str_t kind;
	int64_t trained_from_ms, trained_to_ms; /* scored_at of the first and of the last label */
	int64_t labels;
	int64_t later_cases; /* labels after those that it was judged by last, and the figures of these */
	double log_loss, auroc, ece;
	bool proven;
	int64_t used_from_ms;
	int64_t replaced_by; /* 0: it is in use, unless it cannot be read */
	str_t rules;	     /* of overall confidence, that it was learnt under; absent: not known */
	bool other_rules;    /* than those that are asked for: it is passed over */
};

struct calibration_models {
	int64_t now_ms;
	const char *kind;		    /* that was asked for, or NULL */
	str_t rules;			    /* likewise, or absent */
	bool tables;			    /* without them there is nothing else */
	struct calibration_model_row *rows; /* the newest first */
	size_t rows_count;
	int64_t versions;			  /* that there are */
	const struct calibration_model_row *used; /* of `rows`, or of its own where it is older; NULL: none */
	struct model *model; /* that one, released with calibration_models_free; NULL: it cannot be read */
	int64_t unreadable; /* version that nothing has replaced and that cannot be read: what is used instead
			       is the newest before it that can, if one can; 0: there is no such */
	str_t fault;	    /* why not; absent: there is no such */
	const struct calibration_model_row *passed_over; /* in use under other rules, where none is under
							    these; NULL: there is none */
	int64_t labels_of_others;			 /* labels of other rules */
	int64_t labels,
		correct; /* that a model of `kind` could learn from now, at most MODEL_STORE_EXAMPLES */

	/* On those of these labels that came after all that the model has learnt from. */
	bool measured; /* there were enough of either kind */
	struct model_quality now;
	int64_t former; /* version that it has replaced; 0: none */
	bool former_measured;
	struct model_quality former_now; /* of the same labels */
};

/* `kind`: of the model that is asked for, as model_kind_name has it, a static text; NULL: the one that came
 * into use last, whatever it is; `rules`: of overall confidence, absent: of models that do not say. Connects;
 * reads into the arena. */
err_t calibration_models_read(struct database *database, const char *kind, str_t rules, struct arena *arena,
			      struct calibration_models *ret_models, struct err_detail *detail);

/* One model for whoever wants to apply it, with a reference of the caller's: that version, or for 0 the one
 * of that kind that is in use, as the daemon would; NULL: none is. ERR_SAMPLES: there is no such version; or
 * that it is of other rules, or why it cannot be read. Connects. */
err_t calibration_model_load(struct database *database, int64_t version, const char *kind, str_t rules,
			     struct model **ret_model, struct err_detail *detail);

/* Releases the model; the rest is the arena's. */
void calibration_models_free(struct calibration_models *models);
