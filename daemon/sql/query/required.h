/*
 * Columns that every query of their table has to constrain (a tenant's id): what it takes is the same in all
 * dialects. A front end says which relations a statement reads and which equalities every row of theirs has
 * to meet; what follows from those is told here. A relation is constrained when its column equals a given
 * value, or a column that is constrained itself. What is not seen to hold does not hold.
 *
 * A condition counts for the relations whose rows it refuses: WHERE for all of its FROM, that of an outer
 * join for the side that may be missing, none for what is outside of its own query. A given value is made of
 * literals, parameters and calls: of no column, no subquery, no user variable and nothing random; and it is
 * not NULL.
 *
 * Pure; a state belongs to one statement and one thread. Everything lives in the arena.
 */
#pragma once

#include "common/hash.h"
#include "sql/catalog/content.h"
#include "sql/findings/diagnostics.h"

/* Views on views that are looked into for one statement. */
#define REQUIRED_MAX_VIEWS 64

/* A column of something in FROM, told apart by its address. */
struct required_end {
	const void *item;
	str_t column;
};

/* Views that the statement reads, each looked into once. */
struct required_views {
	struct hash_map broken; /* address of a relation to a flag for each rule */
	unsigned count;
};

struct required {
	struct arena *arena;
	const struct sql_policy *policy;
	bool any_case;	       /* names of columns are the same in any case */
	struct hash_map nodes; /* of ends that were spoken of */
	struct required_node **given;
	size_t given_count;
	size_t given_capacity;
	struct required_views *views; /* of the whole statement */
	bool *broken; /* of a view's definition: a flag for each rule; NULL: of the statement */
};

/* Begins a statement; `views` is zeroed. */
void required_begin(struct required *required, struct arena *arena, const struct sql_policy *policy,
		    bool any_case, struct required_views *views);

/* Begins the definition of a view that the statement reads: what is wrong there is noted in `broken`. */
void required_begin_view(struct required *required, const struct required *outer, bool *broken);

/* The column has one of some given values in every row that counts. */
void required_given(struct required *required, struct required_end end);

/* The column has a value that `from` has. */
void required_follows(struct required *required, struct required_end to, struct required_end from);

/* Whether a function of that name gives what nobody has given. */
bool required_is_random(str_t function);

/* A table or view that the statement reads. */
struct required_relation {
	const void *item;
	str_t schema;				 /* absent: not known */
	str_t name;				 /* of the table itself */
	str_t alias;				 /* that it is visible by */
	int64_t offset;				 /* bytes into the text */
	const struct catalog_relation *relation; /* in the catalog, or NULL */
};

/* Looks into a view's definition: checks what it reads, between required_begin_view and its end. False: it
 * cannot be read. */
typedef bool (*required_view_fn)(const struct required *outer, const struct catalog_relation *view,
				 bool *broken, const void *context);

/* Reports each rule of the policy that the relation is read against. A view that reads the table is
 * constrained inside, or by its own column of that name. To be called once all that holds was said. */
void required_check(struct required *required, const struct required_relation *relation,
		    required_view_fn view, const void *context, struct diagnostics *diagnostics);

/* What is wrong with the names of a rule in a catalog, with a hint, in the arena; absent: nothing is. */
str_t required_misnamed(const struct sql_required_column *rule, const struct catalog *catalog,
			struct arena *arena);
