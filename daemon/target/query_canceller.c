#include "target/query_canceller.h"

#include "target/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* False: the worker has ended without a word. */
static bool hears_farewell(int fd)
{
	char byte;
	ssize_t got;
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	return got > 0;
}

/* In a group of its own: what ends the worker's is not meant for it. */
static _Noreturn void guard(int fd, void (*cancel)(void *session), void *session)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	setpgid(0, 0);
	prctl(PR_SET_NAME, "assayd-cancel");
	if (fd > 0) {
		dup2(fd, STDIN_FILENO);
		fd = STDIN_FILENO;
	}
	close_range(STDIN_FILENO + 1, ~0u, 0);
	confine_guardian();
	if (!hears_farewell(fd)) {
		sigaction(SIGALRM, &standard, NULL);
		alarm(QUERY_CANCELLER_S);
		cancel(session);
	}
	_exit(0);
}

void query_canceller_start(struct query_canceller *ret_guardian, void (*cancel)(void *session), void *session)
{
	int ends[2];
	*ret_guardian = (struct query_canceller){ 0 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		guard(ends[0], cancel, session);
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	else
		*ret_guardian = (struct query_canceller){ pid, ends[1] };
}

void query_canceller_dismiss(struct query_canceller *query_canceller)
{
	int status;
	if (query_canceller->pid == 0)
		return;
	while (write(query_canceller->fd, "", 1) < 0 && errno == EINTR)
		;
	close(query_canceller->fd);
	while (waitpid(query_canceller->pid, &status, 0) < 0 && errno == EINTR)
		;
	*query_canceller = (struct query_canceller){ 0 };
}
