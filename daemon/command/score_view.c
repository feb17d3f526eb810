#include "command/score_view.h"

#include "avro/advisory.h"

static void view_confidence(const struct record_confidence *confidence, struct buf *out)
{
	if (!confidence->overall.set) {
		buf_append_text(out, "no confidence: the event has none of the factors\n");
		return;
	}
	buf_printf(out, "%s  %.2f  limited by " STR_FMT "\n",
		   confidence_level_name((enum confidence_level)confidence->level), confidence->overall.value,
		   STR_ARG(confidence->limiting_factor));
}

static void view_findings(const struct scored_query *scored, struct buf *out)
{
	const struct record_technical *technical = scored->confidence.technical;
	for (size_t i = 0; i < scored->safety.violations_count; i++)
		buf_printf(out, "  unsafe   " STR_FMT ": " STR_FMT "\n",
			   STR_ARG(scored->safety.violations[i].code),
			   STR_ARG(scored->safety.violations[i].detail));
	if (str_present(scored->safety.doubt))
		buf_printf(out, "  unknown  whether it is safe: " STR_FMT "\n",
			   STR_ARG(scored->safety.doubt));
	for (size_t i = 0; technical && i < technical->diagnostics_count; i++) {
		const struct record_diagnostic *diagnostic = &technical->diagnostics[i];
		buf_printf(out, "  %s  " STR_FMT "%s" STR_FMT ": " STR_FMT "\n",
			   diagnostic->severity == SEVERITY_ERROR ? "error  " : "warning",
			   STR_ARG(diagnostic->code), str_present(diagnostic->sub_code) ? "/" : "",
			   STR_ARG(diagnostic->sub_code), STR_ARG(diagnostic->message));
	}
	for (size_t i = 0; i < scored->errors_count; i++)
		buf_printf(out, "  not had  " STR_FMT ": " STR_FMT "\n", STR_ARG(scored->errors[i].metric),
			   STR_ARG(scored->errors[i].message));
}

static void view_correctness(const struct scored_query *scored, struct buf *out)
{
	if (scored->result_validation)
		buf_printf(out, "  result   %.2f (" STR_FMT ")\n", scored->result_validation->score,
			   STR_ARG(scored->result_validation->status));
	if (scored->result_validation && scored->result_validation->explanation)
		buf_printf(out, "           " STR_FMT "\n",
			   STR_ARG(scored->result_validation->explanation->summary));
	if (scored->judge.relevance)
		buf_printf(out, "  judge    %.0f of 100: " STR_FMT "\n", scored->judge.relevance->score,
			   STR_ARG(scored->judge.relevance->reason));
	if (scored->evaluation)
		buf_printf(out, "  overall correctness %.2f, %s%s\n", scored->evaluation->score,
			   scored->evaluation->passed ? "passed" : "not passed",
			   scored->evaluation->degraded ? " (degraded: a metric could not be had)" : "");
}

void score_view(const struct scored_query *scored, struct buf *out)
{
	buf_printf(out, STR_FMT "  ", STR_ARG(scored->event_id));
	view_confidence(&scored->confidence, out);
	view_findings(scored, out);
	view_correctness(scored, out);
	for (size_t i = 0; i < scored->recommendations_count; i++)
		buf_printf(out, "  advice   " STR_FMT "\n", STR_ARG(scored->recommendations[i].text));
	buf_append_char(out, '\n');
}
