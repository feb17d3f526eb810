/*
 * Results of every size around `max_rows`, right and wrong ones, on a real PostgreSQL, a real MariaDB, a real
 * server that speaks MongoDB's protocol and SQLite: a wrong answer is never right and a right one never wrong
 * for having more rows than are kept.
 */
#include <mongoc/mongoc.h> // first: it calls what banned.h forbids

#include "tests/unit/target/mariadb_server.h" // so does this one

#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/cases.h"
#include "tests/unit/target/mongodb_server.h"

#include <libpq-fe.h>

#define LIMIT	 200
#define ALL_ROWS 5000

static struct test_postgres server;
static bool has_server, has_shop, has_documents;
static struct test_sqlite file;
static struct targets *targets[2]; /* that read in full, and that truncate */

/* n: 1 …; g: 5 groups, in runs; v: text; f: computed; b: 0 and 1 in turns */
static const char sqlite_schema[] =
	"CREATE TABLE big (n INTEGER PRIMARY KEY, g INTEGER, v TEXT, f REAL, b INTEGER);"
	"WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 5000)"
	" INSERT INTO big SELECT i, i / 1000, 'v' || i, i / 7.0, i % 2 FROM s";
static const char postgresql_schema[] =
	"CREATE TABLE big (n int PRIMARY KEY, g int, v text, f float8, b int);"
	"INSERT INTO big SELECT i, i / 1000, 'v' || i, i / 7.0::float8, i % 2"
	" FROM generate_series(1, 5000) AS i;"
	"GRANT SELECT ON big TO PUBLIC; CREATE ROLE reader LOGIN";
static const char *const mariadb_schema[] = {
	"CREATE TABLE shop.big (n int PRIMARY KEY, g int, v varchar(20), f double, b int)",
	"INSERT INTO shop.big SELECT seq, seq DIV 1000, CONCAT('v', seq), seq / 7.0e0, seq % 2"
	" FROM shop.seq_1_to_5000",
};

static const struct engine_under_test {
	const char *target;
	enum sql_dialect dialect;
	const bool *there;
} engines[] = {
	{ "file", SQL_SQLITE, NULL },
	{ "server", SQL_POSTGRESQL, &has_server },
	{ "shop", SQL_MYSQL, &has_shop },
	{ "documents", SQL_MONGODB, &has_documents },
};

static void fill_server(void)
{
	PGconn *connection = PQconnectdb(server.socket_dsn);
	PGresult *result = PQexec(connection, postgresql_schema);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

static void fill_documents(void)
{
	struct buf command = BUF_INIT;
	buf_append_text(&command, "{\"insert\": \"big\", \"documents\": [");
	for (int i = 1; i <= ALL_ROWS; i++)
		buf_printf(&command,
			   "%s{\"n\": %d, \"g\": %d, \"v\": \"v%d\", \"f\": {\"$numberDouble\": \"%.17g\"}, "
			   "\"b\": %d}",
			   i > 1 ? "," : "", i, i / 1000, i, i / 7.0, i % 2);
	buf_append_text(&command, "]}");
	mongodb_admin("shop", command.data);
	buf_free(&command);
}

static void start_both(struct target_settings *settings, size_t count)
{
	for (int truncating = 0; truncating < 2; truncating++) {
		for (size_t i = 0; i < count; i++) {
			settings[i].max_rows = LIMIT;
			settings[i].statement_timeout_ms = 120000;
			settings[i].stream_large_results = !truncating;
		}
		targets[truncating] = start_targets(settings, count, NULL);
	}
}

static int set_up(void **state)
{
	static char dsn[320], mariadb_dsn[320];
	struct target_settings settings[4];
	size_t count = 0;
	(void)state;
	test_sqlite_make(&file, sqlite_schema);
	settings[count++] = sqlite_settings("file", file.path);
	if (has_server) {
		fill_server();
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
		fill_documents();
		settings[count] = mongodb_settings();
		settings[count++].name = "documents";
	}
	start_both(settings, count);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets[0]);
	targets_stop(targets[1]);
	return test_sqlite_remove(&file);
}

enum verdict {
	RIGHT,	/* 1.0 */
	COUNT,	/* 0.3 */
	WRONG,	/* below 0.5 */
	PARTLY, /* 0.5 give or take the sample's error */
};

static const char *const verdict_names[] = { "right", "another count", "wrong", "half right" };

