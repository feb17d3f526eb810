/*
 * PostgreSQL's own PREPARE as the oracle of names, types and grouping: statements that people wrote, and
 * many mutants of them, have to be accepted and rejected alike (tests/harness/oracles/oracle.h).
 *
 * ASSAYD_ORACLE_MUTANTS: how many (default 4000, in a long run 22000); ASSAYD_ORACLE_SEED: of the
 * mutants (default 1); ASSAYD_ORACLE_LITERALS: how many literals (default 20000); ASSAYD_ORACLE_LIST: a file
 * for the disagreements, one a line. What is left of these, and why, is in oracle_postgresql.md. What is
 * skipped is named.
 */
#include "common/pool.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/mutators/sql_literals.h"
#include "tests/harness/oracles/oracle.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

/* Bars, in parts of a thousand; false errors in parts of ten thousand. */
enum {
	AGREEMENT_BAR = 998,
	CLASS_BAR = 990,
	LITERALS_BAR = 950,
	FALSE_ERRORS_BAR = 1,
	TRUTHS_FALSE_ERRORS_BAR = 0,
	SQLSTATE_LEN = 5
};

static struct oracle oracle;

struct verdict {
	bool accepted;
	bool excluded; /* PREPARE says nothing about it */
	char sqlstate[SQLSTATE_LEN + 1];
	char message[256];
};

struct event_metrics {
	bool are_truths;
	unsigned long mutants, excluded, agreed, rejected, same_code, same_class, false_errors, missed;
};

/* Errors of ours alone, which PREPARE cannot know. */
static bool is_known_to_prepare(const struct sql_diagnostic *diagnostic)
{
	return diagnostic->severity == SQL_ERROR && strcmp(diagnostic->code, "missing_required") != 0 &&
	       strcmp(diagnostic->code, "markdown_fence") != 0;
}

/* The error that PREPARE would stop at. */
static const struct sql_diagnostic *first_error(const struct sql_analysis *analysis)
{
	const struct sql_diagnostic *first = NULL;
	for (size_t i = 0; i < analysis->diagnostics_count; i++) {
		const struct sql_diagnostic *diagnostic = &analysis->diagnostics[i];
		if (is_known_to_prepare(diagnostic) && (!first || diagnostic->order < first->order))
			first = diagnostic;
	}
	return first;
}

static struct verdict our_verdict(const struct oracle_database *database, str_t sql, struct arena *arena)
{
	struct sql_request request = { .sql = sql, .target_named = true, .catalog = database->catalog };
	struct sql_analysis analysis = { 0 };
	struct verdict verdict = { .accepted = true };
	sql_analyse(&request, arena, &analysis);
	for (size_t i = 0; i < analysis.violations_count; i++)
		verdict.excluded |= strcmp(analysis.violations[i].code, "not_a_read") == 0;
	const struct sql_diagnostic *first = first_error(&analysis);
	if (!first)
		return verdict;
	verdict.accepted = false;
	snprintf(verdict.sqlstate, sizeof verdict.sqlstate, "%s", first->sqlstate ? first->sqlstate : "");
	snprintf(verdict.message, sizeof verdict.message, "%s: " STR_FMT, first->code,
		 STR_ARG(first->message));
	return verdict;
}

static struct verdict their_verdict(const struct oracle_database *database, str_t sql)
{
	PGresult *result = PQprepare(database->connection, "", sql.ptr, 0, NULL);
	struct verdict verdict = { .accepted = PQresultStatus(result) == PGRES_COMMAND_OK };
	if (!verdict.accepted) {
		const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
		assert_non_null(sqlstate); /* else the server is gone */
		snprintf(verdict.sqlstate, sizeof verdict.sqlstate, "%s", sqlstate);
		snprintf(verdict.message, sizeof verdict.message, "%s", message);
	}
	PQclear(result);
	return verdict;
}

static void print_text(FILE *file, const char *text)
{
	for (; *text; text++)
		fputc(*text == '\n' || *text == '\t' || *text == '\r' ? ' ' : *text, file);
}

