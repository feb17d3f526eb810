#include "calibration/report/print_ranking.h"

#include "calibration/report/print_text.h"

#include <math.h>

/* ---- for a person ---- */

static const char *row_name(const struct ranking *ranking)
{
	if (ranking->score == RANKING_PROBABILITY)
		return "probability, cases";
	if (ranking->with_probability)
		return "confidence, same";
	return ranking->by_tenths ? "confidence, tenths" : "confidence, cases";
}

/* From here on a score tells right from wrong to some purpose. */
#define AUROC_USEFUL 0.6

/* What chance alone may have made; with few cases it may have made what is useful, too. */
static const char *doubt_about(const struct ranking *ranking)
{
	const struct discrimination *found = &ranking->discrimination;
	if (!ranking->both_kinds)
		return "  all of one kind";
	if (found->high < 0.5)
		return "  worse than chance";
	if (found->low > 0.5)
		return "";
	return found->high < AUROC_USEFUL ? "  no better than chance" : "  too few to tell from chance";
}

static void print_figures(FILE *stream, const struct print_ranking_row *row)
{
	const struct ranking *ranking = row->ranking;
	const struct discrimination *found = &ranking->discrimination;
	const struct binned_error *error = &ranking->error;
	fprintf(stream, "  %-19s %7lld", row->name, (long long)ranking->cases);
	if (ranking->both_kinds)
		fprintf(stream, "  %.3f  %.3f to %.3f", found->auroc, found->low, found->high);
	else
		fputs("      -               -", stream);
	fprintf(stream, "  %.3f  %.4f    %.4f  %.3f to %.3f%s\n", ranking->risk_area, error->expected,
		error->debiased, error->low, error->high, doubt_about(ranking));
}

static void print_accuracies(FILE *stream, const struct print_ranking_row *row)
{
	fprintf(stream, "  %-27s", row->name);
	for (int i = 0; i < RANKING_COVERAGES; i++)
		fprintf(stream, "  %.3f", row->ranking->accuracies[i]);
	fputc('\n', stream);
}

/* "≥ 0.83: 14 % of the cases (712, of them 0.931 right, 0.902 by the lower end of the interval)" */
static void print_point(FILE *stream, const struct risk_point *point)
{
	fprintf(stream,
		"≥ %.2f: %.3g %% of the cases (%zu, of them %.3f right, %.3f by the lower end of the "
		"interval)\n",
		point->threshold, 100 * point->coverage, point->cases, 1 - point->risk, point->low);
}

void print_ranking_threshold(FILE *stream, const struct ranking *ranking, const char *name)
{
	const struct ranking_threshold *threshold = &ranking->threshold;
	int64_t least = ranking_least_cases(threshold->wish);
	fprintf(stream, "  %.4g %% right ", 100 * threshold->wish);
	if (threshold->found) {
		fprintf(stream, "needs %s ", name);
		print_point(stream, &threshold->point);
	} else if (ranking->cases < least) {
		fprintf(stream, "cannot be shown for %s: it takes %lld cases, all of them right\n", name,
			(long long)least);
	} else if (threshold->point.cases && 1 - threshold->point.risk >= threshold->wish) {
		fprintf(stream, "may be, but so few cases cannot show it for %s; the nearest is ", name);
		print_point(stream, &threshold->point);
	} else {
		fprintf(stream, "is at no threshold of %s with %d cases or more; the nearest is ", name,
			RANKING_THRESHOLD_CASES);
		print_point(stream, &threshold->point);
	}
}

static const struct ranking *find(const struct calibration_entry *entry, enum ranking_score score,
				  bool by_tenths)
{
	for (size_t i = 0; i < entry->rankings_count; i++)
		if (entry->rankings[i].score == score && entry->rankings[i].by_tenths == by_tenths &&
		    !entry->rankings[i].with_probability)
			return &entry->rankings[i];
	return NULL;
}

/* Of single cases where there are any: these know more thresholds. */
static void print_thresholds(FILE *stream, const struct calibration_entry *entry)
{
	const struct ranking *overall = find(entry, RANKING_OVERALL, false);
	const struct ranking *probability = find(entry, RANKING_PROBABILITY, false);
	print_ranking_threshold(stream, overall ? overall : find(entry, RANKING_OVERALL, true),
				ranking_score_name(RANKING_OVERALL));
	if (probability)
		print_ranking_threshold(stream, probability, ranking_score_name(RANKING_PROBABILITY));
	fputs("  (a suggestion: levels go by confidence.thresholds, which nothing here changes)\n", stream);
}

static void print_origin(FILE *stream, const struct calibration_entry *entry)
{
	const struct ranking *overall = find(entry, RANKING_OVERALL, false);
	const struct ranking *probability = find(entry, RANKING_PROBABILITY, false);
	const struct ranking *any = overall ? overall : probability;
	fputs("  tenths: all counted cases, those of a tenth as ties, each counted half\n", stream);
	if (str_present(entry->fault)) {
		fputs("  cases: those that are kept singly cannot be read: ", stream);
		print_name(stream, entry->fault);
		fputc('\n', stream);
	}
	if (!any)
		return;
	fprintf(stream, "  cases: %lld that are kept singly, scored since ", (long long)any->cases);
	print_time(stream, any->since_ms);
	fprintf(stream, ", in %d bins of equal mass at most\n", RANKING_BINS);
	for (size_t i = 0; i < entry->rankings_count; i++)
		if (entry->rankings[i].with_probability)
			fprintf(stream,
				"  same: the %lld of them that have a probability, too; compare the "
				"probability with these\n",
				(long long)entry->rankings[i].cases);
}

