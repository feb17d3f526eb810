#include "tests/harness/mutators/sql_mutants_internal.h"

enum { TRIES_MAX = 40 };

static const struct {
	const char *name;
	unsigned weight;
	bool (*apply)(struct mutation *mutation);
} kinds[] = {
#define MUTATION(name, weight) { #name, weight, mutate_##name },
#include "tests/harness/mutators/sql_mutations.def"
#undef MUTATION
};

static size_t random_kind(struct mutation *mutation)
{
	size_t sum = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		sum += kinds[i].weight;
	size_t chosen = mutation_random(mutation, sum), kind = 0;
	while (chosen >= kinds[kind].weight)
		chosen -= kinds[kind++].weight;
	return kind;
}

/* One change; what cannot be changed so is changed otherwise. */
static const char *change(struct mutation *mutation)
{
	for (unsigned i = 0; i < TRIES_MAX && mutation->count > 0; i++) {
		size_t kind = random_kind(mutation);
		str_t before = mutation->sql;
		if (kinds[kind].apply(mutation) && mutation->count > 0 && !str_equal(before, mutation->sql))
			return kinds[kind].name;
		mutation_read(mutation, before);
	}
	mutation_read(mutation, arena_printf(mutation->arena, STR_FMT " x x", STR_ARG(mutation->sql)));
	return "appended";
}

struct sql_mutant sql_mutate(str_t sql, const struct sql_vocabulary *vocabulary, uint64_t seed,
			     struct arena *arena)
{
	struct mutation *mutation = ARENA_NEW(arena, struct mutation);
	*mutation = (struct mutation){ .random = seed, .vocabulary = vocabulary, .arena = arena };
	mutation_read(mutation, arena_str(arena, sql));
	const char *kind = change(mutation);
	if (mutation_random(mutation, 5) == 0) {
		const char *second = change(mutation);
		kind = str_equal(mutation->sql, sql) ? change(mutation) : second;
	}
	return (struct sql_mutant){ mutation->sql, kind };
}
