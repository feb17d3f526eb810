#include "sql/mongodb/resolve.h"

#include "sql/mongodb/check.h"

typedef void (*stage_fn)(struct mongodb_resolver *resolver, const struct mongodb_value *stage);

/* The documents at this place, to be changed. */
static struct mongodb_shape *own_root(struct mongodb_resolver *resolver)
{
	if (!resolver->root->owned)
		resolver->root = mongodb_shape_on(&resolver->shapes, resolver->root);
	return resolver->root;
}

static void set(struct mongodb_resolver *resolver, const struct mongodb_value *name,
		struct mongodb_shape *shape)
{
	if (mongodb_is_text(name) && name->text.len > 0)
		mongodb_shape_set(&resolver->shapes, own_root(resolver), name->text, shape);
}

static struct mongodb_shape *number(struct mongodb_resolver *resolver)
{
	return mongodb_shape_value(&resolver->shapes, CATALOG_NUMBER);
}

/* A field that is named as it is, with or without a dollar. */
static struct mongodb_shape *field_named(struct mongodb_resolver *resolver,
					 const struct mongodb_shape *documents,
					 const struct mongodb_value *name)
{
	if (!mongodb_is_text(name) || name->text.len == 0)
		return &resolver->shapes.open;
	return mongodb_resolve_path(resolver, documents, name->text, name->offset, NULL);
}

static void fields_named(struct mongodb_resolver *resolver, const struct mongodb_value *names)
{
	for (const struct mongodb_value *name = names ? names->first : NULL; name; name = name->next)
		(void)field_named(resolver, resolver->root, name);
}

/* New documents, which have no fields yet. */
static void begin(struct mongodb_resolver *resolver)
{
	resolver->root = mongodb_shape_on(&resolver->shapes, NULL);
}

/* --- projections --- */

static bool is_switch(const struct mongodb_value *field)
{
	return field->kind == MONGODB_NUMBER || field->kind == MONGODB_BOOLEAN;
}

/* Whether it names what goes, instead of what stays. */
static bool excludes(const struct mongodb_value *projection)
{
	bool all = true, id = false;
	for (const struct mongodb_value *field = projection->first; field; field = field->next) {
		bool off = is_switch(field) && field->number == 0;
		bool is_id = str_present(field->key) && str_is(field->key, "_id");
		if (mongodb_is_document(field) && !mongodb_has_operators(field) && field->first)
			off = excludes(field);
		all &= off || is_id;
		id |= is_id && !off;
	}
	return all && !id;
}

struct mongodb_projection {
	struct mongodb_resolver *resolver;
	struct mongodb_shape *before, *after;
	bool excludes;
};

static void project(struct mongodb_projection *projection, const struct mongodb_value *field, str_t path);

static void project_parts(struct mongodb_projection *projection, const struct mongodb_value *fields,
			  str_t path)
{
	struct arena *arena = projection->resolver->arena;
	for (const struct mongodb_value *field = fields->first; field; field = field->next)
		project(projection, field,
			str_present(path)
				? arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(path), STR_ARG(field->key))
				: field->key);
}

/* "a.$" is the element of a that was found. */
static str_t without_dollar(str_t path)
{
	bool found = path.len > 2 && memcmp(path.ptr + path.len - 2, ".$", 2) == 0;
	return found ? (str_t){ path.ptr, path.len - 2 } : path;
}

/* Elements of an array, as a projection of find takes them. */
static bool takes_elements(const struct mongodb_value *field)
{
	const struct mongodb_value *slice = mongodb_member(field, "$slice");
	const struct mongodb_value *first = mongodb_is_array(slice) ? slice->first : slice;
	return mongodb_member(field, "$elemMatch") || (first && first->kind == MONGODB_NUMBER);
}

