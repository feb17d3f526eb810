/* Temporary files for tests that read files. */
#pragma once

#include "common/buf.h"

#include <setjmp.h>
#include <sys/stat.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct temporary_file {
	char path[32];
};

static inline struct temporary_file temporary_file(const void *content, size_t len)
{
	struct temporary_file file = { "/tmp/assayd-test-XXXXXX" };
	int fd = mkstemp(file.path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), (ssize_t)len);
	close(fd);
	return file;
}

static inline struct temporary_file temporary_text(const char *text)
{
	return temporary_file(text, strlen(text));
}

static inline void temporary_cleanup(struct temporary_file *file)
{
	unlink(file->path);
}

/* The whole file as a C string; the caller frees it. */
static inline char *slurp(const char *path)
{
	struct buf text = BUF_INIT;
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "re");
	assert_non_null(file);
	for (size_t got = 1; got;) {
		got = fread(buf_reserve(&text, 4096), 1, 4096, file);
		text.len += got;
		text.data[text.len] = 0;
	}
	return text.data;
}
