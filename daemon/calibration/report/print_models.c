#include "calibration/report/print_models.h"

#include "calibration/report/print_text.h"
#include "common/terminal.h"

#include <jansson.h>

/* A person is shown so many features. */
#define FEATURES_SHOWN 20

/* More than a document may have. */
#define FEATURES_MAX 1024

#define Z_95 1.959963984540054

/* ---- for a person ---- */

static void print_age(FILE *stream, int64_t ms)
{
	int64_t minutes = ms > 0 ? ms / 60000 : 0;
	if (minutes >= 2880)
		fprintf(stream, "%lld days ago", (long long)(minutes / 1440));
	else if (minutes >= 120)
		fprintf(stream, "%lld hours ago", (long long)(minutes / 60));
	else
		fprintf(stream, "%lld minutes ago", (long long)minutes);
}

/* Why there is nothing to show, and what to do about it. */
static void print_nothing(FILE *stream, const struct calibration_models *models)
{
	if (!models->tables) {
		fputs("The database has no calibration tables yet; the daemon makes them when it starts.\n",
		      stream);
		return;
	}
	fputs("There is no model", stream);
	if (models->kind)
		fprintf(stream, " of the kind \"%s\"", models->kind);
	fprintf(stream,
		" yet. A first one takes %d labels (results or feedback), %d of them right and %d wrong at "
		"least, and later ones that it is better on than a constant; now there are %lld that it can "
		"learn from, %lld of them right.\n",
		MODEL_LABELS_MIN, MODEL_EITHER_MIN, MODEL_EITHER_MIN, (long long)models->labels,
		(long long)models->correct);
	if (!models->kind)
		fputs("Nothing is learnt: calibration.model is \"off\".\n", stream);
}

static void print_rules(FILE *stream, str_t rules)
{
	if (str_present(rules))
		terminal_print(stream, rules);
	else
		fputs("not known", stream);
}

/* What belongs to other rules than those of the file. */
static void print_others(FILE *stream, const struct calibration_models *models)
{
	const struct calibration_model_row *other = models->passed_over;
	if (other) {
		fprintf(stream,
			"Version %lld is passed over: it was learnt under other rules of overall "
			"confidence\n  ",
			(long long)other->version);
		print_rules(stream, other->rules);
		fputs("\n  and those of the file are\n  ", stream);
		print_rules(stream, models->rules);
		fputc('\n', stream);
	}
	if (models->labels_of_others)
		fprintf(stream, "%lld labels are left out: they are of other rules of overall confidence\n",
			(long long)models->labels_of_others);
}

static void print_quality(FILE *stream, const struct model_quality *quality)
{
	fprintf(stream,
		"log loss %.4f, AUROC %.3f (%.3f to %.3f), debiased ECE %.4f (at "
		"least %.4f)\n",
		quality->log_loss, quality->auroc, quality->auroc_low, quality->auroc_high, quality->ece,
		quality->ece_low);
}

/* The last one. */
static void print_judgement(FILE *stream, const struct calibration_models *models)
{
	const struct model_info *info = model_info(models->model);
	const struct model_quality *then = &info->quality;
	fprintf(stream, "  judged by %lld labels that came later: ", (long long)then->cases);
	print_quality(stream, then);
	fprintf(stream, "    a constant: log loss %.4f; overall confidence: AUROC %.3f\n",
		then->log_loss_constant, then->auroc_overall);
	fprintf(stream, "    %s\n",
		info->proven ? "proven: levels may follow it (confidence.level_by)"
			     : "not proven: with confidence.level_by = \"auto\" levels do not follow it");
}

static void print_present(FILE *stream, const struct calibration_models *models)
{
	if (!models->measured) {
		fputs("  by what is kept now of labels that came later: too few to tell\n", stream);
		return;
	}
	fprintf(stream,
		"  by what is kept now of labels that came later (%lld): ", (long long)models->now.cases);
	print_quality(stream, &models->now);
	if (models->former_measured) {
		fprintf(stream,
			"    version %lld, which it replaced, on the same: ", (long long)models->former);
		print_quality(stream, &models->former_now);
	}
}

