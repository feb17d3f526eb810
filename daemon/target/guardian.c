#include "target/guardian.h"

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
	if (!hears_farewell(fd)) {
		sigaction(SIGALRM, &standard, NULL);
		alarm(GUARDIAN_S);
		cancel(session);
	}
	_exit(0);
}

void guardian_start(struct guardian *ret_guardian, void (*cancel)(void *session), void *session)
{
	int ends[2];
	*ret_guardian = (struct guardian){ 0 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		guard(ends[0], cancel, session);
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	else
		*ret_guardian = (struct guardian){ pid, ends[1] };
}

void guardian_dismiss(struct guardian *guardian)
{
	int status;
	if (guardian->pid == 0)
		return;
	while (write(guardian->fd, "", 1) < 0 && errno == EINTR)
		;
	close(guardian->fd);
	while (waitpid(guardian->pid, &status, 0) < 0 && errno == EINTR)
		;
	*guardian = (struct guardian){ 0 };
}
