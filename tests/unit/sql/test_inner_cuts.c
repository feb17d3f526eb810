/*
 * LIMIT and what is like it below the top level: which of them leave open what they take, and what the
 * database is asked about them.
 */
#include "common/buf.h"
#include "sql/inner_cuts.h"
#include "tests/unit/sql/dialect_catalogs.h"

#include <ctype.h>

enum { ALL = POSTGRESQL | MYSQL | SQLITE };

/* Of each cut: `any` or `order`, or `on` for DISTINCT ON; where it can be asked what it takes its rows from,
 * the limit, the offset, the columns added and the text. */
static const struct {
	unsigned where;
	const char *sql, *cuts;
} cases[] = {
	/* None. */
	{ ALL, "SELECT total FROM orders", "" },
	{ ALL, "SELECT total FROM orders LIMIT 10", "" },
	{ ALL, "SELECT total FROM orders ORDER BY total LIMIT 10", "" },
	{ ALL, "SELECT sum(total) FROM (SELECT total FROM orders) s", "" },
	{ ALL, "SELECT id AS \"limit\" FROM (SELECT id FROM orders) s", "" },
	{ ALL, "SELECT name FROM users WHERE name = '(SELECT 1 LIMIT 1)'", "" },
	{ POSTGRESQL | MYSQL, "(SELECT total FROM orders LIMIT 3)", "" },
	{ POSTGRESQL | MYSQL, "((SELECT total FROM orders ORDER BY id) LIMIT 3)", "" },
	{ MYSQL, "(SELECT total FROM orders LIMIT 3) LIMIT 2", "" },
	/* In each place. */
	{ ALL, "SELECT sum(total) FROM (SELECT total FROM orders LIMIT 10) s",
	  "any 10 0 0 SELECT total FROM orders" },
	{ ALL, "SELECT sum(total) FROM (SELECT total FROM orders LIMIT 10 OFFSET 5) s",
	  "any 10 5 0 SELECT total FROM orders" },
	{ MYSQL | SQLITE, "SELECT sum(total) FROM (SELECT total FROM orders LIMIT 5, 10) s",
	  "any 10 5 0 SELECT total FROM orders" },
	{ POSTGRESQL | MYSQL, "SELECT sum(total) FROM (SELECT total FROM orders FETCH FIRST 10 ROWS ONLY) s",
	  "any 10 0 0 SELECT total FROM orders" },
	{ POSTGRESQL | MYSQL, "SELECT sum(total) FROM (SELECT total FROM orders FETCH FIRST ROW ONLY) s",
	  "any 1 0 0 SELECT total FROM orders" },
	{ POSTGRESQL, "SELECT sum(total) FROM (SELECT total FROM orders OFFSET 10) s", "any" },
	{ SQLITE, "SELECT sum(total) FROM (SELECT total FROM orders LIMIT -1 OFFSET 10) s", "any" },
	{ ALL, "SELECT name FROM users WHERE id = (SELECT user_id FROM orders LIMIT 1)",
	  "any 1 0 0 SELECT user_id FROM orders" },
	{ ALL, "SELECT name, (SELECT total FROM orders LIMIT 1) FROM users",
	  "any 1 0 0 SELECT total FROM orders" },
	{ POSTGRESQL | SQLITE, "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders LIMIT 3)",
	  "any 3 0 0 SELECT user_id FROM orders" },
	{ POSTGRESQL, "SELECT name FROM users WHERE id > ANY (SELECT user_id FROM orders LIMIT 3)",
	  "any 3 0 0 SELECT user_id FROM orders" },
	{ POSTGRESQL, "SELECT ARRAY(SELECT total FROM orders LIMIT 3)",
	  "any 3 0 0 SELECT total FROM orders" },
	{ ALL, "WITH w AS (SELECT total FROM orders LIMIT 3) SELECT sum(total) FROM w",
	  "any 3 0 0 SELECT total FROM orders" },
	{ ALL, "SELECT u.name FROM users u JOIN (SELECT user_id FROM orders LIMIT 3) o ON o.user_id = u.id",
	  "any 3 0 0 SELECT user_id FROM orders" },
	{ ALL, "SELECT count(*) FROM users HAVING count(*) > (SELECT total FROM orders LIMIT 1)",
	  "any 1 0 0 SELECT total FROM orders" },
	{ ALL, "SELECT name FROM users ORDER BY (SELECT total FROM orders LIMIT 1)",
	  "any 1 0 0 SELECT total FROM orders" },
	{ POSTGRESQL | MYSQL, "(SELECT id FROM users LIMIT 2) UNION ALL (SELECT id FROM orders LIMIT 3)",
	  "any 2 0 0 SELECT id FROM users; any 3 0 0 SELECT id FROM orders" },
	{ MYSQL, "(SELECT id FROM users LIMIT 5) ORDER BY id", "any 5 0 0 SELECT id FROM users" },
	{ POSTGRESQL, "(SELECT id FROM users LIMIT 5) ORDER BY id", "" }, /* one level there */
	{ ALL, "SELECT sum(id) FROM (SELECT id FROM users UNION ALL SELECT id FROM orders LIMIT 4) s",
	  "any 4 0 0 SELECT id FROM users UNION ALL SELECT id FROM orders" },
	{ ALL, "SELECT sum(n) FROM (SELECT user_id, count(*) AS n FROM orders GROUP BY user_id LIMIT 2) s",
	  "any 2 0 0 SELECT user_id, count(*) AS n FROM orders GROUP BY user_id" },
	{ ALL, "SELECT sum(total) FROM (SELECT DISTINCT total FROM orders LIMIT 2) s",
	  "any 2 0 0 SELECT DISTINCT total FROM orders" },
	{ ALL, "SELECT sum(total) FROM (SELECT total FROM (SELECT total FROM orders LIMIT 9) a LIMIT 3) b",
	  "any 3 0 0 SELECT total FROM (SELECT total FROM orders LIMIT 9) a; "
	  "any 9 0 0 SELECT total FROM orders" },
	/* With an order. */
	{ ALL, "SELECT sum(total) FROM (SELECT total FROM orders ORDER BY total LIMIT 3) s",
	  "order 3 0 0 SELECT total FROM orders ORDER BY total" },
	{ ALL, "SELECT name FROM users WHERE id = (SELECT user_id FROM orders ORDER BY total DESC LIMIT 1)",
	  "order 1 0 1 SELECT user_id, (total) FROM orders ORDER BY total DESC" },
	{ ALL,
	  "WITH w AS (SELECT user_id FROM orders GROUP BY user_id ORDER BY sum(total) DESC LIMIT 5)"
	  " SELECT name FROM users JOIN w ON w.user_id = users.id",
	  "order 5 0 1 SELECT user_id, (sum(total)) FROM orders GROUP BY user_id ORDER BY sum(total) DESC" },
	{ ALL, "SELECT sum(total) FROM (SELECT DISTINCT total FROM orders ORDER BY total + 1 LIMIT 2) s",
	  "order" },
	/* An order further inside or outside is none of it. */
	{ ALL, "SELECT total FROM (SELECT total FROM orders LIMIT 3) s ORDER BY total",
	  "any 3 0 0 SELECT total FROM orders" },
	{ ALL,
	  "SELECT sum(total) FROM (SELECT total FROM (SELECT total FROM orders ORDER BY id) a LIMIT 3) b",
	  "any 3 0 0 SELECT total FROM (SELECT total FROM orders ORDER BY id) a" },
	{ ALL,
	  "SELECT sum(total) FROM (SELECT total, row_number() OVER (ORDER BY id) AS r FROM orders LIMIT 3) s",
	  "any 3 0 0 SELECT total, row_number() OVER (ORDER BY id) AS r FROM orders" },
	/* What it takes is the same in any case. */
	{ ALL, "SELECT name FROM users WHERE id = (SELECT max(user_id) FROM orders LIMIT 1)", "" },
	{ ALL, "SELECT name FROM users u WHERE id = (SELECT max(id) FROM orders o WHERE o.id = u.id LIMIT 1)",
	  "" },
	{ ALL, "SELECT name FROM users WHERE EXISTS (SELECT 1 FROM orders LIMIT 1)", "" },
	{ ALL, "SELECT name FROM users u WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = u.id LIMIT 1)",
	  "" },
	{ ALL, "SELECT count(*) FROM (SELECT id FROM users LIMIT 0) s", "" },
	{ POSTGRESQL, "SELECT count(*) FROM (SELECT id FROM users LIMIT ALL) s", "" },
	{ POSTGRESQL, "SELECT count(*) FROM (SELECT id FROM users OFFSET 0) s", "" },
	{ SQLITE, "SELECT count(*) FROM (SELECT id FROM users LIMIT -1) s", "" },
	{ MYSQL, "SELECT count(*) FROM (SELECT id FROM users LIMIT 18446744073709551615) s", "" },
	{ POSTGRESQL | MYSQL,
	  "SELECT sum(total) FROM (SELECT total FROM orders ORDER BY total FETCH FIRST 3 ROWS WITH TIES) s",
	  "" },
	{ ALL, "SELECT (SELECT 1 LIMIT 1) FROM users", "" },
	{ MYSQL | SQLITE,
	  "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 9) SELECT sum(n) FROM c",
	  "" },
	/* Nor is what is inside of it. */
	{ ALL, "SELECT name FROM users WHERE EXISTS (SELECT 1 FROM (SELECT id FROM orders LIMIT 3) s)",
	  "any 3 0 0 SELECT id FROM orders" },
	{ ALL, "SELECT max(id) FROM (SELECT max(id) AS id FROM (SELECT id FROM orders LIMIT 3) a LIMIT 1) b",
	  "any 3 0 0 SELECT id FROM orders" },
	{ ALL, "SELECT sum(n) FROM (SELECT count(*) AS n FROM orders GROUP BY user_id LIMIT 1) s",
	  "any 1 0 0 SELECT count(*) AS n FROM orders GROUP BY user_id" },
	/* Nobody can be asked: it reads what is around it. */
	{ ALL, "SELECT name, (SELECT total FROM orders o WHERE o.user_id = u.id LIMIT 1) FROM users u",
	  "any" },
	{ ALL,
	  "SELECT name, (SELECT total FROM orders o WHERE o.user_id = u.id ORDER BY total LIMIT 1) FROM "
	  "users u",
	  "order" },
	{ ALL, "SELECT name, (SELECT note FROM logs WHERE name = note LIMIT 1) FROM users", "any" },
	{ SQLITE, "SELECT name, (SELECT note FROM logs WHERE \"name\" = note LIMIT 1) FROM users", "any" },
	{ SQLITE, "SELECT name, (SELECT note FROM logs WHERE note = \"x\" LIMIT 1) FROM users",
	  "any 1 0 0 SELECT note FROM logs WHERE note = \"x\"" },
	{ ALL, "WITH users AS (SELECT id FROM orders) SELECT sum(id) FROM (SELECT id FROM users LIMIT 3) s",
	  "any" },
	{ ALL,
	  "WITH users AS (SELECT id FROM orders) SELECT sum(id) FROM (SELECT id FROM users ORDER BY id LIMIT "
	  "3) s",
	  "order" },
	{ POSTGRESQL,
	  "SELECT u.name, o.total FROM users u, LATERAL (SELECT total FROM orders WHERE user_id = u.id LIMIT "
	  "2) o",
	  "any" },
	/* … or the number is none. */
	{ POSTGRESQL | SQLITE, "SELECT sum(total) FROM (SELECT total FROM orders LIMIT 1 + 2) s", "any" },
	{ POSTGRESQL | SQLITE, "SELECT sum(total) FROM (SELECT total FROM orders LIMIT (3)) s", "any" },
	/* Rows of the same key. */
	{ POSTGRESQL, "SELECT DISTINCT ON (user_id) user_id, total FROM orders", "on" },
	{ POSTGRESQL, "SELECT DISTINCT ON (user_id) user_id, total FROM orders ORDER BY user_id", "on" },
	{ POSTGRESQL, "SELECT DISTINCT ON (user_id) user_id, total FROM orders ORDER BY user_id, total", "" },
	{ POSTGRESQL, "SELECT DISTINCT ON (user_id) user_id FROM orders", "" },
	{ POSTGRESQL, "SELECT DISTINCT ON (1) user_id FROM orders", "" },
	{ POSTGRESQL, "SELECT DISTINCT ON (user_id) * FROM orders", "on" },
	{ POSTGRESQL, "SELECT DISTINCT user_id, total FROM orders", "" },
	{ POSTGRESQL,
	  "SELECT sum(total) FROM (SELECT DISTINCT ON (user_id) total FROM orders ORDER BY user_id) s",
	  "on" },
	{ POSTGRESQL,
	  "SELECT name FROM users WHERE EXISTS (SELECT DISTINCT ON (user_id) user_id, total FROM orders)",
	  "" },
	{ MYSQL, "SELECT group_concat(name LIMIT 2) FROM users", "any" },
	{ MYSQL, "SELECT group_concat(name ORDER BY name LIMIT 2) FROM users", "" },
	/* By tokens alone. */
	{ SQLITE, "SELECT sum(total) FROM (SELECT total FROM orders NOT INDEXED LIMIT 3) s", "any" },
	{ SQLITE, "SELECT sum(total) FROM (SELECT total FROM orders NOT INDEXED ORDER BY total LIMIT 3) s",
	  "" },
	{ SQLITE, "SELECT total FROM orders NOT INDEXED LIMIT 3", "" },
	/* In comments and names. */
	{ ALL, "SELECT sum(total) FROM (SELECT total FROM orders /* ) ORDER BY id */ LIMIT 3 -- (\n) s",
	  "any 3 0 0 SELECT total FROM orders /* ) ORDER BY id */" },
};

