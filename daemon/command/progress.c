#include "command/progress.h"

#include "common/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_US = 1000000, STEP_US = 500000 };

void progress_init(struct progress *progress)
{
	const char *terminal = getenv("TERM");
	bool obeys = isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
	*progress = (struct progress){ .on = obeys, .next_us = clock_monotonic_us() + FIRST_US };
}

bool progress_due(const struct progress *progress)
{
	return progress->on && clock_monotonic_us() >= progress->next_us;
}

void progress_show(struct progress *progress, const char *format, ...)
{
	va_list arguments;
	if (!progress_due(progress))
		return;
	progress->next_us = clock_monotonic_us() + STEP_US;
	progress->shown = true;
	va_start(arguments, format);
	fputc('\r', stderr);
	vfprintf(stderr, format, arguments);
	fputs("\033[K", stderr);
	va_end(arguments);
}

void progress_clear(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
