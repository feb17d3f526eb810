/* The catalog against a real PostgreSQL 15: what it was read from, what its built-in part claims, and what
 * the same definitions give when they are read from a file or from a dump. */
#include "common/buf.h"
#include "sql/catalog/content.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/sql/catalogs.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct test_postgres server;
static PGconn *connection;

static PGresult *ask(const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		fail_msg("%s (%.200s)", PQerrorMessage(connection), sql);
	return result;
}

static void run(const char *sql)
{
	PQclear(ask(sql));
}

static struct catalog *compile_json(const char *json)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	if (catalog_compile_postgresql(str_from(json), &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return catalog;
}

static struct catalog *read_catalog(void)
{
	PGresult *result = ask(CATALOG_QUERY_POSTGRESQL);
	assert_int_equal(PQntuples(result), 1);
	assert_int_equal(PQnfields(result), 1);
	struct catalog *catalog = compile_json(PQgetvalue(result, 0, 0));
	PQclear(result);
	return catalog;
}

static void switch_database(const char *name)
{
	char dsn[400];
	snprintf(dsn, sizeof dsn, "%s dbname=%s options='-c client_min_messages=error'", server.socket_dsn,
		 name);
	PQfinish(connection);
	connection = PQconnectdb(dsn);
	assert_int_equal(PQstatus(connection), CONNECTION_OK);
}

/* --- the built-in part --- */

/* Functions that a server only runs while pg_upgrade fills it. Minor versions add some. */
#define WITHOUT_UPGRADES                                                                                     \
	"SELECT jsonb_set($1::jsonb, '{functions}', (SELECT jsonb_agg(f ORDER BY n) "                        \
	"FROM jsonb_array_elements($1::jsonb -> 'functions') WITH ORDINALITY AS f (f, n) "                   \
	"WHERE f ->> 1 NOT LIKE 'binary\\_upgrade\\_%'))"

static struct catalog *compile_without_upgrades(const char *json)
{
	PGresult *result = PQexecParams(connection, WITHOUT_UPGRADES, 1, NULL, &json, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(connection));
	struct catalog *catalog = compile_json(PQgetvalue(result, 0, 0));
	PQclear(result);
	return catalog;
}

static struct catalog *read_without_upgrades(void)
{
	PGresult *result = ask(CATALOG_QUERY_POSTGRESQL);
	struct catalog *catalog = compile_without_upgrades(PQgetvalue(result, 0, 0));
	PQclear(result);
	return catalog;
}

static const char generated[] = {
#include "daemon/sql/catalog/catalog_builtin.json.inc"
};

/* Of whatever minor version it is. */
static void builtins_are_those_of_the_server(void **state)
{
	(void)state;
	run("CREATE ROLE nobody; SET ROLE nobody");
	struct catalog *read = read_without_upgrades();
	run("RESET ROLE");
	struct catalog *expected = compile_without_upgrades(generated);
	struct catalog *whole = compile_json(generated);
	struct catalog *builtin = compile_sql("");
	assert_string_equal(catalog_digest(read), catalog_digest(expected));
	assert_string_equal(catalog_digest(whole), catalog_digest(builtin));
	catalog_unref(read);
	catalog_unref(expected);
	catalog_unref(whole);
	catalog_unref(builtin);
}

static str_t field(PGresult *result, int row, int column)
{
	return (str_t){ PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column) };
}

/* Also other counts. */
static type_id id_field(PGresult *result, int row, int column)
{
	return (type_id)strtoul(PQgetvalue(result, row, column), NULL, 10);
}

static bool is_on(PGresult *result, int row, int column)
{
	return strcmp(PQgetvalue(result, row, column), "t") == 0;
}

