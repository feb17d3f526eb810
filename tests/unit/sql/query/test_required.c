/*
 * Columns that every query of their table has to constrain: one table of statements for all dialects, with a
 * catalog and, as far as no view is read, without.
 */
#include "tests/unit/sql/dialect_catalogs.h"

/* `missing`: aliases whose rule is broken, in alphabetical order. `only`: dialects that can say it; 0: all.
 */
struct row {
	const char *sql;
	const char *missing;
	unsigned only;
};

static const struct row rows[] = {
	/* plain conditions */
	{ "SELECT total FROM orders", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = 5", "", 0 },
	{ "SELECT total FROM orders WHERE 5 = tenant_id", "", 0 },
	{ "SELECT total FROM orders WHERE orders.tenant_id = 5 AND total > 1", "", 0 },
	{ "SELECT total FROM orders WHERE total > 1 AND (id = 4 AND (tenant_id = 5))", "", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = 2 + 3", "", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = abs(-5)", "", 0 },
	{ "SELECT total FROM orders WHERE id = 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id > 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id >= 5 AND tenant_id <= 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id <> 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id BETWEEN 0 AND 1000000", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id IS NOT NULL", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id IS NULL", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = NULL", "orders", 0 },
	{ "SELECT total FROM orders WHERE NOT tenant_id = 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE NOT (NOT tenant_id = 5)", "orders", 0 },
	{ "SELECT total FROM orders WHERE (tenant_id = 5) IS NOT TRUE", "orders", POSTGRESQL | MYSQL },
	{ "SELECT total FROM orders WHERE coalesce(tenant_id, 5) = 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE -tenant_id = 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE (tenant_id = 5) = (1 = 1)", "orders", 0 },
	{ "SELECT total FROM orders GROUP BY tenant_id, total HAVING tenant_id = 5", "orders", 0 },
	{ "SELECT CASE WHEN tenant_id = 5 THEN total END FROM orders", "orders", 0 },
	{ "SELECT total FROM orders WHERE CASE WHEN tenant_id = 5 THEN 1 ELSE 1 END = 1", "orders", 0 },
	{ "SELECT total FROM orders ORDER BY tenant_id = 5", "orders", 0 },
	/* tautologies */
	{ "SELECT total FROM orders WHERE tenant_id = tenant_id", "orders", 0 },
	{ "SELECT total FROM orders o WHERE o.tenant_id = tenant_id", "o", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = tenant_id + 0", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = abs(tenant_id)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id IN (tenant_id)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id IN (5, tenant_id)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = (SELECT tenant_id)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = CASE WHEN 1 = 1 THEN tenant_id ELSE 5 END", "orders",
	  0 },
	{ "SELECT total FROM orders WHERE 5 = 5", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id IS NOT DISTINCT FROM tenant_id", "orders",
	  POSTGRESQL | SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id <=> tenant_id", "orders", MYSQL },
	{ "SELECT total FROM orders WHERE tenant_id IS tenant_id", "orders", SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id = any(array[5, tenant_id])", "orders", POSTGRESQL },
	{ "SELECT total FROM orders WHERE tenant_id = id AND id = tenant_id", "orders", 0 },
	/* branches */
	{ "SELECT total FROM orders WHERE tenant_id = 5 OR 1 = 1", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = 5 OR total > 1", "orders", 0 },
	{ "SELECT total FROM orders WHERE (tenant_id = 5 OR total > 1) AND id = 2", "orders", 0 },
	{ "SELECT total FROM orders WHERE (id = 1 OR id = 2) AND tenant_id = 5", "", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = 5 || 1 = 1", "orders", MYSQL },
	{ "SELECT total FROM orders WHERE tenant_id = 5 XOR 1 = 2", "orders", MYSQL },
	{ "SELECT total FROM orders WHERE tenant_id = 5 && id = 1", "", MYSQL },
	/* lists, parameters, equalities that NULL meets */
	{ "SELECT total FROM orders WHERE tenant_id IN (5, 6)", "", 0 },
	{ "SELECT total FROM orders WHERE tenant_id NOT IN (5, 6)", "orders", 0 },
	{ "SELECT total FROM orders WHERE 5 IN (tenant_id, 5)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id IN (SELECT id FROM logs)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = (SELECT max(id) FROM logs)", "orders", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = any(array[5, 6])", "", POSTGRESQL },
	{ "SELECT total FROM orders WHERE tenant_id = any('{5,6}')", "", POSTGRESQL },
	{ "SELECT total FROM orders WHERE tenant_id <> all(array[5, 6])", "orders", POSTGRESQL },
	{ "SELECT total FROM orders WHERE tenant_id = all(array[5, 6])", "orders", POSTGRESQL },
	{ "SELECT total FROM orders WHERE tenant_id = $1", "", POSTGRESQL },
	{ "SELECT total FROM orders WHERE tenant_id = ?", "", MYSQL | SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id = :tenant", "", SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id IS NOT DISTINCT FROM 5", "", POSTGRESQL | SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id <=> 5", "", MYSQL },
	{ "SELECT total FROM orders WHERE tenant_id IS 5", "", SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id IS NOT 5", "orders", SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id = '5'", "", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = @tenant", "orders", MYSQL },
	{ "SELECT total FROM orders WHERE tenant_id = random()", "orders", POSTGRESQL | SQLITE },
	{ "SELECT total FROM orders WHERE tenant_id = floor(rand() * 9)", "orders", MYSQL },
	{ "SELECT total FROM orders WHERE tenant_id OPERATOR(mine.=) 5", "orders", POSTGRESQL },
	{ "SELECT id FROM docs WHERE tenant = 'acme'", "", 0 },
	{ "SELECT id FROM docs WHERE tenant IN ('acme', 'zen')", "", 0 },
	{ "SELECT id FROM docs WHERE tenant = 0", "docs", MYSQL },
	{ "SELECT id FROM docs WHERE tenant IN ('acme', 0)", "docs", MYSQL },
	{ "SELECT id FROM docs WHERE tenant = FALSE", "docs", MYSQL },
	{ "SELECT d.id FROM docs d JOIN logs l ON d.tenant = l.id WHERE l.id = 0", "d", MYSQL },
	/* names */
	{ "SELECT TOTAL FROM ORDERS", "ORDERS", MYSQL },
	{ "SELECT TOTAL FROM ORDERS", "orders", POSTGRESQL | SQLITE },
	{ "SELECT TOTAL FROM ORDERS O WHERE O.TENANT_ID = 5", "", 0 },
	{ "SELECT total FROM \"orders\" WHERE \"orders\".\"tenant_id\" = 5", "", POSTGRESQL | SQLITE },
	{ "SELECT total FROM \"orders\"", "orders", POSTGRESQL | SQLITE },
	{ "SELECT total FROM `orders`", "orders", MYSQL | SQLITE },
	{ "SELECT total FROM `orders` WHERE `tenant_id` = 5", "", MYSQL | SQLITE },
	{ "SELECT total FROM public.orders", "orders", POSTGRESQL },
	{ "SELECT total FROM shop.orders", "orders", MYSQL },
	{ "SELECT total FROM main.orders", "orders", SQLITE },
	{ "SELECT total FROM shop.orders WHERE shop.orders.tenant_id = 5", "", MYSQL },
	{ "SELECT note FROM logs", "", 0 },
	{ "SELECT 1", "", 0 },
	{ "TABLE orders", "orders", POSTGRESQL | MYSQL },
	{ "EXPLAIN SELECT total FROM orders", "orders", 0 },
	/* joins */
	{ "SELECT 1 FROM users u JOIN orders o ON o.user_id = u.id WHERE u.tenant_id = 5", "o", 0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = u.tenant_id WHERE u.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = u.tenant_id", "o u", 0 },
	{ "SELECT 1 FROM users u, orders o WHERE o.tenant_id = u.tenant_id AND o.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = 5 AND u.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = u.id WHERE u.tenant_id = 5", "o", 0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = u.id AND u.id = 3 AND u.tenant_id = 3", "",
	  0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id <> u.tenant_id WHERE u.tenant_id = 5", "o", 0 },
	{ "SELECT 1 FROM users u JOIN orders o ON o.tenant_id = u.tenant_id + 1 WHERE u.tenant_id = 5", "o",
	  0 },
	{ "SELECT 1 FROM users u JOIN orders o USING (tenant_id) WHERE u.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u JOIN orders o USING (tenant_id) WHERE tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u JOIN orders o USING (tenant_id)", "o u", 0 },
	{ "SELECT 1 FROM users u JOIN orders o USING (id) WHERE u.tenant_id = 5", "o", 0 },
	{ "SELECT 1 FROM users u NATURAL JOIN orders o WHERE u.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u NATURAL JOIN orders o WHERE o.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u NATURAL JOIN orders o", "o u", 0 },
	{ "SELECT 1 FROM logs l, users u JOIN orders o USING (tenant_id) WHERE o.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users a, users u JOIN orders o USING (tenant_id) WHERE o.tenant_id = 5", "a",
	  POSTGRESQL | MYSQL },
	/* outer joins: their condition is for the side that may be missing */
	{ "SELECT 1 FROM users u LEFT JOIN orders o ON u.tenant_id = 5", "o u", 0 },
	{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = 5", "u", 0 },
	{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = 5 WHERE u.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = u.tenant_id WHERE u.tenant_id = 5", "",
	  0 },
	{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = u.tenant_id AND o.tenant_id = 5", "u",
	  0 },
	{ "SELECT 1 FROM users u LEFT JOIN orders o ON o.tenant_id = u.tenant_id AND u.tenant_id = 5", "o u",
	  0 },
	{ "SELECT 1 FROM users u RIGHT JOIN orders o ON o.tenant_id = 5", "o u", 0 },
	{ "SELECT 1 FROM users u RIGHT JOIN orders o ON u.tenant_id = 5", "o", 0 },
	{ "SELECT 1 FROM users u RIGHT JOIN orders o ON o.tenant_id = u.tenant_id WHERE o.tenant_id = 5", "",
	  0 },
	{ "SELECT 1 FROM users u FULL JOIN orders o ON o.tenant_id = 5 AND u.tenant_id = 5", "o u",
	  POSTGRESQL | SQLITE },
	{ "SELECT 1 FROM users u LEFT JOIN orders o USING (tenant_id) WHERE u.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM users u LEFT JOIN orders o USING (tenant_id) WHERE o.tenant_id = 5", "u", 0 },
	{ "SELECT 1 FROM users u RIGHT JOIN orders o USING (tenant_id) WHERE u.tenant_id = 5", "o", 0 },
	{ "SELECT 1 FROM logs l LEFT JOIN orders o ON o.tenant_id = 5 JOIN users u ON u.tenant_id = "
	  "o.tenant_id",
	  "", 0 },
	{ "SELECT 1 FROM logs l JOIN orders o ON o.tenant_id = 5 LEFT JOIN users u ON u.tenant_id = "
	  "o.tenant_id",
	  "", 0 },
	{ "SELECT 1 FROM logs l JOIN orders o ON o.tenant_id = 5 RIGHT JOIN users u USING (tenant_id) "
	  "LEFT JOIN orders p USING (tenant_id)",
	  "p u", 0 },
	{ "SELECT 1 FROM logs l LEFT JOIN orders o ON o.tenant_id = 5 JOIN users u ON u.tenant_id <=> "
	  "o.tenant_id",
	  "u", MYSQL },
	{ "SELECT 1 FROM logs l LEFT JOIN orders o ON o.tenant_id = 5 JOIN users u ON u.tenant_id IS "
	  "o.tenant_id",
	  "u", SQLITE },
	{ "SELECT 1 FROM logs l LEFT JOIN orders o ON o.tenant_id = 5 JOIN users u ON u.tenant_id IS NOT "
	  "DISTINCT FROM o.tenant_id",
	  "u", POSTGRESQL },
	/* self joins: each alias */
	{ "SELECT 1 FROM orders a JOIN orders b ON a.id = b.id WHERE a.tenant_id = 5", "b", 0 },
	{ "SELECT 1 FROM orders a JOIN orders b ON a.tenant_id = b.tenant_id WHERE a.tenant_id = 5", "", 0 },
	{ "SELECT 1 FROM orders a, orders b", "a b", 0 },
	{ "SELECT 1 FROM orders a, orders b WHERE a.tenant_id = 5 AND b.tenant_id = 6", "", 0 },
	/* subqueries */
	{ "SELECT note FROM logs WHERE id IN (SELECT id FROM orders)", "orders", 0 },
	{ "SELECT note FROM logs WHERE id IN (SELECT id FROM orders WHERE tenant_id = 5)", "", 0 },
	{ "SELECT note, (SELECT max(total) FROM orders) FROM logs", "orders", 0 },
	{ "SELECT note, (SELECT max(total) FROM orders WHERE tenant_id = 5) FROM logs", "", 0 },
	{ "SELECT total FROM (SELECT total FROM orders) q", "orders", 0 },
	{ "SELECT total FROM (SELECT total FROM orders WHERE tenant_id = 5) q", "", 0 },
	{ "SELECT total FROM (SELECT total, tenant_id FROM orders) q WHERE tenant_id = 5", "orders", 0 },
	{ "SELECT note FROM logs ORDER BY (SELECT max(total) FROM orders)", "orders", 0 },
	{ "SELECT note FROM logs LIMIT (SELECT count(*) FROM orders)", "orders", POSTGRESQL | SQLITE },
	{ "SELECT count(*) OVER (ORDER BY (SELECT max(total) FROM orders)) FROM logs", "orders", 0 },
	{ "SELECT 1 FROM users u WHERE u.tenant_id = 5 AND EXISTS (SELECT 1 FROM orders o WHERE o.user_id = "
	  "u.id)",
	  "o", 0 },
	{ "SELECT 1 FROM users u WHERE u.tenant_id = 5 AND EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id "
	  "= "
	  "u.tenant_id)",
	  "", 0 },
	{ "SELECT 1 FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = 5 AND u.tenant_id "
	  "= "
	  "5)",
	  "u", 0 },
	{ "SELECT 1 WHERE EXISTS (SELECT 1 FROM orders)", "orders", POSTGRESQL | SQLITE },
	{ "SELECT 1 WHERE EXISTS (SELECT 1 FROM orders WHERE tenant_id = 5)", "", POSTGRESQL | SQLITE },
	{ "SELECT 1 FROM users u WHERE NOT EXISTS (SELECT 1 FROM logs l WHERE u.tenant_id = 5)", "u", 0 },
	{ "SELECT 1 FROM users u WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = u.tenant_id "
	  "AND "
	  "o.tenant_id = 5)",
	  "u", 0 },
	{ "SELECT (SELECT 1 FROM logs l WHERE u.tenant_id = 5) FROM users u", "u", 0 },
	{ "SELECT 1 FROM users WHERE id IN (SELECT l.id FROM logs l, orders o WHERE o.tenant_id = 5)",
	  "users", 0 },
	{ "SELECT 1 FROM users u WHERE u.tenant_id = 5 OR EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = "
	  "u.tenant_id)",
	  "o u", 0 },
	{ "SELECT 1 FROM users u, LATERAL (SELECT id FROM orders o WHERE o.tenant_id = u.tenant_id) q WHERE "
	  "u.tenant_id = 5",
	  "", POSTGRESQL | MYSQL },
	/* WITH queries */
	{ "WITH q AS (SELECT total FROM orders) SELECT total FROM q", "orders", 0 },
	{ "WITH q AS (SELECT total FROM orders WHERE tenant_id = 5) SELECT total FROM q", "", 0 },
	{ "WITH q AS (SELECT * FROM orders) SELECT total FROM q WHERE tenant_id = 5", "orders", 0 },
	{ "WITH q AS (SELECT 1 AS tenant_id), r AS (SELECT total FROM orders) SELECT 1 FROM q", "orders", 0 },
	{ "WITH orders AS (SELECT 1 AS total) SELECT total FROM orders", "", 0 },
	{ "WITH q AS (SELECT 5 AS tenant_id) SELECT 1 FROM q, orders o WHERE q.tenant_id = 5", "o", 0 },
	/* set operations: each branch */
	{ "SELECT total FROM orders WHERE tenant_id = 5 UNION SELECT total FROM orders o", "o", 0 },
	{ "SELECT total FROM orders WHERE tenant_id = 5 UNION ALL SELECT id FROM users WHERE tenant_id = 5",
	  "", 0 },
	{ "SELECT id FROM logs UNION SELECT total FROM orders EXCEPT SELECT id FROM users", "orders users",
	  0 },
	/* views */
	{ "SELECT total FROM all_orders", "all_orders", 0 },
	{ "SELECT total FROM all_orders WHERE tenant_id = 5", "", 0 },
	{ "SELECT total FROM all_orders v WHERE v.tenant_id = v.tenant_id", "v", 0 },
	{ "SELECT total FROM totals", "totals", 0 },
	{ "SELECT id FROM mine", "", 0 },
	{ "SELECT id FROM nested", "nested", 0 },
	{ "SELECT note FROM noted", "", 0 },
};

static bool reads_view(const char *sql)
{
	static const char *const views[] = { "all_orders", "totals", "mine", "nested", "noted" };
	for (size_t i = 0; i < COUNT(views); i++)
		if (strstr(sql, views[i]))
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const str_t *)a)->ptr, ((const str_t *)b)->ptr);
}

/* Objects of missing_required up to their dot, sorted, with blanks between. */
static const char *missing(const char *sql, size_t dialect, bool known, const struct sql_policy *policy,
			   struct arena *arena)
{
	struct sql_request request = { .sql = str_from(sql),
				       .dialect = dialects[dialect].dialect,
				       .target_named = known,
				       .catalog = known ? catalogs[dialect] : NULL,
				       .policy = policy };
	struct sql_analysis analysis;
	str_t found[16], text = STR("");
	size_t count = 0;
	sql_analyse(&request, arena, &analysis);
	for (size_t i = 0; i < analysis.diagnostics_count && count < COUNT(found); i++) {
		str_t object = analysis.diagnostics[i].object;
		const char *dot = strchr(object.ptr, '.');
		if (strcmp(analysis.diagnostics[i].code, "missing_required") == 0)
			found[count++] =
				arena_text(arena, object.ptr, dot ? (size_t)(dot - object.ptr) : object.len);
	}
	qsort(found, count, sizeof found[0], compare);
	for (size_t i = 0; i < count; i++)
		text = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(text), i ? " " : "",
				    STR_ARG(found[i]));
	return text.ptr;
}

static const struct sql_required_column rules[] = { { STR("orders"), STR("tenant_id") },
						    { STR("users"), STR("tenant_id") },
						    { STR("docs"), STR("tenant") } };
static const struct sql_policy policy = { .required_columns = rules, .required_columns_count = COUNT(rules) };

static void means_the_same_everywhere(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t d = 0; d < COUNT(dialects); d++) {
			struct arena *arena = arena_new();
			if (!rows[i].only || (rows[i].only & dialects[d].bit)) {
				const char *found = missing(rows[i].sql, d, true, &policy, arena);
				if (strcmp(found, rows[i].missing) != 0)
					wrong++, print_error("%s: %s\n  missing: %s, not: %s\n",
							     dialects[d].name, rows[i].sql, found,
							     rows[i].missing);
			}
			arena_free(arena);
		}
	}
	assert_int_equal(wrong, 0);
}

/* What is broken with a catalog is broken without one. */
static void knows_no_less_without_a_catalog(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t d = 0; d < COUNT(dialects) && !reads_view(rows[i].sql); d++) {
			struct arena *arena = arena_new();
			bool typed = strstr(rows[i].sql, "docs") != NULL;
			if (!typed && (!rows[i].only || (rows[i].only & dialects[d].bit))) {
				const char *found = missing(rows[i].sql, d, false, &policy, arena);
				if (rows[i].missing[0] && !found[0])
					wrong++, print_error("%s: %s\n", dialects[d].name, rows[i].sql);
			}
			arena_free(arena);
		}
	}
	assert_int_equal(wrong, 0);
}

/* However many rules there are, a view breaks those alone whose tables it reads. */
static void views_break_only_their_rules(void **state)
{
	enum { RULES = 300 };
	(void)state;
	for (size_t d = 0; d < COUNT(dialects); d++) {
		struct arena *arena = arena_new();
		struct sql_required_column *many = ARENA_ARRAY(arena, struct sql_required_column, RULES + 1);
		for (size_t i = 0; i < RULES; i++)
			many[i] = (struct sql_required_column){ arena_printf(arena, "table_%zu", i),
								STR("tenant_id") };
		many[RULES] = rules[0];
		struct sql_policy policy_of_many = { .required_columns = many,
						     .required_columns_count = RULES + 1 };
		assert_string_equal(missing("SELECT note FROM noted", d, true, &policy_of_many, arena), "");
		assert_string_equal(missing("SELECT id FROM mine", d, true, &policy_of_many, arena), "");
		assert_string_equal(missing("SELECT total FROM totals", d, true, &policy_of_many, arena),
				    "totals");
		assert_string_equal(missing("SELECT id FROM nested", d, true, &policy_of_many, arena),
				    "nested");
		arena_free(arena);
	}
}

/* "schema.table.column", and names in other cases of letters where the dialect folds them. */
static void knows_schemas(void **state)
{
	static const char *const schemas[] = { "public", "shop", "main" };
	(void)state;
	for (size_t d = 0; d < COUNT(dialects); d++) {
		struct arena *arena = arena_new();
		str_t table = arena_printf(arena, "%s.orders", schemas[d]);
		struct sql_required_column rule = { table, STR("tenant_id") };
		struct sql_policy one = { .required_columns = &rule, .required_columns_count = 1 };
		const char *qualified = arena_printf(arena, "SELECT id FROM " STR_FMT, STR_ARG(table)).ptr;
		for (int known = 0; known < 2; known++) {
			assert_string_equal(missing("SELECT id FROM orders", d, known, &one, arena),
					    "orders");
			assert_string_equal(missing(qualified, d, known, &one, arena), "orders");
			assert_string_equal(
				missing("SELECT id FROM orders WHERE tenant_id = 5", d, known, &one, arena),
				"");
			assert_string_equal(missing("SELECT id FROM users", d, known, &one, arena), "");
		}
		if (dialects[d].dialect != SQL_POSTGRESQL) {
			rule = (struct sql_required_column){ STR("Orders"), STR("Tenant_ID") };
			assert_string_equal(missing("SELECT id FROM orders", d, true, &one, arena), "orders");
			assert_string_equal(
				missing("SELECT id FROM orders WHERE tenant_id = 5", d, true, &one, arena),
				"");
		}
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means_the_same_everywhere),
		cmocka_unit_test(knows_no_less_without_a_catalog),
		cmocka_unit_test(views_break_only_their_rules),
		cmocka_unit_test(knows_schemas),
	};
	return cmocka_run_group_tests(tests, load_catalogs, drop_catalogs);
}
