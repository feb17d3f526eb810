/*
 * Safety verdicts against what PostgreSQL really does: whatever the analysis calls SAFE runs on a private
 * server as a plain role that owns the database, and must leave nothing behind.
 *
 * - attacks.txt: refused one and all, and their effects are real (the detector is proven by them, too);
 * - harmless.txt: none refused, none with an effect;
 * - the fragments of the libinjection corpus wherever careless programs put them; skipped, by name, where the
 *   corpus is not there. Each fragment goes to some of the places, all of them in turn; ASSAYD_ATTACKS=all
 * puts every fragment in every place (minutes).
 */
#include "sql/catalog/catalog.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/harness/fixtures/fragments.h"
#include "tests/harness/oracles/effects.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PLACES_OF_A_FRAGMENT 1
#define THOROUGH_EVERY	     64 /* statements */
#define ROLE		     "app"

static struct test_postgres server;
static struct catalog *hostile; /* with all of schema.sql */
static struct catalog *plain;	/* without what makes every comparison doubtful */
static struct arena *arena;
static char folder[256];

/* Catalog */

static void ignore_notice(void *unused, const PGresult *notice)
{
	(void)unused;
	(void)notice;
}

static PGconn *open_as(const char *database, const char *role)
{
	char dsn[512];
	snprintf(dsn, sizeof dsn, "host=%s port=%s dbname=%s user=%s", server.dir, server.port, database,
		 role);
	PGconn *connection = PQconnectdb(dsn);
	PQsetNoticeReceiver(connection, ignore_notice, NULL);
	if (PQstatus(connection) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(connection));
	return connection;
}

static void run_sql(PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	PQclear(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%.200s: %s", sql, PQerrorMessage(connection));
}

static void run_file(PGconn *connection, const char *name)
{
	char path[512];
	struct stat status;
	snprintf(path, sizeof path, "%s/tests/corpora/safety/%s", ASSAYD_SOURCE_DIR, name);
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	char *text = arena_alloc(arena, (size_t)status.st_size + 1);
	assert_int_equal(fread(text, 1, (size_t)status.st_size, file), status.st_size);
	run_sql(connection, text);
}

static struct catalog *read_catalog(const char *database)
{
	struct catalog *catalog = NULL;
	PGconn *connection = open_as(database, ROLE);
	struct err_detail detail = { "" };
	PGresult *result = PQexec(connection, CATALOG_QUERY_POSTGRESQL);
	if (PQntuples(result) != 1)
		fail_msg("%s", PQerrorMessage(connection));
	str_t json = { PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0) };
	if (catalog_compile_postgresql(json, &catalog, &detail))
		fail_msg("%s", detail.message);
	PQclear(result);
	PQfinish(connection);
	return catalog;
}

/* The role may do all that a plain role can be allowed to do, so that nothing is stopped by permissions. */
static void make_databases(void)
{
	static const char *const extensions[] = { "citext",	"hstore",	"pg_trgm",  "tablefunc",
						  "dblink",	"pageinspect",	"xml2",	    "pgcrypto",
						  "pg_prewarm", "postgres_fdw", "intarray", "adminpack",
						  "btree_gist" };
	PGconn *connection = open_as("postgres", "postgres");
	run_sql(connection, "CREATE ROLE " ROLE " LOGIN IN ROLE pg_read_server_files, pg_write_server_files,"
			    " pg_execute_server_program, pg_read_all_stats");
	run_sql(connection, "CREATE DATABASE scratch OWNER " ROLE);
	PGconn *scratch = open_as("scratch", "postgres");
	for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
		run_sql(scratch, arena_printf(arena, "CREATE EXTENSION \"%s\"", extensions[i]).ptr);
	run_sql(scratch,
		"GRANT EXECUTE ON FUNCTION pg_ls_dir(text), pg_read_file(text), pg_read_binary_file(text),"
		" pg_read_file(text, bigint, bigint, boolean) TO " ROLE
		"; ALTER SCHEMA public OWNER TO " ROLE);
	PQfinish(scratch);
	scratch = open_as("scratch", ROLE);
	run_file(scratch, "schema.sql");
	PQfinish(scratch);
	scratch = open_as("scratch", "postgres");
	run_file(scratch, "schema_superuser.sql");
	run_sql(scratch, "VACUUM (FREEZE, ANALYZE)");
	PQfinish(scratch);
	run_sql(connection, "CREATE DATABASE pristine TEMPLATE scratch OWNER " ROLE);
	run_sql(connection, "CREATE DATABASE plain TEMPLATE scratch OWNER " ROLE);
	PQfinish(connection);
	scratch = open_as("plain", ROLE);
	run_sql(scratch, "DROP OPERATOR = (varchar, varchar)");
	PQfinish(scratch);
	scratch = open_as("plain", "postgres");
	run_sql(scratch, "DROP OPERATOR CLASS pair_order USING btree CASCADE; DROP TYPE pair CASCADE; DROP "
			 "TYPE coin CASCADE");
	PQfinish(scratch);
}

