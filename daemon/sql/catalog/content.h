/*
 * What a catalog knows, for the front ends of this room. Everything is immutable and lives as long as the
 * catalog; names are exact (folding is the caller's, by the dialect's rules). Lookups by name or id take
 * constant time. Pure; any thread that holds a reference to the catalog.
 *
 * Types, operators and casts are known of PostgreSQL alone; catalogs of other dialects have none.
 *
 * The relations of MongoDB are collections, and their columns the fields of the documents, those within
 * others by their dotted paths ("items.price", also where items is an array of documents), in order of the
 * bytes.
 */
#pragma once

#include "common/arena.h"
#include "sql/catalog/catalog.h"
#include "sql/lex/words.h"

/* Broad kind of a type, where comparisons are surely wrong or right; OTHER claims nothing. */
enum type_category { TYPE_OTHER, TYPE_INTEGER, TYPE_NUMERIC, TYPE_TEXT, TYPE_BOOLEAN, TYPE_TEMPORAL };

/* Volatilities are 'i' immutable, 's' stable, 'v' volatile, and of what is made of things that the catalog
 * lacks: not known. In this order the worst of several is their maximum. */
#define VOLATILITY_UNKNOWN 'u'

/*
 * A type of the catalog. PostgreSQL's own types have the ids that they have there (the constants of
 * catalog/pg_type_d.h); those which its own initialisation numbers follow from 10000, all others from 16384,
 * each in order of (schema, name): ids are never those of the database.
 */
typedef uint32_t type_id;
#define TYPE_UNSURE ((type_id)0) /* not known: claims nothing */

#define TYPE_ID_INITIAL ((type_id)10000)
#define TYPE_ID_USER	((type_id)16384)

/* How deep types may be made of one another. */
#define TYPE_NESTING_MAX 100

struct catalog_type {
	type_id id;
	str_t schema;
	str_t name;    /* as the catalog has it, e.g. int4, _int4 */
	str_t text;    /* as the engine writes it, e.g. integer, integer[] */
	char kind;     /* typtype: b base, c composite, d domain, e enum, m multirange, p pseudo, r range */
	char category; /* typcategory */
	bool is_preferred; /* of its category */
	bool is_public;	   /* PUBLIC has USAGE */
	bool is_system;	   /* of pg_catalog or information_schema */
	char volatility;   /* 'i', 's', 'v': the worst that reading or writing a value as text may run: input
			    * and output functions, checks of a domain, the same of its base, elements and
			    * columns */
	type_id element;   /* of a true array */
	type_id subscript; /* type of x[i]; a type that is_subscriptable and has none is unsure */
	bool is_subscriptable;
	type_id array;				 /* of which this is the element */
	type_id base;				 /* of a domain: the type directly under it */
	type_id subtype;			 /* of a range */
	type_id range;				 /* of a multirange */
	type_id multirange;			 /* of a range */
	const struct catalog_relation *relation; /* whose rows it describes, or NULL */
	const struct catalog_column *columns;	 /* of a composite type (the relation's, where it has one) */
	size_t columns_count;
	const str_t *labels; /* of an enum; NULL: not known */
	size_t labels_count;
};

/* Types of BSON, each a bit of a set. */
enum catalog_bson {
	CATALOG_INT = 1 << 0,
	CATALOG_LONG = 1 << 1,
	CATALOG_DOUBLE = 1 << 2,
	CATALOG_DECIMAL = 1 << 3,
	CATALOG_STRING = 1 << 4,
	CATALOG_BOOL = 1 << 5,
	CATALOG_DATE = 1 << 6,
	CATALOG_TIMESTAMP = 1 << 7,
	CATALOG_OBJECT_ID = 1 << 8,
	CATALOG_OBJECT = 1 << 9,
	CATALOG_BIN_DATA = 1 << 10,
	CATALOG_REGEX = 1 << 11,
	CATALOG_NULL = 1 << 12,
	CATALOG_OTHER = 1 << 13, /* of which nothing is claimed */
	CATALOG_ARRAY = 1 << 14,
};

#define CATALOG_NUMBER (CATALOG_INT | CATALOG_LONG | CATALOG_DOUBLE | CATALOG_DECIMAL)

struct catalog_column {
	str_t name;
	str_t type; /* as the engine writes it, e.g. "integer", "character varying", "text[]"; a domain's base
		     */
	enum type_category category; /* a domain's base's */
	type_id value_type;	     /* a domain stays one */
	bool not_null;
	bool is_key; /* of the primary key, by which PostgreSQL accepts other columns as grouped */
	/* of MongoDB's alone: */
	unsigned holds;	   /* the types of its values, a set of enum catalog_bson; 0: not known */
	unsigned elements; /* likewise, of those in its arrays */
	bool holds_only;   /* … and no others: all documents were read, or the server takes no others */
	bool is_open;	   /* the fields below it are not all known */
	bool is_closed;	   /* the server takes no others below it than those that are known */
};

