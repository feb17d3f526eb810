#include "sql/sqlite/database_pool.h"

#include "common/hash.h"
#include "sql/catalog/content.h"
#include "sql/lex/identifier.h"

#include <ctype.h>
#include <jansson.h>
#include <sqlite3.h>
#include <strings.h>

#define LENGTH_MAX_BYTES     (16 << 20)
#define EXPRESSION_DEPTH_MAX 1000
#define COMPOUND_MAX	     500
#define OPCODES_MAX	     (1 << 20)
#define FUNCTION_NAME_MAX    255
#define STUB_FUNCTIONS_MAX   64 /* the library keeps their names for good */

struct sqlite_database {
	sqlite3 *handle;
	struct sqlite_trace *trace; /* of the statement under way; NULL: the schema is being built */
	struct arena *arena;
	struct arena *loan;	   /* what the borrower adds; NULL: nothing so far */
	struct hash_map relations; /* names in lower case */
	struct hash_map functions; /* the library's: names in lower case */
	int64_t objects;	   /* of the schema as built */
	struct texts stub_tables;
	struct texts stub_functions;
	size_t functions_ever;
	bool spoilt; /* cannot be made as new */
};

static bool names_contain(const struct texts *names, str_t name)
{
	for (size_t i = 0; i < names->count; i++)
		if (identifier_same(names->items[i], name))
			return true;
	return false;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *schema,
		     const char *inside)
{
	const struct sqlite_database *database = context;
	(void)schema;
	if (!database->trace)
		return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
	bool stub = action == SQLITE_FUNCTION && second &&
		    names_contain(&database->stub_functions, str_from(second));
	return sqlite_authorize(database->trace, action, first, second, inside, stub);
}

