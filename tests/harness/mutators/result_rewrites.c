#include "tests/harness/mutators/result_rewrites.h"

#include "common/buf.h"
#include "tests/harness/mutators/sql_rewrites_internal.h"

/* Rows of a result that may be written out as a list of values. */
enum { MAX_VALUES = 60 };

enum result_kind result_kind_of(Oid type)
{
	static const struct {
		Oid type;
		enum result_kind kind;
	} kinds[] = {
		{ 16, RESULT_BOOLEAN },	       { 20, RESULT_INTEGER }, { 21, RESULT_INTEGER },
		{ 23, RESULT_INTEGER },	       { 700, RESULT_FLOAT },  { 701, RESULT_FLOAT },
		{ 1700, RESULT_DECIMAL },      { 25, RESULT_TEXT },    { 1042, RESULT_TEXT },
		{ 1043, RESULT_TEXT },	       { 1082, RESULT_DATE },  { 1114, RESULT_TIMESTAMP },
		{ 1184, RESULT_TIMESTAMP_TZ },
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].type == type)
			return kinds[i].kind;
	return RESULT_OTHER;
}

bool result_kind_is_number(enum result_kind kind)
{
	return kind == RESULT_INTEGER || kind == RESULT_DECIMAL || kind == RESULT_FLOAT;
}

bool result_kind_is_moment(enum result_kind kind)
{
	return kind == RESULT_DATE || kind == RESULT_TIMESTAMP || kind == RESULT_TIMESTAMP_TZ;
}

bool result_ties_known(const struct result_source *source)
{
	for (size_t i = 0; i < source->order_keys_count; i++)
		if (source->order_keys[i].column < 0)
			return false;
	return source->order_keys_count > 0;
}

/* ---- Wrapping ---- */

static int columns_of(const struct result_source *source)
{
	return PQnfields(source->result);
}

static enum result_kind kind_of(const struct result_source *source, int column)
{
	return result_kind_of(PQftype(source->result, column));
}

/* Which columns a wrapping writes in another way, as bits of `enum result_kind`. */
#define BIT(kind)   (1u << (kind))
#define NUMBERS	    (BIT(RESULT_INTEGER) | BIT(RESULT_DECIMAL) | BIT(RESULT_FLOAT))
#define MOMENTS	    (BIT(RESULT_DATE) | BIT(RESULT_TIMESTAMP) | BIT(RESULT_TIMESTAMP_TZ))
#define TEXTS	    BIT(RESULT_TEXT)
#define BOOLEANS    BIT(RESULT_BOOLEAN)
#define ALL_KINDS   (2 * BIT(RESULT_OTHER) - 1)
#define MAX_COLUMNS 64

enum { WHATEVER, ORDERED, UNORDERED };

/*
 * SELECT list FROM the statement. `v` are its rows: columns c0, c1, …, their positions p from 1, and their
 * number n; `u` is the row behind that of `v`, for those who join it.
 */
struct wrapping {
	const char *name;
	enum result_promise promise;
	unsigned kinds;	    /* of the columns that are written as `format` */
	const char *format; /* %s: the column, %c: its name in `u` */
	bool once;	    /* only the first such column */
	bool no_names;	    /* columns get other names */
	bool upper_names;   /* the same in upper case */
	int rotated;	    /* order of the columns; −1: reversed */
	const char *tail;   /* behind FROM v; NULL: ORDER BY p */
	const char *extra;  /* a further item of the list, or NULL */
	int applies;
	int rows_least;
};

static bool is_wanted(const struct wrapping *wrapping, enum result_kind kind)
{
	return wrapping->format && (wrapping->kinds & BIT(kind));
}

