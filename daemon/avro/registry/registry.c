#include "avro/registry/registry.h"

#include "avro/registry/registry_fetch.h"
#include "avro/registry/registry_patience.h"
#include "avro/registry/registry_proof.h"
#include "avro/registry/registry_store.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/pool.h"

#include <inttypes.h>

enum {
	BUCKETS = 4096,
	AT_ONCE_MAX = 8, /* requests under way */
	ROUND_MS = 1000,
	AGAIN_BASE_MS = 500,
	AGAIN_CAP_MS = 30000, /* of one name */
	DOWN_CAP_MS = 5000,   /* of all together: nobody waits longer once the registry is back */
	SURE_MS = 1000,	      /* after which it is asked again for what it said it does not have */
	NEGATIVE_MAX = 4096,  /* names that are known not to be had */
	NEGATIVE_MS = 15000,  /* for how long at first, and at most */
	NEGATIVE_CAP_MS = 300000,
	WANTED_MS = 10000,  /* for how long a name is asked for that nobody waits for */
	PASSED_MS = 300000, /* the same, once it was passed over: who meets it again need not wait again */
	LONG_MS = 10000,    /* a wait that is worth telling */
	LOG_PAUSE_MS = 10000,
	PARTITIONS_MAX = 100000,
};

enum lookup_state { LOOKUP_DUE, LOOKUP_ASKING, LOOKUP_NEGATIVE };

/* A name that is looked up, or known not to be had. */
struct registry_lookup {
	struct registry_lookup *next; /* in its bucket */
	struct list_node node;	      /* among those of its state */
	struct schema_name name;
	enum lookup_state state;
	struct list waits;
	int64_t due_us; /* DUE: when it is to be asked for; NEGATIVE: until when that counts */
	struct backoff again;
	int64_t negative_ms;
	bool absent;		 /* the registry said once that it does not have it */
	int64_t wanted_until_us; /* somebody comes again for it until then */
	int64_t odd_since_us;	 /* since when it is answered, and not as it should be; 0: it is not */
	struct registry_failing failing;
	bool passed_over; /* by those who come again, as the journal knows */
	err_t err;	  /* NEGATIVE: what it is, and why; else what went wrong last, or ERR_OK */
	struct err_detail detail;
	struct err_detail known; /* NEGATIVE: the same for those whom no redrive helps */
	/* the thread's */
	struct registry_fetch *fetch;
	struct registry_request request;
	size_t tried; /* addresses that failed */
	enum registry_outcome failure;
	struct err_detail fault; /* of one of them: what it answered, or else why it did not */
};

struct registry {
	const struct registry_settings *settings;
	struct codec *codec;
	struct registry_http *http;
	struct registry_store *store;
	struct pool *thread;
	struct heartbeat heartbeat;
	size_t url; /* that answered last; the thread's, likewise below */
	int64_t logged_us;
	bool unkept_reported;
	int64_t swept_us;
	struct registry_lookup probe; /* in no list; asked while it has a fetch */

	pthread_mutex_t mutex; /* guards what follows; never held for long */
	bool stopping, ended;
	struct registry_lookup *buckets[BUCKETS];
	struct list due, asking, negative; /* lookups; the negative ones by age */
	struct list waits;		   /* of all lookups, by age */
	struct backoff down_again;
	int64_t down_until_us; /* nobody is asked before */
	struct registry_proof proof;
	struct registry_patience patience;
	int64_t full_since_us; /* since when there is no room for a schema; 0: there is */
	bool full_reported;
	struct err_detail fault;
	unsigned *by_partition; /* how many of each wait */
	size_t partitions;
	struct registry_statistics statistics;
};

/* ---- names; the mutex is held ---- */

static struct registry_lookup **bucket_of(struct registry *registry, const struct schema_name *name)
{
	uint64_t hash = name->by_guid ? hash_seeded(name->guid, sizeof name->guid)
				      : hash_seeded(&name->id, sizeof name->id);
	return &registry->buckets[hash % BUCKETS];
}

static struct registry_lookup *find_lookup(struct registry *registry, const struct schema_name *name)
{
	struct registry_lookup *lookup = *bucket_of(registry, name);
	while (lookup && !framing_same_name(&lookup->name, name))
		lookup = lookup->next;
	return lookup;
}

static bool is_wanted(const struct registry_lookup *lookup, int64_t now_us)
{
	return !list_empty(&lookup->waits) || lookup->wanted_until_us > now_us;
}

static struct list *list_of(struct registry *registry, enum lookup_state state)
{
	return state == LOOKUP_DUE	? &registry->due
	       : state == LOOKUP_ASKING ? &registry->asking
					: &registry->negative;
}

static void set_state(struct registry *registry, struct registry_lookup *lookup, enum lookup_state state)
{
	list_remove(list_of(registry, lookup->state), &lookup->node);
	lookup->state = state;
	list_append(list_of(registry, state), &lookup->node);
}

