#include "tests/harness/oracles/result_oracle.h"

#include "common/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Columns without a partner by name are tried in all orders. */
enum { MAX_COLUMNS = 64, MAX_OPEN = 3 };

struct shape {
	int columns;
	char names[MAX_COLUMNS][64]; /* without blanks around */
	enum result_kind kinds[MAX_COLUMNS];
	Oid types[MAX_COLUMNS];
};

struct question {
	PGconn *connection;
	const struct result_source *truth;
	str_t sql;
	struct shape ours, theirs; /* of the truth and of the other one */
	struct result_whole whole; /* that the truth's rows are the first of; or without SQL */
	int partners[MAX_COLUMNS]; /* by column of the truth */
	int open[MAX_OPEN], open_theirs[MAX_OPEN];
	int open_count;
};

/* ---- Columns ---- */

static void read_shape(const PGresult *result, struct shape *shape)
{
	shape->columns = PQnfields(result);
	for (int i = 0; i < shape->columns && i < MAX_COLUMNS; i++) {
		const char *name = PQfname(result, i);
		size_t len = strlen(name);
		while (len > 0 && name[len - 1] == ' ')
			len--;
		size_t start = strspn(name, " ");
		snprintf(shape->names[i], sizeof shape->names[i], "%.*s",
			 (int)(len > start ? len - start : 0), name + start);
		shape->types[i] = PQftype(result, i);
		shape->kinds[i] = result_kind_of(shape->types[i]);
	}
}

/* Asks without running it. False: it has an error. */
static bool describe(PGconn *connection, str_t sql, struct arena *arena, struct shape *ret_shape)
{
	PGresult *result = PQprepare(connection, "", arena_str(arena, sql).ptr, 0, NULL);
	bool fine = PQresultStatus(result) == PGRES_COMMAND_OK;
	PQclear(result);
	if (!fine)
		return false;
	result = PQdescribePrepared(connection, "");
	fine = PQresultStatus(result) == PGRES_COMMAND_OK;
	if (fine)
		read_shape(result, ret_shape);
	PQclear(result);
	return fine;
}

static int name_uses(const struct shape *shape, const char *name, int *ret_column)
{
	int uses = 0;
	for (int i = 0; i < shape->columns; i++) {
		if (strcasecmp(shape->names[i], name) != 0)
			continue;
		*ret_column = i;
		uses++;
	}
	return uses;
}

/* False: too many columns have no partner by name. */
static bool pair_names(struct question *question)
{
	bool taken[MAX_COLUMNS] = { false };
	int theirs = 0, column = 0;
	question->open_count = 0;
	for (int i = 0; i < question->ours.columns; i++) {
		const char *name = question->ours.names[i];
		bool paired = name_uses(&question->theirs, name, &column) == 1 &&
			      name_uses(&question->ours, name, &(int){ 0 }) == 1;
		question->partners[i] = paired ? column : -1;
		if (paired)
			taken[column] = true;
		else if (question->open_count == MAX_OPEN)
			return false;
		else
			question->open[question->open_count++] = i;
	}
	for (int i = 0; i < question->theirs.columns; i++)
		if (!taken[i])
			question->open_theirs[theirs++] = i;
	return true;
}

/* ---- The statement that counts ---- */

static bool comparable(const struct question *question, int column, int partner)
{
	enum result_kind a = question->ours.kinds[column], b = question->theirs.kinds[partner];
	if (result_kind_is_number(a) || result_kind_is_moment(a))
		return result_kind_is_number(a) ? result_kind_is_number(b) : result_kind_is_moment(b);
	return a == b &&
	       (a != RESULT_OTHER || question->ours.types[column] == question->theirs.types[partner]);
}

static void append_value(struct buf *sql, enum result_kind kind, int column)
{
	static const char *const formats[] = {
		[RESULT_INTEGER] = "c%d::numeric",
		[RESULT_DECIMAL] = "c%d::numeric",
		[RESULT_FLOAT] = "c%d::numeric",
		[RESULT_TEXT] = "btrim(c%d::text, E' \\t\\n\\r\\f\\x0b')",
		[RESULT_DATE] = "c%d::timestamp",
		[RESULT_TIMESTAMP] = "c%d",
		[RESULT_TIMESTAMP_TZ] = "c%d AT TIME ZONE 'UTC'",
		[RESULT_BOOLEAN] = "c%d",
		[RESULT_OTHER] = "c%d::text",
	};
	for (const char *at = formats[kind]; *at; at++) {
		if (at[0] != '%') {
			buf_append_char(sql, *at);
			continue;
		}
		buf_printf(sql, "%d", column);
		at++;
	}
}

static int hidden_keys(const struct result_source *truth)
{
	int hidden = 0;
	for (size_t i = 0; i < truth->order_keys_count; i++)
		hidden += truth->order_keys[i].column < 0;
	return hidden;
}

