/*
 * The worked examples of assayd-formulas(7), computed by the program's own functions. An example's inputs are
 * read by name, and each has to be used, so that none says what does not count.
 */
#include "calibration/model/model.h"
#include "compare/compare.h"
#include "compare/fingerprint.h"
#include "compare/sample.h"
#include "event/response.h"
#include "event/sampling.h"
#include "judge/panel.h"
#include "judge/reply.h"
#include "score/agreement.h"
#include "score/correlation.h"
#include "score/disposition.h"
#include "score/evaluation.h"
#include "score/grading.h"
#include "score/match.h"
#include "score/overall.h"
#include "score/semantic.h"
#include "score/technical.h"

#include "tests/unit/score/close.h"

enum { INPUTS_MAX = 24, ITEMS_MAX = 8, RESULT_BYTES = 256 };

struct example_input {
	const char *name, *value;
	bool used;
};

/* An example while it is computed. */
struct example {
	const char *formula;
	struct example_input inputs[INPUTS_MAX];
	size_t count;
	struct arena *arena;
	char result[RESULT_BYTES];
};

static void read_inputs(struct example *example, const char *text)
{
	char *rest = arena_strdup(example->arena, text), *input;
	while ((input = rest)) {
		rest = strstr(input, "; ");
		if (rest) {
			*rest = '\0';
			rest += 2;
		}
		char *value = strstr(input, " = ");
		assert_non_null(value);
		*value = '\0';
		assert_true(example->count < INPUTS_MAX);
		example->inputs[example->count++] = (struct example_input){ input, value + 3, false };
	}
}

/* NULL: the example does not say. */
static const char *find(struct example *example, const char *name)
{
	for (size_t i = 0; i < example->count; i++)
		if (strcmp(example->inputs[i].name, name) == 0) {
			example->inputs[i].used = true;
			return example->inputs[i].value;
		}
	return NULL;
}

static const char *text(struct example *example, const char *name)
{
	const char *value = find(example, name);
	if (!value)
		fail_msg("%s: no input \"%s\"", example->formula, name);
	return value;
}

static opt_double_t number_of(const char *value)
{
	char *end;
	if (!value || strcmp(value, "-") == 0)
		return (opt_double_t)OPT_NONE;
	double number = strtod(value, &end);
	assert_true(end != value && *end == '\0');
	return opt_double(number);
}

static opt_double_t optional(struct example *example, const char *name)
{
	return number_of(text(example, name));
}

static double number(struct example *example, const char *name)
{
	opt_double_t value = optional(example, name);
	assert_true(value.set);
	return value.value;
}

static size_t whole(struct example *example, const char *name)
{
	return (size_t)number(example, name);
}

static bool yes(const char *value)
{
	assert_true(strcmp(value, "yes") == 0 || strcmp(value, "no") == 0);
	return strcmp(value, "yes") == 0;
}

static bool flag(struct example *example, const char *name)
{
	return yes(text(example, name));
}

/* Items with commas between; how many. */
static size_t list(struct example *example, const char *name, str_t items[ITEMS_MAX])
{
	char *rest = arena_strdup(example->arena, text(example, name)), *item;
	size_t count = 0;
	while (*rest && (item = rest)) {
		char *comma = strstr(item, ", ");
		rest = comma ? comma + 2 : item + strlen(item);
		if (comma)
			*comma = '\0';
		assert_true(count < ITEMS_MAX);
		items[count++] = str_from(item);
	}
	return count;
}

/* Place of a name in a list, which has it. */
static size_t place(struct example *example, const char *name, const char *const *names, size_t count)
{
	const char *value = text(example, name);
	size_t i = 0;
	while (i < count && strcmp(value, names[i]) != 0)
		i++;
	if (i == count)
		fail_msg("%s: nothing is called %s", example->formula, value);
	return i;
}

static void put_text(struct example *example, const char *value)
{
	snprintf(example->result, RESULT_BYTES, "%s", value ? value : "-");
}

static void put_flag(struct example *example, bool value)
{
	put_text(example, value ? "yes" : "no");
}

static void put(struct example *example, opt_double_t value)
{
	if (value.set)
		snprintf(example->result, RESULT_BYTES, "%.17g", value.value);
	else
		put_text(example, NULL);
}

