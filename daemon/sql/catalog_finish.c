#include "sql/catalog_internal.h"

/* One finishing: from drafts in the builder's scratch memory to arrays in the catalog's. */
struct finish {
	struct catalog_builder *builder;
	struct catalog *catalog;
	struct arena *arena;
	struct err_detail *detail;
	struct id_pair *ids; /* in order of `from` */
	size_t ids_count;
	const struct type_list *type_uses; /* of the catalog's types */
	unsigned char *type_states;
	str_t last_schema; /* texts of schemas are shared */
};

struct id_pair {
	type_id from;
	type_id to;
};

static int compare_str(str_t a, str_t b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter > 0 ? memcmp(a.ptr, b.ptr, shorter) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_names(str_t schema_a, str_t a, str_t schema_b, str_t b)
{
	int order = compare_str(schema_a, schema_b);
	return order != 0 ? order : compare_str(a, b);
}

static int compare_ids(type_id a, type_id b)
{
	return (a > b) - (a < b);
}

static int compare_pairs(const void *left, const void *right)
{
	const struct id_pair *a = left, *b = right;
	return compare_ids(a->from, b->from);
}

/* Which ids a type's own stands among: PostgreSQL's constants, those of its initialisation, the users'. */
static int id_class(type_id id)
{
	return (id >= TYPE_ID_INITIAL) + (id >= TYPE_ID_USER);
}

static int compare_type_drafts(const void *left, const void *right)
{
	const struct catalog_type *a = &(*(struct type_draft *const *)left)->type;
	const struct catalog_type *b = &(*(struct type_draft *const *)right)->type;
	int order = id_class(a->id) - id_class(b->id);
	if (order != 0)
		return order;
	return id_class(a->id) == 0 ? compare_ids(a->id, b->id)
				    : compare_names(a->schema, a->name, b->schema, b->name);
}

static int compare_relations(const void *left, const void *right)
{
	const struct catalog_relation *a = left, *b = right;
	return compare_names(a->schema, a->name, b->schema, b->name);
}

static int compare_id_lists(const type_id *a, size_t a_count, const type_id *b, size_t b_count)
{
	for (size_t i = 0; i < a_count && i < b_count; i++) {
		if (a[i] != b[i])
			return compare_ids(a[i], b[i]);
	}
	return (a_count > b_count) - (a_count < b_count);
}

static int compare_functions(const void *left, const void *right)
{
	const struct catalog_function *a = left, *b = right;
	int order = compare_names(a->schema, a->name, b->schema, b->name);
	if (order == 0)
		order = (a->arguments > b->arguments) - (a->arguments < b->arguments);
	if (order == 0)
		order = compare_id_lists(a->argument_types, a->arguments, b->argument_types, b->arguments);
	if (order == 0)
		order = compare_str(a->result, b->result);
	return order != 0 ? order : a->volatility - b->volatility;
}

static int compare_operators(const void *left, const void *right)
{
	const struct catalog_operator *a = left, *b = right;
	int order = compare_names(a->schema, a->name, b->schema, b->name);
	if (order == 0)
		order = compare_ids(a->left, b->left);
	return order != 0 ? order : compare_ids(a->right, b->right);
}

static int compare_casts(const void *left, const void *right)
{
	const struct catalog_cast *a = left, *b = right;
	int order = compare_ids(a->source, b->source);
	return order != 0 ? order : compare_ids(a->target, b->target);
}

static int compare_keys(const void *left, const void *right)
{
	const struct catalog_key *a = left, *b = right;
	if (a->is_primary != b->is_primary)
		return b->is_primary - a->is_primary;
	int order = compare_id_lists(a->columns, a->columns_count, b->columns, b->columns_count);
	if (order == 0)
		order = b->is_immediate - a->is_immediate;
	return order != 0 ? order : b->nulls_not_distinct - a->nulls_not_distinct;
}

static int compare_texts(const void *left, const void *right)
{
	return compare_str(*(const str_t *)left, *(const str_t *)right);
}

static void sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	if (count > 1)
		qsort(items, count, size, compare);
}

