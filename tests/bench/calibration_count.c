/*
 * How quickly cases are counted into the calibration database: batches as a calibrator makes them of a
 * thousand events a second, 12 segments, two label sources, into a database of its own.
 *
 *     bench_calibration_count [BATCHES]
 *
 * Prints cases a second, and the CPU time that the server's process and the client need for a thousand, which
 * does not depend on what else the machine does. For comparing two builds: run them in turn. Exit status 77
 * without PostgreSQL 15.
 */
#include "calibration/count/store.h"
#include "tests/bench/samples.h"
#include "tests/harness/servers/postgres.h"

#define BATCH	 1000
#define START_MS INT64_C(1775001000000)

static void check(err_t err, const struct err_detail *detail)
{
	if (!err)
		return;
	fprintf(stderr, "calibration_count: %s\n", detail->message);
	exit(1);
}

static double random_share(void)
{
	static uint64_t state = 88172645463325252;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static struct calibration_case random_case(int64_t scored_at_ms)
{
	static const char *const applications[] = { "app 0", "app 1", "app 2" };
	static const char *const models[] = { "model 0", "model 1" };
	static const char *const prompts[] = { "prompt 0", "prompt 1" };
	double share = random_share(), confidence = 1 - share * share;
	return (struct calibration_case){
		.scored_at_ms = scored_at_ms,
		.application = str_from(applications[(int)(random_share() * 3)]),
		.model = str_from(models[(int)(random_share() * 2)]),
		.prompt_version = str_from(prompts[(int)(random_share() * 2)]),
		.label_source = random_share() < 0.7 ? LABEL_RESULT : LABEL_CORRECTNESS,
		.level = confidence >= 0.9   ? LEVEL_HIGH
			 : confidence >= 0.7 ? LEVEL_MEDIUM
			 : confidence >= 0.5 ? LEVEL_LOW
					     : LEVEL_VERY_LOW,
		.confidence = confidence,
		.weight = random_share() < 0.5 ? 1 : 1 / 0.3,
		.correct = random_share() < confidence,
	};
}

static void count(struct calibration_store *store, int64_t batch)
{
	struct calibration_case cases[BATCH];
	struct err_detail detail = { "" };
	const struct calibration_step step = { "scored-queries", false, 0,
					       batch ? batch * BATCH : CALIBRATION_POSITION_NONE,
					       (batch + 1) * BATCH };
	for (int i = 0; i < BATCH; i++)
		cases[i] = random_case(START_MS + batch * 1000 + i);
	check(calibration_store_apply(
		      store,
		      &(const struct calibration_work){
			      .cases = cases, .cases_count = BATCH, .steps = &step, .steps_count = 1 },
		      NULL, NULL, &detail),
	      &detail);
}

/* Milliseconds that the server's process for the store has used. */
static double server_ms(struct calibration_store *store)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database *database;
	struct err_detail detail = { "" };
	check(calibration_store_database(store, &database, &detail), &detail);
	check(database_query(database,
			     "SELECT sum(part::bigint) FROM (SELECT "
			     "string_to_array(pg_read_file('/proc/self/stat'), "
			     "' ') AS parts) AS s, unnest(parts[14:15]) AS part",
			     0, NULL, &result, &detail),
	      &detail);
	return strtod(PQgetvalue(result, 0, 0), NULL) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

int main(int argc, char **argv)
{
	struct test_postgres server;
	long batches = argc > 1 ? strtol(argv[1], NULL, 10) : 500;
	int status = test_postgres_start(&server, NULL);
	if (status)
		return status;
	struct calibration_store *store = calibration_store_new(&(const struct calibration_store_options){
		.dsn = server.socket_dsn, .bucket_s = 60, .max_segments = 100 });
	count(store, 0);
	double before_ms = server_ms(store);
	int64_t start_ns = now_ns(), own_ns = cpu_ns();
	for (long batch = 1; batch <= batches; batch++)
		count(store, batch);
	double took_ms = (double)(now_ns() - start_ns) / 1e6, own_ms = (double)(cpu_ns() - own_ns) / 1e6;
	double used_ms = server_ms(store) - before_ms;
	printf("%ld cases: %.0f a second; for a thousand %.2f ms of CPU in the server, %.2f ms in the "
	       "client\n",
	       batches * BATCH, (double)batches * BATCH * 1000 / took_ms, used_ms / (double)batches,
	       own_ms / (double)batches);
	calibration_store_free(store);
	test_postgres_do(&server, "stop");
	return 0;
}
