#include "event/schema_text.h"

#include "common/buf.h"
#include "sql/catalog/content.h"

static const char left_out[] = "(more is left out)\n";

/* A line without its last line feed; identifiers are data, and so must not make lines of their own. */
static void append_name(struct buf *line, str_t name)
{
	for (size_t i = 0; i < name.len; i++)
		buf_append_char(line, (unsigned char)name.ptr[i] < ' ' ? ' ' : name.ptr[i]);
}

static void append_relation(struct buf *line, const struct catalog_relation *relation, str_t name)
{
	append_name(line, name);
	buf_append_text(line, " (");
	for (size_t i = 0; i < relation->columns_count && line->len < SCHEMA_TEXT_MAX; i++) {
		const struct catalog_column *column = &relation->columns[i];
		buf_append_text(line, i ? ", " : "");
		append_name(line, column->name);
		if (str_present(column->type) && column->type.len) {
			buf_append_char(line, ' ');
			append_name(line, column->type);
		}
		buf_append_text(line, column->is_key ? " key" : "");
	}
	buf_append_text(line, ")\n");
}

static bool same_name(str_t exact, str_t lower)
{
	return exact.len == lower.len && strncasecmp(exact.ptr, lower.ptr, lower.len) == 0;
}

/* Names with capitals are found by looking at all. */
static const struct catalog_relation *find_any_case(const struct catalog *catalog, str_t schema, str_t name)
{
	size_t count;
	const struct catalog_relation *relations = catalog_relations(catalog, &count);
	for (size_t i = 0; i < count; i++)
		if (same_name(relations[i].name, name) &&
		    (!str_present(schema) || same_name(relations[i].schema, schema)))
			return &relations[i];
	return NULL;
}

static const struct catalog_relation *find(const struct catalog *catalog, str_t table)
{
	bool qualified = catalog_dialect(catalog) != SQL_MONGODB; /* where a dot is a part of a name */
	const char *dot = qualified ? memchr(table.ptr, '.', table.len) : NULL;
	str_t schema = dot ? (str_t){ table.ptr, (size_t)(dot - table.ptr) } : STR_NONE;
	str_t name = dot ? (str_t){ dot + 1, table.len - schema.len - 1 } : table;
	const struct catalog_relation *found =
		dot ? catalog_relation(catalog, schema, name) : catalog_relation_on_path(catalog, name);
	return found ? found : find_any_case(catalog, schema, name);
}

str_t schema_text(const struct catalog *catalog, const str_t *tables, size_t tables_count,
		  struct arena *arena)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	for (size_t i = 0; catalog && i < tables_count; i++) {
		_cleanup_(buf_free) struct buf line = BUF_INIT;
		const struct catalog_relation *relation = find(catalog, tables[i]);
		if (!relation)
			continue;
		append_relation(&line, relation, tables[i]);
		if (text.len + line.len + sizeof left_out > SCHEMA_TEXT_MAX) {
			buf_append_text(&text, left_out);
			break;
		}
		buf_append(&text, line.data, line.len);
	}
	if (text.len == 0)
		return STR_NONE;
	return arena_text(arena, text.data, text.len - 1);
}