static struct registry_lookup *add_lookup(struct registry *registry, const struct schema_name *name)
{
	struct registry_lookup *lookup = calloc(1, sizeof *lookup);
	struct registry_lookup **bucket = bucket_of(registry, name);
	if (!lookup)
		abort();
	lookup->name = *name;
	lookup->again = (struct backoff){ .base_ms = AGAIN_BASE_MS, .cap_ms = AGAIN_CAP_MS };
	lookup->negative_ms = NEGATIVE_MS;
	list_init(&lookup->waits);
	lookup->next = *bucket;
	*bucket = lookup;
	list_append(&registry->due, &lookup->node);
	return lookup;
}

/* One that is not under way, and that nobody waits for. */
static void forget(struct registry *registry, struct registry_lookup *lookup)
{
	struct registry_lookup **at = bucket_of(registry, &lookup->name);
	while (*at != lookup)
		at = &(*at)->next;
	*at = lookup->next;
	list_remove(list_of(registry, lookup->state), &lookup->node);
	registry_fetch_free(lookup->fetch);
	registry_request_free(&lookup->request);
	free(lookup);
}

/* ---- waits; the mutex is held ---- */

/* How many wait of that partition; NULL: those of none are not counted. */
static unsigned *partition_count(struct registry *registry, int32_t partition)
{
	if (partition < 0 || partition >= PARTITIONS_MAX)
		return NULL;
	size_t index = (size_t)partition;
	if (index >= registry->partitions) {
		size_t count = index + 64;
		registry->by_partition =
			reallocarray(registry->by_partition, count, sizeof *registry->by_partition);
		if (!registry->by_partition)
			abort();
		memset(registry->by_partition + registry->partitions, 0,
		       (count - registry->partitions) * sizeof *registry->by_partition);
		registry->partitions = count;
	}
	return &registry->by_partition[index];
}

static void count_wait(struct registry *registry, struct registry_wait *wait, bool more)
{
	unsigned *count = partition_count(registry, wait->partition);
	if (!wait->counted)
		return;
	if (more) {
		registry->statistics.waiting++;
		registry->statistics.waiting_bytes += wait->bytes;
	} else {
		registry->statistics.waiting--;
		registry->statistics.waiting_bytes -= wait->bytes;
	}
	if (count)
		*count += more ? 1u : -1u;
}

static void leave_lists(struct registry *registry, struct registry_wait *wait)
{
	list_remove(&wait->lookup->waits, &wait->node);
	list_remove(&registry->waits, &wait->among_all);
	count_wait(registry, wait, false);
}

/* Takes a wait out, to be reported once the mutex is free. */
static void end_wait(struct registry *registry, struct registry_wait *wait, err_t err,
		     const struct err_detail *detail, struct list *ended)
{
	leave_lists(registry, wait);
	wait->err = err;
	if (detail)
		wait->detail = *detail;
	list_append(ended, &wait->node);
}

static void end_waits(struct registry *registry, struct registry_lookup *lookup, err_t err,
		      const struct err_detail *detail, struct list *ended)
{
	while (!list_empty(&lookup->waits)) {
		struct registry_wait *wait =
			container_of(lookup->waits.head.next, struct registry_wait, node);
		bool again = lookup->state == LOOKUP_NEGATIVE && !wait->counted;
		end_wait(registry, wait, err, again ? &lookup->known : detail, ended);
	}
}

static void tell(struct list *ended)
{
	struct list_node *node;
	while ((node = list_take(ended))) {
		struct registry_wait *wait = container_of(node, struct registry_wait, node);
		wait->done(wait);
	}
}

#define MEND "once the registry gives it: assayd redrive --reason schema_unavailable"

/* The first limit that is exceeded with so `many` more events like this one, or NULL. */
static const char *exceeded_limit(struct registry *registry, const struct registry_wait *wait, unsigned many)
{
	const struct registry_settings *settings = registry->settings;
	const unsigned *count = partition_count(registry, wait->partition);
	if (registry->statistics.waiting + many > settings->max_waiting_events)
		return "registry.max_waiting_events";
	if (registry->statistics.waiting_bytes + many * wait->bytes > settings->max_waiting_bytes)
		return "registry.max_waiting_bytes";
	if (count && *count + many > REGISTRY_WAITING_PER_PARTITION)
		return "what the completion map of a partition can hold";
	return NULL;
}

/* Whether more wait than may. */
static bool is_exceeded(const struct registry *registry)
{
	const struct registry_settings *settings = registry->settings;
	bool exceeded = registry->statistics.waiting > settings->max_waiting_events ||
			registry->statistics.waiting_bytes > settings->max_waiting_bytes;
	for (size_t i = 0; i < registry->partitions && !exceeded; i++)
		exceeded = registry->by_partition[i] > REGISTRY_WAITING_PER_PARTITION;
	return exceeded;
}

static const char *fault_of(const struct registry *registry, const struct registry_lookup *lookup)
{
	if (lookup->err)
		return lookup->detail.message;
	return registry->fault.message[0] ? registry->fault.message : "it has not answered yet";
}

/* Whether more may wait for a moment: for an answer that nothing is known against yet. */
static bool is_patient(struct registry *registry, const struct registry_lookup *lookup, int64_t now_us)
{
	return !registry->statistics.down && !lookup->err &&
	       registry_patience_take(&registry->patience, now_us, registry->settings->timeout_ms * 1000);
}

