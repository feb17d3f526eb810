/*
 * Words of texts and of names, so that a question and a query can be compared: in lower case, plural and
 * singular alike. English, and of other languages what needs no dictionary. A word is known by a number that
 * its text gives: two that are different have the same one by accident alone.
 *
 * Any bytes are fine: what is no UTF-8 separates words. Pure; no allocation; any thread.
 */
#pragma once

#include "common/str.h"

/* Longer words are told apart by this many bytes. */
#define WORD_BYTES 40

/* 0: no word. Not stable across versions: never stored. */
typedef uint64_t word_id;

/* Length of the letter at the offset (ASCII, or UTF-8 of a letter), or 0. */
size_t word_letter(str_t text, size_t offset);

/* A capital letter stands there. */
bool word_is_capital(str_t text, size_t offset);

/* Writes the word in lower case, cut after WORD_BYTES; returns its length. */
size_t word_lower(str_t word, char ret_lower[WORD_BYTES]);

/* Of a word in lower case, without the plural's ending. */
word_id word_stem(const char *lower, size_t len);

/* Words of a name: FreeMealCount, free_meal_count and "Free Meal Count" have the same three; numbers are
 * words, too. At most `max`; returns how many. */
size_t words_of_name(str_t name, word_id *ret_ids, size_t max);

/* A set of words, on the caller's stack; zeroed, it is empty. What is beyond its room is left out. */
#define WORD_SET_SLOTS 512

struct word_set {
	word_id slots[WORD_SET_SLOTS];
	size_t count;
};

void word_set_add(struct word_set *set, word_id id);
bool word_set_has(const struct word_set *set, word_id id);
