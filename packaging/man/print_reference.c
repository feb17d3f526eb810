/* Prints a manual page whose lines of the form `.\" NAME` are replaced by what a table of the program says:
 * SETTINGS the reference of all settings, FEATURES the list of all features, DIAGNOSTICS that of all
 * diagnostics with their sub codes; of the formulas EXAMPLES formula the worked ones of it, of which the page
 * has to have all, and those of the table below. */
#include "config/config.h"
#include "score/disposition.h"
#include "score/features.h"
#include "score/retrieval.h"
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

/* ---- tables of the formulas ---- */

static void print_codes(FILE *out)
{
	static const struct {
		const char *code;
		bool error;
		const char *sqlstate;
	} codes[] = {
#define DIAGNOSTIC(symbol, code, severity, sqlstate, meaning) { code, severity == SQL_ERROR, sqlstate },
#include "sql/findings/diagnostics.def"
#undef DIAGNOSTIC
	};
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		bool refused = codes[i].sqlstate && strcmp(codes[i].code, "markdown_fence") != 0;
		fprintf(out, ".TP\n.B %s\n%s\n", codes[i].code,
			!codes[i].error ? "warning"
			: refused	? "error, refused"
					: "error, not refused");
	}
}

static void print_violations(FILE *out)
{
#define VIOLATION(symbol, code, text) fprintf(out, ".TP\n.B %s\n%s.\n", code, text);
#include "sql/findings/violations.def"
#undef VIOLATION
}

static void print_findings(FILE *out)
{
	for (unsigned action = 0; action < DISPOSITION_ACTION_COUNT_; action++)
		for (unsigned i = 0; i < FINDING_COUNT_; i++) {
			enum disposition_finding finding = (enum disposition_finding)i;
			if (disposition_finding_action(finding) != (enum disposition_action)action)
				continue;
			fprintf(out, ".TP\n.B %s\n%s%s\n", disposition_finding_code(finding),
				disposition_action_name((enum disposition_action)action),
				disposition_finding_wrong(finding) ? ", known to be wrong" : "");
		}
}

static void print_stages(FILE *out)
{
#define STAGE(symbol, name) fprintf(out, ".br\n.I %s\n", name);
#include "event/record/stage.def"
#undef STAGE
}

/* Those that the record of an event may have. */
static void print_errors(FILE *out)
{
	static const struct {
		const char *name, *disposition, *text;
	} errors[] = {
#define ERROR(symbol, name, disposition, status, text) { name, #disposition, text },
#include "common/errors.def"
#undef ERROR
	};
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (strcmp(errors[i].disposition, "FAIL_METRIC") == 0)
			fprintf(out, ".TP\n.B %s\n%s.\n", errors[i].name, errors[i].text);
}

static void print_scales(FILE *out)
{
	for (size_t i = 0; i < FEATURE_COUNT_; i++)
		fprintf(out, ".TP\n.BR %s \" (%g)\"\n%s.\n", FEATURE_INFO[i].name, FEATURE_INFO[i].scale,
			FEATURE_INFO[i].sentence);
}

static void print_retrieval_rules(FILE *out)
{
	static const char *const names[RETRIEVAL_METRIC_COUNT_] = {
		[RETRIEVAL_TOP] = "top",
		[RETRIEVAL_GAP] = "gap",
		[RETRIEVAL_CONSENSUS] = "consensus",
		[RETRIEVAL_AGREEMENT] = "agreement",
		[RETRIEVAL_SPREAD] = "low_spread",
		[RETRIEVAL_GRAPH] = "graph",
		[RETRIEVAL_DIVERSITY] = "low_diversity",
	};
	const struct retrieval_options rules = RETRIEVAL_OPTIONS_DEFAULT;
	fprintf(out, ".nf\n");
	for (size_t i = 0; i < RETRIEVAL_METRIC_COUNT_; i++)
		fprintf(out, "weights.%s = %g\n", names[i], rules.weights[i]);
	fprintf(out, "rrf_scale = %g\nconsensus_above = %g\ngap_scale = %g\nspread_scale = %g\n",
		rules.rrf_scale, rules.consensus_above, rules.gap_scale, rules.spread_scale);
	fprintf(out, "thresholds.high = %g\nthresholds.medium = %g\nthresholds.low = %g\n.fi\n",
		rules.thresholds.high, rules.thresholds.medium, rules.thresholds.low);
}

