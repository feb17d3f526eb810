#include "command/unit.h"

#include "common/buf.h"

#include <dirent.h>
#include <sys/stat.h>

enum { MAX_DROP_INS = 64, MAX_PATHS = 64, MAX_FILE_BYTES = 1 << 20 };

#define STOP_TIMEOUT_MS 90000 /* systemd's own, unless it is configured */

/* Where systemd looks, in the order of precedence (systemd.unit(5)). */
static const char *const folders[] = { "/etc/systemd/system", "/run/systemd/system",
				       "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
				       "/lib/systemd/system" };
enum { FOLDERS = sizeof folders / sizeof *folders };

struct paths {
	const char *items[MAX_PATHS + 1];
	size_t count;
};

struct unit_reader {
	struct arena *arena;
	struct unit *unit;
	struct paths writable, inaccessible, bound;
};

/* ---- values ---- */

static bool is_yes(const char *value)
{
	return strcmp(value, "yes") == 0 || strcmp(value, "true") == 0 || strcmp(value, "on") == 0 ||
	       strcmp(value, "1") == 0;
}

/* "90", "1min 30s", "infinity" (systemd.time(7)); `fallback` where it is none of them. */
static int64_t read_time_ms(const char *value, int64_t fallback)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {
		{ "", 1e3 },	  { "us", 1e-3 },    { "ms", 1 },	 { "s", 1e3 },
		{ "sec", 1e3 },	  { "second", 1e3 }, { "seconds", 1e3 }, { "m", 6e4 },
		{ "min", 6e4 },	  { "minute", 6e4 }, { "minutes", 6e4 }, { "h", 36e5 },
		{ "hr", 36e5 },	  { "hour", 36e5 },  { "hours", 36e5 },	 { "d", 864e5 },
		{ "day", 864e5 }, { "days", 864e5 },
	};
	double sum = 0;
	if (strcmp(value, "infinity") == 0 || strcmp(value, "0") == 0)
		return INT64_MAX;
	while (*value) {
		char *end;
		double number = strtod(value, &end);
		size_t i = 0, skipped = strspn(end, " "),
		       len = strspn(end + skipped, "abcdefghijklmnopqrstuvwxyz");
		while (i < sizeof units / sizeof *units &&
		       (strlen(units[i].name) != len || memcmp(units[i].name, end + skipped, len) != 0))
			i++;
		if (end == value || !(number >= 0 && number < 1e9) || i == sizeof units / sizeof *units)
			return fallback;
		sum += number * units[i].ms;
		value = end + skipped + len;
		value += strspn(value, " ");
	}
	return (int64_t)sum;
}

/* "2G", "512M", "infinity"; a share of the memory is not understood. */
static int64_t read_bytes(const char *value)
{
	static const char suffixes[] = "KMGT";
	char *end;
	double number = strtod(value, &end);
	const char *suffix = *end ? strchr(suffixes, *end) : NULL;
	if (end == value || !(number >= 0 && number < 1e15) || (*end && (!suffix || end[1])))
		return INT64_MAX;
	for (ptrdiff_t i = suffix ? suffix - suffixes : -1; i >= 0; i--)
		number *= 1024;
	return (int64_t)number;
}

static enum unit_home read_home(const char *value)
{
	if (strcmp(value, "read-only") == 0)
		return UNIT_HOME_READ_ONLY;
	return is_yes(value) || strcmp(value, "tmpfs") == 0 ? UNIT_HOME_HIDDEN : UNIT_HOME_OPEN;
}

static void add_path(struct unit_reader *reader, struct paths *paths, const char *path)
{
	if (paths->count < MAX_PATHS && !strchr(path, '%'))
		paths->items[paths->count++] = arena_strdup(reader->arena, path);
}

/* A list of paths divided by blanks; an empty one takes back what was there. Of source:destination:options
 * the destination counts. */
