/*
 * Inside of bombs.h: what its files share. A state is one statement's, on one thread.
 *
 * - bombs.c: the statement, node by node
 * - sizes.c: how large texts and numbers get; columns of queries in the text are followed to what they are
 * - rows.c: how many rows the text makes
 * - recursion_bounds.c: whether a condition ends a recursion
 *
 * Walks go down the tree, but for columns and WITH queries, which lead elsewhere in it: sizes and rows keep
 * what they found for each node, and how far columns are followed is bounded.
 */
#pragma once

#include "sql/query/bombs.h"

/* Queries that a column is followed through to what it can be. */
#define BOMBS_MAX_SOURCES 16

/* Memos hold a number for each node of the statement; 0: not known yet. */
struct bombs {
	struct violations *violations;
	enum sql_dialect dialect;
	bool ends_known;
	size_t nodes;				/* of the statement, for the memos */
	size_t measured;			/* visited for sizes and rows */
	bool multiplied;			/* rows were reported */
	double generated;			/* rows of the sequence engine, multiplied */
	double *rows;				/* of queries and WITH queries; none: −1 */
	double *searched;			/* WITH queries, for those that read each other */
	double *sizes;				/* of texts */
	double *largest[BOMBS_MAX_SOURCES + 1]; /* values, by the queries that led there */
	unsigned sources;			/* queries that a column is being followed through */
};

/* sizes.c */
/* The place of a node's number; lives as long as the violations' arena. */
double *bombs_memo_of(double **memo, const struct bombs *bombs, const struct query_node *node);

/* The largest value that a tree of constants can have; INFINITY: not known, −1: columns or parameters take
 * part, which are bounded by what tables hold. */
double bombs_largest(struct bombs *bombs, const struct query_node *node);

/* Rough length of the longest text that an expression builds, its parts included, in bytes; INFINITY: to
 * measure it would take too long. */
double bombs_text_size(struct bombs *bombs, const struct query_node *node);

/* Whether the text of a call is larger than any may be. */
bool bombs_call_is_large(struct bombs *bombs, const struct query_node *call);

/* rows.c */
/* Rows that FROM, or an item of it, multiplies up to by what stands in the text; tables count as 1. */
double bombs_from_rows(struct bombs *bombs, const struct query_node *from);

/* Whether what stands there reads the WITH query. */
bool bombs_reads(const struct query_node *node, const struct query_node *cte);

/* Whether an item of FROM is a table: how many rows it has, data decides. */
bool bombs_joins_table(const struct query_node *from, const struct query_node *cte);

/* Rows that the recursive query makes in the end; without a number that its conditions hold a column against
 * 1, or INFINITY where each step multiplies. */
double bombs_recursion_rows(struct bombs *bombs, const struct query_node *cte);

/* recursion_bounds.c: whether the WHERE of an arm, which has one and reads `cte`, ends the recursion. */
bool bombs_recursion_limited(struct bombs *bombs, const struct query_node *cte, const struct query_node *arm);