/* ---- worked examples ---- */

static struct example {
	const char *formula, *inputs, *result;
	bool printed;
} examples[] = {
#define EXAMPLE(formula, inputs, result) { formula, inputs, result, false },
#include "packaging/man/formulas.def"
#undef EXAMPLE
};

#define EXAMPLES_COUNT (sizeof examples / sizeof examples[0])

/* A hyphen that can be typed again. */
static void print_literally(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			fputc('\\', out);
		fputc(*text == '\\' ? 'e' : *text, out);
	}
}

/* Of the formulas that begin with that text; how many there were. */
static size_t print_examples(FILE *out, const char *formula)
{
	size_t found = 0;
	fprintf(out, ".PP\n.nf\n");
	for (size_t i = 0; i < EXAMPLES_COUNT; i++) {
		struct example *example = &examples[i];
		if (example->printed || strncmp(example->formula, formula, strlen(formula)) != 0)
			continue;
		print_literally(out, example->formula);
		fprintf(out, ": ");
		print_literally(out, example->inputs);
		fprintf(out, " \\-> ");
		print_literally(out, example->result);
		fprintf(out, "\n");
		example->printed = true;
		found++;
	}
	fprintf(out, ".fi\n");
	return found;
}

/* A page has all of them or none. */
static bool examples_are_whole(void)
{
	size_t printed = 0;
	for (size_t i = 0; i < EXAMPLES_COUNT; i++)
		printed += examples[i].printed;
	if (printed > 0 && printed < EXAMPLES_COUNT)
		fprintf(stderr, "print_reference: the page has %zu of %zu examples\n", printed,
			EXAMPLES_COUNT);
	return printed == 0 || printed == EXAMPLES_COUNT;
}

/* ---- pages ---- */

static const struct {
	const char *name;
	void (*print)(FILE *out);
} tables[] = {
	{ "SETTINGS", config_print_reference },
	{ "FEATURES", print_features },
	{ "DIAGNOSTICS", print_diagnostics },
	{ "CODES", print_codes },
	{ "VIOLATIONS", print_violations },
	{ "FINDINGS", print_findings },
	{ "STAGES", print_stages },
	{ "ERRORS", print_errors },
	{ "SCALES", print_scales },
	{ "RETRIEVAL RULES", print_retrieval_rules },
};

/* Whether the line could be printed: a name that no table has is a mistake. */
static bool print_line(char *line)
{
	static const char mark[] = ".\\\" ";
	if (strncmp(line, mark, strlen(mark)) != 0) {
		fputs(line, stdout);
		return true;
	}
	char *name = line + strlen(mark);
	name[strcspn(name, "\n")] = '\0';
	if (strncmp(name, "EXAMPLES ", strlen("EXAMPLES ")) == 0 &&
	    print_examples(stdout, name + strlen("EXAMPLES ")) > 0)
		return true;
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		if (strcmp(name, tables[i].name) == 0) {
			tables[i].print(stdout);
			return true;
		}
	fprintf(stderr, "print_reference: nothing is known of \"%s\"\n", name);
	return false;
}

int main(int argc, char **argv)
{
	char line[4096];
	bool known = true;
	FILE *page = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (!page) {
		fprintf(stderr, "usage: print_reference PAGE\n");
		return EX_USAGE;
	}
	while (known && fgets(line, sizeof line, page))
		known = print_line(line);
	fclose(page);
	if (!known || !examples_are_whole())
		return EX_DATAERR;
	return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
}
