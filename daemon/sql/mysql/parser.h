/*
 * Parser of MySQL and MariaDB queries: SELECT with all that belongs to it, VALUES, TABLE, and EXPLAIN,
 * DESCRIBE and SHOW. A grammar of our own: whatever it does not know is refused, never guessed. Pure; any
 * thread, with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/mysql/lexer.h"

/* The statement, or NULL with the reason in `ret_failure`, which begins as none. The tree lives in the arena
 * and points into the text. */
struct query_node *mysql_parse(str_t text, enum mysql_modes modes, struct arena *arena,
			       struct mysql_failure *ret_failure);
