#include "sql/lex/statement_words.h"
#include "sql/mysql/grammar.h"

static const struct {
	const char *word;
	const char *shapes;
} statements[] = {
#define MYSQL_STATEMENT(word, shapes) { (word), (shapes) },
#include "sql/mysql/statements.def"
#undef MYSQL_STATEMENT
};

static bool at_end(const struct mysql_parser *parser, size_t ahead)
{
	return mysql_peek(parser, ahead)->kind == MYSQL_TOKEN_END || mysql_at(parser, ahead, ";");
}

static bool is_part(const struct mysql_token *token, str_t part)
{
	bool spelt = token->kind == MYSQL_TOKEN_WORD || token->kind == MYSQL_TOKEN_OPERATOR;
	return spelt && identifier_same(token->value, part);
}

static bool at_any_name(const struct mysql_parser *parser, size_t ahead)
{
	enum mysql_token_kind kind = mysql_peek(parser, ahead)->kind;
	return kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_IDENTIFIER;
}

static bool at_expression(const struct mysql_parser *parser, size_t ahead)
{
	static const char *const operators[] = { "and", "or",	   "xor",    "div",    "mod",	 "is",
						 "in",	"like",	   "not",    "regexp", "rlike",	 "between",
						 "as",	"collate", "sounds", "over",   "member", NULL };
	if (at_end(parser, ahead))
		return false;
	if (!mysql_at_name(parser, ahead))
		return true; /* a literal, a bracket, a word such as NOT, CASE, EXISTS */
	if (!at_any_name(parser, ahead + 1) || at_end(parser, ahead + 1))
		return true;
	return mysql_at_any(parser, ahead + 1, operators) != NULL;
}

static bool stands_behind(const struct mysql_parser *parser, size_t ahead, str_t word)
{
	for (size_t at = parser->at + ahead; at < parser->tokens.count; at++)
		if (is_part(&parser->tokens.items[at], word))
			return true;
	return false;
}

static bool part_stands(const struct mysql_parser *parser, size_t ahead, str_t part)
{
	const struct mysql_token *token = mysql_peek(parser, ahead);
	switch (part.ptr[0]) {
	case '~':
		return at_any_name(parser, ahead);
	case '$':
		return at_end(parser, ahead);
	case '#':
		return token->kind == MYSQL_TOKEN_NUMBER;
	case '\'':
		return token->kind == MYSQL_TOKEN_STRING;
	case '@':
		return token->kind == MYSQL_TOKEN_VARIABLE || token->kind == MYSQL_TOKEN_SYSTEM;
	case 'S':
		return mysql_at(parser, ahead, "(") ||
		       (token->kind == MYSQL_TOKEN_WORD &&
			statement_word(token->value, SQL_MYSQL) != STATEMENT_WORD_NONE);
	case 'E':
		return at_expression(parser, ahead);
	case '*':
		return stands_behind(parser, ahead, (str_t){ part.ptr + 1, part.len - 1 });
	default:
		return is_part(token, part);
	}
}

/* One shape, up to a blank or the end; `*at` goes behind it. */
static bool shape_stands(const struct mysql_parser *parser, const char **at)
{
	bool stands = true;
	size_t ahead = 1;
	while (**at && **at != ' ') {
		size_t len = strcspn(*at + 1, "+ ") + 1;
		stands = stands && part_stands(parser, ahead++, (str_t){ *at, len });
		*at += len;
		*at += **at == '+';
	}
	return stands;
}

bool mysql_statement_follows(const struct mysql_parser *parser)
{
	const char *shapes = NULL;
	for (size_t i = 0; i < sizeof statements / sizeof statements[0] && !shapes; i++)
		if (mysql_at(parser, 0, statements[i].word))
			shapes = statements[i].shapes;
	bool stands = !shapes;
	while (!stands && *shapes) {
		stands = shape_stands(parser, &shapes);
		shapes += *shapes == ' ';
	}
	return stands;
}
