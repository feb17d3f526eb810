/*
 * The catalog that the tests of a program analyse with: compiled once, before the first of them.
 */
#pragma once

#include "sql/catalog/catalog.h"
#include "sql/postgresql/ddl/ddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct catalog *catalog;

/* For the set-up of the group: 0, or −1 once the reason was printed. */
static inline int compile_catalog(const char *schema)
{
	struct err_detail detail = { "" };
	if (ddl_compile(str_from(schema), &catalog, &detail) == ERR_OK)
		return 0;
	print_error("%s\n", detail.message);
	return -1;
}

/* The tear-down of the group. */
static inline int drop_catalog(void **state)
{
	(void)state;
	catalog_unref(catalog);
	return 0;
}
