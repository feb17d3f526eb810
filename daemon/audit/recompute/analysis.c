/* The SQL itself, analysed again: diagnostics, safety, tables, canonical forms. */
#include "audit/recompute/internal.h"
#include "score/agreement.h"
#include "score/semantic.h"
#include "sql/dialects.h"

/* By what the SQL was analysed. */
struct again {
	struct sql_request request; /* but for its SQL */
	struct sql_analysis sql;
};

static const char *const verdicts[] = { "SAFE", "UNSAFE", "UNKNOWN" };

/* What the analysis was asked with; false: that cannot be had. */
static bool ask_again(struct recompute *work, struct sql_request *ret_request)
{
	const struct record_provenance *provenance = &work->scored->provenance;
	const struct recompute_targets *targets = work->targets;
	const struct recompute_target *target = NULL;
	if (!work->shown) {
		recompute_leave(work, RECOMPUTE_GAP_ANALYSIS);
		return false;
	}
	*ret_request = (struct sql_request){ .target_named = work->read.has_target };
	if (work->read.has_target && !work->read.target_unknown) {
		bool same = str_is(provenance->config_digest, targets->config_digest);
		target = same ? targets->find(targets->context, work->scored->target) : NULL;
		if (!target) {
			recompute_leave(work, RECOMPUTE_GAP_ANALYSIS_SETTINGS);
			return false;
		}
	}
	if (work->read.has_catalog && work->archive)
		ret_request->catalog =
			work->archive->find_catalog(work->archive->context, provenance->catalog_digest);
	if (work->read.has_catalog && !ret_request->catalog) {
		recompute_leave(work, RECOMPUTE_GAP_ANALYSIS_CATALOG);
		return false;
	}
	if (target) {
		ret_request->policy = &target->policy;
		ret_request->dialect = target->dialect;
	} else {
		ret_request->dialect = work->input->dialect == ENUM_ABSENT
					       ? SQL_POSTGRESQL
					       : (enum sql_dialect)work->input->dialect;
	}
	return true;
}

static void analyse(const struct recompute *work, const struct again *again, str_t sql,
		    struct sql_analysis *ret_analysis)
{
	struct sql_request request = again->request;
	request.sql = sql;
	sql_analyse(&request, work->report->arena, ret_analysis);
}

/* ---- the answer ---- */

static void check_diagnostics(struct recompute *work, const struct sql_analysis *follows)
{
	static const char field[] = "confidence.technical.diagnostics";
	static const char *const severities[] = { "WARNING", "ERROR" };
	recompute_flag(work, "confidence.technical.valid", work->read.valid, follows->valid);
	recompute_integer(work, field, (int64_t)work->read.diagnostics_count,
			  (int64_t)follows->diagnostics_count);
	for (size_t i = 0; i < work->read.diagnostics_count && i < follows->diagnostics_count; i++) {
		const struct record_diagnostic *said = &work->read.diagnostics[i];
		recompute_text(work, field, said->code, str_from(follows->diagnostics[i].code));
		recompute_text(work, field, said->sub_code, str_from(follows->diagnostics[i].sub_code));
		recompute_symbol(work, field, said->severity, (int)follows->diagnostics[i].severity,
				 severities, 2);
		recompute_integer(work, field, said->offset, follows->diagnostics[i].offset);
	}
}

static void check_safety(struct recompute *work, const struct sql_analysis *follows)
{
	const struct record_safety *said = &work->scored->safety;
	recompute_symbol(work, "safety.verdict", said->verdict, (int)follows->verdict, verdicts, 3);
	recompute_integer(work, "safety.violations", (int64_t)said->violations_count,
			  (int64_t)follows->violations_count);
	for (size_t i = 0; i < said->violations_count && i < follows->violations_count; i++) {
		recompute_text(work, "safety.violations", said->violations[i].code,
			       str_from(follows->violations[i].code));
		recompute_integer(work, "safety.violations", said->violations[i].offset,
				  follows->violations[i].offset);
	}
}

static void check_tables(struct recompute *work, const char *field, const str_t *said, size_t said_count,
			 const str_t *follows, size_t follows_count)
{
	recompute_integer(work, field, (int64_t)said_count, (int64_t)follows_count);
	for (size_t i = 0; i < said_count && i < follows_count; i++)
		recompute_text(work, field, said[i], follows[i]);
}

/* ---- the truth ---- */

