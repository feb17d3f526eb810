/*
 * Whether a parsed MySQL or MariaDB statement only reads: functions, relations, sizes, shapes of injections.
 * Pure; any thread, with POOL_STACK_BYTES of stack. A state is one statement's.
 */
#pragma once

#include "sql/findings/violations.h"
#include "sql/mysql/functions.h"
#include "sql/mysql/names.h"

/* Queries that a column is followed through to what it can be. */
#define MYSQL_MAX_SOURCES 16

/* A number for each node of the statement; 0: not known yet. */
struct mysql_memo {
	double *values;
};

struct mysql_safety {
	const struct sql_request *request;
	str_t text;
	struct violations *violations;
	/* read so far, in order of the text */
	size_t user_relations;
	size_t system_relations;
	size_t probes;					  /* of server, database and account */
	double generated;				  /* rows of the sequence engine, multiplied */
	bool cut_off;					  /* the text ends with an empty comment */
	size_t views;					  /* definitions that have been looked into */
	bool merges;					  /* USING or a natural join stands somewhere */
	size_t measured;				  /* nodes that were visited for the size of a text */
	size_t nodes;					  /* of the statement, for the memos */
	struct mysql_memo rows;				  /* of queries; in work: 1; none: -1 */
	struct mysql_memo searched;			  /* WITH queries, for those that read each other */
	struct mysql_memo sizes;			  /* of texts */
	struct mysql_memo largest[MYSQL_MAX_SOURCES + 1]; /* values, by the queries that led there */
	unsigned sources; /* queries that a column is being followed through */
	bool in_view;	  /* what its author wrote is looked at, not the statement */
};

/* Adds every violation of the statement, and a doubt where a function is called of which nothing is known. */
void mysql_safety_check(const struct query_node *root, str_t text, const struct sql_request *request,
			struct violations *violations);

/* Judges a tree into `safety`. */
void mysql_safety_walk(struct mysql_safety *safety, const struct query_node *node);

/* views.c: what the definition of a view calls is called by whoever reads it. */
void mysql_views_relation(struct mysql_safety *safety, const struct query_node *relation);

/* bombs.c: calls, types and queries that ask for absurd amounts of work or memory. */
void mysql_bombs_call(struct mysql_safety *safety, const struct query_node *call);
void mysql_bombs_cast(struct mysql_safety *safety, const struct query_node *cast);
void mysql_bombs_cte(struct mysql_safety *safety, const struct query_node *cte);
void mysql_bombs_relation(struct mysql_safety *safety, const struct query_node *relation);
void mysql_bombs_select(struct mysql_safety *safety, const struct query_node *select);
bool mysql_has_column(const struct query_node *node); /* or a parameter */
/* Rough length of the longest text that an expression builds, in bytes. */
double mysql_text_size(struct mysql_safety *safety, const struct query_node *node);

/* The place of a node's number; lives as long as the violations' arena. */
double *mysql_memo_of(struct mysql_memo *memo, const struct mysql_safety *safety,
		      const struct query_node *node);

/* recursion.c: WITH queries that read themselves through others have no bound that could be told. */
void mysql_bombs_with(struct mysql_safety *safety, const struct query_node *with);

/* recursion_bounds.c: whether the WHERE of an arm, which has one and reads `cte`, ends the recursion. */
bool mysql_recursion_limited(struct mysql_safety *safety, const struct query_node *cte,
			     const struct query_node *arm);
/* bombs.c: the largest value that a tree of constants can have; INFINITY: not known, −1: data takes part. */
double mysql_largest(struct mysql_safety *safety, const struct query_node *node);

/* rows.c: rows that FROM, or an item of it, multiplies up to by what stands in the text; tables count as 1.
 */
double mysql_from_rows(struct mysql_safety *safety, const struct query_node *from);
/* Index of the output of that name of a WITH query or another one in FROM, or −1. */
int mysql_output_index(const struct query_node *maker, str_t name);
/* Calls `visit` with each value that a column of such a query can be. */
void mysql_each_source(const struct query_node *column,
		       void (*visit)(const struct query_node *value, void *context), void *context);
