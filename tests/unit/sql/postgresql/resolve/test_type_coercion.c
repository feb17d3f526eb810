#include "sql/postgresql/resolve/type_coercion.h"
#include "tests/unit/sql/catalog_fixture.h"

static const char schema[] = "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN posint AS int;"
			     "CREATE DOMAIN deep AS posint; CREATE TABLE t (a int, b text);";

/* By the name that the catalog has; "?" is not known. */
static type_id type(const char *name)
{
	if (strcmp(name, "?") == 0)
		return TYPE_UNSURE;
	const struct catalog_type *found = catalog_type_named(catalog, STR_NONE, str_from(name));
	if (!found)
		fail_msg("no type %s", name);
	return found->id;
}

static void converts(void **state)
{
	static const struct {
		const char *source, *target;
		enum certainty in_expression, in_assignment, written;
	} cases[] = {
		{ "int4", "int4", SURELY, SURELY, SURELY },
		{ "int4", "int8", SURELY, SURELY, SURELY },
		{ "int8", "int4", SURELY_NOT, SURELY, SURELY },
		{ "int4", "numeric", SURELY, SURELY, SURELY },
		{ "numeric", "float8", SURELY, SURELY, SURELY },
		{ "float8", "numeric", SURELY_NOT, SURELY, SURELY },
		{ "int4", "text", SURELY_NOT, SURELY, SURELY },
		{ "text", "int4", SURELY_NOT, SURELY_NOT, SURELY },
		{ "int4", "bool", SURELY_NOT, SURELY_NOT, SURELY },
		{ "int8", "bool", SURELY_NOT, SURELY_NOT, SURELY_NOT },
		{ "varchar", "text", SURELY, SURELY, SURELY },
		{ "text", "varchar", SURELY, SURELY, SURELY },
		{ "date", "timestamptz", SURELY, SURELY, SURELY },
		{ "timestamptz", "date", SURELY_NOT, SURELY, SURELY },
		{ "date", "int4", SURELY_NOT, SURELY_NOT, SURELY_NOT },
		{ "unknown", "date", SURELY, SURELY, SURELY },
		{ "posint", "int4", SURELY, SURELY, SURELY },
		{ "posint", "int8", SURELY, SURELY, SURELY },
		{ "int4", "deep", SURELY, SURELY, SURELY },
		{ "_int4", "_int8", SURELY, SURELY, SURELY },
		{ "_int4", "_text", SURELY_NOT, SURELY, SURELY },
		{ "_text", "_int4", SURELY_NOT, SURELY_NOT, SURELY },
		{ "_int4", "int4", SURELY_NOT, SURELY_NOT, SURELY_NOT },
		{ "mood", "text", SURELY_NOT, SURELY, SURELY },
		{ "text", "mood", SURELY_NOT, SURELY_NOT, SURELY },
		{ "t", "record", SURELY, SURELY, SURELY },
		{ "record", "t", SURELY, SURELY, SURELY },
		{ "int4", "any", SURELY, SURELY, SURELY },
		{ "?", "int4", PERHAPS, PERHAPS, PERHAPS },
		{ "int4", "?", PERHAPS, PERHAPS, PERHAPS },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const enum certainty expected[] = { cases[i].in_expression, cases[i].in_assignment,
						    cases[i].written };
		type_id source = type(cases[i].source), target = type(cases[i].target);
		for (int context = CAST_IMPLICIT; context <= CAST_EXPLICIT; context++) {
			enum certainty found =
				type_can_coerce(catalog, source, target, (enum cast_context)context);
			if (found != expected[context])
				fail_msg("%s to %s in context %d: %d", cases[i].source, cases[i].target,
					 context, found);
		}
	}
}

