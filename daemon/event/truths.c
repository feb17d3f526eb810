#include "event/truths.h"

#include "compare/part.h"

#include <inttypes.h>
#include <math.h>

/* The tolerance of who asks for none: what 0 means to the comparison is its default. */
#define NO_TOLERANCE 1e-300

static void leave_out(struct record_facts *facts, err_t err, const struct err_detail *detail)
{
	facts->analysis.truths_left_out = true;
	record_add_error(facts, stage_name(STAGE_RESULT), err, detail->message);
}

static void add_query(struct record_analysis *analysis, size_t place, str_t text)
{
	analysis->truth_places[analysis->truths_count] = place;
	analysis->truth_texts[analysis->truths_count++] = text;
	analysis->truth_queries_count = analysis->truths_count;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void take_queries(struct record_facts *facts, const struct ground_truth *truth)
{
	struct record_analysis *analysis = &facts->analysis;
	size_t most = smaller(truth->alternatives_count + 1, TRUTHS_MAX);
	analysis->truth_texts = ARENA_ARRAY(facts->arena, str_t, most);
	if (str_present(truth->sql))
		add_query(analysis, 0, truth->sql);
	for (size_t i = 0; i < truth->alternatives_count && analysis->truths_count < TRUTHS_MAX; i++)
		add_query(analysis, i + 1, truth->alternatives[i]);
	analysis->truths = ARENA_ARRAY(facts->arena, struct sql_analysis, analysis->truth_queries_count);
}

/* Whether the table is one; the first row that does not fit is told. */
static bool is_table(struct record_facts *facts, const struct truth_table *table, size_t index)
{
	struct err_detail detail;
	size_t row = 0;
	while (row < table->rows_count && table->rows[row].cells_count == table->columns_count)
		row++;
	if (table->columns_count > 0 && row == table->rows_count)
		return true;
	if (table->columns_count == 0)
		err_fail(&detail, ERR_TRUTH_SHAPE,
			 "ground_truth.results[%zu] has no columns, and is left out; name them", index);
	else
		err_fail(&detail, ERR_TRUTH_SHAPE,
			 "ground_truth.results[%zu].rows[%zu] has %zu cells for %zu columns, and the table "
			 "is left "
			 "out; give every row a cell for each column, null for NULL",
			 index, row, table->rows[row].cells_count, table->columns_count);
	leave_out(facts, ERR_TRUTH_SHAPE, &detail);
	return false;
}

/* Whether the table is within the limits; `cells` are those that are left. */
static bool fits(struct record_facts *facts, const struct truth_table *table, size_t index, size_t *cells)
{
	const struct target_settings *target = facts->analysis.target;
	struct err_detail detail;
	if (target && table->rows_count > (size_t)target->max_rows) {
		err_fail(&detail, ERR_TRUTH_LIMIT,
			 "ground_truth.results[%zu] has %zu rows, which is more than the %" PRId64
			 " that are compared on target \"%s\" (max_rows), and is left out; give the truth as "
			 "SQL",
			 index, table->rows_count, target->max_rows, target->name);
	} else if (table->rows_count > *cells / table->columns_count) {
		err_fail(&detail, ERR_TRUTH_LIMIT,
			 "ground_truth.results[%zu] brings the tables above the %zu cells that are allowed "
			 "for all "
			 "of them, and is left out; give the truth as SQL",
			 index, TRUTH_CELLS_MAX);
	} else {
		*cells -= table->rows_count * table->columns_count;
		return true;
	}
	leave_out(facts, ERR_TRUTH_LIMIT, &detail);
	return false;
}

static struct result_set set_of(const struct truth_table *table, struct arena *arena)
{
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, table->columns_count);
	str_t *cells = ARENA_ARRAY(arena, str_t, table->rows_count * table->columns_count);
	for (size_t i = 0; i < table->columns_count; i++)
		columns[i].name = table->columns[i];
	for (size_t row = 0; row < table->rows_count; row++)
		memcpy(cells + row * table->columns_count, table->rows[row].cells,
		       table->columns_count * sizeof *cells);
	compare_class_texts(columns, table->columns_count, cells, table->rows_count);
	return (struct result_set){ columns, table->columns_count, cells, table->rows_count, false };
}

