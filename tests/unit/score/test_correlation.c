#include "score/correlation.h"

#include "tests/unit/score/close.h"

#define VALUES_MAX 6

static const struct {
	const char *name;
	double x[VALUES_MAX], y[VALUES_MAX];
	size_t count;
	opt_double_t pearson, spearman;
} cases[] = {
	{ "none", { 0 }, { 0 }, 0, NONE, NONE },
	{ "one pair", { 1 }, { 2 }, 1, NONE, NONE },
	{ "two pairs rise", { 1, 2 }, { 5, 9 }, 2, SOME(1), SOME(1) },
	{ "two pairs fall", { 1, 2 }, { 9, 5 }, 2, SOME(-1), SOME(-1) },
	{ "constant side", { 0.1, 0.1, 0.1 }, { 1, 2, 3 }, 3, NONE, NONE },
	{ "other side constant", { 1, 2, 3 }, { 0.7, 0.7, 0.7 }, 3, NONE, NONE },
	/* dx −1 0 1, dy −1 1 0: 1 / (√2·√2); the values are their own ranks */
	{ "half", { 1, 2, 3 }, { 1, 3, 2 }, 3, SOME(0.5), SOME(0.5) },
	/* dx −1.5 −0.5 0.5 1.5, dy −12.75 −9.75 −2.75 25.25: 60.5 / √(5·902.75); the ranks agree */
	{ "curved", { 1, 2, 3, 4 }, { 1, 4, 11, 39 }, 4, SOME(0.900506027163), SOME(1) },
	/* ranks of x: 1 2.5 2.5 4, of y 1 2 3 4: 4.5 / (√4.5·√5) */
	{ "ties share a rank",
	  { 1, 5, 5, 9 },
	  { 1, 2, 3, 4 },
	  4,
	  SOME(0.948683298051),
	  SOME(0.948683298051) },
	{ "huge values", { -1e308, 0, 1e308 }, { 1e308, 0, -1e308 }, 3, SOME(-1), SOME(-1) },
	{ "tiny values", { 1e-300, 2e-300, 3e-300 }, { 1e-200, 3e-200, 2e-200 }, 3, SOME(0.5), SOME(0.5) },
};

static void correlations(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		assert_opt_close(cases[i].name,
				 correlation_pearson(cases[i].x, cases[i].y, cases[i].count, arena),
				 cases[i].pearson);
		assert_opt_close(cases[i].name,
				 correlation_spearman(cases[i].x, cases[i].y, cases[i].count, arena),
				 cases[i].spearman);
	}
}

static void deviation(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		double values[VALUES_MAX];
		size_t count;
		double expected;
	} spreads[] = {
		{ "none", { 0 }, 0, 0 },
		{ "one", { 0.4 }, 1, 0 },
		{ "constant", { 0.1, 0.1, 0.1 }, 3, 0 },
		{ "pair", { 0.9, 0.5 }, 2, 0.2 },
		{ "four", { 2, 4, 4, 6 }, 4, 1.414213562373 },
		{ "zeros", { 0, -0.0 }, 2, 0 },
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < COUNT(spreads); i++)
		assert_close(spreads[i].name,
			     correlation_standard_deviation(spreads[i].values, spreads[i].count, arena),
			     spreads[i].expected);
	double huge = correlation_standard_deviation((const double[]){ 1e308, -1e308 }, 2, arena);
	assert_true(isfinite(huge));
	assert_close("huge", huge / 1e308, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correlations),
		cmocka_unit_test(deviation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
