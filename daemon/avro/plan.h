/*
 * Plan of how data of one writer's schema becomes one of our structs, by the rules of schema resolution of
 * the Avro specification (1.11, "Schema Resolution"), as Apache's implementation in Java applies them:
 *
 *   - fields are bound by name, or by an alias of the reader's; those that we do not know are skipped, those
 *     that the writer does not have keep our default;
 *   - numbers are promoted, strings and bytes read as one another, as long as they are UTF-8;
 *   - enumerations must have the reader's name, without its namespace, or one of its aliases; records need
 *     none, but aliases of fields only count in a record that has it;
 *   - what does not fit in a branch of a union, in items or values is refused when it comes, not before.
 *
 * Beyond them, a timestamp of the writer's in microseconds or nanoseconds, by its logical type, is converted
 * to the milliseconds of ours, rounded down: resolution itself takes its number as it is. And a symbol that
 * the reader's enumeration neither has nor has another for leaves a field that has a default at it, and keeps
 * the symbol's text where the struct has a place for it: the record tells of it.
 *
 * Made once for each schema; immutable, safe in any thread.
 */
#pragma once

#include "avro/bounds.h"
#include "avro/fields.h"
#include "common/arena.h"

struct plan;

/* Plans reading `writer` as `type`, whose own schema is `reader` (encode_matches). ERR_SCHEMA_INCOMPATIBLE
 * (with the field) when no value of it can be read so, or when the plan would be too large. The plan lives in
 * the arena and refers to the writer's schema, no longer to the reader's. */
err_t plan_make(const struct schema *writer, const struct schema *reader, const struct record_type *type,
		struct arena *arena, const struct plan **ret_plan, struct err_detail *detail);

/* Decodes `data` (checked by bounds_check before) into `record`, a struct of the plan's type; what it points
 * at comes from the arena. ERR_AVRO_VALUE when a value is one that this record cannot hold, ERR_TEXT_ENCODING
 * when bytes that stand for a text are not UTF-8. */
err_t plan_decode(const struct plan *plan, str_t data, const struct bounds_limits *limits,
		  struct arena *arena, void *record, struct err_detail *detail);
