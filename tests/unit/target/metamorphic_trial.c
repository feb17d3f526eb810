#include "tests/unit/target/metamorphic_trial.h"

#include "sql/dialects.h"

enum { ROWS_SHOWN = 12 };

/* ---- Statements ---- */

static struct sql_request request_of(const struct oracle_database *database, str_t sql)
{
	return (struct sql_request){
		.sql = sql, .dialect = SQL_POSTGRESQL, .target_named = true, .catalog = database->catalog
	};
}

struct trial_statement trial_analyse(const struct oracle_database *database, str_t sql, struct arena *arena)
{
	struct trial_statement statement = { 0 };
	struct sql_request request = request_of(database, sql);
	sql_analyse(&request, arena, &statement.analysis);
	statement.safe = statement.analysis.valid && statement.analysis.verdict == SQL_SAFE;
	statement.text = arena_str(arena, statement.safe ? statement.analysis.text : sql);
	return statement;
}

bool trial_truth(const struct oracle_database *database, str_t sql, struct arena *arena,
		 struct result_source *ret_source, struct sort_keys *ret_keys)
{
	struct trial_statement statement = trial_analyse(database, sql, arena);
	if (!statement.safe)
		fail_msg("a ground truth is not safe: " STR_FMT, STR_ARG(sql));
	PGresult *result = PQexec(database->connection, statement.text.ptr);
	bool ran = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!ran) {
		PQclear(result);
		return false;
	}
	struct sql_request request = request_of(database, statement.text);
	*ret_source = (struct result_source){ .sql = statement.text,
					      .result = result,
					      .ordered = statement.analysis.ordered,
					      .limited = statement.analysis.limited,
					      .order_keys = statement.analysis.order_keys,
					      .order_keys_count = statement.analysis.order_keys_count };
	if (!sort_keys_show(&request, &statement.analysis, arena, ret_keys))
		*ret_keys = (struct sort_keys){ .sql = STR_NONE };
	return true;
}

/* ---- Verdicts ---- */

static double rung(double rate)
{
	return rate >= 0.99 ? 1.0 : rate >= 0.95 ? 0.95 : rate >= 0.8 ? 0.8 : rate;
}

bool trial_equal(double a, double b)
{
	return a - b < 1e-12 && b - a < 1e-12;
}

double trial_rate(const struct result_likeness *likeness)
{
	size_t larger = likeness->rows > likeness->truth_rows ? likeness->rows : likeness->truth_rows;
	return larger == 0 ? 1 : (double)likeness->matched / (double)larger;
}

static const char *judge_same(const struct validation_result *result)
{
	if (result->status != VALIDATION_COMPARED)
		return "not compared";
	return trial_equal(result->score, 1.0) && trial_equal(result->content_match_rate, 1.0)
		       ? NULL
		       : "the same, called other";
}

/* Against the rows that the server found in common. */
static const char *judge_counted(const struct trial *trial)
{
	const struct validation_result *result = &trial->result;
	const struct result_likeness *likeness = &trial->likeness;
	double rate = trial_rate(likeness), found = result->content_match_rate;
	if (result->status != VALIDATION_COMPARED)
		return "not compared";
	if (result->row_count_match != (likeness->rows == likeness->truth_rows))
		return "row counts";
	if (!trial_equal(result->score, result->row_count_match ? rung(found) : 0.3))
		return "not the rung of its rate";
	if (trial_equal(rate, 1.0) && !trial_equal(found, 1.0))
		return "the same, called other";
	if (likeness->guessed && !likeness->close)
		return found <= rate + 1e-12 ? NULL : "more alike than it is";
	if (likeness->by_whole && !result->row_count_match) /* nobody asks for it: the score is 0.3 anyway */
		return NULL;
	if (likeness->close)
		return likeness->guessed || found >= rate - 1e-12 ? NULL : "less alike than it is";
	return trial_equal(found, rate) ? NULL
	       : found > rate		? "more alike than it is"
					: "less alike than it is";
}

static const char *judge(const struct trial *trial)
{
	const struct validation_result *result = &trial->result;
	if (trial->promise == RESULT_SAME)
		return judge_same(result);
	switch (trial->likeness.known) {
	case RESULT_FAILS:
		return result->status == VALIDATION_EXECUTION_FAILED && result->score <= 0 ? NULL
											   : "failed in vain";
	case RESULT_OTHER_SHAPE:
		return result->status == VALIDATION_COMPARED && !result->schema_match &&
				       trial_equal(result->score, 0.1)
			       ? NULL
			       : "another number of columns";
	case RESULT_KNOWN:
		return judge_counted(trial);
	default:
		return NULL;
	}
}

/* ---- Trials ---- */

void trial_run(struct trial *trial, struct targets *targets, struct arena *arena)
{
	const struct result_source *truth = trial->truth;
	struct test_call test;
	test_call_init(&test, trial->database->name, trial->sql.ptr, truth->sql.ptr);
	test.truths[0].ordered = truth->ordered;
	test.truths[0].limited = truth->limited;
	test.truths[0].order_keys = truth->order_keys;
	test.truths[0].order_keys_count = truth->order_keys_count;
	test.truths[0].shown = *trial->keys;
	targets_submit(targets, &test.call);
	if (trial->promise != RESULT_SAME)
		trial->likeness = result_likeness(trial->database->connection, truth, trial->sql,
						  MAX_TRIAL_ROWS, arena);
	trial->result = *test_call_wait(&test);
	trial->result.message = STR_NONE;
	trial->wrong = judge(trial);
	test_call_free(&test);
}

void trial_show(FILE *file, const struct trial *trial, const char *what)
{
	const struct validation_result *result = &trial->result;
	fprintf(file, "%s [%s] %s: score %g, rate %g", trial->database->name, trial->name, what,
		result->score, result->content_match_rate);
	if (trial->likeness.known == RESULT_KNOWN && trial->promise != RESULT_SAME)
		fprintf(file, " for %zu of %zu and %zu rows%s%s", trial->likeness.matched,
			trial->likeness.truth_rows, trial->likeness.rows,
			trial->likeness.close ? ", close" : "", trial->likeness.guessed ? ", guessed" : "");
	fprintf(file, "\n  " STR_FMT "\n  " STR_FMT "\n", STR_ARG(trial->truth->sql), STR_ARG(trial->sql));
}

void trial_show_rows(const struct trial *trial)
{
	PGresult *result = PQexec(trial->database->connection, trial->sql.ptr);
	const PGresult *results[] = { trial->truth->result, result };
	for (size_t i = 0; i < 2; i++) {
		for (int row = 0; row < PQntuples(results[i]) && row < ROWS_SHOWN; row++) {
			fprintf(stderr, "  %s", i ? "  other" : "  truth");
			for (int column = 0; column < PQnfields(results[i]); column++)
				fprintf(stderr, " | %s",
					PQgetisnull(results[i], row, column)
						? "NULL"
						: PQgetvalue(results[i], row, column));
			fprintf(stderr, "\n");
		}
	}
	PQclear(result);
}

struct targets *trial_target(const struct oracle *oracle, const struct oracle_database *database)
{
	char dsn[512];
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=postgres dbname=%s", oracle->server.dir,
		 oracle->server.port, database->name);
	struct target_settings settings = postgresql_settings(database->name, dsn);
	settings.statement_timeout_ms = 120000;
	PQclear(PQexec(database->connection, "SET statement_timeout = 5000"));
	return start_targets(&settings, 1, NULL);
}
