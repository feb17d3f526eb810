#include "audit/recompute/internal.h"
#include "event/record/record.h"
#include "score/overall.h"

#include <inttypes.h>
#include <math.h>

static const struct {
	const char *name, *why;
} gaps[RECOMPUTE_GAP_COUNT_] = {
#define GAP(symbol, name, why) [RECOMPUTE_GAP_##symbol] = { name, why },
#include "audit/recompute/gaps.def"
#undef GAP
};

const char *recompute_gap_name(enum recompute_gap gap)
{
	return gaps[gap].name;
}

const char *recompute_gap_why(enum recompute_gap gap)
{
	return gaps[gap].why;
}

/* ---- comparing ---- */

static void differ(struct recompute *work, const char *field, str_t said, str_t follows)
{
	struct recompute_report *report = work->report;
	ARENA_PUSH(report->arena, report->differences, report->differences_count,
		   report->differences_capacity,
		   (struct recompute_difference){ arena_str(report->arena, str_from(field)), said, follows });
}

static bool is_near(double a, double b)
{
	double size = fmax(1, fmax(fabs(a), fabs(b)));
	return a == b || fabs(a - b) <= RECOMPUTE_TOLERANCE * size;
}

/* With as few digits as read back as the same number. */
static str_t number_text(struct recompute *work, double value)
{
	char text[32];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return arena_str(work->report->arena, str_from(text));
}

static str_t share_text(struct recompute *work, opt_double_t value)
{
	return value.set ? number_text(work, value.value) : STR("null");
}

void recompute_number(struct recompute *work, const char *field, double said, double follows)
{
	work->report->checked++;
	if (!is_near(said, follows))
		differ(work, field, number_text(work, said), number_text(work, follows));
}

void recompute_share(struct recompute *work, const char *field, opt_double_t said, opt_double_t follows)
{
	work->report->checked++;
	if (said.set != follows.set || (said.set && !is_near(said.value, follows.value)))
		differ(work, field, share_text(work, said), share_text(work, follows));
}

void recompute_integer(struct recompute *work, const char *field, int64_t said, int64_t follows)
{
	work->report->checked++;
	if (said != follows)
		differ(work, field, arena_printf(work->report->arena, "%" PRId64, said),
		       arena_printf(work->report->arena, "%" PRId64, follows));
}

void recompute_flag(struct recompute *work, const char *field, bool said, bool follows)
{
	work->report->checked++;
	if (said != follows)
		differ(work, field, said ? STR("true") : STR("false"), follows ? STR("true") : STR("false"));
}

bool recompute_presence(struct recompute *work, const char *field, bool said, bool follows)
{
	work->report->checked++;
	if (said != follows)
		differ(work, field, said ? STR("there") : STR("null"),
		       follows ? STR("a value") : STR("null"));
	return said && follows;
}

static str_t quoted(struct recompute *work, str_t text)
{
	return str_present(text) ? arena_printf(work->report->arena, "\"" STR_FMT "\"", STR_ARG(text))
				 : STR("null");
}

void recompute_text(struct recompute *work, const char *field, str_t said, str_t follows)
{
	work->report->checked++;
	if (!str_equal(said, follows))
		differ(work, field, quoted(work, said), quoted(work, follows));
}

static str_t name_at(int index, const char *const *names, int count)
{
	if (index == ENUM_ABSENT)
		return STR("null");
	return index >= 0 && index < count ? str_from(names[index]) : STR("another symbol");
}

void recompute_symbol(struct recompute *work, const char *field, int said, int follows,
		      const char *const *names, int count)
{
	work->report->checked++;
	if (said != follows)
		differ(work, field, name_at(said, names, count), name_at(follows, names, count));
}

void recompute_level(struct recompute *work, const char *field, int said, int follows)
{
	static const char *const levels[] = { "VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE", "MEDIUM_CONFIDENCE",
					      "HIGH_CONFIDENCE" };
	recompute_symbol(work, field, said, follows, levels, 4);
}

