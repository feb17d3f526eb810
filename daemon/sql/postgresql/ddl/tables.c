#include "sql/postgresql/ddl/internal.h"

#include <catalog/pg_type_d.h>

struct keys {
	struct catalog_key *items;
	size_t count;
	size_t capacity;
};

/* A table while its statement is read. */
struct table {
	struct ddl_compiler *compiler;
	struct ddl_columns columns;
	struct keys keys;
	bool is_open;
};

static unsigned column_index(const struct table *table, str_t name)
{
	unsigned i = 0;
	while (i < table->columns.count && !str_equal(table->columns.items[i].name, name))
		i++;
	return i;
}

static void add_key(struct table *table, struct catalog_key key)
{
	ARENA_PUSH(table->compiler->builder.scratch, table->keys.items, table->keys.count,
		   table->keys.capacity, key);
}

/* A key over names; one over a column that is not known is none. */
static void add_key_over(struct table *table, const List *names, struct catalog_key key)
{
	unsigned *columns =
		ARENA_ARRAY(table->compiler->builder.scratch, unsigned, (size_t)list_length(names));
	const ListCell *cell;
	foreach(cell, names)
	{
		unsigned index = column_index(table, str_from(NODE_STRING(lfirst(cell))));
		if (index == table->columns.count) {
			if (!table->is_open)
				ddl_leave_out(table->compiler, "column \"%s\" named in key does not exist",
					      NODE_STRING(lfirst(cell)));
			return;
		}
		table->columns.items[index].not_null |= key.is_primary;
		columns[key.columns_count++] = index;
	}
	key.columns = columns;
	if (key.columns_count > 0)
		add_key(table, key);
}

/* The index of a constraint has its name; one without a name gets one that is not followed. */
static void note_index(struct ddl_compiler *compiler, const char *schema, const char *name)
{
	if (name)
		catalog_add_other(&compiler->builder, CATALOG_INDEX,
				  ddl_schema_of(compiler, str_from(schema)), str_from(name));
}

/* The sequence of an identity, which is dumped with its name. */
static void note_identity(struct ddl_compiler *compiler, const char *schema, const Constraint *constraint)
{
	const ListCell *cell;
	foreach(cell, constraint->options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);
		if (strcmp(option->defname, "sequence_name") != 0 || !IsA(option->arg, List))
			continue;
		struct qualified_name name = names_qualified((const List *)option->arg);
		catalog_add_other(&compiler->builder, CATALOG_INDEX,
				  str_present(name.schema) ? name.schema
							   : ddl_schema_of(compiler, str_from(schema)),
				  name.name);
	}
}

/* What a constraint makes that has a name among the relations. */
static void note_made(struct ddl_compiler *compiler, const RangeVar *relation, const Constraint *constraint)
{
	if (constraint->contype == CONSTR_PRIMARY || constraint->contype == CONSTR_UNIQUE ||
	    constraint->contype == CONSTR_EXCLUSION)
		note_index(compiler, relation->schemaname, constraint->conname);
	else if (constraint->contype == CONSTR_IDENTITY)
		note_identity(compiler, relation->schemaname, constraint);
}

static void note_made_by(struct ddl_compiler *compiler, const RangeVar *relation, const Node *element)
{
	const ListCell *cell;
	if (IsA(element, Constraint))
		note_made(compiler, relation, (const Constraint *)element);
	else if (IsA(element, ColumnDef))
		foreach(cell, ((const ColumnDef *)element)->constraints)
			note_made(compiler, relation, lfirst_node(Constraint, cell));
}

static bool is_key(const Constraint *constraint)
{
	return constraint->contype == CONSTR_PRIMARY || constraint->contype == CONSTR_UNIQUE;
}

static struct catalog_key key_of(const Constraint *constraint)
{
	return (struct catalog_key){ .is_primary = constraint->contype == CONSTR_PRIMARY,
				     .is_immediate = !constraint->deferrable,
				     .nulls_not_distinct = constraint->nulls_not_distinct };
}

