#include "compare/explain.h"

#include "compare/rows.h"

#include <ctype.h>

/* Pairs of rows looked at in search of those without partner; beyond, no more are found. */
#define SEARCH_BUDGET ((size_t)1 << 22)

/* What a text takes besides its bytes. */
#define PLACE_BYTES 8

/* An explanation while it is made. */
struct explain_writer {
	const struct compare_shown *shown;
	struct arena *arena;
	size_t bytes_left;
	struct compare_explanation *out;
};

/* Takes bytes of the limit; false: there are not so many. */
static bool take_bytes(struct explain_writer *writer, size_t bytes)
{
	if (bytes > writer->bytes_left) {
		writer->out->shortened = true;
		return false;
	}
	writer->bytes_left -= bytes;
	return true;
}

/* The start of a text, no part of a character. */
static size_t shown_bytes(str_t text)
{
	size_t len = COMPARE_EXPLAIN_TEXT;
	if (text.len <= COMPARE_EXPLAIN_TEXT)
		return text.len;
	while (len > COMPARE_EXPLAIN_TEXT - 4 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static size_t cost_of(str_t text)
{
	return PLACE_BYTES + (str_present(text) ? shown_bytes(text) : 0);
}

static str_t copy_text(struct explain_writer *writer, str_t text)
{
	if (!str_present(text))
		return STR_NONE;
	size_t len = shown_bytes(text);
	writer->out->shortened |= len < text.len;
	return len < text.len ? arena_printf(writer->arena, "%.*s…", (int)len, text.ptr)
			      : arena_text(writer->arena, text.ptr, text.len);
}

/* --- columns --- */

static void add_name(struct explain_writer *writer, str_t *names, size_t *count, str_t name)
{
	if (*count == COMPARE_EXPLAIN_NAMES)
		writer->out->shortened = true;
	else if (take_bytes(writer, cost_of(name)))
		names[(*count)++] = copy_text(writer, str_present(name) ? name : STR(""));
}

static void add_pair(struct explain_writer *writer, str_t truth, str_t generated)
{
	struct compare_explanation *out = writer->out;
	if (out->paired_count == COMPARE_EXPLAIN_NAMES)
		out->shortened = true;
	else if (take_bytes(writer, cost_of(truth) + cost_of(generated)))
		out->paired[out->paired_count++] =
			(struct compare_names){ copy_text(writer, str_present(truth) ? truth : STR("")),
						copy_text(writer,
							  str_present(generated) ? generated : STR("")) };
}

static bool same_name(str_t a, str_t b)
{
	a = compare_trim(a);
	b = compare_trim(b);
	return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

/* Columns beyond are not looked for by name: each is compared with every other. */
#define MAX_NAMED 1024

/* Pairs names one by one, the first with the first; says who is left. */
static void pair_names(struct explain_writer *writer)
{
	const struct result_set *generated = &writer->shown->generated, *truth = &writer->shown->truth;
	size_t ours = generated->columns_count < MAX_NAMED ? generated->columns_count : MAX_NAMED;
	size_t theirs = truth->columns_count < MAX_NAMED ? truth->columns_count : MAX_NAMED;
	bool *taken = ARENA_ARRAY(writer->arena, bool, ours);
	writer->out->shortened |= ours < generated->columns_count || theirs < truth->columns_count;
	for (size_t i = 0; i < theirs; i++) {
		size_t partner = 0;
		while (partner < ours && (taken[partner] || !same_name(generated->columns[partner].name,
								       truth->columns[i].name)))
			partner++;
		if (partner == ours) {
			add_name(writer, writer->out->missing, &writer->out->missing_count,
				 truth->columns[i].name);
			continue;
		}
		taken[partner] = true;
		add_pair(writer, truth->columns[i].name, generated->columns[partner].name);
	}
	for (size_t i = 0; i < ours; i++)
		if (!taken[i])
			add_name(writer, writer->out->extra, &writer->out->extra_count,
				 generated->columns[i].name);
}

static void show_pairs(struct explain_writer *writer)
{
	const struct compare_shown *shown = writer->shown;
	for (size_t i = 0; i < shown->pairing.count; i++)
		add_pair(writer, shown->truth.columns[i].name,
			 shown->generated.columns[shown->pairing.pairs[i].generated].name);
}

/* --- rows --- */

/* Rows of one side by their exact parts, in chains. */
struct chains {
	const struct compare_row *rows;
	size_t *heads, *next; /* index + 1 */
	size_t mask;
};

static struct chains make_chains(const struct compare_row *rows, size_t count, struct arena *arena)
{
	size_t capacity = 16;
	while (capacity < count)
		capacity *= 2;
	struct chains chains = { rows, ARENA_ARRAY(arena, size_t, capacity),
				 ARENA_ARRAY(arena, size_t, count), capacity - 1 };
	for (size_t i = count; i > 0; i--) {
		size_t *head = &chains.heads[rows[i - 1].exact & chains.mask];
		chains.next[i - 1] = *head;
		*head = i;
	}
	return chains;
}

/* Takes a row that is equal out of its chain. False: there is none. */
static bool take_partner(struct chains *chains, const struct compare_row *row,
			 const struct compare_tolerance *tolerance, size_t *budget)
{
	for (size_t *link = &chains->heads[row->exact & chains->mask]; *link && *budget > 0;
	     link = &chains->next[*link - 1]) {
		--*budget;
		if (!compare_row_equal(row, &chains->rows[*link - 1], tolerance))
			continue;
		*link = chains->next[*link - 1];
		return true;
	}
	return false;
}

/* The first rows that have no partner among the others. */
static size_t find_lonely(const struct compare_row *rows, size_t count, const struct compare_row *others,
			  size_t others_count, const struct compare_tolerance *tolerance, size_t most,
			  struct arena *arena, size_t *ret_rows)
{
	struct chains chains = make_chains(others, others_count, arena);
	size_t found = 0, budget = SEARCH_BUDGET;
	for (size_t i = 0; i < count && found < most; i++) {
		bool partner = take_partner(&chains, &rows[i], tolerance, &budget);
		if (!partner && budget > 0)
			ret_rows[found++] = i;
	}
	return found;
}

static str_t cell_of(const struct compare_shown *shown, bool is_truth, size_t row, size_t pair)
{
	const struct result_set *set = is_truth ? &shown->truth : &shown->generated;
	size_t column = is_truth ? pair : shown->pairing.pairs[pair].generated;
	return set->cells[row * set->columns_count + column];
}

static void add_row(struct explain_writer *writer, bool is_truth, size_t row)
{
	struct compare_explanation *out = writer->out;
	size_t count = out->paired_count, bytes = PLACE_BYTES;
	for (size_t i = 0; i < count; i++)
		bytes += cost_of(cell_of(writer->shown, is_truth, row, i));
	if (!take_bytes(writer, bytes))
		return;
	str_t *cells = ARENA_ARRAY(writer->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		cells[i] = copy_text(writer, cell_of(writer->shown, is_truth, row, i));
	const struct compare_cells shown = { cells, count };
	if (is_truth)
		out->missing_rows[out->missing_rows_count++] = shown;
	else
		out->extra_rows[out->extra_rows_count++] = shown;
}

/* Rows of either side by turns, so that both are seen where there is no room for all. */
static void show_rows(struct explain_writer *writer, const struct compare_options *options, bool same_count,
		      size_t most)
{
	const struct compare_shown *shown = writer->shown;
	const struct compare_tolerance tolerance = compare_tolerance_of(options);
	size_t missing[COMPARE_EXPLAIN_ROWS], extra[COMPARE_EXPLAIN_ROWS];
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct compare_row *theirs =
		compare_read_rows(compare_table_new(&shown->truth, arena), &shown->pairing, true, arena);
	const struct compare_row *ours =
		compare_read_rows(compare_table_new(&shown->generated, arena), &shown->pairing, false, arena);
	size_t our_count = shown->generated.rows_count, their_count = shown->truth.rows_count;
	size_t missing_count =
		find_lonely(theirs, their_count, ours, our_count, &tolerance, most, arena, missing);
	size_t extra_count =
		find_lonely(ours, our_count, theirs, their_count, &tolerance, most, arena, extra);
	for (size_t i = 0; i < most; i++) {
		if (i < missing_count)
			add_row(writer, true, missing[i]);
		if (i < extra_count)
			add_row(writer, false, extra[i]);
	}
	writer->out->other_order = options->ordered && same_count && missing_count + extra_count == 0;
}

void compare_explain(const struct compare_shown *shown, const struct compare_verdict *verdict,
		     const struct compare_options *options, size_t rows_most, struct arena *arena,
		     struct compare_explanation *ret_explanation)
{
	struct compare_explanation *out = ret_explanation;
	size_t most = rows_most < COMPARE_EXPLAIN_ROWS ? rows_most : COMPARE_EXPLAIN_ROWS;
	struct explain_writer writer = { shown, arena, COMPARE_EXPLAIN_BYTES, out };
	*out = (struct compare_explanation){
		.generated_columns = shown->generated.columns_count,
		.truth_columns = shown->truth.columns_count,
		.paired = ARENA_ARRAY(arena, struct compare_names, COMPARE_EXPLAIN_NAMES),
		.missing = ARENA_ARRAY(arena, str_t, COMPARE_EXPLAIN_NAMES),
		.extra = ARENA_ARRAY(arena, str_t, COMPARE_EXPLAIN_NAMES),
		.missing_rows = ARENA_ARRAY(arena, struct compare_cells, most),
		.extra_rows = ARENA_ARRAY(arena, struct compare_cells, most),
	};
	if (!verdict->schema_match || !shown->pairing.pairs) {
		pair_names(&writer);
		return;
	}
	show_pairs(&writer);
	if (most > 0 && !verdict->truncated)
		show_rows(&writer, options, verdict->row_count_match, most);
}
