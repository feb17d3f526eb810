/*
 * The SQLite front end against SQLite: what it calls free of errors is what the library prepares on a
 * database of that schema, and what it calls SAFE changes nothing when a writable connection without any
 * guard runs it. Spider's queries and predictions, mutants of their tokens, and injection fragments put into
 * a statement.
 *
 * Needs the corpora (ASSAYD_CORPORA, else ../shared/corpora beside the source); skipped without them.
 * A long run (long_run.h) takes every fragment and thirty times the mutants.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include "common/buf.h"
#include "common/hash.h"
#include "sql/lex/scan.h"
#include "tests/harness/fixtures/long_run.h"

#include <dirent.h>
#include <jansson.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MAX_SCHEMAS	200
#define MAX_QUERIES	3000
#define MUTANTS		2 /* of a query */
#define STEP_OPCODES	1000
#define STEPS_MAX	50
#define ROWS_PER_TABLE	3
#define FRAGMENT_STRIDE 20

struct schema {
	const char *name;
	struct catalog *catalog;
	sqlite3 *oracle; /* in memory: prepares only */
	sqlite3 *victim; /* a file, writable, without an authorizer */
	unsigned steps;	 /* of the statement that the victim runs */
	struct arena *arena;
	str_t *definitions;
	size_t definitions_count;
};

struct query {
	const char *sql;
	struct schema *schema;
};

struct world {
	struct arena *arena;
	struct schema schemas[MAX_SCHEMAS];
	size_t schemas_count;
	struct query queries[MAX_QUERIES];
	size_t queries_count;
	char folder[32];
	uint64_t random;
	size_t safe, accepted, rejected, differ;
};

static struct world world;

static const char *corpus_path(const char *name)
{
	static char path[4096];
	const char *folder = getenv("ASSAYD_CORPORA");
	(void)snprintf(path, sizeof path, "%s/%s", folder ? folder : ASSAYD_SOURCE_DIR "/../shared/corpora",
		       name);
	return path;
}

static uint32_t next_random(void)
{
	world.random = world.random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(world.random >> 33);
}

/* ---- schemas ---- */

static const char *type_of(const char *spider)
{
	static const char *const types[][2] = {
		{ "text", "TEXT" }, { "number", "INTEGER" }, { "time", "DATETIME" }, { "boolean", "BOOL" }
	};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i][0], spider) == 0)
			return types[i][1];
	return "REAL";
}

static str_t create_table(const json_t *database, size_t table)
{
	struct buf sql = BUF_INIT;
	const json_t *columns = json_object_get(database, "column_names_original");
	const json_t *types = json_object_get(database, "column_types");
	bool first = true;
	buf_printf(
		&sql, "CREATE TABLE \"%s\" (",
		json_string_value(json_array_get(json_object_get(database, "table_names_original"), table)));
	for (size_t i = 0; i < json_array_size(columns); i++) {
		const json_t *column = json_array_get(columns, i);
		if (json_integer_value(json_array_get(column, 0)) != (json_int_t)table)
			continue;
		buf_printf(&sql, "%s\"%s\" %s", first ? "" : ", ",
			   json_string_value(json_array_get(column, 1)),
			   type_of(json_string_value(json_array_get(types, i))));
		first = false;
	}
	buf_append_char(&sql, ')');
	str_t text = arena_str(world.arena, buf_str(&sql));
	buf_free(&sql);
	return text;
}

static void compile_schema(struct schema *schema)
{
	json_t *array = json_array();
	for (size_t i = 0; i < schema->definitions_count; i++)
		json_array_append_new(array, json_string(schema->definitions[i].ptr));
	char *text = json_dumps(array, 0);
	assert_int_equal(catalog_compile_sqlite(str_from(text), &schema->catalog, NULL), ERR_OK);
	free(text);
	json_decref(array);
}

static sqlite3 *open_database(const char *path, const struct schema *schema)
{
	sqlite3 *handle = NULL;
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < schema->definitions_count; i++) /* some are of the library's own tables */
		(void)sqlite3_exec(handle, schema->definitions[i].ptr, NULL, NULL, NULL);
	assert_int_equal(sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	return handle;
}