static void add_column_constraint(struct table *table, struct catalog_column *column, unsigned index,
				  const Constraint *constraint)
{
	if (constraint->contype == CONSTR_PRIMARY || constraint->contype == CONSTR_NOTNULL ||
	    constraint->contype == CONSTR_IDENTITY)
		column->not_null = true;
	if (constraint->contype == CONSTR_ATTR_DEFERRABLE && table->keys.count > 0)
		table->keys.items[table->keys.count - 1].is_immediate = false;
	if (!is_key(constraint))
		return;
	unsigned *columns = ARENA_NEW(table->compiler->builder.scratch, unsigned);
	*columns = index;
	struct catalog_key key = key_of(constraint);
	key.columns = columns;
	key.columns_count = 1;
	add_key(table, key);
}

static void add_column(struct table *table, const ColumnDef *definition)
{
	unsigned index = (unsigned)table->columns.count;
	struct ddl_type type = ddl_type_of(table->compiler, definition->typeName);
	struct catalog_column column = { .name = str_from(definition->colname),
					 .not_null = type.is_serial || definition->is_not_null };
	const ListCell *cell;
	if (column_index(table, column.name) < index) {
		if (definition->typeName) /* an inherited one is merged */
			return;
		index = column_index(table, column.name);
	}
	foreach(cell, definition->constraints)
		add_column_constraint(table, &column, index, lfirst_node(Constraint, cell));
	if (index < table->columns.count)
		table->columns.items[index].not_null |= column.not_null; /* of a typed table */
	else
		ddl_add_column(table->compiler, &table->columns, column, type);
}

static void copy_column(struct table *table, struct catalog_column column)
{
	struct ddl_type type = { .id = column.value_type, .text = column.type };
	if (column_index(table, column.name) == table->columns.count)
		ddl_add_column(table->compiler, &table->columns, column, type);
}

static const struct catalog_relation *relation_named(const struct ddl_compiler *compiler,
						     const RangeVar *name)
{
	return catalog_relation_named(compiler->builder.catalog, str_from(name->schemaname),
				      str_from(name->relname));
}

/* Columns of a table that this one inherits from or is like. An unknown one leaves the new one open. */
static void copy_columns(struct table *table, const struct catalog_relation *relation)
{
	table->is_open |= !relation || relation->is_open;
	for (size_t i = 0; relation && i < relation->columns_count; i++)
		copy_column(table, relation->columns[i]);
}

/* Keys of a partitioned table for its part, and of one that is copied with its indexes: the columns have the
 * same names, not always the same places. */
static void copy_keys(struct table *table, const struct catalog_relation *relation)
{
	for (size_t i = 0; relation && i < relation->keys_count; i++) {
		struct catalog_key key = relation->keys[i];
		unsigned *columns =
			ARENA_ARRAY(table->compiler->builder.scratch, unsigned, key.columns_count);
		for (size_t c = 0; c < key.columns_count; c++) {
			columns[c] = column_index(table, relation->columns[key.columns[c]].name);
			table->columns.items[columns[c]].not_null |= key.is_primary;
		}
		key.columns = columns;
		add_key(table, key);
	}
}

static void copy_like(struct table *table, const TableLikeClause *like)
{
	const struct catalog_relation *relation = relation_named(table->compiler, like->relation);
	copy_columns(table, relation);
	if (like->options & CREATE_TABLE_LIKE_INDEXES)
		copy_keys(table, relation);
}

static void copy_typed(struct table *table, const TypeName *name)
{
	const struct catalog_type *type =
		catalog_type(table->compiler->builder.catalog, ddl_type_of(table->compiler, name).id);
	table->is_open |= !type;
	for (size_t i = 0; type && i < type->columns_count; i++)
		copy_column(table, type->columns[i]);
}

static void copy_parents(struct table *table, const CreateStmt *create)
{
	const ListCell *cell;
	foreach(cell, create->inhRelations)
	{
		const struct catalog_relation *parent =
			relation_named(table->compiler, lfirst_node(RangeVar, cell));
		copy_columns(table, parent);
		if (create->partbound)
			copy_keys(table, parent);
	}
	if (create->ofTypename)
		copy_typed(table, create->ofTypename);
}

