/*
 * Target databases: runs a generated query and its ground truths on the database that the event names, in
 * worker processes, and reports how well the results agree. Also where the catalog snapshots come from.
 *
 * One supervisor thread owns all worker processes, their deadlines and their replacement. Submitting never
 * blocks.
 */
#pragma once

#include "common/arena.h"
#include "common/heartbeat.h"
#include "common/list.h"
#include "compare/explain.h"
#include "compare/fingerprint.h"
#include "sql/inner_cuts.h"

struct targets;

/* In the order of enum config_engine (command/settings.c). TARGET_MONGODB stays the last: the count follows
 * from it, by which messages to worker processes are checked. */
enum target_engine { TARGET_POSTGRESQL, TARGET_SQLITE, TARGET_MARIADB, TARGET_MONGODB };

#define TARGET_ENGINES_COUNT (TARGET_MONGODB + 1)

/* Whether it is a file of this machine, with a path in place of a dsn: there is no server, network or
 * password. */
static inline bool target_engine_is_file(enum target_engine engine)
{
	return engine == TARGET_SQLITE;
}

struct target_settings {
	const char *name;
	enum target_engine engine;
	const char *dsn;	   /* PostgreSQL: libpq connection string without a password;
				      MariaDB: see mariadb_dsn.h; MongoDB: see mongodb_dsn.h */
	const char *password_file; /* or NULL */
	const char *path;	   /* of an engine that is a file: the file */
	unsigned connections;	   /* worker processes at most */
	int64_t idle_timeout_s;	   /* after which one ends that has nothing to do; 0: never */
	int64_t statement_timeout_ms;
	int64_t lock_timeout_ms;
	int64_t max_rows;
	int64_t max_result_bytes;
	bool stream_large_results; /* results above the limits are run again in full, row by row; else
				      unproven ones are not conclusive */
	int64_t worker_memory_bytes;
	int64_t truth_cache_bytes; /* in each worker process; 0: no cache */
	int64_t truth_cache_ttl_s;
	int64_t catalog_ttl_s;
	int64_t sample_documents;  /* MongoDB: of each collection, that its fields are known by */
	double absolute_tolerance; /* of numbers that are compared; 0: the comparison's default, likewise
				      below */
	double relative_tolerance;
	struct sql_policy policy;
	bool no_trace; /* a check's worker: makes no files */
};

/* Every way in which a validation can end (target_validation_status_name gives the record's text). */
enum validation_status {
	VALIDATION_COMPARED,		/* both ran: score by the ladder */
	VALIDATION_EXECUTION_FAILED,	/* the generated query failed: 0.0 */
	VALIDATION_TIMEOUT,		/* the generated query ran into the statement timeout: 0.0 */
	VALIDATION_GROUND_TRUTH_FAILED, /* no truth could be run: flagged */
	VALIDATION_UNSAFE,		/* the generated query is UNSAFE and was not run: 0.0, never passes */
	VALIDATION_INVALID,		/* the generated text is no statement and was not run: 0.0 */
	VALIDATION_UNAVAILABLE,		/* the target failed: flagged, error says how */
	VALIDATION_STATUS_COUNT_
};

/* The record's text; static. */
const char *target_validation_status_name(enum validation_status status);

/* A truth: SQL that is run, or an answer given as a table. */
struct validation_truth {
	str_t sql; /* absent: see `table` */
	const struct result_set *table;
	bool ordered;
	const struct sql_order_key *order_keys;
	size_t order_keys_count;
	bool limited;
	struct sort_keys shown;		    /* what tells which rows tie; without SQL: that cannot be told */
	const struct inner_cut *inner_cuts; /* that may have taken other rows */
	size_t inner_cuts_count;
};

/* Why a truth that was run proves nothing against an answer that differs from it. */
enum validation_doubt {
	VALIDATION_NO_DOUBT,	  /* of its own */
	VALIDATION_NOT_ITS_EQUAL, /* it gave two results in one snapshot */
	VALIDATION_ANY_ROWS, /* its LIMIT has no order, and from which rows it took its own is not known */
	VALIDATION_INNER_ANY_ROWS, /* a LIMIT below the top level has no order */
	VALIDATION_INNER_TIE,	   /* … or cuts through rows that tie by its order */
	VALIDATION_ANY_OF_KEY,	   /* a DISTINCT ON has no order that decides */
	VALIDATION_DOUBT_COUNT_
};

