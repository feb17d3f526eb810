#include "event/features.h"

#include "score/agreement.h"
#include "sql/catalog/content.h"

#include <strings.h>

/* A table as an analysis names it: lower case, its schema only where that is not on the search path. */
static bool is_called(const struct catalog_relation *relation, str_t table)
{
	size_t name = relation->name.len, schema = relation->schema.len;
	if (table.len == name)
		return strncasecmp(table.ptr, relation->name.ptr, name) == 0;
	return table.len == schema + 1 + name && table.ptr[schema] == '.' &&
	       strncasecmp(table.ptr, relation->schema.ptr, schema) == 0 &&
	       strncasecmp(table.ptr + schema + 1, relation->name.ptr, name) == 0;
}

static const struct catalog_relation *find_relation(const struct catalog *catalog, str_t table)
{
	const struct catalog_relation *found = catalog_relation_on_path(catalog, table);
	size_t count;
	const struct catalog_relation *relations = catalog_relations(catalog, &count);
	for (size_t i = 0; i < count && !found; i++)
		if (is_called(&relations[i], table))
			found = &relations[i];
	return found;
}

void features_take_relations(const struct catalog *catalog, const struct sql_analysis *sql,
			     struct arena *arena, struct features_input *input)
{
	size_t left = FEATURES_MAX_COLUMNS;
	if (sql->tables_count == 0)
		return;
	struct features_relation *relations = ARENA_ARRAY(arena, struct features_relation, sql->tables_count);
	for (size_t i = 0; i < sql->tables_count && left > 0; i++) {
		const struct catalog_relation *from = find_relation(catalog, sql->tables[i]);
		if (!from)
			continue;
		size_t count = from->columns_count < left ? from->columns_count : left;
		relations[input->relations_count++] =
			(struct features_relation){ &from->words, from->column_words, count };
		left -= count;
	}
	input->relations = relations;
}

static void take_diagnostics(struct record_facts *facts, struct features_input *input)
{
	const struct sql_analysis *sql = &facts->analysis.sql;
	struct features_diagnostic *diagnostics =
		ARENA_ARRAY(facts->arena, struct features_diagnostic, sql->diagnostics_count + 1);
	for (size_t i = 0; i < sql->diagnostics_count; i++)
		diagnostics[i] =
			(struct features_diagnostic){ sql->diagnostics[i].code, sql->diagnostics[i].sub_code,
						      sql->diagnostics[i].severity == SQL_ERROR };
	input->diagnostics = diagnostics;
	input->diagnostics_count = sql->diagnostics_count;
}

/* Of the texts of meanings that are known to return the same as that one; of its own texts alone where
 * nothing was run. */
static size_t count_with(const struct record_analysis *analysis, size_t first)
{
	size_t texts = 0;
	if (!analysis->agreement_results.set)
		return analysis->meanings[first].texts;
	for (size_t i = first; i < analysis->meanings_count; i++)
		if (analysis->meanings[i].other_result && analysis->meanings[i].same_as == first)
			texts += analysis->meanings[i].texts;
	return texts;
}

/* By results where they are known. Else by form: texts of one form return the same, so that nothing has to be
 * run where all are of one; where the target is away, it is what is known. What fails, or has no form, agrees
 * with nothing. */
static double share_of(const struct record_analysis *analysis)
{
	bool fails = analysis->agreement_error == ERR_ANSWER_FAILED;
	if (analysis->agreement_results.set)
		return analysis->agreement_results.value;
	return analysis->agreement.set && !fails ? analysis->agreement.value : 0;
}

static void take_agreement(const struct record_facts *facts, struct features_input *input)
{
	const struct record_analysis *analysis = &facts->analysis;
	bool executed = analysis->agreement_results.set;
	size_t other = 0, left_out = executed ? analysis->candidates_left_out : 0;
	size_t known = analysis->candidates_count - left_out;
	if (analysis->candidates_count == 0)
		return;
	for (size_t i = 0; i < analysis->meanings_count; i++) {
		size_t texts = count_with(analysis, i);
		other = texts > other ? texts : other;
	}
	input->agreement_form = analysis->agreement;
	input->agreement_executed = executed;
	input->agreement_results = opt_double(share_of(analysis));
	input->agreement_other = (double)other / (double)(known + 1);
	input->agreement_alone = input->agreement_results.value <= agreement_share(0, known);
}

/* Not where a share of the events is chosen for the judges, the doubtful ones first: whether there is a
 * verdict would tell of that choice, and most events would have none. */
static void take_panel(const struct record_facts *facts, struct features_input *input)
{
	if (config_judging(facts->config).sample_rate == 1)
		input->disagreement = facts->judging.scores[JUDGE_RELEVANCE].disagreement;
}

void features_of_event(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct sql_analysis *sql = &analysis->sql;
	const struct config_calibration *settings = &facts->config->calibration;
	if (!settings->configured || settings->model != CONFIG_MODEL_FEATURES ||
	    analysis->dialect >= SQL_MONGODB)
		return;
	struct features_input input = {
		.question = facts->query->question,
		.sql = sql->text,
		.dialect = analysis->dialect,
		.technical = analysis->technical,
		.safe = sql->verdict == SQL_SAFE,
		.generator = analysis->generator,
	};
	if (analysis->has_retrieval) {
		input.retrieval = opt_double(analysis->retrieval.confidence);
		input.retrieval_top = opt_double(analysis->retrieval.top_score);
	}
	take_diagnostics(facts, &input);
	if (analysis->catalog)
		features_take_relations(analysis->catalog, sql, facts->arena, &input);
	take_agreement(facts, &input);
	take_panel(facts, &input);
	analysis->features = ARENA_ARRAY(facts->arena, double, FEATURE_COUNT_);
	features_fill(&input, analysis->features);
}
