#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/postgresql/ddl/ddl.h"
#include "sql/postgresql/diagnose/diagnose.h"
#include "sql/postgresql/resolve/resolve.h"

#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char schema[] =
	"CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, email varchar, tenant_id int);"
	"CREATE TABLE orders (id bigint PRIMARY KEY, user_id int NOT NULL, total numeric, note text, units "
	"int,"
	"  placed_at timestamptz, tenant_id int);"
	"CREATE TABLE items (order_id bigint, user_id int, sku text, qty int);"
	"CREATE TABLE \"Mixed Case\" (\"Id\" int, plain int);"
	"CREATE SCHEMA app; CREATE TABLE app.users (id int, role text);"
	"CREATE VIEW big_orders AS SELECT id, user_id AS buyer, total * 2 AS twice FROM orders;"
	"CREATE FUNCTION tax(amount numeric, rate numeric DEFAULT 0.2) RETURNS numeric IMMUTABLE LANGUAGE "
	"sql AS '';"
	"CREATE FUNCTION wipe(u users) RETURNS int LANGUAGE sql AS '';"
	"CREATE FUNCTION pair(OUT a int, OUT b text) RETURNS record STABLE LANGUAGE sql AS '';";

struct row {
	const char *sql;
	const char *diagnostics; /* code[/sub code] object@offset, separated by "; " */
};

