#include "command/interruption.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void on_signal(int number)
{
	(void)number;
	came = 1;
}

void interruption_catch(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction former;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &former) == 0 && former.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

bool interruption_came(void)
{
	return came != 0;
}
