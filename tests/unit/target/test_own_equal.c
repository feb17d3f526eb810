/*
 * Truths that allow more than one result: those that are not their own equal, those of which any rows would
 * do, and those whose rows have no columns. On a real PostgreSQL, a real MariaDB, a real server that speaks
 * MongoDB's protocol and SQLite.
 */
#include <mongoc/mongoc.h> // first: it calls what banned.h forbids

#include "tests/unit/target/mariadb_server.h" // so does this one

#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/cases.h"
#include "tests/unit/target/mongodb_server.h"

#include <libpq-fe.h>

#define LIMIT 200

static struct test_postgres server;
static bool has_server, has_shop, has_documents;
static struct test_sqlite file;
static struct targets *targets;

/* `few` has 100 rows, `big` 1,000. */
static const char sqlite_schema[] =
	"CREATE TABLE big (n INTEGER PRIMARY KEY, v TEXT, f REAL);"
	"WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000)"
	" INSERT INTO big SELECT i, 'v' || i, i / 7.0 FROM s;"
	"CREATE TABLE few AS SELECT * FROM big WHERE n <= 100";
static const char postgresql_schema[] =
	"CREATE TABLE big (n int PRIMARY KEY, v text, f float8);"
	"INSERT INTO big SELECT i, 'v' || i, i / 7.0 FROM generate_series(1, 1000) AS i;"
	"CREATE TABLE few AS SELECT * FROM big WHERE n <= 100;"
	"GRANT SELECT ON big, few TO PUBLIC; CREATE ROLE reader LOGIN";
static const char *const mariadb_schema[] = {
	"CREATE TABLE shop.big (n int PRIMARY KEY, v varchar(20), f double)",
	"INSERT INTO shop.big SELECT seq, CONCAT('v', seq), seq / 7.0e0 FROM shop.seq_1_to_1000",
	"CREATE TABLE shop.few AS SELECT * FROM shop.big WHERE n <= 100",
};

static const struct engine_under_test {
	const char *target;
	enum sql_dialect dialect;
	const bool *there;
	const char *random; /* a function of it */
} engines[] = {
	{ "file", SQL_SQLITE, NULL, "random()" },
	{ "server", SQL_POSTGRESQL, &has_server, "random()" },
	{ "shop", SQL_MYSQL, &has_shop, "rand()" },
};

static int set_up(void **state)
{
	static char dsn[320], mariadb_dsn[320];
	struct target_settings settings[4];
	size_t count = 0;
	(void)state;
	test_sqlite_make(&file, sqlite_schema);
	settings[count++] = sqlite_settings("file", file.path);
	if (has_server) {
		PGconn *connection = PQconnectdb(server.socket_dsn);
		PQclear(PQexec(connection, postgresql_schema));
		PQfinish(connection);
		snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server.dir,
			 server.port);
		settings[count++] = postgresql_settings("server", dsn);
	}
	if (has_shop) {
		for (size_t i = 0; i < sizeof mariadb_schema / sizeof mariadb_schema[0]; i++)
			admin(mariadb_schema[i]);
		settings[count++] = mariadb_settings("reader", mariadb_dsn, sizeof mariadb_dsn);
	}
	if (has_documents) {
		mongodb_insert("few", "{\"n\": %1$d, \"v\": \"v%1$d\", \"f\": %1$d.25}", 100);
		mongodb_insert("big", "{\"n\": %1$d, \"v\": \"v%1$d\", \"f\": %1$d.25}", 1000);
		settings[count] = mongodb_settings();
		settings[count++].name = "documents";
	}
	for (size_t i = 0; i < count; i++) {
		settings[i].max_rows = LIMIT;
		settings[i].stream_large_results = true;
		settings[i].statement_timeout_ms = 120000;
	}
	targets = start_targets(settings, count, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return test_sqlite_remove(&file);
}

enum verdict { RIGHT, WRONG, NONE, NONDETERMINISTIC };

static const char *const names[] = { "right", "wrong", "no verdict", "nondeterministic" };