/* --- ids --- */

static type_id final_id(const struct finish *finish, type_id id)
{
	if (id == TYPE_UNSURE || (finish->catalog->base && id < TYPE_ID_USER))
		return id;
	if (finish->ids_count == 0)
		return TYPE_UNSURE;
	struct id_pair key = { id, 0 };
	const struct id_pair *pair = bsearch(&key, finish->ids, finish->ids_count, sizeof key, compare_pairs);
	return pair ? pair->to : TYPE_UNSURE;
}

static const type_id *final_ids(const struct finish *finish, struct arena *arena, const type_id *ids,
				size_t count)
{
	if (count == 0)
		return NULL;
	type_id *copy = ARENA_ARRAY(arena, type_id, count);
	for (size_t i = 0; i < count; i++)
		copy[i] = final_id(finish, ids[i]);
	return copy;
}

static bool number_types(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->types;
	type_id next[3] = { 0, TYPE_ID_INITIAL, TYPE_ID_USER };
	finish->ids = ARENA_ARRAY(finish->builder->scratch, struct id_pair, drafts->count);
	finish->ids_count = drafts->count;
	sort(drafts->items, drafts->count, sizeof *drafts->items, compare_type_drafts);
	for (size_t i = 0; i < drafts->count; i++) {
		type_id id = ((const struct type_draft *)drafts->items[i])->type.id;
		int kind = id_class(id);
		finish->ids[i] = (struct id_pair){ id, kind == 0 ? id : next[kind]++ };
	}
	sort(finish->ids, finish->ids_count, sizeof *finish->ids, compare_pairs);
	for (size_t i = 1; i < finish->ids_count; i++) {
		if (finish->ids[i - 1].from == finish->ids[i].from) {
			(void)err_fail(finish->detail, ERR_CATALOG_SYNTAX, "catalog: type %u comes twice",
				       finish->ids[i].from);
			return false;
		}
	}
	return true;
}

/* --- copies --- */

static str_t copy_schema(struct finish *finish, str_t schema)
{
	if (!str_equal(finish->last_schema, schema))
		finish->last_schema = arena_str(finish->arena, schema);
	return finish->last_schema;
}

