/*
 * What language models wrote for real SQLite databases: the analysis, with the catalog of the database's own
 * file, has an error exactly where SQLite cannot prepare the statement on that file.
 *
 * Needs the corpora (ASSAYD_CORPORA, else ../shared/corpora beside the source); skipped without them.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/lex/scan.h"

#include <jansson.h>
#include <sqlite3.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_DATABASES 16

struct database {
	const char *name;
	sqlite3 *handle;
	struct catalog *catalog;
};

static struct database databases[MAX_DATABASES];
static size_t databases_count;
static size_t statements, accepted, quoted, false_errors, missed_errors, as_names;

static const char *corpus_path(const char *name)
{
	static char path[4096];
	const char *folder = getenv("ASSAYD_CORPORA");
	(void)snprintf(path, sizeof path, "%s/%s", folder ? folder : ASSAYD_SOURCE_DIR "/../shared/corpora",
		       name);
	return path;
}

static int keep_definition(void *context, int count, char **values, char **names)
{
	(void)count, (void)names;
	json_array_append_new(context, json_string(values[0]));
	return 0;
}

static struct database *database_named(const char *name)
{
	char file[256];
	struct err_detail detail = { "" };
	for (size_t i = 0; i < databases_count; i++)
		if (strcmp(databases[i].name, name) == 0)
			return &databases[i];
	assert_true(databases_count < MAX_DATABASES);
	struct database *database = &databases[databases_count++];
	database->name = name;
	(void)snprintf(file, sizeof file, "bird/databases/%s_1.sqlite", name);
	assert_int_equal(sqlite3_open_v2(corpus_path(file), &database->handle, SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	json_t *definitions = json_array();
	assert_int_equal(sqlite3_exec(database->handle, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL",
				      keep_definition, definitions, NULL),
			 SQLITE_OK);
	char *text = json_dumps(definitions, 0);
	assert_int_equal(catalog_compile_sqlite(str_from(text), &database->catalog, &detail), ERR_OK);
	free(text);
	json_decref(definitions);
	return database;
}

/* The first error, or NULL. */
static const struct sql_diagnostic *error_of(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (analysis->diagnostics[i].severity == SQL_ERROR)
			return &analysis->diagnostics[i];
	return NULL;
}

static bool has_quoted_text(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (analysis->diagnostics[i].sub_code &&
		    strcmp(analysis->diagnostics[i].sub_code, "double_quoted_text") == 0)
			return true;
	return false;
}

/* All of the text, as one statement. */
static bool prepares_all(sqlite3 *handle, str_t sql)
{
	sqlite3_stmt *statement = NULL;
	const char *tail = NULL;
	bool prepares = sqlite3_prepare_v2(handle, sql.ptr, -1, &statement, &tail) == SQLITE_OK && statement;
	sqlite3_finalize(statement);
	if (!prepares)
		return false;
	size_t at = (size_t)(tail - sql.ptr);
	struct scan_token token = scan_next(sql, at, SQL_SQLITE);
	while (scan_is_char(sql, token, ';'))
		token = scan_next(sql, token.offset + token.len, SQL_SQLITE);
	return token.kind == SCAN_END;
}

static void compare(const struct database *database, const char *sql)
{
	static const struct sql_policy names = { .double_quotes_are_names = true };
	struct arena *arena = arena_new();
	struct sql_request request = { .sql = str_from(sql),
				       .dialect = SQL_SQLITE,
				       .target_named = true,
				       .catalog = database->catalog };
	struct sql_analysis analysis, strict;
	sql_analyse(&request, arena, &analysis);
	bool prepares = prepares_all(database->handle, str_from(sql));
	const struct sql_diagnostic *error = error_of(&analysis);
	statements++;
	accepted += prepares;
	quoted += has_quoted_text(&analysis);
	if (prepares && error) {
		false_errors++;
		print_message("%s: %s\n  %s: " STR_FMT "\n", database->name, sql, error->code,
			      STR_ARG(error->message));
	}
	missed_errors += !prepares && !error;
	request.policy = &names;
	sql_analyse(&request, arena, &strict);
	as_names += prepares && error_of(&strict);
	arena_free(arena);
}

static void errors_are_those_of_the_library(void **state)
{
	json_error_t error;
	(void)state;
	FILE *lines = fopen(corpus_path("bird/predictions.jsonl"), "r");
	if (!lines) {
		print_message("skipped: %s is not there\n", corpus_path("bird/predictions.jsonl"));
		exit(77);
	}
	json_t *all = json_array();
	for (json_t *line; (line = json_loadf(lines, JSON_DISABLE_EOF_CHECK, &error));)
		json_array_append_new(all, line);
	fclose(lines);
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *line = json_array_get(all, i), *predictions = json_object_get(line, "predictions");
		const struct database *database =
			database_named(json_string_value(json_object_get(line, "database")));
		const char *model;
		json_t *sql;
		compare(database, json_string_value(json_object_get(line, "gold")));
		json_object_foreach(predictions, model, sql) compare(database, json_string_value(sql));
	}
	print_message("%zu statements, %zu accepted by SQLite; texts in double quotes in %zu; false errors: "
		      "%zu (%zu "
		      "where double quotes are for names only); missed errors: %zu\n",
		      statements, accepted, quoted, false_errors, as_names, missed_errors);
	assert_int_equal(false_errors, 0);
	assert_int_equal(missed_errors, 0);
	assert_true(statements > 3000 && as_names > 0);
	for (size_t i = 0; i < databases_count; i++) {
		catalog_unref(databases[i].catalog);
		sqlite3_close(databases[i].handle);
	}
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(errors_are_those_of_the_library) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