/* Behind those that are there already. */
static void put_item(struct example *example, const char *item)
{
	size_t length = strlen(example->result);
	snprintf(example->result + length, RESULT_BYTES - length, "%s%s", length ? ", " : "", item);
}

static bool asks(const struct example *example, const char *formula)
{
	return strcmp(example->formula, formula) == 0;
}

static const char *const levels[] = { "VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE", "MEDIUM_CONFIDENCE",
				      "HIGH_CONFIDENCE" };

static void put_level(struct example *example, enum score_level level)
{
	put_text(example, levels[level]);
}

/* ---- technical ---- */

static void technical(struct example *example)
{
	static const char *const sources[] = { "OWN", "EVENT", "WORST" };
	if (asks(example, "technical.names_unknown_table")) {
		put_flag(example, technical_text_is_unknown_table(str_from(text(example, "text"))));
	} else if (asks(example, "technical.choice")) {
		size_t source = place(example, "source", sources, COUNT(sources));
		put(example, technical_choose((enum technical_source)source, optional(example, "own"),
					      optional(example, "upstream")));
	} else if (asks(example, "technical.score")) {
		const struct technical_findings findings = { flag(example, "valid"),
							     flag(example, "unknown_table"),
							     whole(example, "errors"),
							     whole(example, "warnings") };
		put(example, opt_double(technical_score(&findings)));
	}
}

/* ---- retrieval and advisory ---- */

static void chunk(struct example *example)
{
	const struct retrieval_chunk item = { .rerank = optional(example, "rerank"),
					      .boosted = optional(example, "boosted"),
					      .rrf = optional(example, "rrf") };
	put(example, retrieval_chunk_score(&item, number(example, "rrf_scale")));
}

static size_t read_chunks(struct example *example, struct retrieval_chunk chunks[ITEMS_MAX])
{
	static const char *const names[] = { "rerank", "bm25", "dense", "rrf", "graph" };
	str_t items[COUNT(names)][ITEMS_MAX], documents[ITEMS_MAX];
	size_t count = list(example, "documents", documents);
	for (size_t i = 0; i < COUNT(names); i++)
		assert_int_equal(list(example, names[i], items[i]), count);
	for (size_t i = 0; i < count; i++)
		chunks[i] = (struct retrieval_chunk){
			.rerank = number_of(items[0][i].ptr),
			.bm25 = number_of(items[1][i].ptr),
			.dense = number_of(items[2][i].ptr),
			.rrf = number_of(items[3][i].ptr),
			.graph_boost = number_of(items[4][i].ptr),
			.document_id = str_is(documents[i], "-") ? STR_NONE : documents[i],
		};
	return count;
}

static void put_retrieval(struct example *example, const struct retrieval_score *score)
{
	const struct {
		const char *name;
		opt_double_t value;
	} numbers[] = {
		{ "retrieval.confidence", opt_double(score->confidence) },
		{ "retrieval.top_score", opt_double(score->top_score) },
		{ "retrieval.score_gap", opt_double(score->score_gap) },
		{ "retrieval.score_spread", opt_double(score->score_spread) },
		{ "retrieval.consensus_count", opt_double((double)score->consensus_count) },
		{ "retrieval.bm25_dense_agreement", score->bm25_dense_agreement },
		{ "retrieval.reranker_impact", score->reranker_impact },
		{ "retrieval.document_diversity", opt_double(score->document_diversity) },
	};
	for (size_t i = 0; i < COUNT(numbers); i++)
		if (asks(example, numbers[i].name))
			put(example, numbers[i].value);
}

static void retrieval(struct example *example)
{
	struct retrieval_chunk chunks[ITEMS_MAX];
	size_t count = read_chunks(example, chunks);
	const struct retrieval_options options = RETRIEVAL_OPTIONS_DEFAULT;
	struct retrieval_score score;
	retrieval_score(chunks, count, &options, example->arena, &score);
	put_retrieval(example, &score);
	if (asks(example, "retrieval.level"))
		put_level(example, score.level);
	if (asks(example, "retrieval.interpretation"))
		put_text(example, retrieval_interpretation_name(score.interpretation));
	for (size_t i = 0; asks(example, "retrieval.recommendations") && i < score.recommendations_count; i++)
		put_item(example, score.recommendations[i].code);
}

