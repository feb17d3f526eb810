#include "common/conf_table.h"

#include "common/conf_hint.h"
#include "common/conf_scan.h"
#include "common/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <libconfig.h>
#include <limits.h>
#include <math.h>
#include <strings.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define SHOWN_MAX      60 /* bytes of a value in a message */
#define NAME_MAX_BYTES 128

struct conf_file {
	char *name;
	config_t parsed;
};

struct conf_reader {
	const struct conf_table *table;
	struct conf_file *file;
	struct arena *arena;
	char *values;
	struct conf_problems *problems;
};

/* One setting or group in the file, with its path for people. */
struct conf_place {
	const struct config_setting_t *node;
	char path[NAME_MAX_BYTES];
};

void conf_file_free(struct conf_file *file)
{
	if (!file)
		return;
	config_destroy(&file->parsed);
	free(file->name);
	free(file);
}

/* --- messages --- */

err_t conf_problems_add(struct conf_problems *problems, err_t err, const char *path,
			const struct err_detail *detail)
{
	if (problems->count == CONF_MAX_PROBLEMS)
		return err;
	const struct conf_problem problem = { err, arena_strdup(problems->arena, path),
					      arena_strdup(problems->arena, err_message(err, detail)) };
	ARENA_PUSH(problems->arena, problems->items, problems->count, problems->capacity, problem);
	return err;
}

bool conf_problems_within(const struct conf_problems *problems, const char *path)
{
	size_t len = strlen(path);
	for (size_t i = 0; i < problems->count; i++) {
		const char *found = problems->items[i].path;
		if (strncmp(found, path, len) == 0 && strchr(".[", found[len]))
			return true;
	}
	return false;
}

bool conf_problems_at(const struct conf_problems *problems, const char *path)
{
	for (size_t i = 0; i < problems->count; i++)
		if (strcmp(problems->items[i].path, path) == 0)
			return true;
	return false;
}

__attribute__((format(printf, 4, 5))) static err_t
fail_at(const struct conf_reader *reader, const struct conf_place *place, err_t err, const char *format, ...)
{
	struct err_detail message, detail;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message.message, sizeof message.message, format, arguments);
	va_end(arguments);
	err_fail(&detail, err, "%s:%u: %s: %s", reader->file->name, place->node->line, place->path,
		 message.message);
	return conf_problems_add(reader->problems, err, place->path, &detail);
}

/* The innermost setting on the way to `path` ("targets[1].name") that the file has, and whether it is that.
 */
static const config_setting_t *find_nearest(const struct conf_file *file, const char *path, bool *ret_exact)
{
	const config_setting_t *node = config_root_setting(&file->parsed), *next = node;
	while (*path && next) {
		char name[NAME_MAX_BYTES];
		size_t len = *path == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
		snprintf(name, sizeof name, "%.*s", (int)len, path);
		node = next;
		next = NULL;
		if (*path == '[' && config_setting_is_aggregate(node))
			next = config_setting_get_elem(node, (unsigned)strtoul(name + 1, NULL, 10));
		else if (*path != '[' && config_setting_is_group(node))
			next = config_setting_get_member(node, name);
		path += len;
		path += *path == '.';
	}
	*ret_exact = next != NULL;
	return next ? next : node;
}

err_t conf_file_fail(const struct conf_file *file, struct conf_problems *problems, err_t err,
		     const char *setting, const char *format, ...)
{
	struct err_detail message, detail;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message.message, sizeof message.message, format, arguments);
	va_end(arguments);
	bool exact;
	const config_setting_t *node = find_nearest(file, setting, &exact);
	if (config_setting_is_root(node))
		err_fail(&detail, err, "%s: %s: %s", file->name, setting, message.message);
	else
		err_fail(&detail, err, "%s:%u: %s: %s", file->name, node->line, setting, message.message);
	return conf_problems_add(problems, err, setting, &detail);
}

bool conf_file_line(const struct conf_file *file, const char *setting, unsigned *ret_line)
{
	bool exact;
	const config_setting_t *node = find_nearest(file, setting, &exact);
	*ret_line = node->line;
	return exact && *setting;
}

/* --- defaults --- */

static size_t symbol_index(const char *const *symbols, const char *text, size_t len)
{
	size_t i = 0;
	while (symbols[i] && (strlen(symbols[i]) != len || memcmp(symbols[i], text, len) != 0))
		i++;
	return symbols[i] ? i : SIZE_MAX;
}

