/*
 * Values of MariaDB's binary protocol as the texts and classes that results are compared by. A row's long
 * values stay where the library has them until there is a place for their texts. A worker process, one
 * thread.
 */
#pragma once

#include <mysql.h> // first: it calls what banned.h forbids

#include "target/result.h"

struct mariadb_cells;

/* Names and classes of the columns of an executed statement, and places for one row of it, all in the
 * builder's arena. NULL: the library refuses, and the statement has its error. */
struct mariadb_cells *mariadb_cells_new(MYSQL_STMT *statement, struct result_builder *builder);

/* Bytes of the fetched row's texts. */
size_t mariadb_cells_measure(struct mariadb_cells *cells);

/* Writes the texts of the fetched row to `text`, each with a NUL behind it, and where they are to
 * `ret_cells`. False: the library refuses. */
bool mariadb_cells_write(struct mariadb_cells *cells, MYSQL_STMT *statement, char *text, str_t *ret_cells);
