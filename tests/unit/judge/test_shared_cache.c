/* The cache that instances share, on a real PostgreSQL server; skipped where there is none. */
#include "judge_server.h"

#include "judge/shared_cache.h"
#include "tests/harness/servers/postgres.h"

#include <dirent.h>
#include <libpq-fe.h>
#include <sys/socket.h>

static struct judge_server server;
static struct test_postgres postgres;

static int start_servers(void **state)
{
	(void)state;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	judge_server_start(&server, (const char *const[]){ NULL });
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	judge_server_stop(&server);
	test_postgres_do(&postgres, "stop");
	return 0;
}

/* Runs statements; the first field of the last result as a number, or −1. */
static int64_t run_sql(const char *sql)
{
	PGconn *connection = PQconnectdb(postgres.socket_dsn);
	PGresult *result = PQexec(connection, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(connection));
	int64_t number = PQntuples(result) ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
	PQclear(result);
	PQfinish(connection);
	return number;
}

static int forget_verdicts(void **state)
{
	(void)state;
	run_sql("DROP TABLE IF EXISTS judge_verdicts, judge_migrations");
	judge_server_script(&server, "");
	return 0;
}

static struct judge_settings shared_settings(void)
{
	struct judge_settings settings = judge_server_settings(&server);
	settings.cache_dsn = postgres.dsn;
	settings.cache_retention_s = 3600;
	settings.cache_wait_ms = 60000;
	settings.max_in_flight = 64;
	settings.wait_when_saturated = true;
	return settings;
}

static void await_connection(struct judge *judge, int64_t wanted)
{
	for (int i = 0; judge_stats(judge, 0).cache_connected != wanted; i++) {
		if (i == 6000)
			fail_msg("the shared cache is not %s", wanted ? "there" : "away");
		usleep(10000);
	}
}

/* A judge that stops gives what is to be stored a few seconds; here it has all the time that it needs. */
static void await_rows(int64_t wanted)
{
	for (int i = 0; i < 600 && run_sql("SELECT count(*) FROM judge_verdicts") < wanted; i++)
		usleep(100000);
	assert_int_equal(run_sql("SELECT count(*) FROM judge_verdicts"), wanted);
}

/* One that can read the shared cache. */
static struct judge *start_connected(const struct judge_settings *settings)
{
	struct judge *judge = judge_server_judge(settings);
	await_connection(judge, 1);
	return judge;
}

/* Asks for `count` verdicts; returns how many were cached. All must be right: 90, or 7 for "[score 7]". */
static size_t ask_many(struct judge *judge, size_t count, const char *tag)
{
	struct judge_batch batch;
	size_t cached = 0;
	judge_batch_init(&batch, judge, count);
	for (size_t i = 0; i < count; i++) {
		struct judge_call *call = &batch.calls[i];
		call->question = arena_printf(call->arena, "question %zu %s", i, tag);
		call->kind = i % 3 == 2 ? JUDGE_CORRECTNESS : JUDGE_RELEVANCE;
		call->truth_sql = STR("SELECT 2");
	}
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < count; i++) {
		const struct judge_verdict *verdict = &batch.calls[i].verdict;
		assert_int_equal(verdict->error, ERR_OK);
		assert_true(verdict->score == (i % 3 == 2 ? 1.0 : *tag ? 7 : 90));
		assert_string_equal(verdict->reason.ptr, "as scripted");
		assert_true(!verdict->cached || verdict->prompt_tokens == 0);
		cached += verdict->cached;
	}
	judge_batch_free(&batch);
	return cached;
}

/* A new process finds what the last one has asked, and so does another instance beside it. */
static void test_verdicts_outlive_the_judge(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge *judge = judge_server_judge(&settings);
	await_connection(judge, 1);
	assert_int_equal(ask_many(judge, 200, ""), 0);
	await_rows(200);
	judge_stop(judge);
	assert_int_equal(judge_server_count(&server, "requests"), 200);
	judge = judge_server_judge(&settings);
	struct judge *other = judge_server_judge(&settings);
	await_connection(judge, 1);
	await_connection(other, 1);
	assert_int_equal(ask_many(judge, 200, ""), 200);
	assert_int_equal(ask_many(other, 200, ""), 200);
	assert_int_equal(judge_server_count(&server, "requests"), 200);
	await_judge_stat(judge, shared_hits, 200);
	assert_int_equal(ask_many(judge, 200, ""), 200); /* from memory now */
	await_judge_stat(judge, shared_hits, 200);
	judge_stop(judge);
	judge_stop(other);
}

