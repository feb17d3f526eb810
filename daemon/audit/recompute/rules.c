/* The rules that a record says it was scored by, against the configuration that it names. */
#include "event/record/rules.h"
#include "audit/recompute/internal.h"
#include "audit/recompute/settings.h"

enum { PATH_BYTES = 96 };

/* What is compared: the rules and the settings that they are of. */
struct rules_check {
	struct recompute *work;
	const struct recompute_settings *settings;
};

static void check_number(const struct rules_check *check, const char *field, double said, const char *path)
{
	str_t value = recompute_setting(check->settings, path);
	if (str_present(value))
		recompute_number(check->work, field, said, strtod(value.ptr, NULL));
}

static void check_text(const struct rules_check *check, const char *field, const char *said, const char *path)
{
	str_t value = recompute_setting(check->settings, path);
	if (str_present(value))
		recompute_text(check->work, field, str_from(said), value);
}

static void check_flag(const struct rules_check *check, const char *field, bool said, const char *path)
{
	check_text(check, field, said ? "true" : "false", path);
}

static void check_bounds(const struct rules_check *check, const struct record_bounds *said,
			 const char *fields, const char *paths)
{
	const struct {
		const char *name;
		double said;
	} bounds[] = { { "high", said->high }, { "medium", said->medium }, { "low", said->low } };
	char field[PATH_BYTES], path[PATH_BYTES];
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		snprintf(field, sizeof field, "%s.%s", fields, bounds[i].name);
		snprintf(path, sizeof path, "%s.%s", paths, bounds[i].name);
		check_number(check, field, bounds[i].said, path);
	}
}

static void check_factors(const struct rules_check *check, const struct record_rules *rules)
{
	static const char *const names[] = { "technical", "advisory",  "retrieval",
					     "generator", "agreement", "retrieval_without_advisory" };
	_Static_assert(sizeof names / sizeof *names == RECORD_FACTOR_OTHER, "a name for each factor");
	char text[PATH_BYTES * 2] = "[";
	for (size_t i = 0; i < rules->factors_count; i++) {
		size_t len = strlen(text);
		snprintf(text + len, sizeof text - len, "%s%s", i ? "," : "", names[rules->factors[i]]);
	}
	size_t len = strlen(text);
	snprintf(text + len, sizeof text - len, "]");
	check_text(check, "rules.factors", text, "confidence.factors");
}

static void check_retrieval(const struct rules_check *check, const struct record_retrieval_rules *said)
{
#define NUMBER(member, path) check_number(check, "rules.retrieval." #member, said->member, "retrieval." path)
	NUMBER(weights.top, "weights.top");
	NUMBER(weights.gap, "weights.gap");
	NUMBER(weights.consensus, "weights.consensus");
	NUMBER(weights.agreement, "weights.agreement");
	NUMBER(weights.low_spread, "weights.low_spread");
	NUMBER(weights.graph, "weights.graph");
	NUMBER(weights.low_diversity, "weights.low_diversity");
	NUMBER(rrf_scale, "rrf_scale");
	NUMBER(consensus_above, "consensus_above");
	NUMBER(gap_scale, "gap_scale");
	NUMBER(spread_scale, "spread_scale");
#undef NUMBER
	check_bounds(check, &said->thresholds, "rules.retrieval.thresholds", "retrieval.thresholds");
}

static void check_result(const struct rules_check *check, const struct record_result_rules *said)
{
	if (!check->work->scored->result_validation)
		return;
	if (!said)
		said = &RECORD_RESULT_DEFAULTS;
#define NUMBER(member) check_number(check, "rules.result." #member, said->member, "result." #member)
	NUMBER(absolute_tolerance);
	NUMBER(relative_tolerance);
	NUMBER(performance_factor);
	NUMBER(performance_floor_ms);
#undef NUMBER
}

