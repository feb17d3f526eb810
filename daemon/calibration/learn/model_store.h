/*
 * Where models and what they are learnt from are kept: reads labelled examples from the calibration database,
 * and writes and reads models. Needs an open connection with the tables, blocks within its deadlines, and is
 * for the thread that uses it.
 */
#pragma once

#include "calibration/model/looks.h"
#include "common/arena.h"
#include "database/database.h"

/* Labels of the whole database that are learnt from: those with the lowest digests of their event_id. */
#define MODEL_STORE_EXAMPLES 20000

/* Examples in the arena, in no particular order: of labels that events brought along (RESULT) and of
 * feedback, the former where an event has both. */
err_t model_store_examples(struct database *database, struct arena *arena,
			   struct model_example **ret_examples, size_t *ret_count, struct err_detail *detail);

struct model_found {
	bool same;		 /* the row in use is the one that the caller knows: nothing else was read */
	int64_t used;		 /* version of the row that is in use; 0: there is none */
	struct model *model;	 /* its model or, where its document cannot be read, the newest before it that
				    can;     with one reference of the caller's; NULL: there is none */
	bool unreadable;	 /* its document cannot be read: is damaged, or of a newer program */
	struct err_detail fault; /* why */
};

/* Looks which model is in use; `known` is the `used` that the caller has from before, 0: nothing. A document
 * that cannot be read is no error. */
err_t model_store_read(struct database *database, enum model_kind kind, int64_t known,
		       struct model_found *ret_found, struct err_detail *detail);

/* Notes in the table which rows could not be read, for whoever asks it which model is in use. After a look
 * that read something. */
err_t model_store_note_read(struct database *database, enum model_kind kind, const struct model_found *found,
			    struct err_detail *detail);

/* Gives the model the next number, which no other had or will have, also when rows are deleted, and puts it
 * in the place of the row `replaced` (0: of none). ERR_CONFLICT: another one is in use meanwhile; nothing was
 * written. */
err_t model_store_write(struct database *database, struct model *model, int64_t replaced,
			struct err_detail *detail);

/* The last look at candidates of the kind, all zeros: there was none; and notes one. */
err_t model_store_looks(struct database *database, enum model_kind kind, struct model_looks *ret_looks,
			struct err_detail *detail);
err_t model_store_note_look(struct database *database, enum model_kind kind, const struct model_looks *look,
			    struct err_detail *detail);

/* Whether the caller alone may fit a model, until the connection ends or the second is called. */
err_t model_store_lock(struct database *database, bool *ret_locked, struct err_detail *detail);
err_t model_store_unlock(struct database *database, struct err_detail *detail);
