#include "score/compare_order.h"

static const struct result_set *keys_of_truth(const struct compare_order *order)
{
	return order->options->key_rows ? order->options->key_rows : order->truth;
}

/* Of a generated row only the keys that are output columns can be read. */
static void read_keys(const struct compare_order *order, bool is_truth, size_t row,
		      struct compare_reading *reading)
{
	const struct result_set *set = is_truth ? keys_of_truth(order) : order->generated;
	compare_reading_reset(reading);
	for (size_t i = 0; i < order->options->order_keys_count; i++) {
		size_t column = order->options->order_keys[i].column;
		bool hidden = column >= order->truth->columns_count;
		const struct compare_pair *pair = hidden ? NULL : &order->pairing->pairs[column];
		enum compare_mode mode =
			hidden ? compare_mode_of(set->columns[column].type, set->columns[column].type)
			       : pair->mode;
		compare_read(reading, mode,
			     set->cells[row * set->columns_count + (is_truth ? column : pair->generated)]);
	}
}

/* Whether ties can be told: every key is a column. */
static bool keys_known(const struct compare_order *order)
{
	const struct compare_options *options = order->options;
	for (size_t i = 0; i < options->order_keys_count; i++)
		if (options->order_keys[i].column >= keys_of_truth(order)->columns_count)
			return false;
	return options->all_keys_visible && options->order_keys_count > 0;
}

static bool keys_returned(const struct compare_order *order)
{
	for (size_t i = 0; i < order->options->order_keys_count; i++)
		if (order->options->order_keys[i].column >= order->truth->columns_count)
			return false;
	return keys_known(order);
}

/* Where the run of rows that tie with `start` ends in the truth. */
static size_t end_of_tie(const struct compare_order *order, size_t start, struct compare_reading *first,
			 struct compare_reading *other)
{
	size_t end = start + 1;
	if (!keys_known(order))
		return end;
	read_keys(order, true, start, first);
	for (; end < order->truth->rows_count; end++) {
		read_keys(order, true, end, other);
		if (!str_equal(buf_str(&first->exact), buf_str(&other->exact)))
			break;
	}
	return end;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Generated rows of the last tie that have the keys of the truth there. */
static size_t count_with_keys(const struct compare_order *order, size_t start, size_t end,
			      struct arena *arena)
{
	_cleanup_(compare_reading_free) struct compare_reading keys = { .arena = arena };
	_cleanup_(compare_reading_free) struct compare_reading other = { .arena = arena };
	size_t count = 0;
	read_keys(order, true, start, &keys);
	for (size_t row = start; row < end; row++) {
		read_keys(order, false, row, &other);
		count += compare_readings_equal(&keys, &other, &order->tolerance);
	}
	return count;
}

size_t compare_match_ordered(const struct compare_order *order, struct arena *arena, bool *ret_cut_tie)
{
	/* Ties are told by the database, which knows no tolerance. */
	_cleanup_(compare_reading_free) struct compare_reading first = { .canonical = true, .arena = arena };
	_cleanup_(compare_reading_free) struct compare_reading other = { .canonical = true, .arena = arena };
	size_t rows = order->truth->rows_count, matched = 0;
	bool cut = order->options->limited || order->truth->truncated;
	bool ties_known = keys_returned(order);
	*ret_cut_tie = false;
	for (size_t start = 0, end; start < rows; start = end) {
		end = end_of_tie(order, start, &first, &other);
		size_t ours = smaller(end, order->generated->rows_count);
		if (ours <= start)
			break;
		size_t found =
			compare_match_bags(order->generated_rows + start, ours - start,
					   order->truth_rows + start, end - start, &order->tolerance, arena);
		if (cut && ties_known && end == rows && found < ours - start) {
			size_t with_keys = count_with_keys(order, start, ours, arena);
			*ret_cut_tie = with_keys > found;
			found = with_keys > found ? with_keys : found;
		}
		matched += found;
	}
	return matched;
}
