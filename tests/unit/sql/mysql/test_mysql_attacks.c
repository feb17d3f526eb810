/*
 * Injections against MySQL's dialect: real fragments, placed where a careless program would put them. What
 * the analysis calls SAFE is run on a private MariaDB, by an account that may only read, by root with several
 * statements allowed, and by root under every sql_mode that reads quotes and operators in another way:
 * nothing may change, wait, lock or write.
 *
 * ASSAYD_ATTACKS_EVERY takes every n-th fragment (default 12; 1: all). Skipped where MariaDB is not
 * installed.
 */
#include "mysql_server.h"

#include "common/hash.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <time.h>

#define MAX_LINE     ((size_t)1 << 16)
#define SLOW_MS	     900
#define TRIES	     12
#define CHECK_EVERY  400 /* statements between two looks at what has changed */
#define LIMIT_SECOND "SET max_statement_time = 5"

/* Where a fragment goes: %s stands for it. */
static const char *const templates[] = {
	"SELECT id, name FROM users WHERE name = '%s'",
	"SELECT id, name FROM users WHERE name = \"%s\"",
	"SELECT id, name FROM users WHERE name LIKE '%%%s%%' AND city = 'x'",
	"SELECT id, name FROM users WHERE id = %s",
	"SELECT id, name FROM users WHERE (id = %s) AND city = 'x'",
	"SELECT `%s` FROM users",
	"SELECT %s FROM users",
	"SELECT id FROM users ORDER BY %s",
	"SELECT id FROM users LIMIT %s",
	"SELECT id FROM users; %s",
	"%s",
};

struct session {
	const char *what;
	MYSQL *connection;
};

static struct session sessions[6];
static size_t sessions_count;
static MYSQL *watcher;
static size_t ran, slow, changed, locks;

static void add_session(const char *what, const char *user, unsigned long flags, const char *mode)
{
	MYSQL *connection = connected(user, "shop", flags);
	char sql[200];
	snprintf(sql, sizeof sql, "SET sql_mode = '%s'", mode);
	must(connection, sql);
	must(connection, LIMIT_SECOND);
	sessions[sessions_count++] = (struct session){ what, connection };
}

static long long now_ms(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Runs a text and takes all its results; milliseconds that it took. */
static long long time_of(const struct session *session, str_t sql)
{
	long long start = now_ms();
	int status = mysql_real_query(session->connection, sql.ptr, sql.len) ? 1 : 0;
	while (status == 0) {
		mysql_free_result(mysql_store_result(session->connection));
		status = mysql_next_result(session->connection);
	}
	return now_ms() - start;
}

/* What is slow every time is no fault of a busy machine. */
static void run_in(const struct session *session, str_t sql)
{
	long long taken = SLOW_MS + 1;
	for (int i = 0; i < TRIES && taken > SLOW_MS; i++)
		taken = time_of(session, sql);
	ran++;
	if (taken > SLOW_MS) {
		slow++;
		print_error("SLOW (%s, %lld ms): " STR_FMT "\n", session->what, taken, STR_ARG(sql));
	}
}

static size_t files_written(void)
{
	size_t count = 0;
	DIR *folder = opendir(server.files);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

/* All that a statement could change, as one text. */
static str_t world(struct arena *arena)
{
	static const char *const queries[] = {
		"SELECT COUNT(*) FROM information_schema.tables",
		"SELECT COUNT(*) FROM information_schema.schemata",
		"SELECT COUNT(*) FROM information_schema.routines",
		"SELECT COUNT(*) FROM information_schema.triggers",
		"SELECT COUNT(*) FROM mysql.global_priv",
		"SELECT CRC32(GROUP_CONCAT(Priv ORDER BY User)) FROM mysql.global_priv",
		"SELECT COUNT(*) FROM mysql.db",
		"SELECT COUNT(*) FROM mysql.event",
		"SELECT COUNT(*) FROM shop.log",
		"SELECT CRC32(GROUP_CONCAT(id, name, city)) FROM shop.users",
		"SELECT CRC32(GROUP_CONCAT(id, user_id, total)) FROM shop.orders",
		"SELECT next_not_cached_value FROM shop.numbers",
		("SELECT CRC32(GROUP_CONCAT(variable_name, variable_value ORDER BY 1)) FROM "
		 "information_schema.global_variables WHERE variable_name NOT LIKE 'gtid%'"),
	};
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
		buf_printf(&text, "%lld ", number_of(watcher, queries[i]));
	buf_printf(&text, "files %zu", files_written());
	str_t all = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return all;
}

static void check_world(str_t before)
{
	struct arena *arena = arena_new();
	str_t after = world(arena);
	if (!str_equal(before, after)) {
		changed++;
		print_error("CHANGED: " STR_FMT "\n     now: " STR_FMT "\n", STR_ARG(before), STR_ARG(after));
	}
	for (size_t i = 0; i < sessions_count; i++) {
		MYSQL *connection = sessions[i].connection;
		locks += number_of(connection, "SELECT RELEASE_ALL_LOCKS()") != 0;
		locks += number_of(connection, "SELECT COUNT(*) FROM information_schema.user_variables") != 0;
		locks += number_of(connection, "SELECT @@in_transaction") != 0;
	}
	arena_free(arena);
}

static char *decoded(const char *text, struct arena *arena)
{
	char *plain = arena_strdup(arena, text);
	char *to = plain;
	for (const char *from = text; *from; from++) {
		unsigned value;
		if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2]) &&
		    sscanf(from + 1, "%2x", &value) == 1 && value != 0) {
			*to++ = (char)value;
			from += 2;
		} else {
			*to++ = *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
	return plain;
}

static str_t placed(const char *template, const char *fragment, struct arena *arena)
{
	struct buf text = BUF_INIT;
	for (const char *at = template; *at; at++) {
		if (at[0] == '%' && at[1] == 's')
			buf_append_text(&text, fragment);
		else if (at[0] == '%')
			buf_append_char(&text, '%');
		else
			buf_append_char(&text, *at);
		at += at[0] == '%';
	}
	str_t sql = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return sql;
}

struct attack {
	struct arena *arena; /* of what has been seen */
	struct hash_map seen;
	str_t before;
	size_t tried, safe, since;
};

/* The settings that read quotes and bars in another way only matter where there are some. */
static bool concerns(const struct session *session, str_t sql)
{
	bool quotes = strstr(session->what, "ANSI") || strstr(session->what, "backslashes");
	return !quotes || memchr(sql.ptr, '"', sql.len) || memchr(sql.ptr, '\\', sql.len) ||
	       memmem(sql.ptr, sql.len, "||", 2);
}

static void attack_with(struct attack *attack, const char *fragment, size_t first_template)
{
	for (size_t i = first_template; i < sizeof templates / sizeof templates[0]; i++) {
		struct arena *arena = arena_new();
		str_t sql = placed(templates[i], fragment, arena);
		struct sql_analysis analysis = analysed(sql, shop, arena);
		attack->tried++;
		if (analysis.verdict == SQL_SAFE && !hash_map_get(&attack->seen, analysis.text)) {
			hash_map_set(&attack->seen, arena_str(attack->arena, analysis.text), attack);
			attack->safe++;
			for (size_t s = 0; s < sessions_count; s++)
				if (concerns(&sessions[s], analysis.text))
					run_in(&sessions[s], analysis.text);
			if (++attack->since % CHECK_EVERY == 0)
				check_world(attack->before);
		}
		arena_free(arena);
	}
}

static void attack_file(struct attack *attack, const char *path, size_t every)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	_cleanup_(cleanup_free) char *line = malloc(MAX_LINE);
	assert_non_null(file);
	for (size_t i = 0; fgets(line, MAX_LINE, file); i++) {
		line[strcspn(line, "\r\n")] = '\0';
		if (i % every != 0)
			continue;
		struct arena *arena = arena_new();
		const char *plain = decoded(line, arena);
		attack_with(attack, line, 0);
		if (strcmp(plain, line) != 0)
			attack_with(attack, plain, 0);
		arena_free(arena);
	}
}

