/*
 * Paths. XPath: what is evaluated inside libxml2 cannot be interrupted, and a predicate that searches the
 * document for each of its nodes costs a power of its size. JSON: lists of subscripts multiply. Pure.
 */
#pragma once

#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

/* A path in a call of a function that evaluates XPath, or one of JSON. */
void path_check_call(struct walk *walk, const FuncCall *call);

/* A path that is applied to the document, or to each row that another path found in it. */
void path_check(struct walk *walk, const Node *path, const Node *document, bool each_row, int location);

/* A text that is used as a JSON path. */
void path_check_json(struct walk *walk, const Node *path, int location);
