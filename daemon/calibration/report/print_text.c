#include "calibration/report/print_text.h"

#include "common/terminal.h"

#include <time.h>

void print_time(FILE *stream, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm utc;
	char text[32];
	gmtime_r(&seconds, &utc);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
	fputs(text, stream);
}

void print_window(FILE *stream, int64_t seconds)
{
	if (seconds % 86400 == 0)
		fprintf(stream, "%lld d", (long long)(seconds / 86400));
	else if (seconds % 3600 == 0)
		fprintf(stream, "%lld h", (long long)(seconds / 3600));
	else
		fprintf(stream, "%lld s", (long long)seconds);
}

void print_name(FILE *stream, str_t name)
{
	terminal_print(stream, name.len ? name : STR("-"));
}
