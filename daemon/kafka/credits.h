/*
 * Credits: the only back-pressure. Every event in flight holds one and the bytes that it keeps in memory (its
 * input, then its outputs too); the source takes them before it hands an event on, the last stage returns
 * them. All functions are safe in any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct credits {
	pthread_mutex_t mutex;
	pthread_cond_t returned;
	size_t events_limit, events_used;
	size_t bytes_limit, bytes_used;
};

void credits_init(struct credits *credits, size_t events_limit, size_t bytes_limit);
void credits_destroy(struct credits *credits);

/* Takes one event of `bytes`; waits up to `timeout_ms` for it. An event larger than all bytes is let through
 * when nothing else is in flight. */
bool credits_take(struct credits *credits, size_t bytes, int64_t timeout_ms);

/* An event in flight has grown; may overdraw, since it must be able to finish. */
void credits_grow(struct credits *credits, size_t bytes);

/* An event that took or grew to so many bytes is done: gives all of it back. */
void credits_return(struct credits *credits, size_t bytes);

/* Waits up to `timeout_ms` until a quarter of all credits, events and bytes, is free; true if so. */
bool credits_wait_quarter(struct credits *credits, int64_t timeout_ms);

/* Waits up to `timeout_ms` until at most `events` are in flight; true if so. */
bool credits_wait_below(struct credits *credits, size_t events, int64_t timeout_ms);

/* What is in flight now. */
void credits_used(struct credits *credits, size_t *ret_events, size_t *ret_bytes);