/* Those of a former judge may take their time to go. */
static void await_connections(int64_t wanted)
{
	static const char query[] =
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
		"AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
	int64_t found = run_sql(query); /* what is asked again may be another one that goes */
	for (int i = 0; i < 600 && found != wanted; i++, found = run_sql(query))
		usleep(100000);
	assert_int_equal(found, wanted);
}

/* Two members that differ in name alone have one connection, and verdicts of their own. */
static void test_members_share_it(void **state)
{
	(void)state;
	struct judge_settings settings[2] = { shared_settings(), shared_settings() };
	settings[0].name = "one";
	settings[1].name = "two";
	for (int life = 0; life < 2; life++) {
		struct judge_batch batch;
		struct judge *judge = NULL;
		struct err_detail detail = { "" };
		assert_int_equal(judge_start(settings, 2, &judge, &detail), ERR_OK);
		await_connection(judge, 1);
		judge_batch_init(&batch, judge, 100);
		for (size_t i = 0; i < batch.count; i++) {
			batch.calls[i].member = i % 2;
			batch.calls[i].question = arena_printf(batch.calls[i].arena, "question %zu", i / 2);
		}
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		for (size_t i = 0; i < batch.count; i++) {
			assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
			assert_int_equal(batch.calls[i].verdict.cached, life);
		}
		await_rows(100);
		await_connections(2);
		judge_stop(judge);
		judge_batch_free(&batch);
	}
	assert_int_equal(judge_server_count(&server, "requests"), 100);
}

/* Instances that start together on an empty database make the tables once. */
static void test_migrations_are_applied_once(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge *judges[6];
	for (size_t i = 0; i < 6; i++)
		judges[i] = judge_server_judge(&settings);
	for (size_t i = 0; i < 6; i++)
		await_connection(judges[i], 1);
	assert_int_equal(run_sql("SELECT count(*) FROM judge_migrations"), 1);
	for (size_t i = 0; i < 6; i++)
		judge_stop(judges[i]);
}

static void test_failures_are_not_stored(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge_batch batch;
	static const char *const tags[] = { "[status 400]", "[rubbish]", "[score 101]", "[html]" };
	struct judge *judge = start_connected(&settings);
	judge_batch_init(&batch, judge, 4);
	for (size_t i = 0; i < 4; i++)
		batch.calls[i].question = str_from(tags[i]);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < 4; i++)
		assert_int_not_equal(batch.calls[i].verdict.error, ERR_OK);
	judge_stop(judge);
	judge_batch_free(&batch);
	assert_int_equal(run_sql("SELECT count(*) FROM judge_verdicts"), 0);
}

/* What is older than the retention is no hit, is removed, and is stored anew. */
static void test_retention(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge *judge = judge_server_judge(&settings);
	await_connection(judge, 1);
	ask_many(judge, 30, "");
	await_rows(30);
	judge_stop(judge);
	run_sql("UPDATE judge_verdicts SET stored_at = now() - interval '2 hours'");
	judge = start_connected(&settings);
	assert_int_equal(ask_many(judge, 10, ""), 0);
	judge_stop(judge);
	assert_int_equal(run_sql("SELECT count(*) FROM judge_verdicts"), 10);
}

/* What was given longer ago than the time to live counts neither from the table nor from memory, into which
 * it came with its age; with none nothing does. Rows are kept for as long as the retention says, and count
 * again where they may be as old. */
static void test_verdicts_grow_old_wherever_they_are(void **state)
{
	(void)state;
	static const struct {
		int64_t ttl_s;
		size_t cached;
	} cases[] = {
		{ 4000, 10 }, { 7000, 10 }, { 3000, 0 }, { 3000, 10 }, { 0, 0 }, { 0, 0 }, { 7000, 10 }
	};
	struct judge_settings settings = shared_settings();
	struct err_detail detail = { "" };
	settings.cache_retention_s = 2592000;
	struct judge *judge = start_connected(&settings);
	ask_many(judge, 10, "");
	await_rows(10);
	judge_stop(judge);
	run_sql("UPDATE judge_verdicts SET stored_at = now() - interval '3600 s'");
	judge = start_connected(&settings); /* 3600: just too old */
	assert_int_equal(ask_many(judge, 5, ""), 0);
	judge_stop(judge);
	run_sql("UPDATE judge_verdicts SET stored_at = now() - interval '3600 s'");
	settings.cache_ttl_s = 7000;
	judge = start_connected(&settings);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		settings.cache_ttl_s = cases[i].ttl_s;
		settings.max_in_flight--; /* shows when the thread has taken it over */
		assert_int_equal(judge_reload(judge, &settings, 1, &detail), ERR_OK);
		await_judge_stat(judge, slots, settings.max_in_flight);
		assert_int_equal(ask_many(judge, 10, ""), cases[i].cached);
	}
	await_judge_stat(judge, shared_hits, 20); /* of the first case and of the last */
	assert_int_equal(run_sql("SELECT count(*) FROM judge_verdicts"), 10);
	judge_stop(judge);
}

