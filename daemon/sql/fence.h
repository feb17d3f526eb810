/*
 * Statement inside what a language model wrote: a markdown fence or prose around it is taken off. Pure; any
 * thread.
 */
#pragma once

#include "common/str.h"

struct fence_result {
	str_t text;    /* part of the input, without space around it */
	size_t offset; /* of `text` in the input */
	bool wrapped;  /* a fence or prose was taken off */
};

/* `text` points into `sql`, hence it is not NUL-terminated in general; closing semicolons are taken off, too.
 * Prose is only taken off in front of a line that begins with a word that begins a statement. */
struct fence_result fence_unwrap(str_t sql);

/* The text as given, without space around it; points into it likewise. */
struct fence_result fence_trim(str_t sql);
