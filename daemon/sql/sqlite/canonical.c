#include "sql/sqlite/canonical.h"

#include "common/buf.h"
#include "common/hash.h"

#define DEPTH_MAX	    400
#define LONG_TEXT	    1024      /* longer texts of parts are named by their digests */
#define CANONICAL_MAX_BYTES (1 << 20) /* built for one query; beyond, there is no form */

struct canonical {
	struct arena *arena;
	bool plain_collations;
	bool failed;
	size_t bytes;
	unsigned depth; /* an alias in its own expression would have no end */
};

struct parts {
	str_t *items;
	size_t count;
	size_t capacity;
};

static str_t emit(struct canonical *canonical, const struct sqlite_core *core,
		  const struct sqlite_node *node);
static str_t emit_select(struct canonical *canonical, const struct sqlite_select *select, bool names);

static void add(struct canonical *canonical, struct parts *parts, str_t text)
{
	ARENA_PUSH(canonical->arena, parts->items, parts->count, parts->capacity, text);
}

static int compare(const void *a, const void *b)
{
	const str_t *left = a, *right = b;
	return strcmp(left->ptr, right->ptr);
}

static void sort(struct parts *parts)
{
	if (parts->count > 1)
		qsort(parts->items, parts->count, sizeof parts->items[0], compare);
}

static void unique(struct parts *parts)
{
	size_t kept = 0;
	sort(parts);
	for (size_t i = 0; i < parts->count; i++)
		if (kept == 0 || !str_equal(parts->items[kept - 1], parts->items[i]))
			parts->items[kept++] = parts->items[i];
	parts->count = kept;
}

__attribute__((format(printf, 2, 3))) static str_t text(struct canonical *canonical, const char *format, ...)
{
	struct buf buf = BUF_INIT;
	va_list arguments;
	char most[256];
	va_start(arguments, format);
	int len = vsnprintf(most, sizeof most, format, arguments);
	va_end(arguments);
	canonical->bytes += (size_t)len;
	if (canonical->bytes > CANONICAL_MAX_BYTES)
		canonical->failed = true;
	if (canonical->failed)
		return STR("");
	if ((size_t)len < sizeof most)
		return arena_text(canonical->arena, most, (size_t)len);
	va_start(arguments, format);
	vsnprintf(buf_reserve(&buf, (size_t)len + 1), (size_t)len + 1, format, arguments);
	va_end(arguments);
	buf.len = (size_t)len;
	str_t result = arena_str(canonical->arena, buf_str(&buf));
	buf_free(&buf);
	return result;
}

/* For %s: the argument is evaluated once, which STR_ARG does not promise. */
static const char *chars(str_t text)
{
	return text.ptr ? text.ptr : "";
}

static str_t join(struct canonical *canonical, const struct parts *parts, const char *between)
{
	size_t len = 0;
	for (size_t i = 0; i < parts->count; i++)
		len += parts->items[i].len + strlen(between);
	canonical->bytes += len;
	if (canonical->bytes > CANONICAL_MAX_BYTES)
		canonical->failed = true;
	if (canonical->failed)
		return STR("");
	char *joined = arena_alloc(canonical->arena, len + 1), *at = joined;
	for (size_t i = 0; i < parts->count; i++) {
		at = i ? stpcpy(at, between) : at;
		at = parts->items[i].len ? mempcpy(at, parts->items[i].ptr, parts->items[i].len) : at;
	}
	return (str_t){ joined, (size_t)(at - joined) };
}

/* What nests does not multiply. */
static str_t long_as_digest(struct canonical *canonical, str_t form)
{
	char hex[DIGEST_HEX_SIZE];
	if (form.len <= LONG_TEXT)
		return form;
	digest_sha256_hex(form.ptr, form.len, hex);
	return text(canonical, "digest(%s)", hex);
}

/* ---- expressions ---- */

static bool is(const struct sqlite_node *node, const char *operator)
{
	return node->kind == SQLITE_BINARY && str_is(node->text, operator);
}

