/*
 * PostgreSQL's own grammar over a text, as native nodes.
 *
 * Bounds are checked before (gate.h); nodes are valid between parse_begin and parse_end of the same thread,
 * and belong to libpg_query. Positions are byte offsets into `text`, or −1 where the grammar knows none.
 */
#pragma once

#include "sql/postgresql/parse/pg_nodes.h"

#include "common/arena.h"

struct parsed_statement {
	str_t text;	  /* what was parsed */
	List *statements; /* of RawStmt; NIL when it does not parse or is empty */
	size_t count;
	Node *statement; /* the only statement (SelectStmt, …); NULL when there is none or more than one */
	str_t error;	 /* the parser's message; absent when it parses */
	size_t error_offset;  /* bytes into `text` */
	void *memory_context; /* parse_end's; NULL once ended */
};

/* Parses a text that has passed the gate. Always succeeds; look at `error` and `count`. Only one at a time in
 * a thread, to be ended by parse_end. */
void parse_begin(str_t text, struct arena *arena, struct parsed_statement *ret_parsed);

/* What helps with the error: "; …" in the arena, or "", as where it parses. */
str_t parse_hint(const struct parsed_statement *parsed, struct arena *arena);

/* Releases the nodes; also fine when parse_begin was never called on a zeroed struct, or a second time. */
void parse_end(struct parsed_statement *parsed);
