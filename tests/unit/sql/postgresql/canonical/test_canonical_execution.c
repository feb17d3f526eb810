/*
 * The canonical form against a real server: statements that it calls equal have to return the same rows on
 * every dataset, the databases' own and generated hostile ones. Ground truths that people wrote, rewrites of
 * them that mean the same or nearly the same (sql_rewrites.h), and random mutants. And the other way round:
 * how many of the rewrites that mean the same are recognised, by kind.
 *
 * ASSAYD_CANONICAL_MUTANTS: mutants of each truth (default 8); ASSAYD_CANONICAL_SEED: of the mutants and the
 * data (default 1); ASSAYD_CANONICAL_LIST: a file for what is not recognised, a kind, the truth and the
 * rewrite a line. Skipped, by name, where the corpus or PostgreSQL is not there.
 */
#include "common/buf.h"
#include "common/hash.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/lex/scan.h"
#include "tests/harness/fixtures/hostile_data.h"
#include "tests/harness/mutators/sql_rewrites.h"
#include "tests/harness/oracles/oracle_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

enum { DATASETS = 4, KINDS_MAX = 200, MUTANTS = 8, ROWS_MAX = 20000 };

/* Of the rewrites that return the same rows everywhere, in parts of a thousand. */
enum { RECOGNISED_BAR = 900 };

/* What a statement returned on one dataset. */
struct outcome {
	bool done;
	bool failed;
	bool cut;      /* at the time limit, which a busy machine meets sooner */
	uint64_t rows; /* of the bag of rows */
	uint64_t keys; /* of the sequence of its ORDER BY's keys that are selected */
};

struct statement {
	str_t sql;
	str_t canonical;
	bool ordered;
	bool unsteady; /* which rows come may depend on more than the data */
	size_t kind;   /* rewrite, or KINDS_MAX */
	size_t truth;  /* index of what it was made of */
	const struct sql_order_key *order_keys;
	size_t order_keys_count;
	struct outcome outcomes[DATASETS];
};

struct statements {
	struct arena *arena;
	struct statement *items;
	size_t count, capacity;
};

struct event_metrics {
	unsigned applied, refused, equal, recognised, wrong, unsteady;
};

static struct event_metrics tallies[KINDS_MAX + 1];
static unsigned compared, unsound;
static FILE *list;

static unsigned setting(const char *name, unsigned otherwise)
{
	const char *value = getenv(name);
	return value ? (unsigned)strtoul(value, NULL, 10) : otherwise;
}

/* ---- Statements ---- */

static bool has_word(str_t sql, const char *word)
{
	for (struct scan_token token = scan_next(sql, 0, SQL_POSTGRESQL); token.kind != SCAN_END;
	     token = scan_next(sql, token.offset + token.len, SQL_POSTGRESQL))
		if (scan_is_word(sql, token, word))
			return true;
	return false;
}

/* A LIMIT or window that cuts through ties may return other rows each time. */
static bool is_unsteady(str_t sql)
{
	static const char *const words[] = { "limit", "fetch", "over", "random", "array_agg", "string_agg" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has_word(sql, words[i]))
			return true;
	return false;
}

static struct statement *add(struct statements *statements, const struct oracle_database *database, str_t sql,
			     size_t kind, size_t truth)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_request request = { .sql = arena_str(arena, sql),
				       .dialect = SQL_POSTGRESQL,
				       .target_named = true,
				       .catalog = database->catalog };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	if (!analysis.valid || analysis.verdict != SQL_SAFE)
		return NULL;
	struct statement statement = { .sql = sql,
				       .canonical = arena_str(statements->arena, analysis.canonical),
				       .ordered = analysis.ordered,
				       .unsteady = is_unsteady(sql),
				       .kind = kind,
				       .truth = truth };
	struct sql_order_key *keys =
		ARENA_ARRAY(statements->arena, struct sql_order_key, analysis.order_keys_count + 1);
	statement.order_keys_count = 0;
	for (size_t i = 0; i < analysis.order_keys_count; i++) {
		size_t before = 0;
		while (before < i && analysis.order_keys[before].column != analysis.order_keys[i].column)
			before++;
		if (before == i || analysis.order_keys[i].column < 0) /* a key once more orders nothing */
			keys[statement.order_keys_count++] = analysis.order_keys[i];
	}
	statement.order_keys = keys;
	ARENA_PUSH(statements->arena, statements->items, statements->count, statements->capacity, statement);
	return &statements->items[statements->count - 1];
}

