/*
 * Types of expressions, choice of overloads and what may stand where: statements that PostgreSQL accepts or
 * refuses, with the SQLSTATE of the first error. Where PostgreSQL is installed it is asked whether the table
 * is right; else that part is skipped by name.
 */
#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/findings/diagnostics.h"
#include "sql/postgresql/resolve/resolve.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/sql/catalog_fixture.h"

#include <libpq-fe.h>

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static const char schema[] =
	"CREATE TYPE mood AS ENUM ('sad','ok','happy');"
	"CREATE DOMAIN posint AS int CHECK (VALUE > 0);"
	"CREATE DOMAIN email AS text;"
	"CREATE TYPE pt AS (x int, y text);"
	"CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, email varchar(100), age "
	"smallint, born date, seen timestamptz, score float8, bal numeric(10,2), ok boolean, tags "
	"text[], nums int[], j json, jb jsonb, u uuid, m mood, p posint, e email, r int4range, c "
	"pt, iv interval, tm time, ch char(3), big bigint, loc point, ts timestamp, b bytea, x xml,"
	" ip inet, tz timetz, mn money, rl real, o oid);"
	"CREATE TABLE orders (id bigint PRIMARY KEY, user_id int NOT NULL, total numeric, note "
	"text, placed_at timestamptz, units int, status varchar);"
	"CREATE TABLE kv (k text, v text, PRIMARY KEY (k, v));"
	"CREATE VIEW vv AS SELECT id, name, count(*) AS n FROM users GROUP BY id;"
	"CREATE MATERIALIZED VIEW mv AS SELECT id, total FROM orders;"
	"CREATE FUNCTION tax(amount numeric, rate numeric DEFAULT 0.2, note text DEFAULT '') "
	"RETURNS numeric IMMUTABLE LANGUAGE sql AS 'select 1.0';"
	"CREATE FUNCTION pair(OUT a int, OUT b text) RETURNS record STABLE LANGUAGE sql AS $$select"
	" 1,'x'$$;"
	"CREATE FUNCTION vari(VARIADIC n int[]) RETURNS int LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION tbl(n int) RETURNS TABLE(a int, b text) LANGUAGE sql AS 'select 1, ''x''';"
	"CREATE FUNCTION setu() RETURNS SETOF users LANGUAGE sql AS 'select * from users';"
	"CREATE FUNCTION rec() RETURNS SETOF record LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION full_name(users) RETURNS text LANGUAGE sql AS $$select 'x'$$;"
	"CREATE FUNCTION poly(a anyelement, b anyelement) RETURNS anyarray LANGUAGE sql AS 'select "
	"array[a,b]';"
	"CREATE FUNCTION polyc(a anycompatible, b anycompatible) RETURNS anycompatible LANGUAGE sql"
	" AS 'select a';"
	"CREATE PROCEDURE pr(a int) LANGUAGE sql AS 'select 1';"
	"CREATE AGGREGATE mysum(int) (sfunc = int4pl, stype = int);"
	"CREATE FUNCTION feel(mood) RETURNS int IMMUTABLE LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION feel(anyenum) RETURNS text IMMUTABLE LANGUAGE sql AS $$select 'x'$$;"
	"CREATE FUNCTION few(int = 1, int = 2) RETURNS int IMMUTABLE LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION few(int = 1, int = 2, int = 3) RETURNS int IMMUTABLE LANGUAGE sql AS 'select 1';"
	"CREATE TYPE duo AS (one int, two text);"
	"CREATE FUNCTION two(anyelement) RETURNS int IMMUTABLE LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION described(anyelement) RETURNS text IMMUTABLE LANGUAGE sql AS $$select 'x'$$;"
	"CREATE FUNCTION ov(int) RETURNS int LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION ov(text) RETURNS text LANGUAGE sql AS $$select ''$$;"
	"CREATE FUNCTION ov2(int, float8) RETURNS int LANGUAGE sql AS 'select 1';"
	"CREATE FUNCTION ov2(float8, int) RETURNS int LANGUAGE sql AS 'select 1';";

struct row {
	const char *expected; /* "SQLSTATE code@offset" of the first error, or "" */
	const char *sql;
};

static const struct row rows[] = {
#define ACCEPTED(sql)	       { "", sql },
#define REFUSED(expected, sql) { expected, sql },
#include "resolve_types.def"
#undef ACCEPTED
#undef REFUSED
};

