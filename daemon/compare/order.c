#include "compare/order.h"

#include <ctype.h>

/* A walk over the ties of the truth, or of the whole that it was cut from. */
struct order_walk {
	const struct compare_order *order;
	struct arena *arena;
	const struct result_set *keyed;
	const struct compare_row *rows; /* of `keyed` */
	size_t first, last;		/* the truth's among them */
	bool ties_known;
	bool keys_returned; /* the generated rows show the keys, too */
	struct compare_ties ties;
	/* Ties are told by the database, which knows no tolerance. */
	struct compare_reading start_keys, other_keys;
};

static const struct result_set *keyed_set(const struct compare_order *order)
{
	return order->options->whole ? order->options->whole->keyed : order->truth;
}

/* Letters of ASCII alone: others tie in some collations and not in others. */
static void fold_case(struct buf *keys)
{
	for (size_t i = 0; i < keys->len; i++)
		keys->data[i] = (char)tolower((unsigned char)keys->data[i]);
}

/* Of a generated row only the keys that are output columns can be read. */
static void read_keys(const struct compare_order *order, bool is_truth, size_t row,
		      struct compare_reading *reading)
{
	const struct result_set *set = is_truth ? keyed_set(order) : order->generated;
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
	if (order->options->keys_any_case)
		fold_case(&reading->exact);
}

static bool keys_below(const struct compare_options *options, size_t columns)
{
	for (size_t i = 0; i < options->order_keys_count; i++)
		if (options->order_keys[i].column >= columns)
			return false;
	return options->all_keys_visible && options->order_keys_count > 0;
}

static bool is_certain(enum cell_class type)
{
	return type == CELL_INTEGER || type == CELL_DECIMAL || type == CELL_FLOAT || type == CELL_BOOLEAN ||
	       type == CELL_MONEY || type == CELL_NULL;
}

static bool key_certain(const struct compare_order *order, size_t key)
{
	enum cell_class type = keyed_set(order)->columns[order->options->order_keys[key].column].type;
	bool by_bytes = type == CELL_TEXT || type == CELL_TIMESTAMP_TZ || type == CELL_BYTES;
	return is_certain(type) || (order->options->keys_exact && by_bytes);
}

bool compare_ties_certain(const struct compare_order *order)
{
	bool certain = compare_keys_known(order);
	for (size_t i = 0; certain && i < order->options->order_keys_count; i++)
		certain = key_certain(order, i);
	return certain;
}

bool compare_keys_known(const struct compare_order *order)
{
	return keys_below(order->options, keyed_set(order)->columns_count);
}

static bool same_keys(struct order_walk *walk, size_t a, size_t b)
{
	read_keys(walk->order, true, a, &walk->start_keys);
	read_keys(walk->order, true, b, &walk->other_keys);
	return str_equal(buf_str(&walk->start_keys.exact), buf_str(&walk->other_keys.exact));
}

