#include "sql/postgresql/resolve/type_coercion.h"

#include "catalog/pg_type_d.h"

/* PostgreSQL gives its own base types lower ids by hand. */
#define FIRST_GENERATED_ID ((type_id)10000)

/* Arrays of arrays of …: how deep element types are followed. */
#define MAX_ELEMENT_DEPTH 8

/* How a conversion is done. */
enum path { PATH_NONE, PATH_UNSURE, PATH_SAME, PATH_FUNCTION, PATH_TEXT };

bool type_is_polymorphic(type_id type)
{
	switch (type) {
	case ANYELEMENTOID:
	case ANYARRAYOID:
	case ANYNONARRAYOID:
	case ANYENUMOID:
	case ANYRANGEOID:
	case ANYMULTIRANGEOID:
	case ANYCOMPATIBLEOID:
	case ANYCOMPATIBLEARRAYOID:
	case ANYCOMPATIBLENONARRAYOID:
	case ANYCOMPATIBLERANGEOID:
	case ANYCOMPATIBLEMULTIRANGEOID:
		return true;
	default:
		return false;
	}
}

const struct catalog_type *type_composite(const struct catalog *catalog, type_id type)
{
	const struct catalog_type *entry =
		catalog ? catalog_type(catalog, catalog_type_base(catalog, type)) : NULL;
	return entry && entry->kind == 'c' ? entry : NULL;
}

/* What the catalog knows of it; of another one nothing. */
static const struct catalog_type *entry_of(const struct catalog *catalog, type_id type)
{
	static const struct catalog_type unknown;
	const struct catalog_type *entry = catalog_type(catalog, type);
	return entry ? entry : &unknown;
}

char type_category_letter(const struct catalog *catalog, type_id type, bool *ret_preferred)
{
	const struct catalog_type *entry = entry_of(catalog, type);
	*ret_preferred = entry->is_preferred;
	return entry->category;
}

type_id type_element(const struct catalog *catalog, type_id type)
{
	return entry_of(catalog, catalog_type_base(catalog, type))->element;
}

type_id type_array(const struct catalog *catalog, type_id type)
{
	return entry_of(catalog, type)->array;
}

str_t type_text(const struct catalog *catalog, type_id type)
{
	const struct catalog_type *entry = catalog_type(catalog, type);
	if (type == UNKNOWNOID)
		return STR("unknown");
	return entry ? entry->text : STR("?");
}

const struct catalog_cast *type_cast_of(const struct catalog *catalog, type_id source, type_id target)
{
	return catalog_cast(catalog, catalog_type_base(catalog, source), catalog_type_base(catalog, target));
}

static bool context_allows(const struct catalog_cast *cast, enum cast_context context)
{
	return cast->context == 'i' || (cast->context == 'a' && context >= CAST_ASSIGNMENT) ||
	       context >= CAST_EXPLICIT;
}

static bool is_string(const struct catalog *catalog, type_id type)
{
	bool preferred;
	return type_category_letter(catalog, type, &preferred) == 'S';
}

/* oidvector and int2vector are arrays of numbers, but no array is cast to them by its elements. */
static type_id target_element(const struct catalog *catalog, type_id type)
{
	return type == OIDVECTOROID || type == INT2VECTOROID ? TYPE_UNSURE : type_element(catalog, type);
}

static enum path find_path(const struct catalog *catalog, type_id source, type_id target,
			   enum cast_context context, unsigned depth)
{
	source = catalog_type_base(catalog, source);
	target = catalog_type_base(catalog, target);
	if (source == target)
		return PATH_SAME;
	const struct catalog_cast *cast = catalog_cast(catalog, source, target);
	if (cast) {
		if (!context_allows(cast, context))
			return PATH_NONE;
		return cast->method == 'b' ? PATH_SAME : cast->method == 'i' ? PATH_TEXT : PATH_FUNCTION;
	}
	type_id from = type_element(catalog, source), to = target_element(catalog, target);
	if (from && to) {
		if (depth >= MAX_ELEMENT_DEPTH)
			return PATH_UNSURE;
		enum path path = find_path(catalog, from, to, context, depth + 1);
		if (path != PATH_NONE)
			return path == PATH_UNSURE ? PATH_UNSURE : PATH_FUNCTION;
	}
	if (context >= CAST_ASSIGNMENT && is_string(catalog, target))
		return PATH_TEXT;
	if (context >= CAST_EXPLICIT && is_string(catalog, source))
		return PATH_TEXT;
	return PATH_NONE;
}

