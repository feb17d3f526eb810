#include "sql/mongodb/resolve.h"

#include "sql/mongodb/check.h"

/* What operators, accumulators and functions of windows make: a value of such types or null. */
static const struct {
	const char *names;
	unsigned types;
} made[] = {
	{ "$abs $avg $bsonSize $ceil $cmp $count $covariancePop $covarianceSamp $dateDiff $dayOfMonth "
	  "$dayOfWeek "
	  "$dayOfYear $denseRank $divide $documentNumber $exp $floor $hour $indexOfArray $indexOfBytes "
	  "$indexOfCP $isoDayOfWeek $isoWeek $isoWeekYear $ln $log $log10 $millisecond $minute $mod $month "
	  "$multiply $pow $rank $round $second $size $sqrt $stdDevPop $stdDevSamp $strLenBytes $strLenCP "
	  "$sum "
	  "$toDecimal $toDouble $toInt $toLong $trunc $week $year",
	  CATALOG_NUMBER | CATALOG_NULL },
	{ "$concat $dateToString $ltrim $replaceAll $replaceOne $rtrim $substr $substrBytes $substrCP "
	  "$toLower "
	  "$toString $toUpper $trim $type",
	  CATALOG_STRING | CATALOG_NULL },
	{ "$allElementsTrue $and $anyElementTrue $eq $gt $gte $isArray $isNumber $lt $lte $ne $not $or "
	  "$regexMatch $setEquals $setIsSubset $toBool",
	  CATALOG_BOOL | CATALOG_NULL },
	{ "$dateAdd $dateSubtract $dateTrunc $toDate", CATALOG_DATE | CATALOG_NULL },
	{ "$toObjectId", CATALOG_OBJECT_ID | CATALOG_NULL },
};

typedef struct mongodb_shape *(*operation_fn)(struct mongodb_resolver *, const struct mongodb_value *);

static struct mongodb_shape *value(struct mongodb_resolver *resolver, unsigned types)
{
	return mongodb_shape_value(&resolver->shapes, types);
}

static struct mongodb_shape *either(struct mongodb_resolver *resolver, struct mongodb_shape *a,
				    struct mongodb_shape *b)
{
	return mongodb_shape_either(&resolver->shapes, a, b);
}

/* --- paths --- */

/* What a path through arrays gives is an array of what is there, by none, one or many. */
static struct mongodb_shape *shape_at(struct mongodb_resolver *resolver,
				      const struct mongodb_shape *documents, str_t path, size_t offset)
{
	bool direct;
	struct mongodb_shape *shape = mongodb_resolve_path(resolver, documents, path, offset, &direct);
	return direct ? shape : mongodb_shape_loose(&resolver->shapes, shape);
}

/* "$$name.path" */
static struct mongodb_shape *resolve_variable(struct mongodb_resolver *resolver, str_t path, size_t offset)
{
	str_t name = mongodb_path_part(&path);
	struct mongodb_shape *shape = NULL;
	if (STR_IS_ANY(name, "ROOT", "CURRENT"))
		shape = resolver->root;
	else if (str_is(name, "NOW"))
		shape = value(resolver, CATALOG_DATE);
	for (const struct mongodb_binding *bound = resolver->variables; bound && !shape; bound = bound->outer)
		if (str_equal(bound->name, name))
			shape = bound->shape;
	if (!shape)
		return &resolver->shapes.open;
	shape->owned = false;
	return str_present(path) ? shape_at(resolver, shape, path, offset) : shape;
}

static struct mongodb_shape *resolve_text(struct mongodb_resolver *resolver, const struct mongodb_value *text)
{
	str_t path = text->text;
	if (path.len == 0 || path.ptr[0] != '$')
		return value(resolver, CATALOG_STRING);
	bool variable = path.len > 1 && path.ptr[1] == '$';
	size_t skipped = variable ? 2 : 1;
	path = (str_t){ path.ptr + skipped, path.len - skipped };
	return variable ? resolve_variable(resolver, path, text->offset)
			: shape_at(resolver, resolver->root, path, text->offset);
}

/* --- operators whose operands are fields --- */

/* All operands, or those of them that are named so; what they may be. NULL: there are none. */
static struct mongodb_shape *any_of(struct mongodb_resolver *resolver, const struct mongodb_value *operands,
				    const char *const *names, size_t names_count)
{
	struct mongodb_shape *shape = NULL;
	for (const struct mongodb_value *operand = operands->first; operand; operand = operand->next) {
		struct mongodb_shape *one = mongodb_resolve_expression(resolver, operand);
		bool counts =
			!names || (str_present(operand->key) && str_is_any(operand->key, names, names_count));
		bool removes = mongodb_is_text(operand) && str_is(operand->text, "$$REMOVE");
		if (counts && !removes && operand->kind != MONGODB_NULL)
			shape = either(resolver, shape, one);
	}
	return shape;
}