/* Errors only; warnings have a table of their own. */
static const struct row errors[] = {
	/* what resolves */
	{ "SELECT id, u.name, public.users.email FROM users u", "invalid_join users@19" },
	{ "SELECT users.id, public.users.email FROM public.users", "" },
	{ "SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id)", "" },
	{ "SELECT users FROM users", "" },
	{ "SELECT u.* FROM users AS u", "" },
	{ "SELECT count(u.*), count(*) FROM users u", "" },
	{ "SELECT ctid, users.xmin FROM users", "" },
	{ "SELECT \"Id\", PLAIN FROM \"Mixed Case\"", "" },
	{ "SELECT role FROM app.users", "" },
	{ "SELECT users.role FROM app.users", "" },
	{ "SELECT 1 FROM users, app.users", "" },
	{ "SELECT buyer, twice FROM big_orders", "" },
	{ "SELECT relname FROM pg_class JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace", "" },
	{ "SELECT table_name FROM information_schema.tables", "" },
	{ "WITH a AS (SELECT id AS x FROM users), b AS (SELECT x + 1 AS y FROM a) SELECT y FROM b", "" },
	{ "WITH a(p, q) AS (SELECT id, name FROM users) SELECT p, a.q FROM a", "" },
	{ "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t",
	  "" },
	{ "WITH RECURSIVE t(k) AS (VALUES (1) UNION SELECT k + 1 FROM t) SELECT k FROM t", "" },
	{ "WITH RECURSIVE a AS (SELECT y FROM b), b AS (SELECT 1 AS y) SELECT y FROM a", "" },
	{ "WITH users AS (SELECT 1 AS one) SELECT one FROM users", "" },
	{ "SELECT x FROM (SELECT id AS x FROM users) s", "" },
	{ "SELECT s.column1 FROM (VALUES (1, 2)) s", "" },
	{ "SELECT a, b FROM (VALUES (1, 2)) AS v(a, b)", "" },
	{ "SELECT l.c FROM users u, LATERAL (SELECT count(*) AS c FROM orders o WHERE o.user_id = u.id) l",
	  "" },
	{ "SELECT g FROM generate_series(1, 3) g", "" },
	{ "SELECT g.n FROM generate_series(1, 3) AS g(n)", "" },
	{ "SELECT generate_series FROM generate_series(1, 3)", "" },
	{ "SELECT e.value, e.ordinality FROM json_array_elements('[]') WITH ORDINALITY e", "" },
	{ "SELECT k, v FROM json_each('{}') AS j(k, v)", "" },
	{ "SELECT p.a, b FROM pair() p", "" },
	{ "SELECT x.anything FROM unnest(ARRAY[1]) x", "unknown_column x.anything@7" },
	{ "SELECT user_id FROM orders JOIN items USING (user_id)", "" },
	{ "SELECT user_id, orders.user_id, items.user_id FROM orders JOIN items USING (user_id)", "" },
	{ "SELECT user_id FROM orders NATURAL JOIN items", "" },
	{ "SELECT j.user_id FROM orders JOIN items USING (user_id) AS j", "" },
	{ "SELECT z.sku FROM (orders CROSS JOIN items) AS z", "" },
	{ "SELECT name AS n FROM users ORDER BY n", "" },
	{ "SELECT name AS n, count(*) FROM users GROUP BY n", "" },
	{ "SELECT name, count(*) FROM users GROUP BY 1 ORDER BY 2", "" },
	{ "SELECT id AS a FROM users UNION SELECT id FROM orders ORDER BY a", "" },
	{ "SELECT tax(1), tax(1, 2), tax(amount => 1)", "" },
	{ "SELECT text(1), int4('1'), concat('a', 1, 2), coalesce(1, 2), extract(year FROM now())", "" },
	{ "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders", "" },
	{ "SELECT rank() OVER (ORDER BY total) FROM orders", "" },
	{ "SELECT current_date, user, now() AT TIME ZONE 'UTC'", "" },
	{ "SELECT u.wipe FROM users u", "" },
	{ "EXPLAIN SELECT id FROM users", "" },

	/* what does not */
	{ "SELECT * FROM user_s", "unknown_table user_s@14" },
	{ "SELECT 1 FROM nowhere.users", "unknown_table nowhere.users@14" },
	{ "SELECT nme FROM users", "unknown_column nme@7" },
	{ "SELECT u.nme, u.nme FROM users u", "unknown_column u.nme@7" },
	{ "SELECT \"ID\" FROM users", "unknown_column ID@7" },
	{ "SELECT a, b FROM users", "unknown_column a@7; unknown_column b@10" },
	{ "SELECT id FROM users, orders", "ambiguous_column id@7" },
	{ "SELECT o.total FROM users u", "invalid_join o@7" },
	{ "SELECT users.id FROM users u", "invalid_join users@7" },
	{ "SELECT 1 FROM users a, orders a", "duplicate_alias a@23" },
	{ "SELECT 1 FROM users JOIN users ON true", "duplicate_alias users@25" },
	{ "WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 1", "duplicate_alias a@22" },
	{ "SELECT 1 FROM users u, (SELECT u.id) s", "invalid_join u@31" },
	{ "SELECT 1 FROM users u JOIN orders o ON i.user_id = u.id JOIN items i ON true",
	  "invalid_join i@39" },
	{ "SELECT 1 FROM users u RIGHT JOIN LATERAL (SELECT u.id) s ON true", "invalid_join u@49" },
	{ "SELECT a.user_id FROM (orders JOIN items ON true) AS j", "invalid_join a@7" },
	{ "SELECT 1 FROM orders JOIN items USING (nope)", "unknown_column nope@0" },
	{ "SELECT frobnicate(1)", "unknown_function frobnicate@7" },
	{ "SELECT lower('a', 'b')", "unknown_function lower@7" },
	{ "SELECT concat()", "unknown_function concat@7" },
	{ "SELECT tax(1, 2, 3)", "unknown_function tax@7" },
	{ "SELECT name FROM users ORDER BY 2", "unknown_column 2@32" },
	{ "SELECT name FROM users ORDER BY -(+1)", "" },
	{ "SELECT name FROM users ORDER BY +2", "" },
	{ "SELECT name FROM users ORDER BY -2", "unknown_column -2@32" },
	{ "SELECT name FROM users ORDER BY -(-2)", "unknown_column 2@32" },
	{ "SELECT name FROM users ORDER BY 1.0", "invalid_order/constant @32@32" },
	{ "SELECT name FROM users ORDER BY 2147483648", "invalid_order/constant @32@32" },
	{ "SELECT name FROM users ORDER BY true", "invalid_order/constant @32@32" },
	{ "SELECT id AS a FROM users UNION SELECT id FROM orders ORDER BY b", "unknown_column b@63" },
	{ "SELECT u.id, o.id FROM users u JOIN orders o ON true ORDER BY id", "ambiguous_column id@62" },
	{ "WITH a AS (SELECT x FROM b), b AS (SELECT 1 AS x) SELECT x FROM a", "unknown_table b@25" },
	{ "WITH a AS (SELECT id FROM users) SELECT name FROM a", "unknown_column name@40" },
	{ "SELECT user_id FROM orders, items", "ambiguous_column user_id@7" },
	{ "SELECT 1 FROM users u JOIN orders o ON u.name = o.user_id", "invalid_join @46@46" },
	{ "SELECT id FROM users WHERE id = (SELECT nope FROM orders LIMIT 1)", "unknown_column nope@40" },
	{ "SELECT missing.* FROM users", "invalid_join missing@7" },

	/* grouping */
	{ "SELECT name, email, count(*) FROM users GROUP BY name", "ungrouped_column users.email@13" },
	{ "SELECT name, count(*) FROM users", "ungrouped_column users.name@7" },
	{ "SELECT id, name, count(*) FROM users GROUP BY id", "" },
	{ "SELECT u.name, count(*) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.id", "" },
	{ "SELECT id, name, count(*) FROM users GROUP BY ROLLUP (id)", "ungrouped_column users.name@11" },
	{ "SELECT id, name, count(*) FROM users GROUP BY GROUPING SETS ((id), ())",
	  "ungrouped_column users.name@11" },
	{ "SELECT id, name, email, count(*) FROM users GROUP BY id, CUBE (email)", "" },
	{ "SELECT id, name, count(*) FROM users GROUP BY GROUPING SETS ((id, email), (id))", "" },
	{ "SELECT lower(name), count(*) FROM users GROUP BY lower(name)", "" },
	{ "SELECT sum(total) FROM orders HAVING max(units) > 1 AND note = 'x'",
	  "ungrouped_column orders.note@56" },
	{ "SELECT user_id, sum(sum(total)) OVER () FROM orders GROUP BY user_id", "" },
	{ "SELECT user_id, count(*) FROM orders JOIN items USING (user_id) GROUP BY user_id", "" },
	{ "SELECT date_trunc('day', placed_at) AS d, count(*) FROM orders GROUP BY d ORDER BY d", "" },
	{ "SELECT (SELECT max(o.total) FROM orders o WHERE o.user_id = u.id) FROM users u", "" },
};

