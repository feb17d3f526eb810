/*
 * How the CPU time of an event grows with what there is in it, from its bytes to those of its outputs, in
 * both formats, without target and judge.
 *
 *     bench_growth [KIND]      (needs a release build)
 *
 * A benchmark, not a test. For each kind a line for every size, each twice the one before: time of an event
 * (the quietest of many) and what each further item costs; then the exponent of the growth (1: linear) over
 * the four largest sizes, by what comes on top of the smallest; 0 where the largest costs less than twice as
 * much as the smallest. Exit status 1 when one is above LIMIT.
 */
#include "common/buf.h"
#include "common/memory.h"
#include "common/pool.h"
#include "event/analyse.h"
#include "event/context.h"
#include "event/encode.h"
#include "event/finalise.h"
#include "event/incidents.h"
#include "event/outages.h"
#include "event/query_times.h"
#include "event/rate_limiter.h"
#include "sql/postgresql/ddl/ddl.h"
#include "tests/bench/samples.h"

#include <math.h>
#include <pthread.h>

enum { SIZES_MAX = 12, FITTED = 4, ROUNDS = 5, REPEATS = 3 };

static const double LIMIT = 1.15, LEAST_NS = 15e6;

/* The text of an event with `count` of them, and the catalog that it is about. */
struct kind {
	const char *name;
	unsigned first, last;
	void (*write)(unsigned count, struct buf *sql, struct buf *rest);
	unsigned columns; /* of the catalog; 0: `count` */
};

static void simple_sql(struct buf *sql)
{
	buf_printf(sql, "SELECT c0, count(*) AS n FROM t0 WHERE c1 > 5 GROUP BY c0 ORDER BY n DESC");
}

static void chunks(unsigned count, struct buf *sql, struct buf *rest)
{
	simple_sql(sql);
	buf_printf(rest, ",\"retrieval\":{\"chunks\":[");
	for (unsigned i = 0; i < count; i++)
		buf_printf(rest,
			   "%s{\"chunk_id\":\"chunk-%010x\",\"document_id\":\"guide-%u\",\"source_type\":"
			   "\"REGULATORY\",\"bm25_score\":%.4f,\"dense_score\":%.6f,\"rrf_score\":%.6f,"
			   "\"rerank_score\":%.4f,\"graph_boost\":0.1}",
			   i ? "," : "", i * 2654435761u, i / 2, 4 + (i * 37 % 1000) / 100.0,
			   0.5 + (i * 91 % 4500) / 10000.0, 1.0 / (61 + i), (i * 53 % 10000) / 10000.0);
	buf_printf(rest, "]}");
}

static void sql_length(unsigned count, struct buf *sql, struct buf *rest)
{
	(void)rest;
	buf_printf(sql, "SELECT c0 FROM t0 WHERE c1 = 1");
	for (unsigned i = 0; i < count; i++)
		buf_printf(sql, " AND (c%u > %u OR c2 <> 'v%u')", i % 16, i, i);
}

static void reply(unsigned count, struct buf *sql, struct buf *rest)
{
	simple_sql(sql);
	buf_printf(rest, ",\"response\":{\"raw\":\"{\\\"sql\\\":\\\"SELECT 1\\\",\\\"explanation\\\":\\\"");
	for (unsigned i = 0; i < count; i++)
		buf_printf(rest, "amounts are in word%u ", i);
	buf_printf(rest, "\\\"}\",\"required_fields\":[\"sql\"],\"optional_fields\":[\"explanation\"]}");
}

static void star(unsigned count, struct buf *sql, struct buf *rest)
{
	(void)count, (void)rest;
	simple_sql(sql);
}

static void misspelt(unsigned count, struct buf *sql, struct buf *rest)
{
	(void)count, (void)rest;
	buf_printf(sql, "SELECT cc0 FROM t0 WHERE c1 > 5");
}

static void misspelt_table(unsigned count, struct buf *sql, struct buf *rest)
{
	(void)count, (void)rest;
	buf_printf(sql, "SELECT c0 FROM tt0 WHERE c1 > 5");
}

static void truths(unsigned count, struct buf *sql, struct buf *rest)
{
	simple_sql(sql);
	buf_printf(rest,
		   ",\"ground_truth\":{\"sql\":\"SELECT c0, count(*) AS n FROM t0 WHERE c1 > 6 GROUP BY "
		   "c0 ORDER BY n DESC\",\"alternatives\":[");
	for (unsigned i = 1; i < count; i++)
		buf_printf(rest,
			   "%s\"SELECT c0, count(*) AS n FROM t0 WHERE c1 > %u GROUP BY c0 ORDER BY n DESC\"",
			   i > 1 ? "," : "", i + 6);
	buf_printf(rest, "]}");
}

