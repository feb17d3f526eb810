#include "mongodb_queries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ITEMS = 90, ORDERS = 110, DAY_MS = 86400000 };

#define FIRST_MS INT64_C(1704067200000) /* 2024-01-01 */

enum kind { WHOLE, QUARTERS, TRUTH, DATE, ID, WORD, NESTED, LIST };

struct query_field {
	const char *path;
	enum kind kind;
	bool of_orders;
	bool always; /* no document is without it, nor has null */
	bool inner;  /* below another field */
};

static const struct query_field fields[] = {
	{ "id", WHOLE, false, true, false },	      { "qty", WHOLE, false, true, false },
	{ "n", WHOLE, false, false, false },	      { "price", QUARTERS, false, false, false },
	{ "ratio", QUARTERS, false, true, false },    { "ok", TRUTH, false, false, false },
	{ "at", DATE, false, false, false },	      { "ref", ID, false, true, false },
	{ "word", WORD, false, true, false },	      { "note", WORD, false, false, false },
	{ "deep.k", WHOLE, false, false, true },      { "deep.s", WORD, false, false, true },
	{ "deep.m.x", QUARTERS, false, false, true }, { "deep", NESTED, false, false, false },
	{ "tags", LIST, false, false, false },	      { "nums", LIST, false, true, false },
	{ "parts", LIST, false, true, false },	      { "item", WHOLE, true, true, false },
	{ "amount", QUARTERS, true, true, false },    { "day", DATE, true, true, false },
	{ "memo", WORD, true, false, false },
};

static const char *const words[] = { "red",  "green",	   "Red", "blue", "gr\303\266\303\237er",
				     "re d", "it's \"it\"" };

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

unsigned dice_draw(struct dice *dice, unsigned below)
{
	dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(dice->state >> 33) % below;
}

/* One of several ways. */
static unsigned way(struct dice *dice, unsigned count)
{
	return dice->plain ? 0 : dice_draw(dice, count);
}

/* --- values --- */

/* A number of quarters, as one of the types that can hold it. */
static void put_number(struct buf *to, struct dice *dice, int quarters)
{
	bool whole = quarters % 4 == 0;
	switch (whole ? way(dice, 4) : 2 + way(dice, 2)) {
	case 0:
		buf_printf(to, "{\"$numberInt\": \"%d\"}", quarters / 4);
		return;
	case 1:
		buf_printf(to, "{\"$numberLong\": \"%d\"}", quarters / 4);
		return;
	case 2:
		buf_printf(to, "{\"$numberDouble\": \"%.2f\"}", quarters / 4.0);
		return;
	default:
		buf_printf(to, "{\"$numberDecimal\": \"%.2f\"}", quarters / 4.0);
		return;
	}
}

static void put_text(struct buf *to, const char *text)
{
	buf_append_char(to, '"');
	for (const char *at = text; *at; at++)
		buf_printf(to, *at == '"' ? "\\%c" : "%c", *at);
	buf_append_char(to, '"');
}

static void put_value(struct buf *to, struct dice *dice, enum kind kind, int number)
{
	switch (kind) {
	case WHOLE:
		put_number(to, dice, 4 * number);
		return;
	case QUARTERS:
		put_number(to, dice, number);
		return;
	case TRUTH:
		buf_append_text(to, number % 2 ? "true" : "false");
		return;
	case DATE:
		buf_printf(to, "{\"$date\": {\"$numberLong\": \"%lld\"}}",
			   (long long)(FIRST_MS + (int64_t)number * DAY_MS / 4));
		return;
	case ID:
		buf_printf(to, "{\"$oid\": \"65a00000000000000000%04x\"}", (unsigned)number);
		return;
	case WORD:
		put_text(to, words[(size_t)number % COUNT_OF(words)]);
		return;
	case NESTED:
	case LIST:
		buf_append_text(to, "null");
		return;
	}
}

static int draw_value(struct dice *dice, const struct query_field *field)
{
	static const unsigned below[] = { [WHOLE] = 10, [QUARTERS] = 40, [TRUTH] = 2,  [DATE] = 60,
					  [ID] = 8,	[WORD] = 7,	 [NESTED] = 1, [LIST] = 3 };
	return (int)dice_draw(dice, strcmp(field->path, "id") == 0 ? ITEMS : below[field->kind]);
}

/* --- data --- */

/* A field with a value, null, or nothing. */
static void put_field(struct buf *to, struct dice *dice, const struct query_field *field)
{
	if (!field->always && dice_draw(dice, 9) == 0)
		return;
	buf_printf(to, ", \"%s\": ", field->path);
	if (!field->always && dice_draw(dice, 9) == 0)
		buf_append_text(to, "null");
	else
		put_value(to, dice, field->kind, draw_value(dice, field));
}

static void put_lists(struct buf *to, struct dice *dice)
{
	if (dice_draw(dice, 8) > 0) {
		buf_append_text(to, ", \"tags\": [");
		for (unsigned i = 0, count = dice_draw(dice, 4); i < count; i++) {
			buf_append_text(to, i ? ", " : "");
			put_value(to, dice, WORD, (int)dice_draw(dice, 4));
		}
		buf_append_char(to, ']');
	}
	buf_append_text(to, ", \"nums\": [");
	for (unsigned i = 0, count = dice_draw(dice, 4); i < count; i++) {
		buf_append_text(to, i ? ", " : "");
		put_value(to, dice, WHOLE, (int)dice_draw(dice, 6));
	}
	buf_append_text(to, "], \"parts\": [");
	for (unsigned i = 0, count = dice_draw(dice, 3); i < count; i++) {
		buf_printf(to, "%s{\"p\": ", i ? ", " : "");
		put_value(to, dice, WORD, (int)dice_draw(dice, 4));
		buf_append_text(to, ", \"q\": ");
		put_value(to, dice, WHOLE, (int)dice_draw(dice, 6));
		buf_append_char(to, '}');
	}
	buf_append_char(to, ']');
}

