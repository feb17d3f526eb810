/*
 * Whether the features tell right answers from wrong ones on databases that no label is of: a logistic
 * regression learns from five databases of the corpus `bird` and predicts the sixth, each in turn. Prints the
 * AUROC by database. Skipped where the corpus is not there (ASSAYD_CORPORA, or ../shared/corpora).
 *
 * ASSAYD_FEATURES_TABLE names a file for the values: database, question, label and the features, separated by
 * tabs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "calibration/statistics/discrimination.h"
#include "calibration/statistics/logistic.h"
#include "tests/harness/fixtures/labelled.h"

enum { DATABASES_MAX = 32 };

struct cases {
	struct arena *arena;
	struct labelled *items;
	size_t count;
	double *values; /* count × FEATURE_COUNT_ */
	str_t databases[DATABASES_MAX];
	size_t databases_count;
};

static struct cases cases;

static void write_table(void)
{
	const char *path = getenv("ASSAYD_FEATURES_TABLE");
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "database\tquestion\tright");
	for (int j = 0; j < FEATURE_COUNT_; j++)
		fprintf(file, "\t%s", FEATURE_INFO[j].name);
	for (size_t i = 0; i < cases.count; i++) {
		fprintf(file, "\n%s\t%zu\t%d", cases.items[i].database.ptr, cases.items[i].question_number,
			cases.items[i].right);
		for (int j = 0; j < FEATURE_COUNT_; j++)
			fprintf(file, "\t%.9g", cases.values[i * FEATURE_COUNT_ + (size_t)j]);
	}
	fclose(file);
}

static int read_cases(void **state)
{
	(void)state;
	cases.arena = arena_new();
	cases.items = labelled_read(cases.arena, &cases.count);
	if (!cases.items)
		return 0;
	cases.values = ARENA_ARRAY(cases.arena, double, cases.count *FEATURE_COUNT_);
	for (size_t i = 0; i < cases.count; i++) {
		features_fill(&cases.items[i].input, cases.values + i * FEATURE_COUNT_);
		size_t j = 0;
		while (j < cases.databases_count && !str_equal(cases.databases[j], cases.items[i].database))
			j++;
		if (j == cases.databases_count)
			cases.databases[cases.databases_count++] = cases.items[i].database;
	}
	write_table();
	return 0;
}

static int free_cases(void **state)
{
	(void)state;
	arena_free(cases.arena);
	return 0;
}

struct columns {
	enum feature features[FEATURE_COUNT_];
	double mean[FEATURE_COUNT_], scale[FEATURE_COUNT_];
	size_t count;
};

/* Standardised by the cases that are learnt from, times the feature's scale. */
static void row_of(const struct columns *columns, size_t index, double *ret_row)
{
	for (size_t j = 0; j < columns->count; j++) {
		double value = cases.values[index * FEATURE_COUNT_ + columns->features[j]] - columns->mean[j];
		double limit = 4 * FEATURE_INFO[columns->features[j]].scale;
		ret_row[j] = fmax(fmin(value * columns->scale[j], limit), -limit);
	}
}

static void choose_columns(str_t left_out, bool with_agreement, struct columns *ret_columns)
{
	ret_columns->count = 0;
	for (int j = 0; j < FEATURE_COUNT_; j++) {
		double sum = 0, squares = 0, n = 0;
		if (FEATURE_INFO[j].group == FEATURES_AGREEMENT && !with_agreement)
			continue;
		for (size_t i = 0; i < cases.count; i++) {
			double value = cases.values[i * FEATURE_COUNT_ + (size_t)j];
			if (str_equal(cases.items[i].database, left_out))
				continue;
			sum += value;
			squares += value * value;
			n++;
		}
		double deviation = sqrt(fmax(squares / n - sum / n * (sum / n), 0));
		if (deviation < 1e-9)
			continue;
		ret_columns->features[ret_columns->count] = (enum feature)j;
		ret_columns->mean[ret_columns->count] = sum / n;
		ret_columns->scale[ret_columns->count++] = FEATURE_INFO[j].scale / deviation;
	}
}

static double auroc_of(str_t left_out, bool with_agreement)
{
	struct columns columns;
	choose_columns(left_out, with_agreement, &columns);
	struct arena *arena = arena_new();
	double *rows = ARENA_ARRAY(arena, double, cases.count *columns.count);
	bool *labels = ARENA_ARRAY(arena, bool, cases.count);
	double penalties[FEATURE_COUNT_ + 1] = { 0 };
	size_t learnt = 0, asked = 0;
	for (size_t i = 0; i < cases.count; i++) {
		if (str_equal(cases.items[i].database, left_out))
			continue;
		row_of(&columns, i, rows + learnt * columns.count);
		labels[learnt++] = cases.items[i].right;
	}
	for (size_t j = 0; j < columns.count; j++)
		penalties[j + 1] = 300;
	const struct logistic_problem problem = { .features = rows,
						  .labels = labels,
						  .rows = learnt,
						  .columns = columns.count,
						  .penalties = penalties };
	struct logistic_model model;
	struct err_detail detail = { "" };
	if (logistic_fit(&problem, arena, &model, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	struct outcome *outcomes = ARENA_ARRAY(arena, struct outcome, cases.count);
	for (size_t i = 0; i < cases.count; i++) {
		double row[FEATURE_COUNT_];
		if (!str_equal(cases.items[i].database, left_out))
			continue;
		row_of(&columns, i, row);
		outcomes[asked++] =
			(struct outcome){ logistic_log_odds(&model, row, NULL), 1, cases.items[i].right };
	}
	struct discrimination discrimination;
	assert_int_equal(discrimination_of(outcomes, asked, &discrimination, &detail), ERR_OK);
	arena_free(arena);
	return discrimination.auroc;
}

static double mean_auroc(bool with_agreement)
{
	double sum = 0;
	for (size_t i = 0; i < cases.databases_count; i++) {
		double auroc = auroc_of(cases.databases[i], with_agreement);
		print_message("%-26s AUROC %.3f%s\n", cases.databases[i].ptr, auroc,
			      with_agreement ? " with candidates" : "");
		sum += auroc;
	}
	double mean = sum / (double)cases.databases_count;
	print_message("mean %.4f\n", mean);
	return mean;
}

static void test_predicts_other_databases(void **state)
{
	(void)state;
	if (!cases.items) {
		print_message("skipped: no corpus bird in %s\n", labelled_folder());
		skip();
	}
	assert_true(mean_auroc(false) >= 0.72);
}

static void test_predicts_with_candidates(void **state)
{
	(void)state;
	if (!cases.items) {
		print_message("skipped: no corpus bird in %s\n", labelled_folder());
		skip();
	}
	assert_true(mean_auroc(true) >= 0.85);
}

/* Whatever the texts, numbers are finite and within bounds. */
static void test_values_are_bounded(void **state)
{
	(void)state;
	if (!cases.items)
		skip();
	for (size_t i = 0; i < cases.count * FEATURE_COUNT_; i++)
		assert_true(isfinite(cases.values[i]) && fabs(cases.values[i]) <= FEATURES_BOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predicts_other_databases),
		cmocka_unit_test(test_predicts_with_candidates),
		cmocka_unit_test(test_values_are_bounded),
	};
	return cmocka_run_group_tests(tests, read_cases, free_cases);
}