static enum response_quality quality(struct example *example)
{
	str_t required[ITEMS_MAX], optional_fields[ITEMS_MAX];
	if (find(example, "response")) {
		assert_string_equal(text(example, "response"), "complete");
		return RESPONSE_COMPLETE;
	}
	const struct model_response response = {
		.raw = str_from(text(example, "raw")),
		.required_fields = required,
		.required_fields_count = list(example, "required", required),
		.optional_fields = optional_fields,
		.optional_fields_count = list(example, "optional", optional_fields),
	};
	return response_check(&response);
}

static size_t read_sources(struct example *example, struct retrieval_chunk chunks[ITEMS_MAX])
{
	static const char *const kinds[] = { "GOVERNMENT", "REGULATORY", "MARKET_DATA", "THIRD_PARTY",
					     "UNKNOWN" };
	str_t scores[ITEMS_MAX], sources[ITEMS_MAX];
	if (!find(example, "scores"))
		return 0;
	size_t count = list(example, "scores", scores);
	assert_int_equal(list(example, "sources", sources), count);
	for (size_t i = 0; i < count; i++) {
		size_t kind = 0;
		while (kind < COUNT(kinds) && !str_is(sources[i], kinds[kind]))
			kind++;
		assert_true(kind < COUNT(kinds));
		chunks[i] = (struct retrieval_chunk){ .rerank = number_of(scores[i].ptr),
						      .source = (enum chunk_source)kind };
	}
	return count;
}

static void advisory(struct example *example)
{
	struct retrieval_chunk chunks[ITEMS_MAX];
	struct advisory_score score;
	size_t count = read_sources(example, chunks);
	advisory_score(chunks, count, 1, quality(example), &LEVEL_THRESHOLDS_ANSWER, &score);
	if (asks(example, "advisory.retrieval_quality"))
		put(example, opt_double(score.retrieval_quality));
	if (asks(example, "advisory.source_quality"))
		put(example, opt_double(score.source_quality));
	if (asks(example, "advisory.response_quality"))
		put(example, opt_double(score.response_quality));
	if (asks(example, "advisory.confidence"))
		put(example, opt_double(score.confidence));
}

/* ---- agreement, overall, probability ---- */

static void agreement(struct example *example)
{
	put(example, opt_double(agreement_share(whole(example, "same") - 1, whole(example, "texts") - 1)));
}

static void level(struct example *example)
{
	const struct level_thresholds bounds = { number(example, "high"), number(example, "medium"),
						 number(example, "low") };
	put_level(example, level_of(number(example, "value"), &bounds));
}

static void overall(struct example *example)
{
	static const char *const names[] = { "TECHNICAL", "ADVISORY",  "RETRIEVAL",
					     "GENERATOR", "AGREEMENT", "RETRIEVAL_WITHOUT_ADVISORY" };
	enum overall_factor factors[FACTOR_COUNT_];
	str_t items[ITEMS_MAX];
	struct overall_input input = {
		.factors = factors,
		.unsafe = flag(example, "unsafe"),
		.technical_alone = (enum score_level)place(example, "technical_alone", levels, COUNT(levels)),
		.thresholds = LEVEL_THRESHOLDS_ANSWER,
	};
	size_t count = list(example, "factors", items);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < COUNT(names); k++)
			if (str_is(items[i], names[k])) {
				factors[input.factors_count++] = (enum overall_factor)k;
				input.values[k] = optional(example, names[k]);
			}
	assert_int_equal(input.factors_count, count);
	struct overall_score score;
	overall_score(&input, &score);
	if (asks(example, "overall.confidence"))
		put(example, score.confidence);
	if (asks(example, "overall.limiting_factor"))
		put_text(example, score.limiting_factor);
	if (asks(example, "overall.level"))
		put_level(example, score.level);
}

/* What the example says, with commas alone; nothing where it does not. */
static const char *array(struct example *example, const char *name)
{
	str_t items[ITEMS_MAX];
	const char *joined = "";
	size_t count = find(example, name) ? list(example, name, items) : 0;
	for (size_t i = 0; i < count; i++)
		joined = arena_printf(example->arena, "%s%s%s", joined, i ? "," : "", items[i].ptr).ptr;
	return joined;
}