static void put_item(struct buf *to, struct dice *dice, int number)
{
	buf_printf(to, "{\"_id\": %d, \"id\": %d", number, number);
	for (size_t i = 1; i < COUNT_OF(fields); i++)
		if (!fields[i].of_orders && !fields[i].inner && fields[i].kind < NESTED)
			put_field(to, dice, &fields[i]);
	if (dice_draw(dice, 8) > 0) {
		buf_append_text(to, ", \"deep\": {\"k\": ");
		put_value(to, dice, WHOLE, (int)dice_draw(dice, 8));
		buf_append_text(to, ", \"s\": ");
		put_value(to, dice, WORD, (int)dice_draw(dice, 7));
		buf_append_text(to, ", \"m\": {\"x\": ");
		put_value(to, dice, QUARTERS, (int)dice_draw(dice, 12));
		buf_append_text(to, "}}");
	}
	put_lists(to, dice);
	buf_append_char(to, '}');
}

static void put_order(struct buf *to, struct dice *dice, int number)
{
	buf_printf(to, "{\"_id\": {\"$oid\": \"65b00000000000000000%04x\"}, \"item\": %u", (unsigned)number,
		   dice_draw(dice, ITEMS + 20));
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (fields[i].of_orders && strcmp(fields[i].path, "item") != 0)
			put_field(to, dice, &fields[i]);
	buf_append_char(to, '}');
}

void mongodb_queries_data(uint64_t seed, struct buf *ret_items, struct buf *ret_orders)
{
	struct dice dice = { .state = seed };
	buf_append_text(ret_items, "{\"insert\": \"items\", \"documents\": [");
	for (int i = 0; i < ITEMS; i++) {
		buf_append_text(ret_items, i ? ", " : "");
		put_item(ret_items, &dice, i);
	}
	buf_append_text(ret_items, "]}");
	buf_append_text(ret_orders, "{\"insert\": \"orders\", \"documents\": [");
	for (int i = 0; i < ORDERS; i++) {
		buf_append_text(ret_orders, i ? ", " : "");
		put_order(ret_orders, &dice, i);
	}
	buf_append_text(ret_orders, "]}");
}

/* --- drawing a plan --- */

static bool is_scalar(const struct query_field *field)
{
	return field->kind < NESTED;
}

static bool is_number(const struct query_field *field)
{
	return field->kind == WHOLE || field->kind == QUARTERS;
}

static bool is_list(const struct query_field *field)
{
	return field->kind == LIST;
}

static bool is_any(const struct query_field *field)
{
	return field != NULL;
}

static bool is_groupable(const struct query_field *field)
{
	return is_scalar(field) && strcmp(field->path, "id") != 0;
}

static bool is_complete(const struct query_field *field)
{
	return field->always && (is_scalar(field) || strcmp(field->path, "nums") == 0);
}

static const struct query_field *draw_field(struct dice *dice, bool orders,
					    bool (*fits)(const struct query_field *field))
{
	for (;;) {
		const struct query_field *field = &fields[dice_draw(dice, COUNT_OF(fields))];
		if (field->of_orders == orders && fits(field))
			return field;
	}
}

static enum query_operator draw_operator(struct dice *dice, const struct query_field *field)
{
	static const enum query_operator ordered[] = { EQ,    NE, GT,  GTE,    LT,  LTE,    IN,	 NIN,
						       RANGE, GT, LTE, EXISTS, MOD, ABSENT, GTE, EXPR };
	static const enum query_operator named[] = { EQ, NE, IN, NIN, EXISTS, ABSENT, PREFIX, GTE };
	if (field->kind == LIST)
		return strcmp(field->path, "parts") == 0 ? ELEM : SIZE;
	if (field->kind == NESTED)
		return EXISTS;
	if (field->kind == TRUTH || field->kind == ID)
		return named[dice_draw(dice, field->kind == TRUTH ? 2 : 6)];
	if (field->kind == WORD)
		return named[dice_draw(dice, COUNT_OF(named))];
	enum query_operator operator= ordered[dice_draw(dice, COUNT_OF(ordered))];
	return operator== MOD && field->kind != WHOLE ? LT :
	       operator== EXPR && !is_number(field)   ? GTE
						      :
						    operator;
}

static struct query_condition draw_condition(struct dice *dice, bool orders)
{
	struct query_condition condition = { .field = draw_field(dice, orders, is_any) };
	condition.operator= draw_operator(dice, condition.field);
	condition.a = draw_value(dice, condition.field);
	condition.b = draw_value(dice, condition.field);
	if (condition.operator== RANGE && condition.b<condition.a)
		condition.b = condition.a + 3 + condition.b;
	return condition;
}

static struct query_output draw_output(struct dice *dice, const struct query_plan *plan)
{
	static const enum query_computing of_numbers[] = {
		ADD, SUBTRACT, MULTIPLY, CHOOSE, OTHERWISE, BETWEEN
	};
	struct query_output output = { .constant = 1 + (int)dice_draw(dice, 6) };
	output.accumulator = (enum query_accumulator)dice_draw(dice, SUM_ABOVE + 1);
	bool group = plan->kind == GROUP;
	bool minimum = output.accumulator == MIN || output.accumulator == MAX;
	output.field = draw_field(dice, plan->orders, !group ? is_any : minimum ? is_groupable : is_number);
	if (group || dice_draw(dice, 3) > 0)
		return output;
	if (is_number(output.field))
		output.computing = of_numbers[dice_draw(dice, COUNT_OF(of_numbers))];
	else if (output.field->kind == WORD)
		output.computing = UPPER;
	else if (output.field->kind == DATE)
		output.computing = YEAR;
	else if (output.field->kind == LIST && output.field->always && !plan->unwound)
		output.computing = LENGTH;
	else
		output.computing = CONSTANT;
	return output;
}

static bool lies_within(const char *path, const char *of)
{
	size_t len = strlen(of);
	return strncmp(path, of, len) == 0 && (path[len] == '.' || path[len] == '\0');
}

/* Two plain outputs of one field, or of one within the other, are none that a projection can have. */
static bool collides(const struct query_plan *plan, const struct query_output *output, size_t besides)
{
	for (size_t i = 0; i < plan->outputs_count; i++)
		if (i != besides && (lies_within(plan->outputs[i].field->path, output->field->path) ||
				     lies_within(output->field->path, plan->outputs[i].field->path)))
			return true;
	return false;
}

static void draw_outputs(struct query_plan *plan, struct dice *dice)
{
	size_t count = 1 + dice_draw(dice, QUERY_OUTPUTS - 1);
	for (size_t i = 0; i < count; i++) {
		struct query_output output = draw_output(dice, plan);
		if (plan->kind == GROUP || !collides(plan, &output, SIZE_MAX))
			plan->outputs[plan->outputs_count++] = output;
	}
}

