/* The schemas under schemas/, compiled in: static, for any thread. */
#pragma once

#include "avro/fields.h"

enum record_id { RECORD_QUERY, RECORD_SCORED, RECORD_ADVISORY, RECORD_FEEDBACK, RECORD_COUNT_ };

/* The schema's JSON text. */
str_t builtin_schema(enum record_id id);

/* Schemas as they were before they were added to (schemas/former): producers and topics that have not moved
 * on are read by them. Absent behind the last one. */
str_t builtin_former_schema(size_t index);

/* The table of the record. */
const struct record_type *builtin_record(enum record_id id);