/* Pairs of overall confidence and score. */
static const char *steps_of(struct example *example)
{
	str_t items[ITEMS_MAX];
	const char *joined = "";
	size_t count = find(example, "steps") ? list(example, "steps", items) : 0;
	for (size_t i = 0; i + 1 < count; i += 2)
		joined = arena_printf(example->arena, "%s%s{\"overall\":%s,\"score\":%s,\"left_out\":[]}",
				      joined, i ? "," : "", items[i].ptr, items[i + 1].ptr)
				 .ptr;
	return count > 0 ? arena_printf(example->arena, "\"steps\":[%s],", joined).ptr : "";
}

/* Triples of log odds, shift and variance. */
static const char *places_of(struct example *example)
{
	str_t items[ITEMS_MAX];
	const char *joined = "";
	size_t count = find(example, "places") ? list(example, "places", items) : 0;
	for (size_t i = 0; i + 2 < count; i += 3)
		joined = arena_printf(example->arena, "%s%s{\"log_odds\":%s,\"shift\":%s,\"variance\":%s}",
				      joined, i ? "," : "", items[i].ptr, items[i + 1].ptr, items[i + 2].ptr)
				 .ptr;
	return count > 0 ? arena_printf(example->arena, "\"places\":[%s],", joined).ptr : "";
}

/* What applications or segments differ by; 0 where the example does not say. */
static const char *spread_of(struct example *example, const char *name)
{
	str_t items[ITEMS_MAX];
	bool there = find(example, name) && list(example, name, items) == 2;
	return arena_printf(example->arena, "\"%s\":{\"intercept\":%s,\"slope\":%s},", name,
			    there ? items[0].ptr : "0", there ? items[1].ptr : "0")
		.ptr;
}

static str_t term_of(struct example *example)
{
	return arena_printf(
		example->arena,
		"\"constant\":%s,\"constant_left_out\":[%s],\"terms\":[{\"name\":\"overall\",\"mean\":%s,"
		"\"deviation\":%s,\"scale\":%s,\"coefficient\":%s,\"left_out\":[%s]}],",
		text(example, "constant"), array(example, "constant_left_out"), text(example, "mean"),
		text(example, "deviation"), text(example, "scale"), text(example, "coefficient"),
		array(example, "left_out"));
}

static str_t line_of(struct example *example)
{
	return arena_printf(
		example->arena,
		"\"centre\":%s,\"spans_variance\":%s,\"lines\":[{\"depth\":\"all\",\"labels\":100,"
		"\"intercept\":%s,\"slope\":%s,\"variance_intercept\":%s,\"variance_slope\":%s,"
		"\"covariance\":%s}]}",
		text(example, "centre"), text(example, "spans_variance"), text(example, "intercept"),
		text(example, "slope"), text(example, "variance_intercept"), text(example, "variance_slope"),
		text(example, "covariance"));
}

/* A map with one line, of the numbers that the example names. */
static struct model *map_of(struct example *example)
{
	struct model *model;
	struct err_detail detail;
	const char *steps = steps_of(example);
	const str_t term = term_of(example), line = line_of(example);
	str_t document = arena_printf(
		example->arena,
		"{\"format\":%d,\"kind\":\"map\",\"version\":1,\"from_ms\":0,\"to_ms\":1,\"labels\":100,"
		"\"mean\":0.5,"
		"\"proven\":false,\"quality\":{\"cases\":0,\"log_loss\":0,\"log_loss_constant\":0,\"auroc\":"
		"0.5,"
		"\"auroc_low\":0.5,\"auroc_high\":0.5,\"auroc_overall\":0.5,\"ece\":0,\"ece_low\":0}," STR_FMT
		"%s%s%s%s" STR_FMT,
		*steps ? 2 : 1, STR_ARG(term), steps, places_of(example), spread_of(example, "applications"),
		spread_of(example, "segments"), STR_ARG(line));
	if (model_decode(document, &model, &detail))
		fail_msg("%s", detail.message);
	return model;
}

static void probability(struct example *example)
{
	if (asks(example, "probability.level")) {
		const struct level_thresholds bounds = { number(example, "high"), number(example, "medium"),
							 number(example, "low_bound") };
		put_level(example,
			  level_of_estimate(number(example, "value"), number(example, "low"), &bounds));
		return;
	}
	const struct model_case item = { .overall = optional(example, "overall") };
	_cleanup_(model_cleanup) struct model *model = map_of(example);
	struct model_estimate estimate;
	struct model_contribution addend;
	assert_true(model_estimate(model, &item, &estimate));
	assert_int_equal(model_contributions(model, &item, &addend, 1), 1);
	if (asks(example, "probability.value"))
		put(example, opt_double(estimate.value));
	if (asks(example, "probability.low"))
		put(example, opt_double(estimate.low));
	if (asks(example, "probability.high"))
		put(example, opt_double(estimate.high));
	if (asks(example, "probability.addend"))
		put(example, opt_double(addend.addend));
}

