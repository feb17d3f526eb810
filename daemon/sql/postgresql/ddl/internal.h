/*
 * Compiling a file of statements that define things : one compiler a file, one thread. Nodes
 * and what is made of them live until the compiler is done.
 */
#pragma once

#include "sql/postgresql/resolve/internal.h" // first: see pg_nodes.h

#include "sql/catalog/build.h"
#include "sql/postgresql/parse/node_children.h"

/* A foreign server or a foreign-data wrapper. */
struct foreign_place {
	const char *name;
	bool is_server;
	enum foreign_access access;
	struct foreign_place *next;
};

struct sql_compiler {
	struct catalog_builder builder; /* live: its scratch memory is also the compiler's */
	str_t text;			/* of the file, without what is only psql's */
	size_t offset;			/* of the statement that is being compiled */
	str_t schema;			/* where unqualified names are created */
	type_id next_type;
	struct foreign_place *places;
	char *bytes;			/* of `text` */
	struct parsed_statement parsed; /* what was added points at its nodes */
	bool failed;			/* `detail` says why */
	struct err_detail *detail;
};

/* A type as written: id, text and what serial says besides. */
struct sql_type {
	type_id id;
	str_t text;
	bool is_serial;
};

struct sql_columns {
	struct catalog_column *items;
	size_t count;
	size_t capacity;
};

/* compiler.c */
bool sql_is_there(const struct sql_compiler *compiler, const RangeVar *name);
/* Refuses the file for the statement; the first one counts. */
void sql_fail(struct sql_compiler *compiler, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Leaves the statement out, with a warning. */
void sql_leave_out(struct sql_compiler *compiler, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

str_t sql_schema_of(const struct sql_compiler *compiler, str_t written);

/* What the file has defined by that name so far, or NULL. */
struct catalog_relation *sql_added_relation(struct sql_compiler *compiler, const RangeVar *name);

/* types.c */
struct sql_type sql_type_of(struct sql_compiler *compiler, const TypeName *type);
void sql_add_column(struct sql_compiler *compiler, struct sql_columns *columns, struct catalog_column column,
		    struct sql_type type);
type_id sql_add_row_type(struct sql_compiler *compiler, const struct catalog_relation *relation);
void sql_set_row_columns(struct sql_compiler *compiler, const struct catalog_relation *relation);
void sql_add_enum(struct sql_compiler *compiler, const CreateEnumStmt *create);
void sql_alter_enum(struct sql_compiler *compiler, const AlterEnumStmt *alter);
void sql_add_composite(struct sql_compiler *compiler, const CompositeTypeStmt *create);
void sql_add_domain(struct sql_compiler *compiler, const CreateDomainStmt *create);
void sql_alter_domain(struct sql_compiler *compiler, const AlterDomainStmt *alter);
void sql_add_range(struct sql_compiler *compiler, const CreateRangeStmt *create);
void sql_add_base_type(struct sql_compiler *compiler, const DefineStmt *define);

/* The type or function name that the option is given as, or NULL. */
const TypeName *sql_option(const List *options, const char *name);
/* The worst volatility of the functions that the option names, 'i' where it is not given, and their result.
 */
char sql_option_volatility(struct sql_compiler *compiler, const List *options, const char *name,
			   type_id *ret_result);
/* Both lists in one. */
struct type_list sql_join_uses(struct sql_compiler *compiler, struct type_list a, struct type_list b);

/* What an expression runs that is kept with an object. */
struct sql_runs {
	char volatility; /* the worst of its calls and operators; VOLATILITY_UNKNOWN: the catalog lacks one */
	type_id *types;	 /* that it casts to */
	size_t types_count;
	size_t types_capacity;
	const struct catalog_relation **relations; /* that it reads */
	size_t relations_count;
	size_t relations_capacity;
};

struct sql_runs sql_expression_runs(struct sql_compiler *compiler, const Node *expression);

/* The worst volatility of calls and operators, and the types that are cast to. */
char sql_expression_volatility(struct sql_compiler *compiler, const Node *expression, struct type_list *uses);

/* The worst volatility of the functions of that name (VOLATILITY_UNKNOWN: there is none) and the result that
 * they agree on. */
char sql_functions_volatility(struct sql_compiler *compiler, struct qualified_name name, type_id *ret_result);

/* tables.c */
void sql_add_table(struct sql_compiler *compiler, const CreateStmt *create, char kind);
void sql_alter_table(struct sql_compiler *compiler, const AlterTableStmt *alter);
/* Relations and columns get other names; relations are taken out again. */
void sql_rename(struct sql_compiler *compiler, const RenameStmt *rename);
void sql_drop(struct sql_compiler *compiler, const DropStmt *drop);
void sql_add_index(struct sql_compiler *compiler, const IndexStmt *create);
void sql_add_sequence(struct sql_compiler *compiler, const CreateSeqStmt *create);

/* The columns, keys and row type of a new relation, or of a view that is replaced. */
void sql_add_relation(struct sql_compiler *compiler, struct catalog_relation relation, bool may_replace);

/* reads.c: what a read of a relation runs without a word of it in the query. */
void sql_add_policy(struct sql_compiler *compiler, const CreatePolicyStmt *create);
void sql_alter_policy(struct sql_compiler *compiler, const AlterPolicyStmt *alter);
void sql_set_row_security(struct catalog_relation *relation, bool enabled);
/* ON SELECT: the relation is a view on the rule's query. `text`: the statement's own. */
void sql_add_rule(struct sql_compiler *compiler, const RuleStmt *rule, str_t text);
/* The child's rows belong to the parent's. */
void sql_note_child(struct sql_compiler *compiler, const RangeVar *parent, struct catalog_relation *child);
void sql_add_foreign_wrapper(struct sql_compiler *compiler, const char *name, const List *options);
/* `wrapper` may be NULL: it is known from before. */
void sql_add_foreign_server(struct sql_compiler *compiler, const char *name, const char *wrapper,
			    const List *options);
/* `server` may be NULL: it is known from before. */
void sql_set_foreign(struct sql_compiler *compiler, struct catalog_relation *relation, const char *server,
		     const List *options);
/* Once all statements are compiled. */
void sql_finish_reads(struct sql_compiler *compiler);

/* functions.c */
void sql_add_function(struct sql_compiler *compiler, const CreateFunctionStmt *create);
void sql_alter_function(struct sql_compiler *compiler, const AlterFunctionStmt *alter);
void sql_add_aggregate(struct sql_compiler *compiler, const DefineStmt *define);
void sql_add_operator(struct sql_compiler *compiler, const DefineStmt *define);
void sql_add_cast(struct sql_compiler *compiler, const CreateCastStmt *create);

/* text.c: the file's text with what psql alone understands (lines of \commands, data behind COPY
 * … FROM stdin) blanked, so that positions stay. */
char *sql_without_psql(str_t text, struct arena *arena);

/* Blanks the statement that stands at `at`, or the last one. False: there is none. */
bool sql_blank_statement(char *bytes, size_t len, size_t at);

/* The query of a statement that keeps one behind AS, without what stands behind it in WITH … when it
 * `has_suffix`. */
str_t sql_kept_query(str_t statement, bool has_suffix, struct arena *arena);

/* The query of CREATE RULE … ON SELECT, which stands behind INSTEAD. */
str_t sql_rule_query(str_t statement, struct arena *arena);
