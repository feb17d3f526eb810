/*
 * Parser of MySQL and MariaDB queries: SELECT with all that belongs to it, VALUES, TABLE, and EXPLAIN,
 * DESCRIBE and SHOW. A grammar of our own: whatever it does not know is refused, never guessed.
 */
#pragma once

#include "sql/mysql/lexer.h"

/* The statement, or NULL with the reason in `ret_failure`. Memory from the arena. */
struct mysql_node *mysql_parse(str_t text, enum mysql_modes modes, struct arena *arena,
			       struct mysql_failure *ret_failure);