/* ---- structure ---- */

/* Items whose Jaccard is 0, 0.5 or 1. */
static void set_clause(struct semantic_query *generated, struct semantic_query *truth, size_t clause,
		       double jaccard)
{
	static const str_t items[] = { { "a", 1 }, { "b", 1 } };
	assert_true(jaccard == 0 || jaccard == 0.5 || jaccard == 1);
	generated->clauses[clause] = (struct semantic_items){ items, jaccard == 0.5 ? 2 : 1 };
	truth->clauses[clause] = (struct semantic_items){ items, jaccard == 0 ? 0 : 1 };
}

static void semantic(struct example *example)
{
	static const char *const names[] = { "select", "where", "from", "group", "order", "join" };
	struct semantic_query generated = { .canonical = STR("one") }, truth = generated;
	struct semantic_comparison comparison;
	if (!flag(example, "same_form"))
		truth.canonical = STR("other");
	for (size_t i = 0; i < COUNT(names); i++)
		set_clause(&generated, &truth, i, number(example, names[i]));
	put(example, semantic_score(&generated, &truth, example->arena, &comparison));
}

static void clause(struct example *example)
{
	str_t ours[ITEMS_MAX], theirs[ITEMS_MAX];
	struct semantic_query generated = { .canonical = STR("one") }, truth = { .canonical = STR("other") };
	struct semantic_comparison comparison;
	generated.clauses[SEMANTIC_SELECT] =
		(struct semantic_items){ ours, list(example, "generated", ours) };
	truth.clauses[SEMANTIC_SELECT] = (struct semantic_items){ theirs, list(example, "truth", theirs) };
	semantic_score(&generated, &truth, example->arena, &comparison);
	put(example, opt_double(comparison.clauses[SEMANTIC_SELECT]));
}

static void structure(struct example *example)
{
	static const str_t search_path[] = { { "public", 6 } };
	str_t used[ITEMS_MAX], expected[ITEMS_MAX];
	if (asks(example, "structure.structural"))
		put(example,
		    opt_double(semantic_structural_score(flag(example, "valid"), whole(example, "errors"))));
	if (asks(example, "structure.semantic"))
		semantic(example);
	if (asks(example, "structure.clause"))
		clause(example);
	if (!asks(example, "structure.table_accuracy"))
		return;
	size_t used_count = list(example, "used", used), expected_count = list(example, "expected", expected);
	put(example, opt_double(semantic_table_accuracy(used, used_count, expected, expected_count,
							search_path, 1, example->arena)));
}

/* ---- result ---- */

static struct compare_verdict compare(struct example *example, struct result_set *generated,
				      struct result_set *truth)
{
	static const struct result_column column = { { "n", 1 }, CELL_DECIMAL };
	const struct compare_options options = { .ordered = false };
	struct compare_verdict verdict;
	generated->columns = truth->columns = &column;
	generated->columns_count = truth->columns_count = 1;
	compare_results(generated, truth, &options, example->arena, &verdict);
	return verdict;
}

static bool are_equal(struct example *example)
{
	const str_t one = str_from(text(example, "one")), other = str_from(text(example, "other"));
	struct result_set generated = { .cells = &one, .rows_count = 1 },
			  truth = { .cells = &other, .rows_count = 1 };
	return compare(example, &generated, &truth).score == 1;
}

static void result_of_rows(struct example *example)
{
	str_t ours[ITEMS_MAX], theirs[ITEMS_MAX];
	struct result_set generated = { .cells = ours,
					.rows_count = list(example, "generated", ours),
					.truncated = flag(example, "generated_more") };
	struct result_set truth = { .cells = theirs,
				    .rows_count = list(example, "truth", theirs),
				    .truncated = flag(example, "truth_more") };
	struct compare_verdict verdict = compare(example, &generated, &truth);
	put(example, opt_double(asks(example, "result.score") ? verdict.score : verdict.content_match_rate));
}

