#include "event/record/builder.h"

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
static size_t truth_query(const struct record_builder *builder)
{
	return builder->truth_index < builder->facts->analysis.truth_queries_count ? builder->truth_index : 0;
}

/* A metric that the truth cannot be read for: 0, flagged. */
static opt_double_t fail_by_truth(struct record_builder *builder, const char *metric,
				  const struct sql_analysis *truth)
{
	struct record_facts *facts = builder->facts;
	str_t where = record_truth_name(facts, truth_query(builder));
	str_t why = truth->diagnostics_count ? truth->diagnostics[0].message : STR("it is no statement");
	str_t message = truth->valid
				? arena_printf(facts->arena, STR_FMT " has no form that can be compared",
					       STR_ARG(where))
				: arena_printf(facts->arena,
					       STR_FMT " cannot be parsed: " STR_FMT "; fix the ground truth",
					       STR_ARG(where), STR_ARG(why));
	record_add_truth_error(facts, truth_query(builder), metric, ERR_SQL_UNPARSABLE, message.ptr);
	return opt_double(0);
}

static str_t *copy_tables(const struct record_builder *builder, const str_t *tables, size_t count)
{
	str_t *copy = ARENA_ARRAY(builder->facts->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		copy[i] = tables[i];
	return copy;
}

/* The expected tables go into `ret_record`. */
static opt_double_t accuracy_of_tables(struct record_builder *builder, const struct sql_analysis *truth,
				       struct record_structure_truth *ret_record)
{
	struct record_facts *facts = builder->facts;
	const struct sql_analysis *sql = &facts->analysis.sql;
	const struct ground_truth *expected = facts->query->ground_truth;
	const str_t *tables = truth ? truth->tables : NULL;
	size_t count = truth ? truth->tables_count : 0;
	if (expected && expected->tables_set) {
		tables = expected->tables;
		count = expected->tables_count;
	} else if (!truth) {
		return (opt_double_t)OPT_NONE;
	} else if (!truth->tables_known) {
		return fail_by_truth(builder, "table_accuracy", truth);
	}
	ret_record->tables = copy_tables(builder, tables, count);
	ret_record->tables_count = count;
	if (!sql->tables_known) {
		record_add_error(facts, "table_accuracy", ERR_SQL_UNPARSABLE,
				 "the generated SQL cannot be parsed");
		return opt_double(0);
	}
	/* names on the search path come without their schema already; `public` is on it unless somebody took
	 * it off */
	static const str_t search_path[] = { { "public", 6 } };
	return opt_double(semantic_table_accuracy(sql->tables, sql->tables_count, tables, count, search_path,
						  1, facts->arena));
}

/* What the score follows from. */
static void fill_comparison(const struct record_builder *builder,
			    const struct semantic_comparison *comparison,
			    struct record_structure_truth *record)
{
	const double *clauses = comparison->clauses;
	if (!comparison->comparable)
		return;
	record->same_form = (opt_bool_t){ true, comparison->same_form };
	if (comparison->same_form)
		return;
	record->clauses = ARENA_NEW(builder->facts->arena, struct record_clauses);
	*record->clauses = (struct record_clauses){
		.select = clauses[SEMANTIC_SELECT],
		.where = clauses[SEMANTIC_WHERE],
		.from = clauses[SEMANTIC_FROM],
		.group = clauses[SEMANTIC_GROUP],
		.order = clauses[SEMANTIC_ORDER],
		.join = clauses[SEMANTIC_JOIN],
	};
}

/* What grades and the disposition follow from is not lost with the technical confidence. */
static struct record_findings *findings_of(const struct record_builder *builder)
{
	const struct record_analysis *analysis = &builder->facts->analysis;
	if (builder->scored->confidence.technical)
		return NULL;
	struct record_findings *findings = ARENA_NEW(builder->facts->arena, struct record_findings);
	findings->valid = analysis->sql.valid;
	findings->diagnostics = record_diagnostics(builder);
	findings->diagnostics_count = analysis->sql.diagnostics_count;
	return findings;
}

void record_build_structure(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	struct record_structure *structure = &builder->scored->structure;
	const struct sql_analysis *truth =
		analysis->truth_queries_count > 0 ? &analysis->truths[truth_query(builder)] : NULL;
	const struct ground_truth *expectation = facts->query->ground_truth;
	struct record_structure_truth *record = ARENA_NEW(facts->arena, struct record_structure_truth);
	structure->structural = analysis->structural;
	structure->tables_count = analysis->sql.tables_count;
	structure->tables = copy_tables(builder, analysis->sql.tables, analysis->sql.tables_count);
	structure->findings = findings_of(builder);
	if (truth || (expectation && expectation->tables_set))
		structure->truth = record;
	structure->table_accuracy = accuracy_of_tables(builder, truth, record);
	if (!truth)
		return;
	struct semantic_comparison comparison;
	const struct semantic_query generated = semantic_query(&analysis->sql),
				    expected = semantic_query(truth);
	structure->semantic = semantic_score(&generated, &expected, facts->arena, &comparison);
	fill_comparison(builder, &comparison, record);
	if (!structure->semantic.set)
		structure->semantic = fail_by_truth(builder, "semantic", truth);
}
