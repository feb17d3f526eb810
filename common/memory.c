#include "common/memory.h"

#include <malloc.h>

void memory_keep_freed(void)
{
	mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, MEMORY_KEPT_BYTES / 2);
}
