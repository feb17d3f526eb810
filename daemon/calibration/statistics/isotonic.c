#include "calibration/statistics/isotonic.h"

#include <math.h>

struct block {
	double weight, positive;
	size_t count; /* of scores */
};

static double mean_of(const struct block *block)
{
	return block->positive / block->weight;
}

err_t isotonic_fit(const struct outcome *outcomes, size_t count, struct arena *arena,
		   struct isotonic *ret_isotonic, struct err_detail *detail)
{
	size_t groups_count, blocks_count = 0;
	err_t err = outcomes_check(outcomes, count, detail);
	if (err)
		return err;
	const struct outcome_group *groups = outcomes_group(outcomes, count, arena, &groups_count);
	struct block *blocks = ARENA_ARRAY(arena, struct block, groups_count);
	struct isotonic isotonic = { groups_count, ARENA_ARRAY(arena, double, groups_count),
				     ARENA_ARRAY(arena, double, groups_count) };
	for (size_t i = 0; i < groups_count; i++) {
		struct block block = { groups[i].positive + groups[i].negative, groups[i].positive, 1 };
		isotonic.scores[i] = groups[i].score;
		while (blocks_count > 0 && mean_of(&blocks[blocks_count - 1]) >= mean_of(&block)) {
			const struct block *before = &blocks[--blocks_count];
			block.weight += before->weight;
			block.positive += before->positive;
			block.count += before->count;
		}
		blocks[blocks_count++] = block;
	}
	for (size_t i = 0, next = 0; i < blocks_count; i++)
		for (size_t j = 0; j < blocks[i].count; j++)
			isotonic.values[next++] = fmin(1, mean_of(&blocks[i]));
	*ret_isotonic = isotonic;
	return ERR_OK;
}

double isotonic_value(const struct isotonic *isotonic, double score)
{
	size_t low = 0, high = isotonic->count; /* the first that is above lies within */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (isotonic->scores[middle] > score)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0)
		return isotonic->values[0];
	if (low == isotonic->count)
		return isotonic->values[low - 1];
	double share =
		(score - isotonic->scores[low - 1]) / (isotonic->scores[low] - isotonic->scores[low - 1]);
	return isotonic->values[low - 1] + share * (isotonic->values[low] - isotonic->values[low - 1]);
}
