/*
 * Worker processes as the supervisor thread sees them: starting and ending them, sending requests and taking
 * answers, and whether their target can be reached. All functions belong to the supervisor thread; none
 * blocks, but for the reaping that is told to wait.
 */
#pragma once

#include "target/supervisor.h"

/* Answers all of them with the error. */
void target_calls_fail(struct list *calls, err_t err, const char *message);

/* Calls fail at once from now on, but for one that tries from time to time. */
void target_is_down(struct target *target, const char *reason);

/* The one place where a worker's state changes. */
void worker_set_state(struct worker *worker, enum worker_state state);

/* Starts a process for an ABSENT worker and sends it the settings. */
err_t worker_start(struct target *target, struct worker *worker, struct err_detail *detail);

/* The worker is of no use any more: a BUSY one's request fails with `err`. */
void worker_discard(struct target *target, struct worker *worker, err_t err, const char *message);

/* An IDLE worker sees its socket closed and says goodbye to its server; who is slow is killed in the end. */
void worker_dismiss(struct worker *worker);

/* A DYING worker whose process has ended becomes ABSENT; with `wait` its end is waited for. */
void worker_try_reap(const struct target *target, struct worker *worker, bool wait);

/* Sends as much as the socket takes; the rest follows when it can be written. */
void worker_flush(struct target *target, struct worker *worker);

/* Whether one more call is best sent to this worker, which is BUSY: it will have ended in a moment. */
bool worker_ends_soon(const struct worker *worker, int64_t now_us);

/* Takes the call back that has come to lie behind a slow one. Until then INT64_MAX: there is none. */
void worker_withdraw_late(struct target *target, struct worker *worker, int64_t now_us);
int64_t worker_withdraws_us(const struct worker *worker);

/* Give an IDLE worker its next request; a call also to a BUSY one that ends soon. */
void worker_send_call(struct target *target, struct worker *worker, struct target_call *call);
void worker_send_catalog_request(struct target *target, struct worker *worker);

/* Takes what has arrived: answers go to their calls, catalogs to their thread. */
void worker_receive(struct target *target, struct worker *worker);