static void load_schemas(void)
{
	json_t *all = json_load_file(corpus_path("spider/tables.json"), 0, NULL);
	assert_non_null(all);
	for (size_t i = 0; i < json_array_size(all) && i < MAX_SCHEMAS; i++) {
		const json_t *database = json_array_get(all, i);
		struct schema *schema = &world.schemas[world.schemas_count++];
		size_t tables = json_array_size(json_object_get(database, "table_names_original"));
		schema->name =
			arena_strdup(world.arena, json_string_value(json_object_get(database, "db_id")));
		schema->definitions = ARENA_ARRAY(world.arena, str_t, tables);
		for (size_t t = 0; t < tables; t++)
			schema->definitions[schema->definitions_count++] = create_table(database, t);
	}
	json_decref(all);
}

static struct schema *schema_named(const char *name)
{
	for (size_t i = 0; i < world.schemas_count; i++) {
		struct schema *schema = &world.schemas[i];
		if (strcmp(schema->name, name) != 0)
			continue;
		if (!schema->catalog) {
			compile_schema(schema);
			schema->oracle = open_database(":memory:", schema);
		}
		return schema;
	}
	fail_msg("no schema %s", name);
	return NULL;
}

/* ---- queries ---- */

/* The databases of the predictions are those of the gold queries of the same lines. */
static void load_queries(void)
{
	static char gold[16384], predicted[16384];
	_cleanup_(cleanup_fclose) FILE *golds = fopen(corpus_path("spider/gold_example.txt"), "r");
	_cleanup_(cleanup_fclose) FILE *predictions = fopen(corpus_path("spider/pred_example.txt"), "r");
	assert_true(golds && predictions);
	while (fgets(gold, sizeof gold, golds) && fgets(predicted, sizeof predicted, predictions)) {
		char *tab = strchr(gold, '\t');
		assert_non_null(tab);
		*tab = '\0';
		tab[1 + strcspn(tab + 1, "\n")] = '\0';
		predicted[strcspn(predicted, "\n")] = '\0';
		struct schema *schema = schema_named(tab + 1);
		world.queries[world.queries_count++] =
			(struct query){ arena_strdup(world.arena, gold), schema };
		world.queries[world.queries_count++] =
			(struct query){ arena_strdup(world.arena, predicted), schema };
	}
}

static int load(void **state)
{
	(void)state;
	if (access(corpus_path("spider/tables.json"), R_OK) != 0) {
		print_message("skipped: %s is not there\n", corpus_path("spider"));
		exit(77);
	}
	world.arena = arena_new();
	world.random = 42;
	load_schemas();
	load_queries();
	(void)snprintf(world.folder, sizeof world.folder, "/tmp/assayd-sqlite-XXXXXX");
	return mkdtemp(world.folder) ? 0 : -1;
}

static int drop(void **state)
{
	(void)state;
	for (size_t i = 0; i < world.schemas_count; i++) {
		catalog_unref(world.schemas[i].catalog);
		sqlite3_close(world.schemas[i].oracle);
		sqlite3_close(world.schemas[i].victim);
		struct arena *arena = arena_new();
		(void)unlink(arena_printf(arena, "%s/%s", world.folder, world.schemas[i].name).ptr);
		arena_free(arena);
	}
	(void)rmdir(world.folder);
	arena_free(world.arena);
	return 0;
}

