#include "sql/mongodb/canonical.h"

#include "sql/lex/identifier.h"
#include "sql/lex/texts.h"
#include "sql/query/canonical.h"

#define MAX_COMPARED 10000 /* pairs of a sort's key and a projection's field */
#define MAX_MOVES    32	   /* of a stage over projections */

/* A stage on its way into the form. */
struct mongodb_stage {
	str_t name; /* the short form of several that mean the same */
	str_t text;
	struct texts fields;		     /* of a plain projection: those that come out, sorted */
	bool plain;			     /* it only takes fields over */
	const struct mongodb_value *operand; /* of a $sort */
	struct texts conditions;	     /* of a $match */
};

struct mongodb_form {
	struct arena *arena;
	bool masked;
	bool outermost;
	struct mongodb_stage *stages;
	size_t count, capacity;
	struct texts *clauses; /* by enum sql_clause; NULL: nobody wants them */
};

static void add_item(struct mongodb_form *form, enum sql_clause clause, str_t text)
{
	if (form->clauses)
		texts_add(form->arena, &form->clauses[clause], text);
}

static void push(struct mongodb_form *form, struct mongodb_stage stage)
{
	ARENA_PUSH(form->arena, form->stages, form->count, form->capacity, stage);
}

static void push_text(struct mongodb_form *form, const char *name, str_t text)
{
	push(form, (struct mongodb_stage){ .name = str_from(name), .text = text });
}

static str_t literal(const struct mongodb_form *form, const struct mongodb_value *value)
{
	return mongodb_value_text(value, form->masked, form->arena);
}

static str_t expression(const struct mongodb_form *form, const struct mongodb_value *value)
{
	return mongodb_expression_text(value, form->masked, form->arena);
}

static str_t pair(const struct mongodb_form *form, str_t name, str_t value)
{
	return mongodb_pair(form->arena, mongodb_quote(name, form->arena), ": ", value);
}

/* --- filters --- */

/* Two filters behind each other are one, and before a $sort it is the same as behind it. */
static void push_match(struct mongodb_form *form, const struct mongodb_value *filter)
{
	struct texts conditions = { 0 };
	size_t at = form->count;
	mongodb_filter_texts(filter, form->masked, form->arena, &conditions);
	if (conditions.count == 0)
		return;
	for (size_t i = 0; i < conditions.count; i++)
		add_item(form, SQL_CLAUSE_WHERE, conditions.items[i]);
	while (at > 0 && str_is(form->stages[at - 1].name, "sort"))
		at--;
	if (at > 0 && str_is(form->stages[at - 1].name, "match")) {
		for (size_t i = 0; i < conditions.count; i++)
			texts_add(form->arena, &form->stages[at - 1].conditions, conditions.items[i]);
		return;
	}
	const struct mongodb_stage stage = { .name = STR("match"), .conditions = conditions };
	push(form, stage);
	memmove(&form->stages[at + 1], &form->stages[at], (form->count - 1 - at) * sizeof stage);
	form->stages[at] = stage;
}

/* --- projections --- */

static bool is_switch(const struct mongodb_value *value)
{
	return value->kind == MONGODB_BOOLEAN || value->kind == MONGODB_NUMBER;
}

struct projection {
	struct mongodb_form *form;
	struct texts items;
	struct texts fields;
	bool includes, excludes, computes;
	bool id_shown, id_hidden;
	bool id_parted; /* parts of _id are named */
	bool switches;	/* 1 and 0 say whether a field comes out; else they are values */
};

/* Whether one path is the other, or lies within it. */
static bool within(str_t path, str_t of)
{
	return path.len >= of.len && memcmp(path.ptr, of.ptr, of.len) == 0 &&
	       (path.len == of.len || path.ptr[of.len] == '.');
}

static void project_fields(struct projection *projection, str_t prefix, const struct mongodb_value *document);

