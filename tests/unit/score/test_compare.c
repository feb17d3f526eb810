/* Comparison of result sets: each case is named after the fault that it guards against. */
#include "score/compare.h"

#include "common/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST_COLUMNS 8
#define MOST_CELLS   4096

/* Result sets are written as "name:class|…" and rows of cells parted by | with a line end each; \N is NULL.
 */
static enum cell_class class_of(char letter)
{
	static const char letters[] = "uidfbtDcmzvxjan";
	const char *found = strchr(letters, letter);
	assert_non_null(found);
	return (enum cell_class)(found - letters);
}

static str_t part(struct arena *arena, const char **at, const char *stops)
{
	size_t len = strcspn(*at, stops);
	str_t text = arena_text(arena, *at, len);
	*at += len;
	return text;
}

static struct result_set read_set(struct arena *arena, const char *columns, const char *rows)
{
	struct result_column *list = ARENA_ARRAY(arena, struct result_column, MOST_COLUMNS);
	str_t *cells = ARENA_ARRAY(arena, str_t, MOST_CELLS);
	struct result_set set = { .columns = list, .cells = cells };
	for (const char *at = columns; *at; at += *at == '|') {
		list[set.columns_count].name = part(arena, &at, ":");
		list[set.columns_count++].type = class_of(at[1]);
		at += 2;
	}
	size_t count = 0;
	for (const char *at = rows; *at; at++) {
		str_t cell = part(arena, &at, "|\n");
		cells[count++] = str_is(cell, "\\N") ? STR_NONE : cell;
		set.rows_count += *at == '\n';
	}
	assert_int_equal(count, set.rows_count * set.columns_count);
	return set;
}

enum {
	ORDERED = 1,
	LIMITED = 2,
	HIDDEN_KEY = 4,
	GENERATED_TRUNCATED = 8,
	TRUTH_TRUNCATED = 16,
	KEY_1 = 32,
	TWO_KEYS = 64
};

struct compare_case {
	const char *fault;
	const char *generated_columns, *generated_rows, *truth_columns, *truth_rows;
	unsigned flags;
	double score;
	double rate;
	bool cut_tie;
};

static struct compare_verdict compare_case(const struct compare_case *item, struct arena *arena)
{
	struct result_set generated = read_set(arena, item->generated_columns, item->generated_rows);
	struct result_set truth = read_set(arena, item->truth_columns, item->truth_rows);
	struct compare_order_key keys[2] = { { item->flags & KEY_1 ? 1 : 0 }, { 1 } };
	struct compare_options options = {
		.ordered = item->flags & ORDERED,
		.order_keys = keys,
		.order_keys_count = item->flags & HIDDEN_KEY ? 0
				    : item->flags & TWO_KEYS ? 2
							     : 1,
		.all_keys_visible = !(item->flags & HIDDEN_KEY),
		.limited = item->flags & LIMITED,
	};
	generated.truncated = item->flags & GENERATED_TRUNCATED;
	truth.truncated = item->flags & TRUTH_TRUNCATED;
	struct compare_verdict verdict;
	compare_results(&generated, &truth, &options, arena, &verdict);
	return verdict;
}

static void check_case(const struct compare_case *item)
{
	struct arena *arena = arena_new();
	struct compare_verdict verdict = compare_case(item, arena);
	if (fabs(verdict.score - item->score) > 1e-12 ||
	    fabs(verdict.content_match_rate - item->rate) > 1e-12 || verdict.limit_cut_tie != item->cut_tie)
		fail_msg("%s: score %.4f (expected %.4f), rate %.4f (expected %.4f), cut tie %d", item->fault,
			 verdict.score, item->score, verdict.content_match_rate, item->rate,
			 verdict.limit_cut_tie);
	arena_free(arena);
}

#define CHECK_ALL(cases)                                                                                     \
	for (size_t i_ = 0; i_ < sizeof(cases) / sizeof *(cases); i_++)                                      \
	check_case(&(cases)[i_])