static void set_enums_default(const struct conf_setting *setting, struct arena *arena, void *field)
{
	struct conf_enums list = { NULL, 0 };
	int *items = ARENA_ARRAY(arena, int, strlen(setting->default_text) + 1);
	for (const char *at = setting->default_text; *at;) {
		size_t len = strcspn(at, " ");
		items[list.count++] = (int)symbol_index(setting->symbols, at, len);
		at += len + strspn(at + len, " ");
	}
	list.items = items;
	memcpy(field, &list, sizeof list);
}

static void set_default(const struct conf_setting *setting, struct arena *arena, void *field)
{
	const char *text = setting->default_text;
	if (!text)
		return;
	switch (setting->type) {
	case CONF_BOOL:
		*(bool *)field = strcmp(text, "true") == 0;
		break;
	case CONF_INT:
		*(int64_t *)field = strtoll(text, NULL, 10);
		break;
	case CONF_DOUBLE:
		*(double *)field = strtod(text, NULL);
		break;
	case CONF_STRING:
		*(const char **)field = arena_strdup(arena, text);
		break;
	case CONF_ENUM:
		*(int *)field = (int)symbol_index(setting->symbols, text, strlen(text));
		break;
	case CONF_ENUMS:
		set_enums_default(setting, arena, field);
		break;
	case CONF_STRINGS:
	case CONF_FORBIDDEN:
		break;
	}
}

static void set_group_defaults(const struct conf_reader *reader, size_t group, char *base)
{
	for (size_t i = 0; i < reader->table->settings_count; i++) {
		const struct conf_setting *setting = &reader->table->settings[i];
		if (setting->group == group)
			set_default(setting, reader->arena, base + setting->offset);
	}
}

/* --- values --- */

static const char *found_type(const config_setting_t *node)
{
	switch (config_setting_type(node)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return "a whole number";
	case CONFIG_TYPE_FLOAT:
		return "a number with a fraction";
	case CONFIG_TYPE_STRING:
		return "a text";
	case CONFIG_TYPE_BOOL:
		return "true or false";
	case CONFIG_TYPE_GROUP:
		return "a group";
	default:
		return "a list";
	}
}

static err_t fail_type(const struct conf_reader *reader, const struct conf_place *place, const char *expected)
{
	return fail_at(reader, place, ERR_CONFIG_TYPE, "%s is expected here, not %s", expected,
		       found_type(place->node));
}

static bool is_integer(const config_setting_t *node)
{
	return config_setting_type(node) == CONFIG_TYPE_INT || config_setting_type(node) == CONFIG_TYPE_INT64;
}

static int64_t integer_of(const config_setting_t *node)
{
	return config_setting_type(node) == CONFIG_TYPE_INT ? config_setting_get_int(node)
							    : config_setting_get_int64(node);
}

static err_t check_range(const struct conf_reader *reader, const struct conf_place *place,
			 const struct conf_setting *setting, double value, const char *shown)
{
	if (value >= setting->min && value <= setting->max)
		return ERR_OK;
	return fail_at(reader, place, ERR_CONFIG_RANGE, "%s is out of range; allowed is %.15g to %.15g%s%s",
		       shown, setting->min, setting->max, setting->unit ? " " : "",
		       setting->unit ? setting->unit : "");
}

static err_t read_int(const struct conf_reader *reader, const struct conf_place *place,
		      const struct conf_setting *setting, void *field)
{
	char shown[32];
	if (!is_integer(place->node))
		return fail_type(reader, place, "a whole number");
	int64_t value = integer_of(place->node);
	snprintf(shown, sizeof shown, "%lld", (long long)value);
	err_t err = check_range(reader, place, setting, (double)value, shown);
	if (!err)
		*(int64_t *)field = value;
	return err;
}

static err_t read_double(const struct conf_reader *reader, const struct conf_place *place,
			 const struct conf_setting *setting, void *field)
{
	char shown[32];
	bool whole = is_integer(place->node);
	if (!whole && config_setting_type(place->node) != CONFIG_TYPE_FLOAT)
		return fail_type(reader, place, "a number");
	double value = whole ? (double)integer_of(place->node) : config_setting_get_float(place->node);
	snprintf(shown, sizeof shown, "%.15g", value);
	err_t err = check_range(reader, place, setting, value, shown);
	if (!err)
		*(double *)field = value;
	return err;
}

