#include "sql/sqlite_database.h"

#include "common/hash.h"

#include <ctype.h>
#include <jansson.h>
#include <strings.h>

struct sqlite_database {
	sqlite3 *handle;
	struct sqlite_trace *trace; /* of the statement under way; NULL: the schema is being built */
	struct arena *arena;
	struct hash_map relations; /* names in lower case */
	str_t *stubs;
	size_t stubs_count;
	size_t stubs_capacity;
};

/* Deterministic, bounded, and without a way out of the database. */
static const char *const allowed_functions[] = {
	"->",
	"->>",
	"abs",
	"acos",
	"acosh",
	"asin",
	"asinh",
	"atan",
	"atan2",
	"atanh",
	"avg",
	"bm25",
	"ceil",
	"ceiling",
	"char",
	"coalesce",
	"concat",
	"concat_ws",
	"cos",
	"cosh",
	"count",
	"cume_dist",
	"current_date",
	"current_time",
	"current_timestamp",
	"date",
	"datetime",
	"degrees",
	"dense_rank",
	"exp",
	"first_value",
	"floor",
	"format",
	"glob",
	"group_concat",
	"hex",
	"highlight",
	"ifnull",
	"iif",
	"instr",
	"json",
	"json_array",
	"json_array_length",
	"json_extract",
	"json_group_array",
	"json_group_object",
	"json_insert",
	"json_object",
	"json_patch",
	"json_quote",
	"json_remove",
	"json_replace",
	"json_set",
	"json_type",
	"json_valid",
	"julianday",
	"lag",
	"last_value",
	"lead",
	"length",
	"like",
	"likelihood",
	"likely",
	"ln",
	"log",
	"log10",
	"log2",
	"lower",
	"ltrim",
	"match",
	"max",
	"min",
	"mod",
	"nth_value",
	"ntile",
	"nullif",
	"octet_length",
	"percent_rank",
	"pi",
	"pow",
	"power",
	"printf",
	"quote",
	"radians",
	"random",
	"randomblob",
	"rank",
	"replace",
	"round",
	"row_number",
	"rtrim",
	"sign",
	"sin",
	"sinh",
	"snippet",
	"soundex",
	"sqlite_version",
	"sqrt",
	"strftime",
	"string_agg",
	"substr",
	"substring",
	"sum",
	"tan",
	"tanh",
	"time",
	"timediff",
	"total",
	"trim",
	"trunc",
	"typeof",
	"unhex",
	"unicode",
	"unixepoch",
	"unlikely",
	"upper",
	"zeroblob",
};

static const char *const allowed_modules[] = { "json_each", "json_tree" };
static const char *const schema_tables[] = { "sqlite_schema", "sqlite_master", "sqlite_temp_schema",
					     "sqlite_temp_master" };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool listed(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(name, list[i]) == 0)
			return true;
	return false;
}

static bool is_stub(const struct sqlite_database *database, const char *name)
{
	for (size_t i = 0; i < database->stubs_count; i++)
		if (database->stubs[i].len == strlen(name) &&
		    strncasecmp(database->stubs[i].ptr, name, database->stubs[i].len) == 0)
			return true;
	return false;
}

static int deny(const struct sqlite_trace *trace, enum sql_violation_code code, const char *what,
		const char *name)
{
	violations_add(trace->violations, code, 0, "%s%s%s", what, name ? " " : "", name ? name : "");
	return SQLITE_DENY;
}

static int authorize_function(const struct sqlite_database *database, const char *name)
{
	static const char *const files[] = { "load_extension", "readfile", "writefile", "edit",
					     "fsdir",	       "zipfile",  "lsmode",	"sqlar_uncompress" };
	static const char *const changing[] = { "changes", "total_changes", "last_insert_rowid" };
	if (listed(name, allowed_functions, COUNT(allowed_functions)) || is_stub(database, name))
		return SQLITE_OK;
	if (listed(name, files, COUNT(files)))
		return deny(database->trace, VIOLATION_FILE_ACCESS, "function", name);
	if (listed(name, changing, COUNT(changing)))
		return deny(database->trace, VIOLATION_VOLATILE_FUNCTION, "function", name);
	return deny(database->trace, VIOLATION_DANGEROUS_FUNCTION, "function", name);
}