static void test_ladder(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "empty against empty is not perfect", "a:i", "", "a:i", "", 0, 1, 1, false },
		{ "empty against rows passes", "a:i", "", "a:i", "1\n", 0, 0.3, 0, false },
		{ "rows against empty pass", "a:i", "1\n", "a:i", "", 0, 0.3, 0, false },
		{ "an extra column passes", "a:i|b:i", "1|2\n", "a:i", "1\n", 0, 0.1, 0, false },
		{ "a missing column passes", "a:i", "1\n", "a:i|b:i", "1|2\n", 0, 0.1, 0, false },
		{ "columns are counted after rows", "a:i", "1\n2\n", "a:i|b:i", "1|2\n", 0, 0.1, 0, false },
		{ "columns are not counted when empty", "a:i", "", "a:i|b:i", "", 0, 0.1, 0, false },
		{ "a row count mismatch goes by the rate", "a:i", "1\n2\n3\n", "a:i", "1\n2\n", 0, 0.3,
		  2.0 / 3, false },
		{ "a rate on the step 0.80 falls below it", "a:i", "1\n2\n3\n4\n9\n", "a:i",
		  "1\n2\n3\n4\n5\n", 0, 0.8, 0.8, false },
		{ "a rate below all steps is rounded", "a:i", "1\n2\n9\n", "a:i", "1\n2\n3\n", 0, 2.0 / 3,
		  2.0 / 3, false },
		{ "nothing in common scores", "a:i", "1\n2\n", "a:i", "3\n4\n", 0, 0, 0, false },
		{ "a rate on the step 0.95 falls below it", "a:i",
		  "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n99\n", "a:i",
		  "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n", 0, 0.95, 0.95,
		  false },
		{ "a truncated result is held to its row count", "a:i", "1\n2\n3\n", "a:i", "1\n2\n3\n4\n",
		  GENERATED_TRUNCATED, 0.75, 0.75, false },
	};
	CHECK_ALL(cases);
}

static void test_rows(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "rows are sets instead of bags", "a:i", "1\n1\n2\n", "a:i", "1\n2\n2\n", 0, 2.0 / 3,
		  2.0 / 3, false },
		{ "duplicates are folded", "a:i", "1\n1\n", "a:i", "1\n", 0, 0.3, 0.5, false },
		{ "order matters without ORDER BY", "a:i", "3\n1\n2\n", "a:i", "1\n2\n3\n", 0, 1, 1, false },
		{ "columns are sorted apart so scrambled rows pass", "a:i|b:t", "1|x\n2|y\n", "a:i|b:t",
		  "1|y\n2|x\n", 0, 0, 0, false },
		{ "scrambled numbers pass", "a:f|b:f", "1|2\n3|4\n", "a:f|b:f", "1|4\n3|2\n", 0, 0, 0,
		  false },
		{ "cells run together", "a:t|b:t", "ab|c\n", "a:t|b:t", "a|bc\n", 0, 0, 0, false },
		{ "NULL equals the empty text", "a:t", "\\N\n", "a:t", "\n", 0, 0, 0, false },
		{ "NULL equals zero", "a:i", "\\N\n", "a:i", "0\n", 0, 0, 0, false },
		{ "NULL equals the text NULL", "a:t", "NULL\n", "a:t", "\\N\n", 0, 0, 0, false },
		{ "NULL differs from NULL", "a:i|b:t", "\\N|x\n", "a:i|b:t", "\\N|x\n", 0, 1, 1, false },
		{ "a column of NULLs decides the class", "a:n", "\\N\n\\N\n", "a:i", "\\N\n1\n", 0, 0.5, 0.5,
		  false },
		{ "close values in a chain are matched greedily", "a:f", "0.00009\n0\n", "a:f",
		  "0\n-0.00009\n", 0, 1, 1, false },
		{ "a chain in two columns loses a pair", "a:f|b:f", "0|0\n0.00009|0.00009\n", "a:f|b:f",
		  "-0.00009|-0.00009\n0|0\n", 0, 1, 1, false },
		{ "a chain makes far values equal", "a:f", "0\n0.00009\n0.00018\n", "a:f",
		  "0.0004\n0.00009\n0.0005\n", 0, 1.0 / 3, 1.0 / 3, false },
		{ "a partner is used twice", "a:f|b:t", "1|x\n1.00001|x\n", "a:f|b:t", "1|x\n2|x\n", 0, 0.5,
		  0.5, false },
		{ "close in one column is enough", "a:f|b:f", "1|1\n2|2\n", "a:f|b:f",
		  "1.00001|2\n2.00001|1\n", 0, 0, 0, false },
	};
	CHECK_ALL(cases);
}

