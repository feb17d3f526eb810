#include "sql/lex/prose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void prose_begins_and_ends_like_prose(void **state)
{
	static const struct {
		const char *text;
		bool prose;
	} cases[] = {
		{ "I'm sorry, but I can't help with that.", true },
		{ "\n Which year do you mean?  \n", true },
		{ "The select list is not known!", true },
		{ "SELEKT id FROM shop", false },
		{ "SELECT id FROM shop WHERE name = 'What?", false },
		{ "delete what I said.", false },
		{ "Sorry.", false },
		{ "Here is the query: SELECT 1", false },
		{ "1 2 3.", false },
		{ "...", false },
		{ "", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (enum sql_dialect dialect = SQL_POSTGRESQL; dialect <= SQL_MYSQL; dialect++)
			if (prose_is(str_from(cases[i].text), dialect) != cases[i].prose)
				fail_msg("%d: %s", (int)dialect, cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(prose_begins_and_ends_like_prose) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
