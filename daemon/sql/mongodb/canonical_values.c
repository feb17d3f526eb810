#include "sql/mongodb/canonical.h"

#include "common/buf.h"
#include "sql/lex/texts.h"

/* Operators whose operand is a document of named operands, in any order. */
static const char named_operands[] =
	"$convert $dateAdd $dateDiff $dateFromParts $dateFromString $dateSubtract $dateToParts $dateToString "
	"$dateTrunc $filter $getField $map $reduce $regexFind $regexFindAll $regexMatch $replaceAll "
	"$replaceOne $setField $sortArray $switch $trim $ltrim $rtrim $unsetField $zip $firstN $lastN $maxN "
	"$minN $median $percentile";

str_t mongodb_join(struct arena *arena, const char *open, const struct texts *texts, const char *close)
{
	struct buf buf = BUF_INIT;
	buf_append_text(&buf, open);
	for (size_t i = 0; i < texts->count; i++) {
		if (i > 0)
			buf_append_text(&buf, ", ");
		buf_append_str(&buf, texts->items[i]);
	}
	buf_append_text(&buf, close);
	str_t text = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return text;
}

str_t mongodb_pair(struct arena *arena, str_t left, const char *between, str_t right)
{
	return arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(left), between, STR_ARG(right));
}

str_t mongodb_wrap(struct arena *arena, const char *open, str_t text, const char *close)
{
	return arena_printf(arena, "%s" STR_FMT "%s", open, STR_ARG(text), close);
}

str_t mongodb_quote(str_t text, struct arena *arena)
{
	struct buf buf = BUF_INIT;
	buf_append_char(&buf, '\'');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\'')
			buf_append_char(&buf, '\'');
		buf_append_char(&buf, text.ptr[i]);
	}
	buf_append_char(&buf, '\'');
	str_t quoted = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return quoted;
}

static str_t regex_text(const struct mongodb_value *regex, struct arena *arena)
{
	str_t pattern = mongodb_wrap(arena, "regex ", mongodb_quote(regex->text, arena), "");
	return mongodb_pair(arena, pattern, "", regex->options);
}

/* A number that is what JavaScript makes of its digits. */
static bool is_plain(const struct mongodb_value *number)
{
	bool small = mongodb_is_integer(number) && number->number >= INT32_MIN && number->number <= INT32_MAX;
	return strcmp(number->type, small ? "int" : "double") == 0;
}

/* `typed`: an expression can tell a number's type. A filter compares by value, of which a decimal that is no
 * integer has another one than a double of the same digits. */
static str_t scalar_text(const struct mongodb_value *value, bool typed, struct arena *arena)
{
	str_t quoted = mongodb_quote(str_present(value->text) ? value->text : STR(""), arena);
	switch (value->kind) {
	case MONGODB_NULL:
		return STR("null");
	case MONGODB_BOOLEAN:
		return value->number != 0 ? STR("true") : STR("false");
	case MONGODB_NUMBER:
		if (typed ? is_plain(value)
			  : strcmp(value->type, "decimal") != 0 || mongodb_is_integer(value))
			return value->text;
		return arena_printf(arena, "%s " STR_FMT, value->type, STR_ARG(value->text));
	case MONGODB_STRING:
		return quoted;
	case MONGODB_REGEX:
		return regex_text(value, arena);
	case MONGODB_OBJECT_ID:
		return arena_printf(arena, "id " STR_FMT, STR_ARG(value->text));
	case MONGODB_DATE:
		return arena_printf(arena, "date%s%s " STR_FMT, value->numeric ? " ms" : "",
				    value->type ? " local" : "", STR_ARG(quoted));
	case MONGODB_NOW:
		return STR("now");
	case MONGODB_OTHER:
	case MONGODB_DOCUMENT:
	case MONGODB_ARRAY:
	default:
		return arena_printf(arena, "%s " STR_FMT, value->type, STR_ARG(quoted));
	}
}

static str_t text_of(const struct mongodb_value *value, bool typed, bool masked, struct arena *arena)
{
	struct texts parts = { 0 };
	if (value->kind != MONGODB_DOCUMENT && value->kind != MONGODB_ARRAY)
		return masked ? STR("?") : scalar_text(value, typed, arena);
	for (const struct mongodb_value *child = value->first; child; child = child->next) {
		str_t text = text_of(child, typed, masked, arena);
		if (value->kind == MONGODB_DOCUMENT)
			text = mongodb_pair(arena, mongodb_quote(child->key, arena), ": ", text);
		texts_add(arena, &parts, text);
	}
	return value->kind == MONGODB_DOCUMENT ? mongodb_join(arena, "{", &parts, "}")
					       : mongodb_join(arena, "[", &parts, "]");
}

str_t mongodb_value_text(const struct mongodb_value *value, bool masked, struct arena *arena)
{
	return text_of(value, true, masked, arena);
}

