#include "address/environment.h"

#include "common/banned.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kept[LIBPQ_VARIABLES_KEPT] = { "PGSERVICEFILE", "PGSYSCONFDIR",  "PGPASSFILE",
							"PGSSLMODE",	 "PGSSLROOTCERT", "PGSSLCERT",
							"PGSSLKEY",	 "PGSSLCRL" };

/* Settings of the session; libpq does not list them. */
static const char *const of_sessions[] = { "PGTZ", "PGDATESTYLE", "PGGEQO" };

static char removed[512];

static void remove_one(const char *name)
{
	size_t used = strlen(removed);
	if (!getenv(name))
		return;
	unsetenv(name);
	snprintf(removed + used, sizeof removed - used, "%s%s", used ? ", " : "", name);
}

void environment_clean(void)
{
	PQconninfoOption *options = PQconninfoParse("", NULL);
	for (const PQconninfoOption *option = options; option && option->keyword; option++)
		if (option->envvar && !environment_keeps(option->envvar))
			remove_one(option->envvar);
	PQconninfoFree(options);
	for (size_t i = 0; i < sizeof of_sessions / sizeof *of_sessions; i++)
		remove_one(of_sessions[i]);
}

const char *environment_removed(void)
{
	return removed;
}

bool environment_keeps(const char *variable)
{
	size_t len = strcspn(variable, "=");
	for (size_t i = 0; i < LIBPQ_VARIABLES_KEPT; i++)
		if (strlen(kept[i]) == len && strncmp(kept[i], variable, len) == 0)
			return true;
	return false;
}
