/* `assayd audit begin-again`: an operator's word that a stopped log goes on with another history. Main
 * thread. */
#pragma once

#include "common/err.h"

/* Has the log of that partition begin again where the topic begins now, with a mark of it that has the
 * reason; running daemons notice within some seconds. Texts are as on the command line. */
err_t audit_begin_again_run(const char *config_file, const char *partition, const char *reason,
			    struct err_detail *detail);
