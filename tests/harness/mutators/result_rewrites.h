/*
 * Rewrites of a statement by what it returns: some return the same result in another form, some another
 * result. For tests that ask whether a comparison of results tells which is which.
 *
 * A rewrite wraps the statement and needs to know its columns, not its text; only the few that name a clause
 * look at the tokens (see sql_rewrites.h). Deterministic. Not thread-safe.
 */
#pragma once

#include "common/arena.h"
#include "sql/findings/analysis.h"

#include <libpq-fe.h>

/* What a column holds, as far as rewriting needs to know. */
enum result_kind {
	RESULT_INTEGER,
	RESULT_DECIMAL,
	RESULT_FLOAT,
	RESULT_TEXT,
	RESULT_DATE,
	RESULT_TIMESTAMP,
	RESULT_TIMESTAMP_TZ,
	RESULT_BOOLEAN,
	RESULT_OTHER,
};

/* The kind of a type of PostgreSQL. */
enum result_kind result_kind_of(Oid type);

bool result_kind_is_number(enum result_kind kind);
bool result_kind_is_moment(enum result_kind kind);

/* A statement that ran, and what it returned. */
struct result_source {
	str_t sql;
	PGresult *result; /* the owner's to clear */
	bool ordered, limited;
	const struct sql_order_key *order_keys;
	size_t order_keys_count;
};

/* Whether all sort keys are columns of the result, so that it shows which rows tie. */
bool result_ties_known(const struct result_source *source);

/* What a statement's rows are the first of. */
struct result_whole {
	str_t sql;  /* with its sort keys that are no columns as further columns, in their order, and without
		       its LIMIT; absent where that cannot be written */
	long limit; /* -1: none */
};

struct result_whole result_whole(const struct result_source *source, struct arena *arena);

/* The statement with a LIMIT that cuts nothing off; absent where that cannot be written. */
str_t result_barely_limited(const struct result_source *source, struct arena *arena);

/* How it is known what a rewrite returns. */
enum result_promise {
	RESULT_SAME,	  /* the same by its making, in another form that a server may not call equal */
	RESULT_SAME_ROWS, /* the same by its making, and equal to a server */
	RESULT_MAYBE,	  /* a server has to be asked */
};

struct result_rewrite_kind {
	const char *name;
	enum result_promise promise;
};

/* All kinds; `result_rewrite` takes their index. */
size_t result_rewrite_count(void);
struct result_rewrite_kind result_rewrite_kind(size_t kind);

/* The statement rewritten, in the arena; absent where the kind does not apply. */
str_t result_rewrite(size_t kind, const struct result_source *source, struct arena *arena);