static void project_field(struct projection *projection, str_t path, const struct mongodb_value *field)
{
	struct mongodb_form *form = projection->form;
	bool operators = mongodb_is_document(field) && field->first && field->first->key.len > 0 &&
			 field->first->key.ptr[0] == '$';
	if (mongodb_is_document(field) && field->first && !operators) {
		project_fields(projection, path, field);
	} else if (!projection->switches || !is_switch(field)) {
		projection->computes = true;
		texts_add(form->arena, &projection->items, pair(form, path, expression(form, field)));
	} else if (str_is(path, "_id")) {
		projection->id_shown = field->number != 0;
		projection->id_hidden = field->number == 0;
	} else {
		projection->id_parted |= within(path, STR("_id"));
		projection->includes |= field->number != 0;
		projection->excludes |= field->number == 0;
		texts_add(form->arena, &projection->fields, path);
		texts_add(form->arena, &projection->items,
			  mongodb_wrap(form->arena, field->number != 0 ? "+" : "-",
				       mongodb_quote(path, form->arena), ""));
	}
}

static void project_fields(struct projection *projection, str_t prefix, const struct mongodb_value *document)
{
	struct arena *arena = projection->form->arena;
	for (const struct mongodb_value *field = document->first; field; field = field->next)
		project_field(projection,
			      prefix.len == 0 ? field->key
					      : arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(prefix),
							     STR_ARG(field->key)),
			      field);
}

/* Where fields are named that come out, _id does unless it is said that it does not. */
static void settle_id(struct projection *projection)
{
	struct arena *arena = projection->form->arena;
	bool named = projection->includes || projection->computes;
	bool id_alone = !named && !projection->excludes && projection->id_shown;
	if (projection->id_hidden)
		texts_add(arena, &projection->items, STR("-'_id'"));
	else if (id_alone)
		texts_add(arena, &projection->items, STR("+'_id'"));
	if ((named || id_alone) && !projection->id_hidden && !projection->id_parted)
		texts_add(arena, &projection->fields, STR("_id"));
	else if (projection->id_hidden && !named)
		texts_add(arena, &projection->fields, STR("_id"));
	projection->excludes |= projection->id_hidden && !named;
}

static void push_projection(struct mongodb_form *form, const struct mongodb_value *document)
{
	struct projection projection = { .form = form, .switches = true };
	if (!mongodb_is_document(document) || !document->first)
		return;
	project_fields(&projection, STR(""), document);
	settle_id(&projection);
	texts_unique(&projection.items);
	for (size_t i = 0; i < projection.items.count; i++)
		add_item(form, SQL_CLAUSE_SELECT, projection.items.items[i]);
	push(form, (struct mongodb_stage){
			   .name = projection.excludes ? STR("exclude") : STR("project"),
			   .text = mongodb_join(form->arena, "project(", &projection.items, ")"),
			   .fields = projection.fields,
			   .plain = !projection.computes,
		   });
}

/* A projection with operators that find alone has, or reads in its own way: which fields come out besides
 * follows from their kinds and order. */
static bool is_of_find(const struct mongodb_value *projection)
{
	for (const struct mongodb_value *field = projection->first; field; field = field->next) {
		const struct mongodb_value *first = mongodb_is_document(field) ? field->first : NULL;
		if ((first && STR_IS_ANY(first->key, "$slice", "$meta", "$elemMatch")) ||
		    (field->key.len > 2 && strcmp(field->key.ptr + field->key.len - 2, ".$") == 0))
			return true;
	}
	return false;
}

static void push_find_projection(struct mongodb_form *form, const struct mongodb_value *projection)
{
	if (!mongodb_is_document(projection) || !is_of_find(projection)) {
		push_projection(form, projection);
		return;
	}
	str_t text = mongodb_wrap(form->arena, "find's ", literal(form, projection), "");
	add_item(form, SQL_CLAUSE_SELECT, text);
	push_text(form, "other", text);
}

static void push_added(struct mongodb_form *form, const struct mongodb_value *document)
{
	struct projection projection = { .form = form };
	if (mongodb_is_document(document))
		project_fields(&projection, STR(""), document);
	texts_unique(&projection.items);
	for (size_t i = 0; i < projection.items.count; i++)
		add_item(form, SQL_CLAUSE_SELECT, projection.items.items[i]);
	push_text(form, "add", mongodb_join(form->arena, "add(", &projection.items, ")"));
}

