#include "support.h"

#include "avro/builtin.h"
#include "avro/canonical.h"
#include "avro/codec.h"
#include "avro/framing.h"
#include "avro/plan.h"

#include <avro.h>
#include <math.h>

static struct codec *codec_of(enum wire_format output)
{
	const struct codec_options options = { .output = output };
	struct codec *codec;
	struct err_detail detail = { "" };
	if (codec_new(&options, &codec, &detail))
		fail_msg("%s", detail.message);
	return codec;
}

/* Every field is set, and to something that its neighbours do not have. */
static struct generated_query *full_query(struct arena *arena)
{
	struct generated_query *query = ARENA_NEW(arena, struct generated_query);
	str_t *texts = ARENA_ARRAY(arena, str_t, 3);
	texts[0] = STR("one");
	texts[1] = STR("");
	texts[2] = STR("zw\xc3\xb6lf\0!");
	*query = (struct generated_query){
		.event_id = STR("6f1c0a5e-6c1f-4a63-9f0c-0d6d4a9f3b11"),
		.occurred_at = -1,
		.application = STR("app"),
		.model = STR("model"),
		.prompt_version = STR(""),
		.question = STR("wie viele?"),
		.sql = STR("SELECT 1"),
		.dialect = DIALECT_MONGODB,
		.target = STR("sales"),
		.generator_confidence = opt_double(0.0),
		.diagnostic = ARENA_NEW(arena, struct upstream_diagnostic),
		.validator = ARENA_NEW(arena, struct upstream_validator),
		.retrieval = ARENA_NEW(arena, struct retrieval),
		.response = ARENA_NEW(arena, struct model_response),
		.candidates = ARENA_ARRAY(arena, struct candidate, 2),
		.candidates_count = 2,
		.ground_truth = ARENA_NEW(arena, struct ground_truth),
		.attributes = ARENA_ARRAY(arena, struct attribute, 2),
		.attributes_count = 2,
	};
	*query->diagnostic = (struct upstream_diagnostic){ true, texts, 1, texts + 1, 2 };
	*query->validator = (struct upstream_validator){ { true, false }, { true, true }, texts + 2, 1 };
	query->retrieval->chunks = ARENA_ARRAY(arena, struct retrieved_chunk, 2);
	query->retrieval->chunks_count = 2;
	query->retrieval->chunks[0] = (struct retrieved_chunk){
		STR("c1"),	   STR("d1"),	       SOURCE_REGULATORY, opt_double(0.1),  opt_double(-2.5),
		opt_double(1e300), opt_double(5e-324), opt_double(0.0),	  opt_double(0.25), STR_NONE
	};
	query->retrieval->chunks[1] =
		(struct retrieved_chunk){ .chunk_id = STR("c2"), .source_type = SOURCE_UNKNOWN };
	*query->response = (struct model_response){ STR("{}"), texts, 2, NULL, 0 };
	query->candidates[0] = (struct candidate){ STR("SELECT 3"), STR("other") };
	query->candidates[1] = (struct candidate){ STR(""), STR_NONE };
	*query->ground_truth = (struct ground_truth){
		.sql = STR("SELECT 2"),
		.alternatives = texts,
		.alternatives_count = 3,
		.results = ARENA_ARRAY(arena, struct truth_table, 2),
		.results_count = 2,
		.compare = ARENA_NEW(arena, struct truth_comparison),
		.question = STR("how many?"),
		.similarity = opt_double(0.75),
		.tables_set = true,
		.should_pass = { true, false },
		.expected_failure = EXPECTED_SAFETY,
	};
	struct truth_row *rows = ARENA_ARRAY(arena, struct truth_row, 2);
	rows[0] = (struct truth_row){ ARENA_ARRAY(arena, str_t, 2), 2 }; /* NULL and an empty text */
	rows[0].cells[1] = STR("");
	query->ground_truth->results[1] = (struct truth_table){ texts, 2, rows, 2, true };
	*query->ground_truth->compare =
		(struct truth_comparison){ texts, 1, { true, false }, opt_double(0.5) };
	query->attributes[0] = (struct attribute){ STR("k1"), STR("v1") };
	query->attributes[1] = (struct attribute){ STR("k2"), STR("") };
	return query;
}

static const char FULL_QUERY_JSON[] =
	"{\"event_id\":\"6f1c0a5e-6c1f-4a63-9f0c-0d6d4a9f3b11\",\"occurred_at\":-1,\"application\":\"app\","
	"\"model\":\"model\",\"prompt_version\":\"\",\"question\":\"wie viele?\",\"sql\":\"SELECT 1\","
	"\"dialect\":\"MONGODB\",\"target\":\"sales\",\"generator_confidence\":0,"
	"\"diagnostic\":{\"valid\":true,\"errors\":[\"one\"],\"warnings\":[\"\",\"zw\xc3\xb6lf\\u0000!\"]},"
	"\"validator\":{\"safety_valid\":false,\"is_valid\":true,\"errors\":[\"zw\xc3\xb6lf\\u0000!\"]},"
	"\"retrieval\":{\"chunks\":[{\"chunk_id\":\"c1\",\"document_id\":\"d1\",\"source_type\":"
	"\"REGULATORY\","
	"\"bm25_score\":0.1,\"dense_score\":-2.5,\"rrf_score\":1e+300,\"boosted_score\":4.94065645841247e-"
	"324,"
	"\"rerank_score\":0,\"graph_boost\":0.25},{\"chunk_id\":\"c2\",\"document_id\":null,"
	"\"source_type\":\"UNKNOWN\",\"bm25_score\":null,\"dense_score\":null,\"rrf_score\":null,"
	"\"boosted_score\":null,\"rerank_score\":null,\"graph_boost\":null}]},"
	"\"response\":{\"raw\":\"{}\",\"required_fields\":[\"one\",\"\"],\"optional_fields\":[]},"
	"\"candidates\":[{\"sql\":\"SELECT 3\",\"model\":\"other\"},{\"sql\":\"\",\"model\":null}],"
	"\"ground_truth\":{\"sql\":\"SELECT 2\",\"alternatives\":[\"one\",\"\",\"zw\xc3\xb6lf\\u0000!\"],"
	"\"results\":[{\"columns\":[],\"rows\":[],\"ordered\":false},"
	"{\"columns\":[\"one\",\"\"],\"rows\":[[null,\"\"],[]],\"ordered\":true}],"
	"\"compare\":{\"columns\":[\"one\"],\"ignore_order\":false,\"absolute_tolerance\":0.5},"
	"\"question\":\"how many?\",\"similarity\":0.75,\"tables\":[],\"should_pass\":false,"
	"\"expected_failure\":\"SAFETY\"},\"attributes\":{\"k1\":\"v1\",\"k2\":\"\"}}";

