#include "score/semantic.h"

#include "tests/unit/score/close.h"

static void structural(void **state)
{
	(void)state;
	assert_close("not valid", semantic_structural_score(false, 0), 0);
	assert_close("not valid, errors", semantic_structural_score(false, 3), 0);
	assert_close("errors", semantic_structural_score(true, 1), 0.5);
	assert_close("clean", semantic_structural_score(true, 0), 1);
}

#define ITEMS_MAX 4

/* A query written down as its clauses; items up to the first absent one. */
struct written {
	const char *canonical;
	const char *items[SEMANTIC_CLAUSE_COUNT_][ITEMS_MAX];
};

static struct semantic_query query_of(const struct written *written, struct arena *arena)
{
	struct semantic_query query = { .canonical = str_from(written->canonical) };
	for (size_t clause = 0; clause < SEMANTIC_CLAUSE_COUNT_; clause++) {
		str_t *items = ARENA_ARRAY(arena, str_t, ITEMS_MAX);
		size_t count = 0;
		while (count < ITEMS_MAX && written->items[clause][count]) {
			items[count] = str_from(written->items[clause][count]);
			count++;
		}
		query.clauses[clause] = (struct semantic_items){ items, count };
	}
	return query;
}

static const struct {
	const char *name;
	struct written generated, truth;
	opt_double_t expected;
} cases[] = {
	{ "identical canonical forms", { "q", { { "a" } } }, { "q", { { "b" } } }, SOME(1) },
	{ "equal clauses are not quite identical", { "q", { { "a" } } }, { "r", { { "a" } } }, SOME(0.99) },
	{ "generated does not parse", { NULL, { { NULL } } }, { "q", { { "a" } } }, SOME(0) },
	{ "truth does not parse", { "q", { { "a" } } }, { NULL, { { NULL } } }, NONE },
	{ "nothing in common",
	  { "q", { { "a" }, { "a" }, { "a" }, { "a" }, { "a" }, { "a" } } },
	  { "r", { { "b" }, { "b" }, { "b" }, { "b" }, { "b" }, { "b" } } },
	  SOME(0) },
	/* select 0.40·1/3 + where 0.20·1 + from 0.15·1/2 + group 0.10·0 + order 0.10·1 + join 0.05·1 */
	{ "a bit of everything",
	  { "q", { { "a", "b" }, { "x>1", "y=2" }, { "t" }, { "a" } } },
	  { "r", { { "b", "c" }, { "y=2", "x>1" }, { "t", "u" } } },
	  SOME(0.558333333333) },
	/* 0.40·2/3 + 0.60 */
	{ "duplicates count",
	  { "q", { { "a", "a", "b" } } },
	  { "r", { { "a", "a" } } },
	  SOME(0.866666666667) },
	{ "a duplicate more", { "q", { { "a", "a" } } }, { "r", { { "a" } } }, SOME(0.8) },
	{ "select", { "q", { { "a" } } }, { "r", { { NULL } } }, SOME(0.60) },
	{ "where", { "q", { [SEMANTIC_WHERE] = { "a" } } }, { "r", { { NULL } } }, SOME(0.80) },
	{ "from", { "q", { [SEMANTIC_FROM] = { "a" } } }, { "r", { { NULL } } }, SOME(0.85) },
	{ "group", { "q", { [SEMANTIC_GROUP] = { "a" } } }, { "r", { { NULL } } }, SOME(0.90) },
	{ "order", { "q", { [SEMANTIC_ORDER] = { "a" } } }, { "r", { { NULL } } }, SOME(0.90) },
	{ "join", { "q", { [SEMANTIC_JOIN] = { "a" } } }, { "r", { { NULL } } }, SOME(0.95) },
};

static void semantic(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct semantic_query generated = query_of(&cases[i].generated, arena);
		struct semantic_query truth = query_of(&cases[i].truth, arena);
		struct semantic_comparison comparison;
		assert_opt_close(cases[i].name, semantic_score(&generated, &truth, arena, &comparison),
				 cases[i].expected);
		if (str_present(generated.canonical) && str_present(truth.canonical))
			assert_opt_close(cases[i].name,
					 semantic_score(&truth, &generated, arena, &comparison),
					 cases[i].expected);
	}
}