static struct mongodb_shape *open_if_none(struct mongodb_resolver *resolver, struct mongodb_shape *shape)
{
	return shape ? mongodb_shape_loose(&resolver->shapes, shape) : &resolver->shapes.open;
}

/* $ifNull, $concatArrays, $mergeObjects, $max, … */
static struct mongodb_shape *resolve_any(struct mongodb_resolver *resolver,
					 const struct mongodb_value *operand)
{
	if (mongodb_is_array(operand))
		return open_if_none(resolver, any_of(resolver, operand, NULL, 0));
	return open_if_none(resolver, mongodb_resolve_expression(resolver, operand));
}

/* $arrayElemAt, $slice, …: the first, or the input. */
static struct mongodb_shape *resolve_first(struct mongodb_resolver *resolver,
					   const struct mongodb_value *operand)
{
	static const char *const names[] = { "input" };
	if (mongodb_is_document(operand) && !mongodb_has_operators(operand))
		return open_if_none(resolver, any_of(resolver, operand, names, 1));
	if (!mongodb_is_array(operand))
		return open_if_none(resolver, mongodb_resolve_expression(resolver, operand));
	struct mongodb_shape *first = NULL;
	for (const struct mongodb_value *one = operand->first; one; one = one->next) {
		struct mongodb_shape *shape = mongodb_resolve_expression(resolver, one);
		first = first ? first : shape;
	}
	return open_if_none(resolver, first);
}

static struct mongodb_shape *resolve_cond(struct mongodb_resolver *resolver,
					  const struct mongodb_value *operand)
{
	static const char *const names[] = { "then", "else" };
	if (mongodb_is_document(operand))
		return open_if_none(resolver, any_of(resolver, operand, names, 2));
	const struct mongodb_value *condition = operand->first;
	if (!mongodb_is_array(operand) || !condition)
		return &resolver->shapes.open;
	(void)mongodb_resolve_expression(resolver, condition);
	const struct mongodb_value rest = { .kind = MONGODB_ARRAY, .first = condition->next };
	return open_if_none(resolver, any_of(resolver, &rest, NULL, 0));
}

static struct mongodb_shape *resolve_switch(struct mongodb_resolver *resolver,
					    const struct mongodb_value *operand)
{
	static const char *const names[] = { "then" };
	const struct mongodb_value *branches = mongodb_member(operand, "branches");
	const struct mongodb_value *otherwise = mongodb_member(operand, "default");
	struct mongodb_shape *shape = otherwise ? mongodb_resolve_expression(resolver, otherwise) : NULL;
	for (const struct mongodb_value *branch = branches ? branches->first : NULL; branch;
	     branch = branch->next)
		shape = either(resolver, shape, any_of(resolver, branch, names, 1));
	return open_if_none(resolver, shape);
}

/* --- operators that bind variables --- */

static struct mongodb_shape *resolve_with(struct mongodb_resolver *resolver, const struct mongodb_value *in,
					  str_t name, struct mongodb_shape *shape)
{
	const struct mongodb_binding *outer = resolver->variables;
	struct mongodb_binding *inner = ARENA_NEW(resolver->arena, struct mongodb_binding);
	*inner = (struct mongodb_binding){ name, shape, outer };
	resolver->variables = inner;
	struct mongodb_shape *made_of = mongodb_resolve_expression(resolver, in);
	resolver->variables = outer;
	return made_of;
}

static struct mongodb_shape *resolve_let(struct mongodb_resolver *resolver,
					 const struct mongodb_value *operand)
{
	const struct mongodb_binding *outer = resolver->variables;
	const struct mongodb_value *vars = mongodb_member(operand, "vars");
	const struct mongodb_value *in = mongodb_member(operand, "in");
	if (vars)
		mongodb_resolve_let(resolver, vars);
	struct mongodb_shape *shape = in ? mongodb_resolve_expression(resolver, in) : &resolver->shapes.open;
	resolver->variables = outer;
	return shape;
}

/* The elements of the input are what is called "this", or as it says. */
static struct mongodb_shape *resolve_each(struct mongodb_resolver *resolver,
					  const struct mongodb_value *operand, const char *body,
					  struct mongodb_shape **ret_input)
{
	const struct mongodb_value *input = mongodb_member(operand, "input");
	const struct mongodb_value *in = mongodb_member(operand, body);
	const struct mongodb_value *as = mongodb_member(operand, "as");
	*ret_input = input ? mongodb_resolve_expression(resolver, input) : &resolver->shapes.open;
	struct mongodb_shape *element = mongodb_shape_element(&resolver->shapes, *ret_input);
	return in ? resolve_with(resolver, in, mongodb_is_text(as) ? as->text : STR("this"), element)
		  : &resolver->shapes.open;
}

