#include "sql/mongodb/value.h"

#include <math.h>

static bool read_sum(struct mongodb_reader *reader, double *ret_number);

static bool read_operand(struct mongodb_reader *reader, double *ret_number)
{
	struct mongodb_value number = { 0 };
	if (!mongodb_skip_space(reader))
		return false;
	number.offset = reader->at;
	if (++reader->values > MONGODB_MAX_VALUES) {
		reader->too_many = !reader->failure;
		return mongodb_fail(reader, reader->at, "the text holds too many values");
	}
	if (!mongodb_take(reader, '(')) {
		bool read = mongodb_read_number(reader, &number) != NULL;
		*ret_number = number.number;
		return read;
	}
	if (reader->depth == MONGODB_MAX_DEPTH) {
		reader->too_deep = !reader->failure;
		return mongodb_fail(reader, number.offset, "brackets are nested too deeply");
	}
	reader->depth++;
	bool read = read_sum(reader, ret_number);
	reader->depth--;
	return read && (mongodb_take(reader, ')') ||
			mongodb_fail(reader, reader->at, "a closing bracket is expected"));
}

/* The space behind is no part of it. */
static bool ends_at(struct mongodb_reader *reader, size_t end)
{
	reader->at = end;
	return !reader->failure;
}

static bool read_product(struct mongodb_reader *reader, double *ret_number)
{
	double right;
	if (!read_operand(reader, ret_number))
		return false;
	for (;;) {
		size_t end = reader->at;
		bool times = mongodb_take(reader, '*');
		if (!times && !mongodb_take(reader, '/'))
			return ends_at(reader, end);
		if (!read_operand(reader, &right))
			return false;
		*ret_number = times ? *ret_number * right : *ret_number / right;
	}
}

/* "1--1" decrements, which is no operation of numbers. */
static bool is_doubled(const struct mongodb_reader *reader)
{
	return mongodb_peek(reader) == reader->text.ptr[reader->at - 1];
}

static bool read_sum(struct mongodb_reader *reader, double *ret_number)
{
	double right;
	if (!read_product(reader, ret_number))
		return false;
	for (;;) {
		size_t end = reader->at;
		bool plus = mongodb_take(reader, '+');
		if (!plus && !mongodb_take(reader, '-'))
			return ends_at(reader, end);
		if (is_doubled(reader))
			return mongodb_fail(reader, reader->at, "a number is expected");
		if (!read_product(reader, &right))
			return false;
		*ret_number = plus ? *ret_number + right : *ret_number - right;
	}
}

bool mongodb_compute(struct mongodb_reader *reader, struct mongodb_value *value)
{
	size_t start = reader->at;
	double number;
	if (!read_sum(reader, &number))
		return false;
	if (!isfinite(number))
		return mongodb_fail(reader, start, "the sum is no number");
	mongodb_set_number(value, number, reader->arena);
	return true;
}