static void make_folder(void)
{
	char path[300];
	snprintf(folder, sizeof folder, "%s/watched", server.dir);
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	snprintf(path, sizeof path, "%s/seed", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fputs("seed\n", file), 1);
	fclose(file);
	assert_int_equal(chmod(path, 0644), 0);
}

static int start(void **state)
{
	(void)state;
	int status = test_postgres_start(&server, NULL);
	if (status == 77) {
		print_message("skipped: PostgreSQL is not installed\n");
		exit(77);
	}
	if (status || !effects_prepare(&server))
		return 1;
	arena = arena_new();
	make_folder();
	make_databases();
	hostile = read_catalog("scratch");
	plain = read_catalog("plain");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	catalog_unref(hostile);
	catalog_unref(plain);
	arena_free(arena);
	return test_postgres_do(&server, "stop");
}

static struct effects *watch(const char *database)
{
	struct effects *effects = effects_open(&server, database, ROLE, folder);
	assert_non_null(effects);
	return effects;
}

/* Verdicts */

static enum sql_verdict judge(str_t sql, const struct catalog *catalog, bool print)
{
	_cleanup_(arena_cleanup) struct arena *scope = arena_new();
	struct sql_request request = {
		.sql = sql, .dialect = SQL_POSTGRESQL, .target_named = true, .catalog = catalog
	};
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, scope, &analysis);
	for (size_t i = 0; print && i < analysis.violations_count; i++)
		print_error("  %s: " STR_FMT "\n", analysis.violations[i].code,
			    STR_ARG(analysis.violations[i].detail));
	return analysis.verdict;
}

static struct listed_statements load(const char *name)
{
	struct listed_statements statements = { .arena = arena };
	assert_true(statements_load(&statements, name, folder));
	return statements;
}

/* Detector */

/* One statement of each kind that is known to have its effect. */
static void test_detector_sees_every_effect(void **state)
{
	static const struct {
		effects_t effect;
		bool alone;
		const char *sql;
	} controls[] = {
		{ EFFECT(XID), false, "INSERT INTO log VALUES ('x')" },
		{ EFFECT(XID), true, "INSERT INTO log VALUES ('x')" },
		{ EFFECT(WAL), true, "SELECT pg_logical_emit_message(false, 'x', 'x')" },
		{ EFFECT(ROWS), true, "UPDATE users SET name = 'other'" },
		{ EFFECT(CATALOG), true,
		  "CREATE FUNCTION control() RETURNS integer LANGUAGE sql AS 'SELECT 1'" },
		{ EFFECT(CATALOG), true, "ALTER FUNCTION calm(text) STABLE" },
		{ EFFECT(LARGE_OBJECT), true, "SELECT lo_create(0)" },
		{ EFFECT(SEQUENCE), true, "SELECT nextval('counter')" },
		{ EFFECT(SEQUENCE), false, "SELECT setval('counter', 77)" },
		{ EFFECT(SETTING), true, "SET work_mem = '77MB'" },
		{ EFFECT(SETTING), false, "SELECT set_config('work_mem', '78MB', true)" },
		{ EFFECT(LOCK), true, "SELECT pg_advisory_lock(77)" },
		{ EFFECT(LOCK), false, "LOCK TABLE users IN SHARE MODE" },
		{ EFFECT(SESSION), true, "PREPARE control AS SELECT 1" },
		{ EFFECT(SESSION), true, "BEGIN" },
		{ EFFECT(SESSION), false, "COMMIT" },
		{ EFFECT(NOTIFY), true, "NOTIFY evil" },
		{ EFFECT(FILE), true, "COPY (SELECT 1) TO '@FOLDER@/control'" },
		{ EFFECT(FILE), true, "SELECT pg_read_file('@FOLDER@/seed')" },
		{ EFFECT(TIME), true, "SELECT pg_sleep(0.3)" },
		{ EFFECT(TERMINATED), true,
		  "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = "
		  "current_user" },
		{ 0, true, "SELECT * FROM users" },
		{ 0, false, "SELECT count(*) FROM users, orders" },
		{ 0, true, "SELECT 1 / 0" },
		{ 0, false, "SELECT 1 / 0" },
	};
	(void)state;
	struct effects *effects = watch("scratch");
	effects_t seen = 0;
	for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
		char text[256];
		struct arena *scope = arena_new();
		const char *at = strstr(controls[i].sql, "@FOLDER@");
		const char *sql = at ? arena_printf(scope, "%.*s%s%s", (int)(at - controls[i].sql),
						    controls[i].sql, folder, at + 8)
						  .ptr
				     : controls[i].sql;
		effects_t found = controls[i].alone
					  ? effects_alone(effects, sql, 0) | effects_thorough(effects)
					  : effects_in_transaction(effects, sql, EFFECTS_THOROUGH);
		if (controls[i].effect ? !(found & controls[i].effect) : found != 0)
			fail_msg("%s: %s", sql, effects_text(found, text, sizeof text));
		seen |= found;
		arena_free(scope);
		effects_reset(effects);
	}
	effects_close(effects);
	assert_int_equal(seen, EFFECT(COUNT_) - 1);
}

