#include "calibration/rebuild/rebuild_print.h"

#include "calibration/report/print_text.h"
#include "common/terminal.h"

#include <jansson.h>

/* ---- for a person ---- */

static void print_sum(FILE *stream, const char *name, str_t stored, str_t counted)
{
	if (!str_equal(stored, counted))
		fprintf(stream, ", %s " STR_FMT " instead of " STR_FMT, name, STR_ARG(stored),
			STR_ARG(counted));
}

static void print_figures(FILE *stream, const struct rebuild_figures *stored,
			  const struct rebuild_figures *counted)
{
	fprintf(stream, "%lld cases", (long long)stored->cases);
	if (stored->cases != counted->cases)
		fprintf(stream, " instead of %lld", (long long)counted->cases);
	print_sum(stream, "weight", stored->weight, counted->weight);
	print_sum(stream, "squared weights", stored->weight_squared, counted->weight_squared);
	print_sum(stream, "weight of correct ones", stored->weight_correct, counted->weight_correct);
	print_sum(stream, "weighted confidence", stored->weight_confidence, counted->weight_confidence);
	print_sum(stream, "squared error", stored->weight_squared_error, counted->weight_squared_error);
	fputc('\n', stream);
}

static bool same_cell(const struct rebuild_difference *a, const struct rebuild_difference *b)
{
	return str_equal(a->segment.application, b->segment.application) &&
	       str_equal(a->segment.model, b->segment.model) &&
	       str_equal(a->segment.prompt_version, b->segment.prompt_version) &&
	       a->label_source == b->label_source && str_equal(a->level, b->level) && a->bin == b->bin;
}

static void print_cell(FILE *stream, const struct rebuild_difference *difference)
{
	fputs("application ", stream);
	print_name(stream, difference->segment.application);
	fputs(", model ", stream);
	print_name(stream, difference->segment.model);
	fputs(", prompt version ", stream);
	print_name(stream, difference->segment.prompt_version);
	fprintf(stream, ", label source %s, " STR_FMT ", confidence %.1f to %.1f\n",
		calibration_source_name(difference->label_source), STR_ARG(difference->level),
		difference->bin / 10.0, (difference->bin + 1) / 10.0);
}

static void print_difference(FILE *stream, const struct rebuild_difference *difference)
{
	fprintf(stream, "  %lld bucket%s of ", (long long)difference->buckets,
		difference->buckets == 1 ? "" : "s");
	print_window(stream, difference->width_s);
	fputs(", ", stream);
	print_time(stream, difference->first_ms);
	if (difference->last_ms != difference->first_ms) {
		fputs(" to ", stream);
		print_time(stream, difference->last_ms);
	}
	fputs(": ", stream);
	print_figures(stream, &difference->stored, &difference->counted);
}

static void print_differences(FILE *stream, const struct rebuild_differences *differences)
{
	fprintf(stream, "%lld buckets compared, %lld differ\n",
		(long long)differences->compared + (long long)differences->days,
		(long long)differences->differing);
	if (differences->totals)
		fprintf(stream, "%lld totals are not the sums of their days\n",
			(long long)differences->totals);
	if (differences->sequences)
		fprintf(stream, "%lld tests for changes have seen another number of cases than are counted\n",
			(long long)differences->sequences);
	if (differences->sampled || differences->examples)
		fprintf(stream, "%lld examples to learn from compared, %lld differ\n",
			(long long)differences->sampled, (long long)differences->examples);
	if (differences->claims)
		fprintf(stream, "%lld probabilities that are tested for drift differ\n",
			(long long)differences->claims);
	if (differences->events || differences->feedback)
		fprintf(stream, "%lld stored events and %lld stored feedback messages differ\n",
			(long long)differences->events, (long long)differences->feedback);
	if (differences->moved)
		fprintf(stream,
			"%lld cases are in segment \"other\" because they were counted before their own "
			"segment existed\n",
			(long long)differences->moved);
	for (size_t i = 0; i < differences->count; i++) {
		const struct rebuild_difference *difference = &differences->items[i];
		if (i == 0 || !same_cell(difference - 1, difference)) {
			fputc('\n', stream);
			print_cell(stream, difference);
		}
		print_difference(stream, difference);
	}
}

static void print_rows(FILE *stream, const char *what, int64_t removed, int64_t added, int64_t left)
{
	fprintf(stream, "%s: %lld removed, %lld added; %lld are there then\n", what, (long long)removed,
		(long long)added, (long long)left);
}

/* What goes and what comes, whether or not it is done. */
static void print_replaced(FILE *stream, const struct rebuild_outcome *summary)
{
	const struct rebuild_stored *stored = &summary->stored;
	const struct rebuild_memory_replaced *memory = &summary->memory;
	fprintf(stream, "%lld buckets removed, %lld added; %lld of %lld cases are there then\n",
		(long long)summary->removed, (long long)summary->added, (long long)stored->buckets,
		(long long)stored->cases);
	if (summary->totals)
		fprintf(stream, "%lld totals corrected\n", (long long)summary->totals);
	print_rows(stream, "remembered events", memory->events_removed, memory->events_added, stored->events);
	print_rows(stream, "remembered feedback messages", memory->feedback_removed, memory->feedback_added,
		   stored->feedback);
	print_rows(stream, "examples to learn from", summary->examples.removed, summary->examples.added,
		   stored->examples);
	print_rows(stream, "probabilities tested for drift", summary->claims.removed, summary->claims.added,
		   stored->claims);
	fprintf(stream, "not changed: %lld models, %lld episodes of drift\n", (long long)stored->models,
		(long long)stored->episodes);
	if (summary->dry)
		fputs("nothing is changed (--dry-run)\n", stream);
}