static void read_paths(struct unit_reader *reader, struct paths *paths, const char *value)
{
	if (!*value)
		paths->count = 0;
	while (*value) {
		size_t len = strcspn(value, " \t");
		const char *item = arena_text(reader->arena, value, len).ptr;
		item += strspn(item, "-+");
		const char *second = strchr(item, ':');
		if (second)
			item = arena_text(reader->arena, second + 1, strcspn(second + 1, ":")).ptr;
		add_path(reader, paths, item);
		value += len;
		value += strspn(value, " \t");
	}
}

/* StateDirectory=a b, RuntimeDirectory= and others: names below a folder. */
static void read_directories(struct unit_reader *reader, const char *below, const char *value,
			     const char **ret_first)
{
	const char *first = NULL;
	while (*value) {
		size_t len = strcspn(value, " \t:");
		const char *path = arena_printf(reader->arena, "%s/%.*s", below, (int)len, value).ptr;
		first = first ? first : path;
		add_path(reader, &reader->writable, path);
		value += strcspn(value, " \t");
		value += strspn(value, " \t");
	}
	if (ret_first)
		*ret_first = first;
}

static void take(struct unit_reader *reader, const char *name, const char *value)
{
	struct unit *unit = reader->unit;
	if (strcmp(name, "User") == 0)
		unit->user = *value ? arena_strdup(reader->arena, value) : NULL;
	else if (strcmp(name, "TimeoutStopSec") == 0 || strcmp(name, "TimeoutSec") == 0)
		unit->stop_timeout_ms = read_time_ms(value, STOP_TIMEOUT_MS);
	else if (strcmp(name, "MemoryMax") == 0)
		unit->memory_max = read_bytes(value);
	else if (strcmp(name, "ProtectHome") == 0)
		unit->protect_home = read_home(value);
	else if (strcmp(name, "ProtectSystem") == 0)
		unit->protect_system = strcmp(value, "strict") == 0;
	else if (strcmp(name, "PrivateTmp") == 0)
		unit->private_tmp = is_yes(value);
	else if (strcmp(name, "StateDirectory") == 0)
		read_directories(reader, "/var/lib", value, &unit->state_directory);
	else if (strcmp(name, "RuntimeDirectory") == 0)
		read_directories(reader, "/run", value, NULL);
	else if (strcmp(name, "CacheDirectory") == 0)
		read_directories(reader, "/var/cache", value, NULL);
	else if (strcmp(name, "LogsDirectory") == 0)
		read_directories(reader, "/var/log", value, NULL);
	else if (strcmp(name, "ReadWritePaths") == 0)
		read_paths(reader, &reader->writable, value);
	else if (strcmp(name, "InaccessiblePaths") == 0)
		read_paths(reader, &reader->inaccessible, value);
	else if (strcmp(name, "BindPaths") == 0 || strcmp(name, "BindReadOnlyPaths") == 0)
		read_paths(reader, &reader->bound, value);
}

/* ---- files ---- */

static bool read_text(const char *path, struct buf *text)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	size_t got;
	struct stat status;
	if (!file || fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	while ((got = fread(buf_reserve(text, 4096), 1, 4096, file)) > 0 && text->len < MAX_FILE_BYTES)
		text->len += got;
	buf_append_char(text, '\n');
	return true;
}

static char *trim(char *text)
{
	size_t len;
	text += strspn(text, " \t\r");
	for (len = strlen(text); len && strchr(" \t\r", text[len - 1]); len--)
		;
	text[len] = '\0';
	return text;
}

/* Lines `Name=value` of [Service]; one that ends with a backslash goes on in the next. */
static bool read_file(struct unit_reader *reader, const char *path)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	bool service = false;
	if (!read_text(path, &text))
		return false;
	for (char *broken; (broken = strstr(text.data, "\\\n"));)
		broken[0] = broken[1] = ' ';
	for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));) {
		char *name = trim(line), *equals = strchr(name, '=');
		if (*name == '[')
			service = strcmp(name, "[Service]") == 0;
		if (!service || !equals || strchr("#;[", *name))
			continue;
		*equals = '\0';
		take(reader, trim(name), trim(equals + 1));
	}
	return true;
}

