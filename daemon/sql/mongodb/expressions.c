#include "sql/mongodb/check.h"
#include "sql/mongodb/operators.h"

#include <math.h>

#define MAX_RANGE 1000000 /* elements that an expression may make */
#define MAX_LET	  128	  /* variables of one $let that are known */

/* How many operands those take that take no other number. */
static const struct {
	const char *name;
	size_t count;
} operand_counts[] = {
	{ "$arrayElemAt", 2 }, { "$atan2", 2 },	     { "$cmp", 2 },	      { "$divide", 2 },
	{ "$eq", 2 },	       { "$gt", 2 },	     { "$gte", 2 },	      { "$in", 2 },
	{ "$log", 2 },	       { "$lt", 2 },	     { "$lte", 2 },	      { "$mod", 2 },
	{ "$ne", 2 },	       { "$pow", 2 },	     { "$setDifference", 2 }, { "$setIsSubset", 2 },
	{ "$split", 2 },       { "$strcasecmp", 2 }, { "$substr", 3 },	      { "$substrBytes", 3 },
	{ "$substrCP", 3 },    { "$subtract", 2 },
};

static bool is_variable(const struct mongodb_check *check, str_t name)
{
	if (STR_IS_ANY(name, "ROOT", "CURRENT", "NOW", "REMOVE", "DESCEND", "PRUNE", "KEEP", "CLUSTER_TIME",
		       "SEARCH_META"))
		return true;
	for (const struct mongodb_variable *known = check->variables; known; known = known->outer)
		if (str_equal(known->name, name))
			return true;
	return false;
}

/* "$$name.path" */
static void check_variable(struct mongodb_check *check, const struct mongodb_value *value)
{
	str_t name = { value->text.ptr + 2, value->text.len - 2 };
	const char *dot = memchr(name.ptr, '.', name.len);
	if (dot)
		name.len = (size_t)(dot - name.ptr);
	if (str_is(name, "USER_ROLES"))
		violations_add(check->violations, VIOLATION_SYSTEM_CATALOG, (int64_t)value->offset,
			       "$$USER_ROLES tells of the role that reads");
	else if (!is_variable(check, name))
		diagnostics_add(check->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, name,
				(int64_t)value->offset, "there is no variable \"$$" STR_FMT "\"",
				STR_ARG(name));
}

/* "$a.b": no part of a path is empty or begins with a dollar. */
static void check_path(struct mongodb_check *check, const struct mongodb_value *value)
{
	str_t text = value->text;
	bool empty = text.len == 1 || text.ptr[text.len - 1] == '.';
	for (size_t i = 1; !empty && i + 1 < text.len; i++)
		empty = (i == 1 && text.ptr[i] == '.') ||
			(text.ptr[i] == '.' && (text.ptr[i + 1] == '.' || text.ptr[i + 1] == '$'));
	if (empty)
		mongodb_invalid(check, DIAG_INVALID_USE, value, "is no path of a field");
}

static void check_text(struct mongodb_check *check, const struct mongodb_value *value)
{
	if (value->text.len == 0 || value->text.ptr[0] != '$')
		return;
	if (value->text.len > 1 && value->text.ptr[1] == '$')
		check_variable(check, value);
	else
		check_path(check, value);
}

void mongodb_check_with(struct mongodb_check *check, const struct mongodb_value *expression,
			const str_t *names, size_t count)
{
	const struct mongodb_variable *outer = check->variables;
	struct mongodb_variable *inner = ARENA_ARRAY(check->arena, struct mongodb_variable, count + 1);
	for (size_t i = 0; i < count; i++) {
		inner[i] = (struct mongodb_variable){ names[i], check->variables };
		check->variables = &inner[i];
	}
	mongodb_check_expression(check, expression);
	check->variables = outer;
}

static void check_member(struct mongodb_check *check, const struct mongodb_value *operand, const char *name)
{
	const struct mongodb_value *member = mongodb_member(operand, name);
	if (member)
		mongodb_check_expression(check, member);
}

/* {vars: {name: …}, in: …} */
static void check_let(struct mongodb_check *check, const struct mongodb_value *operand)
{
	const struct mongodb_value *vars = mongodb_member(operand, "vars");
	const struct mongodb_value *in = mongodb_member(operand, "in");
	str_t names[MAX_LET];
	size_t count = 0;
	if (!mongodb_is_document(vars) || !in) {
		mongodb_invalid(check, DIAG_INVALID_USE, operand, "needs vars and in");
		return;
	}
	for (const struct mongodb_value *variable = vars->first; variable; variable = variable->next) {
		mongodb_check_expression(check, variable);
		if (count < MAX_LET)
			names[count++] = variable->key;
	}
	mongodb_check_with(check, in, names, count);
}