static void append_name(struct buf *sql, const struct wrapping *wrapping, const struct result_source *source,
			int column)
{
	if (wrapping->no_names) {
		buf_printf(sql, " AS out_%d", column);
		return;
	}
	buf_append_text(sql, " AS \"");
	for (const char *at = PQfname(source->result, column); *at; at++) {
		char c = *at;
		if (wrapping->upper_names && c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		if (c == '"')
			buf_append_char(sql, c);
		buf_append_char(sql, c);
	}
	buf_append_char(sql, '"');
}

static void append_formatted(struct buf *sql, const char *format, int column)
{
	for (const char *at = format; *at; at++) {
		bool own = at[0] == '%' && at[1] == 's', others = at[0] == '%' && at[1] == 'c';
		if (own || others)
			buf_printf(sql, "%sc%d", own ? "v." : "", column);
		else
			buf_append_char(sql, *at);
		at += own || others;
	}
}

static void append_rows(struct buf *sql, const struct result_source *source)
{
	buf_append_text(sql,
			"WITH v AS (SELECT row_number() OVER () AS p, count(*) OVER () AS n, w.* FROM (");
	buf_append_str(sql, source->sql);
	buf_append_text(sql, "\n) AS w(");
	for (int i = 0; i < columns_of(source); i++)
		buf_printf(sql, "%sc%d", i ? ", " : "", i);
	buf_append_text(sql, ")) ");
}

static int column_at(const struct wrapping *wrapping, int place, int columns)
{
	return wrapping->rotated < 0 ? columns - 1 - place : (place + wrapping->rotated) % columns;
}

static bool applies(const struct wrapping *wrapping, const struct result_source *source)
{
	int columns = columns_of(source);
	bool permuted = wrapping->rotated != 0;
	return columns > (permuted ? 1 : 0) && columns <= MAX_COLUMNS &&
	       PQntuples(source->result) >= wrapping->rows_least &&
	       !(wrapping->applies == ORDERED && !source->ordered) &&
	       !(wrapping->applies == UNORDERED && source->ordered);
}

static str_t wrap(const struct wrapping *wrapping, const struct result_source *source, struct arena *arena)
{
	int columns = columns_of(source), written = 0;
	if (!applies(wrapping, source))
		return STR_NONE;
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	append_rows(&sql, source);
	for (int i = 0; i < columns; i++) {
		int column = column_at(wrapping, i, columns);
		bool wanted = is_wanted(wrapping, kind_of(source, column)) && !(wrapping->once && written);
		written += wanted;
		buf_append_text(&sql, i ? ", " : "SELECT ");
		append_formatted(&sql, wanted ? wrapping->format : "%s", column);
		append_name(&sql, wrapping, source, column);
	}
	if (wrapping->extra)
		buf_printf(&sql, ", %s", wrapping->extra);
	buf_printf(&sql, " FROM v %s", wrapping->tail ? wrapping->tail : "ORDER BY v.p");
	return wrapping->format && !written ? STR_NONE : arena_str(arena, buf_str(&sql));
}

#define NEXT_ROW "JOIN v AS u ON u.p = v.p % v.n + 1 ORDER BY v.p"
/* One row in a hundred, twenty, five and two: the rungs of a ladder of rates. */
#define SOME_ROWS(share, changed) "CASE WHEN v.p * 100 <= v.n * " #share " THEN " changed " ELSE %s END"
#define FIRST_ROW(changed)	  "CASE WHEN v.p = 1 THEN " changed " ELSE %s END"
#define LAST_ROW(changed)	  "CASE WHEN v.p = v.n THEN " changed " ELSE %s END"

/* As far as a number may be off: 1e-4, and not more than 1 % of it. */
#define NEARLY "%s::numeric + least(0.00005, abs(%s::numeric) * 0.005)"

static const struct wrapping wrappings[] = {
	/* the same in another form */
	{ "columns reversed", RESULT_SAME_ROWS, .rotated = -1 },
	{ "columns rotated", RESULT_SAME_ROWS, .rotated = 1 },
	{ "columns renamed", RESULT_SAME, .no_names = true },
	{ "columns renamed and reversed", RESULT_SAME, .no_names = true, .rotated = -1 },
	{ "columns renamed and rotated", RESULT_SAME, .no_names = true, .rotated = 1 },
	{ "names in upper case", RESULT_SAME_ROWS, .upper_names = true },
	{ "names in upper case, reversed", RESULT_SAME_ROWS, .upper_names = true, .rotated = -1 },
	{ "rows shuffled", RESULT_SAME_ROWS, .tail = "ORDER BY md5(v.p::text)", .applies = UNORDERED },
	{ "rows reversed", RESULT_SAME_ROWS, .tail = "ORDER BY v.p DESC", .applies = UNORDERED },
	{ "shuffled, renamed, reversed", RESULT_SAME, .tail = "ORDER BY md5(v.p::text)", .no_names = true,
	  .rotated = -1, .applies = UNORDERED },
	{ "numbers as float8", RESULT_SAME, .kinds = NUMBERS, .format = "%s::float8" },
	{ "numbers as numeric", RESULT_SAME, .kinds = NUMBERS, .format = "%s::numeric" },
	{ "numbers as text", RESULT_SAME, .kinds = NUMBERS, .format = "%s::text" },
	{ "numbers as text, renamed", RESULT_SAME, .kinds = NUMBERS, .format = "%s::text", .no_names = true },
	{ "numbers with six digits", RESULT_SAME, .kinds = NUMBERS, .format = "round(%s::numeric, 6)" },
	{ "numbers within the tolerance", RESULT_SAME, .kinds = NUMBERS, .format = NEARLY },
	{ "numbers within it, renamed", RESULT_SAME, .kinds = NUMBERS, .format = NEARLY, .no_names = true },
	{ "dates as timestamps", RESULT_SAME, .kinds = BIT(RESULT_DATE), .format = "%s::timestamp" },
	{ "dates with a zone", RESULT_SAME, .kinds = BIT(RESULT_DATE),
	  .format = "%s::timestamp AT TIME ZONE 'UTC'" },
	{ "timestamps with a zone", RESULT_SAME, .kinds = BIT(RESULT_TIMESTAMP),
	  .format = "%s AT TIME ZONE 'UTC'" },
	{ "moments as text", RESULT_SAME, .kinds = MOMENTS, .format = "%s::text" },
	{ "moments as ISO 8601", RESULT_SAME, .kinds = BIT(RESULT_DATE) | BIT(RESULT_TIMESTAMP),
	  .format = "to_char(%s, 'YYYY-MM-DD\"T\"HH24:MI:SS.US')" },
	{ "booleans as numbers", RESULT_SAME, .kinds = BOOLEANS, .format = "%s::int" },
	{ "booleans as text", RESULT_SAME, .kinds = BOOLEANS, .format = "%s::text" },
	{ "texts with blanks around", RESULT_SAME, .kinds = TEXTS, .format = "'  ' || %s || E'\\t '" },
	{ "texts as varchar", RESULT_SAME_ROWS, .kinds = TEXTS, .format = "%s::varchar(1000)" },
	{ "everything as text", RESULT_SAME, .kinds = ALL_KINDS, .format = "%s::text" },
	{ "everything as text, renamed", RESULT_SAME, .kinds = ALL_KINDS, .format = "%s::text",
	  .no_names = true },
	{ "joined with one row", RESULT_SAME_ROWS, .tail = "CROSS JOIN (SELECT 1) AS one ORDER BY v.p" },
	{ "joined with itself", RESULT_SAME_ROWS, .tail = "JOIN v AS u ON u.p = v.p ORDER BY v.p" },
	/* rows more, less, other */
	{ "first row missing", RESULT_MAYBE, .tail = "WHERE v.p > 1 ORDER BY v.p" },
	{ "last row missing", RESULT_MAYBE, .tail = "WHERE v.p < v.n ORDER BY v.p" },
	{ "last row twice", RESULT_MAYBE,
	  .tail = "JOIN generate_series(1, 2) AS g ON g = 1 OR v.p = v.n ORDER BY v.p" },
	{ "all rows twice", RESULT_MAYBE, .tail = "CROSS JOIN generate_series(1, 2) AS g ORDER BY v.p" },
	{ "no rows", RESULT_MAYBE, .tail = "WHERE false" },
	{ "second row for the first", RESULT_MAYBE, .kinds = ALL_KINDS, .format = FIRST_ROW("u.%c"),
	  .tail = NEXT_ROW },
	{ "a column more", RESULT_MAYBE, .extra = "1 AS one_more" },
	{ "the first column twice", RESULT_MAYBE, .extra = "v.c0" },
	/* another order */
	{ "order reversed", RESULT_MAYBE, .tail = "ORDER BY v.p DESC", .applies = ORDERED, .rows_least = 2 },
	{ "order shuffled", RESULT_MAYBE, .tail = "ORDER BY md5(v.p::text)", .applies = ORDERED,
	  .rows_least = 2 },
	{ "order rotated", RESULT_MAYBE, .tail = "ORDER BY v.p % v.n", .applies = ORDERED, .rows_least = 2 },
	{ "first two rows exchanged", RESULT_MAYBE,
	  .tail = "ORDER BY CASE v.p WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE v.p END", .applies = ORDERED,
	  .rows_least = 2 },
	{ "last two rows exchanged", RESULT_MAYBE,
	  .tail = "ORDER BY CASE v.n - v.p WHEN 0 THEN v.p - 1 WHEN 1 THEN v.p + 1 ELSE v.p END",
	  .applies = ORDERED, .rows_least = 2 },
	/* the values of every column as they were, the rows not */
	{ "rows re-paired", RESULT_MAYBE, .kinds = ALL_KINDS, .format = "u.%c", .once = true,
	  .tail = NEXT_ROW, .rows_least = 2 },
	{ "a tenth of rows re-paired", RESULT_MAYBE, .kinds = ALL_KINDS, .format = SOME_ROWS(10, "u.%c"),
	  .once = true, .tail = NEXT_ROW, .rows_least = 10 },
	/* numbers */
	{ "one number off", RESULT_MAYBE, .kinds = NUMBERS, .format = FIRST_ROW("%s + 1000"), .once = true },
	{ "last number off", RESULT_MAYBE, .kinds = NUMBERS, .format = LAST_ROW("%s + 1000"), .once = true },
	{ "numbers off by one", RESULT_MAYBE, .kinds = NUMBERS, .format = "%s + 1" },
	{ "numbers off by a little", RESULT_MAYBE, .kinds = NUMBERS, .format = "%s::numeric + 0.001" },
	{ "numbers off by the tolerance twice", RESULT_MAYBE, .kinds = NUMBERS,
	  .format = "%s::numeric - 0.0002", .once = true },
	{ "numbers off by a millionth", RESULT_MAYBE, .kinds = NUMBERS, .format = "%s::numeric * 1.000001" },
	{ "numbers as per cent", RESULT_MAYBE, .kinds = NUMBERS, .format = "%s * 100", .once = true },
	{ "numbers negated", RESULT_MAYBE, .kinds = NUMBERS, .format = "-(%s::numeric)" },
	{ "numbers whole", RESULT_MAYBE, .kinds = NUMBERS, .format = "round(%s::numeric)" },
	{ "numbers with two digits", RESULT_MAYBE, .kinds = NUMBERS, .format = "round(%s::numeric, 2)" },
	{ "one number NULL", RESULT_MAYBE, .kinds = NUMBERS, .format = FIRST_ROW("NULL"), .once = true },
	{ "numbers NULL", RESULT_MAYBE, .kinds = NUMBERS, .format = "CASE WHEN false THEN %s END",
	  .once = true },
	{ "0 for NULL", RESULT_MAYBE, .kinds = NUMBERS, .format = "coalesce(%s, 0)" },
	{ "NULL for 0", RESULT_MAYBE, .kinds = NUMBERS, .format = "nullif(%s, 0)" },
	{ "1 % of numbers off", RESULT_MAYBE, .kinds = NUMBERS, .format = SOME_ROWS(1, "%s + 7777777"),
	  .once = true, .rows_least = 100 },
	{ "5 % of numbers off", RESULT_MAYBE, .kinds = NUMBERS, .format = SOME_ROWS(5, "%s + 7777777"),
	  .once = true, .rows_least = 20 },
	{ "20 % of numbers off", RESULT_MAYBE, .kinds = NUMBERS, .format = SOME_ROWS(20, "%s + 7777777"),
	  .once = true, .rows_least = 5 },
	{ "half of numbers off", RESULT_MAYBE, .kinds = NUMBERS, .format = SOME_ROWS(50, "%s + 7777777"),
	  .once = true, .rows_least = 2 },
	/* texts */
	{ "texts in upper case", RESULT_MAYBE, .kinds = TEXTS, .format = "upper(%s)" },
	{ "one text other", RESULT_MAYBE, .kinds = TEXTS, .format = FIRST_ROW("%s || 'x'"), .once = true },
	{ "last text other", RESULT_MAYBE, .kinds = TEXTS, .format = LAST_ROW("%s || 'x'"), .once = true },
	{ "last text of the row before", RESULT_MAYBE, .kinds = TEXTS,
	  .format = "CASE WHEN v.p = v.n THEN lag(v.%c) OVER (ORDER BY v.p) ELSE %s END", .once = true },
	{ "texts cut", RESULT_MAYBE, .kinds = TEXTS, .format = "left(%s, -1)" },
	{ "texts with a blank inside", RESULT_MAYBE, .kinds = TEXTS,
	  .format = "left(%s, 1) || ' ' || substr(%s, 2)" },
	{ "one text NULL", RESULT_MAYBE, .kinds = TEXTS, .format = FIRST_ROW("NULL"), .once = true },
	{ "empty for NULL", RESULT_MAYBE, .kinds = TEXTS, .format = "coalesce(%s, '')" },
	{ "NULL spelled", RESULT_MAYBE, .kinds = TEXTS, .format = "coalesce(%s, 'NULL')" },
	{ "20 % of texts other", RESULT_MAYBE, .kinds = TEXTS, .format = SOME_ROWS(20, "%s || '?'"),
	  .once = true, .rows_least = 5 },
	/* moments and booleans */
	{ "one moment a day later", RESULT_MAYBE, .kinds = MOMENTS,
	  .format = FIRST_ROW("%s + interval '1 day'"), .once = true },
	{ "moments a day later", RESULT_MAYBE, .kinds = MOMENTS, .format = "%s + interval '1 day'" },
	{ "moments a second later", RESULT_MAYBE, .kinds = MOMENTS, .format = "%s + interval '1 second'" },
	{ "moments an hour earlier", RESULT_MAYBE, .kinds = MOMENTS, .format = "%s - interval '1 hour'" },
	{ "moments without time", RESULT_MAYBE, .kinds = BIT(RESULT_TIMESTAMP) | BIT(RESULT_TIMESTAMP_TZ),
	  .format = "date_trunc('day', %s)" },
	{ "moments NULL", RESULT_MAYBE, .kinds = MOMENTS, .format = "CASE WHEN false THEN %s END" },
	{ "booleans negated", RESULT_MAYBE, .kinds = BOOLEANS, .format = "NOT %s" },
	{ "one boolean NULL", RESULT_MAYBE, .kinds = BOOLEANS, .format = FIRST_ROW("NULL"), .once = true },
};
enum { WRAPPINGS = sizeof wrappings / sizeof *wrappings };

/* ---- Rewrites of their own ---- */

static void append_list(struct buf *sql, const struct result_source *source, int columns)
{
	static const struct wrapping plain = { .rotated = 0 };
	for (int i = 0; i < columns; i++) {
		buf_printf(sql, "%sv.c%d", i ? ", " : "SELECT ", i);
		append_name(sql, &plain, source, i);
	}
	buf_append_text(sql, " FROM v ");
}

static str_t column_less(const struct result_source *source, struct arena *arena)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	if (columns_of(source) < 2)
		return STR_NONE;
	append_rows(&sql, source);
	append_list(&sql, source, columns_of(source) - 1);
	buf_append_text(&sql, "ORDER BY v.p");
	return arena_str(arena, buf_str(&sql));
}

