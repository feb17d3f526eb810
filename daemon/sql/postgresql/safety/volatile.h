/*
 * What of a catalog may have side effects without looking like a call: types whose input functions or checks
 * are volatile, types that are compared by volatile functions, volatile casts. Most catalogs have none.
 *
 * Lives in the arena that it was made in, as long as the catalog. Pure.
 */
#pragma once

#include "sql/catalog/content.h"

struct volatile_objects;

/* Never NULL; `catalog` may be. */
const struct volatile_objects *volatile_objects_of(const struct catalog *catalog, struct arena *arena);

/* Whether converting something to the type runs volatile code. Unsure: whether that is so for any type. */
bool volatile_type(const struct volatile_objects *objects, type_id type);

/* Whether comparing two values of the type, or sorting them, runs volatile code; also of what it is made of.
 * Unsure, or a row of unknown columns: whether that is so for any type. */
bool volatile_comparison(const struct volatile_objects *objects, type_id type);

/* Whether a conversion between the types may run a volatile cast; an unsure one stands for any. */
bool volatile_cast(const struct volatile_objects *objects, type_id source, type_id target);
