#include "avro/fields.h"

static void *record_pointer(const struct field *field, const void *record)
{
	void *pointer;
	memcpy(&pointer, field_in(field, record), sizeof pointer);
	return pointer;
}

static size_t *count_at(const struct field *field, void *record)
{
	return (size_t *)(void *)((char *)record + field->count_offset);
}

static bool *set_at(const struct field *field, void *record)
{
	return (bool *)record + field->set_offset;
}

void fields_init(const struct record_type *type, void *record)
{
	memset(record, 0, type->size_bytes);
	for (size_t i = 0; i < type->count; i++)
		field_init(&type->fields[i], record);
}

void field_init(const struct field *field, void *record)
{
	void *at = field_at(field, record);
	switch (field->kind) {
	case FIELD_BOOL:
		if (field_nullable(field))
			*(opt_bool_t *)at = (opt_bool_t)OPT_NONE;
		else
			*(bool *)at = field->fallback != 0;
		break;
	case FIELD_LONG:
	case FIELD_TIME:
		if (field_nullable(field))
			*(opt_int64_t *)at = (opt_int64_t)OPT_NONE;
		else
			*(int64_t *)at = field->fallback;
		break;
	case FIELD_DOUBLE:
		memset(at, 0, field_nullable(field) ? sizeof(opt_double_t) : sizeof(double));
		break;
	case FIELD_TEXT:
		*(str_t *)at = field_nullable(field) ? STR_NONE : STR("");
		break;
	case FIELD_ENUM:
		*(int *)at = field_nullable(field) ? ENUM_ABSENT : (int)field->fallback;
		if (field->unknown_offset)
			*(str_t *)((char *)record + field->unknown_offset) = STR_NONE;
		break;
	case FIELD_RECORD:
		if (field_nullable(field))
			memset(at, 0, sizeof(void *));
		else
			fields_init(field->record, at);
		break;
	case FIELD_ARRAY:
	case FIELD_MAP:
		memset(at, 0, sizeof(void *));
		*count_at(field, record) = 0;
		if (field_nullable(field))
			*set_at(field, record) = false;
		break;
	}
}

bool field_present(const struct field *field, const void *record)
{
	const void *at = field_in(field, record);
	if (!field_nullable(field))
		return true;
	switch (field->kind) {
	case FIELD_BOOL:
		return ((const opt_bool_t *)at)->set;
	case FIELD_LONG:
	case FIELD_TIME:
		return ((const opt_int64_t *)at)->set;
	case FIELD_DOUBLE:
		return ((const opt_double_t *)at)->set;
	case FIELD_TEXT:
		return str_present(*(const str_t *)at);
	case FIELD_ENUM:
		return *(const int *)at != ENUM_ABSENT;
	case FIELD_RECORD:
		return record_pointer(field, record) != NULL;
	default:
		return *((const bool *)record + field->set_offset);
	}
}

const void *field_record(const struct field *field, const void *record)
{
	return field_nullable(field) ? record_pointer(field, record) : field_in(field, record);
}

void *field_make_record(const struct field *field, void *record, struct arena *arena)
{
	void *at = field_at(field, record);
	if (field_nullable(field)) {
		void *content = arena_alloc(arena, field->record->size_bytes);
		memcpy(at, &content, sizeof content);
		at = content;
	}
	fields_init(field->record, at);
	return at;
}

void field_set_bool(const struct field *field, void *record, bool value)
{
	void *at = field_at(field, record);
	if (field_nullable(field))
		*(opt_bool_t *)at = (opt_bool_t){ true, value };
	else
		*(bool *)at = value;
}

void field_set_long(const struct field *field, void *record, int64_t value)
{
	void *at = field_at(field, record);
	if (field_nullable(field))
		*(opt_int64_t *)at = (opt_int64_t){ true, value };
	else
		*(int64_t *)at = value;
}

void field_set_double(const struct field *field, void *record, double value)
{
	void *at = field_at(field, record);
	if (field_nullable(field))
		*(opt_double_t *)at = opt_double(value);
	else
		*(double *)at = value;
}

bool field_bool(const struct field *field, const void *record)
{
	const void *at = field_in(field, record);
	return field_nullable(field) ? ((const opt_bool_t *)at)->value : *(const bool *)at;
}

int64_t field_long(const struct field *field, const void *record)
{
	const void *at = field_in(field, record);
	return field_nullable(field) ? ((const opt_int64_t *)at)->value : *(const int64_t *)at;
}

double field_double(const struct field *field, const void *record)
{
	const void *at = field_in(field, record);
	return field_nullable(field) ? ((const opt_double_t *)at)->value : *(const double *)at;
}

struct field_items field_items(const struct field *field, const void *record)
{
	size_t count;
	memcpy(&count, (const char *)record + field->count_offset, sizeof count);
	return (struct field_items){ record_pointer(field, record), count };
}

void field_set_items(const struct field *field, void *record, struct field_items items)
{
	memcpy(field_at(field, record), &items.data, sizeof items.data);
	*count_at(field, record) = items.count;
	if (field_nullable(field))
		*set_at(field, record) = true;
}

void field_set_unknown(const struct field *field, void *record, str_t symbol, struct arena *arena)
{
	field_init(field, record);
	if (field->unknown_offset)
		*(str_t *)((char *)record + field->unknown_offset) =
			arena_text(arena, symbol.ptr, symbol.len);
}

int field_enumeration_find(const struct enumeration *symbols, str_t symbol)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (str_is(symbol, symbols->symbols[i]))
			return (int)i;
	return -1;
}