/* {input: …, as: "name", in: …}, of $filter cond instead of in. */
static void check_each(struct mongodb_check *check, const struct mongodb_value *operand, const char *body)
{
	const struct mongodb_value *in = mongodb_member(operand, body);
	const struct mongodb_value *as = mongodb_member(operand, "as");
	str_t name = mongodb_is_text(as) ? as->text : STR("this");
	if (!mongodb_member(operand, "input") || !in) {
		mongodb_invalid(check, DIAG_INVALID_USE, operand, "needs input and what is done with each");
		return;
	}
	check_member(check, operand, "input");
	check_member(check, operand, "limit");
	mongodb_check_with(check, in, &name, 1);
}

/* Whether a value is joined to itself: with each step it would be twice as long. */
static bool doubles(const struct mongodb_value *value)
{
	bool joins = str_present(value->key) && STR_IS_ANY(value->key, "$concat", "$concatArrays");
	size_t times = 0;
	for (const struct mongodb_value *child = value->first; child; child = child->next) {
		times += mongodb_is_text(child) && str_is(child->text, "$$value");
		if (doubles(child))
			return true;
	}
	return joins && times > 1;
}

static void check_reduce(struct mongodb_check *check, const struct mongodb_value *operand)
{
	const struct mongodb_value *in = mongodb_member(operand, "in");
	const str_t names[] = { STR("this"), STR("value") };
	if (!mongodb_member(operand, "input") || !mongodb_member(operand, "initialValue") || !in) {
		mongodb_invalid(check, DIAG_INVALID_USE, operand, "needs input, initialValue and in");
		return;
	}
	check_member(check, operand, "input");
	check_member(check, operand, "initialValue");
	bool outermost = check->reduces++ == 0;
	mongodb_check_with(check, in, names, 2);
	check->reduces--;
	if (outermost && doubles(in))
		violations_add(check->violations, VIOLATION_RESOURCE_BOMB, (int64_t)in->offset,
			       "$reduce doubles a value with each step");
}

/* The number that an expression of constants makes; not a number: it is none of these. */
static double constant(const struct mongodb_value *value)
{
	const struct mongodb_value *operand = mongodb_has_operators(value) ? value->first : NULL;
	if (value->kind == MONGODB_NUMBER)
		return value->number;
	if (!operand)
		return (double)NAN;
	if (STR_IS_ANY(operand->key, "$literal", "$const"))
		return constant(operand);
	bool adds = str_is(operand->key, "$add"), multiplies = str_is(operand->key, "$multiply");
	if ((!adds && !multiplies) || !mongodb_is_array(operand))
		return (double)NAN;
	double result = adds ? 0 : 1;
	for (const struct mongodb_value *part = operand->first; part; part = part->next)
		result = adds ? result + constant(part) : result * constant(part);
	return result;
}

static void check_range(struct mongodb_check *check, const struct mongodb_value *operand)
{
	const struct mongodb_value *from = operand->first, *to = from ? from->next : NULL;
	const struct mongodb_value *step = to ? to->next : NULL;
	if (!mongodb_is_array(operand) || operand->count < 2 || operand->count > 3) {
		mongodb_invalid(check, DIAG_INVALID_USE, operand, "takes two or three numbers");
		return;
	}
	double width = step && step->kind == MONGODB_NUMBER && step->number != 0 ? fabs(step->number) : 1;
	double start = constant(from), end = constant(to);
	start = isnan(start) ? 0 : start;
	if (fabs((isnan(end) ? 0 : end) - start) / width > MAX_RANGE)
		violations_add(check->violations, VIOLATION_RESOURCE_BOMB, (int64_t)operand->offset,
			       "$range makes more than %d numbers", MAX_RANGE);
}

static void check_regex_operand(struct mongodb_check *check, const struct mongodb_value *operand)
{
	const struct mongodb_value *regex = mongodb_member(operand, "regex");
	if (!regex || !mongodb_member(operand, "input"))
		mongodb_invalid(check, DIAG_INVALID_USE, operand, "needs input and regex");
	else if (regex->kind == MONGODB_REGEX || (mongodb_is_text(regex) && regex->text.ptr[0] != '$'))
		mongodb_check_pattern(check, regex->text, regex->offset);
}

