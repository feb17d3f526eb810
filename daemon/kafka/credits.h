/*
 * Credits: the only back-pressure. Every event in flight holds one and the bytes of memory that it takes, its
 * message, all that is found out about it, its outputs and their copies on the way to the broker; the source
 * takes them before it hands an event on, the last stage returns them. All functions are safe in any thread.
 *
 * What an event will hold is not known before it is finished. It is estimated from the size of its message: a
 * fixed part, and so much a byte as events with messages of about that size (between the same powers of two)
 * were found to hold at their end, which tells formats, questions and statements apart as far as they differ
 * in size. The estimate follows larger events sixteen times as fast as smaller ones, so that it lies well
 * above their mean: what has to stay within the limit is a sum, which single ones above it do not move. It is
 * corrected as soon as what the event holds is known; thus the limit is exceeded only by what events that
 * were taken already hold above their estimates, when the traffic changes, and by one event that is larger
 * than the limit.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an event with a small message: the event itself, its records and what is told of its statement. */
#define CREDITS_FIXED_BYTES 8192

/* For each byte of a message, before anything is known: what 2 kB of JSON were measured to take is less. */
#define CREDITS_FIRST_RATIO 8

/* Told that a thread waits for room while so many events are in flight, and then, with 0, that it does not
 * wait any more. In that thread, which holds the lock of the credits. */
typedef void (*credits_shortage_fn)(size_t events, void *context);

enum { CREDITS_SIZES = 64 }; /* powers of two */

struct credits {
	pthread_mutex_t mutex;
	pthread_cond_t returned;
	size_t events_limit, events_used;
	size_t bytes_limit, bytes_used;
	unsigned takers, watchers;    /* that wait: for room, or for a level */
	credits_shortage_fn shortage; /* or NULL */
	void *shortage_context;
	uint64_t ratio[CREDITS_SIZES]; /* learnt: bytes beyond the fixed ones, for each KiB of message */
};

void credits_init(struct credits *credits, size_t events_limit, size_t bytes_limit);
void credits_destroy(struct credits *credits);

/* Before anybody takes any. */
void credits_on_shortage(struct credits *credits, credits_shortage_fn shortage, void *context);

/* Takes one event whose message has so many bytes, and the bytes that it will hold by the estimate, which are
 * what the event has `held` from then on; waits up to `timeout_ms` for it. An event larger than all bytes is
 * let through when nothing else is in flight. */
bool credits_take(struct credits *credits, size_t message_bytes, int64_t timeout_ms, size_t *ret_held);

/* An event in flight holds `bytes` now, not `*held` any more. May overdraw, since it must be able to finish.
 */
void credits_hold(struct credits *credits, size_t bytes, size_t *held);

/* Likewise for one that is finished but for its publication: others will be estimated by it. */
void credits_settle(struct credits *credits, size_t message_bytes, size_t bytes, size_t *held);

/* An event is done: gives back all that it held. */
void credits_return(struct credits *credits, size_t held);

/* Waits up to `timeout_ms` until a quarter of all credits, events and bytes, is free; true if so. */
bool credits_wait_quarter(struct credits *credits, int64_t timeout_ms);

/* Waits up to `timeout_ms` until at most `events` are in flight; true if so. */
bool credits_wait_below(struct credits *credits, size_t events, int64_t timeout_ms);

/* What is in flight now. */
void credits_used(struct credits *credits, size_t *ret_events, size_t *ret_bytes);
