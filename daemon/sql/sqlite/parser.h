/*
 * Parser of SQLite's queries, by the precedences of its grammar (3.40), into the tree of query/tree.h. It is
 * for texts that the library has accepted and gives up on what it does not know: then there is no tree. Pure;
 * any thread.
 */
#pragma once

#include "sql/query/tree.h"

/* Offsets of texts in double quotes that are strings. */
struct sqlite_strings {
	size_t *items;
	size_t count;
	size_t capacity;
};

struct sqlite_query {
	struct query_node *root; /* QUERY_EXPRESSION, or NULL */
	bool hides;		 /* some part is not in it, such as a window, or a name that may mean several
				  * things: queries with equal trees need not be equal */
	bool hides_query;	 /* that part reads something */
};

/* The only statement of the text; names are in lower case and not resolved. Bounded depth. The tree lives in
 * the arena. `strings`: or NULL for none. */
struct sqlite_query sqlite_parse(str_t sql, const struct sqlite_strings *strings, struct arena *arena);
