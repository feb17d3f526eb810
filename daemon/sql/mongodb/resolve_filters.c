#include "sql/mongodb/resolve.h"

#include "sql/mongodb/check.h"

/* --- literals against types --- */

/* Types whose values may equal the literal, or come before or behind it; 0: nothing is claimed. */
static unsigned types_that_meet(const struct mongodb_value *literal)
{
	switch (literal->kind) {
	case MONGODB_NUMBER:
		return CATALOG_NUMBER;
	case MONGODB_STRING: /* an empty one is often asked for to be safe */
		return literal->text.len > 0 ? CATALOG_STRING : 0;
	case MONGODB_BOOLEAN:
		return CATALOG_BOOL;
	case MONGODB_OBJECT_ID:
		return CATALOG_OBJECT_ID;
	case MONGODB_DATE:
	case MONGODB_NOW:
		return CATALOG_DATE;
	case MONGODB_REGEX:
		return CATALOG_STRING | CATALOG_REGEX;
	case MONGODB_NULL:
	case MONGODB_OTHER:
	case MONGODB_DOCUMENT:
	case MONGODB_ARRAY:
	default:
		return 0;
	}
}

/* What may be compared of a value: its own types, and in a filter those in its arrays; 0: it is not known. */
static unsigned types_compared(const struct mongodb_shape *shape, bool in_filter)
{
	unsigned types = shape->types & ~(unsigned)CATALOG_NULL;
	if (!(types & CATALOG_ARRAY))
		return types & CATALOG_OTHER ? 0 : types;
	if (!in_filter || shape->elements == 0 || (shape->elements & CATALOG_ARRAY))
		return 0;
	types = (types | shape->elements) & ~(unsigned)(CATALOG_ARRAY | CATALOG_NULL);
	return types & CATALOG_OTHER ? 0 : types;
}

/* Of these the one is so often written for the other that a sample is enough to tell. */
static bool is_common_fault(unsigned literal, unsigned types)
{
	static const unsigned mistaken[] = { CATALOG_NUMBER, CATALOG_OBJECT_ID, CATALOG_DATE };
	for (size_t i = 0; i < sizeof mistaken / sizeof *mistaken; i++)
		if ((literal == CATALOG_STRING && !(types & ~mistaken[i])) ||
		    (literal == mistaken[i] && types == CATALOG_STRING))
			return true;
	return false;
}

static bool cannot_meet(const struct mongodb_shape *shape, const struct mongodb_value *literal,
			bool in_filter)
{
	unsigned types = shape->open ? 0 : types_compared(shape, in_filter);
	unsigned meeting = types_that_meet(literal);
	return types != 0 && meeting != 0 && !(types & meeting) &&
	       (shape->only || is_common_fault(meeting, types));
}

static const char *name_of(unsigned types)
{
	if (types != 0 && !(types & ~(unsigned)CATALOG_NUMBER))
		return "numbers";
	switch (types) {
	case CATALOG_STRING:
		return "strings";
	case CATALOG_BOOL:
		return "booleans";
	case CATALOG_OBJECT_ID:
		return "ObjectIds";
	case CATALOG_DATE:
		return "dates";
	default:
		return "values of other types";
	}
}

static const char *remedy_of(const struct mongodb_value *literal, unsigned types)
{
	if (!mongodb_is_text(literal))
		return "";
	if (literal->text.len > 1 && literal->text.ptr[0] == '$')
		return "; a path is read within $expr alone";
	if (types == CATALOG_DATE)
		return "; write ISODate(\"…\")";
	if (types == CATALOG_OBJECT_ID)
		return "; write ObjectId(\"…\")";
	return types & ~(unsigned)CATALOG_NUMBER ? "" : "; leave the quotes out";
}

void mongodb_resolve_comparison(struct mongodb_resolver *resolver, const struct mongodb_shape *shape,
				str_t name, const struct mongodb_value *literal, bool in_filter)
{
	static const char *const kinds[] = {
		[MONGODB_NUMBER] = "a number",	 [MONGODB_STRING] = "a string",
		[MONGODB_BOOLEAN] = "a boolean", [MONGODB_OBJECT_ID] = "an ObjectId",
		[MONGODB_DATE] = "a date",	 [MONGODB_NOW] = "a date",
		[MONGODB_REGEX] = "a pattern"
	};
	if (!cannot_meet(shape, literal, in_filter))
		return;
	unsigned types = types_compared(shape, in_filter);
	diagnostics_add(resolver->diagnostics, DIAG_TYPE_MISMATCH, SUB_NONE, name, (int64_t)literal->offset,
			"\"" STR_FMT "\" holds %s and is compared with %s%s", STR_ARG(name), name_of(types),
			kinds[literal->kind], remedy_of(literal, types));
}

void mongodb_resolve_list(struct mongodb_resolver *resolver, const struct mongodb_shape *shape, str_t name,
			  const struct mongodb_value *list, bool in_filter)
{
	for (const struct mongodb_value *item = list->first; item; item = item->next)
		if (!cannot_meet(shape, item, in_filter))
			return;
	if (list->first)
		mongodb_resolve_comparison(resolver, shape, name, list->first, in_filter);
}

/* Numbers are compared with each other, whatever they are. */
static unsigned with_all_numbers(unsigned types)
{
	return types & CATALOG_NUMBER ? types | CATALOG_NUMBER : types;
}