/* Operands of a chain of one connective. */
static void flatten(struct canonical *canonical, const struct sqlite_core *core,
		    const struct sqlite_node *node, const char *connective, struct parts *parts)
{
	if (is(node, connective)) {
		flatten(canonical, core, node->children[0], connective, parts);
		flatten(canonical, core, node->children[1], connective, parts);
	} else {
		add(canonical, parts, emit(canonical, core, node));
	}
}

static str_t emit_column(struct canonical *canonical, const struct sqlite_core *core,
			 const struct sqlite_node *node)
{
	switch (node->meaning) {
	case SQLITE_OF_ITEM:
		return text(canonical, STR_FMT "." STR_FMT, STR_ARG(node->item->label), STR_ARG(node->text));
	case SQLITE_OUTPUT:
		if (!core || node->output >= core->outputs_count ||
		    core->outputs[node->output].expression == node)
			break;
		return emit(canonical, core, core->outputs[node->output].expression);
	case SQLITE_MERGED:
		return text(canonical, "merged." STR_FMT, STR_ARG(node->text));
	case SQLITE_UNSURE:
	default:
		/* The same name among the same items is the same column, unless an alias takes it. */
		if (node->doubtful || str_present(node->table) || !core)
			canonical->failed = true;
		return text(canonical, "?." STR_FMT, STR_ARG(node->text));
	}
	canonical->failed = true;
	return STR("");
}

/* Whether the operands may change places: a text is compared by the collation of the left one. */
static bool commutes(const struct canonical *canonical, const struct sqlite_node *node)
{
	static const char *const numbers[] = { "+", "*", "&", "|" };
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (str_is(node->text, numbers[i]))
			return true;
	if (!str_is(node->text, "=") && !str_is(node->text, "<>"))
		return false;
	return node->children[0]->kind == SQLITE_LITERAL || node->children[1]->kind == SQLITE_LITERAL ||
	       (canonical->plain_collations && node->children[0]->kind == SQLITE_COLUMN &&
		node->children[1]->kind == SQLITE_COLUMN);
}

/* a > b is b < a where they may change places. */
static const char *mirrored(const struct canonical *canonical, const struct sqlite_node *node)
{
	bool may = node->children[0]->kind == SQLITE_LITERAL || node->children[1]->kind == SQLITE_LITERAL ||
		   (canonical->plain_collations && node->children[0]->kind == SQLITE_COLUMN &&
		    node->children[1]->kind == SQLITE_COLUMN);
	if (may && str_is(node->text, ">"))
		return "<";
	return may && str_is(node->text, ">=") ? "<=" : NULL;
}

static str_t emit_binary(struct canonical *canonical, const struct sqlite_core *core,
			 const struct sqlite_node *node)
{
	if (is(node, "and") || is(node, "or")) {
		struct parts parts = { 0 };
		flatten(canonical, core, node, node->text.ptr, &parts);
		unique(&parts);
		return text(canonical, "%s(%s)", node->text.ptr, chars(join(canonical, &parts, ", ")));
	}
	str_t left = emit(canonical, core, node->children[0]);
	str_t right = emit(canonical, core, node->children[1]);
	const char *mirror = mirrored(canonical, node);
	bool swapped = mirror || (commutes(canonical, node) && strcmp(left.ptr, right.ptr) > 0);
	str_t escape = node->children_count > 2 ? emit(canonical, core, node->children[2]) : STR("");
	return text(canonical, "%s(" STR_FMT " %s " STR_FMT "%s" STR_FMT ")", node->negated ? "not" : "",
		    STR_ARG(*(swapped ? &right : &left)), mirror ? mirror : node->text.ptr,
		    STR_ARG(*(swapped ? &left : &right)), escape.len ? " escape " : "", STR_ARG(escape));
}

static str_t emit_list(struct canonical *canonical, const struct sqlite_core *core,
		       const struct sqlite_node *node, size_t from, bool sorted)
{
	struct parts parts = { 0 };
	for (size_t i = from; i < node->children_count; i++)
		add(canonical, &parts, emit(canonical, core, node->children[i]));
	if (sorted)
		unique(&parts);
	return join(canonical, &parts, ", ");
}