static void draw_order(struct query_plan *plan, struct dice *dice)
{
	size_t count = dice_draw(dice, 3);
	for (size_t i = 0; i < count; i++) {
		struct query_key key = { .descending = dice_draw(dice, 2) };
		if (plan->kind == GROUP)
			key.output = (int)dice_draw(dice, (unsigned)plan->outputs_count);
		else
			key.field = draw_field(dice, plan->orders, is_groupable);
		if (i == 0 || key.field != plan->keys[0].field ||
		    (!key.field && key.output != plan->keys[0].output))
			plan->keys[plan->keys_count++] = key;
	}
	if ((count > 0 && dice_draw(dice, 3) > 0) || plan->kind == ONE) {
		bool keyed = plan->kind == GROUP || (!plan->orders && !plan->unwound);
		if (keyed)
			plan->keys[plan->keys_count++] =
				(struct query_key){ plan->kind == GROUP ? NULL : &fields[0], -1,
						    dice_draw(dice, 2) };
		plan->total = keyed;
	}
	if (plan->keys_count > 0 || dice_draw(dice, 3) == 0)
		plan->limit = dice_draw(dice, 2) ? 1 + (int)dice_draw(dice, 12) : 0;
	if (plan->keys_count > 0 && plan->total)
		plan->skip = dice_draw(dice, 3) ? 0 : 1 + (int)dice_draw(dice, 4);
	if (plan->kind == ONE)
		plan->limit = plan->keys_count ? 1 : 0;
	bool rows = plan->kind == ROWS || plan->kind == ALL_FIELDS;
	plan->late = rows && plan->total && plan->conditions_count > 0 && dice_draw(dice, 6) == 0;
	plan->limit_first = rows && plan->skip > 0 && dice_draw(dice, 4) == 0;
}

struct query_plan query_draw(struct dice *dice)
{
	static const enum query_kind kinds[] = { ROWS,	ROWS,  ROWS,	ROWS,	      ALL_FIELDS, GROUP,
						 GROUP, GROUP, COUNTED, SORTED_COUNT, DISTINCT,	  ONE };
	struct query_plan plan = { .kind = kinds[dice_draw(dice, COUNT_OF(kinds))] };
	plan.orders = plan.kind != ONE && dice_draw(dice, 4) == 0;
	plan.id_shown = dice_draw(dice, 4) == 0;
	size_t count = dice_draw(dice, QUERY_CONDITIONS + 1);
	for (size_t i = 0; i < count; i++)
		plan.conditions[plan.conditions_count++] = draw_condition(dice, plan.orders);
	if (!plan.orders && (plan.kind == ROWS || plan.kind == GROUP || plan.kind == ALL_FIELDS)) {
		if (dice_draw(dice, 5) == 0)
			plan.unwound = draw_field(dice, false, is_list);
		plan.unwound_outer = dice_draw(dice, 3) == 0;
		plan.joined = dice_draw(dice, 6) == 0;
	}
	plan.group = draw_field(dice, plan.orders, plan.kind == DISTINCT ? is_complete : is_groupable);
	if (plan.kind == ROWS || plan.kind == GROUP || plan.kind == ONE)
		draw_outputs(&plan, dice);
	if (plan.kind == ROWS || plan.kind == GROUP || plan.kind == ALL_FIELDS || plan.kind == ONE)
		draw_order(&plan, dice);
	return plan;
}

bool query_is_open(const struct query_plan *plan)
{
	return plan->limit > 0 && !plan->total;
}

/* --- changing it --- */

static const char *change_condition(struct query_plan *plan, struct dice *dice)
{
	static const enum query_operator others[] = {
		[EQ] = NE,     [NE] = EQ,     [GT] = GTE,    [GTE] = GT,	[LT] = LTE,	   [LTE] = LT,
		[IN] = NIN,    [NIN] = EQ,    [RANGE] = GTE, [EXISTS] = ABSENT, [ABSENT] = EXISTS, [MOD] = EQ,
		[PREFIX] = EQ, [SIZE] = SIZE, [ELEM] = ELEM, [EXPR] = GTE
	};
	if (plan->conditions_count == 0 || (plan->late && plan->conditions_count == 1))
		return NULL;
	size_t index = dice_draw(dice, (unsigned)plan->conditions_count);
	struct query_condition *condition = &plan->conditions[index];
	switch (dice_draw(dice, 4)) {
	case 0:
		*condition = plan->conditions[--plan->conditions_count];
		return "a condition dropped";
	case 1:
		condition->a++;
		return "another constant";
	case 2:
		condition->b += 2;
		return "another second constant";
	default:
		if (condition->field->kind >= NESTED)
			return NULL;
		condition->operator= others[condition->operator];
		return "another operator";
	}
}

static const char *change_outputs(struct query_plan *plan, struct dice *dice)
{
	if (plan->outputs_count == 0)
		return NULL;
	size_t index = dice_draw(dice, (unsigned)plan->outputs_count);
	struct query_output *output = &plan->outputs[index];
	struct query_output other = draw_output(dice, plan);
	switch (dice_draw(dice, 4)) {
	case 0:
		if (plan->outputs_count == 1 || plan->kind == GROUP)
			return NULL;
		memmove(output, output + 1, (--plan->outputs_count - index) * sizeof *output);
		return "a field left out";
	case 1:
		if (plan->outputs_count == QUERY_OUTPUTS ||
		    (plan->kind != GROUP && collides(plan, &other, SIZE_MAX)))
			return NULL;
		plan->outputs[plan->outputs_count++] = other;
		return "a field added";
	case 2:
		if (plan->kind != GROUP && collides(plan, &other, index))
			return NULL;
		*output = other;
		return "another field";
	default:
		if (output->computing == PLAIN && plan->kind != GROUP)
			return NULL;
		output->constant++;
		if (plan->kind == GROUP)
			output->accumulator = output->accumulator == SUM   ? AVG
					      : output->accumulator == AVG ? SUM
					      : output->accumulator == MIN ? MAX
									   : MIN;
		return "another way of computing";
	}
}

static const char *change_order(struct query_plan *plan, struct dice *dice)
{
	if (plan->keys_count == 0)
		return NULL;
	if (plan->kind == ROWS && !plan->late && dice_draw(dice, 3) == 0) {
		plan->shown_first = true;
		return "an order behind the projection";
	}
	struct query_key *key = &plan->keys[dice_draw(dice, (unsigned)plan->keys_count)];
	key->descending = !key->descending;
	return "an order reversed";
}