struct own_case {
	const char *what, *generated, *truth; /* `$` is a random number */
	enum verdict verdict;
};

static const struct own_case own_equals[] = {
	{ "a random number", "SELECT $ AS r", "SELECT $ AS r", NONDETERMINISTIC },
	{ "random numbers", "SELECT n, $ AS r FROM few", "SELECT n, $ AS r FROM few", NONDETERMINISTIC },
	{ "a random order", "SELECT n FROM few", "SELECT n FROM few ORDER BY $", NONDETERMINISTIC },
	{ "random numbers beyond the limit", "SELECT n, $ AS r FROM big", "SELECT n, $ AS r FROM big",
	  NONDETERMINISTIC },
	{ "more columns than a random one", "SELECT n, v, $ AS r FROM few", "SELECT n, $ AS r FROM few",
	  WRONG },
	{ "a random number where the truth has none", "SELECT $ AS r", "SELECT 7 AS r", WRONG },
	{ "wrong rows", "SELECT n + 100 AS n FROM few", "SELECT n FROM few", WRONG },
	{ "wrong rows beyond the limit", "SELECT n + 1000 AS n FROM big", "SELECT n FROM big", WRONG },
	{ "the same", "SELECT n FROM few", "SELECT n FROM few", RIGHT },
};

static const struct own_case any_rows[] = {
	{ "other rows", "SELECT n, v FROM few ORDER BY n DESC LIMIT 5", "SELECT n, v FROM few LIMIT 5",
	  RIGHT },
	{ "other rows, columns permuted and renamed", "SELECT v AS y, n AS x FROM few WHERE n > 50 LIMIT 5",
	  "SELECT n, v FROM few LIMIT 5", RIGHT },
	{ "numbers within the tolerance", "SELECT n, f + 0.0000001 AS f FROM few WHERE n > 50 LIMIT 5",
	  "SELECT n, f FROM few LIMIT 5", RIGHT },
	{ "behind an offset", "SELECT n, v FROM few ORDER BY n LIMIT 5",
	  "SELECT n, v FROM few LIMIT 5 OFFSET 9", RIGHT },
	{ "no rows of the truth", "SELECT n + 500 AS n, v FROM few LIMIT 5", "SELECT n, v FROM few LIMIT 5",
	  WRONG },
	{ "rows that the truth's condition leaves out", "SELECT n, v FROM few WHERE n > 50 LIMIT 5",
	  "SELECT n, v FROM few WHERE n <= 50 LIMIT 5", WRONG },
	{ "one row five times",
	  "SELECT few.n, few.v FROM few JOIN few AS o ON o.n <= 5 WHERE few.n = 70 LIMIT 5",
	  "SELECT n, v FROM few LIMIT 5", WRONG },
	{ "too few", "SELECT n, v FROM few ORDER BY n DESC LIMIT 4", "SELECT n, v FROM few LIMIT 5", WRONG },
	{ "too many", "SELECT n, v FROM few ORDER BY n DESC LIMIT 6", "SELECT n, v FROM few LIMIT 5", WRONG },
	{ "other rows of many", "SELECT n, v FROM big ORDER BY n DESC LIMIT 5",
	  "SELECT n, v FROM big LIMIT 5", RIGHT },
	{ "other rows of many, columns permuted", "SELECT v, n FROM big ORDER BY n DESC LIMIT 5",
	  "SELECT n, v FROM big LIMIT 5", RIGHT },
	{ "other rows of many, columns renamed", "SELECT n AS x, v AS y FROM big ORDER BY n DESC LIMIT 5",
	  "SELECT n, v FROM big LIMIT 5", RIGHT },
	{ "other rows of many, within the tolerance",
	  "SELECT n, f - 0.0000001 AS f FROM big ORDER BY n DESC LIMIT 5", "SELECT n, f FROM big LIMIT 5",
	  RIGHT },
	{ "no rows of many", "SELECT n, 'x' AS v FROM big LIMIT 5", "SELECT n, v FROM big LIMIT 5", WRONG },
	{ "more of many than are kept", "SELECT n, v FROM big ORDER BY n DESC LIMIT 500",
	  "SELECT n, v FROM big LIMIT 500", NONDETERMINISTIC },
	{ "more than are kept, and too few", "SELECT n, v FROM big ORDER BY n DESC LIMIT 499",
	  "SELECT n, v FROM big LIMIT 500", WRONG },
	{ "ordered ones are not any", "SELECT n, v FROM few ORDER BY n DESC LIMIT 5",
	  "SELECT n, v FROM few ORDER BY n LIMIT 5", WRONG },
	{ "other rows of a union", "SELECT n + 100 AS n FROM few LIMIT 2",
	  "SELECT n FROM few UNION ALL SELECT n + 100 FROM few LIMIT 2", RIGHT },
};