/* Members may have times to live of their own. */
static void test_members_have_their_own_time_to_live(void **state)
{
	(void)state;
	struct judge_settings settings[2] = { shared_settings(), shared_settings() };
	settings[0].name = "one";
	settings[1].name = "two";
	settings[1].cache_ttl_s = 7200;
	for (int life = 0; life < 2; life++) {
		struct judge_batch batch;
		struct judge *judge = NULL;
		struct err_detail detail = { "" };
		settings[0].cache_retention_s = settings[1].cache_retention_s = 86400;
		assert_int_equal(judge_start(settings, 2, &judge, &detail), ERR_OK);
		await_connection(judge, 1);
		judge_batch_init(&batch, judge, 40);
		for (size_t i = 0; i < batch.count; i++) {
			batch.calls[i].member = i % 2;
			batch.calls[i].question = arena_printf(batch.calls[i].arena, "question %zu", i / 2);
		}
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		for (size_t i = 0; i < batch.count; i++) {
			assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
			assert_int_equal(batch.calls[i].verdict.cached, life == 1 && i % 2 == 1);
		}
		await_rows(40);
		judge_stop(judge);
		judge_batch_free(&batch);
		run_sql("UPDATE judge_verdicts SET stored_at = now() - interval '90 min'");
	}
}

/* The table is everybody's: what is no verdict there is none here. */
static void test_rows_are_checked(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge *judge = judge_server_judge(&settings);
	await_connection(judge, 1);
	ask_many(judge, 3, "");
	await_rows(3);
	judge_stop(judge);
	assert_int_equal(
		run_sql("SELECT count(*) FROM pg_constraint WHERE conrelid = 'judge_verdicts'::regclass"
			" AND contype = 'c'"),
		3);
	run_sql("DO $$ DECLARE c text; BEGIN FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = "
		"'judge_verdicts'::regclass AND contype = 'c' LOOP EXECUTE 'ALTER TABLE judge_verdicts DROP "
		"CONSTRAINT ' || quote_ident(c); END LOOP; END $$");
	static const char *const forged[] = { "score = 101", "score = 'NaN'", "score = 0.25",
					      "score = 1, kind = replace('relevancecorrectness', kind, '')" };
	for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
		char sql[256];
		snprintf(sql, sizeof sql, "UPDATE judge_verdicts SET %s", forged[i]);
		run_sql(sql);
		judge = start_connected(&settings);
		assert_int_equal(ask_many(judge, 3, ""), 0);
		judge_stop(judge);
	}
}

/* Without PostgreSQL: memory alone, nobody waits; when it is back, all that was learned meanwhile is stored.
 */
static void test_away_and_back(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge *judge = start_connected(&settings);
	ask_many(judge, 20, "");
	assert_int_equal(test_postgres_do(&postgres, "kill"), 0);
	assert_int_equal(ask_many(judge, 40, "[score 7]"), 0);
	await_connection(judge, 0);
	assert_int_equal(ask_many(judge, 40, "[score 7]"), 40);
	assert_int_equal(test_postgres_do(&postgres, "resume"), 0);
	await_connection(judge, 1);
	await_rows(60);
	judge_stop(judge);
	assert_int_equal(judge_server_count(&server, "requests"), 60);
	/* As old as they are: all were given before PostgreSQL came back. */
	assert_int_equal(run_sql("SELECT count(*) FROM judge_verdicts WHERE stored_at < "
				 "pg_postmaster_start_time()"),
			 60);
}

static PGconn *lock_table(void)
{
	PGconn *connection = PQconnectdb(postgres.socket_dsn);
	PQclear(PQexec(connection, "BEGIN; LOCK judge_verdicts IN ACCESS EXCLUSIVE MODE"));
	assert_int_equal(PQtransactionStatus(connection), PQTRANS_INTRANS);
	return connection;
}

