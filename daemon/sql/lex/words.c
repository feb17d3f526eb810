#include "sql/lex/words.h"

#include "common/utf8.h"

#include <endian.h>

/* Blocks of punctuation, symbols and spaces; everything else beyond ASCII counts as a letter. */
static bool is_letter(uint32_t point)
{
	if (point < 0xC0)
		return point == 0xAA || point == 0xB5 || point == 0xBA;
	return point != 0xD7 && point != 0xF7 && !(point >= 0x2000 && point <= 0x2BFF) &&
	       !(point >= 0x3000 && point <= 0x303F) && !(point >= 0xFF00 && point <= 0xFF0F);
}

static inline bool is_ascii_letter(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26;
}

static size_t wide_letter(str_t text, size_t offset)
{
	uint32_t point;
	size_t len = utf8_decode(text.ptr + offset, text.len - offset, &point);
	return len > 0 && is_letter(point) ? len : 0;
}

static inline size_t letter_at(str_t text, size_t offset)
{
	if (offset >= text.len)
		return 0;
	char c = text.ptr[offset];
	return (unsigned char)c < 0x80 ? is_ascii_letter(c) : wide_letter(text, offset);
}

size_t word_letter(str_t text, size_t offset)
{
	return letter_at(text, offset);
}

/* Small letters of Latin, Greek and Cyrillic capitals, which are two bytes long like these. */
static uint32_t lower_point(uint32_t point)
{
	if ((point >= 0xC0 && point <= 0xDE && point != 0xD7) || (point >= 0x391 && point <= 0x3A9) ||
	    (point >= 0x410 && point <= 0x42F))
		return point + 32;
	if (point >= 0x400 && point <= 0x40F)
		return point + 80;
	if ((point >= 0x100 && point <= 0x137 && point != 0x130) || (point >= 0x14A && point <= 0x177))
		return point | 1;
	if ((point >= 0x139 && point <= 0x148) || (point >= 0x179 && point <= 0x17E))
		return point + (point & 1);
	return point;
}

static bool is_wide_capital(str_t text, size_t offset)
{
	uint32_t point;
	return utf8_decode(text.ptr + offset, text.len - offset, &point) == 2 && lower_point(point) != point;
}

static inline bool capital_at(str_t text, size_t offset)
{
	if (offset >= text.len)
		return false;
	char c = text.ptr[offset];
	return (unsigned char)c < 0x80 ? c >= 'A' && c <= 'Z' : is_wide_capital(text, offset);
}

bool word_is_capital(str_t text, size_t offset)
{
	return capital_at(text, offset);
}

/* Eight, four or one byte of ASCII in lower case: where a byte is a capital, what is added carries into its
 * highest bit. False: one of them is none of ASCII. */
#define ONES UINT64_C(0x0101010101010101)

static inline bool lower_eight(uint64_t bytes, uint64_t *ret_lower)
{
	uint64_t from_a = bytes + ONES * (0x80 - 'A'), behind_z = bytes + ONES * (0x80 - 'Z' - 1);
	*ret_lower = bytes | ((from_a & ~behind_z & ONES * 0x80) >> 2);
	return !(bytes & ONES * 0x80);
}

static inline bool lower_at(const char *from, char *to, size_t count)
{
	uint64_t bytes = 0;
	memcpy(&bytes, from, count);
	bool ascii = lower_eight(bytes, &bytes);
	memcpy(to, &bytes, count);
	return ascii;
}

/* What is cut has one byte less than there is room for: a letter of two bytes would not fit. */
enum { LOWER_MAX = WORD_BYTES_MAX - 1 };

/* By words of the machine; false: it is not all ASCII, or too short for that. */
static bool lower_ascii(str_t word, char *lower)
{
	size_t len = word.len < LOWER_MAX ? word.len : LOWER_MAX;
	if (len >= 8) {
		bool ascii = lower_at(word.ptr + len - 8, lower + len - 8, 8);
		for (size_t i = 0; ascii && i + 8 < len; i += 8)
			ascii = lower_at(word.ptr + i, lower + i, 8);
		return ascii;
	}
	return len >= 4 && lower_at(word.ptr, lower, 4) && lower_at(word.ptr + len - 4, lower + len - 4, 4);
}