/* Corpora of this project */

/* Whatever parses is seen for what it is; of a text that does not parse nothing more may be known. */
static void test_attacks_are_refused(void **state)
{
	(void)state;
	struct listed_statements attacks = load("attacks.txt");
	unsigned missed = 0, unknown = 0;
	for (size_t i = 0; i < attacks.count; i++) {
		enum sql_verdict verdict = judge(attacks.items[i].sql, hostile, false);
		unknown += verdict == SQL_UNKNOWN;
		if (verdict == SQL_UNSAFE ||
		    (verdict == SQL_UNKNOWN && strcmp(attacks.items[i].header, "broken") == 0))
			continue;
		print_error("not refused: " STR_FMT "\n", STR_ARG(attacks.items[i].sql));
		missed++;
	}
	print_message("%zu attacks, %u of them not known for want of a statement, %u not refused\n",
		      attacks.count, unknown, missed);
	assert_int_equal(missed, 0);
}

/* Whether the statement does what its header says. */
static bool effect_is_real(struct effects *effects, const struct listed_statement *attack)
{
	const effects_t left_behind = EFFECT(SETTING) | EFFECT(LOCK) | EFFECT(SESSION) | EFFECT(TERMINATED);
	const char *header = attack->header;
	bool alone = strncmp(header, "alone ", 6) == 0;
	effects_t expected = effects_named(alone ? header + 6 : header);
	effects_t found;
	char text[256];
	if (expected == 0)
		return true;
	if (alone)
		found = effects_alone(effects, attack->sql.ptr, EFFECTS_ONE_TRY);
	else
		found = effects_in_transaction(effects, attack->sql.ptr,
					       EFFECTS_ONE_TRY |
						       (expected & EFFECT(SETTING) ? EFFECTS_THOROUGH : 0));
	if (alone && expected & EFFECT(SETTING))
		found |= effects_thorough(effects);
	bool as_said = (found & expected) != 0;
	if (!as_said)
		print_error("%s: %s: seen: %s; %s\n", attack->sql.ptr, header,
			    effects_text(found, text, sizeof text),
			    *effects_sqlstate(effects) ? effects_message(effects) : "");
	if (alone || found & left_behind)
		effects_reset(effects);
	return as_said;
}

static void test_attacks_are_real(void **state)
{
	(void)state;
	struct listed_statements attacks = load("attacks.txt");
	struct effects *effects = watch("scratch");
	unsigned harmless = 0;
	for (size_t i = 0; i < attacks.count; i++)
		harmless += !effect_is_real(effects, &attacks.items[i]);
	effects_close(effects);
	assert_int_equal(harmless, 0);
}

static effects_t effects_of_safe(struct effects *effects, const char *sql)
{
	return effects_in_transaction(effects, sql, EFFECTS_EXTENDED_PROTOCOL | EFFECTS_LOOK_LATER) |
	       effects_alone(effects, sql, 0);
}