static const char *change_cut(struct query_plan *plan, struct dice *dice)
{
	if (plan->limit == 0 || plan->kind == ONE)
		return NULL;
	bool rows = plan->kind == ROWS || plan->kind == ALL_FIELDS;
	switch (dice_draw(dice, rows && plan->total ? 5 : 3)) {
	case 3:
		plan->limit_first = !plan->limit_first;
		return "a skip before or behind the limit";
	case 4:
		plan->late = !plan->late && plan->conditions_count > 0;
		return "a condition before or behind the cut";
	case 0:
		plan->limit++;
		return "a row more";
	case 1:
		plan->limit += plan->limit > 1 ? -1 : 1;
		return "a row less";
	default:
		if (!plan->total)
			return NULL;
		plan->skip++;
		return "a row skipped";
	}
}

static const char *change_source(struct query_plan *plan, struct dice *dice)
{
	if (plan->unwound && dice_draw(dice, 2)) {
		plan->unwound_outer = !plan->unwound_outer;
		return "empty arrays kept or not";
	}
	if (plan->kind == GROUP || plan->kind == DISTINCT || plan->kind == SORTED_COUNT) {
		plan->group =
			draw_field(dice, plan->orders, plan->kind == DISTINCT ? is_complete : is_groupable);
		return "another group";
	}
	if (plan->conditions_count == QUERY_CONDITIONS)
		return NULL;
	plan->conditions[plan->conditions_count++] = draw_condition(dice, plan->orders);
	return "a condition more";
}

const char *query_change(struct query_plan *plan, struct dice *dice)
{
	static const char *(*const changes[])(struct query_plan *, struct dice *) = {
		change_condition, change_condition, change_outputs, change_outputs,
		change_order,	  change_cut,	    change_cut,	    change_source
	};
	return changes[dice_draw(dice, COUNT_OF(changes))](plan, dice);
}

/* --- conditions --- */

static void put_pair(struct buf *to, struct dice *dice, const struct query_condition *condition, bool swapped)
{
	put_value(to, dice, condition->field->kind, swapped ? condition->b : condition->a);
	buf_append_text(to, ", ");
	put_value(to, dice, condition->field->kind, swapped ? condition->a : condition->b);
}

/* {operator: value}, or that with a name in front. */
static void put_operation(struct buf *to, struct dice *dice, const struct query_condition *condition,
			  const char *operator, int value)
{
	buf_printf(to, "{\"%s\": ", operator);
	put_value(to, dice, condition->field->kind, value);
	buf_append_char(to, '}');
}

/* Not {$all: [value]}, too: the server finds no field with it that is no array. */
static void put_equal(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	static const char *const before[] = { "", "{\"$eq\": ", "{\"$in\": [", "{\"$not\": {\"$ne\": " };
	static const char *const behind[] = { "", "}", "]}", "}}" };
	unsigned form = way(dice, COUNT_OF(before));
	buf_append_text(to, before[form]);
	if (condition->operator== ABSENT)
		buf_append_text(to, "null");
	else
		put_value(to, dice, condition->field->kind, condition->a);
	buf_append_text(to, behind[form]);
}

static void put_unequal(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	static const char *const before[] = { "{\"$ne\": ", "{\"$nin\": [", "{\"$not\": {\"$eq\": " };
	static const char *const behind[] = { "}", "]}", "}}" };
	unsigned form = way(dice, COUNT_OF(before));
	buf_append_text(to, before[form]);
	put_value(to, dice, condition->field->kind, condition->a);
	buf_append_text(to, behind[form]);
}

static void put_range(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	bool swapped = way(dice, 2);
	buf_printf(to, "{\"%s\": ", swapped ? "$lt" : "$gte");
	put_value(to, dice, condition->field->kind, swapped ? condition->b : condition->a);
	buf_printf(to, ", \"%s\": ", swapped ? "$gte" : "$lt");
	put_value(to, dice, condition->field->kind, swapped ? condition->a : condition->b);
	buf_append_char(to, '}');
}

static void put_list(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	unsigned form = way(dice, 3);
	buf_printf(to, "{\"%s\": [", condition->operator== IN ? "$in" : "$nin");
	put_pair(to, dice, condition, form == 1);
	if (form == 2) {
		buf_append_text(to, ", ");
		put_value(to, dice, condition->field->kind, condition->a);
	}
	buf_append_text(to, "]}");
}

static void put_prefix(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	const char *word = words[(size_t)condition->a % 4], *options = condition->b % 2 ? "i" : "";
	if (way(dice, 2))
		buf_printf(to, "{\"$regex\": \"^%.2s\", \"$options\": \"%s\"}", word, options);
	else
		buf_printf(to, "{\"$regularExpression\": {\"pattern\": \"^%.2s\", \"options\": \"%s\"}}",
			   word, options);
}

static void put_element(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	bool swapped = way(dice, 2);
	buf_append_text(to, "{\"$elemMatch\": {");
	for (int i = 0; i < 2; i++) {
		buf_append_text(to, i ? ", " : "");
		if ((i == 0) != swapped) {
			buf_append_text(to, "\"q\": {\"$gte\": ");
			put_value(to, dice, WHOLE, condition->a);
			buf_append_char(to, '}');
		} else {
			buf_append_text(to, "\"p\": {\"$ne\": ");
			put_value(to, dice, WORD, condition->b);
			buf_append_char(to, '}');
		}
	}
	buf_append_text(to, "}}");
}

static const char *operator_name(enum query_operator operator)
{
	return operator== GT ? "$gt" : operator== GTE ? "$gte" : operator== LT ? "$lt" : "$lte";
}

