#include "sql/mongodb/check.h"
#include "sql/mongodb/operators.h"

#include <ctype.h>

#define MAX_IN	   10000
#define MAX_GROUPS 64

/* --- patterns --- */

/* Behind a quantifier at `at`; `ret_open`: it has no upper bound. 0: there is none. */
static size_t quantifier(str_t pattern, size_t at, bool *ret_open)
{
	char byte = at < pattern.len ? pattern.ptr[at] : '\0';
	*ret_open = byte == '*' || byte == '+';
	if (*ret_open || byte == '?')
		return 1;
	size_t end = at + 1;
	if (byte != '{' || end >= pattern.len || !isdigit((unsigned char)pattern.ptr[end]))
		return 0;
	while (end < pattern.len && (isdigit((unsigned char)pattern.ptr[end]) || pattern.ptr[end] == ','))
		end++;
	if (end >= pattern.len || pattern.ptr[end] != '}')
		return 0;
	*ret_open = pattern.ptr[end - 1] == ',';
	return end + 1 - at;
}

static size_t behind_class(str_t pattern, size_t at)
{
	size_t end = at + 1;
	if (end < pattern.len && pattern.ptr[end] == '^')
		end++;
	if (end < pattern.len && pattern.ptr[end] == ']')
		end++;
	while (end < pattern.len && pattern.ptr[end] != ']')
		end += pattern.ptr[end] == '\\' ? 2 : 1;
	return end + 1;
}

/* What stands within a group, as far as it was read. */
struct mongodb_group {
	bool open;	/* something in this branch has no upper bound … */
	bool certain;	/* … and something has to be there besides, that parts one round from the next */
	bool explosive; /* a branch is open, and nothing in it is certain */
};

static void end_branch(struct mongodb_group *group)
{
	group->explosive |= group->open && !group->certain;
	group->open = group->certain = false;
}

/* Whether something without a bound stands within a group that is repeated without one, and nothing parts its
 * rounds: the ways to match a text are then more than its bytes can be counted. */
static bool is_explosive(str_t pattern)
{
	struct mongodb_group groups[MAX_GROUPS] = { { false } };
	size_t depth = 0;
	for (size_t at = 0; at < pattern.len;) {
		char byte = pattern.ptr[at];
		bool closes = byte == ')' && depth > 0, open = false;
		if (byte == '(') {
			if (++depth == MAX_GROUPS)
				return true;
			groups[depth] = (struct mongodb_group){ false };
			at++;
			continue;
		}
		if (byte == '|') {
			end_branch(&groups[depth]);
			at++;
			continue;
		}
		at = byte == '\\' ? at + 2 : byte == '[' ? behind_class(pattern, at) : at + 1;
		bool repeats_itself = false;
		if (closes) {
			end_branch(&groups[depth]);
			repeats_itself = groups[depth--].explosive;
		}
		size_t taken = quantifier(pattern, at, &open);
		at += taken;
		if (open && repeats_itself)
			return true;
		groups[depth].open |= open || repeats_itself;
		groups[depth].certain |= taken == 0 && !closes && !strchr("^$?:", byte);
	}
	return false;
}

void mongodb_check_pattern(struct mongodb_check *check, str_t pattern, size_t offset)
{
	bool anchored = pattern.len > 0 &&
			(pattern.ptr[0] == '^' || (pattern.len > 1 && memcmp(pattern.ptr, "\\A", 2) == 0));
	if (is_explosive(pattern))
		violations_add(check->violations, VIOLATION_RESOURCE_BOMB, (int64_t)offset,
			       "the pattern repeats what repeats itself without a bound");
	if (memchr(pattern.ptr, '\0', pattern.len))
		violations_add(check->violations, VIOLATION_UNANALYSABLE, (int64_t)offset,
			       "the pattern holds a NUL");
	if (!anchored)
		diagnostics_add(
			check->diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_LEADING_WILDCARD, pattern,
			(int64_t)offset,
			"the pattern matches anywhere in a text, which no index serves; begin it with "
			"^ if it is meant so");
}

/* --- the operators of a field --- */

static void check_elements(struct mongodb_check *check, const struct mongodb_value *operand);

static void check_list(struct mongodb_check *check, const struct mongodb_value *operand)
{
	if (!mongodb_is_array(operand)) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "needs an array");
		return;
	}
	if (operand->count > MAX_IN)
		violations_add(check->violations, VIOLATION_RESOURCE_BOMB, (int64_t)operand->offset,
			       "the list has more than %d values", MAX_IN);
	for (const struct mongodb_value *item = operand->first; item; item = item->next) {
		if (item->kind == MONGODB_REGEX)
			mongodb_check_pattern(check, item->text, item->offset);
		if (str_is(operand->key, "$all") && mongodb_member(item, "$elemMatch"))
			check_elements(check, mongodb_member(item, "$elemMatch"));
		else if (mongodb_has_operators(item))
			mongodb_invalid(check, DIAG_INVALID_USE, item->first,
					"is an operator in a list of values");
	}
}

static void check_field(struct mongodb_check *check, const struct mongodb_value *field);