/* $unset names what $project leaves out. */
static void push_unset(struct mongodb_form *form, const struct mongodb_value *operand)
{
	struct texts items = { 0 }, fields = { 0 };
	const struct mongodb_value *name = mongodb_is_array(operand) ? operand->first : operand;
	for (; name; name = mongodb_is_array(operand) ? name->next : NULL) {
		if (!mongodb_is_text(name))
			continue;
		texts_add(form->arena, &fields, name->text);
		texts_add(form->arena, &items,
			  mongodb_wrap(form->arena, "-", mongodb_quote(name->text, form->arena), ""));
	}
	texts_unique(&items);
	for (size_t i = 0; i < items.count; i++)
		add_item(form, SQL_CLAUSE_SELECT, items.items[i]);
	push(form, (struct mongodb_stage){ .name = STR("exclude"),
					   .text = mongodb_join(form->arena, "project(", &items, ")"),
					   .fields = fields,
					   .plain = true });
}

/* Whether a projection leaves what is sorted by as it is. */
static bool keeps(const struct mongodb_stage *projection, const struct mongodb_value *sort)
{
	bool excludes = str_is(projection->name, "exclude");
	if (!projection->plain || projection->fields.count * sort->count > MAX_COMPARED)
		return false;
	for (const struct mongodb_value *key = sort->first; key; key = key->next) {
		bool found = false;
		for (size_t i = 0; i < projection->fields.count; i++)
			found |= excludes ? within(key->key, projection->fields.items[i]) ||
						    within(projection->fields.items[i], key->key)
					  : within(key->key, projection->fields.items[i]);
		if (found == excludes)
			return false;
	}
	return true;
}

static bool is_projection(const struct mongodb_stage *stage)
{
	return STR_IS_ANY(stage->name, "project", "exclude", "add");
}

/* A projection says the same behind what only orders and counts documents. */
static void push_behind_projections(struct mongodb_form *form, struct mongodb_stage stage)
{
	push(form, stage);
	size_t last = form->count - 1;
	for (size_t at = last; at > 0 && last - at < MAX_MOVES; at--) {
		struct mongodb_stage *before = &form->stages[at - 1];
		bool sort = str_is(stage.name, "sort");
		if (!is_projection(before) ||
		    (sort && (str_is(before->name, "add") || !keeps(before, stage.operand))))
			return;
		form->stages[at] = *before;
		*before = stage;
	}
}

/* --- the other stages --- */

static void push_sort(struct mongodb_form *form, const struct mongodb_value *sort)
{
	struct texts keys = { 0 };
	for (const struct mongodb_value *key = sort->first; key; key = key->next) {
		bool direction = key->kind == MONGODB_NUMBER;
		str_t text =
			pair(form, key->key,
			     direction ? (key->number < 0 ? STR("desc") : STR("asc")) : literal(form, key));
		texts_add(form->arena, &keys, text);
		add_item(form, SQL_CLAUSE_ORDER, text);
	}
	push_behind_projections(
		form, (struct mongodb_stage){ .name = STR("sort"),
					      .text = mongodb_join(form->arena, "sort(", &keys, ")"),
					      .operand = sort });
}

static void push_number(struct mongodb_form *form, const char *name, const struct mongodb_value *number)
{
	str_t text = mongodb_pair(form->arena, str_from(name), "",
				  mongodb_wrap(form->arena, "(", literal(form, number), ")"));
	add_item(form, SQL_CLAUSE_ORDER, text);
	push_behind_projections(form, (struct mongodb_stage){ .name = str_from(name), .text = text });
}

static void push_group(struct mongodb_form *form, const struct mongodb_value *group)
{
	struct texts items = { 0 };
	str_t id = STR("none");
	for (const struct mongodb_value *field = group->first; field; field = field->next) {
		str_t text = expression(form, field);
		if (str_is(field->key, "_id")) {
			id = text;
			add_item(form, SQL_CLAUSE_GROUP, text);
			continue;
		}
		texts_add(form->arena, &items, pair(form, field->key, text));
		add_item(form, SQL_CLAUSE_SELECT, pair(form, field->key, text));
	}
	texts_unique(&items);
	str_t open = arena_printf(form->arena, "group(" STR_FMT "; ", STR_ARG(id));
	push_text(form, "group", mongodb_join(form->arena, open.ptr, &items, ")"));
}