static void limit(sqlite3 *handle)
{
	sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, LENGTH_MAX_BYTES);
	sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH_MAX);
	sqlite3_limit(handle, SQLITE_LIMIT_COMPOUND_SELECT, COMPOUND_MAX);
	sqlite3_limit(handle, SQLITE_LIMIT_VDBE_OP, OPCODES_MAX);
	sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static void configure(sqlite3 *handle)
{
	/* whoever made the schema may have written strings so */
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 1, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

/* Only names and rights matter here, plans do not; and rewriting subqueries can double them level by level.
 */
static void spare_plans(sqlite3 *handle)
{
	(void)sqlite3_test_control(SQLITE_TESTCTRL_OPTIMIZATIONS, handle, UINT32_MAX);
}

static void build_schema(struct sqlite_database *database, const struct catalog *catalog)
{
	str_t source = catalog_source(catalog);
	json_t *definitions = json_loadb(source.ptr, source.len, 0, NULL);
	for (size_t i = 0; i < json_array_size(definitions); i++) {
		const char *definition = json_string_value(json_array_get(definitions, i));
		if (definition && strncasecmp(definition, "CREATE ", 7) == 0 &&
		    strncasecmp(definition, "CREATE TRIGGER", 14) != 0 &&
		    strncasecmp(definition, "CREATE TEMP", 11) != 0)
			catalog_define_sqlite(database->handle, definition);
	}
	json_decref(definitions);
}

/* Keeps a name, which is the only value of its row. */
static int keep_name(struct sqlite_database *database, struct hash_map *names, const char *name)
{
	hash_map_set(names, identifier_lower(str_from(name ? name : ""), database->arena), database);
	return 0;
}

static int visit_relation(void *context, int count, char **values, char **names)
{
	struct sqlite_database *database = context;
	(void)count, (void)names;
	return keep_name(database, &database->relations, values[0]);
}

static int visit_function(void *context, int count, char **values, char **names)
{
	struct sqlite_database *database = context;
	(void)count, (void)names;
	return keep_name(database, &database->functions, values[0]);
}

/* Table-valued functions are built when they are first named, which the authorizer could not tell from a
 * write. */
static void build_modules(struct sqlite_database *database)
{
	catalog_define_sqlite(database->handle, "SELECT 1 FROM json_each('[]')");
	catalog_define_sqlite(database->handle, "SELECT 1 FROM json_tree('[]')");
}

static int64_t count_objects(const struct sqlite_database *database)
{
	sqlite3_stmt *statement = NULL;
	int64_t count = -1;
	if (sqlite3_prepare_v2(database->handle, "SELECT count(*) FROM sqlite_schema", -1, &statement,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		count = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return count;
}

struct sqlite_database *sqlite_database_build(const struct catalog *catalog)
{
	struct arena *arena = arena_new();
	struct sqlite_database *database = ARENA_NEW(arena, struct sqlite_database);
	database->arena = arena;
	if (sqlite3_open_v2(":memory:", &database->handle,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
				    SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		abort(); /* only for want of memory */
	configure(database->handle);
	limit(database->handle);
	spare_plans(database->handle);
	sqlite3_set_authorizer(database->handle, authorize, database);
	if (catalog && catalog_dialect(catalog) == SQL_SQLITE)
		build_schema(database, catalog);
	build_modules(database);
	hash_map_init(&database->relations, arena, 16);
	(void)sqlite3_exec(database->handle, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
			   visit_relation, database, NULL);
	hash_map_init(&database->functions, arena, 256);
	(void)sqlite3_exec(database->handle, "SELECT DISTINCT name FROM pragma_function_list", visit_function,
			   database, NULL);
	database->objects = count_objects(database);
	return database;
}

void sqlite_database_free(struct sqlite_database *database)
{
	if (!database)
		return;
	(void)sqlite3_close_v2(database->handle);
	arena_free(database->loan);
	arena_free(database->arena);
}

static bool drop_table(const struct sqlite_database *database, str_t name)
{
	char *sql = sqlite3_mprintf("DROP TABLE main.\"%w\"", name.ptr);
	bool done = sql && sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_free(sql);
	return done;
}

bool sqlite_database_clean(struct sqlite_database *database)
{
	bool changed = database->stub_tables.count > 0;
	database->trace = NULL;
	for (size_t i = 0; i < database->stub_tables.count; i++)
		if (!drop_table(database, database->stub_tables.items[i]))
			database->spoilt = true;
	for (size_t i = 0; i < database->stub_functions.count; i++)
		(void)sqlite3_create_function_v2(database->handle, database->stub_functions.items[i].ptr, -1,
						 SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
	database->stub_tables = database->stub_functions = (struct texts){ 0 };
	arena_free(database->loan);
	database->loan = NULL;
	return !database->spoilt && database->functions_ever < STUB_FUNCTIONS_MAX &&
	       sqlite3_next_stmt(database->handle, NULL) == NULL &&
	       (!changed || count_objects(database) == database->objects);
}

struct sqlite_result sqlite_database_prepare(struct sqlite_database *database, str_t sql,
					     struct sqlite_trace *trace)
{
	struct sqlite_result result = { .offset = -1, .tail = sql.len };
	sqlite3_stmt *statement = NULL;
	const char *tail = NULL;
	database->trace = trace;
	int status = sqlite3_prepare_v3(database->handle, sql.ptr, (int)sql.len + 1, 0, &statement, &tail);
	database->trace = NULL;
	if (tail)
		result.tail = (size_t)(tail - sql.ptr);
	bool refused = status == SQLITE_ERROR || status == SQLITE_AUTH;
	if (status == SQLITE_OK) {
		result.read_only = statement && sqlite3_stmt_readonly(statement);
		result.problem = statement ? SQLITE_PROBLEM_NONE : SQLITE_PROBLEM_SYNTAX;
		result.message = statement ? STR_NONE : STR("there is no statement");
	} else {
		result.message = arena_str(trace->arena, str_from(sqlite3_errmsg(database->handle)));
		struct sqlite_message message = sqlite_message_classify(result.message.ptr);
		result.problem = status == SQLITE_AUTH ? SQLITE_PROBLEM_DENIED
				 : refused	       ? message.problem
						       : SQLITE_PROBLEM_TOO_DEEP;
		result.code = message.code;
		result.name = arena_str(trace->arena, message.name);
		result.offset = sqlite3_error_offset(database->handle);
	}
	(void)sqlite3_finalize(statement);
	return result;
}

void sqlite_database_take_strings(struct sqlite_database *database, bool strings)
{
	sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DQS_DML, strings ? 1 : 0, NULL);
}

static struct arena *loan(struct sqlite_database *database)
{
	if (!database->loan)
		database->loan = arena_new();
	return database->loan;
}

bool sqlite_database_stub_table(struct sqlite_database *database, str_t name, str_t columns)
{
	const char *dot = memrchr(name.ptr, '.', name.len);
	if (dot && strncasecmp(name.ptr, "main.", 5) != 0)
		return false;
	str_t bare = arena_str(loan(database), str_from(dot ? dot + 1 : name.ptr));
	char *sql =
		sqlite3_mprintf("CREATE TABLE main.\"%w\" (%.*s)", bare.ptr, (int)columns.len, columns.ptr);
	bool done = sql && sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_free(sql);
	if (done)
		texts_add(loan(database), &database->stub_tables, bare);
	return done;
}

static void no_value(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count, (void)values;
	sqlite3_result_null(context);
}

bool sqlite_database_stub_function(struct sqlite_database *database, str_t name)
{
	str_t copy = arena_str(loan(database), name);
	/* One that hides a function of the library's hides it for good. */
	if (sqlite_database_has_function(database, name))
		database->spoilt = true;
	database->functions_ever++;
	texts_add(loan(database), &database->stub_functions, copy);
	return sqlite3_create_function_v2(database->handle, copy.ptr, -1, SQLITE_UTF8, NULL, no_value, NULL,
					  NULL, NULL) == SQLITE_OK;
}

bool sqlite_database_has_function(const struct sqlite_database *database, str_t name)
{
	char lower[FUNCTION_NAME_MAX];
	if (name.len > sizeof lower)
		return false;
	for (size_t i = 0; i < name.len; i++)
		lower[i] = (char)tolower((unsigned char)name.ptr[i]);
	return hash_map_get(&database->functions, (str_t){ lower, name.len }) != NULL;
}

bool sqlite_database_has_relation(const struct sqlite_database *database, str_t name)
{
	return hash_map_get(&database->relations, name) || names_contain(&database->stub_tables, name);
}