static void project(struct mongodb_projection *projection, const struct mongodb_value *field, str_t path)
{
	struct mongodb_resolver *resolver = projection->resolver;
	const struct mongodb_value *elements = mongodb_member(field, "$elemMatch");
	struct mongodb_shape *shape;
	path = without_dollar(path);
	if (mongodb_is_document(field) && !mongodb_has_operators(field) && field->first) {
		project_parts(projection, field, path);
		return;
	}
	if (!is_switch(field) && !takes_elements(field)) {
		shape = mongodb_resolve_expression(resolver, field);
	} else if (str_is(path, "_id")) { /* that it is not there is no fault */
		shape = mongodb_shape_field(&resolver->shapes, projection->before, path);
	} else {
		shape = mongodb_resolve_path(resolver, projection->before, path, field->key_offset, NULL);
	}
	if (elements)
		mongodb_resolve_filter(resolver, shape, elements);
	bool off = is_switch(field) && field->number == 0;
	if (off)
		mongodb_shape_remove(&resolver->shapes, projection->after, path);
	else if (shape && !projection->excludes)
		mongodb_shape_set(&resolver->shapes, projection->after, path, shape);
}

struct mongodb_shape *mongodb_resolve_projection(struct mongodb_resolver *resolver,
						 const struct mongodb_value *document)
{
	struct mongodb_projection projection = { .resolver = resolver, .before = resolver->root };
	if (!mongodb_is_document(document))
		return &resolver->shapes.open;
	projection.excludes = excludes(document);
	projection.after =
		mongodb_shape_on(&resolver->shapes, projection.excludes ? projection.before : NULL);
	struct mongodb_shape *id = mongodb_shape_field(&resolver->shapes, projection.before, STR("_id"));
	if (id && !projection.excludes)
		mongodb_shape_set(&resolver->shapes, projection.after, STR("_id"), id);
	project_parts(&projection, document, STR_NONE);
	return projection.after;
}

static void resolve_project(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	resolver->root = mongodb_resolve_projection(resolver, stage);
}

/* --- fields that are added --- */

struct mongodb_added {
	str_t path;
	struct mongodb_shape *shape;
};

struct mongodb_additions {
	struct mongodb_added *items;
	size_t count, capacity;
};

static void collect(struct mongodb_resolver *resolver, const struct mongodb_value *fields, str_t path,
		    struct mongodb_additions *additions)
{
	for (const struct mongodb_value *field = fields->first; field; field = field->next) {
		struct mongodb_added added = { .path = field->key };
		if (str_present(path))
			added.path = arena_printf(resolver->arena, STR_FMT "." STR_FMT, STR_ARG(path),
						  STR_ARG(field->key));
		if (mongodb_is_document(field) && !mongodb_has_operators(field) && field->first) {
			collect(resolver, field, added.path, additions);
			continue;
		}
		added.shape = mongodb_resolve_expression(resolver, field);
		ARENA_PUSH(resolver->arena, additions->items, additions->count, additions->capacity, added);
	}
}

/* All expressions are of the documents that come in. */
static void resolve_add(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	struct mongodb_additions additions = { 0 };
	if (!mongodb_is_document(stage))
		return;
	collect(resolver, stage, STR_NONE, &additions);
	struct mongodb_shape *root = own_root(resolver);
	for (size_t i = 0; i < additions.count; i++)
		mongodb_shape_set(&resolver->shapes, root, additions.items[i].path, additions.items[i].shape);
}

static void unset(struct mongodb_resolver *resolver, const struct mongodb_value *name)
{
	if (!mongodb_is_text(name) || name->text.len == 0)
		return;
	if (!str_is(name->text, "_id"))
		(void)field_named(resolver, resolver->root, name);
	mongodb_shape_remove(&resolver->shapes, own_root(resolver), name->text);
}

static void resolve_unset(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	if (mongodb_is_text(stage))
		unset(resolver, stage);
	for (const struct mongodb_value *name = stage->first; name; name = name->next)
		unset(resolver, name);
}

/* --- groups --- */

