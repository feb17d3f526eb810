#include "sql/sort_keys.h"

#include "common/buf.h"
#include "sql/scan.h"

#define KEYS_MAX 16

/* Where the parts of a plain SELECT with an ORDER BY stand, as offsets into its text. */
struct layout {
	size_t targets_end; /* behind the last token of the target list */
	struct {
		size_t start, end;
	} keys[KEYS_MAX];
	size_t keys_count;
};

/* Walks the tokens that stand in no brackets; those in brackets are passed over as a whole. */
struct walk {
	str_t sql;
	enum sql_dialect dialect;
	struct scan_token token;
	struct scan_token before; /* the token before it; in brackets or not */
	size_t before_end;
};

static bool opens(str_t sql, struct scan_token token)
{
	return scan_is_char(sql, token, '(') || scan_is_char(sql, token, '[');
}

static bool closes(str_t sql, struct scan_token token)
{
	return scan_is_char(sql, token, ')') || scan_is_char(sql, token, ']');
}

static void step(struct walk *walk)
{
	walk->before = walk->token;
	walk->before_end = walk->token.offset + walk->token.len;
	walk->token = scan_next(walk->sql, walk->before_end, walk->dialect);
}

/* The next token outside of brackets; false at the end, or where brackets do not match. */
static bool advance(struct walk *walk)
{
	size_t depth = 0;
	step(walk);
	while (walk->token.kind != SCAN_END && walk->token.kind != SCAN_BROKEN) {
		if (opens(walk->sql, walk->token))
			depth++;
		else if (closes(walk->sql, walk->token) && depth-- == 0)
			return false;
		else if (depth == 0)
			return true;
		step(walk);
	}
	return false;
}

static bool is_word(const struct walk *walk, const char *word)
{
	return scan_is_word(walk->sql, walk->token, word);
}

static bool is_one_of(const struct walk *walk, const char *const *words)
{
	for (; *words; words++)
		if (is_word(walk, *words))
			return true;
	return false;
}

static bool find_word(struct walk *walk, const char *word)
{
	static const char *const combining[] = { "union", "intersect", "except", "minus", "into", NULL };
	while (!is_word(walk, word))
		if (is_one_of(walk, combining) || !advance(walk))
			return false;
	return true;
}

/* `a IS DISTINCT FROM b` is no FROM clause. */
static bool find_from(struct walk *walk)
{
	while (find_word(walk, "from")) {
		if (!scan_is_word(walk->sql, walk->before, "distinct"))
			return true;
		if (!advance(walk))
			return false;
	}
	return false;
}

/* Takes the sort key behind the current token and stops at the comma or the clause behind it, or at the end.
 */
static bool take_key(struct walk *walk, struct layout *layout)
{
	static const char *const after[] = { "asc", "desc", "nulls", "using", NULL };
	static const char *const clauses[] = { "limit", "offset", "fetch", "for", "lock", NULL };
	size_t start = scan_next(walk->sql, walk->token.offset + walk->token.len, walk->dialect).offset;
	size_t end = 0;
	while (advance(walk) && !scan_is_char(walk->sql, walk->token, ',') && !is_one_of(walk, clauses))
		if (end == 0 && is_one_of(walk, after))
			end = walk->before_end;
	if (end == 0)
		end = walk->before_end;
	if (layout->keys_count == KEYS_MAX || end <= start)
		return false;
	layout->keys[layout->keys_count].start = start;
	layout->keys[layout->keys_count++].end = end;
	return true;
}

static bool read_keys(struct walk *walk, struct layout *layout)
{
	if (!advance(walk) || !is_word(walk, "by"))
		return false;
	do {
		if (!take_key(walk, layout))
			return false;
	} while (scan_is_char(walk->sql, walk->token, ','));
	return true;
}

static bool read_layout(str_t sql, enum sql_dialect dialect, struct layout *ret_layout)
{
	struct walk walk = { .sql = sql, .dialect = dialect, .token = scan_next(sql, 0, dialect) };
	*ret_layout = (struct layout){ 0 };
	if (opens(sql, walk.token) || !find_word(&walk, "select") || !advance(&walk) ||
	    is_word(&walk, "distinct") || !find_from(&walk))
		return false;
	ret_layout->targets_end = walk.before_end;
	return find_word(&walk, "order") && read_keys(&walk, ret_layout);
}

static bool all_shown(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->order_keys_count; i++)
		if (analysis->order_keys[i].column < 0)
			return false;
	return true;
}

static str_t rewrite(str_t sql, const struct layout *layout, const struct sql_analysis *analysis,
		     struct arena *arena, size_t *ret_added)
{
	struct buf text = BUF_INIT;
	*ret_added = 0;
	buf_append(&text, sql.ptr, layout->targets_end);
	for (size_t i = 0; i < layout->keys_count; i++) {
		if (analysis->order_keys[i].column >= 0)
			continue;
		buf_append_text(&text, ", (");
		buf_append(&text, sql.ptr + layout->keys[i].start,
			   layout->keys[i].end - layout->keys[i].start);
		buf_append_text(&text, ")");
		++*ret_added;
	}
	buf_append(&text, sql.ptr + layout->targets_end, sql.len - layout->targets_end);
	str_t rewritten = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return rewritten;
}

bool sort_keys_show(const struct sql_request *request, const struct sql_analysis *analysis,
		    struct arena *arena, struct sort_keys *ret_keys)
{
	struct layout layout;
	if (!analysis->valid || analysis->verdict != SQL_SAFE || !analysis->ordered || all_shown(analysis) ||
	    !read_layout(analysis->text, request->dialect, &layout) ||
	    layout.keys_count != analysis->order_keys_count)
		return false;
	struct sort_keys shown = { .keys_count = analysis->order_keys_count };
	shown.sql = rewrite(analysis->text, &layout, analysis, arena, &shown.added);
	struct sql_request again = *request;
	again.sql = shown.sql;
	struct sql_analysis rewritten;
	sql_analyse(&again, arena, &rewritten);
	if (!rewritten.valid || rewritten.verdict != SQL_SAFE || !all_shown(&rewritten) ||
	    rewritten.order_keys_count != shown.keys_count)
		return false;
	shown.keys = rewritten.order_keys;
	*ret_keys = shown;
	return true;
}
