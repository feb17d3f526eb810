#include "judge/provider.h"

#include "judge/anthropic.h"
#include "judge/openai.h"

static const struct provider *const providers[] = { &openai_provider, &anthropic_provider };

const struct provider *provider_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof providers / sizeof providers[0]; i++)
		if (strcmp(providers[i]->name, name) == 0)
			return providers[i];
	return NULL;
}