static void test_columns(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "permuted columns fail", "b:t|a:i", "x|1\ny|2\n", "a:i|b:t", "1|x\n2|y\n", 0, 1, 1, false },
		{ "letter case of names matters", "TOTAL:i", "1\n", "total:i", "1\n", 0, 1, 1, false },
		{ "blanks in names matter", " a :i|b:i", "1|2\n", "b:i|a:i", "2|1\n", 0, 1, 1, false },
		{ "renamed column fails", "sum(amount):d", "10.50\n20\n", "total:d", "10.5\n20\n", 0, 1, 1,
		  false },
		{ "renamed and permuted columns fail", "n:i|who:t", "3|ann\n5|bob\n", "name:t|count:i",
		  "ann|3\nbob|5\n", 0, 1, 1, false },
		{ "swapped names pass by content", "a:i|b:i", "1|9\n2|8\n", "a:i|b:i", "9|1\n8|2\n", 0, 0, 0,
		  false },
		{ "duplicate names pair by place only", "id:i|id:i", "7|1\n8|2\n", "id:i|id:i", "1|7\n2|8\n",
		  0, 1, 1, false },
		{ "equal bags are paired blindly", "x:i|y:i|k:t", "1|2|p\n2|1|q\n3|3|r\n", "u:i|v:i|k:t",
		  "2|1|p\n1|2|q\n3|3|r\n", 0, 1, 1, false },
		{ "columns that form a cycle are paired once", "x:i|y:i", "2|1\n3|2\n1|3\n", "u:i|v:i",
		  "1|2\n2|3\n3|1\n", 0, 1, 1, false },
		{ "one wrong cell breaks the pairing", "x:t|y:i", "a|1\nb|2\nc|3\nd|4\ne|6\n", "n:i|m:t",
		  "1|a\n2|b\n3|c\n4|d\n5|e\n", 0, 0.8, 0.8, false },
		{ "classes stop the pairing", "x:t|y:t", "12|ann\n13|bob\n", "name:t|age:i",
		  "ann|12\nbob|13\n", 0, 1, 1, false },
		{ "noise stops the pairing", "x:f|y:f", "0.30000000000000004|5\n0.7|6\n", "p:d|q:d",
		  "5|0.3\n6|0.7\n", 0, 1, 1, false },
		{ "columns without names fail", ":i|:t", "1|x\n", ":t|:i", "x|1\n", 0, 1, 1, false },
		{ "identical columns confuse", "a:i|b:i|c:i", "1|1|2\n3|3|4\n", "x:i|y:i|z:i",
		  "2|1|1\n4|3|3\n", 0, 1, 1, false },
	};
	CHECK_ALL(cases);
}

static void test_numbers(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "decimal differs from float", "a:d", "123.45\n", "a:f", "123.45\n", 0, 1, 1, false },
		{ "a text-typed number column differs", "a:t", "123.450\n", "a:d", "123.45\n", 0, 1, 1,
		  false },
		{ "integer differs from decimal", "a:i", "5\n", "a:d", "5.00\n", 0, 1, 1, false },
		{ "an exponent is text", "a:f", "1.5e+20\n", "a:d", "150000000000000000000\n", 0, 1, 1,
		  false },
		{ "tolerance by rounding buckets", "a:f", "0.00004999\n", "a:f", "0.00005001\n", 0, 1, 1,
		  false },
		{ "values on both sides of a bucket border", "a:f", "1.00005\n1.00015\n", "a:f",
		  "1.00006\n1.00014\n", 0, 1, 1, false },
		{ "the absolute tolerance excludes its border", "a:d", "100.0001\n", "a:d", "100\n", 0, 1, 1,
		  false },
		{ "the absolute tolerance is too wide", "a:d", "100.00011\n", "a:d", "100\n", 0, 0, 0,
		  false },
		{ "the relative tolerance is missing", "a:d", "1000000000000.5\n", "a:d", "1000000000001\n",
		  0, 1, 1, false },
		{ "the relative tolerance is too wide", "a:d", "1000000000000\n", "a:d", "1000000002000\n", 0,
		  0, 0, false },
		{ "negative zero differs", "a:f", "-0\n", "a:f", "0\n", 0, 1, 1, false },
		{ "NaN differs from NaN", "a:f", "NaN\n", "a:f", "nan\n", 0, 1, 1, false },
		{ "NaN equals a number", "a:f", "NaN\n", "a:f", "0\n", 0, 0, 0, false },
		{ "infinities differ", "a:f", "Infinity\n", "a:f", "inf\n", 0, 1, 1, false },
		{ "the sign of infinity is lost", "a:f", "-Infinity\n", "a:f", "Infinity\n", 0, 0, 0, false },
		{ "unknown classes compare as text", "a:u", "1.0\n", "a:u", "1\n", 0, 1, 1, false },
		{ "an unknown class beside a text is text", "a:u", "02\n", "a:t", "2\n", 0, 1, 1, false },
		{ "a text beside an unknown class is text", "a:t", "02\n", "a:u", "2\n", 0, 1, 1, false },
		{ "leading zeros of a text are lost", "a:t", "007\n", "a:t", "7\n", 0, 0, 0, false },
		{ "a number with a tail is a number", "a:u", "12abc\n", "a:u", "12\n", 0, 0, 0, false },
		{ "hexadecimal is a number", "a:u", "0x10\n", "a:u", "16\n", 0, 0, 0, false },
	};
	CHECK_ALL(cases);
}