void mongodb_resolve_pair(struct mongodb_resolver *resolver, const struct mongodb_operand *left,
			  const struct mongodb_operand *right, bool in_filter)
{
	bool open = left->shape->open || right->shape->open;
	unsigned a = open ? 0 : with_all_numbers(types_compared(left->shape, in_filter));
	unsigned b = open ? 0 : with_all_numbers(types_compared(right->shape, in_filter));
	if (a == 0 || b == 0 || (a & b) ||
	    !((left->shape->only && right->shape->only) || is_common_fault(a, b)))
		return;
	diagnostics_add(resolver->diagnostics, DIAG_TYPE_MISMATCH, SUB_NONE, left->name,
			(int64_t)left->offset,
			"\"" STR_FMT "\" holds %s and is compared with \"" STR_FMT "\", which holds %s",
			STR_ARG(left->name), name_of(a), STR_ARG(right->name), name_of(b));
}

/* --- filters --- */

/* A field, and what is asked of it. */
struct mongodb_asked {
	const struct mongodb_shape *shape;
	str_t name;
};

static void resolve_operators(struct mongodb_resolver *resolver, const struct mongodb_asked *field,
			      const struct mongodb_value *operators);

static void resolve_elements(struct mongodb_resolver *resolver, const struct mongodb_asked *field,
			     const struct mongodb_value *operand)
{
	static const char *const of_documents[] = { "$and", "$or", "$nor" };
	bool values =
		mongodb_has_operators(operand) &&
		!str_is_any(operand->first->key, of_documents, sizeof of_documents / sizeof *of_documents);
	if (values)
		resolve_operators(resolver, field, operand);
	else
		mongodb_resolve_filter(resolver, field->shape, operand);
}

static void resolve_all(struct mongodb_resolver *resolver, const struct mongodb_asked *field,
			const struct mongodb_value *list)
{
	for (const struct mongodb_value *item = list->first; item; item = item->next) {
		const struct mongodb_value *elements = mongodb_member(item, "$elemMatch");
		if (elements)
			resolve_elements(resolver, field, elements);
		else
			mongodb_resolve_comparison(resolver, field->shape, field->name, item, true);
	}
}

static void resolve_pattern(struct mongodb_resolver *resolver, const struct mongodb_asked *field,
			    const struct mongodb_value *operand)
{
	const struct mongodb_value pattern = { .kind = MONGODB_REGEX, .offset = operand->offset };
	mongodb_resolve_comparison(resolver, field->shape, field->name, &pattern, true);
}

static void resolve_operator(struct mongodb_resolver *resolver, const struct mongodb_asked *field,
			     const struct mongodb_value *operand)
{
	str_t name = operand->key;
	if (STR_IS_ANY(name, "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"))
		mongodb_resolve_comparison(resolver, field->shape, field->name, operand, true);
	else if (str_is(name, "$regex"))
		resolve_pattern(resolver, field, operand);
	else if (STR_IS_ANY(name, "$in", "$nin"))
		mongodb_resolve_list(resolver, field->shape, field->name, operand, true);
	else if (str_is(name, "$all"))
		resolve_all(resolver, field, operand);
	else if (str_is(name, "$elemMatch"))
		resolve_elements(resolver, field, operand);
	else if (str_is(name, "$not") && mongodb_has_operators(operand))
		resolve_operators(resolver, field, operand);
}

static void resolve_operators(struct mongodb_resolver *resolver, const struct mongodb_asked *field,
			      const struct mongodb_value *operators)
{
	for (const struct mongodb_value *operand = operators->first; operand; operand = operand->next)
		resolve_operator(resolver, field, operand);
}

/* null, {$eq: null}, {$exists: …} */
static bool asks_for_absence(const struct mongodb_value *field)
{
	const struct mongodb_value *operand = mongodb_has_operators(field) ? field->first : NULL;
	if (operand && operand->next)
		return false;
	return (operand ? operand : field)->kind == MONGODB_NULL ||
	       (operand && str_is(operand->key, "$exists"));
}

static void resolve_field(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			  const struct mongodb_value *field)
{
	const struct mongodb_asked asked = {
		.shape = mongodb_resolve_path(resolver, documents, field->key, field->key_offset, NULL),
		.name = field->key,
	};
	if (mongodb_has_operators(field))
		resolve_operators(resolver, &asked, field);
	else
		mongodb_resolve_comparison(resolver, asked.shape, asked.name, field, true);
}

static bool has_branches(const struct mongodb_value *condition)
{
	return STR_IS_ANY(condition->key, "$and", "$or", "$nor");
}

/* {$or: [{gone: false}, {gone: {$exists: false}}]}: the one branch tells that the other's field may be
 * missing. */
static void note_absences(struct mongodb_resolver *resolver, const struct mongodb_value *filter)
{
	const struct mongodb_value *member = mongodb_is_document(filter) ? filter->first : NULL;
	for (; member; member = member->next) {
		const struct mongodb_value *branch =
			mongodb_is_operator(member) && has_branches(member) ? member->first : NULL;
		if (!mongodb_is_operator(member) && asks_for_absence(member))
			(void)hash_map_set(&resolver->absences, member->key, &resolver->absences);
		for (; branch; branch = branch->next)
			note_absences(resolver, branch);
	}
}

static void resolve_members(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			    const struct mongodb_value *filter);

static void resolve_condition(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			      const struct mongodb_value *condition)
{
	if (str_is(condition->key, "$expr"))
		(void)mongodb_resolve_expression(resolver, condition);
	if (!has_branches(condition))
		return;
	for (const struct mongodb_value *branch = condition->first; branch; branch = branch->next)
		resolve_members(resolver, documents, branch);
}

static void resolve_members(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			    const struct mongodb_value *filter)
{
	const struct mongodb_value *member = mongodb_is_document(filter) ? filter->first : NULL;
	for (; member; member = member->next) {
		if (mongodb_is_operator(member))
			resolve_condition(resolver, documents, member);
		else
			resolve_field(resolver, documents, member);
	}
}

void mongodb_resolve_filter(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			    const struct mongodb_value *filter)
{
	note_absences(resolver, filter);
	resolve_members(resolver, documents, filter);
}
