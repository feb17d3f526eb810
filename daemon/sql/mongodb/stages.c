#include "sql/mongodb/check.h"
#include "sql/mongodb/operators.h"

#include <math.h>

#define MAX_SAMPLE    1000000
#define MAX_BUCKETS   100000
#define MAX_DENSIFIED 500000 /* the server's own limit */
#define MAX_UNWINDS   8	     /* of one pipeline that nothing groups in between: products of arrays */
#define MAX_DEPTH     1000
#define MAX_LET	      128

typedef void (*stage_fn)(struct mongodb_check *check, const struct mongodb_value *stage);

static void bomb(struct mongodb_check *check, const struct mongodb_value *value, const char *what)
{
	violations_add(check->violations, VIOLATION_RESOURCE_BOMB, (int64_t)value->offset, "%s", what);
}

static void check_expressions_of(struct mongodb_check *check, const struct mongodb_value *document)
{
	if (!mongodb_is_document(document)) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, document, "needs a document of fields");
		return;
	}
	for (const struct mongodb_value *field = document->first; field; field = field->next) {
		if (mongodb_is_operator(field))
			mongodb_invalid(check, DIAG_INVALID_USE, field,
					"is an operator where a field stands");
		mongodb_check_expression(check, field);
	}
}

/* --- accumulators --- */

/* A text that is no path is the same for all documents. */
static bool is_constant(const struct mongodb_value *value)
{
	return mongodb_is_text(value) && value->text.len > 0 && value->text.ptr[0] != '$';
}

static void check_accumulator(struct mongodb_check *check, const struct mongodb_value *field, char place)
{
	const struct mongodb_value *operand = field->first;
	const struct mongodb_operator *known =
		mongodb_has_operators(field) ? mongodb_operator(operand->key) : NULL;
	if (!mongodb_has_operators(field)) {
		mongodb_invalid(check, DIAG_INVALID_AGGREGATE, field, "is no accumulator, such as {$sum: …}");
		return;
	}
	if (!known || !mongodb_stands_in(known, place)) {
		if (!known || !known->refused)
			mongodb_unknown_operator(check, operand, place, "accumulator");
		return;
	}
	if (STR_IS_ANY(operand->key, "$sum", "$avg") && is_constant(operand))
		mongodb_missing_dollar(check, operand->text, operand->offset,
				       "is a text here, and no number");
	if (place == 'A' && field->count > 1)
		mongodb_invalid(check, DIAG_INVALID_AGGREGATE, operand->next, "stands beside an accumulator");
	if (mongodb_is_document(operand) && !mongodb_has_operators(operand))
		for (const struct mongodb_value *child = operand->first; child; child = child->next) {
			if (!str_is(child->key, "sortBy"))
				mongodb_check_expression(check, child);
		}
	else
		mongodb_check_expression(check, operand);
}

static void check_accumulators(struct mongodb_check *check, const struct mongodb_value *fields, char place)
{
	for (const struct mongodb_value *field = fields ? fields->first : NULL; field; field = field->next)
		if (!str_is(field->key, "_id"))
			check_accumulator(check, field, place);
}

static void check_group(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *id = mongodb_member(stage, "_id");
	if (!mongodb_is_document(stage)) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, stage, "needs a document");
		return;
	}
	if (!id)
		mongodb_invalid(check, DIAG_INVALID_USE, stage, "has no _id, by which it would group");
	else
		mongodb_check_expression(check, id);
	if (id && is_constant(id))
		mongodb_missing_dollar(check, id->text, id->offset,
				       "is the same text for all documents here");
	check_accumulators(check, stage, 'A');
}

