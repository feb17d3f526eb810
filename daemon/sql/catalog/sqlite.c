#include "sql/catalog/build.h"

#include "sql/lex/identifier.h"

#include <jansson.h>
#include <sqlite3.h>

#define DEFINITION_STEPS_MAX	200 /* of 1,000 opcodes each: many times what a definition takes */
#define DEFINITION_STEP_OPCODES 1000

static void close_database(sqlite3 **database)
{
	(void)sqlite3_close_v2(*database);
}

static void finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

/* Definitions only: nothing that reads or writes outside of the empty database is prepared. */
static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)context, (void)a, (void)b, (void)c, (void)d;
	return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

/* A definition from a hostile file could be a CREATE TABLE AS SELECT that never ends. */
static int watch_steps(void *context)
{
	unsigned *steps = context;
	return ++*steps > DEFINITION_STEPS_MAX;
}

void catalog_define_sqlite(sqlite3 *database, const char *definition)
{
	_cleanup_(finalize) sqlite3_stmt *statement = NULL;
	unsigned steps = 0;
	sqlite3_progress_handler(database, DEFINITION_STEP_OPCODES, watch_steps, &steps);
	if (sqlite3_prepare_v2(database, definition, -1, &statement, NULL) == SQLITE_OK && statement)
		(void)sqlite3_step(statement);
	sqlite3_progress_handler(database, 0, NULL, NULL);
}

/* Identifiers of SQLite are compared without regard to (ASCII) case: the catalog holds them in lower case. */
static str_t folded(struct arena *arena, const unsigned char *text)
{
	return identifier_lower(str_from(text ? (const char *)text : ""), arena);
}

static str_t text_of(struct arena *arena, const unsigned char *text)
{
	return text ? str_from(arena_strdup(arena, (const char *)text)) : STR_NONE;
}

/* By the affinity rules of SQLite ("Datatypes in SQLite", 3.1), as far as they make comparisons sure: a
 * column of numeric affinity may well hold texts, such as dates. */
static enum type_category affinity(str_t type)
{
	static const struct {
		const char *part;
		enum type_category category;
	} rules[] = { { "int", TYPE_INTEGER },	{ "char", TYPE_TEXT },	 { "clob", TYPE_TEXT },
		      { "text", TYPE_TEXT },	{ "blob", TYPE_OTHER },	 { "real", TYPE_NUMERIC },
		      { "floa", TYPE_NUMERIC }, { "doub", TYPE_NUMERIC } };
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (strstr(type.ptr, rules[i].part))
			return rules[i].category;
	return TYPE_OTHER;
}

static void read_columns(struct catalog_builder *builder, sqlite3 *database, const unsigned char *table,
			 struct catalog_relation *relation)
{
	_cleanup_(finalize) sqlite3_stmt *statement = NULL;
	struct catalog_column *columns = NULL;
	size_t capacity = 0;
	relation->is_open = true;
	if (sqlite3_prepare_v2(
		    database,
		    "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1", -1,
		    &statement, NULL) != SQLITE_OK ||
	    sqlite3_bind_text(statement, 1, (const char *)table, -1, SQLITE_TRANSIENT) != SQLITE_OK)
		return;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct catalog_column column = {
			.name = folded(builder->arena, sqlite3_column_text(statement, 0)),
			.type = folded(builder->arena, sqlite3_column_text(statement, 1)),
			.not_null = sqlite3_column_int(statement, 2) != 0,
			.is_key = sqlite3_column_int(statement, 3) != 0
		};
		column.category = affinity(column.type);
		ARENA_PUSH(builder->arena, columns, relation->columns_count, capacity, column);
	}
	relation->columns = columns;
	relation->is_open = relation->columns_count == 0;
}

static void read_relations(struct catalog_builder *builder, sqlite3 *database)
{
	_cleanup_(finalize) sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(
		    database,
		    "SELECT name, type = 'view', sql FROM sqlite_schema WHERE type IN ('table', 'view')", -1,
		    &statement, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct catalog_relation relation = { .schema = STR("main"),
						     .name = folded(builder->arena,
								    sqlite3_column_text(statement, 0)),
						     .is_view = sqlite3_column_int(statement, 1) != 0,
						     .volatility = 'i',
						     .is_public = true,
						     .may_read = true };
		relation.kind = relation.is_view ? 'v' : 'r';
		if (relation.is_view)
			relation.definition = text_of(builder->arena, sqlite3_column_text(statement, 2));
		read_columns(builder, database, sqlite3_column_text(statement, 0), &relation);
		(void)catalog_add_relation(builder, relation, (struct type_list){ 0 });
	}
}

static err_t run_definitions(sqlite3 *database, str_t json, struct err_detail *detail)
{
	json_error_t error;
	json_t *definitions = json_loadb(json.ptr ? json.ptr : "", json.len, 0, &error);
	if (!json_is_array(definitions)) {
		json_decref(definitions);
		return err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: not an array of definitions");
	}
	for (size_t i = 0; i < json_array_size(definitions); i++) {
		const char *definition = json_string_value(json_array_get(definitions, i));
		if (definition && strncasecmp(definition, "create ", strlen("create ")) == 0)
			catalog_define_sqlite(database, definition);
	}
	json_decref(definitions);
	return ERR_OK;
}

err_t catalog_compile_sqlite(str_t json, struct catalog **ret_catalog, struct err_detail *detail)
{
	_cleanup_(close_database) sqlite3 *database = NULL;
	if (sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		return err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: no database in memory can be had");
	(void)sqlite3_set_authorizer(database, authorize, NULL);
	err_t err = run_definitions(database, json, detail);
	if (err != ERR_OK)
		return err;
	struct catalog_builder builder;
	catalog_begin(&builder, SQL_SQLITE);
	catalog_add_path(&builder, STR("main"));
	catalog_add_schema(&builder, STR("main"));
	read_relations(&builder, database);
	return catalog_finish(&builder, json, ret_catalog, detail);
}