/* `%d` is the number of rows, and `%e` one more; a truth that is ordered is so by its text. */
static const struct relation {
	const char *what, *generated, *truth;
	enum verdict verdict;
} relations[] = {
	{ "the same", "SELECT n, v FROM big WHERE n <= %d", "SELECT n, v FROM big WHERE n <= %d", RIGHT },
	{ "the same rows shuffled", "SELECT n, v FROM big WHERE n <= %d ORDER BY n * 7919 % 5003",
	  "SELECT n, v FROM big WHERE n <= %d", RIGHT },
	{ "columns permuted and renamed, shuffled",
	  "SELECT f AS x, v AS y, b AS z, n AS w FROM big WHERE n <= %d ORDER BY n * 7919 % 5003",
	  "SELECT n, b, v, f FROM big WHERE n <= %d", RIGHT },
	{ "numbers within the tolerance, shuffled",
	  "SELECT n, f + 0.0000001 AS f FROM big WHERE n <= %d ORDER BY n * 7919 % 5003",
	  "SELECT n, f FROM big WHERE n <= %d", RIGHT },
	{ "columns that hold the same values in other rows, renamed and shuffled",
	  "SELECT 1 - b AS y, n AS z, b AS x FROM big WHERE n <= %d ORDER BY n * 7919 % 5003",
	  "SELECT b, 1 - b AS c, n FROM big WHERE n <= %d", RIGHT },
	{ "other rows", "SELECT n + 5000 AS n, v FROM big WHERE n <= %d",
	  "SELECT n, v FROM big WHERE n <= %d", WRONG },
	{ "half of the rows are others",
	  "SELECT n, CASE WHEN n % 2 = 0 THEN 'x' ELSE v END AS v FROM big WHERE n <= %d",
	  "SELECT n, v FROM big WHERE n <= %d", PARTLY },
	{ "other values in one of four columns",
	  "SELECT n, b, v, f + 1 AS f FROM big WHERE n <= %d ORDER BY n DESC",
	  "SELECT n, b, v, f FROM big WHERE n <= %d", WRONG },
	{ "one row more", "SELECT n, v FROM big WHERE n <= %e", "SELECT n, v FROM big WHERE n <= %d", COUNT },
	{ "one row less", "SELECT n, v FROM big WHERE n <= %d", "SELECT n, v FROM big WHERE n <= %e", COUNT },
	{ "one row twice", "SELECT n, v FROM big WHERE n <= %d UNION ALL SELECT 1, 'v1'",
	  "SELECT n, v FROM big WHERE n <= %d", COUNT },
	{ "the order of the truth", "SELECT n, v FROM big WHERE n <= %d ORDER BY n + 0",
	  "SELECT n, v FROM big WHERE n <= %d ORDER BY n", RIGHT },
	{ "another order than the truth's", "SELECT n, v FROM big WHERE n <= %d ORDER BY n DESC",
	  "SELECT n, v FROM big WHERE n <= %d ORDER BY n", WRONG },
	{ "the order up to ties", "SELECT g, n FROM big WHERE n <= %d ORDER BY g, n DESC",
	  "SELECT g, n FROM big WHERE n <= %d ORDER BY g", RIGHT },
	{ "the order up to ties, columns permuted and renamed",
	  "SELECT v AS a, n AS b, g AS c FROM big WHERE n <= %d ORDER BY g, n * 7919 % 5003",
	  "SELECT g, n, v FROM big WHERE n <= %d ORDER BY g", RIGHT },
	{ "the order up to ties, numbers within the tolerance",
	  "SELECT b, n, f + 0.0000001 AS f FROM big WHERE n <= %d ORDER BY b, n DESC",
	  "SELECT b, n, f FROM big WHERE n <= %d ORDER BY b", RIGHT },
	{ "numbers within the tolerance, but not the order",
	  "SELECT b, n, f + 0.0000001 AS f FROM big WHERE n <= %d ORDER BY b DESC, n",
	  "SELECT b, n, f FROM big WHERE n <= %d ORDER BY b", WRONG },
	{ "nothing but numbers within the tolerance, renamed and shuffled",
	  "SELECT f + 0.0000001 AS h, n AS m FROM big WHERE n <= %d ORDER BY n * 7919 % 5003",
	  "SELECT n, f FROM big WHERE n <= %d", RIGHT },
	{ "ties of a key that is not returned", "SELECT n, v FROM big WHERE n <= %d ORDER BY b, n DESC",
	  "SELECT n, v FROM big WHERE n <= %d ORDER BY b", RIGHT },
	{ "ties that end behind the limit",
	  "SELECT v, g FROM big WHERE n <= %d ORDER BY CASE WHEN n > 150 THEN g ELSE 0 END, g, n DESC",
	  "SELECT v, g FROM big WHERE n <= %d ORDER BY g", RIGHT },
	{ "the order is another one behind the limit, numbers within the tolerance",
	  "SELECT n, f + 0.0000001 AS f FROM big WHERE n <= %d ORDER BY CASE WHEN n <= 20 THEN n ELSE 9000 - "
	  "n END",
	  "SELECT n, f FROM big WHERE n <= %d ORDER BY n", WRONG },
	{ "not the order of a key that is not returned",
	  "SELECT n, v FROM big WHERE n <= %d ORDER BY b DESC, n",
	  "SELECT n, v FROM big WHERE n <= %d ORDER BY b", WRONG },
	{ "ordered, one row more", "SELECT n, v FROM big WHERE n <= %e ORDER BY n",
	  "SELECT n, v FROM big WHERE n <= %d ORDER BY n", COUNT },
	{ "ordered, one row less", "SELECT n, v FROM big WHERE n <= %d ORDER BY n",
	  "SELECT n, v FROM big WHERE n <= %e ORDER BY n", COUNT },
};

