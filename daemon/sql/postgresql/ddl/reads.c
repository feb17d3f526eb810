#include "sql/postgresql/ddl/internal.h"

#define PARENTS_MAX_DEPTH 64

/* --- row security --- */

/* Drafts begin with their relation. */
static struct relation_reads *reads_of(struct catalog_relation *relation)
{
	return &((struct relation_draft *)relation)->reads;
}

static void add_condition(struct ddl_compiler *compiler, const RangeVar *table, const Node *condition)
{
	struct catalog_relation *relation = ddl_added_relation(compiler, table);
	struct arena *scratch = compiler->builder.scratch;
	if (!relation || !condition)
		return;
	struct relation_reads *reads = reads_of(relation);
	struct ddl_runs runs = ddl_expression_runs(compiler, condition);
	reads->uses =
		ddl_join_uses(compiler, reads->uses, (struct type_list){ runs.types, runs.types_count });
	reads->policies = catalog_worse(reads->policies, runs.volatility);
	for (size_t i = 0; i < runs.relations_count; i++)
		ARENA_PUSH(scratch, reads->read, reads->read_count, reads->read_capacity, runs.relations[i]);
}

void ddl_add_policy(struct ddl_compiler *compiler, const CreatePolicyStmt *create)
{
	if (strcmp(create->cmd_name, "all") == 0 || strcmp(create->cmd_name, "select") == 0)
		add_condition(compiler, create->table, create->qual);
}

/* Of whichever commands it is; what it was before counts still. */
void ddl_alter_policy(struct ddl_compiler *compiler, const AlterPolicyStmt *alter)
{
	add_condition(compiler, alter->table, alter->qual);
}

void ddl_set_row_security(struct catalog_relation *relation, bool enabled)
{
	reads_of(relation)->has_row_security = enabled;
}

/* What a view or another policy calls in its turn is not followed from here: it counts as volatile, as it
 * does in a server's catalog. */
static bool runs_more(const struct catalog_relation *relation)
{
	if (!strchr("rpmSf", relation->kind))
		return true;
	return !relation->is_system && ((const struct relation_draft *)relation)->reads.has_row_security;
}

static void finish_policies(struct relation_draft *draft)
{
	const struct relation_reads *reads = &draft->reads;
	if (!reads->has_row_security)
		return;
	draft->uses = reads->uses;
	draft->relation.volatility = catalog_worse(draft->relation.volatility, reads->policies);
	for (size_t i = 0; i < reads->read_count; i++)
		if (runs_more(reads->read[i]))
			draft->relation.volatility = 'v';
}

/* --- rules --- */

void ddl_add_rule(struct ddl_compiler *compiler, const RuleStmt *rule, str_t text)
{
	struct catalog_relation *relation =
		rule->event == CMD_SELECT ? ddl_added_relation(compiler, rule->relation) : NULL;
	if (!relation)
		return;
	relation->kind = 'v';
	relation->is_view = true;
	relation->definition = ddl_rule_query(text, compiler->builder.scratch);
}

/* --- inheritance --- */

void ddl_note_child(struct ddl_compiler *compiler, const RangeVar *parent, struct catalog_relation *child)
{
	struct catalog_relation *relation = ddl_added_relation(compiler, parent);
	if (!relation || !child)
		return;
	relation->has_children |= relation->kind != 'p';
	struct relation_reads *reads = reads_of(child);
	ARENA_PUSH(compiler->builder.scratch, reads->parents, reads->parents_count, reads->parents_capacity,
		   (struct relation_draft *)relation);
}

/* Reading the parents reads it, too. */
static void mark_parents(struct relation_draft *draft, enum foreign_access access, unsigned depth)
{
	if (draft->relation.foreign < access)
		draft->relation.foreign = access;
	for (size_t i = 0; i < draft->reads.parents_count && depth < PARENTS_MAX_DEPTH; i++)
		mark_parents(draft->reads.parents[i], access, depth + 1);
}

/* --- foreign tables --- */

static enum foreign_access worst_option(const List *options, enum foreign_access worst)
{
	const ListCell *cell;
	foreach(cell, options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);
		enum foreign_access access = catalog_foreign_option(str_from(option->defname));
		worst = access > worst ? access : worst;
	}
	return worst;
}

static struct foreign_place *place_named(struct ddl_compiler *compiler, bool is_server, const char *name)
{
	for (struct foreign_place *place = compiler->places; place; place = place->next)
		if (place->is_server == is_server && strcmp(place->name, name) == 0)
			return place;
	return NULL;
}

static struct foreign_place *add_place(struct ddl_compiler *compiler, bool is_server, const char *name)
{
	struct foreign_place *place = place_named(compiler, is_server, name);
	if (place)
		return place;
	place = ARENA_NEW(compiler->builder.scratch, struct foreign_place);
	*place = (struct foreign_place){ name, is_server, FOREIGN_SYSTEM, compiler->places };
	return compiler->places = place;
}

void ddl_add_foreign_wrapper(struct ddl_compiler *compiler, const char *name, const List *options)
{
	struct foreign_place *wrapper = add_place(compiler, false, name);
	wrapper->access = worst_option(options, wrapper->access);
}

void ddl_add_foreign_server(struct ddl_compiler *compiler, const char *name, const char *wrapper,
			    const List *options)
{
	struct foreign_place *server = add_place(compiler, true, name);
	const struct foreign_place *under = wrapper ? place_named(compiler, false, wrapper) : NULL;
	server->access = worst_option(options, server->access);
	if (under && under->access > server->access)
		server->access = under->access;
}

void ddl_set_foreign(struct ddl_compiler *compiler, struct catalog_relation *relation, const char *server,
		     const List *options)
{
	const struct foreign_place *place = server ? place_named(compiler, true, server) : NULL;
	enum foreign_access access = server && !place ? FOREIGN_UNKNOWN : FOREIGN_SYSTEM;
	relation->foreign = worst_option(options, relation->foreign > access ? relation->foreign : access);
	if (place && place->access > relation->foreign)
		relation->foreign = place->access;
}

void ddl_finish_reads(struct ddl_compiler *compiler)
{
	const struct catalog_draft_list *drafts = &compiler->builder.relations;
	for (size_t i = 0; i < drafts->count; i++) {
		struct relation_draft *draft = drafts->items[i];
		finish_policies(draft);
		if (draft->relation.kind == 'f')
			mark_parents(draft, draft->relation.foreign, 0);
	}
}