static void test_harmless_are_safe(void **state)
{
	(void)state;
	struct listed_statements statements = load("harmless.txt");
	struct effects *effects = watch("pristine");
	unsigned wrong = 0;
	char text[256];
	for (size_t i = 0; i < statements.count; i++) {
		const char *sql = statements.items[i].sql.ptr;
		if (judge(statements.items[i].sql, hostile, false) != SQL_SAFE) {
			print_error("refused: %s\n", sql);
			(void)judge(statements.items[i].sql, hostile, true);
			wrong++;
		}
		effects_t found = effects_of_safe(effects, sql) | effects_thorough(effects);
		if (found || *effects_sqlstate(effects)) {
			print_error("%s\n  effects: %s; %s\n", sql, effects_text(found, text, sizeof text),
				    *effects_sqlstate(effects) ? effects_message(effects) : "");
			wrong++;
		}
	}
	effects_close(effects);
	print_message("%zu harmless statements, %u wrong\n", statements.count, wrong);
	assert_int_equal(wrong, 0);
}

/* Fragments in places */

struct event_metrics {
	unsigned placed;
	unsigned unsafe;
	unsigned unknown;  /* it does not parse, and no violation can be seen */
	unsigned executed; /* safe, and ran without an error */
};

struct sweep {
	struct effects *effects;
	struct event_metrics tallies[64]; /* by place */
	str_t recent[THOROUGH_EVERY];
	struct arena *recent_arena;
	size_t recent_count;
	unsigned misses;
};

static void report_miss(struct sweep *sweep, str_t sql, effects_t found)
{
	char text[256];
	print_error("SAFE, but: %s: " STR_FMT "\n", effects_text(found, text, sizeof text), STR_ARG(sql));
	sweep->misses++;
}

/* What only a thorough look shows is traced to its statement by trying the last ones again. */
static void look_thoroughly(struct sweep *sweep)
{
	effects_t found = effects_thorough(sweep->effects);
	for (size_t i = 0; found && i < sweep->recent_count; i++) {
		effects_reset(sweep->effects);
		(void)effects_of_safe(sweep->effects, sweep->recent[i].ptr);
		effects_t again = effects_thorough(sweep->effects);
		if (again)
			report_miss(sweep, sweep->recent[i], again);
	}
	if (found)
		sweep->misses++;
	arena_free(sweep->recent_arena);
	sweep->recent_arena = arena_new();
	sweep->recent_count = 0;
}

static void execute_safe(struct sweep *sweep, str_t sql, struct event_metrics *event_metrics)
{
	effects_t found = effects_of_safe(sweep->effects, sql.ptr);
	if (found)
		report_miss(sweep, sql, found);
	event_metrics->executed += !*effects_sqlstate(sweep->effects);
	sweep->recent[sweep->recent_count++] = arena_str(sweep->recent_arena, sql);
	if (sweep->recent_count == THOROUGH_EVERY)
		look_thoroughly(sweep);
}

static void try_fragment(struct sweep *sweep, str_t fragment, size_t place)
{
	_cleanup_(arena_cleanup) struct arena *scope = arena_new();
	struct event_metrics *event_metrics = &sweep->tallies[place];
	str_t sql = fragment_placed(fragment, placements[place].sql, scope);
	enum sql_verdict verdict = judge(sql, plain, false);
	event_metrics->placed++;
	event_metrics->unknown += verdict == SQL_UNKNOWN;
	event_metrics->unsafe += verdict == SQL_UNSAFE;
	if (verdict == SQL_SAFE)
		execute_safe(sweep, sql, event_metrics);
}

static void print_tallies(const struct sweep *sweep)
{
	struct event_metrics sum = { 0 };
	for (size_t i = 0; i < placements_count; i++) {
		struct event_metrics event_metrics = { 0 };
		if (i > 0 && strcmp(placements[i].kind, placements[i - 1].kind) == 0)
			continue;
		for (size_t j = i;
		     j < placements_count && strcmp(placements[i].kind, placements[j].kind) == 0; j++) {
			event_metrics.placed += sweep->tallies[j].placed;
			event_metrics.unsafe += sweep->tallies[j].unsafe;
			event_metrics.unknown += sweep->tallies[j].unknown;
			event_metrics.executed += sweep->tallies[j].executed;
		}
		print_message("%-18s %6u placed, %5.1f %% unsafe, %5.1f %% unknown; of the safe %5u run "
			      "without an error\n",
			      placements[i].kind, event_metrics.placed,
			      100.0 * event_metrics.unsafe / event_metrics.placed,
			      100.0 * event_metrics.unknown / event_metrics.placed, event_metrics.executed);
		sum.placed += event_metrics.placed;
		sum.unsafe += event_metrics.unsafe;
	}
	print_message("%-18s %6u placed, %5.1f %% unsafe, %u with an effect though called safe\n", "all",
		      sum.placed, 100.0 * sum.unsafe / sum.placed, sweep->misses);
	assert_true(sum.placed >= 5000);
}

