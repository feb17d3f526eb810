#include "sql/postgresql/resolve/literal_internal.h"

#include "catalog/pg_type_d.h"

#include <ctype.h>

#define NAME_MAX_BYTES 63
#define PARTS_MAX      3
#define TEXT_MAX       (PARTS_MAX * (NAME_MAX_BYTES + 1)) /* longer ones are in doubt */

#define BAD_NAME      "42602"
#define BAD_SYNTAX    "42601"
#define NO_SCHEMA     "3F000"
#define NO_RELATION   "42P01"
#define NO_OBJECT     "42704"
#define NO_FUNCTION   "42883"
#define SEVERAL_FOUND "42725"

/* "schema.name", as PostgreSQL takes it apart: without quotes in lower case, and cut. */
struct written_name {
	str_t parts[PARTS_MAX];
	bool quoted;  /* the last one */
	bool foreign; /* what lower case is depends on the database's encoding */
	size_t count;
	char buffer[TEXT_MAX + PARTS_MAX];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static const char *skip_blanks(const char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

/* What stands in quotes, behind the first of them; NULL: it does not end. */
static const char *take_quoted(const char *at, char **to)
{
	for (;; at++) {
		if (!*at)
			return NULL;
		if (*at == '"' && *++at != '"')
			return at;
		*(*to)++ = *at;
	}
}

static const char *take_plain(const char *at, char **to, bool *foreign)
{
	for (; *at && *at != '.' && !is_blank(*at); at++) {
		*foreign |= (unsigned char)*at > 127;
		*(*to)++ = (char)(isascii((unsigned char)*at) ? tolower((unsigned char)*at) : *at);
	}
	return at;
}

/* No more than TEXT_MAX bytes. */
static literal_fault read_parts(const char *text, struct written_name *ret_name)
{
	char *to = ret_name->buffer;
	const char *at = skip_blanks(text);
	if (!*at)
		return BAD_NAME;
	ret_name->count = 0;
	ret_name->foreign = false;
	for (;;) {
		char *start = to;
		const char *from = at;
		ret_name->quoted = *at == '"';
		at = ret_name->quoted ? take_quoted(at + 1, &to) : take_plain(at, &to, &ret_name->foreign);
		if (!at || at == from)
			return BAD_NAME;
		if (ret_name->count == PARTS_MAX)
			return BAD_SYNTAX;
		size_t length = (size_t)(to - start);
		ret_name->foreign |= length > NAME_MAX_BYTES;
		ret_name->parts[ret_name->count++] = (str_t){ start, length };
		*to++ = '\0';
		at = skip_blanks(at);
		if (!*at)
			return NULL;
		if (*at != '.')
			return BAD_NAME;
		at = skip_blanks(at + 1);
	}
}

static bool begins_with(str_t text, const char *start)
{
	return text.len >= strlen(start) && memcmp(text.ptr, start, strlen(start)) == 0;
}

static bool ends_with(str_t text, const char *end)
{
	return text.len >= strlen(end) && memcmp(text.ptr + text.len - strlen(end), end, strlen(end)) == 0;
}

/* Names that PostgreSQL makes up for what a file creates without one: no catalog of a file has them. */
static bool may_be_made_up(str_t name)
{
	static const char *const ends[] = { "_pkey", "_key", "_idx", "_excl", "_seq" };
	while (name.len > 0 && literal_is_digit(name.ptr[name.len - 1]))
		name.len--;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends_with(name, ends[i]))
			return true;
	return name.len > NAME_MAX_BYTES - 10;
}

struct lookup {
	const struct catalog *catalog;
	str_t schema; /* or absent */
	str_t name;
};

static literal_fault find_relation(const struct lookup *lookup)
{
	const struct catalog *catalog = lookup->catalog;
	const struct catalog_type *row = catalog_type_named(catalog, lookup->schema, lookup->name);
	if (catalog_relation_named(catalog, lookup->schema, lookup->name) || (row && row->kind == 'c') ||
	    catalog_has_other(catalog, CATALOG_INDEX, lookup->schema, lookup->name))
		return NULL;
	if (begins_with(lookup->name, "pg_") || (catalog_of_file(catalog) && may_be_made_up(lookup->name)))
		return LITERAL_DOUBT;
	return NO_RELATION;
}

/* Of several overloads it is not said which one is meant. */
static literal_fault find_function(const struct lookup *lookup)
{
	size_t count;
	const struct catalog_function *const *functions =
		catalog_functions(lookup->catalog, lookup->schema, lookup->name, &count);
	bool internal =
		catalog_has_other(lookup->catalog, CATALOG_INTERNAL_FUNCTION, lookup->schema, lookup->name);
	if (count == 0)
		return internal ? LITERAL_DOUBT : NO_FUNCTION;
	if (count > 1 && str_equal(functions[0]->schema, functions[1]->schema))
		return SEVERAL_FOUND;
	return count > 1 || internal ? LITERAL_DOUBT : NULL;
}

static literal_fault find_operator(const struct lookup *lookup)
{
	size_t count;
	const struct catalog_operator *const *operators =
		catalog_operators(lookup->catalog, lookup->schema, lookup->name, &count);
	if (count == 0)
		return NO_FUNCTION;
	if (count > 1 && str_equal(operators[0]->schema, operators[1]->schema))
		return SEVERAL_FOUND;
	return count > 1 ? LITERAL_DOUBT : NULL;
}

/* Types that nobody asks for under such names are not in the catalog. */
static literal_fault find_type(const struct lookup *lookup)
{
	if (catalog_type_named(lookup->catalog, lookup->schema, lookup->name))
		return NULL;
	return begins_with(lookup->name, "_") || begins_with(lookup->name, "pg_") ? LITERAL_DOUBT : NO_OBJECT;
}

static literal_fault find_other(const struct lookup *lookup, enum catalog_other_kind kind)
{
	return catalog_has_other(lookup->catalog, kind, lookup->schema, lookup->name) ? NULL : NO_OBJECT;
}

static literal_fault find(type_id type, const struct lookup *lookup)
{
	switch (type) {
	case REGCLASSOID:
		return find_relation(lookup);
	case REGPROCOID:
	case REGPROCEDUREOID:
		return find_function(lookup);
	case REGOPEROID:
		return find_operator(lookup);
	case REGTYPEOID:
		return find_type(lookup);
	case REGCOLLATIONOID:
		return catalog_knows_collations(lookup->catalog) ? find_other(lookup, CATALOG_COLLATION)
								 : LITERAL_DOUBT;
	case REGCONFIGOID:
		return find_other(lookup, CATALOG_TEXT_SEARCH);
	case REGDICTIONARYOID:
		return find_other(lookup, CATALOG_DICTIONARY);
	default:
		return LITERAL_DOUBT;
	}
}

/* A file need not create the schemas that it names. */
static literal_fault find_schema(const struct catalog *catalog, str_t schema)
{
	if (catalog_has_schema(catalog, schema))
		return NULL;
	bool passing = begins_with(schema, "pg_toast") || begins_with(schema, "pg_temp");
	return passing || catalog_of_file(catalog) ? LITERAL_DOUBT : NO_SCHEMA;
}

static literal_fault find_name(const struct catalog *catalog, type_id type, const struct written_name *name)
{
	bool known = catalog && catalog_dialect(catalog) == SQL_POSTGRESQL && catalog_knows_others(catalog) &&
		     !str_present(catalog_gap(catalog));
	if (type == REGNAMESPACEOID || type == REGROLEOID) {
		if (name->count != 1)
			return BAD_NAME;
		return known && !name->foreign && type == REGNAMESPACEOID
			       ? find_schema(catalog, name->parts[0])
			       : LITERAL_DOUBT;
	}
	if (!known || name->foreign || name->count == PARTS_MAX) /* the first part is a database's */
		return LITERAL_DOUBT;
	struct lookup lookup = { .catalog = catalog, .name = name->parts[name->count - 1] };
	if (name->count > 1) {
		lookup.schema = name->parts[0];
		literal_fault fault = find_schema(catalog, lookup.schema);
		if (fault)
			return fault;
	}
	return find(type, &lookup);
}

/* Of types only plain names are looked for, and those with [] behind them: the rest is PostgreSQL's grammar.
 */
static literal_fault read_type(const struct catalog *catalog, const char *text)
{
	struct written_name name;
	char plain[TEXT_MAX + 1];
	size_t length = strcspn(text, "[(%");
	if (text[length] == '(' || text[length] == '%' ||
	    strspn(text + length, "[]0123456789 ") != strlen(text + length))
		return LITERAL_DOUBT;
	memcpy(plain, text, length);
	plain[length] = '\0';
	literal_fault fault = read_parts(plain, &name);
	/* names that the grammar has for types which are called otherwise */
	if (fault || (name.count == 1 && !name.quoted &&
		      STR_IS_ANY(name.parts[0], "int", "integer", "smallint", "bigint", "real", "float",
				 "double", "decimal", "dec", "numeric", "boolean", "bit", "char", "character",
				 "varchar", "national", "nchar", "time", "timestamp", "interval", "setof")))
		return LITERAL_DOUBT;
	fault = find_name(catalog, REGTYPEOID, &name);
	return fault || length == strlen(text) ? fault : LITERAL_DOUBT;
}

/* "name(types)": the types are not looked at. */
static literal_fault read_signature(const struct catalog *catalog, const char *text)
{
	struct written_name name;
	char plain[TEXT_MAX + 1];
	bool quoted = false;
	size_t length = 0, end = strlen(text);
	for (; text[length] && (quoted || text[length] != '('); length++)
		quoted ^= text[length] == '"';
	if (!text[length])
		return BAD_TEXT;
	while (end > 0 && is_blank(text[end - 1]))
		end--;
	if (text[end - 1] != ')')
		return BAD_TEXT;
	memcpy(plain, text, length);
	plain[length] = '\0';
	literal_fault fault = read_parts(plain, &name);
	if (fault)
		return fault;
	fault = find_name(catalog, REGPROCEDUREOID, &name);
	return fault == NULL || literal_fault_is(fault, SEVERAL_FOUND) ? LITERAL_DOUBT : fault;
}

literal_fault literal_name(const struct catalog *catalog, type_id type, const char *text)
{
	struct written_name name;
	size_t length = strlen(text);
	bool is_nothing = type == REGOPEROID ? strcmp(text, "0") == 0 : strcmp(text, "-") == 0;
	if (is_nothing)
		return NULL;
	if (length > 0 && strspn(text, "0123456789") == length)
		return length < 10 ? NULL : LITERAL_DOUBT;
	if (length > TEXT_MAX)
		return LITERAL_DOUBT;
	if (type == REGTYPEOID)
		return read_type(catalog, text);
	if (type == REGPROCEDUREOID)
		return read_signature(catalog, text);
	literal_fault fault = read_parts(text, &name);
	return fault ? fault : find_name(catalog, type, &name);
}
