#include "sql/postgresql/ddl/ddl.h"
#include "sql/postgresql/resolve/type_literal.h"

#include "catalog/pg_type_d.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
	type_id type;
	const char *text;
	const char *sqlstate; /* that PostgreSQL gives, or NULL: not surely wrong */
} cases[] = {
	{ BOOLOID, "true", NULL },
	{ BOOLOID, " YES ", NULL },
	{ BOOLOID, "of", NULL },
	{ BOOLOID, "o", "22P02" },
	{ BOOLOID, "maybe", "22P02" },
	{ BOOLOID, "", "22P02" },
	{ INT4OID, "-5", NULL },
	{ INT4OID, " 5 ", NULL },
	{ INT4OID, "5.0", "22P02" },
	{ INT4OID, "", "22P02" },
	{ INT4OID, "2147483647", NULL },
	{ INT4OID, "2147483648", "22003" },
	{ INT2OID, "-32768", NULL },
	{ INT2OID, "32768", "22003" },
	{ INT8OID, "9223372036854775807", NULL },
	{ INT8OID, "9223372036854775808", "22003" },
	{ INT8OID, "1 day", "22P02" },
	{ NUMERICOID, "1e5", NULL },
	{ NUMERICOID, ".5", NULL },
	{ NUMERICOID, "5.", NULL },
	{ NUMERICOID, ".", "22P02" },
	{ NUMERICOID, "1e", "22P02" },
	{ NUMERICOID, "NaN", NULL },
	{ NUMERICOID, "-Infinity", NULL },
	{ NUMERICOID, "1,000", "22P02" },
	{ FLOAT8OID, "1.5e-3", NULL },
	{ FLOAT8OID, "0x10", NULL },
	{ FLOAT8OID, "abc", "22P02" },
	{ DATEOID, "2023-01-15", NULL },
	{ DATEOID, "January 15, 2023", NULL },
	{ DATEOID, "15/01/2023", NULL },
	{ DATEOID, "yesterday", NULL },
	{ DATEOID, "2024-02-29", NULL },
	{ DATEOID, "2023-02-29", "22008" },
	{ DATEOID, "2023-13-01", "22008" },
	{ DATEOID, "2023-01", "22007" },
	{ DATEOID, "2023", "22007" },
	{ DATEOID, "12", "22007" },
	{ DATEOID, "J1", NULL },
	{ DATEOID, "last week", "22007" },
	{ DATEOID, "30 days", "22007" },
	{ TIMESTAMPOID, "2023-01-15 24:00", NULL },
	{ TIMESTAMPOID, "2023-01-15 25:00", "22008" },
	{ TIMESTAMPTZOID, "2023-01-15T10:00:00Z", NULL },
	{ TIMESTAMPTZOID, "2023-01-15 10:60", "22008" },
	{ DATEOID, "201306", "22008" },
	{ DATEOID, "20130615", NULL },
	{ DATEOID, "2013-06-15 BC", NULL },
	{ DATEOID, "0000-06-15", "22008" },
	{ DATEOID, "infinity", NULL },
	{ DATEOID, "2013-06-15 nonsense", "22007" },
	{ DATEOID, "2013-06-15 10:00 America/New_York", NULL },
	{ DATEOID, "18.1.99", NULL },
	{ DATEOID, "13/13/2013", "22008" },
	{ DATEOID, "y2001m02d04", NULL },
	{ DATEOID, "5874898-01-01", NULL },
	{ DATEOID, "5874899-01-01", "22008" },
	{ TIMESTAMPOID, "294279-01-01", "22008" },
	{ TIMESTAMPTZOID, "2013-06-15 10:00+17", "22009" },
	{ TIMESTAMPTZOID, "20130615T101010Z", NULL },
	{ TIMESTAMPTZOID, "2013-06-15 13:00 PM", "22008" },
	{ TIMEOID, "2020-01-01", "22007" },
	{ TIMEOID, "24:00:01", "22008" },
	{ TIMEOID, "1030", NULL },
	{ TIMEOID, "10:00", NULL },
	{ TIMEOID, "noon", "22007" },
	{ INTERVALOID, "3 months 2 days ago", NULL },
	{ INTERVALOID, "10:30", NULL },
	{ INTERVALOID, "P1Y2M", NULL },
	{ INTERVALOID, "microseconds", "22007" },
	{ INTERVALOID, "5 microseconds", NULL },
	{ INTERVALOID, "1 fortnight", "22007" },
	{ INTERVALOID, "2023-01-15", "22007" },
	{ INTERVALOID, "2023-01", NULL },
	{ INTERVALOID, "{1,2}", "22007" },
	{ INTERVALOID, "10 mins 20 mins", "22007" },
	{ INTERVALOID, "1 2", "22007" },
	{ INTERVALOID, "-1-2 +3 -4:05:06", NULL },
	{ INTERVALOID, "99999999999 years", "22015" },
	{ INTERVALOID, "P1Y2Q", "22007" },
	{ INTERVALOID, "infinity", NULL }, /* read by later versions */
	{ UUIDOID, "550e8400-e29b-41d4-a716-446655440000", NULL },
	{ UUIDOID, "{550e8400e29b41d4a716446655440000}", NULL },
	{ UUIDOID, "550e8400-e29b-41d4-a716-44665544000", "22P02" },
	{ UUIDOID, "550e8400-e29b-41d4-a716-4466554400-00", "22P02" },
	{ UUIDOID, "", "22P02" },
	{ JSONBOID, "{\"a\": 1}", NULL },
	{ JSONOID, "null", NULL },
	{ JSONOID, "{\"a\": [1, 2.5e3, true]} ", NULL },
	{ JSONOID, "{\"a\": 1,}", "22P02" },
	{ JSONOID, "{a: 1}", "22P02" },
	{ JSONOID, "[1, 2", "22P02" },
	{ JSONOID, "[01]", "22P02" },
	{ JSONOID, "\"\\x\"", "22P02" },
	{ JSONOID, "\"\\u0000\"", NULL },
	{ JSONBOID, "\"\\u0000\"", "22P05" },
	{ JSONBOID, "\"\\ud83d\"", "22P02" },
	{ JSONBOID, "[] []", "22P02" },
	{ JSONOID, "abc", "22P02" },
	{ JSONOID, "", "22P02" },
	{ INT4ARRAYOID, "{1,NULL, 2}", NULL },
	{ INT4ARRAYOID, "{1,x}", "22P02" },
	{ INT4ARRAYOID, "{{1},{2}}", NULL },
	{ INT4ARRAYOID, "1,2", "22P02" },
	{ DATEARRAYOID, "{2023-01-15,2023-13-01}", "22008" },
	{ INT4RANGEOID, "[1,5)", NULL },
	{ INT4RANGEOID, "empty", NULL },
	{ INT4RANGEOID, "1-5", "22P02" },
	{ INT4RANGEOID, "[5,1]", "22000" },
	{ INT4RANGEOID, "[a,b]", "22P02" },
	{ INT4RANGEOID, "[1,5", "22P02" },
	{ INT4RANGEOID, "(,)", NULL },
	{ DATERANGEOID, "[2024-12-31,2024-01-01)", "22000" },
	{ DATERANGEOID, "[2024-13-01,)", "22008" },
	{ INT4MULTIRANGEOID, "{[1,3), [5,9]}", NULL },
	{ INT4MULTIRANGEOID, "{[3,1)}", "22000" },
	{ INT4MULTIRANGEOID, "[1,3)", "22P02" },
	{ INT4ARRAYOID, "{{1,2},{3}}", "22P02" },
	{ INT4ARRAYOID, "{1,\"x\"}", "22P02" },
	{ INT4ARRAYOID, "{1,}", "22P02" },
	{ INT4ARRAYOID, "[0:1]={1,2}", NULL },
	{ INT4ARRAYOID, "[1]", "22P02" },
	{ TEXTARRAYOID, "{a,\"b c\",d e}", NULL },
	{ TEXTARRAYOID, "{a,,b}", "22P02" },
	{ INT2VECTOROID, "1 2", NULL },
	{ OIDVECTOROID, "11 22 33", NULL },
	{ OIDVECTOROID, "11 x", "22P02" },
	{ OIDOID, "int4", "22P02" },
	{ OIDOID, "4294967296", "22003" },
	{ FLOAT8OID, "1e400", "22003" },
	{ FLOAT4OID, "1e39", "22003" },
	{ BYTEAOID, "\\xabc", "22023" },
	{ BYTEAOID, "\\xdeadbeef", NULL },
	{ BYTEAOID, "a\\b", "22P02" },
	{ MONEYOID, "$1,234.56", NULL },
	{ MONEYOID, "1.234,56 kr", NULL },
	{ MONEYOID, "{1,2}", "22P02" },
	{ TIDOID, "(0,1)", NULL },
	{ TIDOID, "0,1", "22P02" },
	{ INETOID, "192.168.0.1/24", NULL },
	{ INETOID, "192.168.0.256", "22P02" },
	{ INETOID, "192.168.0", "22P02" },
	{ INETOID, "1::2::3", "22P02" },
	{ CIDROID, "10.1.2.3/16", "22P02" },
	{ CIDROID, "10.1/16", NULL },
	{ MACADDROID, "08:00:2b:01:02:03", NULL },
	{ MACADDROID, "08:00:2b:01:02", "22P02" },
	{ POINTOID, "(1,2)", NULL },
	{ POINTOID, "1", "22P02" },
	{ BOXOID, "(1,2),(3,4)", NULL },
	{ BOXOID, "(1,2),(3", "22P02" },
	{ BITOID, "101", NULL },
	{ BITOID, "x1F", NULL },
	{ BITOID, "102", "22P02" },
	{ INETOID, "::1", NULL },
	{ INETOID, "localhost", "22P02" },
	{ XIDOID, "abc", NULL },
	{ RECORDOID, "(1,2)", "0A000" },
	{ TEXTOID, "anything", NULL },
	{ REGCLASSOID, "anything", "42P01" },
	{ REGCLASSOID, "t", NULL },
	{ REGCLASSOID, "T", NULL },
	{ REGCLASSOID, "\"T\"", "42P01" },
	{ REGCLASSOID, "public.\"t\"", NULL },
	{ REGCLASSOID, "elsewhere.t", NULL }, /* a file need not create it */
	{ REGCLASSOID, "t_pkey", NULL },      /* PostgreSQL makes such names itself */
	{ REGCLASSOID, "t_a_idx1", NULL },
	{ REGCLASSOID, "t_x", "42P01" },
	{ REGCLASSOID, "pg_toast_1260", NULL },
	{ REGCLASSOID, "\"t", "42602" },
	{ REGCLASSOID, "t.", "42602" },
	{ REGCLASSOID, "a.b.t", NULL },
	{ REGCLASSOID, "a.b.c.t", "42601" },
	{ REGTYPEOID, "double precision", NULL },
	{ REGTYPEOID, "strng", "42704" },
	{ REGROLEOID, "whoever", NULL },
	{ REGNAMESPACEOID, "a.b", "42602" },
	{ REGOPEROID, "-", "42725" },
	{ REGOPEROID, "<~~>", "42883" },
	{ REGPROCOID, "-", NULL },
	{ REGCONFIGOID, "german", NULL },
	{ REGCONFIGOID, "klingon", "42704" },
};

