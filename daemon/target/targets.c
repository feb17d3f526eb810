#include "target/supervisor.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/nearest.h"
#include "target/confine.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>

#define SUSPECT_SHARE_OF_TTL 10
#define SUSPECT_LEAST_US     ((int64_t)10 * 1000000)

static const struct circuit_breaker target_breaker = { .threshold = 1,
						       .least_pause_ms = 100,
						       .backoff = { .base_ms = 250, .cap_ms = 5000 } };
static const struct backoff respawn_backoff = { .base_ms = 10, .cap_ms = 5000 };
static const struct backoff catalog_backoff = { .base_ms = 1000, .cap_ms = 60000 };

const char *target_validation_status_name(enum validation_status status)
{
	static const char *const names[VALIDATION_STATUS_COUNT_] = {
		[VALIDATION_COMPARED] = "COMPARED",
		[VALIDATION_EXECUTION_FAILED] = "EXECUTION_FAILED",
		[VALIDATION_TIMEOUT] = "TIMEOUT",
		[VALIDATION_GROUND_TRUTH_FAILED] = "GROUND_TRUTH_FAILED",
		[VALIDATION_UNSAFE] = "UNSAFE",
		[VALIDATION_INVALID] = "INVALID",
		[VALIDATION_UNAVAILABLE] = "UNAVAILABLE",
	};
	return names[status];
}

static void init_lock(struct targets *targets)
{
	pthread_mutex_init(&targets->mutex, NULL);
	clock_cond_init(&targets->changed);
}

static struct targets *targets_new(const struct targets_options *options)
{
	struct targets *targets = calloc(1, sizeof *targets);
	if (!targets)
		abort();
	targets->arena = arena_new();
	targets->items = ARENA_ARRAY(targets->arena, struct target, options->targets_count);
	targets->queue_limit = options->queue_limit;
	if (options->state_directory)
		targets->state_directory = arena_strdup(targets->arena, options->state_directory);
	targets->heartbeat.name = "targets";
	list_init(&targets->submitted);
	queue_init(&targets->fetched, false);
	init_lock(targets);
	targets->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (targets->wake_fd < 0)
		abort();
	return targets;
}

/* No thread and no process is left. */
static void targets_free(struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->items[i].catalog)
			catalog_unref(targets->items[i].catalog);
	close(targets->wake_fd);
	queue_destroy(&targets->fetched);
	pthread_cond_destroy(&targets->changed);
	pthread_mutex_destroy(&targets->mutex);
	arena_free(targets->arena);
	free(targets);
}

static void target_init(struct target *target, struct targets *targets)
{
	target->targets = targets;
	list_init(&target->waiting);
	target->workers = ARENA_ARRAY(targets->arena, struct worker, target->settings.connections);
	for (size_t i = 0; i < target->settings.connections; i++)
		target->workers[i].fd = -1;
	target->misnamed =
		ARENA_ARRAY(targets->arena, bool, target->settings.policy.required_columns_count + 1);
	target->breaker = target_breaker;
	target->respawn = respawn_backoff;
	target->catalog_retry = catalog_backoff;
}

static err_t add_target(struct targets *targets, const struct target_settings *settings,
			struct err_detail *detail)
{
	struct target *target = &targets->items[targets->count];
	err_t err = target_settings_copy(settings, targets->arena, &target->settings, detail);
	if (!err && targets_find(targets, str_from(settings->name)))
		err = err_fail(detail, ERR_CONFIG_RANGE, "two targets have the name \"%s\"", settings->name);
	if (err)
		return err;
	target_init(target, targets);
	targets->count++;
	return ERR_OK;
}

/* Once, by whoever starts them: each of them would say the same. */
static void log_confinement(const struct targets *targets)
{
	struct err_detail lacking = { "" };
	if (targets->count > 0 && confine_probe(&lacking))
		log_warning("worker processes of targets reach more of this system than they need: %s",
			    lacking.message);
}

err_t targets_start(const struct targets_options *options, struct targets **ret_targets,
		    struct err_detail *detail)
{
	struct targets *targets = targets_new(options);
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < options->targets_count; i++)
		err = add_target(targets, &options->targets[i], detail);
	if (err) {
		targets_free(targets);
		return err;
	}
	log_confinement(targets);
	targets->catalogs = pool_start("catalogs", 1, target_catalogs_run, targets);
	pthread_mutex_lock(&targets->mutex);
	while (!targets->loaded)
		pthread_cond_wait(&targets->changed, &targets->mutex);
	pthread_mutex_unlock(&targets->mutex);
	targets->supervisor = pool_start("targets", 1, supervisor_run, targets);
	*ret_targets = targets;
	return ERR_OK;
}

