#include "avro/registry/registry.h"

#include "avro/registry/registry_addresses.h"
#include "avro/registry/registry_lookups.h"
#include "avro/registry/registry_patience.h"
#include "avro/registry/registry_store.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"

#include <inttypes.h>

enum {
	EXCUSED_MAX = 3, /* attempts that count for nothing */
	START_MS = 2000, /* that schemas from the disk are learnt before anything else is done */
	WORK_MS = 50,	 /* that answers are learnt, or files, between two looks at the network */
	ROUND_MS = 1000,
	AGAIN_BASE_MS = 500,
	DOWN_CAP_MS = 5000,  /* of all together: nobody waits longer once the registry is back */
	SURE_MS = 1000,	     /* after which it is asked again for what it said it does not have */
	NEGATIVE_MAX = 4096, /* names that are known not to be had */
	NEGATIVE_CAP_MS = 300000,
	WANTED_MS = 10000,  /* for how long a name is asked for that nobody waits for */
	PASSED_MS = 300000, /* the same, once it was passed over: who meets it again need not wait again */
	LONG_MS = 10000,    /* a wait that is worth telling */
	LOG_PAUSE_MS = 10000,
	PARTITIONS_MAX = 100000,
};

struct registry {
	const struct registry_settings *settings;
	struct codec *codec;
	struct registry_http *http;
	struct registry_store *store;
	struct pool *thread;
	struct heartbeat heartbeat;
	struct registry_addresses addresses; /* the thread's, likewise below */
	struct list finished;		     /* requests, whose answers are to be taken */
	bool unkept_reported;
	int64_t swept_us;
	struct registry_lookup probe; /* in no list; asked while it has a fetch */

	pthread_mutex_t mutex; /* guards what follows; never held for long */
	bool stopping, ended;
	struct registry_lookups lookups;
	struct list waits; /* of all lookups, by age */
	struct backoff down_again;
	int64_t down_until_us; /* nobody is asked before */
	size_t turn;	       /* of the kinds of attempts, while one is asked for at a time */
	struct registry_proof proof;
	struct registry_patience patience;
	int64_t logged_us;     /* when the journal was last told of one name that fails */
	int64_t full_since_us; /* since when there is no room for a schema; 0: there is */
	bool full_reported;
	struct err_detail fault;
	unsigned *by_partition; /* how many of each wait */
	size_t partitions;
	struct registry_statistics statistics;
};

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
	return !registry->statistics.down && (!lookup->err || lookup->cut) &&
	       registry_patience_take(&registry->patience, now_us, registry->settings->timeout_ms * 1000);
}

