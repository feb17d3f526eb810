#include "sql/mongodb/resolve.h"

#include "sql/mongodb/check.h"

#include "common/nearest.h"

#include <ctype.h>

#define MAX_HINTS      8
#define MAX_CANDIDATES 1000 /* of one hint */

/* --- hints --- */

/* The next byte that is no underscore, in lower case; '\0' at the end. */
static int next_letter(str_t text, size_t *at)
{
	while (*at < text.len && text.ptr[*at] == '_')
		++*at;
	return *at < text.len ? tolower((unsigned char)text.ptr[(*at)++]) : '\0';
}

/* customerId and customer_id, _id and id: whoever writes the one may mean the other. */
static bool same_letters(str_t a, str_t b)
{
	int letter;
	size_t at = 0, other = 0;
	do {
		letter = next_letter(a, &at);
		if (letter != next_letter(b, &other))
			return false;
	} while (letter);
	return true;
}

static str_t last_part(str_t path)
{
	const char *dot = memrchr(path.ptr, '.', path.len);
	return dot ? (str_t){ dot + 1, path.len - (size_t)(dot + 1 - path.ptr) } : path;
}

/* What a name may have been meant for: by its letters, by the last part of a path, by its spelling. */
struct mongodb_hint {
	str_t name;
	str_t letters, last;
	struct nearest nearest;
};

static void offer(str_t path, void *context)
{
	struct mongodb_hint *hint = context;
	if (str_equal(path, hint->name)) /* a stage has taken it away */
		return;
	if (!str_present(hint->letters) && same_letters(path, hint->name))
		hint->letters = path;
	if (same_letters(last_part(path), last_part(hint->name)) &&
	    (!str_present(hint->last) || path.len < hint->last.len))
		hint->last = path;
	nearest_offer(&hint->nearest, path);
}

static str_t hint_text(struct mongodb_hint *hint, struct arena *arena)
{
	str_t best = str_present(hint->letters) ? hint->letters : hint->last;
	if (!str_present(best))
		return nearest_hint(&hint->nearest, '"', arena);
	return arena_printf(arena, "; did you mean \"" STR_FMT "\"?", STR_ARG(best));
}

static struct mongodb_hint hint_of(str_t name)
{
	struct mongodb_hint hint = { .name = name };
	nearest_init(&hint.nearest, name);
	return hint;
}

static str_t field_hint(struct mongodb_resolver *resolver, const struct mongodb_shape *documents, str_t path)
{
	struct mongodb_hint hint = hint_of(path);
	if (++resolver->hints > MAX_HINTS)
		return STR("");
	mongodb_shape_each(&resolver->shapes, documents, MAX_CANDIDATES, offer, &hint);
	return hint_text(&hint, resolver->arena);
}

static str_t collection_hint(struct mongodb_resolver *resolver, str_t name)
{
	struct mongodb_hint hint = hint_of(name);
	size_t count;
	const struct catalog_relation *relations = catalog_relations(resolver->catalog, &count);
	if (++resolver->hints > MAX_HINTS)
		return STR("");
	for (size_t i = 0; i < count && i < MAX_CANDIDATES; i++)
		offer(relations[i].name, &hint);
	return hint_text(&hint, resolver->arena);
}

/* --- names --- */

static bool is_reported(const struct mongodb_resolver *resolver, enum sql_diagnostic_code code, str_t object)
{
	const struct diagnostics *diagnostics = resolver->diagnostics;
	for (size_t i = 0; i < diagnostics->count; i++)
		if (diagnostics->items[i].code == diagnostic_name(code) &&
		    str_equal(diagnostics->items[i].object, object))
			return true;
	return diagnostics->count >= DIAGNOSTICS_MAX;
}

struct mongodb_shape *mongodb_resolve_collection(struct mongodb_resolver *resolver, str_t name, size_t offset)
{
	const struct catalog_relation *relation = catalog_relation_on_path(resolver->catalog, name);
	bool plain = name.len > 0 && !memchr(name.ptr, '\0', name.len);
	if (!relation && plain && !mongodb_is_systems(name) &&
	    !is_reported(resolver, DIAG_UNKNOWN_TABLE, name)) {
		str_t hint = collection_hint(resolver, name);
		diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_TABLE, SUB_NONE, name, (int64_t)offset,
				"there is no collection \"" STR_FMT "\"" STR_FMT, STR_ARG(name),
				STR_ARG(hint));
	}
	return mongodb_shape_of(&resolver->shapes, relation);
}