void ddl_add_relation(struct ddl_compiler *compiler, struct catalog_relation relation, bool may_replace)
{
	struct catalog_relation *existing =
		catalog_added_relation(&compiler->builder, relation.schema, relation.name);
	if (existing && !may_replace) {
		ddl_leave_out(compiler, "relation \"" STR_FMT "\" already exists", STR_ARG(relation.name));
		return;
	}
	catalog_add_schema(&compiler->builder, relation.schema); /* a dump of one table does not create it */
	relation.volatility = 'i';
	relation.may_read = true;
	relation.row_type = existing ? existing->row_type : ddl_add_row_type(compiler, &relation);
	if (existing)
		*existing = relation;
	else
		existing = catalog_add_relation(&compiler->builder, relation, (struct type_list){ 0 });
	ddl_set_row_columns(compiler, existing);
}

void ddl_add_table(struct ddl_compiler *compiler, const CreateStmt *create, char kind)
{
	struct table table = { .compiler = compiler };
	const ListCell *cell;
	if (create->if_not_exists && ddl_is_there(compiler, create->relation))
		return;
	copy_parents(&table, create);
	foreach(cell, create->tableElts)
	{
		const Node *element = lfirst(cell);
		note_made_by(compiler, create->relation, element);
		if (IsA(element, ColumnDef))
			add_column(&table, (const ColumnDef *)element);
		else if (IsA(element, TableLikeClause))
			copy_like(&table, (const TableLikeClause *)element);
	}
	foreach(cell, create->tableElts)
	{
		const Node *element = lfirst(cell);
		if (IsA(element, Constraint) && is_key((const Constraint *)element))
			add_key_over(&table, ((const Constraint *)element)->keys,
				     key_of((const Constraint *)element));
	}
	ddl_add_relation(compiler,
			 (struct catalog_relation){
				 .schema = ddl_schema_of(compiler, str_from(create->relation->schemaname)),
				 .name = str_from(create->relation->relname),
				 .kind = create->partspec ? 'p' : kind,
				 .is_open = table.is_open,
				 .columns = table.columns.items,
				 .columns_count = table.columns.count,
				 .keys = table.keys.items,
				 .keys_count = table.keys.count },
			 false);
	foreach(cell, create->inhRelations) ddl_note_child(compiler, lfirst_node(RangeVar, cell),
							   ddl_added_relation(compiler, create->relation));
}

/* --- changes --- */

/* The relation's columns and keys, to be changed and given back by close_table. */
static struct table open_table(struct ddl_compiler *compiler, const struct catalog_relation *relation)
{
	struct table table = { .compiler = compiler, .is_open = relation->is_open };
	for (size_t i = 0; i < relation->columns_count; i++)
		ARENA_PUSH(compiler->builder.scratch, table.columns.items, table.columns.count,
			   table.columns.capacity, relation->columns[i]);
	for (size_t i = 0; i < relation->keys_count; i++)
		add_key(&table, relation->keys[i]);
	return table;
}

static void close_table(const struct table *table, struct catalog_relation *relation)
{
	relation->columns = table->columns.items;
	relation->columns_count = table->columns.count;
	relation->keys = table->keys.items;
	relation->keys_count = table->keys.count;
	ddl_set_row_columns(table->compiler, relation);
}

static void change_column(struct table *table, const AlterTableCmd *command)
{
	unsigned index = column_index(table, str_from(command->name));
	if (index == table->columns.count)
		return;
	struct catalog_column *column = &table->columns.items[index];
	if (command->subtype == AT_SetNotNull || command->subtype == AT_AddIdentity) {
		column->not_null = true;
	} else if (command->subtype == AT_DropNotNull) {
		column->not_null = false;
	} else {
		struct ddl_type type =
			ddl_type_of(table->compiler, ((const ColumnDef *)command->def)->typeName);
		column->value_type = type.id;
		column->type = type.text;
		column->category = TYPE_OTHER;
		catalog_derive_column(table->compiler->builder.catalog, column);
	}
}

#define CHILDREN_MAX_DEPTH 64

static bool is_child(const struct relation_draft *draft, const struct catalog_relation *parent)
{
	for (size_t i = 0; i < draft->reads.parents_count; i++)
		if (&draft->reads.parents[i]->relation == parent)
			return true;
	return false;
}