static void judges_literals(void **state)
{
	struct catalog *catalog;
	(void)state;
	assert_int_equal(ddl_compile(STR("CREATE TABLE t (a int)"), &catalog, NULL), ERR_OK);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *sqlstate = NULL;
		enum certainty fits = literal_fits(catalog, cases[i].type, cases[i].text, &sqlstate);
		const char *expected = cases[i].sqlstate ? cases[i].sqlstate : "",
			   *found = sqlstate ? sqlstate : "";
		if (strcmp(found, expected) != 0 || (fits == SURELY_NOT) != (cases[i].sqlstate != NULL))
			fail_msg("'%s' of type %u: %s instead of %s", cases[i].text, cases[i].type, found,
				 expected);
	}
	catalog_unref(catalog);
}

/* What a file makes besides its tables is known; nothing is surely wrong where something is missing. */
static void judges_names_of_files(void **state)
{
	static const struct {
		const char *file, *text;
		enum certainty fits;
	} names[] = {
		{ "CREATE TABLE t (a int); CREATE INDEX ix ON t (a);", "ix", SURELY },
		{ "CREATE TABLE t (a int, CONSTRAINT odd UNIQUE (a));", "odd", SURELY },
		{ "CREATE TABLE t (a int CONSTRAINT first PRIMARY KEY);", "first", SURELY },
		{ "CREATE TABLE t (a int); ALTER TABLE t ADD CONSTRAINT late UNIQUE (a);", "late", SURELY },
		{ "CREATE TABLE t (a int); ALTER TABLE t ALTER a ADD GENERATED ALWAYS AS IDENTITY "
		  "(SEQUENCE NAME public.counts START 1);",
		  "counts", SURELY },
		{ "CREATE TABLE t (a int); CREATE INDEX ix ON t (a); ALTER INDEX ix RENAME TO iy;", "iy",
		  SURELY },
		{ "CREATE TABLE t (a int); CREATE SEQUENCE seq;", "seq", SURELY },
		{ "CREATE TABLE t (a int); CREATE TYPE pair AS (a int);", "pair", SURELY },
		{ "CREATE TABLE t (a int);", "ix", SURELY_NOT },
		{ "CREATE EXTENSION postgis; CREATE TABLE t (a int);", "spatial_ref_sys", PERHAPS },
	};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct catalog *catalog;
		const char *ignored;
		assert_int_equal(ddl_compile(str_from(names[i].file), &catalog, NULL), ERR_OK);
		if (literal_fits(catalog, REGCLASSOID, names[i].text, &ignored) != names[i].fits)
			fail_msg("%s '%s'", names[i].file, names[i].text);
		catalog_unref(catalog);
	}
}

