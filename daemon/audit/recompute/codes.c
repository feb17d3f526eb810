/* Names against the tables of this version, and the record's identity against its event. */
#include "audit/recompute/internal.h"
#include "event/record/stage.h"
#include "sql/findings/diagnostics.h"
#include "sql/findings/violations.h"
#include "target/target.h"

#include "common/err.h"

enum { FIELD_BYTES = 96 };

err_t recompute_error(str_t name)
{
	for (int err = 0; err < ERR_COUNT_; err++)
		if (err_disposition((err_t)err) == ERR_DISPOSITION_FAIL_METRIC &&
		    str_is(name, err_name((err_t)err)))
			return (err_t)err;
	return ERR_OK;
}

int64_t recompute_errors(const struct recompute *work, const char *metric, str_t code)
{
	const struct scored_query *scored = work->scored;
	int64_t count = 0;
	for (size_t i = 0; i < scored->errors_count; i++)
		count += str_is(scored->errors[i].metric, metric) &&
			 (!str_present(code) || str_equal(scored->errors[i].code, code));
	return count;
}

/* ---- findings ---- */

static int find_diagnostic(str_t code)
{
	for (int i = 0; i < DIAG_COUNT_; i++)
		if (str_is(code, diagnostic_name((enum sql_diagnostic_code)i)))
			return i;
	return -1;
}

static bool has_sub_code(int code, str_t sub_code)
{
	bool found = !str_present(sub_code);
	for (int i = SUB_NONE + 1; i < SUB_COUNT_ && !found; i++)
		found = (int)diagnostic_of_sub((enum diagnostic_sub_code)i) == code &&
			str_is(sub_code, diagnostic_sub_name((enum diagnostic_sub_code)i));
	return found;
}

static void check_diagnostic(struct recompute *work, size_t index, const struct record_diagnostic *said)
{
	static const char *const severities[] = { "WARNING", "ERROR" };
	const char *list = work->scored->confidence.technical ? "confidence.technical" : "structure.findings";
	int code = find_diagnostic(said->code);
	char field[FIELD_BYTES];
	snprintf(field, sizeof field, "%s.diagnostics.%zu.code", list, index);
	recompute_known(work, field, said->code, code >= 0);
	if (code < 0)
		return;
	snprintf(field, sizeof field, "%s.diagnostics.%zu.sub_code", list, index);
	recompute_known(work, field, said->sub_code, has_sub_code(code, said->sub_code));
	snprintf(field, sizeof field, "%s.diagnostics.%zu.severity", list, index);
	recompute_symbol(work, field, said->severity,
			 diagnostic_is_error((enum sql_diagnostic_code)code) ? SEVERITY_ERROR
									     : SEVERITY_WARNING,
			 severities, 2);
}

static void check_violation(struct recompute *work, size_t index, const struct record_violation *said)
{
	char field[FIELD_BYTES];
	bool known = false;
	for (int i = 0; i < VIOLATION_COUNT_ && !known; i++)
		known = str_is(said->code, violation_name((enum sql_violation_code)i));
	snprintf(field, sizeof field, "safety.violations.%zu.code", index);
	recompute_known(work, field, said->code, known);
}

/* ---- what went wrong, and what was done ---- */

static bool is_stage(str_t name)
{
	for (int i = STAGE_DECODE; i <= STAGE_FINALISE; i++)
		if (str_is(name, stage_name((enum stage)i)))
			return true;
	return false;
}

static bool is_metric(str_t metric)
{
	static const char names[] = "technical semantic table_accuracy agreement generator target";
	return is_stage(metric) || str_is_listed(metric, names);
}

static void check_errors(struct recompute *work)
{
	const struct scored_query *scored = work->scored;
	char field[FIELD_BYTES];
	for (size_t i = 0; i < scored->errors_count; i++) {
		snprintf(field, sizeof field, "errors.%zu.metric", i);
		recompute_known(work, field, scored->errors[i].metric, is_metric(scored->errors[i].metric));
		snprintf(field, sizeof field, "errors.%zu.code", i);
		recompute_known(work, field, scored->errors[i].code,
				recompute_error(scored->errors[i].code) != ERR_OK);
		snprintf(field, sizeof field, "errors.%zu.input", i);
		recompute_text(work, field, scored->errors[i].input, scored->event_id);
	}
	for (size_t i = 0; i < scored->stages_count; i++) {
		snprintf(field, sizeof field, "stages.%zu.name", i);
		recompute_known(work, field, scored->stages[i].name, is_stage(scored->stages[i].name));
		snprintf(field, sizeof field, "stages.%zu.status", i);
		recompute_known(work, field, scored->stages[i].status,
				str_is_listed(scored->stages[i].status, "ok failed skipped"));
	}
}

static void check_status(struct recompute *work)
{
	const struct record_result_validation *validation = work->scored->result_validation;
	bool known = false;
	if (!validation)
		return;
	for (int i = 0; i < VALIDATION_STATUS_COUNT_ && !known; i++)
		known = str_is(validation->status, target_validation_status_name((enum validation_status)i));
	recompute_known(work, "result_validation.status", validation->status, known);
}

static void check_features(struct recompute *work)
{
	const struct record_confidence *confidence = &work->scored->confidence;
	for (size_t i = 0; i < confidence->features_count; i++) {
		bool known = false;
		for (int feature = 0; feature < FEATURE_COUNT_ && !known; feature++)
			known = str_is(confidence->features[i].name, FEATURE_INFO[feature].name);
		recompute_known(work, "confidence.features", confidence->features[i].name, known);
	}
}

void recompute_codes(struct recompute *work)
{
	const struct record_safety *safety = &work->scored->safety;
	for (size_t i = 0; i < work->read.diagnostics_count; i++)
		check_diagnostic(work, i, &work->read.diagnostics[i]);
	for (size_t i = 0; i < safety->violations_count; i++)
		check_violation(work, i, &safety->violations[i]);
	check_errors(work);
	check_status(work);
	check_features(work);
}

/* ---- identity ---- */

void recompute_identity(struct recompute *work)
{
	const struct scored_query *scored = work->scored;
	const struct record_provenance *provenance = &scored->provenance;
	const struct generated_query *input = work->input;
	bool has_catalog = str_present(provenance->catalog_digest);
	enum sql_dialect dialect = SQL_UNKNOWN_DIALECT;
	if (!has_catalog)
		recompute_presence(work, "provenance.catalog_age_s", provenance->catalog_age_s.set, false);
	if (!has_catalog || recompute_dialect(work, &dialect))
		recompute_flag(work, "provenance.catalog_sampled", provenance->catalog_sampled,
			       has_catalog && dialect == SQL_MONGODB);
	if (!input)
		return;
	recompute_flag(work, "input_shortened", scored->input_shortened, false);
	recompute_text(work, "event_id", scored->event_id, input->event_id);
	recompute_integer(work, "occurred_at", scored->occurred_at, input->occurred_at);
	recompute_text(work, "application", scored->application, input->application);
	recompute_text(work, "model", scored->model, input->model);
	recompute_text(work, "prompt_version", scored->prompt_version, input->prompt_version);
	recompute_text(work, "target", scored->target, input->target);
}