static void types_are_those_of_the_server(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql("");
	PGresult *rows =
		ask("SELECT t.oid, typname, format_type(t.oid, NULL), typtype, typcategory, typispreferred, "
		    "typarray,"
		    " CASE WHEN typsubscript = 'array_subscript_handler'::regproc THEN typelem ELSE 0 END,"
		    " typsubscript <> 0, coalesce(r.rngsubtype, 0), coalesce(m.rngtypid, 0), "
		    "coalesce(r.rngmultitypid, 0),"
		    " (SELECT max(provolatile) FROM pg_proc p WHERE p.oid IN (typinput, typoutput, typmodin))"
		    " FROM pg_type t LEFT JOIN pg_range r ON r.rngtypid = t.oid"
		    " LEFT JOIN pg_range m ON m.rngmultitypid = t.oid"
		    " WHERE t.oid < 10000 AND typnamespace = 'pg_catalog'::regnamespace AND typrelid = 0"
		    "   AND t.oid NOT IN (SELECT typarray FROM pg_type WHERE typtype = 'c')");
	assert_true(PQntuples(rows) > 180);
	for (int i = 0; i < PQntuples(rows); i++) {
		const struct catalog_type *type =
			catalog_type_named(catalog, STR("pg_catalog"), field(rows, i, 1));
		assert_non_null(type);
		assert_int_equal(type->id, id_field(rows, i, 0));
		assert_ptr_equal(type, catalog_type(catalog, type->id));
		assert_string_equal(type->text.ptr, PQgetvalue(rows, i, 2));
		assert_int_equal(type->kind, *PQgetvalue(rows, i, 3));
		assert_int_equal(type->category, *PQgetvalue(rows, i, 4));
		assert_int_equal(type->is_preferred, is_on(rows, i, 5));
		assert_int_equal(type->array, id_field(rows, i, 6));
		assert_int_equal(type->element, id_field(rows, i, 7));
		assert_int_equal(type->is_subscriptable, is_on(rows, i, 8));
		assert_int_equal(type->subtype, id_field(rows, i, 9));
		assert_int_equal(type->range, id_field(rows, i, 10));
		assert_int_equal(type->multirange, id_field(rows, i, 11));
		assert_true(type->volatility >= *PQgetvalue(rows, i, 12) && type->volatility != 'v');
	}
	PQclear(rows);
	catalog_unref(catalog);
}

/* The overload with exactly these argument types, written with spaces between. */
static const struct catalog_function *find_function(const struct catalog *catalog, str_t name,
						    const char *arguments)
{
	size_t count;
	const struct catalog_function *const *overloads =
		catalog_functions(catalog, STR("pg_catalog"), name, &count);
	for (size_t i = 0; i < count; i++) {
		struct buf text = BUF_INIT;
		for (unsigned a = 0; a < overloads[i]->arguments; a++)
			buf_printf(&text, "%s%u", a > 0 ? " " : "", overloads[i]->argument_types[a]);
		bool same = strcmp(buf_str(&text).ptr, arguments) == 0;
		buf_free(&text);
		if (same)
			return overloads[i];
	}
	return NULL;
}

static void functions_are_those_of_the_server(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql("");
	PGresult *rows =
		ask("SELECT proname, proargtypes, provolatile, prokind, coalesce(aggkind::text, ''),"
		    " proretset, proisstrict, pronargdefaults, provariadic, prorettype,"
		    " format_type(prorettype, NULL), has_function_privilege('nobody', p.oid, 'EXECUTE'),"
		    " coalesce(aggnumdirectargs, 0), lanname"
		    " FROM pg_proc p LEFT JOIN pg_aggregate ON aggfnoid = p.oid"
		    " JOIN pg_language l ON l.oid = prolang"
		    " WHERE pronamespace = 'pg_catalog'::regnamespace AND 2281 <> ALL (proargtypes)");
	assert_true(PQntuples(rows) > 2700);
	for (int i = 0; i < PQntuples(rows); i++) {
		const struct catalog_function *function =
			find_function(catalog, field(rows, i, 0), PQgetvalue(rows, i, 1));
		if (!function)
			fail_msg("%s (%s)", PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1));
		assert_true(function->volatility >= *PQgetvalue(rows, i, 2));
		assert_int_equal(function->kind, *PQgetvalue(rows, i, 3));
		assert_int_equal(function->aggregate, *PQgetvalue(rows, i, 4));
		assert_int_equal(function->returns_set, is_on(rows, i, 5));
		assert_int_equal(function->is_strict, is_on(rows, i, 6));
		assert_int_equal(function->defaults, id_field(rows, i, 7));
		assert_int_equal(function->variadic, id_field(rows, i, 8));
		assert_int_equal(function->result_type, id_field(rows, i, 9));
		assert_string_equal(function->result.ptr, PQgetvalue(rows, i, 10));
		assert_int_equal(function->may_execute, is_on(rows, i, 11));
		assert_int_equal(function->is_public, is_on(rows, i, 11));
		assert_int_equal(function->direct_arguments, id_field(rows, i, 12));
		assert_string_equal(function->language.ptr, PQgetvalue(rows, i, 13));
	}
	PQclear(rows);
	catalog_unref(catalog);
}