static void check_count_of_operands(struct mongodb_check *check, const struct mongodb_value *operand)
{
	for (size_t i = 0; i < sizeof operand_counts / sizeof operand_counts[0]; i++) {
		char message[32];
		if (!str_is(operand->key, operand_counts[i].name))
			continue;
		snprintf(message, sizeof message, "takes %zu operands", operand_counts[i].count);
		if (!mongodb_is_array(operand) || operand->count != operand_counts[i].count)
			mongodb_invalid(check, DIAG_INVALID_USE, operand, message);
		return;
	}
}

static void check_operands(struct mongodb_check *check, const struct mongodb_value *operand)
{
	if (mongodb_is_document(operand) && !mongodb_has_operators(operand)) { /* named operands */
		for (const struct mongodb_value *child = operand->first; child; child = child->next)
			mongodb_check_expression(check, child);
		return;
	}
	mongodb_check_expression(check, operand);
}

static void check_operation(struct mongodb_check *check, const struct mongodb_value *operand)
{
	str_t name = operand->key;
	const struct mongodb_operator *known = mongodb_operator(name);
	if (!known || !(mongodb_stands_in(known, 'E') || known->refused)) {
		mongodb_unknown_operator(check, operand, 'E', "expression");
		return;
	}
	if (STR_IS_ANY(name, "$literal", "$const"))
		return;
	check_count_of_operands(check, operand);
	if (str_is(name, "$let"))
		check_let(check, operand);
	else if (str_is(name, "$map"))
		check_each(check, operand, "in");
	else if (str_is(name, "$filter"))
		check_each(check, operand, "cond");
	else if (str_is(name, "$reduce"))
		check_reduce(check, operand);
	else
		check_operands(check, operand);
	if (str_is(name, "$range"))
		check_range(check, operand);
	if (STR_IS_ANY(name, "$regexMatch", "$regexFind", "$regexFindAll"))
		check_regex_operand(check, operand);
}

void mongodb_check_expression(struct mongodb_check *check, const struct mongodb_value *expression)
{
	if (mongodb_is_text(expression)) {
		check_text(check, expression);
	} else if (mongodb_has_operators(expression)) {
		if (expression->count > 1)
			mongodb_invalid(check, DIAG_INVALID_USE, expression->first->next,
					"stands beside an operator: an expression has one");
		for (const struct mongodb_value *child = expression->first; child; child = child->next)
			check_operation(check, child);
	} else {
		for (const struct mongodb_value *child = expression->first; child; child = child->next) {
			if (mongodb_is_document(expression) && mongodb_is_operator(child))
				mongodb_invalid(check, DIAG_INVALID_USE, child,
						"is an operator among fields");
			mongodb_check_expression(check, child);
		}
	}
}

/* 1, true: the field; 0, false: not; what else there is is an expression, or a projection of parts. */
/* Fields that are kept beside fields that are left out: a server refuses that, but for _id. */
static void check_mixture(struct mongodb_check *check, const struct mongodb_value *projection)
{
	const struct mongodb_value *kept = NULL, *left_out = NULL;
	for (const struct mongodb_value *field = projection->first; field; field = field->next) {
		bool plain = field->kind == MONGODB_NUMBER || field->kind == MONGODB_BOOLEAN;
		if (!plain || str_is(field->key, "_id"))
			continue;
		*(field->number != 0 ? &kept : &left_out) = field;
	}
	if (kept && left_out)
		mongodb_invalid(
			check, DIAG_INVALID_USE, kept->key_offset > left_out->key_offset ? kept : left_out,
			"is kept or left out where other fields are not: a projection does one of both");
}

void mongodb_check_projection(struct mongodb_check *check, const struct mongodb_value *projection)
{
	if (!mongodb_is_document(projection)) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, projection, "is no document of fields");
		return;
	}
	check_mixture(check, projection);
	for (const struct mongodb_value *field = projection->first; field; field = field->next) {
		const struct mongodb_operator *known =
			mongodb_has_operators(field) ? mongodb_operator(field->first->key) : NULL;
		if (mongodb_is_operator(field))
			mongodb_invalid(check, DIAG_INVALID_USE, field,
					"is an operator where a field stands");
		else if (known && mongodb_stands_in(known, 'P') && str_is(field->first->key, "$elemMatch"))
			mongodb_check_filter(check, field->first);
		else if (mongodb_is_document(field) && !known && !mongodb_has_operators(field))
			mongodb_check_projection(check, field);
		else
			mongodb_check_expression(check, field);
	}
}
