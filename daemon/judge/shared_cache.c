#include "judge/shared_cache.h"

#include "common/buf.h"
#include "common/clock.h"
#include "database/array.h"
#include "judge/shared_cache_keeper.h"

#include <inttypes.h>
#include <math.h>

/* Of one query: the answers to the first are read while PostgreSQL looks for the next. */
#define BATCH_MAX 512

/* Queries under way at a time, in one pipeline; each further one costs PostgreSQL about as much as so many
 * keys. */
#define QUERIES_MAX   4
#define WORTH_A_QUERY 32

/* A connection that is silent for a wait, and for this at least, is given up: it is away until another one
 * has shown that the table can be read. */
#define SILENCE_MS 500

#define UNSENT_US 1000

/* Older than any time to live. */
#define AGE_MAX_S 1e11

#define READ                                                                                                 \
	"SELECT key, score, left(reason, 2000), kind = 'relevance', extract(epoch FROM now() - "             \
	"stored_at)::float8 FROM judge_verdicts WHERE key = ANY ($1::bytea[]) "                              \
	"AND stored_at > now() - make_interval(secs => $2)"

struct shared_cache {
	struct keeper *keeper;
	PGconn *connection;		/* or NULL */
	bool moved;			/* the connection is another one */
	struct list asking;		/* not sent yet */
	struct list asked[QUERIES_MAX]; /* by each of the queries under way: a ring */
	unsigned first, under_way;
	int64_t owed_us;   /* since when the server owes the answer of the first of them */
	int64_t unsent_us; /* when to try again to send what the socket had no room for */
	int64_t wait_us;
	int64_t silence_us;
	int64_t started_us;
	PGresult *results[QUERIES_MAX]; /* of which texts were handed out */
	unsigned results_count;
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
	for (unsigned i = 0; i < QUERIES_MAX; i++)
		list_init(&shared->asked[i]);
	shared->unsent_us = INT64_MAX;
	shared->wait_us = options->wait_ms * 1000;
	shared->silence_us = (options->wait_ms > SILENCE_MS ? options->wait_ms : SILENCE_MS) * 1000;
	shared->started_us = clock_monotonic_us();
	shared->keeper = shared_cache_keeper_start(options);
	return shared;
}

/* What query number `number` of those under way asks for. */
static struct list *asked_by(struct shared_cache *shared, unsigned number)
{
	return &shared->asked[(shared->first + number) % QUERIES_MAX];
}

/* What was asked for is to be asked for again, before the rest. */
static void lose_connection(struct shared_cache *shared)
{
	struct list asking = LIST_INIT(asking);
	PQfinish(TAKE_PTR(shared->connection));
	for (unsigned i = 0; i < shared->under_way; i++)
		list_splice(&asking, asked_by(shared, i));
	list_splice(&asking, &shared->asking);
	list_splice(&shared->asking, &asking);
	shared->under_way = 0;
	shared->unsent_us = INT64_MAX;
	shared->moved = true;
	atomic_store(&shared->connected, false);
	shared_cache_keeper_want_connection(shared->keeper);
}

static void forget_texts(struct shared_cache *shared)
{
	while (shared->results_count > 0)
		PQclear(shared->results[--shared->results_count]);
}

void shared_cache_stop(struct shared_cache *shared)
{
	if (!shared)
		return;
	PQfinish(shared->connection);
	forget_texts(shared);
	shared_cache_keeper_stop(shared->keeper);
	free(shared);
}

void shared_cache_set_retention(struct shared_cache *shared, int64_t retention_s)
{
	shared_cache_keeper_set_retention(shared->keeper, retention_s);
}

void shared_cache_put(struct shared_cache *shared, const unsigned char key[DIGEST_BYTES],
		      enum judge_question kind, const struct cached_verdict *verdict)
{
	shared_cache_keeper_put(shared->keeper, key, kind, verdict);
}

/* Nobody knows yet whether there is a server. */
static bool is_starting(const struct shared_cache *shared, int64_t now_us)
{
	return !shared->connection && !shared_cache_keeper_tried(shared->keeper) &&
	       now_us < shared->started_us + SHARED_CACHE_START_MS * 1000;
}

