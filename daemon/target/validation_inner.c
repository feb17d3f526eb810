#include "target/validation_inner.h"

#include "target/validation_ties.h"

/* What the cut of a part takes its rows from, in their order. */
struct inner_rows {
	const struct result_set *rows;
	size_t columns; /* of the part; behind those stands the rank, where it has an order */
};

static bool same_cells(const struct inner_rows *from, size_t a, size_t b, size_t first, size_t end)
{
	size_t width = from->rows->columns_count;
	for (size_t i = first; i < end; i++) {
		str_t left = from->rows->cells[a * width + i], right = from->rows->cells[b * width + i];
		if (str_present(left) != str_present(right) || (str_present(left) && !str_equal(left, right)))
			return false;
	}
	return true;
}

static bool ties(const struct inner_rows *from, size_t a, size_t b)
{
	return same_cells(from, a, b, from->columns, from->rows->columns_count);
}

/* Whether other rows may stand before row number `at` than do: some on either side of it tie and are not the
 * same. What was not fetched may be anything. */
static bool is_open_at(const struct inner_rows *from, int64_t at)
{
	size_t count = from->rows->rows_count, place = (size_t)at, first = place, end = place;
	if (at <= 0 || (place >= count && !from->rows->truncated))
		return false;
	if (place >= count)
		return true;
	if (!ties(from, place - 1, place))
		return false;
	while (first > 0 && ties(from, first - 1, place))
		first--;
	while (end < count && ties(from, end, place))
		end++;
	if (end == count && from->rows->truncated)
		return true;
	for (size_t i = first; i < end; i++)
		if (!same_cells(from, i, place, 0, from->columns))
			return true;
	return false;
}

static bool is_open(const struct inner_rows *from, const struct sort_cut *cut)
{
	return cut->limit != 0 && (is_open_at(from, cut->offset) ||
				   (cut->limit > 0 && is_open_at(from, cut->offset + cut->limit)));
}

/* `ret_known`: the database has said it. */
static err_t ask(const struct validation *validation, const struct inner_cut *cut, struct arena *arena,
		 bool *ret_known, bool *ret_open, struct err_detail *detail)
{
	const struct sort_keys *shown = &cut->shown;
	struct query_run whole, ranked;
	str_t sql = validation_whole_query(validation, shown, arena);
	*ret_known = false;
	err_t err = validation_run_query(validation, sql, arena, &whole, detail);
	struct result_set rows = result_finish(&whole.result);
	bool usable = !err && validation->engine->usable(*validation->session);
	if (!usable || whole.outcome != QUERY_RETURNED || rows.columns_count < shown->added) {
		result_free(&whole.result);
		return err;
	}
	struct inner_rows from = { &rows, rows.columns_count - shown->added };
	if (!cut->ordered || shown->documents) { /* whose keys stand behind them already */
		*ret_known = true;
		*ret_open = is_open(&from, &shown->cut);
		result_free(&whole.result);
		return ERR_OK;
	}
	sql = validation_rank_query(validation, shown, from.columns, arena);
	result_free(&whole.result);
	err = validation_run_query(validation, sql, arena, &ranked, detail);
	rows = result_finish(&ranked.result);
	*ret_known = !err && ranked.outcome == QUERY_RETURNED && rows.columns_count == from.columns + 1;
	if (*ret_known)
		*ret_open = is_open(&from, &shown->cut);
	result_free(&ranked.result);
	return err;
}

static err_t find_doubt_of(const struct validation *validation, const struct inner_cut *cut,
			   struct arena *arena, enum validation_doubt *ret_doubt, struct err_detail *detail)
{
	bool known = false, open = false;
	err_t err = ERR_OK;
	if (str_present(cut->shown.sql) && validation->engine->usable(*validation->session))
		err = ask(validation, cut, arena, &known, &open, detail);
	if (known ? !open : cut->ordered)
		*ret_doubt = VALIDATION_NO_DOUBT;
	else
		*ret_doubt = cut->distinct_on ? VALIDATION_ANY_OF_KEY
			     : cut->ordered   ? VALIDATION_INNER_TIE
					      : VALIDATION_INNER_ANY_ROWS;
	return err;
}

err_t validation_inner_doubt(const struct validation *validation, size_t index, struct arena *arena,
			     enum validation_doubt *ret_doubt, struct err_detail *detail)
{
	const struct validation_truth *asked = &validation->request->truths[index];
	err_t err = ERR_OK;
	*ret_doubt = VALIDATION_NO_DOUBT;
	for (int pass = 0; pass < 2; pass++) /* those that nobody is asked about cost nothing */
		for (size_t i = 0; !err && *ret_doubt == VALIDATION_NO_DOUBT && i < asked->inner_cuts_count;
		     i++)
			if (str_present(asked->inner_cuts[i].shown.sql) == (pass == 1))
				err = find_doubt_of(validation, &asked->inner_cuts[i], arena, ret_doubt,
						    detail);
	return err;
}
