#include "tests/harness/oracles/oracle.h"

#include "common/buf.h"
#include "tests/harness/fixtures/truths.h"

#include <dirent.h>

static const char own_folder[] = ASSAYD_SOURCE_DIR "/tests/harness/fixtures";

/* NULL when it is not there, which is said. */
static FILE *open_file(const char *folder, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "r");
	if (!file)
		printf("skipped: %s is not there\n", path);
	return file;
}

static void read_all(FILE *file, struct buf *text)
{
	char part[4096];
	for (size_t got = fread(part, 1, sizeof part, file); got > 0; got = fread(part, 1, sizeof part, file))
		buf_append(text, part, got);
}

static void add_truth(void *context, const struct truth *truth)
{
	struct oracle *oracle = context;
	for (size_t i = 0; i < oracle->count; i++) {
		struct oracle_database *database = &oracle->databases[i];
		if (strcmp(database->name, truth->database) == 0)
			ARENA_PUSH(oracle->arena, database->truths, database->truths_count,
				   database->truths_capacity, truth->sql);
	}
}

static void read_truths(struct oracle *oracle, const char *folder, const char *csv)
{
	_cleanup_(cleanup_fclose) FILE *file = open_file(folder, csv);
	if (file)
		truths_read(file, oracle->arena, add_truth, oracle);
}

/* One statement a line, in `<name>.queries`, behind a line with their question (`-- `), where there is one.
 */
static void read_queries(struct oracle *oracle, struct oracle_database *database)
{
	char name[128];
	snprintf(name, sizeof name, "databases/%s.queries", database->name);
	_cleanup_(cleanup_fclose) FILE *file = open_file(own_folder, name);
	_cleanup_(cleanup_free) char *line = NULL;
	size_t capacity = 0;
	while (file && getline(&line, &capacity, file) > 0) {
		if (strncmp(line, "--", 2) == 0)
			continue;
		str_t sql = arena_text(oracle->arena, line, strcspn(line, "\n"));
		ARENA_PUSH(oracle->arena, database->truths, database->truths_count, database->truths_capacity,
			   sql);
	}
}

/* ---- Databases ---- */

static PGconn *connected(const struct oracle *oracle, const char *database)
{
	char dsn[512];
	snprintf(dsn, sizeof dsn,
		 "host=%s port=%s user=postgres dbname=%s options='-c client_min_messages=error'",
		 oracle->server.dir, oracle->server.port, database);
	PGconn *connection = PQconnectdb(dsn);
	if (PQstatus(connection) != CONNECTION_OK)
		fprintf(stderr, "%s: %s", database, PQerrorMessage(connection));
	return connection;
}

/* Runs statements; the result of the last one, or NULL (the reason is on standard error). */
static PGresult *run(PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		return result;
	fprintf(stderr, "%s", PQerrorMessage(connection));
	PQclear(result);
	return NULL;
}

static bool do_sql(PGconn *connection, const char *sql)
{
	PGresult *result = run(connection, sql);
	PQclear(result);
	return result != NULL;
}

static bool read_catalog(struct oracle_database *database)
{
	struct err_detail detail = { "" };
	PGresult *result = run(database->connection, CATALOG_QUERY_POSTGRESQL);
	if (!result)
		return false;
	err_t err =
		catalog_compile_postgresql(str_from(PQgetvalue(result, 0, 0)), &database->catalog, &detail);
	PQclear(result);
	if (err)
		fprintf(stderr, "%s: %s\n", database->name, err_message(err, &detail));
	return !err;
}

static char column_kind(const char *type)
{
	static const struct {
		const char *begins;
		char kind;
	} kinds[] = { { "integer", 'n' }, { "bigint", 'n' }, { "smallint", 'n' }, { "numeric", 'n' },
		      { "real", 'n' },	  { "double", 'n' }, { "text", 's' },	  { "character", 's' },
		      { "date", 'd' },	  { "time", 'd' },   { "boolean", 'b' } };
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strncmp(type, kinds[i].begins, strlen(kinds[i].begins)) == 0)
			return kinds[i].kind;
	}
	return '?';
}

