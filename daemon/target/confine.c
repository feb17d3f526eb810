#include "target/confine.h"

#include "target/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHOSEN_FIRST_BY_OOM_KILLER "500"
#define MAX_DESCRIPTORS		   64
#define MAX_FILE_BYTES		   ((rlim_t)64 << 20) /* the index of SQLite's log, a ticket of Kerberos */

static void set_limit(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit = { value, value };
	setrlimit(resource, &limit);
}

static void offer_to_oom_killer(void)
{
	_cleanup_(cleanup_close) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, CHOSEN_FIRST_BY_OOM_KILLER, strlen(CHOSEN_FIRST_BY_OOM_KILLER)) < 0)
		return; /* then the kernel chooses as it would have */
}

void confine_start(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "assayd-target");
	close_range((unsigned)fd + 1, ~0u, 0);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_NOFILE, MAX_DESCRIPTORS);
	set_limit(RLIMIT_MSGQUEUE, 0);
	offer_to_oom_killer();
	if (WORKERS_CAN_BE_CONFINED) { /* behind the file of ours above, which is root's from then on */
		set_limit(RLIMIT_FSIZE, MAX_FILE_BYTES);
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	}
}

void confine_guardian(void)
{
	set_limit(RLIMIT_NPROC, 0);
}

/* --- what is needed --- */

void confine_add(struct confinement *needs, const char *path, bool written)
{
	if (!path || !path[0])
		return;
	ARENA_PUSH(needs->arena, needs->paths, needs->paths_count, needs->paths_capacity,
		   (struct confined_path){ arena_strdup(needs->arena, path), written });
}

void confine_add_home(struct confinement *needs, const char *path)
{
	const char *home = getenv("HOME");
	if (home && home[0])
		confine_add(needs, arena_printf(needs->arena, "%s/%s", home, path).ptr, false);
}

void confine_add_port(struct confinement *needs, unsigned long port)
{
	if (port > 0 && port <= UINT16_MAX && needs->ports_count < CONFINE_PORTS)
		needs->ports[needs->ports_count++] = (uint16_t)port;
}

/* --- all of it --- */

err_t confine_to(const struct confinement *needs, struct err_detail *detail)
{
	struct err_detail of_calls = { "" };
	if (!needs->network && WORKERS_CAN_BE_CONFINED) /* a sanitizer ends with a process of its own */
		set_limit(RLIMIT_NPROC, 0);
	err_t files = confine_files(needs, detail);
	err_t calls = confine_calls(needs, &of_calls);
	if (files && calls)
		return err_fail(detail, ERR_OS, "%.200s; %.200s", detail->message, of_calls.message);
	return files ? files : err_fail(calls ? detail : NULL, calls, "%s", of_calls.message);
}

static bool has_filters(void)
{
	const unsigned action = SECCOMP_RET_ERRNO;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

err_t confine_probe(struct err_detail *detail)
{
	if (!WORKERS_CAN_BE_CONFINED)
		return ERR_OK;
	bool files = confine_landlock_version() > 0;
	if (files && has_filters())
		return ERR_OK;
	return err_fail(detail, ERR_OS, "%s is not to be had here (%s)",
			files ? "a filter of system calls (seccomp)" : "Landlock", strerror(errno));
}
