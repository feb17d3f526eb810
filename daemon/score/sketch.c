#include "score/sketch.h"

#include <strings.h>

static const struct {
	const char *text;
	size_t len;
	uint64_t key;
} words[] = {
#define SKETCH_WORD(symbol, text) { text, sizeof(text) - 1, WORD_KEY(text) },
#include "score/sketch_words.def"
#undef SKETCH_WORD
};

static enum sketch_word find_word(const char *lower, size_t len)
{
	size_t low = 0, high = SKETCH_NO_WORD;
	uint64_t key = word_key(lower, len);
	while (low < high) {
		size_t middle = (low + high) / 2, size = words[middle].len;
		int order = (key > words[middle].key) - (key < words[middle].key);
		if (order == 0)
			order = memcmp(lower, words[middle].text, len < size ? len : size);
		if (order == 0 && len == size)
			return (enum sketch_word)middle;
		if (order < 0 || (order == 0 && len < size))
			high = middle;
		else
			low = middle + 1;
	}
	return SKETCH_NO_WORD;
}

/* Words that count where they are called; elsewhere they may be names. */
static bool is_function(enum sketch_word word)
{
	switch (word) {
	case SKETCH_COUNT:
	case SKETCH_SUM:
	case SKETCH_AVG:
	case SKETCH_MAX:
	case SKETCH_MIN:
	case SKETCH_TOTAL:
	case SKETCH_GROUP_CONCAT:
	case SKETCH_STRING_AGG:
	case SKETCH_ARRAY_AGG:
	case SKETCH_ROUND:
	case SKETCH_RANK:
	case SKETCH_DENSE_RANK:
	case SKETCH_ROW_NUMBER:
	case SKETCH_IIF:
	case SKETCH_IF:
	case SKETCH_EXTRACT:
	case SKETCH_SUBSTRING:
	case SKETCH_SUBSTR:
	case SKETCH_TRIM:
	case SKETCH_OVERLAY:
	case SKETCH_POSITION:
	case SKETCH_STRFTIME:
	case SKETCH_DATE:
	case SKETCH_DATETIME:
	case SKETCH_JULIANDAY:
	case SKETCH_YEAR:
	case SKETCH_MONTH:
	case SKETCH_DATE_PART:
	case SKETCH_DATE_TRUNC:
	case SKETCH_TO_CHAR:
		return true;
	default:
		return false;
	}
}

static bool is_aggregate(const struct sketch_token *token)
{
	switch (token->word) {
	case SKETCH_COUNT:
	case SKETCH_SUM:
	case SKETCH_AVG:
	case SKETCH_MAX:
	case SKETCH_MIN:
	case SKETCH_TOTAL:
	case SKETCH_GROUP_CONCAT:
	case SKETCH_STRING_AGG:
	case SKETCH_ARRAY_AGG:
		return token->called;
	default:
		return false;
	}
}

static bool is_char(const struct sketch *sketch, size_t index, char c)
{
	return index < sketch->count && sketch->tokens[index].kind == SCAN_OTHER &&
	       sketch->tokens[index].first == c;
}

static bool is_word(const struct sketch *sketch, size_t index, enum sketch_word word)
{
	return index < sketch->count && sketch->tokens[index].word == word;
}

static bool is_plain(const struct sketch *sketch, size_t index)
{
	return index < sketch->count && (sketch->tokens[index].kind == SCAN_QUOTED ||
					 (sketch->tokens[index].kind == SCAN_WORD &&
					  (sketch->tokens[index].word == SKETCH_NO_WORD ||
					   is_function((enum sketch_word)sketch->tokens[index].word))));
}

str_t sketch_name(const struct sketch *sketch, const struct sketch_token *token)
{
	str_t name = { sketch->sql.ptr + token->offset, token->len };
	if (token->kind == SCAN_QUOTED && name.len >= 2)
		return (str_t){ name.ptr + 1, name.len - 2 };
	return name;
}

bool sketch_is_name(const struct sketch *sketch, size_t index)
{
	const struct sketch_token *token = &sketch->tokens[index];
	return is_plain(sketch, index) && !token->called &&
	       !(index > 0 && is_word(sketch, index - 1, SKETCH_AS)) && !is_char(sketch, index + 1, '.');
}

static void read_tokens(struct sketch *sketch, enum sql_dialect dialect)
{
	size_t offset = 0;
	unsigned depth = 0;
	while (sketch->count < SKETCH_MAX_TOKENS) {
		struct scan_token scanned = scan_next(sketch->sql, offset, dialect);
		if (scanned.kind == SCAN_END)
			break;
		offset = scanned.offset + scanned.len;
		struct sketch_token *token = &sketch->tokens[sketch->count];
		char first = sketch->sql.ptr[scanned.offset];
		if (scanned.kind == SCAN_OTHER && first == ')' && depth > 0)
			depth--;
		*token = (struct sketch_token){
			.kind = (uint8_t)scanned.kind,
			.word = SKETCH_NO_WORD,
			.first = first,
			.depth = (uint16_t)depth,
			.offset = (uint32_t)scanned.offset,
			.len = (uint32_t)scanned.len,
		};
		if (scanned.kind == SCAN_WORD && scanned.len <= 12) {
			char lower[WORD_BYTES_MAX];
			size_t len =
				word_lower((str_t){ sketch->sql.ptr + scanned.offset, scanned.len }, lower);
			token->word = (uint8_t)find_word(lower, len);
		}
		if (scanned.kind == SCAN_OTHER && first == '(') {
			if (sketch->count > 0)
				sketch->tokens[sketch->count - 1].called =
					sketch->tokens[sketch->count - 1].kind == SCAN_WORD;
			depth += depth < SKETCH_MAX_TOKENS;
		}
		sketch->depth = depth > sketch->depth ? depth : sketch->depth;
		sketch->count++;
	}
}