static enum certainty fits(const struct catalog *catalog, const char *type, const char *text)
{
	const char *ignored;
	const struct catalog_type *found = catalog_type_named(catalog, STR_NONE, str_from(type));
	assert_non_null(found);
	return literal_fits(catalog, found->id, text, &ignored);
}

/* What types are made of is in the catalog. */
static void judges_types_of_the_catalog(void **state)
{
	struct catalog *catalog;
	(void)state;
	assert_int_equal(ddl_compile(STR("CREATE TYPE mood AS ENUM ('sad', 'it''s ok');"
					 "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'great' AFTER 'sad';"
					 "ALTER TYPE mood RENAME VALUE 'sad' TO 'bad';"
					 "CREATE TYPE place AS (name text, at int);"
					 "CREATE DOMAIN feeling AS mood"),
				     &catalog, NULL),
			 ERR_OK);
	assert_int_equal(fits(catalog, "mood", "it's ok"), SURELY);
	assert_int_equal(fits(catalog, "mood", "great"), SURELY);
	assert_int_equal(fits(catalog, "feeling", "bad"), SURELY);
	assert_int_equal(fits(catalog, "mood", "sad"), SURELY_NOT);
	assert_int_equal(fits(catalog, "mood", "green"), SURELY_NOT);
	assert_int_equal(fits(catalog, "mood", "Great"), SURELY_NOT);
	assert_int_equal(fits(catalog, "feeling", "green"), SURELY_NOT);
	assert_int_equal(fits(catalog, "_mood", "{great,bad}"), SURELY);
	assert_int_equal(fits(catalog, "_mood", "{great,green}"), SURELY_NOT);
	assert_int_equal(fits(catalog, "place", "(here,1)"), SURELY);
	assert_int_equal(fits(catalog, "place", "(here)"), SURELY_NOT);
	assert_int_equal(fits(catalog, "place", "(here,there)"), SURELY_NOT);
	catalog_unref(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(judges_literals),
					    cmocka_unit_test(judges_names_of_files),
					    cmocka_unit_test(judges_types_of_the_catalog) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
