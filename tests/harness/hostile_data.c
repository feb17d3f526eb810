#include "tests/harness/hostile_data.h"

#include "common/buf.h"
#include "sql/lex/scan.h"

enum { ROWS = 14, LITERALS_MAX = 60 };

struct literals {
	str_t texts[LITERALS_MAX], dates[LITERALS_MAX], numbers[LITERALS_MAX];
	size_t texts_count, dates_count, numbers_count;
};

static bool run_as(PGconn *connection, const char *sql, bool loud)
{
	PGresult *result = PQexec(connection, sql);
	bool done = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!done && loud)
		fprintf(stderr, "%s\n%s\n", PQerrorMessage(connection), sql);
	PQclear(result);
	return done;
}

static bool run(PGconn *connection, const char *sql)
{
	return run_as(connection, sql, true);
}

/* A table that takes no such rows (a partition, one with types of its own) stays empty. */
static bool try_to_fill(PGconn *connection, const char *sql)
{
	return run(connection, "SAVEPOINT table_data") &&
	       (run_as(connection, sql, false) || run(connection, "ROLLBACK TO SAVEPOINT table_data"));
}

static void add(str_t *items, size_t *count, str_t item)
{
	for (size_t i = 0; i < *count; i++)
		if (str_equal(items[i], item))
			return;
	if (*count < LITERALS_MAX)
		items[(*count)++] = item;
}

static bool is_date(str_t text)
{
	return text.len >= 12 && text.ptr[5] == '-' && text.ptr[8] == '-' && text.ptr[1] >= '0' &&
	       text.ptr[1] <= '9';
}

/* What the truths compare with; texts without the wildcards of LIKE, too. */
static void collect(const struct oracle_database *database, struct arena *arena, struct literals *literals)
{
	for (size_t i = 0; i < database->truths_count; i++) {
		str_t sql = database->truths[i];
		struct scan_token token = scan_next(sql, 0, SQL_POSTGRESQL);
		for (; token.kind != SCAN_END;
		     token = scan_next(sql, token.offset + token.len, SQL_POSTGRESQL)) {
			str_t text = arena_text(arena, sql.ptr + token.offset, token.len);
			if (token.kind == SCAN_NUMBER && token.len < 5)
				add(literals->numbers, &literals->numbers_count, text);
			if (token.kind != SCAN_STRING || text.ptr[0] != '\'')
				continue;
			if (is_date(text))
				add(literals->dates, &literals->dates_count,
				    arena_printf(arena, "%.11s'", text.ptr));
			struct buf plain = BUF_INIT;
			for (size_t k = 0; k < text.len; k++)
				if (text.ptr[k] != '%')
					buf_append_char(&plain, text.ptr[k]);
			add(literals->texts, &literals->texts_count, arena_str(arena, buf_str(&plain)));
			buf_free(&plain);
		}
	}
}

static void append_pool(struct buf *buf, const str_t *items, size_t count, size_t most)
{
	for (size_t i = 0; i < count && i < most; i++)
		buf_printf(buf, ", " STR_FMT, STR_ARG(items[i]));
}

/* An expression that draws one value for a column of that type (udt_name). */
static void append_value(struct buf *buf, const char *type, const char *length,
			 const struct literals *literals, bool dense)
{
	struct buf pool = BUF_INIT;
	const char *cast = type;
	size_t most = dense ? 6 : LITERALS_MAX;
	if (strcmp(type, "int2") == 0 || strcmp(type, "int4") == 0 || strcmp(type, "int8") == 0) {
		buf_append_text(&pool, "0, 1, 2, 3");
		if (!dense)
			buf_append_text(&pool, ", -1, 32767, 2023, 2024");
	} else if (strcmp(type, "numeric") == 0) {
		buf_append_text(&pool, "0, 1, 1, 2.50, -1.25");
	} else if (strncmp(type, "float", 5) == 0) {
		buf_append_text(&pool, "0, 0.1, 1, 2.5, -1.25, 4.5");
	} else if (strcmp(type, "bool") == 0) {
		buf_append_text(&pool, "true, false");
	} else if (strcmp(type, "date") == 0 || strncmp(type, "timestamp", 9) == 0) {
		buf_append_text(&pool,
				"current_date::text, (current_date - 7)::text, (current_date - 31)::text, "
				"date_trunc('month', current_date)::date::text, '2023-01-31', '2024-02-29'");
		append_pool(&pool, literals->dates, literals->dates_count, most);
	} else if (strcmp(type, "time") == 0) {
		buf_append_text(&pool, "'00:00', '12:30', '23:59:59'");
	} else if (strcmp(type, "text") == 0 || strcmp(type, "varchar") == 0 || strcmp(type, "bpchar") == 0) {
		buf_append_text(&pool, dense ? "'a', 'A', '1'" : "'', 'a', 'A', ' a ', '%', '1', '10', 'é'");
		append_pool(&pool, literals->texts, literals->texts_count, most);
		cast = "text";
	} else {
		buf_printf(buf, "NULL::%s", type);
		return;
	}
	bool is_text = strcmp(cast, "text") == 0;
	buf_printf(buf, "%s(ARRAY[%s])[1 + floor(random() * cardinality(ARRAY[%s]))]%s%s%s::%s",
		   is_text ? "left((" : "", pool.data, pool.data, is_text ? ")::text, " : "",
		   is_text ? (*length ? length : "1000") : "", is_text ? ")" : "", cast);
	buf_free(&pool);
}