static const struct row warnings[] = {
	{ "SELECT name FROM users", "missing_limit statement@0" },
	{ "SELECT name FROM users LIMIT 5", "" },
	{ "SELECT count(*) FROM users", "" },
	{ "SELECT 1", "" },
	{ "SELECT name FROM users UNION SELECT max(name) FROM users", "missing_limit statement@0" },
	{ "SELECT * FROM users LIMIT 1", "risky_pattern/select_star *@7" },
	{ "SELECT * FROM (SELECT id FROM users) s LIMIT 1", "" },
	{ "SELECT 1 WHERE EXISTS (SELECT * FROM users)", "" },
	{ "SELECT count(*) FROM users, orders", "risky_pattern/cartesian_product orders@28" },
	{ "SELECT count(*) FROM users u, orders o WHERE u.id = o.user_id", "" },
	{ "SELECT count(*) FROM users u CROSS JOIN (SELECT max(total) AS m FROM orders) x", "" },
	{ "SELECT count(*) FROM users u JOIN orders o ON true", "risky_pattern/cartesian_product o@34" },
	{ "SELECT count(*) FROM orders JOIN items USING (user_id)", "" },
	{ "SELECT count(*) FROM users, generate_series(1, 3)", "" },
	{ "SELECT count(*) FROM users WHERE name LIKE '%x'", "risky_pattern/leading_wildcard %x@38" },
	{ "SELECT count(*) FROM users WHERE name LIKE 'x%'", "" },
	{ "SELECT count(*) FROM users WHERE name = NULL", "risky_pattern/equals_null @38@38" },
	{ "SELECT count(*) FROM users WHERE id NOT IN (SELECT user_id FROM items)",
	  "risky_pattern/not_in_nullable_subquery @36@36" },
	{ "SELECT count(*) FROM users WHERE id NOT IN (SELECT user_id FROM orders)", "" },
	{ "SELECT count(*) FROM users WHERE id NOT IN (SELECT user_id FROM items WHERE user_id IS NOT NULL)",
	  "" },
	{ "SELECT sum(units / 2) FROM orders", "risky_pattern/integer_division @17@17" },
	{ "SELECT sum(units / 2.0), sum(total / units), sum(units::float / 2) FROM orders", "" },
	/* What PostgreSQL refuses is an error already: one fault is counted once. */
	{ "SELECT count(*) FROM users WHERE id = 'abc'", "" },
	{ "SELECT count(*) FROM users WHERE id = '12'", "" },
	{ "SELECT count(*) FROM users WHERE name = 5", "" },
	{ "SELECT count(*) FROM users WHERE id IN (1, 'x')", "" },
};

