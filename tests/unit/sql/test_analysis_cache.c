/*
 * What the cache says of a request is what an analysis of its own says, whoever asked before and for what;
 * and it holds no more than it may.
 */
#include "sql/analysis_cache.h"

#include "common/buf.h"
#include "common/pool.h"
#include "sql/dialects.h"
#include "sql/postgresql/ddl/ddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SCHEMA                                                                                               \
	"CREATE TABLE t (id int PRIMARY KEY, a text, b numeric); CREATE TABLE u (id int, t_id int, a text);" \
	"CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql STABLE AS '';"

static struct catalog *catalog, *twin, *other;

static const char *const statements[] = {
	"SELECT t.id, u.a FROM t JOIN u ON u.t_id = t.id WHERE t.a LIKE '%x' ORDER BY 1 DESC LIMIT 3",
	"```sql\nSELECT nope FROM (SELECT a FROM t LIMIT 1) q LIMIT 1;\n```",
	"SELECT pg_sleep(10), f(1) FROM nowhere; DROP TABLE t",
	"SELECT count(*), b FROM t GROUP BY b HAVING max(id) > 3 UNION SELECT 1, 2",
	"SELECT (",
	"",
	"Sorry, I cannot answer that.",
};

#define STATEMENTS (sizeof statements / sizeof *statements)

static void write_texts(struct buf *out, const str_t *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "[" STR_FMT "]", STR_ARG(texts[i]));
}

static const char *present(str_t text)
{
	return str_present(text) ? text.ptr : "(absent)";
}

/* All of it as a text, so that two can be held against each other. */
static void describe(const struct sql_analysis *of, struct buf *out)
{
	buf_printf(out, "%s|%zu|%d%d|%d|%s|%d|%s|%s|%d%d%d|", present(of->text), of->text_offset, of->valid,
		   of->names_resolved, of->verdict, present(of->doubt), of->tables_known,
		   present(of->canonical), present(of->shape), of->ordered, of->order_unsure, of->limited);
	for (size_t i = 0; i < of->diagnostics_count; i++) {
		const struct sql_diagnostic *each = &of->diagnostics[i];
		buf_printf(out, "d %s %s %d %s %s %lld %s %u;", each->code,
			   each->sub_code ? each->sub_code : "-", each->severity, present(each->object),
			   present(each->message), (long long)each->offset,
			   each->sqlstate ? each->sqlstate : "-", each->order);
	}
	for (size_t i = 0; i < of->violations_count; i++)
		buf_printf(out, "v %s %s %lld;", of->violations[i].code, present(of->violations[i].detail),
			   (long long)of->violations[i].offset);
	write_texts(out, of->tables, of->tables_count);
	for (size_t clause = 0; clause < SQL_CLAUSE_COUNT_; clause++)
		write_texts(out, of->clauses[clause].items, of->clauses[clause].count);
	for (size_t i = 0; i < of->order_keys_count; i++)
		buf_printf(out, "o %d %d%d;", of->order_keys[i].column, of->order_keys[i].descending,
			   of->order_keys[i].nulls_first);
	for (size_t i = 0; i < of->inner_cuts_count; i++)
		buf_printf(out, "c %lld %d%d%d;", (long long)of->inner_cuts[i].offset,
			   of->inner_cuts[i].ordered, of->inner_cuts[i].distinct_on, of->inner_cuts[i].alone);
}

static bool same(const struct sql_analysis *a, const struct sql_analysis *b)
{
	_cleanup_(buf_free) struct buf left = BUF_INIT, right = BUF_INIT;
	describe(a, &left);
	describe(b, &right);
	return str_equal(buf_str(&left), buf_str(&right));
}

static struct sql_request about(const char *sql)
{
	return (struct sql_request){ .sql = str_from(sql), .target_named = true, .catalog = catalog };
}

/* Whether the cache says what an analysis of its own says. */
static bool right(struct analysis_cache *cache, struct sql_request request)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sql_analysis kept, made;
	analysis_cache_analyse(cache, &request, arena, &kept);
	sql_analyse(&request, arena, &made);
	return same(&kept, &made);
}