static void test_text_and_booleans(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "padding of texts matters", "a:t", "  ann \n", "a:t", "ann\n", 0, 1, 1, false },
		{ "letter case of texts is lost", "a:t", "Ann\n", "a:t", "ann\n", 0, 0, 0, false },
		{ "blanks inside of texts are lost", "a:t", "a b\n", "a:t", "ab\n", 0, 0, 0, false },
		{ "boolean differs from 0 and 1", "a:b", "t\nf\n", "a:i", "1\n0\n", 0, 1, 1, false },
		{ "boolean differs from an unknown 1", "a:u", "1\n", "a:b", "t\n", 0, 1, 1, false },
		{ "boolean differs from its text", "a:t", "true\nfalse\n", "a:b", "t\nf\n", 0, 1, 1, false },
		{ "every number is true", "a:b", "t\n", "a:i", "2\n", 0, 0, 0, false },
		{ "true equals false", "a:b", "t\n", "a:b", "f\n", 0, 0, 0, false },
		{ "bytes are numbers", "a:x", "00\n", "a:x", "0000\n", 0, 0, 0, false },
	};
	CHECK_ALL(cases);
}

static void test_times(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "the T of ISO 8601 matters", "a:t", "2024-03-01T12:00:00\n", "a:m", "2024-03-01 12:00:00\n",
		  0, 1, 1, false },
		{ "the zone is dropped", "a:z", "2024-03-01 12:00:00+02\n", "a:z", "2024-03-01 12:00:00+00\n",
		  0, 0, 0, false },
		{ "zones are compared as text", "a:z", "2024-03-01 14:00:00+02\n", "a:z",
		  "2024-03-01T12:00:00Z\n", 0, 1, 1, false },
		{ "half-hour zones are cut", "a:z", "2024-03-01 17:30:00+05:30\n", "a:z",
		  "2024-03-01 12:00:00+0000\n", 0, 1, 1, false },
		{ "no zone is not UTC", "a:m", "2024-03-01 12:00:00\n", "a:z", "2024-03-01 12:00:00+00\n", 0,
		  1, 1, false },
		{ "a date differs from its midnight", "a:D", "2024-03-01\n", "a:m", "2024-03-01 00:00:00\n",
		  0, 1, 1, false },
		{ "a date equals a later time of its day", "a:D", "2024-03-01\n", "a:m",
		  "2024-03-01 00:00:01\n", 0, 0, 0, false },
		{ "trailing zeros of a fraction matter", "a:m", "2024-03-01 12:00:00.500\n", "a:m",
		  "2024-03-01 12:00:00.5\n", 0, 1, 1, false },
		{ "microseconds are lost", "a:m", "2024-03-01 12:00:00.000001\n", "a:m",
		  "2024-03-01 12:00:00.000002\n", 0, 0, 0, false },
		{ "dates of a database without dates are text", "a:t", "2024-03-01 00:00:00\n", "a:t",
		  "2024-03-01\n", 0, 1, 1, false },
		{ "leap days shift", "a:z", "2024-02-29 23:30:00-01\n", "a:D", "2024-03-01\n", 0, 0, 0,
		  false },
		{ "the day after a leap day shifts", "a:z", "2024-02-29 23:00:00-01\n", "a:D", "2024-03-01\n",
		  0, 1, 1, false },
		{ "dates before 1970 shift", "a:z", "1899-12-31 23:00:00-01\n", "a:D", "1900-01-01\n", 0, 1,
		  1, false },
		{ "a date that does not exist is a date", "a:t", "2023-02-29\n", "a:D", "2023-03-01\n", 0, 0,
		  0, false },
		{ "infinite dates fail", "a:D", "infinity\n", "a:D", "infinity\n", 0, 1, 1, false },
		{ "seconds of a time are required", "a:c", "12:30:00\n", "a:t", "12:30\n", 0, 1, 1, false },
		{ "intervals are compared as text", "a:v", "1 day 02:00:00\n", "a:v", "26:00:00\n", 0, 1, 1,
		  false },
		{ "months of intervals are lost", "a:v", "1 mon\n", "a:v", "30 days\n", 0, 1, 1, false },
		{ "signs of intervals are lost", "a:v", "-1 days +02:00:00\n", "a:v", "-22:00:00\n", 0, 1, 1,
		  false },
		{ "different intervals pass", "a:v", "1 day\n", "a:v", "1 day 00:00:01\n", 0, 0, 0, false },
	};
	CHECK_ALL(cases);
}