static void add_all(struct statements *statements, const struct oracle_database *database)
{
	size_t kinds;
	(void)sql_rewrite_kinds(&kinds);
	unsigned mutants = setting("ASSAYD_CANONICAL_MUTANTS", MUTANTS);
	uint64_t seed = setting("ASSAYD_CANONICAL_SEED", 1);
	for (size_t i = 0; i < database->truths_count; i++)
		(void)add(statements, database, database->truths[i], KINDS_MAX, i);
	size_t truths = statements->count;
	for (size_t i = 0; i < truths; i++) {
		str_t truth = statements->items[i].sql;
		for (size_t kind = 0; kind < kinds; kind++) {
			str_t sql = sql_rewrite(kind, truth, statements->arena);
			if (str_present(sql))
				(void)add(statements, database, sql, kind, i);
		}
		for (unsigned k = 0; k < mutants; k++) {
			struct sql_mutant mutant =
				sql_mutate(truth, &database->vocabulary, seed * 100003 + i * 1009 + k,
					   statements->arena);
			(void)add(statements, database, mutant.sql, KINDS_MAX, i);
		}
	}
}

/* ---- Execution ---- */

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static const uint64_t FIRST_HASH = UINT64_C(0xcbf29ce484222325);

/* Floats as far as their sums do not depend on the order of the addends. */
static uint64_t mix_value(uint64_t hash, const PGresult *result, int row, int column)
{
	char rounded[64];
	Oid type = PQftype(result, column);
	if (PQgetisnull(result, row, column))
		return mix(hash, "\1N", 2);
	const char *value = PQgetvalue(result, row, column);
	if (type == 700 || type == 701) {
		snprintf(rounded, sizeof rounded, "%.6g", strtod(value, NULL));
		value = rounded;
	}
	hash = mix(hash, value, strlen(value));
	return mix(hash, "\2", 1);
}

static struct outcome outcome_of(const PGresult *result, const struct statement *statement)
{
	struct outcome outcome = { .done = true, .keys = FIRST_HASH };
	int columns = PQnfields(result);
	outcome.rows = (uint64_t)columns;
	for (int row = 0; row < PQntuples(result); row++) {
		uint64_t hash = FIRST_HASH;
		for (int column = 0; column < columns; column++)
			hash = mix_value(hash, result, row, column);
		hash ^= hash >> 29; /* a bag: their sum does not know the order */
		outcome.rows += hash * UINT64_C(0x9E3779B97F4A7C15);
		for (size_t i = 0; i < statement->order_keys_count; i++) {
			int column = statement->order_keys[i].column;
			if (column < 0 || column >= columns)
				break; /* what follows orders ties of a key that does not show */
			outcome.keys = mix_value(outcome.keys, result, row, column);
		}
	}
	return outcome;
}

static void execute(PGconn *connection, struct statement *statement, size_t dataset)
{
	struct outcome *outcome = &statement->outcomes[dataset];
	if (outcome->done)
		return;
	PGresult *result = PQexec(connection, statement->sql.ptr);
	if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) < ROWS_MAX) {
		*outcome = outcome_of(result, statement);
	} else {
		const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		bool cut = sqlstate && strcmp(sqlstate, "57014") == 0;
		*outcome = (struct outcome){ .done = true, .failed = true, .cut = cut };
		PQclear(PQexec(connection, "ROLLBACK TO SAVEPOINT data"));
	}
	PQclear(result);
}

enum verdict { SAME, OTHER, UNDECIDED };

/* Whether two statements returned the same; UNDECIDED where a cut through ties may be why they did not. */
static enum verdict compare(const struct statement *a, const struct statement *b, size_t dataset)
{
	const struct outcome *left = &a->outcomes[dataset], *right = &b->outcomes[dataset];
	if (left->cut || right->cut)
		return UNDECIDED;
	if (left->failed || right->failed)
		return left->failed == right->failed ? SAME : OTHER;
	if (a->ordered != b->ordered || (a->ordered && left->keys != right->keys))
		return a->unsteady ? UNDECIDED : OTHER;
	if (left->rows == right->rows)
		return SAME;
	return a->unsteady || b->unsteady ? UNDECIDED : OTHER;
}

/* ---- Judging ---- */

static int by_canonical(const void *a, const void *b)
{
	const struct statement *left = *(struct statement *const *)a, *right = *(struct statement *const *)b;
	int order = strcmp(left->canonical.ptr, right->canonical.ptr);
	return order ? order : (left > right) - (left < right);
}

static void report_unsound(const struct oracle_database *database, const struct statement *a,
			   const struct statement *b, size_t dataset)
{
	unsound++;
	print_error("equal to us, not to %s (data %zu)\n  " STR_FMT "\n  " STR_FMT "\n  " STR_FMT "\n",
		    database->name, dataset, STR_ARG(a->sql), STR_ARG(b->sql), STR_ARG(a->canonical));
}

/* Every pair of a class: all of it against the first. */
static void judge_classes(const struct oracle_database *database, struct statement **sorted, size_t count,
			  PGconn *connection, size_t dataset)
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && str_equal(sorted[end]->canonical, sorted[i]->canonical);
		     end++) {
			execute(connection, sorted[i], dataset);
			execute(connection, sorted[end], dataset);
			compared++;
			enum verdict verdict = compare(sorted[i], sorted[end], dataset);
			if (verdict == OTHER)
				report_unsound(database, sorted[i], sorted[end], dataset);
		}
	}
}

