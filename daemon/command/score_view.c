#include "command/score_view.h"

#include "common/terminal.h"
#include "judge/panel.h"

#include <inttypes.h>

static bool ends_with(str_t text, str_t end)
{
	return text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

/* The conclusion, and every reason that allows no more than it, but for what the first one says already. */
static void view_disposition(const struct scored_query *scored, struct buf *out)
{
	const struct record_disposition *disposition = scored->disposition;
	const struct record_recommendation *first = &scored->recommendations[0]; /* the action */
	terminal_append_line(out, STR_FMT "  " STR_FMT "  " STR_FMT, STR_ARG(scored->event_id),
			     STR_ARG(first->code), STR_ARG(first->text));
	for (size_t i = 0; i < disposition->reasons_count; i++)
		if (i == 0 || !ends_with(disposition->reasons[0].text, disposition->reasons[i].text))
			terminal_append_line(out, "  %s  " STR_FMT, i == 0 ? "because" : "and    ",
					     STR_ARG(disposition->reasons[i].text));
}

/* "HIGH" of HIGH_CONFIDENCE. */
static const char *short_level(enum confidence_level level)
{
	static const char *const names[] = { "VERY_LOW", "LOW", "MEDIUM", "HIGH" };
	return names[level];
}

static void view_confidence(const struct scored_query *scored, struct buf *out)
{
	const struct record_confidence *confidence = &scored->confidence;
	const struct record_retrieval *retrieval = confidence->retrieval;
	bool limited = confidence->overall.set && confidence->overall.value < 1;
	if (confidence->overall.set)
		terminal_append_line(out, "  level    %s  %.2f%s" STR_FMT,
				     advisory_level_name((enum confidence_level)confidence->level),
				     confidence->overall.value, limited ? "  limited by " : "",
				     STR_ARG(limited ? confidence->limiting_factor : STR("")));
	if (retrieval)
		terminal_append_line(out, "  RAG Confidence: %s (%.2f), " STR_FMT ", " STR_FMT,
				     short_level((enum confidence_level)retrieval->level),
				     retrieval->confidence, STR_ARG(retrieval->interpretation_text),
				     STR_ARG(retrieval->action_text));
}

static void view_probability(const struct scored_query *scored, struct buf *out)
{
	const struct record_probability *probability = scored->confidence.probability;
	if (probability)
		terminal_append_line(
			out, "  probable %.2f (%.2f to %.2f), by model %" PRId64 " of %" PRId64 " labels",
			probability->value, probability->low, probability->high, probability->model,
			probability->labels);
}

static void view_agreement(const struct scored_query *scored, struct buf *out)
{
	const struct record_agreement *agreement = scored->confidence.agreement;
	char results[64] = "", left_out[64] = "";
	if (!agreement || !agreement->canonical.set)
		return;
	int64_t compared = agreement->texts - agreement->left_out;
	if (agreement->results.set)
		snprintf(results, sizeof results, "; %.0f of %" PRId64 " return the same",
			 agreement->results.value * (double)compared, compared);
	if (agreement->left_out)
		snprintf(left_out, sizeof left_out, "; results of %" PRId64 " are left out",
			 agreement->left_out);
	terminal_append_line(
		out, "  agree    %.0f of %" PRId64 " texts mean the same, the answer included%s%s",
		agreement->canonical.value * (double)agreement->texts, agreement->texts, results, left_out);
}

static void view_findings(const struct scored_query *scored, struct buf *out)
{
	const struct record_technical *technical = scored->confidence.technical;
	for (size_t i = 0; i < scored->safety.violations_count; i++)
		terminal_append_line(out, "  unsafe   " STR_FMT ": " STR_FMT,
				     STR_ARG(scored->safety.violations[i].code),
				     STR_ARG(scored->safety.violations[i].detail));
	if (str_present(scored->safety.doubt))
		terminal_append_line(out, "  unknown  whether it is safe: " STR_FMT,
				     STR_ARG(scored->safety.doubt));
	for (size_t i = 0; technical && i < technical->diagnostics_count; i++) {
		const struct record_diagnostic *diagnostic = &technical->diagnostics[i];
		terminal_append_line(out, "  %s  " STR_FMT "%s" STR_FMT ": " STR_FMT,
				     diagnostic->severity == SEVERITY_ERROR ? "error  " : "warning",
				     STR_ARG(diagnostic->code), str_present(diagnostic->sub_code) ? "/" : "",
				     STR_ARG(diagnostic->sub_code), STR_ARG(diagnostic->message));
	}
	for (size_t i = 0; i < scored->errors_count; i++)
		terminal_append_line(out, "  not had  " STR_FMT ": " STR_FMT,
				     STR_ARG(scored->errors[i].metric), STR_ARG(scored->errors[i].message));
}

/* Who did not answer is among what could not be had. */
static void view_panel(const struct record_judge *judge, struct buf *out)
{
	size_t answered = 0;
	for (size_t i = 0; i < judge->panel_count; i++)
		answered += !str_present(judge->panel[i].unjudged_reason);
	if (answered == 0) {
		terminal_append_line(out, "  judges   none of %zu answered", judge->panel_count);
		return;
	}
	_cleanup_(buf_free) struct buf apart = BUF_INIT;
	if (judge->relevance_disagreement.set)
		buf_printf(&apart, ", apart by %.*f", panel_decimals(judge->relevance_disagreement.value),
			   judge->relevance_disagreement.value);
	terminal_append_line(out, "  judges   %.*f of 100, %zu of %zu answered%s: " STR_FMT,
			     panel_decimals(judge->relevance->score), judge->relevance->score, answered,
			     judge->panel_count, apart.data ? apart.data : "",
			     STR_ARG(judge->relevance->reason));
}

static void view_correctness(const struct scored_query *scored, struct buf *out)
{
	if (scored->result_validation)
		terminal_append_line(out, "  result   %.2f (" STR_FMT ")", scored->result_validation->score,
				     STR_ARG(scored->result_validation->status));
	if (scored->result_validation && scored->result_validation->explanation)
		terminal_append_line(out, "           " STR_FMT,
				     STR_ARG(scored->result_validation->explanation->summary));
	if (scored->judge.panel_count > 0)
		view_panel(&scored->judge, out);
	else if (scored->judge.relevance)
		terminal_append_line(out, "  judge    %.0f of 100: " STR_FMT, scored->judge.relevance->score,
				     STR_ARG(scored->judge.relevance->reason));
	if (scored->evaluation)
		terminal_append_line(out, "  overall correctness %.2f, %s%s", scored->evaluation->score,
				     scored->evaluation->passed ? "passed" : "not passed",
				     scored->evaluation->degraded ? " (degraded: a metric could not be had)"
								  : "");
}

static void view_advisory(const struct advisory *advisory, struct buf *out)
{
	struct buf kinds = BUF_INIT;
	for (size_t i = 0; i < advisory->kinds_count; i++)
		buf_printf(&kinds, "%s" STR_FMT, i ? ", " : "", STR_ARG(advisory->kinds[i]));
	terminal_append_line(out, "  raises   " STR_FMT, STR_ARG(buf_str(&kinds)));
	terminal_append_line(out, "  remedy   " STR_FMT, STR_ARG(advisory->remedy));
	buf_free(&kinds);
}

void score_view(const struct scored_query *scored, const struct advisory *advisory, struct buf *out)
{
	view_disposition(scored, out);
	view_confidence(scored, out);
	view_probability(scored, out);
	view_agreement(scored, out);
	view_findings(scored, out);
	view_correctness(scored, out);
	for (size_t i = 1; i < scored->recommendations_count; i++) /* the first is the action */
		terminal_append_line(out, "  advice   " STR_FMT, STR_ARG(scored->recommendations[i].text));
	if (advisory)
		view_advisory(advisory, out);
	buf_append_char(out, '\n');
}