static void list(FILE *file, const char *what, const struct verdict *ours, const struct verdict *theirs,
		 const char *database, const char *kind, str_t sql)
{
	if (!file)
		return;
	fprintf(file, "%s\t%s\t%s\t", what, ours->accepted ? "accepted" : ours->sqlstate,
		theirs->accepted ? "accepted" : theirs->sqlstate);
	const char *const texts[] = { ours->message, theirs->message, database, kind, sql.ptr };
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		print_text(file, texts[i]);
		fputc(i + 1 < sizeof texts / sizeof texts[0] ? '\t' : '\n', file);
	}
}

static const char *count(struct event_metrics *event_metrics, const struct verdict *ours,
			 const struct verdict *theirs)
{
	event_metrics->mutants++;
	if (ours->accepted != theirs->accepted) {
		event_metrics->false_errors += theirs->accepted;
		event_metrics->missed += ours->accepted;
		return theirs->accepted ? "false_error" : "missed";
	}
	event_metrics->agreed++;
	if (ours->accepted)
		return NULL;
	event_metrics->rejected++;
	bool same_class = strncmp(ours->sqlstate, theirs->sqlstate, 2) == 0;
	bool same_code = strcmp(ours->sqlstate, theirs->sqlstate) == 0;
	event_metrics->same_class += same_class;
	event_metrics->same_code += same_code;
	return same_code ? NULL : same_class ? "other_code" : "other_class";
}

static void compare(const struct oracle_database *database, str_t sql, const char *kind, struct arena *arena,
		    struct event_metrics *event_metrics, FILE *file)
{
	struct verdict ours = our_verdict(database, sql, arena);
	if (ours.excluded) {
		event_metrics->excluded++;
		return;
	}
	struct verdict theirs = their_verdict(database, sql);
	const char *what = count(event_metrics, &ours, &theirs);
	if (event_metrics->are_truths && !theirs.accepted)
		what = "no_truth";
	if (what)
		list(file, what, &ours, &theirs, database->name, kind, sql);
}

static unsigned long setting(const char *name, unsigned long fallback)
{
	const char *text = getenv(name);
	return text ? strtoul(text, NULL, 10) : fallback;
}

static double parts(unsigned long part, unsigned long whole, double scale)
{
	return whole == 0 ? scale : scale * (double)part / (double)whole;
}

static void print_event_metrics(const char *what, const struct event_metrics *event_metrics)
{
	print_message("%s: %lu (and %lu that read nothing); accepted or rejected alike: %.3f %%; errors "
		      "missed: %lu; "
		      "false errors: %lu (%.3f %%)\n",
		      what, event_metrics->mutants, event_metrics->excluded,
		      parts(event_metrics->agreed, event_metrics->mutants, 100), event_metrics->missed,
		      event_metrics->false_errors,
		      parts(event_metrics->false_errors, event_metrics->mutants, 100));
	print_message(
		"%s: rejected by both: %lu; the same SQLSTATE first: %.2f %%; the same class: %.2f %%\n",
		what, event_metrics->rejected, parts(event_metrics->same_code, event_metrics->rejected, 100),
		parts(event_metrics->same_class, event_metrics->rejected, 100));
}

static FILE *open_list(const char *mode)
{
	const char *path = getenv("ASSAYD_ORACLE_LIST");
	FILE *file = path ? fopen(path, mode) : NULL;
	assert_true(!path || file);
	return file;
}

static void test_truths(void **state)
{
	struct event_metrics event_metrics = { .are_truths = true };
	(void)state;
	_cleanup_(cleanup_fclose) FILE *file = open_list("w");
	for (size_t i = 0; i < oracle.count; i++) {
		for (size_t j = 0; j < oracle.databases[i].truths_count; j++) {
			_cleanup_(arena_scope) struct arena *arena = arena_new();
			compare(&oracle.databases[i], oracle.databases[i].truths[j], "truth", arena,
				&event_metrics, file);
		}
	}
	print_event_metrics("truths", &event_metrics);
	assert_true(event_metrics.mutants > 500);
	assert_int_equal(event_metrics.rejected + event_metrics.missed, 0); /* or they are no truths */
	assert_int_equal(event_metrics.excluded, 0);
	assert_true(event_metrics.false_errors <= TRUTHS_FALSE_ERRORS_BAR);
}

