/*
 * Where models and what they are learnt from are kept: reads labelled examples from the calibration database,
 * and writes and reads models. Needs an open connection with the tables, blocks within its deadlines, and is
 * for the thread that uses it.
 */
#pragma once

#include "calibration/model/judgement.h"
#include "common/arena.h"
#include "database/database.h"

/* Labels of the whole database that are learnt from: those with the lowest digests of their event_id. */
#define MODEL_STORE_EXAMPLES 20000

/*
 * `rules`, everywhere: the text of those that are asked for (avro/overall_rules.h). What belongs to others is
 * as if it were not there: so two instances of different rules have each its own examples, models and looks.
 * What says nothing of its rules belongs to those that were met first, or else to these. Absent: what says
 * nothing alone.
 */

/* Examples in the arena, in no particular order: of labels that events brought along (RESULT) and of
 * feedback, the former where an event has both. */
err_t model_store_examples(struct database *database, str_t rules, struct arena *arena,
			   struct model_example **ret_examples, size_t *ret_count, struct err_detail *detail);

/* How many labels there are of other rules. */
err_t model_store_count_others(struct database *database, str_t rules, int64_t *ret_count,
			       struct err_detail *detail);

/* What tells whether anything is new. */
struct model_known {
	int64_t used;	   /* version of the row that is in use; 0: there is none */
	int64_t judgement; /* number of the last judgement of any model; 0: there is none */
};

struct model_found {
	bool same; /* nothing is new to the caller: nothing else was read */
	struct model_known known;
	struct model *model; /* its model or, where its document cannot be read, the newest before it that
				can;     with one reference of the caller's; NULL: there is none */
	struct model_judgement judgement; /* of that model */
	bool unreadable;		  /* its document cannot be read: is damaged, or of a newer program */
	struct err_detail fault;	  /* why */
	int64_t passed_over; /* where none is in use under these rules: one that is under others; 0: none */
	char passed_over_rules[MODEL_RULES_MAX + 1]; /* these; "": not known */
};

/* Looks which model is in use, and what it was judged last; `known`: what the caller has from before, all
 * zeros: nothing. A document that cannot be read is no error. The model has these rules, also where its
 * document says nothing of any. */
err_t model_store_read(struct database *database, enum model_kind kind, str_t rules,
		       const struct model_known *known, struct model_found *ret_found,
		       struct err_detail *detail);

/* Notes in the table which rows could not be read, for whoever asks it which model is in use. After a look
 * that read something. */
err_t model_store_note_read(struct database *database, enum model_kind kind, str_t rules,
			    const struct model_found *found, struct err_detail *detail);

/* Gives the model the next number, which no other had or will have, also when rows are deleted, puts it
 * under its rules in the place of the row `replaced` (0: of none), and adds its first judgement, all in one
 * transaction. ERR_CONFLICT: another one is in use meanwhile; nothing was written. */
err_t model_store_write(struct database *database, struct model *model,
			const struct model_judgement *judgement, int64_t replaced, struct err_detail *detail);

/* Adds a judgement of a model that has a row; none where that was deleted meanwhile. */
err_t model_store_add_judgement(struct database *database, const struct model *model,
				const struct model_judgement *judgement, struct err_detail *detail);

/* The last judgement of a model, all zeros: there is none, and the model stays as it is; else its quality,
 * whether it is proven, and its number are set in the model, which nobody else has yet. */
err_t model_store_take_judgement(struct database *database, struct model *model,
				 struct model_judgement *ret_judgement, struct err_detail *detail);

/* The last look at candidates for the place of that version, of no labels: there was none, or another model
 * has taken the place since; and notes one. */
err_t model_store_looks(struct database *database, enum model_kind kind, str_t rules, int64_t version,
			struct model_looks *ret_looks, struct err_detail *detail);
err_t model_store_note_look(struct database *database, enum model_kind kind, str_t rules,
			    const struct model_looks *look, struct err_detail *detail);

/* Whether the caller alone may fit a model, until the connection ends or the second is called. */
err_t model_store_lock(struct database *database, bool *ret_locked, struct err_detail *detail);
err_t model_store_unlock(struct database *database, struct err_detail *detail);