static bool is_late(const struct shared_cache *shared, int64_t now_us)
{
	return shared->under_way > 0 && now_us >= shared->owed_us + shared->wait_us;
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
	struct list *asked = asked_by(shared, shared->under_way);
	_cleanup_(buf_free) struct buf keys = BUF_INIT;
	char retention[24];
	struct list_node *node;
	while (asked->count < BATCH_MAX && (node = list_take(&shared->asking))) {
		array_append_bytes(&keys, lookup_of(node)->by_key.key, DIGEST_BYTES);
		list_append(asked, node);
	}
	array_end(&keys);
	snprintf(retention, sizeof retention, "%" PRId64, shared_cache_keeper_retention_s(shared->keeper));
	const char *const values[] = { keys.data, retention };
	static const int binary = 1;
	if (shared->under_way++ == 0)
		shared->owed_us = now_us;
	if (!PQsendQueryParams(shared->connection, READ, 2, NULL, values, NULL, NULL, binary) ||
	    !PQpipelineSync(shared->connection))
		lose_connection(shared);
}

/* Nobody watches whether the socket has room again. */
static void flush(struct shared_cache *shared, int64_t now_us)
{
	int left = shared->connection ? PQflush(shared->connection) : 0;
	shared->unsent_us = left > 0 ? now_us + UNSENT_US : INT64_MAX;
	if (left < 0)
		lose_connection(shared);
}

