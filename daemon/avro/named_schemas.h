/*
 * Schemas by the names that a registry gave them. Any number of threads find while one adds: finding takes no
 * lock. A name that was added stays, and means the same for good.
 */
#pragma once

#include "avro/framing.h"

struct named_schemas;

/* Room for `most` names. The caller owns it. */
struct named_schemas *named_schemas_new(size_t most);

/* Not what the values are; NULL is fine. */
void named_schemas_free(struct named_schemas *schemas);

/* NULL: not known (yet). Any thread. */
const void *named_schemas_find(const struct named_schemas *schemas, const struct schema_name *name);

/* One thread at a time. False: there is no room. A name that is known keeps its value. */
bool named_schemas_add(struct named_schemas *schemas, const struct schema_name *name, const void *value);

/* Any thread. */
size_t named_schemas_count(const struct named_schemas *schemas);
