#include "errand.h"

#include "common/pool.h"

#include <stdatomic.h>
#include <time.h>

enum { ROUND_MS = 50 };

static void run_errand(void *context, unsigned index)
{
	struct errand *errand = context;
	(void)index;
	errand->err = errand->work(errand->context, errand->detail);
	atomic_store(&errand->done, true);
}

void errand_begin(struct errand *errand, const char *name,
		  err_t (*work)(void *context, struct err_detail *detail), void *context,
		  struct err_detail *detail)
{
	*errand = (struct errand){ .work = work, .context = context, .detail = detail };
	errand->pool = pool_start(name, 1, run_errand, errand);
}

bool errand_done(const struct errand *errand)
{
	return atomic_load(&errand->done);
}

int errand_wait(const sigset_t *signals)
{
	const struct timespec round = { 0, ROUND_MS * 1000000L };
	int signal = sigtimedwait(signals, NULL, &round);
	return signal > 0 ? signal : 0;
}

err_t errand_end(struct errand *errand)
{
	pool_join(errand->pool);
	return errand->err;
}