static err_t read_bool(const struct conf_reader *reader, const struct conf_place *place, void *field)
{
	if (config_setting_type(place->node) != CONFIG_TYPE_BOOL)
		return fail_type(reader, place, "true or false");
	*(bool *)field = config_setting_get_bool(place->node);
	return ERR_OK;
}

/* The texts of a list as the one text that they should be. */
static err_t fail_list_for_text(const struct conf_reader *reader, const struct conf_place *place)
{
	_cleanup_(buf_free) struct buf joined = BUF_INIT;
	for (int i = 0; i < config_setting_length(place->node); i++) {
		const char *item = config_setting_get_string_elem(place->node, i);
		buf_printf(&joined, "%s%s", i ? "," : "", item ? item : "…");
	}
	return fail_at(reader, place, ERR_CONFIG_TYPE,
		       "a text is expected here, not a list; write its items with commas between them: "
		       "\"%.*s%s\"",
		       4 * SHOWN_MAX, joined.len ? joined.data : "", joined.len > 4 * SHOWN_MAX ? "…" : "");
}

static err_t read_string(const struct conf_reader *reader, const struct conf_place *place,
			 const struct conf_setting *setting, const char **field)
{
	if ((setting->flags & CONF_COMMAS) &&
	    (config_setting_is_list(place->node) || config_setting_is_array(place->node)))
		return fail_list_for_text(reader, place);
	if (config_setting_type(place->node) != CONFIG_TYPE_STRING)
		return fail_type(reader, place, "a text");
	const char *text = config_setting_get_string(place->node);
	size_t len = strlen(text);
	if (len == 0 && setting->min > 0)
		return fail_at(reader, place, ERR_CONFIG_RANGE,
			       "the text is empty; leave the setting out instead");
	if (!utf8_valid(text, len))
		return fail_at(reader, place, ERR_CONFIG_RANGE, "the text is not valid UTF-8");
	if ((double)len > setting->max)
		return fail_at(reader, place, ERR_CONFIG_RANGE, "the text has %zu bytes; allowed are %.0f",
			       len, setting->max);
	*field = arena_strdup(reader->arena, text);
	return ERR_OK;
}

/* What is called otherwise elsewhere, or NULL. */
static const char *find_synonym(const struct conf_reader *reader, const struct conf_setting *setting,
				const char *text)
{
	for (size_t i = 0; i < reader->table->synonyms_count; i++) {
		const struct conf_synonym *synonym = &reader->table->synonyms[i];
		if (strcasecmp(synonym->word, text) == 0 &&
		    symbol_index(setting->symbols, synonym->symbol, strlen(synonym->symbol)) != SIZE_MAX)
			return synonym->symbol;
	}
	return NULL;
}