void targets_close(struct targets *targets)
{
	if (!targets || !targets->supervisor)
		return;
	pthread_mutex_lock(&targets->mutex);
	targets->closed = true;
	pthread_mutex_unlock(&targets->mutex);
	targets_wake(targets);
	pool_join(TAKE_PTR(targets->supervisor));
	queue_close(&targets->fetched);
	pool_join(TAKE_PTR(targets->catalogs));
}

void targets_stop(struct targets *targets)
{
	if (!targets)
		return;
	targets_close(targets);
	targets_free(targets);
}

static struct target *find_target(const struct targets *targets, str_t name)
{
	for (size_t i = 0; i < targets->count; i++)
		if (str_is(name, targets->items[i].settings.name))
			return &targets->items[i];
	return NULL;
}

const struct target_settings *targets_find(const struct targets *targets, str_t name)
{
	const struct target *target = find_target(targets, name);
	return target ? &target->settings : NULL;
}

str_t targets_hint(const struct targets *targets, str_t name, struct arena *arena)
{
	struct nearest nearest;
	nearest_init(&nearest, name);
	for (size_t i = 0; i < targets->count; i++)
		nearest_offer(&nearest, str_from(targets->items[i].settings.name));
	return nearest_hint(&nearest, '"', arena);
}

static struct target *owner_of(struct targets *targets, const struct target_settings *settings)
{
	for (size_t i = 0; i < targets->count; i++)
		if (&targets->items[i].settings == settings)
			return &targets->items[i];
	return NULL;
}

struct catalog *targets_catalog(struct targets *targets, const struct target_settings *settings)
{
	const struct target *target = owner_of(targets, settings);
	if (!target)
		return NULL;
	pthread_mutex_lock(&targets->mutex);
	struct catalog *catalog = target->catalog ? catalog_ref(target->catalog) : NULL;
	pthread_mutex_unlock(&targets->mutex);
	return catalog;
}

str_t targets_catalog_error(struct targets *targets, const struct target_settings *settings,
			    struct arena *arena)
{
	const struct target *target = owner_of(targets, settings);
	if (!target)
		return STR_NONE;
	pthread_mutex_lock(&targets->mutex);
	const char *message = target->catalog_error.message;
	str_t error = message[0] ? arena_text(arena, message, strlen(message)) : STR_NONE;
	pthread_mutex_unlock(&targets->mutex);
	return error;
}

void targets_catalog_suspect(struct targets *targets, const struct target_settings *settings)
{
	struct target *target = owner_of(targets, settings);
	if (!target)
		return;
	int64_t now_us = clock_monotonic_us();
	int64_t pause_us = settings->catalog_ttl_s * 1000000 / SUSPECT_SHARE_OF_TTL;
	if (pause_us < SUSPECT_LEAST_US)
		pause_us = SUSPECT_LEAST_US;
	pthread_mutex_lock(&targets->mutex);
	bool due = !target->suspected_us || now_us - target->suspected_us >= pause_us;
	if (due) {
		target->suspected_us = now_us;
		target->catalog_due_us = now_us;
	}
	pthread_mutex_unlock(&targets->mutex);
	if (due)
		targets_wake(targets);
}

/* The mutex is held. */
static bool all_settled(const struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		if (!targets->items[i].catalog_settled)
			return false;
	return true;
}

void targets_wait_catalogs(struct targets *targets, int64_t timeout_ms)
{
	int64_t at_us = clock_monotonic_us() + timeout_ms * 1000;
	struct timespec deadline = { at_us / 1000000, (at_us % 1000000) * 1000 };
	pthread_mutex_lock(&targets->mutex);
	while (!all_settled(targets) &&
	       pthread_cond_timedwait(&targets->changed, &targets->mutex, &deadline) != ETIMEDOUT)
		continue;
	pthread_mutex_unlock(&targets->mutex);
}

void targets_submit(struct targets *targets, struct target_call *call)
{
	call->submitted_us = clock_monotonic_us();
	call->attempts = 0;
	pthread_mutex_lock(&targets->mutex);
	bool closed = targets->closed;
	if (!closed)
		list_append(&targets->submitted, &call->node);
	pthread_mutex_unlock(&targets->mutex);
	if (closed)
		target_call_fail(call, ERR_SHUTTING_DOWN, NULL);
	else
		targets_wake(targets);
}

size_t targets_count(const struct targets *targets)
{
	return targets->count;
}

void targets_statistics(const struct targets *targets, size_t index, struct target_statistics *ret_statistics)
{
	const struct target *target = &targets->items[index];
	*ret_statistics = (struct target_statistics){
		.name = target->settings.name,
		.up = !atomic_load(&target->is_down),
		.waiting = atomic_load(&target->waiting_now),
		.workers = atomic_load(&target->workers_now),
		.started = atomic_load(&target->started),
		.died = atomic_load(&target->died),
		.killed = atomic_load(&target->killed),
		.denied = atomic_load(&target->denied),
	};
}

struct heartbeat *targets_heartbeat(struct targets *targets)
{
	return &targets->heartbeat;
}
