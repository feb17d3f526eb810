#include "sql/lex/statement_words.h"

#include <ctype.h>
#include <strings.h>

#define NONE  STATEMENT_WORD_NONE
#define READ  STATEMENT_WORD_READ
#define OTHER STATEMENT_WORD_OTHER

static const struct {
	const char *word;
	enum statement_word begins[SQL_MONGODB];
} words[] = {
#define STATEMENT_WORD(word, postgresql, sqlite, mysql)                                                      \
	{ word, { [SQL_POSTGRESQL] = (postgresql), [SQL_SQLITE] = (sqlite), [SQL_MYSQL] = (mysql) } },
#include "sql/lex/statement_words.def"
#undef STATEMENT_WORD
};

enum statement_word statement_word(str_t word, enum sql_dialect dialect)
{
	if (word.len == 0 || dialect >= SQL_MONGODB)
		return STATEMENT_WORD_NONE;
	char first = (char)tolower((unsigned char)word.ptr[0]);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (words[i].word[0] == first && strlen(words[i].word) == word.len &&
		    strncasecmp(words[i].word, word.ptr, word.len) == 0)
			return words[i].begins[dialect];
	return STATEMENT_WORD_NONE;
}
