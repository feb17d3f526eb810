#include "command/findings.h"

#include "common/terminal.h"

#include <limits.h>

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

/* "file:line: " where the message begins with a setting that the file has, and for files of a group that the
 * message does not tell the setting of; "" otherwise. `path` is of settings within a group: "group." */
static void find_place(const struct findings *findings, const char *message, err_t err, char *ret_place,
		       size_t size, const char **ret_within)
{
	char setting[128], place[PATH_MAX + 16];
	size_t len = strspn(message, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]");
	bool found = false;
	*ret_place = '\0';
	*ret_within = "";
	if (!findings->config)
		return;
	if (len > 0 && len < 100 && strncmp(message + len, ": ", 2) == 0) {
		snprintf(setting, sizeof setting, "%.*s", (int)len, message);
		found = config_place(findings->config, setting, place, sizeof place);
	}
	if (!found && findings->group) {
		snprintf(setting, sizeof setting, "%s.%.*s", findings->group, (int)len, message);
		found = config_place(findings->config, setting, place, sizeof place);
		if (found)
			*ret_within = findings->group;
		else if (err == ERR_FILE_UNREADABLE)
			found = config_place(findings->config, findings->group, place, sizeof place);
	}
	if (found)
		snprintf(ret_place, size, "%s: ", place);
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
	const char *within;
	char place[PATH_MAX + 32];
	find_place(findings, message, err, place, sizeof place, &within);
	terminal_print_line(findings->out, "%-8s%s: %s%s%s%s", "error", what, place, within,
			    *within ? "." : "", message);
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