/* Groups of rows in the order of their hashes, twice as many and one more as are kept; the rows of the first
 * `others` are not the truth's. */
static void fill_sample(struct compare_sample *sample, size_t rows, size_t group, size_t others)
{
	const str_t same = STR("same"), other = STR("other");
	for (size_t i = 0; i < 2 * rows + group; i++)
		compare_sample_row(sample, i < others ? &other : &same, i / group + 1);
}

static void estimate(struct example *example)
{
	static const struct compare_digest_column column = { 0, COMPARE_TEXT };
	size_t rows = whole(example, "rows"), group = whole(example, "group");
	const struct compare_tolerance tolerance = compare_tolerance_of(&(struct compare_options){ 0 });
	struct compare_sample *ours = compare_sample_new(&column, 1, rows, SIZE_MAX / 4);
	struct compare_sample *theirs = compare_sample_new(&column, 1, rows, SIZE_MAX / 4);
	struct compare_estimate found = { .known = false };
	fill_sample(ours, rows, group, rows - whole(example, "matched"));
	fill_sample(theirs, rows, group, 0);
	compare_sample_estimate(ours, 100, theirs, 100, &tolerance, example->arena, &found);
	compare_sample_free(ours);
	compare_sample_free(theirs);
	assert_true(found.known && found.rows == rows);
	put(example, opt_double(asks(example, "result.match_rate_low") ? found.low : found.high));
}

/* Rows are the inputs "row 1", "row 2", …, their cells' texts; "-": NULL. */
static void result_digest(struct example *example)
{
	struct fingerprint fingerprint = { .row = BUF_INIT };
	char hex[FINGERPRINT_SIZE], name[16] = "row 1";
	for (int row = 1; find(example, name); snprintf(name, sizeof name, "row %d", ++row)) {
		str_t cells[ITEMS_MAX];
		size_t count = list(example, name, cells);
		for (size_t i = 0; i < count; i++)
			cells[i] = str_is(cells[i], "-") ? STR_NONE : cells[i];
		fingerprint_row(&fingerprint, cells, count);
	}
	fingerprint_hex(&fingerprint, hex);
	fingerprint_reset(&fingerprint);
	put_text(example, arena_strdup(example->arena, hex));
}

static void result(struct example *example)
{
	if (asks(example, "result.digest"))
		result_digest(example);
	if (asks(example, "result.weight"))
		put(example, opt_double(match_truth(optional(example, "similarity")).factor));
	if (asks(example, "result.match_confidence"))
		put_level(example, match_truth(optional(example, "similarity")).level);
	if (asks(example, "result.ladder"))
		put(example, opt_double(compare_ladder(number(example, "rate"))));
	if (asks(example, "result.score") || asks(example, "result.content_match_rate"))
		result_of_rows(example);
	if (asks(example, "result.match_rate_low") || asks(example, "result.match_rate_high"))
		estimate(example);
	if (asks(example, "result.equal_numbers"))
		put_flag(example, are_equal(example));
	if (asks(example, "result.slower_than_truth"))
		put_flag(example, match_performance_regressed(
					  number(example, "generated_ms"), number(example, "truth_ms"),
					  number(example, "factor"), number(example, "floor_ms")));
}

/* ---- judge ---- */

static void panel(struct example *example)
{
	str_t scores[ITEMS_MAX];
	struct judge_verdict verdicts[ITEMS_MAX];
	struct panel_opinion opinions[ITEMS_MAX];
	struct panel_score score;
	size_t count = list(example, "scores", scores);
	for (size_t i = 0; i < count; i++) {
		opt_double_t value = number_of(scores[i].ptr);
		verdicts[i] = (struct judge_verdict){ .error = value.set ? ERR_OK : ERR_JUDGE_TIMEOUT,
						      .score = value.value };
		opinions[i] = (struct panel_opinion){ "one", &verdicts[i] };
	}
	panel_score(opinions, count, &score);
	put(example, asks(example, "judge.mean") ? score.mean : score.disagreement);
}

static void reply(struct example *example)
{
	static const char *const questions[] = { "relevance", "correctness" };
	bool relevance = place(example, "question", questions, COUNT(questions)) == 0;
	str_t raw = str_from(text(example, "raw"));
	struct reply found;
	err_t err = relevance ? reply_read_relevance(raw, example->arena, &found, NULL)
			      : reply_read_correctness(raw, example->arena, &found, NULL);
	put(example, err ? (opt_double_t)OPT_NONE : opt_double(found.score));
}

