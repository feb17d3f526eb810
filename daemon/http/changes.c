#include "http/changes.h"

#include "common/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void changes_note(struct changes *changes, int64_t at_ms, const char *format, ...)
{
	struct change *change = &changes->ring[changes->count++ % CHANGES_KEPT];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(change->text, sizeof change->text, format, arguments);
	va_end(arguments);
	change->text[utf8_valid_prefix(change->text, strlen(change->text))] = '\0';
	change->at_ms = at_ms;
}

size_t changes_read(const struct changes *changes, struct change ret_changes[CHANGES_KEPT])
{
	uint64_t count = changes->count < CHANGES_KEPT ? changes->count : CHANGES_KEPT;
	for (uint64_t i = 0; i < count; i++)
		ret_changes[i] = changes->ring[(changes->count - 1 - i) % CHANGES_KEPT];
	return (size_t)count;
}