static void rename_column(struct ddl_compiler *compiler, struct catalog_relation *relation, str_t from,
			  str_t to, unsigned depth)
{
	const struct catalog_draft_list *drafts = &compiler->builder.relations;
	struct table table = open_table(compiler, relation);
	unsigned index = column_index(&table, from);
	if (index == table.columns.count || depth == CHILDREN_MAX_DEPTH)
		return;
	table.columns.items[index].name = to;
	close_table(&table, relation);
	for (size_t i = 0; i < drafts->count; i++) {
		struct relation_draft *draft = drafts->items[i];
		if (is_child(draft, relation))
			rename_column(compiler, &draft->relation, from, to, depth + 1);
	}
}

static void rename_column_of(struct ddl_compiler *compiler, struct catalog_relation *relation, str_t from,
			     str_t to)
{
	struct table table = open_table(compiler, relation);
	if (column_index(&table, to) < table.columns.count)
		ddl_leave_out(compiler, "column \"" STR_FMT "\" of relation \"" STR_FMT "\" already exists",
			      STR_ARG(to), STR_ARG(relation->name));
	else
		rename_column(compiler, relation, from, to, 0);
}

/* Views that name it by the old name can be read no longer: a read of them is in doubt. */
void ddl_rename(struct ddl_compiler *compiler, const RenameStmt *rename)
{
	struct catalog_relation *relation =
		rename->relation ? ddl_added_relation(compiler, rename->relation) : NULL;
	if (rename->relation && (!relation || rename->renameType == OBJECT_TABCONSTRAINT))
		note_index(compiler, rename->relation->schemaname, rename->newname);
	if (!relation)
		return;
	str_t name = str_from(rename->newname);
	if (rename->renameType == OBJECT_COLUMN) {
		rename_column_of(compiler, relation, str_from(rename->subname), name);
		return;
	}
	if (rename->renameType != OBJECT_TABLE && rename->renameType != OBJECT_VIEW &&
	    rename->renameType != OBJECT_MATVIEW && rename->renameType != OBJECT_FOREIGN_TABLE &&
	    rename->renameType != OBJECT_SEQUENCE)
		return;
	if (catalog_relation(compiler->builder.catalog, relation->schema, name) ||
	    catalog_type_named(compiler->builder.catalog, relation->schema, name))
		ddl_leave_out(compiler, "relation \"" STR_FMT "\" already exists", STR_ARG(name));
	else
		catalog_rename_relation(&compiler->builder, relation, name);
}

/* A dump may drop what is not there yet. */
void ddl_drop(struct ddl_compiler *compiler, const DropStmt *drop)
{
	const ListCell *cell;
	if (drop->removeType != OBJECT_TABLE && drop->removeType != OBJECT_VIEW &&
	    drop->removeType != OBJECT_MATVIEW && drop->removeType != OBJECT_FOREIGN_TABLE)
		return;
	foreach(cell, drop->objects)
	{
		struct qualified_name name = names_qualified(lfirst_node(List, cell));
		struct catalog_relation *relation = catalog_added_relation(
			&compiler->builder, ddl_schema_of(compiler, name.schema), name.name);
		if (!relation)
			continue;
		catalog_remove_relation(&compiler->builder, relation);
		if (drop->behavior == DROP_CASCADE)
			ddl_leave_out(compiler, "what depends on \"" STR_FMT "\" is not dropped with it",
				      STR_ARG(name.name));
	}
}

static void note_child(struct ddl_compiler *compiler, const RangeVar *altered, const AlterTableCmd *command)
{
	const Node *other = command->def;
	if (IsA(other, PartitionCmd))
		ddl_note_child(compiler, altered,
			       ddl_added_relation(compiler, ((const PartitionCmd *)other)->name));
	else if (IsA(other, RangeVar))
		ddl_note_child(compiler, (const RangeVar *)other, ddl_added_relation(compiler, altered));
}