/* One to three tokens are dropped, doubled, swapped or replaced by one of another query. */
static str_t mutate(const struct query *query, struct arena *arena)
{
	str_t tokens[1024], sql = str_from(query->sql);
	size_t count = 0;
	struct scan_token token = scan_next(sql, 0, SQL_SQLITE);
	for (; token.kind != SCAN_END && count < 1000;
	     token = scan_next(sql, token.offset + token.len, SQL_SQLITE))
		tokens[count++] = (str_t){ sql.ptr + token.offset, token.len };
	for (uint32_t changes = 1 + next_random() % 3; changes > 0 && count > 1; changes--) {
		size_t at = next_random() % count, other = next_random() % count;
		str_t kept = tokens[at];
		switch (next_random() % 4) {
		case 0:
			memmove(tokens + at, tokens + at + 1, (--count - at) * sizeof *tokens);
			break;
		case 1:
			memmove(tokens + at + 1, tokens + at, (count++ - at) * sizeof *tokens);
			break;
		case 2:
			tokens[at] = tokens[other];
			tokens[other] = kept;
			break;
		default: {
			const struct query *from = &world.queries[next_random() % world.queries_count];
			str_t text = str_from(from->sql);
			struct scan_token found = scan_next(text, next_random() % (text.len + 1), SQL_SQLITE);
			if (found.kind != SCAN_END)
				tokens[at] = (str_t){ text.ptr + found.offset, found.len };
			break;
		}
		}
	}
	struct buf buf = BUF_INIT;
	for (size_t i = 0; i < count; i++)
		buf_printf(&buf, STR_FMT " ", STR_ARG(tokens[i]));
	str_t mutant = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return mutant;
}

/* ---- the oracle ---- */

static struct sql_analysis analyse(str_t sql, const struct schema *schema, struct arena *arena)
{
	struct sql_request request = {
		.sql = sql, .dialect = SQL_SQLITE, .target_named = true, .catalog = schema->catalog
	};
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static bool oracle_accepts(sqlite3 *handle, str_t sql)
{
	sqlite3_stmt *statement = NULL;
	const char *tail = NULL;
	bool accepted =
		sqlite3_prepare_v2(handle, sql.ptr, (int)sql.len + 1, &statement, &tail) == SQLITE_OK &&
		statement != NULL;
	sqlite3_finalize(statement);
	if (!accepted)
		return false;
	str_t rest = { tail, (size_t)(sql.ptr + sql.len - tail) };
	struct scan_token token = scan_next(rest, 0, SQL_SQLITE);
	while (scan_is_char(rest, token, ';'))
		token = scan_next(rest, token.offset + token.len, SQL_SQLITE);
	return token.kind == SCAN_END;
}

static bool has_errors(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		if (analysis->diagnostics[i].severity == SQL_ERROR)
			return true;
	return false;
}

static void compare(str_t sql, const struct schema *schema)
{
	struct arena *arena = arena_new();
	struct sql_analysis analysis = analyse(sql, schema, arena);
	bool accepted = oracle_accepts(schema->oracle, sql);
	world.accepted += accepted;
	world.rejected += !accepted;
	if (accepted == has_errors(&analysis)) {
		world.differ++;
		print_message("%s: %s\n  SQLite %s (%s)\n", schema->name, sql.ptr,
			      accepted ? "accepts" : "refuses", sqlite3_errmsg(schema->oracle));
		for (size_t i = 0; i < analysis.diagnostics_count; i++)
			print_message("  %s: " STR_FMT "\n", analysis.diagnostics[i].code,
				      STR_ARG(analysis.diagnostics[i].message));
	}
	for (size_t i = 0; i < analysis.diagnostics_count; i++)
		assert_true(analysis.diagnostics[i].offset >= 0 &&
			    (size_t)analysis.diagnostics[i].offset <= sql.len);
	arena_free(arena);
}

static void test_agrees(void **state)
{
	unsigned mutants = MUTANTS * (long_run() ? 30 : 1);
	(void)state;
	for (size_t i = 0; i < world.queries_count; i++) {
		struct arena *arena = arena_new();
		compare(str_from(world.queries[i].sql), world.queries[i].schema);
		for (unsigned m = 0; m < mutants; m++)
			compare(mutate(&world.queries[i], arena), world.queries[i].schema);
		arena_free(arena);
	}
	print_message("SQLite accepts %zu and refuses %zu statements\n", world.accepted, world.rejected);
	assert_int_equal(world.differ, 0);
	assert_true(world.accepted > 1500 && world.rejected > 1500);
}

/* ---- canonical form ---- */

static int watch(void *context)
{
	struct schema *schema = context;
	return ++schema->steps > STEPS_MAX;
}

#define CELLS_BYTES 4000

/* Rows of the statement as texts, sorted unless their order counts, up to a size; false: it ends in an error
 * or takes too long. */
static bool rows_of(struct schema *schema, str_t sql, struct arena *arena, struct buf *rows)
{
	sqlite3_stmt *statement = NULL;
	str_t *lines = NULL;
	size_t count = 0, capacity = 0;
	int code = sqlite3_prepare_v2(schema->victim, sql.ptr, (int)sql.len + 1, &statement, NULL);
	schema->steps = 0;
	while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW && count < CELLS_BYTES) {
		struct buf line = BUF_INIT;
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *cell = (const char *)sqlite3_column_text(statement, i);
			buf_printf(&line, "%s|", cell ? cell : "NULL");
		}
		ARENA_PUSH(arena, lines, count, capacity, arena_str(arena, buf_str(&line)));
		buf_free(&line);
	}
	code = sqlite3_finalize(statement);
	for (size_t i = 1; i < count; i++) /* few rows */
		for (size_t j = i; j > 0 && strcmp(lines[j - 1].ptr, lines[j].ptr) > 0; j--) {
			str_t other = lines[j];
			lines[j] = lines[j - 1];
			lines[j - 1] = other;
		}
	for (size_t i = 0; i < count; i++)
		buf_printf(rows, STR_FMT "\n", STR_ARG(lines[i]));
	return code == SQLITE_OK && count < 200;
}