/* A primary key, unique constraint or unique index over plain columns, of all rows. */
struct catalog_key {
	const unsigned *columns; /* indexes into the relation's columns */
	size_t columns_count;
	bool is_primary;
	bool is_immediate;	 /* not deferrable */
	bool nulls_not_distinct; /* two NULLs are equal to it */
};

/* What a read of a foreign table does, as far as its options tell. The worst of several is their maximum. */
enum foreign_access {
	FOREIGN_NONE,	 /* no foreign table */
	FOREIGN_SYSTEM,	 /* reads another system */
	FOREIGN_UNKNOWN, /* the catalog lacks its server */
	FOREIGN_FILE,	 /* reads a file of the server */
	FOREIGN_PROGRAM, /* runs a program on the server */
};

/* By the name of one option of a table, its server or its wrapper. */
enum foreign_access catalog_foreign_option(str_t name);

struct catalog_relation {
	str_t schema;
	str_t name;
	enum foreign_access foreign; /* also of one whose children or partitions are foreign */
	char kind; /* relkind: r table, p partitioned table, v view, m materialized view, f foreign table, S
		      sequence */
	bool is_view;	/* also a materialized one */
	bool is_system; /* of pg_catalog or information_schema (PostgreSQL) */
	bool is_open;	/* its columns are not (all) known */
	bool is_closed; /* MongoDB: the server takes no other fields in its documents, those within them apart
			 */
	bool is_public; /* PUBLIC may read it */
	bool may_read;	/* the role that the catalog was read with has SELECT on it, or on some of its columns
			 */
	bool has_children; /* other tables inherit from it: a query without ONLY reads theirs, too, where keys
			    * do not hold (a partitioned table's do) */
	char volatility;   /* 'i', 's', 'v': the worst of the functions in its row security policies */
	type_id row_type;
	str_t definition; /* query of a user's view, or absent */
	const struct catalog_column *columns;
	size_t columns_count;
	struct name_words words;	       /* of its name, made when the catalog is finished */
	const struct name_words *column_words; /* likewise of its columns' names, in their order */
	const struct catalog_key *keys;
	size_t keys_count;
};

struct catalog_function {
	str_t schema;
	str_t name;
	str_t language;	  /* internal, c, sql, plpgsql, … */
	char volatility;  /* 'i' immutable, 's' stable, 'v' volatile: the worst of its own, of the functions
			   * that its defaults call, and of those that an aggregate is made of */
	char kind;	  /* 'f' function, 'a' aggregate, 'w' window function, 'p' procedure */
	char aggregate;	  /* of an aggregate: 'n' plain, 'o' ordered set, 'h' hypothetical set */
	bool is_public;	  /* PUBLIC may execute it */
	bool may_execute; /* the role that the catalog was read with may */
	bool is_security_definer;
	bool is_strict;
	bool is_system; /* built in: of pg_catalog or information_schema */
	bool returns_set;
	bool is_variadic;
	bool takes_row;		       /* its first argument may be a row of some relation */
	unsigned arguments;	       /* declared input arguments */
	unsigned defaults;	       /* how many of them, from the last, may be left out */
	unsigned direct_arguments;     /* of an ordered-set aggregate */
	const type_id *argument_types; /* `arguments` of them, as declared */
	const str_t *argument_names;   /* `arguments` of them ("": none), or NULL when none has a name */
	type_id variadic; /* element type of the last argument of a variadic function (ANYOID: VARIADIC "any")
			   */
	type_id result_type; /* RECORDOID where several outputs make it up */
	str_t result;	     /* the same as the engine writes it */
	enum type_category category;
	const str_t *outputs; /* names of OUT, INOUT and TABLE parameters ("": none); none: see `result` */
	const type_id *output_types;
	size_t outputs_count;
};

struct catalog_operator {
	str_t schema;
	str_t name;
	type_id left; /* TYPE_UNSURE and is_prefix: prefix operator */
	type_id right;
	type_id result;
	bool is_prefix;
	bool is_system;
	bool is_public;	  /* PUBLIC may execute its function */
	bool may_execute; /* the role that the catalog was read with may */
	char volatility;  /* its function's */
};

struct catalog_cast {
	type_id source;
	type_id target;
	char context;	  /* 'i' implicit, 'a' in assignments, 'e' explicit only */
	char method;	  /* 'f' function, 'i' by the text form, 'b' the same bytes */
	char volatility;  /* of its function ('i' where there is none; by the text form: see the types) */
	bool is_public;	  /* PUBLIC may execute its function */
	bool may_execute; /* the role that the catalog was read with may */
};

/* The relation of exactly that schema, or NULL. */
const struct catalog_relation *catalog_relation(const struct catalog *catalog, str_t schema, str_t name);

/* The relation that an unqualified name means by the search path, or NULL. */
const struct catalog_relation *catalog_relation_on_path(const struct catalog *catalog, str_t name);

/* The one or the other, as the schema is there or absent; `catalog` may be NULL. */
const struct catalog_relation *catalog_relation_named(const struct catalog *catalog, str_t schema,
						      str_t name);

