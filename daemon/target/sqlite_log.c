#include "target/sqlite_log.h"

#include "common/buf.h"
#include "common/cleanup.h"

#include <fcntl.h>
#include <unistd.h>

#define HEADER_BYTES	 20
#define FORMAT_VERSION	 18 /* where the header says how to write and how to read; 2: with a log */
#define VERSION_WITH_LOG 2

bool sqlite_has_log(const char *path)
{
	unsigned char header[HEADER_BYTES];
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && read(fd, header, sizeof header) == HEADER_BYTES &&
	       (header[FORMAT_VERSION] == VERSION_WITH_LOG || header[FORMAT_VERSION + 1] == VERSION_WITH_LOG);
}

bool sqlite_log_is_there(const char *path)
{
	static const char *const suffixes[] = { "-wal", "-shm" };
	bool there = true;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		_cleanup_(buf_free) struct buf name = BUF_INIT;
		buf_printf(&name, "%s%s", path, suffixes[i]);
		there &= access(name.data, F_OK) == 0;
	}
	return there;
}
