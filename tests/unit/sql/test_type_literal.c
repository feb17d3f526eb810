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
	{ UUIDOID, "550e8400-e29b-41d4-a716-446655440000", NULL },
	{ UUIDOID, "{550e8400e29b41d4a716446655440000}", NULL },
	{ UUIDOID, "550e8400-e29b-41d4-a716-44665544000", "22P02" },
	{ UUIDOID, "550e8400-e29b-41d4-a716-4466554400-00", "22P02" },
	{ UUIDOID, "", "22P02" },
	{ JSONBOID, "{\"a\": 1}", NULL },
	{ JSONOID, "null", NULL },
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
	{ BITOID, "101", NULL },
	{ BITOID, "x1F", NULL },
	{ BITOID, "102", "22P02" },
	{ INETOID, "::1", NULL },
	{ INETOID, "localhost", "22P02" },
	{ XIDOID, "abc", NULL },
	{ RECORDOID, "(1,2)", "0A000" },
	{ TEXTOID, "anything", NULL },
	{ REGCLASSOID, "anything", NULL },
};

static void judges_literals(void **state)
{
	struct catalog *catalog;
	(void)state;
	assert_int_equal(catalog_compile_sql(STR("CREATE TABLE t (a int)"), &catalog, NULL), ERR_OK);
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(judges_literals) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
