#include "sql/catalog/internal.h"

#include "common/buf.h"

/* The digest is over content alone, in the order of names, and in two parts: what the system brings along and
 * what was added to it. Fields are written with their lengths, so that no two contents give one text. */

static void write_text(struct buf *buf, str_t text)
{
	buf_append_u32(buf, text.ptr ? (uint32_t)text.len + 1 : 0);
	if (text.ptr)
		buf_append_str(buf, text);
}

static void write_ids(struct buf *buf, const type_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_append_u32(buf, ids[i]);
}

static void write_flags(struct buf *buf, const bool *flags, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_append_char(buf, flags[i] ? '1' : '0');
}

#define WRITE_FLAGS(buf, ...)                                                                                \
	write_flags((buf), (const bool[]){ __VA_ARGS__ },                                                    \
		    sizeof((const bool[]){ __VA_ARGS__ }) / sizeof(bool))

static void write_columns(struct buf *buf, const struct catalog_column *columns, size_t count)
{
	buf_append_u64(buf, count);
	for (size_t i = 0; i < count; i++) {
		write_text(buf, columns[i].name);
		write_text(buf, columns[i].type);
		buf_append_u32(buf, columns[i].value_type);
		WRITE_FLAGS(buf, columns[i].not_null, columns[i].is_key);
	}
}

/* What the catalogs of MongoDB alone have. */
static void write_fields(struct buf *buf, const struct catalog_relation *relation)
{
	WRITE_FLAGS(buf, relation->is_closed);
	for (size_t i = 0; i < relation->columns_count; i++) {
		const struct catalog_column *column = &relation->columns[i];
		buf_append_u32(buf, column->holds);
		buf_append_u32(buf, column->elements);
		WRITE_FLAGS(buf, column->holds_only, column->is_open, column->is_closed);
	}
}

static void write_relation(struct buf *buf, const struct catalog_relation *relation)
{
	write_text(buf, relation->schema);
	write_text(buf, relation->name);
	write_text(buf, relation->definition);
	buf_append_char(buf, relation->kind);
	buf_append_char(buf, relation->volatility);
	buf_append_u32(buf, relation->foreign);
	WRITE_FLAGS(buf, relation->is_view, relation->is_open, relation->is_public, relation->may_read,
		    relation->has_children);
	buf_append_u32(buf, relation->row_type);
	write_columns(buf, relation->columns, relation->columns_count);
	buf_append_u64(buf, relation->keys_count);
	for (size_t i = 0; i < relation->keys_count; i++) {
		const struct catalog_key *key = &relation->keys[i];
		WRITE_FLAGS(buf, key->is_primary, key->is_immediate, key->nulls_not_distinct);
		buf_append_u64(buf, key->columns_count);
		for (size_t c = 0; c < key->columns_count; c++)
			buf_append_u32(buf, key->columns[c]);
	}
}

static void write_function(struct buf *buf, const struct catalog_function *function)
{
	write_text(buf, function->schema);
	write_text(buf, function->name);
	write_text(buf, function->language);
	write_text(buf, function->result);
	buf_printf(buf, "%c%c%c%u,%u,%u,", function->volatility, function->kind, function->aggregate,
		   function->arguments, function->defaults, function->direct_arguments);
	WRITE_FLAGS(buf, function->is_public, function->may_execute, function->is_security_definer,
		    function->is_strict, function->returns_set, function->is_variadic, function->takes_row,
		    function->argument_names != NULL);
	buf_append_u32(buf, function->variadic);
	buf_append_u32(buf, function->result_type);
	write_ids(buf, function->argument_types, function->arguments);
	for (size_t i = 0; function->argument_names && i < function->arguments; i++)
		write_text(buf, function->argument_names[i]);
	buf_append_u64(buf, function->outputs_count);
	write_ids(buf, function->output_types, function->outputs_count);
	for (size_t i = 0; i < function->outputs_count; i++)
		write_text(buf, function->outputs[i]);
}

static void write_type(struct buf *buf, const struct catalog_type *type)
{
	buf_append_u32(buf, type->id);
	write_text(buf, type->schema);
	write_text(buf, type->name);
	buf_printf(buf, "%c%c%c", type->kind, type->category, type->volatility);
	WRITE_FLAGS(buf, type->is_preferred, type->is_public, type->is_subscriptable);
	write_ids(buf,
		  (const type_id[]){ type->element, type->subscript, type->array, type->base, type->subtype,
				     type->range },
		  6);
	if (!type->relation)
		write_columns(buf, type->columns, type->columns_count);
	if (type->labels)
		buf_append_u64(buf, type->labels_count);
	for (size_t i = 0; i < type->labels_count; i++)
		write_text(buf, type->labels[i]);
}

