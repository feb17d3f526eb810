/*
 * What a question asks for, as far as its words tell: whether for an average, a superlative, a share of a
 * whole, how many things at once, with which numbers and names. English words (question_words.def); of other
 * languages, numbers, names and quoted texts are seen.
 *
 * The first QUESTION_MAX_BYTES and QUESTION_MAX_WORDS count. Pure; no allocation; any thread.
 */
#pragma once

#include "sql/lex/words.h"

#define QUESTION_MAX_BYTES 8192
#define QUESTION_MAX_WORDS 400

/* What a word of a question may say; question_words.def has the words. */
enum question_sense {
	ASKS_PERCENTAGE = 1 << 0,
	ASKS_AVERAGE = 1 << 1,
	ASKS_RATIO = 1 << 2,
	ASKS_DIFFERENCE = 1 << 3,
	ASKS_EACH = 1 << 4,
	ASKS_CHOICE = 1 << 5, /* one or the other, yes or no */
	ASKS_SUPERLATIVE = 1 << 6,
	ASKS_COMPARISON = 1 << 7,
	ASKS_NEGATION = 1 << 8,
	ASKS_DISTINCT = 1 << 9,
	ASKS_COUNT = 1 << 10,
	ASKS_KEY = 1 << 11, /* for an identifier, a number, a code */
	/* parts of sentences */
	WORD_REQUEST = 1 << 12,	      /* begins a request */
	WORD_REQUEST_AGAIN = 1 << 13, /* begins a further one behind "and" or a comma */
	WORD_FILLER = 1 << 14,	      /* between a request and what is asked for */
	WORD_HEAD_END = 1 << 15,      /* ends the list of what is asked for */
	WORD_POSSESSIVE = 1 << 16,    /* their, its: one thing more is asked for */
	WORD_AUXILIARY = 1 << 17,     /* begins a question for yes or no */
	WORD_STOP = 1 << 18,	      /* says nothing of what is asked */
};

enum question_kind { QUESTION_WORD, QUESTION_NUMBER, QUESTION_COMMA, QUESTION_END };

struct question_part {
	enum question_kind kind;
	unsigned senses;
	word_id id;
	uint64_t key; /* of a word of up to 8 bytes, all of it (word_key); else 0 */
	str_t text;   /* in the question */
	bool capital;
	bool quoted;
	bool begins; /* a sentence */
};

struct question {
	str_t text;
	struct question_part parts[QUESTION_MAX_WORDS];
	size_t count;
	unsigned senses; /* of all words outside of quotes, and what several say together */
	bool how_many;
	unsigned words, sentences, numbers, names; /* names: capitals within sentences */
	unsigned asked;				   /* outputs that it asks for, at least 1 */
	struct word_set set;			   /* of all its words */
};

/* Reads a question; an absent one is empty. */
void question_read(str_t text, struct question *ret_question);

/* What a word in lower case may say. */
unsigned question_senses(const char *lower, size_t len);