static str_t pipeline_text(struct mongodb_form *form, const struct mongodb_value *pipeline);

static str_t filter_text(struct mongodb_form *form, const struct mongodb_value *filter)
{
	struct texts conditions = { 0 };
	mongodb_filter_texts(filter, form->masked, form->arena, &conditions);
	texts_unique(&conditions);
	return mongodb_join(form->arena, "match(", &conditions, ")");
}

/* Operands by name, in any order; pipelines among them. */
static str_t named(struct mongodb_form *form, const struct mongodb_value *operand)
{
	struct texts parts = { 0 };
	if (!mongodb_is_document(operand))
		return expression(form, operand);
	for (const struct mongodb_value *child = operand->first; child; child = child->next) {
		bool pipeline = mongodb_is_array(child) && str_is(child->key, "pipeline");
		bool order = STR_IS_ANY(child->key, "let", "output", "sortBy");
		bool filter = STR_IS_ANY(child->key, "query", "restrictSearchWithMatch");
		texts_add(form->arena, &parts,
			  pair(form, child->key,
			       pipeline ? pipeline_text(form, child)
			       : filter ? filter_text(form, child)
			       : order	? literal(form, child)
					: expression(form, child)));
	}
	texts_sort(&parts);
	return mongodb_join(form->arena, "(", &parts, ")");
}

static void add_collection(struct mongodb_form *form, const struct mongodb_value *name)
{
	if (mongodb_is_text(name))
		add_item(form, SQL_CLAUSE_FROM, identifier_lower(name->text, form->arena));
}

static void push_join(struct mongodb_form *form, const struct mongodb_value *stage)
{
	struct mongodb_value *from = mongodb_member(stage, "from");
	add_collection(form, from ? from : mongodb_is_text(stage) ? stage : mongodb_member(stage, "coll"));
	str_t text = mongodb_pair(form->arena, stage->key, "", named(form, stage));
	add_item(form, SQL_CLAUSE_JOIN, text);
	push_text(form, "join", text);
}

static void push_facet(struct mongodb_form *form, const struct mongodb_value *stage)
{
	struct texts parts = { 0 };
	for (const struct mongodb_value *pipeline = stage->first; pipeline; pipeline = pipeline->next)
		texts_add(form->arena, &parts, pair(form, pipeline->key, pipeline_text(form, pipeline)));
	texts_sort(&parts);
	str_t text = mongodb_join(form->arena, "facet(", &parts, ")");
	add_item(form, SQL_CLAUSE_SELECT, text);
	push_text(form, "facet", text);
}

/* A path alone, or one with what makes no difference left out. */
static void push_unwind(struct mongodb_form *form, const struct mongodb_value *stage)
{
	const struct mongodb_value *path = mongodb_member(stage, "path");
	const struct mongodb_value *keep = mongodb_member(stage, "preserveNullAndEmptyArrays");
	const struct mongodb_value *index = mongodb_member(stage, "includeArrayIndex");
	path = path ? path : stage;
	bool kept = keep && keep->number != 0;
	str_t text = mongodb_wrap(form->arena, kept ? "unwind outer(" : "unwind(",
				  mongodb_quote(path->text, form->arena), ")");
	push_text(form, "unwind",
		  index ? mongodb_pair(form->arena, text, " at ", literal(form, index)) : text);
}

static void push_other(struct mongodb_form *form, const struct mongodb_value *stage)
{
	str_t text = mongodb_pair(form->arena, stage->key, "", named(form, stage));
	bool groups = STR_IS_ANY(stage->key, "$bucket", "$bucketAuto", "$sortByCount");
	add_item(form, groups ? SQL_CLAUSE_GROUP : SQL_CLAUSE_SELECT, text);
	push_text(form, str_is(stage->key, "$sortByCount") ? "sorts" : "other", text);
}

