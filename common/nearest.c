#include "common/nearest.h"

#include "common/edit_distance.h"

/* As long as PostgreSQL's names are; longer ones get no hint. */
#define NEAREST_MAX_BYTES 63

void nearest_init(struct nearest *nearest, str_t name)
{
	*nearest = (struct nearest){ .name = name, .best = STR_NONE, .distance = name.len / 3 + 1 };
}

/* Which bytes are in the text, as a set that is exact for lower-case names. */
static uint64_t bytes_of(str_t text)
{
	uint64_t set = 0;
	for (size_t i = 0; i < text.len; i++)
		set |= UINT64_C(1) << ((unsigned char)text.ptr[i] & 63);
	return set;
}

/* Each edit takes away at most one byte and brings at most one. */
static bool may_be_nearer(const struct nearest *nearest, str_t candidate)
{
	size_t apart = candidate.len > nearest->name.len ? candidate.len - nearest->name.len
							 : nearest->name.len - candidate.len;
	if (apart >= nearest->distance)
		return false;
	uint64_t a = bytes_of(nearest->name), b = bytes_of(candidate);
	return (size_t)__builtin_popcountll(a & ~b) < nearest->distance &&
	       (size_t)__builtin_popcountll(b & ~a) < nearest->distance;
}

/* Bytes of the longest beginning that both have, or all of the shorter one where the longer contains it. */
static size_t shared_bytes(str_t a, str_t b)
{
	str_t shorter = a.len < b.len ? a : b, longer = a.len < b.len ? b : a;
	size_t same = 0;
	if (shorter.len * 2 > longer.len && memmem(longer.ptr, longer.len, shorter.ptr, shorter.len))
		return shorter.len;
	while (same < shorter.len && a.ptr[same] == b.ptr[same])
		same++;
	return same;
}

/* Enough in common to be worth a hint: three bytes and more than half of the longer name. */
static void offer_shared(struct nearest *nearest, str_t candidate)
{
	size_t longer = nearest->name.len > candidate.len ? nearest->name.len : candidate.len;
	size_t shorter = nearest->name.len + candidate.len - longer;
	if (shorter * 2 <= longer)
		return;
	size_t shared = shared_bytes(nearest->name, candidate);
	if (shared < 3 || shared * 2 <= longer)
		return;
	bool better =
		shared > nearest->shared || (shared == nearest->shared && candidate.len < nearest->best.len);
	if (!better)
		return;
	nearest->shared = shared;
	nearest->best = candidate;
}

void nearest_offer(struct nearest *nearest, str_t candidate)
{
	bool by_distance = nearest->best.ptr && nearest->shared == 0;
	if (candidate.len > NEAREST_MAX_BYTES || nearest->name.len > NEAREST_MAX_BYTES)
		return;
	size_t distance =
		may_be_nearer(nearest, candidate) ? edit_distance(nearest->name, candidate) : SIZE_MAX;
	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->best = candidate;
		nearest->shared = 0;
	} else if (!by_distance) {
		offer_shared(nearest, candidate);
	}
}

str_t nearest_hint(const struct nearest *nearest, char quote, struct arena *arena)
{
	if (!str_present(nearest->best) || str_equal(nearest->best, nearest->name))
		return STR("");
	return arena_printf(arena, "; did you mean %c" STR_FMT "%c?", quote, STR_ARG(nearest->best), quote);
}
