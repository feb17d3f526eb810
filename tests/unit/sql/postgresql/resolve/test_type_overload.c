#include "sql/postgresql/resolve/type_overload.h"
#include "tests/unit/sql/catalog_fixture.h"

static const char schema[] =
	"CREATE DOMAIN posint AS int; CREATE SCHEMA other;"
	"CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS ''; CREATE FUNCTION f(text) RETURNS text "
	"LANGUAGE sql AS '';"
	"CREATE FUNCTION g(int, float8) RETURNS int LANGUAGE sql AS '';"
	"CREATE FUNCTION g(float8, int) RETURNS int LANGUAGE sql AS '';"
	"CREATE FUNCTION d(a int, b int DEFAULT 1, c text DEFAULT '') RETURNS int LANGUAGE sql AS '';"
	"CREATE FUNCTION v(a text, VARIADIC b int[]) RETURNS int LANGUAGE sql AS '';"
	"CREATE FUNCTION other.f(date) RETURNS date LANGUAGE sql AS '';";

static type_id type(const char *name)
{
	if (strcmp(name, "?") == 0)
		return TYPE_UNSURE;
	const struct catalog_type *found = catalog_type_named(catalog, STR_NONE, str_from(name));
	if (!found)
		fail_msg("no type %s", name);
	return found->id;
}

static const char *name_of(type_id id)
{
	const struct catalog_type *found = catalog_type(catalog, id);
	return found ? found->name.ptr : "?";
}

static void chooses_operators(void **state)
{
	static const struct {
		const char *name, *left, *right; /* left NULL: prefix */
		enum overload_result result;
		const char *operand, *value; /* type of the right one as it is taken */
	} cases[] = {
		{ "+", "int4", "int4", OVERLOAD_FOUND, "int4", "int4" },
		{ "+", "int4", "int8", OVERLOAD_FOUND, "int8", "int8" },
		{ "+", "int4", "numeric", OVERLOAD_FOUND, "numeric", "numeric" },
		{ "+", "numeric", "float8", OVERLOAD_FOUND, "float8", "float8" },
		{ "+", "int4", "unknown", OVERLOAD_FOUND, "int4", "int4" },
		{ "+", "posint", "unknown", OVERLOAD_FOUND, "int4", "int4" },
		{ "+", "date", "int4", OVERLOAD_FOUND, "int4", "date" },
		{ "+", "date", "unknown", OVERLOAD_AMBIGUOUS, NULL, "?" },
		{ "-", "date", "unknown", OVERLOAD_FOUND, "date", "int4" },
		{ "+", "unknown", "unknown", OVERLOAD_AMBIGUOUS, NULL, "?" },
		{ "+", "text", "int4", OVERLOAD_NONE, NULL, "?" },
		{ "=", "varchar", "unknown", OVERLOAD_FOUND, "text", "bool" },
		{ "=", "varchar", "text", OVERLOAD_FOUND, "text", "bool" },
		{ "=", "text", "int4", OVERLOAD_NONE, NULL, "?" },
		{ "=", "date", "timestamptz", OVERLOAD_FOUND, "timestamptz", "bool" },
		{ "||", "text", "int4", OVERLOAD_FOUND, "int4", "text" },
		{ "||", "unknown", "unknown", OVERLOAD_FOUND, "text", "text" },
		{ "||", "_int4", "int4", OVERLOAD_FOUND, "int4", "_int4" },
		{ "||", "_int4", "int8", OVERLOAD_FOUND, "int8", "_int8" },
		{ "->>", "jsonb", "unknown", OVERLOAD_FOUND, "text", "text" },
		{ "&&&", "int4", "int4", OVERLOAD_NONE, NULL, "?" },
		{ "-", NULL, "int4", OVERLOAD_FOUND, "int4", "int4" },
		{ "-", NULL, "text", OVERLOAD_NONE, NULL, "?" },
		{ "=", "?", "int4", OVERLOAD_UNSURE, NULL, "bool" },
		{ "+", "?", "int4", OVERLOAD_UNSURE, NULL, "?" },
	};
	static struct coercion_memory memory;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct overload_choice choice;
		size_t count;
		const struct catalog_operator *const *overloads =
			catalog_operators(catalog, STR_NONE, str_from(cases[i].name), &count);
		overload_choose_operator(catalog, &memory, overloads, count, !cases[i].left,
					 cases[i].left ? type(cases[i].left) : TYPE_UNSURE,
					 type(cases[i].right), &choice);
		if (choice.result != cases[i].result || strcmp(name_of(choice.value), cases[i].value) != 0)
			fail_msg("%s %s %s: %d, %s", cases[i].left ? cases[i].left : "", cases[i].name,
				 cases[i].right, choice.result, name_of(choice.value));
		if (cases[i].operand)
			assert_string_equal(name_of(choice.parameters[cases[i].left ? 1 : 0]),
					    cases[i].operand);
	}
}

