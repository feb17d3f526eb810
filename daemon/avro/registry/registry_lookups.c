#include "avro/registry/registry_lookups.h"

#include "common/hash.h"

enum {
	AGAIN_BASE_MS = 500, /* between attempts of one name */
	AGAIN_CAP_MS = 30000,
	NEGATIVE_MS = 15000, /* for how long it counts at first that it is not to be had */
	SLICE_DOUBLINGS_MAX = 8,
};

void registry_lookups_init(struct registry_lookups *lookups)
{
	for (enum lookup_state state = LOOKUP_NEW; state < LOOKUP_STATES; state++)
		list_init(&lookups->by_state[state]);
}

static struct registry_lookup **bucket_of(struct registry_lookups *lookups, const struct schema_name *name)
{
	uint64_t hash = name->by_guid ? hash_seeded(name->guid, sizeof name->guid)
				      : hash_seeded(&name->id, sizeof name->id);
	return &lookups->buckets[hash % REGISTRY_BUCKETS];
}

struct registry_lookup *registry_lookups_find(struct registry_lookups *lookups,
					      const struct schema_name *name)
{
	struct registry_lookup *lookup = *bucket_of(lookups, name);
	while (lookup && !framing_same_name(&lookup->name, name))
		lookup = lookup->next;
	return lookup;
}

static void enter(struct registry_lookups *lookups, struct registry_lookup *lookup)
{
	struct list *list = &lookups->by_state[lookup->state];
	struct list_node *next = &list->head;
	while (lookup->state == LOOKUP_AGAIN && next->prev != &list->head &&
	       registry_lookup_of(next->prev)->due_us > lookup->due_us)
		next = next->prev;
	list_insert_before(list, next, &lookup->node);
}

struct registry_lookup *registry_lookups_add(struct registry_lookups *lookups, const struct schema_name *name,
					     enum lookup_state state)
{
	struct registry_lookup *lookup = calloc(1, sizeof *lookup);
	struct registry_lookup **bucket = bucket_of(lookups, name);
	if (!lookup)
		abort();
	lookup->name = *name;
	lookup->again = (struct backoff){ .base_ms = AGAIN_BASE_MS, .cap_ms = AGAIN_CAP_MS };
	lookup->negative_ms = NEGATIVE_MS;
	list_init(&lookup->waits);
	lookup->next = *bucket;
	*bucket = lookup;
	lookup->state = state;
	enter(lookups, lookup);
	return lookup;
}

void registry_lookup_set(struct registry_lookups *lookups, struct registry_lookup *lookup,
			 enum lookup_state state)
{
	list_remove(&lookups->by_state[lookup->state], &lookup->node);
	lookup->state = state;
	enter(lookups, lookup);
}

void registry_lookup_forget(struct registry_lookups *lookups, struct registry_lookup *lookup)
{
	struct registry_lookup **at = bucket_of(lookups, &lookup->name);
	while (*at != lookup)
		at = &(*at)->next;
	*at = lookup->next;
	list_remove(&lookups->by_state[lookup->state], &lookup->node);
	registry_fetch_free(lookup->fetch);
	registry_request_free(&lookup->request);
	free(lookup);
}

/* ---- places ---- */

/* The lists that attempts of a kind come from and are in while they are under way, and how many may be. */
static const struct registry_places {
	enum lookup_state from, to;
	size_t most;
} PLACES[] = { [REGISTRY_FIRST] = { LOOKUP_FIRST, LOOKUP_ASKING_FIRST, REGISTRY_FIRST_MAX },
	       [REGISTRY_AGAIN] = { LOOKUP_AGAIN, LOOKUP_ASKING_AGAIN, REGISTRY_AGAIN_MAX } };

/* When it has had its place for long enough. */
static int64_t end_us(const struct registry_lookup *lookup)
{
	unsigned doublings = lookup->failures < SLICE_DOUBLINGS_MAX ? lookup->failures : SLICE_DOUBLINGS_MAX;
	return lookup->asked_us + ((INT64_C(1000) * REGISTRY_SLICE_MS) << doublings);
}

size_t registry_lookups_under_way(const struct registry_lookups *lookups)
{
	return lookups->by_state[LOOKUP_ASKING_FIRST].count + lookups->by_state[LOOKUP_ASKING_AGAIN].count;
}

size_t registry_lookups_take(struct registry_lookups *lookups, enum registry_kind kind, size_t most,
			     int64_t now_us, struct registry_lookup **taken)
{
	const struct registry_places *places = &PLACES[kind];
	size_t count = 0;
	LIST_FOREACH_SAFE (node, &lookups->by_state[places->from]) {
		struct registry_lookup *lookup = registry_lookup_of(node);
		if (count == most || lookups->by_state[places->to].count >= places->most ||
		    lookup->due_us > now_us)
			break;
		if (!registry_lookup_is_wanted(lookup, now_us))
			continue;
		lookup->asked_us = now_us;
		registry_lookup_set(lookups, lookup, places->to);
		taken[count++] = lookup;
	}
	return count;
}

/* How many wait for a place, as far as it matters; 0 where one is free. */
static size_t count_kept_out(const struct registry_lookups *lookups, const struct registry_places *places,
			     int64_t now_us)
{
	size_t count = 0, most = lookups->by_state[places->to].count;
	if (most < places->most)
		return 0;
	LIST_FOREACH (node, &lookups->by_state[places->from]) {
		if (count == most || registry_lookup_of(node)->due_us > now_us)
			break;
		count += registry_lookup_is_wanted(registry_lookup_of(node), now_us);
	}
	return count;
}

size_t registry_lookups_spent(const struct registry_lookups *lookups, enum registry_kind kind, int64_t now_us,
			      struct registry_lookup **spent)
{
	const struct registry_places *places = &PLACES[kind];
	size_t count = 0, most = count_kept_out(lookups, places, now_us);
	LIST_FOREACH (node, &lookups->by_state[places->to]) {
		struct registry_lookup *lookup = registry_lookup_of(node);
		bool answered = !lookup->request.handle;
		if (count < most && !answered && end_us(lookup) <= now_us)
			spent[count++] = lookup;
	}
	return count;
}

int64_t registry_lookups_next_us(const struct registry_lookups *lookups, enum registry_kind kind,
				 int64_t begin_us, int64_t now_us)
{
	const struct registry_places *places = &PLACES[kind];
	const struct registry_lookup *first = NULL;
	int64_t free_us = INT64_MAX;
	LIST_FOREACH (node, &lookups->by_state[places->from])
		if (registry_lookup_is_wanted(registry_lookup_of(node), now_us)) {
			first = registry_lookup_of(node);
			break;
		}
	if (!first)
		return INT64_MAX;
	int64_t due_us = first->due_us > begin_us ? first->due_us : begin_us;
	if (lookups->by_state[places->to].count < places->most)
		return due_us;
	LIST_FOREACH (node, &lookups->by_state[places->to])
		if (end_us(registry_lookup_of(node)) < free_us)
			free_us = end_us(registry_lookup_of(node));
	return due_us > free_us ? due_us : free_us;
}
