#include "sql/findings/instead.h"

#include "sql/lex/identifier.h"
#include "sql/lex/scan.h"

#include <ctype.h>
#include <strings.h>

#define TOKENS_BEFORE 6 /* EXTRACT(YEAR FROM …) is refused at its FROM */

static const struct instead {
	const char *word; /* in lower case; `name(` only where a bracket follows; or an operator */
	const char *uses[SQL_MYSQL + 1];
} table[] = {
#define NONE NULL
#define INSTEAD(word, postgresql, sqlite, mysql)                                                             \
	{ word, { [SQL_POSTGRESQL] = postgresql, [SQL_SQLITE] = sqlite, [SQL_MYSQL] = mysql } },
#include "sql/findings/instead.def"
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

static size_t word_len(const struct instead *instead)
{
	size_t len = strlen(instead->word);
	return len > 1 && instead->word[len - 1] == '(' ? len - 1 : len;
}

static bool is_call(const struct instead *instead)
{
	return instead->word[word_len(instead)] == '(';
}

static str_t hint(const struct instead *instead, enum sql_dialect dialect, struct arena *arena)
{
	str_t word = arena_text(arena, instead->word, word_len(instead));
	char *upper = arena_strdup(arena, word.ptr);
	for (char *at = upper; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return arena_printf(arena, "; instead of %s%s there is %s", upper, is_call(instead) ? "()" : "",
			    instead->uses[dialect]);
}

str_t instead_of_function(str_t name, enum sql_dialect dialect, struct arena *arena)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (table[i].uses[dialect] && is_call(&table[i]) &&
		    identifier_same((str_t){ table[i].word, word_len(&table[i]) }, name))
			return hint(&table[i], dialect, arena);
	return STR("");
}

static bool stands_at(const struct instead *instead, str_t sql, struct scan_token token,
		      enum sql_dialect dialect)
{
	size_t len = word_len(instead);
	if (!isalpha((unsigned char)instead->word[0])) /* operators are scanned byte by byte */
		return token.kind == SCAN_OTHER && token.offset + len <= sql.len &&
		       memcmp(sql.ptr + token.offset, instead->word, len) == 0;
	if (token.kind != SCAN_WORD || token.len != len ||
	    strncasecmp(sql.ptr + token.offset, instead->word, len) != 0)
		return false;
	struct scan_token next = scan_next(sql, token.offset + token.len, dialect);
	return !is_call(instead) || scan_is_char(sql, next, '(');
}

str_t instead_near(str_t sql, size_t offset, enum sql_dialect dialect, struct arena *arena)
{
	struct scan_token tokens[TOKENS_BEFORE];
	size_t seen = 0;
	struct scan_token token = scan_next(sql, 0, dialect);
	for (; token.kind != SCAN_END && token.offset <= offset;
	     token = scan_next(sql, token.offset + token.len, dialect))
		tokens[seen++ % TOKENS_BEFORE] = token;
	for (size_t back = 1; back <= seen && back <= TOKENS_BEFORE; back++)
		for (size_t i = 0; i < TABLE_COUNT; i++)
			if (table[i].uses[dialect] &&
			    stands_at(&table[i], sql, tokens[(seen - back) % TOKENS_BEFORE], dialect))
				return hint(&table[i], dialect, arena);
	return STR("");
}
