/*
 * How the time of an analysis grows with the statement, for every shape that a hostile text can repeat: up to
 * the largest one that the gate lets through.
 *
 *     sql_scaling [-m | -s] [SHAPE [SECONDS [COUNT]]]     (needs a release build)
 *
 * A benchmark, not a test. Prints for each shape the largest count and length, the time for it, and the
 * exponent of the growth (1: linear), fitted over the largest count and its half, quarter and eighth; shapes
 * that grow faster than what is repeated in them to the power of 1.3, or take longer than 50 ms, are marked.
 * With a shape: only that one, its largest statement again and again for so long, to be profiled; with a
 * count: a statement of that, once, for the instructions to be counted (valgrind --tool=callgrind
 * --toggle-collect=sql_analyse). With -m those that MySQL has as well, with -s SQLite's.
 */
#include "common/buf.h"
#include "common/memory.h"
#include "common/pool.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/bench/samples.h"
#include "tests/harness/mutators/sql_shapes.h"

#include <math.h>
#include <pthread.h>

enum { POINTS = 4, LARGEST_COUNT = 1 << 16 };

static const double WORST_EXPONENT = 1.3, LONGEST_MS = 50, RUN_NS = 20e6;

static enum sql_dialect dialect = SQL_POSTGRESQL;
static struct catalog *catalog;

/* Returns whether the gate let it through. */
static bool analyse(str_t sql)
{
	struct sql_request request = {
		.sql = sql, .dialect = dialect, .target_named = true, .catalog = catalog
	};
	struct arena *arena = arena_new();
	struct sql_analysis analysis;
	bool passed = true;
	sql_analyse(&request, arena, &analysis);
	for (size_t i = 0; i < analysis.violations_count; i++)
		passed &= strcmp(analysis.violations[i].code, "too_long") != 0 &&
			  strcmp(analysis.violations[i].code, "too_deep") != 0;
	arena_free(arena);
	return passed;
}

static bool passes(const struct sql_shape *shape, unsigned count, struct buf *text)
{
	sql_shape_write(shape, count, text);
	return analyse(buf_str(text));
}

static unsigned largest_count(const struct sql_shape *shape, struct buf *text)
{
	unsigned good = 1, bad = 2;
	while (bad < LARGEST_COUNT && passes(shape, bad, text)) {
		good = bad;
		bad *= 2;
	}
	while (bad - good > 1 + good / 64) {
		unsigned middle = good + (bad - good) / 2;
		if (passes(shape, middle, text))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

/* Best of the runs that fit into RUN_NS, at least two. */
static double best_ns(str_t sql)
{
	double best = 1e18;
	int64_t begin = now_ns();
	for (unsigned i = 0; i < 2 || (double)(now_ns() - begin) < RUN_NS; i++) {
		int64_t start = cpu_ns();
		analyse(sql);
		double took = (double)(cpu_ns() - start);
		best = took < best ? took : best;
	}
	return best;
}

/* Least squares over logarithms. */
static double growth(const double *lengths, const double *times)
{
	double x = 0, y = 0, xx = 0, xy = 0;
	for (unsigned i = 0; i < POINTS; i++) {
		double length = log(lengths[i]), time = log(times[i]);
		x += length;
		y += time;
		xx += length * length;
		xy += length * time;
	}
	return (POINTS * xy - x * y) / (POINTS * xx - x * x);
}

/* Whether each repetition has the columns of all within, so that their number is quadratic in the text. */
static bool widens(const struct sql_shape *shape)
{
	return strcmp(shape->name, "doubled tables") == 0;
}

/* Writes the statement and returns what of it is repeated: its length without the frame, or the number of
 * columns that its stars stand for, as these are what there is to analyse. */
static double repeated_length(const struct sql_shape *shape, unsigned count, struct buf *text)
{
	sql_shape_write(shape, 0, text);
	size_t frame = text->len;
	sql_shape_write(shape, count, text);
	return widens(shape) ? (double)count * count : (double)(text->len - frame);
}

static void measure(const struct sql_shape *shape)
{
	double lengths[POINTS], times[POINTS];
	struct buf text = BUF_INIT;
	unsigned largest = largest_count(shape, &text);
	for (unsigned i = 0; i < POINTS; i++) {
		unsigned count = largest >> (POINTS - 1 - i);
		lengths[i] = repeated_length(shape, count, &text);
		times[i] = best_ns(buf_str(&text));
	}
	double exponent = growth(lengths, times), ms = times[POINTS - 1] / 1e6;
	printf("%-32s %6u %7zu %9.3f %8.2f%s%s\n", shape->name, largest, text.len, ms, exponent,
	       exponent > WORST_EXPONENT ? "  not linear" : "", ms > LONGEST_MS ? "  long" : "");
	fflush(stdout);
	buf_free(&text);
}

static void repeat(const struct sql_shape *shape, double seconds, unsigned count)
{
	struct buf text = BUF_INIT;
	sql_shape_write(shape, count ? count : largest_count(shape, &text), &text);
	int64_t begin = now_ns();
	do
		analyse(buf_str(&text));
	while ((double)(now_ns() - begin) < seconds * 1e9);
	buf_free(&text);
}

struct options {
	const char *shape;
	double seconds;
	unsigned count; /* 0: the largest */
};

static void *run(void *context)
{
	const struct options *options = context;
	if (!options->shape)
		printf("%-32s %6s %7s %9s %8s\n", "shape", "count", "bytes", "ms", "exponent");
	const struct sql_shape *shapes = dialect == SQL_POSTGRESQL ? sql_shapes : sql_common_shapes;
	size_t count = dialect == SQL_POSTGRESQL ? sql_shapes_count : sql_common_shapes_count;
	for (size_t i = 0; i < count; i++) {
		if (!options->shape)
			measure(&shapes[i]);
		else if (strcmp(options->shape, shapes[i].name) == 0 &&
			 (options->seconds > 0 || options->count > 0))
			repeat(&shapes[i], options->seconds, options->count);
		else if (strcmp(options->shape, shapes[i].name) == 0)
			measure(&shapes[i]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1 && (strcmp(argv[1], "-m") == 0 || strcmp(argv[1], "-s") == 0)) {
		dialect = argv[1][1] == 'm' ? SQL_MYSQL : SQL_SQLITE;
		argv++;
		argc--;
	}
	struct options options = { argc > 1 ? argv[1] : NULL, argc > 2 ? strtod(argv[2], NULL) : 0,
				   argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0 };
	pthread_attr_t attributes;
	pthread_t thread;
	memory_keep_freed();
	catalog = dialect == SQL_POSTGRESQL ? sql_shapes_catalog() : sql_common_shapes_catalog(dialect);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, POOL_STACK_BYTES);
	bool started = pthread_create(&thread, &attributes, run, &options) == 0;
	if (started)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	catalog_unref(catalog);
	return started ? 0 : 1;
}
