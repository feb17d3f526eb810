/* Prints a manual page whose line `.\" SETTINGS` is replaced by the reference of all settings, and `.\"
 * FEATURES` by the list of all features. */
#include "config/config.h"
#include "score/features.h"

#include <sysexits.h>

/* Sentences have no character that a manual page has to escape but quotation marks, which stand in no macro's
 * line. */
static void print_features(FILE *out)
{
	for (size_t i = 0; i < FEATURE_COUNT_; i++)
		fprintf(out, ".TP\n.B %s\n%s.\n", FEATURE_INFO[i].name, FEATURE_INFO[i].sentence);
}

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
		else if (strcmp(line, ".\\\" FEATURES\n") == 0)
			print_features(stdout);
		else
			fputs(line, stdout);
	}
	fclose(page);
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}