static void test_query_round_trips(void **state)
{
	(void)state;
	static const enum wire_format FORMATS[] = { WIRE_SINGLE_OBJECT, WIRE_JSON };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < COUNT_OF(FORMATS); i++) {
		struct codec *codec = codec_of(FORMATS[i]);
		_cleanup_(buf_free) struct buf message = BUF_INIT;
		_cleanup_(buf_free) struct buf json = BUF_INIT;
		struct generated_query *back;
		struct err_detail detail = { "" };
		assert_int_equal(codec_encode_query(codec, full_query(arena), &message), ERR_OK);
		if (codec_decode_query(codec, message.data, message.len, arena, &back, &detail))
			fail_msg("%s", detail.message);
		codec_json_query(back, &json);
		assert_string_equal(json.data, FULL_QUERY_JSON);
		assert_true(back->ground_truth->tables_set);
		assert_int_equal(back->retrieval->chunks[1].source_type, SOURCE_UNKNOWN);
		assert_int_equal(back->diagnostic->warnings[1].len, 8);
		codec_free(codec);
	}
}

static void test_absent_stays_absent(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	const struct generated_query query = { .event_id = STR("e"),
					       .application = STR("a"),
					       .question = STR("q"),
					       .sql = STR(""),
					       .dialect = ENUM_ABSENT,
					       .ground_truth = &(struct ground_truth){
						       .expected_failure = ENUM_ABSENT } };
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	struct generated_query *back;
	assert_int_equal(codec_encode_query(codec, &query, &message), ERR_OK);
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &back, NULL), ERR_OK);
	assert_true(str_present(back->sql));
	assert_int_equal(back->dialect, ENUM_ABSENT);
	assert_false(str_present(back->model));
	assert_false(back->generator_confidence.set);
	assert_null(back->retrieval);
	assert_null(back->response);
	assert_false(back->ground_truth->tables_set);
	assert_false(back->ground_truth->should_pass.set);
	assert_false(back->ground_truth->similarity.set);
	assert_int_equal(back->ground_truth->expected_failure, ENUM_ABSENT);
	assert_int_equal(back->attributes_count, 0);
	codec_free(codec);
}

/* Parts of a record in which everything is set. */
static struct record_diagnostic full_diagnostics[] = {
	{ STR("risky_pattern"), STR("select_star"), SEVERITY_WARNING, STR("m"), 7 },
	{ STR("syntax_error"), STR_NONE, SEVERITY_ERROR, STR(""), -1 },
};
static struct record_technical full_technical = { 80, true, full_diagnostics, 2, { true, 60 } };
static struct record_retrieval full_retrieval = { 0.875, LEVEL_HIGH,  false,	      0.9,	     0.25,
						  0.01,	 3,	      { true, -0.5 }, { false, 0 },  true,
						  0.5,	 STR("HIGH"), STR("text"),    STR("action"), 2 };
static struct record_advisory_confidence full_advisory = { 0.5, LEVEL_LOW, 0.25, 0.125, 0.125 };
static struct record_agreement full_agreement = { { true, 0.75 }, { true, 0.5 }, 4, 1 };
static struct record_feature full_features[] = { { STR("anchors"), 2 }, { STR("technical"), 0.8 } };
static struct record_reason full_reasons[] = { { STR("overall"), 0.5, -0.25 } };
static struct record_probability full_probability = { 0.5, 0.25, 0.75, 100, 10, 3, 7, full_reasons, 1 };
static struct record_violation full_violations[] = { { STR("file_access"), STR("pg_read_file"), 12 } };
static str_t full_tables[] = { STR("users"), STR("orders") };
static str_t explained_names[] = { STR("total"), STR("n") };
static str_t explained_cells[] = { STR("x"), { NULL, 0 } };
static struct record_column_pair explained_pair = { STR("a"), STR("b") };
static struct truth_row explained_rows[] = { { explained_cells, 2 }, { explained_cells + 1, 1 } };
static struct record_explanation full_explanation = {
	.summary = STR("why"),
	.error = STR("target_denied"),
	.message = STR("denied"),
	.generated_columns = 3,
	.truth_columns = 2,
	.columns_paired = &explained_pair,
	.columns_paired_count = 1,
	.columns_missing = explained_names,
	.columns_missing_count = 1,
	.columns_extra = explained_names + 1,
	.columns_extra_count = 1,
	.rows_missing = explained_rows,
	.rows_missing_count = 1,
	.rows_extra = explained_rows + 1,
	.rows_extra_count = 1,
	.other_order = true,
};
static struct record_result_validation full_validation = {
	STR("ok"),
	1,
	2,
	0.5,
	LEVEL_MEDIUM,
	true,
	false,
	0.99,
	{ true, 99 },
	true,
	false,
	true,
	false,
	false,
	true,
	false,
	{ true, 0.25 },
	{ false, 0 },
	{ 10, true, 1.5, STR_NONE, { false, 0 }, STR_NONE },
	{ 11, false, 2.5, STR("57014"), { true, 1064 }, STR("0a1b") },
	&full_explanation
};
static struct record_clauses full_clauses = { 1, 0.5, 0.25, 1, 0, 0.125 };
static str_t full_expected[] = { STR("users") };
static struct record_structure_truth full_structure_truth = {
	{ true, false }, &full_clauses, full_expected, 1
};
static struct record_findings full_findings = { true, full_diagnostics, 1 };
static struct record_retrieval_rules full_retrieval_rules = { .weights = { 0.5, 0.125, 0, 0, 0.25, 0, 0.125 },
							      .rrf_scale = 2,
							      .consensus_above = 0.75,
							      .gap_scale = 4,
							      .spread_scale = 5,
							      .thresholds = { 0.75, 0.5, 0.25 } };