void print_ranking_rows(FILE *stream, const struct print_ranking_row *rows, size_t count)
{
	fputs("\n  right from wrong      cases  AUROC    95 % interval   AURC     ECE  debiased    95 % "
	      "interval\n",
	      stream);
	for (size_t i = 0; i < count; i++)
		print_figures(stream, &rows[i]);
	fputs("\n  right among the highest    ", stream);
	for (int i = 0; i < RANKING_COVERAGES; i++)
		fprintf(stream, "  %3.0f %%", 100 * ranking_coverage(i));
	fputc('\n', stream);
	for (size_t i = 0; i < count; i++)
		print_accuracies(stream, &rows[i]);
	fputc('\n', stream);
}

/* What the probability claims and what was right, in bins of equal mass. */
static void print_claims(FILE *stream, const struct ranking *ranking)
{
	fputs("  probability         cases   mean  right  95 % interval\n", stream);
	for (size_t i = ranking->bins_count; i > 0; i--) {
		const struct binned_part *bin = &ranking->bins[i - 1];
		fprintf(stream, "  %.3f to %.3f  %8zu  %.3f  %.3f  %.3f to %.3f\n", bin->first, bin->last,
			bin->cases, bin->confidence, bin->accuracy, bin->low, bin->high);
	}
	fputc('\n', stream);
}

void print_ranking_text(FILE *stream, const struct calibration_entry *entry)
{
	struct print_ranking_row rows[CALIBRATION_RANKINGS];
	if (entry->rankings_count == 0)
		return;
	for (size_t i = 0; i < entry->rankings_count; i++)
		rows[i] = (struct print_ranking_row){ row_name(&entry->rankings[i]), &entry->rankings[i] };
	print_ranking_rows(stream, rows, entry->rankings_count);
	const struct ranking *probability = find(entry, RANKING_PROBABILITY, false);
	if (probability)
		print_claims(stream, probability);
	print_thresholds(stream, entry);
	print_origin(stream, entry);
}

/* ---- JSON ---- */

static json_t *number_if(bool there, double value)
{
	return there ? json_real(value) : json_null();
}

static json_t *json_bins(const struct ranking *ranking)
{
	json_t *bins = json_array();
	for (size_t i = 0; i < ranking->bins_count; i++) {
		const struct binned_part *bin = &ranking->bins[i];
		json_array_append_new(bins, json_pack("{s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "from",
						      bin->first, "to", bin->last, "cases",
						      (json_int_t)bin->cases, "weight", bin->weight,
						      "confidence", bin->confidence, "accuracy",
						      bin->accuracy, "low", bin->low, "high", bin->high));
	}
	return bins;
}

static json_t *json_accuracies(const struct ranking *ranking)
{
	json_t *list = json_array();
	for (int i = 0; i < RANKING_COVERAGES; i++)
		json_array_append_new(list, json_pack("{s:f, s:f}", "share", ranking_coverage(i), "accuracy",
						      ranking->accuracies[i]));
	return list;
}

static json_t *json_threshold(const struct ranking_threshold *threshold)
{
	const struct risk_point *point = &threshold->point;
	bool there = point->cases > 0;
	return json_pack("{s:f, s:b, s:I, s:o, s:I, s:o, s:o, s:o}", "wish", threshold->wish, "found",
			 (int)threshold->found, "least_cases",
			 (json_int_t)ranking_least_cases(threshold->wish), "threshold",
			 number_if(there, point->threshold), "cases", (json_int_t)point->cases, "share",
			 number_if(there, point->coverage), "accuracy", number_if(there, 1 - point->risk),
			 "low", number_if(there, point->low));
}

json_t *print_ranking_object(const struct ranking *ranking)
{
	const struct discrimination *found = &ranking->discrimination;
	const struct binned_error *error = &ranking->error;
	bool both = ranking->both_kinds;
	return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o}",
			 "score", ranking->score == RANKING_OVERALL ? "overall" : "probability",
			 "computed_from",
			 ranking->by_tenths	     ? "tenths"
			 : ranking->with_probability ? "cases_with_probability"
						     : "cases",
			 "cases", (json_int_t)ranking->cases, "since_ms",
			 ranking->by_tenths ? json_null() : json_integer((json_int_t)ranking->since_ms),
			 "auroc", number_if(both, found->auroc), "auroc_low", number_if(both, found->low),
			 "auroc_high", number_if(both, found->high), "aurc", ranking->risk_area, "ece",
			 error->expected, "ece_debiased", error->debiased, "ece_low", error->low, "ece_high",
			 error->high, "coverage", json_accuracies(ranking), "threshold",
			 json_threshold(&ranking->threshold), "bins", json_bins(ranking));
}

json_t *print_ranking_json(const struct calibration_entry *entry)
{
	json_t *list = json_array();
	for (size_t i = 0; i < entry->rankings_count; i++)
		json_array_append_new(list, print_ranking_object(&entry->rankings[i]));
	return list;
}
