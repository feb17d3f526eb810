/*
 * Parse tree of a MySQL or MariaDB query. One type of node for everything: what a node means is its kind,
 * what it holds are its children in order; the comments below name them. Nodes live in the arena of the
 * analysis. Pure; any thread.
 */
#pragma once

#include "common/arena.h"
#include "sql/violations.h"

/* Operators that follow each other without brackets and brackets inside of each other nest; nothing that
 * parses is deeper, so that every walk may recurse. */
#define MYSQL_MAX_DEPTH	 600
#define MYSQL_MAX_TABLES 61 /* the server's own limit on one FROM */

enum mysql_kind {
	/* statements */
	MYSQL_QUERY,	/* [WITH] body [ORDER] [LIMIT] [EXAMINED] [INTO] [LOCKING] [PROCEDURE]; body: SELECT,
			   SET, VALUES, TABLE, QUERY (in brackets) */
	MYSQL_EXPLAIN,	/* QUERY */
	MYSQL_DESCRIBE, /* RELATION */
	MYSQL_SHOW,	/* [RELATION] [WHERE]; name: what, in lower case */
	/* parts of a query */
	MYSQL_WITH,	/* CTE…; flag: RECURSIVE */
	MYSQL_CTE,	/* [NAMES] QUERY; name */
	MYSQL_NAMES,	/* NAME… */
	MYSQL_NAME,	/* name */
	MYSQL_SET,	/* ARM… */
	MYSQL_ARM,	/* body; op: set operation in front of it, NULL for the first */
	MYSQL_VALUES,	/* ROW… */
	MYSQL_TABLE,	/* RELATION */
	MYSQL_SELECT,	/* ITEMS [INTO] [FROM] [WHERE] [GROUP] [HAVING] [WINDOWS]; flag: DISTINCT */
	MYSQL_ITEMS,	/* ITEM or STAR … */
	MYSQL_ITEM,	/* expression; alias */
	MYSQL_STAR,	/* schema, qualifier, if any */
	MYSQL_FROM,	/* table references */
	MYSQL_WHERE,	/* expression */
	MYSQL_GROUP,	/* SORT…; flag: WITH ROLLUP */
	MYSQL_HAVING,	/* expression */
	MYSQL_WINDOWS,	/* WINDOW… with a name */
	MYSQL_ORDER,	/* SORT… */
	MYSQL_SORT,	/* expression; flag: DESC */
	MYSQL_LIMIT,	/* count, offset: LITERAL or PARAMETER, offset may be missing; flag: WITH TIES */
	MYSQL_INTO,	/* op: "outfile", "dumpfile", "variable" */
	MYSQL_EXAMINED, /* LITERAL or PARAMETER: LIMIT … ROWS EXAMINED */
	MYSQL_LOCKING,
	MYSQL_PROCEDURE, /* PROCEDURE ANALYSE */
	/* table references */
	MYSQL_RELATION,	    /* [NAMES] of partitions [SYSTEM_TIME]; schema, name, alias */
	MYSQL_DERIVED,	    /* QUERY [SYSTEM_TIME] [NAMES]; alias; flag: LATERAL */
	MYSQL_SYSTEM_TIME,  /* expressions of times; op: "all", "as of", "from", "between" */
	MYSQL_JSON_COLUMNS, /* JSON_COLUMN…; below a DERIVED (JSON_TABLE): expression LITERAL JSON_COLUMNS,
			       flag */
	MYSQL_JSON_COLUMN, /* [LITERAL] [JSON_ON…]; name; op: "ordinality", "path", "exists"; qualifier: type.
			      op "nested": LITERAL JSON_COLUMNS */
	MYSQL_JSON_ON,	   /* [LITERAL]; op: "null on empty", "error on error", … */
	MYSQL_JOIN,	   /* left right [ON or USING]; op: "join", "left join", …, "natural join" */
	MYSQL_ON,	   /* expression */
	MYSQL_USING,	   /* NAME… */
	/* expressions */
	MYSQL_LITERAL,	 /* op: "string", "number", "hex", "bits", "null", "true", "false", "date", …; name:
			    value */
	MYSQL_COLUMN,	 /* schema, qualifier, name */
	MYSQL_VARIABLE,	 /* op: "@" or "@@"; name */
	MYSQL_PARAMETER, /* ? */
	MYSQL_OPERATION, /* operands; op */
	MYSQL_IN,	 /* left, then SUBQUERY or ROW; flag: NOT */
	MYSQL_BETWEEN,	 /* left low high; flag: NOT */
	MYSQL_LIKE,	 /* left pattern [escape]; op: "like", "regexp", "sounds like"; flag: NOT */
	MYSQL_IS,	 /* left; op: "null", "true", "false", "unknown"; flag: NOT */
	MYSQL_QUANTIFIED, /* left SUBQUERY; op: comparison; name: "any" or "all" */
	MYSQL_ROW,	  /* operands */
	MYSQL_SUBQUERY,	  /* QUERY */
	MYSQL_EXISTS,	  /* QUERY */
	MYSQL_CASE,	  /* [OPERAND] WHEN… [ELSE] */
	MYSQL_OPERAND,	  /* expression */
	MYSQL_WHEN,	  /* condition, result */
	MYSQL_ELSE,	  /* expression */
	MYSQL_CAST,	  /* expression; name: type in lower case; size */
	MYSQL_COLLATE,	  /* expression; name: collation, or, with op "using", character set */
	MYSQL_INTERVAL,	  /* expression; op: unit */
	MYSQL_MATCH,	  /* COLUMN… AGAINST; name: mode */
	MYSQL_AGAINST,	  /* expression */
	MYSQL_CALL, /* arguments, then [ORDER] [SEPARATOR] [LIMIT] [WINDOW]; schema, name; op: unit or other
		       word, "foreign": by its quotes or the blank in front of its bracket no function of the
		       grammar; flag: DISTINCT */
	MYSQL_SEPARATOR, /* name: text */
	MYSQL_WINDOW, /* [PARTITION] [ORDER] [FRAME]; name: its own (WINDOWS) or that of the one it builds on
		       */
	MYSQL_PARTITION, /* expressions */
	MYSQL_FRAME,	 /* BOUND [BOUND]; op: "rows", "range" or "groups" */
	MYSQL_BOUND,	 /* [expression]; op: "preceding", "following", "current row", "unbounded …" */
};