static str_t lower_case(struct arena *arena, const char *name)
{
	char *lower = arena_strdup(arena, name);
	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return str_from(lower);
}

static void add_relation(struct sqlite_database *database, const char *name)
{
	hash_map_set(&database->relations, lower_case(database->arena, name), database);
}

/* A name in FROM may be a WITH query's too. */
static void record_table(const struct sqlite_database *database, const char *name)
{
	struct sqlite_trace *trace = database->trace;
	str_t lower = lower_case(trace->arena, name);
	if (hash_map_get(&database->relations, lower))
		ARENA_PUSH(trace->arena, trace->tables, trace->tables_count, trace->tables_capacity, lower);
}

/* `inside`: the view or trigger that reads, or NULL for the statement itself. */
static int authorize_read(const struct sqlite_database *database, const char *table, const char *inside)
{
	struct sqlite_trace *trace = database->trace;
	if (!table || listed(table, allowed_modules, COUNT(allowed_modules)))
		return SQLITE_OK;
	if (listed(table, schema_tables, COUNT(schema_tables))) {
		trace->reads_schema = true;
		return SQLITE_OK;
	}
	if (strncasecmp(table, "pragma_", 7) == 0 || strncasecmp(table, "sqlite_", 7) == 0 ||
	    strcasecmp(table, "dbstat") == 0 || strcasecmp(table, "fsdir") == 0)
		return deny(trace, VIOLATION_SYSTEM_CATALOG, "table", table);
	if (!inside)
		record_table(database, table);
	return SQLITE_OK;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *schema,
		     const char *inside)
{
	const struct sqlite_database *database = context;
	(void)schema;
	if (!database->trace)
		return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return authorize_read(database, first, inside);
	case SQLITE_FUNCTION:
		return authorize_function(database, second ? second : "");
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return deny(database->trace, VIOLATION_FILE_ACCESS, "ATTACH or DETACH of", first);
	case SQLITE_PRAGMA:
		return deny(database->trace, VIOLATION_NOT_A_READ, "PRAGMA", first);
	default:
		break;
	}
	/* In a query, this is a table-valued function that is being built. */
	if (first && listed(first, schema_tables, COUNT(schema_tables)))
		return deny(database->trace, VIOLATION_SYSTEM_CATALOG, "the statement touches", first);
	return deny(database->trace, VIOLATION_NOT_A_READ, "the statement writes", first);
}

static void limit(sqlite3 *handle)
{
	sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 24);
	sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, 1000);
	sqlite3_limit(handle, SQLITE_LIMIT_COMPOUND_SELECT, 500);
	sqlite3_limit(handle, SQLITE_LIMIT_VDBE_OP, 1 << 20);
	sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static void configure(sqlite3 *handle)
{
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

/* Runs one definition; one that the library refuses leaves its relation out. */
static void define(sqlite3 *handle, const char *definition)
{
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(handle, definition, -1, &statement, NULL) == SQLITE_OK && statement)
		(void)sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
}

static void build_schema(sqlite3 *handle, const struct catalog *catalog)
{
	str_t source = catalog_source(catalog);
	json_t *definitions = json_loadb(source.ptr, source.len, 0, NULL);
	for (size_t i = 0; i < json_array_size(definitions); i++) {
		const char *definition = json_string_value(json_array_get(definitions, i));
		if (definition && strncasecmp(definition, "CREATE TRIGGER", 14) != 0)
			define(handle, definition);
	}
	json_decref(definitions);
}

static int visit_relation(void *context, int count, char **values, char **names)
{
	(void)count, (void)names;
	add_relation(context, values[0]);
	return 0;
}

/* Table-valued functions are built when they are first named, which the authorizer could not tell from a
 * write. */
static void build_modules(sqlite3 *handle)
{
	define(handle, "SELECT 1 FROM json_each('[]')");
	define(handle, "SELECT 1 FROM json_tree('[]')");
}

struct sqlite_database *sqlite_database_open(const struct catalog *catalog)
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
	sqlite3_set_authorizer(database->handle, authorize, database);
	if (catalog && catalog_dialect(catalog) == SQL_SQLITE)
		build_schema(database->handle, catalog);
	build_modules(database->handle);
	hash_map_init(&database->relations, arena, 16);
	(void)sqlite3_exec(database->handle, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
			   visit_relation, database, NULL);
	return database;
}