/* What stands behind the field's name. */
static void put_operand(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	bool there = condition->a % 2, negated;
	switch (condition->operator) {
	case EQ:
	case ABSENT:
		put_equal(to, dice, condition);
		return;
	case NE:
		put_unequal(to, dice, condition);
		return;
	case IN:
	case NIN:
		put_list(to, dice, condition);
		return;
	case RANGE:
		put_range(to, dice, condition);
		return;
	case EXISTS:
		negated = way(dice, 2);
		buf_printf(to, "%s{\"$exists\": %s}%s", negated ? "{\"$not\": " : "",
			   there != negated ? "true" : "false", negated ? "}" : "");
		return;
	case MOD:
		buf_printf(to, "{\"$mod\": [%d, %d]}", 2 + condition->a % 3, condition->b % 2);
		return;
	case PREFIX:
		put_prefix(to, dice, condition);
		return;
	case SIZE:
		buf_printf(to, "{\"$size\": %d}", condition->a);
		return;
	case ELEM:
		put_element(to, dice, condition);
		return;
	case GT:
	case GTE:
	case LT:
	case LTE:
	case EXPR:
		put_operation(to, dice, condition, operator_name(condition->operator), condition->a);
		return;
	}
}

static void put_expression(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	static const char *const before[] = { "{\"$gt\": [", "{\"$lt\": [", "{\"$not\": [{\"$lte\": [" };
	static const char *const behind[] = { "]}", "]}", "]}]}" };
	unsigned form = way(dice, COUNT_OF(before));
	buf_append_text(to, before[form]);
	if (form == 1) {
		put_value(to, dice, condition->field->kind, condition->a);
		buf_printf(to, ", \"$%s\"", condition->field->path);
	} else {
		buf_printf(to, "\"$%s\", ", condition->field->path);
		put_value(to, dice, condition->field->kind, condition->a);
	}
	buf_append_text(to, behind[form]);
}

/* "name": operand */
static void put_bare(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	if (condition->operator== EXPR) {
		buf_append_text(to, "\"$expr\": ");
		put_expression(to, dice, condition);
		return;
	}
	buf_printf(to, "\"%s\": ", condition->field->path);
	put_operand(to, dice, condition);
}

static void put_branches(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	struct query_condition one = *condition, other = *condition;
	bool range = condition->operator== RANGE;
	one.operator= range ? GTE : condition->operator== IN ? EQ : NE;
	other.operator= range ? LT : one.operator;
	other.a = condition->b;
	bool swapped = way(dice, 2);
	buf_printf(to, "\"%s\": [{", condition->operator== IN ? "$or" : "$and");
	put_bare(to, dice, swapped ? &other : &one);
	buf_append_text(to, "}, {");
	put_bare(to, dice, swapped ? &one : &other);
	buf_append_text(to, "}]");
}

/* The condition as a member of a document. */
static void put_member(struct buf *to, struct dice *dice, const struct query_condition *condition)
{
	static const char *const before[] = {
		"", "", "", "\"$and\": [{", "\"$or\": [{", "\"$nor\": [{\"$nor\": [{"
	};
	static const char *const behind[] = { "", "", "", "}]", "}]", "}]}]" };
	unsigned form = way(dice, COUNT_OF(before));
	enum query_operator operator= condition->operator;
	if ((operator== IN || operator== NIN || operator== RANGE) && form == 1) {
		put_branches(to, dice, condition);
		return;
	}
	buf_append_text(to, before[form]);
	put_bare(to, dice, condition);
	buf_append_text(to, behind[form]);
}

static bool same_name(const struct buf *a, const struct buf *b)
{
	size_t len = strcspn(a->data, ":");
	return strncmp(a->data, b->data, len + 1) == 0;
}

/* {a: …, b: …}, or {$and: […]} where names would come twice, or by chance. */
static void put_filter(struct buf *to, struct dice *dice, const struct query_condition *conditions,
		       size_t count)
{
	struct buf members[QUERY_CONDITIONS] = { 0 };
	bool list = way(dice, 3) == 1;
	unsigned first = way(dice, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++)
		put_member(&members[i], dice, &conditions[(i + first) % count]);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			list |= same_name(&members[i], &members[j]);
	list &= count > 0;
	buf_append_text(to, list ? "{\"$and\": [" : "{");
	for (size_t i = 0; i < count; i++) {
		buf_printf(to, list ? "%s{%s}" : "%s%s", i ? ", " : "", members[i].data);
		buf_free(&members[i]);
	}
	buf_append_text(to, list ? "]}" : "}");
}

/* --- stages --- */

static void begin_stage(struct query_text *text, const char *name)
{
	buf_printf(&text->pipeline, "%s{\"%s\": ", text->pipeline.len > 1 ? ", " : "", name);
}

static void end_stage(struct query_text *text)
{
	buf_append_char(&text->pipeline, '}');
}

static void add_number_stage(struct query_text *text, const char *name, int number)
{
	if (number == 0)
		return;
	begin_stage(text, name);
	buf_printf(&text->pipeline, "%d", number);
	end_stage(text);
}

static void add_matches(struct query_text *text, struct dice *dice, const struct query_condition *conditions,
			size_t count)
{
	size_t at = 0;
	while (at < count) {
		size_t taken = way(dice, 3) == 1 ? 1 : count - at;
		begin_stage(text, "$match");
		put_filter(&text->pipeline, dice, conditions + at, taken);
		end_stage(text);
		at += taken;
	}
	if (count == 0 && way(dice, 6) == 1) {
		begin_stage(text, "$match");
		buf_append_text(&text->pipeline, "{}");
		end_stage(text);
	}
}

static void add_unwind(struct query_text *text, struct dice *dice, const struct query_plan *plan)
{
	begin_stage(text, "$unwind");
	if (!plan->unwound_outer && way(dice, 2) == 0)
		buf_printf(&text->pipeline, "\"$%s\"", plan->unwound->path);
	else
		buf_printf(&text->pipeline, "{\"path\": \"$%s\", \"preserveNullAndEmptyArrays\": %s}",
			   plan->unwound->path, plan->unwound_outer ? "true" : "false");
	end_stage(text);
}

static void add_lookup(struct query_text *text, struct dice *dice)
{
	begin_stage(text, "$lookup");
	buf_append_text(
		&text->pipeline,
		way(dice, 2) ? "{\"as\": \"orders\", \"foreignField\": \"item\", \"localField\": \"id\", "
			       "\"from\": \"orders\"}"
			     : "{\"from\": \"orders\", \"localField\": \"id\", \"foreignField\": \"item\", "
			       "\"as\": \"orders\"}");
	end_stage(text);
}

/* What a condition looks at is another thing before $unwind, if it is that array. */
static bool waits_for_unwind(const struct query_plan *plan)
{
	for (size_t i = 0; i < plan->conditions_count; i++)
		if (plan->unwound && plan->conditions[i].field == plan->unwound)
			return true;
	return false;
}

