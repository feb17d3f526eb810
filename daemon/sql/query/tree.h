/*
 * Tree of a query as MySQL's and SQLite's front ends share it, for the rules of this folder. One type of node
 * for everything: what a node means is its kind, what it holds are its children in order; the comments below
 * name them. What columns and items of FROM stand for, once names are resolved, is their range.
 *
 * The parsers of MySQL and SQLite build it, and their resolvers set the ranges. Nodes and ranges live in the
 * arena of the analysis. Pure; any thread.
 */
#pragma once

#include "common/hash.h"
#include "sql/catalog/content.h"

/* Of one FROM: MySQL's own limit; SQLite's is 64. Beyond, nothing is concluded. */
#define QUERY_MAX_TABLES 61

enum query_kind {
	/* statements */
	QUERY_EXPRESSION, /* [WITH] body [ORDER] [LIMIT] [EXAMINED] [INTO] [LOCKING] [PROCEDURE]; body:
		     SELECT, SET, VALUES, TABLE, QUERY (in brackets) */
	QUERY_EXPLAIN,	  /* QUERY */
	QUERY_DESCRIBE,	  /* RELATION */
	QUERY_SHOW,	  /* [RELATION] [WHERE]; name: what, in lower case */
	/* parts of a query */
	QUERY_WITH,	/* CTE…; flag: RECURSIVE */
	QUERY_CTE,	/* [NAMES] QUERY; name */
	QUERY_NAMES,	/* NAME… */
	QUERY_NAME,	/* name */
	QUERY_SET,	/* ARM… */
	QUERY_ARM,	/* body; op: set operation in front of it, NULL for the first */
	QUERY_VALUES,	/* ROW… */
	QUERY_TABLE,	/* RELATION */
	QUERY_SELECT,	/* ITEMS [INTO] [FROM] [WHERE] [GROUP] [HAVING] [WINDOWS]; flag: DISTINCT */
	QUERY_ITEMS,	/* ITEM or STAR … */
	QUERY_ITEM,	/* expression; alias */
	QUERY_STAR,	/* schema, qualifier, if any */
	QUERY_FROM,	/* table references */
	QUERY_WHERE,	/* expression */
	QUERY_GROUP,	/* SORT…; flag: WITH ROLLUP */
	QUERY_HAVING,	/* expression */
	QUERY_WINDOWS,	/* WINDOW… with a name */
	QUERY_ORDER,	/* SORT… */
	QUERY_SORT,	/* expression; flag: DESC */
	QUERY_LIMIT,	/* count, offset: LITERAL or PARAMETER, offset may be missing; flag: WITH TIES */
	QUERY_INTO,	/* op: "outfile", "dumpfile", "variable" */
	QUERY_EXAMINED, /* LITERAL or PARAMETER: LIMIT … ROWS EXAMINED */
	QUERY_LOCKING,
	QUERY_PROCEDURE, /* PROCEDURE ANALYSE */
	/* table references */
	QUERY_RELATION, /* [NAMES] of partitions [SYSTEM_TIME]; schema, name, alias */
	QUERY_DERIVED,	/* QUERY [SYSTEM_TIME] [NAMES]; alias; flag: LATERAL. Of a function: name, arguments,
			   flag */
	QUERY_SYSTEM_TIME,  /* expressions of times; op: "all", "as of", "from", "between" */
	QUERY_JSON_COLUMNS, /* JSON_COLUMN…; below a DERIVED (JSON_TABLE): expression LITERAL JSON_COLUMNS,
			       flag */
	QUERY_JSON_COLUMN, /* [LITERAL] [JSON_ON…]; name; op: "ordinality", "path", "exists"; qualifier: type.
			      op "nested": LITERAL JSON_COLUMNS */
	QUERY_JSON_ON,	   /* [LITERAL]; op: "null on empty", "error on error", … */
	QUERY_JOIN,	   /* left right [ON or USING]; op: "join", "left join", …, "natural full join" */
	QUERY_ON,	   /* expression */
	QUERY_USING,	   /* NAME… */
	/* expressions */
	QUERY_LITERAL,	 /* op: "string", "number", "hex", "bits", "null", "true", "false", "date", …; name:
			    value */
	QUERY_COLUMN,	 /* schema, qualifier, name */
	QUERY_VARIABLE,	 /* op: "@" or "@@"; name */
	QUERY_PARAMETER, /* ? */
	QUERY_OPERATION, /* operands; op */
	QUERY_IN,	 /* left, then SUBQUERY or ROW; flag: NOT */
	QUERY_BETWEEN,	 /* left low high; flag: NOT */
	QUERY_LIKE,	 /* left pattern [escape]; op: "like", "regexp", "sounds like"; flag: NOT */
	QUERY_IS,	 /* left; op: "null", "true", "false", "unknown"; flag: NOT */
	QUERY_QUANTIFIED, /* left SUBQUERY; op: comparison; name: "any" or "all" */
	QUERY_ROW,	  /* operands */
	QUERY_SUBQUERY,	  /* QUERY */
	QUERY_EXISTS,	  /* QUERY */
	QUERY_CASE,	  /* [OPERAND] WHEN… [ELSE] */
	QUERY_OPERAND,	  /* expression */
	QUERY_WHEN,	  /* condition, result */
	QUERY_ELSE,	  /* expression */
	QUERY_CAST,	  /* expression; name: type in lower case; size */
	QUERY_COLLATE,	  /* expression; name: collation, or, with op "using", character set */
	QUERY_INTERVAL,	  /* expression; op: unit */
	QUERY_MATCH,	  /* COLUMN… AGAINST; name: mode */
	QUERY_AGAINST,	  /* expression */
	QUERY_CALL, /* arguments, then [ORDER] [SEPARATOR] [LIMIT] [WINDOW]; schema, name; op: unit or other
		       word, "foreign": by its quotes or the blank in front of its bracket no function of the
		       grammar; flag: DISTINCT */
	QUERY_SEPARATOR, /* name: text */
	QUERY_WINDOW, /* [PARTITION] [ORDER] [FRAME]; name: its own (WINDOWS) or that of the one it builds on
		       */
	QUERY_PARTITION, /* expressions */
	QUERY_FRAME,	 /* BOUND [BOUND]; op: "rows", "range" or "groups" */
	QUERY_BOUND,	 /* [expression]; op: "preceding", "following", "current row", "unbounded …" */
};

