#include "score/semantic.h"

#include "score/number.h"

#define NOT_IDENTICAL_MAX 0.99

double semantic_structural_score(bool valid, size_t errors)
{
	if (!valid)
		return 0;
	return errors ? 0.5 : 1;
}

static int by_bytes(const void *a, const void *b)
{
	const str_t *left = a, *right = b;
	size_t shorter = left->len < right->len ? left->len : right->len;
	int order = shorter ? memcmp(left->ptr, right->ptr, shorter) : 0;
	return order ? order : (left->len > right->len) - (left->len < right->len);
}

static str_t *sorted_copy(const str_t *items, size_t count, struct arena *arena)
{
	str_t *copy = ARENA_ARRAY(arena, str_t, count);
	if (count)
		memcpy(copy, items, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, by_bytes);
	return copy;
}

/* Jaccard of two sorted bags: |a ∩ b| / |a ∪ b|, duplicates counting. */
static double jaccard(const str_t *a, size_t a_count, const str_t *b, size_t b_count)
{
	size_t common = 0;
	if (a_count + b_count == 0)
		return 1;
	for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
		int order = by_bytes(&a[i], &b[k]);
		common += order == 0;
		i += order <= 0;
		k += order >= 0;
	}
	return (double)common / (double)(a_count + b_count - common);
}

static double clause_score(const struct semantic_items *generated, const struct semantic_items *truth,
			   struct arena *arena)
{
	const str_t *a = sorted_copy(generated->items, generated->count, arena);
	const str_t *b = sorted_copy(truth->items, truth->count, arena);
	return jaccard(a, generated->count, b, truth->count);
}

double semantic_of_clauses(const double clauses[SEMANTIC_CLAUSE_COUNT_])
{
	static const double weights[SEMANTIC_CLAUSE_COUNT_] = {
		[SEMANTIC_SELECT] = 0.40, [SEMANTIC_WHERE] = 0.20, [SEMANTIC_FROM] = 0.15,
		[SEMANTIC_GROUP] = 0.10,  [SEMANTIC_ORDER] = 0.10, [SEMANTIC_JOIN] = 0.05,
	};
	double sum = 0;
	for (size_t i = 0; i < SEMANTIC_CLAUSE_COUNT_; i++)
		sum += weights[i] * clauses[i];
	return fmin(score_settle(sum), NOT_IDENTICAL_MAX);
}

opt_double_t semantic_score(const struct semantic_query *generated, const struct semantic_query *truth,
			    struct arena *arena, struct semantic_comparison *ret_comparison)
{
	*ret_comparison = (struct semantic_comparison){ false };
	if (!str_present(truth->canonical))
		return (opt_double_t)OPT_NONE;
	if (!str_present(generated->canonical))
		return opt_double(0);
	ret_comparison->comparable = true;
	ret_comparison->same_form = str_equal(generated->canonical, truth->canonical);
	if (ret_comparison->same_form)
		return opt_double(1);
	for (size_t i = 0; i < SEMANTIC_CLAUSE_COUNT_; i++)
		ret_comparison->clauses[i] = clause_score(&generated->clauses[i], &truth->clauses[i], arena);
	return opt_double(semantic_of_clauses(ret_comparison->clauses));
}

static str_t lower(str_t name, struct arena *arena)
{
	char *copy = arena_alloc(arena, name.len + 1);
	for (size_t i = 0; i < name.len; i++)
		copy[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] + 32) : name.ptr[i];
	return (str_t){ copy, name.len };
}

/* Takes the schema off a name where it is on the search path. */
static str_t unqualified(str_t name, const str_t *search_path, size_t search_path_count)
{
	for (size_t i = 0; i < search_path_count; i++) {
		size_t len = search_path[i].len;
		if (name.len > len + 1 && name.ptr[len] == '.' &&
		    strncasecmp(name.ptr, search_path[i].ptr, len) == 0)
			return (str_t){ name.ptr + len + 1, name.len - len - 1 };
	}
	return name;
}

static str_t *name_set(const str_t *names, size_t count, const str_t *search_path, size_t search_path_count,
		       struct arena *arena, size_t *ret_count)
{
	str_t *set = ARENA_ARRAY(arena, str_t, count);
	size_t unique = 0;
	for (size_t i = 0; i < count; i++)
		set[i] = unqualified(lower(names[i], arena), search_path, search_path_count);
	qsort(set, count, sizeof *set, by_bytes);
	for (size_t i = 0; i < count; i++) {
		if (unique == 0 || by_bytes(&set[unique - 1], &set[i]) != 0)
			set[unique++] = set[i];
	}
	*ret_count = unique;
	return set;
}

double semantic_table_accuracy(const str_t *used, size_t used_count, const str_t *expected,
			       size_t expected_count, const str_t *search_path, size_t search_path_count,
			       struct arena *arena)
{
	size_t a_count, b_count;
	const str_t *a = name_set(used, used_count, search_path, search_path_count, arena, &a_count);
	const str_t *b = name_set(expected, expected_count, search_path, search_path_count, arena, &b_count);
	return jaccard(a, a_count, b, b_count);
}