/* A drop-in: that of the first folder which has one of that name. */
struct drop_in {
	const char *name, *path;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct drop_in *)a)->name, ((const struct drop_in *)b)->name);
}

static void collect_drop_ins(struct arena *arena, const char *folder, struct drop_in *found, size_t *count)
{
	const char *path = arena_printf(arena, "%s/" UNIT_NAME ".d", folder).ptr;
	DIR *directory = opendir(path);
	const struct dirent *entry;
	while (directory && (entry = readdir(directory))) {
		size_t len = strlen(entry->d_name), i = 0;
		while (i < *count && strcmp(found[i].name, entry->d_name) != 0)
			i++;
		if (i < *count || i == MAX_DROP_INS || len < 6 ||
		    strcmp(entry->d_name + len - 5, ".conf") != 0)
			continue;
		found[(*count)++] = (struct drop_in){ arena_strdup(arena, entry->d_name),
						      arena_printf(arena, "%s/%s", path, entry->d_name).ptr };
	}
	if (directory)
		closedir(directory);
}

void unit_read(struct arena *arena, struct unit *ret_unit)
{
	struct unit unit = { .stop_timeout_ms = STOP_TIMEOUT_MS, .memory_max = INT64_MAX };
	struct unit_reader *reader = ARENA_NEW(arena, struct unit_reader);
	struct drop_in drop_ins[MAX_DROP_INS];
	size_t drop_ins_count = 0;
	*reader = (struct unit_reader){ .arena = arena, .unit = &unit };
	for (size_t i = 0; i < FOLDERS && !unit.file; i++) {
		const char *path = arena_printf(arena, "%s/" UNIT_NAME, folders[i]).ptr;
		if (read_file(reader, path))
			unit.file = path;
	}
	for (size_t i = 0; i < FOLDERS && unit.file; i++)
		collect_drop_ins(arena, folders[i], drop_ins, &drop_ins_count);
	qsort(drop_ins, drop_ins_count, sizeof *drop_ins, by_name);
	for (size_t i = 0; i < drop_ins_count; i++)
		read_file(reader, drop_ins[i].path);
	unit.writable = reader->writable.items;
	unit.inaccessible = reader->inaccessible.items;
	unit.bound = reader->bound.items;
	*ret_unit = unit;
}

/* ---- paths ---- */

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	while (len > 1 && folder[len - 1] == '/')
		len--;
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len] || len == 1);
}

static const char *find_above(const char *const *folders_of, const char *path)
{
	while (*folders_of && !is_below(path, *folders_of))
		folders_of++;
	return *folders_of;
}

static bool is_home(const char *path)
{
	return is_below(path, "/home") || is_below(path, "/root") || is_below(path, "/run/user");
}

static bool is_temporary(const char *path)
{
	return is_below(path, "/tmp") || is_below(path, "/var/tmp");
}

static const char *hides(const struct unit *unit, const char *path)
{
	if (!unit->file || *path != '/' || find_above(unit->bound, path))
		return NULL;
	if (unit->protect_home == UNIT_HOME_HIDDEN && is_home(path))
		return "ProtectHome";
	if (unit->private_tmp && is_temporary(path))
		return "PrivateTmp";
	return find_above(unit->inaccessible, path) ? "InaccessiblePaths" : NULL;
}

/* A link is followed within what the unit sees, too. */
const char *unit_hides(const struct unit *unit, const char *path)
{
	const char *by = hides(unit, path);
	_cleanup_(cleanup_free) char *real = by ? NULL : realpath(path, NULL);
	return real ? hides(unit, real) : by;
}

bool unit_lets_write(const struct unit *unit, const char *path)
{
	if (!unit->file || find_above(unit->writable, path) || find_above(unit->bound, path))
		return true;
	if (unit_hides(unit, path) || (unit->protect_home != UNIT_HOME_OPEN && is_home(path)))
		return false;
	return !unit->protect_system || (unit->private_tmp && is_temporary(path));
}
