#include "compare/reading.h"

#include "common/arena.h"

#include <float.h>
#include <math.h>

void compare_reading_free(struct compare_reading *reading)
{
	buf_free(&reading->exact);
}

void compare_reading_reset(struct compare_reading *reading)
{
	buf_reset(&reading->exact);
	reading->numbers_count = 0;
	reading->spans_count = 0;
}

#define RENEW_BYTES ((size_t)256 << 10)

void compare_reading_renew(struct compare_reading *reading)
{
	compare_reading_reset(reading);
	if (reading->arena && arena_size_bytes(reading->arena) < RENEW_BYTES)
		return;
	arena_free(reading->arena);
	reading->arena = arena_new();
	reading->numbers = NULL;
	reading->numbers_capacity = 0;
	reading->spans = NULL;
	reading->spans_capacity = 0;
}

void compare_reading_end(struct compare_reading *reading)
{
	compare_reading_free(reading);
	arena_free(reading->arena);
	reading->arena = NULL;
}

/* The mode of a column compared with one of its own class. */
static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

str_t compare_trim(str_t text)
{
	while (text.len > 0 && is_space(text.ptr[0])) {
		text.ptr++;
		text.len--;
	}
	while (text.len > 0 && is_space(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

void compare_push_exact_number(struct compare_reading *reading, str_t number)
{
	buf_append_char(&reading->exact, '=');
	compare_number_exact(number, &reading->exact);
}

/* Numbers with fewer digits and no power of ten are below the largest double. */
#define MAX_FINITE_DIGITS 300

static bool is_beyond_doubles(str_t number)
{
	bool small = number.len <= MAX_FINITE_DIGITS && !memchr(number.ptr, 'e', number.len) &&
		     !memchr(number.ptr, 'E', number.len);
	return !small && !isfinite(compare_number_double(number));
}

static void push_canonical(struct compare_reading *reading, str_t number)
{
	struct compare_span span = { .start = reading->exact.len };
	compare_push_exact_number(reading, number);
	span.end = reading->exact.len;
	if (reading->arena && !is_beyond_doubles(number))
		ARENA_PUSH(reading->arena, reading->spans, reading->spans_count, reading->spans_capacity,
			   span);
}

struct hash_128 compare_reading_hash(const struct hash_key *key, const struct compare_reading *reading)
{
	str_t exact = buf_str(&reading->exact);
	return hash_keyed_128(key, exact.ptr, exact.len);
}

void compare_reading_shape(const struct compare_reading *reading, struct buf *shape)
{
	size_t at = 0;
	for (size_t i = 0; i < reading->spans_count; i++) {
		buf_append(shape, reading->exact.data + at, reading->spans[i].start - at);
		buf_append_char(shape, '#');
		at = reading->spans[i].end;
	}
	buf_append(shape, reading->exact.data + at, reading->exact.len - at);
}

void compare_push_number(struct compare_reading *reading, str_t number)
{
	if (reading->canonical) {
		push_canonical(reading, number);
		return;
	}
	double value = compare_number_double(number);
	if (!isfinite(value)) {
		compare_push_exact_number(reading, number);
		return;
	}
	buf_append_char(&reading->exact, '#');
	ARENA_PUSH(reading->arena, reading->numbers, reading->numbers_count, reading->numbers_capacity,
		   value);
}

void compare_push_number_or_key(struct compare_reading *reading, str_t number)
{
	if (compare_number_is_key(number))
		compare_push_exact_number(reading, number);
	else
		compare_push_number(reading, number);
}

void compare_push_text(struct compare_reading *reading, str_t text)
{
	compare_append_whole(&reading->exact, (int64_t)text.len);
	buf_append_char(&reading->exact, ':');
	buf_append_str(&reading->exact, text);
}
