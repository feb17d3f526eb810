/*
 * Any bytes as what a catalog is compiled from: the file of --catalog, the answers of a PostgreSQL and a
 * MongoDB target, the schema of a SQLite file. The compilers refuse or give a catalog that statements can be
 * analysed against.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/postgresql/ddl/ddl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef err_t (*compile_fn)(str_t, struct catalog **, struct err_detail *);

static const struct {
	compile_fn compile;
	enum sql_dialect dialect;
} compilers[] = {
	{ ddl_compile, SQL_POSTGRESQL },
	{ catalog_compile_postgresql, SQL_POSTGRESQL },
	{ catalog_compile_sqlite, SQL_SQLITE },
	{ catalog_compile_mongodb, SQL_MONGODB },
};

static const char *const statements[] = {
	"SELECT * FROM t, u, v WHERE t.id = u.id",
	"SELECT t.a, f(1), nope FROM t JOIN u USING (id) WHERE t.a LIKE 'x' GROUP BY t.a",
	"WITH x AS (SELECT * FROM v) SELECT x.* FROM x ORDER BY 1",
	NULL,
};

static const char *const queries[] = {
	"db.t.find({a: 1, 'a.b': 'x', 'c.0.d': {$gt: 5}}, {a: 1}).sort({c: 1})",
	"db.t.aggregate([{$lookup: {from: 'u', localField: 'a', foreignField: 'b', as: 'c'}}, {$unwind: "
	"'$c'}, {$group: {_id: '$c.d.e', n: {$sum: '$a.b'}}}, {$sort: {nope: 1}}])",
	NULL,
};

static void analyse(const struct catalog *catalog, enum sql_dialect dialect, struct arena *arena)
{
	const char *const *texts = dialect == SQL_MONGODB ? queries : statements;
	for (size_t i = 0; texts[i]; i++) {
		struct sql_request request = { .sql = str_from(texts[i]),
					       .dialect = dialect,
					       .target_named = true,
					       .catalog = catalog };
		struct sql_analysis analysis;
		sql_analyse(&request, arena, &analysis);
		if (!analysis.valid)
			abort();
	}
}

/* The first byte chooses the compiler. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size_t chosen = data[0] % (sizeof compilers / sizeof compilers[0]);
	struct arena *arena = arena_new();
	str_t text = arena_text(arena, (const char *)data + 1, size - 1);
	struct catalog *catalog = NULL;
	struct err_detail detail;
	if (compilers[chosen].compile(text, &catalog, &detail) == ERR_OK) {
		if (strlen(catalog_digest(catalog)) != 64)
			abort();
		analyse(catalog, compilers[chosen].dialect, arena);
		catalog_unref(catalog);
	}
	arena_free(arena);
	return 0;
}
