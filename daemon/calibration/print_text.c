#include "calibration/print_text.h"

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

/* Names come from events: control characters would speak to the terminal. */
void print_name(FILE *stream, str_t name)
{
	if (name.len == 0)
		fputc('-', stream);
	for (size_t i = 0; i < name.len; i++)
		fputc((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f ? '?' : name.ptr[i], stream);
}
