#include "sql/sort_keys.h"

#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/lex/scan.h"
#include "sql/mongodb_sort_keys.h"

#define KEYS_MAX 16

/* Larger counts are not read. */
#define MAX_COUNT_DIGITS 15

/* Those in more brackets are left alone. */
#define MAX_BRACKETS 16

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

/* --- the cut --- */

/* Takes digits behind the current token. */
static bool take_count(struct walk *walk, int64_t *ret_count)
{
	int64_t count = 0;
	step(walk);
	if (walk->token.kind != SCAN_NUMBER || walk->token.len > MAX_COUNT_DIGITS)
		return false;
	for (size_t i = 0; i < walk->token.len; i++) {
		char digit = walk->sql.ptr[walk->token.offset + i];
		if (digit < '0' || digit > '9')
			return false;
		count = count * 10 + (digit - '0');
	}
	*ret_count = count;
	return true;
}

static bool take_rows(struct walk *walk)
{
	static const char *const rows[] = { "row", "rows", NULL };
	bool found = is_one_of(walk, rows);
	if (found)
		step(walk);
	return found;
}

/* LIMIT 3, and LIMIT 2, 3 where the dialect has it: the second is the limit then. */
static bool take_limit(struct walk *walk, struct sort_cut *cut)
{
	if (cut->limit >= 0 || !take_count(walk, &cut->limit))
		return false;
	step(walk);
	if (!scan_is_char(walk->sql, walk->token, ','))
		return true;
	cut->offset = cut->limit;
	bool taken = take_count(walk, &cut->limit);
	step(walk);
	return taken;
}

static bool take_offset(struct walk *walk, struct sort_cut *cut)
{
	bool taken = cut->offset == 0 && take_count(walk, &cut->offset);
	step(walk);
	take_rows(walk);
	return taken;
}

/* FETCH FIRST 3 ROWS ONLY. WITH TIES is no cut. */
static bool take_fetch(struct walk *walk, struct sort_cut *cut)
{
	static const char *const first[] = { "first", "next", NULL };
	step(walk);
	if (cut->limit >= 0 || !is_one_of(walk, first))
		return false;
	struct walk number = *walk;
	if (take_count(&number, &cut->limit))
		*walk = number;
	else
		cut->limit = 1;
	step(walk);
	if (!take_rows(walk) || !is_word(walk, "only"))
		return false;
	step(walk);
	return true;
}

/* Whether nothing but a cut stands from the current token up to the end. */
static bool read_cut(struct walk walk, struct sort_cut *ret_cut)
{
	static const struct {
		const char *word;
		bool (*take)(struct walk *walk, struct sort_cut *cut);
	} parts[] = { { "limit", take_limit }, { "offset", take_offset }, { "fetch", take_fetch } };
	struct sort_cut cut = { .known = true, .limit = -1 };
	while (walk.token.kind != SCAN_END) {
		size_t part = 0;
		while (part < sizeof parts / sizeof *parts && !is_word(&walk, parts[part].word))
			part++;
		if (part == sizeof parts / sizeof *parts || !parts[part].take(&walk, &cut))
			return false;
	}
	*ret_cut = cut;
	return true;
}

/* Where the statement's cut begins: its end where there is none. Words that are meant as names are followed
 * by something else. */
static size_t find_cut(str_t sql, enum sql_dialect dialect, struct sort_cut *ret_cut)
{
	static const char *const words[] = { "limit", "offset", "fetch", NULL };
	struct walk walk = { .sql = sql, .dialect = dialect };
	bool any = false;
	*ret_cut = (struct sort_cut){ .limit = -1 };
	while (advance(&walk)) {
		if (!is_one_of(&walk, words))
			continue;
		any = true;
		if (read_cut(walk, ret_cut))
			return walk.token.offset;
	}
	ret_cut->known = walk.token.kind == SCAN_END && !any;
	return sql.len;
}

/* --- brackets --- */

/* The brackets that the text ends with, as tokens; false: it ends with something else. */
struct group {
	struct scan_token before, open, close;
};

static bool find_last_group(str_t sql, enum sql_dialect dialect, struct group *ret_group)
{
	struct scan_token last = { 0 };
	struct scan_token token = scan_next(sql, 0, dialect);
	size_t depth = 0;
	for (; token.kind != SCAN_END; token = scan_next(sql, token.offset + token.len, dialect)) {
		bool closing = scan_is_char(sql, token, ')');
		if (token.kind == SCAN_BROKEN || (closing && depth == 0))
			return false;
		if (scan_is_char(sql, token, '(') && depth++ == 0)
			*ret_group = (struct group){ .before = last, .open = token };
		if (closing && --depth == 0)
			ret_group->close = token;
		last = token;
	}
	return depth == 0 && scan_is_char(sql, last, ')');
}

/* Blanks in place of brackets around the whole query, or around the one behind WITH. */
static bool take_brackets_off(str_t *sql, enum sql_dialect dialect, struct arena *arena)
{
	struct group group = { 0 };
	if (!find_last_group(*sql, dialect, &group))
		return false;
	bool all = group.before.len == 0;
	bool behind_with = scan_is_word(*sql, scan_next(*sql, 0, dialect), "with") &&
			   scan_is_char(*sql, group.before, ')');
	if (!all && !behind_with)
		return false;
	char *text = arena_alloc(arena, sql->len + 1);
	memcpy(text, sql->ptr, sql->len);
	text[sql->len] = '\0';
	text[group.open.offset] = text[group.close.offset] = ' ';
	*sql = (str_t){ text, sql->len };
	return true;
}

