/*
 * Anthropic messages.
 */
#pragma once

#include "judge/provider.h"

extern const struct provider anthropic_provider;
