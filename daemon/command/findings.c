#include "command/findings.h"

#include "common/terminal.h"

/* The message without what the line begins with anyway. */
static const char *without_prefix(const char *message, const char *what)
{
	size_t len = strlen(what);
	return strncmp(message, what, len) == 0 && strncmp(message + len, ": ", 2) == 0 ? message + len + 2
											: message;
}

static void print_line(const struct findings *findings, const char *kind, const char *what,
		       const char *message, size_t len)
{
	terminal_print_line(findings->out, "%-8s%s: %.*s", kind, what, (int)len, message);
}

void findings_ok(struct findings *findings, const char *what)
{
	terminal_print_line(findings->out, "%-8s%s", "ok", what);
}

void findings_none(struct findings *findings, const char *what, const char *text)
{
	print_line(findings, "-", what, text, strlen(text));
}

void findings_tried(struct findings *findings, const char *what, err_t err, const struct err_detail *detail)
{
	if (!err) {
		findings_ok(findings, what);
		return;
	}
	const char *message = without_prefix(err_message(err, detail), what);
	print_line(findings, "error", what, message, strlen(message));
	findings->errors++;
	if (!findings->first)
		findings->first = err;
}

void findings_lines(struct findings *findings, enum finding_kind kind, const char *what, str_t texts)
{
	for (const char *line = texts.ptr; line && *line;) {
		size_t len = strcspn(line, "\n");
		print_line(findings, kind == FINDING_NOTE ? "note" : "warning", what, line, len);
		findings->warnings += kind == FINDING_WARNING;
		line += len + (line[len] == '\n');
	}
}

void findings_add(struct findings *findings, const struct findings *part)
{
	if (!findings->first)
		findings->first = part->first;
	findings->errors += part->errors;
	findings->warnings += part->warnings;
}

err_t findings_end(const struct findings *findings, bool strict, struct err_detail *detail)
{
	err_t err = findings->first;
	if (!err && strict && findings->warnings)
		err = ERR_CHECK_WARNINGS;
	if (!err)
		return ERR_OK;
	return err_fail(detail, err, "%u error%s and %u warning%s%s", findings->errors,
			findings->errors == 1 ? "" : "s", findings->warnings,
			findings->warnings == 1 ? "" : "s",
			err == ERR_CHECK_WARNINGS ? ", which --strict does not accept" : "");
}