struct fixture {
	struct catalog *catalog;
};

static str_t diagnose(const char *sql, const struct catalog *catalog, const struct sql_policy *policy,
		      enum sql_severity severity, struct arena *arena)
{
	struct diagnostics diagnostics = { .arena = arena };
	struct sql_request request = { .sql = str_from(sql), .catalog = catalog, .policy = policy };
	struct parsed_statement parsed;
	struct resolution resolution;
	struct buf text = BUF_INIT;
	parse_begin(str_from(sql), arena, &parsed);
	if (!parsed.statement)
		fail_msg("%s: " STR_FMT, sql, STR_ARG(parsed.error));
	resolve_statement(&parsed, catalog, arena, &diagnostics, &resolution);
	diagnose_statement(&parsed, &resolution, &request, &diagnostics);
	parse_end(&parsed);
	for (size_t i = 0; i < diagnostics.count; i++) {
		const struct sql_diagnostic *item = &diagnostics.items[i];
		if (item->severity == severity)
			buf_printf(&text, "%s%s%s%s " STR_FMT "@%lld", text.len > 0 ? "; " : "", item->code,
				   item->sub_code ? "/" : "", item->sub_code ? item->sub_code : "",
				   STR_ARG(item->object), (long long)item->offset);
	}
	str_t result = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return result;
}

static void check_table(const struct row *rows, size_t count, enum sql_severity severity,
			const struct catalog *catalog)
{
	size_t wrong = 0;
	for (size_t i = 0; i < count; i++) {
		struct arena *arena = arena_new();
		str_t found = diagnose(rows[i].sql, catalog, NULL, severity, arena);
		if (!str_is(found, rows[i].diagnostics)) {
			print_error("%s\n  found    " STR_FMT "\n  expected %s\n", rows[i].sql,
				    STR_ARG(found), rows[i].diagnostics);
			wrong++;
		}
		arena_free(arena);
	}
	assert_int_equal(wrong, 0);
}

static void finds_errors(void **state)
{
	const struct fixture *fixture = *state;
	check_table(errors, sizeof errors / sizeof *errors, SQL_ERROR, fixture->catalog);
}

static void finds_warnings(void **state)
{
	const struct fixture *fixture = *state;
	check_table(warnings, sizeof warnings / sizeof *warnings, SQL_WARNING, fixture->catalog);
}

/* Joins of several, for what is found by an index when many names are. */
static const char *const of_many[] = {
	"SELECT id, name, tenant_id FROM users a JOIN users b USING (id) JOIN orders c USING (id, tenant_id)",
	"SELECT id, a.id, c.id, sku FROM users a FULL JOIN orders b USING (id) LEFT JOIN items c USING "
	"(user_id)",
	"SELECT j.id, k.user_id, qty FROM users JOIN orders USING (id) AS j JOIN items USING (user_id) AS k",
	"SELECT id, tenant_id, sku, nosuch FROM users NATURAL JOIN orders NATURAL JOIN items NATURAL JOIN "
	"users b",
	"SELECT * FROM users a JOIN nosuch b USING (id) NATURAL JOIN orders JOIN items i ON qty = id WHERE x "
	"= 1",
	"SELECT ctid, b.ctid, id, sku FROM users a, orders b, items c, users a, LATERAL (SELECT b.id, sku) d",
	"SELECT j.name, sku, id FROM ((users u CROSS JOIN orders) j CROSS JOIN items) k, users, app.users, "
	"users v",
	"SELECT k.sku, k.total, name FROM ((users CROSS JOIN items) AS j CROSS JOIN orders o) AS k, items i, "
	"users u",
	"SELECT x, p, sku FROM users AS a(x, ctid), orders AS b(p), items c, app.users d WHERE ctid = 1 AND "
	"xmin = 1",
	"SELECT 1 FROM users a JOIN (orders b JOIN (items c JOIN users d ON b.id = d.id) ON sku = '') ON "
	"name = '' "
	"RIGHT JOIN LATERAL (SELECT a.id, qty) e ON e.id = c.qty",
};