/* How another text for the question fared beside the answer. */
enum candidate_outcome {
	CANDIDATE_LEFT_OUT, /* it was not run as far as it takes to tell: nothing is known */
	CANDIDATE_EQUAL,
	CANDIDATE_DIFFERENT,
	CANDIDATE_FAILED, /* the database refused it or gave it up */
	CANDIDATE_OUTCOME_COUNT_
};

struct candidate_result {
	enum candidate_outcome outcome;
	uint32_t same_as; /* where it is different: the index of the first candidate that is known to have
			     returned the same, its own where none is */
};

/* Other texts for the question; they are run behind the truths, in the same snapshot. */
struct validation_candidates {
	const str_t *texts; /* proven reads */
	size_t count;
	struct validation_truth answer; /* how the generated query sorts; neither SQL nor a table */
	int64_t budget_ms;		/* for all of them, likewise below */
	int64_t max_rows;		/* of those that are compared, not of those that return more
					   rows than the answer */
};

/* How answers are compared with all truths of an event. */
struct validation_comparing {
	const str_t *columns; /* of the truths: only these have to be there; none: see compare/part.h */
	size_t columns_count;
	bool ignore_order;
	double absolute_tolerance; /* 0: the target's */
	size_t sample_rows;	   /* of either side that explain a mismatch; 0: none */
};

struct validation_execution {
	int64_t rows;
	double time_ms;
	char sqlstate[6];	       /* "": none */
	int32_t code;		       /* of an error, as SQLite and MariaDB number theirs; 0: none */
	bool more;		       /* rows were there that were neither fetched nor counted */
	char digest[FINGERPRINT_SIZE]; /* fingerprint of the result; "": it was not read as a whole */
};

/* A truth that could not be run. */
struct validation_broken {
	size_t truth_index;
	err_t error;   /* GROUND_TRUTH_FAILED; TARGET_DENIED: our role may not */
	str_t message; /* for a person */
};

struct validation_result {
	enum validation_status status;
	err_t error;   /* ERR_OK unless flagged (GROUND_TRUTH_FAILED, UNAVAILABLE) */
	str_t message; /* for a person, of an error or a failed query; or absent */
	double score;  /* 0..1 by the ladder */
	size_t truth_index;
	bool schema_match;
	bool row_count_match;
	double content_match_rate;
	int64_t rows_matched, rows_compared; /* whose quotient it is, unless it was estimated */
	bool ordering_matters;
	bool truncated;
	bool nondeterministic; /* a truth allows more than one result: see doubt */
	enum validation_doubt doubt;
	size_t doubted_truth;
	bool conclusive; /* of what was compared: the score is a verdict; false: rows that were not fetched or
			    a truth that is nondeterministic could make it another one */
	bool limit_cut_tie; /* see compare/compare.h; or its loose_tie, unconfirmed */
	bool truth_cached;  /* `truth` is of an earlier run */
	bool apart;	    /* the target has no snapshots: truth and query may have seen different states */
	opt_double_t match_rate_low; /* 95 % interval of the match rate of both results in full; not set: it
					was not estimated, likewise below */
	opt_double_t match_rate_high;
	struct compare_explanation *explanation; /* what the results differ in; NULL: they do not, or none
						    were compared */
	struct validation_execution generated;
	struct validation_execution truth;
	const struct validation_broken *broken; /* those found until the outcome was certain */
	size_t broken_count;
	const struct candidate_result *candidates; /* in the order of the request; none: `candidates_error` */
	size_t candidates_count;
	err_t candidates_error;	  /* why none or not all of them were compared, but for their budget:
				     ANSWER_FAILED, ANSWER_TOO_LARGE, or the target's */
	str_t candidates_message; /* what the database said then; or absent */
};

/* One validation. The caller owns it and its arena until `done` is called, exactly once, from the supervisor
 * thread (also on shutdown, with an error). Inputs stay untouched. */