static const str_t *copy_texts(struct finish *finish, const str_t *texts, size_t count)
{
	if (!texts || count == 0)
		return NULL;
	str_t *copy = ARENA_ARRAY(finish->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_str(finish->arena, texts[i]);
	return copy;
}

static struct catalog_column *copy_columns(struct finish *finish, const struct catalog_column *columns,
					   size_t count)
{
	struct catalog_column *copy = ARENA_ARRAY(finish->arena, struct catalog_column, count);
	for (size_t i = 0; i < count; i++) {
		copy[i] = columns[i];
		copy[i].name = arena_str(finish->arena, columns[i].name);
		copy[i].value_type = final_id(finish, columns[i].value_type);
		catalog_derive_column(finish->catalog, &copy[i]);
		if (copy[i].type.ptr == columns[i].type.ptr)
			copy[i].type = arena_str(finish->arena, columns[i].type);
	}
	return copy;
}

static void copy_type(struct finish *finish, struct catalog_type *type, const struct type_draft *draft)
{
	*type = draft->type;
	type->schema = copy_schema(finish, type->schema);
	type->name = arena_str(finish->arena, type->name);
	type->text = STR_NONE;
	type_id *const references[] = { &type->id,   &type->element, &type->subscript, &type->array,
					&type->base, &type->subtype, &type->range };
	for (size_t i = 0; i < sizeof references / sizeof *references; i++)
		*references[i] = final_id(finish, *references[i]);
	type->relation = NULL;
	type->multirange = TYPE_UNSURE;
}

static bool index_types(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	for (size_t i = 0; i < catalog->types_count; i++) {
		struct catalog_type *type = &catalog->types[i];
		if (!catalog_index_type(catalog, finish->arena, type)) {
			(void)err_fail(finish->detail, ERR_CATALOG_SYNTAX,
				       "catalog: type " STR_FMT "." STR_FMT " comes twice",
				       STR_ARG(type->schema), STR_ARG(type->name));
			return false;
		}
	}
	for (size_t i = 0; i < catalog->types_count; i++) {
		const struct catalog_type *type = &catalog->types[i];
		struct catalog_type *range = catalog_added_type(finish->builder, type->range);
		if (range)
			range->multirange = type->id;
	}
	return true;
}

/* Arrays in a second pass: they are written by their elements. */
static void write_types(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	for (int arrays = 0; arrays < 2; arrays++) {
		for (size_t i = 0; i < catalog->types_count; i++) {
			struct catalog_type *type = &catalog->types[i];
			if ((catalog_array_element(catalog, type) != NULL) == (arrays == 1))
				type->text = catalog_type_write(catalog, type, finish->arena);
		}
	}
}

static void copy_type_columns(struct finish *finish)
{
	for (size_t i = 0; i < finish->catalog->types_count; i++) {
		struct catalog_type *type = &finish->catalog->types[i];
		if (type->columns_count > 0)
			type->columns = copy_columns(finish, type->columns, type->columns_count);
	}
}

static bool copy_types(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->types;
	struct catalog *catalog = finish->catalog;
	struct type_list *uses = ARENA_ARRAY(finish->builder->scratch, struct type_list, drafts->count);
	if (!number_types(finish))
		return false;
	catalog->types = ARENA_ARRAY(finish->arena, struct catalog_type, drafts->count);
	catalog->types_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++) {
		const struct type_draft *draft = drafts->items[i];
		copy_type(finish, &catalog->types[i], draft);
		uses[i] = (struct type_list){ final_ids(finish, finish->builder->scratch, draft->uses.ids,
							draft->uses.count),
					      draft->uses.count };
	}
	finish->type_uses = uses;
	if (!index_types(finish))
		return false;
	write_types(finish);
	copy_type_columns(finish);
	return true;
}

/* --- volatility of types --- */

enum { STATE_NEW, STATE_OPEN, STATE_DONE };

static char settle_volatility(struct finish *finish, type_id id, unsigned depth);

static char worst_of(struct finish *finish, const type_id *ids, size_t count, char volatility, unsigned depth)
{
	for (size_t i = 0; i < count && volatility != 'v'; i++)
		volatility = catalog_worse(volatility, settle_volatility(finish, ids[i], depth));
	return volatility;
}

/* The worst of the type and of all that it is made of. What cannot be followed counts as volatile. */
static char settle_volatility(struct finish *finish, type_id id, unsigned depth)
{
	struct catalog_type *type = catalog_added_type(finish->builder, id);
	if (!type) {
		const struct catalog_type *of_base = catalog_type(finish->catalog, id);
		return of_base ? of_base->volatility : 'i';
	}
	size_t at = (size_t)(type - finish->catalog->types);
	if (finish->type_states[at] == STATE_DONE)
		return type->volatility;
	if (finish->type_states[at] == STATE_OPEN || depth > TYPE_NESTING_MAX)
		return 'v';
	finish->type_states[at] = STATE_OPEN;
	const type_id parts[] = { type->element, type->base, type->subtype, type->range };
	char volatility = worst_of(finish, parts, sizeof parts / sizeof *parts, type->volatility, depth + 1);
	for (size_t i = 0; i < type->columns_count && volatility != 'v'; i++)
		volatility = catalog_worse(volatility,
					   settle_volatility(finish, type->columns[i].value_type, depth + 1));
	volatility = worst_of(finish, finish->type_uses[at].ids, finish->type_uses[at].count, volatility,
			      depth + 1);
	finish->type_states[at] = STATE_DONE;
	return type->volatility = volatility;
}

static void settle_volatilities(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	finish->type_states = arena_calloc(finish->builder->scratch, catalog->types_count, 1);
	for (size_t i = 0; i < catalog->types_count; i++)
		(void)settle_volatility(finish, catalog->types[i].id, 0);
}

