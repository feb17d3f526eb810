#include "sql/postgresql/resolve/type_overload.h"

#include "catalog/pg_type_d.h"

/* One function or operator with the types that the arguments at hand would have to have. */
struct candidate {
	const void *object;
	str_t schema;
	const type_id *types;
	bool expanded; /* its last parameter stands for several arguments, or defaults are used */
	bool expands_variadic;
	bool ambiguous; /* another one of the same types is as good */
};

struct candidates {
	const struct catalog *catalog;
	struct candidate items[OVERLOAD_MAX_CANDIDATES];
	size_t count;
	type_id storage[4096]; /* of expanded parameter lists and operands */
	size_t storage_used;
	bool overflow;
};

static type_id *storage_take(struct candidates *candidates, size_t count)
{
	if (candidates->storage_used + count > sizeof candidates->storage / sizeof *candidates->storage) {
		candidates->overflow = true;
		return NULL;
	}
	type_id *types = candidates->storage + candidates->storage_used;
	candidates->storage_used += count;
	return types;
}

static bool same_types(const type_id *a, const type_id *b, size_t count)
{
	return count == 0 || (a[0] == b[0] && memcmp(a, b, count * sizeof *a) == 0);
}

static bool same_schema(const struct candidate *a, const struct candidate *b)
{
	return a->schema.ptr == b->schema.ptr || str_equal(a->schema, b->schema);
}

/* Of two with equal parameters the one of the earlier schema counts, then the one that is not expanded by
 * VARIADIC. */
static bool is_hidden(struct candidates *candidates, const struct candidate *candidate, size_t count)
{
	for (size_t i = 0; i < candidates->count; i++) {
		struct candidate *other = &candidates->items[i];
		if (!same_types(other->types, candidate->types, count))
			continue;
		if (!same_schema(other, candidate))
			return true;
		if (!other->expanded && !candidate->expanded)
			continue;
		if (other->expands_variadic != candidate->expands_variadic) {
			if (other->expands_variadic)
				*other = *candidate;
			return true;
		}
		other->ambiguous = true; /* also where one of them needs no defaults */
		return true;
	}
	return false;
}

static void add_candidate(struct candidates *candidates, struct candidate candidate, size_t count)
{
	if (is_hidden(candidates, &candidate, count))
		return;
	if (candidates->count == OVERLOAD_MAX_CANDIDATES) {
		candidates->overflow = true;
		return;
	}
	candidates->items[candidates->count++] = candidate;
}

static size_t find_name(const struct catalog_function *function, str_t name)
{
	for (size_t i = 0; function->argument_names && i < function->arguments; i++) {
		if (str_equal(function->argument_names[i], name))
			return i;
	}
	return SIZE_MAX;
}

/* Types in the order of the call; false when a name does not fit or what is left out has no default. */
static bool match_names(const struct catalog_function *function, const struct overload_call *call,
			type_id *types)
{
	size_t positional = call->count - call->names_count;
	uint64_t given = positional >= 64 ? UINT64_MAX : (UINT64_C(1) << positional) - 1;
	if (function->arguments > 64)
		return false;
	memcpy(types, function->argument_types, positional * sizeof *types);
	for (size_t i = 0; i < call->names_count; i++) {
		size_t at = find_name(function, call->names[i]);
		if (at == SIZE_MAX || (given >> at & 1))
			return false;
		given |= UINT64_C(1) << at;
		types[positional + i] = function->argument_types[at];
	}
	for (size_t i = 0; i + function->defaults < function->arguments; i++) {
		if (!(given >> i & 1))
			return false;
	}
	return true;
}

static void add_named(struct candidates *candidates, const struct catalog_function *function,
		      const struct overload_call *call)
{
	if (call->count > function->arguments)
		return;
	type_id *types = storage_take(candidates, call->count);
	if (types && match_names(function, call, types))
		add_candidate(candidates,
			      (struct candidate){ .object = function,
						  .schema = function->schema,
						  .types = types,
						  .expanded = call->count < function->arguments },
			      call->count);
}