static struct record_price full_prices[] = { { 1.25, 10 }, { 0, 0 } };
static struct record_judge_rules full_judge_rules = { 0.5, LEVEL_LOW, true, full_prices, 2 };
static int full_factors[] = { RECORD_FACTOR_TECHNICAL, RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY };
static struct record_result_rules full_result_rules = { 0.25, 0.5, 2, 100 };
static struct record_rules full_rules = { .diagnostic_source = RECORD_SOURCE_WORST,
					  .factors = full_factors,
					  .factors_count = 2,
					  .technical_alone = LEVEL_MEDIUM,
					  .thresholds = { 0.875, 0.75, 0.5 },
					  .retrieval = &full_retrieval_rules,
					  .pass_score = 0.75,
					  .low_confidence_below = 0.625,
					  .low_relevance_below = 50,
					  .judge = &full_judge_rules,
					  .redacted = true,
					  .result = &full_result_rules,
					  .formulas = 3 };
static struct record_judge_score full_relevance = { 85, STR("good"), STR("ok"), true, STR("raw") };
static struct record_judge_score full_correctness = { 0.5, STR(""), STR("identical"), false, STR_NONE };
static struct record_panelist full_panel[] = {
	{ STR("one"),
	  STR("openai"),
	  STR("gpt"),
	  &full_relevance,
	  NULL,
	  STR_NONE,
	  STR("d1"),
	  60,
	  12,
	  { false, 0 } },
	{ STR("two"),
	  STR("anthropic"),
	  STR(""),
	  &full_relevance,
	  &full_correctness,
	  STR("SATURATED"),
	  STR("d1 d2"),
	  40,
	  8,
	  { true, 0.5 } },
};
static struct record_grade full_grade = { 1, STR("CORRECT_REJECTION"), STR("schema") };
static struct record_grading full_grading = { .validation = &full_grade, .upstream_safety = &full_grade };
static struct record_weight full_weights[] = { { STR("structural"), 0.4 }, { STR("judge"), 0.15 } };
static struct record_evaluation full_evaluation = { 0.7, false, true, full_weights, 2, STR("result_wrong") };
static struct record_label full_label = { 0.5, true, LABEL_CORRECTNESS, 4 };
static struct record_recommendation full_advice[] = { { STR("expand_query"), STR("t") } };
static struct record_disposition full_disposition = { RECORD_ACTION_VERIFY, full_advice, 1 };
static struct record_error full_errors[] = { { .metric = STR("judge"),
					       .code = STR("judge_timeout"),
					       .message = STR("LLM judge timeout"),
					       .input = STR("e"),
					       .time = 1700000000000,
					       .sql = STR("SELECT 1") } };
static struct record_stage full_stages[] = { { STR("decode"), STR("ok"), 12 } };

static struct scored_query *full_scored(struct arena *arena)
{
	struct scored_query *scored = ARENA_NEW(arena, struct scored_query);
	*scored = (struct scored_query){
		.event_id = STR("e"),
		.occurred_at = 1,
		.scored_at = 2,
		.application = STR("app"),
		.target = STR("sales"),
		.input = full_query(arena),
		.input_shortened = true,
		.disposition = &full_disposition,
		.confidence = { { true, 0.5 },
				LEVEL_LOW,
				STR("advisory"),
				&full_technical,
				&full_retrieval,
				&full_advisory,
				{ true, 0.25 },
				&full_agreement,
				full_features,
				2,
				&full_probability,
				STR("overall") },
		.safety = { VERDICT_UNSAFE, full_violations, 1, STR("doubt") },
		.structure = { 0.5,
			       { false, 0 },
			       { true, 1 },
			       full_tables,
			       2,
			       &full_structure_truth,
			       &full_findings },
		.result_validation = &full_validation,
		.judge = { &full_relevance,
			   &full_correctness,
			   DECISION_ACCEPT_HIGH,
			   STR_NONE,
			   0.25,
			   STR("openai"),
			   STR("gpt"),
			   100,
			   20,
			   { true, 0.0025 },
			   { true, 12.5 },
			   { false, 0 },
			   full_panel,
			   2 },
		.grading = &full_grading,
		.evaluation = &full_evaluation,
		.label = &full_label,
		.review_required = true,
		.recommendations = full_advice,
		.recommendations_count = 1,
		.errors = full_errors,
		.errors_count = 1,
		.stages = full_stages,
		.stages_count = 1,
		.rules = &full_rules,
		.provenance = { STR("in"),
				3,
				9000000000,
				STR("0.1.0"),
				STR("cafe"),
				STR_NONE,
				STR("beef"),
				{ true, 1.5 },
				true },
	};
	return scored;
}

