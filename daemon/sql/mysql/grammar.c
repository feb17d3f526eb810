#include "sql/mysql/grammar.h"

#include "sql/lex/gate.h"

const struct mysql_token *mysql_peek(const struct mysql_parser *parser, size_t ahead)
{
	size_t last = parser->tokens.count - 1;
	size_t index = parser->failure->failed ? last : parser->at + ahead;
	return &parser->tokens.items[index < last ? index : last];
}

bool mysql_at(const struct mysql_parser *parser, size_t ahead, const char *word_or_operator)
{
	const struct mysql_token *token = mysql_peek(parser, ahead);
	if (token->first != word_or_operator[0]) /* nearly always */
		return false;
	if (token->kind == MYSQL_TOKEN_WORD)
		return identifier_is(token->value, word_or_operator);
	return token->kind == MYSQL_TOKEN_OPERATOR && str_is(token->value, word_or_operator);
}

bool mysql_accept(struct mysql_parser *parser, const char *word_or_operator)
{
	if (!mysql_at(parser, 0, word_or_operator))
		return false;
	parser->at++;
	return true;
}

bool mysql_expect(struct mysql_parser *parser, const char *word_or_operator)
{
	if (mysql_accept(parser, word_or_operator))
		return true;
	mysql_fail(parser, "syntax error");
	return false;
}

const char *mysql_at_any(const struct mysql_parser *parser, size_t ahead, const char *const *words)
{
	while (*words && !mysql_at(parser, ahead, *words))
		words++;
	return *words;
}

const char *mysql_accept_any(struct mysql_parser *parser, const char *const *words)
{
	const char *word = mysql_at_any(parser, 0, words);
	parser->at += word != NULL;
	return word;
}

void mysql_refuse(struct mysql_parser *parser, enum sql_violation_code code, const char *reason)
{
	const struct mysql_token *token = mysql_peek(parser, 0);
	if (parser->failure->failed)
		return;
	str_t near = { parser->text.ptr + token->offset, token->len };
	*parser->failure = (struct mysql_failure){
		.failed = true, .code = code, .offset = token->offset, .reason = reason, .near = near
	};
}

void mysql_fail(struct mysql_parser *parser, const char *reason)
{
	bool first = !parser->failure->failed;
	mysql_refuse(parser, VIOLATION_UNANALYSABLE, reason);
	parser->failure->merely |= first;
}

struct query_node *mysql_new(struct mysql_parser *parser, enum query_kind kind)
{
	return query_node_new(parser->arena, kind, parser->nodes++, mysql_peek(parser, 0)->offset);
}

void mysql_append(struct mysql_parser *parser, struct query_node *parent, struct query_node *child)
{
	query_append(parent, child);
	if (parent->depth > MYSQL_MAX_DEPTH)
		mysql_refuse(parser, VIOLATION_TOO_DEEP, "an expression is too long or nested too deeply");
}

struct query_node *mysql_wrap(struct mysql_parser *parser, enum query_kind kind, struct query_node *first)
{
	struct query_node *node = mysql_new(parser, kind);
	node->offset = first->offset;
	node->end = first->end;
	mysql_append(parser, node, first);
	return node;
}

struct query_node *mysql_done(struct mysql_parser *parser, struct query_node *node)
{
	if (parser->at > 0 && !parser->failure->failed) {
		const struct mysql_token *last = &parser->tokens.items[parser->at - 1];
		node->end = last->offset + last->len;
	}
	return node;
}

bool mysql_enter(struct mysql_parser *parser)
{
	if (parser->nesting >= GATE_MAX_NESTING) {
		mysql_refuse(parser, VIOLATION_TOO_DEEP, "the SQL is nested too deeply");
		return false;
	}
	parser->nesting++;
	return true;
}

void mysql_leave(struct mysql_parser *parser)
{
	parser->nesting--;
}

bool mysql_at_plain_string(const struct mysql_parser *parser, size_t ahead)
{
	const struct mysql_token *token = mysql_peek(parser, ahead);
	return token->kind == MYSQL_TOKEN_STRING && strchr("'\"", parser->text.ptr[token->offset]) != NULL;
}

bool mysql_at_name(const struct mysql_parser *parser, size_t ahead)
{
	const struct mysql_token *token = mysql_peek(parser, ahead);
	return token->kind == MYSQL_TOKEN_IDENTIFIER ||
	       (token->kind == MYSQL_TOKEN_WORD && !mysql_word_reserved(token->value));
}

str_t mysql_take_name(struct mysql_parser *parser)
{
	if (!mysql_at_name(parser, 0)) {
		mysql_fail(parser, "a name is expected");
		return STR("");
	}
	return parser->tokens.items[parser->at++].value;
}

struct query_node *mysql_names(struct mysql_parser *parser)
{
	struct query_node *names = mysql_new(parser, QUERY_NAMES);
	mysql_expect(parser, "(");
	do {
		struct query_node *name = mysql_new(parser, QUERY_NAME);
		name->name = mysql_take_name(parser);
		mysql_append(parser, names, mysql_done(parser, name));
	} while (mysql_accept(parser, ","));
	mysql_expect(parser, ")");
	return mysql_done(parser, names);
}
