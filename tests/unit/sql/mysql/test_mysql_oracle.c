/*
 * PREPARE of a real MariaDB judges the analysis of MySQL's dialect: a corpus of statements by hand
 * (tests/corpora/mysql.txt), mutants of them, and real questions' SQL over their schemas. Nothing that is not
 * a read is SAFE; what the server accepts is hardly ever refused, and never has errors.
 *
 * ASSAYD_MUTANTS sets how many mutants are tried (default 15,000). Skipped where MariaDB is not installed.
 */
#include "mysql_server.h"

#include "sql/lex/statement_words.h"

#include <jansson.h>

#define MAX_LINE ((size_t)1 << 16)

/* A line's first character: `+` a read that both accept, `!` what may never be SAFE, `?` a read that is
 * refused on purpose, `-` what the server rejects. */
struct line {
	char mark;
	str_t sql;
};

static struct line *lines;
static size_t lines_count;
static struct arena *lines_arena;

static void read_lines(void)
{
	_cleanup_(cleanup_fclose) FILE *file = open_text(ASSAYD_SOURCE_DIR "/tests/corpora", "mysql.txt");
	_cleanup_(cleanup_free) char *text = malloc(MAX_LINE);
	size_t capacity = 0;
	assert_non_null(file);
	lines_arena = arena_new();
	while (fgets(text, MAX_LINE, file)) {
		text[strcspn(text, "\n")] = '\0';
		ARENA_PUSH(lines_arena, lines, lines_count, capacity,
			   (struct line){ text[0], arena_text(lines_arena, text + 2, strlen(text + 2)) });
	}
}

static void print_analysis(str_t sql, const struct sql_analysis *analysis, const struct prepared *prepared)
{
	print_error(STR_FMT "\n  server: %u %s\n  ours: valid %d verdict %d\n", STR_ARG(sql), prepared->error,
		    prepared->message, analysis->valid, (int)analysis->verdict);
	for (size_t i = 0; i < analysis->violations_count; i++)
		print_error("  %s: " STR_FMT "\n", analysis->violations[i].code,
			    STR_ARG(analysis->violations[i].detail));
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		print_error("  %s: " STR_FMT "\n", analysis->diagnostics[i].code,
			    STR_ARG(analysis->diagnostics[i].message));
}

static bool has_error(const struct sql_analysis *analysis, const char *code)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (strcmp(analysis->diagnostics[i].code, code) == 0)
			return true;
	return false;
}

/* Whether an error of the server is told by the right code. */
static bool tells(const struct sql_analysis *analysis, unsigned error)
{
	switch (error) {
	case 1146:
		return has_error(analysis, "unknown_table");
	case 1054:
	case 1051:
		return has_error(analysis, "unknown_column") || has_error(analysis, "invalid_join");
	case 1052:
		return has_error(analysis, "ambiguous_column");
	case 1066:
		return has_error(analysis, "duplicate_alias");
	case 1056:
	case 1111:
		return has_error(analysis, "invalid_aggregate");
	case 1235:
		return has_error(analysis, "invalid_subquery");
	case 1305:
	case 1630:
		return has_error(analysis, "unknown_function") || has_error(analysis, "syntax_error");
	default:
		return has_error(analysis, "syntax_error");
	}
}

static bool as_marked(char mark, const struct sql_analysis *analysis, const struct prepared *prepared)
{
	switch (mark) {
	case '+':
		return prepared->error == 0 && analysis->valid && analysis->verdict == SQL_SAFE &&
		       errors_of(analysis) == 0;
	case '!':
		return prepared->error == 0 && (analysis->verdict == SQL_UNSAFE ||
						(!analysis->valid && analysis->verdict == SQL_UNKNOWN));
	case '?':
		return prepared->error == 0 && !analysis->valid && analysis->verdict != SQL_SAFE;
	default:
		return prepared->error != 0 && tells(analysis, prepared->error);
	}
}

/* Some errors come up when a statement runs: positions in GROUP_CONCAT. */
static struct prepared answer(MYSQL *root, str_t sql, const struct sql_analysis *analysis)
{
	struct prepared prepared = prepare(root, sql);
	if (prepared.error != 0 || analysis->verdict != SQL_SAFE || errors_of(analysis) == 0)
		return prepared;
	if (mysql_real_query(root, sql.ptr, sql.len) == 0)
		mysql_free_result(mysql_store_result(root));
	prepared.error = mysql_errno(root);
	(void)snprintf(prepared.message, sizeof prepared.message, "%s", mysql_error(root));
	return prepared;
}

