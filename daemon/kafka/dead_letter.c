#include "kafka/dead_letter.h"

#include "kafka/header.h"

#include <inttypes.h>
#include <stdio.h>

enum { REASON_BYTES = 64, REDRIVEN_MAX = 1000000 };

str_t dead_letter_header(const rd_kafka_headers_t *headers, const char *name)
{
	const void *value;
	size_t len;
	if (!headers || rd_kafka_header_get_last(headers, name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    !value)
		return STR_NONE;
	return (str_t){ value, len };
}

static bool is_reason(str_t text)
{
	size_t i = 0;
	while (i < text.len && ((text.ptr[i] >= 'a' && text.ptr[i] <= 'z') ||
				(text.ptr[i] >= '0' && text.ptr[i] <= '9') || text.ptr[i] == '_'))
		i++;
	return text.len > 0 && text.len <= REASON_BYTES && i == text.len;
}

/* Decimal digits alone, up to `max`. */
static bool read_number(str_t text, int64_t max, int64_t *ret_number)
{
	int64_t number = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		int digit = text.ptr[i] - '0';
		if (number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return text.len > 0;
}

/* The largest that is a number: an event may bring some of its own. */
static uint32_t read_redriven(const rd_kafka_headers_t *headers)
{
	const char *name;
	const void *value;
	size_t len;
	int64_t number, largest = 0;
	for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &len); i++)
		if (strcmp(name, header_name(HEADER_REDRIVEN)) == 0 && value &&
		    read_number((str_t){ value, len }, REDRIVEN_MAX, &number) && number > largest)
			largest = number;
	return (uint32_t)largest;
}

bool dead_letter_read(const rd_kafka_headers_t *headers, struct dead_letter *ret_letter)
{
	int64_t partition, offset;
	struct dead_letter letter = {
		.reason = dead_letter_header(headers, header_name(HEADER_REASON)),
		.detail = dead_letter_header(headers, header_name(HEADER_DETAIL)),
		.topic = dead_letter_header(headers, header_name(HEADER_TOPIC)),
		.cut = str_present(dead_letter_header(headers, header_name(HEADER_LENGTH))) ||
		       str_present(dead_letter_header(headers, header_name(HEADER_SHA256)))
	};
	if (!is_reason(letter.reason) || letter.topic.len == 0 ||
	    !read_number(dead_letter_header(headers, header_name(HEADER_PARTITION)), INT32_MAX, &partition) ||
	    !read_number(dead_letter_header(headers, header_name(HEADER_OFFSET)), INT64_MAX, &offset))
		return false;
	letter.partition = (int32_t)partition;
	letter.offset = offset;
	letter.redriven = read_redriven(headers);
	*ret_letter = letter;
	return true;
}

static bool is_any(const char *name, const enum header *headers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, header_name(headers[i])) == 0)
			return true;
	return false;
}

bool dead_letter_is_own(const char *name)
{
	static const enum header own[] = { HEADER_REASON, HEADER_DETAIL, HEADER_TOPIC, HEADER_PARTITION,
					   HEADER_OFFSET, HEADER_LENGTH, HEADER_SHA256 };
	return is_any(name, own, sizeof own / sizeof *own);
}

bool dead_letter_is_mark(const char *name)
{
	static const enum header marks[] = { HEADER_REDRIVEN, HEADER_REDRIVEN_FROM, HEADER_REDRIVEN_REASON };
	return is_any(name, marks, sizeof marks / sizeof *marks);
}

rd_kafka_headers_t *dead_letter_event_headers(const rd_kafka_headers_t *headers,
					      const struct dead_letter *letter, const char *topic,
					      int32_t partition, int64_t offset)
{
	rd_kafka_headers_t *made = rd_kafka_headers_new(DEAD_LETTER_MARKS + rd_kafka_header_cnt(headers));
	const char *name;
	const void *value;
	size_t len;
	char text[320];
	snprintf(text, sizeof text, "%" PRIu32, letter->redriven + 1);
	rd_kafka_header_add(made, header_name(HEADER_REDRIVEN), -1, text, -1);
	snprintf(text, sizeof text, "%s/%" PRId32 "/%" PRId64, topic, partition, offset);
	rd_kafka_header_add(made, header_name(HEADER_REDRIVEN_FROM), -1, text, -1);
	rd_kafka_header_add(made, header_name(HEADER_REDRIVEN_REASON), -1, letter->reason.ptr,
			    (ssize_t)letter->reason.len);
	for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &len); i++)
		if (!dead_letter_is_own(name) && !dead_letter_is_mark(name))
			rd_kafka_header_add(made, name, -1, value, (ssize_t)len);
	return made;
}