static void take_tables(struct record_facts *facts, const struct ground_truth *truth)
{
	struct record_analysis *analysis = &facts->analysis;
	size_t left = TRUTHS_MAX - analysis->truths_count, cells = TRUTH_CELLS_MAX;
	analysis->truth_tables =
		ARENA_ARRAY(facts->arena, struct record_table, smaller(truth->results_count, left));
	for (size_t i = 0; i < smaller(truth->results_count, left); i++) {
		const struct truth_table *table = &truth->results[i];
		if (!is_table(facts, table, i) || !fits(facts, table, i, &cells))
			continue;
		analysis->truth_tables[analysis->truths_count - analysis->truth_queries_count] =
			(struct record_table){ set_of(table, facts->arena), table->ordered };
		analysis->truth_places[analysis->truths_count++] = 1 + truth->alternatives_count + i;
	}
}

static void count_truths(struct record_facts *facts, const struct ground_truth *truth)
{
	struct err_detail detail;
	bool sql = str_present(truth->sql);
	if (sql + truth->alternatives_count + truth->results_count <= TRUTHS_MAX)
		return;
	err_fail(&detail, ERR_TRUTH_LIMIT,
		 "ground_truth has %zu truths (sql %d, alternatives %zu, results %zu), which is more than "
		 "the %d "
		 "allowed: only the first ones, in this order, are used; publish fewer",
		 sql + truth->alternatives_count + truth->results_count, sql, truth->alternatives_count,
		 truth->results_count, TRUTHS_MAX);
	leave_out(facts, ERR_TRUTH_LIMIT, &detail);
}

/* What is no tolerance is the configuration's. */
static void take_tolerance(struct record_facts *facts, const struct truth_comparison *compare)
{
	opt_double_t tolerance = compare->absolute_tolerance;
	struct err_detail detail;
	if (!tolerance.set)
		return;
	if (isfinite(tolerance.value) && tolerance.value >= 0) {
		facts->analysis.comparing.absolute_tolerance = fmax(tolerance.value, NO_TOLERANCE);
		return;
	}
	err_fail(&detail, ERR_INPUT_RANGE,
		 "ground_truth.compare.absolute_tolerance is %g, which is no tolerance, and is left out; "
		 "publish a "
		 "number of at least 0 there",
		 tolerance.value);
	record_add_error(facts, stage_name(STAGE_RESULT), ERR_INPUT_RANGE, detail.message);
}

void truths_take(struct record_facts *facts)
{
	const struct ground_truth *truth = facts->query->ground_truth;
	struct record_analysis *analysis = &facts->analysis;
	if (!truth)
		return;
	count_truths(facts, truth);
	analysis->truth_places =
		ARENA_ARRAY(facts->arena, size_t,
			    smaller(1 + truth->alternatives_count + truth->results_count, TRUTHS_MAX));
	take_queries(facts, truth);
	take_tables(facts, truth);
	analysis->comparing.sample_rows = (size_t)facts->config->records.sample_rows;
	if (!truth->compare)
		return;
	analysis->comparing.columns = truth->compare->columns;
	analysis->comparing.columns_count = truth->compare->columns_count;
	analysis->comparing.ignore_order =
		truth->compare->ignore_order.set && truth->compare->ignore_order.value;
	take_tolerance(facts, truth->compare);
}

/* Truths come with the event like the query does: nothing of it runs that is not proven to be a read. */
static bool may_run(struct record_facts *facts, size_t truth)
{
	const struct sql_analysis *sql = &facts->analysis.truths[truth];
	struct err_detail detail;
	if (sql->verdict == SQL_SAFE)
		return true;
	const char *why = sql->violations_count ? sql->violations[0].code : sql->doubt.ptr;
	err_fail(&detail, ERR_GROUND_TRUTH_FAILED,
		 "%s is not run, for it is not proven to be one statement that reads: %s; fix the ground "
		 "truth",
		 record_truth_name(facts, truth).ptr, why ? why : "its safety is not known");
	leave_out(facts, ERR_GROUND_TRUTH_FAILED, &detail);
	return false;
}

void truths_choose(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	analysis->truths_asked = ARENA_ARRAY(facts->arena, size_t, analysis->truths_count);
	for (size_t i = 0; i < analysis->truths_count; i++)
		if (i >= analysis->truth_queries_count || may_run(facts, i))
			analysis->truths_asked[analysis->truths_asked_count++] = i;
}