static const char SCORED_JSON[] =
	"\"input_shortened\":true,\"disposition\":{\"action\":\"VERIFY\",\"reasons\":[{\"code\":"
	"\"expand_query\",\"text\":\"t\"}]},\"confidence\":{\"overall\":0.5,\"level\":\"LOW_CONFIDENCE\","
	"\"limiting_factor\":\"advisory\",\"technical\":{\"score\":80,\"valid\":true,\"diagnostics\":["
	"{\"code\":\"risky_pattern\",\"sub_code\":\"select_star\",\"severity\":\"WARNING\",\"message\":\"m\","
	"\"offset\":7},{\"code\":\"syntax_error\",\"sub_code\":null,\"severity\":\"ERROR\",\"message\":\"\","
	"\"offset\":-1}],\"upstream\":60},\"retrieval\":{\"confidence\":0.875,\"level\":\"HIGH_CONFIDENCE\","
	"\"flagged\":"
	"false,"
	"\"top_score\":0.9,\"score_gap\":0.25,\"score_spread\":0.01,\"consensus_count\":3,"
	"\"bm25_dense_agreement\":-0.5,\"reranker_impact\":null,\"graph_support\":true,"
	"\"document_diversity\":0.5,\"interpretation\":\"HIGH\",\"interpretation_text\":\"text\",\"action_"
	"text\":\"action\",\"non_finite_scores\":2},"
	"\"advisory\":{\"confidence\":0.5,\"level\":\"LOW_CONFIDENCE\",\"retrieval_quality\":0.25,"
	"\"source_quality\":0.125,\"response_quality\":0.125},\"generator\":0.25,"
	"\"agreement\":{\"canonical\":0.75,\"results\":0.5,\"texts\":4,\"left_out\":1},"
	"\"features\":{\"anchors\":2,\"technical\":0.8},"
	"\"probability\":{\"value\":0.5,\"low\":0.25,\"high\":0.75,\"labels\":100,\"segment_labels\":10,"
	"\"model\":3,\"judgement\":7,\"reasons\":[{\"feature\":\"overall\",\"value\":0.5,\"addend\":-0.25}]},"
	"\"level_by\":\"overall\"},"
	"\"safety\":{\"verdict\":\"UNSAFE\",\"violations\":[{\"code\":\"file_access\","
	"\"detail\":\"pg_read_file\",\"offset\":12}],\"doubt\":\"doubt\"},\"structure\":{\"structural\":0.5,"
	"\"semantic\":null,"
	"\"table_accuracy\":1,\"tables\":[\"users\",\"orders\"],\"truth\":{\"same_form\":false,"
	"\"clauses\":{\"select\":1,\"where\":0.5,\"from\":0.25,\"group\":1,\"order\":0,\"join\":0.125},"
	"\"tables\":[\"users\"]},\"findings\":{\"valid\":true,\"diagnostics\":[{\"code\":\"risky_pattern\","
	"\"sub_code\":\"select_star\",\"severity\":\"WARNING\",\"message\":\"m\",\"offset\":7}]}},\"result_"
	"validation\":{\"status\":\"ok\","
	"\"score\":1,\"truth_index\":2,\"weight\":0.5,\"match_confidence\":\"MEDIUM_CONFIDENCE\","
	"\"schema_match\":true,\"row_count_match\":false,\"content_match_rate\":0.99,"
	"\"ordering_matters\":true,\"truncated\":false,\"nondeterministic\":true,"
	"\"conclusive\":false,\"limit_cut_tie\":false,\"truth_cached\":true,\"one_snapshot\":false,"
	"\"match_rate_low\":0.25,\"match_rate_high\":null,\"generated\":{\"rows\":10,"
	"\"time_ms\":1.5,"
	"\"sqlstate\":null,\"code\":null,\"more\":true,\"digest\":null},\"truth\":{\"rows\":11,\"time_ms\":2."
	"5,\"sqlstate\":"
	"\"57014\","
	"\"code\":1064,\"more\":false,\"digest\":\"0a1b\"},\"explanation\":{\"summary\":\"why\",\"error\":"
	"\"target_denied\","
	"\"message\":"
	"\"denied\","
	"\"generated_columns\":3,\"truth_columns\":2,\"columns_paired\":[{\"truth\":\"a\",\"generated\":"
	"\"b\"}],"
	"\"columns_missing\":[\"total\"],\"columns_extra\":[\"n\"],\"rows_missing\":[[\"x\",null]],"
	"\"rows_extra\":[[null]],\"other_order\":true,\"shortened\":false},\"rows_matched\":99},"
	"\"judge\":{\"relevance\":{\"score\":85,\"reason\":\"good\",\"status\":\"ok\",\"cached\":true,"
	"\"raw\":\"raw\"},"
	"\"correctness\":{\"score\":0.5,\"reason\":\"\",\"status\":\"identical\",\"cached\":false,\"raw\":"
	"null},"
	"\"decision\":\"ACCEPT_HIGH\",\"unjudged_reason\":null,\"sampling_probability\":0.25,"
	"\"provider\":\"openai\",\"model\":\"gpt\",\"prompt_tokens\":100,\"completion_tokens\":20,\"cost\":0."
	"0025,\"relevance_disagreement\":12.5,\"correctness_disagreement\":null,\"panel\":[{\"name\":\"one\","
	"\"provider\":\"openai\",\"model\":\"gpt\",\"relevance\":{\"score\":85,\"reason\":\"good\","
	"\"status\":\"ok\",\"cached\":true,\"raw\":\"raw\"},\"correctness\":null,\"unjudged_reason\":null,"
	"\"prompt_digest\":\"d1\",\"prompt_tokens\":60,\"completion_tokens\":12,\"cost\":null},"
	"{\"name\":\"two\",\"provider\":\"anthropic\",\"model\":\"\",\"relevance\":{\"score\":85,"
	"\"reason\":\"good\",\"status\":\"ok\",\"cached\":true,\"raw\":\"raw\"},\"correctness\":{\"score\":0."
	"5,"
	"\"reason\":\"\",\"status\":\"identical\",\"cached\":false,\"raw\":null},\"unjudged_reason\":"
	"\"SATURATED\","
	"\"prompt_digest\":\"d1 d2\",\"prompt_tokens\":40,\"completion_tokens\":8,\"cost\":0.5}]},"
	"\"grading\":{\"safety\":null,\"validation\":{\"score\":1,\"class\":\"CORRECT_REJECTION\","
	"\"category\":\"schema\"},\"upstream_safety\":{\"score\":1,\"class\":\"CORRECT_REJECTION\","
	"\"category\":\"schema\"},\"upstream_validation\":null},\"evaluation\":{\"score\":0.7,\"passed\":"
	"false,"
	"\"degraded\":true,\"weights\":{\"structural\":0.4,\"judge\":0.15},\"failed_by\":\"result_wrong\"},"
	"\"label\":{\"value\":0.5,"
	"\"correct\":true,\"source\":\"CORRECTNESS\",\"weight\":4},\"review_required\":true,"
	"\"recommendations\":[{\"code\":\"expand_query\",\"text\":\"t\"}],\"errors\":[{\"metric\":\"judge\","
	"\"code\":\"judge_timeout\",\"message\":\"LLM judge "
	"timeout\",\"input\":\"e\",\"time\":1700000000000,\"sql\":\"SELECT 1\"}],"
	"\"stages\":[{\"name\":\"decode\",\"status\":\"ok\",\"duration_us\":12}],"
	"\"rules\":{\"diagnostic_source\":\"WORST\",\"factors\":[\"TECHNICAL\",\"RETRIEVAL_WITHOUT_"
	"ADVISORY\"],"
	"\"technical_alone\":\"MEDIUM_CONFIDENCE\",\"thresholds\":{\"high\":0.875,\"medium\":0.75,\"low\":0."
	"5},"
	"\"retrieval\":{\"weights\":{\"top\":0.5,\"gap\":0.125,\"consensus\":0,\"agreement\":0,\"low_"
	"spread\":0.25,"
	"\"graph\":0,\"low_diversity\":0.125},\"rrf_scale\":2,\"consensus_above\":0.75,\"gap_scale\":4,"
	"\"spread_scale\":5,\"thresholds\":{\"high\":0.75,\"medium\":0.5,\"low\":0.25}},\"pass_score\":0.75,"
	"\"low_confidence_below\":0.625,\"low_relevance_below\":50,\"judge\":{\"sample_rate\":0.5,"
	"\"always_below\":\"LOW_CONFIDENCE\",\"unsafe\":true,\"prices\":[{\"prompt\":1.25,\"completion\":10},"
	"{\"prompt\":0,\"completion\":0}]},\"redacted\":true,\"result\":{\"absolute_tolerance\":0.25,"
	"\"relative_tolerance\":0.5,"
	"\"performance_factor\":2,\"performance_floor_ms\":100},\"formulas\":3},"
	"\"provenance\":{\"topic\":\"in\",\"partition\":3,\"offset\":9000000000,\"program_version\":\"0.1."
	"0\","
	"\"config_digest\":\"cafe\",\"prompt_digest\":null,\"catalog_digest\":\"beef\",\"catalog_age_s\":1.5,"
	"\"catalog_sampled\":true}"
	"}";

