#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/equal.h"

#include "common/hash.h"

#include <math.h>

/* Expressions that may be equal (equal.c) have the same value, unless one is `open`: a part of it may be
 * equal to anything. */
struct expression_hash {
	uint64_t value;
	bool open;
};

static struct expression_hash hash_as_written(struct resolver *resolver, const Node *node);

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return mix(hash, text ? hash_seeded(text, strlen(text)) : 0);
}

static uint64_t mix_number(uint64_t hash, double number)
{
	uint64_t bits;
	number += 0.0; /* −0 is 0 */
	memcpy(&bits, &number, sizeof bits);
	return mix(hash, bits);
}

uint64_t base_column_hash(struct base_column base)
{
	return mix(mix(T_ColumnRef, (uint64_t)(uintptr_t)base.item), base.column);
}

static void add_part(struct resolver *resolver, struct expression_hash *hash, const Node *part)
{
	if (!part) {
		hash->value = mix(hash->value, 0);
		return;
	}
	struct expression_hash own = hash_as_written(resolver, expression_without_casts(resolver, part));
	hash->value = mix(hash->value, own.value);
	hash->open |= own.open;
}

static void add_list(struct resolver *resolver, struct expression_hash *hash, const List *list)
{
	const ListCell *cell;
	hash->value = mix(hash->value, (uint64_t)list_length(list));
	foreach(cell, list) add_part(resolver, hash, lfirst(cell));
}

static struct expression_hash hash_column(const struct resolver *resolver, const ColumnRef *node)
{
	const struct resolved_column *column = resolution_column(resolver->resolution, node);
	if (!column)
		return (struct expression_hash){ .open = true };
	uint64_t hash = mix(T_ColumnRef, (uint64_t)column->kind + 1);
	switch (column->kind) {
	case COLUMN_WHOLE_ROW:
	case COLUMN_STAR:
		hash = mix(mix(T_ColumnRef, COLUMN_STAR), (uint64_t)(uintptr_t)column->item);
		break;
	case COLUMN_OUTPUT:
		hash = mix(hash, column->column);
		break;
	case COLUMN_SYSTEM:
		hash = mix_text(mix(hash, (uint64_t)(uintptr_t)column->item), names_last(node->fields));
		break;
	default:
		break;
	}
	return (struct expression_hash){ hash, false };
}

static uint64_t hash_constant(const A_Const *constant)
{
	uint64_t hash = mix(T_A_Const, constant->isnull);
	double number = expression_constant_number(constant);
	if (constant->isnull)
		return hash;
	if (!isnan(number))
		return mix_number(hash, number);
	hash = mix(hash, nodeTag(&constant->val));
	switch (nodeTag(&constant->val)) {
	case T_Boolean:
		return mix(hash, constant->val.boolval.boolval);
	case T_Float:
		return mix_text(hash, constant->val.fval.fval);
	case T_String:
		return mix_text(hash, constant->val.sval.sval);
	default:
		return hash;
	}
}

static void add_window(struct resolver *resolver, struct expression_hash *hash, const WindowDef *window)
{
	hash->value = mix(hash->value, window != NULL);
	if (!window)
		return;
	hash->open |= window->name || window->refname;
	add_list(resolver, hash, window->partitionClause);
	add_list(resolver, hash, window->orderClause);
	hash->value = mix(hash->value, (uint64_t)window->frameOptions);
}

static void add_call(struct resolver *resolver, struct expression_hash *hash, const FuncCall *call)
{
	hash->value = mix_text(hash->value, names_last(call->funcname));
	hash->value = mix(hash->value, (call->agg_star ? 2u : 0u) + call->agg_distinct);
	add_list(resolver, hash, call->args);
	add_list(resolver, hash, call->agg_order);
	add_part(resolver, hash, call->agg_filter);
	add_window(resolver, hash, call->over);
}

