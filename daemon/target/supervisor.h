/*
 * Inside of the targets: what the supervisor thread, the catalog thread and the public functions share.
 *
 * Who may touch what: fields marked [mutex] only under targets->mutex; fields marked [fixed] are not changed
 * after the start; all others belong to the supervisor thread.
 */
#pragma once

#include "common/backoff.h"
#include "common/buf.h"
#include "common/circuit_breaker.h"
#include "common/pool.h"
#include "common/queue.h"
#include "common/secret.h"
#include "target/target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum worker_state {
	WORKER_ABSENT, /* no process */
	WORKER_IDLE,   /* waits for a request; its first messages may still be on their way */
	WORKER_BUSY,   /* has a request and a deadline */
	WORKER_DYING,  /* killed, gone or taking leave, not reaped yet */
	WORKER_STATE_COUNT_
};

enum worker_request_kind {
	REQUEST_NONE,
	REQUEST_CATALOG,
	REQUEST_CALL,
	REQUEST_WITHDRAWN, /* its call has gone to another worker: the answer is thrown away */
};

struct worker_request {
	enum worker_request_kind kind;
	struct target_call *call; /* of a CALL */
	int64_t budget_ms;
};

/* A worker that answers quickly is sent one more call while it runs one, so that neither waits for the other
 * in between. A call that has come to lie behind a slow one is withdrawn after a moment and goes to whoever
 * is free first. The worker may have begun with it nevertheless: then it is run twice, and the first one's
 * answer is thrown away. */
struct worker {
	enum worker_state state;
	pid_t pid;
	int fd;
	struct buf in;
	struct buf out;
	size_t out_sent;
	bool proven;		       /* its last answer came from the target */
	struct secret_look password;   /* at its file, when it was started */
	const char *died_while;	       /* what it did when it ended by itself; NULL: we ended it */
	int64_t deadline_us;	       /* of a BUSY one, and of one that takes leave */
	int64_t idle_since_us;	       /* of an IDLE one */
	bool quick;		       /* its last call was answered at once */
	struct worker_request running; /* of a BUSY one */
	int64_t began_us;	       /* with that */
	struct worker_request behind;  /* of a BUSY one: sent as well, NONE, CALL or WITHDRAWN */
};

struct target {
	struct targets *targets;	 /* [fixed] */
	struct target_settings settings; /* [fixed] */
	struct list waiting;		 /* calls that no worker has */
	struct worker *workers;		 /* settings.connections of them */
	struct circuit_breaker breaker;	 /* a target that does not answer is not asked by every call */
	struct err_detail down_reason;
	struct backoff respawn;
	int64_t spawn_after_us;
	bool catalog_in_flight;
	struct backoff catalog_retry;
	bool *misnamed; /* [catalog thread] rules of the policy that the catalog has no names for: said */
	struct catalog *catalog;	 /* [mutex] or NULL */
	int64_t catalog_due_us;		 /* [mutex] when it is fetched next */
	int64_t suspected_us;		 /* [mutex] when names were last in doubt; 0: never */
	bool catalog_settled;		 /* [mutex] a fetch has ended since the start, well or not */
	bool catalog_failed;		 /* [mutex] the last fetch failed: said once */
	struct err_detail catalog_error; /* [mutex] why; empty: it did not */

	/* for any thread */
	_Atomic uint64_t is_down, waiting_now, workers_now; /* as of the last round */
	_Atomic uint64_t started, died, killed, denied;
};

struct targets {
	struct arena *arena;	     /* [fixed] */
	struct target *items;	     /* [fixed] pointer and count */
	size_t count;		     /* [fixed] */
	size_t queue_limit;	     /* [fixed] */
	const char *state_directory; /* [fixed] or NULL */
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* with the mutex: catalogs were settled, or loading has ended */
	struct list submitted;	/* [mutex] */
	bool closed;		/* [mutex] */
	bool loaded;		/* [mutex] kept catalogs are in place */
	int wake_fd;		/* eventfd */
	struct queue fetched;	/* struct fetched_catalog, to the catalog thread */
	struct pool *supervisor;
	struct pool *catalogs;
	bool unkept; /* [catalog thread] a catalog could not be kept: said once */
	struct heartbeat heartbeat;
};

/* A catalog's source as a worker has read it. */
struct fetched_catalog {
	struct list_node node;
	struct target *target;
	int64_t read_at_ms;
	struct buf json;
};

/* settings.c: copies settings into the arena. Says what is wrong with them: ERR_CONFIG_*. */
err_t target_settings_copy(const struct target_settings *from, struct arena *arena,
			   struct target_settings *ret_settings, struct err_detail *detail);
const char *target_engine_name(enum target_engine engine);

/* supervisor.c: the thread; waking it. */
void supervisor_run(void *context, unsigned index);
void targets_wake(const struct targets *targets);

/* workers.c: answers a call with an error (calls `done`). */
void target_call_fail(struct target_call *call, err_t err, const char *message);

/* catalogs.c: compiles what the target's worker has read. */
err_t target_catalog_compile(enum target_engine engine, str_t source, struct catalog **ret_catalog,
			     struct err_detail *detail);
/* The thread that compiles and keeps catalogs; loads the kept ones first. */
void target_catalogs_run(void *context, unsigned index);
/* Notes the end of a fetch, which failed with `error`, or NULL; [mutex] is taken inside. */
void target_catalog_settle(struct target *target, int64_t due_us, const char *error);
