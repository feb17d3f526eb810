/*
 * Queries of MongoDB for tests, drawn from a seed as a plan: one plan is written in many ways that all mean
 * the same (find and pipeline, $and of one, ranges in two stages, other types of equal numbers, …), and a
 * change of a plan is another query. All of it is Extended JSON and knows nothing of the program that is
 * tested.
 *
 * The data are those of `mongodb_queries_data`: `items`, of which `id` is a key, and `orders`.
 */
#pragma once

#include <bson/bson.h> // first: it calls what banned.h forbids

#include "common/buf.h"

enum { QUERY_CONDITIONS = 3, QUERY_OUTPUTS = 4, QUERY_KEYS = 3 };

/* The same seed draws the same. `plain`: whatever can be written in several ways is written in the first. */
struct dice {
	uint64_t state;
	bool plain;
};

unsigned dice_draw(struct dice *dice, unsigned below);

struct query_field;

enum query_operator {
	EQ,
	NE,
	GT,
	GTE,
	LT,
	LTE,
	IN,
	NIN,
	RANGE,
	EXISTS,
	ABSENT,
	MOD,
	PREFIX,
	SIZE,
	ELEM,
	EXPR
};

struct query_condition {
	const struct query_field *field;
	enum query_operator operator;
	int a, b; /* numbers of values of the field's kind */
};

/* Of a row: a field alone, or computed; of a group: an accumulator. */
enum query_computing {
	PLAIN,
	ADD,
	SUBTRACT,
	MULTIPLY,
	CHOOSE,
	OTHERWISE,
	UPPER,
	YEAR,
	LENGTH,
	BETWEEN,
	CONSTANT
};

enum query_accumulator { COUNT, SUM, AVG, MIN, MAX, SUM_ABOVE };

struct query_output {
	const struct query_field *field;
	enum query_computing computing;
	enum query_accumulator accumulator;
	int constant;
};

struct query_key {
	const struct query_field *field; /* of a group: NULL, its key; or else by `output` */
	int output;
	bool descending;
};

enum query_kind { ROWS, ALL_FIELDS, GROUP, COUNTED, SORTED_COUNT, DISTINCT, ONE };

struct query_plan {
	enum query_kind kind;
	bool orders; /* of the other collection */
	struct query_condition conditions[QUERY_CONDITIONS];
	size_t conditions_count;
	const struct query_field *unwound; /* an array, or NULL */
	bool unwound_outer;
	bool joined; /* with the other collection */
	const struct query_field *group;
	struct query_output outputs[QUERY_OUTPUTS];
	size_t outputs_count;
	struct query_key keys[QUERY_KEYS];
	size_t keys_count;
	bool total;	  /* the keys leave no ties */
	bool breaks_ties; /* a further key may decide where they do */
	int skip, limit;
	bool limit_first; /* and then the skip */
	bool late;	  /* the last condition is one of what the cut leaves */
	bool id_shown;
	bool shown_first; /* sorted by what the projection has left */
};

/* A query that is written; each part is Extended JSON, and empty where there is none. */
struct query_text {
	const char *collection;
	const char *key; /* of a distinct */
	bool counts, finds_one, aggregates;
	struct buf filter, projection, sort, pipeline;
	int skip, limit;
	char names[QUERY_OUTPUTS + 1][24]; /* of the fields that come out, in the plan's order */
	size_t names_count;		   /* 0: all of the documents' */
};

/* Commands, in Extended JSON, that insert the documents. The caller frees both. */
void mongodb_queries_data(uint64_t seed, struct buf *ret_items, struct buf *ret_orders);

struct query_plan query_draw(struct dice *dice);

/* Changes something. Returns what, or NULL where that is nothing that the plan has. */
const char *query_change(struct query_plan *plan, struct dice *dice);

/* Whether the rows that come out are up to the server. */
bool query_is_open(const struct query_plan *plan);

void query_write(const struct query_plan *plan, struct dice *dice, struct query_text *ret_text);
void query_text_free(struct query_text *text);

/* A find, aggregate, count or distinct. The caller destroys it. */
bson_t *query_command(const struct query_text *text);

/* The same for people and programs: mongosh, a command document or Extended JSON of one. The caller frees it.
 */
void query_spell(const struct query_text *text, struct dice *dice, struct buf *ret_text);
