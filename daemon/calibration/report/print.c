#include "calibration/report/print.h"

#include "avro/advisory.h"
#include "calibration/count/store.h"
#include "calibration/report/print_ranking.h"
#include "calibration/report/print_text.h"
#include "calibration/store/sequences.h"

#include <jansson.h>
#include <math.h>

/* Characters of a bar of the diagram, from 0 to 1. */
#define BAR_WIDTH 40

static const char *const group_names[CALIBRATION_GROUPS] = { "very_low", "low", "medium", "high" };

/* ---- for a person ---- */

static void print_segment(FILE *stream, const char *application, const struct calibration_entry *entry)
{
	if (str_present(entry->application)) {
		fputs("application ", stream);
		print_name(stream, entry->application);
		fputs(", model ", stream);
		print_name(stream, entry->model);
		fputs(", prompt version ", stream);
		print_name(stream, entry->prompt_version);
	} else {
		fputs("all segments", stream);
		if (application) {
			fputs(" of application ", stream);
			print_name(stream, str_from(application));
		}
	}
	fprintf(stream, ", label source %s\n", calibration_source_name(entry->label_source));
}

static void print_value(FILE *stream, const char *name, opt_double_t value)
{
	/* What rounds to zero has no sign. */
	if (value.set)
		fprintf(stream, "  %-14s %.4f", name, fabs(value.value) < 5e-5 ? 0 : value.value);
	else
		fprintf(stream, "  %-14s -     ", name);
}

static void print_figures(FILE *stream, const struct calibration_report *report)
{
	print_value(stream, "band score", report->band_score);
	print_value(stream, "accuracy", report->accuracy);
	print_value(stream, "confidence", report->confidence);
	fputc('\n', stream);
	print_value(stream, "ECE", report->expected_error);
	print_value(stream, "MCE", report->maximum_error);
	print_value(stream, "Brier score", report->brier);
	fputc('\n', stream);
	print_value(stream, "reliability", report->reliability);
	print_value(stream, "resolution", report->resolution);
	print_value(stream, "uncertainty", report->uncertainty);
	print_value(stream, "within bins", report->residual);
	fputs("\n\n", stream);
}

/* How accuracy went over the window, a block for each step. */
static void print_trend(FILE *stream, const struct calibration_moment *trend)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	for (int step = 0; step < CALIBRATION_STEPS; step++)
		fputs(trend[step].cases ? blocks[(int)fmin(7, trend[step].accuracy * 8)] : "·", stream);
}

static void print_groups(FILE *stream, const struct calibration_entry *entry)
{
	fputs("  group       cases  accuracy  target  95 % interval   over time\n", stream);
	for (int group = CALIBRATION_GROUPS - 1; group >= 0; group--) {
		const struct calibration_part *part = &entry->report.groups[group];
		fprintf(stream, "  %-10s %6lld", group_names[group], (long long)part->cases);
		if (part->cases)
			fprintf(stream, "     %.3f    %.2f  %.3f to %.3f  ", part->accuracy,
				calibration_target(group), part->low, part->high);
		else
			fprintf(stream, "         -    %.2f               -  ", calibration_target(group));
		print_trend(stream, entry->trend[group]);
		fputc('\n', stream);
	}
	fputc('\n', stream);
}

static int bar_place(double share)
{
	int place = (int)lround(share * (BAR_WIDTH - 1));
	return place < 0 ? 0 : place >= BAR_WIDTH ? BAR_WIDTH - 1 : place;
}

/* A line from 0 to 1: the interval, the accuracy in it, and where accuracy would equal confidence. */
static void print_bar(FILE *stream, const struct calibration_part *bin)
{
	int low = bar_place(bin->low), high = bar_place(bin->high);
	int accuracy = bar_place(bin->accuracy), confidence = bar_place(bin->confidence);
	for (int place = 0; place < BAR_WIDTH; place++) {
		bool within = place >= low && place <= high;
		fputs(place == accuracy ? "●" : place == confidence ? "│" : within ? "─" : " ", stream);
	}
}

static void print_diagram(FILE *stream, const struct calibration_report *report)
{
	fputs("  confidence    cases   mean  right  0         accuracy ●, ideal │          1\n", stream);
	for (int i = CALIBRATION_BINS - 1; i >= 0; i--) {
		const struct calibration_part *bin = &report->bins[i];
		fprintf(stream, "  %.1f to %.1f  %7lld", i / 10.0, (i + 1) / 10.0, (long long)bin->cases);
		if (bin->cases) {
			fprintf(stream, "  %.3f  %.3f  ", bin->confidence, bin->accuracy);
			print_bar(stream, bin);
		}
		fputc('\n', stream);
	}
}

