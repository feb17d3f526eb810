#include "sql/mongodb/operators.h"

#include "common/nearest.h"

#include <stdlib.h>

#define REFUSED_NONE		   false, VIOLATION_UNANALYSABLE
#define REFUSED_SYSTEM_CATALOG	   true, VIOLATION_SYSTEM_CATALOG
#define REFUSED_SELECT_INTO	   true, VIOLATION_SELECT_INTO
#define REFUSED_DANGEROUS_FUNCTION true, VIOLATION_DANGEROUS_FUNCTION

static const struct mongodb_operator operators[] = {
#define OPERATOR(name, places, refusal) { name, places, REFUSED_##refusal },
#include "sql/mongodb/operators.def"
#undef OPERATOR
};

#define OPERATORS_COUNT (sizeof operators / sizeof operators[0])

/* What a server calls its own is not for others; who knows what it does? */
static const struct mongodb_operator internal = { "$_internal", "", true, VIOLATION_DANGEROUS_FUNCTION };

static int by_name(const void *key, const void *item)
{
	const str_t *name = key;
	const struct mongodb_operator *operator= item;
	return str_compare(*name, str_from(operator->name));
}

const struct mongodb_operator *mongodb_operator(str_t name)
{
	const struct mongodb_operator *known =
		bsearch(&name, operators, OPERATORS_COUNT, sizeof *operators, by_name);
	bool is_internal = name.len > strlen(internal.name) &&
			   memcmp(name.ptr, internal.name, strlen(internal.name)) == 0;
	return known ? known : is_internal ? &internal : NULL;
}

str_t mongodb_operator_hint(str_t name, char place, struct arena *arena)
{
	struct nearest nearest;
	nearest_init(&nearest, name);
	for (size_t i = 0; i < OPERATORS_COUNT; i++)
		if (!operators[i].refused && mongodb_stands_in(&operators[i], place))
			nearest_offer(&nearest, str_from(operators[i].name));
	return nearest_hint(&nearest, '"', arena);
}
