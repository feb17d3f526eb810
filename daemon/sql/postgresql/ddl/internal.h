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

struct ddl_compiler {
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
struct ddl_type {
	type_id id;
	str_t text;
	bool is_serial;
};

struct ddl_columns {
	struct catalog_column *items;
	size_t count;
	size_t capacity;
};

/* compiler.c */
bool ddl_is_there(const struct ddl_compiler *compiler, const RangeVar *name);
/* Refuses the file for the statement; the first one counts. */
void ddl_fail(struct ddl_compiler *compiler, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Leaves the statement out, with a warning. */
void ddl_leave_out(struct ddl_compiler *compiler, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

str_t ddl_schema_of(const struct ddl_compiler *compiler, str_t written);

/* What the file has defined by that name so far, or NULL. */
struct catalog_relation *ddl_added_relation(struct ddl_compiler *compiler, const RangeVar *name);

/* The type or function name that the option is given as, or NULL. */
const TypeName *ddl_option(const List *options, const char *name);
/* The worst volatility of the functions that the option names, 'i' where it is not given, and their result.
 */
char ddl_option_volatility(struct ddl_compiler *compiler, const List *options, const char *name,
			   type_id *ret_result);
/* Both lists in one. */
struct type_list ddl_join_uses(struct ddl_compiler *compiler, struct type_list a, struct type_list b);

/* The worst volatility of the functions of that name (VOLATILITY_UNKNOWN: there is none) and the result that
 * they agree on. */
char ddl_functions_volatility(struct ddl_compiler *compiler, struct qualified_name name, type_id *ret_result);

/* types.c */
struct ddl_type ddl_type_of(struct ddl_compiler *compiler, const TypeName *type);
void ddl_add_column(struct ddl_compiler *compiler, struct ddl_columns *columns, struct catalog_column column,
		    struct ddl_type type);
type_id ddl_add_row_type(struct ddl_compiler *compiler, const struct catalog_relation *relation);
void ddl_set_row_columns(struct ddl_compiler *compiler, const struct catalog_relation *relation);
void ddl_add_enum(struct ddl_compiler *compiler, const CreateEnumStmt *create);
void ddl_alter_enum(struct ddl_compiler *compiler, const AlterEnumStmt *alter);
void ddl_add_composite(struct ddl_compiler *compiler, const CompositeTypeStmt *create);
void ddl_add_domain(struct ddl_compiler *compiler, const CreateDomainStmt *create);
void ddl_alter_domain(struct ddl_compiler *compiler, const AlterDomainStmt *alter);
void ddl_add_range(struct ddl_compiler *compiler, const CreateRangeStmt *create);
void ddl_add_base_type(struct ddl_compiler *compiler, const DefineStmt *define);

/* What an expression runs that is kept with an object. */
struct ddl_runs {
	char volatility; /* the worst of its calls and operators; VOLATILITY_UNKNOWN: the catalog lacks one */
	type_id *types;	 /* that it casts to */
	size_t types_count;
	size_t types_capacity;
	const struct catalog_relation **relations; /* that it reads */
	size_t relations_count;
	size_t relations_capacity;
};

struct ddl_runs ddl_expression_runs(struct ddl_compiler *compiler, const Node *expression);

/* The worst volatility of calls and operators, and the types that are cast to. */
char ddl_expression_volatility(struct ddl_compiler *compiler, const Node *expression, struct type_list *uses);

/* tables.c */
void ddl_add_table(struct ddl_compiler *compiler, const CreateStmt *create, char kind);
void ddl_alter_table(struct ddl_compiler *compiler, const AlterTableStmt *alter);
/* Relations and columns get other names; relations are taken out again. */
void ddl_rename(struct ddl_compiler *compiler, const RenameStmt *rename);
void ddl_drop(struct ddl_compiler *compiler, const DropStmt *drop);
void ddl_add_index(struct ddl_compiler *compiler, const IndexStmt *create);
void ddl_add_sequence(struct ddl_compiler *compiler, const CreateSeqStmt *create);

/* The columns, keys and row type of a new relation, or of a view that is replaced. */
void ddl_add_relation(struct ddl_compiler *compiler, struct catalog_relation relation, bool may_replace);

/* reads.c: what a read of a relation runs without a word of it in the query. */
void ddl_add_policy(struct ddl_compiler *compiler, const CreatePolicyStmt *create);
void ddl_alter_policy(struct ddl_compiler *compiler, const AlterPolicyStmt *alter);
void ddl_set_row_security(struct catalog_relation *relation, bool enabled);
/* ON SELECT: the relation is a view on the rule's query. `text`: the statement's own. */
void ddl_add_rule(struct ddl_compiler *compiler, const RuleStmt *rule, str_t text);
/* The child's rows belong to the parent's. */
void ddl_note_child(struct ddl_compiler *compiler, const RangeVar *parent, struct catalog_relation *child);
void ddl_add_foreign_wrapper(struct ddl_compiler *compiler, const char *name, const List *options);
/* `wrapper` may be NULL: it is known from before. */
void ddl_add_foreign_server(struct ddl_compiler *compiler, const char *name, const char *wrapper,
			    const List *options);
/* `server` may be NULL: it is known from before. */
void ddl_set_foreign(struct ddl_compiler *compiler, struct catalog_relation *relation, const char *server,
		     const List *options);
/* Once all statements are compiled. */
void ddl_finish_reads(struct ddl_compiler *compiler);

/* functions.c */
void ddl_add_function(struct ddl_compiler *compiler, const CreateFunctionStmt *create);
void ddl_alter_function(struct ddl_compiler *compiler, const AlterFunctionStmt *alter);
void ddl_add_aggregate(struct ddl_compiler *compiler, const DefineStmt *define);
void ddl_add_operator(struct ddl_compiler *compiler, const DefineStmt *define);
void ddl_add_cast(struct ddl_compiler *compiler, const CreateCastStmt *create);

/* text.c: the file's text with what psql alone understands (lines of \commands, data behind COPY
 * … FROM stdin) blanked, so that positions stay. */
char *ddl_without_psql(str_t text, struct arena *arena);

/* Blanks the statement that stands at `at`, or the last one. False: there is none. */
bool ddl_blank_statement(char *bytes, size_t len, size_t at);

/* The query of a statement that keeps one behind AS, without what stands behind it in WITH … when it
 * `has_suffix`. */
str_t ddl_kept_query(str_t statement, bool has_suffix, struct arena *arena);

/* The query of CREATE RULE … ON SELECT, which stands behind INSTEAD. */
str_t ddl_rule_query(str_t statement, struct arena *arena);