static bool equal_forms_give_equal_rows(const struct query *query, str_t mutant)
{
	struct arena *arena = arena_new();
	struct buf rows = BUF_INIT, mutant_rows = BUF_INIT;
	struct sql_analysis a = analyse(str_from(query->sql), query->schema, arena);
	struct sql_analysis b = analyse(mutant, query->schema, arena);
	bool compared = !has_errors(&a) && !has_errors(&b) && a.verdict == SQL_SAFE &&
			b.verdict == SQL_SAFE && str_equal(a.canonical, b.canonical) && !a.limited &&
			rows_of(query->schema, str_from(query->sql), arena, &rows) &&
			rows_of(query->schema, mutant, arena, &mutant_rows);
	if (compared && !str_equal(buf_str(&rows), buf_str(&mutant_rows)))
		fail_msg("one form:\n%s\n%s\n%s", query->sql, mutant.ptr, a.canonical.ptr);
	buf_free(&rows);
	buf_free(&mutant_rows);
	arena_free(arena);
	return compared;
}

/* Values that meet: small numbers and letters, as numbers and as texts, and NULL. */
static void add_values(sqlite3 *handle, const char *table)
{
	static const char *const values[] = { "0", "1", "2", "'1'", "'2'", "'a'", "'b'", "NULL" };
	char *count_sql = sqlite3_mprintf("SELECT count(*) FROM pragma_table_info(%Q)", table);
	sqlite3_stmt *statement = NULL;
	int columns = 0;
	if (sqlite3_prepare_v2(handle, count_sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		columns = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_free(count_sql);
	for (unsigned row = 0; row < 6; row++) {
		struct buf sql = BUF_INIT;
		buf_printf(&sql, "INSERT INTO \"%s\" VALUES (", table);
		for (int i = 0; i < columns; i++)
			buf_printf(&sql, "%s%s", i ? "," : "", values[next_random() % 8]);
		buf_append_char(&sql, ')');
		(void)sqlite3_exec(handle, sql.data, NULL, NULL, NULL);
		buf_free(&sql);
	}
}

static void fill_victim(struct schema *schema)
{
	assert_int_equal(sqlite3_open(":memory:", &schema->victim), SQLITE_OK);
	for (size_t i = 0; i < schema->definitions_count; i++) {
		const char *start = strchr(schema->definitions[i].ptr, '"') + 1;
		(void)sqlite3_exec(schema->victim, schema->definitions[i].ptr, NULL, NULL, NULL);
		char *table = sqlite3_mprintf("%.*s", (int)strcspn(start, "\""), start);
		add_values(schema->victim, table);
		sqlite3_free(table);
	}
	sqlite3_progress_handler(schema->victim, STEP_OPCODES, watch, schema);
}

static void test_equal_forms(void **state)
{
	size_t compared = 0;
	(void)state;
	for (size_t i = 0; i < world.queries_count; i++) {
		const struct query *query = &world.queries[i];
		const struct query *next = &world.queries[i ^ 1]; /* the gold query's prediction */
		struct arena *arena = arena_new();
		if (!query->schema->victim)
			fill_victim(query->schema);
		compared += equal_forms_give_equal_rows(query, str_from(next->sql));
		for (unsigned m = 0; m < 4; m++)
			compared += equal_forms_give_equal_rows(query, mutate(query, arena));
		arena_free(arena);
	}
	for (size_t i = 0; i < world.schemas_count; i++) { /* the next test makes its own */
		sqlite3_close(world.schemas[i].victim);
		world.schemas[i].victim = NULL;
	}
	print_message("%zu pairs of one canonical form were run\n", compared);
	assert_true(compared > 200);
}

/* ---- attacks ---- */

static void add_rows(sqlite3 *handle, const struct schema *schema)
{
	for (size_t i = 0; i < schema->definitions_count; i++) {
		const char *start = strchr(schema->definitions[i].ptr, '"');
		const char *end = strchr(start + 1, '"');
		char *sql = sqlite3_mprintf("INSERT INTO %.*s DEFAULT VALUES", (int)(end - start) + 1, start);
		for (unsigned row = 0; row < ROWS_PER_TABLE; row++)
			(void)sqlite3_exec(handle, sql, NULL, NULL, NULL);
		sqlite3_free(sql);
	}
}

static void open_victim(struct schema *schema)
{
	struct arena *arena = arena_new();
	const char *path = arena_printf(arena, "%s/%s", world.folder, schema->name).ptr;
	sqlite3 *maker = open_database(path, schema);
	add_rows(maker, schema);
	sqlite3_close(maker);
	assert_int_equal(sqlite3_open(path, &schema->victim), SQLITE_OK);
	sqlite3_progress_handler(schema->victim, STEP_OPCODES, watch, schema);
	sqlite3_limit(schema->victim, SQLITE_LIMIT_LENGTH, 1 << 24);
	arena_free(arena);
}

/* Digest of all files' names and bytes: nothing is added, either. */
static void digest_folder(char ret_hex[DIGEST_HEX_SIZE])
{
	struct buf all = BUF_INIT;
	struct dirent **entries = NULL;
	int count = scandir(world.folder, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[512], bytes[8192];
		size_t got;
		(void)snprintf(path, sizeof path, "%s/%s", world.folder, entries[i]->d_name);
		buf_append_text(&all, entries[i]->d_name);
		FILE *file = entries[i]->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (file && (got = fread(bytes, 1, sizeof bytes, file)) > 0)
			buf_append(&all, bytes, got);
		if (file)
			(void)fclose(file);
		free(entries[i]);
	}
	free(entries);
	hash_sha256_hex(all.data, all.len, ret_hex);
	buf_free(&all);
}

static int64_t pragma(sqlite3 *handle, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
	int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
	sqlite3_finalize(statement);
	return value;
}

/* What a connection shows when somebody has written, attached or set something. */
static void check_untouched(struct schema *schema, str_t sql)
{
	sqlite3 *victim = schema->victim;
	schema->steps = 0;
	bool untouched =
		sqlite3_total_changes(victim) == 0 && sqlite3_get_autocommit(victim) &&
		pragma(victim, "PRAGMA user_version") == 0 && pragma(victim, "PRAGMA application_id") == 0 &&
		pragma(victim, "PRAGMA writable_schema") == 0 &&
		pragma(victim, "SELECT count(*) FROM pragma_database_list WHERE name <> 'temp'") == 1;
	if (!untouched)
		fail_msg("called SAFE, but it changed something: %s", sql.ptr);
}

/* Runs all that the text holds, as a careless program would. */
static void run_if_safe(str_t sql, struct schema *schema)
{
	struct arena *arena = arena_new();
	struct sql_analysis analysis = analyse(sql, schema, arena);
	if (analysis.verdict == SQL_SAFE) {
		if (!schema->victim)
			open_victim(schema);
		schema->steps = 0;
		world.safe++;
		(void)sqlite3_exec(schema->victim, sql.ptr, NULL, NULL, NULL);
		check_untouched(schema, sql);
	}
	arena_free(arena);
}

static void test_safe_mutants_write_nothing(void **state)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	(void)state;
	for (size_t i = 0; i < world.queries_count; i++)
		if (!world.queries[i].schema->victim)
			open_victim(world.queries[i].schema);
	digest_folder(before);
	world.safe = 0;
	for (size_t i = 0; i < world.queries_count; i++) {
		struct arena *arena = arena_new();
		run_if_safe(str_from(world.queries[i].sql), world.queries[i].schema);
		run_if_safe(mutate(&world.queries[i], arena), world.queries[i].schema);
		run_if_safe(mutate(&world.queries[i], arena), world.queries[i].schema);
		arena_free(arena);
	}
	digest_folder(after);
	print_message("%zu statements called SAFE were run\n", world.safe);
	assert_true(world.safe > 2000);
	assert_string_equal(before, after);
}

static char *decode_url(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		unsigned byte;
		if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1 && byte) {
			*to++ = (char)byte;
			from += from[1] && from[2] ? 2 : 1;
		} else {
			*to++ = *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
	return text;
}

static void attack_with(const char *fragment, struct schema *schema)
{
	static const char *const places[] = {
		"%s",
		"SELECT name FROM singer WHERE name = '%s' LIMIT 1",
		"SELECT name FROM singer WHERE age = %s",
		"SELECT name FROM singer WHERE (age = %s) AND name = 'x'",
		"SELECT \"%s\" FROM singer",
		"SELECT name FROM singer ORDER BY %s",
		"SELECT name FROM singer LIMIT %s",
		"SELECT 1; %s",
		"SELECT 1 FROM singer WHERE name LIKE '%%%s%%' /* x */",
	};
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		struct arena *arena = arena_new();
		struct buf sql = BUF_INIT;
		const char *mark = strstr(places[i], "%s");
		buf_append(&sql, places[i], (size_t)(mark - places[i]));
		buf_append_text(&sql, fragment);
		buf_append_text(&sql, mark + 2);
		run_if_safe(arena_str(arena, buf_str(&sql)), schema);
		buf_free(&sql);
		arena_free(arena);
	}
}