static err_t read_symbol(const struct conf_reader *reader, const struct conf_place *place,
			 const struct conf_setting *setting, int *field)
{
	if (config_setting_type(place->node) != CONFIG_TYPE_STRING)
		return fail_type(reader, place, "a text");
	const char *text = config_setting_get_string(place->node);
	size_t index = symbol_index(setting->symbols, text, strlen(text));
	if (index != SIZE_MAX) {
		*field = (int)index;
		return ERR_OK;
	}
	struct conf_hint hint = { text, NULL, SIZE_MAX, "" };
	for (size_t i = 0; setting->symbols[i]; i++)
		conf_hint_add(&hint, setting->symbols[i]);
	const char *meant = find_synonym(reader, setting, text);
	if (!meant && conf_hint_is_near(&hint))
		meant = hint.best;
	return fail_at(reader, place, ERR_CONFIG_RANGE, "\"%.*s\" is not one of %s%s%s%s", SHOWN_MAX, text,
		       hint.all, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

/* The i-th element of a list as a place of its own. */
static struct conf_place element(const struct conf_place *list, size_t i)
{
	struct conf_place place = { config_setting_get_elem(list->node, (unsigned)i), "" };
	snprintf(place.path, sizeof place.path, "%.*s[%zu]", NAME_MAX_BYTES - 24, list->path, i);
	return place;
}

static err_t list_count(const struct conf_reader *reader, const struct conf_place *place,
			const struct conf_setting *setting, size_t *ret_count)
{
	if (!config_setting_is_list(place->node) && !config_setting_is_array(place->node))
		return fail_type(reader, place, "a list of texts, [ \"…\" ],");
	size_t count = (size_t)config_setting_length(place->node);
	if ((double)count < setting->min)
		return fail_at(reader, place, ERR_CONFIG_RANGE, "the list needs at least %.0f", setting->min);
	if ((double)count > setting->max)
		return fail_at(reader, place, ERR_CONFIG_RANGE, "the list has %zu items; allowed are %.0f",
			       count, setting->max);
	*ret_count = count;
	return ERR_OK;
}

static err_t read_strings(const struct conf_reader *reader, const struct conf_place *place,
			  const struct conf_setting *setting, struct conf_strings *field)
{
	static const struct conf_setting item = { .min = 1, .max = 65536 };
	size_t count = 0;
	err_t err = list_count(reader, place, setting, &count);
	if (err)
		return err;
	const char **items = ARENA_ARRAY(reader->arena, const char *, count);
	for (size_t i = 0; i < count; i++) {
		struct conf_place at = element(place, i);
		err_t item_err = read_string(reader, &at, &item, &items[i]);
		err = err ? err : item_err;
	}
	if (!err)
		*field = (struct conf_strings){ items, count };
	return err;
}

static err_t read_enums(const struct conf_reader *reader, const struct conf_place *place,
			const struct conf_setting *setting, struct conf_enums *field)
{
	size_t count = 0;
	err_t err = list_count(reader, place, setting, &count);
	if (err)
		return err;
	int *items = ARENA_ARRAY(reader->arena, int, count);
	for (size_t i = 0; i < count && !err; i++) {
		struct conf_place at = element(place, i);
		err = read_symbol(reader, &at, setting, &items[i]);
		for (size_t k = 0; k < i && !err; k++) {
			if (items[k] == items[i])
				err = fail_at(reader, &at, ERR_CONFIG_RANGE, "%s is given twice",
					      setting->symbols[items[i]]);
		}
	}
	if (!err)
		*field = (struct conf_enums){ items, count };
	return err;
}

static err_t read_setting(const struct conf_reader *reader, const struct conf_place *place,
			  const struct conf_setting *setting, char *base)
{
	void *field = base + setting->offset;
	switch (setting->type) {
	case CONF_BOOL:
		return read_bool(reader, place, field);
	case CONF_INT:
		return read_int(reader, place, setting, field);
	case CONF_DOUBLE:
		return read_double(reader, place, setting, field);
	case CONF_STRING:
		return read_string(reader, place, setting, field);
	case CONF_STRINGS:
		return read_strings(reader, place, setting, field);
	case CONF_ENUM:
		return read_symbol(reader, place, setting, field);
	case CONF_ENUMS:
		return read_enums(reader, place, setting, field);
	case CONF_FORBIDDEN:
		break;
	}
	return fail_at(reader, place, ERR_CONFIG_UNKNOWN, "%s", setting->sentence);
}

/* --- groups --- */

#define ROOT SIZE_MAX

static const struct conf_setting *find_setting(const struct conf_table *table, size_t group, const char *name)
{
	for (size_t i = 0; i < table->settings_count; i++) {
		if (table->settings[i].group == group && strcmp(table->settings[i].name, name) == 0)
			return &table->settings[i];
	}
	return NULL;
}

/* The name of the group `candidate` within the group `parent`, or NULL where it is not directly in there. */
static const char *name_within(const struct conf_table *table, size_t parent, size_t candidate)
{
	const char *path = table->groups[candidate].path;
	if (parent == ROOT)
		return strchr(path, '.') ? NULL : path;
	size_t len = strlen(table->groups[parent].path);
	return strncmp(path, table->groups[parent].path, len) == 0 && path[len] == '.' ? path + len + 1
										       : NULL;
}

static size_t find_group(const struct conf_table *table, size_t parent, const char *name)
{
	for (size_t i = 0; i < table->groups_count; i++) {
		const char *candidate = name_within(table, parent, i);
		if (candidate && strcmp(candidate, name) == 0)
			return i;
	}
	return ROOT;
}

/* The setting NAME_file of the group that names a secret, or NULL. */
static const struct conf_setting *find_file_of(const struct conf_table *table, size_t group, const char *name)
{
	char file[NAME_MAX_BYTES];
	snprintf(file, sizeof file, "%s_file", name);
	const struct conf_setting *setting = find_setting(table, group, file);
	return setting && (setting->flags & CONF_SECRET) ? setting : NULL;
}

static err_t fail_unknown(const struct conf_reader *reader, const struct conf_place *place, size_t group)
{
	const struct conf_table *table = reader->table;
	const struct conf_setting *file = find_file_of(table, group, place->node->name);
	if (file)
		return fail_at(
			reader, place, ERR_CONFIG_UNKNOWN,
			"there is no such setting, and a secret does not belong in this file; write it "
			"to a separate file and set %s to its name",
			file->name);
	struct conf_hint hint = { place->node->name, NULL, SIZE_MAX, "" };
	for (size_t i = 0; i < table->settings_count; i++) {
		if (table->settings[i].group == group && table->settings[i].type != CONF_FORBIDDEN)
			conf_hint_add(&hint, table->settings[i].name);
	}
	for (size_t i = 0; i < table->groups_count; i++) {
		if (name_within(table, group, i))
			conf_hint_add(&hint, name_within(table, group, i));
	}
	if (conf_hint_is_near(&hint))
		return fail_at(reader, place, ERR_CONFIG_UNKNOWN,
			       "there is no such setting; did you mean %s?", hint.best);
	return fail_at(reader, place, ERR_CONFIG_UNKNOWN, "there is no such setting; known here are %s",
		       hint.all);
}

static err_t fail_missing(const struct conf_reader *reader, const struct conf_place *place,
			  const struct conf_setting *setting)
{
	struct conf_hint hint = { setting->name, NULL, SIZE_MAX, "" };
	for (size_t i = 0; setting->symbols && setting->symbols[i]; i++)
		conf_hint_add(&hint, setting->symbols[i]);
	if (hint.all[0])
		return fail_at(reader, place, ERR_CONFIG_MISSING, "%s is missing; it is one of %s",
			       setting->name, hint.all);
	int without_stop = (int)strlen(setting->sentence) - 1;
	return fail_at(reader, place, ERR_CONFIG_MISSING, "%s is missing: %.*s", setting->name, without_stop,
		       setting->sentence);
}

static void check_required(const struct conf_reader *reader, const struct conf_place *place, size_t group)
{
	for (size_t i = 0; i < reader->table->settings_count; i++) {
		const struct conf_setting *setting = &reader->table->settings[i];
		if (setting->group != group || !(setting->flags & CONF_REQUIRED))
			continue;
		if (!config_setting_get_member(place->node, setting->name))
			fail_missing(reader, place, setting);
	}
}

static void read_group(const struct conf_reader *reader, const struct conf_place *place, size_t group,
		       char *base);

static void read_group_list(const struct conf_reader *reader, const struct conf_place *place, size_t index)
{
	const struct conf_group *group = &reader->table->groups[index];
	bool list = config_setting_is_list(place->node) ||
		    (config_setting_is_array(place->node) && config_setting_length(place->node) == 0);
	if (!list) {
		fail_type(reader, place, "a list of groups, ( { … } ),");
		return;
	}
	struct conf_groups groups = { NULL, (size_t)config_setting_length(place->node) };
	groups.items = arena_calloc(reader->arena, groups.count, group->size_bytes);
	for (size_t i = 0; i < groups.count; i++) {
		char *base = (char *)groups.items + i * group->size_bytes;
		struct conf_place at = element(place, i);
		set_group_defaults(reader, index, base);
		if (config_setting_is_group(at.node))
			read_group(reader, &at, index, base);
		else
			fail_type(reader, &at, "a group, { … },");
	}
	memcpy(reader->values + group->offset, &groups, sizeof groups);
}

static void read_child_group(const struct conf_reader *reader, const struct conf_place *place, size_t index)
{
	const struct conf_group *group = &reader->table->groups[index];
	bool is_group = config_setting_is_group(place->node);
	if (group->kind == CONF_GROUP_LIST)
		read_group_list(reader, place, index);
	else if (!is_group)
		fail_type(reader, place, "a group, { … },");
	if (group->kind == CONF_GROUP_LIST || !is_group)
		return;
	if (group->kind == CONF_GROUP_OPTIONAL || group->kind == CONF_GROUP_NOTED)
		*(bool *)(void *)(reader->values + group->offset) = true;
	read_group(reader, place, index, reader->values + group->offset);
}

static void read_member(const struct conf_reader *reader, const struct conf_place *place, size_t group,
			char *base)
{
	const struct conf_setting *setting = find_setting(reader->table, group, place->node->name);
	size_t child = setting ? ROOT : find_group(reader->table, group, place->node->name);
	if (setting)
		read_setting(reader, place, setting, base);
	else if (child == ROOT)
		fail_unknown(reader, place, group);
	else
		read_child_group(reader, place, child);
}

/* Reads all members of a group, those behind a wrong one too; `base` is its struct. */
static void read_group(const struct conf_reader *reader, const struct conf_place *place, size_t group,
		       char *base)
{
	size_t count = (size_t)config_setting_length(place->node);
	for (size_t i = 0; i < count; i++) {
		struct conf_place at = { config_setting_get_elem(place->node, (unsigned)i), "" };
		snprintf(at.path, sizeof at.path, "%.*s%s%.60s", NAME_MAX_BYTES - 64, place->path,
			 place->path[0] ? "." : "", at.node->name);
		read_member(reader, &at, group, base);
	}
	if (group != ROOT)
		check_required(reader, place, group);
}

/* --- files --- */

/* libconfig says no more than these; a line's end is often where it notices what is missing above. */
static err_t fail_parse(const char *name, const config_t *parsed, struct err_detail *detail)
{
	const char *text = config_error_text(parsed), *hint = "";
	if (strcmp(text, "syntax error") == 0)
		hint = ", here or in the line before; write name = value; or name: { … };";
	else if (strcmp(text, "duplicate setting name") == 0)
		hint = ": what begins here is in the same group above already";
	else if (strcmp(text, "memory exhausted") == 0) /* its parser's stack is */
		text = "groups lie too deep within each other; no setting needs that";
	return err_fail(detail, ERR_CONFIG_SYNTAX, "%s:%d: %s%s", name, config_error_line(parsed), text,
			hint);
}

static err_t parse(const char *name, str_t text, struct conf_file *file, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf prepared = BUF_INIT;
	buf_append_text(&prepared, "");
	err_t err = conf_scan(name, text, &prepared, detail);
	if (err)
		return err;
	if (!config_read_string(&file->parsed, buf_str(&prepared).ptr))
		return fail_parse(name, &file->parsed, detail);
	return ERR_OK;
}

err_t conf_text_read(const struct conf_table *table, const char *name, str_t text, struct arena *arena,
		     void *values, struct conf_problems *problems, struct conf_file **ret_file)
{
	struct err_detail detail = { "" };
	_cleanup_(conf_file_cleanup) struct conf_file *file = calloc(1, sizeof *file);
	if (!file || !(file->name = strdup(name)))
		abort();
	config_init(&file->parsed);
	struct conf_reader reader = { table, file, arena, values, problems };
	for (size_t i = 0; i < table->groups_count; i++) {
		if (table->groups[i].kind != CONF_GROUP_LIST)
			set_group_defaults(&reader, i, reader.values + table->groups[i].offset);
	}
	err_t err = parse(name, text, file, &detail);
	if (err)
		return conf_problems_add(problems, err, "", &detail);
	struct conf_place root = { config_root_setting(&file->parsed), "" };
	read_group(&reader, &root, ROOT, NULL);
	*ret_file = TAKE_PTR(file);
	return ERR_OK;
}

static err_t fail_to_open(const char *path, int error, struct err_detail *detail)
{
	const char *mend = error == ENOENT   ? ": name the configuration's file with --config"
			   : error == EACCES ? ": let this user read it, or run as the user of the service"
					     : "";
	return err_fail(detail, ERR_CONFIG_FILE, "%s: %s%s", path, strerror(error), mend);
}

static err_t read_text(const char *path, struct buf *text, struct err_detail *detail)
{
	struct stat status;
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) != 0)
		return fail_to_open(path, errno, detail);
	if (!S_ISREG(status.st_mode))
		return err_fail(detail, ERR_CONFIG_FILE, "%s: %s: name the file itself with --config", path,
				S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
	buf_append_text(text, "");
	while (text->len <= FILE_BYTES_MAX) {
		ssize_t got = read(fd, buf_reserve(text, 4096), 4096);
		if (got < 0)
			return fail_to_open(path, errno, detail);
		if (got == 0)
			return ERR_OK;
		text->len += (size_t)got;
		text->data[text->len] = 0;
	}
	return err_fail(detail, ERR_CONFIG_FILE,
			"%s: larger than %zu bytes: this is not a configuration of assayd; correct --config",
			path, FILE_BYTES_MAX);
}

err_t conf_file_read(const struct conf_table *table, const char *path, struct arena *arena, void *values,
		     struct conf_problems *problems, struct conf_file **ret_file)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct err_detail detail = { "" };
	err_t err = read_text(path, &text, &detail);
	return err ? conf_problems_add(problems, err, "", &detail)
		   : conf_text_read(table, path, buf_str(&text), arena, values, problems, ret_file);
}
