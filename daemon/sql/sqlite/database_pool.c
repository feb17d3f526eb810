#include "sql/sqlite/database_pool.h"

#include <pthread.h>

#define KEPT_MAX 4 /* databases of a thread */

struct kept {
	struct sqlite_database *database; /* NULL: a free place */
	struct catalog *catalog;	  /* a reference, or NULL: the empty schema */
	uint64_t last_use;
	bool lent;
};

struct pool_of_thread {
	struct kept kept[KEPT_MAX];
	uint64_t uses;
};

static pthread_key_t pool_key;
static pthread_once_t pool_key_once = PTHREAD_ONCE_INIT;

static void forget(struct kept *kept)
{
	sqlite_database_free(kept->database);
	catalog_unref(kept->catalog);
	*kept = (struct kept){ 0 };
}

static void free_pool(void *pointer)
{
	struct pool_of_thread *pool = pointer;
	for (size_t i = 0; i < KEPT_MAX; i++)
		forget(&pool->kept[i]);
	free(pool);
}

static void make_key(void)
{
	if (pthread_key_create(&pool_key, free_pool) != 0)
		abort();
}

static struct pool_of_thread *pool_of_this_thread(void)
{
	(void)pthread_once(&pool_key_once, make_key);
	struct pool_of_thread *pool = pthread_getspecific(pool_key);
	if (pool)
		return pool;
	pool = calloc(1, sizeof *pool);
	if (!pool || pthread_setspecific(pool_key, pool) != 0)
		abort();
	return pool;
}

static struct sqlite_database *lend(struct pool_of_thread *pool, struct kept *kept)
{
	kept->last_use = ++pool->uses;
	kept->lent = true;
	return kept->database;
}

/* The one of the catalog that is at home, else the place of the one that was longest unused. */
static struct kept *choose(struct pool_of_thread *pool, const struct catalog *catalog)
{
	struct kept *oldest = NULL;
	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *kept = &pool->kept[i];
		if (kept->lent)
			continue;
		if (kept->database && kept->catalog == catalog)
			return kept;
		if (!oldest || kept->last_use < oldest->last_use)
			oldest = kept;
	}
	return oldest;
}

struct sqlite_database *sqlite_database_borrow(const struct catalog *catalog)
{
	struct pool_of_thread *pool = pool_of_this_thread();
	if (catalog && catalog_dialect(catalog) != SQL_SQLITE)
		catalog = NULL;
	struct kept *kept = choose(pool, catalog);
	if (!kept)
		return sqlite_database_build(catalog);
	if (kept->database && kept->catalog == catalog)
		return lend(pool, kept);
	forget(kept);
	kept->catalog = catalog ? catalog_ref(catalog) : NULL;
	kept->database = sqlite_database_build(catalog);
	return lend(pool, kept);
}

void sqlite_database_return(struct sqlite_database *database)
{
	if (!database)
		return;
	struct pool_of_thread *pool = pool_of_this_thread();
	bool clean = sqlite_database_clean(database);
	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *kept = &pool->kept[i];
		if (kept->database != database)
			continue;
		kept->lent = false;
		if (!clean)
			forget(kept);
		return;
	}
	sqlite_database_free(database);
}