static str_t emit_call(struct canonical *canonical, const struct sqlite_core *core,
		       const struct sqlite_node *node)
{
	if (str_present(node->window))
		canonical->failed = true; /* its names are not resolved */
	return text(canonical, STR_FMT "(%s%s%s)", STR_ARG(node->text), node->distinct ? "distinct " : "",
		    node->has_star ? "*" : "", chars(emit_list(canonical, core, node, 0, false)));
}

static str_t emit_in(struct canonical *canonical, const struct sqlite_core *core,
		     const struct sqlite_node *node)
{
	str_t operand = emit(canonical, core, node->children[0]);
	str_t set = node->select ? emit_select(canonical, node->select, false)
				 : emit_list(canonical, core, node, 1, true);
	return text(canonical, "%s(" STR_FMT " in (" STR_FMT "))", node->negated ? "not" : "",
		    STR_ARG(operand), STR_ARG(set));
}

static str_t emit_node(struct canonical *canonical, const struct sqlite_core *core,
		       const struct sqlite_node *node)
{
	if (node->kind != SQLITE_COLUMN && node->meaning == SQLITE_OUTPUT)
		return emit_column(canonical, core, node);
	switch (node->kind) {
	case SQLITE_LITERAL:
		return node->text;
	case SQLITE_COLUMN:
		return emit_column(canonical, core, node);
	case SQLITE_UNARY:
		return text(canonical, "%s(%s)", node->text.ptr,
			    chars(emit(canonical, core, node->children[0])));
	case SQLITE_POSTFIX:
		return text(canonical, "(%s %s)", chars(emit(canonical, core, node->children[0])),
			    node->text.ptr);
	case SQLITE_BINARY:
		return emit_binary(canonical, core, node);
	case SQLITE_BETWEEN:
		return text(canonical, "%sbetween(%s)", node->negated ? "not " : "",
			    chars(emit_list(canonical, core, node, 0, false)));
	case SQLITE_IN:
		return emit_in(canonical, core, node);
	case SQLITE_CALL:
		return emit_call(canonical, core, node);
	case SQLITE_CASE:
		return text(canonical, "case(%s; %s)",
			    chars(node->operand ? emit(canonical, core, node->operand) : STR("")),
			    chars(emit_list(canonical, core, node, 0, false)));
	case SQLITE_CAST:
		return text(canonical, "cast(%s as " STR_FMT ")",
			    chars(emit(canonical, core, node->children[0])), STR_ARG(node->text));
	case SQLITE_EXISTS:
	case SQLITE_SUBQUERY:
		return text(canonical, "%s(%s)", node->kind == SQLITE_EXISTS ? "exists" : "query",
			    chars(emit_select(canonical, node->select, false)));
	case SQLITE_ROW:
		return text(canonical, "row(%s)", chars(emit_list(canonical, core, node, 0, false)));
	case SQLITE_STAR:
		if (!str_present(node->table))
			return STR("*");
		if (node->meaning == SQLITE_OF_ITEM)
			return text(canonical, STR_FMT ".*", STR_ARG(node->item->label));
		break;
	case SQLITE_PARAMETER:
	default:
		break;
	}
	canonical->failed = true;
	return STR("");
}

static str_t emit(struct canonical *canonical, const struct sqlite_core *core, const struct sqlite_node *node)
{
	if (canonical->failed || canonical->depth > DEPTH_MAX) {
		canonical->failed = true;
		return STR("");
	}
	canonical->depth++;
	str_t form = emit_node(canonical, core, node);
	canonical->depth--;
	return long_as_digest(canonical, form);
}

/* ---- FROM ---- */

static str_t nested(struct canonical *canonical, const struct sqlite_select *select, bool names)
{
	return long_as_digest(canonical, emit_select(canonical, select, names));
}

static str_t emit_source(struct canonical *canonical, const struct sqlite_core *core, size_t index)
{
	const struct sqlite_source *source = &core->sources[index];
	const struct sqlite_item *item = &core->items[index];
	if (str_present(source->schema) && !str_is(source->schema, "main"))
		canonical->failed = true;
	if (source->select)
		return text(canonical, STR_FMT " = (%s)", STR_ARG(item->label),
			    chars(nested(canonical, source->select, true)));
	if (!source->is_call)
		return text(canonical, "%s" STR_FMT, item->is_cte ? "with " : "", STR_ARG(item->label));
	struct sqlite_node arguments = { .children = source->arguments,
					 .children_count = source->arguments_count };
	return text(canonical, STR_FMT "(%s)", STR_ARG(item->label),
		    chars(emit_list(canonical, core, &arguments, 0, false)));
}