static err_t tell_limit(struct registry *registry, const struct registry_lookup *lookup, const char *limit,
			struct err_detail *detail)
{
	char name[SCHEMA_NAME_SIZE];
	framing_name_text(&lookup->name, name);
	registry->statistics.refused++;
	return err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
			"the schema registry has not given %s yet (%.150s), and %zu events wait for "
			"schemas already, the limit being %s; " MEND,
			name, fault_of(registry, lookup), registry->statistics.waiting, limit);
}

static bool refuse_wait(struct registry *registry, struct registry_wait *wait,
			const struct registry_lookup *lookup, int64_t now_us)
{
	const char *limit = wait->counted ? exceeded_limit(registry, wait, 1) : NULL;
	if (!limit || is_patient(registry, lookup, now_us))
		return false;
	wait->err = tell_limit(registry, lookup, limit, &wait->detail);
	return true;
}

/* Where more wait than may, those that came last go. */
static void end_exceeding(struct registry *registry, struct list *ended)
{
	struct err_detail detail;
	for (struct list_node *node = registry->waits.head.prev, *before; node != &registry->waits.head;
	     node = before) {
		struct registry_wait *wait = container_of(node, struct registry_wait, among_all);
		const char *limit = wait->counted ? exceeded_limit(registry, wait, 0) : NULL;
		before = node->prev;
		if (limit)
			end_wait(registry, wait, tell_limit(registry, wait->lookup, limit, &detail), &detail,
				 ended);
	}
}

static enum registry_answer await(struct registry *registry, struct registry_wait *wait)
{
	int64_t now_us = clock_monotonic_us();
	if (registry->stopping) {
		wait->err = ERR_SHUTTING_DOWN;
		return REGISTRY_REFUSES;
	}
	if (codec_knows_named(registry->codec, &wait->name))
		return REGISTRY_KNOWS;
	struct registry_lookup *lookup = find_lookup(registry, &wait->name);
	if (lookup && lookup->state == LOOKUP_NEGATIVE && lookup->due_us > now_us) {
		wait->err = lookup->err;
		wait->detail = lookup->detail;
		return REGISTRY_REFUSES;
	}
	if (!lookup)
		lookup = add_lookup(registry, &wait->name);
	if (refuse_wait(registry, wait, lookup, now_us))
		return REGISTRY_REFUSES; /* a lookup without waits goes with the next sweep */
	if (lookup->state == LOOKUP_NEGATIVE) {
		lookup->due_us = 0;
		lookup->absent = false;
		lookup->err = ERR_OK;
		lookup->odd_since_us = 0;
		lookup->failing = (struct registry_failing){ 0 };
		set_state(registry, lookup, LOOKUP_DUE);
	}
	wait->lookup = lookup;
	wait->since_us = now_us;
	list_append(&lookup->waits, &wait->node);
	list_append(&registry->waits, &wait->among_all);
	count_wait(registry, wait, true);
	return REGISTRY_WAITS;
}

enum registry_answer registry_await(struct registry *registry, struct registry_wait *wait)
{
	wait->err = ERR_OK;
	wait->counted = true;
	pthread_mutex_lock(&registry->mutex);
	enum registry_answer answer = await(registry, wait);
	pthread_mutex_unlock(&registry->mutex);
	if (answer == REGISTRY_WAITS)
		registry_http_wake(registry->http);
	return answer;
}

/* ---- waits of threads that block ---- */

struct blocked {
	struct registry_wait wait;
	pthread_mutex_t mutex;
	pthread_cond_t reported;
	bool over;
};

static void wake_blocked(struct registry_wait *wait)
{
	struct blocked *blocked = wait->context;
	pthread_mutex_lock(&blocked->mutex);
	blocked->over = true;
	pthread_cond_signal(&blocked->reported);
	pthread_mutex_unlock(&blocked->mutex);
}

/* True: the wait is over. */
static bool wait_until(struct blocked *blocked, const struct timespec *deadline)
{
	int status = 0;
	pthread_mutex_lock(&blocked->mutex);
	while (!blocked->over && status == 0)
		status = deadline ? pthread_cond_timedwait(&blocked->reported, &blocked->mutex, deadline)
				  : pthread_cond_wait(&blocked->reported, &blocked->mutex);
	bool over = blocked->over;
	pthread_mutex_unlock(&blocked->mutex);
	return over;
}

/* Takes back a wait that nobody has ended; one that was ended is about to be reported. */
static void give_up_blocked(struct registry *registry, struct blocked *blocked)
{
	char name[SCHEMA_NAME_SIZE];
	struct registry_wait *wait = &blocked->wait;
	pthread_mutex_lock(&registry->mutex);
	bool mine = wait->among_all.next != NULL;
	if (mine) {
		framing_name_text(&wait->name, name);
		wait->err = err_fail(&wait->detail, ERR_SCHEMA_UNAVAILABLE,
				     "the schema registry has not given %s yet: %s", name,
				     fault_of(registry, wait->lookup));
		leave_lists(registry, wait);
	}
	pthread_mutex_unlock(&registry->mutex);
	if (!mine)
		wait_until(blocked, NULL);
}

static void set_down(struct registry *registry, bool down)
{
	if (registry->statistics.down != down || registry->statistics.since_ms == 0)
		registry->statistics.since_ms = clock_wall_ms();
	registry->statistics.down = down;
}

