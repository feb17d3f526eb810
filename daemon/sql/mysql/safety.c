#include "sql/mysql/safety.h"

#include "sql/findings/front_end.h"
#include "sql/lex/scan.h"
#include "sql/mysql/functions.h"
#include "sql/mysql/grammar.h"
#include "sql/mysql/names.h"

#include <ctype.h>
#include <fnmatch.h>

static const char *const readable[] = {
#define MYSQL_READABLE(name) (name),
#include "sql/mysql/relations.def"
#undef MYSQL_READABLE
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void violate(struct mysql_safety *safety, enum sql_violation_code code, const struct query_node *node,
		    const char *what, str_t name)
{
	violations_add(safety->violations, code, (int64_t)node->offset, "%s" STR_FMT, what, STR_ARG(name));
}

static void check_stored(struct mysql_safety *safety, const struct query_node *call,
			 const struct catalog_function *function)
{
	const struct sql_policy *policy = safety->request->policy;
	enum sql_user_functions rule = policy ? policy->user_functions : SQL_USER_FUNCTIONS_NON_VOLATILE;
	bool non_volatile = function->volatility == 'i' || function->volatility == 's';
	if (rule == SQL_USER_FUNCTIONS_NON_VOLATILE && !non_volatile)
		violate(safety, VIOLATION_VOLATILE_FUNCTION, call, "", call->name);
	else if (rule == SQL_USER_FUNCTIONS_NONE ||
		 (rule == SQL_USER_FUNCTIONS_LIST &&
		  !front_end_lists_function(policy, function, identifier_same)))
		violate(safety, VIOLATION_DANGEROUS_FUNCTION, call, "", call->name);
}

/* Judges the stored functions that the call may mean; returns their number. */
static size_t check_named(struct mysql_safety *safety, const struct query_node *call)
{
	size_t count;
	const struct catalog_function *const *functions =
		catalog_functions(safety->request->catalog, call->schema, call->name, &count);
	for (size_t i = 0; i < count; i++)
		check_stored(safety, call, functions[i]);
	return count;
}

/* A function that somebody has made: only a catalog can tell about it. One that it does not hold may have
 * been loaded into the server as a library, which no catalog lists, and do anything. Most often it just does
 * not exist. */
static void check_foreign(struct mysql_safety *safety, const struct query_node *call)
{
	const struct catalog *catalog = safety->request->catalog;
	if (!catalog || check_named(safety, call) == 0)
		violations_doubt(safety->violations, "function " STR_FMT " is neither built in nor in %s",
				 STR_ARG(call->name), catalog ? "the catalog" : "a catalog: there is none");
}

static bool tells_about_server(str_t name)
{
	return IDENTIFIER_IS_ANY(name, "version", "database", "schema", "user", "current_user",
				 "session_user", "system_user", "current_role", "connection_id");
}

static bool calls_rand(const struct query_node *node, const void *context)
{
	(void)context;
	return node->kind == QUERY_CALL && identifier_is(node->name, "rand");
}

/* XPath that is put together from data comes back in the error's text, and so does what EXP overflows with.
 */
static bool leaks_by_error(const struct query_node *call)
{
	if (identifier_is(call->name, "exp"))
		return call->first && call->first->kind == QUERY_OPERATION && call->first->op[0] == '~';
	if (!identifier_is(call->name, "extractvalue") && !identifier_is(call->name, "updatexml"))
		return false;
	const struct query_node *path = call->first ? call->first->next : NULL;
	return path && path->kind != QUERY_LITERAL;
}

static void check_call(struct mysql_safety *safety, const struct query_node *call)
{
	enum sql_violation_code code;
	bool native = mysql_calls_builtin(call);
	safety->probes += tells_about_server(call->name);
	if (mysql_dangerous_name(call->name, true, &code) ||
	    (!native && mysql_dangerous_name(call->name, false, &code)))
		violate(safety, code, call, "", call->name);
	else if (identifier_is(call->name, "last_insert_id") && call->first)
		violate(safety, VIOLATION_DANGEROUS_FUNCTION, call, "it sets the last id: ", call->name);
	else if (leaks_by_error(call))
		violate(safety, VIOLATION_INJECTION_PATTERN, call, "an error that tells: ", call->name);
	else if (!native)
		check_foreign(safety, call);
	else if (safety->request->catalog && !mysql_foreign_name(call->name, true, false))
		(void)check_named(safety, call); /* not every server has all of the built-in ones */
}

static void check_relation(struct mysql_safety *safety, const struct query_node *relation)
{
	bool information = identifier_is(relation->schema, "information_schema");
	bool secret = information ? !identifier_is_any(relation->name, readable, COUNT(readable))
				  : IDENTIFIER_IS_ANY(relation->schema, "mysql", "performance_schema", "sys");
	if (relation->op) /* DUAL */
		return;
	if (secret)
		violate(safety, VIOLATION_SYSTEM_CATALOG, relation, "", relation->name);
	if (secret || information)
		safety->system_relations++;
	else
		safety->user_relations++;
	mysql_views_relation(safety, relation);
}

/* Names of system variables that hold what opens doors. */
static void check_variable(struct mysql_safety *safety, const struct query_node *variable)
{
	static const char *const parts[] = { "*password*", "*passphrase*", "*secret*", "*_auth*", "*key*" };
	if (strcmp(variable->op, "@@") != 0)
		return;
	safety->probes++;
	for (size_t i = 0; i < COUNT(parts); i++)
		if (fnmatch(parts[i], variable->name.ptr, 0) == 0) {
			violate(safety, VIOLATION_SYSTEM_CATALOG, variable, "@@", variable->name);
			return;
		}
}

/* A condition that is true or false whatever the rows are. */
static bool constant_condition(const struct query_node *node)
{
	const struct query_node *left = node->first;
	switch (node->kind) {
	case QUERY_LITERAL:
		return node->op && (strcmp(node->op, "true") == 0 ||
				    (strcmp(node->op, "number") == 0 && strtod(node->name.ptr, NULL) != 0));
	case QUERY_OPERATION:
		if (strcmp(node->op, "not") == 0 || strcmp(node->op, "!") == 0)
			return left->kind == QUERY_LITERAL;
		if (!strchr("<=>", node->op[0]) || strlen(node->op) > 2)
			return false;
		break;
	case QUERY_LIKE:
		break;
	default:
		return false;
	}
	return left && left->kind == QUERY_LITERAL && left->next && left->next->kind == QUERY_LITERAL;
}

static bool is_number(const struct query_node *node)
{
	return node->op && strcmp(node->op, "number") == 0;
}

/* Whether a constant condition is surely false: it compares numbers, or texts by =, which are unlike. */
static bool never_true(const struct query_node *node)
{
	const struct query_node *left = node->first;
	if (node->kind != QUERY_OPERATION || !left)
		return false;
	bool equality = strcmp(node->op, "=") == 0;
	if (!left->next) /* NOT 1 */
		return is_number(left) && strtod(left->name.ptr, NULL) != 0;
	bool texts = left->op && left->next->op && strcmp(left->op, "string") == 0 &&
		     strcmp(left->next->op, "string") == 0;
	if (texts) /* blanks at the end, marks on letters, and case may not count */
		return equality && left->name.len > 0 && left->next->name.len > 0 &&
		       isalnum((unsigned char)left->name.ptr[0]) &&
		       isalnum((unsigned char)left->next->name.ptr[0]) &&
		       tolower((unsigned char)left->name.ptr[0]) !=
			       tolower((unsigned char)left->next->name.ptr[0]);
	if (!is_number(left) || !is_number(left->next))
		return false;
	double a = strtod(left->name.ptr, NULL), b = strtod(left->next->name.ptr, NULL);
	bool equal = a >= b && a <= b;
	if (equality || strcmp(node->op, "<>") == 0)
		return equal != equality;
	if (node->op[1] == '=' && equal)
		return false;
	return node->op[0] == '<' ? a >= b : a <= b;
}

/* OR 1 = 1 beside a condition on the rows; AND 1 = 1 in front of a comment that cuts the rest off. */
static void check_condition(struct mysql_safety *safety, const struct query_node *operation)
{
	bool disjunction = strcmp(operation->op, "or") == 0;
	if ((!disjunction && strcmp(operation->op, "and") != 0) || !query_has_column(operation))
		return;
	for (const struct query_node *part = operation->first; part; part = part->next) {
		bool defeats = disjunction || (safety->cut_off && !part->next);
		if (!defeats || !constant_condition(part) || (disjunction && never_true(part)))
			continue;
		violations_add(safety->violations, VIOLATION_INJECTION_PATTERN, (int64_t)part->offset,
			       disjunction ? "a condition that is always true"
					   : "a constant condition in front of a cut-off rest");
		return;
	}
}

static void check_into(struct mysql_safety *safety, const struct query_node *into)
{
	bool variable = strcmp(into->op, "variable") == 0;
	violations_add(safety->violations, variable ? VIOLATION_SELECT_INTO : VIOLATION_FILE_ACCESS,
		       (int64_t)into->offset, "SELECT INTO %s", into->op);
	if (!variable)
		violations_add(safety->violations, VIOLATION_SELECT_INTO, (int64_t)into->offset,
			       "the result goes to a file");
}

struct reads {
	size_t user, system, probes;
};

static struct reads reads_since(const struct mysql_safety *safety, struct reads before)
{
	return (struct reads){ safety->user_relations - before.user, safety->system_relations - before.system,
			       safety->probes - before.probes };
}

/* One arm reads users' tables; another reads only the catalog, or nothing at all and tells on the server or
 * ends in a comment. */
static void walk_set(struct mysql_safety *safety, const struct query_node *set)
{
	bool users = false, strange = false;
	size_t offset = 0;
	for (const struct query_node *arm = set->first; arm; arm = arm->next) {
		struct reads before = { safety->user_relations, safety->system_relations, safety->probes };
		mysql_safety_walk(safety, arm);
		struct reads own = reads_since(safety, before);
		bool bare = own.user == 0 && own.system == 0;
		if (own.user > 0) {
			users = true;
		} else if (own.system > 0 || own.probes > 0 || (bare && arm->op && safety->cut_off)) {
			strange = true;
			offset = arm->first->offset;
		}
	}
	if (users && strange)
		violations_add(safety->violations, VIOLATION_INJECTION_PATTERN, (int64_t)offset,
			       "a set operation puts what the server knows beside tables");
}

static bool merges_columns(const struct query_node *node, const void *context)
{
	(void)context;
	return node->kind == QUERY_USING || (node->kind == QUERY_JOIN && node->op[0] == 'n');
}

/* MariaDB 10.11 crashes while it looks for schema.table.column beside merged columns, when that is not the
 * schema of the table. */
static void check_schema(struct mysql_safety *safety, const struct query_node *name)
{
	bool sure = name->range && str_present(name->range->schema) &&
		    identifier_same(name->range->schema, name->schema);
	if (safety->merges && str_present(name->schema) && !sure && !safety->in_view)
		violate(safety, VIOLATION_UNANALYSABLE, name,
			"servers crash on a schema beside merged columns: ", name->schema);
}

/* With sql_mode ORACLE, s.nextval moves the sequence s, quoted or not. */
static void check_column(struct mysql_safety *safety, const struct query_node *column)
{
	if (str_present(column->qualifier) &&
	    (identifier_is(column->name, "nextval") || identifier_is(column->name, "currval")))
		violate(safety, VIOLATION_DANGEROUS_FUNCTION, column, "a sequence: ", column->name);
	check_schema(safety, column);
}

static void judge(struct mysql_safety *safety, const struct query_node *node)
{
	switch (node->kind) {
	case QUERY_COLUMN:
		check_column(safety, node);
		break;
	case QUERY_STAR:
		check_schema(safety, node);
		break;
	case QUERY_CALL:
		check_call(safety, node);
		break;
	case QUERY_RELATION:
		check_relation(safety, node);
		break;
	case QUERY_VARIABLE:
		check_variable(safety, node);
		break;
	case QUERY_OPERATION:
		check_condition(safety, node);
		break;
	case QUERY_INTO:
		check_into(safety, node);
		break;
	case QUERY_GROUP: /* groups that change while they are counted: the error tells their keys */
		if (query_has(node, calls_rand, NULL))
			violations_add(safety->violations, VIOLATION_INJECTION_PATTERN, (int64_t)node->offset,
				       "groups by random numbers");
		break;
	case QUERY_LOCKING:
		violations_add(safety->violations, VIOLATION_ROW_LOCKING, (int64_t)node->offset,
			       "the rows are locked");
		break;
	case QUERY_PROCEDURE:
		violations_add(safety->violations, VIOLATION_DANGEROUS_FUNCTION, (int64_t)node->offset,
			       "a procedure reads the result");
		break;
	default:
		break;
	}
}

void mysql_safety_walk(struct mysql_safety *safety, const struct query_node *node)
{
	judge(safety, node);
	if (node->kind == QUERY_SET) {
		walk_set(safety, node);
		return;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		mysql_safety_walk(safety, child);
}

/* What a comment holds behind space, dashes and its own marks. */
static str_t content_of(str_t text, struct scan_token comment)
{
	size_t begin = comment.offset, end = comment.offset + comment.len;
	while (begin < end && strchr("#-/* \t\r\n+;", text.ptr[begin]))
		begin++;
	bool marked = end - begin >= 2 && text.ptr[comment.offset] == '/';
	return (str_t){ text.ptr + begin, end - begin - (marked ? 2 : 0) };
}

/* Comments that look like a cut-off rest. */
static void check_comments(struct mysql_safety *safety)
{
	struct scan_token token = scan_token_at(safety->text, 0, SQL_MYSQL);
	for (; token.kind != SCAN_END;
	     token = scan_token_at(safety->text, token.offset + token.len, SQL_MYSQL)) {
		if (token.kind == SCAN_COMMENT) {
			str_t content = content_of(safety->text, token);
			safety->cut_off = content.len == 0;
			if (front_end_cuts_literal(content))
				violations_add(safety->violations, VIOLATION_INJECTION_PATTERN,
					       (int64_t)token.offset,
					       "a comment swallows the rest of a literal");
		} else if (token.kind != SCAN_SPACE && !scan_is_char(safety->text, token, ';')) {
			safety->cut_off = false;
		}
	}
}

void mysql_safety_check(const struct query_node *root, str_t text, const struct sql_request *request,
			struct violations *violations)
{
	struct mysql_safety safety = { .request = request, .text = text, .violations = violations };
	safety.merges = query_has(root, merges_columns, NULL);
	check_comments(&safety);
	mysql_safety_walk(&safety, root);
	if (root->kind == QUERY_SHOW && str_present(root->schema) && identifier_is(root->schema, "mysql"))
		violations_add(violations, VIOLATION_SYSTEM_CATALOG, (int64_t)root->offset,
			       "the server's own schema");
	if (root->kind == QUERY_SHOW && identifier_is(root->name, "grants"))
		violations_add(violations, VIOLATION_SYSTEM_CATALOG, (int64_t)root->offset,
			       "an account's rights and the hash of its password");
}