static void operators_and_casts_are_those_of_the_server(void **state)
{
	(void)state;
	struct catalog *catalog = compile_sql("");
	PGresult *rows = ask("SELECT oprname, oprleft, oprright, oprresult, provolatile FROM pg_operator"
			     " JOIN pg_proc p ON p.oid = oprcode");
	assert_int_equal(PQntuples(rows), 799);
	for (int i = 0; i < PQntuples(rows); i++) {
		size_t count, found = 0;
		const struct catalog_operator *const *operators =
			catalog_operators(catalog, STR_NONE, field(rows, i, 0), &count);
		for (size_t o = 0; o < count; o++)
			found += operators[o]->left == id_field(rows, i, 1) &&
				 operators[o]->right == id_field(rows, i, 2) &&
				 operators[o]->result == id_field(rows, i, 3) &&
				 operators[o]->volatility == *PQgetvalue(rows, i, 4) &&
				 operators[o]->is_prefix == (operators[o]->left == TYPE_UNSURE);
		assert_int_equal(found, 1);
	}
	PQclear(rows);
	rows = ask("SELECT castsource, casttarget, castcontext, castmethod, coalesce(provolatile, 'i') FROM "
		   "pg_cast"
		   " LEFT JOIN pg_proc p ON p.oid = castfunc");
	assert_int_equal(PQntuples(rows), 229);
	for (int i = 0; i < PQntuples(rows); i++) {
		const struct catalog_cast *cast =
			catalog_cast(catalog, id_field(rows, i, 0), id_field(rows, i, 1));
		assert_non_null(cast);
		assert_int_equal(cast->context, *PQgetvalue(rows, i, 2));
		assert_int_equal(cast->method, *PQgetvalue(rows, i, 3));
		assert_int_equal(cast->volatility, *PQgetvalue(rows, i, 4));
	}
	PQclear(rows);
	catalog_unref(catalog);
}

/* --- a user's part --- */

