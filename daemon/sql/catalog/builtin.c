#include "sql/catalog/internal.h"

#include <pthread.h>

/* What CATALOG_QUERY_POSTGRESQL returns on a fresh PostgreSQL 15 (catalog_builtin.json). */
static const char builtin_json[] = {
#include "daemon/sql/catalog/catalog_builtin.json.inc"
};

static struct catalog *builtins;
static pthread_once_t builtins_once = PTHREAD_ONCE_INIT;

/* Once per process: the rest of its life it is shared and never released. */
static void compile_builtins(void)
{
	str_t json = { builtin_json, sizeof builtin_json - 1 };
	if (catalog_compile_postgresql(json, &builtins, NULL) != ERR_OK)
		abort();
}

const struct catalog *catalog_builtin(void)
{
	pthread_once(&builtins_once, compile_builtins);
	return builtins;
}

void catalog_begin_on_builtins(struct catalog_builder *builder)
{
	catalog_begin_live(builder, catalog_builtin());
}