/* The score follows from what it says of the comparison. */
static void semantic_says_what_it_compared(void **state)
{
	static const struct {
		const char *name;
		struct written generated, truth;
		bool comparable, same_form;
		double clauses[SEMANTIC_CLAUSE_COUNT_];
	} compared[] = {
		{ "same", { "q", { { "a" } } }, { "q", { { "a" } } }, true, true, { 0 } },
		{ "no form", { NULL, { { "a" } } }, { "q", { { "a" } } }, false, false, { 0 } },
		{ "no form of the truth", { "q", { { "a" } } }, { NULL, { { "a" } } }, false, false, { 0 } },
		{ "other",
		  { "q", { [SEMANTIC_SELECT] = { "a", "b" }, [SEMANTIC_JOIN] = { "a" } } },
		  { "r", { [SEMANTIC_SELECT] = { "a" } } },
		  true,
		  false,
		  { 0.5, 1, 1, 1, 1, 0 } },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(compared); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct semantic_query generated = query_of(&compared[i].generated, arena);
		struct semantic_query truth = query_of(&compared[i].truth, arena);
		struct semantic_comparison comparison;
		semantic_score(&generated, &truth, arena, &comparison);
		print_message("%s\n", compared[i].name);
		assert_int_equal(comparison.comparable, compared[i].comparable);
		assert_int_equal(comparison.same_form, compared[i].same_form);
		for (size_t k = 0; k < SEMANTIC_CLAUSE_COUNT_; k++)
			assert_true(comparison.clauses[k] == compared[i].clauses[k]);
	}
}

#define TEXT(literal)                                                                                        \
	{                                                                                                    \
		(literal), sizeof(literal) - 1                                                               \
	}

static void tables(void **state)
{
	(void)state;
	static const str_t search_path[] = { TEXT("app"), TEXT("public") };
	static const struct {
		const char *name;
		str_t used[3];
		size_t used_count;
		str_t expected[3];
		size_t expected_count;
		double accuracy;
	} sets[] = {
		{ "both", { TEXT("users"), TEXT("orders") }, 2, { TEXT("orders"), TEXT("users") }, 2, 1 },
		{ "half", { TEXT("users") }, 1, { TEXT("users"), TEXT("orders") }, 2, 0.5 },
		{ "both empty", { TEXT("") }, 0, { TEXT("") }, 0, 1 },
		{ "one empty", { TEXT("") }, 0, { TEXT("users") }, 1, 0 },
		{ "any case", { TEXT("Users") }, 1, { TEXT("uSERS") }, 1, 1 },
		{ "on the search path",
		  { TEXT("public.users"), TEXT("APP.orders") },
		  2,
		  { TEXT("users"), TEXT("orders") },
		  2,
		  1 },
		{ "not on the search path", { TEXT("audit.users") }, 1, { TEXT("users") }, 1, 0 },
		{ "a schema's name is not a prefix", { TEXT("publicusers") }, 1, { TEXT("users") }, 1, 0 },
		{ "named twice",
		  { TEXT("users"), TEXT("USERS"), TEXT("public.users") },
		  3,
		  { TEXT("users") },
		  1,
		  1 },
		{ "one of three", { TEXT("a"), TEXT("b") }, 2, { TEXT("b"), TEXT("c") }, 2, 1.0 / 3 },
		{ "prefix of a name", { TEXT("user") }, 1, { TEXT("users") }, 1, 0 },
	};
	for (size_t i = 0; i < COUNT(sets); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		assert_close(sets[i].name,
			     semantic_table_accuracy(sets[i].used, sets[i].used_count, sets[i].expected,
						     sets[i].expected_count, search_path, COUNT(search_path),
						     arena),
			     sets[i].accuracy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structural),
		cmocka_unit_test(semantic),
		cmocka_unit_test(semantic_says_what_it_compared),
		cmocka_unit_test(tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
