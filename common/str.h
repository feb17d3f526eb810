/*
 * Text with its length. `ptr` is NULL for an absent text (never the same as an empty one) and otherwise
 * points at `len` bytes followed by a NUL, so that C functions can read it; bytes may include NULs where the
 * source allows them. A str_t owns nothing: it lives as long as the arena or literal that it points into.
 * Pure.
 */
#pragma once

#include "common/err.h"

typedef struct str {
	const char *ptr;
	size_t len;
} str_t;

#define STR(literal) ((str_t){ (literal), sizeof(literal) - 1 })
#define STR_NONE     ((str_t){ NULL, 0 })
#define STR_FMT	     "%.*s"
/* For STR_FMT; evaluates its argument three times, so it has to be a plain variable or member. */
#define STR_ARG(value) ((int)(value).len), ((value).ptr ? (value).ptr : "")

static inline str_t str_from(const char *text)
{
	return (str_t){ text, text ? strlen(text) : 0 };
}

static inline bool str_present(str_t text)
{
	return text.ptr != NULL;
}

static inline bool str_equal(str_t a, str_t b)
{
	return a.len == b.len && (a.len == 0 ? !a.ptr == !b.ptr : memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_is(str_t a, const char *text)
{
	return a.ptr && strlen(text) == a.len && memcmp(a.ptr, text, a.len) == 0;
}

static inline bool str_is_any(str_t text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (text.len > 0 && words[i][0] == text.ptr[0] && str_is(text, words[i]))
			return true;
	return false;
}

/* Whether the text is one of the words, none of which is empty: STR_IS_ANY(name, "a", "b"). */
#define STR_IS_ANY(text, ...)                                                                                \
	__extension__({                                                                                      \
		static const char *const words_[] = { __VA_ARGS__ };                                         \
		str_is_any((text), words_, sizeof words_ / sizeof *words_);                                  \
	})

/* Whether the word is in a list of words with spaces between. */
static inline bool str_is_listed(str_t word, const char *list)
{
	for (const char *at = list; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		if (str_equal(word, (str_t){ at, length }))
			return true;
		at += length;
	}
	return false;
}

/* In order of the bytes: less than, equal to or greater than 0. Absent and empty are the same. */
static inline int str_compare(str_t a, str_t b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter > 0 ? memcmp(a.ptr, b.ptr, shorter) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* The same of two str_t, for qsort. */
static inline int str_compare_items(const void *left, const void *right)
{
	return str_compare(*(const str_t *)left, *(const str_t *)right);
}

/* Values that can be absent. An absent one is never the same as 0. */
typedef struct opt_double {
	bool set;
	double value;
} opt_double_t;

typedef struct opt_int64 {
	bool set;
	int64_t value;
} opt_int64_t;

typedef struct opt_bool {
	bool set;
	bool value;
} opt_bool_t;

#define OPT_NONE                                                                                             \
	{                                                                                                    \
		false, 0                                                                                     \
	}

static inline opt_double_t opt_double(double value)
{
	return (opt_double_t){ true, value };
}