/* The fields of {name: {$accumulator: …}, …} into new documents, by what they are of those that come in. */
static void accumulate(struct mongodb_resolver *resolver, const struct mongodb_value *fields,
		       struct mongodb_shape *after)
{
	for (const struct mongodb_value *field = fields ? fields->first : NULL; field; field = field->next) {
		struct mongodb_shape *shape = &resolver->shapes.open;
		if (str_is(field->key, "_id"))
			continue;
		if (mongodb_has_operators(field))
			shape = mongodb_resolve_accumulator(resolver, field->first);
		mongodb_shape_set(&resolver->shapes, after, field->key, shape);
	}
}

static void resolve_group(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *id = mongodb_member(stage, "_id");
	struct mongodb_shape *after = mongodb_shape_on(&resolver->shapes, NULL);
	if (!mongodb_is_document(stage)) {
		resolver->root = &resolver->shapes.open;
		return;
	}
	mongodb_shape_set(&resolver->shapes, after, STR("_id"),
			  id ? mongodb_resolve_expression(resolver, id) : &resolver->shapes.open);
	accumulate(resolver, stage, after);
	resolver->root = after;
}

static void resolve_bucket(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *by = mongodb_member(stage, "groupBy");
	const struct mongodb_value *output = mongodb_member(stage, "output");
	struct mongodb_shape *after = mongodb_shape_on(&resolver->shapes, NULL);
	if (by)
		(void)mongodb_resolve_expression(resolver, by);
	mongodb_shape_set(&resolver->shapes, after, STR("_id"), &resolver->shapes.open);
	if (mongodb_is_document(output))
		accumulate(resolver, output, after);
	else
		mongodb_shape_set(&resolver->shapes, after, STR("count"), number(resolver));
	resolver->root = after;
}

static void resolve_count(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	begin(resolver);
	set(resolver, stage, number(resolver));
}

static void resolve_sort_by_count(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	struct mongodb_shape *by = mongodb_resolve_expression(resolver, stage);
	begin(resolver);
	mongodb_shape_set(&resolver->shapes, resolver->root, STR("_id"), by);
	mongodb_shape_set(&resolver->shapes, resolver->root, STR("count"), number(resolver));
}

void mongodb_resolve_sort(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			  const struct mongodb_value *sort)
{
	for (const struct mongodb_value *key = mongodb_is_document(sort) ? sort->first : NULL; key;
	     key = key->next)
		if (!mongodb_is_operator(key) && !mongodb_member(key, "$meta"))
			(void)mongodb_resolve_path(resolver, documents, key->key, key->key_offset, NULL);
}

static void resolve_sort(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	mongodb_resolve_sort(resolver, resolver->root, stage);
}

static void resolve_window(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *by = mongodb_member(stage, "partitionBy");
	const struct mongodb_value *sort = mongodb_member(stage, "sortBy");
	const struct mongodb_value *output = mongodb_member(stage, "output");
	if (by)
		(void)mongodb_resolve_expression(resolver, by);
	if (sort)
		resolve_sort(resolver, sort);
	for (const struct mongodb_value *field = output ? output->first : NULL; field; field = field->next) {
		struct mongodb_shape *shape = &resolver->shapes.open;
		for (const struct mongodb_value *part = field->first; part; part = part->next)
			if (!str_is(part->key, "window"))
				shape = mongodb_resolve_accumulator(resolver, part);
		mongodb_shape_set(&resolver->shapes, own_root(resolver), field->key, shape);
	}
}

/* --- other collections --- */

static struct mongodb_shape *documents_from(struct mongodb_resolver *resolver,
					    const struct mongodb_value *from)
{
	return mongodb_is_text(from) ? mongodb_resolve_collection(resolver, from->text, from->offset)
				     : &resolver->shapes.open;
}

/* What the pipeline of a stage makes of the documents of another collection. */
static struct mongodb_shape *inner_pipeline(struct mongodb_resolver *resolver,
					    struct mongodb_shape *documents,
					    const struct mongodb_value *stage)
{
	const struct mongodb_binding *outer = resolver->variables;
	const struct mongodb_value *let = mongodb_member(stage, "let");
	const struct mongodb_value *pipeline = mongodb_member(stage, "pipeline");
	if (mongodb_is_document(let))
		mongodb_resolve_let(resolver, let);
	if (pipeline)
		documents = mongodb_resolve_pipeline(resolver, documents, pipeline);
	resolver->variables = outer;
	return documents;
}

