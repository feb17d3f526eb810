#include "event/analyse.h"

#include "common/clock.h"
#include "event/candidates.h"
#include "event/chunks.h"
#include "event/context.h"
#include "event/overall.h"
#include "event/response.h"
#include "event/sampling.h"
#include "event/schema_text.h"
#include "event/share.h"
#include "event/truths.h"
#include "score/semantic.h"
#include "score/technical.h"
#include "sql/analysis_cache.h"
#include "sql/sort_keys.h"

#include <inttypes.h>

/* ---- decoding ---- */

static err_t decode(struct event *event, struct err_detail *detail)
{
	const struct codec *codec = event->context->codec;
	struct generated_query **query = &event->facts.query;
	if (!event->context->lenient)
		return codec_decode_query_headed(codec, event_schema_header(event), event->raw.ptr,
						 event->raw.len, event->arena, query, detail);
	err_t err = codec_decode_query_json_lenient(codec, event->raw, clock_wall_ms(), event->arena, query,
						    detail);
	if (!err && (*query)->event_id.len == 0)
		(*query)->event_id = arena_printf(event->arena, "line-%" PRIu64, event->sequence);
	return err;
}

/* A number that cannot be what it claims to be, such as a percentage for a share, raises nothing. */
static opt_double_t take_share(struct record_facts *facts, const char *metric, const char *field,
			       opt_double_t share, opt_double_t otherwise, const char *consequence)
{
	struct err_detail detail;
	if (share_is_sound(share))
		return share;
	err_fail(&detail, ERR_INPUT_RANGE,
		 "%s is %g, which is outside 0..1, and %s; publish a share of 1 there", field, share.value,
		 consequence);
	record_add_error(facts, metric, ERR_INPUT_RANGE, detail.message);
	return otherwise;
}

static void take_shares(struct record_facts *facts)
{
	const struct generated_query *query = facts->query;
	struct record_analysis *analysis = &facts->analysis;
	analysis->generator =
		take_share(facts, "generator", "generator_confidence", query->generator_confidence,
			   (opt_double_t)OPT_NONE, "counts as missing");
	if (query->ground_truth) /* a missing one would mean full trust */
		analysis->similarity = take_share(facts, stage_name(STAGE_RESULT), "ground_truth.similarity",
						  query->ground_truth->similarity, opt_double(0),
						  "gives the truth the least weight");
}

/* Symbols of a newer writer, or slips: what they say is not known, and that is told. */
static void flag_symbol(struct record_facts *facts, const char *metric, str_t symbol, const char *field,
			const char *consequence)
{
	struct err_detail detail;
	if (!str_present(symbol))
		return;
	err_fail(&detail, ERR_SYMBOL_UNKNOWN, "%s \"%.*s\" is not known, and %s", field,
		 symbol.len < 60 ? (int)symbol.len : 60, symbol.ptr, consequence);
	record_add_error(facts, metric, ERR_SYMBOL_UNKNOWN, detail.message);
}

static void flag_symbols(struct record_facts *facts)
{
	const struct generated_query *query = facts->query;
	const struct retrieval *retrieval = query->retrieval;
	for (size_t i = 0; retrieval && i < retrieval->chunks_count; i++) {
		if (!str_present(retrieval->chunks[i].unknown_source_type))
			continue;
		flag_symbol(facts, "advisory", retrieval->chunks[i].unknown_source_type,
			    "retrieval.chunks.source_type", "counts as UNKNOWN");
		break; /* one tells it for all */
	}
	if (query->ground_truth)
		flag_symbol(facts, "grading", query->ground_truth->unknown_expected_failure,
			    "ground_truth.expected_failure", "counts as not given");
}

/* ---- the SQL ---- */

static enum sql_dialect engine_dialect(enum target_engine engine)
{
	switch (engine) {
	case TARGET_SQLITE:
		return SQL_SQLITE;
	case TARGET_MARIADB:
		return SQL_MYSQL;
	case TARGET_MONGODB:
		return SQL_MONGODB;
	case TARGET_POSTGRESQL:
		break;
	}
	return SQL_POSTGRESQL;
}