/* The next column of the same kind, around; the column itself where there is no other. */
static int next_of_kind(const struct result_source *source, int column)
{
	int columns = columns_of(source);
	for (int i = 1; i < columns; i++)
		if (kind_of(source, (column + i) % columns) == kind_of(source, column))
			return (column + i) % columns;
	return column;
}

/* Contents change places under names that stay. */
static str_t contents_exchanged(const struct result_source *source, struct arena *arena)
{
	static const struct wrapping plain = { .rotated = 0 };
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	bool any = false;
	append_rows(&sql, source);
	for (int i = 0; i < columns_of(source); i++) {
		int other = next_of_kind(source, i);
		any |= other != i;
		buf_printf(&sql, "%sv.c%d", i ? ", " : "SELECT ", other);
		append_name(&sql, &plain, source, i);
	}
	buf_append_text(&sql, " FROM v ORDER BY v.p");
	return any ? arena_str(arena, buf_str(&sql)) : STR_NONE;
}

/* SELECT … FROM v `between` SELECT … FROM v `tail`. */
static str_t combined(const struct result_source *source, const char *between, const char *tail,
		      struct arena *arena)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	append_rows(&sql, source);
	append_list(&sql, source, columns_of(source));
	buf_append_text(&sql, between);
	append_list(&sql, source, columns_of(source));
	buf_append_text(&sql, tail);
	return columns_of(source) > 0 ? arena_str(arena, buf_str(&sql)) : STR_NONE;
}