static void chooses_functions(void **state)
{
	static const struct {
		const char *name;
		const char *types[4]; /* NULL: no more */
		const char *names[4]; /* of the last ones */
		bool is_variadic;
		const char *cast_target; /* or NULL */
		enum overload_result result;
		const char *value;
	} cases[] = {
		{ "f", { "int4" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "f", { "int2" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "f", { "unknown" }, { NULL }, false, NULL, OVERLOAD_FOUND, "text" },
		{ "f", { "varchar" }, { NULL }, false, NULL, OVERLOAD_FOUND, "text" },
		{ "f", { "posint" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "f", { "date" }, { NULL }, false, NULL, OVERLOAD_NONE, "?" },
		{ "f", { "?" }, { NULL }, false, NULL, OVERLOAD_UNSURE, "?" },
		{ "f", { NULL }, { NULL }, false, NULL, OVERLOAD_NONE, "?" },
		{ "g", { "int4", "int4" }, { NULL }, false, NULL, OVERLOAD_AMBIGUOUS, "?" },
		{ "g", { "int4", "numeric" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "d", { "int4" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "d", { "int4", "unknown" }, { "c" }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "d", { "unknown", "int4" }, { "c", "a" }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "d", { "int4", "int4" }, { "a" }, false, NULL, OVERLOAD_NONE, "?" },
		{ "d", { "int4", "int4" }, { "nosuch" }, false, NULL, OVERLOAD_NONE, "?" },
		{ "d", { "int4" }, { "b" }, false, NULL, OVERLOAD_NONE, "?" },
		{ "v", { "text", "int4", "int4" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int4" },
		{ "v", { "text", "_int4" }, { NULL }, true, NULL, OVERLOAD_FOUND, "int4" },
		{ "v", { "text", "_int4" }, { NULL }, false, NULL, OVERLOAD_NONE, "?" },
		{ "v", { "text" }, { NULL }, false, NULL, OVERLOAD_NONE, "?" },
		{ "int4", { "unknown" }, { NULL }, false, "int4", OVERLOAD_CAST, "int4" },
		{ "int4", { "float8" }, { NULL }, false, "int4", OVERLOAD_FOUND, "int4" },
		{ "sum", { "int4" }, { NULL }, false, NULL, OVERLOAD_FOUND, "int8" },
		{ "max", { "varchar" }, { NULL }, false, NULL, OVERLOAD_FOUND, "text" },
		{ "round", { "float8", "int4" }, { NULL }, false, NULL, OVERLOAD_NONE, "?" },
		{ "concat", { "int4", "text", "date" }, { NULL }, false, NULL, OVERLOAD_FOUND, "text" },
		{ "array_append", { "_int4", "int4" }, { NULL }, false, NULL, OVERLOAD_FOUND, "_int4" },
	};
	static struct coercion_memory memory;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct overload_choice choice;
		struct overload_call call = { .is_variadic = cases[i].is_variadic };
		type_id types[4];
		str_t names[4];
		size_t count;
		for (; call.count < 4 && cases[i].types[call.count]; call.count++)
			types[call.count] = type(cases[i].types[call.count]);
		for (; call.names_count < 4 && cases[i].names[call.names_count]; call.names_count++)
			names[call.names_count] = str_from(cases[i].names[call.names_count]);
		call.types = types;
		call.names = names;
		call.cast_target = cases[i].cast_target ? type(cases[i].cast_target) : TYPE_UNSURE;
		const struct catalog_function *const *overloads =
			catalog_functions(catalog, STR_NONE, str_from(cases[i].name), &count);
		overload_choose_function(catalog, &memory, overloads, count, &call, &choice);
		if (choice.result != cases[i].result || strcmp(name_of(choice.value), cases[i].value) != 0)
			fail_msg("case %zu, %s: %d, %s", i, cases[i].name, choice.result,
				 name_of(choice.value));
		assert_int_equal(choice.function != NULL, choice.result == OVERLOAD_FOUND);
	}
}

/* More arguments than are modelled, and an unknown beside what nothing tells: no answer. */
static void is_unsure_beyond_its_bounds(void **state)
{
	static type_id types[OVERLOAD_MAX_ARGUMENTS + 1];
	static struct coercion_memory memory;
	struct overload_choice choice;
	struct overload_call call = { .types = types, .count = OVERLOAD_MAX_ARGUMENTS + 1 };
	size_t count;
	(void)state;
	for (size_t i = 0; i < call.count; i++)
		types[i] = type("int4");
	const struct catalog_function *const *overloads =
		catalog_functions(catalog, STR_NONE, STR("concat"), &count);
	overload_choose_function(catalog, &memory, overloads, count, &call, &choice);
	assert_int_equal(choice.result, OVERLOAD_UNSURE);
	call.count = 1;
	types[0] = type("unknown");
	overloads = catalog_functions(catalog, STR_NONE, STR("to_json"), &count);
	overload_choose_function(catalog, &memory, overloads, count, &call, &choice);
	assert_true(choice.result == OVERLOAD_FOUND && choice.poly_unknown);
}

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_operators),
		cmocka_unit_test(chooses_functions),
		cmocka_unit_test(is_unsure_beyond_its_bounds),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