struct target_call {
	struct list_node node; /* the supervisor's */
	struct arena *arena;   /* results are allocated here */
	const char *target;
	str_t generated_sql;
	const struct validation_truth *truths;
	size_t truths_count;
	struct validation_comparing comparing;
	struct validation_candidates candidates;
	struct validation_result result; /* without a truth: of the candidates alone */
	int64_t duration_us;		 /* from submission to done */
	void (*done)(struct target_call *call, void *context);
	void *context;
	int64_t submitted_us; /* the supervisor's, likewise below */
	unsigned attempts;
};

struct targets_options {
	const struct target_settings *targets;
	size_t targets_count;
	const char *state_directory; /* catalogs are kept here between runs; NULL: nowhere */
	size_t queue_limit;	     /* calls that may wait; beyond: UNAVAILABLE at once */
};

/* Copies the settings, loads kept catalogs and starts the supervisor thread, which fetches the catalogs. */
err_t targets_start(const struct targets_options *options, struct targets **ret_targets,
		    struct err_detail *detail);

/* Answers what is still waiting with SHUTTING_DOWN, ends the processes, joins the threads. What is submitted
 * from then on is answered at once; settings and catalogs can still be read. NULL is fine. */
void targets_close(struct targets *targets);

/* Closes and releases: nobody may hold on to it any more. NULL is fine. */
void targets_stop(struct targets *targets);

/* The settings of a target, or NULL when no such target is configured. Any thread. */
const struct target_settings *targets_find(const struct targets *targets, str_t name);

/* "; did you mean "…"?" for a name that none has, in the arena; "" where none is near. Any thread. */
str_t targets_hint(const struct targets *targets, str_t name, struct arena *arena);

/* The current catalog of a target with a reference of the caller's own, or NULL when there is none (yet). Any
 * thread. */
struct catalog *targets_catalog(struct targets *targets, const struct target_settings *target);

/* Why there is none: what went wrong when it was last read, in the arena, or absent. Any thread. */
str_t targets_catalog_error(struct targets *targets, const struct target_settings *target,
			    struct arena *arena);

/* A name was not found in the catalog: fetch it anew, at most once per `catalog_ttl` / 10 (10 s at least).
 * Any thread. */
void targets_catalog_suspect(struct targets *targets, const struct target_settings *target);

/* Waits up to `timeout_ms` until every target has a catalog or has failed to give one. For `assayd score` and
 * tests. */
void targets_wait_catalogs(struct targets *targets, int64_t timeout_ms);

/* Queues a validation; never blocks. Any thread. */
void targets_submit(struct targets *targets, struct target_call *call);

/* Connects once and reports what is wrong with a target: for `assayd check`; also required_columns that its
 * catalog does not have (ERR_CONFIG_RANGE). Blocks up to twice its statement timeout. On success `ret_notes`
 * (in the arena) holds warnings for a person, one per line, e.g. a role that may write. */
err_t target_check(const struct target_settings *target, struct arena *arena, str_t *ret_notes,
		   struct err_detail *detail);

/* Without connecting: whether the settings are valid and the password's file can be read. */
err_t target_check_settings(const struct target_settings *target, struct err_detail *detail);

struct heartbeat *targets_heartbeat(struct targets *targets);

/* What became of a target's worker processes since the start, and how it stands. */
struct target_statistics {
	const char *name; /* lives as long as the targets */
	uint64_t up;	  /* 1 unless it cannot be reached */
	uint64_t waiting; /* calls */
	uint64_t workers; /* processes */
	uint64_t started; /* processes, likewise below */
	uint64_t died;	  /* by themselves */
	uint64_t killed;  /* at a deadline, or for what they sent */
	uint64_t denied;  /* validations that ended because its role may not read what they need */
};

/* Of the target number `index`, in the order of the settings. Any thread. */
size_t targets_count(const struct targets *targets);
void targets_statistics(const struct targets *targets, size_t index,
			struct target_statistics *ret_statistics);

/* main() of a worker process, whose socket is `fd`; returns its exit status. */
int target_worker_main(int fd);