static void check_scored(const struct scored_query *scored)
{
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	_cleanup_(buf_free) struct buf expected = BUF_INIT;
	codec_json_scored(scored, &json);
	buf_append_text(&expected,
			"{\"event_id\":\"e\",\"occurred_at\":1,\"scored_at\":2,\"application\":\"app\","
			"\"model\":null,\"prompt_version\":null,\"target\":\"sales\",\"input\":");
	buf_append_text(&expected, FULL_QUERY_JSON);
	buf_append_text(&expected, ",");
	buf_append_text(&expected, SCORED_JSON);
	assert_string_equal(json.data, expected.data);
}

static void test_scored_round_trips(void **state)
{
	(void)state;
	static const enum wire_format FORMATS[] = { WIRE_SINGLE_OBJECT, WIRE_JSON, WIRE_SINGLE_OBJECT };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct scored_query *scored = full_scored(arena);
	check_scored(scored);
	for (size_t i = 0; i < COUNT_OF(FORMATS); i++) {
		struct codec *codec = codec_of(FORMATS[i]);
		_cleanup_(buf_free) struct buf message = BUF_INIT;
		struct scored_query *back;
		assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
		assert_int_equal(codec_decode_scored(codec, message.data, message.len, arena, &back, NULL),
				 ERR_OK);
		check_scored(back);
		codec_free(codec);
	}
}

static void check_features(const struct record_confidence *confidence, const struct record_feature *features,
			   size_t count)
{
	assert_int_equal(confidence->features_count, count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(confidence->features[i].name.ptr, features[i].name.ptr);
		assert_int_equal(confidence->features[i].name.len, features[i].name.len);
		assert_true(confidence->features[i].value == features[i].value);
	}
}

/* However many there are, and however long their names; of one name twice the last one counts. */
static void test_maps_of_numbers(void **state)
{
	(void)state;
	enum { MOST = 300 };
	static const size_t COUNTS[] = { 0, 1, 2, 23, 64, 65, MOST };
	static struct record_feature features[MOST + 1];
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(codec_cleanup) struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	struct scored_query *scored = full_scored(arena), *back;
	for (size_t i = 0; i < MOST; i++)
		features[i] = (struct record_feature){ arena_printf(arena, "%*zu", (int)(i % 160), i),
						       1 / ((double)i - 7.5) };
	features[3].name = STR("");
	features[4].name = STR("a\xc3\xa4");
	for (size_t i = 0; i < COUNT_OF(COUNTS); i++) {
		_cleanup_(buf_free) struct buf message = BUF_INIT;
		size_t count = COUNTS[i];
		scored->confidence.features = features;
		scored->confidence.features_count = count;
		assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
		assert_int_equal(codec_decode_scored(codec, message.data, message.len, arena, &back, NULL),
				 ERR_OK);
		check_features(&back->confidence, features, count);
		if (count == 0)
			continue;
		features[count] = (struct record_feature){ features[count / 2].name, 5 };
		scored->confidence.features_count = count + 1;
		buf_reset(&message);
		assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
		assert_int_equal(codec_decode_scored(codec, message.data, message.len, arena, &back, NULL),
				 ERR_OK);
		assert_true(back->confidence.features[count / 2].value == 5);
		back->confidence.features[count / 2].value = features[count / 2].value;
		check_features(&back->confidence, features, count);
		features[count] = (struct record_feature){ arena_printf(arena, "again %zu", count), 6 };
	}
}