/* Rows: of any named type from and to record; between named types only by inheritance, which is not known. */
static enum certainty rows_coerce(const struct catalog *catalog, type_id source, type_id target)
{
	bool from_row = type_composite(catalog, source), to_row = type_composite(catalog, target);
	if ((source == RECORDOID && to_row) || (from_row && target == RECORDOID))
		return SURELY;
	if (from_row && to_row)
		return PERHAPS;
	if (target == RECORDARRAYOID && type_composite(catalog, type_element(catalog, source)))
		return SURELY;
	return SURELY_NOT;
}

/* A base type without elements converts by what is defined for it alone; types numbered below are no domains.
 */
static bool is_plain(const struct catalog_type *type)
{
	return type->kind == 'b' && type->element == TYPE_UNSURE;
}

enum certainty type_can_coerce(const struct catalog *catalog, type_id source, type_id target,
			       enum cast_context context)
{
	if (source == TYPE_UNSURE || target == TYPE_UNSURE || !catalog)
		return PERHAPS;
	if (source == target || target == ANYOID || source == UNKNOWNOID)
		return SURELY;
	const struct catalog_type *from = catalog_type(catalog, source);
	if (from && is_plain(from) && target < FIRST_GENERATED_ID && context == CAST_IMPLICIT) {
		const struct catalog_cast *cast = catalog_cast(catalog, source, target);
		return cast && context_allows(cast, context) ? SURELY : SURELY_NOT;
	}
	if (!from || !catalog_type(catalog, target))
		return PERHAPS;
	switch (find_path(catalog, source, target, context, 0)) {
	case PATH_NONE:
		return rows_coerce(catalog, source, target);
	case PATH_UNSURE:
		return PERHAPS;
	default:
		return SURELY;
	}
}

/* type_can_coerce for CAST_IMPLICIT; what was found out is kept in the memory. */
static enum certainty can_coerce(const struct catalog *catalog, struct coercion_memory *memory,
				 type_id source, type_id target)
{
	uint32_t hash = (source * UINT32_C(0x9E3779B1)) ^ (target * UINT32_C(0x85EBCA77));
	struct coercion *slot = &memory->slots[hash >> 8 & (COERCION_MEMORY_SLOTS - 1)];
	if (source == UNKNOWNOID || source == target)
		return SURELY;
	if (slot->source != source || slot->target != target)
		*slot = (struct coercion){ source, target,
					   type_can_coerce(catalog, source, target, CAST_IMPLICIT) };
	return slot->certainty;
}

enum certainty type_can_coerce_by_call(const struct catalog *catalog, type_id source, type_id target)
{
	if (source == TYPE_UNSURE || target == TYPE_UNSURE)
		return PERHAPS;
	if (source == UNKNOWNOID)
		return SURELY;
	bool row = source == RECORDOID || type_composite(catalog, source);
	switch (find_path(catalog, source, target, CAST_EXPLICIT, 0)) {
	case PATH_SAME:
		return SURELY;
	case PATH_TEXT:
		return row && is_string(catalog, target) ? SURELY_NOT : SURELY;
	case PATH_UNSURE:
		return PERHAPS;
	default:
		return SURELY_NOT;
	}
}

/* The type that `chosen` gives way to, or itself. */
static enum certainty common_step(const struct catalog *catalog, type_id next, type_id *chosen)
{
	bool preferred, ignored;
	next = catalog_type_base(catalog, next);
	if (next == UNKNOWNOID || next == *chosen)
		return SURELY;
	if (*chosen == UNKNOWNOID) {
		*chosen = next;
		return SURELY;
	}
	char category = type_category_letter(catalog, *chosen, &preferred);
	if (category != type_category_letter(catalog, next, &ignored))
		return SURELY_NOT;
	if (preferred)
		return SURELY;
	enum certainty there = type_can_coerce(catalog, *chosen, next, CAST_IMPLICIT);
	enum certainty back = type_can_coerce(catalog, next, *chosen, CAST_IMPLICIT);
	if (there == PERHAPS || back == PERHAPS)
		return PERHAPS;
	if (there == SURELY && back == SURELY_NOT)
		*chosen = next;
	return SURELY;
}

static enum certainty all_coerce(const struct catalog *catalog, const type_id *types, size_t count,
				 type_id target)
{
	enum certainty certainty = SURELY;
	for (size_t i = 0; i < count; i++)
		certainty =
			certainty_and(certainty, type_can_coerce(catalog, types[i], target, CAST_IMPLICIT));
	return certainty;
}

static bool all_same(const type_id *types, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (types[i] != types[0])
			return false;
	}
	return true;
}