/* But for the `late` conditions that come behind it. */
static void add_source(struct query_text *text, struct dice *dice, const struct query_plan *plan, size_t late)
{
	size_t count = plan->conditions_count - late;
	size_t early = plan->unwound || plan->joined ? way(dice, (unsigned)count + 1) : 0;
	if (waits_for_unwind(plan))
		early = 0;
	bool join_first = way(dice, 2);
	add_matches(text, dice, plan->conditions, early);
	if (plan->joined && join_first)
		add_lookup(text, dice);
	if (plan->unwound)
		add_unwind(text, dice, plan);
	if (plan->joined && !join_first)
		add_lookup(text, dice);
	add_matches(text, dice, plan->conditions + early, count - early);
}

/* Without a cut a condition may stand behind the order as well. */
static size_t late_conditions(const struct query_plan *plan, struct dice *dice)
{
	if (plan->late)
		return 1;
	bool cut = plan->limit > 0 || plan->skip > 0;
	return !cut && plan->conditions_count > 0 && way(dice, 3) == 1 ? 1 : 0;
}

/* --- order --- */

/* Whether the writer orders what the plan leaves open, and would be right whichever rows it takes. */
static bool breaks_ties(const struct query_plan *plan, struct dice *dice)
{
	return plan->breaks_ties && !plan->total && (plan->keys_count > 0 || plan->limit > 0) && way(dice, 2);
}

static void put_order_keys(struct buf *to, struct dice *dice, const struct query_plan *plan, bool breaks)
{
	buf_append_char(to, '{');
	for (size_t i = 0; i < plan->keys_count; i++) {
		const struct query_key *key = &plan->keys[i];
		char output[16];
		snprintf(output, sizeof output, "o%d", key->output);
		buf_printf(to, "%s\"%s\": %d", i ? ", " : "",
			   key->field	     ? key->field->path
			   : key->output < 0 ? "_id"
					     : output,
			   key->descending ? -1 : 1);
	}
	if (breaks)
		buf_printf(to, "%s\"_id\": %d", plan->keys_count > 0 ? ", " : "", way(dice, 2) ? -1 : 1);
	buf_append_char(to, '}');
}

static void add_order(struct query_text *text, struct dice *dice, const struct query_plan *plan)
{
	bool breaks = breaks_ties(plan, dice);
	if (plan->keys_count > 0 || breaks) {
		begin_stage(text, "$sort");
		put_order_keys(&text->pipeline, dice, plan, breaks);
		end_stage(text);
	}
	if (!plan->limit_first)
		add_number_stage(text, "$skip", plan->skip);
	add_number_stage(text, "$limit", plan->limit);
	if (plan->limit_first)
		add_number_stage(text, "$skip", plan->skip);
}

static void add_late(struct query_text *text, struct dice *dice, const struct query_plan *plan, size_t late)
{
	add_matches(text, dice, plan->conditions + plan->conditions_count - late, late);
}

/* --- rows --- */

static void put_between(struct buf *to, struct dice *dice, const char *path, int number)
{
	bool swapped = way(dice, 2);
	buf_append_text(to, "{\"$and\": [");
	for (int i = 0; i < 2; i++) {
		buf_append_text(to, i ? ", " : "");
		if ((i == 0) == swapped)
			buf_printf(to, "{\"$lte\": [\"$%s\", %d]}", path, number + 4);
		else if (way(dice, 2))
			buf_printf(to, "{\"$lt\": [%d, \"$%s\"]}", number, path);
		else
			buf_printf(to, "{\"$gt\": [\"$%s\", %d]}", path, number);
	}
	buf_append_text(to, "]}");
}

static void put_computed(struct buf *to, struct dice *dice, const struct query_output *output)
{
	const char *path = output->field->path;
	struct buf constant = BUF_INIT;
	put_number(&constant, dice, 4 * output->constant);
	bool second = way(dice, 2);
	switch (output->computing) {
	case PLAIN:
		buf_printf(to, "\"$%s\"", path);
		break;
	case ADD:
	case MULTIPLY:
		buf_printf(to, "{\"%s\": [", output->computing == ADD ? "$add" : "$multiply");
		if (second)
			buf_printf(to, "%s, \"$%s\"]}", constant.data, path);
		else
			buf_printf(to, "\"$%s\", %s]}", path, constant.data);
		break;
	case SUBTRACT:
		buf_printf(to, "{\"$subtract\": [\"$%s\", %s]}", path, constant.data);
		break;
	case CHOOSE:
		if (second)
			buf_printf(to,
				   "{\"$cond\": {\"then\": \"high\", \"if\": {\"$lt\": [%s, \"$%s\"]}, "
				   "\"else\": "
				   "\"low\"}}",
				   constant.data, path);
		else
			buf_printf(
				to,
				"{\"$cond\": [{\"$gt\": [\"$%s\", %s]}, \"high\", {\"$literal\": \"low\"}]}",
				path, constant.data);
		break;
	case BETWEEN:
		put_between(to, dice, path, output->constant);
		break;
	case OTHERWISE:
		buf_printf(to, "{\"$ifNull\": [\"$%s\", %s]}", path, constant.data);
		break;
	case UPPER:
		buf_printf(to, second ? "{\"$toUpper\": [\"$%s\"]}" : "{\"$toUpper\": \"$%s\"}", path);
		break;
	case YEAR:
		buf_printf(to, second ? "{\"$dayOfMonth\": [\"$%s\"]}" : "{\"$dayOfMonth\": \"$%s\"}", path);
		break;
	case LENGTH:
		buf_printf(to, second ? "{\"$size\": [\"$%s\"]}" : "{\"$size\": \"$%s\"}", path);
		break;
	case CONSTANT:
		buf_printf(to, "{\"$literal\": %s}", constant.data);
		break;
	}
	buf_free(&constant);
}

static void add_name(struct query_text *text, const char *name)
{
	snprintf(text->names[text->names_count++], sizeof text->names[0], "%.*s", (int)strcspn(name, "."),
		 name);
}

/* How many of the outputs can be had by naming their fields. */
static bool all_plain(const struct query_plan *plan)
{
	for (size_t i = 0; i < plan->outputs_count; i++)
		if (plan->outputs[i].computing != PLAIN)
			return false;
	return true;
}