static void add_operation(struct resolver *resolver, struct expression_hash *hash, const A_Expr *expr)
{
	hash->value = mix_text(mix(hash->value, expr->kind), names_last(expr->name));
	add_part(resolver, hash, expr->lexpr);
	add_part(resolver, hash, expr->rexpr);
}

/* A cast, or the call of its type's name. */
static struct expression_hash hash_cast(struct resolver *resolver, const Node *node, const Node *operand)
{
	type_id type = resolution_type(resolver->resolution, node);
	struct expression_hash hash = { mix(mix(0, T_TypeCast), type), type == TYPE_UNSURE };
	add_part(resolver, &hash, operand);
	return hash;
}

/* The same parts as equal.c looks at. */
static struct expression_hash hash_parts(struct resolver *resolver, const Node *node)
{
	const Node *operand = expression_cast_operand(resolver, node);
	if (operand)
		return hash_cast(resolver, node, operand);
	struct expression_hash hash = { mix(0, nodeTag(node)), expression_is_open(resolver, node) };
	switch (nodeTag(node)) {
	case T_FuncCall:
		add_call(resolver, &hash, (const FuncCall *)node);
		break;
	case T_A_Expr:
		add_operation(resolver, &hash, (const A_Expr *)node);
		break;
	case T_BoolExpr:
		hash.value = mix(hash.value, ((const BoolExpr *)node)->boolop);
		add_list(resolver, &hash, ((const BoolExpr *)node)->args);
		break;
	case T_CaseExpr:
		add_part(resolver, &hash, (const Node *)((const CaseExpr *)node)->arg);
		add_list(resolver, &hash, ((const CaseExpr *)node)->args);
		add_part(resolver, &hash, (const Node *)((const CaseExpr *)node)->defresult);
		break;
	case T_CaseWhen:
		add_part(resolver, &hash, (const Node *)((const CaseWhen *)node)->expr);
		add_part(resolver, &hash, (const Node *)((const CaseWhen *)node)->result);
		break;
	case T_CoalesceExpr:
		add_list(resolver, &hash, ((const CoalesceExpr *)node)->args);
		break;
	case T_MinMaxExpr:
		hash.value = mix(hash.value, ((const MinMaxExpr *)node)->op);
		add_list(resolver, &hash, ((const MinMaxExpr *)node)->args);
		break;
	case T_RowExpr:
		add_list(resolver, &hash, ((const RowExpr *)node)->args);
		break;
	case T_List:
		add_list(resolver, &hash, (const List *)node);
		break;
	case T_SortBy:
		add_part(resolver, &hash, ((const SortBy *)node)->node);
		break;
	case T_SQLValueFunction:
		hash.value = mix(hash.value, ((const SQLValueFunction *)node)->op);
		break;
	case T_NullTest:
		hash.value = mix(hash.value, ((const NullTest *)node)->nulltesttype);
		add_part(resolver, &hash, (const Node *)((const NullTest *)node)->arg);
		break;
	case T_A_Indirection:
		add_part(resolver, &hash, ((const A_Indirection *)node)->arg);
		add_list(resolver, &hash, ((const A_Indirection *)node)->indirection);
		break;
	case T_String:
		hash.value = mix_text(hash.value, NODE_STRING(node));
		break;
	case T_A_Indices:
		hash.value = mix(hash.value, ((const A_Indices *)node)->is_slice);
		add_part(resolver, &hash, ((const A_Indices *)node)->lidx);
		add_part(resolver, &hash, ((const A_Indices *)node)->uidx);
		break;
	default:
		break;
	}
	return hash;
}