/* What no front end reads is not taken for something else: nothing is claimed about it. */
static bool dialect_is_analysed(struct record_facts *facts)
{
	str_t name = facts->query->unknown_dialect;
	struct err_detail detail;
	if (!str_present(name))
		return true;
	facts->analysis.dialect = SQL_UNKNOWN_DIALECT;
	err_fail(
		&detail, ERR_DIALECT_UNSUPPORTED,
		"dialect \"%.*s\" is not analysed, so the SQL is neither scored nor run; publish POSTGRESQL, "
		"SQLITE, MYSQL or MONGODB, or leave dialect out for the target's",
		name.len < 60 ? (int)name.len : 60, name.ptr);
	record_add_error(facts, "technical", ERR_DIALECT_UNSUPPORTED, detail.message);
	return false;
}

/* The dialect is the target's; one that the event names besides has to agree, or the query is not run. */
static void choose_target(struct record_facts *facts, const struct event_context *context)
{
	const struct generated_query *query = facts->query;
	struct record_analysis *analysis = &facts->analysis;
	struct targets *targets = context->targets;
	analysis->dialect = query->dialect == ENUM_ABSENT ? SQL_POSTGRESQL : (enum sql_dialect)query->dialect;
	if (!dialect_is_analysed(facts))
		return;
	if (!str_present(query->target)) {
		analysis->catalog = context->default_catalog ? catalog_ref(context->default_catalog) : NULL;
		return;
	}
	const struct target_settings *target = targets ? targets_find(targets, query->target) : NULL;
	if (!target) {
		struct err_detail detail;
		str_t hint = targets ? targets_hint(targets, query->target, facts->arena) : STR("");
		err_fail(&detail, ERR_TARGET_UNKNOWN, "no target \"" STR_FMT "\" is configured" STR_FMT,
			 STR_ARG(query->target), STR_ARG(hint.len ? hint : STR("; add it to targets")));
		record_add_error(facts, "target", ERR_TARGET_UNKNOWN, detail.message);
		return;
	}
	enum sql_dialect dialect = engine_dialect(target->engine);
	if (query->dialect != ENUM_ABSENT && dialect != analysis->dialect) {
		struct err_detail detail;
		err_fail(&detail, ERR_DIALECT_MISMATCH,
			 "the event says %s, its target \"%s\" speaks %s; "
			 "leave dialect out, or name the target that the SQL is meant for",
			 record_dialect_name(analysis->dialect), target->name, record_dialect_name(dialect));
		record_add_error(facts, "target", ERR_DIALECT_MISMATCH, detail.message);
		return;
	}
	analysis->dialect = dialect;
	analysis->target = target;
	analysis->catalog = targets_catalog(targets, target);
	if (analysis->catalog)
		return;
	str_t why = targets_catalog_error(targets, target, facts->arena);
	bool failed = str_present(why);
	str_t message = arena_printf(facts->arena, "the catalog of target \"%s\" %s" STR_FMT, target->name,
				     failed ? "cannot be read: " : "has not been read yet",
				     STR_ARG(failed ? why : STR("")));
	record_add_error(facts, "technical", ERR_CATALOG_UNAVAILABLE, message.ptr);
}

static struct sql_request request_of(const struct record_facts *facts, str_t sql)
{
	const struct record_analysis *analysis = &facts->analysis;
	return (struct sql_request){
		.sql = sql,
		.dialect = analysis->dialect,
		.target_named = str_present(facts->query->target),
		.catalog = analysis->catalog,
		.policy = analysis->target ? &analysis->target->policy : NULL,
	};
}

static void analyse_sql(struct record_facts *facts, str_t sql, struct analysis_cache *analyses,
			struct sql_analysis *ret_analysis)
{
	const struct sql_request request = request_of(facts, sql);
	analysis_cache_analyse(analyses, &request, facts->arena, ret_analysis);
}

