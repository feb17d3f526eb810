#include "audit/archive/archive_item.h"

static const char *const names[ARCHIVE_KINDS] = {
	[ARCHIVE_CONFIG] = "config",
	[ARCHIVE_PROMPTS] = "prompts",
	[ARCHIVE_CATALOG] = "catalog",
	[ARCHIVE_MODEL] = "model",
};

const char *archive_kind_name(enum archive_kind kind)
{
	return names[kind];
}

int archive_kind_find(const char *name)
{
	for (int kind = 0; kind < ARCHIVE_KINDS; kind++)
		if (strcmp(names[kind], name) == 0)
			return kind;
	return -1;
}

const char *archive_form_find(str_t name)
{
	static const char *const forms[] = { "", "postgresql", "sqlite", "mysql", "mongodb" };
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (str_is(name, forms[i]))
			return forms[i];
	return NULL;
}