static void print_used(FILE *stream, const struct calibration_models *models)
{
	const struct calibration_model_row *used = models->used;
	fprintf(stream, "Version %lld (", (long long)used->version);
	terminal_print(stream, used->kind);
	fputs("), in use since ", stream);
	print_time(stream, used->used_from_ms);
	fputs(", ", stream);
	print_age(stream, models->now_ms - used->used_from_ms);
	fprintf(stream, "\n  learnt from %lld labels, scored from ", (long long)used->labels);
	print_time(stream, used->trained_from_ms);
	fputs(" to ", stream);
	print_time(stream, used->trained_to_ms);
	fputc('\n', stream);
	if (models->unreadable) {
		if (models->model)
			fprintf(stream, "  version %lld, which replaced it,", (long long)models->unreadable);
		else
			fputs("  it", stream);
		fputs(" cannot be read: ", stream);
		terminal_print(stream, models->fault);
		fputc('\n', stream);
	}
	if (!models->model)
		return;
	print_judgement(stream, models);
	print_present(stream, models);
}

static void print_features(FILE *stream, const struct model *model)
{
	struct model_weight weights[FEATURES_SHOWN];
	size_t all, count = model_weights(model, weights, FEATURES_SHOWN, &all);
	fputs("\n  What a feature adds to the log odds, one deviation above its mean\n"
	      "     adds  95 % interval     mean  deviation  feature\n",
	      stream);
	for (size_t i = 0; i < count; i++) {
		const struct model_weight *weight = &weights[i];
		double half = Z_95 * weight->error;
		fprintf(stream, "  %+.3f  ", weight->addend);
		if (half > 0)
			fprintf(stream, "%+.3f to %+.3f", weight->addend - half, weight->addend + half);
		else
			fputs("not known       ", stream);
		fprintf(stream, "  %7.3f    %7.3f  ", weight->mean, weight->deviation);
		terminal_print(stream, str_from(weight->name));
		fprintf(stream, ": %s\n", weight->sentence ? weight->sentence : "not known to this version");
	}
	if (all > count)
		fprintf(stream, "  and %zu more that add less (--json)\n", all - count);
}

/* Of a version: whether it is used, or what is instead. */
static void print_place(FILE *stream, const struct calibration_models *models,
			const struct calibration_model_row *row)
{
	if (row->version == models->unreadable)
		fputs("  cannot be read\n", stream);
	else if (models->unreadable && models->model && row->version == models->used->version)
		fprintf(stream, "  in use instead of %lld\n", (long long)models->unreadable);
	else if (row->replaced_by)
		fprintf(stream, "  replaced by %lld\n", (long long)row->replaced_by);
	else
		fprintf(stream, "  in use%s\n", row->other_rules ? " under other rules" : "");
}

static void print_row(FILE *stream, const struct calibration_models *models,
		      const struct calibration_model_row *row)
{
	fprintf(stream, "  %7lld  ", (long long)row->version);
	terminal_print(stream, row->kind);
	for (size_t i = row->kind.len; i < 8; i++)
		fputc(' ', stream);
	fprintf(stream, "  %6lld  %7lld    %.4f  %.3f  %.4f  %-6s  ", (long long)row->labels,
		(long long)row->later_cases, row->log_loss, row->auroc, row->ece, row->proven ? "yes" : "no");
	print_time(stream, row->used_from_ms);
	print_place(stream, models, row);
}

static void print_versions(FILE *stream, const struct calibration_models *models)
{
	if (models->rows_count == 0)
		return;
	fputs("\nVersions, with their figures on labels that came after those they learnt from\n"
	      "  version  kind      labels    later  log loss  AUROC     ECE  proven  used from\n",
	      stream);
	for (size_t i = 0; i < models->rows_count; i++)
		print_row(stream, models, &models->rows[i]);
	if (models->versions > (int64_t)models->rows_count)
		fprintf(stream, "  and %lld older ones\n",
			(long long)(models->versions - (int64_t)models->rows_count));
}

void print_models_text(FILE *stream, const struct calibration_models *models)
{
	if (!models->used) {
		print_nothing(stream, models);
	} else {
		print_used(stream, models);
		if (!models->kind)
			fputs("  records have no probability: calibration.model is \"off\"\n", stream);
		if (models->model)
			print_features(stream, models->model);
	}
	print_others(stream, models);
	print_versions(stream, models);
}

