/*
 * Worker processes: the same binary, started with the argument `target-worker` and its end of a socketpair as
 * descriptor 3. Whoever starts one owns it and reaps it by its id.
 */
#pragma once

#include "target/message.h"

#include <sys/types.h>

#define WORKER_ARGUMENT "target-worker"
#define WORKER_FD	3

/* Time for connecting and comparing that every deadline of a worker grants besides its statements. */
#define WORKER_SLACK_MS 15000

/* Time that a validation with so many truths may take in a worker, or the catalog with none: every truth may
 * run once more with its sort keys, where large results are read in full there are the runs for that, and all
 * of it may need a second attempt. */
int64_t worker_budget_ms(const struct target_settings *target, size_t truths);

/* How many of the truths are run: those that are no tables. */
size_t worker_truths_run(const struct validation_truth *truths, size_t count);

/* Sanitizers map terabytes of shadow memory: an address space limit would end them at once. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ADDRESS_SPACE_CAN_BE_LIMITED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ADDRESS_SPACE_CAN_BE_LIMITED 0
#endif
#endif
#ifndef ADDRESS_SPACE_CAN_BE_LIMITED
#define ADDRESS_SPACE_CAN_BE_LIMITED 1
#endif

/* … and look at their own process from another one. */
#define WORKERS_CAN_BE_CONFINED ADDRESS_SPACE_CAN_BE_LIMITED

/* Appends what a worker is told first, with the password as its file has it now. ERR_FILE_UNREADABLE; wipe
 * the buffer (worker_secret_free) in any case. */
err_t worker_first_message(const struct target_settings *target, struct buf *out, struct err_detail *detail);

/* Starts a process and writes its settings into `ret_first`, to be sent before anything else. The password is
 * read anew from its file each time. `ret_fd` is non-blocking when `nonblocking`. Errors: ERR_OS,
 * ERR_FILE_UNREADABLE. */
err_t worker_spawn(const struct target_settings *target, bool nonblocking, struct buf *ret_first,
		   pid_t *ret_pid, int *ret_fd, struct err_detail *detail);

/* Kills the process at once; it still has to be reaped. */
void worker_kill(pid_t pid);

/* Reaps without waiting, or with. True when the process is gone, with its wait status. */
bool worker_reap(pid_t pid, bool wait, int *ret_status);

/* Wipes and releases a buffer that has held a password. */
void worker_secret_free(struct buf *buf);
