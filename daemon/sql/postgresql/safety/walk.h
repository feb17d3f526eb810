/*
 * Inside of the safety walk over a PostgreSQL statement: what its parts share. See safety.h. A walk is one
 * statement's, on one thread.
 *
 * - safety.c: statements, and which node is judged by whom
 * - query.c: SELECT, FROM, WITH, locks
 * - calls.c: functions, conversions and what may be one without looking like it
 * - fields.c: which values surely lack a field
 * - operators.c: operators
 * - compare.c: comparisons that sorting, grouping and set operations make
 * - views.c: definitions of views
 * - walk.c: what all of them report, and know of types
 *
 * safety.c, query.c, calls.c, operators.c and views.c recurse into each other as the statement nests.
 */
#pragma once

#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/catalog/content.h"
#include "sql/postgresql/parse/node_children.h"
#include "sql/postgresql/resolve/resolve.h"
#include "sql/postgresql/safety/bombs.h"
#include "sql/postgresql/safety/functions.h"
#include "sql/postgresql/safety/patterns.h"
#include "sql/postgresql/safety/volatile.h"

/* Rows that a WITH query is estimated to have. */
struct cte_size {
	const char *name;
	uint64_t name_hash;
	double rows;
	struct cte_size *outer;
};

#define SAFETY_MAX_VIEWS 64 /* that are looked into for one statement */

struct checked_views {
	const struct catalog_relation *items[SAFETY_MAX_VIEWS];
	size_t count;
};

struct walk {
	struct violations *list; /* the caller's, likewise all pointers below */
	const struct sql_request *request;
	struct known_names known;
	const struct resolution *resolution; /* or NULL */
	const struct volatile_objects *volatiles;
	struct checked_views *views;
	bool in_view; /* positions in the definition of a view mean nothing outside: all is at view_location
		       */
	int view_location;
	str_t text;
	unsigned depth;
	bool filters;	       /* the expression under way decides which rows there are */
	double rows;	       /* of the SELECT under way, from constants alone */
	int rows_location;     /* of the last part that brought rows */
	double bytes;	       /* of the values so far that are not small, each times its rows */
	const void *checked;   /* the part of a chain of || that has been judged with the whole */
	struct cte_size *ctes; /* in scope, innermost first */
	unsigned *steps;       /* of searches for constants, of the whole statement */
	struct const_eval_memory *memory;
	size_t locking_offset;	/* where the search for the next FOR UPDATE starts */
	struct arm_reads reads; /* so far */
};

#define WALK_VIOLATION(walk, code, location, ...)                                                            \
	violations_add((walk)->list, (code), (walk)->in_view ? (walk)->view_location : (location),           \
		       __VA_ARGS__)

/* walk.c */
/* A search for constants. */
struct const_eval walk_const_eval(const struct walk *walk);
/* What joins, subqueries and set-returning calls multiply up to. */
void safety_multiply_rows(struct walk *walk, double rows, int location);
/* Reports a value of so many bytes, or adds it to those of the query. */
void safety_add_bytes(struct walk *walk, str_t name, double bytes, int location);
/* What neither the system nor the catalog has, and what may be there all the same. */
void safety_doubt_name(struct walk *walk, const char *what, struct qualified_name name);

/* The type of that name, or NULL. */
const struct catalog_type *safety_type_written(const struct walk *walk, const TypeName *type);

/* safety.c */
void walk_node(struct walk *walk, const Node *node);
void walk_list(struct walk *walk, const List *list);
void walk_statement(struct walk *walk, const Node *node, int64_t offset);
/* Reports a statement that is none of a query's; what it holds is judged all the same. */
void safety_refuse_statement(struct walk *walk, const Node *node);

/* query.c */
void walk_select(struct walk *walk, const SelectStmt *select);
/* `reader`: the SELECT that it belongs to, or NULL. */
void walk_with(struct walk *walk, const WithClause *with, const SelectStmt *reader);
void walk_range(struct walk *walk, const RangeVar *range);
void walk_range_function(struct walk *walk, const RangeFunction *range);
void walk_sample(struct walk *walk, const RangeTableSample *sample);
void walk_table_function(struct walk *walk, const RangeTableFunc *range);
void walk_join(struct walk *walk, const JoinExpr *join);

/* calls.c */
void walk_call(struct walk *walk, const FuncCall *call);
void walk_column(struct walk *walk, const ColumnRef *column);
void walk_indirection(struct walk *walk, const A_Indirection *node);
void walk_type(struct walk *walk, const TypeName *type);
/* What holds for the statement as a whole: calls in disguise, what the catalog lacks, and conversions that
 * PostgreSQL adds. */
void safety_check_suspected_calls(struct walk *walk);
void safety_check_conversions(struct walk *walk);

/* fields.c */
/* Whether the name at that step of `(value).name` surely is no field there, so that it is a call. Not asked
 * where the catalog is complete: false. */
bool safety_surely_no_field(const struct walk *walk, const A_Indirection *node, int step);

/* operators.c */
void walk_operator(struct walk *walk, const A_Expr *expr);
/* The operators that the node applies as the resolution knows them, else any of that name; operands that are
 * not there are NULL. */
void safety_check_operators(struct walk *walk, const void *node, struct qualified_name name, const Node *left,
			    const Node *right, int location);

/* compare.c */
/* The value is compared with others of its kind: sorted, grouped, made distinct. */
void safety_check_compared(struct walk *walk, const Node *node, int location);
void safety_check_compared_type(struct walk *walk, type_id type, int location);
/* The same of a list of ORDER BY, GROUP BY or DISTINCT ON, where a number means an output of `select`. */
void safety_check_compared_list(struct walk *walk, const SelectStmt *select, const List *list);
void safety_check_compared_outputs(struct walk *walk, const SelectStmt *select);

/* views.c */
/* Calls, relations and locks in the definition of a view that is read at `location`. */
void safety_check_view(struct walk *walk, const struct catalog_relation *view, int location);