static str_t union_nothing(const struct result_source *source, struct arena *arena)
{
	return combined(source, "UNION ALL ", "WHERE false", arena);
}

static str_t except_nothing(const struct result_source *source, struct arena *arena)
{
	return source->ordered ? STR_NONE : combined(source, "EXCEPT ALL ", "WHERE false", arena);
}

static str_t two_halves(const struct result_source *source, struct arena *arena)
{
	return combined(source, "WHERE v.p * 2 <= v.n UNION ALL ", "WHERE v.p * 2 > v.n", arena);
}

static str_t distinct_rows(const struct result_source *source, struct arena *arena)
{
	return combined(source, "WHERE false UNION ", "", arena);
}

/* The result as somebody would type it in: nothing but texts. */
static str_t list_of_values(const struct result_source *source, struct arena *arena)
{
	const PGresult *result = source->result;
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	int rows = PQntuples(result), columns = columns_of(source);
	if (rows == 0 || rows > MAX_VALUES || columns == 0)
		return STR_NONE;
	for (int i = 0; i < rows * columns; i++) {
		int row = i / columns, column = i % columns;
		buf_append_text(&sql, column ? ", " : row ? "), (" : "VALUES (");
		if (PQgetisnull(result, row, column)) {
			buf_append_text(&sql, "NULL");
			continue;
		}
		buf_append_char(&sql, '\'');
		for (const char *at = PQgetvalue(result, row, column); *at; at++)
			buf_append_text(&sql, *at == '\'' ? "''" : (char[]){ *at, 0 });
		buf_append_char(&sql, '\'');
	}
	buf_append_char(&sql, ')');
	return arena_str(arena, buf_str(&sql));
}