/* --- filters --- */

static bool is_operation(const struct mongodb_value *value)
{
	return mongodb_is_document(value) && value->first && value->first->key.len > 0 &&
	       value->first->key.ptr[0] == '$';
}

struct condition {
	str_t path;
	bool masked;
	struct arena *arena;
	struct texts *into;
};

static void add(const struct condition *of, const char *operator, str_t operand)
{
	texts_add(of->arena, of->into,
		  arena_printf(of->arena, STR_FMT " %s " STR_FMT, STR_ARG(of->path), operator,
			       STR_ARG(operand)));
}

/* In which order, and how often a value is in the list, makes no difference; a list of one is that one. */
static void add_list(const struct condition *of, const char *operator, const struct mongodb_value * list)
{
	struct texts items = { 0 };
	bool negative = strcmp(operator, "$nin") == 0;
	for (const struct mongodb_value *item = list->first; item; item = item->next)
		texts_add(of->arena, &items, text_of(item, false, of->masked, of->arena));
	texts_unique(&items);
	if (items.count == 1 && list->first->kind != MONGODB_REGEX)
		add(of, negative ? "$ne" : "=", items.items[0]);
	else
		add(of, operator, mongodb_join(of->arena, "[", &items, "]"));
}

static void add_regex(const struct condition *of, const struct mongodb_value *operators)
{
	const struct mongodb_value *regex = mongodb_member(operators, "$regex");
	const struct mongodb_value *options = mongodb_member(operators, "$options");
	struct mongodb_value whole = *regex;
	whole.kind = MONGODB_REGEX;
	if (options && options->kind == MONGODB_STRING)
		whole.options = options->text;
	else if (!str_present(whole.options))
		whole.options = STR("");
	add(of, "~", of->masked ? STR("?") : regex_text(&whole, of->arena));
}

static void add_value(const struct condition *of, const struct mongodb_value *value);

static void add_operator(const struct condition *of, const struct mongodb_value *operators,
			 const struct mongodb_value *operand)
{
	str_t name = operand->key;
	struct texts inner = { 0 };
	struct condition within = *of;
	within.into = &inner;
	bool is_text = operand->kind == MONGODB_REGEX || operand->kind == MONGODB_STRING;
	if (STR_IS_ANY(name, "$options", "$comment"))
		return;
	if (str_is(name, "$regex") && is_text) {
		add_regex(of, operators);
	} else if (STR_IS_ANY(name, "$in", "$nin") && mongodb_is_array(operand)) {
		add_list(of, name.ptr, operand);
	} else if (str_is(name, "$eq")) {
		add(of, "=", text_of(operand, false, of->masked, of->arena));
	} else if (str_is(name, "$not")) {
		add_value(&within, operand);
		texts_unique(&inner);
		add(of, "not", mongodb_join(of->arena, "(", &inner, ")"));
	} else if (str_is(name, "$elemMatch") && mongodb_is_document(operand)) {
		bool values = is_operation(operand) &&
			      !STR_IS_ANY(operand->first->key, "$and", "$or", "$nor", "$expr");
		if (values)
			add_value(&within, operand);
		else
			mongodb_filter_texts(operand, of->masked, of->arena, &inner);
		texts_unique(&inner);
		add(of, values ? "any" : "any of", mongodb_join(of->arena, "(", &inner, ")"));
	} else {
		add(of, name.ptr, text_of(operand, false, of->masked, of->arena));
	}
}

static void add_value(const struct condition *of, const struct mongodb_value *value)
{
	if (value->kind == MONGODB_REGEX)
		add(of, "~", of->masked ? STR("?") : regex_text(value, of->arena));
	else if (!is_operation(value))
		add(of, "=", text_of(value, false, of->masked, of->arena));
	else
		for (const struct mongodb_value *operand = value->first; operand; operand = operand->next)
			add_operator(of, value, operand);
}

static str_t branch_text(const struct mongodb_value *branch, bool masked, struct arena *arena)
{
	struct texts conditions = { 0 };
	mongodb_filter_texts(branch, masked, arena, &conditions);
	texts_unique(&conditions);
	return conditions.count == 1 ? conditions.items[0] : mongodb_join(arena, "and(", &conditions, ")");
}

static void add_branches(const struct mongodb_value *operand, bool masked, struct arena *arena,
			 struct texts *conditions)
{
	struct texts branches = { 0 };
	bool nor = str_is(operand->key, "$nor");
	for (const struct mongodb_value *branch = operand->first; branch; branch = branch->next)
		texts_add(arena, &branches, branch_text(branch, masked, arena));
	texts_unique(&branches);
	if (!nor && branches.count == 1)
		mongodb_filter_texts(operand->first, masked, arena, conditions);
	else
		texts_add(arena, conditions, mongodb_join(arena, nor ? "nor(" : "or(", &branches, ")"));
}