/* Only inner joins, and no column of the result depends on their order. */
static bool is_product(const struct sqlite_core *core)
{
	for (size_t i = 0; i < core->sources_count; i++)
		if (core->sources[i].join != SQLITE_JOIN_INNER || core->sources[i].natural ||
		    core->sources[i].using_count > 0 || core->sources[i].is_call)
			return false;
	return true;
}

static bool has_plain_star(const struct sqlite_core *core)
{
	for (size_t i = 0; i < core->outputs_count; i++)
		if (core->outputs[i].expression->kind == SQLITE_STAR &&
		    !str_present(core->outputs[i].expression->table))
			return true;
	return false;
}

static str_t emit_joined(struct canonical *canonical, const struct sqlite_core *core, size_t index)
{
	static const char *const joins[] = { "join", "left join", "right join", "full join" };
	const struct sqlite_source *source = &core->sources[index];
	struct parts using = { source->using, source->using_count, 0 };
	if (index == 0)
		return emit_source(canonical, core, index);
	return text(canonical, "%s%s %s on %s using %s", source->natural ? "natural " : "",
		    joins[source->join], chars(emit_source(canonical, core, index)),
		    chars(source->on ? emit(canonical, core, source->on) : STR("")),
		    chars(join(canonical, &using, ", ")));
}

/* ---- queries ---- */

/* Parts of one SELECT; conditions of inner joins count as WHERE. */
struct pieces {
	struct parts outputs, from, where, group, having;
};

static void collect_from(struct canonical *canonical, const struct sqlite_core *core, struct pieces *pieces)
{
	bool product = is_product(core);
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		add(canonical, &pieces->from,
		    product ? emit_source(canonical, core, i) : emit_joined(canonical, core, i));
		if (product && source->on)
			flatten(canonical, core, source->on, "and", &pieces->where);
	}
	if (product && !has_plain_star(core))
		sort(&pieces->from);
}

static void collect(struct canonical *canonical, const struct sqlite_core *core, bool names,
		    struct pieces *pieces)
{
	*pieces = (struct pieces){ 0 };
	if (str_present(core->windows))
		canonical->failed = true;
	for (size_t i = 0; i < core->outputs_count; i++) {
		const struct sqlite_output *output = &core->outputs[i];
		str_t expression = emit(canonical, core, output->expression);
		if (names)
			expression = text(canonical, STR_FMT " as " STR_FMT, STR_ARG(expression),
					  STR_ARG(str_present(output->alias) ? output->alias
						  : str_present(output->expression->text)
							  ? output->expression->text
							  : STR("?")));
		add(canonical, &pieces->outputs, expression);
	}
	collect_from(canonical, core, pieces);
	if (core->where)
		flatten(canonical, core, core->where, "and", &pieces->where);
	for (size_t i = 0; i < core->group_count; i++)
		add(canonical, &pieces->group, emit(canonical, core, core->group[i]));
	if (core->having)
		flatten(canonical, core, core->having, "and", &pieces->having);
	unique(&pieces->where);
	unique(&pieces->group);
	unique(&pieces->having);
}

static str_t emit_core(struct canonical *canonical, const struct sqlite_core *core, bool names)
{
	struct pieces pieces;
	collect(canonical, core, names, &pieces);
	return text(canonical, STR_FMT " %s%s %s from %s where %s group %s having %s",
		    STR_ARG(core->operator), core->is_values ? "values" : "select",
		    core->distinct ? " distinct" : "", chars(join(canonical, &pieces.outputs, ", ")),
		    chars(join(canonical, &pieces.from, ", ")), chars(join(canonical, &pieces.where, ", ")),
		    chars(join(canonical, &pieces.group, ", ")),
		    chars(join(canonical, &pieces.having, ", ")));
}