void recompute_known(struct recompute *work, const char *field, str_t said, bool known)
{
	work->report->checked++;
	if (!known)
		differ(work, field, quoted(work, said), STR("one that this version has"));
}

void recompute_range(struct recompute *work, const char *field, double said, double low, double high)
{
	work->report->checked++;
	if (said >= low - RECOMPUTE_TOLERANCE && said <= high + RECOMPUTE_TOLERANCE)
		return;
	str_t from = number_text(work, low), to = number_text(work, high);
	differ(work, field, number_text(work, said),
	       arena_printf(work->report->arena, STR_FMT " to " STR_FMT, STR_ARG(from), STR_ARG(to)));
}

void recompute_leave(struct recompute *work, enum recompute_gap gap)
{
	work->report->gaps[gap] = true;
}

/* ---- the record ---- */

static bool is_of_release(str_t version, const char *release)
{
	size_t len = strlen(release);
	return version.len >= len && memcmp(version.ptr, release, len) == 0 &&
	       (version.len == len || version.ptr[len] == '+');
}

/* Factors of a later version are none of ours. */
static bool knows_factors(const struct record_rules *rules)
{
	for (size_t i = 0; i < rules->factors_count; i++)
		if (rules->factors[i] < 0 || rules->factors[i] >= RECORD_FACTOR_OTHER)
			return false;
	return rules->factors_count <= FACTOR_COUNT_;
}

/* A digest, or several with spaces between. */
static bool has_all(const struct recompute_archive *archive, str_t digests)
{
	bool all = true;
	for (const char *at = digests.ptr; at && *at; at += strspn(at, " ")) {
		str_t digest = { at, strcspn(at, " ") };
		at += digest.len;
		all &= archive->has(archive->context, digest);
	}
	return all;
}

/* Whether what the record names can still be looked up. */
static void look_into_archive(struct recompute *work)
{
	const struct recompute_archive *archive = work->archive;
	const struct record_provenance *provenance = &work->scored->provenance;
	if (!archive)
		return;
	if (!has_all(archive, provenance->config_digest))
		recompute_leave(work, RECOMPUTE_GAP_CONFIG);
	if (!has_all(archive, provenance->prompt_digest))
		recompute_leave(work, RECOMPUTE_GAP_PROMPTS);
	if (!has_all(archive, provenance->catalog_digest))
		recompute_leave(work, RECOMPUTE_GAP_CATALOG);
}

void recompute_record(const struct scored_query *scored, const struct recompute_archive *archive,
		      const struct recompute_targets *targets, struct recompute_report *report)
{
	struct recompute work = { .scored = scored,
				  .rules = scored->rules,
				  .archive = archive,
				  .targets = targets,
				  .report = report };
	look_into_archive(&work);
	if (!scored->rules) {
		if (str_is(scored->provenance.program_version, record_program_version()))
			recompute_presence(&work, "rules", false, true);
		recompute_leave(&work, RECOMPUTE_GAP_OLD);
		return;
	}
	if (!is_of_release(scored->provenance.program_version, report->release) ||
	    !knows_factors(scored->rules) || scored->rules->formulas > RECORD_FORMULAS) {
		recompute_leave(&work, RECOMPUTE_GAP_OTHER_VERSION);
		return;
	}
	if (!scored->disposition) {
		if (scored->rules->formulas >= RECORD_FORMULAS_CONCLUDED)
			recompute_presence(&work, "disposition", false, true);
		recompute_leave(&work, RECOMPUTE_GAP_OLD);
		return;
	}
	work.input = scored->input;
	work.shown = scored->input && !scored->rules->redacted;
	record_read(scored, &work.read);
	recompute_identity(&work);
	recompute_rules(&work);
	recompute_codes(&work);
	recompute_confidence(&work);
	recompute_judge(&work);
	recompute_features(&work);
	recompute_overall(&work);
	recompute_structure(&work);
	recompute_result(&work);
	recompute_grading(&work);
	recompute_conclusion(&work);
	recompute_analysis(&work);
}
