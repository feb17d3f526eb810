#include "sql/postgresql/canonical/internal.h"

#define MAX_TWINS 6

struct twin {
	str_t signature; /* the whole query with this one marked and the others alike */
	struct canon_range *range;
};

static int compare(const void *a, const void *b)
{
	const struct twin *left = a, *right = b;
	int order = str_compare(left->signature, right->signature);
	return order ? order
		     : (left->range->index > right->range->index) -
			       (left->range->index < right->range->index);
}

static void name_twins(struct canon *canon, struct twin *twins, size_t count, str_t base, size_t marked)
{
	for (size_t i = 0; i < count; i++)
		twins[i].range->name = CONCAT(canon, base, i == marked ? STR("#!") : STR("#?"));
}

/* Numbers them by what each one is to the query, so that swapped names in FROM give the same text. */
static void place(struct canon *canon, const SelectStmt *select, struct canon_range **ranges, size_t count,
		  str_t (*body)(struct canon *canon, const SelectStmt *select))
{
	struct twin twins[MAX_TWINS];
	str_t base = ranges[0]->name;
	if (count > MAX_TWINS || canon->rebuilds + count > CANON_MAX_REBUILDS)
		return;
	canon->rebuilds += (unsigned)count;
	for (size_t i = 0; i < count; i++)
		twins[i] = (struct twin){ .range = ranges[i] };
	for (size_t i = 0; i < count && !canon->failed; i++) {
		name_twins(canon, twins, count, base, i);
		twins[i].signature = body(canon, select);
	}
	qsort(twins, count, sizeof twins[0], compare);
	for (size_t i = 0; i < count; i++)
		twins[i].range->name = i ? CONCAT(canon, base, STR("#"), canon_number(canon, i + 1)) : base;
}

void canon_place_twins(struct canon *canon, const SelectStmt *select,
		       str_t (*body)(struct canon *canon, const SelectStmt *select))
{
	struct canon_range **sorted = canon->scope->sorted;
	size_t count = canon->scope->ranges_count;
	for (size_t i = 0, end; i < count && !canon->failed; i = end) {
		end = i + 1;
		while (end < count && sorted[end]->numbered)
			end++;
		if (end - i > 1)
			place(canon, select, &sorted[i], end - i, body);
	}
}
