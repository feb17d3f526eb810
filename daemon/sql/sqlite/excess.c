#include "sql/sqlite/excess.h"

#include "common/buf.h"
#include "common/hash.h"
#include "sql/lex/identifier.h"
#include "sql/sqlite/tokens.h"

#include <ctype.h>

#define AGGREGATES_MAX 300 /* the library compares each with all before it */
#define WINDOWS_MAX    32  /* different ones: each becomes a query around the others */
#define KEYS_MAX       128 /* commas of GROUP BY and ORDER BY: each key is compared with all outputs */

struct tally {
	str_t sql;
	struct arena *arena;
	struct hash_map windows;
	size_t aggregates, keys;
};

/* Behind OVER: the name of a window, or all of its definition, in lower case. */
static void see_window(struct tally *tally, struct scan_token token)
{
	int depth = 0;
	struct buf key = BUF_INIT;
	do {
		depth += scan_is_char(tally->sql, token, '(') - scan_is_char(tally->sql, token, ')');
		for (size_t i = 0; i < token.len; i++)
			buf_append_char(&key, (char)tolower((unsigned char)tally->sql.ptr[token.offset + i]));
		buf_append_char(&key, ' ');
		token = sqlite_token_after(tally->sql, token);
	} while (depth > 0 && token.kind != SCAN_END);
	hash_map_set(&tally->windows, arena_str(tally->arena, buf_str(&key)), tally);
	buf_free(&key);
}

/* Brackets that GROUP BY or ORDER BY stands in, up to some depth. */
struct places {
	bool keys[256];
	size_t depth;
};

static void see_place(struct tally *tally, struct places *places, struct scan_token token)
{
	size_t last = sizeof places->keys - 1;
	bool *keys = &places->keys[places->depth < last ? places->depth : last];
	if (scan_is_char(tally->sql, token, '('))
		places->keys[++places->depth < last ? places->depth : last] = false;
	else if (scan_is_char(tally->sql, token, ')'))
		places->depth -= places->depth > 0;
	else if (scan_is_word(tally->sql, token, "BY"))
		*keys = true;
	else if (scan_is_char(tally->sql, token, ','))
		tally->keys += *keys;
	else if (token.kind == SCAN_WORD &&
		 IDENTIFIER_IS_ANY(scan_name(tally->sql, token), "having", "window", "limit", "union",
				   "except", "intersect", "select"))
		*keys = false;
}

static const char *reason_of(const struct tally *tally)
{
	if (tally->aggregates > AGGREGATES_MAX)
		return "too many aggregates";
	if (tally->windows.count > WINDOWS_MAX)
		return "too many different windows";
	return tally->keys > KEYS_MAX ? "too many keys to group or sort by" : NULL;
}

const char *sqlite_excess(str_t sql, size_t *ret_offset)
{
	struct tally tally = { .sql = sql, .arena = arena_new() };
	struct places places = { 0 };
	const char *reason = NULL;
	hash_map_init(&tally.windows, tally.arena, WINDOWS_MAX);
	struct scan_token token = scan_next(sql, 0, SQL_SQLITE);
	for (; token.kind != SCAN_END && !reason; token = sqlite_token_after(sql, token)) {
		see_place(&tally, &places, token);
		tally.aggregates += sqlite_token_aggregates(sql, token);
		if (scan_is_word(sql, token, "OVER"))
			see_window(&tally, sqlite_token_after(sql, token));
		reason = reason_of(&tally);
		*ret_offset = token.offset;
	}
	arena_free(tally.arena);
	return reason;
}