static struct sql_request request_of(const char *sql, size_t dialect)
{
	return (struct sql_request){ .sql = str_from(sql),
				     .dialect = dialects[dialect].dialect,
				     .target_named = true,
				     .catalog = catalogs[dialect] };
}

static void put_cut(struct buf *text, const struct inner_cut *cut)
{
	str_t sql = cut->shown.sql;
	while (sql.len > 0 && isspace((unsigned char)sql.ptr[sql.len - 1]))
		sql.len--;
	buf_printf(text, "%s%s", text->len ? "; " : "",
		   cut->distinct_on ? "on"
		   : cut->ordered   ? "order"
				    : "any");
	if (str_present(sql))
		buf_printf(text, " %d %d %zu " STR_FMT, (int)cut->shown.cut.limit, (int)cut->shown.cut.offset,
			   cut->shown.added, STR_ARG(sql));
}

/* Those with an order that nobody can be asked about are left out when they are shown. */
static char *cuts_of(const char *sql, size_t dialect)
{
	struct arena *arena = arena_new();
	struct sql_request request = request_of(sql, dialect);
	struct sql_analysis analysis;
	struct inner_cut *shown;
	struct buf text = BUF_INIT;
	sql_analyse(&request, arena, &analysis);
	size_t count = inner_cuts_show(&request, &analysis, arena, &shown), next = 0;
	buf_append_text(&text, analysis.valid ? "" : "invalid");
	for (size_t i = 0; i < analysis.inner_cuts_count; i++) {
		const struct inner_cut left_out = { .ordered = true };
		bool is_next = next < count && shown[next].ordered == analysis.inner_cuts[i].ordered;
		put_cut(&text, is_next ? &shown[next++] : &left_out);
	}
	if (next != count)
		buf_append_text(&text, " and others");
	buf_append(&text, "", 1);
	arena_free(arena);
	return text.data;
}