enum certainty type_common(const struct catalog *catalog, const type_id *types, size_t count,
			   type_id *ret_type)
{
	*ret_type = TYPE_UNSURE;
	if (count == 0 || !catalog)
		return PERHAPS;
	for (size_t i = 0; i < count; i++) {
		if (types[i] == TYPE_UNSURE)
			return PERHAPS;
	}
	if (types[0] != UNKNOWNOID && all_same(types, count)) {
		*ret_type = types[0];
		return SURELY;
	}
	type_id chosen = catalog_type_base(catalog, types[0]);
	for (size_t i = 1; i < count; i++) {
		enum certainty step = common_step(catalog, types[i], &chosen);
		if (step != SURELY)
			return step;
	}
	if (chosen == UNKNOWNOID)
		chosen = TEXTOID;
	*ret_type = chosen;
	return all_coerce(catalog, types, count, chosen);
}

/* What the arguments of the "anycompatible" family have in common. */
#define MAX_COMPATIBLE 64

struct binder {
	const struct catalog *catalog;
	struct type_binding binding;
	type_id compatible[MAX_COMPATIBLE];
	size_t compatible_count;
	bool some_compatible; /* a parameter of that family, even if its argument is unknown */
	bool compatible_no_array;
	bool no_array;
	bool only_enum;
	enum certainty certainty;
};

static void bind_same(struct binder *binder, type_id *bound, type_id actual)
{
	if (*bound && *bound != actual)
		binder->certainty = SURELY_NOT;
	*bound = actual;
}

static void add_compatible(struct binder *binder, type_id actual)
{
	if (actual == TYPE_UNSURE)
		binder->certainty = SURELY_NOT;
	else if (binder->compatible_count == MAX_COMPATIBLE)
		binder->certainty = certainty_and(binder->certainty, PERHAPS);
	else
		binder->compatible[binder->compatible_count++] = actual;
}

static void bind_compatible(struct binder *binder, type_id parameter, type_id actual, type_id base)
{
	const struct catalog *catalog = binder->catalog;
	switch (parameter) {
	case ANYCOMPATIBLENONARRAYOID:
	case ANYCOMPATIBLEOID:
		add_compatible(binder, actual);
		break;
	case ANYCOMPATIBLEARRAYOID:
		add_compatible(binder, type_element(catalog, base));
		break;
	case ANYCOMPATIBLERANGEOID:
		bind_same(binder, &binder->binding.common_range, base);
		add_compatible(binder, entry_of(catalog, base)->subtype);
		break;
	default:
		bind_same(binder, &binder->binding.common_multirange, base);
		add_compatible(binder, entry_of(catalog, entry_of(catalog, base)->range)->subtype);
		break;
	}
}

static bool is_compatible_family(type_id parameter)
{
	return parameter == ANYCOMPATIBLEOID || parameter == ANYCOMPATIBLEARRAYOID ||
	       parameter == ANYCOMPATIBLENONARRAYOID || parameter == ANYCOMPATIBLERANGEOID ||
	       parameter == ANYCOMPATIBLEMULTIRANGEOID;
}

static void bind_argument(struct binder *binder, type_id parameter, type_id actual)
{
	type_id base = catalog_type_base(binder->catalog, actual);
	binder->no_array |= parameter == ANYNONARRAYOID;
	binder->only_enum |= parameter == ANYENUMOID;
	binder->compatible_no_array |= parameter == ANYCOMPATIBLENONARRAYOID;
	binder->some_compatible |= is_compatible_family(parameter);
	if (actual == TYPE_UNSURE) {
		binder->certainty = certainty_and(binder->certainty, PERHAPS);
		return;
	}
	if (actual == UNKNOWNOID) {
		binder->binding.some_unknown |= !is_compatible_family(parameter);
		return;
	}
	switch (parameter) {
	case ANYELEMENTOID:
	case ANYNONARRAYOID:
	case ANYENUMOID:
		bind_same(binder, &binder->binding.element, actual);
		break;
	case ANYARRAYOID:
		bind_same(binder, &binder->binding.array, base);
		break;
	case ANYRANGEOID:
		bind_same(binder, &binder->binding.range, base);
		break;
	case ANYMULTIRANGEOID:
		bind_same(binder, &binder->binding.multirange, base);
		break;
	default:
		bind_compatible(binder, parameter, actual, base);
		break;
	}
}