static bool read_vocabulary(struct oracle_database *database, struct arena *arena)
{
	PGresult *result = run(database->connection,
			       "SELECT quote_ident(table_name), quote_ident(column_name), data_type"
			       " FROM information_schema.columns"
			       " WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
			       " ORDER BY table_schema, table_name, ordinal_position");
	if (!result)
		return false;
	size_t rows = (size_t)PQntuples(result), count = 0;
	struct sql_vocabulary_relation *relations = ARENA_ARRAY(arena, struct sql_vocabulary_relation, rows);
	struct sql_vocabulary_column *columns = ARENA_ARRAY(arena, struct sql_vocabulary_column, rows);
	for (size_t i = 0; i < rows; i++) {
		const char *name = PQgetvalue(result, (int)i, 0);
		columns[i].name = str_from(arena_strdup(arena, PQgetvalue(result, (int)i, 1)));
		columns[i].kind = column_kind(PQgetvalue(result, (int)i, 2));
		if (count == 0 || !str_is(relations[count - 1].name, name))
			relations[count++] =
				(struct sql_vocabulary_relation){ .name = str_from(arena_strdup(arena, name)),
								  .columns = &columns[i] };
		relations[count - 1].columns_count++;
	}
	PQclear(result);
	database->vocabulary = (struct sql_vocabulary){ relations, count };
	return count > 0;
}

/* Makes the database of the file `<name>.sql`, connects to it and reads what it is. */
static bool make_database(struct oracle *oracle, const char *folder, PGconn *admin,
			  struct oracle_database *database)
{
	char file_name[128], create[128];
	snprintf(file_name, sizeof file_name, "databases/%s.sql", database->name);
	snprintf(create, sizeof create, "CREATE DATABASE \"%s\" TEMPLATE template0", database->name);
	_cleanup_(cleanup_fclose) FILE *file = open_file(folder, file_name);
	if (!file || !do_sql(admin, create))
		return false;
	struct buf text = BUF_INIT;
	read_all(file, &text);
	database->connection = connected(oracle, database->name);
	bool loaded = do_sql(database->connection, text.data) && read_catalog(database) &&
		      read_vocabulary(database, oracle->arena);
	buf_free(&text);
	return loaded;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct oracle_database *)a)->name, ((const struct oracle_database *)b)->name);
}

static void list_databases(struct oracle *oracle, const char *folder, bool is_corpus)
{
	char path[512];
	snprintf(path, sizeof path, "%s/databases", folder);
	DIR *directory = opendir(path);
	if (!directory) {
		printf("skipped: %s is not there\n", path);
		return;
	}
	for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
		const char *dot = strstr(entry->d_name, ".sql");
		if (!dot)
			continue;
		str_t name = arena_text(oracle->arena, entry->d_name, (size_t)(dot - entry->d_name));
		ARENA_PUSH(oracle->arena, oracle->databases, oracle->count, oracle->capacity,
			   (struct oracle_database){ .name = name.ptr, .is_corpus = is_corpus });
	}
	closedir(directory);
}

static bool make_databases(struct oracle *oracle, const char *corpus)
{
	PGconn *admin = connected(oracle, "postgres");
	bool made = true;
	for (size_t i = 0; made && i < oracle->count; i++) {
		struct oracle_database *database = &oracle->databases[i];
		made = make_database(oracle, database->is_corpus ? corpus : own_folder, admin, database);
		if (!database->is_corpus)
			read_queries(oracle, database);
	}
	PQfinish(admin);
	return made;
}

int oracle_load(struct oracle *ret_oracle)
{
	char corpus[512];
	struct oracle *oracle = ret_oracle;
	const char *configured = getenv("ASSAYD_CORPORA");
	snprintf(corpus, sizeof corpus, "%s/defog",
		 configured ? configured : ASSAYD_SOURCE_DIR "/../shared/corpora");
	*oracle = (struct oracle){ .arena = arena_new() };
	list_databases(oracle, own_folder, false);
	size_t own = oracle->count;
	list_databases(oracle, corpus, true);
	oracle->has_corpus = oracle->count > own;
	if (oracle->count > 0)
		qsort(oracle->databases, oracle->count, sizeof oracle->databases[0], by_name);
	read_truths(oracle, corpus, "questions_gen_postgres.csv");
	read_truths(oracle, corpus, "instruct_basic_postgres.csv");
	int status = test_postgres_start(&oracle->server, NULL);
	if (status != 0)
		return status;
	return make_databases(oracle, corpus) ? 0 : 1;
}

void oracle_free(struct oracle *oracle)
{
	for (size_t i = 0; i < oracle->count; i++) {
		PQfinish(oracle->databases[i].connection);
		catalog_unref(oracle->databases[i].catalog);
	}
	arena_free(oracle->arena);
}