void mongodb_filter_texts(const struct mongodb_value *filter, bool masked, struct arena *arena,
			  struct texts *conditions)
{
	if (!mongodb_is_document(filter)) {
		texts_add(arena, conditions, text_of(filter, true, masked, arena));
		return;
	}
	for (const struct mongodb_value *member = filter->first; member; member = member->next) {
		struct condition of = { mongodb_quote(member->key, arena), masked, arena, conditions };
		bool list = mongodb_is_array(member) && member->first;
		if (str_is(member->key, "$and") && list)
			for (const struct mongodb_value *part = member->first; part; part = part->next)
				mongodb_filter_texts(part, masked, arena, conditions);
		else if (STR_IS_ANY(member->key, "$or", "$nor") && list)
			add_branches(member, masked, arena, conditions);
		else if (str_is(member->key, "$expr"))
			add(&of, "is", mongodb_expression_text(member, masked, arena));
		else if (!str_is(member->key, "$comment"))
			add_value(&of, member);
	}
}

/* --- expressions --- */

/* Operands by name, or {if, then, else} for a list of three. */
static str_t named_text(const struct mongodb_value *operand, bool masked, struct arena *arena)
{
	struct texts parts = { 0 };
	for (const struct mongodb_value *child = operand->first; child; child = child->next)
		texts_add(arena, &parts,
			  mongodb_pair(arena, mongodb_quote(child->key, arena), ": ",
				       mongodb_expression_text(child, masked, arena)));
	texts_sort(&parts);
	return mongodb_join(arena, "(", &parts, ")");
}

static bool list_condition(const struct mongodb_value *operand, bool masked, struct arena *arena,
			   struct texts *parts)
{
	static const char *const names[] = { "if", "then", "else" };
	for (size_t i = 0; i < 3; i++) {
		const struct mongodb_value *part = mongodb_member(operand, names[i]);
		if (!part)
			return false;
		texts_add(arena, parts, mongodb_expression_text(part, masked, arena));
	}
	return operand->count == 3;
}

static str_t operation_text(const struct mongodb_value *operand, bool masked, struct arena *arena)
{
	struct texts parts = { 0 };
	str_t name = operand->key;
	if (STR_IS_ANY(name, "$literal", "$const"))
		return mongodb_wrap(arena, "literal(", text_of(operand, true, masked, arena), ")");
	bool document = mongodb_is_document(operand) && !is_operation(operand);
	if (document && str_is(name, "$cond") && list_condition(operand, masked, arena, &parts))
		return mongodb_join(arena, "$cond[", &parts, "]");
	parts = (struct texts){ 0 };
	if (document && str_is_listed(name, named_operands))
		return mongodb_pair(arena, name, "", named_text(operand, masked, arena));
	if (!mongodb_is_array(operand))
		return mongodb_pair(
			arena, name, "",
			mongodb_wrap(arena, "(", mongodb_expression_text(operand, masked, arena), ")"));
	for (const struct mongodb_value *child = operand->first; child; child = child->next)
		texts_add(arena, &parts, mongodb_expression_text(child, masked, arena));
	bool pair = parts.count == 2;
	if ((pair && STR_IS_ANY(name, "$eq", "$ne", "$add", "$multiply")) || STR_IS_ANY(name, "$and", "$or"))
		texts_sort(&parts);
	if (pair && STR_IS_ANY(name, "$gt", "$gte")) {
		str_t left = parts.items[0];
		parts.items[0] = parts.items[1];
		parts.items[1] = left;
		name = str_is(name, "$gt") ? STR("$lt") : STR("$lte");
	}
	return mongodb_join(arena, arena_printf(arena, STR_FMT "[", STR_ARG(name)).ptr, &parts, "]");
}

str_t mongodb_expression_text(const struct mongodb_value *expression, bool masked, struct arena *arena)
{
	struct texts parts = { 0 };
	bool path = mongodb_is_text(expression) && expression->text.len > 0 && expression->text.ptr[0] == '$';
	if (path)
		return mongodb_quote(expression->text, arena);
	if (is_operation(expression) && expression->count == 1)
		return operation_text(expression->first, masked, arena);
	if (expression->kind != MONGODB_DOCUMENT && expression->kind != MONGODB_ARRAY)
		return masked ? STR("?") : scalar_text(expression, true, arena);
	for (const struct mongodb_value *child = expression->first; child; child = child->next) {
		str_t text = mongodb_expression_text(child, masked, arena);
		if (expression->kind == MONGODB_DOCUMENT)
			text = mongodb_pair(arena, mongodb_quote(child->key, arena), ": ", text);
		texts_add(arena, &parts, text);
	}
	return expression->kind == MONGODB_DOCUMENT ? mongodb_join(arena, "{", &parts, "}")
						    : mongodb_join(arena, "[", &parts, "]");
}
