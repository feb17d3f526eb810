#include "target/mariadb_cells.h"

#include <inttypes.h>

#define BINARY_CHARSET	63
#define SHORT_TEXT_SIZE 40
#define MAX_BIT_BYTES	8

/* How a value comes from the library. */
enum kind {
	KIND_TEXT,
	KIND_BYTES,
	KIND_INTEGER,
	KIND_BITS,
	KIND_FLOAT,
	KIND_DOUBLE,
	KIND_DATE,
	KIND_DATETIME,
	KIND_TIME,
};

struct cell {
	enum kind kind;
	union {
		int64_t integer;
		uint64_t natural;
		float single;
		double number;
		MYSQL_TIME time;
		unsigned char bits[MAX_BIT_BYTES];
	} value;
	bool is_unsigned;
	unsigned long len; /* of the value on its way */
	my_bool is_null;
	char text[SHORT_TEXT_SIZE]; /* of kinds whose texts are short */
	size_t text_len;
};

struct mariadb_cells {
	struct cell *items;
	MYSQL_BIND *binds;
	unsigned count;
};

/* --- columns --- */

static const struct {
	enum enum_field_types type;
	enum kind kind;
	enum cell_class class;
} field_types[] = {
	{ MYSQL_TYPE_TINY, KIND_INTEGER, CELL_INTEGER },
	{ MYSQL_TYPE_SHORT, KIND_INTEGER, CELL_INTEGER },
	{ MYSQL_TYPE_INT24, KIND_INTEGER, CELL_INTEGER },
	{ MYSQL_TYPE_LONG, KIND_INTEGER, CELL_INTEGER },
	{ MYSQL_TYPE_LONGLONG, KIND_INTEGER, CELL_INTEGER },
	{ MYSQL_TYPE_YEAR, KIND_INTEGER, CELL_INTEGER },
	{ MYSQL_TYPE_BIT, KIND_BITS, CELL_INTEGER },
	{ MYSQL_TYPE_DECIMAL, KIND_TEXT, CELL_DECIMAL },
	{ MYSQL_TYPE_NEWDECIMAL, KIND_TEXT, CELL_DECIMAL },
	{ MYSQL_TYPE_FLOAT, KIND_FLOAT, CELL_FLOAT },
	{ MYSQL_TYPE_DOUBLE, KIND_DOUBLE, CELL_FLOAT },
	{ MYSQL_TYPE_DATE, KIND_DATE, CELL_DATE },
	{ MYSQL_TYPE_DATETIME, KIND_DATETIME, CELL_TIMESTAMP },
	{ MYSQL_TYPE_TIMESTAMP, KIND_DATETIME, CELL_TIMESTAMP },
	{ MYSQL_TYPE_TIME, KIND_TIME, CELL_TIME },
	{ MYSQL_TYPE_JSON, KIND_TEXT, CELL_JSON },
	{ MYSQL_TYPE_GEOMETRY, KIND_BYTES, CELL_BYTES },
	{ MYSQL_TYPE_NULL, KIND_TEXT, CELL_NULL },
};

/* MariaDB's JSON is a text that says so. */
static bool is_json(const MYSQL_FIELD *field)
{
	MARIADB_CONST_STRING format = { NULL, 0 };
	return mariadb_field_attr(&format, field, MARIADB_FIELD_ATTR_FORMAT_NAME) == 0 &&
	       format.length == 4 && memcmp(format.str, "json", 4) == 0;
}

static enum cell_class describe_field(const MYSQL_FIELD *field, struct cell *cell)
{
	cell->is_unsigned = field->flags & UNSIGNED_FLAG;
	for (size_t i = 0; i < sizeof field_types / sizeof field_types[0]; i++)
		if (field_types[i].type == field->type) {
			cell->kind = field_types[i].kind;
			return field_types[i].class;
		}
	cell->kind = field->charsetnr == BINARY_CHARSET ? KIND_BYTES : KIND_TEXT;
	if (cell->kind == KIND_BYTES)
		return CELL_BYTES;
	return is_json(field) ? CELL_JSON : CELL_TEXT;
}

