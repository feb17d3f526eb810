#include "sql/diagnostics.h"

#include "common/edit_distance.h"

static const struct {
	const char *code;
	enum sql_severity severity;
	const char *sqlstate;
} table[DIAG_COUNT_] = {
#define DIAGNOSTIC(symbol, code, severity, sqlstate, meaning) { code, severity, sqlstate },
#include "sql/diagnostics.def"
#undef DIAGNOSTIC
};

/* As long as PostgreSQL's names are; longer ones get no hint. */
#define NEAREST_MAX_BYTES 63

const char *diagnostic_name(enum sql_diagnostic_code code)
{
	return table[code].code;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool reported(const struct diagnostics *diagnostics, const char *code, const char *sub_code,
		     str_t object)
{
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct sql_diagnostic *item = &diagnostics->items[i];
		if (item->code == code && same_text(item->sub_code, sub_code) &&
		    str_equal(item->object, object))
			return true;
	}
	return false;
}

__attribute__((format(printf, 7, 0))) static void add(struct diagnostics *diagnostics,
						      enum sql_diagnostic_code code, const char *sub_code,
						      const char *sqlstate, str_t object, int64_t offset,
						      const char *format, va_list args)
{
	char message[512];
	(void)vsnprintf(message, sizeof message, format, args);
	struct sql_diagnostic item = {
		.code = table[code].code,
		.sub_code = sub_code,
		.severity = table[code].severity,
		.object = arena_text(diagnostics->arena, object.ptr ? object.ptr : "", object.len),
		.message = arena_text(diagnostics->arena, message, strlen(message)),
		.offset = (int64_t)diagnostics->text_offset + (offset > 0 ? offset : 0),
		.sqlstate = sqlstate,
		.order = diagnostics->order++,
	};
	ARENA_PUSH(diagnostics->arena, diagnostics->items, diagnostics->count, diagnostics->capacity, item);
}

static bool has_room(const struct diagnostics *diagnostics, enum sql_diagnostic_code code,
		     const char *sub_code, str_t object)
{
	return diagnostics->count < DIAGNOSTICS_MAX &&
	       !reported(diagnostics, table[code].code, sub_code, object);
}

void diagnostics_add(struct diagnostics *diagnostics, enum sql_diagnostic_code code, const char *sub_code,
		     str_t object, int64_t offset, const char *format, ...)
{
	va_list args;
	if (!has_room(diagnostics, code, sub_code, object))
		return;
	va_start(args, format);
	add(diagnostics, code, sub_code, table[code].sqlstate, object, offset, format, args);
	va_end(args);
}

void diagnostics_add_state(struct diagnostics *diagnostics, enum sql_diagnostic_code code,
			   const char *sub_code, const char *sqlstate, str_t object, int64_t offset,
			   const char *format, ...)
{
	va_list args;
	if (!has_room(diagnostics, code, sub_code, object))
		return;
	va_start(args, format);
	add(diagnostics, code, sub_code, sqlstate, object, offset, format, args);
	va_end(args);
}

void nearest_init(struct nearest *nearest, str_t name)
{
	*nearest = (struct nearest){ .name = name, .best = STR_NONE, .distance = name.len / 3 + 1 };
}

/* Which bytes are in the text, as a set that is exact for lower-case names. */
static uint64_t bytes_of(str_t text)
{
	uint64_t set = 0;
	for (size_t i = 0; i < text.len; i++)
		set |= UINT64_C(1) << ((unsigned char)text.ptr[i] & 63);
	return set;
}

/* Each edit takes away at most one byte and brings at most one. */
static bool may_be_nearer(const struct nearest *nearest, str_t candidate)
{
	size_t apart = candidate.len > nearest->name.len ? candidate.len - nearest->name.len
							 : nearest->name.len - candidate.len;
	if (apart >= nearest->distance)
		return false;
	uint64_t a = bytes_of(nearest->name), b = bytes_of(candidate);
	return (size_t)__builtin_popcountll(a & ~b) < nearest->distance &&
	       (size_t)__builtin_popcountll(b & ~a) < nearest->distance;
}

/* Bytes of the longest beginning that both have, or all of the shorter one where the longer contains it. */
static size_t shared_bytes(str_t a, str_t b)
{
	str_t shorter = a.len < b.len ? a : b, longer = a.len < b.len ? b : a;
	size_t same = 0;
	if (shorter.len * 2 > longer.len && memmem(longer.ptr, longer.len, shorter.ptr, shorter.len))
		return shorter.len;
	while (same < shorter.len && a.ptr[same] == b.ptr[same])
		same++;
	return same;
}

/* Enough in common to be worth a hint: three bytes and more than half of the longer name. */
static void offer_shared(struct nearest *nearest, str_t candidate)
{
	size_t longer = nearest->name.len > candidate.len ? nearest->name.len : candidate.len;
	size_t shorter = nearest->name.len + candidate.len - longer;
	if (shorter * 2 <= longer)
		return;
	size_t shared = shared_bytes(nearest->name, candidate);
	if (shared < 3 || shared * 2 <= longer)
		return;
	bool better =
		shared > nearest->shared || (shared == nearest->shared && candidate.len < nearest->best.len);
	if (!better)
		return;
	nearest->shared = shared;
	nearest->best = candidate;
}

void nearest_offer(struct nearest *nearest, str_t candidate)
{
	bool by_distance = nearest->best.ptr && nearest->shared == 0;
	if (candidate.len > NEAREST_MAX_BYTES || nearest->name.len > NEAREST_MAX_BYTES)
		return;
	size_t distance =
		may_be_nearer(nearest, candidate) ? edit_distance(nearest->name, candidate) : SIZE_MAX;
	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->best = candidate;
		nearest->shared = 0;
	} else if (!by_distance) {
		offer_shared(nearest, candidate);
	}
}
