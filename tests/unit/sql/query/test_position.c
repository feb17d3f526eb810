/*
 * Which keys are positions, by dialect. SQLite itself is asked about each of its own, and MariaDB about those
 * of tests/corpora/mysql.txt (test_mysql_oracle.c). PostgreSQL's are in test_resolve.c.
 */
#include "sql/mysql/parser.h"
#include "sql/query/position.h"
#include "sql/sqlite/parser.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NONE	     QUERY_POSITION_NONE
#define SURE	     QUERY_POSITION_SURE
#define UNSURE	     QUERY_POSITION_UNSURE
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
	const char *key;
	enum query_position_kind mysql;
	int64_t mysql_place;
	enum query_position_kind sqlite;
	int64_t sqlite_place;
} cases[] = {
	{ "1", SURE, 1, SURE, 1 },
	{ "2", SURE, 2, SURE, 2 },
	{ "002", SURE, 2, SURE, 2 },
	{ "(2)", SURE, 2, SURE, 2 },
	{ "((2))", SURE, 2, SURE, 2 },
	{ "+2", SURE, 2, SURE, 2 },
	{ "+ +(2)", SURE, 2, SURE, 2 },
	{ "0", SURE, 0, SURE, 0 },
	{ "-0", UNSURE, 0, SURE, 0 },
	{ "7", SURE, 7, SURE, 7 },
	{ "-2", UNSURE, 0, SURE, -2 },
	{ "(-2)", UNSURE, 0, SURE, -2 },
	{ "-(-2)", UNSURE, 0, SURE, 2 },
	{ "- -2", UNSURE, 0, SURE, 2 },
	{ "-(+(-2))", UNSURE, 0, SURE, 2 },
	{ "2.5", NONE, 0, NONE, 0 },
	{ "2.0", NONE, 0, NONE, 0 },
	{ "2.", NONE, 0, NONE, 0 },
	{ "2e0", NONE, 0, NONE, 0 },
	{ "'2'", NONE, 0, NONE, 0 },
	{ "x'02'", NONE, 0, NONE, 0 },
	{ "0x2", NONE, 0, SURE, 2 },
	{ "0x000000002", NONE, 0, SURE, 2 },
	{ "-0x2", NONE, 0, SURE, -2 },
	{ "0x7fffffff", NONE, 0, SURE, 0x7fffffff },
	{ "0x80000000", NONE, 0, NONE, 0 },
	{ "1 + 1", NONE, 0, NONE, 0 },
	{ "2 * 1", NONE, 0, NONE, 0 },
	{ "~2", NONE, 0, NONE, 0 },
	{ "NOT 2", NONE, 0, NONE, 0 },
	{ "NULL", NONE, 0, NONE, 0 },
	{ "TRUE", UNSURE, 0, NONE, 0 },
	{ "FALSE", UNSURE, 0, NONE, 0 },
	{ "total", NONE, 0, NONE, 0 },
	{ "(SELECT 2)", NONE, 0, NONE, 0 },
	{ "2147483647", SURE, 2147483647, SURE, 2147483647 },
	{ "2147483648", SURE, 2147483648, NONE, 0 },
	{ "4294967295", SURE, 4294967295, NONE, 0 },
	{ "4294967298", UNSURE, 0, NONE, 0 },
	{ "18446744073709551615", UNSURE, 0, NONE, 0 },
	{ "18446744073709551618", NONE, 0, NONE, 0 },
};

/* Of SQLite alone. */
static const struct {
	const char *key;
	enum query_position_kind kind;
} collated[] = {
	{ "2 COLLATE NOCASE", UNSURE },
	{ "(2) COLLATE NOCASE", UNSURE },
	{ "(2 COLLATE NOCASE)", UNSURE },
	{ "+2 COLLATE NOCASE", UNSURE },
	{ "'2' COLLATE NOCASE", NONE },
	{ "total COLLATE NOCASE", NONE },
	{ "2.5 COLLATE NOCASE", NONE },
	{ "+(2 COLLATE NOCASE)", NONE },
	{ "likely(2)", NONE },
	{ "2 COLLATE BINARY COLLATE NOCASE", UNSURE },
};

static str_t statement(const char *key, struct arena *arena)
{
	return arena_printf(arena, "SELECT id, total FROM o ORDER BY %s", key);
}

static const struct query_node *root_of(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	struct mysql_failure failure = { 0 };
	const struct query_node *root = dialect == SQL_MYSQL
						? mysql_parse(sql, MYSQL_ANY_MODE, arena, &failure)
						: sqlite_parse(sql, NULL, arena).root;
	if (!root)
		fail_msg("not read: " STR_FMT, STR_ARG(sql));
	return root;
}

