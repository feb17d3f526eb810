#include "calibration/replay/replay_print.h"

#include "calibration/report/print_ranking.h"
#include "calibration/report/print_text.h"
#include "calibration/store/cases.h"

static const char *const level_names[REPLAY_LEVELS] = { "none", "very_low", "low", "medium", "high" };

/* ---- for a person ---- */

static void print_rules(FILE *stream, const struct replay_rules *rules)
{
	fputs("  now: the least of ", stream);
	for (size_t i = 0; i < rules->factors_count; i++)
		fprintf(stream, "%s%s", i ? ", " : "", overall_factor_name(rules->factors[i]));
	fprintf(stream, "; technical alone makes %s at most; levels from %.4g, %.4g and %.4g on",
		rules->technical_alone == SCORE_HIGH ? "high" : "medium", rules->thresholds.high,
		rules->thresholds.medium, rules->thresholds.low);
	if (rules->model)
		fprintf(stream, "; version %lld (%s) of the model, whose probability levels %s",
			(long long)model_info(rules->model)->version,
			model_kind_name(model_info(rules->model)->kind),
			rules->level_follows ? "follow" : "do not follow");
	else
		fputs("; no model", stream);
	fputc('\n', stream);
}

static void print_levels(FILE *stream, const struct replay_result *result)
{
	fputs("\n  then \\ now", stream);
	for (int now = REPLAY_LEVELS - 1; now >= 0; now--)
		fprintf(stream, "  %9s", level_names[now]);
	fputc('\n', stream);
	for (int then = REPLAY_LEVELS - 1; then >= 0; then--) {
		fprintf(stream, "  %-10s", level_names[then]);
		for (int now = REPLAY_LEVELS - 1; now >= 0; now--)
			fprintf(stream, "  %9lld", (long long)result->moved[then][now]);
		fputc('\n', stream);
	}
	fprintf(stream, "  %lld keep their level, %lld would have a higher one, %lld a lower one\n",
		(long long)result->kept, (long long)result->higher, (long long)result->lower);
}

static void print_group(FILE *stream, const struct replay_group *group)
{
	if (group->cases)
		fprintf(stream, "  %7lld  %.3f  %.3f to %.3f", (long long)group->cases, group->accuracy,
			group->low, group->high);
	else
		fputs("        0      -               -", stream);
}

static size_t make_rows(const struct replay_labelled *labelled, struct print_ranking_row *rows)
{
	static const char *const names[][REPLAY_SIDES] = { { "confidence, then", "confidence, now" },
							   { "probability, then", "probability, now" } };
	size_t count = 0;
	for (int side = 0; side < REPLAY_SIDES; side++)
		if (labelled->overall[side].cases)
			rows[count++] =
				(struct print_ranking_row){ names[0][side], &labelled->overall[side] };
	for (int side = 0; side < REPLAY_SIDES; side++)
		if (labelled->probability[side].cases)
			rows[count++] =
				(struct print_ranking_row){ names[1][side], &labelled->probability[side] };
	return count;
}

static void print_time_groups(FILE *stream, const struct replay_labelled *labelled, enum replay_time time)
{
	for (int level = REPLAY_LEVELS - 1; level >= 0; level--) {
		fprintf(stream, "  %-10s   ", level_names[level]);
		print_group(stream, &labelled->groups[time][REPLAY_THEN][level]);
		fputs("    ", stream);
		print_group(stream, &labelled->groups[time][REPLAY_NOW][level]);
		fputc('\n', stream);
	}
}

