/*
 * Inside of the resolver: scopes and what is visible in them. See resolve.h for what it is for. What is made
 * lives in the resolver's arena. A resolver is one statement's, on one thread.
 *
 * Queries hold expressions, and these queries: select.c, set_operation.c, with.c, with_search.c, from.c,
 * from_function.c, from_join.c, keys.c and windows.c recurse into expression.c, functions.c, operators.c,
 * selection.c and collation.c, and those back. resolver_enter bounds it.
 */
#pragma once

#include "sql/postgresql/resolve/resolve.h" // first: see pg_nodes.h

#include "common/hash.h"
#include "sql/postgresql/parse/node_children.h"
#include "sql/postgresql/resolve/type_overload.h"

/* Nesting at which the walk gives up; each level takes a few small frames. */
#define RESOLVE_MAX_DEPTH 1500

/* Bounds on work: materialised columns, and names compared. Far above what any query of a person needs. */
#define RESOLVE_MAX_HINTS	     32
#define RESOLVE_MAX_RELATIONS	     500 /* in one FROM */
#define RESOLVE_MAX_COLUMNS	     ((size_t)1 << 16)
#define RESOLVE_MAX_OUTPUTS	     1664 /* of a SELECT: PostgreSQL refuses more */
#define RESOLVE_MAX_COMPARISONS	     ((size_t)8 << 20)
#define RESOLVE_MAX_NODE_COMPARISONS ((size_t)1 << 18)

/* Output of a query. */
struct outputs {
	struct range_column *columns;
	size_t count;
	size_t capacity;
	bool open;	      /* there are more, or others, that are not known */
	const char *computed; /* what makes its rows others than those of FROM, or NULL */
};

/* Where a recursive query may speak of itself, and where not. */
enum recursion {
	RECURSION_NONE, /* not within a recursive query */
	RECURSION_ALLOWED,
	RECURSION_NON_RECURSIVE_TERM,
	RECURSION_SUBQUERY,
	RECURSION_OUTER_JOIN,
	RECURSION_INTERSECT,
	RECURSION_EXCEPT,
};

enum cte_state { CTE_PENDING, CTE_ACTIVE, CTE_DONE };

struct cte_entry {
	const CommonTableExpr *cte;
	const WithClause *with;
	struct scope *scope; /* where its query is resolved */
	enum cte_state state;
	struct cte_entry *around;    /* the recursive one whose text the WITH is part of, or NULL */
	enum recursion around_place; /* where in it */
	struct cte_entry *outer;     /* while active: the recursive one that was being resolved */
	bool has_outputs;	     /* also while active: those of the non-recursive arm */
	struct outputs outputs;
	unsigned self_references;
};

/* What the resolver keeps of an item for itself. */
struct item_notes {
	const uint32_t *name_hashes; /* of its columns */
	unsigned searches;	     /* for names of columns */
	struct hash_map columns;     /* lookup.c's */
	struct outputs joined;	     /* an aliased join's columns, which a join around it continues */
};

/* How an item of FROM can be referred to at the moment. */
struct visible {
	struct range_item *item;
	bool *hidden; /* columns that a join has merged and the item no longer shows; NULL: none */
	size_t hidden_count;
	bool relation_visible; /* by `alias.column` */
	bool columns_visible;  /* by `column` */
	bool joined;	       /* within a join, which has no system columns of its own */
	bool doubtful;	       /* merged by names that are not known: matches prove nothing */
};

/* Items side by side, in the order of `*`. */
struct namespace
{
	struct visible **entries;
	size_t count;
	size_t before, after;	  /* free places around them */
	struct name_index *index; /* namespace.c's; NULL: not needed so far */
};

/* Left side of a join while the right one is resolved. */
struct left_side {
	struct namespace *names;
	bool allowed; /* LATERAL may refer to it */
	const struct left_side *outer;
};