static void finds_common_types(void **state)
{
	static const struct {
		const char *types[3]; /* NULL: none */
		enum certainty certainty;
		const char *common;
	} cases[] = {
		{ { "int4", "int4", NULL }, SURELY, "int4" },
		{ { "int4", "numeric", "int8" }, SURELY, "numeric" },
		{ { "int4", "float8", "numeric" }, SURELY, "float8" },
		{ { "unknown", "int4", NULL }, SURELY, "int4" },
		{ { "unknown", "unknown", NULL }, SURELY, "text" },
		{ { "varchar", "varchar", NULL }, SURELY, "varchar" },
		{ { "varchar", "text", NULL }, SURELY, "varchar" },
		{ { "posint", "posint", NULL }, SURELY, "posint" },
		{ { "posint", "int4", NULL }, SURELY, "int4" },
		{ { "date", "timestamptz", NULL }, SURELY, "timestamptz" },
		{ { "int4", "text", NULL }, SURELY_NOT, "?" },
		{ { "date", "interval", NULL }, SURELY_NOT, "?" },
		{ { "int4", "bool", NULL }, SURELY_NOT, "?" },
		{ { "int4", "?", "text" }, PERHAPS, "?" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		type_id types[3], common;
		size_t count = 0;
		while (count < 3 && cases[i].types[count]) {
			types[count] = type(cases[i].types[count]);
			count++;
		}
		assert_int_equal(type_common(catalog, types, count, &common), cases[i].certainty);
		if (cases[i].certainty == SURELY)
			assert_int_equal(common, type(cases[i].common));
	}
}

static void binds_polymorphic_parameters(void **state)
{
	static const struct {
		const char *arguments[2], *parameters[2];
		enum certainty certainty;
		const char *declared, *bound;
	} cases[] = {
		{ { "int4", "int4" }, { "anyelement", "anyelement" }, SURELY, "anyarray", "_int4" },
		{ { "int4", "text" }, { "anyelement", "anyelement" }, SURELY_NOT, "anyelement", NULL },
		{ { "int4", "unknown" }, { "anyelement", "anyelement" }, SURELY, "anyelement", "int4" },
		{ { "unknown", "unknown" }, { "anyelement", "anyelement" }, SURELY, "anyelement", "?" },
		{ { "_int4", "int4" }, { "anyarray", "anyelement" }, SURELY, "anyelement", "int4" },
		{ { "_int4", "text" }, { "anyarray", "anyelement" }, SURELY_NOT, "anyelement", NULL },
		{ { "int4", "int4" }, { "anyarray", "anyelement" }, SURELY_NOT, "anyelement", NULL },
		{ { "int4", "numeric" },
		  { "anycompatible", "anycompatible" },
		  SURELY,
		  "anycompatible",
		  "numeric" },
		{ { "_int4", "int8" },
		  { "anycompatiblearray", "anycompatible" },
		  SURELY,
		  "anycompatiblearray",
		  "_int8" },
		{ { "unknown", "unknown" },
		  { "anycompatible", "anycompatible" },
		  SURELY,
		  "anycompatible",
		  "text" },
		{ { "int4", "text" },
		  { "anycompatible", "anycompatible" },
		  SURELY_NOT,
		  "anycompatible",
		  NULL },
		{ { "int4range", "int4" },
		  { "anyrange", "anyelement" },
		  SURELY,
		  "anymultirange",
		  "int4multirange" },
		{ { "int4range", "int8" }, { "anyrange", "anyelement" }, SURELY_NOT, "anyrange", NULL },
		{ { "_int4", "int4" }, { "anynonarray", "int4" }, SURELY_NOT, "anyelement", NULL },
		{ { "mood", "mood" }, { "anyenum", "anyenum" }, SURELY, "anyenum", "mood" },
		{ { "int4", "int4" }, { "anyenum", "anyenum" }, SURELY_NOT, "anyenum", NULL },
		{ { "?", "int4" }, { "anyelement", "anyelement" }, PERHAPS, "anyelement", NULL },
	};
	static struct coercion_memory memory;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		type_id arguments[2] = { type(cases[i].arguments[0]), type(cases[i].arguments[1]) };
		type_id parameters[2] = { type(cases[i].parameters[0]), type(cases[i].parameters[1]) };
		struct type_binding binding;
		if (type_can_coerce_all(catalog, &memory, arguments, parameters, 2, &binding) !=
		    cases[i].certainty)
			fail_msg("case %zu", i);
		if (cases[i].bound)
			assert_int_equal(type_bound(catalog, &binding, type(cases[i].declared)),
					 type(cases[i].bound));
	}
}

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(converts),
		cmocka_unit_test(finds_common_types),
		cmocka_unit_test(binds_polymorphic_parameters),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