/* As part of a statement that has looked up a thousand names before, or none; of one length. */
static str_t diagnose_after(const char *name, const char *sql, const struct catalog *catalog,
			    struct arena *arena)
{
	struct buf text = BUF_INIT;
	buf_append_text(&text, "SELECT 1 WHERE EXISTS (SELECT 0");
	for (unsigned i = 0; i < 1000; i++)
		buf_printf(&text, ",%s", name);
	buf_printf(&text, " FROM orders) AND EXISTS (%s)", sql);
	str_t found = diagnose(arena_str(arena, buf_str(&text)).ptr, catalog, NULL, SQL_ERROR, arena);
	buf_free(&text);
	return found;
}

static void check_alike(const char *sql, const struct catalog *catalog)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t few = diagnose_after("11", sql, catalog, arena),
	      many = diagnose_after("id", sql, catalog, arena);
	if (!str_equal(few, many))
		fail_msg("%s\n  few  " STR_FMT "\n  many " STR_FMT, sql, STR_ARG(few), STR_ARG(many));
}

static void finds_the_same_by_index(void **state)
{
	const struct fixture *fixture = *state;
	for (size_t i = 0; i < sizeof of_many / sizeof *of_many; i++)
		check_alike(of_many[i], fixture->catalog);
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		if (strncmp(errors[i].sql, "SELECT", 6) == 0)
			check_alike(errors[i].sql, fixture->catalog);
	}
}

/* Comparisons of unlike values that no error speaks of: there is a cast, or no catalog to ask for types. */
static void warns_where_nothing_is_refused(void **state)
{
	static const char with_cast[] = "CREATE TABLE users (id int, name text);"
					"CREATE CAST (int AS text) WITH INOUT AS IMPLICIT;";
	static const struct row accepted[] = {
		{ "SELECT count(*) FROM users WHERE name = 5", "type_mismatch @38@38" },
	};
	static const struct row untyped[] = {
		{ "SELECT 1 WHERE 5 = 'abc'", "type_mismatch abc@17" },
	};
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	(void)state;
	assert_int_equal(ddl_compile(str_from(with_cast), &catalog, &detail), ERR_OK);
	check_table(accepted, 1, SQL_WARNING, catalog);
	catalog_unref(catalog);
	check_table(untyped, 1, SQL_WARNING, NULL);
}

/* Names and operators that are not there may be those of an extension that the catalog does not hold. */
static void leaves_extensions_alone(void **state)
{
	static const char with_extension[] = "CREATE EXTENSION pg_trgm;"
					     "CREATE TABLE users (id int, name text);";
	static const struct row rows[] = {
		{ "SELECT similarity(name, 'x') FROM users", "" },
		{ "SELECT name % 'x', name <-> 'x' FROM users", "" },
		{ "SELECT name::citext FROM users", "" },
		{ "SELECT id FROM users WHERE name = 5", "unknown_function/operator @32@32" },
		{ "SELECT lower(name, 1) FROM users", "unknown_function lower@7" },
		{ "SELECT nosuch FROM users", "unknown_column nosuch@7" },
	};
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	(void)state;
	assert_int_equal(ddl_compile(str_from(with_extension), &catalog, &detail), ERR_OK);
	check_table(rows, sizeof rows / sizeof *rows, SQL_ERROR, catalog);
	catalog_unref(catalog);
}