/* ---- JSON ---- */

static json_t *json_quality(const struct model_quality *quality)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "cases", (json_int_t)quality->cases,
			 "log_loss", quality->log_loss, "log_loss_constant", quality->log_loss_constant,
			 "auroc", quality->auroc, "auroc_low", quality->auroc_low, "auroc_high",
			 quality->auroc_high, "auroc_overall", quality->auroc_overall, "ece", quality->ece,
			 "ece_low", quality->ece_low);
}

static json_t *json_rules(str_t rules)
{
	return str_present(rules) ? json_stringn(rules.ptr, rules.len) : json_null();
}

static json_t *json_row(const struct calibration_model_row *row)
{
	return json_pack("{s:I, s:s%, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b, s:I, s:o, s:o, s:b}", "version",
			 (json_int_t)row->version, "kind", row->kind.ptr, row->kind.len, "trained_from_ms",
			 (json_int_t)row->trained_from_ms, "trained_to_ms", (json_int_t)row->trained_to_ms,
			 "labels", (json_int_t)row->labels, "later_cases", (json_int_t)row->later_cases,
			 "log_loss", row->log_loss, "auroc", row->auroc, "ece", row->ece, "proven",
			 (int)row->proven, "used_from_ms", (json_int_t)row->used_from_ms, "replaced_by",
			 row->replaced_by ? json_integer((json_int_t)row->replaced_by) : json_null(), "rules",
			 json_rules(row->rules), "other_rules", (int)row->other_rules);
}

static json_t *json_features(const struct model *model)
{
	struct model_weight *weights = calloc(FEATURES_MAX, sizeof *weights);
	json_t *list = json_array();
	if (!weights)
		abort();
	size_t count = model_weights(model, weights, FEATURES_MAX, NULL);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s?, s:f, s:f, s:f, s:f}", "name", weights[i].name,
						"sentence", weights[i].sentence, "addend", weights[i].addend,
						"standard_error", weights[i].error, "mean", weights[i].mean,
						"deviation", weights[i].deviation));
	free(weights);
	return list;
}

static json_t *json_used(const struct calibration_models *models)
{
	const struct model *model = models->model;
	json_t *used = json_row(models->used);
	json_object_set_new(used, "age_ms", json_integer(models->now_ms - models->used->used_from_ms));
	json_object_set_new(used, "fault",
			    str_present(models->fault) && !model
				    ? json_stringn(models->fault.ptr, models->fault.len)
				    : json_null());
	json_object_set_new(used, "judged", model ? json_quality(&model_info(model)->quality) : json_null());
	json_object_set_new(used, "present", models->measured ? json_quality(&models->now) : json_null());
	json_object_set_new(used, "former_version",
			    models->former ? json_integer((json_int_t)models->former) : json_null());
	json_object_set_new(used, "former_present",
			    models->former_measured ? json_quality(&models->former_now) : json_null());
	json_object_set_new(used, "features", model ? json_features(model) : json_null());
	return used;
}

void print_models_json(FILE *stream, const struct calibration_models *models)
{
	json_t *versions = json_array();
	for (size_t i = 0; i < models->rows_count; i++)
		json_array_append_new(versions, json_row(&models->rows[i]));
	json_t *unreadable = models->unreadable
				     ? json_pack("{s:I, s:s%}", "version", (json_int_t)models->unreadable,
						 "fault", models->fault.ptr, models->fault.len)
				     : json_null();
	json_t *root =
		json_pack("{s:b, s:s?, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:I, s:o}", "tables",
			  (int)models->tables, "kind", models->kind, "rules", json_rules(models->rules),
			  "passed_over", models->passed_over ? json_row(models->passed_over) : json_null(),
			  "labels_of_other_rules", (json_int_t)models->labels_of_others, "labels",
			  (json_int_t)models->labels, "labels_correct", (json_int_t)models->correct, "model",
			  models->used ? json_used(models) : json_null(), "unreadable", unreadable,
			  "versions_count", (json_int_t)models->versions, "versions", versions);
	json_dumpf(root, stream, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stream);
	json_decref(root);
}