/* A truth that is written as the query is shares its analysis, which nobody changes. */
static void analyse_truths(struct record_facts *facts, struct analysis_cache *analyses)
{
	struct record_analysis *analysis = &facts->analysis;
	truths_take(facts);
	for (size_t i = 0; i < analysis->truth_queries_count; i++)
		if (str_equal(analysis->truth_texts[i], facts->query->sql))
			analysis->truths[i] = analysis->sql;
		else
			analyse_sql(facts, analysis->truth_texts[i], analyses, &analysis->truths[i]);
}

/* ---- technical confidence ---- */

static bool unknown_name(const struct sql_diagnostic *diagnostic)
{
	return strcmp(diagnostic->code, "unknown_table") == 0 ||
	       strcmp(diagnostic->code, "unknown_column") == 0 ||
	       strcmp(diagnostic->code, "unknown_function") == 0 ||
	       strcmp(diagnostic->code, "unknown_type") == 0 ||
	       strcmp(diagnostic->code, "invalid_literal") == 0; /* a label of an enum */
}

/* Counts our findings; a name that the catalog lacks may be newer than the catalog. */
static struct technical_findings own_findings(const struct record_facts *facts,
					      const struct event_context *context)
{
	const struct sql_analysis *sql = &facts->analysis.sql;
	struct technical_findings findings = { .valid = sql->valid };
	bool suspect = false;
	for (size_t i = 0; i < sql->diagnostics_count; i++) {
		const struct sql_diagnostic *diagnostic = &sql->diagnostics[i];
		if (diagnostic->severity == SQL_ERROR)
			findings.errors++;
		else
			findings.warnings++;
		findings.unknown_table |= strcmp(diagnostic->code, "unknown_table") == 0;
		suspect |= unknown_name(diagnostic);
	}
	if (suspect && facts->analysis.target)
		targets_catalog_suspect(context->targets, facts->analysis.target);
	return findings;
}

static opt_double_t upstream_technical(const struct upstream_diagnostic *diagnostic)
{
	if (!diagnostic)
		return (opt_double_t)OPT_NONE;
	struct technical_findings findings = { .valid = diagnostic->valid,
					       .errors = diagnostic->errors_count,
					       .warnings = diagnostic->warnings_count };
	for (size_t i = 0; i < diagnostic->errors_count; i++)
		findings.unknown_table |= technical_text_is_unknown_table(diagnostic->errors[i]);
	return opt_double(technical_score(&findings));
}

static void score_technical(struct record_facts *facts, const struct event_context *context)
{
	struct record_analysis *analysis = &facts->analysis;
	const struct technical_findings findings = own_findings(facts, context);
	opt_double_t own = opt_double(technical_score(&findings));
	if ((str_present(facts->query->target) && !analysis->catalog) ||
	    analysis->dialect >= SQL_UNKNOWN_DIALECT)
		own = (opt_double_t)OPT_NONE; /* names cannot be told: nothing is claimed about them */
	analysis->errors_count = findings.errors;
	analysis->structural = semantic_structural_score(analysis->sql.valid, findings.errors);
	analysis->upstream_technical = upstream_technical(facts->query->diagnostic);
	analysis->technical = technical_choose((enum technical_source)facts->config->diagnostic.source, own,
					       analysis->upstream_technical);
}

/* ---- retrieval, advisory, overall ---- */

