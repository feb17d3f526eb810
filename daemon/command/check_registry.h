/* What `assayd check` says of the schema registry: whether each address answers, whether the input's newest
 * schema can be read, and whether outputs can be written. */
#pragma once

#include "command/findings.h"
#include "config/config.h"

/* The secrets and the files of TLS that it names; false where some of it is wrong, which is told. Blocks on
 * files alone. */
bool check_registry_files(const struct config_registry *registry, struct findings *findings);

/* These, and the registry. Blocks, for the deadline of some requests. One thread. */
void check_registry(const struct config *config, struct findings *findings);
