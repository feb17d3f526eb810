#include "calibration/store/segments.h"

#include "database/array.h"

/* In the order of bytes; a shorter text comes before those that it begins. */
static int compare_texts(str_t a, str_t b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.ptr, b.ptr, len) : 0;
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

int calibration_segment_compare(const struct calibration_segment *a, const struct calibration_segment *b)
{
	int order = compare_texts(a->application, b->application);
	if (!order)
		order = compare_texts(a->model, b->model);
	return order ? order : compare_texts(a->prompt_version, b->prompt_version);
}

/* Where the segment is, or would be. */
static size_t find(const struct segments *segments, const struct calibration_segment *segment)
{
	size_t low = 0, high = segments->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (calibration_segment_compare(&segments->items[middle], segment) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static str_t copy_text(str_t text)
{
	char *copy = malloc(text.len + 1);
	if (!copy)
		abort();
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	return (str_t){ copy, text.len };
}

static void free_text(str_t text)
{
	free((void *)(uintptr_t)text.ptr);
}

void segments_add(struct segments *segments, const struct calibration_segment *segment)
{
	size_t at = find(segments, segment);
	if (at < segments->count && calibration_segment_compare(&segments->items[at], segment) == 0)
		return;
	if (segments->count == segments->capacity) {
		segments->capacity = segments->capacity ? 2 * segments->capacity : 16;
		segments->items = reallocarray(segments->items, segments->capacity, sizeof *segments->items);
		if (!segments->items)
			abort();
	}
	memmove(&segments->items[at + 1], &segments->items[at],
		(segments->count - at) * sizeof *segments->items);
	segments->items[at] =
		(struct calibration_segment){ copy_text(segment->application), copy_text(segment->model),
					      copy_text(segment->prompt_version) };
	segments->count++;
}

void segments_add_row(struct segments *segments, const PGresult *result, int row)
{
	segments_add(segments, &(struct calibration_segment){ str_from(PQgetvalue(result, row, 0)),
							      str_from(PQgetvalue(result, row, 1)),
							      str_from(PQgetvalue(result, row, 2)) });
}

void segments_drop(struct segments *segments, size_t count)
{
	for (; count > 0; count--) {
		const struct calibration_segment *last = &segments->items[--segments->count];
		free_text(last->application);
		free_text(last->model);
		free_text(last->prompt_version);
	}
}

void segments_free(struct segments *segments)
{
	segments_drop(segments, segments->count);
	free(segments->items);
	*segments = (struct segments){ 0 };
}

void segment_arrays_make(struct segment_arrays *arrays, const struct calibration_segment *segments,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		array_append(&arrays->application, segments[i].application);
		array_append(&arrays->model, segments[i].model);
		array_append(&arrays->prompt_version, segments[i].prompt_version);
	}
	array_end(&arrays->application);
	array_end(&arrays->model);
	array_end(&arrays->prompt_version);
}

void segment_arrays_free(struct segment_arrays *arrays)
{
	buf_free(&arrays->application);
	buf_free(&arrays->model);
	buf_free(&arrays->prompt_version);
}