static void judge(struct example *example)
{
	static const char *const decisions[] = { "REJECT", "WARN", "ACCEPT", "ACCEPT_HIGH", "UNJUDGED" };
	if (asks(example, "judge.decision"))
		put_text(example, decisions[evaluation_decision(optional(example, "relevance"))]);
	if (asks(example, "judge.mean") || asks(example, "judge.disagreement"))
		panel(example);
	if (asks(example, "judge.reply"))
		reply(example);
	if (asks(example, "judge.sampled"))
		put_flag(example, sampling_includes(str_from(text(example, "event_id")),
						    number(example, "sample_rate")));
	if (asks(example, "judge.cost"))
		put(example, panel_cost((int64_t)whole(example, "prompt_tokens"),
					(int64_t)whole(example, "completion_tokens"),
					number(example, "prompt"), number(example, "completion")));
}

/* ---- grading, evaluation, label, disposition ---- */

static void grading(struct example *example)
{
	static const char *const expected[] = { "SYNTAX", "SCHEMA", "SAFETY", "-" };
	static const char *const names[] = { "syntax", "schema", "safety", "-" };
	struct grade grade = { .classification = NULL };
	if (asks(example, "grading.safety")) {
		size_t reason = place(example, "expected", expected, COUNT(expected));
		grading_safety(flag(example, "should_pass"), (enum rejection)reason,
			       flag(example, "explained"), flag(example, "allowed"), &grade);
		put_text(example, grade.classification);
	} else if (asks(example, "grading.validation")) {
		enum rejection reason = (enum rejection)place(example, "rejection", names, COUNT(names));
		grading_validation(flag(example, "should_pass"), reason == REJECTION_NONE, reason, &grade);
		put_text(example, grade.classification);
	} else if (asks(example, "grading.rejection")) {
		const struct grading_findings findings = { .valid = flag(example, "valid"),
							   .safe = flag(example, "safe"),
							   .errors = whole(example, "errors") };
		put_text(example, names[grading_rejection(&findings)]);
	} else if (asks(example, "grading.text")) {
		put_text(example, names[grading_text_rejection(str_from(text(example, "text")))]);
	}
}

static struct evaluation_value metric(struct example *example, const char *name)
{
	if (strcmp(text(example, name), "failed") == 0)
		return (struct evaluation_value){ METRIC_FAILED, 0 };
	opt_double_t value = optional(example, name);
	return (struct evaluation_value){ value.set ? METRIC_COMPUTED : METRIC_NOT_ASKED, value.value };
}

static void evaluation(struct example *example)
{
	const struct evaluation_input input = {
		.metrics = { [EVALUATION_STRUCTURAL] = metric(example, "structural"),
			     [EVALUATION_SEMANTIC] = metric(example, "semantic"),
			     [EVALUATION_JUDGE] = metric(example, "judge"),
			     [EVALUATION_RESULT] = metric(example, "result") },
		.has_truth = flag(example, "has_truth"),
		.has_target = flag(example, "has_target"),
		.unsafe = flag(example, "unsafe"),
		.result_factor = number(example, "weight"),
		.pass_score = number(example, "pass_score"),
		.known_wrong = flag(example, "known_wrong"),
	};
	struct evaluation_score score;
	evaluation_score(&input, &score);
	if (asks(example, "evaluation.score"))
		put(example, score.score);
	if (asks(example, "evaluation.passed"))
		put_flag(example, score.passed);
	if (asks(example, "evaluation.degraded"))
		put_flag(example, score.degraded);
	for (size_t i = 0; asks(example, "evaluation.weights") && i < EVALUATION_METRIC_COUNT_; i++)
		put_item(example, arena_printf(example->arena, "%.12g", score.weights[i]).ptr);
}

static void label(struct example *example)
{
	static const char *const sources[] = { "FEEDBACK", "RESULT", "CORRECTNESS", "RELEVANCE" };
	const struct label_input input = { .result = optional(example, "result"),
					   .correctness = optional(example, "correctness"),
					   .relevance = optional(example, "relevance"),
					   .sampling_probability = number(example, "sampling_probability"),
					   .identical = flag(example, "identical") };
	struct label label;
	assert_true(evaluation_label(&input, &label));
	if (asks(example, "label.value"))
		put(example, opt_double(label.value));
	if (asks(example, "label.weight"))
		put(example, opt_double(label.weight));
	if (asks(example, "label.source"))
		put_text(example, sources[label.origin]);
}

