#include "sql/findings/violations.h"

static const char *const names[] = {
#define VIOLATION(symbol, code, text) [VIOLATION_##symbol] = (code),
#include "sql/findings/violations.def"
#undef VIOLATION
};

const char *violation_name(enum sql_violation_code code)
{
	return names[code];
}

struct violations violations_begin(const struct sql_analysis *analysis, struct arena *arena)
{
	return (struct violations){ .arena = arena,
				    .text_offset = analysis->text_offset,
				    .doubt = analysis->doubt,
				    .items = analysis->violations,
				    .count = analysis->violations_count,
				    .capacity = analysis->violations_count };
}

void violations_add(struct violations *violations, enum sql_violation_code code, int64_t offset,
		    const char *format, ...)
{
	char detail[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(detail, sizeof detail, format, arguments);
	va_end(arguments);
	int64_t position = (int64_t)violations->text_offset + (offset > 0 ? offset : 0);
	if (violations->count >= VIOLATIONS_MAX)
		return;
	for (size_t i = 0; i < violations->count; i++)
		if (violations->items[i].code == names[code] && violations->items[i].offset == position &&
		    str_is(violations->items[i].detail, detail))
			return;
	ARENA_PUSH(violations->arena, violations->items, violations->count, violations->capacity,
		   (struct sql_violation){ .code = names[code],
					   .detail = arena_text(violations->arena, detail, strlen(detail)),
					   .offset = position });
}

void violations_doubt(struct violations *violations, const char *format, ...)
{
	char reason[256];
	va_list arguments;
	if (str_present(violations->doubt))
		return;
	va_start(arguments, format);
	vsnprintf(reason, sizeof reason, format, arguments);
	va_end(arguments);
	violations->doubt = arena_text(violations->arena, reason, strlen(reason));
}

void violations_end(const struct violations *violations, const struct sql_request *request,
		    struct sql_analysis *analysis)
{
	analysis->violations = violations->items;
	analysis->violations_count = violations->count;
	analysis->doubt = violations->doubt;
	if (!str_present(analysis->doubt) && request->target_named && !request->catalog)
		analysis->doubt = STR("the target's catalog cannot be had");
	if (violations->count > 0)
		analysis->verdict = SQL_UNSAFE;
	else if (str_present(analysis->doubt))
		analysis->verdict = SQL_UNKNOWN;
	else
		analysis->verdict = SQL_SAFE;
}
