/*
 * Validation of results on real databases, by what has to stay the same and what must not: every ground truth
 * that people wrote is rewritten in many ways (tests/harness/mutators/result_rewrites.h, sql_rewrites.h) and
 * validated against itself through real worker processes. What is to come out is not taken from the
 * comparison: it follows from how the rewrite is made, or the server counts the rows that both have in common
 * (tests/harness/oracles/result_oracle.h), and the score follows from the counts.
 *
 * ASSAYD_METAMORPHIC_SHARE: one rewrite in so many is tried (default 40; 1: all of them, minutes);
 * ASSAYD_METAMORPHIC_SEED: which ones (default 0); ASSAYD_METAMORPHIC_DATABASE: only that one;
 * ASSAYD_METAMORPHIC_KIND: only the kinds of that name; ASSAYD_METAMORPHIC_LIST: a file for all that were
 * left out. See metamorphic.md. Skipped, by name, where the corpus or PostgreSQL is not there.
 */
#include "tests/harness/fixtures/hostile_data.h"
#include "tests/harness/oracles/oracle_fixture.h"
#include "tests/unit/target/metamorphic_trial.h"

enum { SHARE = 40, LIMITS_OFTEN = 4, MAX_KINDS = 320, WRONG_SHOWN = 60 };

static const enum hostile_data datasets[] = { DATA_ITS_OWN, DATA_DENSE, DATA_SPARSE };

static FILE *list;

/* What became of the rewrites of a kind. */
struct event_metrics {
	unsigned tried;
	unsigned refused;  /* not proven to be safe, or not even a statement */
	unsigned failed;   /* an error of the server, and a score of 0 */
	unsigned unknown;  /* the server could not be asked */
	unsigned unsteady; /* promised to be the same, but what a LIMIT or window takes depends on the plan */
	unsigned close;	   /* decided by a tolerance */
	unsigned same, other;
	unsigned wrong;
};

static struct event_metrics tallies[MAX_KINDS];
static unsigned wrong_total, promises_broken, truths_tried, truths_failed;

static unsigned setting(const char *name, unsigned otherwise)
{
	const char *value = getenv(name);
	return value ? (unsigned)strtoul(value, NULL, 10) : otherwise;
}

/* Spreads the rewrites that are tried over truths and kinds. */
static bool is_chosen(size_t truth, size_t kind, unsigned share)
{
	uint64_t mixed = (truth * 1000 + kind) * UINT64_C(0x9E3779B97F4A7C15);
	return (mixed >> 33) % share == setting("ASSAYD_METAMORPHIC_SEED", 0) % share;
}

static unsigned share(void)
{
	return setting("ASSAYD_METAMORPHIC_SHARE", SHARE);
}

/* Whether the kind is asked for by its name, or by its share where no name is given. */
static bool is_wanted(const char *name, size_t truth, size_t kind, unsigned share)
{
	const char *only = getenv("ASSAYD_METAMORPHIC_KIND");
	return only ? strcmp(only, name) == 0 : is_chosen(truth, kind, share);
}

/* ---- Reports ---- */

static void note(const struct trial *trial, const char *what)
{
	if (list)
		trial_show(list, trial, what);
}

/* A promise that the server does not see kept: the truth depends on the plan, or the rewrite is wrong. */
static void judge_promise(const struct trial *trial, struct event_metrics *event_metrics)
{
	const struct result_likeness *likeness = &trial->likeness;
	if (trial->promise != RESULT_SAME_ROWS || likeness->known != RESULT_KNOWN ||
	    trial_equal(trial_rate(likeness), 1.0) || likeness->close)
		return;
	if (trial->truth->limited) {
		event_metrics->unsteady++;
		note(trial, "unsteady");
		return;
	}
	promises_broken++;
	note(trial, "promise broken");
	trial_show(stderr, trial, "promise broken");
}

static void count_wrong(const struct trial *trial, struct event_metrics *event_metrics)
{
	event_metrics->wrong++;
	note(trial, trial->wrong);
	if (wrong_total++ < WRONG_SHOWN) {
		trial_show(stderr, trial, trial->wrong);
		trial_show_rows(trial);
	}
}

static void count(const struct trial *trial, struct event_metrics *event_metrics)
{
	enum result_known known = trial->promise == RESULT_SAME ? RESULT_KNOWN : trial->likeness.known;
	bool same = trial->promise == RESULT_SAME || trial_equal(trial_rate(&trial->likeness), 1.0);
	event_metrics->failed += known == RESULT_FAILS;
	event_metrics->unknown += known == RESULT_TYPES || known == RESULT_TOO_LARGE;
	event_metrics->close +=
		known == RESULT_KNOWN && trial->promise != RESULT_SAME && trial->likeness.close;
	event_metrics->same += known == RESULT_KNOWN && same;
	event_metrics->other += known == RESULT_OTHER_SHAPE || (known == RESULT_KNOWN && !same);
	if (known == RESULT_TYPES || known == RESULT_TOO_LARGE)
		note(trial, known == RESULT_TYPES ? "types" : "too large");
	judge_promise(trial, event_metrics);
	if (trial->wrong)
		count_wrong(trial, event_metrics);
}

/* ---- Trials ---- */

