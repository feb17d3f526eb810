/*
 * Structure and meaning of a query against its ground truth. Pure; any thread; scratch memory from the
 * caller's arena.
 */
#pragma once

#include "common/arena.h"

/* 0 for SQL that is not valid, 0.5 for valid SQL with errors, else 1. */
double semantic_structural_score(bool valid, size_t errors);

/* Clauses that are compared, in the analysis' order. `where` includes having and set operations, `order` the
 * limit. */
enum semantic_clause {
	SEMANTIC_SELECT,
	SEMANTIC_WHERE,
	SEMANTIC_FROM,
	SEMANTIC_GROUP,
	SEMANTIC_ORDER,
	SEMANTIC_JOIN,
	SEMANTIC_CLAUSE_COUNT_
};

struct semantic_items {
	const str_t *items; /* canonical texts in any order; duplicates count */
	size_t count;
};

struct semantic_query {
	str_t canonical; /* canonical form, absent when the SQL does not parse */
	struct semantic_items clauses[SEMANTIC_CLAUSE_COUNT_];
};

/* What both are compared by. */
struct semantic_comparison {
	bool comparable; /* both have a canonical form */
	bool same_form;
	double clauses[SEMANTIC_CLAUSE_COUNT_]; /* multiset Jaccard; only of other forms */
};

/*
 * 1.0 when both have the same canonical form; else the sum over the clauses of weight × multiset Jaccard
 * (select 0.40, where 0.20, from 0.15, group 0.10, order 0.10, join 0.05; both empty 1, one empty 0), at most
 * 0.99. A generated query that does not parse has 0; against a truth that does not parse there is no score.
 */
opt_double_t semantic_score(const struct semantic_query *generated, const struct semantic_query *truth,
			    struct arena *arena, struct semantic_comparison *ret_comparison);

/* The same sum from clauses that were compared, of other forms than the truth's. */
double semantic_of_clauses(const double clauses[SEMANTIC_CLAUSE_COUNT_]);

/*
 * Jaccard of two sets of table names: in any case of letters, and schema-qualified names equal the
 * unqualified ones where the schema is on the search path. Both empty: 1.
 */
double semantic_table_accuracy(const str_t *used, size_t used_count, const str_t *expected,
			       size_t expected_count, const str_t *search_path, size_t search_path_count,
			       struct arena *arena);