static const char definitions[] =
	"CREATE SCHEMA app;"
	"CREATE TYPE app.mood AS ENUM ('sad', 'happy');"
	"CREATE FUNCTION app.v(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN RETURN 1; END$$;"
	"CREATE FUNCTION app.s(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT 1';"
	"CREATE FUNCTION app.i(int) RETURNS bool IMMUTABLE STRICT LANGUAGE sql AS 'SELECT true';"
	"CREATE FUNCTION app.vb(int, text) RETURNS bool LANGUAGE sql AS 'SELECT true';"
	"CREATE FUNCTION app.vm(app.mood) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';"
	"CREATE FUNCTION app.with_default(a int, b int DEFAULT app.v(1)) RETURNS int IMMUTABLE LANGUAGE sql"
	"  AS 'SELECT 1';"
	"CREATE FUNCTION app.with_random(b float8 DEFAULT random()) RETURNS int IMMUTABLE LANGUAGE sql"
	"  AS 'SELECT 1';"
	"CREATE FUNCTION app.with_clock(b timestamptz DEFAULT now()) RETURNS int IMMUTABLE LANGUAGE sql"
	"  AS 'SELECT 1';"
	"CREATE FUNCTION app.pairs(n int, OUT a int, OUT b text) RETURNS SETOF record STABLE LANGUAGE sql"
	"  AS 'SELECT 1, ''x''';"
	"CREATE FUNCTION app.grid(int, INOUT m numeric) STABLE LANGUAGE sql AS 'SELECT 1.0';"
	"CREATE FUNCTION app.rows_of(VARIADIC n int[]) RETURNS TABLE (x int, y app.mood) STABLE LANGUAGE sql"
	"  AS 'SELECT 1, ''sad''::app.mood';"
	"CREATE FUNCTION app.one(x anyelement) RETURNS TABLE (z anyelement) IMMUTABLE LANGUAGE sql AS "
	"'SELECT "
	"x';"
	"CREATE PROCEDURE app.act(int) LANGUAGE sql AS 'SELECT 1';"
	"CREATE DOMAIN app.plain AS int CHECK (VALUE > 0);"
	"CREATE DOMAIN app.careful AS int CHECK (app.v(VALUE) > 0);"
	"CREATE DOMAIN app.over_careful AS app.careful;"
	"CREATE DOMAIN app.by_cast AS int CHECK (VALUE::text::app.careful > 0);"
	"CREATE DOMAIN app.dicey AS float8 CHECK (VALUE < random() + 10);"
	"CREATE DOMAIN app.steady AS int CHECK (app.i(VALUE));"
	"CREATE OPERATOR app.=== (FUNCTION = app.vb, LEFTARG = int, RIGHTARG = text);"
	"CREATE OPERATOR app.!!! (FUNCTION = app.i, RIGHTARG = int);"
	"CREATE DOMAIN app.by_operator AS int CHECK (VALUE OPERATOR(app.===) 'x');"
	"CREATE DOMAIN app.by_prefix AS int CHECK (OPERATOR(app.!!!) VALUE);"
	"CREATE TYPE app.pair AS (a int, b app.careful);"
	"CREATE TYPE app.quiet AS (a int, b app.mood[]);"
	"CREATE CAST (app.mood AS int) WITH FUNCTION app.vm(app.mood) AS ASSIGNMENT;"
	"CREATE FUNCTION app.sum_step(int, int) RETURNS int STRICT LANGUAGE sql AS 'SELECT $1';"
	"CREATE FUNCTION app.sum_end(int) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT ''x''';"
	"CREATE AGGREGATE app.vsum(int) (SFUNC = app.sum_step, STYPE = int);"
	"CREATE AGGREGATE app.isum(int) (SFUNC = int4pl, STYPE = int, FINALFUNC = app.sum_end, INITCOND = "
	"'0');"
	"CREATE AGGREGATE app.msum(int) (SFUNC = int4pl, STYPE = int, MSFUNC = app.sum_step, MSTYPE = int,"
	"  MINVFUNC = int4mi);"
	"CREATE TYPE app.spans AS RANGE (subtype = float8);"
	"CREATE TABLE app.accounts (id bigint PRIMARY KEY, tenant int NOT NULL, email varchar(80) UNIQUE,"
	"  mood app.mood, balance numeric(12,2), tags text[], kept app.careful, UNIQUE (tenant, email) "
	"DEFERRABLE);"
	"CREATE UNIQUE INDEX accounts_balance ON app.accounts (balance) INCLUDE (mood) NULLS NOT DISTINCT;"
	"CREATE UNIQUE INDEX accounts_part ON app.accounts (tenant) WHERE balance > 0;"
	"CREATE UNIQUE INDEX accounts_lower ON app.accounts (lower(email));"
	"CREATE TABLE public.\"Orders\" (\"Id\" int, line int, account bigint, placed timestamptz,"
	"  price numeric);"
	"ALTER TABLE ONLY public.\"Orders\" ADD CONSTRAINT orders_pkey PRIMARY KEY (\"Id\", line);"
	"CREATE TABLE app.old_accounts (closed date) INHERITS (app.accounts);"
	"CREATE TABLE app.parts (k int, at date, PRIMARY KEY (k, at)) PARTITION BY RANGE (at);"
	"CREATE TABLE app.parts_1 PARTITION OF app.parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');"
	"CREATE TABLE app.typed OF app.quiet;"
	"CREATE TABLE app.likes (LIKE app.accounts, extra char(3));"
	"CREATE TABLE app.twins (extra char(3), LIKE app.accounts INCLUDING ALL);"
	"CREATE TYPE app.timerange AS RANGE (subtype = time, multirange_type_name = app.times);"
	"CREATE VIEW public.open_orders AS SELECT o.\"Id\", o.price, a.mood, a.id FROM \"Orders\" o"
	"  JOIN app.accounts a ON a.id = o.account;"
	"CREATE VIEW public.renamed (one, two) AS SELECT id, email FROM app.accounts;"
	"CREATE MATERIALIZED VIEW app.totals AS SELECT tenant FROM app.accounts;"
	"CREATE SEQUENCE app.counter;";

static void describe_columns(struct buf *text, const struct catalog *catalog,
			     const struct catalog_column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct catalog_type *type = catalog_type(catalog, columns[i].value_type);
		buf_printf(text, " %s:%s:%s%s%s", columns[i].name.ptr, columns[i].type.ptr,
			   type ? type->name.ptr : "?", columns[i].not_null ? ":not null" : "",
			   columns[i].is_key ? ":key" : "");
	}
	buf_append_char(text, '\n');
}