static void check_bucket(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *by = mongodb_member(stage, "groupBy");
	const struct mongodb_value *buckets = mongodb_member(stage, "buckets");
	const struct mongodb_value *boundaries = mongodb_member(stage, "boundaries");
	bool automatic = str_is(stage->key, "$bucketAuto");
	if (!by || (automatic ? !buckets : !mongodb_is_array(boundaries))) {
		mongodb_invalid(check, DIAG_INVALID_USE, stage,
				automatic ? "needs groupBy and buckets" : "needs groupBy and boundaries");
		return;
	}
	mongodb_check_expression(check, by);
	check_accumulators(check, mongodb_member(stage, "output"), 'A');
	if (automatic && (!mongodb_is_integer(buckets) || buckets->number < 1))
		mongodb_invalid(check, DIAG_INVALID_TYPE, buckets, "needs a number above 0");
	else if (automatic && buckets->number > MAX_BUCKETS)
		bomb(check, buckets, "$bucketAuto makes more than 100000 buckets");
}

void mongodb_check_sort(struct mongodb_check *check, const struct mongodb_value *sort)
{
	if (!mongodb_is_document(sort) || sort->count == 0) {
		mongodb_invalid(check, DIAG_INVALID_ORDER, sort, "needs a document of fields and 1 or -1");
		return;
	}
	for (const struct mongodb_value *key = sort->first; key; key = key->next) {
		bool direction = key->kind == MONGODB_NUMBER && fabs(key->number) == 1;
		if (!direction && !mongodb_member(key, "$meta"))
			mongodb_invalid(check, DIAG_INVALID_ORDER, key, "sorts by neither 1 nor -1");
		if (mongodb_is_operator(key) && !str_is(key->key, "$natural"))
			mongodb_invalid(check, DIAG_INVALID_USE, key, "is an operator where a field stands");
	}
}

static void check_window(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *by = mongodb_member(stage, "partitionBy");
	const struct mongodb_value *sort = mongodb_member(stage, "sortBy");
	const struct mongodb_value *output = mongodb_member(stage, "output");
	if (by)
		mongodb_check_expression(check, by);
	if (sort)
		mongodb_check_sort(check, sort);
	if (!mongodb_is_document(output)) {
		mongodb_invalid(check, DIAG_INVALID_WINDOW, stage, "needs output");
		return;
	}
	for (const struct mongodb_value *field = output->first; field; field = field->next)
		for (const struct mongodb_value *part = field->first; part; part = part->next) {
			const struct mongodb_operator *known = mongodb_operator(part->key);
			if (str_is(part->key, "window"))
				continue;
			if (known && mongodb_stands_in(known, 'W'))
				mongodb_check_expression(check, part);
			else if (!known || !known->refused)
				mongodb_unknown_operator(check, part, 'W', "function of a window");
		}
}

/* --- numbers --- */

static void check_number(struct mongodb_check *check, const struct mongodb_value *value, double least,
			 const char *message)
{
	if (!mongodb_is_integer(value) || value->number < least)
		mongodb_invalid(check, DIAG_INVALID_TYPE, value, message);
}

static void check_limit(struct mongodb_check *check, const struct mongodb_value *stage)
{
	check_number(check, stage, 1, "needs a number above 0");
}

static void check_skip(struct mongodb_check *check, const struct mongodb_value *stage)
{
	check_number(check, stage, 0, "needs a number that is not negative");
}

static void check_sample(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *size = mongodb_member(stage, "size");
	if (!size || !mongodb_is_integer(size) || size->number < 0)
		mongodb_invalid(check, DIAG_INVALID_TYPE, stage, "needs a size");
	else if (size->number > MAX_SAMPLE)
		bomb(check, size, "$sample takes more than 1000000 documents");
}

static void check_densify(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *range = mongodb_member(stage, "range");
	const struct mongodb_value *bounds = mongodb_member(range, "bounds");
	const struct mongodb_value *step = mongodb_member(range, "step");
	const struct mongodb_value *from = mongodb_is_array(bounds) ? bounds->first : NULL;
	if (!mongodb_member(stage, "field") || !range || !step || !bounds)
		mongodb_invalid(check, DIAG_INVALID_USE, stage,
				"needs field, and a range of step and bounds");
	else if (step->kind != MONGODB_NUMBER || step->number <= 0)
		mongodb_invalid(check, DIAG_INVALID_TYPE, step, "needs a number above 0");
	else if (from && from->next && from->kind == MONGODB_NUMBER && from->next->kind == MONGODB_NUMBER &&
		 (from->next->number - from->number) / step->number > MAX_DENSIFIED)
		bomb(check, range, "$densify makes more than 500000 documents");
}