/* The column of that name, or NULL. */
const struct catalog_column *catalog_columns_find(const struct catalog_column *columns, size_t count,
						  str_t name);

/* Relations in order of schema and name, for hints; the system's own may be missing. */
const struct catalog_relation *catalog_relations(const struct catalog *catalog, size_t *ret_count);

/* Category of a type as the engine writes it. */
enum type_category catalog_type_category(str_t type);

/* Whether there is a schema of that name; whether it is on the search path. */
bool catalog_has_schema(const struct catalog *catalog, str_t schema);
bool catalog_on_path(const struct catalog *catalog, str_t schema);

/* All overloads of the name: of `schema`, or of every schema on the search path, earlier ones first, when it
 * is absent (there, one of an earlier schema hides those with the same argument types in later ones, which
 * are in the list all the same). NULL and 0 where there is none.
 * MySQL: case does not count, and a name beyond ASCII, which the server compares without regard to accents,
 * gives all routines that it may mean. */
const struct catalog_function *const *catalog_functions(const struct catalog *catalog, str_t schema,
							str_t name, size_t *ret_count);

/* "; did you mean …?" with the function on the search path whose name is nearest, or ""; in the arena. */
str_t catalog_function_hint(const struct catalog *catalog, str_t name, struct arena *arena);

/* Whether a call with that many arguments can mean the function. */
bool catalog_function_accepts(const struct catalog_function *function, size_t arguments);

/* The type of that id, or NULL (also for TYPE_UNSURE). */
const struct catalog_type *catalog_type(const struct catalog *catalog, type_id id);

/* The type of that name: of `schema`, or of the first schema on the search path that has it when it is
 * absent. The grammar's names (int4, bpchar, timestamptz, "char", …) are those of pg_catalog. */
const struct catalog_type *catalog_type_named(const struct catalog *catalog, str_t schema, str_t name);

/* The type at the bottom of a domain, through all levels; any other type itself. */
type_id catalog_type_base(const struct catalog *catalog, type_id id);

/* Whether a type of that name exists that f(x) may cast to (no array, no row). Schema absent: anywhere on the
 * path. */
bool catalog_has_type(const struct catalog *catalog, str_t schema, str_t name);

/* All overloads of an operator, in the order and by the rules of catalog_functions. */
const struct catalog_operator *const *catalog_operators(const struct catalog *catalog, str_t schema,
							str_t name, size_t *ret_count);

/* The database's name, or absent where it is not known. */
str_t catalog_database(const struct catalog *catalog);

/* What else has a name that a literal may hold ('name'::regclass); the letters are the catalog query's. */
enum catalog_other_kind {
	CATALOG_INDEX = 'i',	   /* not the system's own */
	CATALOG_TEXT_SEARCH = 'C', /* a configuration of the text search */
	CATALOG_DICTIONARY = 'D',
	CATALOG_INTERNAL_FUNCTION =
		'F',		 /* takes arguments that no query can give: it is no catalog_function */
	CATALOG_SAMPLING = 'S',	 /* a method of TABLESAMPLE */
	CATALOG_COLLATION = 'B', /* apart from the others: they may be known alone */
};

/* Whether the catalog holds these, and whether there is one of that name: of `schema`, or of a schema on the
 * search path when it is absent. */
bool catalog_knows_collations(const struct catalog *catalog);
bool catalog_knows_others(const struct catalog *catalog);
bool catalog_has_other(const struct catalog *catalog, enum catalog_other_kind kind, str_t schema, str_t name);

/* Whether there is surely no method of TABLESAMPLE of that name. */
bool catalog_lacks_sampling(const struct catalog *catalog, str_t schema, str_t name);

/* Whether a relation of that name may have come with an extension that the file creates. */
bool catalog_may_lack_relation(const struct catalog *catalog, str_t name);

/* Whether it was compiled from a file: names that PostgreSQL makes up itself are not in it. */
bool catalog_of_file(const struct catalog *catalog);

/* What CREATE CAST or the system defines between exactly these two types, or NULL. */
const struct catalog_cast *catalog_cast(const struct catalog *catalog, type_id source, type_id target);

/* Those of the catalog's own, and none of its base's, that have side effects: few, as a rule none. */
bool catalog_has_volatile_types(const struct catalog *catalog);
const struct catalog_operator *const *catalog_volatile_operators(const struct catalog *catalog,
								 size_t *ret_count);
const struct catalog_cast *const *catalog_volatile_casts(const struct catalog *catalog, size_t *ret_count);

/* Of two volatilities. */
char catalog_worse(char a, char b);

/* Whether a schema is the system's. */
bool catalog_is_system(str_t schema);

/* The element of which the type is the one array type (int2vector is none), or NULL. */
const struct catalog_type *catalog_array_element(const struct catalog *catalog,
						 const struct catalog_type *type);

/* Why it may lack functions, types, operators or casts that are there: a name that is not found proves
 * nothing. Absent: it has all of them. */
str_t catalog_gap(const struct catalog *catalog);

/* What every PostgreSQL 15 brings along. */
const struct catalog *catalog_builtin(void);