/* Rows with equal sort keys the other way round. */
static str_t ties_reversed(const struct result_source *source, struct arena *arena)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	if (!source->ordered || !result_ties_known(source))
		return STR_NONE;
	append_rows(&sql, source);
	append_list(&sql, source, columns_of(source));
	for (size_t i = 0; i < source->order_keys_count; i++) {
		const struct sql_order_key *key = &source->order_keys[i];
		buf_printf(&sql, "%sv.c%d %s NULLS %s", i ? ", " : "ORDER BY ", key->column,
			   key->descending ? "DESC" : "ASC", key->nulls_first ? "FIRST" : "LAST");
	}
	buf_append_text(&sql, ", v.p DESC");
	return arena_str(arena, buf_str(&sql));
}

/* ---- Clauses of the statement itself ---- */

static struct rewrite tokens;

static bool read_tokens(const struct result_source *source, struct arena *arena)
{
	return rewrite_begin(&tokens, source->sql, arena) && tokens.clauses.plain;
}

/* Where the expression of a sort key ends. */
static size_t key_end(size_t start, size_t end)
{
	if (end > start + 2 && word_is(&tokens, end - 2, "nulls"))
		end -= 2;
	bool directed = word_is(&tokens, end - 1, "desc") || word_is(&tokens, end - 1, "asc");
	return directed ? end - 1 : end;
}