/* The field `path` of the documents, whose last part `level` does not have. */
static void report_field(struct mongodb_resolver *resolver, const struct mongodb_shape *documents,
			 const struct mongodb_shape *level, str_t path, size_t offset)
{
	enum sql_diagnostic_code code =
		mongodb_shape_is_closed(level) ? DIAG_UNKNOWN_COLUMN : DIAG_UNKNOWN_FIELD;
	str_t collection = level->relation ? level->relation->name : STR("");
	bool fine = code == DIAG_UNKNOWN_FIELD && hash_map_get(&resolver->absences, path);
	if (fine || is_reported(resolver, code, path))
		return;
	str_t hint = field_hint(resolver, documents, path);
	if (code == DIAG_UNKNOWN_COLUMN)
		diagnostics_add(resolver->diagnostics, code, SUB_NONE, path, (int64_t)offset,
				"the validator of \"" STR_FMT "\" lets no field \"" STR_FMT "\" in" STR_FMT,
				STR_ARG(collection), STR_ARG(path), STR_ARG(hint));
	else if (level->relation)
		diagnostics_add(resolver->diagnostics, code, SUB_NONE, path, (int64_t)offset,
				"no document of \"" STR_FMT "\" that was looked at has a field \"" STR_FMT
				"\"" STR_FMT,
				STR_ARG(collection), STR_ARG(path), STR_ARG(hint));
	else
		diagnostics_add(resolver->diagnostics, code, SUB_NONE, path, (int64_t)offset,
				"the documents have no field \"" STR_FMT "\" here" STR_FMT, STR_ARG(path),
				STR_ARG(hint));
}

/* A position in an array. */
static bool is_position(str_t part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!isdigit((unsigned char)part.ptr[i]))
			return false;
	return part.len > 0;
}

struct mongodb_shape *mongodb_resolve_path(struct mongodb_resolver *resolver,
					   const struct mongodb_shape *documents, str_t path, size_t offset,
					   bool *ret_direct)
{
	const struct mongodb_shape *level = documents;
	struct mongodb_shape *found = NULL;
	bool direct = documents == resolver->root || documents->types == CATALOG_OBJECT;
	if (ret_direct)
		*ret_direct = false;
	for (str_t rest = path; str_present(rest);) {
		str_t part = mongodb_path_part(&rest);
		str_t whole = { path.ptr, (size_t)(part.ptr + part.len - path.ptr) };
		struct mongodb_shape *field = mongodb_shape_field(&resolver->shapes, level, part);
		if (part.len == 0 || (field && field->open))
			return &resolver->shapes.open;
		if (!field && found && is_position(part)) {
			direct = false;
			continue;
		}
		if (!field && part.ptr[0] == '$') /* the element that was found, or what the gate tells of */
			return &resolver->shapes.open;
		if (!field) {
			report_field(resolver, documents, level, whole, offset);
			return &resolver->shapes.open;
		}
		direct &= !found || (found->types & ~(unsigned)CATALOG_NULL) == CATALOG_OBJECT;
		level = found = field;
	}
	if (!found)
		return &resolver->shapes.open;
	found->owned = false;
	if (ret_direct)
		*ret_direct = direct;
	return found;
}

/* --- the command --- */

static void resolve_distinct(struct mongodb_resolver *resolver, const struct mongodb_command *command)
{
	if (mongodb_is_text(command->key))
		(void)mongodb_resolve_path(resolver, resolver->root, command->key->text, command->key->offset,
					   NULL);
}

void mongodb_resolve(const struct mongodb_command *command, const struct catalog *catalog,
		     struct arena *arena, struct diagnostics *diagnostics)
{
	struct mongodb_resolver resolver = { .arena = arena, .diagnostics = diagnostics, .catalog = catalog };
	mongodb_shapes_init(&resolver.shapes, arena);
	hash_map_init(&resolver.absences, arena, 0);
	resolver.root = str_present(command->collection)
				? mongodb_resolve_collection(&resolver, command->collection,
							     command->collection_offset)
				: &resolver.shapes.open;
	const struct mongodb_value *let = mongodb_member(command->options, "let");
	if (let)
		mongodb_resolve_let(&resolver, let);
	if (command->filter)
		mongodb_resolve_filter(&resolver, resolver.root, command->filter);
	if (command->sort)
		mongodb_resolve_sort(&resolver, resolver.root, command->sort);
	if (command->projection)
		(void)mongodb_resolve_projection(&resolver, command->projection);
	if (command->verb == MONGODB_DISTINCT)
		resolve_distinct(&resolver, command);
	if (command->pipeline)
		(void)mongodb_resolve_pipeline(&resolver, resolver.root, command->pipeline);
}