static void score_retrieval(struct record_facts *facts)
{
	const struct generated_query *query = facts->query;
	struct record_analysis *analysis = &facts->analysis;
	if (!query->retrieval)
		return;
	const struct config *config = facts->config;
	struct retrieval_chunk *chunks = event_chunks(query->retrieval, facts->arena);
	const struct config_retrieval_weights *weights = &config->retrieval_weights;
	const struct retrieval_options options = {
		.weights = { [RETRIEVAL_TOP] = weights->top,
			     [RETRIEVAL_GAP] = weights->gap,
			     [RETRIEVAL_CONSENSUS] = weights->consensus,
			     [RETRIEVAL_AGREEMENT] = weights->agreement,
			     [RETRIEVAL_SPREAD] = weights->low_spread,
			     [RETRIEVAL_GRAPH] = weights->graph,
			     [RETRIEVAL_DIVERSITY] = weights->low_diversity },
		.rrf_scale = config->retrieval.rrf_scale,
		.consensus_above = config->retrieval.consensus_above,
		.gap_scale = config->retrieval.gap_scale,
		.spread_scale = config->retrieval.spread_scale,
		.thresholds = overall_thresholds(&config->retrieval_thresholds),
	};
	retrieval_score(chunks, query->retrieval->chunks_count, &options, facts->arena, &analysis->retrieval);
	analysis->has_retrieval = true;
	if (!query->response)
		return;
	const struct level_thresholds thresholds = overall_thresholds(&config->confidence_thresholds);
	advisory_score(chunks, query->retrieval->chunks_count, options.rrf_scale,
		       response_check(query->response), &thresholds, &analysis->advisory);
	analysis->has_advisory = true;
}

/* ---- who is asked ---- */

/* Rows that tie may come in any order, and at a LIMIT others may come, also at one inside: what the truth
 * does not return has to be asked for. */
static void show_sort_keys(const struct record_facts *facts, const struct sql_analysis *truth,
			   struct validation_truth *asked)
{
	const struct sql_request request = request_of(facts, truth->text);
	struct inner_cut *cuts;
	sort_keys_show(&request, truth, facts->arena, &asked->shown);
	asked->inner_cuts_count = inner_cuts_show(&request, truth, facts->arena, &cuts);
	asked->inner_cuts = cuts;
}

static struct validation_truth ask_for_query(const struct record_facts *facts, size_t index)
{
	const struct record_analysis *analysis = &facts->analysis;
	const struct sql_analysis *truth = &analysis->truths[index];
	struct validation_truth asked = {
		.sql = str_present(truth->text) ? truth->text : analysis->truth_texts[index],
		.ordered = truth->ordered,
		.order_keys = truth->order_keys,
		.order_keys_count = truth->order_keys_count,
		.limited = truth->limited,
	};
	show_sort_keys(facts, truth, &asked);
	return asked;
}

static struct validation_truth *choose_truths(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	if (analysis->truths_count == 0)
		return NULL;
	truths_choose(facts);
	size_t queries = analysis->truth_queries_count;
	struct validation_truth *truths =
		ARENA_ARRAY(facts->arena, struct validation_truth, analysis->truths_asked_count);
	for (size_t i = 0; i < analysis->truths_asked_count; i++) {
		size_t truth = analysis->truths_asked[i];
		if (truth < queries)
			truths[i] = ask_for_query(facts, truth);
		else
			truths[i] = (struct validation_truth){
				.table = &analysis->truth_tables[truth - queries].set,
				.ordered = analysis->truth_tables[truth - queries].ordered
			};
	}
	return truths;
}

static void ask_target(struct record_facts *facts)
{
	struct record_analysis *analysis = &facts->analysis;
	struct validation_candidates candidates;
	if (!analysis->target || analysis->sql.verdict != SQL_SAFE)
		return;
	const struct validation_truth *truths = choose_truths(facts);
	candidates_ask(facts, &candidates);
	facts->validation_asked = analysis->truths_asked_count > 0;
	facts->target_asked = facts->validation_asked || candidates.count > 0;
	if (!facts->target_asked)
		return;
	facts->validation = (struct target_call){
		.arena = arena_new(),
		.target = analysis->target->name,
		.generated_sql = analysis->sql.text,
		.truths = truths,
		.truths_count = analysis->truths_asked_count,
		.comparing = analysis->comparing,
		.candidates = candidates,
	};
}