static void alter(struct table *table, struct catalog_relation *relation, const AlterTableStmt *statement,
		  const AlterTableCmd *command)
{
	switch (command->subtype) {
	case AT_AddConstraint:
		if (is_key((const Constraint *)command->def))
			add_key_over(table, ((const Constraint *)command->def)->keys,
				     key_of((const Constraint *)command->def));
		break;
	case AT_AddColumn:
		add_column(table, (const ColumnDef *)command->def);
		break;
	case AT_SetNotNull:
	case AT_DropNotNull:
	case AT_AddIdentity:
	case AT_AlterColumnType:
		change_column(table, command);
		break;
	case AT_AttachPartition:
	case AT_AddInherit:
		note_child(table->compiler, statement->relation, command);
		break;
	case AT_GenericOptions:
		ddl_set_foreign(table->compiler, relation, NULL, (const List *)command->def);
		break;
	case AT_EnableRowSecurity:
	case AT_DisableRowSecurity:
		ddl_set_row_security(relation, command->subtype == AT_EnableRowSecurity);
		break;
	case AT_DropColumn:
		ddl_leave_out(table->compiler, "a column that is dropped again cannot be followed");
		break;
	default: /* nothing that a query can see */
		break;
	}
}

void ddl_alter_table(struct ddl_compiler *compiler, const AlterTableStmt *statement)
{
	struct catalog_relation *relation = ddl_added_relation(compiler, statement->relation);
	const ListCell *cell;
	foreach(cell, statement->cmds)
	{
		const Node *made = lfirst_node(AlterTableCmd, cell)->def;
		if (made)
			note_made_by(compiler, statement->relation, made);
	}
	if (!relation)
		return;
	struct table table = open_table(compiler, relation);
	foreach(cell, statement->cmds) alter(&table, relation, statement, lfirst_node(AlterTableCmd, cell));
	close_table(&table, relation);
}

/* Only a unique index over plain columns of all rows says something about these. */
void ddl_add_index(struct ddl_compiler *compiler, const IndexStmt *create)
{
	struct catalog_relation *relation = ddl_added_relation(compiler, create->relation);
	const ListCell *cell;
	note_index(compiler, create->relation->schemaname, create->idxname);
	if (!relation || !create->unique || create->whereClause)
		return;
	struct table table = open_table(compiler, relation);
	unsigned *columns =
		ARENA_ARRAY(compiler->builder.scratch, unsigned, (size_t)list_length(create->indexParams));
	struct catalog_key key = { .is_immediate = true, .nulls_not_distinct = create->nulls_not_distinct };
	foreach(cell, create->indexParams)
	{
		const IndexElem *element = lfirst_node(IndexElem, cell);
		unsigned index = element->name ? column_index(&table, str_from(element->name))
					       : (unsigned)table.columns.count;
		if (index == table.columns.count)
			return;
		columns[key.columns_count++] = index;
	}
	key.columns = columns;
	add_key(&table, key);
	close_table(&table, relation);
}

void ddl_add_sequence(struct ddl_compiler *compiler, const CreateSeqStmt *create)
{
	static const struct {
		const char *name;
		type_id type;
	} columns_of_sequences[] = {
		{ "last_value", INT8OID },
		{ "log_cnt", INT8OID },
		{ "is_called", BOOLOID },
	};
	struct ddl_columns columns = { 0 };
	if (create->if_not_exists && ddl_is_there(compiler, create->sequence))
		return;
	for (size_t i = 0; i < sizeof columns_of_sequences / sizeof *columns_of_sequences; i++)
		ddl_add_column(compiler, &columns,
			       (struct catalog_column){ .name = str_from(columns_of_sequences[i].name),
							.not_null = true },
			       (struct ddl_type){ .id = columns_of_sequences[i].type });
	struct catalog_relation relation = { .schema = ddl_schema_of(compiler,
								     str_from(create->sequence->schemaname)),
					     .name = str_from(create->sequence->relname),
					     .kind = 'S',
					     .volatility = 'i',
					     .may_read = true,
					     .columns = columns.items,
					     .columns_count = columns.count };
	if (ddl_is_there(compiler, create->sequence))
		ddl_leave_out(compiler, "relation \"" STR_FMT "\" already exists", STR_ARG(relation.name));
	else
		(void)catalog_add_relation(&compiler->builder, relation, (struct type_list){ 0 });
}
