#include "common/edit_distance.h"

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t edit_distance(str_t a, str_t b)
{
	size_t row[EDIT_DISTANCE_BYTES_MAX + 1];
	if (a.len > EDIT_DISTANCE_BYTES_MAX || b.len > EDIT_DISTANCE_BYTES_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= b.len; k++)
		row[k] = k;
	for (size_t i = 0; i < a.len; i++) {
		size_t diagonal = row[0];
		row[0] = i + 1;
		for (size_t k = 1; k <= b.len; k++) {
			size_t above = row[k];
			size_t changed = diagonal + (a.ptr[i] != b.ptr[k - 1]);
			row[k] = smaller(changed, smaller(above, row[k - 1]) + 1);
			diagonal = above;
		}
	}
	return row[b.len];
}
