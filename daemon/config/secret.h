/* Where the files of secrets are. Inside of config/ only. */
#pragma once

#include "config/config.h"

/* Puts in the place of each name what config_secret_file says of it, in the arena, beside the configuration
 * of that path; and nothing in the place of a secret itself. */
void config_resolve_secrets(struct config *config, const char *path, struct arena *arena);
