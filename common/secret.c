#include "common/secret.h"

#include <errno.h>

const char *secret_hint(int error)
{
	return error == EACCES ? "; the user of the daemon has to be able to read it: chgrp assayd, chmod 640"
			       : "";
}

struct secret_look secret_look_at(const char *path)
{
	struct stat file;
	if (!path || stat(path, &file) != 0)
		return (struct secret_look){ 0 };
	return (struct secret_look){ file.st_dev, file.st_ino, file.st_size, file.st_mtim };
}

bool secret_look_same(const struct secret_look *a, const struct secret_look *b)
{
	return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
	       a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}
