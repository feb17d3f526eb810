#include "sql/postgresql/safety/functions.h"

#include "sql/catalog/content.h"
#include "sql/findings/front_end.h"

#include <strings.h>

static const struct {
	const char *pattern;
	enum sql_violation_code code;
} dangerous[] = {
#define DANGEROUS(pattern, violation) { (pattern), VIOLATION_##violation },
#include "sql/postgresql/safety/dangerous_functions.def"
#undef DANGEROUS
};

static const char *const secret_relations[] = {
#define SECRET_RELATION(name) (name),
#include "sql/postgresql/safety/secret_relations.def"
#undef SECRET_RELATION
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool starts_with(str_t text, const char *prefix, size_t len)
{
	return text.len >= len && strncasecmp(text.ptr, prefix, len) == 0;
}

/* Patterns: `name`, `prefix*`, `schema.*`. */
static bool matches(struct qualified_name function, const char *pattern)
{
	size_t len = strlen(pattern);
	const char *dot = strchr(pattern, '.');
	if (dot)
		return str_present(function.schema) && function.schema.len == (size_t)(dot - pattern) &&
		       starts_with(function.schema, pattern, function.schema.len);
	if (pattern[len - 1] == '*')
		return starts_with(function.name, pattern, len - 1);
	return identifier_is(function.name, pattern);
}

/* As patterns are written. */
static char first_letter(str_t name)
{
	char first = str_present(name) && name.len > 0 ? name.ptr[0] : '\0';
	return first >= 'A' && first <= 'Z' ? (char)(first - 'A' + 'a') : first;
}

static bool dangerous_by_name(struct qualified_name function, enum sql_violation_code *ret_code)
{
	char first = first_letter(function.name), of_schema = first_letter(function.schema);
	for (size_t i = 0; i < COUNT(dangerous); i++)
		if ((dangerous[i].pattern[0] == first || dangerous[i].pattern[0] == of_schema) &&
		    matches(function, dangerous[i].pattern)) {
			*ret_code = dangerous[i].code;
			return true;
		}
	return false;
}

bool function_refused_by_name(str_t schema, str_t name, enum sql_violation_code *ret_code)
{
	return dangerous_by_name((struct qualified_name){ schema, name }, ret_code);
}

static bool system_refused(str_t name, char volatility, bool is_public, enum sql_violation_code *ret_code)
{
	*ret_code = is_public ? VIOLATION_VOLATILE_FUNCTION : VIOLATION_DANGEROUS_FUNCTION;
	/* some are volatile, but nothing that a read may not do */
	return !is_public ||
	       (volatility == 'v' && !STR_IS_ANY(name, "random", "clock_timestamp", "gen_random_uuid"));
}

static enum call_verdict by_volatility(char volatility)
{
	return volatility == 'i' || volatility == 's' ? CALL_ALLOWED
	       : volatility == VOLATILITY_UNKNOWN     ? CALL_UNKNOWN
						      : CALL_REFUSED;
}

static enum call_verdict check_overload(const struct catalog_function *function,
					const struct sql_policy *policy, enum sql_violation_code *ret_code)
{
	if (function->is_system)
		return system_refused(function->name, function->volatility, function->is_public, ret_code)
			       ? CALL_REFUSED
			       : CALL_ALLOWED;
	enum sql_user_functions rule = policy ? policy->user_functions : SQL_USER_FUNCTIONS_NON_VOLATILE;
	*ret_code = VIOLATION_VOLATILE_FUNCTION;
	switch (rule) {
	case SQL_USER_FUNCTIONS_NON_VOLATILE:
		return by_volatility(function->volatility);
	case SQL_USER_FUNCTIONS_LIST:
		*ret_code = VIOLATION_DANGEROUS_FUNCTION;
		return front_end_lists_function(policy, function, str_equal) ? CALL_ALLOWED : CALL_REFUSED;
	case SQL_USER_FUNCTIONS_NONE:
	default:
		*ret_code = VIOLATION_DANGEROUS_FUNCTION;
		return CALL_REFUSED;
	}
}

/* Whether an overload of an earlier schema of the search path takes the same arguments. */
static bool hidden(const struct catalog_function *const *overloads, size_t index)
{
	const struct catalog_function *function = overloads[index];
	for (size_t i = 0; i < index; i++)
		if (!str_equal(overloads[i]->schema, function->schema) &&
		    overloads[i]->arguments == function->arguments &&
		    (function->arguments == 0 ||
		     memcmp(overloads[i]->argument_types, function->argument_types,
			    function->arguments * sizeof function->argument_types[0]) == 0))
			return true;
	return false;
}

struct known_names known_names_of(const struct sql_request *request)
{
	const struct catalog *catalog = request->catalog;
	if (!catalog || catalog_dialect(catalog) != SQL_POSTGRESQL)
		return (struct known_names){ catalog_builtin(), false, STR("there is no catalog") };
	str_t gap = catalog_gap(catalog);
	if (str_present(gap))
		return (struct known_names){ catalog, false, gap };
	return (struct known_names){ catalog, true, STR("the catalog does not have all that it is made of") };
}

/* Any overload that could be meant; CALL_UNKNOWN and not found: there is none. */
static enum call_verdict check_overloads(const struct called_function *function,
					 const struct catalog *catalog, const struct sql_policy *policy,
					 enum sql_violation_code *ret_code, bool *ret_found)
{
	size_t count;
	const struct catalog_function *const *overloads =
		catalog_functions(catalog, function->name.schema, function->name.name, &count);
	bool unknown = false;
	*ret_found = false;
	for (size_t i = 0; i < count; i++) {
		if (function->arguments != ARGUMENTS_UNKNOWN &&
		    !catalog_function_accepts(overloads[i], function->arguments))
			continue;
		*ret_found = true;
		enum call_verdict one =
			hidden(overloads, i) ? CALL_ALLOWED : check_overload(overloads[i], policy, ret_code);
		if (one == CALL_REFUSED)
			return CALL_REFUSED;
		unknown = unknown || one == CALL_UNKNOWN;
	}
	return unknown || !*ret_found ? CALL_UNKNOWN : CALL_ALLOWED;
}

/* The name is a type's, to which f(x) and x.f convert. */
static bool may_convert(const struct called_function *function, const struct catalog *catalog)
{
	str_t schema = function->name.schema;
	return function->arguments == 1 &&
	       catalog_has_type(catalog, str_present(schema) ? schema : STR(""), function->name.name);
}

/* By the text alone: whether a function of the system that is called so is refused, by any of its overloads.
 */
static bool builtin_refused(struct qualified_name name, enum sql_violation_code *ret_code)
{
	size_t count = 0;
	char volatility = 'i';
	bool is_public = true;
	const struct catalog_function *const *overloads = NULL;
	if (!str_present(name.schema) || str_is(name.schema, "pg_catalog"))
		overloads = catalog_functions(catalog_builtin(), STR("pg_catalog"), name.name, &count);
	for (size_t i = 0; i < count; i++) {
		volatility = overloads[i]->volatility > volatility ? overloads[i]->volatility : volatility;
		is_public = is_public && overloads[i]->is_public;
	}
	return system_refused(name.name, volatility, is_public, ret_code);
}

enum call_verdict function_check(const struct called_function *function, const struct sql_request *request,
				 enum sql_violation_code *ret_code)
{
	if (dangerous_by_name(function->name, ret_code))
		return CALL_REFUSED;
	if (function->chosen)
		return check_overload(function->chosen, request->policy, ret_code);
	if (!request->catalog && builtin_refused(function->name, ret_code))
		return CALL_REFUSED;
	struct known_names known = known_names_of(request);
	bool found;
	enum call_verdict judgement =
		check_overloads(function, known.catalog, request->policy, ret_code, &found);
	if (found)
		return judgement;
	bool open = !known.complete && function->certain && !may_convert(function, known.catalog);
	return open ? CALL_UNKNOWN : CALL_ALLOWED;
}

enum call_verdict function_check_operator(const struct catalog_operator *op, const struct sql_policy *policy,
					  enum sql_violation_code *ret_code)
{
	if (op->is_system)
		return system_refused(op->name, op->volatility, op->is_public, ret_code) ? CALL_REFUSED
											 : CALL_ALLOWED;
	if (policy && policy->user_functions == SQL_USER_FUNCTIONS_NONE) {
		*ret_code = VIOLATION_DANGEROUS_FUNCTION;
		return CALL_REFUSED;
	}
	*ret_code = VIOLATION_VOLATILE_FUNCTION;
	return by_volatility(op->volatility);
}

bool safety_relation_is_secret(str_t schema, str_t name)
{
	/* Only pg_ is reserved: an application may well have a table user_mappings of its own. */
	if (!starts_with(name, "pg_", 3) && !identifier_is(schema, "information_schema"))
		return false;
	return identifier_is_any(name, secret_relations, COUNT(secret_relations));
}