/* The keys of a set operation are outputs. */
static str_t emit_key(struct canonical *canonical, const struct sqlite_select *select, size_t index)
{
	const struct sqlite_order *key = &select->order[index];
	str_t expression;
	if (select->cores_count == 1)
		expression = emit(canonical, &select->cores[0], key->expression);
	else if (key->expression->meaning == SQLITE_OUTPUT)
		expression = text(canonical, "#%zu", key->expression->output);
	else
		canonical->failed = true, expression = STR("");
	return text(canonical, STR_FMT "%s%s", STR_ARG(expression), key->descending ? " desc" : "",
		    key->nulls_first == key->descending ? " nulls" : "");
}

static str_t emit_limit(struct canonical *canonical, const struct sqlite_select *select)
{
	if (!select->limit)
		return STR("");
	return text(canonical, "limit %s offset %s", chars(emit(canonical, NULL, select->limit)),
		    chars(select->skip ? emit(canonical, NULL, select->skip) : STR("0")));
}

static str_t emit_select(struct canonical *canonical, const struct sqlite_select *select, bool names)
{
	struct parts with = { 0 }, cores = { 0 }, order = { 0 };
	if (canonical->failed || canonical->depth > DEPTH_MAX) {
		canonical->failed = true;
		return STR("");
	}
	for (size_t i = 0; i < select->ctes_count; i++)
		add(canonical, &with,
		    text(canonical, STR_FMT STR_FMT " = (%s)", STR_ARG(select->ctes[i].name),
			 STR_ARG(select->ctes[i].columns),
			 chars(nested(canonical, select->ctes[i].select, true))));
	for (size_t i = 0; i < select->cores_count; i++)
		add(canonical, &cores, emit_core(canonical, &select->cores[i], names));
	for (size_t i = 0; i < select->order_count; i++)
		add(canonical, &order, emit_key(canonical, select, i));
	return text(canonical, "with %s %s order %s %s", chars(join(canonical, &with, ", ")),
		    chars(join(canonical, &cores, " ")), chars(join(canonical, &order, ", ")),
		    chars(emit_limit(canonical, select)));
}

/* ---- clauses ---- */

static void set_clause(struct sql_analysis *analysis, enum sql_clause clause, struct parts *parts)
{
	sort(parts);
	analysis->clauses[clause] = (struct sql_items){ parts->items, parts->count };
}

static bool joins(const struct sqlite_node *node)
{
	return is(node, "=") && node->children[0]->kind == SQLITE_COLUMN &&
	       node->children[1]->kind == SQLITE_COLUMN && node->children[0]->item != node->children[1]->item;
}

static void split(struct canonical *canonical, const struct sqlite_core *core, const struct sqlite_node *node,
		  struct parts *where, struct parts *join_items)
{
	if (is(node, "and")) {
		split(canonical, core, node->children[0], where, join_items);
		split(canonical, core, node->children[1], where, join_items);
	} else {
		add(canonical, joins(node) ? join_items : where, emit(canonical, core, node));
	}
}

static void add_joins(struct canonical *canonical, const struct sqlite_core *core, struct parts *where,
		      struct parts *join_items)
{
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		if (source->on)
			split(canonical, core, source->on, where, join_items);
		for (size_t j = 0; j < source->using_count; j++)
			add(canonical, join_items, source->using[j]);
		if (source->join != SQLITE_JOIN_INNER || source->natural)
			add(canonical, join_items, emit_joined(canonical, core, i));
	}
}