/* Where the library puts a value; of a long one only how long it is. */
static MYSQL_BIND bind_of(struct cell *cell)
{
	static const enum enum_field_types types[] = {
		[KIND_TEXT] = MYSQL_TYPE_STRING,      [KIND_BYTES] = MYSQL_TYPE_BLOB,
		[KIND_INTEGER] = MYSQL_TYPE_LONGLONG, [KIND_BITS] = MYSQL_TYPE_BLOB,
		[KIND_FLOAT] = MYSQL_TYPE_FLOAT,      [KIND_DOUBLE] = MYSQL_TYPE_DOUBLE,
		[KIND_DATE] = MYSQL_TYPE_DATE,	      [KIND_DATETIME] = MYSQL_TYPE_DATETIME,
		[KIND_TIME] = MYSQL_TYPE_TIME,
	};
	bool is_long = cell->kind == KIND_TEXT || cell->kind == KIND_BYTES;
	return (MYSQL_BIND){
		.buffer_type = types[cell->kind],
		.buffer = is_long ? NULL : &cell->value,
		.buffer_length = is_long		   ? 0
				 : cell->kind == KIND_BITS ? MAX_BIT_BYTES
							   : sizeof cell->value,
		.length = &cell->len,
		.is_null = &cell->is_null,
		.is_unsigned = cell->is_unsigned,
	};
}

struct mariadb_cells *mariadb_cells_new(MYSQL_STMT *statement, struct result_builder *builder)
{
	struct arena *arena = builder->arena;
	MYSQL_RES *fields = mysql_stmt_result_metadata(statement);
	if (!fields)
		return NULL;
	struct mariadb_cells *cells = ARENA_NEW(arena, struct mariadb_cells);
	cells->count = mysql_num_fields(fields);
	cells->items = ARENA_ARRAY(arena, struct cell, cells->count);
	cells->binds = ARENA_ARRAY(arena, MYSQL_BIND, cells->count);
	result_begin(builder, cells->count);
	for (unsigned i = 0; i < cells->count; i++) {
		const MYSQL_FIELD *field = mysql_fetch_field_direct(fields, i);
		builder->columns[i].name = arena_text(arena, field->name, field->name_length);
		builder->columns[i].type = describe_field(field, &cells->items[i]);
		cells->binds[i] = bind_of(&cells->items[i]);
	}
	mysql_free_result(fields);
	return mysql_stmt_bind_result(statement, cells->binds) == 0 ? cells : NULL;
}

/* --- texts of short values --- */

/* The fewest digits that give the number back. */
static int print_float(float number, char *text)
{
	int len = 0;
	for (int digits = 6; digits <= 9; digits++) {
		len = snprintf(text, SHORT_TEXT_SIZE, "%.*g", digits, (double)number);
		if (memcmp(&(float){ strtof(text, NULL) }, &number, sizeof number) == 0)
			break;
	}
	return len;
}

static int print_double(double number, char *text)
{
	int len = 0;
	for (int digits = 15; digits <= 17; digits++) {
		len = snprintf(text, SHORT_TEXT_SIZE, "%.*g", digits, number);
		if (memcmp(&(double){ strtod(text, NULL) }, &number, sizeof number) == 0)
			break;
	}
	return len;
}

static int print_date(const MYSQL_TIME *time, char *text)
{
	return snprintf(text, SHORT_TEXT_SIZE, "%04u-%02u-%02u", time->year, time->month, time->day);
}

/* Without a fraction that is none, so that one value has one text. */
static int print_clock(const MYSQL_TIME *time, char *text, size_t size)
{
	return time->second_part
		       ? snprintf(text, size, "%02u:%02u:%02u.%06lu", time->hour, time->minute, time->second,
				  time->second_part)
		       : snprintf(text, size, "%02u:%02u:%02u", time->hour, time->minute, time->second);
}

