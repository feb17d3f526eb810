/*
 * GeneratedQuery: an input event as a plain value (schemas/generated_query.avsc).
 *
 * Filled by the codec in the event's arena and never changed afterwards. Absent texts have a NULL pointer,
 * absent enumerations are −1, absent records are NULL: a missing value is never the same as 0.
 */
#pragma once

#include "common/str.h"

#define ENUM_ABSENT (-1)

enum query_dialect { DIALECT_POSTGRESQL, DIALECT_SQLITE, DIALECT_MYSQL, DIALECT_MONGODB };

enum source_type {
	SOURCE_GOVERNMENT,
	SOURCE_REGULATORY,
	SOURCE_MARKET_DATA,
	SOURCE_THIRD_PARTY,
	SOURCE_UNKNOWN
};

enum expected_failure { EXPECTED_SYNTAX, EXPECTED_SCHEMA, EXPECTED_SAFETY };

struct upstream_diagnostic {
	bool valid;
	str_t *errors;
	size_t errors_count;
	str_t *warnings;
	size_t warnings_count;
};

struct upstream_validator {
	opt_bool_t safety_valid;
	opt_bool_t is_valid;
	str_t *errors;
	size_t errors_count;
};

struct retrieved_chunk {
	str_t chunk_id;
	str_t document_id; /* or absent */
	int source_type;   /* enum source_type */
	opt_double_t bm25_score;
	opt_double_t dense_score;
	opt_double_t rrf_score;
	opt_double_t boosted_score;
	opt_double_t rerank_score;
	opt_double_t graph_boost;
	str_t unknown_source_type; /* a symbol that is none of ours; else absent */
};

struct retrieval {
	struct retrieved_chunk *chunks;
	size_t chunks_count;
};

struct model_response {
	str_t raw;
	str_t *required_fields;
	size_t required_fields_count;
	str_t *optional_fields;
	size_t optional_fields_count;
};

struct truth_row {
	str_t *cells; /* absent: NULL */
	size_t cells_count;
};

/* An answer given as a table; as it came: rows may be ragged. */
struct truth_table {
	str_t *columns;
	size_t columns_count;
	struct truth_row *rows;
	size_t rows_count;
	bool ordered;
};

struct truth_comparison {
	str_t *columns;
	size_t columns_count;
	opt_bool_t ignore_order;
	opt_double_t absolute_tolerance;
};

struct ground_truth {
	str_t sql; /* or absent */
	str_t *alternatives;
	size_t alternatives_count;
	struct truth_table *results;
	size_t results_count;
	struct truth_comparison *compare; /* or NULL */
	str_t question;			  /* or absent */
	opt_double_t similarity;	  /* 0..1 */
	str_t *tables;
	size_t tables_count;
	bool tables_set; /* the list was given: distinguishes [] from null */
	opt_bool_t should_pass;
	int expected_failure;		/* enum expected_failure or ENUM_ABSENT */
	str_t unknown_expected_failure; /* a symbol that is none of ours; else absent */
};

/* Another answer to the same question. */
struct candidate {
	str_t sql;
	str_t model; /* or absent: the event's */
};

struct attribute {
	str_t key;
	str_t value;
};

struct generated_query {
	str_t event_id;
	int64_t occurred_at; /* ms since 1970 */
	str_t application;
	str_t model;	      /* or absent */
	str_t prompt_version; /* or absent */
	str_t question;
	str_t sql;
	int dialect;	       /* enum query_dialect or ENUM_ABSENT */
	str_t unknown_dialect; /* a symbol that is none of ours; else absent */
	str_t target;	       /* or absent */
	opt_double_t generator_confidence;
	struct upstream_diagnostic *diagnostic; /* or NULL, likewise below */
	struct upstream_validator *validator;
	struct retrieval *retrieval;
	struct model_response *response;
	struct candidate *candidates;
	size_t candidates_count;
	struct ground_truth *ground_truth;
	struct attribute *attributes;
	size_t attributes_count;
};
