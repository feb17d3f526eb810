/*
 * Literal values as mongosh texts and command documents write them: object and array literals with what
 * stands for the types of BSON (ObjectId("…"), ISODate("…"), NumberLong("…"), /…/i), and Extended JSON,
 * canonical and relaxed, and sums of plain numbers. No JavaScript is run: whatever else is no literal is a
 * failure with its offset.
 *
 * The text is hostile. Reading it takes one pass, linear time and a bounded depth of the stack; values live
 * in the arena. Pure; a reader belongs to one thread.
 */
#pragma once

#include "common/arena.h"

#define MONGODB_MAX_DEPTH  100	 /* documents and arrays in each other: BSON's own limit */
#define MONGODB_MAX_VALUES 25000 /* of one text */

enum mongodb_kind {
	MONGODB_NULL,
	MONGODB_BOOLEAN,
	MONGODB_NUMBER,
	MONGODB_STRING,
	MONGODB_REGEX,	   /* `text`, and `options` in alphabetical order */
	MONGODB_OBJECT_ID, /* `text`: 24 hexadecimal digits in lower case */
	MONGODB_DATE,	   /* `text`: as written; see `numeric` */
	MONGODB_NOW,	   /* new Date(), new ISODate() */
	MONGODB_OTHER,	   /* UUID, BinData, Timestamp, MinKey, MaxKey: `type` and `text` tell which */
	MONGODB_DOCUMENT,
	MONGODB_ARRAY,
};

struct mongodb_value {
	enum mongodb_kind kind;
	size_t offset, end; /* in the text */
	str_t key;	    /* within a document; absent elsewhere */
	size_t key_offset;
	str_t text;	  /* of a string: what it says; of a number: plain digits, in one form */
	str_t options;	  /* of a regular expression */
	const char *type; /* of a number: "int", "long", "double", "decimal"; of a date: "local", or NULL;
			     static */
	double number;	  /* of a number or a boolean; of a numeric date: milliseconds */
	bool numeric;	  /* a date that is given as a number */
	struct mongodb_value *first, *last; /* of a document or an array */
	size_t count;
	struct mongodb_value *next;
	struct mongodb_value *before; /* of the same text: the one that was read before */
	bool kept;		      /* redaction: it names something, or says which way */
};

struct mongodb_comment {
	size_t offset, len;
};

/* Where the reading of a text stands. */
struct mongodb_reader {
	str_t text;
	struct arena *arena;
	size_t at;
	unsigned depth;
	size_t values;
	bool script;	     /* a text of JavaScript, not of JSON */
	const char *failure; /* what is wrong, for a person; static; NULL: nothing yet */
	size_t failed_at;
	bool too_deep, too_many;	  /* it is a bound that was passed */
	struct mongodb_value *latest;	  /* the last value of all that were read */
	struct mongodb_comment *comments; /* that were skipped */
	size_t comments_count, comments_capacity;
};

/* The length of the white space of JavaScript that stands at `at`, one character, or 0. `ret_ends_line`,
 * which may be NULL: it ends a line. */
size_t mongodb_space(str_t text, size_t at, bool *ret_ends_line);

/* Skips white space and comments. False: a comment is not closed. */
bool mongodb_skip_space(struct mongodb_reader *reader);

/* The byte at the reader's place; '\0' at the end. */
char mongodb_peek(const struct mongodb_reader *reader);

/* Takes the byte, space before it included. False, and nothing but the space is taken: another one stands
 * there. */
bool mongodb_take(struct mongodb_reader *reader, char byte);

/* Takes a name of JavaScript; empty where none stands. */
str_t mongodb_take_name(struct mongodb_reader *reader);

/* Takes a string in quotes; absent: failed. */
str_t mongodb_take_string(struct mongodb_reader *reader);

/* Reads a value, space before it included. NULL: failed. */
struct mongodb_value *mongodb_read_value(struct mongodb_reader *reader);

/* Takes a number as it is written, with its sign, into `value`. NULL: failed. */
struct mongodb_value *mongodb_read_number(struct mongodb_reader *reader, struct mongodb_value *value);

/* Makes the value what JavaScript's number becomes in BSON: an int where it is one, else a double. */
void mongodb_set_number(struct mongodb_value *value, double number, struct arena *arena);

/* arithmetic.c: takes a sum of plain numbers, as generators write times in milliseconds (7 * 24 * 60), into
 * `value`. False: failed. */
bool mongodb_compute(struct mongodb_reader *reader, struct mongodb_value *value);

/* Notes the first failure. Always NULL. */
void *mongodb_fail(struct mongodb_reader *reader, size_t offset, const char *what);

/* The member of that name, or NULL; of a value that is no document, NULL. */
struct mongodb_value *mongodb_member(const struct mongodb_value *document, const char *key);

/* Whether it is a number without a fraction, of at most 2^53. */
bool mongodb_is_integer(const struct mongodb_value *value);

static inline bool mongodb_is_text(const struct mongodb_value *value)
{
	return value && value->kind == MONGODB_STRING;
}

static inline bool mongodb_is_document(const struct mongodb_value *value)
{
	return value && value->kind == MONGODB_DOCUMENT;
}

static inline bool mongodb_is_array(const struct mongodb_value *value)
{
	return value && value->kind == MONGODB_ARRAY;
}
