#include "sql/mongodb/required.h"

#include "sql/query/required.h"

/* A collection that is read; its address tells it from others. */
struct required_read {
	str_t name;
	int64_t offset;
	struct required_read *next;
};

/* What a variable of an inner pipeline stands for: a field of a read outside, or a value that is given. */
struct required_variable {
	str_t name;
	struct required_end end; /* without an item: given */
	const struct required_variable *outer;
};

struct requirer {
	struct required required;
	struct arena *arena;
	struct required_read *reads;
	const struct required_variable *variables; /* in scope, the innermost first */
};

/* Documents on their way through a pipeline. */
struct required_flow {
	const struct required_read *read; /* whose they are; NULL: they are made, or changed */
	bool counts;			  /* what a condition refuses is refused of the read as a whole */
	const struct mongodb_value *shadows[64]; /* stages that have given fields another meaning */
	size_t shadows_count;
};

static void walk(struct requirer *requirer, struct required_flow flow, const struct mongodb_value *pipeline);

static struct required_read *add_read(struct requirer *requirer, str_t name, size_t offset)
{
	struct required_read *read = ARENA_NEW(requirer->arena, struct required_read);
	*read = (struct required_read){ name, (int64_t)offset, requirer->reads };
	requirer->reads = read;
	return read;
}

/* --- values --- */

static bool is_given(const struct mongodb_value *value)
{
	switch (value->kind) {
	case MONGODB_BOOLEAN:
	case MONGODB_NUMBER:
	case MONGODB_STRING:
	case MONGODB_OBJECT_ID:
	case MONGODB_DATE:
	case MONGODB_NOW:
	case MONGODB_OTHER:
		return true;
	case MONGODB_NULL:
	case MONGODB_REGEX:
	case MONGODB_DOCUMENT:
	case MONGODB_ARRAY:
		break;
	}
	return false;
}

static bool are_given(const struct mongodb_value *list)
{
	for (const struct mongodb_value *value = list->first; value; value = value->next)
		if (!is_given(value))
			return false;
	return mongodb_is_array(list) && list->first;
}

/* What a field of a filter is held against. */
static bool gives(const struct mongodb_value *condition)
{
	const struct mongodb_value *equal = mongodb_member(condition, "$eq");
	const struct mongodb_value *any = mongodb_member(condition, "$in");
	return is_given(condition) || (equal && is_given(equal)) || (any && are_given(any));
}

static str_t first_part(str_t path)
{
	const char *dot = memchr(path.ptr, '.', path.len);
	return (str_t){ path.ptr, dot ? (size_t)(dot - path.ptr) : path.len };
}

/* Whether a stage before has given the field another meaning. */
static bool is_shadowed(const struct required_flow *flow, str_t path)
{
	str_t part = first_part(path);
	for (size_t i = 0; i < flow->shadows_count; i++) {
		const struct mongodb_value *shadow = flow->shadows[i];
		if (mongodb_is_text(shadow) && str_equal(first_part(shadow->text), part))
			return true;
		for (const struct mongodb_value *field = shadow->first; field; field = field->next)
			if (str_equal(first_part(field->key), part))
				return true;
	}
	return false;
}

static void add_shadow(struct required_flow *flow, const struct mongodb_value *shadow)
{
	if (flow->shadows_count == sizeof flow->shadows / sizeof *flow->shadows)
		flow->read = NULL;
	else if (shadow)
		flow->shadows[flow->shadows_count++] = shadow;
}

/* A field of the documents as the collection has them, or nothing. */
static struct required_end end_of(const struct required_flow *flow, str_t path)
{
	bool own = flow->read && path.len > 0 && !is_shadowed(flow, path);
	return own ? (struct required_end){ flow->read, path } : (struct required_end){ 0 };
}

/* --- conditions --- */

