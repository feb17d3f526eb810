#include "calibration/statistics/venn_abers.h"

#include <math.h>

/* No block. */
#define NONE SIZE_MAX

/* A block of neighbouring scores that were pooled, and the one beyond it. */
struct pooled {
	double weight, positive;
	size_t next; /* index of the block below (of `up`: of `down` the one above), or NONE */
};

struct venn_abers {
	size_t count; /* of scores */
	double *scores;
	struct pooled *own;  /* each score by itself */
	struct pooled *up;   /* the block that ends at each score when only those below it exist */
	struct pooled *down; /* likewise that begins there, and those above it */
};

static double mean_of(const struct pooled *block)
{
	return block->positive / block->weight;
}

static void absorb(struct pooled *block, const struct pooled *other)
{
	block->weight += other->weight;
	block->positive += other->positive;
	block->next = other->next;
}

/* Pools with the blocks below as long as they are not lower. */
static bool pool_below(const struct pooled *up, struct pooled *block)
{
	bool pooled = false;
	while (block->next != NONE && mean_of(&up[block->next]) >= mean_of(block)) {
		absorb(block, &up[block->next]);
		pooled = true;
	}
	return pooled;
}

/* Pools with the blocks above as long as they are not higher. */
static bool pool_above(const struct pooled *down, struct pooled *block)
{
	bool pooled = false;
	while (block->next != NONE && mean_of(&down[block->next]) <= mean_of(block)) {
		absorb(block, &down[block->next]);
		pooled = true;
	}
	return pooled;
}

err_t venn_abers_fit(const struct outcome *outcomes, size_t count, struct arena *arena,
		     struct venn_abers **ret_predictor, struct err_detail *detail)
{
	size_t groups_count;
	err_t err = outcomes_check(outcomes, count, detail);
	if (err)
		return err;
	const struct outcome_group *groups = outcomes_group(outcomes, count, arena, &groups_count);
	struct venn_abers *predictor = ARENA_NEW(arena, struct venn_abers);
	*predictor = (struct venn_abers){
		.count = groups_count,
		.scores = ARENA_ARRAY(arena, double, groups_count),
		.own = ARENA_ARRAY(arena, struct pooled, groups_count),
		.up = ARENA_ARRAY(arena, struct pooled, groups_count),
		.down = ARENA_ARRAY(arena, struct pooled, groups_count),
	};
	for (size_t i = 0; i < groups_count; i++) {
		predictor->scores[i] = groups[i].score;
		predictor->own[i] =
			(struct pooled){ groups[i].positive + groups[i].negative, groups[i].positive, NONE };
		predictor->up[i] = predictor->own[i];
		predictor->up[i].next = i > 0 ? i - 1 : NONE;
		pool_below(predictor->up, &predictor->up[i]);
	}
	for (size_t i = groups_count; i-- > 0;) {
		predictor->down[i] = predictor->own[i];
		predictor->down[i].next = i + 1 < groups_count ? i + 1 : NONE;
		pool_above(predictor->down, &predictor->down[i]);
	}
	*ret_predictor = predictor;
	return ERR_OK;
}

/* The first score that is not below. */
static size_t find(const struct venn_abers *predictor, double score)
{
	size_t low = 0, high = predictor->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (predictor->scores[middle] < score)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The value of a new case with that score and label. */
static double value_with(const struct venn_abers *predictor, double score, bool correct)
{
	size_t at = find(predictor, score);
	bool meets = at < predictor->count && predictor->scores[at] == score;
	struct pooled block = { 1, correct, NONE };
	if (meets)
		absorb(&block, &predictor->own[at]);
	size_t below = at > 0 ? at - 1 : NONE, above = at + meets < predictor->count ? at + meets : NONE;
	for (bool pooled = true; pooled;) {
		block.next = below;
		pooled = pool_below(predictor->up, &block);
		below = block.next;
		block.next = above;
		pooled |= pool_above(predictor->down, &block);
		above = block.next;
	}
	return fmin(1, mean_of(&block));
}

struct venn_abers_interval venn_abers_predict(const struct venn_abers *predictor, double score)
{
	struct venn_abers_interval interval = { value_with(predictor, score, false),
						value_with(predictor, score, true), 0 };
	interval.value = interval.high / (1 - interval.low + interval.high);
	return interval;
}