static void push_stage(struct mongodb_form *form, const struct mongodb_value *stage)
{
	str_t name = stage->key;
	if (str_is(name, "$match"))
		push_match(form, stage);
	else if (str_is(name, "$project"))
		push_projection(form, stage);
	else if (STR_IS_ANY(name, "$addFields", "$set"))
		push_added(form, stage);
	else if (str_is(name, "$unset") && (mongodb_is_text(stage) || mongodb_is_array(stage)))
		push_unset(form, stage);
	else if (str_is(name, "$sort"))
		push_sort(form, stage);
	else if (str_is(name, "$limit"))
		push_number(form, "limit", stage);
	else if (str_is(name, "$skip"))
		push_number(form, "skip", stage);
	else if (str_is(name, "$group"))
		push_group(form, stage);
	else if (STR_IS_ANY(name, "$lookup", "$unionWith", "$graphLookup"))
		push_join(form, stage);
	else if (str_is(name, "$facet"))
		push_facet(form, stage);
	else if (str_is(name, "$unwind"))
		push_unwind(form, stage);
	else if (str_is(name, "$replaceRoot") && mongodb_member(stage, "newRoot"))
		push_text(form, "root",
			  mongodb_wrap(form->arena, "root(",
				       expression(form, mongodb_member(stage, "newRoot")), ")"));
	else if (str_is(name, "$replaceWith"))
		push_text(form, "root", mongodb_wrap(form->arena, "root(", expression(form, stage), ")"));
	else
		push_other(form, stage);
}

static void push_stages(struct mongodb_form *form, const struct mongodb_value *pipeline)
{
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next) {
		if (mongodb_is_document(stage) && stage->count == 1)
			push_stage(form, stage->first);
		else
			push_text(form, "other", literal(form, stage));
	}
}

static str_t stages_text(struct mongodb_form *form)
{
	struct texts texts = { 0 };
	for (size_t i = 0; i < form->count; i++) {
		struct mongodb_stage *stage = &form->stages[i];
		if (str_is(stage->name, "match")) {
			texts_unique(&stage->conditions);
			stage->text = mongodb_join(form->arena, "match(", &stage->conditions, ")");
		}
		texts_add(form->arena, &texts, stage->text);
	}
	return mongodb_join(form->arena, "[", &texts, "]");
}

/* The items of its clauses are the outer one's, too. */
static str_t pipeline_text(struct mongodb_form *form, const struct mongodb_value *pipeline)
{
	struct mongodb_form inner = { .arena = form->arena,
				      .masked = form->masked,
				      .clauses = form->clauses };
	push_stages(&inner, pipeline);
	return stages_text(&inner);
}

/* --- commands --- */

static void push_find(struct mongodb_form *form, const struct mongodb_command *command)
{
	static const struct mongodb_value one = {
		.kind = MONGODB_NUMBER, .number = 1, .type = "int", .text = { "1", 1 }
	};
	if (command->filter)
		push_match(form, command->filter);
	if (mongodb_is_document(command->sort) && command->sort->first)
		push_sort(form, command->sort);
	else if (command->sort)
		push_text(form, "other",
			  mongodb_wrap(form->arena, "sort ", literal(form, command->sort), ""));
	if (command->skip && command->skip->number != 0)
		push_number(form, "skip", command->skip);
	if (command->one)
		push_number(form, "limit", &one);
	else if (command->limit && command->limit->number != 0)
		push_number(form, "limit", command->limit);
	if (command->projection)
		push_find_projection(form, command->projection);
}

static void push_command(struct mongodb_form *form, const struct mongodb_command *command)
{
	if (str_present(command->collection))
		add_item(form, SQL_CLAUSE_FROM, identifier_lower(command->collection, form->arena));
	if (command->pipeline)
		push_stages(form, command->pipeline);
	else
		push_find(form, command);
	if (command->verb == MONGODB_COUNT)
		push_text(form, "count", command->estimated ? STR("estimated count") : STR("count"));
	if (command->verb == MONGODB_DISTINCT && mongodb_is_text(command->key))
		push_text(form, "distinct",
			  mongodb_wrap(form->arena, "distinct(",
				       mongodb_quote(command->key->text, form->arena), ")"));
	if ((command->verb == MONGODB_COUNT || command->verb == MONGODB_DISTINCT) && form->count > 0)
		add_item(form, SQL_CLAUSE_SELECT, form->stages[form->count - 1].text);
}

