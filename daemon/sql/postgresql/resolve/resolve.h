/*
 * What the names in a SELECT mean, as PostgreSQL resolves them: relations, columns, whole rows, output names
 * and functions. Reports what is surely wrong; whatever is in doubt is UNSURE and never an error.
 *
 * Keyed by the address of the parse node; valid until parse_end. Pure; any thread with POOL_STACK_BYTES of
 * stack.
 */
#pragma once

#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/catalog/content.h"
#include "sql/findings/diagnostics.h"

/* Something in FROM that columns can belong to. */
enum range_kind { RANGE_RELATION, RANGE_CTE, RANGE_SUBQUERY, RANGE_FUNCTION, RANGE_JOIN };

struct range_column {
	str_t name;
	type_id type;
	bool not_null; /* surely never NULL in its item */
	const struct range_item
		*source; /* where it comes from: the item itself, or, in a join, the side's item */
	size_t source_index;
	const Node *expression; /* of a subquery or CTE: what it selects there; else NULL */
};

struct range_item {
	enum range_kind kind;
	const Node *node;			 /* RangeVar, RangeSubselect, JoinExpr, … */
	unsigned number;			 /* order of appearance in the statement, from 0 */
	str_t alias;				 /* the name that it is visible by; absent: none */
	const struct catalog_relation *relation; /* RANGE_RELATION in the catalog, else NULL */
	const CommonTableExpr *cte;		 /* RANGE_CTE */
	str_t schema;  /* RANGE_RELATION: resolved schema, or as written, or absent */
	str_t name;    /* RANGE_RELATION, RANGE_CTE: name of what is read */
	bool open;     /* its columns are not (all) known */
	bool nullable; /* on the side of an outer join that may be missing */
	const struct range_column *columns;
	size_t columns_count;
	struct item_notes *notes; /* the resolver's own */
};

enum column_kind {
	COLUMN_OF_ITEM,	       /* `column` of `item` */
	COLUMN_WHOLE_ROW,      /* the row of `item` */
	COLUMN_STAR,	       /* `*` (item NULL) or `t.*` */
	COLUMN_OUTPUT,	       /* an output column of its SELECT, by name (ORDER BY, GROUP BY): `column` */
	COLUMN_FIELD,	       /* a field of the composite column `column` of `item`, or a field of one */
	COLUMN_SYSTEM,	       /* ctid, xmin, … of `item` */
	COLUMN_SUSPECTED_CALL, /* resolves to no column: attribute notation for a call of `call` */
	COLUMN_UNSURE,	       /* could be a column of an item whose columns are not known; may be a call */
	COLUMN_UNKNOWN,	       /* surely none; reported */
};

struct resolved_column {
	enum column_kind kind;
	const struct range_item *item;
	unsigned level;	    /* of the query whose FROM has `item`: 1 is the outermost; 0: not known */
	size_t column;	    /* in item->columns, or in the SELECT's outputs */
	const Node *output; /* COLUMN_OUTPUT: the ResTarget */
	str_t call; /* COLUMN_SUSPECTED_CALL, COLUMN_UNSURE: the name that would be called, else absent */
};

enum function_kind {
	FUNCTION_KNOWN,	  /* the catalog has the name; `overloads` */
	FUNCTION_CAST,	  /* no function, but a type or a column of that name (f(x) notation) */
	FUNCTION_UNKNOWN, /* the catalog does not have it; reported */
	FUNCTION_UNSURE,  /* no catalog */
};

struct resolved_function {
	enum function_kind kind;
	str_t schema; /* as written, or absent */
	str_t name;
	const struct catalog_function *const *overloads; /* all of the name, whatever their arguments */
	size_t overloads_count;
	const struct catalog_function *chosen; /* surely the one that is called, or NULL */
	unsigned
		aggregate_level; /* of the query that an aggregate belongs to; 0: no aggregate, or not sure */
};

/* An operator that a node applies: an A_Expr (BETWEEN, IN and rows apply several), a SubLink (ANY, ALL,
 * rows), a CaseExpr with an operand, a JoinExpr with USING or NATURAL. */
struct resolved_operator {
	const struct resolved_operator *next; /* of the same node */
	const Node *node;
	str_t schema; /* as written, or absent */
	str_t name;
	int location;					 /* bytes into the text, or −1 */
	const struct catalog_operator *chosen;		 /* surely this one, or NULL: any of `overloads` */
	const struct catalog_operator *const *overloads; /* all of the name, whatever their operands */
	size_t overloads_count;
};

/* A conversion that is written (CAST, f(x) notation) or that PostgreSQL adds where types differ. TYPE_UNSURE:
 * from, or to, a type that is not known. */
struct resolved_cast {
	type_id source; /* UNKNOWNOID: of a quoted literal, by the target's input function */
	type_id target;
	int location;			 /* bytes into the text, or −1 */
	const struct catalog_cast *cast; /* or NULL: by text form, elements, or no conversion at all */
};

/* A name that is possibly called without parentheses: `t.f`, `(x).f`. */
struct suspected_call {
	str_t name;
	int location; /* bytes into the text, or −1 */
	bool certain; /* it cannot be a column; false: COLUMN_UNSURE */
	const Node *node;
};

struct resolution {
	bool names_known; /* a catalog was there */
	const struct catalog *catalog;
	str_t missing; /* the first function, operator, type or cast that the catalog does not have and may
			* lack (catalog_gap), or absent */
	bool too_deep; /* the walk gave up: nothing may be concluded from what is absent */
	const struct suspected_call *suspected_calls;
	size_t suspected_calls_count;
	const struct resolved_cast *casts; /* of the whole statement; some may be there twice */
	size_t casts_count;
	struct node_map *nodes; /* these three are resolve.c's */
	struct node_map *operators;
	struct node_map *types;
};

/* Resolves the statement (SELECT, VALUES, or EXPLAIN of one; others resolve to nothing) and reports into
 * `diagnostics`. `catalog` may be NULL: no name is unknown then. */
void resolve_statement(const struct parsed_statement *parsed, const struct catalog *catalog,
		       struct arena *arena, struct diagnostics *diagnostics,
		       struct resolution *ret_resolution);

/* What the walk found for the node; NULL where it did not come by (or gave up), and for any other node than a
 * ColumnRef or FuncCall. Here and below, the resolution and the node may be NULL: nothing is known then. */
const struct range_item *resolution_item(const struct resolution *resolution, const void *from_node);
const struct resolved_column *resolution_column(const struct resolution *resolution, const void *node);
const struct resolved_function *resolution_function(const struct resolution *resolution, const void *node);

/* The column of that name, or NULL. */
const struct range_column *range_columns_find(const struct range_column *columns, size_t count, str_t name);

/* The operators that the node applies, the first of a list; NULL where there are none or the walk did not
 * come by. */
const struct resolved_operator *resolution_operator(const struct resolution *resolution, const void *node);

/* Type of an expression's value; TYPE_UNSURE where it is not sure, UNKNOWNOID for a bare quoted literal or
 * NULL that nothing gives a type. */
type_id resolution_type(const struct resolution *resolution, const Node *node);
