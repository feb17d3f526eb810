/* What the kernel knows of this process, as far as it tells. Any thread; reads /proc/self, does not block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process_figures {
	double cpu_seconds;	   /* user and system, worker processes left out */
	double start_time_seconds; /* since 1970-01-01 UTC */
	uint64_t resident_bytes, virtual_bytes;
	uint64_t threads;
	uint64_t open_fds, max_fds;
};

/* False: the kernel does not tell. */
bool process_read(struct process_figures *ret_figures);