static bool is_identical(const struct record_analysis *analysis, size_t truth)
{
	const struct sql_analysis *sql = &analysis->sql, *expected = &analysis->truths[truth];
	if (str_equal(sql->text, expected->text))
		return true;
	return str_present(sql->canonical) && str_present(expected->canonical) &&
	       str_equal(sql->canonical, expected->canonical);
}

static void prepare_call(struct record_facts *facts, size_t member, enum judge_question kind, str_t schema)
{
	const struct record_analysis *analysis = &facts->analysis;
	facts->judging.asked[kind] = true;
	facts->judging.members[member].calls[kind] = (struct judge_call){
		.member = member,
		.arena = arena_new(),
		.kind = kind,
		.question = facts->query->question,
		.sql = analysis->sql.text,
		.truth_sql = analysis->truth_queries_count ? analysis->truth_texts[0] : STR_NONE,
		.schema = schema,
		.dialect = record_dialect_name(analysis->dialect),
	};
}

/* Why the judge is not asked, or NULL; sets the probability with which it is. */
static const char *unjudged_reason(const struct record_facts *facts, const struct judge *judge,
				   double *ret_probability)
{
	const struct config_panel judging = config_judging(facts->config);
	const struct overall_score *overall = &facts->analysis.overall;
	*ret_probability = 1;
	if (!judge)
		return "NO_JUDGE";
	if (facts->analysis.sql.verdict == SQL_UNSAFE && !judging.unsafe)
		return "UNSAFE";
	if (overall->confidence.set && (int)overall->level < (int)judging.always_below)
		return NULL;
	*ret_probability = judging.sample_rate;
	return sampling_includes(facts->query->event_id, judging.sample_rate) ? NULL : "NOT_SAMPLED";
}

static void ask_judge(struct record_facts *facts, const struct event_context *context)
{
	const struct record_analysis *analysis = &facts->analysis;
	struct record_judging *judging = &facts->judging;
	judging->unjudged_reason = unjudged_reason(facts, context->judge, &judging->sampling_probability);
	if (analysis->sql.verdict != SQL_UNSAFE)
		for (size_t i = 0; i < analysis->truth_queries_count && !judging->identical; i++)
			judging->identical = is_identical(analysis, i);
	if (judging->unjudged_reason)
		return;
	str_t schema = schema_text(analysis->catalog, analysis->sql.tables, analysis->sql.tables_count,
				   facts->arena);
	judging->members_count = judge_members(context->judge);
	judging->members = ARENA_ARRAY(facts->arena, struct record_member, judging->members_count);
	for (size_t i = 0; i < judging->members_count; i++) {
		prepare_call(facts, i, JUDGE_RELEVANCE, schema);
		if (analysis->truth_queries_count > 0 && !judging->identical)
			prepare_call(facts, i, JUDGE_CORRECTNESS, schema);
	}
}

err_t event_analyse(struct event *event, struct err_detail *detail)
{
	const struct event_context *context = event->context;
	struct record_facts *facts = &event->facts;
	int64_t started_us = clock_monotonic_us();
	err_t err = decode(event, detail);
	if (err)
		return err;
	int64_t decoded_us = clock_monotonic_us();
	take_shares(facts);
	flag_symbols(facts);
	choose_target(facts, context);
	analyse_sql(facts, facts->query->sql, context->analyses, &facts->analysis.sql);
	analyse_truths(facts, context->analyses);
	candidates_analyse(facts, context->analyses);
	score_technical(facts, context);
	int64_t analysed_us = clock_monotonic_us();
	score_retrieval(facts);
	overall_of_event(facts);
	ask_target(facts);
	ask_judge(facts, context);
	record_add_stage(facts, STAGE_DECODE, "ok", decoded_us - started_us);
	record_add_stage(facts, STAGE_SQL, facts->analysis.sql.valid ? "ok" : "failed",
			 analysed_us - decoded_us);
	record_add_stage(facts, STAGE_CONFIDENCE, "ok", clock_monotonic_us() - analysed_us);
	return ERR_OK;
}