static void corpus_by_hand(void **state)
{
	(void)state;
	MYSQL *root = connected("root", "shop", 0);
	size_t wrong = 0;
	for (size_t i = 0; i < lines_count; i++) {
		struct arena *arena = arena_new();
		struct sql_analysis analysis = analysed(lines[i].sql, shop, arena);
		struct prepared prepared = answer(root, lines[i].sql, &analysis);
		if (!as_marked(lines[i].mark, &analysis, &prepared)) {
			wrong++;
			print_error("%c ", lines[i].mark);
			print_analysis(lines[i].sql, &analysis, &prepared);
		}
		arena_free(arena);
	}
	mysql_close(root);
	assert_true(lines_count >= 400);
	assert_int_equal(wrong, 0);
}

static uint64_t chance(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

struct pieces {
	struct scan_token items[200];
	size_t count;
};

static void split(str_t sql, struct pieces *pieces)
{
	pieces->count = 0;
	struct scan_token token = scan_next(sql, 0, SQL_MYSQL);
	for (; token.kind != SCAN_END && pieces->count < 200;
	     token = scan_next(sql, token.offset + token.len, SQL_MYSQL))
		pieces->items[pieces->count++] = token;
}

/* Another word of the shop, so that many mutants mean something. */
static const char *shop_word(uint64_t *random)
{
	static const char *const words[] = { "id",	   "name",     "city",	   "created",	"user_id",
					     "total",	   "users",    "orders",   "items",	"parent",
					     "tree",	   "order_id", "u",	   "o",		"users.id",
					     "o.total",	   "COUNT(*)", "MAX(id)",  "1",		"NULL",
					     "name = 'a'", "id > 5",   "DISTINCT", "(SELECT 1)" };
	return words[chance(random, sizeof words / sizeof words[0])];
}

static const char *spice(uint64_t *random)
{
	static const char *const spices[] = { "INTO",	"FOR",	    "UPDATE", "@a",    ":=", ";",
					      "(",	")",	    "SELECT", "SLEEP", "*",  ",",
					      ".",	"UNION",    "NOT",    "'",     "AS", "LIMIT",
					      "DELETE", "OR",	    "#",      "FROM",  "BY", "WITH",
					      "JOIN",	"OUTFILE",  "'x'",    "1e5",   "`",  "\\",
					      "LOCK",	"PROCEDURE" };
	return spices[chance(random, sizeof spices / sizeof spices[0])];
}

/* Of another statement, preferably of the same kind. */
static str_t stranger(enum scan_kind kind, uint64_t *random)
{
	const struct line *other = &lines[chance(random, lines_count)];
	struct pieces pieces;
	split(other->sql, &pieces);
	size_t start = chance(random, pieces.count);
	for (size_t i = 0; i < pieces.count; i++) {
		const struct scan_token *token = &pieces.items[(start + i) % pieces.count];
		if (token->kind == kind)
			return (str_t){ other->sql.ptr + token->offset, token->len };
	}
	return (str_t){ other->sql.ptr + pieces.items[start].offset, pieces.items[start].len };
}

/* One token left out, doubled, exchanged with another, or replaced. */
static str_t mutant(str_t sql, uint64_t *random, struct arena *arena)
{
	struct pieces pieces;
	split(sql, &pieces);
	if (pieces.count == 0)
		return sql;
	size_t at = chance(random, pieces.count), with = chance(random, pieces.count);
	uint64_t kind = chance(random, 10);
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < pieces.count; i++) {
		const struct scan_token *token = &pieces.items[i == at && kind == 2 ? with : i];
		bool here = i == at;
		if (here && kind == 3)
			buf_append_text(&text, spice(random));
		else if (here && kind > 3 && kind < 8)
			buf_append_text(&text, shop_word(random));
		else if (here && kind >= 8)
			buf_append_str(&text, stranger(token->kind, random));
		else if (!(here && kind == 0))
			buf_append(&text, sql.ptr + token->offset, token->len);
		bool last = i + 1 == pieces.count;
		bool touches = !last && token->offset + token->len == pieces.items[i + 1].offset;
		bool bracket = !last && sql.ptr[pieces.items[i + 1].offset] == '(';
		if (!touches || (!bracket && (here || i + 1 == at)))
			buf_append_char(&text, ' ');
		if (here && kind == 1)
			buf_append(&text, sql.ptr + token->offset, token->len);
	}
	str_t result = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return result;
}

struct event_metrics {
	size_t tried, accepted, refused, false_errors, missed_errors, misses, safe;
};

/* Errors that only come up when a statement is looked at in more depth than ours. */
static bool beyond_grammar(unsigned error)
{
	static const unsigned seen[] = { 1052, 1054, 1056, 1064, 1111, 1146, 1235 };
	for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
		if (error == seen[i])
			return false;
	return true;
}