/* So may tables, of those that bring any. */
static void leaves_relations_of_extensions_alone(void **state)
{
	static const struct {
		const char *catalog;
		struct row row;
	} cases[] = {
		{ "CREATE EXTENSION postgis; CREATE TABLE t (a int);",
		  { "SELECT srid FROM spatial_ref_sys", "" } },
		{ "CREATE EXTENSION postgis; CREATE TABLE t (a int);",
		  { "SELECT srid FROM nosuch", "unknown_table nosuch@17" } },
		{ "CREATE EXTENSION pgcrypto; CREATE TABLE t (a int);",
		  { "SELECT x FROM job", "unknown_table job@14" } },
		{ "CREATE EXTENSION pg_cron; CREATE TABLE t (a int);", { "SELECT x FROM cron.job", "" } },
		{ "CREATE EXTENSION pg_cron; CREATE TABLE t (a int);",
		  { "SELECT b FROM t", "unknown_column b@7" } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct catalog *catalog = NULL;
		assert_int_equal(ddl_compile(str_from(cases[i].catalog), &catalog, NULL), ERR_OK);
		check_table(&cases[i].row, 1, SQL_ERROR, catalog);
		catalog_unref(catalog);
	}
}

/* Without a catalog no name is unknown; what the text alone proves is reported all the same. */
static void works_without_catalog(void **state)
{
	static const struct row rows[] = {
		{ "SELECT a, t.b, f(c) FROM t JOIN u USING (x)", "" },
		{ "SELECT x.a FROM t", "invalid_join x@7" },
		{ "SELECT 1 FROM t, t", "duplicate_alias t@17" },
		{ "WITH a AS (SELECT 1 AS x) SELECT y FROM a", "unknown_column y@33" },
		{ "SELECT a, count(*) FROM t", "" },
	};
	(void)state;
	check_table(rows, sizeof rows / sizeof *rows, SQL_ERROR, NULL);
}

static void wants_required_columns(void **state)
{
	static const struct sql_required_column rules[] = { { STR("users"), STR("tenant_id") },
							    { STR("public.orders"), STR("tenant_id") } };
	static const struct sql_policy policy = { .required_columns = rules, .required_columns_count = 2 };
	static const struct row rows[] = {
		{ "SELECT 1 FROM users", "missing_required users.tenant_id@14" },
		{ "SELECT 1 FROM users WHERE tenant_id = 5", "" },
		{ "SELECT 1 FROM users WHERE 5 = tenant_id AND name = 'x'", "" },
		{ "SELECT 1 FROM users WHERE tenant_id = 5 OR name = 'x'",
		  "missing_required users.tenant_id@14" },
		{ "SELECT 1 FROM users WHERE NOT tenant_id = 5", "missing_required users.tenant_id@14" },
		{ "SELECT 1 FROM users WHERE tenant_id > 5", "missing_required users.tenant_id@14" },
		{ "SELECT 1 FROM users WHERE tenant_id IN (1, 2)", "" },
		{ "SELECT 1 FROM users WHERE tenant_id = tenant_id", "missing_required users.tenant_id@14" },
		{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = u.tenant_id WHERE u.tenant_id = 5",
		  "" },
		{ "SELECT 1 FROM users u JOIN orders o USING (tenant_id) WHERE u.tenant_id = 5", "" },
		{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = u.tenant_id AND u.tenant_id = 5",
		  "missing_required u.tenant_id@14; missing_required o.tenant_id@32" },
		{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = 5 WHERE u.tenant_id = 5", "" },
		{ "SELECT 1 FROM users u WHERE tenant_id = 5 AND EXISTS (SELECT 1 FROM orders o"
		  " WHERE o.tenant_id = u.tenant_id)",
		  "" },
		{ "SELECT 1 FROM users u WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = "
		  "u.tenant_id"
		  " AND o.tenant_id = 5)",
		  "missing_required u.tenant_id@14" },
		{ "SELECT 1 FROM app.users", "missing_required users.tenant_id@14" },
		{ "SELECT 1 FROM items", "" },
	};
	const struct fixture *fixture = *state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena *arena = arena_new();
		assert_string_equal(diagnose(rows[i].sql, fixture->catalog, &policy, SQL_ERROR, arena).ptr,
				    rows[i].diagnostics);
		arena_free(arena);
	}
}

static void hints_at_the_nearest_name(void **state)
{
	const struct fixture *fixture = *state;
	struct arena *arena = arena_new();
	struct diagnostics diagnostics = { .arena = arena };
	struct parsed_statement parsed;
	struct resolution resolution;
	parse_begin(STR("SELECT u.emial, lowr('x') FROM usres u JOIN users u2 ON u2.nmae = 'x'"), arena,
		    &parsed);
	resolve_statement(&parsed, fixture->catalog, arena, &diagnostics, &resolution);
	parse_end(&parsed);
	assert_int_equal(diagnostics.count, 3);
	assert_string_equal(diagnostics.items[0].message.ptr,
			    "function \"lowr\" does not exist; did you mean \"lower\"?");
	assert_string_equal(diagnostics.items[1].message.ptr,
			    "relation \"usres\" does not exist; did you mean \"users\"?");
	assert_string_equal(diagnostics.items[2].message.ptr,
			    "column \"u2.nmae\" does not exist; did you mean \"name\"?");
	arena_free(arena);
}

/* Attribute notation: what is no column and names a function is a call. */
static void suspects_calls(void **state)
{
	static const struct {
		const char *sql;
		const char *name; /* or NULL: none */
		bool certain;
	} rows[] = {
		{ "SELECT u.wipe FROM users u", "wipe", true },
		{ "SELECT u.name FROM users u", NULL, false },
		{ "SELECT ('x'::text).length", "length", false },
		{ "SELECT (u).name FROM users u", NULL, false },
		{ "SELECT (u).wipe FROM users u", "wipe", false },
		{ "SELECT t.wipe FROM unnest(ARRAY[1]) t", "wipe", true },
	};
	const struct fixture *fixture = *state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena *arena = arena_new();
		struct diagnostics diagnostics = { .arena = arena };
		struct parsed_statement parsed;
		struct resolution resolution;
		parse_begin(str_from(rows[i].sql), arena, &parsed);
		resolve_statement(&parsed, fixture->catalog, arena, &diagnostics, &resolution);
		parse_end(&parsed);
		assert_int_equal(resolution.suspected_calls_count, rows[i].name ? 1 : 0);
		if (rows[i].name) {
			assert_string_equal(resolution.suspected_calls[0].name.ptr, rows[i].name);
			assert_int_equal(resolution.suspected_calls[0].certain, rows[i].certain);
		}
		arena_free(arena);
	}
}