/* What the model has learnt from says nothing of how good it is. */
static void print_all_groups(FILE *stream, const struct replay_labelled *labelled)
{
	static const char *const titles[REPLAY_TIMES] = {
		[REPLAY_LATER] = "scored after what the model has learnt from",
		[REPLAY_LEARNT] = "of the time that the model has learnt from: better than others will be",
	};
	fputs("  level     then: cases  right  95 % interval    now: cases  right  95 % interval\n", stream);
	for (int time = 0; time < REPLAY_TIMES; time++) {
		if (labelled->times[REPLAY_LEARNT] == 0 && time == REPLAY_LEARNT)
			continue;
		if (labelled->times[REPLAY_LEARNT])
			fprintf(stream, "  %lld %s\n", (long long)labelled->times[time], titles[time]);
		print_time_groups(stream, labelled, (enum replay_time)time);
	}
}

static void print_labelled(FILE *stream, const struct replay_labelled *labelled)
{
	struct print_ranking_row rows[2 * REPLAY_SIDES];
	size_t count = make_rows(labelled, rows);
	fprintf(stream, "\nLabel source %s: %lld records\n", calibration_source_name(labelled->label_source),
		(long long)labelled->cases);
	print_all_groups(stream, labelled);
	if (count)
		print_ranking_rows(stream, rows, count);
	for (size_t i = 0; i < count; i++)
		print_ranking_threshold(stream, rows[i].ranking, rows[i].name);
	if (labelled->learnt_from)
		fprintf(stream,
			"  probabilities: without the %lld records of the time that the model has learnt "
			"from\n",
			(long long)labelled->learnt_from);
	if (labelled->ranked < labelled->cases)
		fprintf(stream, "  right from wrong: of the first %lld records\n",
			(long long)labelled->ranked);
}

void replay_print_place(FILE *stream, const struct replay_faults *faults)
{
	if (faults->kind == REPLAY_OFFSET)
		fprintf(stream, "partition %d, offset %lld", (int)faults->partition,
			(long long)faults->place);
	else
		fprintf(stream, "%s %lld", faults->kind == REPLAY_LINE ? "line" : "record",
			(long long)faults->place);
}

static void print_left_out(FILE *stream, const struct replay_result *result,
			   const struct replay_faults *faults)
{
	if (faults->count) {
		fprintf(stream, "  %lld could not be read; the first, ", (long long)faults->count);
		replay_print_place(stream, faults);
		fputs(": ", stream);
		print_name(stream, str_from(faults->first));
		fputc('\n', stream);
	}
	if (faults->unavailable)
		fprintf(stream, "  %lld cannot be read now\n", (long long)faults->unavailable);
	if (result->repeated)
		fprintf(stream,
			"  %lld came again (topic, partition and offset of an event, or its event_id) and "
			"are left out\n",
			(long long)result->repeated);
	if (result->unchecked)
		fprintf(stream, "  of more than %zu records others may have come again\n", REPLAY_KEYS_MAX);
}

void replay_print_text(FILE *stream, const struct replay_rules *rules, const struct replay_result *result,
		       const struct replay_faults *faults)
{
	fprintf(stream, "Replay of %lld records", (long long)result->records);
	if (result->records) {
		fputs(", scored from ", stream);
		print_time(stream, result->first_ms);
		fputs(" to ", stream);
		print_time(stream, result->last_ms);
	}
	fputc('\n', stream);
	print_rules(stream, rules);
	print_left_out(stream, result, faults);
	if (result->records == 0)
		return;
	print_levels(stream, result);
	if (result->labelled_count == 0)
		fputs("\nNo record has a label: whether that is better cannot be told.\n", stream);
	for (size_t i = 0; i < result->labelled_count; i++)
		print_labelled(stream, &result->labelled[i]);
}

/* ---- JSON ---- */

static json_t *json_rules(const struct replay_rules *rules)
{
	json_t *factors = json_array();
	for (size_t i = 0; i < rules->factors_count; i++)
		json_array_append_new(factors, json_string(overall_factor_name(rules->factors[i])));
	return json_pack(
		"{s:o, s:s, s:[f,f,f], s:o, s:b}", "factors", factors, "technical_alone",
		rules->technical_alone == SCORE_HIGH ? "high" : "medium", "thresholds",
		rules->thresholds.high, rules->thresholds.medium, rules->thresholds.low, "model_version",
		rules->model ? json_integer((json_int_t)model_info(rules->model)->version) : json_null(),
		"level_follows", (int)rules->level_follows);
}