static void put_id_switch(struct buf *to, struct dice *dice, const struct query_plan *plan)
{
	if (!plan->id_shown)
		buf_append_text(to, way(dice, 2) ? "\"_id\": false, " : "\"_id\": 0, ");
	else if (way(dice, 2))
		buf_append_text(to, "\"_id\": 1, ");
}

/* One that stays below another field, or that the writer leaves its name. */
static bool keeps_name(struct dice *dice, const struct query_output *output)
{
	return output->computing == PLAIN && (output->field->inner || way(dice, 2) == 0);
}

/* A projection; `kept`: of fields alone, as a find has it too. Computed fields get names of their own, which
 * `added` has already computed, or not. */
static void put_projection(struct buf *to, struct query_text *text, struct dice *dice,
			   const struct query_plan *plan, bool kept, const bool *added)
{
	size_t first = way(dice, (unsigned)plan->outputs_count), count = plan->outputs_count;
	char name[8];
	buf_append_char(to, '{');
	put_id_switch(to, dice, plan);
	text->names_count = 0;
	for (size_t i = 0; i < count; i++)
		add_name(text, plan->outputs[i].field->path);
	for (size_t i = 0; i < count; i++) {
		size_t index = (i + first) % count;
		const struct query_output *output = &plan->outputs[index];
		snprintf(name, sizeof name, "x%zu", index);
		buf_append_text(to, i ? ", " : "");
		if (!added[index] && (kept || keeps_name(dice, output))) {
			buf_printf(to, "\"%s\": %s", output->field->path, way(dice, 2) ? "true" : "1");
			continue;
		}
		buf_printf(to, "\"%s\": ", name);
		snprintf(text->names[index], sizeof text->names[0], "%s", name);
		if (added[index])
			buf_append_char(to, '1');
		else
			put_computed(to, dice, output);
	}
	if (plan->id_shown)
		add_name(text, "_id");
	buf_append_char(to, '}');
}

static void add_projection(struct query_text *text, struct dice *dice, const struct query_plan *plan,
			   bool kept)
{
	bool added[QUERY_OUTPUTS] = { false }, any = false;
	char name[8];
	for (size_t i = 0; i < plan->outputs_count && !kept; i++) {
		added[i] = way(dice, 3) == 1 && !plan->outputs[i].field->inner;
		if (!added[i])
			continue;
		if (!any)
			begin_stage(text, "$addFields");
		snprintf(name, sizeof name, "x%zu", i);
		buf_printf(&text->pipeline, "%s\"%s\": ", any ? ", " : "{", name);
		put_computed(&text->pipeline, dice, &plan->outputs[i]);
		any = true;
	}
	if (any) {
		buf_append_char(&text->pipeline, '}');
		end_stage(text);
	}
	begin_stage(text, "$project");
	put_projection(&text->pipeline, text, dice, plan, kept, added);
	end_stage(text);
}

/* Whether what is sorted by is among what comes out. */
static bool shows_keys(const struct query_plan *plan)
{
	for (size_t i = 0; i < plan->keys_count; i++) {
		bool shown = false;
		for (size_t j = 0; j < plan->outputs_count; j++)
			shown |= plan->outputs[j].field == plan->keys[i].field;
		if (!shown)
			return false;
	}
	return true;
}

static void write_row_pipeline(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	bool early =
		plan->shown_first || (!plan->late && all_plain(plan) && shows_keys(plan) && way(dice, 2));
	size_t late = early ? 0 : late_conditions(plan, dice);
	add_source(text, dice, plan, late);
	if (early)
		add_projection(text, dice, plan, all_plain(plan));
	add_order(text, dice, plan);
	add_late(text, dice, plan, late);
	if (!early)
		add_projection(text, dice, plan, false);
}

/* All fields, or all but one. */
static void write_whole_pipeline(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	size_t late = late_conditions(plan, dice);
	add_source(text, dice, plan, late);
	bool early = way(dice, 2) && plan->keys_count == 0 && late == 0;
	if (!early)
		add_order(text, dice, plan);
	add_late(text, dice, plan, late);
	if (!plan->id_shown) {
		begin_stage(text, "$project");
		buf_printf(&text->pipeline, "{\"%s\": %s}", plan->group->path, way(dice, 2) ? "false" : "0");
		end_stage(text);
	}
	if (early)
		add_order(text, dice, plan);
}

static void write_find(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	static const bool none[QUERY_OUTPUTS];
	text->skip = plan->skip;
	text->limit = plan->limit;
	put_filter(&text->filter, dice, plan->conditions, plan->conditions_count);
	bool breaks = breaks_ties(plan, dice);
	if (plan->keys_count > 0 || breaks)
		put_order_keys(&text->sort, dice, plan, breaks);
	if (plan->kind != ALL_FIELDS)
		put_projection(&text->projection, text, dice, plan, true, none);
	else if (!plan->id_shown)
		buf_printf(&text->projection, "{\"%s\": %s}", plan->group->path,
			   way(dice, 2) ? "false" : "0");
	text->finds_one = plan->kind == ONE && way(dice, 2) == 0;
}

/* --- groups --- */

static void put_accumulator(struct buf *to, struct dice *dice, const struct query_output *output)
{
	static const char *const names[] = { [SUM] = "$sum", [AVG] = "$avg", [MIN] = "$min", [MAX] = "$max" };
	const char *path = output->field->path;
	switch (output->accumulator) {
	case COUNT:
		buf_append_text(to, way(dice, 2) ? "{\"$sum\": {\"$literal\": 1}}" : "{\"$sum\": 1}");
		return;
	case SUM_ABOVE:
		buf_printf(to, "{\"$sum\": {\"$cond\": [");
		if (way(dice, 2))
			buf_printf(to, "{\"$lt\": [%d, \"$%s\"]}, 1, 0]}}", output->constant, path);
		else
			buf_printf(to, "{\"$gt\": [\"$%s\", %d]}, 1, 0]}}", path, output->constant);
		return;
	case SUM:
	case AVG:
	case MIN:
	case MAX:
		buf_printf(to, "{\"%s\": \"$%s\"}", names[output->accumulator], path);
		return;
	}
}