static const struct own_case any_rows_in_brackets[] = {
	{ "other rows of a union in brackets", "SELECT n + 100 AS n FROM few LIMIT 2",
	  "(SELECT n FROM few) UNION ALL (SELECT n + 100 FROM few) LIMIT 2", RIGHT },
	{ "no rows of a union in brackets", "SELECT n + 500 AS n FROM few LIMIT 2",
	  "(SELECT n FROM few) UNION ALL (SELECT n + 100 FROM few) LIMIT 2", WRONG },
	{ "another row", "SELECT n FROM few WHERE n = 2", "(SELECT n FROM few LIMIT 1)", RIGHT },
	{ "another row, the limit behind brackets", "SELECT n FROM few WHERE n = 2",
	  "((SELECT n FROM few) LIMIT 1)", RIGHT },
	{ "no row of it", "SELECT n + 500 AS n FROM few WHERE n = 2", "(SELECT n FROM few LIMIT 1)", WRONG },
	{ "ordered ones are not any", "SELECT n FROM few WHERE n = 2",
	  "(SELECT n FROM few ORDER BY n LIMIT 1)", WRONG },
	{ "a row that ties", "SELECT n % 2 AS g, n FROM few WHERE n = 98",
	  "(SELECT n % 2 AS g, n FROM few ORDER BY g LIMIT 1)", RIGHT },
	{ "a row that ties by a hidden key", "SELECT n FROM few WHERE n = 8",
	  "(SELECT n FROM few ORDER BY length(v) LIMIT 1)", RIGHT },
	{ "a row that does not tie", "SELECT n FROM few WHERE n = 97",
	  "(SELECT n FROM few ORDER BY length(v) LIMIT 1)", WRONG },
	{ "a row of a union that ties", "SELECT 0 AS g, 98 AS n",
	  "(SELECT n % 2 AS g, n FROM few) UNION ALL (SELECT 1, 7) ORDER BY g LIMIT 1", RIGHT },
	{ "a row of a union that does not tie", "SELECT 1 AS g, 7 AS n",
	  "(SELECT n % 2 AS g, n FROM few) UNION ALL (SELECT 1, 7) ORDER BY g LIMIT 1", WRONG },
};

static const struct own_case limits_of_unknown_size[] = {
	{ "another row", "SELECT n FROM few WHERE n = 2", "SELECT n FROM few LIMIT (SELECT 1)",
	  NONDETERMINISTIC },
	{ "the same row", "SELECT n FROM few WHERE n = 1", "SELECT n FROM few WHERE n < 2 LIMIT (SELECT 1)",
	  RIGHT },
	{ "more rows", "SELECT n FROM few", "SELECT n FROM few LIMIT (SELECT 1)", WRONG },
	{ "more columns", "SELECT n, v FROM few WHERE n = 1", "SELECT n FROM few LIMIT (SELECT 1)", WRONG },
	{ "ordered", "SELECT n FROM few WHERE n = 2", "SELECT n FROM few ORDER BY n LIMIT (SELECT 1)",
	  WRONG },
};