struct query_node {
	enum query_kind kind;
	bool flag;
	bool has_column; /* a COLUMN or a PARAMETER stands in it */
	bool aggregate;	 /* names: a CALL of an aggregate that makes groups, not one over a window */
	unsigned depth;	 /* of the tree below, leaves have 1 */
	unsigned number; /* in order of their making, from 0 */
	size_t offset;	 /* into the text */
	size_t end;	 /* behind its last token */
	const char *op;	 /* static */
	str_t schema;
	str_t qualifier;
	str_t name;
	str_t alias;
	double size;			 /* CAST: largest length in its type */
	const struct query_range *range; /* names: what a COLUMN or a RELATION stands for, or NULL */
	const struct query_node *item; /* names: the ITEM that a key of ORDER BY or GROUP BY means, or NULL */
	struct query_node *first;      /* child */
	struct query_node *last;
	struct query_node *next; /* sibling */
};

/* Names of columns. */
struct query_columns {
	const str_t *names;
	size_t count;
	struct hash_map map; /* lower-case name to its str_t */
	bool open;	     /* not all are known */
	bool loose;	     /* some are named by the text of an expression */
};

enum query_range_kind {
	QUERY_RANGE_RELATION,
	QUERY_RANGE_CTE,
	QUERY_RANGE_DERIVED,
	QUERY_RANGE_OUTPUT, /* the columns of a set operation, for its ORDER BY */
};

/* Something in FROM that columns belong to. */
struct query_range {
	enum query_range_kind kind;
	const struct query_node *node;
	str_t alias;  /* the name that it is visible by */
	str_t schema; /* of a relation: as the catalog has it, as written, or absent */
	str_t name;   /* of a relation, as the catalog has it, or as written; of a WITH query */
	const struct catalog_relation *relation; /* in the catalog, or NULL */
	const struct query_columns *columns;
	const struct query_node *maker; /* the DERIVED or CTE in the text that makes it, or NULL */
	struct query_range *same;	/* the next one of that alias in its scope, or NULL */
	struct query_range *last_same;	/* of the first one: the last */
	size_t position;		/* in its scope */
};

/* The catalog's column of that name, or NULL where it is not known; `range` may be NULL. */
const struct catalog_column *query_range_column(const struct query_range *range, str_t column);

/* The first child of that kind, or NULL. */
static inline struct query_node *query_child(const struct query_node *node, enum query_kind kind)
{
	struct query_node *child = node ? node->first : NULL;
	while (child && child->kind != kind)
		child = child->next;
	return child;
}

/* An item of FROM that is no join. */
static inline bool query_is_item(const struct query_node *node)
{
	return node->kind == QUERY_RELATION || node->kind == QUERY_DERIVED;
}

/* The SELECT, SET, VALUES, TABLE or query in brackets that a query is made of. */
static inline const struct query_node *query_body(const struct query_node *query)
{
	const struct query_node *with = query_child(query, QUERY_WITH);
	return with ? with->next : query->first;
}

/* The SELECT that names the outputs of a query, or NULL: VALUES or TABLE does. */
const struct query_node *query_first_select(const struct query_node *query);

/* The query in the text that a range is made by, or NULL. */
const struct query_node *query_made_by(const struct query_range *range);

/* Puts a child behind the others. */
void query_append(struct query_node *parent, struct query_node *child);

/* Texts of names are compared like the server's: ASCII letters in any case, other characters as they are. */
bool query_same_name(str_t a, str_t b);
bool query_name_is(str_t name, const char *word);

/* A lower-case copy (ASCII letters). */
str_t query_lower(str_t name, struct arena *arena);

/* The largest number of a node in the tree. */
unsigned query_last_number(const struct query_node *node);
