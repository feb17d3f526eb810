#include "judge/shared_cache.h"

#include "common/buf.h"
#include "common/clock.h"
#include "database/array.h"
#include "judge/shared_cache_keeper.h"

#include <inttypes.h>
#include <math.h>

#define BATCH_MAX 256

/* A connection that is silent for a wait, and for this at least, is given up: it is away until another one
 * has shown that the table can be read. */
#define SILENCE_MS 500

#define READ                                                                                                 \
	"SELECT key, score, left(reason, 2000), kind = 'relevance' FROM judge_verdicts WHERE key = ANY "     \
	"($1::bytea[]) "                                                                                     \
	"AND stored_at > now() - make_interval(secs => $2)"

struct shared_cache {
	struct keeper *keeper;
	PGconn *connection; /* or NULL */
	bool moved;	    /* the connection is another one */
	struct list asking; /* not sent yet */
	struct list asked;  /* by the query under way */
	bool busy;	    /* a query is under way */
	int64_t sent_us;
	int64_t wait_us;
	int64_t silence_us;
	int64_t started_us;
	PGresult *result; /* of which texts were handed out */
	_Atomic bool connected;
};

static struct shared_lookup *lookup_of(struct list_node *node)
{
	return container_of(node, struct shared_lookup, node);
}

struct shared_cache *shared_cache_start(const struct shared_cache_options *options)
{
	struct shared_cache *shared = calloc(1, sizeof *shared);
	if (!shared)
		abort();
	list_init(&shared->asking);
	list_init(&shared->asked);
	shared->wait_us = options->wait_ms * 1000;
	shared->silence_us = (options->wait_ms > SILENCE_MS ? options->wait_ms : SILENCE_MS) * 1000;
	shared->started_us = clock_monotonic_us();
	shared->keeper = keeper_start(options);
	return shared;
}

static void lose_connection(struct shared_cache *shared)
{
	PQfinish(TAKE_PTR(shared->connection));
	shared->busy = false;
	shared->moved = true;
	atomic_store(&shared->connected, false);
	keeper_want_connection(shared->keeper);
}

void shared_cache_stop(struct shared_cache *shared)
{
	if (!shared)
		return;
	PQfinish(shared->connection);
	PQclear(shared->result);
	keeper_stop(shared->keeper);
	free(shared);
}

void shared_cache_set_retention(struct shared_cache *shared, int64_t retention_s)
{
	keeper_set_retention(shared->keeper, retention_s);
}

void shared_cache_put(struct shared_cache *shared, const unsigned char key[DIGEST_BYTES],
		      enum judge_question kind, const struct cached_verdict *verdict)
{
	keeper_put(shared->keeper, key, kind, verdict);
}

/* Nobody knows yet whether there is a server. */
static bool is_starting(const struct shared_cache *shared, int64_t now_us)
{
	return !shared->connection && !keeper_tried(shared->keeper) &&
	       now_us < shared->started_us + SHARED_CACHE_START_MS * 1000;
}

static bool is_late(const struct shared_cache *shared, int64_t now_us)
{
	return shared->busy && now_us >= shared->sent_us + shared->wait_us;
}

bool shared_cache_ask(struct shared_cache *shared, struct shared_lookup *lookup, int64_t now_us)
{
	if (is_late(shared, now_us) || (!shared->connection && !is_starting(shared, now_us)))
		return false;
	lookup->found = false;
	lookup->since_us = now_us;
	list_append(&shared->asking, &lookup->node);
	return true;
}

/* ---- sending ---- */

static void send_query(struct shared_cache *shared, int64_t now_us)
{
	_cleanup_(buf_free) struct buf keys = BUF_INIT;
	char retention[24];
	struct list_node *node;
	while (shared->asked.count < BATCH_MAX && (node = list_take(&shared->asking))) {
		array_append_bytes(&keys, lookup_of(node)->key, DIGEST_BYTES);
		list_append(&shared->asked, node);
	}
	array_end(&keys);
	snprintf(retention, sizeof retention, "%" PRId64, keeper_retention_s(shared->keeper));
	const char *const values[] = { keys.data, retention };
	static const int binary = 1;
	if (!PQsendQueryParams(shared->connection, READ, 2, NULL, values, NULL, NULL, binary) ||
	    PQflush(shared->connection) < 0) {
		lose_connection(shared);
		return;
	}
	shared->busy = true;
	shared->sent_us = now_us;
}

/* ---- receiving ---- */

static double read_double(const char *value)
{
	uint64_t bits = 0;
	double number;
	for (size_t i = 0; i < sizeof bits; i++)
		bits = bits << 8 | (unsigned char)value[i];
	memcpy(&number, &bits, sizeof number);
	return number;
}

/* Others write the table, too: what is no verdict of that kind is none. */
static bool is_verdict(enum judge_question kind, bool relevance, double score)
{
	if (relevance != (kind == JUDGE_RELEVANCE))
		return false;
	if (relevance)
		return score >= 0 && score <= 100 && score == floor(score);
	return score == 0 || score == 0.5 || score == 1;
}