static struct mongodb_shape *resolve_map(struct mongodb_resolver *resolver,
					 const struct mongodb_value *operand)
{
	struct mongodb_shape *input;
	return mongodb_shape_array(&resolver->shapes, resolve_each(resolver, operand, "in", &input));
}

static struct mongodb_shape *resolve_filter(struct mongodb_resolver *resolver,
					    const struct mongodb_value *operand)
{
	struct mongodb_shape *input;
	(void)resolve_each(resolver, operand, "cond", &input);
	return mongodb_shape_loose(&resolver->shapes, input);
}

static struct mongodb_shape *resolve_reduce(struct mongodb_resolver *resolver,
					    const struct mongodb_value *operand)
{
	const struct mongodb_binding *outer = resolver->variables;
	const struct mongodb_value *initial = mongodb_member(operand, "initialValue");
	struct mongodb_binding *inner = ARENA_NEW(resolver->arena, struct mongodb_binding);
	struct mongodb_shape *input;
	if (initial)
		(void)mongodb_resolve_expression(resolver, initial);
	*inner = (struct mongodb_binding){ STR("value"), &resolver->shapes.open, outer };
	resolver->variables = inner;
	(void)resolve_each(resolver, operand, "in", &input);
	resolver->variables = outer;
	return &resolver->shapes.open;
}

/* --- comparisons --- */

static bool is_literal(const struct mongodb_value *operand)
{
	bool path = mongodb_is_text(operand) && operand->text.len > 0 && operand->text.ptr[0] == '$';
	return !path && operand->kind != MONGODB_DOCUMENT && operand->kind != MONGODB_ARRAY &&
	       operand->kind != MONGODB_REGEX;
}

/* What a person calls an operand: its path, or its operator. */
static str_t name_of(const struct mongodb_value *operand)
{
	if (!mongodb_is_text(operand))
		return mongodb_has_operators(operand) ? operand->first->key : STR("value");
	size_t dollars = operand->text.len > 1 && operand->text.ptr[1] == '$' ? 2 : 1;
	return operand->text.len > dollars
		       ? (str_t){ operand->text.ptr + dollars, operand->text.len - dollars }
		       : STR("value");
}

static struct mongodb_shape *resolve_comparison(struct mongodb_resolver *resolver,
						const struct mongodb_value *operand)
{
	const struct mongodb_value *left = mongodb_is_array(operand) ? operand->first : NULL;
	const struct mongodb_value *right = left ? left->next : NULL;
	if (!right) {
		(void)mongodb_resolve_expression(resolver, operand);
		return value(resolver, CATALOG_BOOL);
	}
	const struct mongodb_shape *left_shape = mongodb_resolve_expression(resolver, left);
	const struct mongodb_shape *right_shape = mongodb_resolve_expression(resolver, right);
	const struct mongodb_operand sides[] = { { left_shape, name_of(left), left->offset },
						 { right_shape, name_of(right), right->offset } };
	if (!is_literal(left) && !is_literal(right))
		mongodb_resolve_pair(resolver, &sides[0], &sides[1], false);
	else if (is_literal(right) && !is_literal(left))
		mongodb_resolve_comparison(resolver, left_shape, name_of(left), right, false);
	else if (is_literal(left) && !is_literal(right))
		mongodb_resolve_comparison(resolver, right_shape, name_of(right), left, false);
	return value(resolver, str_is(operand->key, "$cmp") ? CATALOG_NUMBER : CATALOG_BOOL);
}

/* A list whose items are all literals. */
static bool is_list(const struct mongodb_value *operand)
{
	const struct mongodb_value *item = mongodb_is_array(operand) ? operand->first : NULL;
	while (item && is_literal(item))
		item = item->next;
	return mongodb_is_array(operand) && !item;
}

static struct mongodb_shape *resolve_in(struct mongodb_resolver *resolver,
					const struct mongodb_value *operand)
{
	const struct mongodb_value *left = mongodb_is_array(operand) ? operand->first : NULL;
	const struct mongodb_value *right = left ? left->next : NULL;
	if (!right)
		return value(resolver, CATALOG_BOOL);
	const struct mongodb_shape *shape = mongodb_resolve_expression(resolver, left);
	(void)mongodb_resolve_expression(resolver, right);
	if (is_list(right) && !is_literal(left))
		mongodb_resolve_list(resolver, shape, name_of(left), right, false);
	return value(resolver, CATALOG_BOOL);
}

/* --- all operators --- */

static struct mongodb_shape *resolve_literal(struct mongodb_resolver *resolver,
					     const struct mongodb_value *operand)
{
	(void)operand;
	return &resolver->shapes.open;
}