static uint64_t hits(struct analysis_cache *cache)
{
	return analysis_cache_statistics(cache).hits;
}

/* Asks, and says whether it was there. */
static bool hit(struct analysis_cache *cache, struct sql_request request)
{
	uint64_t before = hits(cache);
	assert_true(right(cache, request));
	return hits(cache) == before + 1;
}

static void keeps_from_the_second_time_on(void **state)
{
	(void)state;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	for (size_t i = 0; i < STATEMENTS; i++) {
		assert_false(hit(cache, about(statements[i])));
		assert_false(hit(cache, about(statements[i])));
		assert_true(hit(cache, about(statements[i])));
	}
	struct analysis_cache_statistics statistics = analysis_cache_statistics(cache);
	assert_int_equal(statistics.hits, STATEMENTS);
	assert_int_equal(statistics.misses, 2 * STATEMENTS);
	assert_int_equal(statistics.entries, STATEMENTS);
	analysis_cache_free(cache);
}

static void what_it_gives_is_the_callers(void **state)
{
	(void)state;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	struct arena *arena = arena_new();
	struct sql_request request = about(statements[0]);
	struct sql_analysis kept, made;
	for (int i = 0; i < 3; i++)
		analysis_cache_analyse(cache, &request, arena, &kept);
	assert_int_equal(hits(cache), 1);
	analysis_cache_free(cache);
	sql_analyse(&request, arena, &made);
	assert_true(same(&kept, &made));
	arena_free(arena);
}

static void what_an_analysis_follows_from_is_told_apart(void **state)
{
	(void)state;
	static const struct sql_required_column tenant = { { "t", 1 }, { "b", 1 } };
	static const struct sql_policy policies[] = { { .required_columns = &tenant,
							.required_columns_count = 1 },
						      { .user_functions = SQL_USER_FUNCTIONS_NONE } };
	str_t sql = STR("SELECT f(id), \"a\" FROM t WHERE nope LIMIT 1");
	const struct sql_request requests[] = {
		{ .sql = sql },
		{ .sql = sql, .target_named = true },
		{ .sql = sql, .catalog = catalog },
		{ .sql = sql, .catalog = twin },
		{ .sql = sql, .catalog = other },
		{ .sql = sql, .catalog = catalog, .target_named = true },
		{ .sql = sql, .catalog = catalog, .policy = &policies[0] },
		{ .sql = sql, .catalog = catalog, .policy = &policies[1] },
		{ .sql = sql, .dialect = SQL_SQLITE },
		{ .sql = sql, .dialect = SQL_MYSQL },
		{ .sql = STR("SELECT f(id), \"a\" FROM t WHERE nope LIMIT 1 ") },
		{ .sql = STR("SELECT f(id), \"A\" FROM t WHERE nope LIMIT 1") },
	};
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		assert_false(hit(cache, requests[i]));
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		assert_true(right(cache, requests[i]));
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		assert_true(hit(cache, requests[i]));
	analysis_cache_free(cache);
}

/* A text that came before is kept at once under another catalog, as all are when a target's is read again. */
static void a_catalog_may_be_gone(void **state)
{
	(void)state;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	for (int i = 0; i < 20; i++) { /* the next one may well stand where the last one stood */
		struct catalog *passing = NULL;
		assert_int_equal(ddl_compile(i % 2 ? STR("CREATE TABLE t (id int, a text, b int);")
						   : STR("CREATE TABLE u (id int);"),
					     &passing, NULL),
				 ERR_OK);
		struct sql_request request = about("SELECT a, b FROM t LIMIT 3");
		request.catalog = passing;
		assert_false(hit(cache, request));
		assert_int_equal(hit(cache, request), i > 0);
		catalog_unref(passing);
	}
	analysis_cache_free(cache);
}

static const char *numbered(struct buf *text, unsigned number)
{
	buf_reset(text);
	buf_printf(text, "SELECT a FROM t WHERE id = %u LIMIT 1", number);
	return text->data;
}

