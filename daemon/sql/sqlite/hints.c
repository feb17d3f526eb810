#include "sql/sqlite/hints.h"

#include "common/nearest.h"
#include "sql/findings/instead.h"
#include "sql/sqlite/authorizer.h"

static const struct instead table[] = {
#define INSTEAD(word, use) { (word), (use) },
#include "sql/sqlite/instead.def"
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

str_t sqlite_hint_function(str_t name, struct arena *arena)
{
	const struct instead *instead = instead_of_function(table, TABLE_COUNT, name);
	struct nearest nearest;
	if (instead)
		return instead_hint(instead, arena);
	nearest_init(&nearest, name);
	sqlite_functions_offer(&nearest);
	return nearest_hint(&nearest, '"', arena);
}

str_t sqlite_hint_syntax(str_t sql, size_t offset, struct arena *arena)
{
	return instead_hint(instead_near(table, TABLE_COUNT, sql, offset, SQL_SQLITE), arena);
}
