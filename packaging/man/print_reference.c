/* Prints a manual page whose line `.\" SETTINGS` is replaced by the reference of all settings. */
#include "config/config.h"

#include <sysexits.h>

int main(int argc, char **argv)
{
	char line[4096];
	FILE *page = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (!page) {
		fprintf(stderr, "usage: print_reference PAGE\n");
		return EX_USAGE;
	}
	while (fgets(line, sizeof line, page)) {
		if (strcmp(line, ".\\\" SETTINGS\n") == 0)
			config_print_reference(stdout);
		else
			fputs(line, stdout);
	}
	fclose(page);
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}