static void injections_do_nothing(void **state)
{
	(void)state;
	const char *folder = getenv("ASSAYD_CORPORA");
	const char *wanted = getenv("ASSAYD_ATTACKS_EVERY");
	size_t every = wanted ? strtoul(wanted, NULL, 10) : 12;
	char pattern[4096];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/libinjection/*.txt",
		 folder ? folder : ASSAYD_SOURCE_DIR "/../shared/corpora");
	if (glob(pattern, 0, NULL, &found) != 0) {
		print_message("skipped: the corpora have no libinjection here\n");
		skip();
	}
	struct attack attack = { .arena = arena_new() };
	hash_map_init(&attack.seen, attack.arena, 10000);
	attack.before = world(attack.arena);
	for (size_t i = 0; i < found.gl_pathc; i++)
		attack_file(&attack, found.gl_pathv[i], every ? every : 1);
	check_world(attack.before);
	globfree(&found);
	print_message("%zu statements tried, %zu different ones safe, run %zu times: %zu slow, %zu changes, "
		      "%zu locks or variables\n",
		      attack.tried, attack.safe, ran, slow, changed, locks);
	arena_free(attack.arena);
	assert_true(attack.safe > 100);
	assert_int_equal(slow + changed + locks, 0);
}

/* What the corpus by hand calls a read does nothing, either; what it says must never be SAFE is not. */
static void corpus_does_nothing(void **state)
{
	(void)state;
	_cleanup_(cleanup_fclose) FILE *file = open_text(ASSAYD_SOURCE_DIR "/tests/corpora", "mysql.txt");
	_cleanup_(cleanup_free) char *line = malloc(MAX_LINE);
	assert_non_null(file);
	struct attack attack = { .arena = arena_new() };
	hash_map_init(&attack.seen, attack.arena, 1000);
	attack.before = world(attack.arena);
	while (fgets(line, MAX_LINE, file)) {
		line[strcspn(line, "\n")] = '\0';
		attack_with(&attack, line + 2, sizeof templates / sizeof templates[0] - 1);
	}
	check_world(attack.before);
	arena_free(attack.arena);
	assert_int_equal(slow + changed + locks, 0);
}

int main(void)
{
	int status = start_shop();
	if (status != 0)
		return status;
	watcher = connected("root", NULL, 0);
	add_session("reader", "reader", 0, "");
	add_session("root", "root", CLIENT_MULTI_STATEMENTS, "");
	add_session("root, plain backslashes", "root", CLIENT_MULTI_STATEMENTS, "NO_BACKSLASH_ESCAPES");
	add_session("root, ANSI", "root", CLIENT_MULTI_STATEMENTS, "ANSI,IGNORE_SPACE,HIGH_NOT_PRECEDENCE");
	add_session("root, ANSI, plain backslashes", "root", CLIENT_MULTI_STATEMENTS,
		    "ANSI_QUOTES,NO_BACKSLASH_ESCAPES");
	add_session("root, Oracle", "root", CLIENT_MULTI_STATEMENTS, "ORACLE");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corpus_does_nothing),
		cmocka_unit_test(injections_do_nothing),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < sessions_count; i++)
		mysql_close(sessions[i].connection);
	mysql_close(watcher);
	stop_shop();
	return failed;
}
