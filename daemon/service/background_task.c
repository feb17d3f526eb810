#include "service/background_task.h"

#include "common/pool.h"

#include <stdatomic.h>
#include <time.h>

enum { ROUND_MS = 50 };

static void run_task(void *context, unsigned index)
{
	struct background_task *task = context;
	(void)index;
	task->err = task->work(task->context, task->detail);
	atomic_store(&task->done, true);
}

void background_task_begin(struct background_task *task, const char *name,
			   err_t (*work)(void *context, struct err_detail *detail), void *context,
			   struct err_detail *detail)
{
	*task = (struct background_task){ .work = work, .context = context, .detail = detail };
	task->pool = pool_start(name, 1, run_task, task);
}

bool background_task_done(const struct background_task *task)
{
	return atomic_load(&task->done);
}

int background_task_wait(const sigset_t *signals)
{
	const struct timespec round = { 0, ROUND_MS * 1000000L };
	int signal = sigtimedwait(signals, NULL, &round);
	return signal > 0 ? signal : 0;
}

err_t background_task_end(struct background_task *task)
{
	pool_join(task->pool);
	return task->err;
}
