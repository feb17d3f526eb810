/* What the tests of this room share: settings, and calls that can be waited for. */
#pragma once

#include "common/clock.h"
#include "target/target.h"
#include "target/worker_process.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define PATIENCE_S 120

/* The tests start this very program as the worker process: one whose main() does not ask would run its tests
 * in each of them, and start workers there, without end. One flag for all files of a program. */
__attribute__((weak)) bool worker_is_asked;

static inline bool is_worker(int argc, char **argv)
{
	worker_is_asked = true;
	return argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0;
}

struct test_call {
	struct target_call call;
	struct validation_truth truths[4];
	sem_t done;
	unsigned done_count;
};

static inline void test_call_done(struct target_call *call, void *context)
{
	struct test_call *test = context;
	(void)call;
	test->done_count++;
	sem_post(&test->done);
}

static inline void test_call_init(struct test_call *test, const char *target, const char *generated,
				  const char *truth)
{
	memset(test, 0, sizeof *test);
	sem_init(&test->done, 0, 0);
	test->truths[0].sql = str_from(truth);
	test->call = (struct target_call){
		.arena = arena_new(),
		.target = target,
		.generated_sql = str_from(generated),
		.truths = test->truths,
		.truths_count = truth ? 1 : 0,
		.done = test_call_done,
		.context = test,
	};
}

static inline void test_call_add_truth(struct test_call *test, const char *truth)
{
	test->truths[test->call.truths_count++].sql = str_from(truth);
}

static inline const struct validation_result *test_call_wait(struct test_call *test)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += PATIENCE_S;
	assert_int_equal(sem_timedwait(&test->done, &deadline), 0);
	assert_int_equal(test->done_count, 1);
	return &test->call.result;
}

static inline void test_call_free(struct test_call *test)
{
	arena_free(test->call.arena);
	sem_destroy(&test->done);
}

/* Clock ticks of processor time that a process has had; −1: it is gone. */
static inline long ticks_of(pid_t pid)
{
	char path[64], line[512] = "";
	unsigned long user = 0, kernel = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return -1;
	const char *behind = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!behind ||
	    sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
		return -1;
	return (long)(user + kernel);
}

static inline void sleep_ms(long ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&pause, NULL);
}

/* Until a process that had nothing to do is at work: it has had a tenth of a second of a processor since. */
static inline void await_busy(pid_t pid)
{
	long idle = ticks_of(pid);
	for (int i = 0; i < 6000 && ticks_of(pid) < idle + 10; i++)
		sleep_ms(10);
	assert_true(ticks_of(pid) >= idle + 10);
}

static inline struct target_settings postgresql_settings(const char *name, const char *dsn)
{
	return (struct target_settings){
		.name = name,
		.engine = TARGET_POSTGRESQL,
		.dsn = dsn,
		.connections = 1,
		.statement_timeout_ms =
			20000, /* nobody has to be quick; who wants to see the end of it sets less */
		.lock_timeout_ms = 500,
		.max_rows = 10000,
		.max_result_bytes = 16 << 20,
		.worker_memory_bytes = (int64_t)512 << 20,
		.truth_cache_bytes = 16 << 20,
		.truth_cache_ttl_s = 60,
		.sample_documents = 1000,
		.catalog_ttl_s = 3600,
	};
}

static inline struct target_settings sqlite_settings(const char *name, const char *path)
{
	struct target_settings settings = postgresql_settings(name, NULL);
	settings.engine = TARGET_SQLITE;
	settings.path = path;
	return settings;
}

static inline struct targets *start_targets(const struct target_settings *settings, size_t count,
					    const char *state_directory)
{
	const struct targets_options options = { settings, count, state_directory, 100 };
	struct err_detail detail = { "" };
	struct targets *targets = NULL;
	if (!worker_is_asked)
		fail_msg("main() has to ask is_worker() before a target is started");
	if (targets_start(&options, &targets, &detail))
		fail_msg("%s", detail.message);
	return targets;
}