/* Where the run of rows that tie with `start` ends. */
static size_t end_of_tie(struct order_walk *walk, size_t start)
{
	size_t end = start + 1;
	if (!walk->ties_known)
		return end;
	read_keys(walk->order, true, start, &walk->start_keys);
	for (; end < walk->keyed->rows_count; end++) {
		read_keys(walk->order, true, end, &walk->other_keys);
		if (!str_equal(buf_str(&walk->start_keys.exact), buf_str(&walk->other_keys.exact)))
			break;
	}
	return end;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Generated rows that have the keys of the truth's row `start`. */
static size_t count_with_keys(const struct order_walk *walk, size_t start, size_t end)
{
	const struct compare_order *order = walk->order;
	_cleanup_(compare_reading_free) struct compare_reading keys = { .arena = walk->arena };
	_cleanup_(compare_reading_free) struct compare_reading other = { .arena = walk->arena };
	size_t count = 0;
	read_keys(order, true, start, &keys);
	for (size_t row = start; row < end; row++) {
		read_keys(order, false, row, &other);
		count += compare_readings_equal(&keys, &other, &order->tolerance);
	}
	return count;
}

/* Whether the truth's rows from `start` to `end` may tie with rows that it does not have. */
static bool may_be_cut(const struct compare_order *order, size_t start, size_t end)
{
	const struct compare_options *options = order->options;
	size_t rows = order->truth->rows_count;
	bool cut = options->limited && (options->limit == 0 || rows >= options->limit);
	return (end == rows && (cut || order->truth->truncated)) || (start == 0 && options->offset > 0);
}

static size_t match_bags(const struct order_walk *walk, size_t ours, size_t ours_end,
			 const struct compare_row *theirs, size_t theirs_count)
{
	return compare_match_bags(walk->order->generated_rows + ours, ours_end - ours, theirs, theirs_count,
				  &walk->order->tolerance, walk->order->matching_budget, walk->arena);
}

static bool cells_alike(str_t a, str_t b)
{
	return str_present(a) ? str_present(b) && str_equal(a, b) : !str_present(b);
}

/* Whether the keys of the rows that tie from `start` to `end` are written alike, or leave no doubt. */
static bool written_alike(const struct order_walk *walk, size_t start, size_t end)
{
	const struct compare_options *options = walk->order->options;
	const struct result_set *set = walk->keyed;
	for (size_t i = 0; i < options->order_keys_count; i++) {
		const str_t *cells = set->cells + options->order_keys[i].column;
		for (size_t row = start + 1; !key_certain(walk->order, i) && row < end; row++)
			if (!cells_alike(cells[row * set->columns_count], cells[start * set->columns_count]))
				return false;
	}
	return true;
}

/* How many of the truth's rows from `from` to `to` are matched by the row at their own place. */
static size_t count_in_place(const struct order_walk *walk, size_t from, size_t to)
{
	const struct compare_order *order = walk->order;
	size_t count = 0;
	for (size_t row = from; row < to; row++)
		count += compare_row_equal(&order->generated_rows[row], &order->truth_rows[row],
					   &order->tolerance);
	return count;
}

/* The rows that tie from `start` to `end`, those of the truth among them. */
static size_t match_tie(struct order_walk *walk, size_t start, size_t end)
{
	const struct compare_order *order = walk->order;
	size_t from = larger(start, walk->first) - walk->first, to = smaller(end, walk->last) - walk->first;
	size_t ours_end = smaller(to, order->generated->rows_count);
	if (ours_end <= from)
		return 0;
	size_t found = match_bags(walk, from, ours_end, walk->rows + start, end - start);
	if (end - start > 1 && !walk->ties.loose && !written_alike(walk, start, end))
		walk->ties.loose = found > count_in_place(walk, from, ours_end);
	if (order->options->whole) {
		bool cut = start < walk->first || end > walk->last;
		walk->ties.cut |=
			cut && found > match_bags(walk, from, ours_end, order->truth_rows + from, to - from);
		return found;
	}
	if (!walk->keys_returned || found == ours_end - from || !may_be_cut(order, start, end))
		return found;
	size_t with_keys = count_with_keys(walk, from, ours_end);
	walk->ties.cut |= with_keys > found;
	return larger(found, with_keys);
}

static struct order_walk walk_begin(const struct compare_order *order, struct arena *arena)
{
	const struct compare_whole *whole = order->options->whole;
	size_t first = whole ? whole->first : 0;
	return (struct order_walk){
		.order = order,
		.arena = arena,
		.keyed = keyed_set(order),
		.rows = whole ? order->whole_rows : order->truth_rows,
		.first = first,
		.last = first + order->truth->rows_count,
		.ties_known = compare_keys_known(order),
		.keys_returned = keys_below(order->options, order->truth->columns_count),
		.start_keys = { .canonical = true, .arena = arena },
		.other_keys = { .canonical = true, .arena = arena },
	};
}

static void walk_end(struct order_walk *walk)
{
	compare_reading_free(&walk->start_keys);
	compare_reading_free(&walk->other_keys);
}

size_t compare_match_ordered(const struct compare_order *order, struct arena *arena,
			     struct compare_ties *ret_ties)
{
	_cleanup_(walk_end) struct order_walk walk = walk_begin(order, arena);
	size_t rows = smaller(walk.last, walk.keyed->rows_count), matched = 0;
	for (size_t start = 0, end; start < rows; start = end) {
		end = end_of_tie(&walk, start);
		if (end > walk.first)
			matched += match_tie(&walk, start, end);
	}
	*ret_ties = walk.ties;
	return matched;
}

bool compare_last_tie_whole(const struct compare_order *order, struct arena *arena)
{
	_cleanup_(walk_end) struct order_walk walk = walk_begin(order, arena);
	size_t rows = walk.keyed->rows_count;
	return !walk.keyed->truncated || walk.first == walk.last ||
	       (walk.last < rows && !same_keys(&walk, walk.last - 1, rows - 1));
}
