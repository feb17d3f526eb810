/*
 * A private MariaDB server for unit tests in C: a thin cover over tests/harness/servers/mariadb.sh.
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

struct test_mariadb {
	char dir[128];
	char socket[160]; /* `root` needs no password */
	char files[160];  /* the only folder that statements can reach */
};

static inline void test_mariadb_field(const char *line, const char *name, char *ret_value, size_t size)
{
	size_t name_len = strlen(name);
	if (strncmp(line, name, name_len) == 0 && line[name_len] == '=')
		snprintf(ret_value, size, "%.*s", (int)strcspn(line + name_len + 1, "\n"),
			 line + name_len + 1);
}

/* Starts a server; `options` of the script besides, or "". Returns 0, 77 when MariaDB is not installed (skip
 * the test), else another exit status, the reason being on standard error. */
static inline int test_mariadb_start_with(struct test_mariadb *ret_server, const char *options)
{
	char command[1024];
	snprintf(command, sizeof(command), "exec %s/tests/harness/servers/mariadb.sh start --owner %ld %s",
		 ASSAYD_SOURCE_DIR, (long)getpid(), options);
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return 1;
	char line[320];
	while (fgets(line, sizeof(line), pipe)) {
		test_mariadb_field(line, "dir", ret_server->dir, sizeof(ret_server->dir));
		test_mariadb_field(line, "socket", ret_server->socket, sizeof(ret_server->socket));
		test_mariadb_field(line, "files", ret_server->files, sizeof(ret_server->files));
	}
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static inline int test_mariadb_start(struct test_mariadb *ret_server)
{
	return test_mariadb_start_with(ret_server, "");
}

/* `what`: halt, resume or stop (see mariadb.sh). Returns 0 when done. */
static inline int test_mariadb_do(const struct test_mariadb *server, const char *what)
{
	char command[512];
	snprintf(command, sizeof(command), "exec %s/tests/harness/servers/mariadb.sh %s %s",
		 ASSAYD_SOURCE_DIR, what, server->dir);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Ends the server and removes its folder. */
static inline int test_mariadb_stop(const struct test_mariadb *server)
{
	return test_mariadb_do(server, "stop");
}
