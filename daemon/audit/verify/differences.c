#include "audit/verify/differences.h"

#include <stdarg.h>
#include <stdio.h>

const char *difference_kind_name(enum difference_kind kind)
{
	static const char *const names[] = {
		[DIFFERENCE_CHANGED] = "changed",
		[DIFFERENCE_REMOVED] = "removed",
		[DIFFERENCE_INSERTED] = "inserted",
		[DIFFERENCE_REORDERED] = "reordered",
		[DIFFERENCE_LOST] = "lost",
		[DIFFERENCE_ROOT] = "root",
		[DIFFERENCE_FORK] = "fork",
		[DIFFERENCE_DATABASE] = "database",
		[DIFFERENCE_TILE] = "tile",
		[DIFFERENCE_LOG] = "log",
		[DIFFERENCE_CHECKPOINT] = "checkpoint",
		[DIFFERENCE_MARK] = "mark",
		[DIFFERENCE_FILE] = "file",
		[DIFFERENCE_TOPIC] = "topic",
		[DIFFERENCE_STOPPED] = "stopped",
	};
	return names[kind];
}

void differences_add(struct differences *differences, enum difference_kind kind, int64_t from_offset,
		     int64_t to_offset, const char *format, ...)
{
	va_list arguments;
	if (differences->count++ >= DIFFERENCES_MAX)
		return;
	struct difference *difference = &differences->items[differences->count - 1];
	*difference = (struct difference){ .kind = kind, .from_offset = from_offset, .to_offset = to_offset };
	va_start(arguments, format);
	vsnprintf(difference->text, sizeof difference->text, format, arguments);
	va_end(arguments);
}
