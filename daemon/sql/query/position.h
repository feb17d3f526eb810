/*
 * Which keys of ORDER BY and GROUP BY are no expressions, but positions of outputs: one rule for each
 * dialect, as its servers decide. PostgreSQL's is `node_integer` of postgresql/parse: an integer of 32 bits,
 * by its tree.
 *
 * MySQL: digits alone, in brackets or behind `+`; 2.5, 2e0, 0x2 and '2' are constants. MariaDB takes a `-`
 * for a part of the position and TRUE for 1, where MySQL sorts by a constant: nobody can tell.
 *
 * SQLite: digits or 0x… of 31 bits, in brackets and behind signs. A COLLATE around it changes how the output
 * is compared.
 *
 * The keys of a window's ORDER BY are never positions; those of an aggregate's are, of its arguments (MySQL).
 * Pure; any thread.
 */
#pragma once

#include "sql/dialect.h"
#include "sql/query/tree.h"

enum query_position_kind {
	QUERY_POSITION_NONE, /* an expression */
	QUERY_POSITION_SURE,
	QUERY_POSITION_UNSURE, /* there may be more to it than `place` */
};

struct query_position {
	enum query_position_kind kind;
	int64_t place; /* SURE: counted from 1; there may be no such output */
};

/* Of a key as it is written, which is the first child of a SORT. Never for PostgreSQL. */
struct query_position query_position_of(const struct query_node *key, enum sql_dialect dialect);

/* The ITEM that a sure position stands for; NULL: there is none, or stars hide which one it is. `select` may
 * be NULL. */
const struct query_node *query_position_item(const struct query_node *select, struct query_position position);
