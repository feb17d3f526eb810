#include "sql/findings/diagnostics.h"

static const struct {
	const char *code;
	enum sql_severity severity;
	const char *sqlstate;
	const char *meaning;
} table[DIAG_COUNT_] = {
#define DIAGNOSTIC(symbol, code, severity, sqlstate, meaning) { code, severity, sqlstate, meaning },
#include "sql/findings/diagnostics.def"
#undef DIAGNOSTIC
};

static const struct {
	enum sql_diagnostic_code code;
	const char *sub_code;
	const char *meaning;
} sub_table[SUB_COUNT_] = {
#define SUB_CODE(of, symbol, sub_code, meaning) [SUB_##of##_##symbol] = { DIAG_##of, sub_code, meaning },
#include "sql/findings/sub_codes.def"
#undef SUB_CODE
};

const char *diagnostic_name(enum sql_diagnostic_code code)
{
	return table[code].code;
}

const char *diagnostic_meaning(enum sql_diagnostic_code code)
{
	return table[code].meaning;
}

bool diagnostic_is_error(enum sql_diagnostic_code code)
{
	return table[code].severity == SQL_ERROR;
}

const char *diagnostic_sub_name(enum diagnostic_sub_code sub_code)
{
	return sub_table[sub_code].sub_code;
}

const char *diagnostic_sub_meaning(enum diagnostic_sub_code sub_code)
{
	return sub_table[sub_code].meaning;
}

enum sql_diagnostic_code diagnostic_of_sub(enum diagnostic_sub_code sub_code)
{
	return sub_table[sub_code].code;
}

static bool reported(const struct diagnostics *diagnostics, const char *code, const char *sub_code,
		     str_t object)
{
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct sql_diagnostic *item = &diagnostics->items[i];
		if (item->code == code && item->sub_code == sub_code && str_equal(item->object, object))
			return true;
	}
	return false;
}

__attribute__((format(printf, 7, 0))) static void
add(struct diagnostics *diagnostics, enum sql_diagnostic_code code, enum diagnostic_sub_code sub_code,
    const char *sqlstate, str_t object, int64_t offset, const char *format, va_list args)
{
	char message[512];
	(void)vsnprintf(message, sizeof message, format, args);
	struct sql_diagnostic item = {
		.code = table[code].code,
		.sub_code = sub_table[sub_code].sub_code,
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
		     enum diagnostic_sub_code sub_code, str_t object)
{
	return diagnostics->count < DIAGNOSTICS_MAX &&
	       !reported(diagnostics, table[code].code, sub_table[sub_code].sub_code, object);
}

void diagnostics_add(struct diagnostics *diagnostics, enum sql_diagnostic_code code,
		     enum diagnostic_sub_code sub_code, str_t object, int64_t offset, const char *format, ...)
{
	va_list args;
	if (!has_room(diagnostics, code, sub_code, object))
		return;
	va_start(args, format);
	add(diagnostics, code, sub_code, table[code].sqlstate, object, offset, format, args);
	va_end(args);
}

void diagnostics_add_state(struct diagnostics *diagnostics, enum sql_diagnostic_code code,
			   enum diagnostic_sub_code sub_code, const char *sqlstate, str_t object,
			   int64_t offset, const char *format, ...)
{
	va_list args;
	if (!has_room(diagnostics, code, sub_code, object))
		return;
	va_start(args, format);
	add(diagnostics, code, sub_code, sqlstate, object, offset, format, args);
	va_end(args);
}
