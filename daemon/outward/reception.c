#include "outward/reception.h"

/* What to do about a status that says that the receiver is not the right one, or does not know us. */
static const char *hint_of(long status, const char *setting, char hint[static 128])
{
	if (status >= 300 && status < 400)
		snprintf(hint, 128, "; redirects are not followed: let %s name where it leads", setting);
	else if (status == 401 || status == 403 || status == 407)
		snprintf(hint, 128, "; check the secret on both sides");
	else if (status == 404 || status == 405)
		snprintf(hint, 128, "; check %s", setting);
	else
		*hint = '\0';
	return hint;
}

static enum reception by_status(long status)
{
	if (status >= 200 && status < 300)
		return RECEPTION_TAKEN;
	if (status == 410)
		return RECEPTION_GONE;
	if (status < 400 || status >= 500)
		return RECEPTION_LATER;
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 405:
	case 407:
	case 408:
	case 425:
	case 429:
		return RECEPTION_LATER;
	default:
		return RECEPTION_REFUSED;
	}
}

void reception_of(const struct fetch_answer *answer, const char *setting, struct reception_answer *ret_answer)
{
	char hint[128];
	*ret_answer =
		(struct reception_answer){ .reception = RECEPTION_LATER, .after_ms = answer->retry_after_ms };
	switch (answer->outcome) {
	case FETCH_ANSWERED:
	case FETCH_TOO_LARGE: /* of its answer the status says enough */
		ret_answer->reception = by_status(answer->status);
		snprintf(ret_answer->reason, sizeof ret_answer->reason, "it answers with HTTP status %ld%s",
			 answer->status, hint_of(answer->status, setting, hint));
		break;
	case FETCH_TIMED_OUT:
		snprintf(ret_answer->reason, sizeof ret_answer->reason, "no answer in time: %s",
			 answer->fault);
		break;
	case FETCH_INTERRUPTED:
		ret_answer->reception = RECEPTION_STOPPED;
		break;
	case FETCH_FAULT:
	case FETCH_IMPOSSIBLE:
		snprintf(ret_answer->reason, sizeof ret_answer->reason, "%s", answer->fault);
		break;
	}
}
