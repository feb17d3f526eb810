/*
 * Words of texts and of names, so that a question and a query can be compared: in lower case, plural and
 * singular alike. English, and of other languages what needs no dictionary. A word is known by a number that
 * its text gives: two that are different have the same one by accident alone.
 *
 * Any bytes are fine: what is no UTF-8 separates words. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* Longer words are told apart by this many bytes. */
#define WORD_BYTES_MAX 40

/* 0: no word. Not stable across versions: never stored. */
typedef uint64_t word_id;

/* Length of the letter at the offset (ASCII, or UTF-8 of a letter), or 0. */
size_t word_letter(str_t text, size_t offset);

/* A capital letter stands there. */
bool word_is_capital(str_t text, size_t offset);

/* Writes the word in lower case, cut after WORD_BYTES_MAX; returns its length. */
size_t word_lower(str_t word, char ret_lower[WORD_BYTES_MAX]);

/* Of a word in lower case, without the plural's ending. */
word_id word_stem(const char *lower, size_t len);

/* Words of a name: FreeMealCount, free_meal_count and "Free Meal Count" have the same three; numbers are
 * words, too. At most `max`; returns how many. */
size_t words_of_name(str_t name, word_id *ret_ids, size_t max);

/* Of a name that is asked for its words often: a catalog's. Some 40 bytes. */
#define NAME_WORDS_MAX 12

struct name_words {
	word_id whole;	    /* of the name as if it were one word, whatever it consists of; 0: it is empty */
	const word_id *ids; /* as words_of_name gives them, at most NAME_WORDS_MAX */
	size_t count;
};

/* The words are in the arena. */
struct name_words words_keep(str_t name, struct arena *arena);

/* The first eight bytes of a word in lower case, as a number that is in the order of the words. */
uint64_t word_key(const char *lower, size_t len);

#define WORD_KEY_BYTE(text, i)                                                                               \
	((uint64_t)(unsigned char)(text)[sizeof(text) > (i) + 1 ? (i) : sizeof(text) - 1] << (56 - 8 * (i)))

/* Likewise of a literal; constant. */
#define WORD_KEY(text)                                                                                       \
	(WORD_KEY_BYTE(text, 0) | WORD_KEY_BYTE(text, 1) | WORD_KEY_BYTE(text, 2) | WORD_KEY_BYTE(text, 3) | \
	 WORD_KEY_BYTE(text, 4) | WORD_KEY_BYTE(text, 5) | WORD_KEY_BYTE(text, 6) | WORD_KEY_BYTE(text, 7))

/* A set of words, on the caller's stack. What is beyond its room is left out. */
#define WORD_SET_SLOTS 512

struct word_set {
	uint64_t taken[WORD_SET_SLOTS / 64]; /* a bit for each slot: others hold anything */
	size_t count;
	word_id slots[WORD_SET_SLOTS];
};

/* Makes it empty, whatever it was. */
void word_set_clear(struct word_set *set);

static inline bool word_set_taken(const struct word_set *set, size_t slot)
{
	return set->taken[slot / 64] >> slot % 64 & 1;
}

void word_set_add(struct word_set *set, word_id id);
bool word_set_has(const struct word_set *set, word_id id);