/* At once when nothing is under way; behind others only what is worth a query of its own. */
static bool may_send(const struct shared_cache *shared)
{
	size_t least = shared->under_way == 0 ? 1 : WORTH_A_QUERY;
	return shared->connection && shared->under_way < QUERIES_MAX && shared->asking.count >= least;
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

/* Since it was given, as PostgreSQL's clock has it: none is younger than nothing. */
static int64_t read_age_us(const PGresult *result, int row)
{
	double age_s = PQgetlength(result, row, 4) == 8 ? read_double(PQgetvalue(result, row, 4)) : INFINITY;
	if (!(age_s < AGE_MAX_S))
		age_s = AGE_MAX_S;
	return age_s > 0 ? (int64_t)(age_s * 1e6) : 0;
}

/* The look-up that the row answers, taken out of `asked`; or NULL. */
static struct shared_lookup *take_answered(struct digest_table *asked, const PGresult *result, int row)
{
	if (PQgetlength(result, row, 0) != DIGEST_BYTES || PQgetlength(result, row, 1) != 8)
		return NULL;
	struct digest_node *node = digest_table_get(asked, (const unsigned char *)PQgetvalue(result, row, 0));
	if (!node)
		return NULL;
	digest_table_remove(asked, node);
	return container_of(node, struct shared_lookup, by_key);
}

static void read_row(struct shared_cache *shared, struct digest_table *asked, const PGresult *result, int row,
		     struct list *finished)
{
	struct shared_lookup *lookup = take_answered(asked, result, row);
	double score = lookup ? read_double(PQgetvalue(result, row, 1)) : 0;
	int64_t age_us = read_age_us(result, row);
	if (!lookup || !is_verdict(lookup->kind, PQgetvalue(result, row, 3)[0] != 0, score) ||
	    age_us >= lookup->ttl_us)
		return;
	lookup->found = true;
	lookup->age_us = age_us;
	lookup->score = score;
	lookup->reason = STR_NONE;
	if (!PQgetisnull(result, row, 2))
		lookup->reason = (str_t){ PQgetvalue(result, row, 2), (size_t)PQgetlength(result, row, 2) };
	list_remove(asked_by(shared, 0), &lookup->node);
	list_append(finished, &lookup->node);
}

static void read_rows(struct shared_cache *shared, const PGresult *result, struct list *finished)
{
	struct digest_table asked = { NULL, 0, 0 };
	LIST_FOREACH (node, asked_by(shared, 0))
		digest_table_add(&asked, &lookup_of(node)->by_key);
	for (int row = 0; row < PQntuples(result); row++)
		read_row(shared, &asked, result, row, finished);
	digest_table_free(&asked);
}

/* What the first query has not found is a miss. */
static void finish_query(struct shared_cache *shared, int64_t now_us, struct list *finished)
{
	list_splice(finished, asked_by(shared, 0));
	shared->first = (shared->first + 1) % QUERIES_MAX;
	shared->under_way--;
	shared->owed_us = now_us;
}

/* One result of the first query: its rows, or that it has ended. */
static bool read_result(struct shared_cache *shared, PGresult *result, int64_t now_us, struct list *finished)
{
	ExecStatusType status = PQresultStatus(result);
	bool rows = status == PGRES_TUPLES_OK && shared->results_count < QUERIES_MAX;
	if (rows) {
		read_rows(shared, result, finished);
		shared->results[shared->results_count++] = result;
		return true;
	}
	PQclear(result);
	if (status == PGRES_PIPELINE_SYNC)
		finish_query(shared, now_us, finished);
	return status == PGRES_PIPELINE_SYNC;
}

static void receive(struct shared_cache *shared, int64_t now_us, struct list *finished)
{
	bool well = PQconsumeInput(shared->connection);
	bool end = false; /* between a query's rows and that it has ended there is one NULL */
	while (well && shared->under_way > 0 && !PQisBusy(shared->connection)) {
		PGresult *result = PQgetResult(shared->connection);
		well = result ? read_result(shared, result, now_us, finished) : !end;
		end = !result;
	}
	if (!well) /* the table is gone, the server shuts down, …: the keeper will see */
		lose_connection(shared);
}

/* What waited for a connection at the start begins to wait for an answer. */
static void take_connection(struct shared_cache *shared, int64_t now_us)
{
	if (shared->connection)
		return;
	shared->connection = shared_cache_keeper_take_connection(shared->keeper);
	if (shared->connection && !PQenterPipelineMode(shared->connection)) {
		lose_connection(shared);
		return;
	}
	shared->moved |= shared->connection != NULL;
	atomic_store(&shared->connected, shared->connection != NULL);
	LIST_FOREACH (node, &shared->asking)
		lookup_of(node)->since_us = now_us;
}

/* The one with what has waited longest. */
static struct list *first_list(struct shared_cache *shared)
{
	for (unsigned i = 0; i < shared->under_way; i++)
		if (!list_empty(asked_by(shared, i)))
			return asked_by(shared, i);
	return &shared->asking;
}

/* When the one that waits longest has waited long enough; INT64_MAX: nothing waits. */
static int64_t first_late_us(struct shared_cache *shared)
{
	const struct list *list = first_list(shared);
	return list_empty(list) ? INT64_MAX : lookup_of(list->head.next)->since_us + shared->wait_us;
}

/* Those that have waited long enough, with a connection or without. */
static void give_up_late(struct shared_cache *shared, int64_t now_us, struct list *finished)
{
	bool hopeless = shared->connection ? is_late(shared, now_us) : !is_starting(shared, now_us);
	if (hopeless) {
		for (unsigned i = 0; i < shared->under_way; i++)
			list_splice(finished, asked_by(shared, i));
		list_splice(finished, &shared->asking);
	}
	while (shared->connection && first_late_us(shared) <= now_us)
		list_append(finished, list_take(first_list(shared)));
}

void shared_cache_run(struct shared_cache *shared, int64_t now_us, struct list *finished)
{
	forget_texts(shared);
	take_connection(shared, now_us);
	if (shared->connection)
		receive(shared, now_us, finished);
	if (shared->under_way > 0 && now_us - shared->owed_us >= shared->silence_us)
		lose_connection(shared);
	while (may_send(shared))
		send_query(shared, now_us);
	flush(shared, now_us);
	give_up_late(shared, now_us, finished);
}

void shared_cache_forget(struct shared_cache *shared)
{
	for (struct list_node *node = NULL; (node = list_take(first_list(shared)));)
		;
}

bool shared_cache_moved(struct shared_cache *shared, int *ret_fd)
{
	bool moved = shared->moved;
	shared->moved = false;
	*ret_fd = shared->connection ? PQsocket(shared->connection) : -1;
	return moved;
}

int64_t shared_cache_next_us(struct shared_cache *shared)
{
	int64_t late_us = first_late_us(shared), silent_us = shared->owed_us + shared->silence_us;
	if (shared->under_way > 0 && shared->unsent_us < silent_us)
		silent_us = shared->unsent_us;
	if (shared->under_way > 0)
		return late_us < silent_us ? late_us : silent_us;
	return late_us < INT64_MAX ? shared->started_us + SHARED_CACHE_START_MS * 1000 : INT64_MAX;
}

struct heartbeat *shared_cache_heartbeat(struct shared_cache *shared)
{
	return shared_cache_keeper_heartbeat(shared->keeper);
}

struct shared_cache_stats shared_cache_stats(struct shared_cache *shared)
{
	struct shared_cache_stats stats = { .connected = atomic_load(&shared->connected) };
	shared_cache_keeper_stats(shared->keeper, &stats);
	return stats;
}
