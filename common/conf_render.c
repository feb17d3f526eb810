/* What else follows from the table of settings: texts of values, differences, the reference. */
#include "common/conf_table.h"

static void render_text(struct buf *text, const char *value)
{
	if (!value) {
		buf_append_text(text, "none");
		return;
	}
	buf_append_char(text, '"');
	for (const char *at = value; *at; at++) {
		if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
			buf_printf(text, "\\x%02x", (unsigned)(unsigned char)*at);
		else
			buf_append_char(text, *at);
	}
	buf_append_char(text, '"');
}

static void render_strings(struct buf *text, const struct conf_strings *list)
{
	buf_append_char(text, '[');
	for (size_t i = 0; i < list->count; i++) {
		buf_append_text(text, i ? "," : "");
		render_text(text, list->items[i]);
	}
	buf_append_char(text, ']');
}

static void render_enums(struct buf *text, const struct conf_setting *setting, const struct conf_enums *list)
{
	buf_append_char(text, '[');
	for (size_t i = 0; i < list->count; i++)
		buf_printf(text, "%s%s", i ? "," : "", setting->symbols[list->items[i]]);
	buf_append_char(text, ']');
}

static void render_value(struct buf *text, const struct conf_setting *setting, const void *field)
{
	switch (setting->type) {
	case CONF_BOOL:
		buf_append_text(text, *(const bool *)field ? "true" : "false");
		break;
	case CONF_INT:
		buf_printf(text, "%lld", (long long)*(const int64_t *)field);
		break;
	case CONF_DOUBLE:
		buf_printf(text, "%.17g", *(const double *)field);
		break;
	case CONF_STRING:
		render_text(text, *(const char *const *)field);
		break;
	case CONF_STRINGS:
		render_strings(text, field);
		break;
	case CONF_ENUM:
		buf_append_text(text, setting->symbols[*(const int *)field]);
		break;
	case CONF_ENUMS:
		render_enums(text, setting, field);
		break;
	case CONF_FORBIDDEN:
		break;
	}
}

/* The structs of a group: none for an optional one that was not given, several for a list. */
struct instances {
	const char *base;
	size_t count;
};

static struct instances instances_of(const struct conf_group *group, const void *values)
{
	const char *base = (const char *)values + group->offset;
	if (group->kind == CONF_GROUP_LIST) {
		const struct conf_groups *groups = (const void *)base;
		return (struct instances){ groups->items, groups->count };
	}
	if (group->kind == CONF_GROUP_OPTIONAL)
		return (struct instances){ base, *(const bool *)(const void *)base };
	return (struct instances){ base, 1 };
}

static void append_path(struct buf *text, const struct conf_group *group, size_t instance, const char *name)
{
	if (group->kind == CONF_GROUP_LIST)
		buf_printf(text, "%s[%zu].%s", group->path, instance, name);
	else
		buf_printf(text, "%s.%s", group->path, name);
}

/* Appends the settings of one struct of a group. */
static void render_instance(const struct conf_table *table, size_t group, size_t instance, const char *base,
			    unsigned without, struct buf *text)
{
	for (size_t i = 0; i < table->settings_count; i++) {
		const struct conf_setting *setting = &table->settings[i];
		if (setting->group != group || setting->type == CONF_FORBIDDEN || (setting->flags & without))
			continue;
		append_path(text, &table->groups[group], instance, setting->name);
		buf_append_char(text, '=');
		render_value(text, setting, base + setting->offset);
		buf_append_char(text, '\n');
	}
}

void conf_render(const struct conf_table *table, const void *values, unsigned without, struct buf *text)
{
	for (size_t group = 0; group < table->groups_count; group++) {
		struct instances found = instances_of(&table->groups[group], values);
		if (table->groups[group].kind == CONF_GROUP_OPTIONAL ||
		    table->groups[group].kind == CONF_GROUP_LIST)
			buf_printf(text, "%s=%zu\n", table->groups[group].path, found.count);
		for (size_t i = 0; i < found.count; i++)
			render_instance(table, group, i, found.base + i * table->groups[group].size_bytes,
					without, text);
	}
}

static bool differs(const struct conf_setting *setting, const char *before, const char *after)
{
	_cleanup_(buf_free) struct buf old = BUF_INIT;
	_cleanup_(buf_free) struct buf new = BUF_INIT;
	render_value(&old, setting, before + setting->offset);
	render_value(&new, setting, after + setting->offset);
	return !str_equal(buf_str(&old), buf_str(&new));
}