static const struct query_node *key_of(const struct query_node *root)
{
	return query_child(root, QUERY_ORDER)->first->first;
}

static void expect(const char *key, enum sql_dialect dialect, enum query_position_kind kind, int64_t place)
{
	struct arena *arena = arena_new();
	struct query_position position =
		query_position_of(key_of(root_of(statement(key, arena), dialect, arena)), dialect);
	if (position.kind != kind || position.place != place)
		fail_msg("%s (dialect %d): kind %d place %lld", key, (int)dialect, (int)position.kind,
			 (long long)position.place);
	arena_free(arena);
}

static void decides_by_dialect(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		expect(cases[i].key, SQL_MYSQL, cases[i].mysql, cases[i].mysql_place);
		expect(cases[i].key, SQL_SQLITE, cases[i].sqlite, cases[i].sqlite_place);
	}
	for (size_t i = 0; i < COUNT(collated); i++)
		expect(collated[i].key, SQL_SQLITE, collated[i].kind, 0);
}

/* The rows are put in as (2, 20), (1, 30), (3, 10): what came first tells what they were sorted by. 0: by
 * nothing that tells them apart; −1: refused. */
static int library_sorts_by(sqlite3 *library, const char *key)
{
	static const int columns[] = { 0, 1, 0, 2 };
	struct arena *arena = arena_new();
	sqlite3_stmt *rows;
	int by = -1;
	if (sqlite3_prepare_v2(library, statement(key, arena).ptr, -1, &rows, NULL) == SQLITE_OK) {
		assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
		by = columns[sqlite3_column_int(rows, 0)];
		if (by == 0) /* (2, 20) is in front */
			assert_int_equal(sqlite3_column_int(rows, 0), 2);
		sqlite3_finalize(rows);
	}
	arena_free(arena);
	return by;
}

static void sqlite_says_so(void **state)
{
	sqlite3 *library;
	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &library), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(library,
			     "CREATE TABLE o (id, total); INSERT INTO o VALUES (2, 20), (1, 30), (3, 10)",
			     NULL, NULL, NULL),
		SQLITE_OK);
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t place = cases[i].sqlite_place;
		int expected = cases[i].sqlite == NONE ? 0 : place >= 1 && place <= 2 ? (int)place : -1;
		if (strcmp(cases[i].key, "total") == 0)
			expected = 2;
		if (library_sorts_by(library, cases[i].key) != expected)
			fail_msg("%s: %d", cases[i].key, library_sorts_by(library, cases[i].key));
	}
	for (size_t i = 0; i < COUNT(collated); i++) {
		int expected = collated[i].kind == UNSURE || collated[i].key[0] == 't' ? 2 : 0;
		if (library_sorts_by(library, collated[i].key) != expected)
			fail_msg("%s: %d", collated[i].key, library_sorts_by(library, collated[i].key));
	}
	sqlite3_close(library);
}

static void finds_the_item(void **state)
{
	static const struct {
		const char *sql;
		int64_t place;
		const char *name; /* NULL: none */
	} outputs[] = {
		{ "SELECT id, total AS t FROM o", 1, "id" },  { "SELECT id, total AS t FROM o", 2, "t" },
		{ "SELECT id, total AS t FROM o", 3, NULL },  { "SELECT id, total AS t FROM o", 0, NULL },
		{ "SELECT id, total AS t FROM o", -1, NULL }, { "SELECT id, o.* FROM o", 1, "id" },
		{ "SELECT id, o.* FROM o", 2, NULL },	      { "SELECT id, o.*, total FROM o", 3, NULL },
		{ "SELECT id FROM o", INT64_MAX, NULL },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(outputs); i++) {
		struct arena *arena = arena_new();
		const struct query_node *root = root_of(str_from(outputs[i].sql), SQL_MYSQL, arena);
		const struct query_node *item = query_position_item(
			query_first_select(root), (struct query_position){ SURE, outputs[i].place });
		assert_int_equal(item != NULL, outputs[i].name != NULL);
		if (item)
			assert_true(identifier_is(query_item_name(item), outputs[i].name));
		arena_free(arena);
	}
	assert_null(query_position_item(NULL, (struct query_position){ SURE, 1 }));
	struct arena *arena = arena_new();
	const struct query_node *root = root_of(STR("SELECT id FROM o ORDER BY 1"), SQL_MYSQL, arena);
	assert_null(query_position_item(query_first_select(root), (struct query_position){ UNSURE, 1 }));
	assert_int_equal(query_position_of(key_of(root), SQL_POSTGRESQL).kind, NONE);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decides_by_dialect),
		cmocka_unit_test(sqlite_says_so),
		cmocka_unit_test(finds_the_item),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