static void describe_relations(struct buf *text, const struct catalog *catalog)
{
	size_t count;
	const struct catalog_relation *relations = catalog_relations(catalog, &count);
	for (size_t i = 0; i < count; i++) {
		const struct catalog_relation *relation = &relations[i];
		if (relation->is_system)
			continue;
		const struct catalog_type *row = catalog_type(catalog, relation->row_type);
		buf_printf(text, "relation %s.%s %c %c%s%s%s row %s:", relation->schema.ptr,
			   relation->name.ptr, relation->kind, relation->volatility,
			   relation->is_open ? " open" : "", relation->has_children ? " parent" : "",
			   relation->may_read ? " read" : "", row ? row->text.ptr : "none");
		describe_columns(text, catalog, relation->columns, relation->columns_count);
		for (size_t k = 0; k < relation->keys_count; k++) {
			const struct catalog_key *key = &relation->keys[k];
			buf_printf(text, "  key%s%s%s", key->is_primary ? " primary" : "",
				   key->is_immediate ? "" : " deferrable",
				   key->nulls_not_distinct ? " nulls" : "");
			for (size_t c = 0; c < key->columns_count; c++)
				buf_printf(text, " %s", relation->columns[key->columns[c]].name.ptr);
			buf_append_char(text, '\n');
		}
	}
}

static const char *name_of_type(const struct catalog *catalog, type_id id)
{
	const struct catalog_type *type = catalog_type(catalog, id);
	return type ? type->text.ptr : "-";
}

static void describe_types(struct buf *text, const struct catalog *catalog)
{
	const struct catalog_type *type;
	for (type_id id = 16384; (type = catalog_type(catalog, id)) != NULL; id++) {
		buf_printf(text, "type %u %s.%s %s %c%c%c%s%s", id, type->schema.ptr, type->name.ptr,
			   type->text.ptr, type->kind, type->category, type->volatility,
			   type->is_subscriptable ? " []" : "", type->relation ? " rows" : "");
		buf_printf(text, " %s %s %s", name_of_type(catalog, type->element),
			   name_of_type(catalog, type->array), name_of_type(catalog, type->base));
		buf_printf(text, " %s %s %s:", name_of_type(catalog, type->subtype),
			   name_of_type(catalog, type->range), name_of_type(catalog, type->multirange));
		describe_columns(text, catalog, type->columns, type->columns_count);
	}
}

static void describe_function(struct buf *text, const struct catalog *catalog,
			      const struct catalog_function *function)
{
	buf_printf(text, "function %s.%s %c%c%c%s%s%s %s %u %u %s: %s, %s", function->schema.ptr,
		   function->name.ptr, function->volatility, function->kind,
		   function->aggregate ? function->aggregate : '-', function->returns_set ? " set" : "",
		   function->is_strict ? " strict" : "", function->is_security_definer ? " definer" : "",
		   function->language.ptr, function->defaults, function->direct_arguments,
		   function->takes_row ? "row" : "", name_of_type(catalog, function->result_type),
		   name_of_type(catalog, function->variadic));
	for (unsigned i = 0; i < function->arguments; i++)
		buf_printf(text, " %s %s", function->argument_names ? function->argument_names[i].ptr : "",
			   name_of_type(catalog, function->argument_types[i]));
	for (size_t i = 0; i < function->outputs_count; i++)
		buf_printf(text, " -> %s %s", function->outputs[i].ptr,
			   name_of_type(catalog, function->output_types[i]));
	buf_append_char(text, '\n');
}

static void describe_callables(struct buf *text, const struct catalog *catalog)
{
	static const char *const functions[] = { "v",		"s",
						 "i",		"vb",
						 "vm",		"with_default",
						 "with_random", "with_clock",
						 "pairs",	"grid",
						 "rows_of",	"one",
						 "act",		"sum_step",
						 "sum_end",	"vsum",
						 "isum",	"msum",
						 "spans",	"spans_multirange",
						 "timerange",	"times",
						 "nothing" };
	static const char *const operators[] = { "===", "!!!" };
	size_t count;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		const struct catalog_function *const *overloads =
			catalog_functions(catalog, STR("app"), str_from(functions[i]), &count);
		for (size_t o = 0; o < count; o++)
			describe_function(text, catalog, overloads[o]);
	}
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		const struct catalog_operator *const *overloads =
			catalog_operators(catalog, STR("app"), str_from(operators[i]), &count);
		for (size_t o = 0; o < count; o++)
			buf_printf(text, "operator %s %c %s %s %s\n", overloads[o]->name.ptr,
				   overloads[o]->volatility, name_of_type(catalog, overloads[o]->left),
				   name_of_type(catalog, overloads[o]->right),
				   name_of_type(catalog, overloads[o]->result));
	}
	const struct catalog_type *mood = catalog_type_named(catalog, STR("app"), STR("mood"));
	const struct catalog_cast *cast = mood ? catalog_cast(catalog, mood->id, 23) : NULL;
	if (cast)
		buf_printf(text, "cast %c%c%c\n", cast->context, cast->method, cast->volatility);
}

