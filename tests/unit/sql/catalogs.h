/* Catalogs made from SQL for a test, and what is in them. */
#pragma once

#include "sql/catalog/content.h"
#include "sql/postgresql/ddl/ddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The caller owns the catalog. Fails the test when the text is refused. */
static inline struct catalog *compile_sql(const char *text)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	if (ddl_compile(str_from(text), &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return catalog;
}

/* The relation of that name on the search path; fails the test when there is none. */
static inline const struct catalog_relation *relation(const struct catalog *catalog, const char *name)
{
	const struct catalog_relation *found = catalog_relation_on_path(catalog, str_from(name));
	if (!found)
		fail_msg("no relation %s", name);
	return found;
}
