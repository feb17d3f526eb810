#include "sql/catalog/finish.h"

static int compare_relations(const void *left, const void *right)
{
	const struct catalog_relation *a = left, *b = right;
	return finish_compare_names(a->schema, a->name, b->schema, b->name);
}

static int compare_id_lists(const type_id *a, size_t a_count, const type_id *b, size_t b_count)
{
	for (size_t i = 0; i < a_count && i < b_count; i++) {
		if (a[i] != b[i])
			return finish_compare_ids(a[i], b[i]);
	}
	return (a_count > b_count) - (a_count < b_count);
}

static int compare_functions(const void *left, const void *right)
{
	const struct catalog_function *a = left, *b = right;
	int order = finish_compare_names(a->schema, a->name, b->schema, b->name);
	if (order == 0)
		order = (a->arguments > b->arguments) - (a->arguments < b->arguments);
	if (order == 0)
		order = compare_id_lists(a->argument_types, a->arguments, b->argument_types, b->arguments);
	if (order == 0)
		order = str_compare(a->result, b->result);
	return order != 0 ? order : a->volatility - b->volatility;
}

static int compare_operators(const void *left, const void *right)
{
	const struct catalog_operator *a = left, *b = right;
	int order = finish_compare_names(a->schema, a->name, b->schema, b->name);
	if (order == 0)
		order = finish_compare_ids(a->left, b->left);
	return order != 0 ? order : finish_compare_ids(a->right, b->right);
}

static int compare_casts(const void *left, const void *right)
{
	const struct catalog_cast *a = left, *b = right;
	int order = finish_compare_ids(a->source, b->source);
	return order != 0 ? order : finish_compare_ids(a->target, b->target);
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

static const str_t *copy_texts(struct finish *finish, const str_t *texts, size_t count)
{
	if (!texts || count == 0)
		return NULL;
	str_t *copy = ARENA_ARRAY(finish->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_str(finish->arena, texts[i]);
	return copy;
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
	finish_sort(keys, relation->keys_count, sizeof *keys, compare_keys);
	relation->keys = keys;
}

/* Events compare them with their questions: split once here, not for each of those. */
static const struct name_words *words_of_columns(struct finish *finish, const struct catalog_column *columns,
						 size_t count)
{
	struct name_words *words = ARENA_ARRAY(finish->arena, struct name_words, count);
	for (size_t i = 0; i < count; i++)
		words[i] = words_keep(columns[i].name, finish->arena);
	return words;
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
		relation->schema = finish_copy_schema(finish, relation->schema);
		relation->name = arena_str(finish->arena, relation->name);
		relation->definition = arena_str(finish->arena, relation->definition);
		relation->row_type = finish_id(finish, relation->row_type);
		relation->volatility = finish_worst(finish, relation->volatility, draft->uses);
		struct catalog_column *columns =
			finish_copy_columns(finish, relation->columns, relation->columns_count);
		relation->columns = columns;
		relation->words = words_keep(relation->name, finish->arena);
		relation->column_words = words_of_columns(finish, columns, relation->columns_count);
		copy_keys(finish, relation, columns);
	}
	finish_sort(catalog->relations, catalog->relations_count, sizeof *catalog->relations,
		    compare_relations);
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
	function->schema = finish_copy_schema(finish, function->schema);
	function->name = arena_str(finish->arena, function->name);
	function->language = arena_str(finish->arena, function->language);
	function->argument_types =
		finish_ids(finish, finish->arena, function->argument_types, function->arguments);
	function->argument_names = copy_texts(finish, function->argument_names, function->arguments);
	function->outputs = copy_texts(finish, function->outputs, function->outputs_count);
	function->output_types =
		finish_ids(finish, finish->arena, function->output_types, function->outputs_count);
	function->variadic = finish_id(finish, function->variadic);
	function->result_type = finish_id(finish, function->result_type);
	function->volatility = finish_worst(finish, function->volatility, draft->uses);
	if (!catalog_type(finish->catalog, function->result_type))
		function->result = arena_str(finish->arena, function->result);
	catalog_derive_function(finish->catalog, function);
}

static void index_routine(struct finish *finish, const struct catalog_function *function, enum mysql_key kind)
{
	char schema[MYSQL_NAME_BYTES], name[MYSQL_NAME_BYTES];
	catalog_index_overload(finish->catalog, finish->arena, false,
			       catalog_mysql_schema(function->schema, schema),
			       catalog_mysql_key(function->name, kind, name), function);
}

static void index_function(struct finish *finish, const struct catalog_function *function)
{
	if (finish->catalog->dialect != SQL_MYSQL) {
		catalog_index_overload(finish->catalog, finish->arena, false, function->schema,
				       function->name, function);
		return;
	}
	bool is_ascii = catalog_mysql_is_ascii(function->name);
	index_routine(finish, function, MYSQL_KEY_ANY_OF_LENGTH);
	index_routine(finish, function, is_ascii ? MYSQL_KEY_NAME : MYSQL_KEY_FOREIGN_OF_LENGTH);
}

static void copy_functions(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->functions;
	struct catalog *catalog = finish->catalog;
	catalog->functions = ARENA_ARRAY(finish->arena, struct catalog_function, drafts->count);
	catalog->functions_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++)
		copy_function(finish, &catalog->functions[i], drafts->items[i]);
	finish_sort(catalog->functions, catalog->functions_count, sizeof *catalog->functions,
		    compare_functions);
	for (size_t i = 0; i < catalog->functions_count; i++)
		index_function(finish, &catalog->functions[i]);
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
		operator_->schema = finish_copy_schema(finish, operator_->schema);
		operator_->name = arena_str(finish->arena, operator_->name);
		operator_->left = finish_id(finish, operator_->left);
		operator_->right = finish_id(finish, operator_->right);
		operator_->result = finish_id(finish, operator_->result);
	}
	finish_sort(catalog->operators, catalog->operators_count, sizeof *catalog->operators,
		    compare_operators);
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
		catalog->casts[i].source = finish_id(finish, catalog->casts[i].source);
		catalog->casts[i].target = finish_id(finish, catalog->casts[i].target);
	}
	finish_sort(catalog->casts, catalog->casts_count, sizeof *catalog->casts, compare_casts);
	for (size_t i = 0; i < catalog->casts_count; i++)
		catalog_index_cast(catalog, finish->arena, &catalog->casts[i]);
}