static void check_regex(struct mongodb_check *check, const struct mongodb_value *operand)
{
	if (operand->kind == MONGODB_REGEX || mongodb_is_text(operand))
		mongodb_check_pattern(check, operand->text, operand->offset);
	else
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "needs a pattern");
}

static void check_elements(struct mongodb_check *check, const struct mongodb_value *operand)
{
	const struct mongodb_operator *known =
		mongodb_has_operators(operand) ? mongodb_operator(operand->first->key) : NULL;
	if (!mongodb_is_document(operand))
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "needs a document");
	else if (known && mongodb_stands_in(known, 'F'))
		check_field(check, operand);
	else
		mongodb_check_filter(check, operand);
}

static void check_field_operator(struct mongodb_check *check, const struct mongodb_value *operand)
{
	str_t name = operand->key;
	const struct mongodb_operator *known = mongodb_operator(name);
	if (!known || !mongodb_stands_in(known, 'F')) {
		if (!known || !known->refused)
			mongodb_unknown_operator(check, operand, 'F', "operator of a field");
		return;
	}
	if (STR_IS_ANY(name, "$in", "$nin", "$all"))
		check_list(check, operand);
	else if (str_is(name, "$regex"))
		check_regex(check, operand);
	else if (str_is(name, "$elemMatch"))
		check_elements(check, operand);
	else if (str_is(name, "$not") && operand->kind != MONGODB_REGEX && !mongodb_has_operators(operand))
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "needs operators or a pattern");
	else if (str_is(name, "$not"))
		check_field(check, operand);
	else if (str_is(name, "$size") && !(mongodb_is_integer(operand) && operand->number >= 0))
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "needs a number of elements");
	else if (str_is(name, "$mod") && !(mongodb_is_array(operand) && operand->count == 2))
		mongodb_invalid(check, DIAG_INVALID_USE, operand, "takes a divisor and a remainder");
	else if (STR_IS_ANY(name, "$gt", "$gte", "$lt", "$lte") && operand->kind == MONGODB_REGEX)
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "cannot order by a pattern");
	else if (STR_IS_ANY(name, "$eq", "$ne", "$gt", "$gte", "$lt", "$lte") &&
		 mongodb_has_operators(operand))
		mongodb_invalid(check, DIAG_INVALID_USE, operand->first,
				"is an operator where a value stands");
}

/* {age: {gt: 3}}: only a document with a field "gt" and no other would be equal to that. */
static void check_dollars(struct mongodb_check *check, const struct mongodb_value *document)
{
	const struct mongodb_value *field = mongodb_is_document(document) ? document->first : NULL;
	while (field && STR_IS_ANY(field->key, "eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists",
				   "regex", "elemMatch"))
		field = field->next;
	if (!field && mongodb_is_document(document) && document->first)
		mongodb_missing_dollar(check, document->first->key, document->first->key_offset,
				       "is the name of a field here");
}

/* What a field is held against. */
static void check_field(struct mongodb_check *check, const struct mongodb_value *field)
{
	if (field->kind == MONGODB_REGEX) {
		mongodb_check_pattern(check, field->text, field->offset);
		return;
	}
	if (!mongodb_has_operators(field)) {
		check_dollars(check, field);
		return;
	}
	for (const struct mongodb_value *operand = field->first; operand; operand = operand->next) {
		if (!mongodb_is_operator(operand))
			mongodb_invalid(check, DIAG_INVALID_USE, operand, "is a field among operators");
		else
			check_field_operator(check, operand);
	}
	if (mongodb_member(field, "$options") && !mongodb_member(field, "$regex"))
		mongodb_invalid(check, DIAG_INVALID_USE, mongodb_member(field, "$options"), "needs $regex");
}

/* --- filters --- */

static void check_branches(struct mongodb_check *check, const struct mongodb_value *operand)
{
	if (!mongodb_is_array(operand) || operand->count == 0) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, operand, "needs an array of conditions");
		return;
	}
	for (const struct mongodb_value *branch = operand->first; branch; branch = branch->next)
		mongodb_check_filter(check, branch);
}

static void check_condition(struct mongodb_check *check, const struct mongodb_value *operand)
{
	const struct mongodb_operator *known = mongodb_operator(operand->key);
	if (!known || !mongodb_stands_in(known, 'Q')) {
		if (!known || !known->refused)
			mongodb_unknown_operator(check, operand, 'Q', "condition");
	} else if (STR_IS_ANY(operand->key, "$and", "$or", "$nor")) {
		check_branches(check, operand);
	} else if (str_is(operand->key, "$expr")) {
		mongodb_check_expression(check, operand);
	}
}

void mongodb_check_filter(struct mongodb_check *check, const struct mongodb_value *filter)
{
	if (!mongodb_is_document(filter)) { /* a string is code to old shells */
		mongodb_invalid(check, DIAG_INVALID_TYPE, filter, "is no document of conditions");
		violations_doubt(check->violations, "a filter is no document");
		return;
	}
	for (const struct mongodb_value *member = filter->first; member; member = member->next) {
		if (mongodb_is_operator(member))
			check_condition(check, member);
		else
			check_field(check, member);
	}
}