static void add_group_names(struct query_text *text, struct dice *dice, const struct query_plan *plan)
{
	char name[8];
	bool renamed = way(dice, 2);
	add_name(text, renamed ? "key" : "_id");
	if (renamed) {
		begin_stage(text, "$project");
		buf_append_text(&text->pipeline, "{\"_id\": 0, \"key\": \"$_id\"");
	}
	for (size_t i = 0; i < plan->outputs_count; i++) {
		bool other = renamed && way(dice, 2);
		snprintf(name, sizeof name, other ? "x%zu" : "o%zu", i);
		add_name(text, name);
		if (renamed)
			buf_printf(&text->pipeline, other ? ", \"%s\": \"$o%zu\"" : ", \"%s\": 1", name, i);
	}
	if (!renamed)
		return;
	buf_append_char(&text->pipeline, '}');
	end_stage(text);
}

static void write_group(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	size_t first = way(dice, (unsigned)plan->outputs_count), count = plan->outputs_count;
	add_source(text, dice, plan, 0);
	begin_stage(text, "$group");
	buf_printf(&text->pipeline, "{\"_id\": \"$%s\"", plan->group->path);
	for (size_t i = 0; i < count; i++) {
		buf_printf(&text->pipeline, ", \"o%zu\": ", (i + first) % count);
		put_accumulator(&text->pipeline, dice, &plan->outputs[(i + first) % count]);
	}
	buf_append_char(&text->pipeline, '}');
	end_stage(text);
	add_order(text, dice, plan);
	add_group_names(text, dice, plan);
}

static void write_count(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	add_name(text, "n");
	if (way(dice, 2) == 0) {
		text->counts = true;
		put_filter(&text->filter, dice, plan->conditions, plan->conditions_count);
		return;
	}
	text->aggregates = true;
	add_source(text, dice, plan, 0);
	if (way(dice, 2)) {
		begin_stage(text, "$count");
		buf_append_text(&text->pipeline, "\"n\"");
	} else {
		begin_stage(text, "$group");
		buf_append_text(&text->pipeline, "{\"_id\": null, \"n\": {\"$sum\": 1}}");
		end_stage(text);
		begin_stage(text, "$project");
		buf_append_text(&text->pipeline, "{\"_id\": 0}");
	}
	end_stage(text);
}

static void write_sorted_count(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	add_name(text, "_id");
	add_name(text, "count");
	add_source(text, dice, plan, 0);
	if (way(dice, 2) == 0) {
		begin_stage(text, "$sortByCount");
		buf_printf(&text->pipeline, "\"$%s\"", plan->group->path);
		end_stage(text);
		return;
	}
	begin_stage(text, "$group");
	buf_printf(&text->pipeline, "{\"_id\": \"$%s\", \"count\": {\"$sum\": 1}}", plan->group->path);
	end_stage(text);
	begin_stage(text, "$sort");
	buf_append_text(&text->pipeline, "{\"count\": -1}");
	end_stage(text);
}

static void write_distinct(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	if (way(dice, 2) == 0) {
		text->key = plan->group->path;
		add_name(text, plan->group->path);
		put_filter(&text->filter, dice, plan->conditions, plan->conditions_count);
		return;
	}
	text->aggregates = true;
	add_source(text, dice, plan, 0);
	if (plan->group->kind == LIST) {
		begin_stage(text, "$unwind");
		buf_printf(&text->pipeline, "\"$%s\"", plan->group->path);
		end_stage(text);
	}
	begin_stage(text, "$group");
	buf_printf(&text->pipeline, "{\"_id\": \"$%s\"}", plan->group->path);
	end_stage(text);
	add_group_names(text, dice, plan);
}

/* --- texts --- */

static void write_parts(const struct query_plan *plan, struct dice *dice, struct query_text *text)
{
	bool finds = (plan->kind == ROWS || plan->kind == ALL_FIELDS || plan->kind == ONE) &&
		     !plan->unwound && !plan->joined && !plan->late && !plan->limit_first &&
		     !plan->shown_first && (plan->kind == ALL_FIELDS || all_plain(plan)) && way(dice, 2) == 0;
	if (finds) {
		write_find(plan, dice, text);
	} else if (plan->kind == COUNTED) {
		write_count(plan, dice, text);
	} else if (plan->kind == DISTINCT) {
		write_distinct(plan, dice, text);
	} else {
		text->aggregates = true;
		if (plan->kind == GROUP)
			write_group(plan, dice, text);
		else if (plan->kind == SORTED_COUNT)
			write_sorted_count(plan, dice, text);
		else if (plan->kind == ALL_FIELDS)
			write_whole_pipeline(plan, dice, text);
		else
			write_row_pipeline(plan, dice, text);
	}
}

void query_write(const struct query_plan *plan, struct dice *dice, struct query_text *ret_text)
{
	*ret_text = (struct query_text){ .collection = plan->orders ? "orders" : "items" };
	buf_append_char(&ret_text->pipeline, '[');
	write_parts(plan, dice, ret_text);
	buf_append_char(&ret_text->pipeline, ']');
}

void query_text_free(struct query_text *text)
{
	buf_free(&text->filter);
	buf_free(&text->projection);
	buf_free(&text->sort);
	buf_free(&text->pipeline);
}

bson_t *query_command(const struct query_text *text)
{
	struct buf json = BUF_INIT;
	bson_error_t error = { 0 };
	const char *verb = text->aggregates ? "aggregate"
			   : text->counts   ? "count"
			   : text->key	    ? "distinct"
					    : "find";
	buf_printf(&json, "{\"%s\": \"%s\"", verb, text->collection);
	if (text->key)
		buf_printf(&json, ", \"key\": \"%s\"", text->key);
	if (text->aggregates)
		buf_printf(&json, ", \"pipeline\": %s, \"cursor\": {}", text->pipeline.data);
	else
		buf_printf(&json, ", \"%s\": %s", text->counts || text->key ? "query" : "filter",
			   text->filter.data);
	if (text->projection.len > 0)
		buf_printf(&json, ", \"projection\": %s", text->projection.data);
	if (text->sort.len > 0)
		buf_printf(&json, ", \"sort\": %s", text->sort.data);
	if (text->skip > 0)
		buf_printf(&json, ", \"skip\": %d", text->skip);
	if (text->limit > 0)
		buf_printf(&json, ", \"limit\": %d", text->limit);
	buf_append_char(&json, '}');
	bson_t *command = bson_new_from_json((const uint8_t *)json.data, (ssize_t)json.len, &error);
	if (!command)
		fail_msg("%s: %s", json.data, error.message);
	buf_free(&json);
	return command;
}