static void unlock_table(PGconn *connection)
{
	PQclear(PQexec(connection, "ROLLBACK"));
	PQfinish(connection);
}

/* PostgreSQL is slow: what it has is waited for, and not paid for again; and what it does not have finds its
 * place, however little may be waited for that. */
static void test_slowness_is_waited_for(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	settings.cache_wait_ms = 60000;
	settings.wait_when_saturated = false;
	settings.queue_wait_ms = 300;
	struct judge *judge = judge_server_judge(&settings);
	await_connection(judge, 1);
	assert_int_equal(ask_many(judge, 30, ""), 0);
	await_rows(30);
	judge_stop(judge);
	judge = start_connected(&settings);
	PGconn *connection = lock_table();
	struct judge_batch batch;
	judge_batch_init(&batch, judge, 40);
	for (size_t i = 0; i < batch.count; i++) {
		batch.calls[i].question = arena_printf(batch.calls[i].arena, "question %zu ", i);
		batch.calls[i].kind = i % 3 == 2 ? JUDGE_CORRECTNESS : JUDGE_RELEVANCE;
		batch.calls[i].truth_sql = STR("SELECT 2");
	}
	judge_batch_submit(&batch);
	usleep(700000);
	assert_int_equal(queue_count(&batch.answered), 0);
	unlock_table(connection);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
		assert_int_equal(batch.calls[i].verdict.cached, i < 30);
	}
	assert_int_equal(judge_server_count(&server, "requests"), 40);
	judge_stop(judge);
	judge_batch_free(&batch);
}

/* A cache that was silent for too long is left alone for as long as it cannot be read. */
static void test_a_silent_cache_stays_away(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	settings.cache_wait_ms = 50;
	struct judge *judge = start_connected(&settings);
	PGconn *connection = lock_table();
	assert_int_equal(ask_many(judge, 3, ""), 0);
	await_connection(judge, 0);
	for (int i = 0; i < 60; i++) { /* it could be connected to */
		assert_int_equal(judge_stats(judge, 0).cache_connected, 0);
		usleep(10000);
	}
	assert_int_equal(ask_many(judge, 3, "[score 7]"), 0);
	unlock_table(connection);
	await_connection(judge, 1);
	await_rows(6); /* written when they could be */
	judge_stop(judge);
}

/* There are verdicts to be stored, and PostgreSQL does not get round to it for as long as the table is
 * locked, which it is until the judge has stopped. */
static void test_stopping_does_not_wait_for_long(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	settings.cache_wait_ms = 50;
	struct judge *judge = start_connected(&settings);
	PGconn *connection = lock_table();
	assert_int_equal(ask_many(judge, 20, ""), 0);
	judge_stop(judge);
	unlock_table(connection);
}

/* Sends a signal to all processes of the server. */
static void signal_postgres(int number)
{
	char path[160];
	int server_pid = 0;
	snprintf(path, sizeof path, "%s/data/postmaster.pid", postgres.dir);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &server_pid), 1);
	fclose(file);
	assert_int_equal(kill(server_pid, number), 0);
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; (entry = readdir(processes));) {
		int pid, parent;
		snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%d (%*[^)]) %*c %d", &pid, &parent) == 2 && parent == server_pid)
			kill(pid, number);
		if (file)
			fclose(file);
	}
	closedir(processes);
}

/* A server that hangs costs one wait, of those who ask at that time, and not one for every event; and what
 * was learned meanwhile is stored when it goes on. */
static void test_a_hanging_server_costs_one_wait(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	settings.cache_wait_ms = 5000;
	struct judge *judge = judge_server_judge(&settings);
	struct judge_batch batch;
	size_t slow = 0;
	await_connection(judge, 1);
	signal_postgres(SIGSTOP);
	judge_batch_init(&batch, judge, 24);
	for (size_t i = 0; i < 4; i++) /* together */
		judge_submit(judge, &batch.calls[i]);
	assert_int_equal(queue_wait(&batch.answered, 4, 60000), 4);
	for (size_t i = 4; i < batch.count; i++) { /* one after another */
		judge_submit(judge, &batch.calls[i]);
		assert_int_equal(queue_wait(&batch.answered, i + 1, 30000), i + 1);
	}
	signal_postgres(SIGCONT);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
		/* Those who joined the first one's wait end with it, a little before their own would. */
		slow += batch.calls[i].duration_us >= settings.cache_wait_ms * 500;
	}
	assert_int_equal(slow, 4);
	await_connection(judge, 1);
	await_rows(24);
	judge_stop(judge);
	judge_batch_free(&batch);
}

