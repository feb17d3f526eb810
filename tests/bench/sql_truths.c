/*
 * How long the analysis of a query takes, beside PREPARE of the same query on a real server, in one run and
 * on one core: ground truths that people wrote, against the catalogs of their databases.
 *
 *     sql_truths [ROUNDS]      (default 200; needs a release build, PostgreSQL 15 and the corpus: oracle.h)
 *
 * A benchmark, not a test. Prints mean, median and 99th percentile over all calls in microseconds: the whole
 * analysis as the daemon runs it and its stages, in CPU time, and PREPARE over the local socket, in time that
 * goes by; and the queries that take longest. The bar is 40 µs for the mean of what comes before the
 * canonical form.
 */
#include "sql/postgresql/resolve/resolve.h" // first: see pg_nodes.h

#include "common/memory.h"
#include "sql/dialects.h"
#include "sql/lex/gate.h"
#include "sql/postgresql/canonical/canonical.h"
#include "sql/postgresql/diagnose/diagnose.h"
#include "sql/postgresql/safety/safety.h"
#include "tests/bench/samples.h"
#include "tests/harness/oracles/oracle.h"

enum { ROUNDS = 200, PREPARE_ROUNDS = 20, SLOWEST = 8 };

static const double BAR_US = 40;

enum stage {
	STAGE_WHOLE,
	STAGE_GATE,
	STAGE_PARSE,
	STAGE_RESOLVE,
	STAGE_DIAGNOSE,
	STAGE_SAFETY,
	STAGE_CANONICAL,
	STAGE_RELEASE,
	STAGE_PREPARE,
	STAGE_COUNT_
};

static const char *const stage_names[] = {
	[STAGE_WHOLE] = "sql_analyse",	   [STAGE_GATE] = "  gate",	    [STAGE_PARSE] = "  parse",
	[STAGE_RESOLVE] = "  resolve",	   [STAGE_DIAGNOSE] = "  diagnose", [STAGE_SAFETY] = "  safety",
	[STAGE_CANONICAL] = "  canonical", [STAGE_RELEASE] = "  release",   [STAGE_PREPARE] = "PREPARE",
};

static struct samples samples[STAGE_COUNT_];

static void analyse(const struct sql_request *request)
{
	int64_t start = cpu_ns();
	struct arena *arena = arena_new();
	struct sql_analysis analysis;
	sql_analyse(request, arena, &analysis);
	arena_free(arena);
	samples_add(&samples[STAGE_WHOLE], cpu_ns() - start);
}

/* Adds what went by since `*start` to the stage; the next one begins. */
static void lap(enum stage stage, int64_t *start)
{
	int64_t now = cpu_ns();
	samples_add(&samples[stage], now - *start);
	*start = now;
}

/* What sql_analyse does, stage by stage. */
static void analyse_in_stages(const struct sql_request *request)
{
	struct parsed_statement parsed;
	struct resolution resolution = { 0 };
	struct sql_analysis analysis = { .valid = true };
	int64_t start = cpu_ns();
	gate_check(request->sql);
	lap(STAGE_GATE, &start);
	struct arena *arena = arena_new();
	struct diagnostics diagnostics = { .arena = arena };
	parse_begin(request->sql, arena, &parsed);
	lap(STAGE_PARSE, &start);
	resolve_statement(&parsed, request->catalog, arena, &diagnostics, &resolution);
	lap(STAGE_RESOLVE, &start);
	diagnose_statement(&parsed, &resolution, request, &diagnostics);
	lap(STAGE_DIAGNOSE, &start);
	safety_check(&parsed, &resolution, request, arena, &analysis);
	lap(STAGE_SAFETY, &start);
	canonical_build(&parsed, &resolution, request, arena, &analysis);
	lap(STAGE_CANONICAL, &start);
	parse_end(&parsed);
	arena_free(arena);
	lap(STAGE_RELEASE, &start);
}

static void prepare(PGconn *connection, const char *sql)
{
	int64_t start = now_ns();
	PGresult *result = PQprepare(connection, "", sql, 0, NULL);
	samples_add(&samples[STAGE_PREPARE], now_ns() - start);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fprintf(stderr, "%s: %s", sql, PQresultErrorMessage(result));
	PQclear(result);
}

