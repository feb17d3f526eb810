/*
 * Archive: what records name by digest is kept in PostgreSQL, each content once, for as long as anybody may
 * ask for it. A record's digest of configuration, prompts or catalog says what it was scored by; the archive
 * is where that can be read.
 *
 * One thread with a connection of its own. Whoever uses a content says so, which is a look into a table; what
 * is new is copied and waits, within bounds, until PostgreSQL has taken it, also while PostgreSQL is away;
 * what waits is kept in the state directory, too, and waits again after the next start. A content for which
 * there is no room is lost, which is counted and logged, and is tried again when it is next used. What is
 * used is noted in the database once a day, and what was in use longer ago than the retention is deleted.
 */
#pragma once

#include "audit/archive/archive_item.h"
#include "common/heartbeat.h"

struct archive;

/* Contents that wait for PostgreSQL: so many, with so many bytes together. One alone may have more. */
#define ARCHIVE_WAITING_MAX	  1024
#define ARCHIVE_WAITING_BYTES_MAX ((size_t)64 << 20)

struct archive_options {
	const char *dsn;	   /* libpq connection string without a password */
	const char *password_file; /* or NULL */
	const char *settings;	   /* how the names of these settings begin: "audit."; static */
	const char *program;	   /* version of this program; static */
	const char *directory;	   /* where what waits is kept (archive_file.h), or NULL */
	int64_t retention_days;	   /* 0: nothing is ever deleted */
};

/* Since the start. */
struct archive_statistics {
	bool up;	   /* the last attempt to write was taken, or there was none yet */
	uint64_t waiting;  /* contents, now */
	uint64_t stored;   /* contents that were new to the archive */
	uint64_t lost;	   /* that found no room */
	uint64_t failures; /* attempts that PostgreSQL did not take */
	uint64_t expired;  /* contents deleted */
};

/* Copies the options and starts the thread; PostgreSQL need not be there. */
struct archive *archive_start(const struct archive_options *options);

/* Whether the content is in the archive, or on its way there, and notes that it is in use. False: it has to
 * be handed over (archive_put). Any thread; never waits for PostgreSQL. */
bool archive_has(struct archive *archive, enum archive_kind kind, str_t digest);

/* Hands a content over, which is copied. Any thread; never waits for PostgreSQL. */
void archive_put(struct archive *archive, const struct archive_item *item, str_t content);

/* No wait for PostgreSQL lasts beyond `until_us` (monotonic) from now on; the thread tries once more to store
 * what waits, and ends. Returns at once; NULL is fine. */
void archive_close(struct archive *archive, int64_t until_us);

/* Whether the thread has ended within `timeout_ms` after that; else the archive cannot be released. NULL is
 * fine. */
bool archive_ended(struct archive *archive, int64_t timeout_ms);

/* Joins the thread, closing it where that was not done, says what was not stored, and releases all; NULL is
 * fine. */
void archive_stop(struct archive *archive);

/* Any thread. */
void archive_statistics(struct archive *archive, struct archive_statistics *ret_statistics);
struct heartbeat *archive_heartbeat(struct archive *archive);
