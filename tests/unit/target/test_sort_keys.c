/* Ties of sort keys that the truth does not return, on a real SQLite file through a real worker process. */
#include "sql/sort_keys.h"

#include "tests/unit/target/calls.h"

#include <sqlite3.h>
#include <sys/stat.h>

static char directory[] = "/tmp/assayd-test-keys-XXXXXX";
static char path[256];
static struct targets *targets;

static const char schema[] =
	"CREATE TABLE team (name TEXT, points INTEGER, lost INTEGER);"
	"INSERT INTO team VALUES ('a', 3, 1), ('b', 3, 1), ('c', 3, 0), ('d', 1, 0), (NULL, 1, 2);";

static const struct {
	const char *fault, *generated, *truth;
	double score;
} cases[] = {
	{ "ties of a hidden key are punished", "SELECT name FROM team ORDER BY points DESC, name DESC",
	  "SELECT name FROM team ORDER BY points DESC", 1.0 },
	{ "a hidden key is forgotten", "SELECT name FROM team ORDER BY points, name",
	  "SELECT name FROM team ORDER BY points DESC", 0.0 },
	{ "ties of the first of two keys are taken for ties of both",
	  "SELECT name FROM team ORDER BY points DESC, lost DESC, name",
	  "SELECT name FROM team ORDER BY points DESC, lost, name IS NULL", 0.0 },
	{ "a visible key is forgotten beside a hidden one",
	  "SELECT points, name FROM team ORDER BY points DESC, lost, name DESC",
	  "SELECT points, name FROM team ORDER BY points DESC, lost", 1.0 },
	{ "ties of an aggregate are punished",
	  "SELECT lost FROM team GROUP BY lost ORDER BY count(*) DESC, lost DESC",
	  "SELECT lost FROM team GROUP BY lost ORDER BY count(*) DESC", 1.0 },
	{ "rows are taken that the keys allow and the data do not",
	  "SELECT 'x' FROM team ORDER BY points DESC", "SELECT name FROM team ORDER BY points DESC", 0.0 },
	{ "a cut through a tie of a hidden key is punished", "SELECT 'b' AS name",
	  "SELECT name FROM team WHERE lost = 1 ORDER BY points LIMIT 1", 1.0 },
	{ "a cut is excused where the keys differ", "SELECT 'c' AS name",
	  "SELECT name FROM team ORDER BY points, lost LIMIT 1", 0.0 },
	{ "whatever has the key's value is taken for a row that ties", "SELECT 3 AS points, 'x' AS name",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1", 0.0 },
	{ "a row that ties behind the cut is punished", "SELECT 3 AS points, 'c' AS name",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1", 1.0 },
	{ "a result below its LIMIT was cut",
	  "SELECT points, coalesce(name, 'z') AS name FROM team ORDER BY points DESC LIMIT 9",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 9", 0.0 },
	{ "rows before an OFFSET are punished", "SELECT 3 AS points, 'a' AS name UNION ALL SELECT 3, 'c'",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 2 OFFSET 1", 1.0 },
	{ "a row is given twice, once from behind the cut",
	  "SELECT 3 AS points, 'a' AS name UNION ALL SELECT 3, 'a'",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1, 2", 0.0 },
	{ "columns of other names are paired by the rows kept alone", "SELECT 'c' AS who, 3 AS n",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1", 1.0 },
	{ "a LIMIT that is no number excuses nothing more", "SELECT 3 AS points, 'a' AS name",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 2 - 1", 1.0 },
	{ "a key that fails as a column takes the truth with it",
	  "SELECT -points AS n FROM team ORDER BY n + 0", "SELECT -points AS n FROM team ORDER BY n + 0",
	  1.0 },
};

static int set_up(void **state)
{
	(void)state;
	sqlite3 *database;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/league.db", directory);
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, schema, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(database);
	struct target_settings settings = sqlite_settings("league", path);
	targets = start_targets(&settings, 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	unlink(path);
	return rmdir(directory);
}

/* As an event asks: with the order as the analysis of the truth has found it. */
static void describe(struct test_call *test, const char *truth)
{
	const struct sql_request request = { .sql = str_from(truth), .dialect = SQL_SQLITE };
	struct sql_analysis analysis;
	sql_analyse(&request, test->call.arena, &analysis);
	test->truths[0].ordered = analysis.ordered;
	test->truths[0].limited = analysis.limited;
	test->truths[0].order_keys = analysis.order_keys;
	test->truths[0].order_keys_count = analysis.order_keys_count;
	sort_keys_show(&request, &analysis, test->call.arena, &test->truths[0].shown);
}

static void hidden_ties(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct test_call test;
		test_call_init(&test, "league", cases[i].generated, cases[i].truth);
		describe(&test, cases[i].truth);
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		bool right = cases[i].score >= 1.0 ? result->score >= 1.0 : result->score < 1.0;
		if (result->status != VALIDATION_COMPARED || !right)
			fail_msg("%s: %s, score %g: " STR_FMT, cases[i].fault,
				 validation_status_name(result->status), result->score,
				 STR_ARG(result->message));
		test_call_free(&test);
	}
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = { cmocka_unit_test(hidden_ties) };
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
