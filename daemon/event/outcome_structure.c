#include "event/outcome.h"

#include "event/truths.h"
#include "score/semantic.h"

static struct semantic_query semantic_query(const struct sql_analysis *sql)
{
	struct semantic_query query = { .canonical = sql->canonical };
	for (unsigned i = 0; i < SEMANTIC_CLAUSE_COUNT_; i++)
		query.clauses[i] = (struct semantic_items){ sql->clauses[i].items, sql->clauses[i].count };
	return query;
}

_Static_assert((int)SEMANTIC_CLAUSE_COUNT_ == (int)SQL_CLAUSE_COUNT_ &&
		       (int)SEMANTIC_JOIN == (int)SQL_CLAUSE_JOIN &&
		       (int)SEMANTIC_WHERE == (int)SQL_CLAUSE_WHERE,
	       "the clauses of analysis and score are the same");

/* The truth that texts are compared with: what results have found best, or the first where that is a table.
 */
static size_t truth_query(const struct outcome *outcome)
{
	return outcome->truth_index < outcome->event->analysis.truth_queries_count ? outcome->truth_index : 0;
}

/* A metric that the truth cannot be read for: 0, flagged. */
static opt_double_t fail_by_truth(struct outcome *outcome, const char *metric,
				  const struct sql_analysis *truth)
{
	struct event *event = outcome->event;
	str_t where = event_truth_name(event, truth_query(outcome));
	str_t why = truth->diagnostics_count ? truth->diagnostics[0].message : STR("it is no statement");
	str_t message = truth->valid
				? arena_printf(event->arena, STR_FMT " has no form that can be compared",
					       STR_ARG(where))
				: arena_printf(event->arena,
					       STR_FMT " cannot be parsed: " STR_FMT "; fix the ground truth",
					       STR_ARG(where), STR_ARG(why));
	event_add_error(event, metric, ERR_SQL_UNPARSABLE, message.ptr);
	return opt_double(0);
}

static opt_double_t accuracy_of_tables(struct outcome *outcome, const struct sql_analysis *truth)
{
	struct event *event = outcome->event;
	const struct sql_analysis *sql = &event->analysis.sql;
	const struct ground_truth *expected = event->query->ground_truth;
	const str_t *tables = truth ? truth->tables : NULL;
	size_t count = truth ? truth->tables_count : 0;
	if (expected && expected->tables_set) {
		tables = expected->tables;
		count = expected->tables_count;
	} else if (!truth) {
		return (opt_double_t)OPT_NONE;
	} else if (!truth->tables_known) {
		return fail_by_truth(outcome, "table_accuracy", truth);
	}
	if (!sql->tables_known) {
		event_add_error(event, "table_accuracy", ERR_SQL_UNPARSABLE,
				"the generated SQL cannot be parsed");
		return opt_double(0);
	}
	/* names on the search path come without their schema already; `public` is on it unless somebody took
	 * it off */
	static const str_t search_path[] = { { "public", 6 } };
	return opt_double(
		table_accuracy(sql->tables, sql->tables_count, tables, count, search_path, 1, event->arena));
}

void outcome_structure(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	struct record_structure *structure = &outcome->scored->structure;
	const struct sql_analysis *truth =
		analysis->truth_queries_count > 0 ? &analysis->truths[truth_query(outcome)] : NULL;
	structure->structural = analysis->structural;
	structure->tables_count = analysis->sql.tables_count;
	structure->tables = ARENA_ARRAY(event->arena, str_t, analysis->sql.tables_count);
	for (size_t i = 0; i < structure->tables_count; i++)
		structure->tables[i] = analysis->sql.tables[i];
	structure->table_accuracy = accuracy_of_tables(outcome, truth);
	if (!truth)
		return;
	const struct semantic_query generated = semantic_query(&analysis->sql),
				    expected = semantic_query(truth);
	structure->semantic = semantic_score(&generated, &expected, event->arena);
	outcome->semantic = (struct evaluation_value){ METRIC_COMPUTED, structure->semantic.value };
	if (structure->semantic.set)
		return;
	structure->semantic = fail_by_truth(outcome, "semantic", truth);
	outcome->semantic.state = METRIC_FAILED;
}
