#include "common/edit_distance.h"

static size_t least(size_t a, size_t b, size_t c)
{
	size_t smaller = a < b ? a : b;
	return smaller < c ? smaller : c;
}

size_t edit_distance(str_t a, str_t b)
{
	size_t rows[3][EDIT_DISTANCE_BYTES_MAX + 1];
	size_t *above2 = rows[0], *above = rows[1], *row = rows[2];
	if (a.len > EDIT_DISTANCE_BYTES_MAX || b.len > EDIT_DISTANCE_BYTES_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= b.len; k++)
		above[k] = k;
	for (size_t i = 1; i <= a.len; i++) {
		row[0] = i;
		for (size_t k = 1; k <= b.len; k++) {
			bool differ = a.ptr[i - 1] != b.ptr[k - 1];
			row[k] = least(above[k] + 1, row[k - 1] + 1, above[k - 1] + differ);
			bool swapped = i > 1 && k > 1 && a.ptr[i - 1] == b.ptr[k - 2] &&
				       a.ptr[i - 2] == b.ptr[k - 1];
			if (swapped && above2[k - 2] + 1 < row[k])
				row[k] = above2[k - 2] + 1;
		}
		size_t *oldest = above2;
		above2 = above;
		above = row;
		row = oldest;
	}
	return above[b.len];
}