/* It was asked and has answered, whatever that was worth. */
static void note_up(struct registry *registry)
{
	if (registry->statistics.down)
		log_notice("the schema registry answers again");
	set_down(registry, false);
	registry->down_until_us = 0;
	backoff_reset(&registry->down_again);
}

/* It answers, but never with this schema, or does not answer for it alone: whoever comes again for it does so
 * no longer than events wait. */
static bool is_given_up(const struct registry *registry, const struct registry_lookup *lookup)
{
	int64_t wait_us = registry->settings->wait_ms * 1000;
	return (lookup->odd_since_us && clock_monotonic_us() - lookup->odd_since_us > wait_us) ||
	       registry_fails_alone(&lookup->failing, &registry->proof, wait_us);
}

static enum registry_answer pass_over(struct registry_lookup *lookup, struct registry_wait *wait)
{
	wait->err = ERR_SCHEMA_UNKNOWN;
	if (!lookup->passed_over)
		log_warning(
			"%s; what needs it is passed over; once it is given, assayd calibration --rebuild "
			"counts such records and feedback",
			wait->detail.message);
	lookup->passed_over = true;
	lookup->wanted_until_us = clock_monotonic_us() + INT64_C(1000) * PASSED_MS;
	return REGISTRY_REFUSES;
}

/* What is known for a while, in the words of those whom no redrive helps. There will be room after a start
 * alone, so once that has lasted nobody waits for it. */
static enum registry_answer refuse_again(struct registry *registry, struct registry_wait *wait)
{
	int64_t wait_us = registry->settings->wait_ms * 1000;
	struct registry_lookup *lookup = find_lookup(registry, &wait->name);
	if (!lookup || lookup->state != LOOKUP_NEGATIVE)
		return REGISTRY_REFUSES;
	wait->detail = lookup->known;
	if (wait->err != ERR_SCHEMA_UNAVAILABLE || clock_monotonic_us() - registry->full_since_us <= wait_us)
		return REGISTRY_REFUSES;
	if (registry->full_reported)
		lookup->passed_over = true; /* there may be thousands */
	registry->full_reported = true;
	return pass_over(lookup, wait);
}

/* As `await`, for whoever comes again. `ret_failing`: it is known already that this takes longer. */
static enum registry_answer await_or_come_again(struct registry *registry, struct registry_wait *wait,
						bool *ret_failing)
{
	char name[SCHEMA_NAME_SIZE];
	enum registry_answer answer = await(registry, wait);
	*ret_failing = false;
	if (answer == REGISTRY_REFUSES)
		return refuse_again(registry, wait);
	if (answer != REGISTRY_WAITS)
		return answer;
	struct registry_lookup *lookup = wait->lookup;
	lookup->wanted_until_us =
		clock_monotonic_us() + INT64_C(1000) * (lookup->passed_over ? PASSED_MS : WANTED_MS);
	*ret_failing = registry->statistics.down || lookup->err;
	if (!is_given_up(registry, lookup))
		return REGISTRY_WAITS;
	leave_lists(registry, wait);
	framing_name_text(&wait->name, name);
	err_fail(&wait->detail, ERR_SCHEMA_UNKNOWN,
		 "the schema registry answers, but has not given %s within %" PRId64
		 " s (registry.wait_ms): %.300s",
		 name, registry->settings->wait_ms / 1000, fault_of(registry, lookup));
	if (!lookup->passed_over && registry->proof.since_us)
		note_up(registry);
	return pass_over(lookup, wait);
}

err_t registry_resolve(struct registry *registry, const struct schema_name *name, int64_t timeout_ms,
		       struct err_detail *detail)
{
	struct blocked blocked = { .wait = { .name = *name, .partition = -1, .done = wake_blocked } };
	bool failing;
	blocked.wait.context = &blocked;
	pthread_mutex_init(&blocked.mutex, NULL);
	clock_cond_init(&blocked.reported);
	pthread_mutex_lock(&registry->mutex);
	enum registry_answer answer = await_or_come_again(registry, &blocked.wait, &failing);
	pthread_mutex_unlock(&registry->mutex);
	if (answer == REGISTRY_WAITS) {
		const struct timespec deadline = clock_deadline_after(failing ? 0 : timeout_ms);
		registry_http_wake(registry->http);
		if (!wait_until(&blocked, &deadline))
			give_up_blocked(registry, &blocked);
	}
	pthread_cond_destroy(&blocked.reported);
	pthread_mutex_destroy(&blocked.mutex);
	if (blocked.wait.err)
		return err_fail(detail, blocked.wait.err, "%s",
				err_message(blocked.wait.err, &blocked.wait.detail));
	return ERR_OK;
}

/* ---- what became of lookups; the thread ---- */

static void note_down(struct registry *registry, const struct err_detail *detail)
{
	if (!registry->statistics.down)
		log_warning("the schema registry cannot be asked; events with schemas that are not known yet "
			    "wait, and others go on: %s",
			    detail->message);
	set_down(registry, true);
	registry->fault = *detail;
	registry->down_until_us =
		clock_monotonic_us() + INT64_C(1000) * backoff_next_ms(&registry->down_again);
}

