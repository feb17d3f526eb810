#include "common/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

err_t output_end(struct err_detail *detail)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return ERR_OK;
	return err_fail(detail, ERR_IO, "standard output cannot be written%s%s", errno ? ": " : "",
			errno ? strerror(errno) : "");
}
