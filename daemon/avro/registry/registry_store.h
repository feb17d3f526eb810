/*
 * Schemas of a registry in the state directory, so that a start while the registry is away can go on reading:
 * a file each, which says whose it is and its own digest. Files are hostile when they are read: what is torn,
 * changed or another registry's is no schema. All of them together are bounded: those that were written, or
 * touched, longest ago go first. One thread, but that any may find, and has ids of subjects.
 */
#pragma once

#include "avro/framing.h"
#include "common/buf.h"

/* Bytes of a schema that is kept. */
#define REGISTRY_STORED_MAX ((size_t)4 << 20)

struct registry_store;

/* NULL where there is no directory. `urls` tells registries apart: ids of another one mean other schemas. */
struct registry_store *registry_store_new(const char *directory, const char *const *urls, size_t urls_count);
void registry_store_free(struct registry_store *store);

/* Looks what is there, of whichever registry, and removes the oldest of it until it has `max_bytes` at most,
 * as it does from then on, which it does not before. For who keeps them; NULL is fine here and below. */
void registry_store_bound(struct registry_store *store, size_t max_bytes);

/* Calls `found` for every schema of this registry, the newest first, `most` at most, until it returns false.
 */
typedef bool registry_stored_fn(void *context, const struct schema_name *name);
void registry_store_each(const struct registry_store *store, size_t most, registry_stored_fn *found,
			 void *context);

/* Appends the schema that is kept of a name. False: there is none, or it is not as it was written, or nobody
 * may read it here. Changes nothing on the disk, and may be another process than the one that keeps them, at
 * any time. */
bool registry_store_find(const struct registry_store *store, const struct schema_name *name,
			 struct buf *schema);

/* The same for who keeps them: a file that is not what it should be is removed. */
bool registry_store_load(struct registry_store *store, const struct schema_name *name, struct buf *schema);

/* It counts as the newest from now on. */
void registry_store_touch(struct registry_store *store, const struct schema_name *name);

/* One that has more than all may have is not kept. ERR_IO: the detail says why. */
err_t registry_store_write(struct registry_store *store, const struct schema_name *name, str_t schema,
			   struct err_detail *detail);

/* The id that a subject had for exactly that schema, 0: none is kept; and to keep it. */
uint32_t registry_store_id(const struct registry_store *store, const char *subject, str_t schema);
err_t registry_store_write_id(const struct registry_store *store, const char *subject, str_t schema,
			      uint32_t id, struct err_detail *detail);