/* --- other collections --- */

/* {let: {name: …}, pipeline: […]}: in the pipeline the names are variables, and nothing else outside is. */
static void check_inner(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *pipeline = mongodb_member(stage, "pipeline");
	const struct mongodb_value *let = mongodb_member(stage, "let");
	const struct mongodb_variable *outer = check->variables;
	struct mongodb_variable *inner = ARENA_ARRAY(check->arena, struct mongodb_variable, MAX_LET);
	size_t count = 0;
	if (let)
		check_expressions_of(check, let);
	for (const struct mongodb_value *variable = mongodb_is_document(let) ? let->first : NULL; variable;
	     variable = variable->next) {
		if (count == MAX_LET)
			break;
		inner[count] = (struct mongodb_variable){ variable->key, check->variables };
		check->variables = &inner[count++];
	}
	if (pipeline)
		mongodb_check_pipeline(check, pipeline);
	check->variables = outer;
}

static void check_from(struct mongodb_check *check, const struct mongodb_value *from)
{
	if (mongodb_is_text(from))
		mongodb_check_collection(check, from->text, from->offset);
	else if (mongodb_is_document(from))
		violations_doubt(check->violations, "a collection of another database is read");
	else
		mongodb_invalid(check, DIAG_INVALID_TYPE, from, "names no collection");
}

/* What a stage has besides the members that are known here may change what it reads. */
static void doubt_others(struct mongodb_check *check, const struct mongodb_value *stage, const char *members)
{
	for (const struct mongodb_value *member = mongodb_is_document(stage) ? stage->first : NULL; member;
	     member = member->next)
		if (!str_is_listed(member->key, members))
			violations_doubt(check->violations, "\"" STR_FMT "\" of a stage is not known",
					 STR_ARG(member->key));
}

/* A group of all documents. */
static bool is_one_group(const struct mongodb_value *stage)
{
	const struct mongodb_value *id = mongodb_member(stage, "_id");
	return id && (id->kind == MONGODB_NULL || id->kind == MONGODB_NUMBER || id->kind == MONGODB_BOOLEAN);
}

/* Whether the pipeline has one document in the end, or none, whatever it reads. */
static bool ends_with_one(const struct mongodb_value *pipeline)
{
	bool one = false;
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next) {
		const struct mongodb_value *operand = mongodb_is_document(stage) ? stage->first : NULL;
		if (!operand)
			return false;
		if (str_is(operand->key, "$count") ||
		    (str_is(operand->key, "$group") && is_one_group(operand)) ||
		    (str_is(operand->key, "$limit") && operand->kind == MONGODB_NUMBER &&
		     operand->number <= 1))
			one = true;
		else if (STR_IS_ANY(operand->key, "$unwind", "$unionWith", "$densify", "$facet"))
			one = false;
	}
	return one;
}

static void check_lookup(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_member(stage, "from");
	const struct mongodb_value *local = mongodb_member(stage, "localField");
	const struct mongodb_value *foreign = mongodb_member(stage, "foreignField");
	const struct mongodb_value *pipeline = mongodb_member(stage, "pipeline");
	if (!mongodb_member(stage, "as") || (!from && !pipeline) || !local != !foreign ||
	    (!local && !pipeline)) {
		mongodb_invalid(check, DIAG_INVALID_USE, stage,
				"needs from, as, and localField with foreignField or a pipeline");
		return;
	}
	doubt_others(check, stage, "from localField foreignField let pipeline as");
	if (from)
		check_from(check, from);
	bool single = mongodb_is_array(pipeline) && ends_with_one(pipeline);
	if (from && !local && !single && !mongodb_member(stage, "let"))
		diagnostics_add(
			check->diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_CARTESIAN_PRODUCT,
			from->text, (int64_t)stage->offset,
			"nothing connects what is looked up with the documents that it is looked up for");
	check_inner(check, stage);
}