static void ignore_wake(void *context)
{
	(void)context;
}

/* Until so many wait for the table. */
static void await_waiting(int64_t wanted)
{
	static const char waiting[] =
		"SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'";
	for (int i = 0; i < 600 && run_sql(waiting) < wanted; i++)
		usleep(100000);
	assert_int_equal(run_sql(waiting), wanted);
}

/* Runs it at that moment until something is finished; returns what. */
static struct shared_lookup *await_finished(struct shared_cache *shared, int64_t now_us)
{
	struct list finished = LIST_INIT(finished);
	for (int i = 0; i < 12000 && list_empty(&finished); i++) {
		shared_cache_run(shared, now_us, &finished);
		if (list_empty(&finished))
			usleep(5000);
	}
	assert_int_equal(finished.count, 1);
	return container_of(list_take(&finished), struct shared_lookup, node);
}

/* One that can read its table; everything happens at that moment. */
static struct shared_cache *start_cache(int64_t now_us)
{
	struct shared_cache *shared =
		shared_cache_start(&(struct shared_cache_options){ .dsn = postgres.dsn,
								   .settings = "judge.cache_",
								   .retention_s = 3600,
								   .wait_ms = 1000,
								   .wake = ignore_wake });
	struct list finished = LIST_INIT(finished);
	for (int i = 0; i < 12000 && !shared_cache_stats(shared).connected; i++) {
		shared_cache_run(shared, now_us, &finished);
		usleep(5000);
	}
	assert_true(shared_cache_stats(shared).connected);
	return shared;
}

/* How many answers without a row the server has sent that nobody has read yet. */
static int count_answers(int fd)
{
	static const char tag[] = "SELECT 0";
	static char bytes[65536];
	int count = 0;
	ssize_t len = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
	for (char *at = bytes; len > 0 && (at = memmem(at, (size_t)(bytes + len - at), tag, 8)); at += 8)
		count++;
	return count;
}

enum { CROWD = 1000 };

/* A crowd does not wait for the answer to what was asked before it: all is with the server at once, in few
 * queries. */
static void test_a_crowd_is_asked_for_at_once(void **state)
{
	(void)state;
	static struct shared_lookup crowd[1 + CROWD];
	struct judge_settings settings = shared_settings();
	struct list finished = LIST_INIT(finished);
	int64_t now_us = clock_monotonic_us();
	judge_stop(start_connected(&settings)); /* for the table */
	struct shared_cache *shared = start_cache(now_us);
	int fd = -1;
	shared_cache_moved(shared, &fd);
	PGconn *holder = lock_table();
	for (int i = 0; i <= CROWD; i++) {
		memcpy(crowd[i].by_key.key, &i, sizeof i);
		assert_true(shared_cache_ask(shared, &crowd[i], now_us));
		if (i == 0)
			shared_cache_run(shared, now_us, &finished);
	}
	shared_cache_run(shared, now_us, &finished);
	assert_true(list_empty(&finished));
	unlock_table(holder);
	for (int i = 0; i < 12000 && count_answers(fd) < 3; i++) /* without a turn of ours */
		usleep(5000);
	assert_int_equal(count_answers(fd), 3);
	for (int i = 0; i < 12000 && finished.count <= CROWD; i++)
		shared_cache_run(shared, now_us, &finished);
	assert_int_equal(finished.count, 1 + CROWD);
	for (int i = 0; i <= CROWD; i++) /* in their order */
		assert_ptr_equal(list_take(&finished), &crowd[i].node);
	shared_cache_stop(shared);
}