static void add_expanded(struct candidates *candidates, const struct catalog_function *function, size_t count)
{
	type_id *types = storage_take(candidates, count);
	if (!types)
		return;
	memcpy(types, function->argument_types, (function->arguments - 1) * sizeof *types);
	for (size_t i = function->arguments - 1; i < count; i++)
		types[i] = function->variadic;
	add_candidate(candidates,
		      (struct candidate){ .object = function,
					  .schema = function->schema,
					  .types = types,
					  .expanded = true,
					  .expands_variadic = true },
		      count);
}

static void add_function(struct candidates *candidates, const struct catalog_function *function,
			 const struct overload_call *call)
{
	size_t count = call->count;
	if (call->names_count > 0) {
		add_named(candidates, function, call);
		return;
	}
	if (function->is_variadic && !call->is_variadic && function->arguments > 0 &&
	    count >= function->arguments) {
		add_expanded(candidates, function, count);
		return;
	}
	bool defaulted = count < function->arguments;
	if (count > function->arguments || count + function->defaults < function->arguments)
		return;
	add_candidate(candidates,
		      (struct candidate){ .object = function,
					  .schema = function->schema,
					  .types = function->argument_types,
					  .expanded = defaulted },
		      count);
}

/* The facts about the arguments that choosing goes by. */
struct inputs {
	const struct catalog *catalog;
	struct coercion_memory *memory;
	const type_id *types;
	size_t count;
	type_id base[OVERLOAD_MAX_ARGUMENTS];
	char category[OVERLOAD_MAX_ARGUMENTS]; /* of the known ones */
	size_t unknowns;
	bool unsure; /* one is TYPE_UNSURE */
};

static void inputs_init(struct inputs *inputs, const struct catalog *catalog, struct coercion_memory *memory,
			const type_id *types, size_t count)
{
	bool preferred;
	inputs->catalog = catalog;
	inputs->memory = memory;
	inputs->types = types;
	inputs->count = count;
	inputs->unknowns = 0;
	inputs->unsure = false;
	for (size_t i = 0; i < count; i++) {
		inputs->base[i] = types[i] == UNKNOWNOID ? UNKNOWNOID : catalog_type_base(catalog, types[i]);
		inputs->category[i] = type_category_letter(catalog, inputs->base[i], &preferred);
		inputs->unknowns += types[i] == UNKNOWNOID;
		inputs->unsure |= types[i] == TYPE_UNSURE;
	}
}

/* Those that the arguments can be converted to. */
static enum certainty keep_callable(struct candidates *candidates, const struct inputs *inputs)
{
	size_t kept = 0;
	enum certainty certainty = SURELY;
	struct type_binding binding;
	for (size_t i = 0; i < candidates->count; i++) {
		enum certainty callable =
			type_can_coerce_all(inputs->catalog, inputs->memory, inputs->types,
					    candidates->items[i].types, inputs->count, &binding);
		if (callable == SURELY_NOT)
			continue;
		certainty = certainty_and(certainty, callable);
		candidates->items[kept++] = candidates->items[i];
	}
	candidates->count = kept;
	return certainty;
}

static size_t exact_matches(const struct candidate *candidate, const struct inputs *inputs)
{
	size_t matches = 0;
	for (size_t i = 0; i < inputs->count; i++)
		matches += inputs->base[i] != UNKNOWNOID && candidate->types[i] == inputs->base[i];
	return matches;
}

static size_t preferred_matches(const struct candidate *candidate, const struct inputs *inputs)
{
	size_t matches = 0;
	for (size_t i = 0; i < inputs->count; i++) {
		bool preferred;
		if (inputs->base[i] == UNKNOWNOID)
			continue;
		char category = type_category_letter(inputs->catalog, candidate->types[i], &preferred);
		matches += candidate->types[i] == inputs->base[i] ||
			   (preferred && category == inputs->category[i]);
	}
	return matches;
}

