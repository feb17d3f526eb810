#include "sql/sqlite/authorizer.h"

#include "common/nearest.h"
#include "sql/findings/diagnostics.h"
#include "sql/lex/identifier.h"
#include "sql/sqlite/tokens.h"

#include <sqlite3.h>
#include <strings.h>

/* Of one statement. A text at the gate's limit that names columns and nothing else asks 20,000 times. */
#define REQUESTS_MAX 50000

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const allowed_functions[] = {
#define SQLITE_FUNCTION_OK(name) name,
#include "sql/sqlite/functions.def"
#undef SQLITE_FUNCTION_OK
};

static bool is_schema_table(const char *name)
{
	return IDENTIFIER_IS_ANY(str_from(name), "sqlite_schema", "sqlite_master", "sqlite_temp_schema",
				 "sqlite_temp_master");
}

static int compare_name(const void *name, const void *item)
{
	return strcasecmp(name, *(const char *const *)item);
}

bool sqlite_function_is_allowed(const char *name)
{
	return bsearch(name, allowed_functions, COUNT(allowed_functions), sizeof allowed_functions[0],
		       compare_name) != NULL;
}

void sqlite_functions_offer(struct nearest *nearest)
{
	for (size_t i = 0; i < COUNT(allowed_functions); i++)
		nearest_offer(nearest, str_from(allowed_functions[i]));
}

static int deny(const struct sqlite_trace *trace, enum sql_violation_code code, const char *what,
		const char *name)
{
	violations_add(trace->violations, code, name ? sqlite_tokens_find(trace->text, str_from(name)) : 0,
		       "%s%s%s", what, name ? " " : "", name ? name : "");
	return SQLITE_DENY;
}

static int authorize_function(const struct sqlite_trace *trace, const char *name)
{
	if (sqlite_function_is_allowed(name))
		return SQLITE_OK;
	if (IDENTIFIER_IS_ANY(str_from(name), "load_extension", "readfile", "writefile", "edit", "fsdir",
			      "zipfile", "lsmode", "sqlar_uncompress"))
		return deny(trace, VIOLATION_FILE_ACCESS, "function", name);
	if (IDENTIFIER_IS_ANY(str_from(name), "changes", "total_changes", "last_insert_rowid"))
		return deny(trace, VIOLATION_VOLATILE_FUNCTION, "function", name);
	return deny(trace, VIOLATION_DANGEROUS_FUNCTION, "function", name);
}

static void record_table(struct sqlite_trace *trace, const char *name)
{
	texts_add(trace->arena, &trace->tables, identifier_lower(str_from(name), trace->arena));
}

/* `inside`: the view that reads, or NULL for the statement itself. */
static int authorize_read(struct sqlite_trace *trace, const char *table, const char *inside)
{
	if (!table || IDENTIFIER_IS_ANY(str_from(table), "json_each", "json_tree"))
		return SQLITE_OK;
	if (is_schema_table(table)) {
		trace->reads_schema = true;
		return SQLITE_OK;
	}
	if (strncasecmp(table, "pragma_", 7) == 0 || strncasecmp(table, "sqlite_", 7) == 0 ||
	    strcasecmp(table, "dbstat") == 0 || strcasecmp(table, "fsdir") == 0)
		return deny(trace, VIOLATION_SYSTEM_CATALOG, "table", table);
	if (!inside)
		record_table(trace, table);
	return SQLITE_OK;
}

int sqlite_authorize(struct sqlite_trace *trace, int action, const char *first, const char *second,
		     const char *inside, bool stub)
{
	if (++trace->requests > REQUESTS_MAX)
		return deny(trace, VIOLATION_RESOURCE_BOMB, "the statement reads too much", NULL);
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return authorize_read(trace, first, inside);
	case SQLITE_FUNCTION:
		return stub ? SQLITE_OK : authorize_function(trace, second ? second : "");
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return deny(trace, VIOLATION_FILE_ACCESS, "ATTACH or DETACH of", first);
	case SQLITE_PRAGMA:
		return deny(trace, VIOLATION_NOT_A_READ, "PRAGMA", first);
	default:
		break;
	}
	/* In a query, this is a table-valued function that is being built. */
	if (first && is_schema_table(first))
		return deny(trace, VIOLATION_SYSTEM_CATALOG, "the statement touches", first);
	return deny(trace, VIOLATION_NOT_A_READ, "the statement writes", first);
}
