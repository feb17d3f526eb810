/*
 * Inside of the resolver: scopes and what is visible in them. See resolve.h for what it is for.
 */
#pragma once

#include "sql/resolve.h" // first: see pg_nodes.h

/* Nesting at which the walk gives up; each level takes a few small frames. */
#define RESOLVE_MAX_DEPTH 1500

/* Bounds on work: materialised columns, and names compared. Far above what any query of a person needs. */
#define RESOLVE_MAX_RELATIONS	500 /* in one FROM */
#define RESOLVE_MAX_COLUMNS	((size_t)1 << 18)
#define RESOLVE_MAX_COMPARISONS ((size_t)20 << 20)

/* Output of a query. */
struct outputs {
	struct range_column *columns;
	size_t count;
	size_t capacity;
	bool open; /* there are more, or others, that are not known */
};

enum cte_state { CTE_PENDING, CTE_ACTIVE, CTE_DONE };

struct cte_entry {
	const CommonTableExpr *cte;
	struct scope *scope; /* where its query is resolved */
	enum cte_state state;
	bool has_outputs; /* also while active: those of the non-recursive arm */
	struct outputs outputs;
};

/* Names that a JOIN … USING has merged and that the sides no longer show. */
struct hidden_names {
	const struct hidden_names *next;
	const struct range_column *names;
	size_t count;
};

/* How an item of FROM can be referred to at the moment. */
struct visible {
	struct range_item *item;
	const struct hidden_names *hidden;
	bool relation_visible; /* by `alias.column` */
	bool columns_visible;  /* by `column` */
	bool lateral_only;     /* while FROM is being resolved */
	bool lateral_ok;
	bool doubtful; /* merged by names that are not known: matches prove nothing */
};

struct namespace
{
	struct visible *entries;
	size_t count;
	size_t capacity;
};

/* One query level, or one WITH. */
struct scope {
	struct scope *parent;
	struct cte_entry *ctes;
	size_t ctes_count;
	struct namespace names;
	bool lateral_active;
};

struct resolver {
	struct arena *arena;
	const struct catalog *catalog; /* or NULL */
	struct diagnostics *diagnostics;
	struct resolution *resolution;
	struct cte_entry *recursive; /* innermost recursive CTE being resolved, or NULL */
	unsigned items;
	unsigned depth;
	size_t columns;
	size_t comparisons;
	struct suspected_call *suspected;
	size_t suspected_count;
	size_t suspected_capacity;
};

/* What node_map holds for a node. */
struct node_record {
	const void *node;
	const void *value;
};

/* resolve.c */
bool resolver_enter(struct resolver *resolver); /* false: too deep; else resolver_leave is due */
void resolver_leave(struct resolver *resolver);
void resolver_give_up(struct resolver *resolver);
bool resolver_count_columns(struct resolver *resolver, size_t columns);
void resolver_record(struct resolver *resolver, const void *node, const void *value);
void resolver_suspect(struct resolver *resolver, str_t name, int location, bool certain, const Node *node);
void outputs_add(struct resolver *resolver, struct outputs *outputs, struct range_column column);

/* resolve_select.c */
void resolve_select(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		    struct outputs *ret_outputs);
/* Puts the aliases' names on the first columns. */
void rename_columns(struct outputs *outputs, const List *names);
void resolve_cte(struct resolver *resolver, struct cte_entry *entry);

/* resolve_from.c */
void resolve_from(struct resolver *resolver, struct scope *scope, const List *from);
/* Columns of `*` over the namespace, or of one item, in PostgreSQL's order. */
void expand_star(struct resolver *resolver, const struct scope *scope, struct outputs *outputs);
void expand_item(struct resolver *resolver, const struct range_item *item, struct outputs *outputs);
struct range_item *range_item_new(struct resolver *resolver, enum range_kind kind, const Node *node);

/* resolve_expression.c */
void resolve_expression(struct resolver *resolver, struct scope *scope, const Node *node);
void resolve_list(struct resolver *resolver, struct scope *scope, const List *list);
/* The name that PostgreSQL gives to an unnamed output. */
str_t expression_name(const Node *node);

/* resolve_functions.c */
void resolve_function(struct resolver *resolver, const FuncCall *call);

/* resolve_names.c */
enum lookup { LOOKUP_FOUND, LOOKUP_MISSING, LOOKUP_UNSURE, LOOKUP_AMBIGUOUS, LOOKUP_FORBIDDEN };
struct found_column {
	const struct range_item *item;
	size_t column;
	bool is_system;
};
/* An unqualified column; outer levels too unless `local`. */
enum lookup lookup_column(struct resolver *resolver, const struct scope *scope, str_t name, bool local,
			  struct found_column *ret_found);
/* A column of an item by name; system columns too. Merged columns of an unaliased join are the join's. */
enum lookup lookup_in_item(struct resolver *resolver, const struct range_item *item, str_t name,
			   struct found_column *ret_found);
/* An item by the name that it is visible by; the schema is absent where none was written. */
enum lookup lookup_item(const struct scope *scope, str_t schema, str_t name,
			const struct range_item **ret_item);
struct cte_entry *lookup_cte(const struct scope *scope, str_t name);
void resolve_column_ref(struct resolver *resolver, struct scope *scope, const ColumnRef *column);

/* Outputs of a query by itself, for the columns of views; what is wrong with it is not reported. */
void resolve_query_outputs(const SelectStmt *select, const struct catalog *catalog, struct arena *arena,
			   struct outputs *ret_outputs);

/* types.c: category of an expression's value; OTHER where it is not sure. */
/* Outputs of a SELECT; NULL where the walk did not come by. */
const struct outputs *resolution_outputs(const struct resolution *resolution, const SelectStmt *select);

enum type_category expression_category(const struct resolution *resolution, const Node *node);
enum type_category type_name_category(const TypeName *type);
