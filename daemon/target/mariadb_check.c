/* What `assayd check` says about a MariaDB or MySQL target. */
#include "target/mariadb_session.h"

#include "common/buf.h"

#include <mysqld_error.h>

#define OLDEST_MARIADB 100300
#define OLDEST_MYSQL   50708
#define TABLES_TRIED   "1000"

/* One line of SHOW GRANTS: what is granted, and on what. */
struct grant {
	str_t privileges;
	str_t object;
	bool may_grant;
};

static void add_note(struct buf *notes, const char *text)
{
	if (notes->len > 0)
		buf_append_char(notes, '\n');
	buf_append_text(notes, text);
}

/* Where `word` stands in the text outside of quotes and brackets; its length when nowhere. */
static size_t find_plain(const char *text, const char *word)
{
	int depth = 0;
	for (const char *at = text; *at; at++) {
		if (*at == '`' || *at == '\'' || *at == '"') {
			const char *end = strchr(at + 1, *at);
			if (!end)
				break;
			at = end;
		} else if (*at == '(') {
			depth++;
		} else if (*at == ')') {
			depth--;
		} else if (depth == 0 && strncmp(at, word, strlen(word)) == 0) {
			return (size_t)(at - text);
		}
	}
	return strlen(text);
}

/* False: the line grants no privileges (but a role, say). */
static bool read_grant(const char *line, struct grant *ret_grant)
{
	static const char start[] = "GRANT ";
	if (strncmp(line, start, sizeof start - 1) != 0)
		return false;
	const char *privileges = line + sizeof start - 1;
	size_t len = find_plain(privileges, " ON ");
	if (!privileges[len])
		return false;
	const char *object = privileges + len + 4;
	size_t object_len = find_plain(object, " TO ");
	*ret_grant = (struct grant){
		.privileges = { privileges, len },
		.object = { object, object_len },
		.may_grant = strstr(object + object_len, "WITH GRANT OPTION") != NULL,
	};
	return true;
}

static bool is_harmless(str_t privilege)
{
	static const char *const harmless[] = { "USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES",
						"SHOW CREATE ROUTINE" };
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
		if (str_is(privilege, harmless[i]))
			return true;
	return false;
}

/* Privileges beyond reading, without the columns that they may be limited to. */
static void list_harmful(const struct grant *grant, struct buf *list)
{
	char *privileges = strndup(grant->privileges.ptr, grant->privileges.len);
	if (!privileges)
		abort();
	for (char *at = privileges; *at;) {
		size_t len = find_plain(at, ", ");
		bool last = !at[len];
		size_t name_len = strcspn(at, "(,");
		while (name_len > 0 && at[name_len - 1] == ' ')
			name_len--;
		str_t name = { at, name_len < len ? name_len : len };
		if (!is_harmless(name))
			buf_printf(list, "%s" STR_FMT, list->len ? ", " : "", STR_ARG(name));
		at += last ? len : len + 2;
	}
	free(privileges);
	if (grant->may_grant)
		buf_printf(list, "%sGRANT OPTION", list->len ? ", " : "");
}

static void judge_grant(const char *line, const char *account, struct buf *notes)
{
	_cleanup_(buf_free) struct buf list = BUF_INIT;
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	struct grant grant;
	if (!read_grant(line, &grant))
		return;
	list_harmful(&grant, &list);
	if (list.len == 0)
		return;
	buf_printf(&note,
		   "the account \"%s\" has more than SELECT, namely %s on " STR_FMT
		   ": use one that may only read",
		   account, list.data, STR_ARG(grant.object));
	add_note(notes, note.data);
}

/* The account's limit, as MariaDB tells it with the grants; 0: none is told. */
static unsigned long read_limit(const char *line)
{
	static const char word[] = " MAX_USER_CONNECTIONS ";
	const char *at = line + find_plain(line, word);
	return *at ? strtoul(at + sizeof word - 1, NULL, 10) : 0;
}

static err_t check_grants(struct mariadb_session *session, unsigned long *ret_limit, struct buf *notes,
			  struct err_detail *detail)
{
	MYSQL_RES *account, *grants;
	err_t err = mariadb_session_read(session, "SELECT CURRENT_USER()", &account, detail);
	if (err)
		return err;
	MYSQL_ROW name = mysql_fetch_row(account);
	err = mariadb_session_read(session, "SHOW GRANTS", &grants, detail);
	if (!err) {
		for (MYSQL_ROW row; (row = mysql_fetch_row(grants));) {
			judge_grant(row[0], name && name[0] ? name[0] : "?", notes);
			*ret_limit = *ret_limit ? *ret_limit : read_limit(row[0]);
		}
		mysql_free_result(grants);
	}
	mysql_free_result(account);
	return err;
}

static void check_version(const struct mariadb_session *session, struct buf *notes)
{
	unsigned long version = mysql_get_server_version(session->connection);
	unsigned long oldest = session->is_mysql ? OLDEST_MYSQL : OLDEST_MARIADB;
	char note[200];
	if (version >= oldest)
		return;
	snprintf(note, sizeof note, "%s %.60s is older than what is known to work (%lu.%lu.%lu)",
		 session->is_mysql ? "MySQL" : "MariaDB", mysql_get_server_info(session->connection),
		 oldest / 10000, oldest / 100 % 100, oldest % 100);
	add_note(notes, note);
}