static void check_graph(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_member(stage, "from");
	const struct mongodb_value *start = mongodb_member(stage, "startWith");
	const struct mongodb_value *only = mongodb_member(stage, "restrictSearchWithMatch");
	if (!from || !start || !mongodb_member(stage, "connectFromField") ||
	    !mongodb_member(stage, "connectToField") || !mongodb_member(stage, "as")) {
		mongodb_invalid(check, DIAG_INVALID_USE, stage,
				"needs from, startWith, connectFromField, connectToField and as");
		return;
	}
	check_from(check, from);
	mongodb_check_expression(check, start);
	if (only)
		mongodb_check_filter(check, only);
	const struct mongodb_value *depth = mongodb_member(stage, "maxDepth");
	if (!depth)
		bomb(check, stage, "$graphLookup follows its links without a maxDepth");
	else if (depth->kind == MONGODB_NUMBER && depth->number > MAX_DEPTH)
		bomb(check, depth, "$graphLookup follows its links more than 1000 deep");
}

static void check_union(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *from = mongodb_is_text(stage) ? stage : mongodb_member(stage, "coll");
	doubt_others(check, stage, "coll pipeline");
	if (from)
		check_from(check, from);
	else if (!mongodb_member(stage, "pipeline"))
		mongodb_invalid(check, DIAG_INVALID_USE, stage, "names no collection");
	check_inner(check, stage);
}

static void check_facet(struct mongodb_check *check, const struct mongodb_value *stage)
{
	if (!mongodb_is_document(stage) || stage->count == 0) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, stage, "needs a document of pipelines");
		return;
	}
	for (const struct mongodb_value *pipeline = stage->first; pipeline; pipeline = pipeline->next)
		mongodb_check_pipeline(check, pipeline);
}

/* --- the rest --- */

static void check_match(struct mongodb_check *check, const struct mongodb_value *stage)
{
	mongodb_check_filter(check, stage);
}

static void check_project(struct mongodb_check *check, const struct mongodb_value *stage)
{
	if (mongodb_is_document(stage) && stage->count == 0)
		mongodb_invalid(check, DIAG_INVALID_USE, stage, "names no field");
	mongodb_check_projection(check, stage);
}

static void check_name(struct mongodb_check *check, const struct mongodb_value *stage)
{
	if (!mongodb_is_text(stage) || stage->text.len == 0 || stage->text.ptr[0] == '$')
		mongodb_invalid(check, DIAG_INVALID_TYPE, stage, "needs the name of a field");
}

static void check_root(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *root = mongodb_member(stage, "newRoot");
	if (!root)
		mongodb_invalid(check, DIAG_INVALID_USE, stage, "needs newRoot");
	else
		mongodb_check_expression(check, root);
}

static void check_unset(struct mongodb_check *check, const struct mongodb_value *stage)
{
	if (mongodb_is_text(stage)) {
		check_name(check, stage);
		return;
	}
	if (!mongodb_is_array(stage))
		mongodb_invalid(check, DIAG_INVALID_TYPE, stage, "needs the names of fields");
	for (const struct mongodb_value *name = stage->first; name; name = name->next)
		check_name(check, name);
}

static void check_unwind(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *path = mongodb_is_text(stage) ? stage : mongodb_member(stage, "path");
	if (!mongodb_is_text(path) || path->text.len < 2 || path->text.ptr[0] != '$')
		mongodb_invalid(check, DIAG_INVALID_TYPE, path ? path : stage,
				"needs the path of a field, which begins with a dollar");
	else
		mongodb_check_expression(check, path);
}