/* What is no day of the calendar (0000-00-00) is compared as a text: at midnight it is its date. */
static int print_datetime(const MYSQL_TIME *time, char *text)
{
	int len = print_date(time, text);
	bool midnight = !time->hour && !time->minute && !time->second && !time->second_part;
	if (midnight && (time->month == 0 || time->day == 0))
		return len;
	text[len++] = ' ';
	return len + print_clock(time, text + len, SHORT_TEXT_SIZE - (size_t)len);
}

static int print_time(const MYSQL_TIME *time, char *text)
{
	int len = 0;
	if (time->neg)
		text[len++] = '-';
	return len + print_clock(time, text + len, SHORT_TEXT_SIZE - (size_t)len);
}

/* Bits are the number that they are in an expression. */
static int print_bits(const struct cell *cell, char *text)
{
	uint64_t number = 0;
	for (size_t i = 0; i < cell->len && i < MAX_BIT_BYTES; i++)
		number = number << 8 | cell->value.bits[i];
	return snprintf(text, SHORT_TEXT_SIZE, "%" PRIu64, number);
}

static int print_integer(const struct cell *cell, char *text)
{
	return cell->is_unsigned ? snprintf(text, SHORT_TEXT_SIZE, "%" PRIu64, cell->value.natural)
				 : snprintf(text, SHORT_TEXT_SIZE, "%" PRId64, cell->value.integer);
}

static int print_short(struct cell *cell)
{
	switch (cell->kind) {
	case KIND_INTEGER:
		return print_integer(cell, cell->text);
	case KIND_BITS:
		return print_bits(cell, cell->text);
	case KIND_FLOAT:
		return print_float(cell->value.single, cell->text);
	case KIND_DOUBLE:
		return print_double(cell->value.number, cell->text);
	case KIND_DATE:
		return print_date(&cell->value.time, cell->text);
	case KIND_DATETIME:
		return print_datetime(&cell->value.time, cell->text);
	case KIND_TIME:
		return print_time(&cell->value.time, cell->text);
	case KIND_TEXT:
	case KIND_BYTES:
		break;
	}
	return 0;
}

/* --- rows --- */

size_t mariadb_cells_measure(struct mariadb_cells *cells)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < cells->count; i++) {
		struct cell *cell = &cells->items[i];
		if (cell->is_null)
			continue;
		if (cell->kind == KIND_TEXT)
			cell->text_len = cell->len;
		else if (cell->kind == KIND_BYTES)
			cell->text_len = 2 * cell->len;
		else
			cell->text_len = (size_t)print_short(cell);
		bytes += cell->text_len;
	}
	return bytes;
}

/* `from` is the second half of where it goes to. */
static void spread_hex(char *to, const char *from, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)from[i];
		to[2 * i] = digits[byte >> 4];
		to[2 * i + 1] = digits[byte & 15];
	}
}

static bool write_long(const struct cell *cell, MYSQL_STMT *statement, unsigned column, char *to)
{
	unsigned long len = cell->len;
	my_bool is_null = 0, cut = 0;
	char *place = cell->kind == KIND_BYTES ? to + len : to;
	MYSQL_BIND bind = {
		.buffer_type = cell->kind == KIND_BYTES ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING,
		.buffer = place,
		.buffer_length = cell->len,
		.length = &len,
		.is_null = &is_null,
		.error = &cut,
	};
	if (cell->len > 0 && mysql_stmt_fetch_column(statement, &bind, column, 0) != 0)
		return false;
	if (cell->kind == KIND_BYTES)
		spread_hex(to, place, cell->len);
	return true;
}

bool mariadb_cells_write(struct mariadb_cells *cells, MYSQL_STMT *statement, char *text, str_t *ret_cells)
{
	for (unsigned i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->items[i];
		if (cell->is_null)
			continue;
		if (cell->kind != KIND_TEXT && cell->kind != KIND_BYTES)
			memcpy(text, cell->text, cell->text_len);
		else if (!write_long(cell, statement, i, text))
			return false;
		ret_cells[i] = (str_t){ text, cell->text_len };
		text += cell->text_len + 1;
	}
	return true;
}