/* One side of $eq in an expression. `ret_given`: it is a value. */
static struct required_end side_of(const struct requirer *requirer, const struct required_flow *flow,
				   const struct mongodb_value *side, bool *ret_given)
{
	const struct mongodb_value *literal = mongodb_member(side, "$literal");
	*ret_given = is_given(literal ? literal : side);
	if (!mongodb_is_text(side) || side->text.len == 0 || side->text.ptr[0] != '$')
		return (struct required_end){ 0 };
	*ret_given = false;
	if (side->text.len < 2 || side->text.ptr[1] != '$')
		return end_of(flow, (str_t){ side->text.ptr + 1, side->text.len - 1 });
	str_t name = { side->text.ptr + 2, side->text.len - 2 };
	const struct required_variable *variable = requirer->variables;
	while (variable && !str_equal(variable->name, name))
		variable = variable->outer;
	*ret_given = variable && !variable->end.item;
	return variable ? variable->end : (struct required_end){ 0 };
}

static void take_equal(struct requirer *requirer, const struct required_flow *flow,
		       const struct mongodb_value *sides)
{
	if (!mongodb_is_array(sides) || sides->count != 2)
		return;
	bool left_given, right_given;
	struct required_end left = side_of(requirer, flow, sides->first, &left_given);
	struct required_end right = side_of(requirer, flow, sides->last, &right_given);
	if (left.item && right_given)
		required_given(&requirer->required, left);
	if (right.item && left_given)
		required_given(&requirer->required, right);
	if (!left.item || !right.item)
		return;
	if (left.item == flow->read)
		required_follows(&requirer->required, left, right);
	if (right.item == flow->read)
		required_follows(&requirer->required, right, left);
}

static void take_expression(struct requirer *requirer, const struct required_flow *flow,
			    const struct mongodb_value *expression)
{
	const struct mongodb_value *all = mongodb_member(expression, "$and");
	const struct mongodb_value *equal = mongodb_member(expression, "$eq");
	if (equal)
		take_equal(requirer, flow, equal);
	for (const struct mongodb_value *part = all ? all->first : NULL; part; part = part->next)
		take_expression(requirer, flow, part);
}

static void take_filter(struct requirer *requirer, const struct required_flow *flow,
			const struct mongodb_value *filter)
{
	if (!flow->read || !mongodb_is_document(filter))
		return;
	for (const struct mongodb_value *field = filter->first; field; field = field->next) {
		struct required_end end = end_of(flow, field->key);
		if (str_is(field->key, "$and"))
			for (const struct mongodb_value *part = field->first; part; part = part->next)
				take_filter(requirer, flow, part);
		else if (str_is(field->key, "$expr"))
			take_expression(requirer, flow, field);
		else if (end.item && field->key.ptr[0] != '$' && gives(field))
			required_given(&requirer->required, end);
	}
}

/* --- stages --- */

/* {let: {name: …}, pipeline: […]} on the documents of another collection. */
static void walk_inner(struct requirer *requirer, const struct required_flow *outer,
		       const struct required_read *read, const struct mongodb_value *stage)
{
	const struct required_variable *before = requirer->variables;
	const struct mongodb_value *let = mongodb_member(stage, "let");
	const struct mongodb_value *pipeline = mongodb_member(stage, "pipeline");
	for (const struct mongodb_value *binding = let ? let->first : NULL; binding;
	     binding = binding->next) {
		bool given;
		struct required_end end = side_of(requirer, outer, binding, &given);
		struct required_variable *variable = ARENA_NEW(requirer->arena, struct required_variable);
		if (!given && !end.item) /* of nothing that is known */
			end.item = variable;
		*variable = (struct required_variable){ binding->key, end, requirer->variables };
		requirer->variables = variable;
	}
	if (mongodb_is_array(pipeline))
		walk(requirer, (struct required_flow){ .read = read, .counts = true }, pipeline);
	requirer->variables = before;
}