static void holds_no_more_than_it_may(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	for (unsigned i = 0; i < 1000; i++)
		for (int time = 0; time < 2; time++)
			assert_false(hit(cache, about(numbered(&text, i))));
	struct analysis_cache_statistics statistics = analysis_cache_statistics(cache);
	assert_in_range(statistics.bytes, (1 << 20) / 2, 1 << 20);
	assert_in_range(statistics.entries, 50, 999);
	assert_true(hit(cache, about(numbered(&text, 999))));
	analysis_cache_free(cache);
}

static void what_comes_once_pushes_out_nothing(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	for (int time = 0; time < 2; time++)
		assert_false(hit(cache, about(statements[0])));
	for (unsigned i = 0; i < 2000; i++)
		assert_false(hit(cache, about(numbered(&text, i))));
	assert_true(hit(cache, about(statements[0])));
	analysis_cache_free(cache);
}

static void what_is_asked_for_stays(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	for (int time = 0; time < 2; time++)
		assert_false(hit(cache, about(statements[0])));
	for (unsigned i = 0; i < 1000; i++) {
		for (int time = 0; time < 2; time++)
			assert_false(hit(cache, about(numbered(&text, i))));
		assert_true(hit(cache, about(statements[0])));
	}
	analysis_cache_free(cache);
}

static void what_is_too_large_is_not_kept(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct analysis_cache *cache = analysis_cache_new(1 << 20);
	buf_append_text(&text, "SELECT 1");
	while (text.len < 60000)
		buf_append_text(&text, ", 'another text'");
	for (int time = 0; time < 4; time++)
		assert_false(hit(cache, about(text.data)));
	assert_int_equal(analysis_cache_statistics(cache).entries, 0);
	analysis_cache_free(cache);
}

static void none_is_no_cache(void **state)
{
	(void)state;
	assert_null(analysis_cache_new(0));
	assert_true(right(NULL, about(statements[0])));
	assert_int_equal(analysis_cache_statistics(NULL).misses, 0);
	analysis_cache_free(NULL);
}

#define THREADS 8

struct crowd {
	struct analysis_cache *cache;
	unsigned wrong[THREADS];
};

/* All want the same few texts and some that go and come, in a cache that has no room for all. */
static void ask(void *context, unsigned index)
{
	struct crowd *crowd = context;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	for (unsigned i = 0; i < 400; i++) {
		crowd->wrong[index] += !right(crowd->cache, about(statements[(i + index) % STATEMENTS]));
		crowd->wrong[index] += !right(crowd->cache, about(numbered(&text, (i + index) % 397)));
	}
}

static void threads_share_it(void **state)
{
	(void)state;
	struct crowd crowd = { .cache = analysis_cache_new(1 << 20) };
	pool_join(pool_start("analyse", THREADS, ask, &crowd));
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(crowd.wrong[i], 0);
	struct analysis_cache_statistics statistics = analysis_cache_statistics(crowd.cache);
	assert_int_equal(statistics.hits + statistics.misses, THREADS * 400 * 2);
	assert_in_range(statistics.hits, 1, THREADS * 400 * 2);
	assert_in_range(statistics.bytes, 0, 1 << 20);
	analysis_cache_free(crowd.cache);
}

static int load(void **state)
{
	(void)state;
	return ddl_compile(STR(SCHEMA), &catalog, NULL) || ddl_compile(STR(SCHEMA), &twin, NULL) ||
	       ddl_compile(STR("CREATE TABLE t (id text, nope bool);"), &other, NULL);
}

static int drop(void **state)
{
	(void)state;
	catalog_unref(catalog);
	catalog_unref(twin);
	catalog_unref(other);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_from_the_second_time_on),
		cmocka_unit_test(what_it_gives_is_the_callers),
		cmocka_unit_test(what_an_analysis_follows_from_is_told_apart),
		cmocka_unit_test(a_catalog_may_be_gone),
		cmocka_unit_test(holds_no_more_than_it_may),
		cmocka_unit_test(what_comes_once_pushes_out_nothing),
		cmocka_unit_test(what_is_asked_for_stays),
		cmocka_unit_test(what_is_too_large_is_not_kept),
		cmocka_unit_test(none_is_no_cache),
		cmocka_unit_test(threads_share_it),
	};
	return cmocka_run_group_tests(tests, load, drop);
}
