#include "http/process.h"

#include "common/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t count_fds(void)
{
	uint64_t count = 0;
	DIR *folder = opendir("/proc/self/fd");
	if (!folder)
		return 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count < 3 ? 0 : count - 3; /* ".", ".." and the folder itself */
}

static uint64_t limit_of_fds(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}

static double seconds_of(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Fields of proc(5), stat, behind the name, which may hold anything but ends with the last parenthesis. */
static bool read_stat(struct process_figures *figures)
{
	char text[1024];
	_cleanup_(cleanup_fclose) FILE *file = fopen("/proc/self/stat", "re");
	size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;
	text[len] = '\0';
	const char *rest = strrchr(text, ')');
	uint64_t user, system, started, pages;
	if (!rest ||
	    sscanf(rest + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %" SCNu64 " %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &user, &system, &figures->threads, &started, &figures->virtual_bytes, &pages) != 6)
		return false;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	figures->cpu_seconds = (double)(user + system) / ticks;
	figures->resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	figures->start_time_seconds =
		seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME) + (double)started / ticks;
	return true;
}

bool process_read(struct process_figures *ret_figures)
{
	struct process_figures figures = { 0 };
	if (!read_stat(&figures))
		return false;
	figures.open_fds = count_fds();
	figures.max_fds = limit_of_fds();
	*ret_figures = figures;
	return true;
}