static void look_up(struct requirer *requirer, const struct required_flow *flow,
		    const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_member(stage, "from");
	const struct mongodb_value *local = mongodb_member(stage, "localField");
	const struct mongodb_value *foreign = mongodb_member(stage, "foreignField");
	struct required_read *read =
		mongodb_is_text(from) ? add_read(requirer, from->text, from->offset) : NULL;
	if (read && mongodb_is_text(local) && mongodb_is_text(foreign)) {
		struct required_end end = end_of(flow, local->text);
		if (end.item)
			required_follows(&requirer->required, (struct required_end){ read, foreign->text },
					 end);
	}
	walk_inner(requirer, flow, read, stage);
}

static void unite(struct requirer *requirer, const struct required_flow *flow,
		  const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_is_text(stage) ? stage : mongodb_member(stage, "coll");
	struct required_read *read =
		mongodb_is_text(from) ? add_read(requirer, from->text, from->offset) : NULL;
	if (mongodb_is_document(stage))
		walk_inner(requirer, flow, read, stage);
}

static void follow_links(struct requirer *requirer, const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_member(stage, "from");
	const struct mongodb_value *only = mongodb_member(stage, "restrictSearchWithMatch");
	if (!mongodb_is_text(from))
		return;
	const struct required_flow flow = { .read = add_read(requirer, from->text, from->offset),
					    .counts = true };
	take_filter(requirer, &flow, only);
}

/* Each part reads the documents on its own: what one refuses, the others still have. */
static void split(struct requirer *requirer, struct required_flow flow, const struct mongodb_value *stage)
{
	flow.counts = false;
	for (const struct mongodb_value *pipeline = stage->first; pipeline; pipeline = pipeline->next)
		walk(requirer, flow, pipeline);
}

static void take_stage(struct requirer *requirer, struct required_flow *flow,
		       const struct mongodb_value *stage)
{
	str_t name = stage->key;
	if (str_is(name, "$match")) {
		if (flow->counts)
			take_filter(requirer, flow, stage);
	} else if (str_is(name, "$lookup")) {
		look_up(requirer, flow, stage);
		add_shadow(flow, mongodb_member(stage, "as"));
	} else if (str_is(name, "$graphLookup")) {
		follow_links(requirer, stage);
		add_shadow(flow, mongodb_member(stage, "as"));
	} else if (str_is(name, "$unionWith")) {
		unite(requirer, flow, stage);
		flow->read = NULL;
	} else if (STR_IS_ANY(name, "$addFields", "$set")) {
		add_shadow(flow, stage);
	} else if (str_is(name, "$facet")) {
		split(requirer, *flow, stage);
		flow->read = NULL;
	} else if (STR_IS_ANY(name, "$limit", "$skip", "$sample", "$unwind")) {
		flow->counts = false;
	} else if (!str_is(name, "$sort")) {
		flow->read = NULL;
	}
}

static void walk(struct requirer *requirer, struct required_flow flow, const struct mongodb_value *pipeline)
{
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next)
		if (mongodb_is_document(stage) && stage->first)
			take_stage(requirer, &flow, stage->first);
}

void mongodb_check_required(const struct mongodb_command *command, const struct sql_request *request,
			    struct arena *arena, struct diagnostics *diagnostics)
{
	struct requirer requirer = { .arena = arena };
	struct required_views views = { 0 };
	if (!request->policy || request->policy->required_columns_count == 0)
		return;
	required_begin(&requirer.required, arena, request->policy, false, &views);
	struct required_flow flow = { .counts = true };
	if (str_present(command->collection))
		flow.read = add_read(&requirer, command->collection, command->collection_offset);
	take_filter(&requirer, &flow, command->filter);
	if (mongodb_is_array(command->pipeline))
		walk(&requirer, flow, command->pipeline);
	bool known = request->catalog && catalog_dialect(request->catalog) == SQL_MONGODB;
	for (const struct required_read *read = requirer.reads; read; read = read->next) {
		const struct required_relation relation = {
			.item = read,
			.name = read->name,
			.alias = read->name,
			.offset = read->offset,
			.relation = known ? catalog_relation_on_path(request->catalog, read->name) : NULL,
		};
		required_check(&requirer.required, &relation, NULL, NULL,
			       diagnostics); /* views have no text */
	}
}
