#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "sql/postgresql/resolve/type_coercion.h"
#include "sql/postgresql/safety/paths.h"

#include <catalog/pg_type_d.h>

static void report_operator(struct walk *walk, enum sql_violation_code code, struct qualified_name op,
			    int location)
{
	WALK_VIOLATION(walk, code, location, "operator " STR_FMT "%s" STR_FMT, STR_ARG(op.schema),
		       str_present(op.schema) ? "." : "", STR_ARG(op.name));
}

/* Whether an operand surely cannot stand where the overload wants `wanted`. */
static bool never_fits(const struct walk *walk, const Node *operand, type_id wanted)
{
	type_id type = resolution_type(walk->resolution, operand);
	return type != TYPE_UNSURE && wanted != TYPE_UNSURE &&
	       type_can_coerce(walk->request->catalog, type, wanted, CAST_IMPLICIT) == SURELY_NOT;
}

/* Whether the operand's type has checks that may have side effects. */
static bool operand_converts(const struct walk *walk, type_id wanted)
{
	return wanted != TYPE_UNSURE && volatile_type(walk->volatiles, wanted);
}

static void report_judgement(struct walk *walk, enum call_verdict judgement, enum sql_violation_code code,
			     struct qualified_name op, int location)
{
	if (judgement == CALL_REFUSED)
		report_operator(walk, code, op, location);
	else if (judgement == CALL_UNKNOWN)
		safety_doubt_name(walk, "operator", op);
}

static void report_chosen(struct walk *walk, const struct catalog_operator *chosen,
			  struct qualified_name name, int location)
{
	enum sql_violation_code code = VIOLATION_VOLATILE_FUNCTION;
	enum call_verdict judgement = function_check_operator(chosen, walk->request->policy, &code);
	report_judgement(walk, judgement, code, name, location);
}

/* Any overload that could be meant. */
static void check_overloads(struct walk *walk, struct qualified_name name, const Node *left,
			    const Node *right, int location)
{
	size_t count;
	const struct catalog_operator *const *overloads =
		catalog_operators(walk->request->catalog, name.schema, name.name, &count);
	for (size_t i = 0; i < count; i++) {
		enum sql_violation_code code;
		enum call_verdict judgement =
			function_check_operator(overloads[i], walk->request->policy, &code);
		if (operand_converts(walk, overloads[i]->left) ||
		    operand_converts(walk, overloads[i]->right)) {
			code = VIOLATION_VOLATILE_FUNCTION;
			judgement = CALL_REFUSED;
		}
		if (judgement == CALL_ALLOWED)
			continue;
		if (never_fits(walk, left, overloads[i]->left) ||
		    never_fits(walk, right, overloads[i]->right))
			continue;
		report_judgement(walk, judgement, code, name, location);
		if (judgement == CALL_REFUSED)
			return;
	}
}

/* Whether the value is made of others, which a comparison looks into; not a row that is written out, whose
 * parts have operators of their own. */
static bool is_container(const struct walk *walk, const Node *operand, type_id type)
{
	const struct catalog_type *found = catalog_type(walk->request->catalog, type);
	if (!found || IsA(operand, RowExpr))
		return false;
	return type == RECORDOID || found->element != TYPE_UNSURE || found->kind == 'c' ||
	       found->kind == 'r' || found->kind == 'm';
}

/* Operators of the system on arrays, rows and ranges compare what is in them. */
static void check_operands(struct walk *walk, const struct catalog_operator *chosen, const Node *left,
			   const Node *right, int location)
{
	const Node *const operands[] = { left, right };
	for (size_t i = 0; i < 2; i++) {
		type_id type = resolution_type(walk->resolution, operands[i]);
		if (operands[i] && is_container(walk, operands[i], type))
			safety_check_compared_type(walk, type, location);
	}
	bool any_kind = chosen && chosen->is_system &&
			(type_is_polymorphic(chosen->left) || chosen->left == RECORDOID);
	if (!left && !right && any_kind)
		safety_check_compared_type(walk, TYPE_UNSURE, location);
}