static json_t *json_moved(const struct replay_result *result)
{
	json_t *moved = json_object();
	for (int then = 0; then < REPLAY_LEVELS; then++) {
		json_t *row = json_object();
		for (int now = 0; now < REPLAY_LEVELS; now++)
			json_object_set_new(row, level_names[now],
					    json_integer((json_int_t)result->moved[then][now]));
		json_object_set_new(moved, level_names[then], row);
	}
	return moved;
}

static json_t *json_groups(const struct replay_group *groups)
{
	json_t *object = json_object();
	for (int level = 0; level < REPLAY_LEVELS; level++) {
		const struct replay_group *group = &groups[level];
		json_t *item = json_pack("{s:I}", "cases", (json_int_t)group->cases);
		if (group->cases) {
			json_object_set_new(item, "accuracy", json_real(group->accuracy));
			json_object_set_new(item, "low", json_real(group->low));
			json_object_set_new(item, "high", json_real(group->high));
		}
		json_object_set_new(object, level_names[level], item);
	}
	return object;
}

static json_t *json_side(const struct replay_labelled *labelled, enum replay_side side)
{
	const struct ranking *overall = &labelled->overall[side], *probability = &labelled->probability[side];
	return json_pack("{s:o, s:o, s:o, s:o}", "levels", json_groups(labelled->groups[REPLAY_LATER][side]),
			 "levels_learnt_from", json_groups(labelled->groups[REPLAY_LEARNT][side]), "overall",
			 overall->cases ? print_ranking_object(overall) : json_null(), "probability",
			 probability->cases ? print_ranking_object(probability) : json_null());
}

static json_t *json_labelled(const struct replay_labelled *labelled)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "label_source",
			 calibration_source_name(labelled->label_source), "cases",
			 (json_int_t)labelled->cases, "ranked", (json_int_t)labelled->ranked, "learnt_from",
			 (json_int_t)labelled->learnt_from, "then", json_side(labelled, REPLAY_THEN), "now",
			 json_side(labelled, REPLAY_NOW));
}

static json_t *json_time(const struct replay_result *result, int64_t ms)
{
	return result->records ? json_integer((json_int_t)ms) : json_null();
}

/* What others wrote need not be UTF-8. */
static json_t *json_fault(const struct replay_faults *faults)
{
	if (!faults->count)
		return json_null();
	json_t *text = json_string(faults->first);
	static const char *const kinds[] = { "line", "record", "offset" };
	json_t *fault = json_pack("{s:s, s:I, s:o}", "of", kinds[faults->kind], "place",
				  (json_int_t)faults->place, "message", text ? text : json_null());
	if (faults->kind == REPLAY_OFFSET)
		json_object_set_new(fault, "partition", json_integer(faults->partition));
	return fault;
}

void replay_print_json(FILE *stream, const struct replay_rules *rules, const struct replay_result *result,
		       const struct replay_faults *faults)
{
	json_t *list = json_array();
	for (size_t i = 0; i < result->labelled_count; i++)
		json_array_append_new(list, json_labelled(&result->labelled[i]));
	json_t *root = json_pack(
		"{s:o, s:I, s:I, s:o, s:o, s:I, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "rules",
		json_rules(rules), "records", (json_int_t)result->records, "repeated",
		(json_int_t)result->repeated, "first_ms", json_time(result, result->first_ms), "last_ms",
		json_time(result, result->last_ms), "unreadable", (json_int_t)faults->count, "first_fault",
		json_fault(faults), "unavailable", (json_int_t)faults->unavailable, "kept",
		(json_int_t)result->kept, "higher", (json_int_t)result->higher, "lower",
		(json_int_t)result->lower, "levels", json_moved(result), "labelled", list);
	json_dumpf(root, stream, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stream);
	json_decref(root);
}