static void attack_with_file(const char *path, struct schema *schema, size_t *lines)
{
	static char line[16384];
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0' || strlen(line) > 4000)
			continue;
		if ((*lines)++ % FRAGMENT_STRIDE == 0 || long_run())
			attack_with(decode_url(line), schema);
	}
}

static void test_injections_write_nothing(void **state)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE], folder[4096];
	struct schema *schema = schema_named("concert_singer");
	struct dirent **entries = NULL;
	size_t lines = 0;
	(void)state;
	if (!schema->victim)
		open_victim(schema);
	digest_folder(before);
	world.safe = 0;
	(void)snprintf(folder, sizeof folder, "%s", corpus_path("libinjection"));
	int count = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[8192];
		(void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		if (strstr(entries[i]->d_name, ".txt"))
			attack_with_file(path, schema, &lines);
		free(entries[i]);
	}
	free(entries);
	digest_folder(after);
	print_message("%zu fragments; %zu statements called SAFE were run\n", lines, world.safe);
	assert_true(count < 0 || lines > 10000);
	assert_string_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees),
		cmocka_unit_test(test_equal_forms),
		cmocka_unit_test(test_safe_mutants_write_nothing),
		cmocka_unit_test(test_injections_write_nothing),
	};
	return cmocka_run_group_tests(tests, load, drop);
}
