/*
 * A process beside a worker process that outlives it: when the worker ends without having said so (a crash,
 * kill -9, its deadline, the end of the daemon), it tells the server to end what the worker's session is
 * running. A server notices by itself only when it next writes to the client.
 *
 * It is a fork of the worker, made when the session is there, so that it has what a cancel needs (PostgreSQL:
 * a key that no other connection has; MariaDB: the account) without handing it to anybody. One for each
 * session; a worker process, one thread.
 */
#pragma once

#include <sys/types.h>

/* Zero: there is none. */
struct query_canceller {
	pid_t pid;
	int fd; /* open as long as the worker lives */
};

/* Starts it. `cancel` is called in the other process, once the worker is gone, and may take
 * QUERY_CANCELLER_S. No descriptor but those that it opens is there then. Without a process there is no
 * canceller: queries are bounded by the server's own time limit still. */
void query_canceller_start(struct query_canceller *ret_guardian, void (*cancel)(void *session),
			   void *session);

#define QUERY_CANCELLER_S 5

/* The session ends well: ends the process and waits for it. */
void query_canceller_dismiss(struct query_canceller *query_canceller);
