/*
 * A private PostgreSQL 15 server for unit tests in C: a thin cover over tests/harness/servers/postgres.sh.
 *
 * The server ends with the test program at the latest. Header-only, so that a test needs no further library.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct test_postgres {
	char dir[128];
	char port[16];
	char dsn[256];	      /* TCP, superuser */
	char socket_dsn[256]; /* unix socket, superuser, always trusted */
};

static inline bool test_postgres_field(const char *line, const char *name, char *ret_value, size_t size)
{
	size_t name_len = strlen(name);
	if (strncmp(line, name, name_len) != 0 || line[name_len] != '=')
		return false;
	snprintf(ret_value, size, "%.*s", (int)strcspn(line + name_len + 1, "\n"), line + name_len + 1);
	return true;
}

/* Starts a cluster; `password` guards TCP connections, NULL: none is needed. Returns 0, 77 when PostgreSQL is
 * not installed (skip the test), else another exit status, the reason being on standard error. */
static inline int test_postgres_start(struct test_postgres *ret_server, const char *password)
{
	char command[512];
	snprintf(command, sizeof(command), "exec %s/tests/harness/servers/postgres.sh start --owner %ld%s%s",
		 ASSAYD_SOURCE_DIR, (long)getpid(), password ? " --password " : "", password ? password : "");
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return 1;
	char line[320];
	while (fgets(line, sizeof(line), pipe)) {
		struct test_postgres *server = ret_server;
		(void)(test_postgres_field(line, "dir", server->dir, sizeof(server->dir)) ||
		       test_postgres_field(line, "port", server->port, sizeof(server->port)) ||
		       test_postgres_field(line, "dsn", server->dsn, sizeof(server->dsn)) ||
		       test_postgres_field(line, "socket_dsn", server->socket_dsn,
					   sizeof(server->socket_dsn)));
	}
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* For a test that has something to try without a server, too: says by name what is left out where PostgreSQL
 * is not installed. Returns 0, or the exit status of a failed start. */
static inline int test_postgres_start_if_here(struct test_postgres *ret_server, const char *test,
					      bool *ret_here)
{
	int status = test_postgres_start(ret_server, NULL);
	*ret_here = status == 0;
	if (status == 77)
		printf("skipped: a part of %s, PostgreSQL 15 is not here\n", test);
	return status == 77 ? 0 : status;
}

/* `what`: kill, halt, resume, restart or stop (see postgres.sh). Returns 0 when done. */
static inline int test_postgres_do(const struct test_postgres *server, const char *what)
{
	char command[512];
	snprintf(command, sizeof(command), "exec %s/tests/harness/servers/postgres.sh %s %s",
		 ASSAYD_SOURCE_DIR, what, server->dir);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
