/*
 * Strings of JSON: how far bytes stand for themselves. Pure; any thread.
 */
#pragma once

#include "common/str.h"

/* How many of the bytes at the beginning are no quote, no backslash and no control character. */
size_t json_plain_prefix(const char *data, size_t len);