static void describe(struct buf *text, const struct catalog *catalog)
{
	describe_relations(text, catalog);
	describe_types(text, catalog);
	describe_callables(text, catalog);
}

static void assert_same(const struct catalog *one, const struct catalog *other)
{
	struct buf left = BUF_INIT, right = BUF_INIT;
	describe(&left, one);
	describe(&right, other);
	const char *a = buf_str(&left).ptr, *b = buf_str(&right).ptr;
	while (*a && *b) {
		size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");
		if (a_len != b_len || memcmp(a, b, a_len) != 0)
			print_error("< %.*s\n> %.*s\n", (int)a_len, a, (int)b_len, b);
		a += a_len + (a[a_len] != '\0');
		b += b_len + (b[b_len] != '\0');
	}
	assert_string_equal(buf_str(&left).ptr, buf_str(&right).ptr);
	buf_free(&left);
	buf_free(&right);
}

static const struct {
	const char *name;
	char volatility;
} expected_types[] = {
	{ "plain", 's' },      { "careful", 'v' },     { "over_careful", 'v' }, { "by_cast", 'v' },
	{ "dicey", 'v' },      { "steady", 's' },      { "by_operator", 'v' },	{ "by_prefix", 's' },
	{ "pair", 'v' },       { "quiet", 's' },       { "mood", 's' },		{ "accounts", 'v' },
	{ "_accounts", 'v' },  { "_careful", 'v' },    { "spans", 's' },	{ "parts", 's' },
}, expected_functions[] = {
	{ "v", 'v' },	       { "s", 's' },	       { "i", 'i' },		{ "with_default", 'v' },
	{ "with_random", 'v' }, { "with_clock", 's' },  { "vsum", 'v' },		{ "isum", 'i' },
	{ "msum", 'v' },
};

static void assert_volatility(const struct catalog *catalog)
{
	for (size_t i = 0; i < sizeof expected_types / sizeof *expected_types; i++) {
		const struct catalog_type *type =
			catalog_type_named(catalog, STR("app"), str_from(expected_types[i].name));
		assert_non_null(type);
		if (type->volatility != expected_types[i].volatility)
			fail_msg("%s is %c", expected_types[i].name, type->volatility);
	}
	for (size_t i = 0; i < sizeof expected_functions / sizeof *expected_functions; i++) {
		size_t count;
		const struct catalog_function *const *functions =
			catalog_functions(catalog, STR("app"), str_from(expected_functions[i].name), &count);
		assert_int_equal(count, 1);
		if (functions[0]->volatility != expected_functions[i].volatility)
			fail_msg("%s is %c", expected_functions[i].name, functions[0]->volatility);
	}
}

static void knows_what_users_define(void **state)
{
	(void)state;
	run("CREATE DATABASE described");
	switch_database("described");
	run(definitions);
	struct catalog *read = read_catalog();
	struct catalog *file = compile_sql(definitions);
	assert_volatility(read);
	assert_volatility(file);
	assert_same(read, file);
	catalog_unref(read);
	catalog_unref(file);
}

static void reads_dumps(void **state)
{
	char command[600];
	struct buf dump = BUF_INIT;
	(void)state;
	run("INSERT INTO app.accounts (id, tenant, email) VALUES (1, 2, 'a;b')");
	struct catalog *read = read_catalog();
	snprintf(command, sizeof command, "/usr/lib/postgresql/15/bin/pg_dump '%s dbname=described'",
		 server.socket_dsn);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	for (size_t got; (got = fread(buf_reserve(&dump, 65536), 1, 65536, pipe)) > 0;)
		dump.len += got;
	assert_int_equal(pclose(pipe), 0);
	buf_append_char(&dump, '\0');
	assert_non_null(strstr(dump.data, "COPY app.accounts"));
	struct catalog *file = compile_sql(dump.data);
	assert_same(read, file);
	buf_free(&dump);
	catalog_unref(read);
	catalog_unref(file);
}