static void keep_best(struct candidates *candidates, const struct inputs *inputs,
		      size_t (*matches)(const struct candidate *, const struct inputs *))
{
	size_t best = 0, kept = 0;
	for (size_t i = 0; i < candidates->count; i++) {
		size_t count = matches(&candidates->items[i], inputs);
		if (count > best) {
			best = count;
			kept = 0;
		}
		if (count == best)
			candidates->items[kept++] = candidates->items[i];
	}
	candidates->count = kept;
}

/* What the candidates want in the place of a literal. */
struct slot {
	char category;
	bool has_preferred;
	bool conflict;
};

static struct slot slot_of(const struct candidates *candidates, size_t argument)
{
	struct slot slot = { 0 };
	for (size_t i = 0; i < candidates->count; i++) {
		bool preferred;
		char category = type_category_letter(candidates->catalog,
						     candidates->items[i].types[argument], &preferred);
		if (slot.category == '\0') {
			slot.category = category;
			slot.has_preferred = preferred;
		} else if (category == slot.category) {
			slot.has_preferred |= preferred;
		} else if (category == 'S') {
			slot.category = category;
			slot.has_preferred = preferred;
		} else {
			slot.conflict = true;
		}
	}
	return slot;
}

/* Literals take the category that all candidates, or a string among them, want. */
static void keep_by_literals(struct candidates *candidates, const struct inputs *inputs)
{
	struct slot slots[OVERLOAD_MAX_ARGUMENTS];
	size_t kept = 0;
	for (size_t a = 0; a < inputs->count; a++) {
		if (inputs->base[a] != UNKNOWNOID)
			continue;
		slots[a] = slot_of(candidates, a);
		if (slots[a].conflict && slots[a].category != 'S')
			return;
	}
	bool fits[OVERLOAD_MAX_CANDIDATES];
	for (size_t i = 0; i < candidates->count; i++) {
		fits[i] = true;
		for (size_t a = 0; a < inputs->count && fits[i]; a++) {
			bool preferred;
			if (inputs->base[a] != UNKNOWNOID)
				continue;
			char category = type_category_letter(candidates->catalog,
							     candidates->items[i].types[a], &preferred);
			fits[i] = category == slots[a].category && (preferred || !slots[a].has_preferred);
		}
		kept += fits[i];
	}
	if (kept == 0)
		return;
	kept = 0;
	for (size_t i = 0; i < candidates->count; i++) {
		if (fits[i])
			candidates->items[kept++] = candidates->items[i];
	}
	candidates->count = kept;
}

/* Literals are taken to be of the one type that all other arguments have. */
static void keep_by_other_arguments(struct candidates *candidates, const struct inputs *inputs)
{
	type_id known = TYPE_UNSURE, all[OVERLOAD_MAX_ARGUMENTS];
	struct type_binding binding;
	size_t match = 0, matches = 0;
	for (size_t i = 0; i < inputs->count; i++) {
		if (inputs->base[i] == UNKNOWNOID)
			continue;
		if (known != TYPE_UNSURE && known != inputs->base[i])
			return;
		known = inputs->base[i];
	}
	for (size_t i = 0; i < inputs->count; i++)
		all[i] = known;
	for (size_t i = 0; i < candidates->count; i++) {
		if (type_can_coerce_all(inputs->catalog, inputs->memory, all, candidates->items[i].types,
					inputs->count, &binding) != SURELY_NOT) {
			match = i;
			matches++;
		}
	}
	if (matches == 1) {
		candidates->items[0] = candidates->items[match];
		candidates->count = 1;
	}
}

static const struct candidate *find_exact(const struct candidates *candidates, const struct inputs *inputs)
{
	for (size_t i = 0; i < candidates->count; i++) {
		if (same_types(candidates->items[i].types, inputs->types, inputs->count))
			return &candidates->items[i];
	}
	return NULL;
}