/* What is being resolved: it decides on what may stand there (places.c). */
enum place {
	PLACE_OTHER,
	PLACE_TARGET,
	PLACE_FROM_SUBSELECT,
	PLACE_FROM_FUNCTION,
	PLACE_JOIN_ON,
	PLACE_WHERE,
	PLACE_HAVING,
	PLACE_FILTER,
	PLACE_WINDOW_PARTITION,
	PLACE_WINDOW_ORDER,
	PLACE_WINDOW_FRAME,
	PLACE_GROUP_BY,
	PLACE_ORDER_BY,
	PLACE_DISTINCT_ON,
	PLACE_LIMIT,
	PLACE_OFFSET,
	PLACE_VALUES,
	PLACE_COUNT_
};

/* One query level, or one WITH. */
struct scope {
	struct scope *parent;
	struct cte_entry *ctes;
	size_t ctes_count;
	struct hash_map *cte_names; /* of all of the WITH, where they are many */
	struct namespace *names;
	const struct left_side *sides; /* innermost first */
	bool in_from;		       /* FROM is being resolved: only LATERAL sees it */
	bool lateral_active;
	unsigned level; /* of the query, from 1; that of the query around a WITH */
	bool is_level;	/* a query level, not a WITH */
	enum place place;
	bool has_aggregates;
	bool has_windows;
	bool has_sets;		   /* functions that return sets, not in FROM */
	bool grouping_unsure;	   /* an aggregate may belong to it or to another level, or a key is none */
	bool reads_recursion;	   /* its FROM reads the recursive query that it is part of */
	const List *window_clause; /* WINDOW … AS */
	struct hash_map *window_names; /* of it, where they are many */
	const WindowDef **windows;     /* those of OVER (…), in order of appearance */
	size_t windows_count;
	size_t windows_capacity;
};

/* Of which query levels (bit n: level n) an expression has something. */
struct marks {
	uint64_t columns;
	uint64_t aggregates;
	uint64_t windows;
	uint64_t sets; /* functions that return sets */
	bool unsure;   /* something is not known, so that a bit may be missing */
};

#define RESOLVE_MAX_LEVELS 62

static inline uint64_t level_bit(unsigned level)
{
	return level <= RESOLVE_MAX_LEVELS ? UINT64_C(1) << level : 0;
}

struct resolver {
	struct arena *arena;
	const struct catalog *catalog; /* or NULL */
	struct diagnostics *diagnostics;
	struct resolution *resolution;
	struct cte_entry *recursive; /* innermost recursive CTE being resolved, or NULL */
	enum recursion recursion;
	struct marks marks;	  /* of the expression being resolved */
	const Node *top_function; /* the one that FROM calls by itself */
	bool seeks_missing;	  /* notes what is missing although the catalog has all, as far as is known */
	unsigned items;
	unsigned hints; /* looked for so far */
	unsigned depth;
	size_t columns;
	size_t comparisons;
	size_t node_comparisons;
	struct suspected_call *suspected;
	size_t suspected_count;
	size_t suspected_capacity;
	struct resolved_cast *casts;
	size_t casts_count;
	size_t casts_capacity;
	struct coercion_memory coercions;
	struct node_map *hashes;    /* of expressions, as far as they were asked for; expression_index.c's */
	struct node_map *locations; /* types.c's */
};

/* What node_map holds for a node. */
struct node_record {
	const void *node;
	const void *value;
};

/* resolver.c */
bool resolver_enter(struct resolver *resolver); /* false: too deep; else resolver_leave is due */
void resolver_leave(struct resolver *resolver);
void resolver_give_up(struct resolver *resolver);
bool resolver_count_columns(struct resolver *resolver, size_t columns);
struct node_map *node_map_new(struct arena *arena);
void node_map_set(struct node_map *map, const void *node, const void *value);
const void *node_map_get(const struct node_map *map, const void *node); /* of a NULL map: NULL */
void resolver_record(struct resolver *resolver, const void *node, const void *value);
void resolver_suspect(struct resolver *resolver, str_t name, int location, bool certain, const Node *node);
void resolver_record_type(struct resolver *resolver, const void *node, type_id type);
/* Adds an operator to those of the node. */
void resolver_record_operator(struct resolver *resolver, struct resolved_operator applied);
void resolver_note_cast(struct resolver *resolver, type_id source, type_id target, int location);
/* Whether a hint may still be looked for: that goes through all names there are. */
bool resolver_wants_hint(struct resolver *resolver);
/* Whether the catalog may lack what the statement names: an extension's function, say. */
bool resolver_lacks_names(const struct resolver *resolver);
/* Notes that the statement names what the catalog does not have, where that may be there all the same. */
void resolver_note_missing(struct resolver *resolver, const char *what, str_t name);
/* Whether types can be judged: there is a catalog of PostgreSQL's types. */
bool resolver_knows_types(const struct resolver *resolver);
/* Outputs of a SELECT; NULL where the walk did not come by. */
const struct outputs *resolution_outputs(const struct resolution *resolution, const SelectStmt *select);
void resolver_report_type(struct resolver *resolver, enum sql_diagnostic_code code,
			  enum diagnostic_sub_code sub_code, const char *sqlstate, int location,
			  const char *format, ...) __attribute__((format(printf, 6, 7)));