#define UP_TO	 "db.big.aggregate([{$match: {n: {$lte: %d}}}, "
#define SHUFFLED "{$addFields: {k: {$mod: [{$multiply: ['$n', 7919]}, 5003]}}}, {$sort: {k: 1}}, "
#define FIND	 "db.big.find({n: {$lte: %d}}, {_id: 0, n: 1, v: 1})"
#define ONE_MORE "db.big.find({n: {$lte: %e}}, {_id: 0, n: 1, v: 1})"

/* The same in documents. */
static const struct relation document_relations[] = {
	{ "the same", FIND, FIND, RIGHT },
	{ "a pipeline for a find", UP_TO "{$project: {_id: 0, v: 1, n: 1}}])", FIND, RIGHT },
	{ "the same rows shuffled", UP_TO SHUFFLED "{$project: {_id: 0, n: 1, v: 1}}])", FIND, RIGHT },
	{ "columns permuted and renamed, shuffled",
	  UP_TO SHUFFLED "{$project: {_id: 0, x: '$f', y: '$v', z: '$b', w: '$n'}}])",
	  "db.big.find({n: {$lte: %d}}, {_id: 0, n: 1, b: 1, v: 1, f: 1})", RIGHT },
	{ "numbers within the tolerance, shuffled",
	  UP_TO SHUFFLED "{$project: {_id: 0, n: 1, f: {$add: ['$f', 0.0000001]}}}])",
	  "db.big.find({n: {$lte: %d}}, {_id: 0, n: 1, f: 1})", RIGHT },
	{ "other rows", UP_TO "{$project: {_id: 0, n: {$add: ['$n', 5000]}, v: 1}}])", FIND, WRONG },
	{ "half of the rows are others",
	  UP_TO "{$project: {_id: 0, n: 1, v: {$cond: [{$eq: ['$b', 0]}, 'x', '$v']}}}])", FIND, PARTLY },
	{ "other values in one of four columns",
	  UP_TO "{$sort: {n: -1}}, {$project: {_id: 0, n: 1, b: 1, v: 1, f: {$add: ['$f', 1]}}}])",
	  "db.big.find({n: {$lte: %d}}, {_id: 0, n: 1, b: 1, v: 1, f: 1})", WRONG },
	{ "one row more", ONE_MORE, FIND, COUNT },
	{ "one row less", FIND, ONE_MORE, COUNT },
	{ "the order of the truth", UP_TO "{$sort: {n: 1}}, {$project: {_id: 0, n: 1, v: 1}}])",
	  FIND ".sort({n: 1})", RIGHT },
	{ "another order than the truth's", FIND ".sort({n: -1})", FIND ".sort({n: 1})", WRONG },
	{ "the order up to ties", "db.big.find({n: {$lte: %d}}, {_id: 0, g: 1, n: 1}).sort({g: 1, n: -1})",
	  "db.big.find({n: {$lte: %d}}, {_id: 0, g: 1, n: 1}).sort({g: 1})", RIGHT },
	{ "the order up to ties, columns permuted and renamed",
	  UP_TO "{$sort: {g: 1, n: -1}}, {$project: {_id: 0, a: '$v', b: '$n', c: '$g'}}])",
	  "db.big.find({n: {$lte: %d}}, {_id: 0, g: 1, n: 1, v: 1}).sort({g: 1})", RIGHT },
	{ "ties of a key that is not returned", FIND ".sort({b: 1, n: -1})", FIND ".sort({b: 1})", RIGHT },
	{ "not the order of a key that is not returned", FIND ".sort({b: -1, n: 1})", FIND ".sort({b: 1})",
	  WRONG },
	{ "ordered, one row more", ONE_MORE ".sort({n: 1})", FIND ".sort({n: 1})", COUNT },
	{ "ordered, one row less", FIND ".sort({n: 1})", ONE_MORE ".sort({n: 1})", COUNT },
};