/* `few` has n from 1 to 100; f, a seventh of it, is below 2 in 13 rows. */
static const struct own_case inner_cuts[] = {
	{ "a sum of other rows", "SELECT sum(n) AS n FROM few WHERE n > 90",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few LIMIT 10) AS s", NONDETERMINISTIC },
	{ "a sum of the same rows", "SELECT sum(n) AS n FROM few WHERE n <= 10",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few LIMIT 10) AS s", RIGHT },
	{ "another row of a subquery", "SELECT v FROM few WHERE n = 7",
	  "SELECT v FROM few WHERE n = (SELECT n FROM few WHERE n > 3 LIMIT 1)", NONDETERMINISTIC },
	{ "another count of rows", "SELECT n FROM few WHERE n < 9",
	  "SELECT few.n FROM few JOIN (SELECT n FROM few LIMIT 5) AS s ON few.n = s.n", NONDETERMINISTIC },
	{ "other columns", "SELECT n, v FROM few WHERE n = 1",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few LIMIT 10) AS s", WRONG },
	{ "a WITH query", "SELECT sum(n) AS n FROM few",
	  "WITH w AS (SELECT n FROM few LIMIT 10) SELECT sum(n) AS n FROM w", NONDETERMINISTIC },
	{ "an offset", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few LIMIT 10 OFFSET 5) AS s", NONDETERMINISTIC },
	{ "a limit in a limit", "SELECT sum(n) AS n FROM few WHERE n > 90",
	  "SELECT sum(n) AS n FROM (SELECT n FROM (SELECT n FROM few LIMIT 10) AS a ORDER BY n LIMIT 3) AS b",
	  NONDETERMINISTIC },
	{ "of more rows than are kept", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM big LIMIT 10) AS s", NONDETERMINISTIC },
	{ "more rows than are kept", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM big LIMIT 500) AS s", NONDETERMINISTIC },
	{ "that of another row for each", "SELECT n, n AS m FROM few WHERE n < 5",
	  "SELECT n, (SELECT b.n FROM big AS b WHERE b.n > few.n LIMIT 1) AS m FROM few WHERE n < 5",
	  NONDETERMINISTIC },
	/* It takes all that there are. */
	{ "no more rows than the limit", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few WHERE n < 10 LIMIT 10) AS s", WRONG },
	{ "as many rows as the limit", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few WHERE n <= 10 LIMIT 10) AS s", WRONG },
	{ "no rows behind the offset", "SELECT sum(n) AS n FROM few",
	  "SELECT count(n) AS n FROM (SELECT n FROM few WHERE n < 5 LIMIT 10 OFFSET 0) AS s", WRONG },
	{ "one row that there is", "SELECT v FROM few WHERE n = 7",
	  "SELECT v FROM few WHERE n = (SELECT n FROM few WHERE v = 'v8' LIMIT 1)", WRONG },
	/* … or the same in any case. */
	{ "rows that are all alike", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT 7 AS n FROM few LIMIT 10) AS s", WRONG },
	{ "an aggregate", "SELECT v FROM few WHERE n = 7",
	  "SELECT v FROM few WHERE n = (SELECT max(n) FROM few LIMIT 1)", WRONG },
	{ "an aggregate for each", "SELECT n, n AS m FROM few WHERE n < 5",
	  "SELECT n, (SELECT max(b.n) FROM big AS b WHERE b.n > few.n LIMIT 1) AS m FROM few WHERE n < 5",
	  WRONG },
	{ "whether there is a row", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM few WHERE n < 5 AND EXISTS (SELECT n FROM few LIMIT 1)", WRONG },
	{ "no row at all", "SELECT sum(n) AS n FROM few",
	  "SELECT count(n) AS n FROM (SELECT n FROM few LIMIT 0) AS s", WRONG },
	/* An order decides … */
	{ "an order", "SELECT sum(n) AS n FROM few WHERE n <= 10",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few ORDER BY n DESC LIMIT 10) AS s", WRONG },
	{ "a hidden key", "SELECT v FROM few WHERE n = 1",
	  "SELECT v FROM few WHERE v = (SELECT v FROM few ORDER BY n DESC LIMIT 1)", WRONG },
	{ "an aggregate as key", "SELECT sum(n) AS n FROM few WHERE n <= 10",
	  "SELECT sum(k) AS n FROM (SELECT n % 3 AS k FROM few GROUP BY n % 3 ORDER BY sum(n) LIMIT 1) AS s",
	  WRONG },
	{ "a tie that is not cut", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few ORDER BY f < 2 DESC LIMIT 13) AS s", WRONG },
	{ "a tie of all that there are", "SELECT sum(n) AS n FROM few",
	  "SELECT sum(n) AS n FROM (SELECT n FROM few WHERE n < 5 ORDER BY f < 2 LIMIT 4) AS s", WRONG },
	{ "the second of keys", "SELECT v FROM few WHERE n = 98",
	  "SELECT v FROM few WHERE n = (SELECT n FROM few ORDER BY f < 2, n DESC LIMIT 1 OFFSET 1)", WRONG },
	{ "a tie of the same value", "SELECT v FROM few WHERE n = 7",
	  "SELECT v FROM few WHERE n = 1 + (SELECT n % 2 FROM few ORDER BY n % 2 DESC LIMIT 1)", WRONG },
	/* … or rows tie. */
	{ "a tie", "SELECT v FROM few WHERE n = 7",
	  "SELECT v FROM few WHERE n = (SELECT n FROM few ORDER BY n % 2 DESC LIMIT 1)", NONDETERMINISTIC },
	{ "a tie of an aggregate", "SELECT 77 AS k",
	  "SELECT k FROM (SELECT n % 10 AS k FROM few GROUP BY n % 10 ORDER BY count(*) DESC LIMIT 1) AS s",
	  NONDETERMINISTIC },
	{ "a tie at an offset", "SELECT v FROM few WHERE n = 7",
	  "SELECT v FROM few WHERE n = (SELECT n FROM few WHERE n < 4 ORDER BY n > 2 LIMIT 1 OFFSET 1)",
	  NONDETERMINISTIC },
	{ "a tie among more rows than are kept", "SELECT 7 AS n",
	  "SELECT n FROM (SELECT n FROM big ORDER BY n % 2 DESC LIMIT 1) AS s", NONDETERMINISTIC },
	/* Nobody can be asked: keys are believed. */
	{ "a tie for each", "SELECT n, n AS m FROM few WHERE n < 5",
	  "SELECT n, (SELECT b.n FROM big AS b WHERE b.n > few.n ORDER BY b.n % 2 LIMIT 1) AS m"
	  " FROM few WHERE n < 5",
	  WRONG },
};

static const struct own_case distinct_on[] = {
	{ "any of a key", "SELECT n % 2 AS k, max(n) AS n FROM few GROUP BY n % 2",
	  "SELECT DISTINCT ON (n % 2) n % 2 AS k, n FROM few", NONDETERMINISTIC },
	{ "any of a key, inside", "SELECT 7 AS n",
	  "SELECT sum(n) AS n FROM (SELECT DISTINCT ON (k) k, n FROM (SELECT n % 2 AS k, n FROM few) AS a"
	  " ORDER BY k) AS s",
	  NONDETERMINISTIC },
	{ "a key that decides", "SELECT 7 AS n",
	  "SELECT sum(n) AS n FROM (SELECT DISTINCT ON (n % 2) n FROM few ORDER BY n % 2, n) AS s", WRONG },
};

static const struct own_case no_columns[] = {
	{ "too few", "SELECT FROM few WHERE n <= 5", "SELECT FROM few", WRONG },
	{ "too many", "SELECT FROM few", "SELECT FROM few WHERE n <= 5", WRONG },
	{ "none", "SELECT FROM few WHERE n < 0", "SELECT FROM few", WRONG },
	{ "as many", "SELECT FROM few WHERE n > 0", "SELECT FROM few", RIGHT },
	{ "as many beyond the limit", "SELECT FROM big WHERE n > 0", "SELECT FROM big", RIGHT },
	{ "too few beyond the limit", "SELECT FROM big WHERE n > 1", "SELECT FROM big", WRONG },
	{ "a column", "SELECT n FROM few", "SELECT FROM few", WRONG },
};

#define OF_FEW	       "db.few.find({}, {_id: 0, n: 1, v: 1})"
#define OF_MANY	       "db.big.find({}, {_id: 0, n: 1, v: 1})"
#define SHOWN	       "{$project: {_id: 0, n: 1, v: 1}}])"
#define SUM_OF(stages) "db.few.aggregate([" stages ", {$group: {_id: null, n: {$sum: '$n'}}}])"
#define A_FEW	       "{$match: {n: {$lte: 30}}}, "
#define SAMPLE	       "db.few.aggregate([" A_FEW "{$sample: {size: 5}}, " SHOWN

/* Of MongoDB. The server sorts its samples by chance, and of more than 31 documents now and then fails: there
 * are none beyond the limit. */
static const struct own_case documents[] = {
	{ "a sample", OF_FEW ".limit(5)", SAMPLE, NONDETERMINISTIC },
	{ "two samples", SAMPLE, SAMPLE, NONDETERMINISTIC },
	{ "a sample of all", "db.few.find({n: {$lte: 30}}, {_id: 0, n: 1, v: 1})",
	  "db.few.aggregate([" A_FEW "{$sample: {size: 30}}, " SHOWN, RIGHT },
	{ "more columns than a sample", "db.few.find({}, {_id: 0}).limit(5)", SAMPLE, WRONG },
	{ "more rows than a sample", OF_FEW ".limit(6)", SAMPLE, NONDETERMINISTIC },
	{ "a sample where the truth has an order", SAMPLE, OF_FEW ".sort({n: 1}).limit(5)", WRONG },
	{ "wrong rows", "db.few.aggregate([{$project: {_id: 0, n: {$add: ['$n', 100]}, v: 1}}])", OF_FEW,
	  WRONG },
	{ "wrong rows beyond the limit",
	  "db.big.aggregate([{$project: {_id: 0, n: {$add: ['$n', 1000]}, v: 1}}])", OF_MANY, WRONG },
	{ "the same", "db.few.aggregate([" SHOWN, OF_FEW, RIGHT },
	{ "other rows", OF_FEW ".sort({n: -1}).limit(5)", OF_FEW ".limit(5)", RIGHT },
	{ "other rows, columns renamed",
	  "db.few.aggregate([{$match: {n: {$gt: 50}}}, {$limit: 5}, {$project: {_id: 0, y: '$v', x: '$n'}}])",
	  OF_FEW ".limit(5)", RIGHT },
	{ "behind a skip", OF_FEW ".sort({n: 1}).limit(5)", OF_FEW ".skip(9).limit(5)", RIGHT },
	{ "no rows of the truth",
	  "db.few.aggregate([{$limit: 5}, {$project: {_id: 0, n: {$add: ['$n', 500]}, v: 1}}])",
	  OF_FEW ".limit(5)", WRONG },
	{ "rows that the truth's condition leaves out",
	  "db.few.find({n: {$gt: 50}}, {_id: 0, n: 1, v: 1}).limit(5)",
	  "db.few.find({n: {$lte: 50}}, {_id: 0, n: 1, v: 1}).limit(5)", WRONG },
	{ "too few", OF_FEW ".limit(4)", OF_FEW ".limit(5)", WRONG },
	{ "other rows of many", OF_MANY ".sort({n: -1}).limit(5)", OF_MANY ".limit(5)", RIGHT },
	{ "no rows of many",
	  "db.big.aggregate([{$limit: 5}, {$project: {_id: 0, n: 1, v: {$literal: 'x'}}}])",
	  OF_MANY ".limit(5)", WRONG },
	{ "more of many than are kept", OF_MANY ".sort({n: -1}).limit(500)", OF_MANY ".limit(500)",
	  NONDETERMINISTIC },
	{ "a sum of other rows", SUM_OF("{$match: {n: {$gt: 90}}}"), SUM_OF("{$limit: 10}"),
	  NONDETERMINISTIC },
	{ "a sum of the same rows", SUM_OF("{$match: {n: {$lte: 10}}}"), SUM_OF("{$limit: 10}"), RIGHT },
	{ "a sum behind a skip", SUM_OF("{$match: {}}"), SUM_OF("{$skip: 5}, {$limit: 10}"),
	  NONDETERMINISTIC },
	{ "a sum of all that there are", SUM_OF("{$match: {n: 1}}"), SUM_OF("{$limit: 100}"), WRONG },
	{ "a count of any", "db.few.aggregate([{$limit: 11}, {$count: 'n'}])",
	  "db.few.aggregate([{$limit: 10}, {$count: 'n'}])", WRONG },
	{ "a sum of the first", SUM_OF("{$match: {n: {$lte: 10}}}"), SUM_OF("{$sort: {n: -1}}, {$limit: 10}"),
	  WRONG },
	{ "a sum of some that tie", SUM_OF("{$match: {n: {$lte: 10}}}"),
	  SUM_OF("{$addFields: {k: {$mod: ['$n', 2]}}}, {$sort: {k: 1}}, {$limit: 10}"), NONDETERMINISTIC },
	{ "a sum of all that tie", SUM_OF("{$match: {n: {$lte: 10}}}"),
	  SUM_OF("{$addFields: {k: {$mod: ['$n', 2]}}}, {$sort: {k: 1}}, {$limit: 50}"), WRONG },
	{ "a condition of what a cut leaves", OF_FEW ".limit(3)",
	  "db.few.aggregate([{$limit: 10}, {$match: {n: {$gt: 7}}}, " SHOWN, NONDETERMINISTIC },
	{ "a cut within a cut", SUM_OF("{$match: {n: 1}}"),
	  SUM_OF("{$limit: 10}, {$group: {_id: null, n: {$sum: '$n'}}}, {$limit: 1}"), NONDETERMINISTIC },
	{ "ordered ones are not any", OF_FEW ".sort({n: -1}).limit(5)", OF_FEW ".sort({n: 1}).limit(5)",
	  WRONG },
};

static char *fill_in(const char *sql, const char *random, char *ret_sql, size_t size)
{
	const char *place = strchr(sql, '$');
	snprintf(ret_sql, size, "%.*s%s%s", place ? (int)(place - sql) : (int)strlen(sql), sql,
		 place ? random : "", place ? place + 1 : "");
	return ret_sql;
}

static enum verdict verdict_of(const struct validation_result *result)
{
	if (result->nondeterministic)
		return result->conclusive ? WRONG : NONDETERMINISTIC;
	if (!result->conclusive)
		return NONE;
	return result->score >= 1.0 ? RIGHT : WRONG;
}

static bool check(const struct own_case *item, const struct engine_under_test *engine)
{
	struct test_call test;
	char generated[512], truth[512];
	test_call_init(&test, engine->target,
		       fill_in(item->generated, engine->random, generated, sizeof generated),
		       fill_in(item->truth, engine->random, truth, sizeof truth));
	describe_truth(&test, engine->dialect);
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	bool good = result->status == VALIDATION_COMPARED && verdict_of(result) == item->verdict &&
		    (item->verdict != WRONG || result->score < 0.5);
	if (!good)
		print_error("%s, %s: %s, score %g, %s; %s was expected. " STR_FMT "\n", engine->target,
			    item->what, target_validation_status_name(result->status), result->score,
			    names[verdict_of(result)], names[item->verdict], STR_ARG(result->message));
	test_call_free(&test);
	return good;
}

static void check_cases(const struct own_case *cases, size_t count, const char *only)
{
	size_t bad = 0;
	for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
		bool there = !engines[e].there || *engines[e].there;
		if (!there || (only && strcmp(only, engines[e].target) != 0))
			continue;
		for (size_t i = 0; i < count; i++)
			bad += !check(&cases[i], &engines[e]);
	}
	assert_int_equal(bad, 0);
}

