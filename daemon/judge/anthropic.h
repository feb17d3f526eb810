/*
 * Anthropic messages. Pure functions; see provider.h.
 */
#pragma once

#include "judge/provider.h"

extern const struct provider anthropic_provider;