/* The hidden keys of the statement that was read, each behind a comma. False: they cannot be made out. */
static bool append_hidden_keys(struct buf *keys, const struct result_source *source)
{
	struct rewrite_parts parts =
		split_commas(&tokens, tokens.clauses.order + 2, clause_end(&tokens, tokens.clauses.order));
	if (parts.count != source->order_keys_count)
		return false;
	for (size_t i = 0; i < parts.count; i++) {
		size_t end = key_end(parts.starts[i], parts.ends[i]);
		if (source->order_keys[i].column < 0)
			buf_printf(keys, ", " STR_FMT, STR_ARG(tokens_text(&tokens, parts.starts[i], end)));
	}
	return keys->len == 0 || !word_is(&tokens, tokens.clauses.select + 1, "distinct");
}

/* The number of the LIMIT that ends the statement that was read; -1: it has none, -2: it is no number. */
static long read_limit(void)
{
	size_t number = tokens.clauses.limit + 1;
	if (tokens.clauses.limit == NO_TOKEN)
		return -1;
	return number + 1 == tokens.count && tokens.tokens[number].kind == 'n'
		       ? strtol(tokens_text(&tokens, number, number + 1).ptr, NULL, 10)
		       : -2;
}

struct result_whole result_whole(const struct result_source *source, struct arena *arena)
{
	struct result_whole whole = { STR_NONE, -1 };
	_cleanup_(buf_free) struct buf keys = BUF_INIT;
	if (!read_tokens(source, arena) || tokens.clauses.order == NO_TOKEN ||
	    !append_hidden_keys(&keys, source) || read_limit() < -1)
		return whole;
	whole.limit = read_limit();
	if (whole.limit >= 0)
		tokens.count = tokens.clauses.limit;
	whole.sql = rewrite_replace(&tokens, tokens.clauses.from, tokens.clauses.from, "%s",
				    keys.len ? keys.data : "");
	return whole;
}

