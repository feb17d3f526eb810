/*
 * A schema registry that answers each id in a way of its own, any number at a time, and none slower because
 * another is slow: `FAULT * 1000 + n` is the id of the n-th schema that has that fault. One thread each.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum fake_fault {
	FAKE_HONEST,   /* the schema of events, after FAKE_MS */
	FAKE_SLOW,     /* a byte every 100 ms */
	FAKE_BUSY,     /* HTTP 503 */
	FAKE_LIMITED,  /* HTTP 429, Retry-After: 1 */
	FAKE_UNKNOWN,  /* 404, error_code 40403 */
	FAKE_SILENT,   /* nothing */
	FAKE_PAGE,     /* 404 with a page of HTML */
	FAKE_GZIP,     /* the schema, compressed, which nobody asked for */
	FAKE_NESTED,   /* a schema of many arrays, one in the other */
	FAKE_BRACKETS, /* JSON as deep */
	FAKE_FOREIGN,  /* a schema of something else */
	FAKE_LONG,     /* a schema of some 100 KB */
	FAKE_FLOOD,    /* 2,000,000 spaces, and nothing more */
	FAKE_REFERS,   /* a schema of 300,000 bytes that refers to another, of which nobody hears */
	FAKE_FAULTS
};

enum { FAKE_MS = 5, FAKE_OF_EACH = 1000, FAKE_CONNECTIONS_MAX = 512 };

struct fake_registry {
	char url[64];
	atomic_int all; /* a fault of all ids, or FAKE_HONEST: each has its own */
	atomic_size_t asked;
	atomic_size_t asked_of[FAKE_FAULTS];
	atomic_llong last_us[FAKE_FAULTS]; /* when it was last asked for such a one */
	/* its own */
	int fd;
	struct pool *thread;
	atomic_bool ending;
	struct fake_connection *connections;
};

void fake_registry_start(struct fake_registry *fake);
void fake_registry_stop(struct fake_registry *fake);