/* Labels of enums, collations and the name of the database. */
static void reads_labels_and_collations(void **state)
{
	(void)state;
	run("CREATE TYPE feeling AS ENUM ('sad', 'it''s ok'); CREATE TYPE nothing AS ENUM ();"
	    "CREATE COLLATION backwards FROM \"C\"; ALTER TYPE feeling ADD VALUE 'so so' AFTER 'sad'");
	struct catalog *read = read_catalog();
	const struct catalog_type *feeling = catalog_type_named(read, STR_NONE, STR("feeling"));
	const struct catalog_type *nothing = catalog_type_named(read, STR_NONE, STR("nothing"));
	assert_int_equal(feeling->labels_count, 3);
	assert_true(str_is(feeling->labels[1], "so so") && str_is(feeling->labels[2], "it's ok"));
	assert_true(nothing->labels && nothing->labels_count == 0);
	assert_null(catalog_type_named(read, STR_NONE, STR("text"))->labels);
	assert_true(catalog_knows_collations(read));
	assert_true(catalog_has_other(read, CATALOG_COLLATION, STR_NONE, STR("C")));
	assert_true(catalog_has_other(read, CATALOG_COLLATION, STR("pg_catalog"), STR("ucs_basic")));
	assert_true(catalog_has_other(read, CATALOG_COLLATION, STR_NONE, STR("backwards")));
	assert_false(catalog_has_other(read, CATALOG_COLLATION, STR("pg_catalog"), STR("backwards")));
	assert_false(catalog_has_other(read, CATALOG_COLLATION, STR_NONE, STR("nosuch")));
	assert_true(str_is(catalog_database(read), PQdb(connection)));
	catalog_unref(read);
	run("DROP TYPE feeling, nothing; DROP COLLATION backwards");
}

/* Names that nothing but a literal may hold, '…'::regclass say, for one. */
static void reads_other_names(void **state)
{
	(void)state;
	run("CREATE TABLE app.named (a int CONSTRAINT odd PRIMARY KEY); CREATE INDEX \"Some\" ON app.named "
	    "(a);"
	    "CREATE TEXT SEARCH CONFIGURATION app.own (COPY = simple)");
	struct catalog *read = read_catalog();
	assert_true(catalog_knows_others(read));
	assert_true(catalog_has_other(read, CATALOG_INDEX, STR("app"), STR("odd")));
	assert_true(catalog_has_other(read, CATALOG_INDEX, STR("app"), STR("Some")));
	assert_false(catalog_has_other(read, CATALOG_INDEX, STR("app"), STR("some")));
	assert_false(catalog_has_other(read, CATALOG_INDEX, STR("pg_catalog"), STR("pg_class_oid_index")));
	assert_true(catalog_has_other(read, CATALOG_TEXT_SEARCH, STR("app"), STR("own")));
	assert_true(catalog_has_other(read, CATALOG_TEXT_SEARCH, STR_NONE, STR("english")));
	assert_true(catalog_has_other(read, CATALOG_DICTIONARY, STR_NONE, STR("simple")));
	assert_true(catalog_has_other(read, CATALOG_INTERNAL_FUNCTION, STR_NONE, STR("array_agg_transfn")));
	assert_true(catalog_has_other(read, CATALOG_SAMPLING, STR_NONE, STR("bernoulli")));
	assert_false(catalog_lacks_sampling(read, STR_NONE, STR("system")));
	assert_true(catalog_lacks_sampling(read, STR_NONE, STR("sytem")));
	run("ALTER INDEX app.\"Some\" RENAME TO any_one");
	struct catalog *renamed = read_catalog();
	assert_string_not_equal(catalog_digest(read), catalog_digest(renamed));
	catalog_unref(renamed);
	catalog_unref(read);
	run("DROP TABLE app.named; DROP TEXT SEARCH CONFIGURATION app.own");
}

/* Equal databases give equal digests, whatever numbers their objects have and in which order they came. */
static void digests_names_and_not_numbers(void **state)
{
	(void)state;
	struct catalog *first = read_catalog();
	run("CREATE DATABASE again");
	switch_database("again");
	run("CREATE TABLE gone (a int); CREATE TYPE gone_too AS ENUM (); DROP TABLE gone; DROP TYPE "
	    "gone_too");
	run(definitions);
	struct catalog *second = read_catalog();
	assert_string_equal(catalog_digest(first), catalog_digest(second));
	run("REVOKE EXECUTE ON FUNCTION app.s(int) FROM PUBLIC");
	struct catalog *third = read_catalog();
	assert_string_not_equal(catalog_digest(first), catalog_digest(third));
	catalog_unref(first);
	catalog_unref(second);
	catalog_unref(third);
}

