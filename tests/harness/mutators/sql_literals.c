#include "tests/harness/mutators/sql_literals.h"

static const struct {
	const char *type;
	const char *text;
} literals[] = {
#define LITERAL(type, text) { type, text },
#include "tests/harness/mutators/sql_literals.def"
#undef LITERAL
};

#define LITERALS_COUNT (sizeof literals / sizeof literals[0])

static size_t below(uint64_t *random, size_t limit)
{
	*random += 0x9e3779b97f4a7c15U;
	uint64_t mixed = (*random ^ *random >> 30) * 0xbf58476d1ce4e5b9U;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
	return (size_t)((mixed ^ mixed >> 31) % limit);
}

static char other_byte(uint64_t *random)
{
	static const char bytes[] = "0123456789 -:/.,+()[]{}\"\\eTZxabdmyhs";
	return bytes[below(random, sizeof bytes - 1)];
}

str_t sql_literal_broken(str_t text, uint64_t *random, struct arena *arena)
{
	size_t at = text.len > 0 ? below(random, text.len) : 0;
	str_t before = { text.ptr, at }, from = { text.ptr + at, text.len - at };
	str_t after = from.len > 0 ? (str_t){ from.ptr + 1, from.len - 1 } : from;
	switch (below(random, 6)) {
	case 0:
		return arena_printf(arena, STR_FMT STR_FMT, STR_ARG(before), STR_ARG(after));
	case 1:
		return arena_printf(arena, STR_FMT "%.*s" STR_FMT, STR_ARG(before), from.len > 0, from.ptr,
				    STR_ARG(from));
	case 2:
		return arena_printf(arena, STR_FMT "%c" STR_FMT, STR_ARG(before), other_byte(random),
				    STR_ARG(after));
	case 3:
		return arena_printf(arena, STR_FMT "%c" STR_FMT, STR_ARG(before), other_byte(random),
				    STR_ARG(from));
	case 4: {
		str_t other = str_from(literals[below(random, LITERALS_COUNT)].text);
		size_t cut = below(random, other.len + 1);
		return arena_printf(arena, STR_FMT "%.*s", STR_ARG(before), (int)cut, other.ptr);
	}
	default:
		if (after.len == 0)
			return arena_str(arena, before);
		return arena_printf(arena, STR_FMT "%c%c%.*s", STR_ARG(before), after.ptr[0], from.ptr[0],
				    (int)(after.len - 1), after.ptr + 1);
	}
}

static str_t quote(str_t text, struct arena *arena)
{
	bool escapes = memchr(text.ptr, '\\', text.len) != NULL;
	str_t quoted = escapes ? STR("E'") : STR("'");
	for (size_t i = 0; i < text.len; i++) {
		bool twice = text.ptr[i] == '\'' || (escapes && text.ptr[i] == '\\');
		quoted = arena_printf(arena, STR_FMT "%s%c", STR_ARG(quoted),
				      twice ? (char[]){ text.ptr[i], '\0' } : "", text.ptr[i]);
	}
	return arena_printf(arena, STR_FMT "'", STR_ARG(quoted));
}

struct sql_literal sql_literal_for(uint64_t seed, struct arena *arena)
{
	uint64_t random = seed;
	size_t chosen = below(&random, LITERALS_COUNT), type = chosen;
	str_t text = str_from(literals[chosen].text);
	if (below(&random, 12) == 0)
		type = below(&random, LITERALS_COUNT);
	for (size_t breaks = below(&random, 4); breaks > 0; breaks--)
		text = sql_literal_broken(text, &random, arena);
	return (struct sql_literal){ literals[type].type, text, quote(text, arena) };
}
