/*
 * What can be seen of a text that is no query of MongoDB: methods that write, stages and operators that are
 * refused, wherever one stands outside of a string. Pure; any thread; linear in the text.
 */
#pragma once

#include "sql/findings/violations.h"

/* Adds the violations that can be seen, and the doubt that `reason` is. */
void mongodb_unparsed(str_t text, const char *reason, struct violations *violations);
