/*
 * Binding of records to structs: one table per record type, from which Avro and JSON are read and written
 * alike. The order of a table is the order of the fields in the schema (codec_new checks it).
 *
 * How a value that may be absent lies in its struct: texts have a NULL pointer, records are pointers and
 * NULL, enumerations are ENUM_ABSENT, numbers and booleans are opt_*, arrays have a flag beside them.
 * Everything else lies there by value, sub-records included.
 *
 * Pure; texts and items are not copied, they live where the codec or the record's maker put them.
 */
#pragma once

#include "avro/advisory.h"
#include "common/arena.h"

enum field_kind {
	FIELD_BOOL,
	FIELD_LONG,
	FIELD_TIME, /* a long in Avro, ms since 1970; JSON also takes ISO 8601 */
	FIELD_DOUBLE,
	FIELD_TEXT,
	FIELD_ENUM,
	FIELD_RECORD,
	FIELD_ARRAY, /* pointer to items, and their count */
	FIELD_MAP,   /* the same; an item is a struct of a str_t key and a value */
};

enum field_flags {
	FIELD_NULLABLE = 1, /* may be absent; missing means absent */
	FIELD_REQUIRED = 2, /* has no default: a writer must have it */
	FIELD_OBVIOUS = 4,  /* required of programs; a person may leave it out */
};

struct enumeration {
	const char *const *symbols;
	size_t count;
};

struct record_type {
	const char *name;
	size_t size_bytes;
	const struct field *fields;
	size_t count;
};

struct field {
	const char *name;
	enum field_kind kind;
	unsigned flags;
	size_t offset;
	size_t count_offset;		   /* FIELD_ARRAY, FIELD_MAP */
	size_t set_offset;		   /* FIELD_ARRAY | FIELD_NULLABLE: bool, the array is there */
	size_t item_size_bytes;		   /* FIELD_ARRAY, FIELD_MAP */
	const struct field *item;	   /* the same: an item's value as a field of the item */
	const struct record_type *record;  /* FIELD_RECORD */
	const struct enumeration *symbols; /* FIELD_ENUM */
	size_t unknown_offset; /* FIELD_ENUM: a str_t for a symbol that is none of ours; 0: it is forgotten */
	int64_t fallback;      /* default of a FIELD_BOOL, FIELD_LONG or FIELD_ENUM that is not required */
};

extern const struct record_type GENERATED_QUERY_RECORD;
extern const struct record_type SCORED_QUERY_RECORD;
extern const struct record_type ADVISORY_RECORD;
extern const struct record_type QUERY_FEEDBACK_RECORD;

extern const struct enumeration ADVISORY_KINDS;
extern const struct enumeration CONFIDENCE_LEVELS;
extern const struct enumeration DISPOSITION_ACTIONS;

/* The struct with every field at its default: absent, empty, or the fallback. */
void fields_init(const struct record_type *type, void *record);

/* Puts the default into one field. */
void field_init(const struct field *field, void *record);

/* Where the field lies in its struct. */
static inline void *field_at(const struct field *field, void *record)
{
	return (char *)record + field->offset;
}

static inline const void *field_in(const struct field *field, const void *record)
{
	return (const char *)record + field->offset;
}

static inline bool field_nullable(const struct field *field)
{
	return field->flags & FIELD_NULLABLE;
}

/* Whether the field has a value (one that is not nullable always has). */
bool field_present(const struct field *field, const void *record);

/* The content of a FIELD_RECORD that is present. */
const void *field_record(const struct field *field, const void *record);

/* Setters; a nullable field becomes present. */
void field_set_bool(const struct field *field, void *record, bool value);
void field_set_long(const struct field *field, void *record, int64_t value);
void field_set_double(const struct field *field, void *record, double value);

/* Space for the content of a FIELD_RECORD, at its defaults: the embedded struct, or a new one from the arena.
 */
void *field_make_record(const struct field *field, void *record, struct arena *arena);

/* A symbol that is none of ours: the field is at its default, and keeps the text where it has a place for it.
 */
void field_set_unknown(const struct field *field, void *record, str_t symbol, struct arena *arena);

/* Getters; the field is present. */
bool field_bool(const struct field *field, const void *record);
int64_t field_long(const struct field *field, const void *record);
double field_double(const struct field *field, const void *record);

/* Items of a FIELD_ARRAY or FIELD_MAP. */
struct field_items {
	char *data;
	size_t count;
};
struct field_items field_items(const struct field *field, const void *record);

/* Replaces them; a nullable array becomes present. */
void field_set_items(const struct field *field, void *record, struct field_items items);

/* Index of the symbol, or −1. */
int field_enumeration_find(const struct enumeration *symbols, str_t symbol);