static void tables(unsigned count, struct buf *sql, struct buf *rest)
{
	simple_sql(sql);
	buf_printf(rest, ",\"ground_truth\":{\"results\":[");
	for (unsigned i = 0; i < count; i++)
		buf_printf(rest, "%s{\"columns\":[\"c0\",\"n\"],\"rows\":[[\"%u\",\"5\"],[\"7\",null]]}",
			   i ? "," : "", i);
	buf_printf(rest, "]}");
}

static void candidates(unsigned count, struct buf *sql, struct buf *rest)
{
	simple_sql(sql);
	buf_printf(rest, ",\"candidates\":[");
	for (unsigned i = 0; i < count; i++)
		buf_printf(
			rest,
			"%s{\"sql\":\"SELECT c0, count(*) AS n FROM t0 WHERE c1 > %u GROUP BY c0 ORDER BY n "
			"DESC\"}",
			i ? "," : "", i);
	buf_printf(rest, "]");
}

static const struct kind kinds[] = {
	{ "chunks", 16, 2048, chunks, 64 },
	{ "conditions of the SQL", 8, 1024, sql_length, 64 },
	{ "words of the reply", 64, 8192, reply, 64 },
	{ "columns of the catalog", 64, 65536, star, 0 },
	{ "columns, one misspelt", 64, 65536, misspelt, 0 },
	{ "columns, a table misspelt", 64, 65536, misspelt_table, 0 },
	{ "truths", 1, 64, truths, 64 },
	{ "tables as truths", 1, 64, tables, 64 },
	{ "candidates", 1, 16, candidates, 64 },
};

/* Sixteen columns a table. */
static struct catalog *catalog_of(unsigned columns)
{
	struct buf text = BUF_INIT;
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	for (unsigned table = 0; table * 16 < columns; table++) {
		buf_printf(&text, "CREATE TABLE t%u (c0 integer PRIMARY KEY, c1 integer, c2 text", table);
		for (unsigned i = 3; i < 16; i++)
			buf_printf(&text, ", c%u integer", i);
		buf_printf(&text, ");\n");
	}
	if (ddl_compile(buf_str(&text), &catalog, &detail)) {
		fprintf(stderr, "bench_growth: %s\n", detail.message);
		exit(1);
	}
	buf_free(&text);
	return catalog;
}

/* ---- an event ---- */

struct bench {
	struct event_context context;
	struct config *config;
	struct step_counts steps;
	struct codec *json, *avro;
};

static void begin(struct bench *bench)
{
	const struct codec_options json = { .output = WIRE_JSON }, avro = { .output = WIRE_SINGLE_OBJECT };
	struct err_detail detail = { "" };
	if (codec_new(&json, &bench->json, &detail) || codec_new(&avro, &bench->avro, &detail) ||
	    config_load(NULL, &bench->config, &detail)) {
		fprintf(stderr, "bench_growth: %s\n", detail.message);
		exit(1);
	}
	bench->context.rate_limiter = rate_limiter_new();
	bench->context.outages = outages_new();
	bench->context.query_times = query_times_new();
	bench->context.incidents = incidents_new();
	bench->context.steps = &bench->steps;
}

static void end(struct bench *bench)
{
	rate_limiter_free(bench->context.rate_limiter);
	outages_free(bench->context.outages);
	query_times_free(bench->context.query_times);
	incidents_free(bench->context.incidents);
	config_unref(bench->config);
	codec_free(bench->json);
	codec_free(bench->avro);
}

static void event_text(const struct kind *kind, unsigned count, struct buf *json)
{
	struct buf sql = BUF_INIT, rest = BUF_INIT;
	kind->write(count, &sql, &rest);
	buf_printf(
		json,
		"{\"event_id\":\"e-1\",\"occurred_at\":1700000000000,\"application\":\"bench\",\"question\":"
		"\"How many?\",\"sql\":\"");
	buf_append(json, sql.data, sql.len);
	buf_printf(json, "\"");
	if (rest.len)
		buf_append(json, rest.data, rest.len);
	buf_printf(json, "}");
	buf_free(&sql);
	buf_free(&rest);
}

/* As a producer with that codec would send it. */
static void encode_input(const struct codec *codec, struct buf *message)
{
	struct arena *arena = arena_new();
	struct generated_query *query;
	struct err_detail detail = { "" };
	if (codec_decode_query(codec, message->data, message->len, arena, &query, &detail)) {
		fprintf(stderr, "bench_growth: %s\n", detail.message);
		exit(1);
	}
	buf_reset(message);
	codec_encode_query(codec, query, message);
	arena_free(arena);
}