size_t word_lower(str_t word, char ret_lower[WORD_BYTES_MAX])
{
	if (lower_ascii(word, ret_lower))
		return word.len < LOWER_MAX ? word.len : LOWER_MAX;
	size_t len = 0;
	for (size_t i = 0; i < word.len && len < LOWER_MAX;) {
		unsigned char c = (unsigned char)word.ptr[i];
		uint32_t point;
		if (c < 0x80) {
			ret_lower[len++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
			i++;
		} else if (utf8_decode(word.ptr + i, word.len - i, &point) == 2) {
			point = lower_point(point);
			ret_lower[len++] = (char)(0xC0 | point >> 6);
			ret_lower[len++] = (char)(0x80 | (point & 0x3F));
			i += 2;
		} else {
			ret_lower[len++] = (char)c;
			i++;
		}
	}
	return len;
}

static bool ends(const char *lower, size_t len, const char *ending)
{
	size_t size = strlen(ending);
	return len >= size && memcmp(lower + len - size, ending, size) == 0;
}

/* FNV-1a, never 0. */
static word_id name_bytes(const char *bytes, size_t len, char last)
{
	word_id id = UINT64_C(0xCBF29CE484222325);
	for (size_t i = 0; i < len; i++)
		id = (id ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001B3);
	if (last)
		id = (id ^ (unsigned char)last) * UINT64_C(0x100000001B3);
	return id ? id : 1;
}

uint64_t word_key(const char *lower, size_t len)
{
	uint64_t key = 0;
	if (len >= 8) {
		memcpy(&key, lower, 8);
		return be64toh(key);
	}
	for (size_t i = 0; i < len; i++)
		key |= (uint64_t)(unsigned char)lower[i] << (56 - 8 * i);
	return key;
}

word_id word_stem(const char *lower, size_t len)
{
	if (len == 0)
		return 0;
	if (len <= 3 || lower[len - 1] != 's')
		return name_bytes(lower, len, 0);
	if (len > 4 && ends(lower, len, "ies"))
		return name_bytes(lower, len - 3, 'y');
	if (len > 4 && (ends(lower, len, "ses") || ends(lower, len, "xes") || ends(lower, len, "zes") ||
			ends(lower, len, "ches") || ends(lower, len, "shes")))
		return name_bytes(lower, len - 2, 0);
	bool plural = !ends(lower, len, "ss") && !ends(lower, len, "us");
	return name_bytes(lower, plural ? len - 1 : len, 0);
}

/* What a byte of ASCII is. */
enum { SMALL = 1, CAPITAL = 2, DIGIT = 4 };

static const unsigned char classes[256] = { ['a' ... 'z'] = SMALL,
					    ['A' ... 'Z'] = CAPITAL,
					    ['0' ... '9'] = DIGIT };

static inline unsigned class_at(str_t name, size_t i)
{
	return i < name.len ? classes[(unsigned char)name.ptr[i]] : 0;
}

/* End of the letters that begin at `start`, up to a change of case that begins a new word. */
static size_t letters_end(str_t name, size_t start)
{
	size_t i = start, len;
	bool was_small = false;
	for (; (len = letter_at(name, i)) > 0; i += len) {
		bool capital = capital_at(name, i);
		if (capital && was_small)
			break;
		/* HTTPServer: the last capital begins the next word */
		size_t next = i + len;
		if (capital && i > start && letter_at(name, next) > 0 && !capital_at(name, next))
			break;
		was_small = !capital;
	}
	return i;
}

/* End of the word that begins at `start`: digits, or such letters. */
static size_t word_end(str_t name, size_t start)
{
	size_t i = start;
	while (class_at(name, i) == DIGIT)
		i++;
	if (i > start)
		return i;
	while (class_at(name, i) == CAPITAL)
		i++;
	bool small = class_at(name, i) == SMALL;
	if (small && i > start + 1)
		return i - 1;
	while (class_at(name, i) == SMALL)
		i++;
	bool ascii = i == name.len || (unsigned char)name.ptr[i] < 0x80;
	return ascii ? i : letters_end(name, start);
}

size_t words_of_name(str_t name, word_id *ret_ids, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < name.len && count < max;) {
		if (class_at(name, i) == 0 && letter_at(name, i) == 0) {
			i++;
			continue;
		}
		char lower[WORD_BYTES_MAX];
		size_t end = word_end(name, i);
		size_t len = word_lower((str_t){ name.ptr + i, end - i }, lower);
		ret_ids[count++] = word_stem(lower, len);
		i = end;
	}
	return count;
}

struct name_words words_keep(str_t name, struct arena *arena)
{
	char lower[WORD_BYTES_MAX];
	word_id ids[NAME_WORDS_MAX];
	size_t count = words_of_name(name, ids, NAME_WORDS_MAX);
	word_id *kept = ARENA_ARRAY(arena, word_id, count);
	for (size_t i = 0; i < count; i++)
		kept[i] = ids[i];
	return (struct name_words){ word_stem(lower, word_lower(name, lower)), kept, count };
}

static size_t slot_of(const struct word_set *set, word_id id)
{
	size_t slot = (size_t)(id ^ id >> 32) % WORD_SET_SLOTS;
	while (word_set_taken(set, slot) && set->slots[slot] != id)
		slot = (slot + 1) % WORD_SET_SLOTS;
	return slot;
}

void word_set_clear(struct word_set *set)
{
	memset(set->taken, 0, sizeof set->taken);
	set->count = 0;
}

void word_set_add(struct word_set *set, word_id id)
{
	if (id == 0 || set->count >= WORD_SET_SLOTS / 4 * 3)
		return;
	size_t slot = slot_of(set, id);
	set->count += !word_set_taken(set, slot);
	set->taken[slot / 64] |= UINT64_C(1) << slot % 64;
	set->slots[slot] = id;
}

bool word_set_has(const struct word_set *set, word_id id)
{
	return id != 0 && word_set_taken(set, slot_of(set, id));
}
