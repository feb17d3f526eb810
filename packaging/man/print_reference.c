/* Prints a manual page whose line `.\" SETTINGS` is replaced by the reference of all settings, `.\" FEATURES`
 * by the list of all features, and `.\" DIAGNOSTICS` by that of all diagnostics with their sub codes. */
#include "config/config.h"
#include "score/features.h"
#include "sql/findings/diagnostics.h"

#include <sysexits.h>

/* Sentences have no character that a manual page has to escape but quotation marks, which stand in no macro's
 * line. */
static void print_features(FILE *out)
{
	for (size_t i = 0; i < FEATURE_COUNT_; i++)
		fprintf(out, ".TP\n.B %s\n%s.\n", FEATURE_INFO[i].name, FEATURE_INFO[i].sentence);
}

static void print_sub_codes(FILE *out, enum sql_diagnostic_code code)
{
	for (int i = SUB_NONE + 1; i < SUB_COUNT_; i++)
		if (diagnostic_of_sub((enum diagnostic_sub_code)i) == code)
			fprintf(out, ".br\n.I %s\n(%s)\n", diagnostic_sub_name((enum diagnostic_sub_code)i),
				diagnostic_sub_meaning((enum diagnostic_sub_code)i));
}

static void print_diagnostics(FILE *out)
{
	for (int i = 0; i < DIAG_COUNT_; i++) {
		enum sql_diagnostic_code code = (enum sql_diagnostic_code)i;
		fprintf(out, ".TP\n.BR %s \" (%s)\"\n%s.\n", diagnostic_name(code),
			diagnostic_is_error(code) ? "error" : "warning", diagnostic_meaning(code));
		print_sub_codes(out, code);
	}
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
		else if (strcmp(line, ".\\\" DIAGNOSTICS\n") == 0)
			print_diagnostics(stdout);
		else
			fputs(line, stdout);
	}
	fclose(page);
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}
