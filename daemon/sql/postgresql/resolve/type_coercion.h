/*
 * Which types PostgreSQL converts into which: casts, common types, polymorphic parameters.
 *
 * Pure. TYPE_UNSURE claims nothing: whatever depends on it is PERHAPS. UNKNOWNOID is the type of a quoted
 * literal or NULL that nothing has given a type yet.
 */
#pragma once

#include "sql/catalog/content.h"

enum certainty { SURELY_NOT, PERHAPS, SURELY };

/* How much is asked for: conversions of the context before are done in each later one. */
enum cast_context { CAST_IMPLICIT, CAST_ASSIGNMENT, CAST_EXPLICIT };

/* The less certain of two. */
static inline enum certainty certainty_and(enum certainty a, enum certainty b)
{
	return a < b ? a : b;
}

/* Pseudo-types that stand for whatever the arguments are (anyelement, …). */
bool type_is_polymorphic(type_id type);
/* The named row type, not record, that the type is, maybe through domains; or NULL. `catalog` may be NULL. */
const struct catalog_type *type_composite(const struct catalog *catalog, type_id type);

/* typcategory of the type ('X' of UNKNOWNOID, '\0' where it is not known), and whether it is preferred there.
 */
char type_category_letter(const struct catalog *catalog, type_id type, bool *ret_preferred);

/* Element type of an array (through domains), array type of an element; TYPE_UNSURE where there is none. */
type_id type_element(const struct catalog *catalog, type_id type);
type_id type_array(const struct catalog *catalog, type_id type);

/* The type as the engine writes it, for messages. */
str_t type_text(const struct catalog *catalog, type_id type);

/* Whether a value of `source` can be converted to `target`, which is not polymorphic. */
enum certainty type_can_coerce(const struct catalog *catalog, type_id source, type_id target,
			       enum cast_context context);

/* The cast that this conversion runs, or NULL: none, or one by text form or elements. */
const struct catalog_cast *type_cast_of(const struct catalog *catalog, type_id source, type_id target);

/* f(x) notation: whether it can mean the conversion of `source` to `target`. */
enum certainty type_can_coerce_by_call(const struct catalog *catalog, type_id source, type_id target);

/* The type that UNION, CASE, COALESCE, ARRAY[] or IN take their parts to. SURELY: `ret_type` and every part
 * can be converted; SURELY_NOT: there is none. */
enum certainty type_common(const struct catalog *catalog, const type_id *types, size_t count,
			   type_id *ret_type);

/* What the polymorphic parameters of one call stand for; TYPE_UNSURE where not known. */
struct type_binding {
	type_id element, array, range, multirange;
	type_id common, common_range, common_multirange;
	bool some_unknown; /* a literal without type stands for one of the first family */
};

/* What was found out about implicit conversions with one catalog; all zero: nothing yet. */
#define COERCION_MEMORY_SLOTS 256
struct coercion_memory {
	struct coercion {
		type_id source, target;
		enum certainty certainty;
	} slots[COERCION_MEMORY_SLOTS];
};

/* Whether the arguments can be converted implicitly to the parameters; binds the polymorphic ones. */
enum certainty type_can_coerce_all(const struct catalog *catalog, struct coercion_memory *memory,
				   const type_id *arguments, const type_id *parameters, size_t count,
				   struct type_binding *ret_binding);

/* The type that a declared one stands for under the binding; TYPE_UNSURE where it is not known. */
type_id type_bound(const struct catalog *catalog, const struct type_binding *binding, type_id declared);