static void count_words(struct sketch *sketch)
{
	for (size_t i = 0; i < sketch->count; i++) {
		const struct sketch_token *token = &sketch->tokens[i];
		if (token->word != SKETCH_NO_WORD &&
		    (token->called || !is_function((enum sketch_word)token->word)))
			sketch->words[token->word]++;
		sketch->aggregates += is_aggregate(token);
		if (token->kind != SCAN_OTHER)
			continue;
		bool unequal = (token->first == '<' && is_char(sketch, i + 1, '>')) ||
			       (token->first == '!' && is_char(sketch, i + 1, '='));
		bool greater = token->first == '>' &&
			       !(i > 0 && (is_char(sketch, i - 1, '<') || is_char(sketch, i - 1, '-') ||
					   is_char(sketch, i - 1, '>')));
		sketch->divides |= token->first == '/';
		sketch->negates |= unequal;
		sketch->compares |= greater || (token->first == '<' && !unequal);
	}
}

/* The list of the outermost SELECT, the last of them where WITH stands in front. */
static void read_outputs(struct sketch *sketch)
{
	size_t from = sketch->count;
	for (size_t i = 0; i < sketch->count; i++)
		if (is_word(sketch, i, SKETCH_SELECT) &&
		    (from == sketch->count || sketch->tokens[i].depth < sketch->tokens[from].depth))
			from = i;
	sketch->outputs_from = sketch->outputs_to = sketch->count;
	if (from == sketch->count)
		return;
	unsigned depth = sketch->tokens[from].depth;
	sketch->outputs_from = from + 1;
	sketch->outputs = 1;
	size_t i = from + 1;
	for (; i < sketch->count && sketch->tokens[i].depth >= depth; i++) {
		const struct sketch_token *token = &sketch->tokens[i];
		if (token->depth == depth) {
			if (token->word == SKETCH_FROM || token->word == SKETCH_UNION ||
			    is_char(sketch, i, ';'))
				break;
			sketch->outputs += is_char(sketch, i, ',');
			bool begins = i == from + 1 || is_char(sketch, i - 1, ',') ||
				      is_char(sketch, i - 1, '.') || is_word(sketch, i - 1, SKETCH_DISTINCT);
			sketch->puts_out_star |= is_char(sketch, i, '*') && begins;
		}
		sketch->puts_out_aggregate |= token->depth <= depth + 1U && is_aggregate(token);
	}
	sketch->outputs_to = i;
}

/* A relation's name at the index; returns the index behind it, or the same where there is none. */
static size_t read_range(struct sketch *sketch, size_t i)
{
	if (!is_plain(sketch, i) || sketch->tokens[i].called)
		return i;
	while (is_char(sketch, i + 1, '.') && is_plain(sketch, i + 2))
		i += 2;
	str_t name = sketch_name(sketch, &sketch->tokens[i]);
	for (size_t j = 0; j < sketch->ranges_count; j++)
		sketch->self_join |= sketch->ranges[j].len == name.len &&
				     strncasecmp(sketch->ranges[j].ptr, name.ptr, name.len) == 0;
	if (sketch->ranges_count < SKETCH_MAX_RANGES)
		sketch->ranges[sketch->ranges_count++] = name;
	return i + 1;
}

/* Whether FROM at the index belongs to a function: EXTRACT(YEAR FROM x). */
static bool of_function(const struct sketch *sketch, size_t index)
{
	unsigned depth = sketch->tokens[index].depth;
	for (size_t i = index; depth > 0 && i > 0 && index - i < 64; i--) {
		const struct sketch_token *token = &sketch->tokens[i - 1];
		if (token->depth == depth && token->word == SKETCH_SELECT)
			return false;
		if (token->depth < depth)
			return i >= 2 && sketch->tokens[i - 2].called;
	}
	return false;
}

static void read_ranges(struct sketch *sketch)
{
	for (size_t i = 0; i + 1 < sketch->count; i++) {
		bool from = is_word(sketch, i, SKETCH_FROM);
		if ((!from && !is_word(sketch, i, SKETCH_JOIN)) ||
		    (from && (of_function(sketch, i) || (i > 0 && is_word(sketch, i - 1, SKETCH_DISTINCT)))))
			continue;
		size_t next = read_range(sketch, i + 1);
		while (next > i + 1) { /* FROM a AS x, b */
			next += is_word(sketch, next, SKETCH_AS);
			next += is_plain(sketch, next);
			if (!is_char(sketch, next, ','))
				break;
			size_t behind = read_range(sketch, next + 1);
			if (behind == next + 1)
				break;
			next = behind;
		}
	}
}