static err_t tell_limit(struct registry *registry, const struct registry_lookup *lookup, const char *limit,
			struct err_detail *detail)
{
	char name[SCHEMA_NAME_SIZE];
	framing_name_text(&lookup->name, name);
	registry->statistics.refused++;
	return err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
			"the schema registry has not given %s yet (%.200s), and %zu events wait for "
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

/* Where more wait than may, those that came last go; `only`: of those for that name, or NULL. */
static void end_exceeding(struct registry *registry, const struct registry_lookup *only, struct list *ended)
{
	struct err_detail detail;
	for (struct list_node *node = registry->waits.head.prev, *before; node != &registry->waits.head;
	     node = before) {
		struct registry_wait *wait = container_of(node, struct registry_wait, among_all);
		bool meant = wait->counted && (!only || wait->lookup == only);
		const char *limit = meant ? exceeded_limit(registry, wait, 0) : NULL;
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
	struct registry_lookup *lookup = registry_lookups_find(&registry->lookups, &wait->name);
	if (lookup && lookup->state == LOOKUP_NEGATIVE && lookup->due_us > now_us) {
		wait->err = lookup->err;
		wait->detail = lookup->detail;
		return REGISTRY_REFUSES;
	}
	if (!lookup)
		lookup = registry_lookups_add(&registry->lookups, &wait->name,
					      registry->store ? LOOKUP_NEW : LOOKUP_FIRST);
	if (refuse_wait(registry, wait, lookup, now_us))
		return REGISTRY_REFUSES; /* a lookup without waits goes with the next sweep */
	if (lookup->state == LOOKUP_NEGATIVE) {
		lookup->due_us = 0;
		lookup->absent = false;
		lookup->err = ERR_OK;
		lookup->odd_since_us = 0;
		lookup->failing = (struct registry_failing){ 0 };
		registry_lookup_set(&registry->lookups, lookup, LOOKUP_AGAIN);
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

/* A name fails while others are answered. The journal has each once, and not too many of them. */
static void note_alone(struct registry *registry, struct registry_lookup *lookup)
{
	char name[SCHEMA_NAME_SIZE];
	int64_t now_us = clock_monotonic_us();
	if (lookup->logged)
		return;
	if (registry->logged_us && now_us - registry->logged_us < INT64_C(1000) * LOG_PAUSE_MS)
		return;
	registry->logged_us = now_us;
	lookup->logged = true;
	framing_name_text(&lookup->name, name);
	log_warning("the schema registry answers, but does not give %s: %s; events that need it wait, and it "
		    "is asked again",
		    name, lookup->detail.message);
}

/* Whether those that failed, and of which that was not known yet, did so alone. If not, they are due when
 * the registry is tried again. */
static void settle_unsure(struct registry *registry, bool alone)
{
	LIST_FOREACH_SAFE (node, &registry->lookups.by_state[LOOKUP_AGAIN]) {
		struct registry_lookup *lookup = registry_lookup_of(node);
		if (!lookup->unsure)
			continue;
		lookup->unsure = false;
		if (alone)
			note_alone(registry, lookup);
		if (alone || lookup->again_ms)
			continue;
		lookup->due_us = clock_monotonic_us();
		registry_lookup_set(&registry->lookups, lookup, LOOKUP_AGAIN);
	}
}

/* It was asked, whoever did, and has answered as a registry does. */
static void note_up(struct registry *registry)
{
	if (registry->statistics.down)
		log_notice("the schema registry answers again");
	set_down(registry, false);
	registry_proof_give(&registry->proof, clock_monotonic_us());
	registry->down_until_us = 0;
	backoff_reset(&registry->down_again);
	settle_unsure(registry, true);
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
	struct registry_lookup *lookup = registry_lookups_find(&registry->lookups, &wait->name);
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
	*ret_failing = lookup->err || (registry->statistics.down && lookup->state != LOOKUP_NEW);
	if (!is_given_up(registry, lookup))
		return REGISTRY_WAITS;
	leave_lists(registry, wait);
	framing_name_text(&wait->name, name);
	err_fail(&wait->detail, ERR_SCHEMA_UNKNOWN,
		 "the schema registry answers, but has not given %s within %" PRId64
		 " s (registry.wait_ms): %.300s",
		 name, registry->settings->wait_ms / 1000, fault_of(registry, lookup));
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

/* Nobody is answered: all wait together. */
static void note_down(struct registry *registry, const struct err_detail *detail)
{
	int64_t now_us = clock_monotonic_us();
	if (!registry->statistics.down)
		log_warning("the schema registry cannot be asked; events with schemas that are not known yet "
			    "wait, and others go on: %s",
			    detail->message);
	set_down(registry, true);
	registry->fault = *detail;
	if (registry->down_until_us <= now_us)
		registry->down_until_us = now_us + INT64_C(1000) * backoff_next_ms(&registry->down_again);
	settle_unsure(registry, false);
}

static void retry(struct registry *registry, struct registry_lookup *lookup, int64_t delay_ms)
{
	registry_fetch_free(TAKE_PTR(lookup->fetch));
	lookup->due_us = clock_monotonic_us() + delay_ms * 1000;
	registry_lookup_set(&registry->lookups, lookup, LOOKUP_AGAIN);
}

/* Those who come again need not wait for the next attempt. */
static void end_blocked(struct registry *registry, struct registry_lookup *lookup, struct list *ended)
{
	char name[SCHEMA_NAME_SIZE];
	struct err_detail detail;
	framing_name_text(&lookup->name, name);
	err_fail(&detail, ERR_SCHEMA_UNAVAILABLE, "the schema registry has not given %s yet: %s", name,
		 fault_of(registry, lookup));
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
	lookup->failures = 0;
	lookup->logged = false;
	registry_lookup_set(&registry->lookups, lookup, LOOKUP_NEGATIVE);
	end_waits(registry, lookup, err, &lookup->detail, ended);
	if (registry->lookups.by_state[LOOKUP_NEGATIVE].count > NEGATIVE_MAX)
		registry_lookup_forget(
			&registry->lookups,
			registry_lookup_of(registry->lookups.by_state[LOOKUP_NEGATIVE].head.next));
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

/* The codec has learnt it, so nobody begins to wait for it any more. Writing it takes a while, for which no
 * event waits, and so does learning, both without the mutex; the lookup is this thread's meanwhile. */
static void complete(struct registry *registry, struct registry_lookup *lookup, struct list *ended)
{
	struct err_detail detail = { "" };
	err_t err = codec_learn_named(registry->codec, &lookup->name, registry_fetch_schema(lookup->fetch),
				      &detail);
	pthread_mutex_lock(&registry->mutex);
	if (err == ERR_SCHEMA_UNAVAILABLE)
		settle_full(registry, lookup, detail.message, ended);
	else if (err)
		settle_refused(registry, lookup, err_message(err, &detail), ended);
	else
		end_waits(registry, lookup, ERR_OK, NULL, ended);
	pthread_mutex_unlock(&registry->mutex);
	if (err)
		return;
	tell(ended);
	keep(registry, lookup);
	pthread_mutex_lock(&registry->mutex);
	registry_lookup_forget(&registry->lookups, lookup);
	pthread_mutex_unlock(&registry->mutex);
}

/* Asks the next address for what is wanted now. False: there is none left. */
static bool ask(struct registry *registry, struct registry_lookup *lookup)
{
	int64_t now_us = clock_monotonic_us();
	size_t index = registry_addresses_next(&registry->addresses, lookup->asked, lookup->denied, now_us);
	if (index == REGISTRY_NO_ADDRESS)
		return false;
	lookup->asked |= 1u << index;
	lookup->requested_us = now_us;
	lookup->request.path = registry_fetch_path(lookup->fetch);
	lookup->request.url = index;
	registry_http_start(registry->http, &lookup->request);
	return true;
}

static void begin(struct registry *registry, struct registry_lookup *lookup)
{
	lookup->fetch = registry_fetch_new(&lookup->name);
	lookup->asked = 0;
	lookup->denied = lookup->reached = lookup->answered = false;
	lookup->again_ms = 0;
	ask(registry, lookup);
}

/* What it says to a name that it does not have tells whether it is there while another one fails. */
static void start_probe(struct registry *registry)
{
	if (registry->probe.fetch)
		return;
	registry->probe.name = (struct schema_name){ .id = INT32_MAX }; /* nobody's */
	registry->probe.asked_us = clock_monotonic_us();
	begin(registry, &registry->probe);
}

static void end_probe(struct registry *registry)
{
	registry_fetch_free(TAKE_PTR(registry->probe.fetch));
	registry_request_free(&registry->probe.request);
}

/* No answer in time is no answer, even if the connection was there. */
static void note_answered(struct registry_lookup *lookup, enum registry_outcome outcome)
{
	if (outcome != REGISTRY_ODD || !lookup->answered)
		lookup->odd_since_us = 0;
	else if (!lookup->odd_since_us)
		lookup->odd_since_us = clock_monotonic_us();
}

/* Whoever comes again waits no longer for a name that fails alone, and nobody else does on its account. */
static bool note_failing(struct registry *registry, struct registry_lookup *lookup)
{
	int64_t now_us = clock_monotonic_us();
	registry_fails(&lookup->failing, &registry->proof, now_us);
	return lookup->wanted_until_us > now_us;
}

/* Somebody was answered while this one was not. */
static bool others_are_answered(const struct registry *registry, const struct registry_lookup *lookup)
{
	return registry->proof.since_us && registry->proof.proven_us >= lookup->asked_us;
}

/*
 * An attempt that came to nothing. Where nobody can be reached all wait; where others are answered this one
 * alone does, for as long as the registry wants it to. Else a probe has to tell: then it returns true.
 */
static bool put_off(struct registry *registry, struct registry_lookup *lookup)
{
	bool wanted = note_failing(registry, lookup);
	bool alone = others_are_answered(registry, lookup);
	bool away = !alone && !lookup->reached && !(lookup->passed_over && registry->proof.since_us);
	int64_t delay_ms =
		alone || !(away || registry->statistics.down) ? backoff_next_ms(&lookup->again) : 0;
	lookup->failures++;
	retry(registry, lookup, delay_ms > lookup->again_ms ? delay_ms : lookup->again_ms);
	lookup->unsure = !alone && !away;
	if (alone)
		note_alone(registry, lookup);
	else if (away)
		note_down(registry, &lookup->detail);
	return wanted || lookup->unsure;
}

/* No more wait for what has failed than may. If too many did, nobody is patient again for a while. */
static void lose_patience(struct registry *registry, const struct registry_lookup *lookup, struct list *ended)
{
	size_t before = ended->count;
	if (!registry->patience.until_us)
		return;
	end_exceeding(registry, registry->statistics.down ? NULL : lookup, ended);
	if (ended->count > before)
		registry_patience_spend(&registry->patience, clock_monotonic_us(),
					registry->settings->wait_ms * 1000);
}

/* `cut`: it was ended for others. */
static void fail(struct registry *registry, struct registry_lookup *lookup, enum registry_outcome outcome,
		 const struct err_detail *detail, bool cut, struct list *ended)
{
	bool probes = false;
	pthread_mutex_lock(&registry->mutex);
	lookup->cut = cut;
	lookup->detail = *detail;
	lookup->err = ERR_SCHEMA_UNAVAILABLE;
	note_answered(lookup, outcome);
	if (outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD) {
		probes = put_off(registry, lookup);
	} else {
		lookup->failing = (struct registry_failing){ 0 };
		if (outcome == REGISTRY_REFUSED) {
			settle_refused(registry, lookup, detail->message, ended);
		} else if (lookup->absent) {
			settle_absent(registry, lookup, detail->message, ended);
		} else { /* it may have been registered just now, elsewhere */
			lookup->absent = true;
			retry(registry, lookup, SURE_MS);
		}
	}
	if (lookup->state == LOOKUP_AGAIN)
		end_blocked(registry, lookup, ended);
	if (!cut && (outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD))
		lose_patience(registry, lookup, ended);
	pthread_mutex_unlock(&registry->mutex);
	if (probes)
		start_probe(registry);
}

/* Of several addresses, that which answered says most; that it does not have it says all. */
static void note_fault(const struct registry *registry, struct registry_lookup *lookup,
		       enum registry_outcome outcome, const struct err_detail *detail)
{
	bool several = registry->settings->urls_count > 1;
	bool first = (lookup->asked & (lookup->asked - 1)) == 0;
	lookup->reached |= lookup->request.reached;
	lookup->answered |= lookup->request.answered;
	if (lookup->request.again_ms > lookup->again_ms)
		lookup->again_ms = lookup->request.again_ms;
	if (lookup->denied || (!first && lookup->request.status == 0))
		return;
	lookup->denied = outcome == REGISTRY_ABSENT;
	lookup->failure = outcome;
	err_fail(&lookup->fault, ERR_SCHEMA_UNAVAILABLE, "%.100s%s%s",
		 several ? registry->settings->urls[lookup->request.url] : "", several ? ": " : "",
		 detail->message);
}

/* What became of a request, for all that is known of the registry and its addresses. */
static void note_outcome(struct registry *registry, const struct registry_lookup *lookup,
			 enum registry_outcome outcome)
{
	bool failed = outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD;
	int64_t now_us = clock_monotonic_us();
	size_t index = lookup->request.url;
	pthread_mutex_lock(&registry->mutex);
	registry->statistics.requests++;
	registry->statistics.errors += failed;
	if (!failed)
		note_up(registry);
	pthread_mutex_unlock(&registry->mutex);
	if (failed)
		registry_addresses_fail(&registry->addresses, index, lookup->requested_us, now_us);
	else
		registry_addresses_answer(&registry->addresses, index, now_us);
	if (!failed && outcome != REGISTRY_ABSENT)
		registry->addresses.best = index;
}

/* Whether schemas whose references are still awaited have more bytes than all may have together. */
static bool is_too_much(struct registry *registry, const struct registry_lookup *lookup)
{
	size_t bytes = 0;
	if (registry_fetch_bytes(lookup->fetch) <= REGISTRY_ANSWER_FREE)
		return false;
	for (enum lookup_state state = LOOKUP_ASKING_FIRST; state <= LOOKUP_ASKING_AGAIN; state++)
		LIST_FOREACH (node, &registry->lookups.by_state[state])
			bytes += registry_lookup_of(node)->fetch
					 ? registry_fetch_bytes(registry_lookup_of(node)->fetch)
					 : 0;
	return bytes > REGISTRY_ANSWERS_MAX;
}

static enum registry_outcome take(struct registry *registry, const struct registry_lookup *lookup,
				  struct err_detail *detail)
{
	enum registry_outcome outcome = registry_fetch_take(lookup->fetch, &lookup->request, detail);
	if (outcome != REGISTRY_MORE || !is_too_much(registry, lookup))
		return outcome;
	err_fail(detail, ERR_SCHEMA_UNAVAILABLE,
		 "it and others whose references are awaited have more than %zu bytes", REGISTRY_ANSWERS_MAX);
	return REGISTRY_ODD;
}

static void take_answer(struct registry *registry, struct registry_lookup *lookup, struct list *ended)
{
	struct err_detail detail = { "" };
	enum registry_outcome outcome = take(registry, lookup, &detail);
	registry_request_free(&lookup->request); /* thousands that wait may have large ones */
	note_outcome(registry, lookup, outcome);
	if (outcome == REGISTRY_COMPLETE) {
		complete(registry, lookup, ended);
	} else if (outcome == REGISTRY_REFUSED) {
		fail(registry, lookup, outcome, &detail, false, ended);
	} else if (outcome == REGISTRY_MORE) {
		lookup->asked = 0;
		lookup->denied = false;
		ask(registry, lookup);
	} else {
		note_fault(registry, lookup, outcome, &detail);
		if (!ask(registry, lookup))
			fail(registry, lookup, lookup->failure, &lookup->fault, false, ended);
	}
}

static void take_probe(struct registry *registry)
{
	struct registry_lookup *probe = &registry->probe;
	struct err_detail detail;
	enum registry_outcome outcome = registry_fetch_take(probe->fetch, &probe->request, &detail);
	bool failed = outcome == REGISTRY_UNAVAILABLE || outcome == REGISTRY_ODD;
	note_outcome(registry, probe, outcome);
	if (failed) {
		note_fault(registry, probe, outcome, &detail);
		if (ask(registry, probe))
			return;
	}
	pthread_mutex_lock(&registry->mutex);
	if (failed && !others_are_answered(registry, probe)) {
		registry_proof_miss(&registry->proof);
		note_down(registry, &probe->fault);
	}
	pthread_mutex_unlock(&registry->mutex);
	end_probe(registry);
}

/* ---- places ---- */

/* While nobody is answered, one at a time, in turn, and the probe beside it. */
static size_t take_one(struct registry *registry, int64_t now_us, struct registry_lookup **taken)
{
	size_t count = 0;
	if (registry->down_until_us > now_us || registry_lookups_under_way(&registry->lookups) > 0)
		return 0;
	registry->turn++;
	for (size_t i = 0; i < REGISTRY_KINDS && count == 0; i++)
		count = registry_lookups_take(&registry->lookups, (registry->turn + i) % REGISTRY_KINDS, 1,
					      now_us, taken);
	return count;
}

static void start_due(struct registry *registry)
{
	struct registry_lookup *taken[REGISTRY_AT_ONCE_MAX];
	size_t count = 0;
	int64_t now_us = clock_monotonic_us();
	pthread_mutex_lock(&registry->mutex);
	bool down = registry->statistics.down;
	if (registry->stopping)
		count = 0;
	else if (down)
		count = take_one(registry, now_us, taken);
	else
		for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
			count += registry_lookups_take(&registry->lookups, kind, REGISTRY_AT_ONCE_MAX, now_us,
						       taken + count);
	pthread_mutex_unlock(&registry->mutex);
	for (size_t i = 0; i < count; i++)
		begin(registry, taken[i]);
	if (down && count)
		start_probe(registry);
}

/* That the connection took long, or the address answers nobody while there is another, is no fault of the
 * name: it goes behind those that were never asked for. */
static void cut(struct registry *registry, struct registry_lookup *lookup, struct list *ended)
{
	struct err_detail detail;
	int64_t lasted_ms = (clock_monotonic_us() - lookup->asked_us) / 1000;
	bool first = lookup->state == LOOKUP_ASKING_FIRST;
	registry_http_cancel(registry->http, &lookup->request);
	bool sent = lookup->request.reached;
	lookup->request.status = 0;
	lookup->request.reached = true; /* for all that is known */
	registry_request_free(&lookup->request);
	note_outcome(registry, lookup, REGISTRY_ODD);
	err_fail(&detail, ERR_SCHEMA_UNAVAILABLE,
		 "it has not answered within %" PRId64 " ms, and other schemas are waited for", lasted_ms);
	note_fault(registry, lookup, REGISTRY_ODD, &detail);
	bool elsewhere = registry_addresses_next(&registry->addresses, lookup->asked, true,
						 clock_monotonic_us()) != REGISTRY_NO_ADDRESS;
	fail(registry, lookup, lookup->failure, &lookup->fault, true, ended);
	if (!first || (sent && !elsewhere))
		return;
	pthread_mutex_lock(&registry->mutex);
	if (lookup->state == LOOKUP_AGAIN && lookup->excused < EXCUSED_MAX) {
		lookup->excused++;
		lookup->failures = 0;
		lookup->due_us = 0;
		registry_lookup_set(&registry->lookups, lookup, LOOKUP_FIRST);
	}
	pthread_mutex_unlock(&registry->mutex);
}

/* Those that have had their time, where others wait for their places. */
static void make_room(struct registry *registry, struct list *ended)
{
	struct registry_lookup *spent[REGISTRY_AT_ONCE_MAX];
	size_t count = 0;
	int64_t now_us = clock_monotonic_us();
	pthread_mutex_lock(&registry->mutex);
	for (enum registry_kind kind = 0; kind < REGISTRY_KINDS && !registry->statistics.down; kind++)
		count += registry_lookups_spent(&registry->lookups, kind, now_us, spent + count);
	pthread_mutex_unlock(&registry->mutex);
	for (size_t i = 0; i < count; i++)
		cut(registry, spent[i], ended);
}

/* ---- what is on the disk ---- */

/* False: it is not kept, or the codec cannot learn it. */
static bool learn_kept(struct registry *registry, const struct schema_name *name)
{
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	struct err_detail detail = { "" };
	char text[SCHEMA_NAME_SIZE];
	if (codec_knows_named(registry->codec, name)) /* it writes with it */
		return true;
	if (!registry_store_load(registry->store, name, &schema))
		return false;
	err_t err = codec_learn_named(registry->codec, name, buf_str(&schema), &detail);
	framing_name_text(name, text);
	if (err)
		log_warning("%s of the registry, which was kept, is asked for again: %s", text,
			    err_message(err, &detail));
	return !err;
}

static struct registry_lookup *first_new(struct registry *registry)
{
	pthread_mutex_lock(&registry->mutex);
	const struct list *list = &registry->lookups.by_state[LOOKUP_NEW];
	struct registry_lookup *lookup = list_empty(list) ? NULL : registry_lookup_of(list->head.next);
	pthread_mutex_unlock(&registry->mutex);
	return lookup;
}

/* Names that the registry gave before the last start need not be asked for. */
static void look_for_kept(struct registry *registry, struct list *ended)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * WORK_MS;
	struct registry_lookup *lookup;
	while (clock_monotonic_us() < until_us && (lookup = first_new(registry))) {
		bool known = learn_kept(registry, &lookup->name);
		if (known)
			registry_store_touch(registry->store, &lookup->name);
		pthread_mutex_lock(&registry->mutex);
		if (known) {
			end_waits(registry, lookup, ERR_OK, NULL, ended);
			registry_lookup_forget(&registry->lookups, lookup);
		} else {
			registry_lookup_set(&registry->lookups, lookup, LOOKUP_FIRST);
			if (registry->statistics.down)
				end_blocked(registry, lookup, ended);
		}
		pthread_mutex_unlock(&registry->mutex);
		tell(ended);
	}
}

/* ---- the thread ---- */

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
			 " s (registry.wait_ms): %.280s; " MEND,
			 name, registry->settings->wait_ms / 1000, fault_of(registry, wait->lookup));
		registry->statistics.refused += late;
		end_wait(registry, wait, ERR_SCHEMA_UNAVAILABLE, &detail, ended);
	}
	if (registry_patience_is_over(&registry->patience, is_exceeded(registry), now_us,
				      registry->settings->wait_ms * 1000))
		end_exceeding(registry, NULL, ended);
	for (enum lookup_state state = LOOKUP_NEW; state <= LOOKUP_AGAIN; state++)
		LIST_FOREACH_SAFE (node, &registry->lookups.by_state[state])
			if (!registry_lookup_is_wanted(registry_lookup_of(node), now_us))
				registry_lookup_forget(&registry->lookups, registry_lookup_of(node));
	pthread_mutex_unlock(&registry->mutex);
}

/* Until something is due, at most a round. */
static int64_t pause_ms(struct registry *registry)
{
	int64_t now_us = clock_monotonic_us(), first_us = now_us + INT64_C(1000) * ROUND_MS;
	if (!list_empty(&registry->finished))
		return 0;
	pthread_mutex_lock(&registry->mutex);
	if (!list_empty(&registry->lookups.by_state[LOOKUP_NEW]))
		first_us = now_us;
	bool asks = !registry->stopping &&
		    (!registry->statistics.down || registry_lookups_under_way(&registry->lookups) == 0);
	for (enum registry_kind kind = 0; kind < REGISTRY_KINDS && asks; kind++) {
		int64_t at_us =
			registry_lookups_next_us(&registry->lookups, kind, registry->down_until_us, now_us);
		first_us = at_us < first_us ? at_us : first_us;
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

/* The longer a schema is the longer it takes to learn: short ones do not wait for that, and what else comes
 * in is not left for long. */
static void take_finished(struct registry *registry, struct list *ended)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * WORK_MS;
	struct registry_request *request;
	while (clock_monotonic_us() < until_us && (request = registry_request_take(&registry->finished))) {
		if (request == &registry->probe.request)
			take_probe(registry);
		else
			take_answer(registry, container_of(request, struct registry_lookup, request), ended);
	}
}

/* What has no handle has an answer already. */
static void cancel_all(struct registry *registry)
{
	for (enum lookup_state state = LOOKUP_ASKING_FIRST; state <= LOOKUP_ASKING_AGAIN; state++)
		LIST_FOREACH (node, &registry->lookups.by_state[state])
			if (registry_lookup_of(node)->request.handle)
				registry_http_cancel(registry->http, &registry_lookup_of(node)->request);
	if (registry->probe.request.handle)
		registry_http_cancel(registry->http, &registry->probe.request);
	end_probe(registry);
}

static void registry_main(void *context, unsigned index)
{
	struct registry *registry = context;
	(void)index;
	while (!has_ended(registry)) {
		struct list ended = LIST_INIT(ended);
		heartbeat_beat(&registry->heartbeat);
		look_for_kept(registry, &ended);
		start_due(registry);
		registry_http_run(registry->http, pause_ms(registry), &registry->finished);
		make_room(registry, &ended);
		take_finished(registry, &ended);
		sweep(registry, &ended);
		tell(&ended);
	}
	cancel_all(registry);
	heartbeat_stop(&registry->heartbeat);
}

/* ---- life ---- */

/* What was used last is used again, so events need not wait for it; not for so long that the start would. */
static bool learn_newest(void *context, const struct schema_name *name)
{
	struct registry *registry = context;
	learn_kept(registry, name);
	return clock_monotonic_us() - registry->swept_us < INT64_C(1000) * START_MS;
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
	registry_lookups_init(&registry->lookups);
	list_init(&registry->waits);
	list_init(&registry->finished);
	registry->addresses.count = settings->urls_count;
	registry->swept_us = clock_monotonic_us();
	registry_store_bound(registry->store, settings->max_kept_bytes);
	registry_store_each(registry->store, settings->max_schemas, learn_newest, registry);
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
		registry_lookup_forget(&registry->lookups, container_of(node, struct registry_lookup, node));
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
	for (enum lookup_state state = LOOKUP_NEW; state < LOOKUP_STATES; state++)
		forget_all(registry, &registry->lookups.by_state[state]);
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
