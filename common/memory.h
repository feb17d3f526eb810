/*
 * What the allocator does with memory that was freed.
 *
 * An event's arena and its parse tree are some megabytes at most, made and released again and again. Left to
 * itself the allocator gives such amounts back to the system each time, and every page of the next event is
 * faulted in anew, which takes as long as the work itself.
 */
#pragma once

/* Of each heap's freed memory so much is kept, at most. */
#define MEMORY_KEPT_BYTES (16 << 20)

/* Threads share heaps: as many as there are threads, eight a processor, would each keep what it once needed,
 * though not more threads than processors allocate at a time. */
#define MEMORY_HEAPS_PER_PROCESSOR 2

/* To be called once, before threads start. */
void memory_keep_freed(void);