static void add_literal(struct sketch *sketch, str_t text, bool is_number)
{
	if (sketch->literals_count < SKETCH_MAX_LITERALS)
		sketch->literals[sketch->literals_count++] = (struct sketch_literal){ text, is_number };
}

/* SQLite reads "text" as a string where no column has that name; behind a comparison most are. */
static bool is_quoted_text(const struct sketch *sketch, size_t i, enum sql_dialect dialect)
{
	if (dialect != SQL_SQLITE || sketch->tokens[i].first != '"' || i == 0 || is_char(sketch, i + 1, '.'))
		return false;
	const struct sketch_token *before = &sketch->tokens[i - 1];
	return before->word == SKETCH_LIKE || before->word == SKETCH_BETWEEN ||
	       (before->kind == SCAN_OTHER && before->first != '\0' && strchr("=<>", before->first)) ||
	       (before->first == '(' && i >= 2 && is_word(sketch, i - 2, SKETCH_IN));
}

/* Between the quotes of a literal, whatever stands before them. */
static str_t literal_text(str_t token)
{
	const char *open = token.len ? memchr(token.ptr, '\'', token.len) : NULL;
	if (!open)
		open = token.len ? memchr(token.ptr, '"', token.len) : NULL;
	if (!open)
		return token;
	size_t skip = (size_t)(open - token.ptr) + 1;
	return (str_t){ token.ptr + skip, token.len > skip ? token.len - skip - 1 : 0 };
}

static void add_words(struct sketch *sketch, str_t text)
{
	word_id ids[64];
	size_t count = words_of_name(text, ids, sizeof ids / sizeof ids[0]);
	for (size_t i = 0; i < count; i++)
		word_set_add(&sketch->set, ids[i]);
	char lower[WORD_BYTES_MAX];
	if (count > 1 && text.len < WORD_BYTES_MAX) /* superHero is also "superhero" */
		word_set_add(&sketch->set, word_stem(lower, word_lower(text, lower)));
}

static void read_texts(struct sketch *sketch, enum sql_dialect dialect)
{
	for (size_t i = 0; i < sketch->count; i++) {
		const struct sketch_token *token = &sketch->tokens[i];
		str_t text = { sketch->sql.ptr + token->offset, token->len };
		if (token->kind == SCAN_OTHER || token->kind == SCAN_PARAMETER)
			continue;
		if (token->kind == SCAN_STRING)
			add_literal(sketch, literal_text(text), false);
		else if (token->kind == SCAN_QUOTED && is_quoted_text(sketch, i, dialect))
			add_literal(sketch, sketch_name(sketch, token), false);
		else if (token->kind == SCAN_NUMBER)
			add_literal(sketch, text, true);
		if (token->word == SKETCH_NO_WORD || is_function((enum sketch_word)token->word))
			add_words(sketch, text);
	}
}

static bool ends_with(str_t text, str_t ending)
{
	return text.len >= ending.len &&
	       strncasecmp(text.ptr + text.len - ending.len, ending.ptr, ending.len) == 0;
}

/* a.x = b.y: one name ends with the other (race_id and id), or one is a usual key. */
static void read_keys(struct sketch *sketch)
{
	for (size_t i = 3; i + 3 < sketch->count; i++) {
		if (!is_char(sketch, i, '=') || !is_plain(sketch, i - 1) || !is_char(sketch, i - 2, '.') ||
		    !is_plain(sketch, i + 1) || !is_char(sketch, i + 2, '.') || !is_plain(sketch, i + 3))
			continue;
		str_t left = sketch_name(sketch, &sketch->tokens[i - 1]);
		str_t right = sketch_name(sketch, &sketch->tokens[i + 3]);
		bool usual = (left.len == 2 && ends_with(left, STR("id"))) ||
			     (right.len == 2 && ends_with(right, STR("id"))) ||
			     ends_with(left, STR("code")) || ends_with(right, STR("code"));
		sketch->keys++;
		sketch->odd_keys += !usual && !ends_with(left, right) && !ends_with(right, left);
	}
}

void sketch_read(str_t sql, enum sql_dialect dialect, struct sketch *ret_sketch)
{
	/* tokens, literals, names and words are written before they are read */
	memset(&ret_sketch->count, 0, offsetof(struct sketch, ranges) - offsetof(struct sketch, count));
	word_set_clear(&ret_sketch->set);
	ret_sketch->sql =
		(str_t){ sql.ptr ? sql.ptr : "", sql.len < SKETCH_MAX_BYTES ? sql.len : SKETCH_MAX_BYTES };
	read_tokens(ret_sketch, dialect);
	count_words(ret_sketch);
	read_outputs(ret_sketch);
	read_ranges(ret_sketch);
	read_texts(ret_sketch, dialect);
	read_keys(ret_sketch);
}