static void note_odd(struct registry *registry, const struct registry_lookup *lookup)
{
	char name[SCHEMA_NAME_SIZE];
	int64_t now_us = clock_monotonic_us();
	if (registry->logged_us && now_us - registry->logged_us < INT64_C(1000) * LOG_PAUSE_MS)
		return;
	registry->logged_us = now_us;
	framing_name_text(&lookup->name, name);
	log_warning("the schema registry does not give %s: %s; it is asked again", name,
		    lookup->detail.message);
}

static void retry(struct registry *registry, struct registry_lookup *lookup, int64_t delay_ms)
{
	registry_fetch_free(TAKE_PTR(lookup->fetch));
	lookup->tried = 0;
	lookup->due_us = clock_monotonic_us() + delay_ms * 1000;
	set_state(registry, lookup, LOOKUP_DUE);
}

/* Those who come again need not wait for the next attempt. */
static void end_blocked(struct registry *registry, struct registry_lookup *lookup, struct list *ended)
{
	char name[SCHEMA_NAME_SIZE];
	struct err_detail detail;
	framing_name_text(&lookup->name, name);
	err_fail(&detail, ERR_SCHEMA_UNAVAILABLE, "the schema registry has not given %s yet: %s", name,
		 lookup->detail.message);
	LIST_FOREACH_SAFE (node, &lookup->waits) {
		struct registry_wait *wait = container_of(node, struct registry_wait, node);
		if (!wait->counted)
			end_wait(registry, wait, ERR_SCHEMA_UNAVAILABLE, &detail, ended);
	}
}

/* What is known for a while: events with that name need not wait. `what` is wrong, how that is mended, and
 * what is to be done for events then. */
static void settle_negative(struct registry *registry, struct registry_lookup *lookup, err_t err,
			    const char *what, const char *reason, const char *mend, const char *then,
			    struct list *ended)
{
	char name[SCHEMA_NAME_SIZE];
	framing_name_text(&lookup->name, name);
	err_fail(&lookup->known, err, "%s of the schema registry %s: %.220s; %s", name, what, reason, mend);
	lookup->err = err_fail(&lookup->detail, err, "%.400s%s", lookup->known.message, then);
	lookup->due_us = clock_monotonic_us() + lookup->negative_ms * 1000;
	lookup->negative_ms =
		lookup->negative_ms * 2 < NEGATIVE_CAP_MS ? lookup->negative_ms * 2 : NEGATIVE_CAP_MS;
	registry_fetch_free(TAKE_PTR(lookup->fetch));
	lookup->tried = 0;
	set_state(registry, lookup, LOOKUP_NEGATIVE);
	end_waits(registry, lookup, err, &lookup->detail, ended);
	if (registry->negative.count > NEGATIVE_MAX)
		forget(registry, container_of(registry->negative.head.next, struct registry_lookup, node));
}

static void settle_absent(struct registry *registry, struct registry_lookup *lookup, const char *reason,
			  struct list *ended)
{
	registry->statistics.unknown++;
	settle_negative(registry, lookup, ERR_SCHEMA_UNKNOWN, "is not to be had", reason,
			"register it there, or set registry.urls to where its writer has it",
			", then: assayd redrive --reason unknown_schema", ended);
}

static void settle_refused(struct registry *registry, struct registry_lookup *lookup, const char *reason,
			   struct list *ended)
{
	settle_negative(registry, lookup, ERR_SCHEMA_INCOMPATIBLE, "cannot be read", reason,
			"its writer has to publish with another one", "", ended);
}

static void settle_full(struct registry *registry, struct registry_lookup *lookup, const char *reason,
			struct list *ended)
{
	settle_negative(registry, lookup, ERR_SCHEMA_UNAVAILABLE, "is not learnt", reason,
			"raise that and start again", ", then: assayd redrive --reason schema_unavailable",
			ended);
	if (!registry->full_since_us)
		registry->full_since_us = clock_monotonic_us();
}

static void keep(struct registry *registry, const struct registry_lookup *lookup)
{
	struct err_detail detail = { "" };
	err_t err = registry_store_write(registry->store, &lookup->name, registry_fetch_schema(lookup->fetch),
					 &detail);
	if (err && !registry->unkept_reported)
		log_warning("schemas of the registry are not kept for the next start: %s",
			    err_message(err, &detail));
	registry->unkept_reported = err != ERR_OK;
}

/* The codec learns it, which takes a while, without the mutex; the lookup is this thread's meanwhile. */
static void complete(struct registry *registry, struct registry_lookup *lookup, struct list *ended)
{
	struct err_detail detail = { "" };
	err_t err = codec_learn_named(registry->codec, &lookup->name, registry_fetch_schema(lookup->fetch),
				      &detail);
	if (!err)
		keep(registry, lookup);
	pthread_mutex_lock(&registry->mutex);
	note_up(registry);
	if (err == ERR_SCHEMA_UNAVAILABLE) {
		settle_full(registry, lookup, detail.message, ended);
	} else if (err) {
		settle_refused(registry, lookup, err_message(err, &detail), ended);
	} else {
		end_waits(registry, lookup, ERR_OK, NULL, ended);
		forget(registry, lookup);
	}
	pthread_mutex_unlock(&registry->mutex);
}