/* Names that cannot be: what is no UTF-8 is repaired, and a NUL is refused. */
static void test_names_in_maps(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(codec_cleanup) struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	struct scored_query *scored = full_scored(arena), *back;
	struct record_feature feature = { STR("a\xff"), 1 };
	scored->confidence.features = &feature;
	scored->confidence.features_count = 1;
	assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
	assert_int_equal(codec_decode_scored(codec, message.data, message.len, arena, &back, NULL), ERR_OK);
	assert_string_equal(back->confidence.features[0].name.ptr, "a\xef\xbf\xbd");
	feature.name = STR("a\0b");
	buf_reset(&message);
	assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
	assert_int_equal(codec_decode_scored(codec, message.data, message.len, arena, &back, NULL),
			 ERR_AVRO_VALUE);
}

/* The Avro project's own C library reads what we write, to the last byte, and writes as much again. */
static void check_with_library(enum record_id id, const struct buf *message)
{
	str_t text = builtin_schema(id);
	avro_schema_t schema;
	avro_value_t value;
	size_t size = 0;
	assert_int_equal(avro_schema_from_json_length(text.ptr, text.len, &schema), 0);
	avro_value_iface_t *interface = avro_generic_class_from_schema(schema);
	assert_int_equal(avro_generic_value_new(interface, &value), 0);
	avro_reader_t reader = avro_reader_memory(message->data + 10, (int64_t)message->len - 10);
	assert_int_equal(avro_value_read(reader, &value), 0);
	assert_int_equal(avro_value_sizeof(&value, &size), 0);
	assert_int_equal(size, message->len - 10);
	avro_reader_free(reader);
	avro_value_decref(&value);
	avro_value_iface_decref(interface);
	avro_schema_decref(schema);
}

static void test_library_agrees(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf query = BUF_INIT;
	_cleanup_(buf_free) struct buf scored = BUF_INIT;
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	assert_int_equal(codec_encode_query(codec, full_query(arena), &query), ERR_OK);
	assert_int_equal(codec_encode_scored(codec, full_scored(arena), &scored), ERR_OK);
	check_with_library(RECORD_QUERY, &query);
	check_with_library(RECORD_SCORED, &scored);
	codec_free(codec);
}

static void test_advisory_round_trips(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	const struct advisory drift = {
		.advisory_id = STR("episode-1"),
		.kind = ADVISORY_CALIBRATION_DRIFT,
		.event_type = STR("CALIBRATION_DRIFT"),
		.raised_at = 5,
		.level = ENUM_ABSENT,
		.action = RECORD_ACTION_VERIFY,
		.kinds = full_tables,
		.kinds_count = 2,
		.reasons = full_advice,
		.reasons_count = 1,
		.factors = full_weights,
		.factors_count = 2,
		.remedy = STR("r"),
		.question = STR("q"),
		.sql = STR("sql"),
		.truth_sql = STR("truth"),
		.scored_topic = STR("out"),
		.threshold = { true, 0.5 },
		.value = { true, 0.49 },
		.summary = STR("s"),
		.episode_id = STR("episode-1"),
		.suppressed = 3,
		.drift_direction = STR("LOWER"),
		.drift_size = { true, -0.25 },
		.drift_since = { true, 4 },
	};
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	struct advisory *back;
	assert_int_equal(codec_encode_advisory(codec, &drift, &message), ERR_OK);
	assert_int_equal(codec_decode_advisory(codec, message.data, message.len, arena, &back, NULL), ERR_OK);
	codec_json_advisory(back, &json);
	assert_string_equal(
		json.data,
		"{\"advisory_id\":\"episode-1\",\"kind\":\"CALIBRATION_DRIFT\",\"kinds\":[\"users\","
		"\"orders\"],"
		"\"event_type\":\"CALIBRATION_DRIFT\",\"raised_at\":5,\"level\":null,\"action\":\"VERIFY\","
		"\"reasons\":[{\"code\":\"expand_query\",\"text\":\"t\"}],\"threshold\":0.5,"
		"\"value\":0.49,\"limiting_factor\":null,\"factors\":{\"structural\":0.4,\"judge\":0.15},"
		"\"summary\":\"s\",\"remedy\":\"r\",\"question\":\"q\",\"sql\":\"sql\",\"truth_sql\":"
		"\"truth\",\"event_id\":null,"
		"\"occurred_at\":null,\"application\":null,\"model\":null,\"prompt_version\":null,"
		"\"target\":null,\"topic\":null,\"partition\":null,\"offset\":null,\"scored_topic\":\"out\","
		"\"episode_id\":\"episode-1\",\"suppressed\":3,\"drift_direction\":\"LOWER\","
		"\"drift_size\":-0.25,\"drift_since\":4}");
	codec_free(codec);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(advisory_kind_name(ADVISORY_LOW_CONFIDENCE), "LOW_CONFIDENCE");
	assert_string_equal(advisory_kind_name(ADVISORY_CALIBRATION_DRIFT), "CALIBRATION_DRIFT");
	assert_string_equal(advisory_kind_name(ADVISORY_WRONG_ANSWER), "WRONG_ANSWER");
	assert_string_equal(advisory_kind_name(ADVISORY_TARGET_UNAVAILABLE), "TARGET_UNAVAILABLE");
	assert_string_equal(advisory_kind_name(ADVISORY_REVIEW_REQUIRED), "REVIEW_REQUIRED");
	assert_string_equal(advisory_kind_name(ADVISORY_KIND_COUNT_), "UNKNOWN");
	for (unsigned kind = 0; kind < ADVISORY_KIND_COUNT_; kind++) {
		enum advisory_kind former = advisory_kind_former((enum advisory_kind)kind);
		assert_true(former < ADVISORY_FORMER_KINDS);
		assert_true(former == kind || kind >= ADVISORY_FORMER_KINDS);
	}
	assert_string_equal(advisory_action_name(RECORD_ACTION_USE), "USE");
	assert_string_equal(advisory_level_name(LEVEL_VERY_LOW), "VERY_LOW_CONFIDENCE");
	assert_string_equal(advisory_level_name(LEVEL_LOW), "LOW_CONFIDENCE");
	assert_string_equal(advisory_level_name(LEVEL_MEDIUM), "MEDIUM_CONFIDENCE");
	assert_string_equal(advisory_level_name(LEVEL_HIGH), "HIGH_CONFIDENCE");
}