/* WITH rows AS (those of a statement by position). */
static void append_rows(struct buf *sql, const char *rows, str_t statement, int columns)
{
	buf_printf(sql,
		   "%s AS MATERIALIZED (SELECT row_number() OVER () AS p, w.* FROM (" STR_FMT "\n) AS w(",
		   rows, STR_ARG(statement));
	for (int i = 0; i < columns; i++)
		buf_printf(sql, "%sc%d", i ? ", " : "", i);
	buf_append_text(sql, "))");
}

/* values AS (the rows as values to compare). */
static void append_values(struct buf *sql, const char *rows, const char *values, const struct shape *shape,
			  const int *partners, int hidden)
{
	buf_printf(sql, ", %s AS MATERIALIZED (SELECT p", values);
	for (int i = 0; i < shape->columns; i++) {
		int column = partners ? partners[i] : i;
		buf_append_text(sql, ", ");
		append_value(sql, shape->kinds[column], column);
		buf_printf(sql, " AS d%d", i);
	}
	for (int i = shape->columns; i < shape->columns + hidden; i++)
		buf_printf(sql, ", c%d AS d%d", i, i);
	buf_printf(sql, " FROM %s)", rows);
}

/* r: the run of ties that each position of the truth belongs to. */
static void append_runs(struct buf *sql, const struct question *question)
{
	const struct result_source *truth = question->truth;
	int hidden = question->ours.columns;
	bool known = result_ties_known(truth) || str_present(question->whole.sql);
	buf_append_text(sql, ", f AS (SELECT p, p = 1");
	for (size_t i = 0; truth->ordered && known && i < truth->order_keys_count; i++) {
		int column = truth->order_keys[i].column < 0 ? hidden++ : truth->order_keys[i].column;
		buf_printf(sql, " OR d%d IS DISTINCT FROM lag(d%d) OVER (ORDER BY p)", column, column);
	}
	if (truth->ordered && !known)
		buf_append_text(sql, " OR true");
	buf_append_text(sql, " AS fresh FROM x), r AS MATERIALIZED (SELECT p,"
			     " count(*) FILTER (WHERE fresh) OVER (ORDER BY p) AS run FROM f)");
}

static void append_columns(struct buf *sql, int columns)
{
	for (int i = 0; i < columns; i++)
		buf_printf(sql, ", d%d", i);
}

/* m: the rows in common, by run. Without an order all rows are one run. Rows of the whole that tie with the
 * last one of the truth are as good, but there are no more places than the truth has rows. */
static void append_matches(struct buf *sql, const struct question *question)
{
	int columns = question->ours.columns;
	const char *run = question->truth->ordered ? "coalesce(r.run, -1)" : "1";
	buf_printf(sql, ", i AS (SELECT %s AS run", run);
	append_columns(sql, columns);
	buf_printf(sql, " FROM x LEFT JOIN r USING (p) INTERSECT ALL SELECT %s", run);
	append_columns(sql, columns);
	buf_append_text(sql, " FROM y LEFT JOIN r USING (p)");
	if (question->whole.limit >= 0)
		buf_printf(sql, " WHERE p <= %ld", question->whole.limit);
	buf_append_text(sql, "),"
			     " m AS (SELECT run, count(*) AS k FROM i GROUP BY run),"
			     " e AS (SELECT max(run) AS run, max(p) AS p FROM r)");
}

/* Rows of the other side at the end of the truth that have its keys there. */
static void append_same_keys(struct buf *sql, const struct result_source *truth)
{
	buf_append_text(sql, " (SELECT count(*) FROM y JOIN r USING (p) JOIN e USING (run)"
			     " JOIN x AS z ON z.p = e.p WHERE true");
	for (size_t i = 0; i < truth->order_keys_count; i++)
		buf_printf(sql, " AND y.d%d IS NOT DISTINCT FROM z.d%d", truth->order_keys[i].column,
			   truth->order_keys[i].column);
	buf_append_text(sql, ")");
}

/* Whether two numbers of a column are apart, but hardly. */
static void append_close(struct buf *sql, const struct question *question)
{
	buf_append_text(sql, " false");
	for (int i = 0; i < question->ours.columns; i++) {
		enum result_kind ours = question->ours.kinds[i],
				 theirs = question->theirs.kinds[question->partners[i]];
		if (!result_kind_is_number(ours) || (ours == RESULT_INTEGER && theirs == RESULT_INTEGER))
			continue;
		buf_printf(sql,
			   " OR (SELECT coalesce(bool_or(g <= 0.00011 AND (g <= 0.011 * m OR m <= 1.1e-12)"
			   " OR g <= 1.1e-9 * m), false) FROM"
			   " (SELECT v - lag(v) OVER (ORDER BY v) AS g,"
			   " greatest(abs(v), abs(lag(v) OVER (ORDER BY v))) AS m FROM"
			   " (SELECT d%d AS v FROM x UNION SELECT d%d FROM y) AS v) AS v)",
			   i, i);
	}
}