static void set_clauses(struct canonical *canonical, const struct sqlite_select *select,
			struct sql_analysis *analysis)
{
	const struct sqlite_core *core = &select->cores[0];
	struct parts where = { 0 }, join_items = { 0 }, from = { 0 }, order = { 0 };
	struct pieces pieces;
	collect(canonical, core, false, &pieces);
	if (core->distinct)
		add(canonical, &pieces.outputs, STR("distinct"));
	add_joins(canonical, core, &where, &join_items);
	if (core->where)
		split(canonical, core, core->where, &where, &join_items);
	for (size_t i = 0; i < pieces.having.count; i++)
		add(canonical, &where, text(canonical, "having " STR_FMT, STR_ARG(pieces.having.items[i])));
	for (size_t i = 1; i < select->cores_count; i++)
		add(canonical, &where, emit_core(canonical, &select->cores[i], false));
	for (size_t i = 0; i < core->sources_count; i++)
		add(canonical, &from, emit_source(canonical, core, i));
	for (size_t i = 0; i < select->order_count; i++)
		add(canonical, &order, emit_key(canonical, select, i));
	if (select->limit)
		add(canonical, &order, emit_limit(canonical, select));
	set_clause(analysis, SQL_CLAUSE_SELECT, &pieces.outputs);
	set_clause(analysis, SQL_CLAUSE_WHERE, &where);
	set_clause(analysis, SQL_CLAUSE_FROM, &from);
	set_clause(analysis, SQL_CLAUSE_GROUP, &pieces.group);
	set_clause(analysis, SQL_CLAUSE_ORDER, &order);
	set_clause(analysis, SQL_CLAUSE_JOIN, &join_items);
}

/* ---- order ---- */

/* Places of outputs by their forms, from 1; a form that fails ends the list. */
static void find_places(struct canonical *canonical, const struct sqlite_core *core, struct hash_map *places)
{
	hash_map_init(places, canonical->arena, core->outputs_count);
	for (size_t i = 0; i < core->outputs_count; i++) {
		str_t form = emit(canonical, core, core->outputs[i].expression);
		if (canonical->failed)
			return;
		if (hash_map_get(places, form))
			continue;
		size_t *place = ARENA_NEW(canonical->arena, size_t);
		*place = i + 1;
		hash_map_set(places, form, place);
	}
}

static int output_column(struct canonical *canonical, const struct sqlite_core *core,
			 const struct sqlite_node *node, const struct hash_map *places)
{
	if (node->meaning == SQLITE_OUTPUT)
		return (int)node->output;
	str_t key = emit(canonical, core, node);
	const size_t *place = canonical->failed ? NULL : hash_map_get(places, key);
	return place ? (int)*place - 1 : -1;
}

static bool has_star(const struct sqlite_core *core)
{
	for (size_t i = 0; i < core->outputs_count; i++)
		if (core->outputs[i].expression->kind == SQLITE_STAR)
			return true;
	return false;
}

static void set_order(const struct sqlite_select *select, bool plain_collations, struct arena *arena,
		      struct sql_analysis *analysis)
{
	const struct sqlite_core *core = &select->cores[0];
	struct canonical outputs = { .arena = arena, .plain_collations = plain_collations };
	struct hash_map places = { 0 };
	bool star = has_star(core); /* a column of the output is one only where no star shifts it */
	if (select->order_count > 0 && !star)
		find_places(&outputs, core, &places);
	analysis->ordered = select->order_count > 0;
	analysis->limited = select->limit != NULL;
	analysis->order_keys = ARENA_ARRAY(arena, struct sql_order_key, select->order_count + 1);
	analysis->order_keys_count = select->order_count;
	for (size_t i = 0; i < select->order_count; i++) {
		const struct sqlite_order *key = &select->order[i];
		struct canonical canonical = { .arena = arena, .plain_collations = plain_collations };
		analysis->order_keys[i] = (struct sql_order_key){
			.column = star ? -1 : output_column(&canonical, core, key->expression, &places),
			.descending = key->descending,
			.nulls_first = key->nulls_first,
		};
	}
}

bool sqlite_canonical(const struct sqlite_select *select, bool plain_collations, struct arena *arena,
		      struct sql_analysis *analysis)
{
	struct canonical canonical = { .arena = arena, .plain_collations = plain_collations };
	set_order(select, plain_collations, arena, analysis);
	str_t form = emit_select(&canonical, select, false);
	struct sql_analysis clauses = { 0 };
	if (!canonical.failed)
		set_clauses(&canonical, select, &clauses);
	if (canonical.failed)
		return false;
	analysis->canonical = form;
	memcpy(analysis->clauses, clauses.clauses, sizeof clauses.clauses);
	return true;
}