/* Fields with what they are to be, operators of no stage's own among them. */
static void check_plain(struct mongodb_check *check, const struct mongodb_value *stage)
{
	const struct mongodb_value *query = mongodb_member(stage, "query");
	const struct mongodb_value *output = mongodb_member(stage, "output");
	if (query && str_is(stage->key, "$geoNear"))
		mongodb_check_filter(check, query);
	for (const struct mongodb_value *field = output ? output->first : NULL; field; field = field->next)
		if (mongodb_member(field, "value"))
			mongodb_check_expression(check, mongodb_member(field, "value"));
}

static const struct {
	const char *name;
	stage_fn check;
	bool groups; /* fewer documents come out than the collection has */
} stages[] = {
	{ "$addFields", check_expressions_of, false },
	{ "$bucket", check_bucket, true },
	{ "$bucketAuto", check_bucket, true },
	{ "$count", check_name, true },
	{ "$densify", check_densify, false },
	{ "$documents", mongodb_check_expression, true },
	{ "$facet", check_facet, true },
	{ "$fill", check_plain, false },
	{ "$geoNear", check_plain, false },
	{ "$graphLookup", check_graph, false },
	{ "$group", check_group, true },
	{ "$limit", check_limit, true },
	{ "$lookup", check_lookup, false },
	{ "$match", check_match, false },
	{ "$project", check_project, false },
	{ "$redact", mongodb_check_expression, false },
	{ "$replaceRoot", check_root, false },
	{ "$replaceWith", mongodb_check_expression, false },
	{ "$sample", check_sample, true },
	{ "$search", check_plain, false },
	{ "$searchMeta", check_plain, true },
	{ "$set", check_expressions_of, false },
	{ "$setWindowFields", check_window, false },
	{ "$skip", check_skip, false },
	{ "$sort", mongodb_check_sort, false },
	{ "$sortByCount", mongodb_check_expression, true },
	{ "$unionWith", check_union, false },
	{ "$unset", check_unset, false },
	{ "$unwind", check_unwind, false },
	{ "$vectorSearch", check_plain, true },
};

static void check_stage(struct mongodb_check *check, const struct mongodb_value *operand, bool outermost)
{
	const struct mongodb_operator *known = mongodb_operator(operand->key);
	if (!known || !mongodb_stands_in(known, 'S')) {
		if (!known || !known->refused)
			mongodb_unknown_operator(check, operand, 'S', "stage");
		return;
	}
	for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
		if (str_is(operand->key, stages[i].name)) {
			stages[i].check(check, operand);
			check->grouped |= outermost && stages[i].groups;
			return;
		}
}

static void count_unwinds(struct mongodb_check *check, const struct mongodb_value *operand, unsigned *unwinds)
{
	if (str_is(operand->key, "$group"))
		*unwinds = 0;
	if (str_is(operand->key, "$unwind") && ++*unwinds == MAX_UNWINDS + 1)
		bomb(check, operand, "so many arrays are unwound into each other");
}

void mongodb_check_pipeline(struct mongodb_check *check, const struct mongodb_value *pipeline)
{
	bool outermost = check->pipelines == 0;
	unsigned unwinds = 0;
	if (!mongodb_is_array(pipeline)) {
		mongodb_invalid(check, DIAG_INVALID_TYPE, pipeline, "is no array of stages");
		violations_doubt(check->violations, "a pipeline is no array of stages");
		return;
	}
	check->pipelines++;
	for (const struct mongodb_value *stage = pipeline->first; stage; stage = stage->next) {
		if (!mongodb_is_document(stage) || stage->count != 1) {
			mongodb_invalid(check, DIAG_INVALID_USE, stage,
					"is no stage: a document of one field");
			violations_doubt(check->violations, "a stage is no document of one field");
			continue;
		}
		check_stage(check, stage->first, outermost);
		count_unwinds(check, stage->first, &unwinds);
	}
	check->pipelines--;
}
