/*
 * Where models and what they are learnt from are kept: reads labelled examples from the calibration database,
 * and writes and reads models. Needs an open connection with the tables, blocks within its deadlines, and is
 * for the thread that uses it.
 */
#pragma once

#include "calibration/model/model.h"
#include "common/arena.h"
#include "database/database.h"

/* Labels of the whole database that are learnt from: those with the lowest digests of their event_id. */
#define MODEL_STORE_EXAMPLES 20000

/* Examples in the arena, in no particular order: of labels that events brought along (RESULT) and of
 * feedback, the former where an event has both. */
err_t model_store_examples(struct database *database, struct arena *arena,
			   struct model_example **ret_examples, size_t *ret_count, struct err_detail *detail);

/* The model that is in use, with one reference of the caller's; NULL: there is none. `known` is the version
 * that the caller has: where it is still in use, ret_same is set instead of reading it again. */
err_t model_store_read(struct database *database, enum model_kind kind, int64_t known, bool *ret_same,
		       struct model **ret_model, struct err_detail *detail);

/* Gives the model the next number and puts it in the place of `replaced` (0: of none). ERR_CONFLICT: another
 * one is in use meanwhile; nothing was written. */
err_t model_store_write(struct database *database, struct model *model, int64_t replaced,
			struct err_detail *detail);

/* Whether the caller alone may fit a model, until the connection ends or the second is called. */
err_t model_store_lock(struct database *database, bool *ret_locked, struct err_detail *detail);
err_t model_store_unlock(struct database *database, struct err_detail *detail);
