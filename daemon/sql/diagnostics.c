#include "sql/diagnose.h"

static const struct {
	const char *code;
	enum sql_severity severity;
} table[DIAG_COUNT_] = {
#define DIAGNOSTIC(symbol, code, severity, meaning) { code, severity },
#include "sql/diagnostics.def"
#undef DIAGNOSTIC
};

/* Rows of the edit distance are this long; longer names get no hint. */
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

void diagnostics_add(struct diagnostics *diagnostics, enum sql_diagnostic_code code, const char *sub_code,
		     str_t object, int64_t offset, const char *format, ...)
{
	if (diagnostics->count >= DIAGNOSTICS_MAX ||
	    reported(diagnostics, table[code].code, sub_code, object))
		return;
	char message[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof message, format, args);
	va_end(args);
	struct sql_diagnostic item = {
		.code = table[code].code,
		.sub_code = sub_code,
		.severity = table[code].severity,
		.object = arena_text(diagnostics->arena, object.ptr ? object.ptr : "", object.len),
		.message = arena_text(diagnostics->arena, message, strlen(message)),
		.offset = (int64_t)diagnostics->text_offset + (offset > 0 ? offset : 0),
	};
	ARENA_PUSH(diagnostics->arena, diagnostics->items, diagnostics->count, diagnostics->capacity, item);
}

void nearest_init(struct nearest *nearest, str_t name)
{
	*nearest = (struct nearest){ .name = name, .best = STR_NONE, .distance = name.len / 3 + 1 };
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t smaller = a < b ? a : b;
	return smaller < c ? smaller : c;
}

/* Optimal string alignment: insertions, removals, substitutions and swaps of neighbours; three rows. */
static size_t edit_distance(str_t a, str_t b)
{
	size_t rows[3][NEAREST_MAX_BYTES + 1];
	size_t *above2 = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= b.len; j++)
		above[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			bool differ = a.ptr[i - 1] != b.ptr[j - 1];
			row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + differ);
			bool swapped = i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] &&
				       a.ptr[i - 2] == b.ptr[j - 1];
			if (swapped && above2[j - 2] + 1 < row[j])
				row[j] = above2[j - 2] + 1;
		}
		size_t *oldest = above2;
		above2 = above;
		above = row;
		row = oldest;
	}
	return above[b.len];
}

void nearest_offer(struct nearest *nearest, str_t candidate)
{
	size_t apart = candidate.len > nearest->name.len ? candidate.len - nearest->name.len
							 : nearest->name.len - candidate.len;
	if (apart >= nearest->distance || candidate.len > NEAREST_MAX_BYTES ||
	    nearest->name.len > NEAREST_MAX_BYTES)
		return;
	size_t distance = edit_distance(nearest->name, candidate);
	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->best = candidate;
	}
}