static struct shared_lookup *find_asked(struct shared_cache *shared, const char *key)
{
	LIST_FOREACH (node, &shared->asked)
		if (memcmp(lookup_of(node)->key, key, DIGEST_BYTES) == 0)
			return lookup_of(node);
	return NULL;
}

static void read_row(struct shared_cache *shared, const PGresult *result, int row, struct list *finished)
{
	if (PQgetlength(result, row, 0) != DIGEST_BYTES || PQgetlength(result, row, 1) != 8)
		return;
	struct shared_lookup *lookup = find_asked(shared, PQgetvalue(result, row, 0));
	double score = read_double(PQgetvalue(result, row, 1));
	if (!lookup || !is_verdict(lookup->kind, PQgetvalue(result, row, 3)[0] != 0, score))
		return;
	lookup->found = true;
	lookup->score = score;
	lookup->reason = STR_NONE;
	if (!PQgetisnull(result, row, 2))
		lookup->reason = (str_t){ PQgetvalue(result, row, 2), (size_t)PQgetlength(result, row, 2) };
	list_remove(&shared->asked, &lookup->node);
	list_append(finished, &lookup->node);
}

/* What the query has not found is a miss. */
static void finish_asked(struct shared_cache *shared, struct list *finished)
{
	list_splice(finished, &shared->asked);
	shared->busy = false;
}

static void receive(struct shared_cache *shared, struct list *finished)
{
	if (!PQconsumeInput(shared->connection)) {
		lose_connection(shared);
		return;
	}
	while (shared->busy && !PQisBusy(shared->connection)) {
		PGresult *result = PQgetResult(shared->connection);
		if (!result) {
			finish_asked(shared, finished);
			return;
		}
		bool rows = PQresultStatus(result) == PGRES_TUPLES_OK;
		for (int row = 0; rows && row < PQntuples(result); row++)
			read_row(shared, result, row, finished);
		PQclear(shared->result);
		shared->result = result;
		if (!rows) { /* the table is gone, the server shuts down, …: the keeper will see */
			lose_connection(shared);
			return;
		}
	}
}

/* What waited for a connection at the start begins to wait for an answer. */
static void take_connection(struct shared_cache *shared, int64_t now_us)
{
	if (shared->connection)
		return;
	shared->connection = keeper_take_connection(shared->keeper);
	shared->moved |= shared->connection != NULL;
	atomic_store(&shared->connected, shared->connection != NULL);
	LIST_FOREACH (node, &shared->asking)
		lookup_of(node)->since_us = now_us;
}

/* When the one that waits longest has waited long enough; INT64_MAX: nothing waits. */
static int64_t first_late_us(const struct shared_cache *shared)
{
	const struct list *list = list_empty(&shared->asked) ? &shared->asking : &shared->asked;
	return list_empty(list) ? INT64_MAX : lookup_of(list->head.next)->since_us + shared->wait_us;
}

/* Those that have waited long enough, with a connection or without. */
static void give_up_late(struct shared_cache *shared, int64_t now_us, struct list *finished)
{
	bool hopeless = shared->connection ? is_late(shared, now_us) : !is_starting(shared, now_us);
	if (hopeless) {
		list_splice(finished, &shared->asked);
		list_splice(finished, &shared->asking);
	}
	while (shared->connection && first_late_us(shared) <= now_us)
		list_append(finished,
			    list_take(list_empty(&shared->asked) ? &shared->asking : &shared->asked));
}

void shared_cache_run(struct shared_cache *shared, int64_t now_us, struct list *finished)
{
	take_connection(shared, now_us);
	if (shared->connection)
		receive(shared, finished);
	if (shared->busy && now_us - shared->sent_us >= shared->silence_us)
		lose_connection(shared);
	if (shared->connection && !shared->busy && !list_empty(&shared->asking))
		send_query(shared, now_us);
	give_up_late(shared, now_us, finished);
}

void shared_cache_forget(struct shared_cache *shared)
{
	while (list_take(&shared->asking) || list_take(&shared->asked))
		;
}

bool shared_cache_moved(struct shared_cache *shared, int *ret_fd)
{
	bool moved = shared->moved;
	shared->moved = false;
	*ret_fd = shared->connection ? PQsocket(shared->connection) : -1;
	return moved;
}

int64_t shared_cache_next_us(const struct shared_cache *shared)
{
	int64_t late_us = first_late_us(shared), silent_us = shared->sent_us + shared->silence_us;
	if (shared->busy)
		return late_us < silent_us ? late_us : silent_us;
	return late_us < INT64_MAX ? shared->started_us + SHARED_CACHE_START_MS * 1000 : INT64_MAX;
}

struct ticker *shared_cache_ticker(struct shared_cache *shared)
{
	return keeper_ticker(shared->keeper);
}

struct shared_cache_stats shared_cache_stats(struct shared_cache *shared)
{
	struct shared_cache_stats stats = { .connected = atomic_load(&shared->connected) };
	keeper_stats(shared->keeper, &stats);
	return stats;
}
