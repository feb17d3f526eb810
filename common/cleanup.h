/*
 * Scope-bound release of resources.
 *
 * `_cleanup_(fn)` calls fn(&variable) when the variable leaves its scope; TAKE_PTR hands a pointer on and
 * leaves NULL behind, so that the clean-up does nothing. They replace goto ladders.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

#define TAKE_PTR(ptr)                                                                                        \
	({                                                                                                   \
		__typeof__(ptr) *taken_from_ = &(ptr);                                                       \
		__typeof__(ptr) taken_ = *taken_from_;                                                       \
		*taken_from_ = NULL;                                                                         \
		taken_;                                                                                      \
	})

/* Hands a file descriptor on and leaves -1 behind. */
#define TAKE_FD(fd)                                                                                          \
	({                                                                                                   \
		int *taken_from_ = &(fd);                                                                    \
		int taken_ = *taken_from_;                                                                   \
		*taken_from_ = -1;                                                                           \
		taken_;                                                                                      \
	})

/* Defines `name_cleanup(type **)`, to be named in _cleanup_, from a release function that accepts NULL. */
#define DEFINE_CLEANUP(type, name, release)                                                                  \
	static inline void name(type **pointer)                                                              \
	{                                                                                                    \
		if (*pointer)                                                                                \
			release(*pointer);                                                                   \
	}

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}
