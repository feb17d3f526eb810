/* What `assayd check` says of the schema registry: whether each address answers, whether the input's newest
 * schema can be read, and whether outputs can be written. */
#pragma once

#include "command/findings.h"
#include "config/config.h"

/* Blocks, for the deadline of some requests. One thread. */
void check_registry(const struct config *config, struct findings *findings);
