#include "judge/panel.h"

#include "common/buf.h"

#include <math.h>

_Static_assert(JUDGE_MEMBERS_MAX < 20, "a mean that is no whole number is not shown as one");

/* Of the pairs that an opinion makes with those behind it. */
static double distances_from(const struct panel_opinion *opinions, size_t count, size_t first)
{
	double sum = 0;
	for (size_t i = first + 1; i < count; i++)
		if (opinions[i].verdict->error == ERR_OK)
			sum += fabs(opinions[first].verdict->score - opinions[i].verdict->score);
	return sum;
}

void panel_score(const struct panel_opinion *opinions, size_t count, struct panel_score *ret_score)
{
	struct panel_score score = { .cached = true };
	double sum = 0, distances = 0;
	for (size_t i = 0; i < count; i++) {
		const struct judge_verdict *verdict = opinions[i].verdict;
		if (verdict->error != ERR_OK) {
			if (score.error == ERR_OK || score.error == ERR_JUDGE_SATURATED)
				score.error = verdict->error;
			continue;
		}
		score.answered++;
		score.cached &= verdict->cached;
		sum += verdict->score;
		distances += distances_from(opinions, count, i);
	}
	score.cached &= score.answered > 0;
	if (score.answered > 0) {
		score.error = ERR_OK;
		score.mean = opt_double(sum / (double)score.answered);
	}
	if (score.answered > 1)
		score.disagreement =
			opt_double(distances / ((double)score.answered * (double)(score.answered - 1) / 2));
	*ret_score = score;
}

opt_double_t panel_cost(int64_t prompt_tokens, int64_t completion_tokens, double prompt_price,
			double completion_price)
{
	if (prompt_price == 0 && completion_price == 0)
		return (opt_double_t)OPT_NONE;
	return opt_double(
		((double)prompt_tokens * prompt_price + (double)completion_tokens * completion_price) / 1e6);
}

str_t panel_prompts(const str_t *digests, size_t count, struct arena *arena)
{
	_cleanup_(buf_free) struct buf all = BUF_INIT;
	buf_append_text(&all, "");
	for (size_t i = 0; i < count; i++) {
		for (const char *at = digests[i].ptr; at && *at; at += strspn(at, " ")) {
			str_t digest = { at, strcspn(at, " ") };
			at += digest.len;
			if (str_is_listed(digest, all.data))
				continue;
			buf_append_text(&all, all.len ? " " : "");
			buf_append(&all, digest.ptr, digest.len);
		}
	}
	return arena_text(arena, all.data, all.len);
}

int panel_decimals(double mean)
{
	return mean == floor(mean) ? 0 : 1;
}

static str_t excerpt(str_t reason)
{
	size_t len = reason.len;
	if (len > PANEL_REASON_MAX) {
		len = PANEL_REASON_MAX;
		while (len > 0 && ((unsigned char)reason.ptr[len] & 0xc0) == 0x80)
			len--;
	}
	return (str_t){ reason.ptr, len };
}

str_t panel_reason(const struct panel_opinion *opinions, size_t count, struct arena *arena)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	for (size_t i = 0; i < count; i++) {
		const struct judge_verdict *verdict = opinions[i].verdict;
		if (verdict->error != ERR_OK)
			continue;
		str_t reason = excerpt(verdict->reason);
		buf_printf(&text, "%s%s %g%s", text.len ? "; " : "", opinions[i].judge, verdict->score,
			   reason.len ? ": " : "");
		buf_append(&text, reason.ptr ? reason.ptr : "", reason.len);
	}
	return arena_text(arena, text.data ? text.data : "", text.len);
}