static bool recognised(const struct statements *statements, const struct statement *statement)
{
	return str_equal(statement->canonical, statements->items[statement->truth].canonical);
}

/* Runs the truths and what was rewritten of them, as long as they agree. */
static void run_rewrites(const struct statements *statements, PGconn *connection, size_t dataset)
{
	for (size_t i = 0; i < statements->count; i++) {
		struct statement *statement = &statements->items[i];
		struct statement *truth = &statements->items[statement->truth];
		bool told_apart = false;
		for (size_t before = 0; before < dataset && statement->kind < KINDS_MAX; before++)
			told_apart |= compare(statement, truth, before) == OTHER;
		if (statement->kind == KINDS_MAX || told_apart)
			continue;
		execute(connection, truth, dataset);
		execute(connection, statement, dataset);
	}
}

static void event_metrics(const struct statements *statements, const struct sql_rewrite_kind *kinds,
			  const struct oracle_database *database)
{
	for (size_t i = 0; i < statements->count; i++) {
		const struct statement *statement = &statements->items[i];
		const struct statement *truth = &statements->items[statement->truth];
		struct event_metrics *one = &tallies[statement->kind];
		bool same = true, undecided = false, failed = false;
		if (statement->kind == KINDS_MAX)
			continue;
		for (size_t k = 0; k < DATASETS; k++) {
			enum verdict verdict = compare(statement, truth, k);
			failed |= statement->outcomes[k].failed || truth->outcomes[k].failed;
			undecided |= verdict == UNDECIDED;
			same &= verdict != OTHER && statement->outcomes[k].done;
		}
		one->applied++;
		one->refused += failed;
		one->unsteady += undecided && !failed;
		if (failed || undecided || !same)
			continue;
		one->equal++;
		one->recognised += recognised(statements, statement);
		if (list && !recognised(statements, statement))
			fprintf(list, "%s\t%s\t" STR_FMT "\t" STR_FMT "\t" STR_FMT "\t" STR_FMT "\n",
				kinds[statement->kind].name, database->name, STR_ARG(truth->sql),
				STR_ARG(statement->sql), STR_ARG(truth->canonical),
				STR_ARG(statement->canonical));
	}
}

static void judge_database(struct oracle_database *database)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct statements statements = { .arena = arena };
	size_t kinds_count;
	const struct sql_rewrite_kind *kinds = sql_rewrite_kinds(&kinds_count);
	add_all(&statements, database);
	struct statement **sorted = ARENA_ARRAY(arena, struct statement *, statements.count + 1);
	for (size_t i = 0; i < statements.count; i++)
		sorted[i] = &statements.items[i];
	qsort(sorted, statements.count, sizeof *sorted, by_canonical);
	for (size_t dataset = 0; dataset < DATASETS; dataset++) {
		uint64_t seed = setting("ASSAYD_CANONICAL_SEED", 1) * 31 + dataset;
		assert_true(hostile_data_begin(database, (enum hostile_data)dataset, seed, arena));
		run_rewrites(&statements, database->connection, dataset);
		judge_classes(database, sorted, statements.count, database->connection, dataset);
		hostile_data_end(database);
	}
	event_metrics(&statements, kinds, database);
}

static void print_event_metrics(const char *name, const struct event_metrics *one)
{
	print_message("%-34s %6u %6u %6u %6u %6u  %5.1f%%\n", name, one->applied, one->refused, one->unsteady,
		      one->equal, one->recognised, one->equal ? 100.0 * one->recognised / one->equal : 100.0);
}

static void test_equal_forms_return_equal_rows(void **state)
{
	size_t count;
	const struct sql_rewrite_kind *kinds = sql_rewrite_kinds(&count);
	struct event_metrics sum = { 0 };
	const char *path = getenv("ASSAYD_CANONICAL_LIST");
	(void)state;
	list = path ? fopen(path, "w") : NULL;
	for (size_t i = 0; i < oracle.count; i++) {
		if (oracle.databases[i].is_corpus)
			judge_database(&oracle.databases[i]);
	}
	if (list)
		fclose(list);
	print_message("%-34s %6s %6s %6s %6s %6s\n", "rewrite", "all", "error", "ties", "equal", "known");
	for (size_t i = 0; i < count; i++) {
		print_event_metrics(kinds[i].name, &tallies[i]);
		if (!kinds[i].preserving)
			continue;
		sum.applied += tallies[i].applied;
		sum.refused += tallies[i].refused;
		sum.unsteady += tallies[i].unsteady;
		sum.equal += tallies[i].equal;
		sum.recognised += tallies[i].recognised;
	}
	print_event_metrics("all that mean the same", &sum);
	print_message("%u pairs of equal form compared, %u wrong\n", compared, unsound);
	assert_int_equal(unsound, 0);
	assert_true(compared > 10000);
	assert_true(sum.recognised * 1000 >= sum.equal * RECOGNISED_BAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_equal_forms_return_equal_rows) };
	return cmocka_run_group_tests(tests, load_oracle, free_oracle);
}