static void copy_others(struct finish *finish)
{
	const struct catalog_draft_list *drafts = &finish->builder->others;
	struct catalog *catalog = finish->catalog;
	catalog->knows_collations = finish->builder->knows_collations;
	catalog->knows_others = finish->builder->knows_others;
	catalog->others = ARENA_ARRAY(finish->arena, struct catalog_other, drafts->count);
	catalog->others_count = drafts->count;
	for (size_t i = 0; i < drafts->count; i++) {
		catalog->others[i] = *(const struct catalog_other *)drafts->items[i];
		catalog->others[i].schema = finish_copy_schema(finish, catalog->others[i].schema);
		catalog->others[i].name = arena_str(finish->arena, catalog->others[i].name);
	}
	finish_sort(catalog->others, catalog->others_count, sizeof *catalog->others, catalog_compare_others);
}

static void note_volatile(struct catalog *catalog, struct arena *arena)
{
	size_t operators = 0, casts = 0;
	for (size_t i = 0; i < catalog->types_count; i++)
		catalog->has_volatile_types |=
			catalog->types[i].volatility == 'v' && !catalog->types[i].is_system;
	for (size_t i = 0; i < catalog->operators_count; i++) {
		if (catalog->operators[i].volatility == 'v' && !catalog->operators[i].is_system)
			ARENA_PUSH(arena, catalog->volatile_operators, catalog->volatile_operators_count,
				   operators, &catalog->operators[i]);
	}
	for (size_t i = 0; i < catalog->casts_count; i++) {
		if (catalog->casts[i].volatility == 'v')
			ARENA_PUSH(arena, catalog->volatile_casts, catalog->volatile_casts_count, casts,
				   &catalog->casts[i]);
	}
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
	if (!finish_types(finish))
		return false;
	finish_volatilities(finish);
	if (!copy_relations(finish))
		return false;
	finish_volatilities(finish);
	copy_functions(finish);
	copy_operators(finish);
	copy_casts(finish);
	copy_others(finish);
	finish_sort(catalog->schemas, catalog->schemas_count, sizeof *catalog->schemas, str_compare_items);
	catalog_index_paths(catalog, finish->arena);
	note_volatile(catalog, finish->arena);
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
