#include "score/question.h"

#include <ctype.h>

static const struct {
	const char *text;
	size_t len;
	uint64_t key;
	unsigned senses;
} words[] = {
#define WORD(text, senses) { text, sizeof(text) - 1, WORD_KEY(text), senses },
#include "score/question_words.def"
#undef WORD
};

enum { WORDS_COUNT = sizeof words / sizeof words[0] };

/* Words in -est that are no superlatives. */
static const char *const no_superlatives[] = { "west",	  "northwest", "southwest", "midwest", "interest",
					       "request", "test",      "contest",   "forest",  "guest",
					       "honest",  "harvest",   "suggest",   "invest",  "protest",
					       "arrest",  "chest",     "quest",	    "rest",    "nest",
					       "modest",  "digest",    "manifest",  "attest" };

static bool is_superlative(const char *lower, size_t len)
{
	if (len < 6 || memcmp(lower + len - 3, "est", 3) != 0)
		return false;
	for (size_t i = 0; i < sizeof no_superlatives / sizeof no_superlatives[0]; i++)
		if (strlen(no_superlatives[i]) == len && memcmp(no_superlatives[i], lower, len) == 0)
			return false;
	return true;
}

unsigned question_senses(const char *lower, size_t len)
{
	size_t low = 0, high = WORDS_COUNT;
	uint64_t key = word_key(lower, len);
	while (low < high) {
		size_t middle = (low + high) / 2, size = words[middle].len;
		int order = (key > words[middle].key) - (key < words[middle].key);
		if (order == 0)
			order = memcmp(lower, words[middle].text, len < size ? len : size);
		if (order == 0 && len == size)
			return words[middle].senses;
		if (order < 0 || (order == 0 && len < size))
			high = middle;
		else
			low = middle + 1;
	}
	return is_superlative(lower, len) ? ASKS_SUPERLATIVE : 0;
}

/* The word is a literal of up to 8 bytes. */
#define part_is(part, word) ((part)->key == WORD_KEY(word))

static bool is_digit_at(str_t text, size_t offset)
{
	return offset < text.len && isdigit((unsigned char)text.ptr[offset]);
}

/* Digits, with points and commas between them. */
static size_t number_end(str_t text, size_t i)
{
	while (is_digit_at(text, i) ||
	       (i < text.len && (text.ptr[i] == '.' || text.ptr[i] == ',') && is_digit_at(text, i + 1)))
		i++;
	return i;
}

/* Length of a typographic or a plain mark at the offset, if it is one of `marks`. */
static size_t mark_at(str_t text, size_t offset, const char *const marks[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(marks[i]);
		if (text.len - offset >= len && memcmp(text.ptr + offset, marks[i], len) == 0)
			return len;
	}
	return 0;
}

