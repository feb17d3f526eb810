#include "target/tries.h"

#include "common/clock.h"

void tries_begin(struct tries *tries, const struct target_settings *target)
{
	int64_t now_us = clock_monotonic_us();
	*tries = (struct tries){ .limit_us = target->statement_timeout_ms * 1000,
				 .began_us = now_us,
				 .run_began_us = now_us };
}

bool tries_again(struct tries *tries)
{
	int64_t now_us = clock_monotonic_us();
	int64_t left_us = tries->limit_us - (now_us - tries->run_began_us);
	if (left_us <= 0 || tries->out_of_time)
		return false;
	tries->repeated = tries->runs;
	tries->repeated_until_us = now_us + (tries->run_began_us - tries->began_us) + left_us;
	tries->runs = 0;
	tries->began_us = tries->run_began_us = now_us;
	return true;
}

err_t tries_run(struct tries *tries, const struct engine *engine, void *session, str_t sql,
		struct query_run *run, struct err_detail *detail)
{
	int64_t now_us = clock_monotonic_us();
	int64_t left_us = tries->limit_us;
	tries->run_began_us = now_us;
	if (tries->runs++ < tries->repeated && tries->repeated_until_us - now_us < left_us)
		left_us = tries->repeated_until_us - now_us;
	bool shorter = left_us < tries->limit_us;
	tries->out_of_time = shorter && left_us < 1000;
	if (shorter)
		run->limit_ms = left_us / 1000;
	err_t err = tries->out_of_time ? ERR_OK : engine->run(session, sql, run, detail);
	tries->out_of_time |= !err && shorter && run->outcome == QUERY_TIMEOUT;
	if (tries->out_of_time)
		err = err_fail(detail, ERR_TARGET_LOST,
			       "the connection was lost, and the time that was left was too short");
	return err;
}