static void cuts_are_found_and_asked_about(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t d = 0; d < COUNT(dialects); d++) {
			if (!(cases[i].where & dialects[d].bit))
				continue;
			char *found = cuts_of(cases[i].sql, d);
			if (strcmp(found, cases[i].cuts) != 0)
				wrong++, print_error("%s: %s\n  \"%s\", not \"%s\"\n", dialects[d].name,
						     cases[i].sql, found, cases[i].cuts);
			free(found);
		}
	}
	assert_int_equal(wrong, 0);
}

#define PIPELINE "db.getCollection(\"orders\").aggregate(["

/* A cut with more behind it than projections. */
static const struct {
	const char *mongosh, *cuts;
} documents[] = {
	{ "db.orders.find().limit(5)", "" },
	{ "db.orders.aggregate([{$limit: 5}, {$project: {total: 1}}])", "" },
	{ "db.orders.aggregate([{$sort: {total: 1}}, {$limit: 5}, {$lookup: {from: 'users', localField: "
	  "'user_id', "
	  "foreignField: 'id', as: 'u'}}])",
	  "" },
	{ "db.orders.aggregate([{$limit: 5}, {$count: 'n'}])", "" },
	{ "db.orders.aggregate([{$match: {id: 1}}, {$skip: 2}, {$limit: 5}, {$group: {_id: '$total'}}])",
	  "any 5 2 0 " PIPELINE "{$match: {id: 1}},])" },
	{ "db.orders.aggregate([{$sort: {total: 1}}, {$limit: 5}, {$unwind: '$id'}])",
	  "order 5 0 1 " PIPELINE
	  "{$sort:{total: 1}},{$addFields:{assayd_sort_key_0:{$ifNull:[\"$total\",null]}}},])" },
	{ "db.orders.aggregate([{$limit: 5}, {$sort: {total: 1}}])", "any 5 0 0 " PIPELINE "])" },
	{ "db.orders.aggregate([{$limit: 9}, {$match: {id: 1}}, {$limit: 3}, {$group: {_id: '$total'}}])",
	  "any 3 0 0 " PIPELINE "{$limit: 9},{$match: {id: 1}},]); any 9 0 0 " PIPELINE "])" },
	{ "db.orders.aggregate([{$limit: 5}, {$skip: 2}, {$group: {_id: '$total'}}])", "any" },
	{ "db.orders.aggregate([{$limit: 5}, {$group: {_id: '$total'}}], {collation: {locale: 'de'}})", "" },
};

