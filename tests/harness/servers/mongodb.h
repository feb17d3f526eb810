/*
 * A private server for MongoDB's protocol, for unit tests in C: a thin cover over mongodb/mongodb.sh, which
 * says what it has not.
 *
 * Everybody may do everything there, and its data are in its memory alone. It ends with the test program at
 * the latest. Header-only, so that a test needs no further library.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct test_mongodb {
	char dir[128];
	int port; /* of 127.0.0.1 */
	long pid;
};

static inline void test_mongodb_fact(const char *line, struct test_mongodb *ret_server)
{
	size_t len = strcspn(line, "\n");
	if (strncmp(line, "dir=", 4) == 0)
		snprintf(ret_server->dir, sizeof(ret_server->dir), "%.*s", (int)len - 4, line + 4);
	else if (strncmp(line, "port=", 5) == 0)
		ret_server->port = (int)strtol(line + 5, NULL, 10);
	else if (strncmp(line, "pid=", 4) == 0)
		ret_server->pid = strtol(line + 4, NULL, 10);
}

/* Starts a server. Returns 0, 77 when it cannot be had here (skip the test), else another exit status, the
 * reason being on standard error. */
static inline int test_mongodb_start(struct test_mongodb *ret_server)
{
	char command[1024];
	snprintf(command, sizeof(command),
		 "exec %s/tests/harness/servers/mongodb/mongodb.sh start --owner %ld", ASSAYD_SOURCE_DIR,
		 (long)getpid());
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return 1;
	char line[320];
	while (fgets(line, sizeof(line), pipe))
		test_mongodb_fact(line, ret_server);
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* `what`: kill, resume or stop (see mongodb.sh). Returns 0 when done. */
static inline int test_mongodb_do(const struct test_mongodb *server, const char *what)
{
	char command[1024];
	snprintf(command, sizeof(command), "exec %s/tests/harness/servers/mongodb/mongodb.sh %s %s",
		 ASSAYD_SOURCE_DIR, what, server->dir);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Ends the server and removes its folder. */
static inline int test_mongodb_stop(const struct test_mongodb *server)
{
	return test_mongodb_do(server, "stop");
}