/* NaN is carried through Avro, for the score to count it, and is null in JSON. */
static void test_not_a_number(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	struct generated_query *query = full_query(arena), *back;
	query->generator_confidence = opt_double(NAN);
	query->retrieval->chunks[0].rrf_score = opt_double(-INFINITY);
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	assert_int_equal(codec_encode_query(codec, query, &message), ERR_OK);
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &back, NULL), ERR_OK);
	assert_true(back->generator_confidence.set && isnan(back->generator_confidence.value));
	assert_true(isinf(back->retrieval->chunks[0].rrf_score.value));
	codec_json_query(back, &json);
	assert_non_null(strstr(json.data, "\"generator_confidence\":null"));
	assert_non_null(strstr(json.data, "\"rrf_score\":null"));
	codec_free(codec);
}

/* What is written is valid for every reader, even where a text of ours was cut inside a character. */
static void test_broken_text_is_repaired(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	struct generated_query *query = full_query(arena), *back;
	query->question = STR("a\xe2\x82z\xff");
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	_cleanup_(buf_free) struct buf json = BUF_INIT;
	assert_int_equal(codec_encode_query(codec, query, &message), ERR_OK);
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &back, NULL), ERR_OK);
	assert_string_equal(back->question.ptr, "a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd");
	codec_json_query(query, &json);
	assert_non_null(strstr(json.data, "\"a\\ufffd\\ufffdz\\ufffd\""));
	codec_free(codec);
}

static void test_enumeration_without_value_is_refused(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	struct scored_query *scored = full_scored(arena);
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	buf_append_text(&message, "before");
	scored->safety.verdict = 3;
	assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_AVRO_CODEC);
	assert_int_equal(message.len, 6);
	scored->safety.verdict = VERDICT_SAFE;
	assert_int_equal(codec_encode_scored(codec, scored, &message), ERR_OK);
	codec_free(codec);
}

static void test_messages_refused(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct codec_options options = { .max_event_bytes = 1000, .max_items = 2 };
	struct codec *codec;
	assert_int_equal(codec_new(&options, &codec, NULL), ERR_OK);
	struct codec *writer = codec_of(WIRE_SINGLE_OBJECT);
	_cleanup_(buf_free) struct buf query = BUF_INIT;
	_cleanup_(buf_free) struct buf scored = BUF_INIT;
	struct generated_query *full = full_query(arena), *back;
	full->ground_truth->alternatives_count = 2;
	assert_int_equal(codec_encode_query(writer, full, &query), ERR_OK);
	assert_int_equal(codec_decode_query(codec, query.data, query.len, arena, &back, NULL), ERR_OK);
	for (size_t len = 0; len < query.len; len++)
		assert_int_not_equal(codec_decode_query(codec, query.data, len, arena, &back, NULL), ERR_OK);
	buf_append_char(&query, 0);
	assert_int_equal(codec_decode_query(codec, query.data, query.len, arena, &back, NULL),
			 ERR_AVRO_TRAILING);
	buf_reset(&query);
	full->ground_truth->alternatives_count = 3;
	assert_int_equal(codec_encode_query(writer, full, &query), ERR_OK);
	assert_int_equal(codec_decode_query(codec, query.data, query.len, arena, &back, NULL),
			 ERR_AVRO_ITEMS);
	assert_int_equal(codec_decode_query(codec, query.data, 1001, arena, &back, NULL),
			 ERR_EVENT_TOO_LARGE);
	query.data[2]++;
	assert_int_equal(codec_decode_query(codec, query.data, query.len, arena, &back, NULL),
			 ERR_SCHEMA_UNKNOWN);
	assert_int_equal(codec_decode_query(codec, "\0\0\0\0\1x", 6, arena, &back, NULL), ERR_FRAME_UNKNOWN);
	assert_int_equal(codec_decode_query(codec, "hello", 5, arena, &back, NULL), ERR_FRAME_UNKNOWN);
	assert_int_equal(codec_encode_scored(writer, full_scored(arena), &scored), ERR_OK);
	struct err_detail detail = { "" };
	assert_int_equal(codec_decode_query(writer, scored.data, scored.len, arena, &back, &detail),
			 ERR_SCHEMA_INCOMPATIBLE);
	assert_non_null(strstr(detail.message, "\"question\""));
	codec_free(codec);
	codec_free(writer);
	codec_free(NULL);
}

static void test_large_records(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	struct generated_query *query = full_query(arena), *back;
	char *text = arena_alloc(arena, 200001);
	memset(text, 'x', 200000);
	for (int round = 0; round < 3; round++) {
		_cleanup_(buf_free) struct buf message = BUF_INIT;
		query->sql = round == 1 ? STR("short") : (str_t){ text, 200000 };
		assert_int_equal(codec_encode_query(codec, query, &message), ERR_OK);
		assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &back, NULL),
				 ERR_OK);
		assert_true(str_equal(back->sql, query->sql));
	}
	codec_free(codec);
}

/* ---- schemas that a registry names ---- */

/* The query, framed for that schema of a registry. */
static void frame_for(uint32_t id, struct buf *out)
{
	struct arena *arena = arena_new();
	struct codec *codec = codec_of(WIRE_SINGLE_OBJECT);
	struct buf message = BUF_INIT;
	assert_int_equal(codec_encode_query(codec, full_query(arena), &message), ERR_OK);
	framing_write_confluent(id, out);
	buf_append(out, message.data + 10, message.len - 10);
	buf_free(&message);
	codec_free(codec);
	arena_free(arena);
}