/* Without transactions there are no snapshots either. */
static err_t check_storage(struct mariadb_session *session, struct buf *notes, struct err_detail *detail)
{
	MYSQL_RES *result;
	err_t err = mariadb_session_read(
		session,
		"SELECT CONCAT(COUNT(*), ' table(s), for example ', MIN(CONCAT(TABLE_SCHEMA, '.', "
		"TABLE_NAME)), "
		"', are not of the engine InnoDB: a query and its ground truth may see different states of "
		"them')"
		" FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB' AND"
		" TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')"
		" HAVING COUNT(*) > 0",
		&result, detail);
	if (err)
		return err;
	MYSQL_ROW row = mysql_fetch_row(result);
	if (row && row[0])
		add_note(notes, row[0]);
	mysql_free_result(result);
	return ERR_OK;
}

/* Of the account (`own_limit`, or where that is 0 as MySQL tells it) and of the server; cancelling a query
 * takes one more. */
static err_t check_connections(struct mariadb_session *session, unsigned long own_limit, struct buf *notes,
			       struct err_detail *detail)
{
	MYSQL_RES *result;
	unsigned needed = session->settings->target.connections + 1;
	err_t err = mariadb_session_read(session, "SELECT @@max_user_connections, @@max_connections", &result,
					 detail);
	if (err)
		return err;
	MYSQL_ROW row = mysql_fetch_row(result);
	for (int i = 0; row && i < 2; i++) {
		char note[300];
		unsigned long limit = row[i] ? strtoul(row[i], NULL, 10) : 0;
		if (i == 0 && own_limit)
			limit = own_limit;
		if (limit == 0 || limit >= needed)
			continue;
		snprintf(note, sizeof note,
			 "connections = %u, one more for cancelling, and %s has %lu (%s), of all instances "
			 "together: lower the one or raise the other",
			 needed - 1, i ? "the server" : "the account", limit,
			 i ? "max_connections" : "MAX_USER_CONNECTIONS");
		add_note(notes, note);
	}
	mysql_free_result(result);
	return ERR_OK;
}

static bool is_denied(unsigned number)
{
	return number == ER_DBACCESS_DENIED_ERROR || number == ER_TABLEACCESS_DENIED_ERROR ||
	       number == ER_COLUMNACCESS_DENIED_ERROR;
}

/* Whether the account may read the table: asked by a query that reads no row. ERR_OK also where it fails for
 * another reason, a broken view, say. */
static err_t may_read(struct mariadb_session *session, const char *table, bool *ret_readable,
		      struct err_detail *detail)
{
	MYSQL_RES *result;
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	buf_printf(&sql, "SELECT 1 FROM %s LIMIT 0", table);
	err_t err = mariadb_session_read(session, sql.data, &result, detail);
	if (!err)
		mysql_free_result(result);
	*ret_readable = !err || !is_denied(mysql_errno(session->connection));
	return err && mariadb_session_target_error(mysql_errno(session->connection)) ? err : ERR_OK;
}

/* Of those that the server shows: it hides tables to which there is no right at all. */
static err_t check_reading(struct mariadb_session *session, struct buf *notes, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	_cleanup_(buf_free) struct buf example = BUF_INIT;
	size_t readable = 0, total = 0;
	MYSQL_RES *tables;
	err_t err = mariadb_session_read(session,
					 "SELECT CONCAT('`', REPLACE(TABLE_SCHEMA, '`', '``'), '`.`', "
					 "REPLACE(TABLE_NAME, '`', '``'), '`')"
					 " FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN"
					 " ('information_schema', 'mysql', 'performance_schema', 'sys')"
					 " AND TABLE_TYPE IN ('BASE TABLE', 'VIEW') LIMIT " TABLES_TRIED,
					 &tables, detail);
	if (err)
		return err;
	for (MYSQL_ROW row; !err && (row = mysql_fetch_row(tables));) {
		bool can = true;
		err = may_read(session, row[0], &can, detail);
		readable += can;
		total++;
		if (!can && example.len == 0)
			buf_append_text(&example, row[0]);
	}
	mysql_free_result(tables);
	if (err || (total > 0 && readable == total))
		return err;
	buf_printf(&note,
		   "the account can read %zu of the %zu tables and views that it sees%s%s%s: GRANT SELECT ON "
		   "%s.* "
		   "to it, or results of their queries are UNAVAILABLE",
		   readable, total, example.len ? ", not " : "", example.len ? example.data : "",
		   example.len ? " for example" : "", session->dsn.dbname ? session->dsn.dbname : "…");
	add_note(notes, note.data);
	return ERR_OK;
}

err_t mariadb_session_check_account(struct mariadb_session *session, struct arena *arena, str_t *ret_notes,
				    struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf notes = BUF_INIT;
	unsigned long own_limit = 0;
	check_version(session, &notes);
	if (!session->dsn.dbname)
		add_note(&notes, "the dsn names no dbname: queries have to name the database of every table");
	err_t err = check_grants(session, &own_limit, &notes, detail);
	if (!err)
		err = check_reading(session, &notes, detail);
	if (!err)
		err = check_storage(session, &notes, detail);
	if (!err)
		err = check_connections(session, own_limit, &notes, detail);
	if (!err)
		*ret_notes = arena_str(arena, buf_str(&notes));
	return err;
}
