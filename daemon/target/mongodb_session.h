/*
 * A connection to a MongoDB server, or to a set of them: what mongodb.c and its neighbours share. One thread;
 * a process may have several sessions.
 *
 * The library reconnects by itself; a session does not: one whose connection failed is given up, so that
 * truth and query never come from two servers, and a query that was cut off is not sent again.
 */
#pragma once

#include <mongoc/mongoc.h> // first: it calls what banned.h forbids

#include "address/mongodb_dsn.h"
#include "target/engine.h"

/* What the server can do. */
struct mongodb_server {
	int32_t wire_version; /* largest that it speaks */
	bool sessions;	      /* it knows sessions, by which queries can be ended */
	bool snapshots;	      /* several reads of one moment */
	bool set;	      /* of a replica set, or a router */
};

struct mongodb_session {
	unsigned magic;
	const struct worker_settings *settings;
	struct arena *arena; /* of the dsn */
	struct mongodb_dsn dsn;
	mongoc_client_t *client;
	struct mongodb_server server;
	mongoc_client_session_t *reading; /* of the reads that belong together; NULL: none, or the server
					     knows no sessions */
	int64_t now_ms;			  /* when they began, by the wall clock */
	bool abandoned;
};

/* The session behind an engine's `void *`; aborts when it is none. */
struct mongodb_session *mongodb_session_of(void *pointer);

/* As engine.h says. */
void mongodb_session_needs(const struct worker_settings *settings, struct confinement *needs);

/* ERR_TARGET_UNAVAILABLE. */
err_t mongodb_session_connect(const struct worker_settings *settings, struct mongodb_session **ret_session,
			      struct err_detail *detail);
void mongodb_session_close(void *session);

/* Connects anew where the session was given up, without an end of what it read. ERR_TARGET_UNAVAILABLE. */
err_t mongodb_session_renew(struct mongodb_session *session, struct err_detail *detail);

/* False when it was given up. */
bool mongodb_session_usable(const void *session);

/* Starts reads of one snapshot, where the server has those. ERR_TARGET_LOST. */
err_t mongodb_session_begin(struct mongodb_session *session, struct err_detail *detail);
void mongodb_session_end(struct mongodb_session *session);

/* Begins the options of a read: its time limit and session. The caller's to destroy. */
void mongodb_session_options(const struct mongodb_session *session, int64_t limit_ms, bson_t *ret_options);

/* Runs a read command of our own. `ret_reply` is the caller's to destroy on success. ERR_TARGET_LOST,
 * ERR_TARGET_DENIED, ERR_TARGET_BUSY, ERR_TARGET_UNAVAILABLE (whatever else the server refuses it for). */
err_t mongodb_session_command(struct mongodb_session *session, const char *database, const bson_t *command,
			      bson_t *ret_reply, struct err_detail *detail);

/* The error of the target that one of the library's stands for; ERR_OK: it is the query's. */
err_t mongodb_session_target_error(const bson_error_t *error);

/* Whether it is the role's rights that the query lacks. */
bool mongodb_session_denies(const bson_error_t *error);

/* Its message without the password, in the arena. */
str_t mongodb_session_message(const struct mongodb_session *session, const bson_error_t *error,
			      struct arena *arena);

/* Asks the server, by a connection beside, to end what the session is running, which is then given up. False:
 * it cannot be reached. */
bool mongodb_session_cancel(struct mongodb_session *session);

/* mongodb_catalog.c, mongodb_check.c: as engine.h says of catalog and check. */
err_t mongodb_session_catalog(struct mongodb_session *session, struct arena *arena, str_t *ret_text,
			      struct err_detail *detail);
err_t mongodb_session_check(struct mongodb_session *session, struct arena *arena, str_t *ret_notes,
			    struct err_detail *detail);
