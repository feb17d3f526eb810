/* Ties of sort keys that the truth does not return, on a real SQLite file through a real worker process. */
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/unit/target/cases.h"

static struct test_sqlite league;
static struct targets *targets;

static const char schema[] =
	"CREATE TABLE team (name TEXT, points INTEGER, lost INTEGER);"
	"INSERT INTO team VALUES ('a', 3, 1), ('b', 3, 1), ('c', 3, 0), ('d', 1, 0), (NULL, 1, 2);"
	"CREATE TABLE crowd (k INTEGER, n INTEGER);"
	"WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 50) "
	"INSERT INTO crowd SELECT 1, n FROM i;"
	"CREATE TABLE person (v TEXT, w TEXT COLLATE NOCASE, id INTEGER);"
	"INSERT INTO person VALUES ('Ann', 'Ann', 1), ('ann', 'ann', 2), ('bob', 'bob', 3), (NULL, NULL, 4);";

static const struct tie_case cases[] = {
	{ "ties of a hidden key are punished", "SELECT name FROM team ORDER BY points DESC, name DESC",
	  "SELECT name FROM team ORDER BY points DESC", true },
	{ "a hidden key is forgotten", "SELECT name FROM team ORDER BY points, name",
	  "SELECT name FROM team ORDER BY points DESC", false },
	{ "ties of the first of two keys are taken for ties of both",
	  "SELECT name FROM team ORDER BY points DESC, lost DESC, name",
	  "SELECT name FROM team ORDER BY points DESC, lost, name IS NULL", false },
	{ "a visible key is forgotten beside a hidden one",
	  "SELECT points, name FROM team ORDER BY points DESC, lost, name DESC",
	  "SELECT points, name FROM team ORDER BY points DESC, lost", true },
	{ "ties of an aggregate are punished",
	  "SELECT lost FROM team GROUP BY lost ORDER BY count(*) DESC, lost DESC",
	  "SELECT lost FROM team GROUP BY lost ORDER BY count(*) DESC", true },
	{ "rows are taken that the keys allow and the data do not",
	  "SELECT 'x' FROM team ORDER BY points DESC", "SELECT name FROM team ORDER BY points DESC", false },
	{ "a cut through a tie of a hidden key is punished", "SELECT 'b' AS name",
	  "SELECT name FROM team WHERE lost = 1 ORDER BY points LIMIT 1", true },
	{ "a cut is excused where the keys differ", "SELECT 'c' AS name",
	  "SELECT name FROM team ORDER BY points, lost LIMIT 1", false },
	{ "whatever has the key's value is taken for a row that ties", "SELECT 3 AS points, 'x' AS name",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1", false },
	{ "a row that ties behind the cut is punished", "SELECT 3 AS points, 'c' AS name",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1", true },
	{ "a result below its LIMIT was cut",
	  "SELECT points, coalesce(name, 'z') AS name FROM team ORDER BY points DESC LIMIT 9",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 9", false },
	{ "rows before an OFFSET are punished", "SELECT 3 AS points, 'a' AS name UNION ALL SELECT 3, 'c'",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 2 OFFSET 1", true },
	{ "a row is given twice, once from behind the cut",
	  "SELECT 3 AS points, 'a' AS name UNION ALL SELECT 3, 'a'",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1, 2", false },
	{ "columns of other names are paired by the rows kept alone", "SELECT 'c' AS who, 3 AS n",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 1", true },
	{ "a LIMIT that is no number excuses nothing more", "SELECT 3 AS points, 'a' AS name",
	  "SELECT points, name FROM team ORDER BY points DESC LIMIT 2 - 1", true },
	{ "a key that fails as a column takes the truth with it",
	  "SELECT -points AS n FROM team ORDER BY n + 0", "SELECT -points AS n FROM team ORDER BY n + 0",
	  true },
	{ "a collation of the key is forgotten",
	  "SELECT v, id FROM person ORDER BY v COLLATE NOCASE, id DESC",
	  "SELECT v, id FROM person ORDER BY v COLLATE NOCASE", true },
	{ "a collation of the column is forgotten", "SELECT w FROM person ORDER BY w COLLATE BINARY DESC",
	  "SELECT w FROM person ORDER BY w DESC", true },
	{ "a collation ties all", "SELECT w FROM person ORDER BY w DESC", "SELECT w FROM person ORDER BY w",
	  false },
	{ "a hidden key has no collation", "SELECT id FROM person ORDER BY v COLLATE NOCASE DESC, id DESC",
	  "SELECT id FROM person ORDER BY v COLLATE NOCASE DESC", true },
	{ "a collation of a hidden key ties all",
	  "SELECT id FROM person ORDER BY v COLLATE NOCASE, id DESC LIMIT 3",
	  "SELECT id FROM person ORDER BY v LIMIT 3", false },
	{ "a position with a collation is a constant", "SELECT v FROM person ORDER BY id DESC",
	  "SELECT v FROM person ORDER BY 1 COLLATE NOCASE", NOT_PROVEN },
	{ "an alias and a position are no keys", "SELECT v AS w, id FROM person ORDER BY v DESC",
	  "SELECT v AS w, id FROM person ORDER BY 1 COLLATE NOCASE DESC, w", NOT_PROVEN },
	{ "DISTINCT keeps a collation from being seen", "SELECT DISTINCT v, w FROM person ORDER BY w, v DESC",
	  "SELECT DISTINCT v, w FROM person ORDER BY w", true },
	{ "a union keeps a collation from being seen",
	  "SELECT 'b' AS w UNION ALL SELECT 'ann' UNION ALL SELECT 'Ann' UNION ALL SELECT NULL",
	  "SELECT w FROM person WHERE id <> 3 UNION ALL SELECT 'b' ORDER BY w DESC", true },
	{ "a tie at a cut by a collation is punished", "SELECT 'ann' AS w, 2 AS id",
	  "SELECT w, id FROM person WHERE id < 4 ORDER BY w LIMIT 1", true },
	{ "without a collation it is none", "SELECT 'ann' AS v, 2 AS id",
	  "SELECT v, id FROM person WHERE id < 4 ORDER BY v LIMIT 1", false },
	{ "ties of an expression of an output are punished",
	  "SELECT points, name FROM team ORDER BY points % 2, name DESC",
	  "SELECT points, name FROM team ORDER BY points % 2", true },
	{ "an expression of an output is forgotten", "SELECT points, lost FROM team ORDER BY lost % 2 DESC",
	  "SELECT points, lost FROM team ORDER BY lost % 2", false },
	{ "what ties by an expression of an alias is known",
	  "SELECT name, points * 2 AS twice FROM team ORDER BY twice % 4 DESC, name DESC",
	  "SELECT name, points * 2 AS twice FROM team ORDER BY twice % 4 DESC", NOT_PROVEN },
	{ "other rows tie by an expression of an alias", "SELECT name, points * 3 AS twice FROM team",
	  "SELECT name, points * 2 AS twice FROM team ORDER BY twice % 4 DESC", false },
	{ "what ties behind DISTINCT is known", "SELECT DISTINCT lost FROM team ORDER BY lost % 2, lost DESC",
	  "SELECT DISTINCT lost FROM team ORDER BY lost % 2", NOT_PROVEN },
	{ "a cut through a tie behind DISTINCT is known", "SELECT 2 AS lost",
	  "SELECT DISTINCT lost FROM team ORDER BY lost % 2 LIMIT 1", NOT_PROVEN },
	{ "a comment at the end hides the rest",
	  "SELECT v, id FROM person ORDER BY v COLLATE NOCASE, id DESC",
	  "SELECT v, id FROM person ORDER BY v COLLATE NOCASE -- in any case", true },
};

static int set_up(void **state)
{
	(void)state;
	test_sqlite_make(&league, schema);
	struct target_settings settings = sqlite_settings("league", league.path);
	targets = start_targets(&settings, 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return test_sqlite_remove(&league);
}

static void ties_are_asked_for(void **state)
{
	(void)state;
	check_ties(targets, "league", SQL_SQLITE, cases, sizeof cases / sizeof *cases);
}

/* In full, too. */
static const struct tie_case streamed[] = {
	{ "what ties behind DISTINCT is known", "SELECT DISTINCT n FROM crowd ORDER BY n % 7, n DESC",
	  "SELECT DISTINCT n FROM crowd ORDER BY n % 7", NOT_PROVEN },
	{ "another count ties", "SELECT DISTINCT n FROM crowd WHERE n > 1 ORDER BY n % 7",
	  "SELECT DISTINCT n FROM crowd ORDER BY n % 7", false },
	{ "ties of an expression of an output are punished", "SELECT n FROM crowd ORDER BY n % 7, n DESC",
	  "SELECT n FROM crowd ORDER BY n % 7", true },
	{ "an expression of an output is forgotten", "SELECT n FROM crowd ORDER BY n % 7 DESC",
	  "SELECT n FROM crowd ORDER BY n % 7", false },
};

/* One row more than max_rows is asked for: who ties behind it is not seen. */
static void ties_longer_than_what_is_fetched_stay_doubtful(void **state)
{
	(void)state;
	static const struct {
		const char *what, *generated;
		bool cut_tie, final;
		double score;
	} pairs[] = {
		{ "the same rows", "SELECT k, n FROM crowd ORDER BY k, n LIMIT 5", false, true, 1 },
		{ "others that tie and were seen", "SELECT k, n FROM crowd WHERE n > 5 ORDER BY n LIMIT 5",
		  true, false, 1 },
		{ "others that tie and were not seen",
		  "SELECT k, n FROM crowd WHERE n > 40 ORDER BY n LIMIT 5", true, false, 1 },
		{ "made up, with the key", "SELECT 1 AS k, n + 900 AS n FROM crowd LIMIT 5", true, false, 1 },
		{ "of another key", "SELECT 2 AS k, n FROM crowd ORDER BY n LIMIT 5", false, false, 0 },
	};
	struct target_settings settings = sqlite_settings("few", league.path);
	settings.connections = 1;
	settings.max_rows = 10;
	settings.stream_large_results = true;
	struct targets *few = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(few, 30000);
	for (size_t i = 0; i < 2 * sizeof pairs / sizeof *pairs; i++) {
		size_t pair = i / 2;
		struct test_call test;
		test_call_init(&test, "few", pairs[pair].generated,
			       "SELECT k, n FROM crowd ORDER BY k LIMIT 5");
		describe_truth(&test, SQL_SQLITE);
		targets_submit(few, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		bool final = i > 0 && pairs[pair].final; /* the first of all has no truth in the cache */
		if (result->limit_cut_tie != pairs[pair].cut_tie || result->truth_cached != final ||
		    result->score < pairs[pair].score || result->score > pairs[pair].score)
			fail_msg("%s: score %g, cut tie %d, cached %d", pairs[pair].what, result->score,
				 result->limit_cut_tie, result->truth_cached);
		test_call_free(&test);
	}
	check_ties(few, "few", SQL_SQLITE, streamed, sizeof streamed / sizeof *streamed);
	targets_stop(few);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = { cmocka_unit_test(ties_are_asked_for),
					    cmocka_unit_test(
						    ties_longer_than_what_is_fetched_stay_doubtful) };
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