static void print_entry(FILE *stream, const char *application, const struct calibration_entry *entry)
{
	char sentence[128];
	calibration_interpretation(&entry->report, sentence, sizeof sentence);
	print_segment(stream, application, entry);
	fprintf(stream, "  %lld cases (weight %.10g): %s\n", (long long)entry->report.cases,
		entry->report.weight, sentence);
	print_figures(stream, &entry->report);
	print_groups(stream, entry);
	print_diagram(stream, &entry->report);
	print_ranking_text(stream, entry);
}

static void print_episode_score(FILE *stream, const struct drift_episode *episode)
{
	if (episode->window_s) {
		fputs(", window ", stream);
		print_window(stream, episode->window_s);
	}
	fputs("\n    since ", stream);
	print_time(stream, episode->opened_at_ms);
	if (episode->opening_cases)
		fprintf(stream, ": band score %.4f (%lld cases), last %.4f (%lld cases)",
			episode->opening_score, (long long)episode->opening_cases, episode->score,
			(long long)episode->cases);
	else if (episode->window_s)
		fprintf(stream, ": band score, last %.4f (%lld cases)", episode->score,
			(long long)episode->cases);
	fputc('\n', stream);
}

static void print_episode_change(FILE *stream, const struct drift_episode *episode)
{
	if (!episode->changed)
		return;
	fprintf(stream, "    right %s often than %s by %.1f points since ",
		episode->direction == DRIFT_OVERCONFIDENT ? "less" : "more",
		episode->by_probability ? "their probabilities say" : "before", 100 * fabs(episode->size));
	print_time(stream, episode->since_ms);
	fputc('\n', stream);
}

static void print_episodes(FILE *stream, const struct calibration_reports *reports)
{
	if (reports->episodes_count == 0)
		return;
	fputs("\nOpen drift episodes: confidence does not predict correctness, or not as before\n", stream);
	for (size_t i = 0; i < reports->episodes_count; i++) {
		const struct drift_episode *episode = &reports->episodes[i];
		fputs("  application ", stream);
		print_name(stream, episode->segment.application);
		fputs(", model ", stream);
		print_name(stream, episode->segment.model);
		fputs(", prompt version ", stream);
		print_name(stream, episode->segment.prompt_version);
		fprintf(stream, ", label source %s", calibration_source_name(episode->label_source));
		print_episode_score(stream, episode);
		print_episode_change(stream, episode);
	}
}

void calibration_print(FILE *stream, const struct calibration_reports *reports)
{
	fputs("Calibration over ", stream);
	print_window(stream, reports->window_s);
	fputs(" until ", stream);
	print_time(stream, reports->until_ms);
	fputc('\n', stream);
	for (size_t i = 0; i < reports->count; i++) {
		fputc('\n', stream);
		print_entry(stream, reports->application, &reports->entries[i]);
	}
	if (reports->count == 0)
		fputs(reports->counted ? "\nNo labelled events were scored in this time.\n"
				       : "\nNo labelled event is counted in this database, of whatever time. "
					 "Labels come from "
					 "ground truth, a judge or feedback; the daemon counts them while it "
					 "runs with this "
					 "calibration.dsn.\n",
		      stream);
	print_episodes(stream, reports);
}

/* ---- JSON ---- */

static json_t *json_opt(opt_double_t value)
{
	return value.set ? json_real(value.value) : json_null();
}

static json_t *json_name(str_t name)
{
	return name.len ? json_stringn(name.ptr, name.len) : json_null();
}

static json_t *json_part(const struct calibration_part *part)
{
	bool known = part->cases > 0;
	return json_pack("{s:I, s:f, s:o, s:o, s:o, s:o}", "cases", (json_int_t)part->cases, "weight",
			 part->weight, "accuracy", json_opt((opt_double_t){ known, part->accuracy }),
			 "confidence", json_opt((opt_double_t){ known, part->confidence }), "low",
			 json_opt((opt_double_t){ known, part->low }), "high",
			 json_opt((opt_double_t){ known, part->high }));
}

static json_t *json_trend(const struct calibration_moment *trend)
{
	json_t *list = json_array();
	for (int step = 0; step < CALIBRATION_STEPS; step++)
		json_array_append_new(
			list,
			json_pack("{s:I, s:o}", "cases", (json_int_t)trend[step].cases, "accuracy",
				  json_opt((opt_double_t){ trend[step].cases > 0, trend[step].accuracy })));
	return list;
}

static json_t *json_groups(const struct calibration_entry *entry)
{
	json_t *groups = json_object();
	for (int group = CALIBRATION_GROUPS - 1; group >= 0; group--) {
		json_t *part = json_part(&entry->report.groups[group]);
		json_object_set_new(part, "target", json_real(calibration_target(group)));
		json_object_set_new(part, "trend", json_trend(entry->trend[group]));
		json_object_set_new(groups, group_names[group], part);
	}
	return groups;
}

