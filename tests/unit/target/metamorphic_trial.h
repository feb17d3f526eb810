/*
 * One trial of the metamorphic tests: a statement is validated against a truth by a real worker process, and
 * the verdict is judged by what a server says that both have in common
 * (tests/harness/oracles/result_oracle.h).
 */
#pragma once

#include "sql/sort_keys.h"
#include "tests/harness/oracles/oracle.h"
#include "tests/harness/oracles/result_oracle.h"
#include "tests/unit/target/calls.h"

/* Results with more rows are near the limit of a validation and not judged. */
enum { MAX_TRIAL_ROWS = 9000 };

struct trial_statement {
	str_t text; /* NUL behind it */
	bool safe;
	struct sql_analysis analysis;
};

struct trial_statement trial_analyse(const struct oracle_database *database, str_t sql, struct arena *arena);

/* Runs a truth on the database's own connection. `ret_source->result` is the caller's to clear. False: it
 * does not run. */
bool trial_truth(const struct oracle_database *database, str_t sql, struct arena *arena,
		 struct result_source *ret_source, struct sort_keys *ret_keys);

struct trial {
	const struct oracle_database *database;
	const struct result_source *truth;
	const struct sort_keys *keys; /* of the truth, as an event asks for them */
	const char *name;
	enum result_promise promise;
	str_t sql;
	struct result_likeness likeness; /* not with RESULT_SAME */
	struct validation_result result; /* without its message */
	const char *wrong;		 /* why the verdict is wrong, or NULL */
};

/* Validates, asks the server meanwhile, and judges. */
void trial_run(struct trial *trial, struct targets *targets, struct arena *arena);

/* Rows in common / the larger count, as the server says. */
double trial_rate(const struct result_likeness *likeness);
bool trial_equal(double a, double b);

void trial_show(FILE *file, const struct trial *trial, const char *what);
void trial_show_rows(const struct trial *trial);

/* A target of the database's name, with one worker. */
struct targets *trial_target(const struct oracle *oracle, const struct oracle_database *database);