static size_t instance_differs(const struct conf_table *table, size_t group, size_t instance,
			       const char *before, const char *after, struct buf *names)
{
	size_t found = 0;
	for (size_t i = 0; i < table->settings_count; i++) {
		const struct conf_setting *setting = &table->settings[i];
		if (setting->group != group || setting->type == CONF_FORBIDDEN ||
		    (setting->flags & CONF_RELOADABLE) || !differs(setting, before, after))
			continue;
		buf_append_text(names, names->len ? ", " : "");
		append_path(names, &table->groups[group], instance, setting->name);
		found++;
	}
	return found;
}

size_t conf_restart_needed(const struct conf_table *table, const void *before, const void *after,
			   struct buf *names)
{
	size_t found = 0;
	for (size_t group = 0; group < table->groups_count; group++) {
		size_t size = table->groups[group].size_bytes;
		struct instances old = instances_of(&table->groups[group], before);
		struct instances new = instances_of(&table->groups[group], after);
		if (old.count != new.count) {
			buf_printf(names, "%s%s", names->len ? ", " : "", table->groups[group].path);
			found++;
			continue;
		}
		for (size_t i = 0; i < old.count; i++)
			found += instance_differs(table, group, i, old.base + i * size, new.base + i *size,
						  names);
	}
	return found;
}

/* --- reference --- */

/* Text for man(7): backslashes, hyphens and control characters at the start of a line are escaped. */
static void print_roff(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
}

static void print_type(FILE *out, const struct conf_setting *setting)
{
	static const char *const names[] = {
		[CONF_BOOL] = "true or false",	  [CONF_INT] = "whole number",
		[CONF_DOUBLE] = "number",	  [CONF_STRING] = "text",
		[CONF_STRINGS] = "list of texts", [CONF_ENUM] = "one of",
		[CONF_ENUMS] = "list of any of",  [CONF_FORBIDDEN] = "",
	};
	fputs(names[setting->type], out);
	if (setting->type == CONF_INT || setting->type == CONF_DOUBLE)
		fprintf(out, " %.15g to %.15g", setting->min, setting->max);
	if (setting->unit)
		fprintf(out, " %s", setting->unit);
	for (size_t i = 0; setting->symbols && setting->symbols[i]; i++) {
		fputs(i ? ", " : " ", out);
		print_roff(out, setting->symbols[i]);
	}
}

static void print_default(FILE *out, const struct conf_setting *setting)
{
	bool text = setting->type == CONF_STRING || setting->type == CONF_ENUM;
	if (setting->flags & CONF_REQUIRED) {
		fputs("; required", out);
	} else if (setting->default_text) {
		fputs(text ? "; default \"" : "; default ", out);
		print_roff(out, setting->default_text);
		fputs(text ? "\"" : "", out);
	}
	if (setting->flags & CONF_RELOADABLE)
		fputs("; reloadable", out);
}

static void print_setting(FILE *out, const struct conf_setting *setting)
{
	fputs(".TP\n.B ", out);
	print_roff(out, setting->name);
	fputs("\n(", out);
	print_type(out, setting);
	print_default(out, setting);
	fputs(")\n.br\n", out);
	print_roff(out, setting->sentence);
	fputs("\n", out);
}

/* The group before that describes the same setting, or that of the setting itself. */
static size_t described_in(const struct conf_table *table, const struct conf_setting *setting)
{
	for (const struct conf_setting *other = table->settings; other < setting; other++)
		if ((setting->flags & other->flags & CONF_SHARED) && strcmp(other->name, setting->name) == 0)
			return other->group;
	return setting->group;
}

/* Names of those that another group describes already. */
static void print_described(const struct conf_table *table, size_t group, FILE *out)
{
	size_t named = SIZE_MAX;
	for (size_t i = 0; i < table->settings_count; i++) {
		const struct conf_setting *setting = &table->settings[i];
		size_t where = described_in(table, setting);
		if (setting->group != group || setting->type == CONF_FORBIDDEN || where == group)
			continue;
		if (where == named)
			fputs(", ", out);
		else
			fprintf(out, "%sAs in %s: ", named == SIZE_MAX ? ".PP\n" : ".\n",
				table->groups[where].path);
		named = where;
		print_roff(out, setting->name);
	}
	if (named != SIZE_MAX)
		fputs(".\n", out);
}

void conf_print_reference(const struct conf_table *table, FILE *out)
{
	for (size_t group = 0; group < table->groups_count; group++) {
		fprintf(out, ".SS %s\n", table->groups[group].path);
		print_roff(out, table->groups[group].sentence);
		fputs("\n", out);
		for (size_t i = 0; i < table->settings_count; i++) {
			const struct conf_setting *setting = &table->settings[i];
			if (setting->group == group && setting->type != CONF_FORBIDDEN &&
			    described_in(table, setting) == group)
				print_setting(out, setting);
		}
		print_described(table, group, out);
	}
}