static char with_uses(struct finish *finish, char volatility, struct type_list uses)
{
	for (size_t i = 0; i < uses.count; i++) {
		const struct catalog_type *type =
			catalog_type(finish->catalog, final_id(finish, uses.ids[i]));
		if (type)
			volatility = catalog_worse(volatility, type->volatility);
	}
	return volatility;
}

/* --- relations, functions, operators, casts --- */

static void mark_key(struct catalog_column *columns, const struct catalog_key *key)
{
	if (!key->is_primary || !key->is_immediate)
		return;
	for (size_t i = 0; i < key->columns_count; i++)
		columns[key->columns[i]].is_key = true;
}

static void copy_keys(struct finish *finish, struct catalog_relation *relation,
		      struct catalog_column *columns)
{
	struct catalog_key *keys = ARENA_ARRAY(finish->arena, struct catalog_key, relation->keys_count);
	for (size_t i = 0; i < relation->keys_count; i++) {
		keys[i] = relation->keys[i];
		unsigned *indexes = ARENA_ARRAY(finish->arena, unsigned, keys[i].columns_count);
		for (size_t c = 0; c < keys[i].columns_count; c++)
			indexes[c] = keys[i].columns[c];
		keys[i].columns = indexes;
		mark_key(columns, &keys[i]);
	}
	sort(keys, relation->keys_count, sizeof *keys, compare_keys);
	relation->keys = keys;
}

static bool copy_relations(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->relations;
	struct catalog *catalog = finish->catalog;
	catalog->relations = ARENA_ARRAY(finish->arena, struct catalog_relation, drafts->count);
	catalog->relations_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++) {
		const struct relation_draft *draft = drafts->items[i];
		struct catalog_relation *relation = &catalog->relations[i];
		*relation = draft->relation;
		relation->schema = copy_schema(finish, relation->schema);
		relation->name = arena_str(finish->arena, relation->name);
		relation->definition = arena_str(finish->arena, relation->definition);
		relation->row_type = final_id(finish, relation->row_type);
		relation->volatility = with_uses(finish, relation->volatility, draft->uses);
		struct catalog_column *columns =
			copy_columns(finish, relation->columns, relation->columns_count);
		relation->columns = columns;
		copy_keys(finish, relation, columns);
	}
	sort(catalog->relations, catalog->relations_count, sizeof *catalog->relations, compare_relations);
	for (size_t i = 0; i < catalog->relations_count; i++) {
		struct catalog_relation *relation = &catalog->relations[i];
		struct catalog_type *row = catalog_added_type(finish->builder, relation->row_type);
		if (!catalog_index_relation(catalog, finish->arena, relation)) {
			(void)err_fail(finish->detail, ERR_CATALOG_SYNTAX,
				       "catalog: relation " STR_FMT "." STR_FMT " comes twice",
				       STR_ARG(relation->schema), STR_ARG(relation->name));
			return false;
		}
		if (row && row->kind == 'c' && !row->relation) {
			row->relation = relation;
			row->columns = relation->columns;
			row->columns_count = relation->columns_count;
		}
	}
	return true;
}

static void copy_function(struct finish *finish, struct catalog_function *function,
			  const struct function_draft *draft)
{
	*function = draft->function;
	function->schema = copy_schema(finish, function->schema);
	function->name = arena_str(finish->arena, function->name);
	function->language = arena_str(finish->arena, function->language);
	function->argument_types =
		final_ids(finish, finish->arena, function->argument_types, function->arguments);
	function->argument_names = copy_texts(finish, function->argument_names, function->arguments);
	function->outputs = copy_texts(finish, function->outputs, function->outputs_count);
	function->output_types =
		final_ids(finish, finish->arena, function->output_types, function->outputs_count);
	function->variadic = final_id(finish, function->variadic);
	function->result_type = final_id(finish, function->result_type);
	function->volatility = with_uses(finish, function->volatility, draft->uses);
	if (!catalog_type(finish->catalog, function->result_type))
		function->result = arena_str(finish->arena, function->result);
	catalog_derive_function(finish->catalog, function);
}