static json_t *json_bins(const struct calibration_report *report)
{
	json_t *bins = json_array();
	for (int i = 0; i < CALIBRATION_BINS; i++) {
		json_t *bin = json_part(&report->bins[i]);
		json_object_set_new(bin, "from", json_real(i / 10.0));
		json_object_set_new(bin, "to", json_real((i + 1) / 10.0));
		json_array_append_new(bins, bin);
	}
	return bins;
}

/* `application`: the one that was asked for, or NULL. */
static json_t *json_entry(const struct calibration_entry *entry, const char *application)
{
	const struct calibration_report *report = &entry->report;
	char sentence[128];
	calibration_interpretation(report, sentence, sizeof sentence);
	return json_pack(
		"{s:o, s:o, s:o, s:s, s:I, s:f, s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o}",
		"application",
		json_name(str_present(entry->application) ? entry->application : str_from(application)),
		"model", json_name(entry->model), "prompt_version", json_name(entry->prompt_version),
		"label_source", calibration_source_name(entry->label_source), "cases",
		(json_int_t)report->cases, "weight", report->weight, "band_score",
		json_opt(report->band_score), "interpretation", sentence, "overconfident",
		(int)report->overconfident, "accuracy", json_opt(report->accuracy), "confidence",
		json_opt(report->confidence), "ece", json_opt(report->expected_error), "mce",
		json_opt(report->maximum_error), "brier", json_opt(report->brier), "reliability",
		json_opt(report->reliability), "resolution", json_opt(report->resolution), "uncertainty",
		json_opt(report->uncertainty), "residual", json_opt(report->residual), "groups",
		json_groups(entry), "bins", json_bins(report), "rankings", print_ranking_json(entry),
		"rankings_fault", json_name(entry->fault));
}

/* What there is no window or no change for is null. */
static json_t *json_number_if(bool there, double value)
{
	return there ? json_real(value) : json_null();
}

static json_t *json_integer_if(bool there, int64_t value)
{
	return there ? json_integer((json_int_t)value) : json_null();
}

static json_t *json_episode(const struct drift_episode *episode)
{
	bool window = episode->window_s > 0, opening = episode->opening_cases > 0, changed = episode->changed;
	bool gap = str_present(episode->opening_group);
	const char *direction = changed ? sequences_direction_name(episode->direction) : NULL;
	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:s?, s:o, s:o, "
			 "s:s?, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "episode_id", episode->id, "application", json_name(episode->segment.application),
			 "model", json_name(episode->segment.model), "prompt_version",
			 json_name(episode->segment.prompt_version), "label_source",
			 calibration_source_name(episode->label_source), "window_s",
			 json_integer_if(window, episode->window_s), "opened_at_ms",
			 (json_int_t)episode->opened_at_ms, "threshold",
			 json_number_if(window, episode->threshold), "opening_score",
			 json_number_if(opening, episode->opening_score), "opening_cases",
			 json_integer_if(opening, episode->opening_cases), "judged_at_ms",
			 (json_int_t)episode->judged_at_ms, "score", json_number_if(window, episode->score),
			 "cases", json_integer_if(window, episode->cases), "drift_direction", direction,
			 "drift_size", json_number_if(changed, episode->size), "drift_since_ms",
			 json_integer_if(changed, episode->since_ms), "drift_expected_by",
			 !changed		   ? NULL
			 : episode->by_probability ? "PROBABILITY"
						   : "PAST",
			 "opening_confidence", json_number_if(gap, episode->opening_confidence),
			 "opening_accuracy", json_number_if(gap, episode->opening_accuracy), "opening_group",
			 json_name(episode->opening_group), "opening_group_cases",
			 json_integer_if(gap, episode->opening_group_cases), "opening_group_confidence",
			 json_number_if(gap, episode->opening_group_confidence), "opening_group_accuracy",
			 json_number_if(gap, episode->opening_group_accuracy));
}

void calibration_print_json(FILE *stream, const struct calibration_reports *reports)
{
	json_t *list = json_array();
	for (size_t i = 0; i < reports->count; i++)
		json_array_append_new(list, json_entry(&reports->entries[i], reports->application));
	json_t *episodes = json_array();
	for (size_t i = 0; i < reports->episodes_count; i++)
		json_array_append_new(episodes, json_episode(&reports->episodes[i]));
	json_t *root =
		json_pack("{s:s?, s:b, s:I, s:I, s:I, s:o, s:o}", "application", reports->application,
			  "counted", (int)reports->counted, "window_s", (json_int_t)reports->window_s,
			  "since_ms", (json_int_t)reports->since_ms, "until_ms",
			  (json_int_t)reports->until_ms, "reports", list, "open_drift_episodes", episodes);
	json_dumpf(root, stream, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stream);
	json_decref(root);
}