/* What follows from a container has to be what the others say. */
static void bind_derived(struct binder *binder, type_id *bound, type_id derived)
{
	if (derived == TYPE_UNSURE)
		binder->certainty = SURELY_NOT;
	else
		bind_same(binder, bound, derived);
}

static void derive_elements(struct binder *binder)
{
	struct type_binding *binding = &binder->binding;
	const struct catalog *catalog = binder->catalog;
	if (binding->array == ANYARRAYOID)
		binder->certainty = certainty_and(binder->certainty, PERHAPS);
	else if (binding->array)
		bind_derived(binder, &binding->element, type_element(catalog, binding->array));
	if (binding->multirange)
		bind_derived(binder, &binding->range, entry_of(catalog, binding->multirange)->range);
	if (binding->range)
		bind_derived(binder, &binding->element, entry_of(catalog, binding->range)->subtype);
	if (!binder->no_array && !binder->only_enum)
		return;
	const struct catalog_type *element = catalog_type(catalog, binding->element);
	const struct catalog_type *base = catalog_type(catalog, catalog_type_base(catalog, binding->element));
	if (base && binder->no_array && base->element)
		binder->certainty = SURELY_NOT;
	if (binder->only_enum && (element ? element->kind != 'e' : binder->certainty == SURELY))
		binder->certainty = SURELY_NOT; /* also when all of them are quoted literals */
}

static void derive_common(struct binder *binder)
{
	struct type_binding *binding = &binder->binding;
	if (!binder->some_compatible || binder->certainty != SURELY)
		return;
	if (binder->compatible_count == 0) {
		binding->common = TEXTOID;
		return;
	}
	binder->certainty =
		type_common(binder->catalog, binder->compatible, binder->compatible_count, &binding->common);
	if (binder->certainty == SURELY && binder->compatible_no_array &&
	    type_element(binder->catalog, binding->common))
		binder->certainty = SURELY_NOT;
	if (binding->common_multirange)
		bind_derived(binder, &binding->common_range,
			     entry_of(binder->catalog, binding->common_multirange)->range);
	if (binding->common_range &&
	    entry_of(binder->catalog, binding->common_range)->subtype != binding->common)
		binder->certainty = SURELY_NOT;
}

static enum certainty bind_all(const struct catalog *catalog, const type_id *arguments,
			       const type_id *parameters, size_t count, struct type_binding *ret_binding)
{
	struct binder binder = { .catalog = catalog, .certainty = SURELY };
	for (size_t i = 0; i < count; i++) {
		if (type_is_polymorphic(parameters[i]))
			bind_argument(&binder, parameters[i], arguments[i]);
	}
	if (binder.certainty != SURELY_NOT) {
		derive_elements(&binder);
		derive_common(&binder);
	}
	*ret_binding = binder.binding;
	return binder.certainty;
}

enum certainty type_can_coerce_all(const struct catalog *catalog, struct coercion_memory *memory,
				   const type_id *arguments, const type_id *parameters, size_t count,
				   struct type_binding *ret_binding)
{
	bool polymorphic = false;
	enum certainty plain = SURELY;
	*ret_binding = (struct type_binding){ 0 };
	for (size_t i = 0; i < count && plain != SURELY_NOT; i++) {
		if (type_is_polymorphic(parameters[i]))
			polymorphic = true;
		else
			plain = certainty_and(plain,
					      can_coerce(catalog, memory, arguments[i], parameters[i]));
	}
	return polymorphic && plain != SURELY_NOT
		       ? certainty_and(plain, bind_all(catalog, arguments, parameters, count, ret_binding))
		       : plain;
}

type_id type_bound(const struct catalog *catalog, const struct type_binding *binding, type_id declared)
{
	switch (declared) {
	case ANYELEMENTOID:
	case ANYNONARRAYOID:
	case ANYENUMOID:
		return binding->element;
	case ANYARRAYOID:
		return binding->array ? binding->array : type_array(catalog, binding->element);
	case ANYRANGEOID:
		return binding->range;
	case ANYMULTIRANGEOID:
		return binding->multirange ? binding->multirange
					   : entry_of(catalog, binding->range)->multirange;
	case ANYCOMPATIBLEOID:
	case ANYCOMPATIBLENONARRAYOID:
		return binding->common;
	case ANYCOMPATIBLEARRAYOID:
		return type_array(catalog, binding->common);
	case ANYCOMPATIBLERANGEOID:
		return binding->common_range;
	case ANYCOMPATIBLEMULTIRANGEOID:
		return binding->common_multirange ? binding->common_multirange
						  : entry_of(catalog, binding->common_range)->multirange;
	default:
		return declared;
	}
}