void sqlite_database_close(struct sqlite_database *database)
{
	if (!database)
		return;
	(void)sqlite3_close_v2(database->handle);
	arena_free(database->arena);
}

/* Messages of the library and what they mean; `name` follows the text. */
static const struct {
	const char *text;
	enum sqlite_problem problem;
} messages[] = {
	{ "no such table: ", SQLITE_PROBLEM_TABLE },
	{ "no such view: ", SQLITE_PROBLEM_TABLE },
	{ "no such column: ", SQLITE_PROBLEM_COLUMN },
	{ "ambiguous column name: ", SQLITE_PROBLEM_AMBIGUOUS },
	{ "no such function: ", SQLITE_PROBLEM_FUNCTION },
	{ "wrong number of arguments to function ", SQLITE_PROBLEM_FUNCTION },
	{ "cannot join using column ", SQLITE_PROBLEM_JOIN },
	{ "ON clause references tables to its right", SQLITE_PROBLEM_JOIN },
	{ "misuse of aggregate", SQLITE_PROBLEM_AGGREGATE },
	{ "a GROUP BY clause is required before HAVING", SQLITE_PROBLEM_AGGREGATE },
	{ "parser stack overflow", SQLITE_PROBLEM_TOO_DEEP },
	{ "Expression tree is too large", SQLITE_PROBLEM_TOO_DEEP },
	{ "too many terms in compound SELECT", SQLITE_PROBLEM_TOO_DEEP },
	{ "incomplete input", SQLITE_PROBLEM_SYNTAX },
	{ "unrecognized token", SQLITE_PROBLEM_SYNTAX },
	{ "near \"", SQLITE_PROBLEM_SYNTAX },
};

static void classify(const char *message, struct arena *arena, struct sqlite_result *result)
{
	result->message = arena_str(arena, str_from(message));
	result->problem = SQLITE_PROBLEM_OTHER;
	for (size_t i = 0; i < COUNT(messages); i++) {
		size_t len = strlen(messages[i].text);
		if (strncmp(message, messages[i].text, len) != 0)
			continue;
		const char *name = message + len;
		bool call = strncmp(message, "wrong number", 12) == 0;
		size_t name_len = call ? strcspn(name, "(") : strlen(name);
		result->problem = messages[i].problem;
		result->name = arena_text(arena, name, name_len);
		return;
	}
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
	if (status == SQLITE_OK) {
		result.read_only = statement && sqlite3_stmt_readonly(statement);
		result.problem = statement ? SQLITE_PROBLEM_NONE : SQLITE_PROBLEM_SYNTAX;
		result.message = statement ? STR_NONE : STR("there is no statement");
	} else {
		classify(sqlite3_errmsg(database->handle), trace->arena, &result);
		result.offset = sqlite3_error_offset(database->handle);
		if (status == SQLITE_AUTH)
			result.problem = SQLITE_PROBLEM_DENIED;
	}
	(void)sqlite3_finalize(statement);
	return result;
}

bool sqlite_database_stub_table(struct sqlite_database *database, str_t name, str_t columns)
{
	const char *dot = memrchr(name.ptr, '.', name.len);
	const char *bare = dot ? dot + 1 : name.ptr;
	if (dot && strncasecmp(name.ptr, "main.", 5) != 0)
		return false;
	char *sql = sqlite3_mprintf("CREATE TABLE \"%w\" (%.*s)", bare, (int)columns.len, columns.ptr);
	bool done = sql && sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_free(sql);
	if (done)
		add_relation(database, bare);
	return done;
}

static void no_value(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count, (void)values;
	sqlite3_result_null(context);
}

bool sqlite_database_stub_function(struct sqlite_database *database, str_t name)
{
	str_t copy = arena_str(database->arena, name);
	ARENA_PUSH(database->arena, database->stubs, database->stubs_count, database->stubs_capacity, copy);
	return sqlite3_create_function_v2(database->handle, copy.ptr, -1, SQLITE_UTF8, NULL, no_value, NULL,
					  NULL, NULL) == SQLITE_OK;
}
