#include "command/audit_show.h"

#include "audit/recompute/archive_reader.h"
#include "command/audit_database.h"
#include "common/terminal.h"

enum { LISTED_MAX = 1000, CHECKED_AT_ONCE = 100 };

/* ---- what is asked for ---- */

struct audit_show_name {
	str_t prefix; /* of digests; "" for all */
	int64_t version;
	bool list, check;
};

static err_t parse_version(const char *digits, int64_t *ret_version, struct err_detail *detail)
{
	char *end;
	long long version = strtoll(digits, &end, 10);
	if (end == digits || *end || version <= 0)
		return err_fail(detail, ERR_USAGE, "\"%.40s\" is no model's version; see assayd --help",
				digits);
	*ret_version = version;
	return ERR_OK;
}

static err_t parse_name(const char *name, struct arena *arena, struct audit_show_name *ret_wanted,
			struct err_detail *detail)
{
	*ret_wanted = (struct audit_show_name){ .prefix = STR("") };
	ret_wanted->list = strcmp(name, "list") == 0;
	ret_wanted->check = strcmp(name, "check") == 0;
	if (ret_wanted->list || ret_wanted->check)
		return ERR_OK;
	if (strncmp(name, "model:", 6) == 0)
		return parse_version(name + 6, &ret_wanted->version, detail);
	size_t len = strlen(name);
	if (len == 0 || len >= DIGEST_HEX_SIZE || strspn(name, "0123456789abcdefABCDEF") != len)
		return err_fail(detail, ERR_USAGE,
				"\"%.80s\" is neither the beginning of a digest (hexadecimal digits) nor "
				"\"model:N\" nor \"list\" nor \"check\"; see assayd --help",
				name);
	char *prefix = arena_strdup(arena, name);
	for (char *at = prefix; *at; at++)
		if (*at >= 'A' && *at <= 'F')
			*at = (char)(*at - 'A' + 'a');
	ret_wanted->prefix = str_from(prefix);
	return ERR_OK;
}

/* ---- what is found ---- */

static void print_row(FILE *out, const struct archive_row *row)
{
	struct buf line = BUF_INIT;
	buf_printf(&line, STR_FMT " %s", STR_ARG(row->digest), archive_kind_name(row->kind));
	if (row->version)
		buf_printf(&line, " %lld", (long long)row->version);
	if (row->form.len)
		buf_printf(&line, " of " STR_FMT, STR_ARG(row->form));
	buf_printf(&line, ", %lld bytes, in use from " STR_FMT " to " STR_FMT ", written by assayd " STR_FMT,
		   (long long)row->size_bytes, STR_ARG(row->first_used), STR_ARG(row->last_used),
		   STR_ARG(row->program_version));
	terminal_print_line(out, "%s", line.data);
	buf_free(&line);
}

/* As it has to be: bytes, digest, and what is made of it. */
static err_t read_sound(struct database *database, const struct archive_row *row, struct buf *content,
			struct err_detail *detail)
{
	err_t err = archive_store_read(database, row, content, detail);
	return err ? err : archive_reader_verify(row, buf_str(content), detail);
}

static err_t show(struct database *database, const struct archive_row *row, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	err_t err = read_sound(database, row, &content, detail);
	if (err)
		return err;
	print_row(stderr, row);
	if (!isatty(STDOUT_FILENO)) {
		fwrite(content.data, 1, content.len, stdout);
		return ERR_OK;
	}
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	terminal_append_lines(&shown, buf_str(&content));
	if (!shown.len || shown.data[shown.len - 1] != '\n')
		buf_append_char(&shown, '\n');
	fwrite(shown.data, 1, shown.len, stdout);
	return ERR_OK;
}

/* ---- all of it ---- */

struct audit_show_check {
	long long contents, damaged;
};

/* What is damaged is printed, and the next one looked at; an error is one of the database. */
static err_t check_row(struct database *database, const struct archive_row *row,
		       struct audit_show_check *check, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	struct err_detail reason = { "" };
	err_t err = read_sound(database, row, &content, &reason);
	if (err == ERR_DATABASE_UNAVAILABLE || err == ERR_DATABASE_REFUSED)
		return err_fail(detail, err, "%s", err_message(err, &reason));
	check->contents++;
	if (!err)
		return ERR_OK;
	check->damaged++;
	print_row(stdout, row);
	terminal_print_line(stdout, "  %s", err_message(err, &reason));
	return ERR_OK;
}

/* One content is in memory at a time. */
static err_t check_all(struct database *database, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *page = arena_new(); /* the one before */
	const struct archive_row *last = NULL;
	struct audit_show_check check = { 0 };
	size_t count = CHECKED_AT_ONCE;
	while (count == CHECKED_AT_ONCE) {
		struct arena *arena = arena_new();
		struct archive_row *rows;
		err_t err = archive_store_next(database, last, CHECKED_AT_ONCE, arena, &rows, &count, detail);
		arena_free(page);
		page = arena;
		for (size_t i = 0; !err && i < count; i++)
			err = check_row(database, &rows[i], &check, detail);
		if (err)
			return err;
		last = count ? &rows[count - 1] : NULL;
	}
	printf("%lld contents, %lld damaged\n", check.contents, check.damaged);
	return check.damaged
		       ? err_fail(detail, ERR_AUDIT_DAMAGED, "%lld of %lld archived contents are damaged",
				  check.damaged, check.contents)
		       : ERR_OK;
}

static err_t fail_unknown(const char *name, struct err_detail *detail)
{
	return err_fail(detail, ERR_AUDIT_UNKNOWN,
			"the archive has nothing whose digest begins with \"%.80s\": what was in use while "
			"audit.archive was off, or longer ago than audit.retention_days, is not there",
			name);
}

static err_t show_wanted(struct database *database, const char *name, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct audit_show_name wanted;
	struct archive_row *rows;
	size_t count;
	err_t err = parse_name(name, arena, &wanted, detail);
	if (!err)
		err = audit_database_connect(database, detail);
	if (!err && wanted.check)
		return check_all(database, detail);
	if (!err)
		err = archive_store_find(database, wanted.prefix, wanted.version, LISTED_MAX, arena, &rows,
					 &count, detail);
	if (err)
		return err;
	if (!wanted.list && count == 1)
		return show(database, &rows[0], detail);
	for (size_t i = 0; i < count; i++)
		print_row(stdout, &rows[i]);
	if (wanted.list)
		return ERR_OK;
	return count ? err_fail(detail, ERR_AUDIT_AMBIGUOUS,
				"\"%.80s\" can be any of these; write more digits of its digest", name)
		     : fail_unknown(name, detail);
}

err_t audit_show_run(const char *config_file, const char *name, struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(database_cleanup) struct database *database = NULL;
	err_t err = config_load(config_file, &config, detail);
	if (!err)
		err = audit_database_open(config, &database, detail);
	return err ? err : show_wanted(database, name, detail);
}
