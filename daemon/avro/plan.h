/*
 * Plan of how data of one writer's schema becomes one of our structs: fields are bound by name, fields that
 * we do not know are skipped, ones that the writer does not have keep our default, and numbers are promoted
 * as the Avro specification allows. Made once for each schema; immutable, safe in any thread.
 */
#pragma once

#include "avro/bounds.h"
#include "avro/fields.h"
#include "common/arena.h"

struct plan;

/* Plans reading `schema` as `type`. ERR_SCHEMA_INCOMPATIBLE (with the field) when it cannot be read so. The
 * plan lives in the arena and refers to the schema. */
err_t plan_make(const struct schema *schema, const struct record_type *type, struct arena *arena,
		const struct plan **ret_plan, struct err_detail *detail);

/* Decodes `data` (checked by bounds_check before) into `record`, a struct of the plan's type; what it points
 * at comes from the arena. ERR_AVRO_VALUE when a value is one that this record cannot hold, ERR_TEXT_ENCODING
 * when bytes that stand for a text are not UTF-8. */
err_t plan_decode(const struct plan *plan, str_t data, const struct bounds_limits *limits,
		  struct arena *arena, void *record, struct err_detail *detail);