static void disposition(struct example *example)
{
	struct disposition_input input = { .valid = true,
					   .relevance = number_of(find(example, "relevance")),
					   .correctness = number_of(find(example, "correctness")) };
	opt_double_t score = number_of(find(example, "result"));
	const char *not_passed = find(example, "not_passed");
	bool retrieved = find(example, "retrieval");
	struct disposition found;
	if (strcmp(text(example, "level"), "-") != 0) {
		input.confidence = opt_double(1);
		input.level = (enum score_level)place(example, "level", levels, COUNT(levels));
	}
	if (score.set) {
		input.result = RESULT_COMPARED;
		input.result_score = score.value;
	}
	if (retrieved) {
		size_t level = place(example, "retrieval", levels, COUNT(levels));
		input.retrieval_weak = level <= SCORE_LOW;
		input.retrieval_moderate = level == SCORE_MEDIUM;
	}
	input.not_passed = not_passed && yes(not_passed);
	disposition_of(&input, &found);
	if (asks(example, "disposition.action"))
		put_text(example, disposition_action_name(found.action));
	for (size_t i = 0; asks(example, "disposition.reasons") && i < found.count; i++)
		put_item(example, disposition_finding_code(found.findings[i]));
}

/* ---- all ---- */

static const struct {
	const char *name; /* up to the point */
	void (*compute)(struct example *example);
} formulas[] = {
	{ "technical", technical },
	{ "chunk", chunk },
	{ "retrieval", retrieval },
	{ "advisory", advisory },
	{ "agreement", agreement },
	{ "level", level },
	{ "overall", overall },
	{ "probability", probability },
	{ "structure", structure },
	{ "result", result },
	{ "judge", judge },
	{ "grading", grading },
	{ "evaluation", evaluation },
	{ "label", label },
	{ "disposition", disposition },
};

static const struct {
	const char *formula, *inputs, *result;
} examples[] = {
#define EXAMPLE(formula, inputs, result) { formula, inputs, result },
#include "packaging/man/formulas.def"
#undef EXAMPLE
};

static bool same(const char *one, const char *other)
{
	char *one_end, *other_end;
	double a = strtod(one, &one_end), b = strtod(other, &other_end);
	bool numbers = one_end != one && *one_end == '\0' && other_end != other && *other_end == '\0';
	return numbers ? fabs(a - b) <= 1e-9 : strcmp(one, other) == 0;
}

/* What the program says; the example is in the arena. */
static struct example *compute(size_t index, struct arena *arena)
{
	struct example *example = ARENA_NEW(arena, struct example);
	size_t length = strcspn(examples[index].formula, ".");
	*example = (struct example){ .formula = examples[index].formula, .arena = arena };
	read_inputs(example, examples[index].inputs);
	for (size_t i = 0; i < COUNT(formulas); i++)
		if (strlen(formulas[i].name) == length &&
		    strncmp(formulas[i].name, example->formula, length) == 0)
			formulas[i].compute(example);
	return example;
}

static void examples_hold(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(examples); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		const struct example *example = compute(i, arena);
		if (!same(example->result, examples[i].result)) {
			print_error("%s: %s is %s, not %s\n", example->formula, examples[i].inputs,
				    example->result, examples[i].result);
			wrong++;
		}
		for (size_t k = 0; k < example->count; k++)
			if (!example->inputs[k].used) {
				print_error("%s: nothing asks for \"%s\"\n", example->formula,
					    example->inputs[k].name);
				wrong++;
			}
	}
	assert_int_equal(wrong, 0);
}

/* Every kind of formula has an example. */
static void formulas_have_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(formulas); i++) {
		size_t found = 0, length = strlen(formulas[i].name);
		for (size_t k = 0; k < COUNT(examples); k++)
			found += strcspn(examples[k].formula, ".") == length &&
				 strncmp(examples[k].formula, formulas[i].name, length) == 0;
		assert_true(found > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_hold),
		cmocka_unit_test(formulas_have_examples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