static void write_operator(struct buf *buf, const struct catalog_operator *operator_)
{
	write_text(buf, operator_->schema);
	write_text(buf, operator_->name);
	write_ids(buf, (const type_id[]){ operator_->left, operator_->right, operator_->result }, 3);
	buf_append_char(buf, operator_->volatility);
	WRITE_FLAGS(buf, operator_->is_prefix, operator_->is_public, operator_->may_execute);
}

static void write_cast(struct buf *buf, const struct catalog_cast *cast)
{
	write_ids(buf, (const type_id[]){ cast->source, cast->target }, 2);
	buf_printf(buf, "%c%c%c", cast->context, cast->method, cast->volatility);
	WRITE_FLAGS(buf, cast->is_public, cast->may_execute);
}

#define WRITE_ALL(buf, write, items, count, ...)                                                             \
	do {                                                                                                 \
		buf_append_text((buf), #items);                                                              \
		for (size_t i_ = 0; i_ < (count); i_++) {                                                    \
			__typeof__(*(items)) *item = &(items)[i_];                                           \
			if (__VA_ARGS__)                                                                     \
				write((buf), item);                                                          \
		}                                                                                            \
	} while (0)

static bool cast_is_system(const struct catalog_cast *cast)
{
	return cast->source < TYPE_ID_USER && cast->target < TYPE_ID_USER;
}

/* What is, or is not, the system's own; of a catalog on a base all that it adds. */
static void write_part(struct buf *buf, const struct catalog *catalog, bool system)
{
	bool all = catalog->base != NULL;
	WRITE_ALL(buf, write_type, catalog->types, catalog->types_count, all || item->is_system == system);
	WRITE_ALL(buf, write_relation, catalog->relations, catalog->relations_count,
		  all || item->is_system == system);
	if (catalog->dialect == SQL_MONGODB)
		WRITE_ALL(buf, write_fields, catalog->relations, catalog->relations_count,
			  all || item->is_system == system);
	WRITE_ALL(buf, write_function, catalog->functions, catalog->functions_count,
		  all || item->is_system == system);
	WRITE_ALL(buf, write_operator, catalog->operators, catalog->operators_count,
		  all || item->is_system == system);
	WRITE_ALL(buf, write_cast, catalog->casts, catalog->casts_count,
		  all || cast_is_system(item) == system);
}

void catalog_compute_digest(struct catalog *catalog)
{
	struct buf buf = BUF_INIT;
	if (catalog->base) {
		memcpy(catalog->system_digest, catalog->base->system_digest, DIGEST_BYTES);
	} else {
		write_part(&buf, catalog, true);
		hash_sha256(buf_str(&buf).ptr, buf.len, catalog->system_digest);
		buf_reset(&buf);
	}
	buf_append(&buf, catalog->system_digest, DIGEST_BYTES);
	buf_append_u32(&buf, (uint32_t)catalog->dialect);
	WRITE_FLAGS(&buf, str_present(catalog->gap), catalog->lacks_any_relation);
	for (size_t i = 0; i < catalog->extension_relations_count; i++)
		buf_append_text(&buf, catalog->extension_relations[i]);
	buf_append_u64(&buf, catalog->path_count);
	for (size_t i = 0; i < catalog->path_count; i++)
		write_text(&buf, catalog->path[i]);
	buf_append_u64(&buf, catalog->schemas_count);
	for (size_t i = 0; i < catalog->schemas_count; i++)
		write_text(&buf, catalog->schemas[i]);
	/* The system's are those of its machine: two of one kind have equal digests. */
	for (size_t i = 0; i < catalog->others_count; i++) {
		if (!catalog_is_system(catalog->others[i].schema)) {
			if (catalog->others[i].kind != CATALOG_COLLATION)
				buf_append_char(&buf, catalog->others[i].kind);
			write_text(&buf, catalog->others[i].schema);
			write_text(&buf, catalog->others[i].name);
		}
	}
	write_part(&buf, catalog, false);
	hash_sha256_hex(buf.data, buf.len, catalog->digest);
	buf_free(&buf);
}