static struct fragments load_fragments(const char *prefix)
{
	struct fragments fragments = { .arena = arena };
	if (!fragments_load(&fragments, prefix)) {
		print_message("skipped: the libinjection corpus is not there\n");
		skip();
	}
	return fragments;
}

static void test_placed_fragments_do_nothing(void **state)
{
	const char *wanted = getenv("ASSAYD_ATTACKS");
	bool everywhere = wanted && strcmp(wanted, "all") == 0;
	struct fragments fragments = load_fragments("sqli-");
	struct sweep sweep = { .effects = watch("plain"), .recent_arena = arena_new() };
	(void)state;
	assert_true(placements_count <= sizeof sweep.tallies / sizeof sweep.tallies[0]);
	for (size_t i = 0; i < fragments.count; i++) {
		size_t places = everywhere ? placements_count : PLACES_OF_A_FRAGMENT;
		for (size_t j = 0; j < places; j++)
			try_fragment(&sweep, fragments.items[i], (i + j) % placements_count);
	}
	look_thoroughly(&sweep);
	effects_close(sweep.effects);
	arena_free(sweep.recent_arena);
	print_tallies(&sweep);
	assert_int_equal(sweep.misses, 0);
}

/* What a program that quotes as it should makes of them: data. */
static void test_quoted_fragments_are_safe(void **state)
{
	static const char *const files[] = { "false_positives", "sqli-" };
	unsigned refused = 0;
	unsigned count = 0;
	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct fragments fragments = load_fragments(files[f]);
		for (size_t i = 0; i < fragments.count; i++) {
			_cleanup_(arena_cleanup) struct arena *scope = arena_new();
			str_t quoted = fragment_quoted(fragments.items[i], scope);
			str_t sql = fragment_placed(
				quoted, "SELECT id, name FROM users WHERE name = %s ORDER BY id", scope);
			enum sql_verdict verdict = judge(sql, plain, false);
			count++;
			if (verdict == SQL_SAFE)
				continue;
			print_error(STR_FMT "\n", STR_ARG(sql));
			(void)judge(sql, plain, true);
			refused++;
		}
	}
	print_message("%u of %u quoted fragments are refused\n", refused, count);
	assert_int_equal(refused, 0);
}

/* Benign texts that look like attacks, put carelessly: the server is the judge of what is left of them. */
static void test_false_positives_do_nothing(void **state)
{
	struct fragments fragments = load_fragments("false_positives");
	(void)state;
	unsigned flagged = 0;
	for (size_t i = 0; i < fragments.count; i++) {
		_cleanup_(arena_cleanup) struct arena *scope = arena_new();
		if (memchr(fragments.items[i].ptr, '\'', fragments.items[i].len))
			continue; /* ends the literal: no benign text any more */
		for (size_t j = 0; j < placements_count; j++) {
			if (strcmp(placements[j].kind, "string literal") != 0 &&
			    strcmp(placements[j].kind, "like") != 0)
				continue;
			str_t sql = fragment_placed(fragments.items[i], placements[j].sql, scope);
			if (judge(sql, plain, true) == SQL_SAFE)
				continue;
			print_error("refused: " STR_FMT "\n", STR_ARG(sql));
			flagged++;
		}
	}
	assert_int_equal(flagged, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detector_sees_every_effect),
		cmocka_unit_test(test_attacks_are_refused),
		cmocka_unit_test(test_harmless_are_safe),
		cmocka_unit_test(test_placed_fragments_do_nothing),
		cmocka_unit_test(test_quoted_fragments_are_safe),
		cmocka_unit_test(test_false_positives_do_nothing),
		cmocka_unit_test(test_attacks_are_real),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