/* What changes the result without being a stage. */
static str_t command_text(struct mongodb_form *form, const struct mongodb_command *command)
{
	static const char *const counted[] = { "collation", "min",	    "max",	   "let",
					       "returnKey", "showRecordId", "singleBatch", "readConcern" };
	str_t name = str_present(command->collection) ? mongodb_quote(command->collection, form->arena)
						      : STR("none");
	str_t text = mongodb_pair(form->arena, name, " ", stages_text(form));
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
		const struct mongodb_value *option = mongodb_member(command->options, counted[i]);
		if (option)
			text = mongodb_pair(form->arena,
					    mongodb_pair(form->arena, text, " ", str_from(counted[i])), " ",
					    literal(form, option));
	}
	const struct mongodb_value *hint = mongodb_member(command->options, "hint");
	if (mongodb_member(hint, "$natural"))
		text = mongodb_pair(form->arena, text, " hint ", literal(form, hint));
	if (str_present(command->database))
		text = mongodb_pair(form->arena, mongodb_quote(command->database, form->arena), ".", text);
	return command->explained ? mongodb_wrap(form->arena, "explained ", text, "") : text;
}

static void set_order(const struct mongodb_form *form, struct sql_analysis *analysis)
{
	const struct mongodb_value *sort = NULL;
	for (size_t i = 0; i < form->count; i++) {
		str_t name = form->stages[i].name;
		bool anew = STR_IS_ANY(name, "group", "other", "facet", "count", "distinct", "sorts");
		if (anew)
			sort = NULL;
		else if (str_is(name, "sort"))
			sort = form->stages[i].operand;
		/* the last that is done: what comes behind it makes its choice an inner one */
		if (anew || STR_IS_ANY(name, "sort", "match", "unwind", "limit"))
			analysis->limited = str_is(name, "limit");
	}
	analysis->ordered = sort != NULL;
	analysis->order_keys = ARENA_ARRAY(form->arena, struct sql_order_key, sort ? sort->count : 0);
	for (const struct mongodb_value *key = sort ? sort->first : NULL; key; key = key->next)
		analysis->order_keys[analysis->order_keys_count++] =
			(struct sql_order_key){ .column = -1,
						.descending = key->number<0, .nulls_first = key->number> 0 };
}

#define MAX_COST ((size_t)32 << 20)

/* Bounds the bytes that the form is made of: each name and value stands in the texts of all that is around
 * it, and beside each condition and projected field stands its whole path. */
static size_t cost_of(const struct mongodb_value *value, size_t path, size_t depth)
{
	size_t within_path = path + value->key.len;
	size_t cost = (within_path + value->text.len + 16) * (depth + 2);
	for (const struct mongodb_value *child = value->first; child && cost < MAX_COST; child = child->next)
		cost += cost_of(child, within_path, depth + 1);
	return cost;
}

bool mongodb_form_is_bounded(const struct mongodb_command *command)
{
	const struct mongodb_value *const parts[] = { command->filter,	 command->projection, command->sort,
						      command->pipeline, command->options,    command->key };
	size_t cost = 0;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		cost += parts[i] ? cost_of(parts[i], 0, 0) : 0;
	return cost < MAX_COST;
}

void mongodb_canonical(const struct mongodb_command *command, struct arena *arena,
		       struct sql_analysis *analysis)
{
	struct texts clauses[SQL_CLAUSE_COUNT_] = { { 0 } };
	struct mongodb_form form = { .arena = arena, .clauses = clauses };
	struct mongodb_form masked = { .arena = arena, .masked = true };
	push_command(&form, command);
	push_command(&masked, command);
	analysis->canonical = command_text(&form, command);
	analysis->shape = query_shape_name(command_text(&masked, command), arena);
	set_order(&form, analysis);
	if (clauses[SQL_CLAUSE_SELECT].count == 0)
		texts_add(arena, &clauses[SQL_CLAUSE_SELECT], STR("*"));
	for (size_t i = 0; i < SQL_CLAUSE_COUNT_; i++) {
		texts_sort(&clauses[i]);
		analysis->clauses[i] = (struct sql_items){ clauses[i].items, clauses[i].count };
	}
}
