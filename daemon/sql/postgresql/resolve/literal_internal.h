/*
 * Input syntax of PostgreSQL's types, kind by kind, for type_literal.c. Each says what PostgreSQL's own
 * reader would say of a literal: NULL: it reads it; LITERAL_DOUBT: that depends on what is not known here
 * (settings, time zones, versions); else the SQLSTATE (static) of its refusal. Texts end with a NUL. Pure;
 * any thread.
 *
 * type_literal.c and literal_nested.c recurse into each other as types are made of types, as deep as the
 * context counts.
 */
#pragma once

#include "sql/postgresql/resolve/type_literal.h"

#define BAD_TEXT       "22P02"
#define OUT_OF_RANGE   "22003"
#define BAD_DATETIME   "22007"
#define FIELD_OVERFLOW "22008"

typedef const char *literal_fault;
extern const char LITERAL_DOUBT[];

static inline bool literal_is_refused(literal_fault fault)
{
	return fault && fault != LITERAL_DOUBT;
}

/* Whether it is a refusal with that SQLSTATE. */
static inline bool literal_fault_is(literal_fault fault, const char *sqlstate)
{
	return fault && strcmp(fault, sqlstate) == 0;
}

static inline bool literal_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool literal_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool literal_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- literal_fields.c: what dates, times and intervals have in common ---- */

#define LITERAL_FIELDS_MAX   25
#define LITERAL_DATETIME_MAX 100 /* bytes; longer ones are in doubt */

enum literal_field_kind {
	FIELD_NUMBER, /* digits and at most a point */
	FIELD_DATE,   /* with signs between, or letters and digits: a date or the name of a time zone */
	FIELD_TIME,   /* with colons */
	FIELD_WORD,
	FIELD_SIGNED_WORD,
	FIELD_SIGNED_NUMBER
};

struct literal_field {
	enum literal_field_kind kind;
	char *text; /* in lower case; readers may cut it */
};

struct literal_fields {
	struct literal_field items[LITERAL_FIELDS_MAX];
	size_t count;
	char buffer[LITERAL_DATETIME_MAX + LITERAL_FIELDS_MAX + 2];
};

/* Words of dates; most are also bits of what was read. */
enum date_word {
	WORD_RESERVED,
	WORD_MONTH,
	WORD_YEAR,
	WORD_DAY,
	WORD_JULIAN,
	WORD_ZONE,
	WORD_SUMMER_ZONE,
	WORD_IGNORED,
	WORD_MERIDIAN,
	WORD_HOUR,
	WORD_MINUTE,
	WORD_SECOND,
	WORD_MILLISECOND,
	WORD_MICROSECOND,
	WORD_DAY_OF_YEAR,
	WORD_WEEKDAY,
	WORD_UNIT,
	WORD_ERA,
	WORD_ISO_TIME,
	WORD_SUMMER,
	WORD_WEEK,
	WORD_DECADE,
	WORD_CENTURY,
	WORD_MILLENNIUM,
	WORD_OTHER_UNIT,
	WORD_UNKNOWN
};

/* Values of WORD_RESERVED. */
enum { RESERVED_INFINITY, RESERVED_EPOCH, RESERVED_NOW, RESERVED_DAY, RESERVED_ZULU };

/* The kind of the word, in lower case; `ret_value`: which of its kind. */
enum date_word literal_date_word(const char *word, int *ret_value);
/* A unit of intervals: which one, or WORD_UNKNOWN. */
enum date_word literal_interval_unit(const char *word);

/* Takes the text apart, which is at most LITERAL_DATETIME_MAX bytes. False: nothing reads it so. */
bool literal_fields_read(const char *text, struct literal_fields *ret_fields);

/* What strtol reads, within 32 bits; false: outside. `ret_end` is behind it. */
bool literal_int(const char *text, char **ret_end, int *ret_value);
/* ".5": the fraction of a number, to its end. */
bool literal_fraction(const char *text, double *ret_fraction);

struct literal_clock {
	int64_t hours;
	int minutes, seconds;
	bool has_seconds;
	double fraction;
};

/* "12:30:15.5" */
literal_fault literal_clock_read(const char *text, struct literal_clock *ret_clock);

/* ---- The kinds ---- */

literal_fault literal_date(const char *text);	   /* literal_date.c: also timestamps */
literal_fault literal_timestamp(const char *text); /* the same with the ends of timestamps */
literal_fault literal_time(const char *text);
literal_fault literal_interval(const char *text);	   /* literal_interval.c */
literal_fault literal_json(const char *text, bool binary); /* literal_json.c */

/* literal_address.c */
literal_fault literal_inet(const char *text, bool is_network);
literal_fault literal_mac(const char *text);
literal_fault literal_mac8(const char *text);
/* literal_shape.c */
literal_fault literal_shape(type_id type, const char *text);

/* literal_name.c: types whose values are names of the catalog's objects. A name that a complete catalog does
 * not have is refused. */
literal_fault literal_name(const struct catalog *catalog, type_id type, const char *text);

/* literal_nested.c */
struct literal_context {
	const struct catalog *catalog;
	unsigned depth;
};
literal_fault literal_array(const struct literal_context *context, type_id element, const char *text);
literal_fault literal_row(const struct literal_context *context, const struct catalog_type *type,
			  const char *text);
literal_fault literal_range(const struct literal_context *context, const struct catalog_type *type,
			    const char *text);
literal_fault literal_multirange(const struct literal_context *context, const struct catalog_type *type,
				 const char *text);

/* type_literal.c: any type; `context` counts how deep it stands. */
literal_fault literal_of(const struct literal_context *context, type_id type, const char *text);