static const struct {
	const char *names;
	operation_fn resolve;
} operations[] = {
	{ "$literal $const", resolve_literal },
	{ "$eq $ne $gt $gte $lt $lte $cmp", resolve_comparison },
	{ "$in", resolve_in },
	{ "$let", resolve_let },
	{ "$map", resolve_map },
	{ "$filter", resolve_filter },
	{ "$reduce", resolve_reduce },
	{ "$cond", resolve_cond },
	{ "$switch", resolve_switch },
	{ "$ifNull $concatArrays $setUnion $setIntersection $mergeObjects $max $min $first $last",
	  resolve_any },
	{ "$arrayElemAt $slice $reverseArray $sortArray $setDifference $firstN $lastN $maxN $minN",
	  resolve_first },
};

/* Operands in a list, by name, or one alone. */
static void resolve_operands(struct mongodb_resolver *resolver, const struct mongodb_value *operand)
{
	bool several = mongodb_is_array(operand) ||
		       (mongodb_is_document(operand) && !mongodb_has_operators(operand));
	if (several)
		(void)any_of(resolver, operand, NULL, 0);
	else
		(void)mongodb_resolve_expression(resolver, operand);
}

static struct mongodb_shape *what_it_makes(struct mongodb_resolver *resolver, str_t name)
{
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		if (str_is_listed(name, made[i].names))
			return value(resolver, made[i].types);
	return &resolver->shapes.open;
}

static struct mongodb_shape *resolve_operation(struct mongodb_resolver *resolver,
					       const struct mongodb_value *operand)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (str_is_listed(operand->key, operations[i].names))
			return operations[i].resolve(resolver, operand);
	resolve_operands(resolver, operand);
	return what_it_makes(resolver, operand->key);
}

static unsigned types_of(const struct mongodb_value *literal)
{
	switch (literal->kind) {
	case MONGODB_NUMBER:
		return CATALOG_NUMBER;
	case MONGODB_BOOLEAN:
		return CATALOG_BOOL;
	case MONGODB_OBJECT_ID:
		return CATALOG_OBJECT_ID;
	case MONGODB_DATE:
	case MONGODB_NOW:
		return CATALOG_DATE;
	case MONGODB_NULL:
		return CATALOG_NULL;
	case MONGODB_STRING:
	case MONGODB_REGEX:
	case MONGODB_OTHER:
	case MONGODB_DOCUMENT:
	case MONGODB_ARRAY:
	default:
		return 0;
	}
}

static struct mongodb_shape *resolve_document(struct mongodb_resolver *resolver,
					      const struct mongodb_value *document)
{
	struct mongodb_shape *shape = mongodb_shape_on(&resolver->shapes, NULL);
	for (const struct mongodb_value *field = document->first; field; field = field->next)
		mongodb_shape_set(&resolver->shapes, shape, field->key,
				  mongodb_resolve_expression(resolver, field));
	shape->owned = false;
	return shape;
}

struct mongodb_shape *mongodb_resolve_expression(struct mongodb_resolver *resolver,
						 const struct mongodb_value *expression)
{
	if (mongodb_is_text(expression))
		return resolve_text(resolver, expression);
	if (mongodb_is_array(expression)) {
		struct mongodb_shape *element = any_of(resolver, expression, NULL, 0);
		return mongodb_shape_array(&resolver->shapes, element ? element : value(resolver, 0));
	}
	if (!mongodb_is_document(expression))
		return value(resolver, types_of(expression));
	if (!mongodb_has_operators(expression))
		return resolve_document(resolver, expression);
	return resolve_operation(resolver, expression->first);
}

struct mongodb_shape *mongodb_resolve_accumulator(struct mongodb_resolver *resolver,
						  const struct mongodb_value *operand)
{
	static const char *const names[] = { "output" };
	const struct mongodb_value *sort = mongodb_member(operand, "sortBy");
	if (STR_IS_ANY(operand->key, "$push", "$addToSet")) {
		struct mongodb_shape *each = mongodb_resolve_expression(resolver, operand);
		return mongodb_shape_array(&resolver->shapes, each);
	}
	if (!STR_IS_ANY(operand->key, "$top", "$topN", "$bottom", "$bottomN"))
		return resolve_operation(resolver, operand);
	if (sort)
		mongodb_resolve_sort(resolver, resolver->root, sort);
	return open_if_none(resolver, any_of(resolver, operand, names, 1));
}

void mongodb_resolve_let(struct mongodb_resolver *resolver, const struct mongodb_value *let)
{
	const struct mongodb_binding *all = resolver->variables;
	for (const struct mongodb_value *variable = let->first; variable; variable = variable->next) {
		struct mongodb_binding *bound = ARENA_NEW(resolver->arena, struct mongodb_binding);
		const struct mongodb_binding *bound_before = all;
		*bound = (struct mongodb_binding){ variable->key,
						   mongodb_resolve_expression(resolver, variable),
						   bound_before };
		all = bound;
	}
	resolver->variables = all;
}