str_t resolver_object_at(struct resolver *resolver, int location);

/* resolve.c */

/* Outputs of a query by itself, for the columns of views; what is wrong with it is not reported.
 * `ret_missing`: the first function, operator or type that the catalog does not have, or absent. */
void resolve_query_outputs(const SelectStmt *select, const struct catalog *catalog, struct arena *arena,
			   struct outputs *ret_outputs, str_t *ret_missing);

/* select.c */
void resolve_select(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		    struct outputs *ret_outputs);
/* The same for a part of a set operation, whose literals take the type of the other part's. */
void resolve_part(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		  struct outputs *ret_outputs);
/* LIMIT and OFFSET. */
void resolve_limits(struct resolver *resolver, struct scope *scope, const SelectStmt *select);

/* level.c */
struct scope *scope_new(struct resolver *resolver, struct scope *parent);
struct scope *level_new(struct resolver *resolver, struct scope *parent, const SelectStmt *select);

/* with.c */
/* WITH RECURSIVE: every query sees every other. Else: each sees those before it. Gives the scope of the main
 * query. */
struct scope *resolve_with(struct resolver *resolver, struct scope *parent, const WithClause *with);
void resolve_cte(struct resolver *resolver, struct cte_entry *entry);
/* The non-recursive arm gives the recursive one its columns. */
void cte_publish_arm(struct resolver *resolver, const SelectStmt *select, const struct outputs *outputs);
/* A RangeVar names the recursive query that it is part of. */
void cte_check_self_reference(struct resolver *resolver, struct cte_entry *entry, const RangeVar *var);
struct cte_entry *cte_lookup(const struct scope *scope, str_t name);

/* set_operation.c */
void resolve_set_operation(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
			   struct outputs *outputs);
void resolve_values(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		    struct outputs *outputs);

/* An item of ORDER BY, GROUP BY or DISTINCT ON. */
struct sort_key {
	const Node *node; /* as written */
	size_t output;	  /* the output that it is, or SIZE_MAX */
	type_id type;
	bool optional; /* of GROUP BY: some of the grouping sets go without it */
};

/* An item of the select list: outputs up to `end`, from where the one before it ends. */
struct level_target {
	const ResTarget *target; /* NULL: `*` */
	struct marks marks;	 /* what it has in it */
	int location;
	size_t end;
};

/* One SELECT level. */
struct level {
	const SelectStmt *select;
	struct scope *scope;
	struct outputs *outputs;
	struct level_target *targets; /* of a set operation: none */
	size_t targets_count;
	size_t targets_capacity;
	struct sort_key *order;
	size_t order_count;
	size_t order_capacity;
	struct sort_key *distinct; /* of DISTINCT ON, not among the outputs */
	size_t distinct_count;
	size_t distinct_capacity;
	struct sort_key *groups; /* of all grouping sets together */
	size_t groups_count;
	size_t groups_capacity;
	struct output_finder *finder; /* keys.c's, where there are many outputs */
};

/* level.c. Where the output comes from; of a set operation: NULL. */
const struct level_target *level_target(const struct level *level, size_t output);

