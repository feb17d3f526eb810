/* An archived configuration: a line "path=value" for every setting. Pure; any thread once it is read. */
#pragma once

#include "common/str.h"

struct recompute_settings;

/* Copies the text; the caller owns it. NULL: it is no such text. */
struct recompute_settings *recompute_settings_read(str_t text);
void recompute_settings_free(struct recompute_settings *settings); /* NULL is fine */

/* Absent: there is no such setting. */
str_t recompute_setting(const struct recompute_settings *settings, const char *path);