static double event_ns(struct bench *bench, str_t message)
{
	static const struct event_origin origin = { .topic = { "input", 5 } };
	struct err_detail detail = { "" };
	int64_t start = cpu_ns();
	struct event *event =
		event_new(&bench->context, config_ref(bench->config), message, STR("key"), &origin);
	if (event_analyse(event, &detail)) {
		fprintf(stderr, "bench_growth: %s\n", detail.message);
		exit(1);
	}
	event_set_step(event, STEP_ANALYSED);
	event_set_step(event, STEP_AWAITING);
	event_finalise(event);
	if (event_encode(event, &detail)) {
		fprintf(stderr, "bench_growth: %s\n", detail.message);
		exit(1);
	}
	event_set_step(event, STEP_READY);
	event_free(event);
	return (double)(cpu_ns() - start);
}

static double best_ns(struct bench *bench, str_t message)
{
	double best = 1e18;
	int64_t begun = now_ns();
	for (int i = 0; i < REPEATS || (double)(now_ns() - begun) < LEAST_NS; i++) {
		double took = event_ns(bench, message);
		best = took < best ? took : best;
	}
	return best;
}

/* ---- growth ---- */

/* Least squares over logarithms. */
static double exponent(const double *sizes, const double *times, size_t count)
{
	double x = 0, y = 0, xx = 0, xy = 0, n = (double)count;
	for (size_t i = 0; i < count; i++) {
		double size = log(sizes[i]), time = log(times[i]);
		x += size;
		y += time;
		xx += size * size;
		xy += size * time;
	}
	return (n * xy - x * y) / (n * xx - x * x);
}

/* Sizes take turns: what else the machine does meets all of them. */
static bool measure(struct bench *bench, const struct kind *kind, const struct codec *codec)
{
	double sizes[SIZES_MAX] = { 0 }, times[SIZES_MAX] = { 0 }, above[SIZES_MAX] = { 0 };
	struct buf messages[SIZES_MAX] = { BUF_INIT };
	struct catalog *catalogs[SIZES_MAX];
	size_t count = 0;
	bench->context.codec = codec;
	printf("%s, %s\n", kind->name, codec == bench->json ? "JSON" : "Avro");
	for (unsigned size = kind->first; size <= kind->last; size *= 2, count++) {
		event_text(kind, size, &messages[count]);
		encode_input(codec, &messages[count]);
		catalogs[count] = catalog_of(kind->columns ? kind->columns : size);
		sizes[count] = size;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < count; i++) {
			bench->context.default_catalog = catalogs[i];
			double ns = best_ns(bench, buf_str(&messages[i]));
			times[i] = round == 0 || ns < times[i] ? ns : times[i];
		}
	for (size_t i = 0; i < count; i++) {
		printf("  %6.0f %8zu bytes %10.1f us", sizes[i], messages[i].len, times[i] / 1e3);
		if (i)
			printf(" %9.3f us an item",
			       (times[i] - times[i - 1]) / 1e3 / (sizes[i] - sizes[i - 1]));
		printf("\n");
		catalog_unref(catalogs[i]);
		buf_free(&messages[i]);
	}
	for (size_t i = 1; i < count; i++) {
		above[i] = times[i] > times[0] ? times[i] - times[0] : 1;
		sizes[i] -= sizes[0];
	}
	size_t fitted = count > FITTED ? FITTED : count - 1;
	bool grows = times[count - 1] > 2 * times[0];
	double found = grows ? exponent(&sizes[count - fitted], &above[count - fitted], fitted) : 0;
	printf("  exponent %.2f%s\n", found, found > LIMIT ? "  not linear" : "");
	fflush(stdout);
	return found <= LIMIT;
}

static void *run(void *context)
{
	static struct bench bench;
	static bool linear = true;
	const char *wanted = context;
	begin(&bench);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (wanted && strcmp(wanted, kinds[i].name) != 0)
			continue;
		linear &= measure(&bench, &kinds[i], bench.json);
		linear &= measure(&bench, &kinds[i], bench.avro);
	}
	end(&bench);
	return linear ? context : &linear;
}

int main(int argc, char **argv)
{
	char *wanted = argc > 1 ? argv[1] : NULL;
	pthread_attr_t attributes;
	pthread_t thread;
	void *result = NULL;
	memory_keep_freed();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, POOL_STACK_BYTES);
	if (pthread_create(&thread, &attributes, run, wanted) != 0)
		return 1;
	pthread_join(thread, &result);
	pthread_attr_destroy(&attributes);
	return result == wanted ? 0 : 1;
}