static struct mongodb_operand operand_named(struct mongodb_resolver *resolver,
					    const struct mongodb_shape *documents,
					    const struct mongodb_value *stage, const char *member)
{
	const struct mongodb_value *name = mongodb_member(stage, member);
	return (struct mongodb_operand){ field_named(resolver, documents, name),
					 mongodb_is_text(name) ? name->text : STR(""),
					 name ? name->offset : 0 };
}

static void resolve_lookup(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *as = mongodb_member(stage, "as");
	struct mongodb_shape *foreign = documents_from(resolver, mongodb_member(stage, "from"));
	const struct mongodb_operand local = operand_named(resolver, resolver->root, stage, "localField");
	const struct mongodb_operand other = operand_named(resolver, foreign, stage, "foreignField");
	mongodb_resolve_pair(resolver, &local, &other, true);
	foreign = inner_pipeline(resolver, foreign, stage);
	set(resolver, as, mongodb_shape_array(&resolver->shapes, foreign));
}

static void resolve_graph(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *start = mongodb_member(stage, "startWith");
	const struct mongodb_value *only = mongodb_member(stage, "restrictSearchWithMatch");
	const struct mongodb_value *depth = mongodb_member(stage, "depthField");
	struct mongodb_shape *foreign = documents_from(resolver, mongodb_member(stage, "from"));
	if (start)
		(void)mongodb_resolve_expression(resolver, start);
	(void)field_named(resolver, foreign, mongodb_member(stage, "connectFromField"));
	(void)field_named(resolver, foreign, mongodb_member(stage, "connectToField"));
	if (only)
		mongodb_resolve_filter(resolver, foreign, only);
	foreign = mongodb_shape_on(&resolver->shapes, foreign);
	if (mongodb_is_text(depth) && depth->text.len > 0)
		mongodb_shape_set(&resolver->shapes, foreign, depth->text, number(resolver));
	set(resolver, mongodb_member(stage, "as"), mongodb_shape_array(&resolver->shapes, foreign));
}

static void resolve_union(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_is_text(stage) ? stage : mongodb_member(stage, "coll");
	struct mongodb_shape *others = inner_pipeline(resolver, documents_from(resolver, from), stage);
	resolver->root = mongodb_shape_either(&resolver->shapes, resolver->root, others);
}

static void resolve_facet(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	struct mongodb_shape *after = mongodb_shape_on(&resolver->shapes, NULL);
	for (const struct mongodb_value *pipeline = stage->first; pipeline; pipeline = pipeline->next) {
		struct mongodb_shape *facet = mongodb_resolve_pipeline(resolver, resolver->root, pipeline);
		mongodb_shape_set(&resolver->shapes, after, pipeline->key,
				  mongodb_shape_array(&resolver->shapes, facet));
	}
	resolver->root = after;
}

/* --- the rest --- */

static void resolve_match(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	mongodb_resolve_filter(resolver, resolver->root, stage);
}

static void resolve_root(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *root =
		str_is(stage->key, "$replaceRoot") ? mongodb_member(stage, "newRoot") : stage;
	resolver->root = root ? mongodb_resolve_expression(resolver, root) : &resolver->shapes.open;
}

static void resolve_unwind(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *path = mongodb_is_text(stage) ? stage : mongodb_member(stage, "path");
	if (!mongodb_is_text(path) || path->text.len < 2 || path->text.ptr[0] != '$')
		return;
	str_t name = { path->text.ptr + 1, path->text.len - 1 };
	struct mongodb_shape *array =
		mongodb_resolve_path(resolver, resolver->root, name, path->offset, NULL);
	mongodb_shape_set(&resolver->shapes, own_root(resolver), name,
			  mongodb_shape_element(&resolver->shapes, array));
	set(resolver, mongodb_member(stage, "includeArrayIndex"), number(resolver));
}