static const int sizes[] = { LIMIT - 1, LIMIT, LIMIT + 1, 2 * LIMIT, ALL_ROWS - 1 };

static char *fill_in(const char *sql, int rows, char *ret_sql, size_t size)
{
	const char *place = strchr(sql, '%');
	while (place && place[1] != 'd' && place[1] != 'e')
		place = strchr(place + 1, '%');
	snprintf(ret_sql, size, "%.*s%d%s", (int)(place - sql), sql, place[1] == 'e' ? rows + 1 : rows,
		 place + 2);
	return ret_sql;
}

static bool is_as_expected(const struct validation_result *result, enum verdict verdict)
{
	switch (verdict) {
	case RIGHT:
		return result->score == 1.0;
	case COUNT:
		return result->score == 0.3 && !result->row_count_match;
	case WRONG:
		return result->score < 0.5 && result->row_count_match;
	case PARTLY:
		return result->score > 0.4 && result->score < 0.6 && result->row_count_match;
	}
	return false;
}

static bool check(const struct relation *relation, const struct engine_under_test *engine, int rows,
		  bool truncating)
{
	struct test_call test;
	char generated[512], truth[512];
	test_call_init(&test, engine->target, fill_in(relation->generated, rows, generated, sizeof generated),
		       fill_in(relation->truth, rows, truth, sizeof truth));
	describe_truth(&test, engine->dialect);
	targets_submit(targets[truncating], &test.call);
	const struct validation_result *result = test_call_wait(&test);
	bool compared = result->status == VALIDATION_COMPARED;
	/* what is cut without proof says nothing */
	bool good = compared && (truncating && !result->conclusive
					 ? result->truncated
					 : result->conclusive && is_as_expected(result, relation->verdict));
	if (!good)
		print_error("%s, %d rows, %s, %s: %s, score %g, rate %g, %s, %s; %s was expected. " STR_FMT
			    "\n",
			    engine->target, rows, truncating ? "truncated" : "in full", relation->what,
			    target_validation_status_name(result->status), result->score,
			    result->content_match_rate, result->truncated ? "truncated" : "complete",
			    result->conclusive ? "conclusive" : "not conclusive",
			    verdict_names[relation->verdict], STR_ARG(result->message));
	test_call_free(&test);
	return good;
}

static void check_all(bool truncating)
{
	size_t bad = 0, done = 0;
	for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
		bool documents = engines[e].dialect == SQL_MONGODB;
		const struct relation *list = documents ? document_relations : relations;
		size_t count = documents ? sizeof document_relations / sizeof *document_relations
					 : sizeof relations / sizeof *relations;
		for (size_t r = 0; r < count; r++)
			for (size_t s = (e + r) % whole_or(1, 3); s < sizeof sizes / sizeof sizes[0];
			     s += whole_or(1, 3)) {
				if (engines[e].there && !*engines[e].there)
					continue;
				done++;
				bad += !check(&list[r], &engines[e], sizes[s], truncating);
			}
	}
	print_message("%zu of %zu are as they should be\n", done - bad, done);
	assert_int_equal(bad, 0);
}

static void in_full_every_verdict_is_right(void **state)
{
	(void)state;
	check_all(false);
}

static void truncated_only_what_is_proven_is_a_verdict(void **state)
{
	(void)state;
	check_all(true);
}

/* A side that is complete and another that is longer: nothing needs to be read in full for that. */
static void other_counts_are_proven_when_truncating(void **state)
{
	static const char *const pairs[][2] = {
		{ "SELECT n, v FROM big WHERE n <= 200", "SELECT n, v FROM big ORDER BY n" },
		{ "SELECT n, v FROM big", "SELECT n, v FROM big WHERE n <= 200" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct test_call test;
		const struct validation_result *result =
			run_pair(targets[1], "file", &test, pairs[i][0], pairs[i][1]);
		assert_true(result->score == 0.3 && !result->row_count_match && result->truncated &&
			    result->conclusive);
		test_call_free(&test);
	}
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.over_limit", &has_server);
	if (status != 0)
		return status;
	has_shop = start_shop("unit.target.over_limit in MariaDB") == 0;
	has_documents = mongodb_start_shop() == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_full_every_verdict_is_right),
		cmocka_unit_test(truncated_only_what_is_proven_is_a_verdict),
		cmocka_unit_test(other_counts_are_proven_when_truncating),
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
