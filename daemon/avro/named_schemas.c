#include "avro/named_schemas.h"

#include "common/hash.h"

#include <stdatomic.h>

struct entry {
	struct schema_name name;
	const void *value;
};

/* Open addressing, at most half full, so that looking for what is not there ends soon. */
struct named_schemas {
	size_t most, capacity;
	_Atomic size_t count;
	_Atomic(struct entry *) slots[];
};

struct named_schemas *named_schemas_new(size_t most)
{
	size_t capacity = 16;
	while (capacity < most * 2)
		capacity *= 2;
	struct named_schemas *schemas = calloc(1, sizeof *schemas + capacity * sizeof schemas->slots[0]);
	if (!schemas)
		abort();
	schemas->most = most;
	schemas->capacity = capacity;
	return schemas;
}

void named_schemas_free(struct named_schemas *schemas)
{
	for (size_t i = 0; schemas && i < schemas->capacity; i++)
		free(atomic_load(&schemas->slots[i]));
	free(schemas);
}

static size_t slot_of(const struct named_schemas *schemas, const struct schema_name *name)
{
	uint64_t hash = name->by_guid ? hash_seeded(name->guid, sizeof name->guid)
				      : hash_seeded(&name->id, sizeof name->id);
	return (size_t)hash & (schemas->capacity - 1);
}

const void *named_schemas_find(const struct named_schemas *schemas, const struct schema_name *name)
{
	size_t slot = slot_of(schemas, name);
	for (;;) {
		const struct entry *entry = atomic_load_explicit(&schemas->slots[slot], memory_order_acquire);
		if (!entry)
			return NULL;
		if (framing_same_name(&entry->name, name))
			return entry->value;
		slot = (slot + 1) & (schemas->capacity - 1);
	}
}

bool named_schemas_add(struct named_schemas *schemas, const struct schema_name *name, const void *value)
{
	if (named_schemas_find(schemas, name))
		return true;
	if (atomic_load(&schemas->count) >= schemas->most)
		return false;
	struct entry *entry = malloc(sizeof *entry);
	if (!entry)
		abort();
	*entry = (struct entry){ *name, value };
	size_t slot = slot_of(schemas, name);
	while (atomic_load(&schemas->slots[slot]))
		slot = (slot + 1) & (schemas->capacity - 1);
	atomic_store_explicit(&schemas->slots[slot], entry, memory_order_release);
	atomic_fetch_add(&schemas->count, 1);
	return true;
}

size_t named_schemas_count(const struct named_schemas *schemas)
{
	return atomic_load(&schemas->count);
}