/* Where the prices of a judge stand: of one that is alone, or of the member with that name. */
static bool find_judge(const struct rules_check *check, bool several, size_t place, char group[PATH_BYTES])
{
	const struct record_judge *judge = &check->work->scored->judge;
	char path[PATH_BYTES], name[PATH_BYTES];
	snprintf(group, PATH_BYTES, "judge");
	if (!several)
		return true;
	if (place >= judge->panel_count)
		return false;
	snprintf(name, sizeof name, "\"" STR_FMT "\"", STR_ARG(judge->panel[place].name));
	for (size_t i = 0;; i++) {
		snprintf(group, PATH_BYTES, "judges[%zu]", i);
		snprintf(path, sizeof path, "%.80s.name", group);
		str_t value = recompute_setting(check->settings, path);
		if (!str_present(value) || str_is(value, name))
			return str_present(value);
	}
}

static void check_prices(const struct rules_check *check, const struct record_judge_rules *said, bool several)
{
	char group[PATH_BYTES], path[PATH_BYTES];
	for (size_t i = 0; i < said->prices_count; i++) {
		if (!find_judge(check, several, i, group))
			continue;
		snprintf(path, sizeof path, "%.60s.prompt_token_price", group);
		check_number(check, "rules.judge.prices.prompt", said->prices[i].prompt, path);
		snprintf(path, sizeof path, "%.60s.completion_token_price", group);
		check_number(check, "rules.judge.prices.completion", said->prices[i].completion, path);
	}
}

static void check_judge(const struct rules_check *check, const struct record_judge_rules *said)
{
	static const char *const levels[] = { "VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE", "MEDIUM_CONFIDENCE",
					      "HIGH_CONFIDENCE" };
	bool several = str_present(recompute_setting(check->settings, "judges[0].name"));
	bool alone = str_present(recompute_setting(check->settings, "judge.sample_rate"));
	if (!recompute_presence(check->work, "rules.judge", said != NULL, several || alone))
		return;
	check_number(check, "rules.judge.sample_rate", said->sample_rate,
		     several ? "panel.sample_rate" : "judge.sample_rate");
	if (said->always_below >= 0 && said->always_below < 4)
		check_text(check, "rules.judge.always_below", levels[said->always_below],
			   several ? "panel.always_below" : "judge.always_below");
	check_flag(check, "rules.judge.unsafe", said->unsafe, several ? "panel.unsafe" : "judge.unsafe");
	check_prices(check, said, several);
}

/* ---- dialect ---- */

static bool dialect_of_engine(str_t engine, enum sql_dialect *ret_dialect)
{
	static const struct {
		const char *engine;
		enum sql_dialect dialect;
	} engines[] = { { "postgresql", SQL_POSTGRESQL },
			{ "sqlite", SQL_SQLITE },
			{ "mariadb", SQL_MYSQL },
			{ "mongodb", SQL_MONGODB } };
	for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
		if (str_is(engine, engines[i].engine)) {
			*ret_dialect = engines[i].dialect;
			return true;
		}
	return false;
}

/* By the engine of the record's target in the archived configuration. */
static bool dialect_of_target(const struct recompute *work, enum sql_dialect *ret_dialect)
{
	const struct recompute_archive *archive = work->archive;
	const struct recompute_settings *settings =
		archive ? archive->find_settings(archive->context, work->scored->provenance.config_digest)
			: NULL;
	str_t name = arena_printf(work->report->arena, "\"" STR_FMT "\"", STR_ARG(work->scored->target));
	char path[PATH_BYTES];
	for (size_t i = 0; settings; i++) {
		snprintf(path, sizeof path, "targets[%zu].name", i);
		str_t value = recompute_setting(settings, path);
		if (!str_present(value))
			return false;
		snprintf(path, sizeof path, "targets[%zu].engine", i);
		if (str_equal(value, name))
			return dialect_of_engine(recompute_setting(settings, path), ret_dialect);
	}
	return false;
}

