/*
 * The catalog itself and what the files of this folder share. A catalog may stand on a base: the immutable
 * one of the system's own objects, which all catalogs compiled from SQL share.
 *
 * A catalog that is being built belongs to one thread; a finished one is only read, by any.
 */
#pragma once

#include "common/hash.h"
#include "sql/catalog/build.h"

#include <stdatomic.h>

struct catalog_other {
	char kind;
	str_t schema;
	str_t name;
};

int catalog_compare_others(const void *left, const void *right);

/* All overloads of one name. */
struct catalog_group {
	const void **items;
	size_t count;
	size_t capacity;
};

/* Things by ids, which are ours and no one's to choose: a plain open-addressed table without the costs of a
 * keyed hash, since the types of one expression ask for hundreds. */
struct id_table {
	struct id_slot {
		uint64_t key;
		void *value; /* NULL: free */
	} * slots;
	size_t capacity; /* power of two, or 0 */
	size_t count;
};

/* Functions or operators by their names. */
struct catalog_names {
	struct hash_map exact; /* schema \0 name */
	struct hash_map
		on_path; /* \0 name: what the search path gives; names of the base alone are not in it */
};

struct catalog {
	struct catalog *self; /* for references taken through a const pointer */
	struct arena *arena;
	atomic_size_t *references; /* apart, so that the catalog itself is never written to */
	const struct catalog *base;
	enum sql_dialect dialect;
	uint64_t serial;
	str_t gap;			  /* or absent */
	const char **extension_relations; /* that are missing, lists of names with spaces between */
	size_t extension_relations_count;
	size_t extension_relations_capacity;
	bool lacks_any_relation; /* of extensions of which nothing is known */
	str_t *warnings;
	size_t warnings_count;
	size_t warnings_capacity;
	int64_t read_at_ms;
	size_t sample_size; /* 0: no sample */
	str_t source;
	char digest[DIGEST_HEX_SIZE];
	unsigned char system_digest[DIGEST_BYTES]; /* of the system's own objects */
	struct catalog_relation *relations;
	size_t relations_count;
	struct catalog_function *functions;
	size_t functions_count;
	struct catalog_type *types; /* in order of id */
	size_t types_count;
	struct catalog_operator *operators;
	size_t operators_count;
	struct catalog_cast *casts;
	size_t casts_count;
	struct catalog_other *others; /* in order */
	size_t others_count;
	bool knows_collations; /* among the others */
	bool knows_others;
	/* Of these, and none of the base's, those that have side effects: few, as a rule none. */
	bool has_volatile_types;
	const struct catalog_operator **volatile_operators;
	size_t volatile_operators_count;
	const struct catalog_cast **volatile_casts;
	size_t volatile_casts_count;
	str_t database; /* or absent */
	str_t *schemas;
	size_t schemas_count;
	str_t *path;
	size_t path_count;
	struct hash_map relation_index; /* schema \0 name */
	struct hash_map type_index;	/* schema \0 name */
	struct id_table type_id_index;
	struct id_table cast_index; /* by source and target */
	struct catalog_names function_names;
	struct catalog_names operator_names;
};

/* The value of a name in one index of one catalog (not of its base), or NULL. */
void *catalog_index_find(const struct hash_map *map, str_t schema, str_t name);

static inline size_t id_slot_of(const struct id_table *table, uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (table->capacity - 1);
}

static inline void *id_table_get(const struct id_table *table, uint64_t key)
{
	if (table->count == 0)
		return NULL;
	size_t at = id_slot_of(table, key);
	while (table->slots[at].value && table->slots[at].key != key)
		at = (at + 1) & (table->capacity - 1);
	return table->slots[at].value;
}

static inline uint64_t cast_key(type_id source, type_id target)
{
	return (uint64_t)source << 32 | target;
}

/* The overloads of a qualified name, here or in the base. */
const struct catalog_group *catalog_group_exact(const struct catalog *catalog, bool operators, str_t schema,
						str_t name);

/* Enters things into the indexes of a catalog that is being built; memory from `arena`. Those that return
 * false found the name or id taken. */
bool catalog_index_relation(struct catalog *catalog, struct arena *arena, struct catalog_relation *relation);
bool catalog_index_type(struct catalog *catalog, struct arena *arena, struct catalog_type *type);
/* Frees the name of a type or a relation again; a type stays there by its id. */
void catalog_index_forget(struct catalog *catalog, struct arena *arena, bool types, str_t schema, str_t name);
void catalog_index_cast(struct catalog *catalog, struct arena *arena, struct catalog_cast *cast);
void catalog_index_overload(struct catalog *catalog, struct arena *arena, bool operators, str_t schema,
			    str_t name, const void *item);

/*
 * MySQL compares names of routines without regard to case and accents, character by character
 * (utf8mb3_general_ci), and names of databases with or without regard to case. A key of a routine's name is
 * the name in lower case where it is ASCII. Another one may mean any name of as many characters: it has a key
 * of its length, under which all routines are found, and one for those that are not ASCII themselves, by
 * which an ASCII name finds them.
 */
#define MYSQL_NAME_BYTES 300 /* 64 characters are allowed */

enum mysql_key { MYSQL_KEY_NAME, MYSQL_KEY_ANY_OF_LENGTH, MYSQL_KEY_FOREIGN_OF_LENGTH };

bool catalog_mysql_is_ascii(str_t name);
str_t catalog_mysql_key(str_t name, enum mysql_key kind, char buffer[MYSQL_NAME_BYTES]);
str_t catalog_mysql_schema(str_t schema, char buffer[MYSQL_NAME_BYTES]);

/* Finds anew what the search path gives for one name, or for all. */
void catalog_index_path(struct catalog *catalog, struct arena *arena, bool operators, str_t name);
void catalog_index_paths(struct catalog *catalog, struct arena *arena);

/* Empties the indexes, to be filled again with about as many things as the catalog holds. */
void catalog_index_reset(struct catalog *catalog, struct arena *arena);

/* The type's name as PostgreSQL writes it (format_type); of an array, once its element's text is set. */
str_t catalog_type_write(const struct catalog *catalog, const struct catalog_type *type, struct arena *arena);

/* Whether a function with that first argument may be called as an attribute of a row. */
bool catalog_type_takes_row(const struct catalog *catalog, type_id id);

/* Begins a live catalog on a base that is never released. */
void catalog_begin_live(struct catalog_builder *builder, const struct catalog *base);

/* Fills `digest`, and `system_digest` where there is no base. */
void catalog_compute_digest(struct catalog *catalog);