/* Of these the server looks nothing up before it runs them. */
static bool describes(str_t sql)
{
	return strncasecmp(sql.ptr, "desc", 4) == 0 || strncasecmp(sql.ptr, "explain", 7) == 0 ||
	       strncasecmp(sql.ptr, "show", 4) == 0;
}

/* What is refused since it ends the server is not put to it. */
static bool crashes(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->violations_count; i++)
		if (strstr(analysis->violations[i].detail.ptr, "servers crash"))
			return true;
	return false;
}

static void compare_one(MYSQL *root, str_t sql, const struct catalog *catalog,
			struct event_metrics *event_metrics)
{
	struct arena *arena = arena_new();
	struct sql_analysis analysis = analysed(sql, catalog, arena);
	if (crashes(&analysis)) {
		arena_free(arena);
		return;
	}
	struct prepared prepared = answer(root, sql, &analysis);
	bool rejected = prepared.error != 0;
	if (prepared.error >= 2000 && prepared.error < 3000) /* the client's own: the connection is gone */
		fail_msg("%u %s: " STR_FMT, prepared.error, prepared.message, STR_ARG(sql));
	event_metrics->tried++;
	event_metrics->accepted += !rejected;
	event_metrics->safe += analysis.verdict == SQL_SAFE;
	if (analysis.verdict == SQL_SAFE && !rejected && !prepared.gives_rows) {
		event_metrics->misses++;
		print_error("NOT A READ: ");
		print_analysis(sql, &analysis, &prepared);
	} else if (!rejected && prepared.gives_rows && !analysis.valid) {
		event_metrics->refused++;
		if (getenv("ASSAYD_VERBOSE"))
			print_analysis(sql, &analysis, &prepared);
	} else if (!rejected && analysis.valid && errors_of(&analysis) > 0 && !describes(sql)) {
		event_metrics->false_errors++;
		print_error("FALSE ERROR: ");
		print_analysis(sql, &analysis, &prepared);
	} else if (rejected && errors_of(&analysis) == 0 && !beyond_grammar(prepared.error)) {
		event_metrics->missed_errors++;
		if (getenv("ASSAYD_VERBOSE"))
			print_analysis(sql, &analysis, &prepared);
	}
	arena_free(arena);
}

static void print_event_metrics(const char *what, const struct event_metrics *event_metrics)
{
	print_message(
		"%s: %zu tried, %zu accepted by the server, %zu safe; %zu that are no reads called safe, "
		"%zu refused though accepted, %zu false errors, %zu errors not seen\n",
		what, event_metrics->tried, event_metrics->accepted, event_metrics->safe,
		event_metrics->misses, event_metrics->refused, event_metrics->false_errors,
		event_metrics->missed_errors);
}

static void mutants(void **state)
{
	(void)state;
	const char *wanted = getenv("ASSAYD_MUTANTS");
	size_t count = wanted ? strtoul(wanted, NULL, 10) : 15000;
	MYSQL *root = connected("root", "shop", 0);
	struct event_metrics event_metrics = { 0 };
	uint64_t random = 1;
	for (size_t i = 0; i < count; i++) {
		struct arena *arena = arena_new();
		const struct line *line = &lines[chance(&random, lines_count)];
		while (line->mark != '+' && chance(&random, 4) != 0)
			line = &lines[chance(&random, lines_count)];
		str_t sql = mutant(line->sql, &random, arena);
		if (chance(&random, 4) == 0)
			sql = mutant(sql, &random, arena);
		compare_one(root, sql, shop, &event_metrics);
		arena_free(arena);
	}
	mysql_close(root);
	print_event_metrics("mutants", &event_metrics);
	assert_int_equal(event_metrics.misses, 0);
	assert_int_equal(event_metrics.false_errors, 0);
	assert_true(event_metrics.refused * 100 < event_metrics.accepted * 10);
}

/* ---- Spider: 166 schemas, 1,034 questions ---- */

static const char *column_type(const char *type)
{
	return strcmp(type, "number") == 0 ? "DOUBLE"
	       : strcmp(type, "time") == 0 ? "DATETIME"
					   : "VARCHAR(100)";
}

static void append_name(struct buf *sql, const json_t *name)
{
	buf_append_char(sql, '`');
	buf_append_text(sql, json_string_value(name));
	buf_append_char(sql, '`');
}