static void knows_privileges_and_policies(void **state)
{
	(void)state;
	run("CREATE ROLE reader; GRANT USAGE ON SCHEMA app TO reader;"
	    "GRANT SELECT (id) ON app.accounts TO reader; GRANT SELECT ON app.parts TO PUBLIC;"
	    "GRANT EXECUTE ON FUNCTION app.s(int) TO reader;"
	    "REVOKE EXECUTE ON FUNCTION app.vb(int, text) FROM PUBLIC;"
	    "ALTER TABLE app.accounts ENABLE ROW LEVEL SECURITY;"
	    "CREATE POLICY own ON app.accounts FOR SELECT USING (app.v(tenant) > 0);"
	    "CREATE POLICY idle ON app.likes USING (app.v(tenant) > 0);"
	    "CREATE VIEW app.looks AS SELECT id FROM app.accounts WHERE app.v(tenant) > 0;"
	    "CREATE TABLE app.by_view (id int); ALTER TABLE app.by_view ENABLE ROW LEVEL SECURITY;"
	    "CREATE POLICY p ON app.by_view USING (id IN (SELECT l.id FROM app.looks l));"
	    "CREATE TABLE app.by_policy (id int); ALTER TABLE app.by_policy ENABLE ROW LEVEL SECURITY;"
	    "CREATE POLICY p ON app.by_policy USING (id IN (SELECT a.id FROM app.accounts a));"
	    "CREATE TABLE app.by_table (id int); ALTER TABLE app.by_table ENABLE ROW LEVEL SECURITY;"
	    "CREATE POLICY p ON app.by_table USING (id IN (SELECT t.k FROM app.parts t));"
	    "SET ROLE reader");
	struct catalog *catalog = read_catalog();
	const struct catalog_relation *accounts = catalog_relation(catalog, STR("app"), STR("accounts"));
	assert_true(accounts->may_read && !accounts->is_public);
	assert_int_equal(accounts->volatility, 'v');
	assert_int_equal(catalog_relation(catalog, STR("app"), STR("likes"))->volatility, 'i');
	assert_int_equal(catalog_relation(catalog, STR("app"), STR("by_view"))->volatility, 'v');
	assert_int_equal(catalog_relation(catalog, STR("app"), STR("by_policy"))->volatility, 'v');
	assert_int_equal(catalog_relation(catalog, STR("app"), STR("by_table"))->volatility, 'i');
	const struct catalog_relation *parts = catalog_relation(catalog, STR("app"), STR("parts"));
	assert_true(parts->may_read && parts->is_public);
	assert_false(catalog_relation(catalog, STR("app"), STR("typed"))->may_read);
	size_t count;
	const struct catalog_function *const *s = catalog_functions(catalog, STR("app"), STR("s"), &count);
	assert_true(s[0]->may_execute && !s[0]->is_public);
	const struct catalog_operator *const *op = catalog_operators(catalog, STR("app"), STR("==="), &count);
	assert_true(!op[0]->may_execute && !op[0]->is_public);
	catalog_unref(catalog);
	run("RESET ROLE");
}

static int start(void **state)
{
	(void)state;
	connection = PQconnectdb(server.socket_dsn);
	return PQstatus(connection) == CONNECTION_OK ? 0 : -1;
}

static int finish(void **state)
{
	(void)state;
	PQfinish(connection);
	return test_postgres_do(&server, "stop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtins_are_those_of_the_server),
		cmocka_unit_test(types_are_those_of_the_server),
		cmocka_unit_test(functions_are_those_of_the_server),
		cmocka_unit_test(operators_and_casts_are_those_of_the_server),
		cmocka_unit_test(knows_what_users_define),
		cmocka_unit_test(reads_dumps),
		cmocka_unit_test(digests_names_and_not_numbers),
		cmocka_unit_test(reads_labels_and_collations),
		cmocka_unit_test(reads_other_names),
		cmocka_unit_test(knows_privileges_and_policies),
	};
	int status = test_postgres_start(&server, NULL);
	return status ? status : cmocka_run_group_tests(tests, start, finish);
}