static void resolve_densify(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	(void)field_named(resolver, resolver->root, mongodb_member(stage, "field"));
	fields_named(resolver, mongodb_member(stage, "partitionByFields"));
}

static void resolve_fill(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *by = mongodb_member(stage, "partitionBy");
	const struct mongodb_value *sort = mongodb_member(stage, "sortBy");
	const struct mongodb_value *output = mongodb_member(stage, "output");
	if (by)
		(void)mongodb_resolve_expression(resolver, by);
	if (sort)
		resolve_sort(resolver, sort);
	fields_named(resolver, mongodb_member(stage, "partitionByFields"));
	for (const struct mongodb_value *field = output ? output->first : NULL; field; field = field->next) {
		const struct mongodb_value *value = mongodb_member(field, "value");
		if (value)
			(void)mongodb_resolve_expression(resolver, value);
		mongodb_shape_set(&resolver->shapes, own_root(resolver), field->key, &resolver->shapes.open);
	}
}

static void resolve_documents(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	struct mongodb_shape *list = mongodb_resolve_expression(resolver, stage);
	resolver->root = mongodb_shape_element(&resolver->shapes, list);
}

static void resolve_near(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	const struct mongodb_value *query = mongodb_member(stage, "query");
	if (query)
		mongodb_resolve_filter(resolver, resolver->root, query);
	(void)field_named(resolver, resolver->root, mongodb_member(stage, "key"));
	set(resolver, mongodb_member(stage, "distanceField"), number(resolver));
	set(resolver, mongodb_member(stage, "includeLocs"), &resolver->shapes.open);
}

/* They change nothing of what documents are; the expression of $redact is of those within, too. */
static void resolve_nothing(struct mongodb_resolver *resolver, const struct mongodb_value *stage)
{
	(void)resolver, (void)stage;
}

static const struct {
	const char *name;
	stage_fn resolve;
} stages[] = {
	{ "$addFields", resolve_add },
	{ "$bucket", resolve_bucket },
	{ "$bucketAuto", resolve_bucket },
	{ "$count", resolve_count },
	{ "$densify", resolve_densify },
	{ "$documents", resolve_documents },
	{ "$facet", resolve_facet },
	{ "$fill", resolve_fill },
	{ "$geoNear", resolve_near },
	{ "$graphLookup", resolve_graph },
	{ "$group", resolve_group },
	{ "$limit", resolve_nothing },
	{ "$lookup", resolve_lookup },
	{ "$match", resolve_match },
	{ "$project", resolve_project },
	{ "$redact", resolve_nothing },
	{ "$replaceRoot", resolve_root },
	{ "$replaceWith", resolve_root },
	{ "$sample", resolve_nothing },
	{ "$set", resolve_add },
	{ "$setWindowFields", resolve_window },
	{ "$skip", resolve_nothing },
	{ "$sort", resolve_sort },
	{ "$sortByCount", resolve_sort_by_count },
	{ "$unionWith", resolve_union },
	{ "$unset", resolve_unset },
	{ "$unwind", resolve_unwind },
};

/* What comes out of a stage that is not known here is not known either. */
static void resolve_stage(struct mongodb_resolver *resolver, const struct mongodb_value *operand)
{
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
		if (str_is(operand->key, stages[i].name)) {
			stages[i].resolve(resolver, operand);
			return;
		}
	resolver->root = &resolver->shapes.open;
}

struct mongodb_shape *mongodb_resolve_pipeline(struct mongodb_resolver *resolver,
					       struct mongodb_shape *documents,
					       const struct mongodb_value *pipeline)
{
	struct mongodb_shape *outer = resolver->root;
	resolver->root = documents;
	documents->owned = false;
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next)
		if (mongodb_is_document(stage) && stage->first)
			resolve_stage(resolver, stage->first);
	struct mongodb_shape *after = resolver->root;
	after->owned = false;
	resolver->root = outer;
	return after;
}