str_t result_barely_limited(const struct result_source *source, struct arena *arena)
{
	if (!read_tokens(source, arena) || tokens.clauses.order == NO_TOKEN || read_limit() < -1)
		return STR_NONE;
	size_t end = clause_end(&tokens, tokens.clauses.order);
	return rewrite_replace(&tokens, end, tokens.count, " LIMIT 5000");
}

/* A further sort key decides where the truth's do not. */
static str_t ties_broken(const struct result_source *source, struct arena *arena)
{
	_cleanup_(buf_free) struct buf keys = BUF_INIT;
	if (!read_tokens(source, arena) || tokens.clauses.order == NO_TOKEN)
		return STR_NONE;
	for (int i = 0; i < columns_of(source); i++)
		buf_printf(&keys, ", %d DESC", i + 1);
	size_t end = clause_end(&tokens, tokens.clauses.order);
	return rewrite_replace(&tokens, end, end, "%s", keys.data);
}

static str_t other_limit(const struct result_source *source, struct arena *arena, int more)
{
	if (!read_tokens(source, arena) || tokens.clauses.limit == NO_TOKEN)
		return STR_NONE;
	size_t number = tokens.clauses.limit + 1;
	if (number >= tokens.count || tokens.tokens[number].kind != 'n')
		return STR_NONE;
	long limit = strtol(tokens_text(&tokens, number, number + 1).ptr, NULL, 10) + more;
	return rewrite_replace(&tokens, number, number + 1, "%ld", limit);
}

static str_t limit_more(const struct result_source *source, struct arena *arena)
{
	return other_limit(source, arena, 1);
}

static str_t limit_less(const struct result_source *source, struct arena *arena)
{
	return other_limit(source, arena, -1);
}

static str_t without_limit(const struct result_source *source, struct arena *arena)
{
	if (!read_tokens(source, arena) || tokens.clauses.limit == NO_TOKEN)
		return STR_NONE;
	return rewrite_replace(&tokens, tokens.clauses.limit, tokens.count, " ");
}

static str_t offset_one(const struct result_source *source, struct arena *arena)
{
	if (!read_tokens(source, arena))
		return STR_NONE;
	return rewrite_replace(&tokens, tokens.count, tokens.count, " OFFSET 1");
}

