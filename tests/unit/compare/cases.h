/*
 * Notation of the comparison's tables. Every case is named after the fault that it guards against, and says
 * why what is expected is right; expected values are derived by hand.
 *
 * A class of cells is one letter: u unknown, i integer, d decimal, f float, b boolean, t text, D date, c
 * time, m timestamp, z timestamp with zone, v interval, x bytes, j JSON, a array, A array of texts, $ money,
 * n nothing but NULL. Columns are written "name:class|name:class", rows as cells parted by | with a line end
 * each; \N is NULL.
 */
#pragma once

#include "compare/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum given {
	ORDERED = 1,
	LIMITED = 2,
	HIDDEN_KEY = 4, /* the only sort key is no output column */
	GENERATED_TRUNCATED = 8,
	TRUTH_TRUNCATED = 16,
	KEY_1 = 32,    /* the sort key is column 1 instead of 0 */
	TWO_KEYS = 64, /* columns 0 and 1 */
	HIDDEN_SECOND_KEY = 128,
};

enum expected {
	COLUMNS_DIFFER = 1,
	COUNTS_DIFFER = 2,
	CUT_TIE = 4,
};

struct compare_case {
	const char *fault, *reason;
	const char *generated_columns, *generated_rows, *truth_columns, *truth_rows;
	unsigned given;
	unsigned expected;
	double score, rate;
};

/* Two values, alone in a column and a row. NULL: NULL. */
struct value_case {
	const char *fault, *reason;
	char generated_class;
	const char *generated;
	char truth_class;
	const char *truth;
	bool equal;
};

static inline enum cell_class class_of(char letter)
{
	static const char letters[] = "uidfbtDcmzvxjaA$n";
	const char *found = strchr(letters, letter);
	assert_non_null(found);
	return (enum cell_class)(found - letters);
}

static inline str_t read_part(struct arena *arena, const char **at, const char *stops)
{
	size_t len = strcspn(*at, stops);
	str_t text = arena_text(arena, *at, len);
	*at += len;
	return text;
}

static inline size_t count_bytes(const char *text, const char *bytes)
{
	size_t count = 0;
	for (; *text; text++)
		count += strchr(bytes, *text) != NULL;
	return count;
}

static inline struct result_set read_set(struct arena *arena, const char *columns, const char *rows)
{
	struct result_column *list = ARENA_ARRAY(arena, struct result_column, count_bytes(columns, "|") + 1);
	str_t *cells = ARENA_ARRAY(arena, str_t, count_bytes(rows, "|\n"));
	struct result_set set = { .columns = list, .cells = cells };
	for (const char *at = columns; *at; at += *at == '|') {
		list[set.columns_count].name = read_part(arena, &at, ":");
		list[set.columns_count++].type = class_of(at[1]);
		at += 2;
	}
	size_t count = 0;
	for (const char *at = rows; *at; at++) {
		str_t cell = read_part(arena, &at, "|\n");
		cells[count++] = str_is(cell, "\\N") ? STR_NONE : cell;
		set.rows_count += *at == '\n';
	}
	assert_int_equal(count, set.rows_count * set.columns_count);
	return set;
}

static inline struct compare_verdict compare_case(const struct compare_case *item, struct arena *arena)
{
	struct result_set generated = read_set(arena, item->generated_columns, item->generated_rows);
	struct result_set truth = read_set(arena, item->truth_columns, item->truth_rows);
	struct compare_order_key keys[2] = { { item->given & KEY_1 ? 1 : 0 }, { 1 } };
	struct compare_options options = {
		.ordered = item->given & ORDERED,
		.order_keys = keys,
		.order_keys_count = item->given & HIDDEN_KEY ? 0
				    : item->given & TWO_KEYS ? 2
							     : 1,
		.all_keys_visible = !(item->given & (HIDDEN_KEY | HIDDEN_SECOND_KEY)),
		.limited = item->given & LIMITED,
	};
	generated.truncated = item->given & GENERATED_TRUNCATED;
	truth.truncated = item->given & TRUTH_TRUNCATED;
	struct compare_verdict verdict;
	compare_results(&generated, &truth, &options, arena, &verdict);
	return verdict;
}

static inline void check_verdict(const struct compare_case *item, const struct compare_verdict *verdict)
{
	if (fabs(verdict->score - item->score) > 1e-12 ||
	    fabs(verdict->content_match_rate - item->rate) > 1e-12)
		fail_msg("%s (%s): score %.4f (expected %.4f), rate %.4f (expected %.4f)", item->fault,
			 item->reason, verdict->score, item->score, verdict->content_match_rate, item->rate);
	bool truncated = item->given & (GENERATED_TRUNCATED | TRUTH_TRUNCATED);
	if (verdict->schema_match == (item->expected & COLUMNS_DIFFER) ||
	    verdict->row_count_match != !(item->expected & COUNTS_DIFFER) ||
	    verdict->limit_cut_tie != !!(item->expected & CUT_TIE) || verdict->truncated != truncated ||
	    verdict->ordering_matters != !!(item->given & ORDERED))
		fail_msg("%s (%s): schema %d, row count %d, cut tie %d, truncated %d, ordering %d",
			 item->fault, item->reason, verdict->schema_match, verdict->row_count_match,
			 verdict->limit_cut_tie, verdict->truncated, verdict->ordering_matters);
}

static inline void check_case(const struct compare_case *item)
{
	struct arena *arena = arena_new();
	struct compare_verdict verdict = compare_case(item, arena);
	check_verdict(item, &verdict);
	arena_free(arena);
}

static inline double compare_values(char generated_class, const char *generated, char truth_class,
				    const char *truth)
{
	static const struct compare_options unordered = { 0 };
	struct arena *arena = arena_new();
	struct result_column columns[2] = { { STR("value"), class_of(generated_class) },
					    { STR("value"), class_of(truth_class) } };
	str_t cells[2] = { str_from(generated), str_from(truth) };
	struct result_set sets[2] = { { &columns[0], 1, &cells[0], 1, false },
				      { &columns[1], 1, &cells[1], 1, false } };
	struct compare_verdict verdict;
	compare_results(&sets[0], &sets[1], &unordered, arena, &verdict);
	arena_free(arena);
	return verdict.score;
}

/* Equality of values does not depend on the side. */
static inline void check_value(const struct value_case *item)
{
	double there = compare_values(item->generated_class, item->generated, item->truth_class, item->truth);
	double back = compare_values(item->truth_class, item->truth, item->generated_class, item->generated);
	double expected = item->equal ? 1 : 0;
	if (fabs(there - expected) > 0 || fabs(back - expected) > 0)
		fail_msg("%s (%s): score %.4f, sides exchanged %.4f, expected %.0f", item->fault,
			 item->reason, there, back, expected);
}

#define CHECK_ALL(cases, check)                                                                              \
	for (size_t i_ = 0; i_ < sizeof(cases) / sizeof *(cases); i_++)                                      \
	check(&(cases)[i_])
