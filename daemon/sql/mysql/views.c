#include "sql/mysql/names.h"
#include "sql/mysql/parser.h"
#include "sql/mysql/safety.h"

#define MAX_VIEWS 64 /* definitions of one statement, views of views included */

/* Codes that a function in a view's definition brings about; the rest is its author's business. */
static bool concerns_reader(const char *code)
{
	static const enum sql_violation_code codes[] = { VIOLATION_DANGEROUS_FUNCTION,
							 VIOLATION_VOLATILE_FUNCTION, VIOLATION_TIME_BASED,
							 VIOLATION_FILE_ACCESS, VIOLATION_UNANALYSABLE };
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (strcmp(code, violation_name(codes[i])) == 0)
			return true;
	return false;
}

/* Definitions name all relations with their database. */
static const struct catalog_relation *relation_of(const struct mysql_safety *safety,
						  const struct query_node *relation)
{
	if (relation->range)
		return relation->range->relation;
	return safety->in_view && str_present(relation->schema)
		       ? catalog_relation(safety->request->catalog, relation->schema, relation->name)
		       : NULL;
}

static void check_definition(struct mysql_safety *safety, const struct query_node *relation, str_t definition)
{
	struct arena *arena = safety->violations->arena;
	struct mysql_failure failure = { 0 };
	struct violations found = { .arena = arena };
	struct mysql_safety inner = { .request = safety->request,
				      .text = definition,
				      .violations = &found,
				      .views = safety->views,
				      .in_view = true };
	/* Servers write definitions for their default settings, and read them so whatever the session's are.
	 */
	const struct query_node *root = mysql_parse(definition, MYSQL_DEFAULT_MODE, arena, &failure);
	if (!root) {
		violations_doubt(safety->violations, "the definition of view " STR_FMT " cannot be read: %s",
				 STR_ARG(relation->name), failure.reason);
		return;
	}
	mysql_safety_walk(&inner, root);
	safety->views = inner.views;
	if (str_present(found.doubt))
		violations_doubt(safety->violations, "by view " STR_FMT ": " STR_FMT, STR_ARG(relation->name),
				 STR_ARG(found.doubt));
	for (size_t i = 0; i < found.count; i++) {
		enum sql_violation_code code = VIOLATION_UNANALYSABLE;
		if (!concerns_reader(found.items[i].code))
			continue;
		while (code > 0 && strcmp(violation_name(code), found.items[i].code) != 0)
			code--;
		violations_add(safety->violations, code, (int64_t)relation->offset,
			       "by view " STR_FMT ": " STR_FMT, STR_ARG(relation->name),
			       STR_ARG(found.items[i].detail));
	}
}

void mysql_views_relation(struct mysql_safety *safety, const struct query_node *relation)
{
	const struct catalog_relation *view = safety->request->catalog ? relation_of(safety, relation) : NULL;
	if (!view || !view->is_view || !str_present(view->definition) || view->definition.len == 0)
		return;
	if (++safety->views > MAX_VIEWS)
		violations_doubt(safety->violations, "there are too many views to be looked into");
	else
		check_definition(safety, relation, view->definition);
}
