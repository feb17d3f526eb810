/*
 * Building a catalog: add everything, then finish once. For the compilers of this room; one thread.
 *
 * Whatever is added (texts, arrays) is only pointed at and has to live until catalog_finish, which copies it.
 * Types may be added with any ids of the compiler's own: catalog_finish gives them their final ones and
 * replaces every reference; a reference to a type that was never added becomes TYPE_UNSURE.
 */
#pragma once

#include "sql/catalog/content.h"

struct type_list {
	const type_id *ids;
	size_t count;
};

/* What the builder keeps of what was added: the pointers that it gives out are to the first members of these.
 */
struct type_draft {
	struct catalog_type type;
	struct type_list uses;
};

/* What a read of a relation from a file runs besides what is written (postgresql/ddl/reads.c). */
struct relation_reads {
	bool has_row_security;
	char policies; /* the worst volatility of its policies for reading */
	struct type_list uses;
	const struct catalog_relation **read; /* by its policies */
	size_t read_count;
	size_t read_capacity;
	struct relation_draft **parents; /* reading those reads it, too */
	size_t parents_count;
	size_t parents_capacity;
};

struct relation_draft {
	struct catalog_relation relation;
	struct type_list uses;
	struct relation_reads reads;
};

struct function_draft {
	struct catalog_function function;
	struct type_list uses;
};

struct catalog_draft_list {
	void **items;
	size_t count;
	size_t capacity;
};

struct catalog_builder {
	struct catalog *catalog; /* being built; owned until catalog_finish */
	struct arena *arena;	 /* the catalog's */
	struct arena *scratch;	 /* for what is added; released by catalog_finish */
	bool live;		 /* lookups find what was added at once */
	struct catalog_draft_list relations;
	struct catalog_draft_list functions;
	struct catalog_draft_list types;
	struct catalog_draft_list operators;
	struct catalog_draft_list casts;
	struct catalog_draft_list others;
	bool knows_collations;
	bool knows_others;
	size_t schemas_capacity;
	size_t path_capacity;
};

/* Begins an empty catalog, which is not live. */
void catalog_begin(struct catalog_builder *builder, enum sql_dialect dialect);

/* Begins a catalog on top of the built-in objects of PostgreSQL 15, which stay shared. It is live. */
void catalog_begin_on_builtins(struct catalog_builder *builder);

void catalog_set_database(struct catalog_builder *builder, str_t name);
void catalog_add_schema(struct catalog_builder *builder, str_t schema);

/* Replaces the search path; a live catalog's lookups follow it. */
void catalog_clear_path(struct catalog_builder *builder);
void catalog_add_path(struct catalog_builder *builder, str_t schema);

/* Text and category of columns, text and category of results, texts of types and is_system are derived from
 * the types and schemas; those of a column or result whose type is unsure stay. `uses`: further types whose
 * volatility is also that of the object (those which a domain's checks, a function's defaults or a relation's
 * policies cast to). */
struct catalog_relation *catalog_add_relation(struct catalog_builder *builder,
					      struct catalog_relation relation, struct type_list uses);
void catalog_add_function(struct catalog_builder *builder, struct catalog_function function,
			  struct type_list uses);
struct catalog_type *catalog_add_type(struct catalog_builder *builder, struct catalog_type type,
				      struct type_list uses);
void catalog_add_operator(struct catalog_builder *builder, struct catalog_operator operator_);
void catalog_add_cast(struct catalog_builder *builder, struct catalog_cast cast);

/* The catalog knows all of these once one was added, or `knows_others` set; of collations apart. */
void catalog_add_other(struct catalog_builder *builder, enum catalog_other_kind kind, str_t schema,
		       str_t name);

/* Notes why the catalog may lack functions, types, operators or casts; the first reason is kept. */
void catalog_note_gap(struct catalog_builder *builder, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Notes what the catalog lacks: relations, a list of names with spaces between that outlives it, or NULL:
 * any.
 */
void catalog_note_lacking(struct catalog_builder *builder, const char *relations);

/* One more of catalog_warnings. */
void catalog_warn(struct catalog_builder *builder, str_t warning);

/* A relation or type that was added to a live catalog, to be changed before catalog_finish; NULL when there
 * is none. */
struct catalog_relation *catalog_added_relation(struct catalog_builder *builder, str_t schema, str_t name);
struct catalog_type *catalog_added_type(struct catalog_builder *builder, type_id id);

/* A type that was added is found by the name that it has now, too. */
void catalog_rename_type(struct catalog_builder *builder, struct catalog_type *type);

/* Changes what was added to a live catalog: a relation with its row type. The new name has to be free; the
 * text of views that name the old one stays. */
void catalog_rename_relation(struct catalog_builder *builder, struct catalog_relation *relation, str_t name);
void catalog_remove_relation(struct catalog_builder *builder, struct catalog_relation *relation);

/* Text and category of a column by its type; both stay where that is unsure. */
void catalog_derive_column(const struct catalog *catalog, struct catalog_column *column);

/* Result and what follows from the types of the arguments. */
void catalog_derive_function(const struct catalog *catalog, struct catalog_function *function);

/* Numbers, indexes, computes the digest and hands the catalog over with one reference. `source` is copied.
 * Fails, with the builder abandoned, when two types have one id or name. */
err_t catalog_finish(struct catalog_builder *builder, str_t source, struct catalog **ret_catalog,
		     struct err_detail *detail);

/* Releases a builder that was not finished; also fine afterwards. */
void catalog_abandon(struct catalog_builder *builder);
