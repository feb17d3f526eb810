/*
 * Connection strings of libpq: key=value pairs, or postgresql://… What libpq would only say when it connects
 * is known beforehand. Pure.
 */
#pragma once

#include "common/arena.h"

/* ERR_CONFIG_RANGE with what is wrong: an unknown keyword, a value that none of its keyword is, a password.
 * Only keywords and values of settings that are no secret are repeated. */
err_t libpq_dsn_check(const char *dsn, struct err_detail *detail);

/* The keyword's value in the string, in the arena; NULL: it is not given, or the string cannot be read. */
const char *libpq_dsn_value(const char *dsn, const char *keyword, struct arena *arena);