/* The statement resolved, until the arena goes; the first error as PostgreSQL's analysis meets them. */
static str_t first_error(const char *sql, struct arena *arena)
{
	struct diagnostics diagnostics = { .arena = arena };
	struct parsed_statement parsed;
	struct resolution resolution;
	const struct sql_diagnostic *first = NULL;
	parse_begin(str_from(sql), arena, &parsed);
	if (!parsed.statement)
		fail_msg("%s: " STR_FMT, sql, STR_ARG(parsed.error));
	resolve_statement(&parsed, catalog, arena, &diagnostics, &resolution);
	parse_end(&parsed);
	for (size_t i = 0; i < diagnostics.count; i++) {
		const struct sql_diagnostic *item = &diagnostics.items[i];
		if (item->severity == SQL_ERROR && (!first || item->order < first->order))
			first = item;
	}
	return first ? arena_printf(arena, "%s %s@%lld", first->sqlstate, first->code,
				    (long long)first->offset)
		     : STR("");
}

static void judges_as_the_table_says(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		str_t found = first_error(rows[i].sql, arena);
		if (str_is(found, rows[i].expected))
			continue;
		print_error("%s\n  found    " STR_FMT "\n  expected %s\n", rows[i].sql, STR_ARG(found),
			    rows[i].expected);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static bool server_agrees(PGconn *connection, const struct row *row)
{
	PGresult *result = PQprepare(connection, "", row->sql, 0, NULL);
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	bool agrees =
		strncmp(sqlstate ? sqlstate : "", row->expected, strlen(sqlstate ? sqlstate : "")) == 0 &&
		!sqlstate == !row->expected[0];
	if (!agrees)
		print_error("%s\n  server   %s\n  expected %s\n", row->sql, PQresultErrorMessage(result),
			    row->expected);
	PQclear(result);
	return agrees;
}

static void table_is_what_the_server_says(void **state)
{
	struct test_postgres server;
	size_t wrong = 0;
	int status = test_postgres_start(&server, NULL);
	(void)state;
	if (status == 77) {
		print_message("skipped: PostgreSQL is not there\n");
		skip();
	}
	assert_int_equal(status, 0);
	PGconn *connection = PQconnectdb(server.socket_dsn);
	PGresult *created = PQexec(connection, schema);
	assert_int_equal(PQresultStatus(created), PGRES_COMMAND_OK);
	PQclear(created);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		wrong += !server_agrees(connection, &rows[i]);
	PQfinish(connection);
	(void)test_postgres_do(&server, "stop");
	assert_int_equal(wrong, 0);
}

/* The first expression of the select list. */
static const Node *first_target(const struct parsed_statement *parsed)
{
	const SelectStmt *select = (const SelectStmt *)parsed->statement;
	return linitial_node(ResTarget, select->targetList)->val;
}

struct typed {
	const char *expression;
	const char *type; /* of its value, or "?" where it is not known */
};

static void gives_types(void **state)
{
	static const struct typed cases[] = {
		{ "1", "integer" },
		{ "3000000000", "bigint" },
		{ "30000000000000000000", "numeric" },
		{ "1.5", "numeric" },
		{ "'x'", "unknown" },
		{ "b'1'", "bit" },
		{ "age + big", "bigint" },
		{ "age / 2.0", "numeric" },
		{ "born - born", "integer" },
		{ "born + 1", "date" },
		{ "born + iv", "timestamp without time zone" },
		{ "seen - seen", "interval" },
		{ "name || 1", "text" },
		{ "tags || 'x'", "text[]" },
		{ "tags[1]", "text" },
		{ "nums[1:2]", "integer[]" },
		{ "jb->'a'", "jsonb" },
		{ "jb->>'a'", "text" },
		{ "jb['a']", "jsonb" },
		{ "(c).x", "integer" },
		{ "p + 1", "integer" },
		{ "p", "posint" },
		{ "sum(age)", "bigint" },
		{ "sum(big)", "numeric" },
		{ "avg(score)", "double precision" },
		{ "max(email)", "text" },
		{ "max(m)", "mood" },
		{ "array_agg(name)", "text[]" },
		{ "CASE WHEN ok THEN 1 ELSE 1.5 END", "numeric" },
		{ "COALESCE(NULL, 'x')", "text" },
		{ "ARRAY[1, 2.5]", "numeric[]" },
		{ "ARRAY(SELECT id FROM orders)", "bigint[]" },
		{ "(SELECT 'x')", "text" },
		{ "NULLIF(email, '')", "text" },
		{ "GREATEST(born, seen)", "timestamp with time zone" },
		{ "ROW(1, 2)", "record" },
		{ "users", "users" },
		{ "xmin", "xid" },
		{ "current_date", "date" },
		{ "generate_series(1, 2)", "integer" },
		{ "ov('1')", "text" },
		{ "poly(1, 2)", "integer[]" },
		{ "polyc(1, 2.5)", "numeric" },
		{ "full_name", "?" },
		{ "users.full_name", "text" },
		{ "$1 + 1", "?" },
		{ "nosuch + 1", "?" },
		{ "nosuch(1) || 'x'", "?" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct diagnostics diagnostics = { .arena = arena };
		struct parsed_statement parsed;
		struct resolution resolution;
		str_t sql = arena_printf(arena, "SELECT %s FROM users", cases[i].expression);
		parse_begin(sql, arena, &parsed);
		resolve_statement(&parsed, catalog, arena, &diagnostics, &resolution);
		type_id id = resolution_type(&resolution, first_target(&parsed));
		const struct catalog_type *type = catalog_type(catalog, id);
		str_t text = type ? type->text : STR("?");
		if (!str_is(text, cases[i].type))
			fail_msg("%s: " STR_FMT " instead of %s", cases[i].expression, STR_ARG(text),
				 cases[i].type);
		parse_end(&parsed);
	}
}

/* What is called, and what is converted, is told with certainty or not at all. */
static void tells_operators_and_casts(void **state)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct diagnostics diagnostics = { .arena = arena };
	struct parsed_statement parsed;
	struct resolution resolution;
	(void)state;
	parse_begin(STR("SELECT age + 1.5, nosuch + 1 FROM users"), arena, &parsed);
	resolve_statement(&parsed, catalog, arena, &diagnostics, &resolution);
	const SelectStmt *select = (const SelectStmt *)parsed.statement;
	const Node *sure = linitial_node(ResTarget, select->targetList)->val;
	const Node *unsure = lsecond_node(ResTarget, select->targetList)->val;
	const struct resolved_operator *applied = resolution_operator(&resolution, sure);
	assert_non_null(applied->chosen);
	assert_null(applied->next);
	assert_string_equal(catalog_type(catalog, applied->chosen->left)->name.ptr, "numeric");
	assert_null(resolution_operator(&resolution, unsure)->chosen);
	assert_true(resolution_operator(&resolution, unsure)->overloads_count > 1);
	bool found = false;
	for (size_t i = 0; i < resolution.casts_count; i++) {
		const struct resolved_cast *cast = &resolution.casts[i];
		found |= cast->cast && str_is(catalog_type(catalog, cast->source)->name, "int2") &&
			 str_is(catalog_type(catalog, cast->target)->name, "numeric");
	}
	assert_true(found);
	parse_end(&parsed);
}

static void tells_the_chosen_function(void **state)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct diagnostics diagnostics = { .arena = arena };
	struct parsed_statement parsed;
	struct resolution resolution;
	(void)state;
	parse_begin(STR("SELECT lower(name), lower(nosuch) FROM users"), arena, &parsed);
	resolve_statement(&parsed, catalog, arena, &diagnostics, &resolution);
	const SelectStmt *select = (const SelectStmt *)parsed.statement;
	const struct resolved_function *sure = resolution_function(
		&resolution, (const FuncCall *)linitial_node(ResTarget, select->targetList)->val);
	const struct resolved_function *unsure = resolution_function(
		&resolution, (const FuncCall *)lsecond_node(ResTarget, select->targetList)->val);
	assert_non_null(sure->chosen);
	assert_string_equal(sure->chosen->result.ptr, "text");
	assert_null(unsure->chosen);
	assert_true(unsure->overloads_count > 1);
	parse_end(&parsed);
}

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_as_the_table_says),
		cmocka_unit_test(table_is_what_the_server_says),
		cmocka_unit_test(gives_types),
		cmocka_unit_test(tells_operators_and_casts),
		cmocka_unit_test(tells_the_chosen_function),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
