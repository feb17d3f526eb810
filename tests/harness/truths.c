#include "tests/harness/truths.h"

#include "common/buf.h"

/* Next field of a CSV file (quotes doubled inside quotes); false at its end. `ret_last`: it ends its record.
 */
static bool next_field(FILE *file, struct buf *field, bool *ret_last)
{
	int c = fgetc(file);
	bool quoted = c == '"';
	buf_reset(field);
	if (c == EOF)
		return false;
	if (quoted)
		c = fgetc(file);
	for (; c != EOF; c = fgetc(file)) {
		if (quoted && c == '"') {
			c = fgetc(file);
			if (c != '"')
				break;
		} else if (!quoted && (c == ',' || c == '\n' || c == '\r')) {
			break;
		}
		buf_append_char(field, (char)c);
	}
	while (c == '\r')
		c = fgetc(file);
	*ret_last = c != ',';
	return true;
}

/* `{a,b}` offers columns to choose from: all of them; `{}` repeats the first choice. */
static str_t fill_choices(str_t sql, struct arena *arena)
{
	struct buf filled = BUF_INIT;
	str_t first = STR_NONE;
	for (size_t i = 0; i < sql.len; i++) {
		const char *close = sql.ptr[i] == '{' ? memchr(sql.ptr + i, '}', sql.len - i) : NULL;
		if (!close) {
			buf_append_char(&filled, sql.ptr[i]);
			continue;
		}
		str_t choice = { sql.ptr + i + 1, (size_t)(close - sql.ptr) - i - 1 };
		if (choice.len > 0 && !str_present(first))
			first = choice;
		buf_append_str(&filled, choice.len > 0 ? choice : first);
		i = (size_t)(close - sql.ptr);
	}
	str_t text = arena_str(arena, buf_str(&filled));
	buf_free(&filled);
	return text;
}

/* Statements are separated by semicolons. */
static void split(struct truth truth, str_t truths, struct arena *arena, truth_fn found, void *context)
{
	size_t start = 0;
	for (size_t i = 0; i <= truths.len; i++) {
		if (i < truths.len && truths.ptr[i] != ';')
			continue;
		truth.written = arena_text(arena, truths.ptr + start, i - start);
		truth.sql = fill_choices(truth.written, arena);
		start = i + 1;
		if (truth.sql.len < 7)
			continue;
		found(context, &truth);
		truth.alternative++;
	}
}

/* The fields `query` and `db_name` of one record. */
struct truth_record {
	struct buf query, database;
};

/* The first record names the fields. */
static void take_field(struct truth_record *record, str_t field, bool is_query, bool is_database)
{
	struct buf *into = is_query ? &record->query : &record->database;
	if (!is_query && !is_database)
		return;
	buf_reset(into);
	buf_append_str(into, field);
}

void truths_read(FILE *csv, struct arena *arena, truth_fn found, void *context)
{
	struct buf field = BUF_INIT;
	struct truth_record record = { BUF_INIT, BUF_INIT };
	unsigned index = 0, records = 0, query = 0, database = 0;
	bool last = false;
	while (next_field(csv, &field, &last)) {
		if (records == 0) {
			query = str_is(buf_str(&field), "query") ? index : query;
			database = str_is(buf_str(&field), "db_name") ? index : database;
		}
		take_field(&record, buf_str(&field), index == query, index == database);
		if (last && records > 0)
			split((struct truth){ .question = records, .database = record.database.data },
			      buf_str(&record.query), arena, found, context);
		index = last ? 0 : index + 1;
		records += last;
	}
	buf_free(&field);
	buf_free(&record.query);
	buf_free(&record.database);
}