bool recompute_dialect(const struct recompute *work, enum sql_dialect *ret_dialect)
{
	const struct generated_query *input = work->input;
	const struct recompute_targets *targets = work->targets;
	if (input && input->dialect != ENUM_ABSENT) { /* a target's that is another one is an error */
		*ret_dialect = (enum sql_dialect)input->dialect;
		return true;
	}
	if (!work->read.has_target || work->read.target_unknown) {
		*ret_dialect = SQL_POSTGRESQL;
		return input != NULL;
	}
	bool same = targets && str_is(work->scored->provenance.config_digest, targets->config_digest);
	const struct recompute_target *target =
		same ? targets->find(targets->context, work->scored->target) : NULL;
	if (!target)
		return dialect_of_target(work, ret_dialect);
	*ret_dialect = target->dialect;
	return true;
}

size_t recompute_model_reasons(const struct recompute *work, size_t otherwise)
{
	const struct recompute_archive *archive = work->archive;
	const struct recompute_settings *settings =
		archive ? archive->find_settings(archive->context, work->scored->provenance.config_digest)
			: NULL;
	str_t value = settings ? recompute_setting(settings, "calibration.model_reasons") : STR_NONE;
	return str_present(value) ? strtoul(value.ptr, NULL, 10) : otherwise;
}

/* ---- all of it ---- */

/* Rules of what the record does not have are not in it. */
static void check_unused(struct recompute *work)
{
	const struct scored_query *scored = work->scored;
	const struct record_judge_rules *judge = work->rules->judge;
	size_t asked = scored->judge.panel_count;
	if (!scored->confidence.retrieval)
		recompute_presence(work, "rules.retrieval", work->rules->retrieval != NULL, false);
	if (!scored->result_validation)
		recompute_presence(work, "rules.result", work->rules->result != NULL, false);
	if (asked == 0 && scored->judge.relevance)
		asked = 1;
	recompute_presence(work, "provenance.prompt_digest", str_present(scored->provenance.prompt_digest),
			   judge != NULL);
	if (judge)
		recompute_integer(work, "rules.judge.prices", (int64_t)judge->prices_count, (int64_t)asked);
}

/* Nothing is run for the agreement unless that is set. */
static void check_agreement(const struct rules_check *check)
{
	const struct record_agreement *said = check->work->scored->confidence.agreement;
	if (said && str_is(recompute_setting(check->settings, "agreement.execute"), "false"))
		recompute_presence(check->work, "confidence.agreement.results", said->results.set, false);
}

void recompute_rules(struct recompute *work)
{
	static const char *const sources[] = { "own", "event", "worst" };
	const struct record_rules *rules = work->rules;
	const struct recompute_archive *archive = work->archive;
	check_unused(work);
	if (!archive) {
		recompute_leave(work, RECOMPUTE_GAP_RULES);
		return;
	}
	const struct rules_check check = {
		work, archive->find_settings(archive->context, work->scored->provenance.config_digest)
	};
	if (!check.settings)
		return; /* which is told as the missing configuration */
	if (rules->diagnostic_source >= 0 && rules->diagnostic_source < 3)
		check_text(&check, "rules.diagnostic_source", sources[rules->diagnostic_source],
			   "diagnostic.source");
	check_factors(&check, rules);
	check_text(&check, "rules.technical_alone", rules->technical_alone == LEVEL_HIGH ? "high" : "medium",
		   "confidence.technical_alone");
	check_bounds(&check, &rules->thresholds, "rules.thresholds", "confidence.thresholds");
	check_number(&check, "rules.pass_score", rules->pass_score, "evaluation.pass_score");
	check_number(&check, "rules.low_confidence_below", rules->low_confidence_below,
		     "advisories.low_confidence_below");
	check_number(&check, "rules.low_relevance_below", rules->low_relevance_below,
		     "advisories.low_relevance_below");
	check_flag(&check, "rules.redacted", rules->redacted, "records.redact_literals");
	if (work->scored->confidence.retrieval)
		check_retrieval(&check, rules->retrieval ? rules->retrieval : &RECORD_RETRIEVAL_FORMULA);
	check_judge(&check, rules->judge);
	check_result(&check, rules->result);
	check_agreement(&check);
}
