#include "common/memory.h"

#include <malloc.h>
#include <unistd.h>

void memory_keep_freed(void)
{
	mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, MEMORY_KEPT_BYTES / 2);
	mallopt(M_ARENA_MAX, (int)sysconf(_SC_NPROCESSORS_ONLN) * MEMORY_HEAPS_PER_PROCESSOR);
}
