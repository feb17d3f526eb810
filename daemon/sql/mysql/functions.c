#include "sql/mysql/functions.h"

#include "common/nearest.h"
#include "sql/findings/instead.h"

#include <fnmatch.h>
#include <strings.h>

/* What parts a name from the grammar's function of that name. */
enum parted { PARTED_NONE, PARTED_QUOTES, PARTED_BLANK };

struct builtin {
	const char *name;
	char kind;
	enum parted parted;
};

static const struct builtin builtins[] = {
#define MYSQL_FUNCTION(name, kind, parted) { (name), (kind), PARTED_##parted },
#include "sql/mysql/functions.def"
};

static const struct {
	const char *pattern;
	enum sql_violation_code code;
} dangerous[] = {
#define MYSQL_DANGEROUS(pattern, violation) { (pattern), VIOLATION_##violation },
#include "sql/mysql/functions.def"
};

static const struct builtin grammar[] = {
#define MYSQL_GRAMMAR(name, parted) { (name), '\0', PARTED_##parted },
#include "sql/mysql/functions.def"
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int compare_builtin(const void *key, const void *entry)
{
	const str_t *name = key;
	const char *other = ((const struct builtin *)entry)->name;
	int order = strncasecmp(name->ptr, other, name->len);
	return order ? order : -(other[name->len] != '\0');
}

static const struct builtin *find_builtin(str_t name)
{
	return name.len ? bsearch(&name, builtins, COUNT(builtins), sizeof builtins[0], compare_builtin)
			: NULL;
}

/* 'f', 'a' or 'w', or 0 for names that none of them has. */
static char builtin_kind(str_t name)
{
	const struct builtin *found = find_builtin(name);
	return found ? found->kind : '\0';
}

str_t mysql_hint_function(str_t name, struct arena *arena)
{
	str_t instead = instead_of_function(name, SQL_MYSQL, arena);
	struct nearest nearest;
	if (instead.len > 0)
		return instead;
	nearest_init(&nearest, identifier_lower(name, arena));
	for (size_t i = 0; i < COUNT(builtins); i++)
		nearest_offer(&nearest, str_from(builtins[i].name));
	return str_present(nearest.best)
		       ? arena_printf(arena, "; did you mean " STR_FMT "()?", STR_ARG(nearest.best))
		       : STR("");
}

bool mysql_dangerous_name(str_t name, bool exact, enum sql_violation_code *ret_code)
{
	for (size_t i = 0; i < COUNT(dangerous); i++) {
		bool pattern = strchr(dangerous[i].pattern, '*') != NULL;
		if (pattern != exact && (exact ? identifier_is(name, dangerous[i].pattern)
					       : fnmatch(dangerous[i].pattern, name.ptr, 0) == 0)) {
			*ret_code = dangerous[i].code;
			return true;
		}
	}
	return false;
}

bool mysql_native(str_t name)
{
	enum sql_violation_code code;
	return builtin_kind(name) || mysql_dangerous_name(name, true, &code);
}

bool mysql_refused_by_name(str_t schema, str_t name, enum sql_violation_code *ret_code)
{
	(void)schema;
	return mysql_dangerous_name(name, true, ret_code);
}

bool mysql_foreign_name(str_t name, bool quoted, bool spaced)
{
	if (!quoted && !spaced)
		return false;
	const struct builtin *found = find_builtin(name);
	for (size_t i = 0; !found && i < COUNT(grammar); i++)
		found = identifier_is(name, grammar[i].name) ? &grammar[i] : NULL;
	return found && (found->parted == PARTED_BLANK || (quoted && found->parted == PARTED_QUOTES));
}

bool mysql_calls_builtin(const struct query_node *call)
{
	bool foreign = call->op && strcmp(call->op, "foreign") == 0;
	return !str_present(call->schema) && !foreign && builtin_kind(call->name);
}

bool mysql_is_aggregate(const struct query_node *node)
{
	return node->kind == QUERY_CALL && mysql_calls_builtin(node) && builtin_kind(node->name) == 'a' &&
	       !query_child(node, QUERY_WINDOW);
}