/* The text that meaning and tables were compared with: what results have found best, or the first. */
static str_t truth_text(const struct recompute *work)
{
	const struct ground_truth *truth = work->input->ground_truth;
	const struct record_result_validation *validation = work->scored->result_validation;
	int64_t place = validation ? validation->truth_index : 0;
	if (place > 0 && (uint64_t)place <= truth->alternatives_count)
		return truth->alternatives[place - 1];
	return str_present(truth->sql) ? truth->sql : truth->alternatives[0];
}

static struct semantic_query semantic_query(const struct sql_analysis *sql)
{
	struct semantic_query query = { .canonical = sql->canonical };
	for (unsigned i = 0; i < SEMANTIC_CLAUSE_COUNT_; i++)
		query.clauses[i] = (struct semantic_items){ sql->clauses[i].items, sql->clauses[i].count };
	return query;
}

static void check_clauses(struct recompute *work, const struct record_clauses *said, const double *follows)
{
#define CLAUSE(name, clause)                                                                                 \
	recompute_number(work, "structure.truth.clauses." #name, said->name, follows[clause])
	CLAUSE(select, SEMANTIC_SELECT);
	CLAUSE(where, SEMANTIC_WHERE);
	CLAUSE(from, SEMANTIC_FROM);
	CLAUSE(group, SEMANTIC_GROUP);
	CLAUSE(order, SEMANTIC_ORDER);
	CLAUSE(join, SEMANTIC_JOIN);
#undef CLAUSE
}

static void check_truth(struct recompute *work, const struct again *again)
{
	const struct record_structure_truth *said = work->scored->structure.truth;
	struct semantic_comparison comparison;
	struct sql_analysis truth;
	if (!said || !recompute_has_truth_query(work->input))
		return;
	analyse(work, again, truth_text(work), &truth);
	const struct semantic_query generated = semantic_query(&again->sql),
				    expected = semantic_query(&truth);
	semantic_score(&generated, &expected, work->report->arena, &comparison);
	recompute_flag(work, "structure.truth.same_form", said->same_form.set, comparison.comparable);
	if (said->same_form.set && comparison.comparable)
		recompute_flag(work, "structure.truth.same_form", said->same_form.value,
			       comparison.same_form);
	if (said->clauses && comparison.comparable && !comparison.same_form)
		check_clauses(work, said->clauses, comparison.clauses);
	if (!work->input->ground_truth->tables_set && truth.tables_known)
		check_tables(work, "structure.truth.tables", said->tables, said->tables_count, truth.tables,
			     truth.tables_count);
}

/* ---- candidates ---- */

static size_t commonest(const str_t *forms, size_t count)
{
	size_t largest = 0;
	for (size_t i = 0; i < count; i++) {
		size_t equal = 0;
		for (size_t j = i; j < count; j++)
			equal += str_equal(forms[i], forms[j]);
		largest = equal > largest ? equal : largest;
	}
	return largest;
}

/* Sets how many of them have the commonest form but the answer's. */
static void check_agreement(struct recompute *work, const struct again *again, size_t *ret_largest)
{
	const struct record_agreement *said = work->scored->confidence.agreement;
	size_t count = work->input->candidates_count, same = 0, others = 0;
	opt_double_t follows = OPT_NONE;
	*ret_largest = 0;
	if (!said || count < AGREEMENT_CANDIDATES_MIN)
		return;
	if (count > AGREEMENT_CANDIDATES_MAX)
		count = AGREEMENT_CANDIDATES_MAX;
	str_t *forms = ARENA_ARRAY(work->report->arena, str_t, count);
	for (size_t i = 0; i < count; i++) {
		struct sql_analysis candidate;
		analyse(work, again, work->input->candidates[i].sql, &candidate);
		if (str_present(candidate.canonical) && str_equal(candidate.canonical, again->sql.canonical))
			same++;
		else if (str_present(candidate.canonical))
			forms[others++] = candidate.canonical;
	}
	*ret_largest = commonest(forms, others);
	if (str_present(again->sql.canonical))
		follows = opt_double(agreement_share(same, count));
	recompute_share(work, "confidence.agreement.canonical", said->canonical, follows);
}

void recompute_analysis(struct recompute *work)
{
	struct again again;
	size_t largest;
	if (!work->targets || !work->read.analysed || !ask_again(work, &again.request))
		return;
	analyse(work, &again, work->input->sql, &again.sql);
	check_diagnostics(work, &again.sql);
	check_safety(work, &again.sql);
	check_tables(work, "structure.tables", work->scored->structure.tables,
		     work->scored->structure.tables_count, again.sql.tables, again.sql.tables_count);
	check_truth(work, &again);
	check_agreement(work, &again, &largest);
	recompute_features_of_texts(work, &again.request, &again.sql, largest);
}