static void test_documents(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "order of JSON members matters", "a:j", "{\"b\": 1, \"a\": [true, null]}\n", "a:j",
		  "{\"a\":[true,null],\"b\":1.0}\n", 0, 1, 1, false },
		{ "order of JSON lists is lost", "a:j", "[1,2]\n", "a:j", "[2,1]\n", 0, 0, 0, false },
		{ "JSON escapes differ from their characters", "a:j", "\"\\u00e9\\n\"\n", "a:j", "\"é\\n\"\n",
		  0, 1, 1, false },
		{ "surrogate pairs break", "a:j", "\"\\ud83d\\ude00\"\n", "a:j", "\"😀\"\n", 0, 1, 1, false },
		{ "JSON numbers have no tolerance", "a:j", "{\"x\": 0.30000000000000004}\n", "a:j",
		  "{\"x\": 0.3}\n", 0, 1, 1, false },
		{ "JSON numbers equal texts inside", "a:j", "{\"x\": 1}\n", "a:j", "{\"x\": \"1\"}\n", 0, 0,
		  0, false },
		{ "the first of two members counts", "a:j", "{\"x\":1,\"x\":2}\n", "a:j", "{\"x\":2}\n", 0, 1,
		  1, false },
		{ "JSON null equals NULL", "a:j", "null\n", "a:j", "\\N\n", 0, 0, 0, false },
		{ "JSON in a text column fails", "a:t", "{ \"x\" : [ ] }\n", "a:j", "{\"x\":[]}\n", 0, 1, 1,
		  false },
		{ "a JSON string differs from its text", "a:j", "\"ann\"\n", "a:t", "ann\n", 0, 1, 1, false },
		{ "broken JSON equals whole JSON", "a:j", "{\"x\":1\n", "a:j", "{\"x\":1}\n", 0, 0, 0,
		  false },
		{ "members swap their numbers", "a:j", "{\"x\":1,\"y\":2}\n", "a:j", "{\"y\":1,\"x\":2}\n", 0,
		  0, 0, false },
		{ "array elements have no tolerance", "a:a", "{1.000001,2}\n", "a:a", "{1,2}\n", 0, 1, 1,
		  false },
		{ "quotes of array elements matter", "a:a", "{\"ann\",NULL}\n", "a:a", "{ann,NULL}\n", 0, 1,
		  1, false },
		{ "the quoted word NULL is NULL", "a:a", "{\"NULL\"}\n", "a:a", "{NULL}\n", 0, 0, 0, false },
		{ "array differs from JSON", "a:a", "{{1,2},{3,4}}\n", "a:j", "[[1, 2], [3, 4]]\n", 0, 1, 1,
		  false },
		{ "null and infinity run together", "a:a", "{NULL,inf}\n", "a:a", "{-inf}\n", 0, 0, 0,
		  false },
		{ "subscripts of arrays matter", "a:a", "[0:1]={1,2}\n", "a:a", "{1,2}\n", 0, 1, 1, false },
	};
	CHECK_ALL(cases);
}