/* Leaves the candidate that is called as the first. A cast goes before all but an exact match. */
static enum overload_result choose(struct candidates *candidates, const struct inputs *inputs,
				   type_id cast_target)
{
	const struct candidate *exact = inputs->unsure ? NULL : find_exact(candidates, inputs);
	if (exact) {
		candidates->items[0] = *exact;
		candidates->count = 1;
		return candidates->items[0].ambiguous ? OVERLOAD_AMBIGUOUS : OVERLOAD_FOUND;
	}
	enum certainty cast =
		cast_target ? type_can_coerce_by_call(inputs->catalog, inputs->types[0], cast_target)
			    : SURELY_NOT;
	if (cast == SURELY)
		return OVERLOAD_CAST;
	enum certainty certainty = keep_callable(candidates, inputs);
	if (cast == PERHAPS)
		return OVERLOAD_UNSURE;
	if (candidates->overflow)
		return OVERLOAD_UNSURE;
	if (candidates->count == 0)
		return OVERLOAD_NONE;
	if (certainty != SURELY || inputs->unsure)
		return OVERLOAD_UNSURE;
	if (candidates->count > 1)
		keep_best(candidates, inputs, exact_matches);
	if (candidates->count > 1)
		keep_best(candidates, inputs, preferred_matches);
	if (candidates->count > 1 && inputs->unknowns > 0)
		keep_by_literals(candidates, inputs);
	if (candidates->count > 1 && inputs->unknowns > 0 && inputs->unknowns < inputs->count)
		keep_by_other_arguments(candidates, inputs);
	return candidates->count == 1 && !candidates->items[0].ambiguous ? OVERLOAD_FOUND
									 : OVERLOAD_AMBIGUOUS;
}

/* Types of the parameters and of the value under what the polymorphic ones stand for. */
static void bind_choice(const struct candidate *candidate, const struct inputs *inputs, type_id declared,
			struct overload_choice *choice)
{
	struct type_binding binding;
	(void)type_can_coerce_all(inputs->catalog, inputs->memory, inputs->types, candidate->types,
				  inputs->count, &binding);
	for (size_t i = 0; i < inputs->count; i++) {
		choice->parameters[i] = type_bound(inputs->catalog, &binding, candidate->types[i]);
		choice->poly_unknown |=
			choice->parameters[i] == TYPE_UNSURE && binding.some_unknown && !inputs->unsure;
	}
	choice->value = type_bound(inputs->catalog, &binding, declared);
}

static type_id function_result(const void *object)
{
	return ((const struct catalog_function *)object)->result_type;
}

static type_id operator_result(const void *object)
{
	return ((const struct catalog_operator *)object)->result;
}

static void finish(struct candidates *candidates, const struct inputs *inputs, type_id cast_target,
		   type_id (*result_of)(const void *object), struct overload_choice *choice)
{
	choice->result = choose(candidates, inputs, cast_target);
	if (choice->result == OVERLOAD_FOUND) {
		bind_choice(&candidates->items[0], inputs, result_of(candidates->items[0].object), choice);
	} else if (choice->result == OVERLOAD_CAST) {
		choice->value = cast_target;
	} else if (choice->result == OVERLOAD_UNSURE && !candidates->overflow && candidates->count > 0 &&
		   cast_target == TYPE_UNSURE) {
		choice->value = result_of(candidates->items[0].object);
		for (size_t i = 1; i < candidates->count; i++) {
			if (result_of(candidates->items[i].object) != choice->value)
				choice->value = TYPE_UNSURE;
		}
		if (type_is_polymorphic(choice->value))
			choice->value = TYPE_UNSURE;
	}
}

void overload_choose_function(const struct catalog *catalog, struct coercion_memory *memory,
			      const struct catalog_function *const *overloads, size_t overloads_count,
			      const struct overload_call *call, struct overload_choice *ret_choice)
{
	struct candidates candidates;
	struct inputs inputs;
	ret_choice->result = OVERLOAD_UNSURE;
	ret_choice->function = NULL;
	ret_choice->oper = NULL;
	ret_choice->value = TYPE_UNSURE;
	ret_choice->some_take_count = false;
	ret_choice->poly_unknown = false;
	if (call->count > OVERLOAD_MAX_ARGUMENTS)
		return;
	candidates.catalog = catalog;
	candidates.count = candidates.storage_used = 0;
	candidates.overflow = false;
	inputs_init(&inputs, catalog, memory, call->types, call->count);
	for (size_t i = 0; i < overloads_count; i++)
		add_function(&candidates, overloads[i], call);
	ret_choice->some_take_count = candidates.count > 0;
	finish(&candidates, &inputs, call->cast_target, function_result, ret_choice);
	if (ret_choice->result == OVERLOAD_FOUND)
		ret_choice->function = candidates.items[0].object;
}