static size_t truths_count(void)
{
	size_t sum = 0;
	for (size_t i = 0; i < oracle.count; i++)
		sum += oracle.databases[i].truths_count;
	return sum;
}

/* The truth of that number, counted through all databases. */
static str_t truth(size_t number, const struct oracle_database **ret_database)
{
	const struct oracle_database *database = oracle.databases;
	while (number >= database->truths_count)
		number -= database++->truths_count;
	*ret_database = database;
	return database->truths[number];
}

static void test_mutants(void **state)
{
	struct event_metrics event_metrics = { 0 };
	(void)state;
	_cleanup_(cleanup_fclose) FILE *file = open_list("a");
	unsigned long mutants = setting("ASSAYD_ORACLE_MUTANTS", whole_or(22000, 4000)),
		      seed = setting("ASSAYD_ORACLE_SEED", 1);
	size_t truths = truths_count();
	for (unsigned long i = 0; i < mutants; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		const struct oracle_database *database;
		str_t sql = truth(i % truths, &database);
		struct sql_mutant mutant = sql_mutate(sql, &database->vocabulary, seed << 32 | i, arena);
		compare(database, mutant.sql, mutant.kind, arena, &event_metrics, file);
	}
	print_event_metrics("mutants", &event_metrics);
	assert_true(parts(event_metrics.agreed, event_metrics.mutants, 1000) >= AGREEMENT_BAR);
	assert_true(parts(event_metrics.same_class, event_metrics.rejected, 1000) >= CLASS_BAR);
	assert_true(parts(event_metrics.false_errors, event_metrics.mutants, 10000) <= FALSE_ERRORS_BAR);
}

static const struct oracle_database *database_named(const char *name)
{
	for (size_t i = 0; i < oracle.count; i++) {
		if (strcmp(oracle.databases[i].name, name) == 0)
			return &oracle.databases[i];
	}
	fail_msg("no database %s", name);
	return NULL;
}

/* Literals of every type, right and broken, by both forms of a cast. */
static void test_literals(void **state)
{
	struct event_metrics event_metrics = { 0 };
	(void)state;
	_cleanup_(cleanup_fclose) FILE *file = open_list("a");
	const struct oracle_database *types = database_named("types");
	unsigned long literals = setting("ASSAYD_ORACLE_LITERALS", whole_or(20000, 4000)),
		      seed = setting("ASSAYD_ORACLE_SEED", 1);
	for (unsigned long i = 0; i < literals; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_literal literal = sql_literal_for(seed << 32 | i, arena);
		str_t sql = arena_printf(arena,
					 i % 2 ? "SELECT CAST(" STR_FMT " AS %s)" : "SELECT " STR_FMT "::%s",
					 STR_ARG(literal.quoted), literal.type);
		compare(types, sql, literal.type, arena, &event_metrics, file);
	}
	print_event_metrics("literals", &event_metrics);
	assert_true(parts(event_metrics.agreed, event_metrics.mutants, 1000) >= LITERALS_BAR);
	assert_int_equal(event_metrics.false_errors, 0);
}

/* The analysis needs the stack of a worker. */
static void *run(void *context)
{
	int *status = context;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truths),
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_literals),
	};
	*status = cmocka_run_group_tests(tests, NULL, NULL);
	return NULL;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int status = oracle_load(&oracle);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, POOL_STACK_BYTES);
	if (status == 0) {
		status = 1;
		if (pthread_create(&thread, &attributes, run, &status) == 0)
			pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attributes);
	oracle_free(&oracle);
	return status;
}