enum pass { PASS_WHOLE, PASS_STAGES, PASS_PREPARE, PASS_COUNT_ };

/* One pass over all queries, so that each comes to caches that the others have filled. */
static void measure(const struct oracle *oracle, enum pass pass)
{
	for (size_t i = 0; i < oracle->count; i++) {
		const struct oracle_database *database = &oracle->databases[i];
		for (size_t j = 0; database->is_corpus && j < database->truths_count; j++) {
			struct sql_request request = { .sql = database->truths[j],
						       .target_named = true,
						       .catalog = database->catalog };
			if (pass == PASS_WHOLE)
				analyse(&request);
			else if (pass == PASS_STAGES)
				analyse_in_stages(&request);
			else
				prepare(database->connection, request.sql.ptr);
		}
	}
}

static void measure_all(const struct oracle *oracle, unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		for (enum pass pass = PASS_WHOLE; pass < PASS_COUNT_; pass++) {
			if (pass != PASS_PREPARE || round < PREPARE_ROUNDS)
				measure(oracle, pass);
		}
	}
}

struct slow {
	double us;
	const char *sql;
};

static int by_time(const void *a, const void *b)
{
	double difference = ((const struct slow *)b)->us - ((const struct slow *)a)->us;
	return (difference > 0) - (difference < 0);
}

/* Samples come in the order of the queries, round by round: the best of each counts. */
static void print_slowest(const struct oracle *oracle, struct slow *slow, size_t queries)
{
	size_t query = 0;
	for (size_t i = 0; i < oracle->count; i++) {
		for (size_t j = 0; oracle->databases[i].is_corpus && j < oracle->databases[i].truths_count;
		     j++, query++) {
			slow[query] = (struct slow){ 1e9, oracle->databases[i].truths[j].ptr };
			for (size_t k = query; k < samples[STAGE_WHOLE].count; k += queries) {
				double us = (double)samples[STAGE_WHOLE].ns[k] / 1e3;
				slow[query].us = us < slow[query].us ? us : slow[query].us;
			}
		}
	}
	qsort(slow, queries, sizeof slow[0], by_time);
	printf("\nslowest (best of all rounds)\n");
	for (size_t i = 0; i < SLOWEST && i < queries; i++)
		printf("%8.1f  %.150s\n", slow[i].us, slow[i].sql);
}

static void print(void)
{
	printf("%-14s %9s %9s %9s  µs\n", "", "mean", "median", "p99");
	for (size_t i = 0; i < STAGE_COUNT_; i++) {
		struct sample_summary summary = samples_summary(&samples[i]);
		printf("%-14s %9.2f %9.2f %9.2f\n", stage_names[i], summary.mean_us, summary.median_us,
		       summary.p99_us);
	}
	double whole = samples_summary(&samples[STAGE_WHOLE]).mean_us;
	double canonical = samples_summary(&samples[STAGE_CANONICAL]).mean_us;
	double prepare_us = samples_summary(&samples[STAGE_PREPARE]).mean_us;
	printf("\nwithout the canonical form: %.1f µs (bar: %.0f); PREPARE takes %.1f times the whole\n",
	       whole - canonical, BAR_US, prepare_us / whole);
}

int main(int argc, char **argv)
{
	struct oracle oracle;
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : ROUNDS;
	memory_keep_freed();
	int status = oracle_load(&oracle);
	if (status == 0) {
		size_t queries = 0;
		for (size_t i = 0; i < oracle.count; i++)
			queries += oracle.databases[i].is_corpus ? oracle.databases[i].truths_count : 0;
		measure_all(&oracle, 2); /* warms up */
		for (size_t i = 0; i < STAGE_COUNT_; i++)
			samples[i].count = 0;
		measure_all(&oracle, rounds);
		struct slow *slow = calloc(queries, sizeof *slow);
		if (slow)
			print_slowest(&oracle, slow, queries);
		free(slow);
		print();
	}
	for (size_t i = 0; i < STAGE_COUNT_; i++)
		free(samples[i].ns);
	oracle_free(&oracle);
	return status;
}