static void gives_up_when_too_deep(void **state)
{
	struct arena *arena = arena_new();
	struct diagnostics diagnostics = { .arena = arena };
	struct parsed_statement parsed;
	struct resolution resolution;
	struct buf sql = BUF_INIT;
	(void)state;
	buf_append_text(&sql, "SELECT 1");
	for (int i = 0; i < 3000; i++)
		buf_append_text(&sql, "+1");
	parse_begin(buf_str(&sql), arena, &parsed);
	resolve_statement(&parsed, NULL, arena, &diagnostics, &resolution);
	parse_end(&parsed);
	assert_true(resolution.too_deep);
	buf_free(&sql);
	arena_free(arena);
}

static int compile(void **state)
{
	static struct fixture fixture;
	struct err_detail detail = { "" };
	if (ddl_compile(str_from(schema), &fixture.catalog, &detail) != ERR_OK) {
		print_error("%s\n", detail.message);
		return -1;
	}
	*state = &fixture;
	return 0;
}

static int release(void **state)
{
	const struct fixture *fixture = *state;
	catalog_unref(fixture->catalog);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_errors),
		cmocka_unit_test(finds_warnings),
		cmocka_unit_test(finds_the_same_by_index),
		cmocka_unit_test(warns_where_nothing_is_refused),
		cmocka_unit_test(leaves_extensions_alone),
		cmocka_unit_test(leaves_relations_of_extensions_alone),
		cmocka_unit_test(works_without_catalog),
		cmocka_unit_test(wants_required_columns),
		cmocka_unit_test(hints_at_the_nearest_name),
		cmocka_unit_test(suspects_calls),
		cmocka_unit_test(gives_up_when_too_deep),
	};
	return cmocka_run_group_tests(tests, compile, release);
}
