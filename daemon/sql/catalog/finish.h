/*
 * Inside of catalog_finish: from drafts in the builder's scratch memory to arrays in the catalog's arena.
 * Pure; the builder's thread.
 */
#pragma once

#include "sql/catalog/internal.h"

struct finish {
	struct catalog_builder *builder;
	struct catalog *catalog;
	struct arena *arena;
	struct err_detail *detail;
	struct id_pair *ids; /* in order of `from` */
	size_t ids_count;
	const struct type_list *type_uses; /* of the catalog's types */
	unsigned char *type_states;
	str_t last_schema; /* texts of schemas are shared */
};

struct id_pair {
	type_id from;
	type_id to;
};

/* finish_copy.c */

/* In order, for qsort: less than, equal to or greater than 0. */
int finish_compare_names(str_t schema_a, str_t a, str_t schema_b, str_t b);
int finish_compare_ids(type_id a, type_id b);
int finish_compare_pairs(const void *left, const void *right); /* of struct id_pair, by `from` */

/* qsort, but of nothing, too. */
void finish_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

/* Copies in the catalog's arena. */
str_t finish_copy_schema(struct finish *finish, str_t schema);
struct catalog_column *finish_copy_columns(struct finish *finish, const struct catalog_column *columns,
					   size_t count);

/* The id that a type has in the end, or TYPE_UNSURE. */
type_id finish_id(const struct finish *finish, type_id id);
/* The same of several, in `arena`. */
const type_id *finish_ids(const struct finish *finish, struct arena *arena, const type_id *ids, size_t count);

/* finish_types.c */

/* Numbers the types, copies and indexes them. False: `detail` says why. */
bool finish_types(struct finish *finish);

/* Volatility of the types by what they are made of; of something that also casts to `uses`. */
void finish_volatilities(struct finish *finish);
char finish_worst(struct finish *finish, char volatility, struct type_list uses);
