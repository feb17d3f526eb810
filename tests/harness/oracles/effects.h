/*
 * What a statement really does to a PostgreSQL server: runs it and compares the server before and after.
 *
 * Made for a server that nobody else uses (effects_prepare): what moves there was moved by the statement.
 * Cheap signs (transaction ids, the log's position, locks, sequences, sessions) are compared after every
 * statement; all settings, the content of all tables and the system catalog by effects_thorough. One thread.
 */
#pragma once

#include "tests/harness/servers/postgres.h"

enum effect {
	EFFECT_XID,	     /* a transaction id was used up: something was written, or a notification sent */
	EFFECT_WAL,	     /* the write-ahead log grew */
	EFFECT_ROWS,	     /* a table's content is another one */
	EFFECT_CATALOG,	     /* a relation, function, type or role came, went or changed */
	EFFECT_LARGE_OBJECT, /* a large object came, went or changed hands */
	EFFECT_SEQUENCE,     /* a sequence moved */
	EFFECT_SETTING,	     /* a setting of the session is another one */
	EFFECT_LOCK,	     /* a lock is held that a read does not need */
	EFFECT_SESSION, /* a prepared statement, a cursor or a LISTEN was left behind; a transaction began or
			   ended */
	EFFECT_NOTIFY,	/* another session was notified (channel "evil") */
	EFFECT_FILE,	/* something happened in the watched folder */
	EFFECT_TIME,	/* it took EFFECTS_SLOW_MS or longer, every time that it was tried */
	EFFECT_TERMINATED, /* another session of the same role was ended, or the own one */
	EFFECT_COUNT_
};

typedef unsigned effects_t; /* set of 1 << enum effect */
#define EFFECT(name)	   ((effects_t)1 << EFFECT_##name)
#define EFFECTS_SLOW_MS	   250
#define EFFECTS_TIMEOUT_MS 1000 /* of every statement */

struct effects;

/* Settings that keep the server from moving by itself; restarts it. False: the reason is on standard error.
 */
bool effects_prepare(const struct test_postgres *server);

/* Sessions of `role` on `database`; the present state is what is compared with. `folder` is watched. NULL:
 * the reason is on standard error. */
struct effects *effects_open(const struct test_postgres *server, const char *database, const char *role,
			     const char *folder);
void effects_close(struct effects *effects);

/*
 * How a statement is run. What the machine may have done by itself (a delay, a look into the folder,
 * housekeeping that the log shows) only counts when it happens again each time; EFFECTS_ONE_TRY takes it as
 * it is.
 */
enum effects_way {
	EFFECTS_EXTENDED_PROTOCOL = 1,
	EFFECTS_THOROUGH = 2,
	EFFECTS_ONE_TRY = 4,
	EFFECTS_LOOK_LATER = 8, /* what outlives the rollback shows with the next statement */
};

/* Runs it in a transaction, looks while that is open (thoroughly, if asked to), rolls back and looks again.
 */
effects_t effects_in_transaction(struct effects *effects, const char *sql, unsigned way);

/* Runs it by the simple protocol, in autocommit. */
effects_t effects_alone(struct effects *effects, const char *sql, unsigned way);

/* The comparisons that cost, of whatever ran since the last one. */
effects_t effects_thorough(struct effects *effects);

/* Begins anew: sessions without state, the present is what is compared with. */
void effects_reset(struct effects *effects);

/* SQLSTATE of the last statement; "" when it succeeded. */
const char *effects_sqlstate(const struct effects *effects);

/* The server's answer to the last statement that failed. */
const char *effects_message(const struct effects *effects);

/* The effect of that name, as effects_text writes it; 0: there is none. */
effects_t effects_named(const char *name);

/* "xid, lock", in a buffer of the caller's. */
const char *effects_text(effects_t effects, char *buffer, size_t size);