void rebuild_print(FILE *stream, const struct rebuild_outcome *summary, bool rebuilt)
{
	fprintf(stream, "%lld records read, %lld cases counted, %lld records skipped\n",
		(long long)summary->records, (long long)summary->cases, (long long)summary->skipped);
	for (size_t i = 0; i < summary->notes_count; i++)
		terminal_print_line(stream, "note: " STR_FMT, STR_ARG(summary->notes[i]));
	if (!summary->complete) {
		fputs("buckets before ", stream);
		print_time(stream, summary->range.since_ms);
		fprintf(stream, " are %s\n", rebuilt ? "left as they are" : "not compared");
	}
	if (summary->feedback) {
		fprintf(stream, "feedback (%lld messages) is counted for events scored since ",
			(long long)summary->feedback);
		print_time(stream, summary->range.feedback_since_ms);
		fputc('\n', stream);
	}
	if (rebuilt)
		print_replaced(stream, summary);
	else
		print_differences(stream, &summary->differences);
}

/* ---- JSON ---- */

static json_t *json_text(str_t text)
{
	return json_stringn(text.ptr ? text.ptr : "", text.len);
}

static json_t *json_figures(const struct rebuild_figures *figures)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "cases", (json_int_t)figures->cases, "weight",
			 json_text(figures->weight), "weight_squared", json_text(figures->weight_squared),
			 "weight_correct", json_text(figures->weight_correct), "weight_confidence",
			 json_text(figures->weight_confidence), "weight_squared_error",
			 json_text(figures->weight_squared_error));
}

static json_t *json_difference(const struct rebuild_difference *difference)
{
	return json_pack(
		"{s:o, s:o, s:o, s:s, s:o, s:i, s:I, s:I, s:I, s:I, s:o, s:o}", "application",
		json_text(difference->segment.application), "model", json_text(difference->segment.model),
		"prompt_version", json_text(difference->segment.prompt_version), "label_source",
		calibration_source_name(difference->label_source), "level", json_text(difference->level),
		"bin", difference->bin, "width_s", (json_int_t)difference->width_s, "buckets",
		(json_int_t)difference->buckets, "first_ms", (json_int_t)difference->first_ms, "last_ms",
		(json_int_t)difference->last_ms, "stored", json_figures(&difference->stored), "counted",
		json_figures(&difference->counted));
}

static json_t *json_replaced(const struct rebuild_outcome *summary)
{
	const struct rebuild_stored *stored = &summary->stored;
	const struct rebuild_memory_replaced *memory = &summary->memory;
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:I, s:b}",
		"buckets_removed", (json_int_t)summary->removed, "buckets_added", (json_int_t)summary->added,
		"totals_corrected", (json_int_t)summary->totals, "buckets", (json_int_t)stored->buckets,
		"events_removed", (json_int_t)memory->events_removed, "events_added",
		(json_int_t)memory->events_added, "events", (json_int_t)stored->events, "feedback_removed",
		(json_int_t)memory->feedback_removed, "feedback_added", (json_int_t)memory->feedback_added,
		"feedback_stored", (json_int_t)stored->feedback, "examples_drawn",
		(json_int_t)summary->examples.drawn, "examples_removed",
		(json_int_t)summary->examples.removed, "examples_added", (json_int_t)summary->examples.added,
		"examples", (json_int_t)stored->examples, "claims_removed",
		(json_int_t)summary->claims.removed, "claims_added", (json_int_t)summary->claims.added,
		"claims", (json_int_t)stored->claims, "models", (json_int_t)stored->models, "episodes",
		(json_int_t)stored->episodes, "dry_run", (int)summary->dry);
}

void rebuild_print_json(FILE *stream, const struct rebuild_outcome *summary, bool rebuilt)
{
	json_t *notes = json_array(), *differences = json_array();
	for (size_t i = 0; i < summary->notes_count; i++)
		json_array_append_new(notes, json_text(summary->notes[i]));
	for (size_t i = 0; i < summary->differences.count; i++)
		json_array_append_new(differences, json_difference(&summary->differences.items[i]));
	json_t *root = json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:o}", "records",
				 (json_int_t)summary->records, "feedback", (json_int_t)summary->feedback,
				 "cases", (json_int_t)summary->cases, "skipped", (json_int_t)summary->skipped,
				 "complete", (int)summary->complete, "trusted", (int)summary->trusted,
				 "since_ms", (json_int_t)summary->range.since_ms, "notes", notes);
	if (rebuilt)
		json_object_update_new(root, json_replaced(summary));
	else
		json_object_update_new(
			root, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
					"buckets_compared", (json_int_t)summary->differences.compared,
					"days_compared", (json_int_t)summary->differences.days,
					"buckets_differing", (json_int_t)summary->differences.differing,
					"cases_moved", (json_int_t)summary->differences.moved,
					"totals_differing", (json_int_t)summary->differences.totals,
					"sequences_differing", (json_int_t)summary->differences.sequences,
					"examples_compared", (json_int_t)summary->differences.sampled,
					"examples_differing", (json_int_t)summary->differences.examples,
					"claims_differing", (json_int_t)summary->differences.claims,
					"events_differing", (json_int_t)summary->differences.events,
					"feedback_differing", (json_int_t)summary->differences.feedback));
	json_object_set_new(root, "differences", differences);
	json_dumpf(root, stream, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stream);
	json_decref(root);
}
