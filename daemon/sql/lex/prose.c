#include "sql/lex/prose.h"

#include "sql/lex/statement_words.h"

#include <ctype.h>

enum { WORDS_MIN = 3 };

static size_t words_of(str_t text)
{
	size_t words = 0;
	for (size_t i = 0; i < text.len; i++)
		words += !isspace((unsigned char)text.ptr[i]) &&
			 (i == 0 || isspace((unsigned char)text.ptr[i - 1]));
	return words;
}

bool prose_is(str_t text, enum sql_dialect dialect)
{
	size_t from = 0, to;
	while (text.len > 0 && isspace((unsigned char)text.ptr[text.len - 1]))
		text.len--;
	while (from < text.len && isspace((unsigned char)text.ptr[from]))
		from++;
	for (to = from; to < text.len && isalpha((unsigned char)text.ptr[to]);)
		to++;
	return to > from && strchr(".!?", text.ptr[text.len - 1]) && words_of(text) >= WORDS_MIN &&
	       statement_word((str_t){ text.ptr + from, to - from }, dialect) == STATEMENT_WORD_NONE;
}