/* Whether there is an operator of the name, in front of one operand or between two. */
static bool operator_known(const struct walk *walk, const Node *node, struct qualified_name name)
{
	bool is_prefix = IsA(node, A_Expr) && !((const A_Expr *)node)->lexpr;
	size_t count;
	const struct catalog_operator *const *overloads =
		catalog_operators(walk->known.catalog, name.schema, name.name, &count);
	for (size_t i = 0; i < count; i++)
		if (overloads[i]->is_prefix == is_prefix)
			return true;
	return false;
}

void safety_check_operators(struct walk *walk, const void *node, struct qualified_name name, const Node *left,
			    const Node *right, int location)
{
	if (!walk->known.complete && !operator_known(walk, node, name))
		safety_doubt_name(walk, "operator", name);
	if (!walk->request->catalog)
		return;
	const struct resolved_operator *applied = resolution_operator(walk->resolution, node);
	if (!applied) {
		check_overloads(walk, name, left, right, location);
		check_operands(walk, NULL, left, right, location);
	}
	bool several = applied && applied->next;
	for (; applied; applied = applied->next) {
		struct qualified_name applied_name = { applied->schema, applied->name };
		if (!applied->chosen)
			check_overloads(walk, applied_name, several ? NULL : left, several ? NULL : right,
					location);
		else
			report_chosen(walk, applied->chosen, applied_name, location);
		check_operands(walk, applied->chosen, left, right, location);
	}
}

static bool is_between(A_Expr_Kind kind)
{
	return kind == AEXPR_BETWEEN || kind == AEXPR_NOT_BETWEEN || kind == AEXPR_BETWEEN_SYM ||
	       kind == AEXPR_NOT_BETWEEN_SYM;
}

/* Numbers of any number of digits; others overflow, which is no more than an error. */
static void check_power(struct walk *walk, const A_Expr *expr)
{
	struct qualified_name name = names_qualified(expr->name);
	if (!walk->in_view && str_is(name.name, "^") &&
	    const_eval_power_digits(expr->lexpr, expr->rexpr, walk_const_eval(walk)) >= CONST_EVAL_MAX_DIGITS)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, expr->location, "a number of too many digits");
}

/* LIKE, similarity and the like go through one text for each place in the other. */
static void check_work(struct walk *walk, const A_Expr *expr)
{
	struct qualified_name name = names_qualified(expr->name);
	bool compares = expr->kind == AEXPR_LIKE || expr->kind == AEXPR_ILIKE ||
			expr->kind == AEXPR_SIMILAR ||
			(str_present(name.name) && strchr("~%", name.name.ptr[0])) ||
			(name.name.len > 2 && strchr(name.name.ptr, '-'));
	if (compares && !walk->in_view && expr->lexpr && expr->rexpr &&
	    bomb_work(expr->lexpr, expr->rexpr, walk_const_eval(walk)) >= BOMB_WORK)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, expr->location,
			       "texts that are compared at every place");
}

/* A chain a || b || c is judged as a whole. */
static void check_concatenation(struct walk *walk, const A_Expr *expr)
{
	struct qualified_name name = names_qualified(expr->name);
	if (!str_is(name.name, "||"))
		return;
	if (walk->checked != expr)
		safety_add_bytes(walk, name.name, const_eval_bytes((const Node *)expr, walk_const_eval(walk)),
				 expr->location);
	walk->checked = expr->lexpr;
}

void walk_operator(struct walk *walk, const A_Expr *expr)
{
	check_power(walk, expr);
	check_work(walk, expr);
	check_concatenation(walk, expr);
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	if (strcmp(op, "@?") == 0 || strcmp(op, "@@") == 0)
		path_check_json(walk, expr->rexpr, expr->location);
	bool right_is_many = expr->kind == AEXPR_OP_ANY || expr->kind == AEXPR_OP_ALL ||
			     expr->kind == AEXPR_IN || is_between(expr->kind);
	const Node *right = right_is_many ? NULL : expr->rexpr;
	if (is_between(expr->kind)) {
		safety_check_operators(walk, expr, (struct qualified_name){ STR_NONE, STR("<=") },
				       expr->lexpr, right, expr->location);
		safety_check_operators(walk, expr, (struct qualified_name){ STR_NONE, STR(">=") },
				       expr->lexpr, right, expr->location);
	} else {
		safety_check_operators(walk, expr, names_qualified(expr->name), expr->lexpr, right,
				       expr->location);
	}
	walk_node(walk, expr->lexpr);
	walk_node(walk, expr->rexpr);
}