static void copy_functions(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->functions;
	struct catalog *catalog = finish->catalog;
	catalog->functions = ARENA_ARRAY(finish->arena, struct catalog_function, drafts->count);
	catalog->functions_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++)
		copy_function(finish, &catalog->functions[i], drafts->items[i]);
	sort(catalog->functions, catalog->functions_count, sizeof *catalog->functions, compare_functions);
	for (size_t i = 0; i < catalog->functions_count; i++)
		catalog_index_overload(catalog, finish->arena, false, catalog->functions[i].schema,
				       catalog->functions[i].name, &catalog->functions[i]);
}

static void copy_operators(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->operators;
	struct catalog *catalog = finish->catalog;
	catalog->operators = ARENA_ARRAY(finish->arena, struct catalog_operator, drafts->count);
	catalog->operators_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++) {
		struct catalog_operator *operator_ = &catalog->operators[i];
		*operator_ = *(const struct catalog_operator *)drafts->items[i];
		operator_->schema = copy_schema(finish, operator_->schema);
		operator_->name = arena_str(finish->arena, operator_->name);
		operator_->left = final_id(finish, operator_->left);
		operator_->right = final_id(finish, operator_->right);
		operator_->result = final_id(finish, operator_->result);
	}
	sort(catalog->operators, catalog->operators_count, sizeof *catalog->operators, compare_operators);
	for (size_t i = 0; i < catalog->operators_count; i++)
		catalog_index_overload(catalog, finish->arena, true, catalog->operators[i].schema,
				       catalog->operators[i].name, &catalog->operators[i]);
}

static void copy_casts(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->casts;
	struct catalog *catalog = finish->catalog;
	catalog->casts = ARENA_ARRAY(finish->arena, struct catalog_cast, drafts->count);
	catalog->casts_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++) {
		catalog->casts[i] = *(const struct catalog_cast *)drafts->items[i];
		catalog->casts[i].source = final_id(finish, catalog->casts[i].source);
		catalog->casts[i].target = final_id(finish, catalog->casts[i].target);
	}
	sort(catalog->casts, catalog->casts_count, sizeof *catalog->casts, compare_casts);
	for (size_t i = 0; i < catalog->casts_count; i++)
		catalog_index_cast(catalog, finish->arena, &catalog->casts[i]);
}

static void count_drafts(const struct catalog_builder *builder)
{
	struct catalog *catalog = builder->catalog;
	catalog->relations_count = builder->relations.count;
	catalog->functions_count = builder->functions.count;
	catalog->types_count = builder->types.count;
	catalog->operators_count = builder->operators.count;
	catalog->casts_count = builder->casts.count;
}

/* Row types that come with relations take their columns from these. */
static bool copy_all(struct finish *finish)
{
	struct catalog *catalog = finish->catalog;
	count_drafts(finish->builder);
	catalog_index_reset(catalog, finish->arena);
	if (!copy_types(finish))
		return false;
	settle_volatilities(finish);
	if (!copy_relations(finish))
		return false;
	settle_volatilities(finish);
	copy_functions(finish);
	copy_operators(finish);
	copy_casts(finish);
	sort(catalog->schemas, catalog->schemas_count, sizeof *catalog->schemas, compare_texts);
	catalog_index_paths(catalog, finish->arena);
	return true;
}

err_t catalog_finish(struct catalog_builder *builder, str_t source, struct catalog **ret_catalog,
		     struct err_detail *detail)
{
	struct finish finish = {
		.builder = builder, .catalog = builder->catalog, .arena = builder->arena, .detail = detail
	};
	builder->live = false;
	if (!copy_all(&finish)) {
		catalog_abandon(builder);
		return ERR_CATALOG_SYNTAX;
	}
	catalog_compute_digest(finish.catalog);
	finish.catalog->source = arena_str(finish.arena, source);
	*ret_catalog = TAKE_PTR(builder->catalog);
	catalog_abandon(builder);
	return ERR_OK;
}