struct mysql_node {
	enum mysql_kind kind;
	bool flag;
	bool has_column; /* a COLUMN or a PARAMETER stands in it */
	unsigned depth;	 /* of the tree below, leaves have 1 */
	unsigned number; /* in order of their making, from 0 */
	size_t offset;	 /* into the text */
	size_t end;	 /* behind its last token */
	const char *op;
	str_t schema;
	str_t qualifier;
	str_t name;
	str_t alias;
	double size;			 /* CAST: largest length in its type */
	const struct mysql_range *range; /* names: what a COLUMN or a RELATION stands for, or NULL */
	const struct mysql_node *item; /* names: the ITEM that a key of ORDER BY or GROUP BY means, or NULL */
	struct mysql_node *first;      /* child */
	struct mysql_node *last;
	struct mysql_node *next; /* sibling */
};

/* The first child of that kind, or NULL. */
static inline struct mysql_node *mysql_child(const struct mysql_node *node, enum mysql_kind kind)
{
	struct mysql_node *child = node ? node->first : NULL;
	while (child && child->kind != kind)
		child = child->next;
	return child;
}

/* Why a text was refused; offsets count in the text. */
struct mysql_failure {
	bool failed;
	bool merely; /* it does not parse, and nothing more can be said; else the code is a violation */
	enum sql_violation_code code;
	size_t offset;
	const char *reason; /* static */
	str_t near;	    /* part of the text, or absent */
};

/* Texts of names are compared like the server's: ASCII letters in any case, other characters as they are. */
bool mysql_same(str_t a, str_t b);
bool mysql_is(str_t name, const char *word);

/* A lower-case copy (ASCII letters). */
str_t mysql_lower(str_t name, struct arena *arena);

/* The largest number of a node in the tree. */
unsigned mysql_last_number(const struct mysql_node *node);