static void test_order(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "order is ignored", "a:i", "3\n2\n1\n", "a:i", "1\n2\n3\n", ORDERED, 1.0 / 3, 1.0 / 3,
		  false },
		{ "ties are punished", "k:i|v:t", "1|b\n1|a\n2|c\n", "k:i|v:t", "1|a\n1|b\n2|c\n", ORDERED, 1,
		  1, false },
		{ "ties swallow what does not tie", "k:i|v:t", "1|a\n2|c\n1|b\n", "k:i|v:t",
		  "1|a\n1|b\n2|c\n", ORDERED, 1.0 / 3, 1.0 / 3, false },
		{ "only the first key counts", "k:i|v:t", "1|b\n1|a\n", "k:i|v:t", "1|a\n1|b\n",
		  ORDERED | TWO_KEYS, 0, 0, false },
		{ "keys are looked up by place", "v:t|k:i", "b|1\na|1\nc|2\n", "k:i|v:t", "1|a\n1|b\n2|c\n",
		  ORDERED, 1, 1, false },
		{ "hidden keys free the order", "v:t", "b\na\n", "v:t", "a\nb\n", ORDERED | HIDDEN_KEY, 0, 0,
		  false },
		{ "hidden keys tell twins apart", "v:t", "a\na\nb\n", "v:t", "a\na\nb\n",
		  ORDERED | HIDDEN_KEY, 1, 1, false },
		{ "NULL keys do not tie", "k:i|v:t", "\\N|b\n\\N|a\n", "k:i|v:t", "\\N|a\n\\N|b\n", ORDERED,
		  1, 1, false },
		{ "keys within the tolerance tie", "k:f|v:t", "1|b\n1.00001|a\n", "k:f|v:t",
		  "1|a\n1.00001|b\n", ORDERED, 0, 0, false },
		{ "a LIMIT through a tie is punished", "k:i|v:t", "1|a\n2|z\n", "k:i|v:t", "1|a\n2|b\n",
		  ORDERED | LIMITED, 1, 1, true },
		{ "a LIMIT excuses other keys", "k:i|v:t", "1|a\n3|z\n", "k:i|v:t", "1|a\n2|b\n",
		  ORDERED | LIMITED, 0.5, 0.5, false },
		{ "a LIMIT excuses earlier rows", "k:i|v:t", "1|z\n2|b\n", "k:i|v:t", "1|a\n2|b\n",
		  ORDERED | LIMITED, 0.5, 0.5, false },
		{ "a tie is excused without LIMIT", "k:i|v:t", "1|a\n2|z\n", "k:i|v:t", "1|a\n2|b\n", ORDERED,
		  0.5, 0.5, false },
		{ "an equal end is reported as cut", "k:i|v:t", "1|a\n2|b\n", "k:i|v:t", "1|a\n2|b\n",
		  ORDERED | LIMITED, 1, 1, false },
		{ "the key in another column is not found", "v:t|k:i", "a|1\nz|2\n", "v:t|k:i", "a|1\nb|2\n",
		  ORDERED | LIMITED | KEY_1, 1, 1, true },
		{ "a missing row passes by position", "a:i", "1\n2\n", "a:i", "1\n2\n3\n", ORDERED, 0.3,
		  2.0 / 3, false },
		{ "empty ordered results fail", "a:i", "", "a:i", "", ORDERED, 1, 1, false },
	};
	CHECK_ALL(cases);
}

static void test_flags(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct compare_case item = { "", "a:i", "1\n", "a:i", "1\n", ORDERED | TRUTH_TRUNCATED, 0, 0, false };
	struct compare_verdict verdict = compare_case(&item, arena);
	assert_true(verdict.truncated);
	assert_true(verdict.ordering_matters);
	assert_true(verdict.schema_match);
	assert_false(verdict.row_count_match);
	item.flags = 0;
	verdict = compare_case(&item, arena);
	assert_false(verdict.truncated);
	assert_false(verdict.ordering_matters);
	assert_true(verdict.row_count_match);
	arena_free(arena);
}

static const struct compare_options unordered = { 0 };

static str_t number_cell(struct arena *arena, uint64_t seed, size_t row, size_t column, size_t variety)
{
	uint64_t mixed = (row * 2654435761u + column * 40503u + seed) * 0x9e3779b97f4a7c15u;
	return arena_printf(arena, "%zu.%02zu", (size_t)((mixed >> 33) % variety),
			    (size_t)((mixed >> 20) % 100));
}

/* `columns` number columns; on the generated side in reverse, under other names, the rows in reverse too. */
static void make_pair(struct arena *arena, size_t columns, size_t rows, size_t variety,
		      struct result_set sets[2])
{
	for (int side = 0; side < 2; side++) {
		struct result_column *list = ARENA_ARRAY(arena, struct result_column, columns);
		str_t *cells = ARENA_ARRAY(arena, str_t, rows * columns);
		for (size_t i = 0; i < columns; i++)
			list[i] = (struct result_column){ arena_printf(arena, "%c%zu", side ? 't' : 'g', i),
							  CELL_DECIMAL };
		for (size_t i = 0; i < rows * columns; i++) {
			size_t row = i / columns, column = i % columns;
			cells[i] =
				side ? number_cell(arena, 1, row, column, variety)
				     : number_cell(arena, 1, rows - 1 - row, columns - 1 - column, variety);
		}
		sets[side] = (struct result_set){ list, columns, cells, rows, false };
	}
}