static void ask(struct registry *registry, struct registry_lookup *lookup)
{
	lookup->request.path = registry_fetch_path(lookup->fetch);
	lookup->request.url = (registry->url + lookup->tried) % registry->settings->urls_count;
	registry_http_start(registry->http, &lookup->request);
}

/* What it says to a name that it does not have tells whether it is there while another one fails. */
static void start_probe(struct registry *registry)
{
	static const struct schema_name nobodys = { .id = INT32_MAX };
	if (registry->probe.fetch)
		return;
	registry->probe.fetch = registry_fetch_new(&nobodys);
	registry->probe.tried = 0;
	ask(registry, &registry->probe);
}

static void end_probe(struct registry *registry)
{
	registry_fetch_free(TAKE_PTR(registry->probe.fetch));
	registry_request_free(&registry->probe.request);
}

static void take_probe(struct registry *registry)
{
	struct registry_lookup *probe = &registry->probe;
	struct err_detail detail;
	enum registry_outcome outcome = registry_fetch_take(probe->fetch, &probe->request, &detail);
	bool failed = outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD;
	bool last = !failed || ++probe->tried == registry->settings->urls_count;
	pthread_mutex_lock(&registry->mutex);
	registry->statistics.requests++;
	registry->statistics.errors += failed;
	if (!failed)
		registry_proof_give(&registry->proof, clock_monotonic_us());
	else if (last)
		registry_proof_miss(&registry->proof);
	pthread_mutex_unlock(&registry->mutex);
	if (last)
		end_probe(registry);
	else
		ask(registry, probe);
}

/* No answer in time is no answer, even if the connection was there. */
static void note_answered(struct registry_lookup *lookup, enum registry_outcome outcome)
{
	if (outcome != REGISTRY_ODD || !lookup->request.answered)
		lookup->odd_since_us = 0;
	else if (!lookup->odd_since_us)
		lookup->odd_since_us = clock_monotonic_us();
}

/* Whoever comes again waits no longer for a name that fails alone, and nobody else does on its account. */
static bool note_failing(struct registry *registry, struct registry_lookup *lookup,
			 enum registry_outcome outcome)
{
	bool failed = outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD;
	int64_t now_us = clock_monotonic_us();
	if (failed)
		registry_fails(&lookup->failing, &registry->proof, now_us);
	else
		lookup->failing = (struct registry_failing){ 0 };
	return failed && lookup->wanted_until_us > now_us;
}

/* An attempt that came to nothing. */
static void fail(struct registry *registry, struct registry_lookup *lookup, enum registry_outcome outcome,
		 const struct err_detail *detail, struct list *ended)
{
	pthread_mutex_lock(&registry->mutex);
	if (outcome != REGISTRY_UNAVAILABLE)
		note_up(registry);
	lookup->detail = *detail;
	lookup->err = ERR_SCHEMA_UNAVAILABLE;
	note_answered(lookup, outcome);
	bool probes = note_failing(registry, lookup, outcome);
	bool alone = lookup->passed_over && registry->proof.since_us;
	if (outcome == REGISTRY_ABSENT && lookup->absent) {
		settle_absent(registry, lookup, detail->message, ended);
	} else if (outcome == REGISTRY_REFUSED) {
		settle_refused(registry, lookup, detail->message, ended);
	} else if (outcome == REGISTRY_ABSENT) { /* it may have been registered just now, elsewhere */
		lookup->absent = true;
		retry(registry, lookup, SURE_MS);
	} else if (outcome == REGISTRY_UNAVAILABLE && !alone) {
		note_down(registry, detail);
		retry(registry, lookup, 0);
	} else {
		note_odd(registry, lookup);
		retry(registry, lookup, backoff_next_ms(&lookup->again));
	}
	if (lookup->state == LOOKUP_DUE)
		end_blocked(registry, lookup, ended);
	if (registry->patience.until_us && outcome != REGISTRY_ABSENT && outcome != REGISTRY_REFUSED) {
		registry_patience_spend(&registry->patience, clock_monotonic_us(),
					registry->settings->wait_ms * 1000);
		end_exceeding(registry, ended);
	}
	pthread_mutex_unlock(&registry->mutex);
	if (probes)
		start_probe(registry);
}

/* Of several addresses, that which answered says most. */
static void note_fault(const struct registry *registry, struct registry_lookup *lookup,
		       enum registry_outcome outcome, const struct err_detail *detail)
{
	bool several = registry->settings->urls_count > 1;
	if (lookup->tried > 0 && lookup->request.status == 0)
		return;
	lookup->failure = outcome;
	err_fail(&lookup->fault, ERR_SCHEMA_UNAVAILABLE, "%.100s%s%s",
		 several ? registry->settings->urls[lookup->request.url] : "", several ? ": " : "",
		 detail->message);
}