static void create_table(MYSQL *root, const json_t *schema, size_t table)
{
	const json_t *columns = json_object_get(schema, "column_names_original");
	const json_t *types = json_object_get(schema, "column_types");
	struct buf sql = BUF_INIT;
	size_t index;
	json_t *column;
	buf_append_text(&sql, "CREATE TABLE ");
	append_name(&sql, json_array_get(json_object_get(schema, "table_names_original"), table));
	const char *before = " (";
	json_array_foreach(columns, index, column)
	{
		if (json_integer_value(json_array_get(column, 0)) != (json_int_t)table)
			continue;
		buf_append_text(&sql, before);
		append_name(&sql, json_array_get(column, 1));
		buf_printf(&sql, " %s", column_type(json_string_value(json_array_get(types, index))));
		before = ", ";
	}
	buf_append_text(&sql, ") ROW_FORMAT=DYNAMIC");
	must(root, sql.data);
	buf_free(&sql);
}

/* A database of that name, and its catalog. */
static struct catalog *create_spider(MYSQL *root, const json_t *schema)
{
	char sql[256];
	const char *name = json_string_value(json_object_get(schema, "db_id"));
	size_t tables = json_array_size(json_object_get(schema, "table_names_original"));
	snprintf(sql, sizeof sql, "CREATE DATABASE `%s` CHARACTER SET utf8mb4", name);
	must(root, sql);
	assert_int_equal(mysql_select_db(root, name), 0);
	for (size_t i = 0; i < tables; i++)
		create_table(root, schema, i);
	return catalog_of(root);
}

static const json_t *schema_named(const json_t *schemas, const char *name)
{
	size_t index;
	json_t *schema;
	json_array_foreach(schemas, index,
			   schema) if (strcmp(json_string_value(json_object_get(schema, "db_id")), name) ==
				       0) return schema;
	return NULL;
}

/* The server looks table names up in any case of letters here: the questions' authors did not mind. */
static void spider_gold(void **state)
{
	(void)state;
	_cleanup_(cleanup_fclose) FILE *gold = open_corpus("spider/gold_example.txt");
	_cleanup_(cleanup_fclose) FILE *tables = open_corpus("spider/tables.json");
	_cleanup_(cleanup_free) char *text = malloc(MAX_LINE);
	json_t *schemas = json_loadf(tables, 0, NULL);
	MYSQL *root = connected("root", NULL, 0);
	struct catalog *catalog = NULL;
	struct event_metrics event_metrics = { 0 };
	char database[128] = "";
	while (fgets(text, MAX_LINE, gold)) {
		text[strcspn(text, "\n")] = '\0';
		char *name = strchr(text, '\t');
		assert_non_null(name);
		*name++ = '\0';
		if (strcmp(database, name) != 0) {
			catalog_unref(catalog);
			snprintf(database, sizeof database, "%s", name);
			catalog = create_spider(root, schema_named(schemas, name));
		}
		compare_one(root, str_from(text), catalog, &event_metrics);
	}
	catalog_unref(catalog);
	mysql_close(root);
	json_decref(schemas);
	print_event_metrics("Spider", &event_metrics);
	assert_int_equal(event_metrics.misses, 0);
	assert_int_equal(event_metrics.false_errors, 0);
	assert_true(event_metrics.refused * 100 <= event_metrics.accepted * 5);
}

/* Every word of the server's that begins a statement is known to: behind one it stumbles over the bracket. */
static void words_of_statements(void **state)
{
	(void)state;
	MYSQL *connection = connected("root", "shop", 0);
	must(connection, "CREATE TEMPORARY TABLE asked SELECT LOWER(word) AS word FROM "
			 "information_schema.keywords WHERE word REGEXP '^[A-Za-z_]+$'");
	assert_int_equal(mysql_query(connection, "SELECT word FROM asked"), 0);
	MYSQL_RES *keywords = mysql_store_result(connection);
	size_t found = 0;
	for (MYSQL_ROW row; (row = mysql_fetch_row(keywords));) {
		char text[128], near[160];
		snprintf(text, sizeof text, "%s ]", row[0]);
		snprintf(near, sizeof near, "near '%s ]'", row[0]);
		bool begins = mysql_query(connection, text) == 0 || !strstr(mysql_error(connection), near);
		mysql_free_result(mysql_store_result(connection));
		found += begins;
		if (begins && statement_word(str_from(row[0]), SQL_MYSQL) == STATEMENT_WORD_NONE)
			fail_msg("%s begins a statement", row[0]);
	}
	mysql_free_result(keywords);
	mysql_close(connection);
	assert_true(found > 50);
}

int main(void)
{
	int status = start_shop();
	if (status != 0)
		return status;
	read_lines();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_statements),
		cmocka_unit_test(corpus_by_hand),
		cmocka_unit_test(mutants),
		cmocka_unit_test(spider_gold),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_free(lines_arena);
	stop_shop();
	return failed;
}