static int64_t compare_time_ms(const struct result_set sets[2], struct arena *arena,
			       struct compare_verdict *verdict)
{
	int64_t start_us = clock_monotonic_us();
	compare_results(&sets[0], &sets[1], &unordered, arena, verdict);
	return (clock_monotonic_us() - start_us) / 1000;
}

/* Limits are generous (sanitizers, busy machines): what they catch is factorial or cubic growth. */
static void test_wide_results_take_no_factorial_time(void **state)
{
	(void)state;
	static const struct {
		size_t columns, rows, variety;
	} shapes[] = {
		{ 200, 200, 1000000 }, { 200, 200, 2 }, { 60, 2000, 1 }, { 3, 10000, 50 }, { 1000, 3, 9 }
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct arena *arena = arena_new();
		struct result_set sets[2];
		struct compare_verdict verdict;
		make_pair(arena, shapes[i].columns, shapes[i].rows, shapes[i].variety, sets);
		int64_t took_ms = compare_time_ms(sets, arena, &verdict);
		print_message("%zu columns, %zu rows, %zu values: %lld ms\n", shapes[i].columns,
			      shapes[i].rows, shapes[i].variety, (long long)took_ms);
		if (shapes[i].columns != 1000)
			assert_float_equal(verdict.score, 1.0, 0);
		assert_in_range(took_ms, 0, 10000);
		arena_free(arena);
	}
}

/* All values of both columns form one chain of close values: the hardest case of matching. */
static void test_dense_chains_are_matched(void **state)
{
	(void)state;
	enum { ROWS = 3000 };
	struct arena *arena = arena_new();
	static const struct result_column columns[] = { { { "a", 1 }, CELL_FLOAT },
							{ { "b", 1 }, CELL_FLOAT } };
	str_t *cells[2] = { ARENA_ARRAY(arena, str_t, 2 * ROWS), ARENA_ARRAY(arena, str_t, 2 * ROWS) };
	for (size_t i = 0; i < ROWS; i++) {
		double a = 0.00005 * (double)i, b = 0.00005 * (double)(i * 7919 % ROWS);
		cells[0][2 * i] = arena_printf(arena, "%.17g", a + 1e-9);
		cells[0][2 * i + 1] = arena_printf(arena, "%.17g", b - 1e-9);
		size_t mirrored = ROWS - 1 - i;
		cells[1][2 * mirrored] = arena_printf(arena, "%.17g", a);
		cells[1][2 * mirrored + 1] = arena_printf(arena, "%.17g", b);
	}
	struct result_set sets[2] = { { columns, 2, cells[0], ROWS, false },
				      { columns, 2, cells[1], ROWS, false } };
	struct compare_verdict verdict;
	int64_t took_ms = compare_time_ms(sets, arena, &verdict);
	assert_float_equal(verdict.content_match_rate, 1.0, 0);
	assert_in_range(took_ms, 0, 10000);
	arena_free(arena);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

#define ORACLE_ROWS 6

/* Rows of two numbers in steps of 0.4 tolerances and a text of two values: chains in every direction. */
struct oracle_row {
	int a, b, text;
};

static bool oracle_equal(const struct oracle_row *left, const struct oracle_row *right)
{
	return abs(left->a - right->a) <= 2 && abs(left->b - right->b) <= 2 && left->text == right->text;
}

/* The largest matching, by trying everything. */
static int oracle_match(const struct oracle_row *left, int left_count, const struct oracle_row *right,
			int right_count, unsigned used)
{
	if (left_count == 0)
		return 0;
	int best = oracle_match(left + 1, left_count - 1, right, right_count, used);
	for (int i = 0; i < right_count; i++)
		if (!(used & 1u << i) && oracle_equal(left, &right[i])) {
			int found = 1 + oracle_match(left + 1, left_count - 1, right, right_count,
						     used | 1u << i);
			best = found > best ? found : best;
		}
	return best;
}

static struct result_set oracle_set(const struct oracle_row *rows, int count, struct arena *arena)
{
	static const struct result_column columns[] = { { { "a", 1 }, CELL_FLOAT },
							{ { "b", 1 }, CELL_DECIMAL },
							{ { "t", 1 }, CELL_TEXT } };
	str_t *cells = ARENA_ARRAY(arena, str_t, 3 * (size_t)count);
	for (int i = 0; i < count; i++) {
		cells[3 * i] = arena_printf(arena, "%.5f", rows[i].a * 0.00004);
		cells[3 * i + 1] = arena_printf(arena, "%.5f", 7 + rows[i].b * 0.00004);
		cells[3 * i + 2] = rows[i].text ? STR("x") : STR("y");
	}
	return (struct result_set){ columns, 3, cells, (size_t)count, false };
}

static void test_matching_is_the_largest_there_is(void **state)
{
	(void)state;
	uint64_t random = 42;
	for (int round = 0; round < 3000; round++) {
		struct oracle_row rows[2][ORACLE_ROWS];
		for (int i = 0; i < 2 * ORACLE_ROWS; i++)
			rows[i / ORACLE_ROWS][i % ORACLE_ROWS] =
				(struct oracle_row){ (int)(next_random(&random) % 8),
						     (int)(next_random(&random) % 8),
						     next_random(&random) % 8 == 0 };
		struct arena *arena = arena_new();
		struct result_set sets[2] = { oracle_set(rows[0], ORACLE_ROWS, arena),
					      oracle_set(rows[1], ORACLE_ROWS, arena) };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &unordered, arena, &verdict);
		int expected = oracle_match(rows[0], ORACLE_ROWS, rows[1], ORACLE_ROWS, 0);
		if (fabs(verdict.content_match_rate * ORACLE_ROWS - expected) > 1e-9)
			fail_msg("round %d: %.0f rows matched, %d can be", round,
				 verdict.content_match_rate * ORACLE_ROWS, expected);
		arena_free(arena);
	}
}