static const char columns_query[] =
	"SELECT c.table_schema, c.table_name, c.column_name, c.udt_name, c.is_nullable,"
	" coalesce(c.character_maximum_length::text, '') FROM information_schema.columns c"
	" JOIN information_schema.tables t USING (table_schema, table_name)"
	" WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')"
	" AND c.is_generated = 'NEVER' AND c.is_identity = 'NO'"
	" ORDER BY c.table_schema, c.table_name, c.ordinal_position";

/* One INSERT per table. Columns that cannot be NULL and have an unknown type keep their default. */
static bool fill(struct oracle_database *database, enum hostile_data data, struct arena *arena)
{
	struct literals *literals = ARENA_NEW(arena, struct literals);
	collect(database, arena, literals);
	PGresult *columns = PQexec(database->connection, columns_query);
	bool filled = PQresultStatus(columns) == PGRES_TUPLES_OK;
	int rows = PQntuples(columns), table = 0;
	for (int i = 0, end; filled && i < rows; i = end, table++) {
		struct buf names = BUF_INIT, values = BUF_INIT, sql = BUF_INIT;
		const char *name = PQgetvalue(columns, i, 1), *schema = PQgetvalue(columns, i, 0);
		for (end = i; end < rows && strcmp(PQgetvalue(columns, end, 1), name) == 0 &&
			      strcmp(PQgetvalue(columns, end, 0), schema) == 0;
		     end++) {
			bool nullable = strcmp(PQgetvalue(columns, end, 4), "YES") == 0;
			const char *comma = end > i ? ", " : "";
			buf_printf(&names, "%s\"%s\"", comma, PQgetvalue(columns, end, 2));
			buf_printf(&values, "%sCASE WHEN random() < %s THEN ", comma,
				   nullable ? (data == DATA_SPARSE ? "0.5" : "0.85") : "2");
			append_value(&values, PQgetvalue(columns, end, 3), PQgetvalue(columns, end, 5),
				     literals, data == DATA_DENSE);
			buf_append_text(&values, " END");
		}
		bool empty = data == DATA_EMPTY && table % 2;
		buf_printf(&sql, "INSERT INTO \"%s\".\"%s\" (%s) SELECT %s FROM generate_series(1, %d)",
			   schema, name, names.data, values.data, empty ? 0 : ROWS);
		filled = try_to_fill(database->connection, sql.data);
		buf_free(&names);
		buf_free(&values);
		buf_free(&sql);
	}
	PQclear(columns);
	return filled;
}

static const char clear[] =
	"DO $$ DECLARE c record; BEGIN"
	" FOR c IN SELECT conrelid::regclass AS t, quote_ident(conname) AS n FROM pg_constraint"
	"  WHERE conrelid <> 0 AND connamespace::regnamespace::text NOT IN ('pg_catalog', "
	"'information_schema')"
	"  ORDER BY contype = 'f' DESC LOOP"
	"  EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s CASCADE', c.t, c.n); END LOOP;"
	" FOR c IN SELECT oid::regclass AS t FROM pg_class WHERE relkind IN ('r', 'p')"
	"  AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'pg_toast') LOOP"
	"  EXECUTE format('DELETE FROM %s', c.t); END LOOP; END $$";

bool hostile_data_begin(struct oracle_database *database, enum hostile_data data, uint64_t seed,
			struct arena *arena)
{
	char sql[128];
	PGconn *connection = database->connection;
	snprintf(sql, sizeof sql, "SELECT setseed(%.4f)", (double)(seed % 9973) / 9973.0);
	if (!run(connection, "BEGIN") || !run(connection, "SET LOCAL statement_timeout = 2000") ||
	    !run(connection, "SET LOCAL client_min_messages = error") || !run(connection, sql))
		return false;
	if (data != DATA_ITS_OWN && (!run(connection, clear) || !fill(database, data, arena)))
		return false;
	return run(connection, "SAVEPOINT data");
}

void hostile_data_end(struct oracle_database *database)
{
	(void)run(database->connection, "ROLLBACK");
}
