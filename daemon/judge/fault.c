#include "judge/fault.h"

/* The first row that holds the status; 529 is Anthropic's word for an overload. */
static const struct {
	long from, to;
	struct fault fault;
} statuses[] = {
	{ 401, 401, { ERR_JUDGE_REFUSED, .failing = true, .unauthorized = true } },
	{ 402, 402, { ERR_JUDGE_REFUSED, .failing = true } },
	{ 403, 403, { ERR_JUDGE_REFUSED, .failing = true, .unauthorized = true } },
	{ 404, 404, { ERR_JUDGE_REFUSED, .failing = true } },
	{ 407, 407, { ERR_JUDGE_REFUSED, .failing = true } },
	{ 408, 408, { ERR_JUDGE_UNAVAILABLE, .retry = true } },
	{ 425, 425, { ERR_JUDGE_UNAVAILABLE, .retry = true } },
	{ 429, 429, { ERR_JUDGE_RATE_LIMITED, .retry = true, .overloaded = true } },
	{ 501, 501, { .err = ERR_JUDGE_REFUSED } },
	{ 505, 505, { .err = ERR_JUDGE_REFUSED } },
	{ 529, 529, { ERR_JUDGE_RATE_LIMITED, .retry = true, .overloaded = true } },
	{ 500, 599, { ERR_JUDGE_UNAVAILABLE, .retry = true, .failing = true } },
};

static const struct fault outcomes[] = {
	[TRANSFER_ANSWERED] = { .err = ERR_OK },
	[TRANSFER_TOO_LARGE] = { .err = ERR_JUDGE_REPLY },
	[TRANSFER_TIMED_OUT] = { ERR_JUDGE_TIMEOUT, .failing = true },
	[TRANSFER_UNCONNECTED] = { ERR_JUDGE_UNAVAILABLE, .retry = true, .failing = true },
	[TRANSFER_FAULT] = { ERR_JUDGE_UNAVAILABLE, .retry = true, .failing = true },
	[TRANSFER_IMPOSSIBLE] = { ERR_JUDGE_UNAVAILABLE, .failing = true },
};

struct fault fault_of_status(long status)
{
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
		if (status >= statuses[i].from && status <= statuses[i].to)
			return statuses[i].fault;
	return (struct fault){ .err = ERR_JUDGE_REFUSED };
}

struct fault fault_of_outcome(enum transfer_outcome outcome)
{
	return outcomes[outcome];
}