static void cuts_of_pipelines_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		struct arena *arena = arena_new();
		const struct sql_request request = { .sql = str_from(documents[i].mongosh),
						     .dialect = SQL_MONGODB,
						     .target_named = true,
						     .catalog = mongodb_catalog };
		struct sql_analysis analysis;
		struct inner_cut *shown;
		struct buf text = BUF_INIT;
		sql_analyse(&request, arena, &analysis);
		size_t count = inner_cuts_show(&request, &analysis, arena, &shown);
		buf_append_text(&text, "");
		for (size_t cut = 0; cut < count; cut++)
			put_cut(&text, &shown[cut]);
		buf_append(&text, "", 1);
		assert_string_equal(text.data, documents[i].cuts);
		buf_free(&text);
		arena_free(arena);
	}
}

/* Of more than are told, the last one is not known. */
static void of_many_the_last_is_unknown(void **state)
{
	(void)state;
	for (size_t d = 0; d < COUNT(dialects); d++) {
		struct arena *arena = arena_new();
		struct buf sql = BUF_INIT;
		struct sql_analysis analysis;
		buf_append_text(&sql, "SELECT 1");
		for (int i = 0; i < SQL_MAX_INNER_CUTS + 3; i++)
			buf_append_text(&sql, ", (SELECT total FROM orders ORDER BY total LIMIT 1)");
		buf_append(&sql, "", 1);
		struct sql_request request = request_of(sql.data, d);
		sql_analyse(&request, arena, &analysis);
		assert_int_equal(analysis.inner_cuts_count, SQL_MAX_INNER_CUTS);
		assert_true(analysis.inner_cuts[0].ordered && analysis.inner_cuts[0].offset >= 0);
		assert_false(analysis.inner_cuts[SQL_MAX_INNER_CUTS - 1].ordered);
		buf_free(&sql);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_are_found_and_asked_about),
		cmocka_unit_test(cuts_of_pipelines_are_found),
		cmocka_unit_test(of_many_the_last_is_unknown),
	};
	return cmocka_run_group_tests(tests, load_catalogs, drop_catalogs);
}
