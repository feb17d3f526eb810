/*
 * OpenAI-compatible chat completions: hosted services, vLLM, Ollama, llama.cpp. Pure functions; see
 * provider.h.
 */
#pragma once

#include "judge/provider.h"

extern const struct provider openai_provider;