static str_t counting(const struct question *question, struct arena *arena)
{
	const struct result_source *truth = question->truth;
	bool whole = str_present(question->whole.sql);
	bool ties = truth->ordered && truth->limited && result_ties_known(truth) && !whole;
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	buf_append_text(&sql, "WITH ");
	int hidden = whole ? hidden_keys(truth) : 0;
	append_rows(&sql, "a", whole ? question->whole.sql : truth->sql, question->ours.columns + hidden);
	append_values(&sql, "a", "x", &question->ours, NULL, hidden);
	buf_append_text(&sql, ", ");
	append_rows(&sql, "b", question->sql, question->theirs.columns);
	append_values(&sql, "b", "y", &question->theirs, question->partners, 0);
	append_runs(&sql, question);
	append_matches(&sql, question);
	buf_append_text(&sql, " SELECT (SELECT count(*) FROM x");
	if (question->whole.limit >= 0)
		buf_printf(&sql, " WHERE p <= %ld", question->whole.limit);
	buf_append_text(&sql, "), (SELECT count(*) FROM y),"
			      " (SELECT coalesce(sum(k), 0) FROM m WHERE run < (SELECT run FROM e)),"
			      " (SELECT coalesce(sum(k), 0) FROM m JOIN e USING (run)),");
	if (ties)
		append_same_keys(&sql, truth);
	else
		buf_append_text(&sql, " 0");
	buf_append_char(&sql, ',');
	append_close(&sql, question);
	return arena_str(arena, buf_str(&sql));
}

/* ---- Asking ---- */

static size_t number_at(const PGresult *result, int column)
{
	return (size_t)strtoull(PQgetvalue(result, 0, column), NULL, 10);
}

/* False: the server did not count. */
static bool ask(const struct question *question, struct arena *arena, struct result_likeness *likeness)
{
	PGresult *result = PQexec(question->connection, counting(question, arena).ptr);
	bool counted = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (counted) {
		size_t last = number_at(result, 3), with_keys = number_at(result, 4);
		likeness->truth_rows = number_at(result, 0);
		likeness->rows = number_at(result, 1);
		likeness->matched = number_at(result, 2) + (with_keys > last ? with_keys : last);
		likeness->cut_tie = with_keys > last;
		likeness->close |= PQgetvalue(result, 0, 5)[0] == 't';
	} else if (getenv("ASSAYD_METAMORPHIC_VERBOSE")) {
		fprintf(stderr, "%s", PQerrorMessage(question->connection));
	}
	PQclear(result);
	return counted;
}

/* The orders of three things; of fewer, the first ones. */
static const int orders[][MAX_OPEN] = { { 0, 1, 2 }, { 1, 0, 2 }, { 0, 2, 1 },
					{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
static const int orders_count[] = { 1, 1, 2, 6 };

/* False: these columns cannot be compared. */
static bool take_order(struct question *question, int order)
{
	for (int i = 0; i < question->open_count; i++)
		question->partners[question->open[i]] = question->open_theirs[orders[order][i]];
	for (int i = 0; i < question->ours.columns; i++)
		if (!comparable(question, i, question->partners[i]))
			return false;
	return true;
}

static void ask_all_orders(struct question *question, struct arena *arena, struct result_likeness *likeness)
{
	size_t best = 0;
	bool asked = false;
	for (int order = 0; order < orders_count[question->open_count]; order++) {
		if (!take_order(question, order))
			continue;
		if (!ask(question, arena, likeness)) {
			likeness->known = RESULT_TOO_LARGE;
			return;
		}
		asked = true;
		best = likeness->matched > best ? likeness->matched : best;
	}
	likeness->matched = best;
	likeness->guessed = question->open_count > 1;
	likeness->known = asked ? RESULT_KNOWN : RESULT_TYPES;
}

struct result_likeness result_likeness(PGconn *connection, const struct result_source *truth, str_t sql,
				       size_t rows_most, struct arena *arena)
{
	struct result_likeness likeness = { .known = RESULT_FAILS };
	struct question *question = ARENA_NEW(arena, struct question);
	*question = (struct question){
		.connection = connection, .truth = truth, .sql = sql, .whole = { STR_NONE, -1 }
	};
	read_shape(truth->result, &question->ours);
	if (truth->ordered && (hidden_keys(truth) > 0 || truth->limited))
		question->whole = result_whole(truth, arena);
	likeness.by_whole = str_present(question->whole.sql);
	if (!describe(connection, sql, arena, &question->theirs))
		return likeness;
	likeness.known = RESULT_OTHER_SHAPE;
	if (question->ours.columns != question->theirs.columns)
		return likeness;
	likeness.known = RESULT_TYPES;
	if (question->ours.columns > MAX_COLUMNS || !pair_names(question))
		return likeness;
	ask_all_orders(question, arena, &likeness);
	if (likeness.known == RESULT_KNOWN && (likeness.rows > rows_most || likeness.truth_rows > rows_most))
		likeness.known = RESULT_TOO_LARGE;
	return likeness;
}