static void take_answer(struct registry *registry, struct registry_request *request, struct list *ended)
{
	struct registry_lookup *lookup = container_of(request, struct registry_lookup, request);
	struct err_detail detail = { "" };
	enum registry_outcome outcome = registry_fetch_take(lookup->fetch, request, &detail);
	bool failed = outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD;
	registry_request_free(request); /* of thousands that wait for another try each may have been large */
	pthread_mutex_lock(&registry->mutex);
	registry->statistics.requests++;
	registry->statistics.errors += failed;
	if (!failed)
		registry_proof_give(&registry->proof, clock_monotonic_us());
	pthread_mutex_unlock(&registry->mutex);
	if (failed)
		note_fault(registry, lookup, outcome, &detail);
	else
		registry->url = request->url;
	if (outcome == REGISTRY_MORE || (failed && ++lookup->tried < registry->settings->urls_count)) {
		if (outcome == REGISTRY_MORE)
			lookup->tried = 0;
		ask(registry, lookup);
	} else if (outcome == REGISTRY_COMPLETE) {
		complete(registry, lookup, ended);
	} else if (failed) {
		fail(registry, lookup, lookup->failure, &lookup->fault, ended);
	} else {
		fail(registry, lookup, outcome, &detail, ended);
	}
}

/* ---- the thread ---- */

/* Those whose time has come; while nobody answers, one at a time, in turn. */
static size_t take_due(struct registry *registry, struct registry_lookup *taken[AT_ONCE_MAX])
{
	size_t count = 0;
	int64_t now_us = clock_monotonic_us();
	size_t most = registry->statistics.down ? 1 : AT_ONCE_MAX;
	if (registry->down_until_us > now_us)
		return 0;
	LIST_FOREACH_SAFE (node, &registry->due) {
		struct registry_lookup *lookup = container_of(node, struct registry_lookup, node);
		if (registry->asking.count >= most)
			break;
		if (lookup->due_us > now_us || !is_wanted(lookup, now_us))
			continue;
		set_state(registry, lookup, LOOKUP_ASKING);
		taken[count++] = lookup;
	}
	return count;
}

static void start_due(struct registry *registry)
{
	struct registry_lookup *taken[AT_ONCE_MAX];
	pthread_mutex_lock(&registry->mutex);
	size_t count = registry->stopping ? 0 : take_due(registry, taken);
	pthread_mutex_unlock(&registry->mutex);
	for (size_t i = 0; i < count; i++) {
		taken[i]->fetch = registry_fetch_new(&taken[i]->name);
		ask(registry, taken[i]);
	}
}

/* Waits that have lasted too long, that nobody wants any more; lookups that nobody waits for. */
static void sweep(struct registry *registry, struct list *ended)
{
	int64_t now_us = clock_monotonic_us();
	struct err_detail detail;
	if (now_us - registry->swept_us < INT64_C(1000) * ROUND_MS)
		return;
	registry->swept_us = now_us;
	pthread_mutex_lock(&registry->mutex);
	LIST_FOREACH_SAFE (node, &registry->waits) {
		struct registry_wait *wait = container_of(node, struct registry_wait, among_all);
		char name[SCHEMA_NAME_SIZE];
		bool late = wait->counted && now_us - wait->since_us > registry->settings->wait_ms * 1000;
		if (!late && (!wait->wanted || wait->wanted(wait)))
			continue;
		framing_name_text(&wait->name, name);
		err_fail(&detail, ERR_SCHEMA_UNAVAILABLE,
			 "the schema registry has not given %s within %" PRId64
			 " s (registry.wait_ms): %.200s; " MEND,
			 name, registry->settings->wait_ms / 1000, fault_of(registry, wait->lookup));
		registry->statistics.refused += late;
		end_wait(registry, wait, ERR_SCHEMA_UNAVAILABLE, &detail, ended);
	}
	if (registry_patience_is_over(&registry->patience, is_exceeded(registry), now_us,
				      registry->settings->wait_ms * 1000))
		end_exceeding(registry, ended);
	LIST_FOREACH_SAFE (node, &registry->due) {
		struct registry_lookup *lookup = container_of(node, struct registry_lookup, node);
		if (!is_wanted(lookup, now_us))
			forget(registry, lookup);
	}
	pthread_mutex_unlock(&registry->mutex);
}

/* Until something is due, at most a round. */
static int64_t pause_ms(struct registry *registry)
{
	int64_t now_us = clock_monotonic_us(), first_us = now_us + INT64_C(1000) * ROUND_MS;
	pthread_mutex_lock(&registry->mutex);
	bool full = registry->asking.count >= (registry->statistics.down ? 1 : AT_ONCE_MAX);
	LIST_FOREACH (node, &registry->due) {
		const struct registry_lookup *lookup = container_of(node, struct registry_lookup, node);
		int64_t due_us =
			lookup->due_us > registry->down_until_us ? lookup->due_us : registry->down_until_us;
		if (!full && !registry->stopping && is_wanted(lookup, now_us) && due_us < first_us)
			first_us = due_us;
	}
	pthread_mutex_unlock(&registry->mutex);
	return first_us > now_us ? (first_us - now_us + 999) / 1000 : 0;
}

static bool has_ended(struct registry *registry)
{
	pthread_mutex_lock(&registry->mutex);
	bool ended = registry->ended;
	pthread_mutex_unlock(&registry->mutex);
	return ended;
}

