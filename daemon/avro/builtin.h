/* The schemas under schemas/, compiled in: static, for any thread. */
#pragma once

#include "avro/fields.h"

enum record_id { RECORD_QUERY, RECORD_SCORED, RECORD_ADVISORY, RECORD_FEEDBACK, RECORD_COUNT_ };

/* The schema's JSON text. */
str_t builtin_schema(enum record_id id);

/* The table of the record. */
const struct record_type *builtin_record(enum record_id id);