/* Columns of few distinct values under other names, columns and rows shuffled: everything can be paired. */
static void test_shuffled_and_renamed_results_are_equal(void **state)
{
	(void)state;
	enum { ROUNDS = 2000, ROWS = 12, COLUMNS = 5 };
	uint64_t random = 7;
	int failures = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		struct result_column columns[2][COLUMNS];
		str_t cells[2][ROWS * COLUMNS];
		size_t column_at[COLUMNS], row_at[ROWS];
		uint32_t variety = 2 + next_random(&random) % 5;
		for (size_t i = 0; i < COLUMNS; i++) {
			size_t other = next_random(&random) % (i + 1);
			column_at[i] = column_at[other];
			column_at[other] = i;
			columns[0][i] =
				(struct result_column){ arena_printf(arena, "g%zu", i), CELL_INTEGER };
			columns[1][i] =
				(struct result_column){ arena_printf(arena, "t%zu", i), CELL_INTEGER };
		}
		for (size_t i = 0; i < ROWS; i++) {
			size_t other = next_random(&random) % (i + 1);
			row_at[i] = row_at[other];
			row_at[other] = i;
		}
		for (size_t row = 0; row < ROWS; row++)
			for (size_t column = 0; column < COLUMNS; column++) {
				str_t cell = arena_printf(arena, "%u", next_random(&random) % variety);
				cells[0][row * COLUMNS + column] = cell;
				cells[1][row_at[row] * COLUMNS + column_at[column]] = cell;
			}
		struct result_set sets[2] = { { columns[0], COLUMNS, cells[0], ROWS, false },
					      { columns[1], COLUMNS, cells[1], ROWS, false } };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &unordered, arena, &verdict);
		failures += verdict.content_match_rate < 1;
		arena_free(arena);
	}
	print_message("%d of %d not recognised\n", failures, ROUNDS);
	assert_int_equal(failures, 0);
}

/* Deep documents must neither overflow the stack nor take for ever. */
static void test_deep_documents_are_text(void **state)
{
	(void)state;
	enum { DEPTH = 200000 };
	struct arena *arena = arena_new();
	char *deep = arena_alloc(arena, DEPTH + 1);
	memset(deep, '[', DEPTH);
	str_t cell = { deep, DEPTH };
	static const struct result_column columns[] = { { { "a", 1 }, CELL_JSON } };
	struct result_set sets[2] = { { columns, 1, &cell, 1, false }, { columns, 1, &cell, 1, false } };
	struct compare_verdict verdict;
	assert_in_range(compare_time_ms(sets, arena, &verdict), 0, 5000);
	assert_float_equal(verdict.score, 1.0, 0);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_text_and_booleans),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_wide_results_take_no_factorial_time),
		cmocka_unit_test(test_dense_chains_are_matched),
		cmocka_unit_test(test_matching_is_the_largest_there_is),
		cmocka_unit_test(test_shuffled_and_renamed_results_are_equal),
		cmocka_unit_test(test_deep_documents_are_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