/* However many queries of others come first, each of them in its time: nobody waits longer than the wait. */
static void test_everyone_has_his_own_wait(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	struct judge *judge = start_connected(&settings); /* for the table */
	judge_stop(judge);
	int64_t now_us = clock_monotonic_us();
	struct shared_cache *shared = start_cache(now_us);
	struct shared_lookup first = { .by_key.key = { 1 } }, second = { .by_key.key = { 2 } };
	struct list finished = LIST_INIT(finished);
	PGconn *holder = lock_table();
	assert_true(shared_cache_ask(shared, &first, now_us));
	shared_cache_run(shared, now_us, &finished);
	assert_true(shared_cache_ask(shared, &second, now_us + 100000));
	await_waiting(1); /* the query waits for the table */
	PGconn *next = PQconnectdb(postgres.socket_dsn);
	PQclear(PQexec(next, "BEGIN"));
	assert_true(PQsendQuery(next, "LOCK judge_verdicts IN ACCESS EXCLUSIVE MODE")); /* behind it */
	await_waiting(2);
	shared_cache_run(shared, now_us + 999999, &finished);
	assert_true(list_empty(&finished));
	unlock_table(holder);
	assert_ptr_equal(await_finished(shared, now_us + 999999), &first);
	shared_cache_run(shared, now_us + 999999, &finished); /* the second query is sent, and waits */
	shared_cache_run(shared, now_us + 1099999, &finished);
	assert_true(list_empty(&finished));
	assert_int_equal(shared_cache_next_us(shared), now_us + 1100000);
	assert_ptr_equal(await_finished(shared, now_us + 1100000), &second);
	assert_false(second.found);
	PQclear(PQgetResult(next));
	PQclear(PQgetResult(next));
	unlock_table(next);
	shared_cache_stop(shared);
}

/* A table that is locked answers late: each call waits for a moment, and goes on to the judge. */
static void test_silence_is_a_miss(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	settings.cache_wait_ms = 50;
	struct judge *judge = start_connected(&settings);
	PGconn *connection = lock_table();
	struct judge_batch batch;
	judge_batch_init(&batch, judge, 1);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	assert_int_equal(batch.calls[0].verdict.error, ERR_OK);
	assert_true(batch.calls[0].duration_us >= 50000);
	await_connection(judge, 0); /* it was silent for too long */
	unlock_table(connection);
	await_connection(judge, 1);
	judge_stop(judge);
	judge_batch_free(&batch);
}

/* Identical calls share one look and one request, and a hit answers all of them. */
static void test_identical_calls(void **state)
{
	(void)state;
	struct judge_settings settings = shared_settings();
	for (int round = 0; round < 2; round++) {
		struct judge *judge = judge_server_judge(&settings);
		struct judge_batch batch;
		await_connection(judge, 1);
		judge_batch_init(&batch, judge, 1000);
		for (size_t i = 0; i < batch.count; i++)
			batch.calls[i].question = STR("the same");
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		int64_t tokens = 0;
		for (size_t i = 0; i < batch.count; i++) {
			assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
			tokens += batch.calls[i].verdict.prompt_tokens;
		}
		assert_int_equal(tokens, round == 0 ? 100 : 0);
		judge_stop(judge);
		judge_batch_free(&batch);
	}
	assert_int_equal(judge_server_count(&server, "requests"), 1);
}

int main(void)
{
	int started = test_postgres_start(&postgres, NULL);
	if (started != 0)
		return started;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_verdicts_outlive_the_judge, forget_verdicts),
		cmocka_unit_test_setup(test_members_share_it, forget_verdicts),
		cmocka_unit_test_setup(test_migrations_are_applied_once, forget_verdicts),
		cmocka_unit_test_setup(test_failures_are_not_stored, forget_verdicts),
		cmocka_unit_test_setup(test_retention, forget_verdicts),
		cmocka_unit_test_setup(test_verdicts_grow_old_wherever_they_are, forget_verdicts),
		cmocka_unit_test_setup(test_members_have_their_own_time_to_live, forget_verdicts),
		cmocka_unit_test_setup(test_rows_are_checked, forget_verdicts),
		cmocka_unit_test_setup(test_away_and_back, forget_verdicts),
		cmocka_unit_test_setup(test_silence_is_a_miss, forget_verdicts),
		cmocka_unit_test_setup(test_slowness_is_waited_for, forget_verdicts),
		cmocka_unit_test_setup(test_a_silent_cache_stays_away, forget_verdicts),
		cmocka_unit_test_setup(test_stopping_does_not_wait_for_long, forget_verdicts),
		cmocka_unit_test_setup(test_a_hanging_server_costs_one_wait, forget_verdicts),
		cmocka_unit_test_setup(test_a_crowd_is_asked_for_at_once, forget_verdicts),
		cmocka_unit_test_setup(test_everyone_has_his_own_wait, forget_verdicts),
		cmocka_unit_test_setup(test_identical_calls, forget_verdicts),
	};
	return cmocka_run_group_tests_name("shared_cache", tests, start_servers, stop_servers);
}