#define MARK_AT(text, offset, ...)                                                                           \
	mark_at((text), (offset), (const char *const[]){ __VA_ARGS__ },                                      \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static struct question_part *add(struct question *question, enum question_kind kind, size_t start, size_t end)
{
	struct question_part *part = &question->parts[question->count++];
	*part = (struct question_part){ .kind = kind, .text = { question->text.ptr + start, end - start } };
	return part;
}

/* Returns the end of the word, of which "don't" is one and "driver's" ends before its apostrophe. */
static size_t add_word(struct question *question, size_t start)
{
	str_t text = question->text;
	size_t end = start, len;
	while ((len = word_letter(text, end)) > 0)
		end += len;
	struct question_part *part = add(question, QUESTION_WORD, start, end);
	char lower[WORD_BYTES_MAX];
	len = word_lower(part->text, lower);
	part->id = word_stem(lower, len);
	part->capital = word_is_capital(text, start);
	part->key = len <= sizeof part->key ? word_key(lower, len) : 0;
	part->senses = question_senses(lower, len);
	size_t mark = end < text.len ? MARK_AT(text, end, "'", "\xE2\x80\x99") : 0;
	if (mark > 0 && end + mark < text.len && word_letter(text, end + mark) > 0) {
		char letter = text.ptr[end + mark];
		bool one = word_letter(text, end + mark + 1) == 0;
		if (one && letter == 't')
			part->senses |= ASKS_NEGATION;
		if (one && (letter == 's' || letter == 't'))
			end += mark + 1;
	}
	return end;
}

/* What stands in quotes is no word of the sentence: `inside` tells the closing mark. */
enum quotes { QUOTES_NONE, QUOTES_DOUBLE, QUOTES_SINGLE };

static enum quotes quotes_after(str_t text, size_t offset, size_t len, enum quotes inside)
{
	bool is_double = text.ptr[offset] == '"' || MARK_AT(text, offset, "\xE2\x80\x9C", "\xE2\x80\x9D");
	if (is_double)
		return inside == QUOTES_NONE ? QUOTES_DOUBLE : inside == QUOTES_DOUBLE ? QUOTES_NONE : inside;
	bool is_single = text.ptr[offset] == '\'' || MARK_AT(text, offset, "\xE2\x80\x98", "\xE2\x80\x99");
	if (!is_single || inside == QUOTES_DOUBLE)
		return inside;
	if (inside == QUOTES_SINGLE)
		return QUOTES_NONE;
	bool opens = (offset == 0 || isspace((unsigned char)text.ptr[offset - 1]) ||
		      text.ptr[offset - 1] == '(') &&
		     (word_letter(text, offset + len) > 0 || is_digit_at(text, offset + len));
	return opens ? QUOTES_SINGLE : QUOTES_NONE;
}

static void read_parts(struct question *question)
{
	str_t text = question->text;
	enum quotes inside = QUOTES_NONE;
	bool begins = true;
	size_t opened = 0;
	for (size_t i = 0; i < text.len && question->count < QUESTION_MAX_WORDS;) {
		size_t before = question->count;
		char c = text.ptr[i];
		if (word_letter(text, i) > 0) {
			i = add_word(question, i);
		} else if (is_digit_at(text, i)) {
			size_t end = number_end(text, i);
			struct question_part *part = add(question, QUESTION_NUMBER, i, end);
			words_of_name((str_t){ text.ptr + i, end - i }, &part->id, 1);
			i = end;
		} else if (c == ',') {
			add(question, QUESTION_COMMA, i, i + 1);
			i++;
		} else if (strchr(".?!;", c) && c &&
			   (i + 1 == text.len || isspace((unsigned char)text.ptr[i + 1]))) {
			add(question, QUESTION_END, i, i + 1);
			i++;
		} else {
			if (c == '%')
				question->senses |= ASKS_PERCENTAGE;
			size_t len = MARK_AT(text, i, "\xE2\x80\x9C", "\xE2\x80\x9D", "\xE2\x80\x98",
					     "\xE2\x80\x99");
			len = len ? len : 1;
			enum quotes after = quotes_after(text, i, len, inside);
			opened = inside == QUOTES_NONE ? question->count : opened;
			inside = after;
			i += len;
		}
		if (question->count == before)
			continue;
		struct question_part *part = &question->parts[before];
		part->quoted = inside != QUOTES_NONE;
		part->begins = begins && part->kind != QUESTION_END;
		begins = part->kind == QUESTION_END || (begins && part->kind == QUESTION_COMMA);
	}
	for (; inside != QUOTES_NONE && opened < question->count; opened++) /* it was none after all */
		question->parts[opened].quoted = false;
}

/* Behind "and", "also" or a comma. */
static bool continues(const struct question *question, size_t i, size_t from)
{
	if (i > from &&
	    (part_is(&question->parts[i - 1], "please") ||
	     (part_is(&question->parts[i - 1], "also") && i > from + 1 &&
	      (part_is(&question->parts[i - 2], "and") || question->parts[i - 2].kind == QUESTION_COMMA))))
		i--;
	if (i <= from)
		return false;
	const struct question_part *before = &question->parts[i - 1];
	return before->kind == QUESTION_COMMA || part_is(before, "and") || part_is(before, "also");
}

/* Outputs that the sentence asks for: what its request lists before it says of what, and further requests.
 * 0: it asks for nothing. */
static unsigned asked_by(const struct question *question, size_t from, size_t to)
{
	const struct question_part *parts = question->parts;
	size_t i = from;
	while (i < to && (parts[i].quoted || !(parts[i].senses & WORD_REQUEST)))
		i++;
	if (i == to)
		return 0;
	unsigned further = 0, items = 0;
	for (size_t j = from + 1; j < to; j++)
		further += !parts[j].quoted && (parts[j].senses & WORD_REQUEST_AGAIN) &&
			   continues(question, j, from);
	i++;
	for (int skipped = 0; skipped < 2 && i < to && (parts[i].senses & WORD_FILLER); skipped++)
		i++;
	bool open = false;
	for (; i < to && (parts[i].quoted || !(parts[i].senses & WORD_HEAD_END)); i++) {
		bool separates =
			!parts[i].quoted && (parts[i].kind == QUESTION_COMMA || part_is(&parts[i], "and"));
		items += !separates && !open;
		open = !separates;
	}
	bool one_more = false;
	for (; i < to && !one_more; i++) {
		bool next = i + 1 < to;
		one_more = (parts[i].senses & WORD_POSSESSIVE) ||
			   (next && part_is(&parts[i], "and") && part_is(&parts[i + 1], "the")) ||
			   (next && part_is(&parts[i], "along") && part_is(&parts[i + 1], "with")) ||
			   (next && part_is(&parts[i], "as") && part_is(&parts[i + 1], "well"));
	}
	return (items ? items : 1) + further + (one_more && !further);
}

static void read_sentences(struct question *question)
{
	size_t from = 0;
	for (size_t i = 0; i <= question->count; i++) {
		if (i < question->count && question->parts[i].kind != QUESTION_END)
			continue;
		question->sentences += i > from;
		question->asked += asked_by(question, from, i);
		from = i + 1;
	}
	question->asked = question->asked ? question->asked : 1;
}

/* What words say together. */
static void read_phrases(struct question *question)
{
	const struct question_part *parts = question->parts;
	bool from = false;
	for (size_t i = 0; i < question->count; i++) {
		const struct question_part *next = i + 1 < question->count ? &parts[i + 1] : NULL;
		if (parts[i].quoted)
			continue;
		if (next && part_is(&parts[i], "how") && (part_is(next, "many") || part_is(next, "much"))) {
			bool many = part_is(next, "many");
			question->how_many |= many;
			question->senses |= many ? ASKS_COUNT : 0;
			if (i + 2 < question->count && part_is(&parts[i + 2], "more"))
				question->senses |= ASKS_DIFFERENCE;
		}
		if (next && part_is(&parts[i], "number") && part_is(next, "of"))
			question->senses |= ASKS_COUNT;
		if (next && part_is(&parts[i], "for") && part_is(next, "all"))
			question->senses |= ASKS_EACH;
		if (from && part_is(&parts[i], "to"))
			question->senses |= ASKS_COMPARISON;
		from |= part_is(&parts[i], "from");
	}
	if (question->count > 0 && (parts[0].senses & WORD_AUXILIARY))
		question->senses |= ASKS_CHOICE;
}

void question_read(str_t text, struct question *ret_question)
{
	word_set_clear(&ret_question->set);
	ret_question->text = (str_t){ text.ptr ? text.ptr : "", text.len };
	if (text.len > QUESTION_MAX_BYTES)
		ret_question->text.len = QUESTION_MAX_BYTES;
	ret_question->count = 0;
	ret_question->senses = 0;
	ret_question->how_many = false;
	ret_question->words = ret_question->sentences = ret_question->numbers = ret_question->names = 0;
	ret_question->asked = 0;
	read_parts(ret_question);
	for (size_t i = 0; i < ret_question->count; i++) {
		const struct question_part *part = &ret_question->parts[i];
		ret_question->senses |= part->quoted ? 0 : part->senses;
		ret_question->words += part->kind == QUESTION_WORD || part->kind == QUESTION_NUMBER;
		ret_question->numbers += part->kind == QUESTION_NUMBER;
		ret_question->names += part->kind == QUESTION_WORD && part->capital && !part->begins;
		word_set_add(&ret_question->set, part->id);
	}
	read_phrases(ret_question);
	read_sentences(ret_question);
}