/* The operator of exactly these operands; the first schema's. */
static const struct catalog_operator *exact_operator(const struct catalog_operator *const *overloads,
						     size_t overloads_count, bool is_prefix, type_id left,
						     type_id right)
{
	for (size_t i = 0; i < overloads_count; i++) {
		const struct catalog_operator *overload = overloads[i];
		if (overload->is_prefix == is_prefix && overload->right == right &&
		    (is_prefix || overload->left == left))
			return overload;
	}
	return NULL;
}

/* A literal beside a typed operand is tried as one of the same type, then of its base. */
static const struct catalog_operator *quick_operator(const struct catalog *catalog,
						     const struct catalog_operator *const *overloads,
						     size_t overloads_count, bool is_prefix, type_id left,
						     type_id right)
{
	bool literal = !is_prefix && (left == UNKNOWNOID) != (right == UNKNOWNOID);
	type_id known = left == UNKNOWNOID ? right : left;
	if (literal)
		left = right = known;
	const struct catalog_operator *found =
		exact_operator(overloads, overloads_count, is_prefix, left, right);
	type_id base = literal ? catalog_type_base(catalog, known) : known;
	if (!found && literal && base != known)
		found = exact_operator(overloads, overloads_count, false, base, base);
	return found;
}

static void add_operator(struct candidates *candidates, const struct catalog_operator *overload,
			 bool is_prefix)
{
	size_t count = is_prefix ? 1 : 2;
	type_id *types = overload->is_prefix == is_prefix ? storage_take(candidates, count) : NULL;
	if (!types)
		return;
	types[0] = overload->left;
	types[count - 1] = overload->right;
	add_candidate(candidates,
		      (struct candidate){ .object = overload, .schema = overload->schema, .types = types },
		      count);
}

void overload_choose_operator(const struct catalog *catalog, struct coercion_memory *memory,
			      const struct catalog_operator *const *overloads, size_t overloads_count,
			      bool is_prefix, type_id left, type_id right, struct overload_choice *ret_choice)
{
	struct candidates candidates;
	struct inputs inputs;
	type_id both[2] = { is_prefix ? right : left, right };
	size_t count = is_prefix ? 1 : 2;
	ret_choice->result = OVERLOAD_UNSURE;
	ret_choice->function = NULL;
	ret_choice->oper = NULL;
	ret_choice->value = TYPE_UNSURE;
	ret_choice->some_take_count = true;
	ret_choice->poly_unknown = false;
	inputs_init(&inputs, catalog, memory, both, count);
	const struct catalog_operator *quick =
		inputs.unsure ? NULL
			      : quick_operator(catalog, overloads, overloads_count, is_prefix, left, right);
	if (quick) {
		type_id operands[2] = { is_prefix ? quick->right : quick->left, quick->right };
		struct candidate candidate = { .object = quick, .types = operands };
		ret_choice->result = OVERLOAD_FOUND;
		ret_choice->oper = quick;
		bind_choice(&candidate, &inputs, quick->result, ret_choice);
		return;
	}
	candidates.catalog = catalog;
	candidates.count = candidates.storage_used = 0;
	candidates.overflow = false;
	for (size_t i = 0; i < overloads_count; i++)
		add_operator(&candidates, overloads[i], is_prefix);
	finish(&candidates, &inputs, TYPE_UNSURE, operator_result, ret_choice);
	if (ret_choice->result == OVERLOAD_FOUND)
		ret_choice->oper = candidates.items[0].object;
}
