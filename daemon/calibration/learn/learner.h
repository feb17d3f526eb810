/*
 * Learner: fits models to labels and has the one that is in use at hand.
 *
 * One thread with a connection of its own: neither counting nor scoring waits for it. Every few seconds it
 * looks which model is in use; where PostgreSQL is away it goes on with the last one. Now and then, when
 * enough labels are new, one instance at a time judges the model in use once more
 * (calibration/model/judgement.h), fits a candidate to the older four fifths of the labels, compares it by
 * those that came after these, where they are few also what is learnt from fewer by what came after that, and
 * puts it in the place of the model in use only if it is better there (calibration/model/looks.h).
 *
 * A model whose document cannot be read (it is damaged, or a newer program wrote it) is said once, and the
 * newest before it that can be read is used and compared with; a better candidate takes its place, too.
 *
 * A model belongs to the rules of overall confidence that it was learnt under (avro/overall_rules.h): others
 * are passed over, and so are examples of other rules. When the rules change, the model is left at once; one
 * of the new rules that is there already is used, and only where there is none is that said.
 *
 * The model in use is kept in the state directory (model_file.h) and used from the start on, or from the
 * change to its rules on, until PostgreSQL says which one is.
 */
#pragma once

#include "calibration/model/model_current.h"
#include "common/heartbeat.h"
#include "database/database.h"

struct learner;

struct learner_options {
	const char *dsn;	   /* libpq connection string without a password */
	const char *password_file; /* or NULL */
	enum model_kind kind;
	struct model_current *current; /* where the model in use is put; outlives the learner */
	int64_t interval_ms;	       /* between fits; 0: it fits none, and only reads */
	const char *state_directory;   /* where the model in use is kept for the next start; or NULL */
	const char *rules;	       /* of overall confidence; NULL: not known */
};

/* Since the start. */
struct learner_statistics {
	uint64_t fits;	   /* candidates that were fitted */
	uint64_t replaced; /* that were better and are in use */
	uint64_t failures; /* attempts that PostgreSQL did not take or that failed otherwise, and models in
			      use that cannot be read, once each */
	int64_t version;   /* of the model at hand; 0: none */
	int64_t age_ms;	   /* since it was last known to be the one in use; -1: it never was */
};

/* Copies the options and starts the thread; PostgreSQL need not be there. A model that was kept is at hand
 * when this returns. */
struct learner *learner_start(const struct learner_options *options);

/* The rules of overall confidence are these from now on; a model of theirs that is kept is at hand when this
 * returns. Blocks on the disk, never on PostgreSQL. One thread at a time; NULL for the learner is fine. */
void learner_set_rules(struct learner *learner, const char *rules);

/* No wait for PostgreSQL lasts beyond `until_us` (monotonic) from now on, and the thread ends after what it
 * is about. Returns at once; NULL is fine. */
void learner_close(struct learner *learner, int64_t until_us);

/* Whether the thread has ended within `timeout_ms` after that; else the learner cannot be released. NULL is
 * fine. */
bool learner_ended(struct learner *learner, int64_t timeout_ms);

/* Joins the thread, closing it where that was not done, and releases all; NULL is fine. */
void learner_stop(struct learner *learner);

/* Any thread. */
void learner_statistics(struct learner *learner, struct learner_statistics *ret_statistics);
struct heartbeat *learner_heartbeat(struct learner *learner);

struct learner_outcome {
	bool judged;   /* the model in use, once more */
	bool replaced; /* it was, or it is the first */
};

/*
 * One round, for the thread and for tests: judges the model in use by labels that came after its span, where
 * enough of them are new, fits a candidate and puts it in its place if it is better. ERR_SAMPLES: too few
 * labels for a candidate, or too few new ones; the outcome is set then, too. Labels that the kind cannot use
 * (a map's, of before there were features) are as if they were not there. `database` has the tables.
 */
err_t learner_fit(struct database *database, const struct model_options *options,
		  struct learner_outcome *ret_outcome, struct err_detail *detail);
