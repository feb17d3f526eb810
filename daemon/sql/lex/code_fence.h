/*
 * Statement inside what a language model wrote: a markdown fence or prose around it is taken off. Pure; any
 * thread; linear in the length.
 *
 * What is taken off is provably no statement of the dialect: no line of it begins with a word that begins a
 * statement there (statement_words.def), nothing but space follows a semicolon, and it holds no comment. Else
 * nothing is taken off, not even the fence.
 */
#pragma once

#include "common/str.h"
#include "sql/dialect.h"

struct code_fence_result {
	str_t text;    /* part of the input, without space around it */
	size_t offset; /* of `text` in the input */
	bool wrapped;  /* a code fence or prose was taken off */
};

/* `text` points into `sql`, hence it is not NUL-terminated in general; closing semicolons are taken off, too.
 * Prose is only taken off around a statement that begins a line or follows a colon, and that ends the text or
 * ends with a semicolon at the end of a line. */
struct code_fence_result code_fence_unwrap(str_t sql, enum sql_dialect dialect);

/* The text as given, without space around it; points into it likewise. */
struct code_fence_result code_fence_trim(str_t sql);