static void try_kind(const struct oracle_database *database, const struct result_source *truth,
		     const struct sort_keys *keys, size_t kind, struct targets *targets)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct result_rewrite_kind described = result_rewrite_kind(kind);
	str_t sql = result_rewrite(kind, truth, arena);
	if (!str_present(sql))
		return;
	struct trial_statement statement = trial_analyse(database, sql, arena);
	struct trial trial = { .database = database,
			       .truth = truth,
			       .keys = keys,
			       .name = described.name,
			       .promise = described.promise,
			       .sql = statement.text };
	tallies[kind].tried++;
	if (!statement.safe) {
		tallies[kind].refused++;
		note(&trial, statement.analysis.violations_count ? statement.analysis.violations[0].code
								 : "does not parse");
		return;
	}
	trial_run(&trial, targets, arena);
	count(&trial, &tallies[kind]);
}

/* A LIMIT that cut nothing off excuses no row at its end. */
static void try_barely_limited(const struct oracle_database *database, const struct result_source *truth,
			       size_t index, struct targets *targets)
{
	unsigned often = share() / LIMITS_OFTEN + 1;
	static const char *const names[] = { "last number off", "last text other",
					     "last text of the row before" };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t sql = truth->ordered ? result_barely_limited(truth, arena) : STR_NONE;
	struct result_source source;
	struct sort_keys keys;
	if (!str_present(sql) || !is_wanted("LIMIT that cuts nothing off", index, MAX_KINDS, often) ||
	    !trial_truth(database, sql, arena, &source, &keys))
		return;
	for (size_t kind = 0; kind < result_rewrite_count(); kind++)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strcmp(names[i], result_rewrite_kind(kind).name) == 0)
				try_kind(database, &source, &keys, kind, targets);
	PQclear(source.result);
}

static void try_truth(const struct oracle_database *database, size_t index, size_t dataset,
		      struct targets *targets)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct result_source source;
	struct sort_keys keys;
	if (!trial_truth(database, database->truths[index], arena, &source, &keys)) {
		truths_failed++; /* on other data than its own */
		return;
	}
	truths_tried++;
	for (size_t kind = 0; kind < result_rewrite_count(); kind++) {
		if (is_wanted(result_rewrite_kind(kind).name, index * 10 + dataset, kind, share()))
			try_kind(database, &source, &keys, kind, targets);
	}
	try_barely_limited(database, &source, index * 10 + dataset, targets);
	PQclear(source.result);
}

/* The database's own data, then others for good. */
static void fill(struct oracle_database *database, enum hostile_data data)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	uint64_t seed = setting("ASSAYD_METAMORPHIC_SEED", 0) * 31 + data;
	assert_true(hostile_data_begin(database, data, seed, arena));
	PQclear(PQexec(database->connection, "COMMIT"));
}

static void try_database(struct oracle_database *database)
{
	struct targets *targets = trial_target(&oracle, database);
	for (size_t dataset = 0; dataset < sizeof datasets / sizeof *datasets; dataset++) {
		fill(database, datasets[dataset]);
		for (size_t i = 0; i < database->truths_count; i++)
			try_truth(database, i, dataset, targets);
	}
	targets_stop(targets);
}

static void add_event_metrics(struct event_metrics *sum, const struct event_metrics *one)
{
	sum->tried += one->tried;
	sum->refused += one->refused;
	sum->failed += one->failed;
	sum->unknown += one->unknown;
	sum->unsteady += one->unsteady;
	sum->close += one->close;
	sum->same += one->same;
	sum->other += one->other;
	sum->wrong += one->wrong;
}

static void print_event_metrics(const char *name, const struct event_metrics *one)
{
	print_message("%-36s %6u %6u %6u %6u %6u %6u %6u %6u %6u\n", name, one->tried, one->refused,
		      one->failed, one->unknown, one->unsteady, one->close, one->same, one->other,
		      one->wrong);
}

static void print_tallies(void)
{
	struct event_metrics same = { 0 }, maybe = { 0 };
	print_message("%-36s %6s %6s %6s %6s %6s %6s %6s %6s %6s\n", "rewrite", "tried", "unsafe", "error",
		      "unknwn", "ties", "close", "same", "other", "wrong");
	for (size_t i = 0; i < result_rewrite_count(); i++) {
		struct result_rewrite_kind kind = result_rewrite_kind(i);
		if (tallies[i].tried > 0)
			print_event_metrics(kind.name, &tallies[i]);
		add_event_metrics(kind.promise == RESULT_MAYBE ? &maybe : &same, &tallies[i]);
	}
	print_event_metrics("all that keep the result", &same);
	print_event_metrics("all others", &maybe);
}

static void rewrites_score_what_they_return(void **state)
{
	const char *only = getenv("ASSAYD_METAMORPHIC_DATABASE"), *path = getenv("ASSAYD_METAMORPHIC_LIST");
	(void)state;
	assert_true(result_rewrite_count() <= MAX_KINDS);
	list = path ? fopen(path, "w") : NULL;
	for (size_t i = 0; i < oracle.count; i++) {
		struct oracle_database *database = &oracle.databases[i];
		if (database->is_corpus && (!only || strcmp(only, database->name) == 0))
			try_database(database);
	}
	if (list)
		fclose(list);
	print_tallies();
	print_message("truths on data: %u (%u more failed); scored wrongly: %u; promises broken: %u\n",
		      truths_tried, truths_failed, wrong_total, promises_broken);
	assert_int_equal(wrong_total, 0);
	assert_int_equal(promises_broken, 0);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = { cmocka_unit_test(rewrites_score_what_they_return) };
	return cmocka_run_group_tests(tests, load_oracle, free_oracle);
}