/* keys.c: ORDER BY, GROUP BY, DISTINCT. */
void resolve_order(struct resolver *resolver, struct level *level);
void resolve_groups(struct resolver *resolver, struct level *level);
void resolve_distinct(struct resolver *resolver, struct level *level);
/* Whether a value of the type can be compared for equality, or ordered. */
enum certainty type_has_equality(const struct catalog *catalog, type_id type);
enum certainty type_has_order(const struct catalog *catalog, type_id type);
/* Reports a key whose type cannot be ordered, or compared for equality. */
void resolve_check_key(struct resolver *resolver, const Node *key, type_id type, bool ordered);

/* windows.c: OVER, WINDOW. */
void resolve_over(struct resolver *resolver, struct scope *scope, const WindowDef *window);
void resolve_windows(struct resolver *resolver, struct level *level);

/* grouping.c: columns that are neither grouped nor aggregated. */
void resolve_check_grouping(struct resolver *resolver, const struct level *level);

/* Lists up to this length are searched one by one. */
#define RESOLVE_SHORT_LIST 16

/* locking.c: FOR UPDATE and the like. */
void resolve_check_locking(struct resolver *resolver, const SelectStmt *select);

/* places.c */
void place_check_aggregate(struct resolver *resolver, struct scope *scope, const struct marks *arguments,
			   const char *name, int location, unsigned *ret_level);
void place_check_window(struct resolver *resolver, struct scope *scope, const char *name, int location);
void place_check_set(struct resolver *resolver, struct scope *scope, const char *name, int location,
		     bool nested);
const char *place_name(enum place place);

/* from.c */
void resolve_from(struct resolver *resolver, struct scope *scope, const List *from);
void resolve_from_item(struct resolver *resolver, struct scope *scope, const Node *node,
		       struct namespace *names);

/* from_function.c */
void resolve_from_function(struct resolver *resolver, struct scope *scope, const RangeFunction *range,
			   struct namespace *names);
void resolve_from_table_function(struct resolver *resolver, struct scope *scope, const RangeTableFunc *range,
				 struct namespace *names);

/* from_join.c */
void resolve_from_join(struct resolver *resolver, struct scope *scope, const JoinExpr *join,
		       struct namespace *names);

/* columns.c */
void outputs_add(struct resolver *resolver, struct outputs *outputs, struct range_column column);
/* So many more columns, to be filled in; NULL: there is no room for them. */
struct range_column *outputs_extend(struct resolver *resolver, struct outputs *outputs, size_t count);
/* Puts the aliases' names on the first columns. */
void outputs_rename(struct outputs *outputs, const List *names);
/* The same for the item `object`; reports names that are too many. */
void outputs_name(struct resolver *resolver, struct outputs *outputs, const List *names, str_t object,
		  int location);
/* A copy whose columns come from nowhere yet; at most the budget. */
struct outputs outputs_copy(struct resolver *resolver, const struct outputs *from);
/* Gives the item its columns under its aliases. The columns belong to the item then. */
void item_adopt_columns(struct resolver *resolver, struct range_item *item, struct outputs *outputs,
			const Alias *alias);
/* Columns of `*` over the namespace, or of one item, in PostgreSQL's order. */
void outputs_expand_star(struct resolver *resolver, const struct namespace *namespace,
			 struct outputs *outputs);
void outputs_expand_item(struct resolver *resolver, const struct range_item *item, struct outputs *outputs);
/* The same as the columns of a join, which its alias is on. */
void item_expand_join(struct resolver *resolver, const struct namespace *namespace, struct range_item *item,
		      const Alias *alias);

/* expression.c: each gives the type of the value. */
type_id resolve_expression(struct resolver *resolver, struct scope *scope, const Node *node);
void resolve_list(struct resolver *resolver, struct scope *scope, const List *list);
/* An expression in a place of its own; what it has goes to `ret_marks` (or NULL). */
type_id resolve_in_place(struct resolver *resolver, struct scope *scope, const Node *node, enum place place,
			 struct marks *ret_marks);
/* A condition; `what` names it to a person: "WHERE". */
void resolve_condition(struct resolver *resolver, struct scope *scope, const Node *node, enum place place,
		       const char *what);