static void a_truth_that_is_not_its_own_equal_proves_nothing(void **state)
{
	(void)state;
	check_cases(own_equals, sizeof own_equals / sizeof own_equals[0], NULL);
}

/* Whichever of several truths it is; and one that fits is not asked for more. */
static void one_of_several_truths_is_not_its_own_equal(void **state)
{
	static const struct {
		const char *truths[3], *generated;
		enum verdict verdict;
	} cases[] = {
		{ { "SELECT random() AS n", "SELECT 7 AS n", "SELECT 8 AS n" },
		  "SELECT 9 AS n",
		  NONDETERMINISTIC },
		{ { "SELECT 7 AS n", "SELECT random() AS n", "SELECT 8 AS n" },
		  "SELECT 9 AS n",
		  NONDETERMINISTIC },
		{ { "SELECT 7 AS n", "SELECT 8 AS n", "SELECT random() AS n" },
		  "SELECT 9 AS n",
		  NONDETERMINISTIC },
		{ { "SELECT random() AS n", "SELECT 7 AS n", "SELECT 8 AS n" }, "SELECT 8 AS n", RIGHT },
		{ { "SELECT 6 AS n", "SELECT 7 AS n", "SELECT 8 AS n" }, "SELECT 9 AS n", WRONG },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct test_call test;
		test_call_init(&test, "file", cases[i].generated, cases[i].truths[0]);
		test_call_add_truth(&test, cases[i].truths[1]);
		test_call_add_truth(&test, cases[i].truths[2]);
		targets_submit(targets, &test.call);
		assert_int_equal(verdict_of(test_call_wait(&test)), cases[i].verdict);
		test_call_free(&test);
	}
}

