/*
 * Catalogs from files of statements that define things: PostgreSQL's DDL, as pg_dump writes it. Pure; any
 * thread with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/catalog/catalog.h"

/* Compiles a file of CREATE TABLE, VIEW and FUNCTION statements (PostgreSQL's dialect, built-in functions
 * included). A statement that cannot be read is left out with a warning (catalog_warnings), and the catalog
 * has a gap; a file that defines nothing else is refused. */
err_t ddl_compile(str_t text, struct catalog **ret_catalog, struct err_detail *detail);