/* type_modifiers.c: numeric(10, 2) */
void type_check_modifiers(struct resolver *resolver, const TypeName *name, const struct catalog_type *type);

/* with_search.c: SEARCH and CYCLE of a query of WITH. */
type_id resolve_cycle_mark(struct resolver *resolver, struct scope *scope, const CommonTableExpr *cte);
/* Checks the clauses and adds their columns to those of the query. */
void cte_add_search_columns(struct resolver *resolver, const CommonTableExpr *cte, bool is_recursive,
			    type_id mark, struct outputs *outputs);

/* collation.c */
type_id resolve_collate(struct resolver *resolver, struct scope *scope, const CollateClause *clause);

/* output_names.c: the name that PostgreSQL gives to an unnamed output; subqueries in it take theirs from the
 * resolution, which may be NULL. */
str_t expression_name(const struct resolution *resolution, const Node *node);

/* operators.c */
type_id resolve_operator_expression(struct resolver *resolver, struct scope *scope, const A_Expr *expr);
type_id resolve_sublink(struct resolver *resolver, struct scope *scope, const SubLink *link);
/* An expression that is resolved. */
struct operand {
	const Node *node;
	type_id type;
};
/* Applies an operator; `node` keeps it. `left` NULL: prefix. Gives the type of its value. */
type_id resolve_apply_operator(struct resolver *resolver, const Node *node, str_t schema, str_t name,
			       const struct operand *left, struct operand right, int location);

/* functions.c */
void marks_merge(struct marks *marks, const struct marks *more);
type_id resolve_function(struct resolver *resolver, struct scope *scope, const FuncCall *call);

/* aggregates.c */
/* Whether PostgreSQL has an aggregate of that name, for statements without a catalog. */
bool resolve_is_aggregate_name(str_t name);
/* Whether the SELECT groups its rows, with or without GROUP BY. */
bool resolution_is_aggregated(const struct resolution *resolution, const SelectStmt *select);

/* selection.c: subscripts and fields. */
/* Attribute notation: what `x.f` calls where f is no column of x, a value of the type. */
enum overload_result resolve_call_by_attribute(struct resolver *resolver, type_id type, str_t field,
					       const struct catalog_function **ret_function,
					       type_id *ret_value);
type_id resolve_selection(struct resolver *resolver, struct scope *scope, const A_Indirection *selection);

/* types.c */
/* Whether `database` (or NULL), which stands in front of a schema, is surely another one than that at hand;
 * this is reported. */
bool resolver_names_other_database(struct resolver *resolver, const char *database, int location);
/* The same for a list of names, the last `parts` of which are schema and object (and column). */
bool resolver_list_names_other_database(struct resolver *resolver, const List *names, int parts,
					int location);

/* SQLSTATE of a name that is not found: that of its schema, if this is what is missing. */
const char *resolver_missing_sqlstate(const struct resolver *resolver, str_t schema, const char *otherwise);

/* Broad kind of a type; of an expression's value: OTHER where it is not sure. */
enum type_category type_category_of(const struct catalog *catalog, type_id type);
enum type_category expression_category(const struct resolution *resolution, const Node *node);

type_id resolve_type_name(struct resolver *resolver, const TypeName *name);
/* A value in a place that wants a type: notes the cast, reports a literal that is no such value. SURELY_NOT:
 * it cannot be converted, which is the caller's to report. */
enum certainty resolver_coerce_value(struct resolver *resolver, const Node *node, type_id type,
				     type_id target, enum cast_context context);
/* The same, reported as "argument of %s must be type %s". */
void resolver_coerce_or_report(struct resolver *resolver, const Node *node, type_id type, type_id target,
			       const char *what);
/* Type that the values have in common, for CASE and the like (`what`); reports that there is none. */
type_id resolver_common_type(struct resolver *resolver, const Node *const *nodes, const type_id *types,
			     size_t count, const char *what, int location);
int resolver_node_location(struct resolver *resolver, const Node *node);

/* names.c */
type_id resolve_column_ref(struct resolver *resolver, struct scope *scope, const ColumnRef *column);