static void test_named_schemas(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	const struct codec_options options = { .max_named = 2 };
	const struct schema_name seven = { .id = 7 }, eight = { .id = 8 }, nine = { .id = 9 };
	struct codec *codec;
	struct generated_query *query;
	struct err_detail detail = { "" };
	assert_int_equal(codec_new(&options, &codec, &detail), ERR_OK);
	frame_for(7, &message);
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &query, &detail),
			 ERR_SCHEMA_AWAITED);
	assert_false(codec_knows_named(codec, &seven));
	/* what is no schema, or none of our records, is not remembered */
	assert_int_equal(codec_learn_named(codec, &seven, STR("{"), &detail), ERR_JSON_SYNTAX);
	assert_int_equal(codec_learn_named(codec, &seven,
					   STR("{\"type\":\"record\",\"name\":\"a\",\"fields\":[{"
					       "\"name\":\"sql\",\"type\":\"int\"}]}"),
					   &detail),
			 ERR_SCHEMA_INCOMPATIBLE);
	if (!strstr(detail.message, "sql"))
		fail_msg("%s", detail.message);
	assert_int_equal(codec_named_count(codec), 0);
	assert_int_equal(codec_learn_named(codec, &seven, builtin_schema(RECORD_QUERY), &detail), ERR_OK);
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &query, &detail),
			 ERR_OK);
	assert_true(str_equal(query->sql, full_query(arena)->sql));
	/* the same by the header, with the data alone as the value */
	assert_int_equal(codec_decode_query_headed(codec, (str_t){ "\0\0\0\0\x07", 5 }, message.data + 5,
						   message.len - 5, arena, &query, &detail),
			 ERR_OK);
	/* another record's: readable, but not as an event */
	assert_int_equal(codec_learn_named(codec, &eight, builtin_schema(RECORD_FEEDBACK), &detail), ERR_OK);
	message.data[4] = 8;
	assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &query, &detail),
			 ERR_SCHEMA_INCOMPATIBLE);
	assert_non_null(strstr(detail.message, "schema 8"));
	assert_int_equal(codec_learn_named(codec, &nine, builtin_schema(RECORD_QUERY), &detail),
			 ERR_SCHEMA_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "registry.max_schemas"));
	codec_free(codec);
}

/* Two that differ in the units of their timestamps alone are two, though the canonical form of both is one.
 */
static void test_named_schemas_of_other_units(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const char millis[] = "timestamp-millis", micros[] = "timestamp-micros";
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	const struct codec_options options = { .max_named = 4 };
	const struct schema_name seven = { .id = 7 }, eight = { .id = 8 };
	struct codec *codec;
	struct generated_query *query;
	str_t text = builtin_schema(RECORD_QUERY);
	const char *unit = strstr(text.ptr, millis);
	assert_non_null(unit);
	str_t other = arena_printf(arena, "%.*s%s%s", (int)(unit - text.ptr), text.ptr, micros,
				   unit + strlen(millis));
	assert_int_equal(codec_new(&options, &codec, NULL), ERR_OK);
	assert_int_equal(codec_learn_named(codec, &seven, text, NULL), ERR_OK);
	assert_int_equal(codec_learn_named(codec, &eight, other, NULL), ERR_OK);
	frame_for(7, &message);
	char *occurred_at = message.data + 5 + 1 + full_query(arena)->event_id.len;
	assert_int_equal(*occurred_at, 0x01); /* −1 */
	*occurred_at = 0x7f;		      /* −64 */
	for (int id = 7; id <= 8; id++) {
		message.data[4] = (char)id;
		assert_int_equal(codec_decode_query(codec, message.data, message.len, arena, &query, NULL),
				 ERR_OK);
		assert_int_equal(query->occurred_at, id == 7 ? -64 : -1);
	}
	codec_free(codec);
}

static err_t teach(const struct schema_name *name, void *context, struct err_detail *detail)
{
	struct codec *codec = context;
	if (name->id != 5)
		return err_fail(detail, ERR_SCHEMA_UNKNOWN, "no such thing");
	return codec_learn_named(codec, name, builtin_schema(RECORD_ADVISORY), detail);
}

static void test_confluent_output(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	const struct codec_options options = { .output = WIRE_CONFLUENT, .max_named = 4 };
	struct codec *codec, *reader;
	struct advisory *back;
	struct err_detail detail = { "" };
	assert_int_equal(codec_new(&options, &codec, &detail), ERR_OK);
	assert_int_equal(codec_new(&options, &reader, &detail), ERR_OK);
	struct advisory advisory = { .event_id = STR("e") };
	assert_int_equal(codec_encode_advisory(codec, &advisory, &message), ERR_AVRO_CODEC);
	codec_set_written_id(codec, RECORD_ADVISORY, 5);
	assert_int_equal(codec_encode_advisory(codec, &advisory, &message), ERR_OK);
	assert_memory_equal(message.data, "\0\0\0\0\x05", 5);
	assert_int_equal(codec_decode_advisory(codec, message.data, message.len, arena, &back, &detail),
			 ERR_OK);
	/* another one asks */
	assert_int_equal(codec_decode_advisory(reader, message.data, message.len, arena, &back, &detail),
			 ERR_SCHEMA_AWAITED);
	codec_set_resolver(reader, teach, reader, NULL);
	assert_int_equal(codec_decode_advisory(reader, message.data, message.len, arena, &back, &detail),
			 ERR_OK);
	assert_true(str_is(back->event_id, "e"));
	message.data[4] = 6;
	assert_int_equal(codec_decode_advisory(reader, message.data, message.len, arena, &back, &detail),
			 ERR_SCHEMA_UNKNOWN);
	codec_free(codec);
	codec_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_query_round_trips),
		cmocka_unit_test(test_absent_stays_absent),
		cmocka_unit_test(test_scored_round_trips),
		cmocka_unit_test(test_maps_of_numbers),
		cmocka_unit_test(test_names_in_maps),
		cmocka_unit_test(test_library_agrees),
		cmocka_unit_test(test_advisory_round_trips),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_a_number),
		cmocka_unit_test(test_broken_text_is_repaired),
		cmocka_unit_test(test_enumeration_without_value_is_refused),
		cmocka_unit_test(test_messages_refused),
		cmocka_unit_test(test_large_records),
		cmocka_unit_test(test_named_schemas),
		cmocka_unit_test(test_named_schemas_of_other_units),
		cmocka_unit_test(test_confluent_output),
	};
	return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