/* The last function of that name by another one: rewrites of the text exchange the first. */
static str_t other_function(const struct result_source *source, struct arena *arena, const char *name,
			    const char *other)
{
	if (!rewrite_begin(&tokens, source->sql, arena))
		return STR_NONE;
	for (size_t i = tokens.count; i > 1; i--)
		if (word_is(&tokens, i - 2, name) && word_is(&tokens, i - 1, "("))
			return rewrite_replace(&tokens, i - 2, i - 1, "%s", other);
	return STR_NONE;
}

#define OTHER_FUNCTION(function, name, other)                                                                \
	static str_t function(const struct result_source *source, struct arena *arena)                       \
	{                                                                                                    \
		return other_function(source, arena, name, other);                                           \
	}

OTHER_FUNCTION(average_as_sum, "avg", "sum")
OTHER_FUNCTION(average_as_largest, "avg", "max")
OTHER_FUNCTION(sum_as_count, "sum", "count")
OTHER_FUNCTION(sum_as_largest, "sum", "max")
OTHER_FUNCTION(count_as_largest, "count", "max")
OTHER_FUNCTION(largest_as_count, "max", "count")
OTHER_FUNCTION(smallest_as_average, "min", "avg")

static const struct {
	const char *name;
	enum result_promise promise;
	str_t (*apply)(const struct result_source *source, struct arena *arena);
} others[] = {
	{ "UNION ALL nothing", RESULT_SAME_ROWS, union_nothing },
	{ "EXCEPT ALL nothing", RESULT_SAME_ROWS, except_nothing },
	{ "in two halves", RESULT_SAME_ROWS, two_halves },
	{ "a list of values", RESULT_SAME, list_of_values },
	{ "ties reversed", RESULT_SAME_ROWS, ties_reversed },
	{ "ties broken", RESULT_SAME, ties_broken },
	{ "DISTINCT rows", RESULT_MAYBE, distinct_rows },
	{ "the last column missing", RESULT_MAYBE, column_less },
	{ "contents under other names", RESULT_MAYBE, contents_exchanged },
	{ "LIMIT + 1", RESULT_MAYBE, limit_more },
	{ "LIMIT - 1", RESULT_MAYBE, limit_less },
	{ "without LIMIT", RESULT_MAYBE, without_limit },
	{ "OFFSET 1", RESULT_MAYBE, offset_one },
	{ "avg as sum", RESULT_MAYBE, average_as_sum },
	{ "avg as max", RESULT_MAYBE, average_as_largest },
	{ "sum as count", RESULT_MAYBE, sum_as_count },
	{ "sum as max", RESULT_MAYBE, sum_as_largest },
	{ "count as max", RESULT_MAYBE, count_as_largest },
	{ "max as count", RESULT_MAYBE, largest_as_count },
	{ "min as avg", RESULT_MAYBE, smallest_as_average },
};
enum { OTHERS = sizeof others / sizeof *others };

/* ---- All of them ---- */

size_t result_rewrite_count(void)
{
	size_t texts;
	(void)sql_rewrite_kinds(&texts);
	return WRAPPINGS + OTHERS + texts;
}

struct result_rewrite_kind result_rewrite_kind(size_t kind)
{
	size_t texts;
	if (kind < WRAPPINGS)
		return (struct result_rewrite_kind){ wrappings[kind].name, wrappings[kind].promise };
	kind -= WRAPPINGS;
	if (kind < OTHERS)
		return (struct result_rewrite_kind){ others[kind].name, others[kind].promise };
	const struct sql_rewrite_kind *text = &sql_rewrite_kinds(&texts)[kind - OTHERS];
	return (struct result_rewrite_kind){ text->name, text->preserving ? RESULT_SAME_ROWS : RESULT_MAYBE };
}

str_t result_rewrite(size_t kind, const struct result_source *source, struct arena *arena)
{
	if (kind < WRAPPINGS)
		return wrap(&wrappings[kind], source, arena);
	kind -= WRAPPINGS;
	return kind < OTHERS ? others[kind].apply(source, arena)
			     : sql_rewrite(kind - OTHERS, source->sql, arena);
}
