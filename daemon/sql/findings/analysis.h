/*
 * What is asked about a generated query, and what can be known from its text and the target's catalog:
 * diagnostics, safety verdict, base tables, canonical form, top-level order. The same for every dialect;
 * plain values, which live in the arena of the call that made them (sql/dialects.h).
 */
#pragma once

#include "common/arena.h"
#include "sql/catalog/catalog.h"

/* Severity of a diagnostic. */
enum sql_severity { SQL_WARNING, SQL_ERROR };

struct sql_diagnostic {
	const char *code;     /* stable, e.g. "unknown_column" (diagnostics.def) */
	const char *sub_code; /* finer, of sub_codes.def, or NULL */
	enum sql_severity severity;
	str_t object;	      /* what it is about; one diagnostic per (code, sub code, object) */
	str_t message;	      /* for a person, with a hint where there is one */
	int64_t offset;	      /* bytes into the SQL as given (before unwrapping) */
	const char *sqlstate; /* what PostgreSQL raises for it, or NULL where it raises nothing */
	unsigned order;	      /* in which PostgreSQL's analysis meets the errors: it stops at the first */
};

enum sql_verdict { SQL_SAFE, SQL_UNSAFE, SQL_UNKNOWN };

struct sql_violation {
	const char *code; /* stable, e.g. "dangerous_function" (violations.def) */
	str_t detail;
	int64_t offset;
};

/* Clauses of the canonical form whose items the semantic score compares. `where` includes having and set
 * operations. */
enum sql_clause {
	SQL_CLAUSE_SELECT,
	SQL_CLAUSE_WHERE,
	SQL_CLAUSE_FROM,
	SQL_CLAUSE_GROUP,
	SQL_CLAUSE_ORDER,
	SQL_CLAUSE_JOIN,
	SQL_CLAUSE_COUNT_
};

struct sql_items {
	const str_t *items; /* sorted; duplicates count */
	size_t count;
};

struct sql_order_key {
	int column; /* output column counted from 0; −1: an expression that is not in the output */
	bool descending;
	bool nulls_first;
};

/* A part below the top level that takes some of several rows, where no ORDER BY of its own says which, or
 * where rows that tie by it may be on either side. */
struct sql_inner_cut {
	int64_t offset; /* into `text`, in the brackets that it stands in and in none within; −1: not known */
	bool ordered;	/* it has an ORDER BY */
	bool distinct_on; /* it is no LIMIT; of a DISTINCT ON the top level's is among them */
	bool alone;	  /* it reads no WITH query and no column of what is around it, as far as is known */
};

struct sql_analysis {
	str_t text;	     /* the statement itself, without fence, prose and closing semicolon */
	size_t text_offset;  /* of `text` in the SQL as given */
	bool valid;	     /* exactly one statement that parses */
	bool names_resolved; /* the catalog was there: unknown names are reported */
	struct sql_diagnostic *diagnostics;
	size_t diagnostics_count;
	enum sql_verdict verdict;
	struct sql_violation *violations;
	size_t violations_count;
	str_t doubt;	     /* why it is UNKNOWN; or absent */
	bool tables_known;   /* false when it does not parse */
	const str_t *tables; /* base tables: lower case, schema only where not on the search path; sorted,
				unique */
	size_t tables_count;
	str_t canonical; /* canonical form; equal texts: equal queries. Absent when it does not parse */
	str_t shape;	 /* names a family of queries that differ in literals alone: 16 hexadecimal digits;
			    absent when it does not parse, and where SQLite's front end has no tree */
	struct sql_items clauses[SQL_CLAUSE_COUNT_];
	bool ordered; /* a top-level ORDER BY */
	struct sql_order_key *order_keys;
	size_t order_keys_count;
	bool order_unsure; /* a key may be a position, but nobody can tell of which output; as a column the
			    * same text would be a constant */
	bool limited;	   /* a top-level LIMIT or FETCH */
	struct sql_inner_cut
		*inner_cuts; /* the first of them, and one that is not known where there are more */
	size_t inner_cuts_count;
};

/* Of one statement. */
#define SQL_MAX_INNER_CUTS 16

enum sql_user_functions { SQL_USER_FUNCTIONS_NON_VOLATILE, SQL_USER_FUNCTIONS_NONE, SQL_USER_FUNCTIONS_LIST };

/* A column that every query of its table has to constrain, such as a tenant's id. */
struct sql_required_column {
	str_t table;
	str_t column;
};

/* Per-target rules; all zero: the defaults. */
struct sql_policy {
	enum sql_user_functions user_functions;
	const str_t *allowed_functions; /* with SQL_USER_FUNCTIONS_LIST */
	size_t allowed_functions_count;
	const struct sql_required_column *required_columns;
	size_t required_columns_count;
	bool refuse_foreign_tables;   /* all of them; else those that reach into the server itself */
	bool double_quotes_are_names; /* SQLite: text in double quotes is never a string */
};

struct sql_request {
	str_t sql;
	enum sql_dialect dialect;
	bool target_named;		 /* the event names a target, whether or not its catalog is there */
	const struct catalog *catalog;	 /* or NULL */
	const struct sql_policy *policy; /* or NULL: the defaults */
};
