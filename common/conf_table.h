/*
 * Configuration files (libconfig's syntax) read by a table: every setting has its type, unit, range, default
 * and sentence in one place, from which reading, checking, comparing, digest and reference all follow.
 *
 * What is not in the table, of the wrong type or out of range is an error that names file, line, setting and
 * what is allowed. Integers may have any size (no `L` needed); @include is refused. Not thread-safe while
 * reading; values that were read are plain data.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"

/* Types of settings, with the C type of the field that takes the value. */
enum conf_type {
	CONF_BOOL,	/* bool */
	CONF_INT,	/* int64_t */
	CONF_DOUBLE,	/* double; whole numbers are accepted */
	CONF_STRING,	/* const char *; NULL: not given */
	CONF_STRINGS,	/* struct conf_strings */
	CONF_ENUM,	/* int or an enum: index of the symbol */
	CONF_ENUMS,	/* struct conf_enums: a list of different symbols */
	CONF_FORBIDDEN, /* no field: may not be given; the sentence says what to write instead */
};

struct conf_strings {
	const char *const *items;
	size_t count;
};

struct conf_enums {
	const int *items;
	size_t count;
};

enum conf_flags {
	CONF_RELOADABLE = 1, /* a running daemon takes over a new value */
	CONF_SECRET = 2,     /* names a secret: not in the digest, never printed */
	CONF_REQUIRED = 4,   /* where its group is given, it has to be given */
	CONF_COMMAS = 8,     /* a text with commas between its items, for which somebody may write a list */
	CONF_SHARED = 16,    /* several groups have it: the reference describes it with the first of them */
};

struct conf_setting {
	size_t group; /* index into the table's groups */
	const char *name;
	enum conf_type type;
	const char *unit; /* NULL: none */
	double min, max;  /* of numbers; of texts: the number of bytes */
	const char
		*default_text; /* as in a file, without quotes; lists: separated by spaces; NULL: not given */
	unsigned flags;
	const char *const *symbols; /* of CONF_ENUM and CONF_ENUMS: ends with NULL */
	const char *sentence;
	size_t offset; /* of the field in the group's struct */
};

enum conf_group_kind {
	CONF_GROUP,	     /* `name: { … }`; defaults when it is not given */
	CONF_GROUP_NOTED,    /* the same; its struct starts with a bool that says whether it was given */
	CONF_GROUP_OPTIONAL, /* likewise, and where it was not given its settings mean nothing */
	CONF_GROUP_LIST,     /* `name = ( { … }, { … } )`: a struct conf_groups */
};

/* The groups of a CONF_GROUP_LIST, one struct behind the other. */
struct conf_groups {
	void *items;
	size_t count;
};

struct conf_group {
	const char *path; /* "kafka", or "retrieval.weights" for a group within a group */
	enum conf_group_kind kind;
	const char *sentence;
	size_t offset; /* in the struct of all values */
	size_t size_bytes;
};

/* What people write for a symbol that is called otherwise here. */
struct conf_synonym {
	const char *word;
	const char *symbol;
};

struct conf_table {
	const struct conf_group *groups;
	size_t groups_count;
	const struct conf_setting *settings;
	size_t settings_count;
	const struct conf_synonym *synonyms;
	size_t synonyms_count;
};

/* A file that was read: where its settings stand. */
struct conf_file;

/* One mistake in a file; texts are in the arena of the list. */
struct conf_problem {
	err_t err;
	const char *path; /* of the setting, such as "targets[1].name"; "": the file as a whole */
	const char *message;
};

enum { CONF_MAX_PROBLEMS = 100 };

/* What is wrong with a file, in the order in which it was found; more than CONF_MAX_PROBLEMS are left out.
 * Begins with its arena alone. */
struct conf_problems {
	struct arena *arena;
	struct conf_problem *items;
	size_t count, capacity;
};

/* Adds one and returns `err`. Copies the texts. */
err_t conf_problems_add(struct conf_problems *problems, err_t err, const char *path,
			const struct err_detail *detail);

/* Whether any of them is about the group or setting `path`, or something within. */
bool conf_problems_within(const struct conf_problems *problems, const char *path);

/* Whether any of them is about the group or setting itself. */
bool conf_problems_at(const struct conf_problems *problems, const char *path);

/* Reads the file into `values` (zeroed by the caller, laid out as the table says; texts in `arena`) and
 * checks it against the table. Everything that is wrong is added to `problems`: ERR_CONFIG_UNKNOWN, _TYPE,
 * _RANGE or _MISSING with file, line and setting, which keeps its default. ERR_OK, and `ret_file` is the
 * caller's, as soon as its syntax is right; else ERR_CONFIG_FILE when it cannot be read or is larger than
 * 1 MiB, or ERR_CONFIG_SYNTAX, which is a problem, too. Blocks. */
err_t conf_file_read(const struct conf_table *table, const char *path, struct arena *arena, void *values,
		     struct conf_problems *problems, struct conf_file **ret_file);

/* The same from a text; `name` stands for the file in messages. */
err_t conf_text_read(const struct conf_table *table, const char *name, str_t text, struct arena *arena,
		     void *values, struct conf_problems *problems, struct conf_file **ret_file);

void conf_file_free(struct conf_file *file); /* NULL is fine */

DEFINE_CLEANUP(struct conf_file, conf_file_cleanup, conf_file_free)

/* Adds "file:line: setting: message" to the problems and returns `err`. `setting` is a path such as
 * "kafka.delivery" or "targets[1].name"; where it is not in the file, the line is that of what encloses it.
 */
err_t conf_file_fail(const struct conf_file *file, struct conf_problems *problems, err_t err,
		     const char *setting, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Where a setting or group stands in the file; false: nowhere. Any thread. */
bool conf_file_line(const struct conf_file *file, const char *setting, unsigned *ret_line);

/* Appends `path=value` and a newline for every value in the table's order, settings with any of the flags
 * `without` left out: equal values give equal texts. */
void conf_render(const struct conf_table *table, const void *values, unsigned without, struct buf *text);

/* Appends the paths of the settings without CONF_RELOADABLE whose values differ, separated by ", "; returns
 * how many. */
size_t conf_restart_needed(const struct conf_table *table, const void *before, const void *after,
			   struct buf *names);

/* Writes the reference of all settings as man(7) source. */
void conf_print_reference(const struct conf_table *table, FILE *out);
