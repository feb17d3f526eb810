/*
 * For tests of the judge: starts the scripted language model server (tests/harness/servers/test_judge.py),
 * and asks the judge many things at once.
 */
#pragma once

#include "common/buf.h"
#include "common/clock.h"
#include "common/queue.h"
#include "judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

struct judge_server {
	pid_t pid;
	int stdin_fd; /* the server ends when it is closed */
	int port;
	char url[64]; /* "http://127.0.0.1:PORT/v1" */
};

/* `script` is one of tests/harness/servers, `options` are its arguments, ended by NULL. */
static inline void judge_server_start_script(struct judge_server *server, const char *script,
					     const char *const options[])
{
	int to_server[2], from_server[2];
	char path[256];
	snprintf(path, sizeof path, "%s/tests/harness/servers/%s", ASSAYD_SOURCE_DIR, script);
	char *arguments[24] = { strdup("/usr/bin/python3"), strdup(path) };
	for (int i = 0; options[i]; i++)
		arguments[2 + i] = strdup(options[i]);
	assert_int_equal(pipe2(to_server, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from_server, O_CLOEXEC), 0);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to_server[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from_server[1], 1);
	assert_int_equal(posix_spawn(&server->pid, arguments[0], &actions, NULL, arguments, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; arguments[i]; i++)
		free(arguments[i]);
	close(to_server[0]);
	close(from_server[1]);
	server->stdin_fd = to_server[1];
	FILE *output = fdopen(from_server[0], "r");
	assert_int_equal(fscanf(output, "%d", &server->port), 1);
	fclose(output);
	snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/v1", server->port);
}

/* The scripted server. */
static inline void judge_server_start(struct judge_server *server, const char *const options[])
{
	const char *all[24] = { "--stop-with-stdin" };
	for (int i = 0; options[i]; i++)
		all[1 + i] = options[i];
	judge_server_start_script(server, "test_judge.py", all);
}

static inline void judge_server_stop(struct judge_server *server)
{
	close(server->stdin_fd);
	waitpid(server->pid, NULL, 0);
}

static inline size_t judge_server_collect(char *data, size_t size, size_t count, void *context)
{
	buf_append(context, data, size * count);
	return size * count;
}

/* Sends `body` (NULL: GET) to a page of the server; returns its JSON, the caller's. */
static inline json_t *judge_server_ask(const struct judge_server *server, const char *page, const char *body)
{
	_cleanup_(buf_free) struct buf answer = BUF_INIT;
	char url[128];
	CURL *handle = curl_easy_init();
	snprintf(url, sizeof url, "http://127.0.0.1:%d%s", server->port, page);
	curl_easy_setopt(handle, CURLOPT_URL, url);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, judge_server_collect);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
	if (body)
		curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
	assert_int_equal(curl_easy_perform(handle), CURLE_OK);
	curl_easy_cleanup(handle);
	json_t *json = json_loadb(answer.data, answer.len, 0, NULL);
	assert_non_null(json);
	return json;
}

static inline int64_t judge_server_count(const struct judge_server *server, const char *name)
{
	json_t *stats = judge_server_ask(server, "/stats", NULL);
	int64_t count = json_integer_value(json_object_get(stats, name));
	json_decref(stats);
	return count;
}

/* Waits until so many requests have arrived. */
static inline void judge_server_await(const struct judge_server *server, int64_t requests)
{
	int64_t arrived = 0;
	for (int round = 0; round < 6000 && (arrived = judge_server_count(server, "requests")) < requests;
	     round++)
		usleep(10000);
	assert_int_equal(arrived, requests);
}

/* Lets go what the step "hold" holds. */
static inline void judge_server_release(const struct judge_server *server)
{
	json_decref(judge_server_ask(server, "/release", ""));
}

/* Forgets the counts and sets the next steps. */
static inline void judge_server_script(const struct judge_server *server, const char *steps)
{
	json_decref(judge_server_ask(server, "/reset", ""));
	json_decref(judge_server_ask(server, "/steps", steps));
}

static inline struct judge_settings judge_server_settings(const struct judge_server *server)
{
	return (struct judge_settings){
		.provider = "openai",
		.base_url = server->url,
		.model = "test-model",
		.timeout_ms = 60000,
		.queue_wait_ms = 60000,
		.max_in_flight = 8,
		.max_attempts = 3,
		.cache_ttl_s = 3600,
		.cache_bytes = 1 << 20,
	};
}

/* Calls that are under way together. */
struct judge_batch {
	struct judge *judge;
	struct queue answered;
	struct judge_call *calls;
	size_t count;
};

static inline void judge_batch_done(struct judge_call *call, void *context)
{
	struct judge_batch *batch = context;
	assert_null(call->state); /* once only */
	call->state = batch;
	queue_push(&batch->answered, &call->node);
}

static inline void judge_batch_init(struct judge_batch *batch, struct judge *judge, size_t count)
{
	*batch = (struct judge_batch){ .judge = judge, .count = count };
	batch->calls = calloc(count, sizeof *batch->calls);
	queue_init(&batch->answered, false);
	for (size_t i = 0; i < count; i++) {
		struct judge_call *call = &batch->calls[i];
		call->arena = arena_new();
		call->question = arena_printf(call->arena, "question %zu", i);
		call->sql = STR("SELECT 1");
		call->dialect = "PostgreSQL";
		call->done = judge_batch_done;
		call->context = batch;
	}
}

static inline void judge_batch_submit(struct judge_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		judge_submit(batch->judge, &batch->calls[i]);
}

static inline void judge_batch_wait(struct judge_batch *batch)
{
	assert_int_equal(queue_wait(&batch->answered, batch->count, 120000), batch->count);
}

/* After judge_stop. */
static inline void judge_batch_free(struct judge_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		arena_free(batch->calls[i].arena);
	queue_destroy(&batch->answered);
	free(batch->calls);
}

/* A judge publishes its figures once a round, behind its answers: waits until one has this value. */
#define await_judge_stat(judge, field, value)                                                                \
	do {                                                                                                 \
		for (int round_ = 0; judge_stats(judge, 0).field != (value) && round_ < 60000; round_++)     \
			usleep(1000);                                                                        \
		assert_int_equal(judge_stats(judge, 0).field, value);                                        \
	} while (0)

/* A judge of those settings, which have to be right. */
static inline struct judge *judge_server_judge(const struct judge_settings *settings)
{
	struct judge *judge = NULL;
	struct err_detail detail = { "" };
	if (judge_start(settings, 1, &judge, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return judge;
}

/* Prompts of our own, with that text for the system. */
static inline void judge_server_write_prompts(const char *folder, const char *system)
{
	static const char *const names[] = { "relevance", "correctness" };
	for (size_t i = 0; i < 2; i++) {
		char path[256];
		snprintf(path, sizeof path, "%s/%s.txt", folder, names[i]);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		fprintf(file,
			"[system]\n%s\n[user]\n{{dialect}} "
			"{{nonce}}{{question}}{{nonce}}{{sql}}{{nonce}}%s{{nonce}}",
			system, i ? "{{truth_sql}}" : "");
		fclose(file);
	}
}
