/*
 * The deepest statements that the gate lets pass, on a stack of the size that workers have: they are judged,
 * or refused as too deep, in bounded time and memory.
 */
#include "common/buf.h"
#include "common/pool.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define MAX_MS	  10000 /* of the processor; generous: sanitizers */
#define MAX_BYTES ((size_t)64 << 20)

static const struct shape {
	const char *open;
	const char *repeat;
	const char *close_each;
	const char *close;
	unsigned count;
} shapes[] = {
	{ "SELECT 1", "+1", "", "", 4000 },
	{ "SELECT 1", "+1", "", "", 30000 },
	{ "SELECT 1", "||'x'", "", "", 4000 },
	{ "SELECT ", "(", ")", "1", 120 },
	{ "SELECT ", "(", ")", "1", 5000 },
	{ "SELECT ", "lower(", ")", "'x'", 120 },
	{ "SELECT ", "NOT ", "", "true", 4000 },
	{ "SELECT ", "- ", "", "1", 4000 },
	{ "SELECT 1", " UNION SELECT 1", "", "", 500 },
	{ "SELECT 1", " EXCEPT SELECT 1", "", "", 500 },
	{ "SELECT 1 WHERE a=1", " AND a=1", "", "", 4000 },
	{ "SELECT 1 WHERE a=1", " OR a BETWEEN 1 AND 2", "", "", 1500 },
	{ "SELECT * FROM a", " JOIN a USING (i)", "", "", 400 },
	{ "SELECT * FROM a", " LEFT JOIN a ON true", "", "", 1000 },
	{ "SELECT 1 FROM ", "(SELECT * FROM ", ") s", "t", 100 },
	{ "SELECT ", "(SELECT ", ")", "1", 100 },
	{ "SELECT a", "::text", "", "", 4000 },
	{ "SELECT (a)", ".b", "", "", 4000 },
	{ "SELECT a", "[1]", "", "", 4000 },
	{ "SELECT a", ",a", "", " FROM t ORDER BY 1,2,3,4", 9000 },
	{ "SELECT a", " COLLATE \"C\"", "", "", 4000 },
};

/* Of this thread: the machine may be busy. */
static int64_t cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void analyse_shape(const struct shape *shape, enum sql_dialect dialect)
{
	struct arena *arena = arena_new();
	struct buf sql = BUF_INIT;
	buf_append_text(&sql, shape->open);
	for (unsigned i = 0; i < shape->count; i++)
		buf_append_text(&sql, shape->repeat);
	buf_append_text(&sql, shape->close);
	for (unsigned i = 0; i < shape->count; i++)
		buf_append_text(&sql, shape->close_each);
	struct sql_request request = { .sql = buf_str(&sql), .dialect = dialect };
	struct sql_analysis analysis = { 0 };
	int64_t start_ms = cpu_ms();
	sql_analyse(&request, arena, &analysis);
	int64_t ms = cpu_ms() - start_ms;
	if (ms > MAX_MS || arena_size_bytes(arena) > MAX_BYTES)
		print_error("%s … %u: %lld ms, %zu bytes\n", shape->repeat, shape->count, (long long)ms,
			    arena_size_bytes(arena));
	if (ms > MAX_MS || arena_size_bytes(arena) > MAX_BYTES)
		abort();
	if (analysis.verdict != SQL_SAFE && analysis.violations_count == 0)
		abort(); /* asserts of the test library belong to its own thread */
	buf_free(&sql);
	arena_free(arena);
}

static void run(void *context, unsigned index)
{
	(void)context, (void)index;
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		analyse_shape(&shapes[i], SQL_POSTGRESQL);
		analyse_shape(&shapes[i], SQL_SQLITE);
	}
}

static void test_deepest_statements(void **state)
{
	(void)state;
	pool_join(pool_start("depth", 1, run, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_deepest_statements) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