static bool cuts(const struct sort_cut *cut)
{
	return cut->limit >= 0 || cut->offset > 0;
}

/* `inner` comes first. PostgreSQL's parser refuses two of them. */
static struct sort_cut combine(struct sort_cut outer, struct sort_cut inner)
{
	if (inner.limit >= 0) {
		int64_t left = inner.limit > outer.offset ? inner.limit - outer.offset : 0;
		outer.limit = outer.limit >= 0 && outer.limit < left ? outer.limit : left;
	}
	outer.offset += inner.offset;
	return outer;
}

/* The text without the brackets around it and without its cut. Where that is not known it is still there. */
static str_t uncut(str_t text, enum sql_dialect dialect, struct arena *arena, struct sort_cut *ret_cut)
{
	str_t rest = text;
	struct sort_cut cut = { .known = true, .limit = -1 };
	for (size_t i = 0; i < MAX_BRACKETS; i++) {
		struct sort_cut inner;
		rest.len = find_cut(rest, dialect, &inner);
		if (!inner.known) {
			*ret_cut = inner;
			return cuts(&cut) ? text : rest;
		}
		cut = combine(cut, inner);
		if (!take_brackets_off(&rest, dialect, arena))
			break;
	}
	*ret_cut = cut;
	return rest;
}

/* --- the statement --- */

static bool all_shown(const struct sql_analysis *analysis)
{
	for (size_t i = 0; i < analysis->order_keys_count; i++)
		if (analysis->order_keys[i].column < 0)
			return false;
	return true;
}

/* The text up to its cut, with the hidden keys. */
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

static bool show(str_t text, const struct sql_request *request, const struct sql_analysis *analysis,
		 struct arena *arena, struct sort_keys *keys)
{
	struct layout layout;
	if (all_shown(analysis)) {
		keys->sql = arena_str(arena, text);
		return true;
	}
	if (analysis->order_unsure || !read_layout(text, request->dialect, &layout) ||
	    layout.keys_count != analysis->order_keys_count)
		return false;
	keys->sql = rewrite(text, &layout, analysis, arena, &keys->added);
	return true;
}

static bool is_safe(const struct sql_request *request, str_t sql, struct arena *arena,
		    struct sql_analysis *ret_analysis)
{
	struct sql_request again = *request;
	again.sql = sql;
	sql_analyse(&again, arena, ret_analysis);
	return ret_analysis->valid && ret_analysis->verdict == SQL_SAFE;
}

/* A statement without an order: takes its cut off. */
static bool take_cut_off(const struct sql_request *request, const struct sql_analysis *analysis,
			 struct arena *arena, struct sort_keys *ret_keys)
{
	struct sort_keys whole = { 0 };
	struct sql_analysis again;
	str_t rest = uncut(analysis->text, request->dialect, arena, &whole.cut);
	if (!whole.cut.known || !cuts(&whole.cut))
		return false;
	whole.sql = arena_str(arena, rest);
	if (!is_safe(request, whole.sql, arena, &again) || again.limited || again.ordered)
		return false;
	*ret_keys = whole;
	return true;
}

static bool show_documents(const struct sql_request *request, const struct sql_analysis *analysis,
			   struct arena *arena, struct sort_keys *ret_keys)
{
	struct sort_keys shown;
	struct sql_analysis again;
	bool done = mongodb_sort_keys(analysis, arena, &shown) && is_safe(request, shown.sql, arena, &again);
	if (done)
		*ret_keys = shown;
	return done;
}

/* The text of a pipeline ends with the brackets of the list and the call. */
str_t sort_keys_limit(const struct sort_keys *keys, int64_t rows, struct arena *arena)
{
	static const char end[] = "])";
	if (!keys->documents)
		return arena_printf(arena, STR_FMT "\nLIMIT %lld", STR_ARG(keys->sql), (long long)rows);
	return arena_printf(arena, "%.*s{$limit:%lld}%s", (int)(keys->sql.len - strlen(end)), keys->sql.ptr,
			    (long long)rows, end);
}

bool sort_keys_show(const struct sql_request *request, const struct sql_analysis *analysis,
		    struct arena *arena, struct sort_keys *ret_keys)
{
	struct sort_keys shown = { .keys_count = analysis->order_keys_count };
	if (!analysis->valid || analysis->verdict != SQL_SAFE)
		return false;
	if (request->dialect == SQL_MONGODB)
		return show_documents(request, analysis, arena, ret_keys);
	if (!analysis->ordered && analysis->limited)
		return take_cut_off(request, analysis, arena, ret_keys);
	if (!analysis->ordered || shown.keys_count == 0)
		return false;
	str_t rest = uncut(analysis->text, request->dialect, arena, &shown.cut);
	if (!show(rest, request, analysis, arena, &shown))
		return false;
	if (shown.added == 0 && str_equal(rest, analysis->text)) { /* as it was analysed */
		shown.keys = analysis->order_keys;
		shown.cut.known = shown.cut.known && !analysis->limited; /* or it is in brackets */
		*ret_keys = shown;
		return true;
	}
	struct sql_analysis rewritten;
	if (!is_safe(request, shown.sql, arena, &rewritten) || !all_shown(&rewritten) ||
	    rewritten.order_keys_count != shown.keys_count || (shown.cut.known && rewritten.limited))
		return false;
	shown.keys = rewritten.order_keys;
	*ret_keys = shown;
	return true;
}