static void a_limit_without_an_order_takes_any_rows(void **state)
{
	(void)state;
	check_cases(any_rows, sizeof any_rows / sizeof any_rows[0], NULL);
}

static void a_limit_inside_proves_nothing_where_it_is_open(void **state)
{
	(void)state;
	check_cases(inner_cuts, sizeof inner_cuts / sizeof inner_cuts[0], NULL);
	check_cases(distinct_on, sizeof distinct_on / sizeof distinct_on[0], "server");
}

static void brackets_change_nothing(void **state)
{
	static const char *const with_brackets[] = { "server", "shop" };
	(void)state;
	for (size_t i = 0; i < 2; i++)
		check_cases(any_rows_in_brackets,
			    sizeof any_rows_in_brackets / sizeof any_rows_in_brackets[0], with_brackets[i]);
}

static void nobody_is_wrong_by_a_limit_that_is_not_known(void **state)
{
	static const char *const with_subqueries[] = { "file", "server" };
	(void)state;
	for (size_t i = 0; i < 2; i++)
		check_cases(limits_of_unknown_size,
			    sizeof limits_of_unknown_size / sizeof limits_of_unknown_size[0],
			    with_subqueries[i]);
}

static void documents_are_as_open(void **state)
{
	static const struct engine_under_test mongodb = { "documents", SQL_MONGODB, &has_documents, "$" };
	size_t bad = 0;
	(void)state;
	for (size_t i = 0; has_documents && i < sizeof documents / sizeof *documents; i++)
		bad += !check(&documents[i], &mongodb);
	assert_int_equal(bad, 0);
}

static void rows_without_columns_are_counted(void **state)
{
	(void)state;
	check_cases(no_columns, sizeof no_columns / sizeof no_columns[0], "server");
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.own_equal", &has_server);
	if (status != 0)
		return status;
	has_shop = start_shop("unit.target.own_equal in MariaDB") == 0;
	has_documents = mongodb_start_shop() == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_truth_that_is_not_its_own_equal_proves_nothing),
		cmocka_unit_test(one_of_several_truths_is_not_its_own_equal),
		cmocka_unit_test(a_limit_without_an_order_takes_any_rows),
		cmocka_unit_test(a_limit_inside_proves_nothing_where_it_is_open),
		cmocka_unit_test(brackets_change_nothing),
		cmocka_unit_test(nobody_is_wrong_by_a_limit_that_is_not_known),
		cmocka_unit_test(rows_without_columns_are_counted),
		cmocka_unit_test(documents_are_as_open),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	if (has_documents)
		test_mongodb_stop(&documents_server);
	if (has_shop)
		stop_shop();
	if (has_server)
		test_postgres_do(&server, "stop");
	return status;
}