static void registry_main(void *context, unsigned index)
{
	struct registry *registry = context;
	(void)index;
	while (!has_ended(registry)) {
		struct list finished = LIST_INIT(finished), ended = LIST_INIT(ended);
		struct list_node *node;
		heartbeat_beat(&registry->heartbeat);
		start_due(registry);
		registry_http_run(registry->http, pause_ms(registry), &finished);
		while ((node = list_take(&finished))) {
			struct registry_request *request = container_of(node, struct registry_request, node);
			if (request == &registry->probe.request)
				take_probe(registry);
			else
				take_answer(registry, request, &ended);
		}
		sweep(registry, &ended);
		tell(&ended);
	}
	LIST_FOREACH (node, &registry->asking)
		registry_http_cancel(registry->http,
				     &container_of(node, struct registry_lookup, node)->request);
	if (registry->probe.fetch)
		registry_http_cancel(registry->http, &registry->probe.request);
	end_probe(registry);
	heartbeat_stop(&registry->heartbeat);
}

/* ---- life ---- */

static void learn_kept(void *context, const struct schema_name *name, str_t schema)
{
	struct registry *registry = context;
	struct err_detail detail = { "" };
	char text[SCHEMA_NAME_SIZE];
	err_t err = codec_knows_named(registry->codec, name) /* it writes with it */
			    ? ERR_OK
			    : codec_learn_named(registry->codec, name, schema, &detail);
	framing_name_text(name, text);
	if (err)
		log_warning("%s of the registry, which was kept, is asked for again: %s", text,
			    err_message(err, &detail));
}

struct registry *registry_start(const struct registry_settings *settings, struct codec *codec)
{
	struct registry *registry = calloc(1, sizeof *registry);
	if (!registry)
		abort();
	registry->settings = settings;
	registry->codec = codec;
	registry->down_again = (struct backoff){ .base_ms = AGAIN_BASE_MS, .cap_ms = DOWN_CAP_MS };
	registry->http = registry_http_new(settings);
	registry->store = registry_store_new(settings->state_directory, settings->urls, settings->urls_count);
	pthread_mutex_init(&registry->mutex, NULL);
	list_init(&registry->due);
	list_init(&registry->asking);
	list_init(&registry->negative);
	list_init(&registry->waits);
	registry_store_read(registry->store, settings->max_schemas, learn_kept, registry);
	registry->heartbeat.name = "registry";
	heartbeat_beat(&registry->heartbeat);
	registry->thread = pool_start("registry", 1, registry_main, registry);
	return registry;
}

size_t registry_give_up(struct registry *registry)
{
	struct list ended = LIST_INIT(ended);
	if (!registry)
		return 0;
	pthread_mutex_lock(&registry->mutex);
	registry->stopping = true;
	LIST_FOREACH_SAFE (node, &registry->waits)
		end_wait(registry, container_of(node, struct registry_wait, among_all), ERR_SHUTTING_DOWN,
			 NULL, &ended);
	pthread_mutex_unlock(&registry->mutex);
	size_t count = ended.count;
	tell(&ended);
	return count;
}

static void forget_all(struct registry *registry, struct list *lookups)
{
	LIST_FOREACH_SAFE (node, lookups)
		forget(registry, container_of(node, struct registry_lookup, node));
}

void registry_stop(struct registry *registry)
{
	if (!registry)
		return;
	registry_give_up(registry);
	pthread_mutex_lock(&registry->mutex);
	registry->ended = true;
	pthread_mutex_unlock(&registry->mutex);
	registry_http_wake(registry->http);
	pool_join(registry->thread);
	forget_all(registry, &registry->due);
	forget_all(registry, &registry->asking);
	forget_all(registry, &registry->negative);
	registry_http_free(registry->http);
	registry_store_free(registry->store);
	pthread_mutex_destroy(&registry->mutex);
	free(registry->by_partition);
	free(registry);
}

/* ---- what is reported of it ---- */

static int64_t oldest_ms(const struct registry *registry)
{
	LIST_FOREACH (node, &registry->waits) {
		const struct registry_wait *wait = container_of(node, struct registry_wait, among_all);
		if (wait->counted)
			return (clock_monotonic_us() - wait->since_us) / 1000;
	}
	return 0;
}

void registry_statistics(struct registry *registry, struct registry_statistics *ret_statistics)
{
	pthread_mutex_lock(&registry->mutex);
	*ret_statistics = registry->statistics;
	ret_statistics->oldest_ms = oldest_ms(registry);
	if (registry->statistics.down)
		ret_statistics->fault = registry->fault;
	pthread_mutex_unlock(&registry->mutex);
	ret_statistics->schemas = codec_named_count(registry->codec);
}

void registry_describe(struct registry *registry, struct buf *out)
{
	if (!registry)
		return;
	pthread_mutex_lock(&registry->mutex);
	size_t waiting = registry->statistics.waiting;
	int64_t waited_ms = oldest_ms(registry);
	if (registry->statistics.down)
		buf_printf(out, "the schema registry cannot be asked, and %zu events wait for it: %s",
			   waiting, registry->fault.message);
	else if (waited_ms > LONG_MS)
		buf_printf(out,
			   "%zu events wait for schemas that the registry does not give, for %" PRId64
			   " s: %s",
			   waiting, waited_ms / 1000,
			   fault_of(registry,
				    container_of(registry->waits.head.next, struct registry_wait, among_all)
					    ->lookup));
	pthread_mutex_unlock(&registry->mutex);
}

struct heartbeat *registry_heartbeat(struct registry *registry)
{
	return &registry->heartbeat;
}