/* Of the node with the conversions that are written around it; those within do not count. */
static struct expression_hash hash_as_written(struct resolver *resolver, const Node *node)
{
	struct base_column column;
	if (expression_is_column(resolver, node, &column))
		return (struct expression_hash){ base_column_hash(column), false };
	if (IsA(node, ColumnRef))
		return hash_column(resolver, (const ColumnRef *)node);
	if (IsA(node, A_Const))
		return (struct expression_hash){ hash_constant((const A_Const *)node), false };
	const struct expression_hash *known = node_map_get(resolver->hashes, node);
	if (known)
		return *known;
	if (!resolver_enter(resolver))
		return (struct expression_hash){ .open = true };
	struct expression_hash *hash = ARENA_NEW(resolver->arena, struct expression_hash);
	*hash = hash_parts(resolver, node);
	resolver_leave(resolver);
	if (!resolver->hashes)
		resolver->hashes = node_map_new(resolver->arena);
	node_map_set(resolver->hashes, node, hash);
	return *hash;
}

bool expression_surely_differs(struct resolver *resolver, const Node *a, const Node *b)
{
	struct expression_hash one = hash_as_written(resolver, a), other = hash_as_written(resolver, b);
	return one.value != other.value && !one.open && !other.open;
}

struct index_slot {
	uint64_t hash;
	size_t place; /* from 1; 0: free */
};

struct expression_index {
	struct resolver *resolver;
	struct index_slot *slots;
	size_t capacity; /* a power of two, above twice the number of places */
	size_t *open;	 /* places that may be equal to anything */
	size_t open_count;
	size_t places;
};

struct expression_index *expression_index_new(struct resolver *resolver, size_t places)
{
	struct expression_index *index = ARENA_NEW(resolver->arena, struct expression_index);
	*index = (struct expression_index){ .resolver = resolver, .capacity = 64, .places = places };
	while (index->capacity <= 2 * places)
		index->capacity *= 2;
	index->slots = ARENA_ARRAY(resolver->arena, struct index_slot, index->capacity);
	index->open = ARENA_ARRAY(resolver->arena, size_t, places);
	return index;
}

static size_t step(const struct expression_index *index, size_t at)
{
	return (at + 1) & (index->capacity - 1);
}

void expression_index_add_hash(struct expression_index *index, uint64_t hash, size_t place)
{
	size_t at = hash & (index->capacity - 1);
	while (index->slots[at].place && index->slots[at].hash != hash)
		at = step(index, at);
	/* Those of one hash are equal as a rule, and then the first one stands for all. */
	if (!index->slots[at].place)
		index->slots[at] = (struct index_slot){ hash, place + 1 };
}

void expression_index_add(struct expression_index *index, const Node *node, bool whole, size_t place)
{
	const Node *root = whole ? expression_output_without_casts(index->resolver, node)
				 : expression_without_casts(index->resolver, node);
	struct expression_hash hash = hash_as_written(index->resolver, root);
	if (hash.open)
		index->open[index->open_count++] = place;
	else
		expression_index_add_hash(index, hash.value, place);
}

size_t expression_index_find_hash(const struct expression_index *index, uint64_t hash)
{
	size_t at = hash & (index->capacity - 1);
	while (index->slots[at].place && index->slots[at].hash != hash)
		at = step(index, at);
	return index->slots[at].place ? index->slots[at].place - 1 : SIZE_MAX;
}

size_t expression_index_find(const struct expression_index *index, const Node *node, bool whole,
			     bool (*matches)(const void *context, size_t place, const Node *node),
			     const void *context)
{
	const Node *root = whole ? expression_output_without_casts(index->resolver, node)
				 : expression_without_casts(index->resolver, node);
	struct expression_hash hash = hash_as_written(index->resolver, root);
	if (hash.open) {
		for (size_t place = 0; place < index->places; place++)
			if (matches(context, place, node))
				return place;
		return SIZE_MAX;
	}
	size_t found = expression_index_find_hash(index, hash.value);
	if (found != SIZE_MAX && !matches(context, found, node))
		found = SIZE_MAX;
	for (size_t i = 0; i < index->open_count && index->open[i] < found; i++)
		if (matches(context, index->open[i], node))
			return index->open[i];
	return found;
}
