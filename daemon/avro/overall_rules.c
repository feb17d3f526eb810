#include "avro/overall_rules.h"

#include "common/decimal.h"

#include <math.h>

#define RETRIEVAL " retrieval="

static const char *const factors[] = {
	[RECORD_FACTOR_TECHNICAL] = "technical",
	[RECORD_FACTOR_ADVISORY] = "advisory",
	[RECORD_FACTOR_RETRIEVAL] = "retrieval",
	[RECORD_FACTOR_GENERATOR] = "generator",
	[RECORD_FACTOR_AGREEMENT] = "agreement",
	[RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = "retrieval_without_advisory",
	[RECORD_FACTOR_OTHER] = "other",
};

enum { FACTORS = sizeof factors / sizeof *factors };

static void write_factors(const struct record_rules *rules, struct buf *out)
{
	bool has[FACTORS] = { false };
	const char *before = "factors=";
	for (size_t i = 0; i < rules->factors_count; i++) {
		int factor = rules->factors[i];
		has[factor >= 0 && factor < FACTORS ? factor : RECORD_FACTOR_OTHER] = true;
	}
	if (has[RECORD_FACTOR_RETRIEVAL])
		has[RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY] = false;
	for (int factor = 0; factor < FACTORS; factor++) {
		if (!has[factor])
			continue;
		buf_append_text(out, before);
		buf_append_text(out, factors[factor]);
		before = ",";
	}
}

static void write_source(const struct record_rules *rules, struct buf *out)
{
	static const char *const sources[] = {
		[RECORD_SOURCE_OWN] = "own", [RECORD_SOURCE_EVENT] = "event", [RECORD_SOURCE_WORST] = "worst"
	};
	int source = rules->diagnostic_source;
	buf_append_text(out, " source=");
	buf_append_text(out, source >= RECORD_SOURCE_OWN && source <= RECORD_SOURCE_WORST ? sources[source]
											  : "other");
}

enum { NUMBERS = 11 };

static void list_numbers(const struct record_retrieval_rules *rules, double *numbers)
{
	const struct record_retrieval_weights *weights = &rules->weights;
	const double all[NUMBERS] = { weights->top,	      weights->gap,	   weights->consensus,
				      weights->agreement,     weights->low_spread, weights->graph,
				      weights->low_diversity, rules->rrf_scale,	   rules->consensus_above,
				      rules->gap_scale,	      rules->spread_scale };
	memcpy(numbers, all, sizeof all);
}

/* Thresholds may differ from the formula's. */
static void write_retrieval(const struct record_retrieval_rules *rules, struct buf *out)
{
	static const double formula[NUMBERS] = {
		0.30, 0.20, 0.15, 0.15, 0.10, 0.05, 0.05, 1, 0.75, 0.3, 0.2
	};
	double numbers[NUMBERS];
	buf_append_text(out, RETRIEVAL);
	if (rules)
		list_numbers(rules, numbers);
	if (!rules || memcmp(numbers, formula, sizeof formula) == 0) {
		buf_append_text(out, "formula");
		return;
	}
	for (int i = 0; i < NUMBERS; i++) {
		if (i > 0)
			buf_append_char(out, ',');
		if (isfinite(numbers[i]))
			out->len += decimal_write(numbers[i], buf_reserve(out, DECIMAL_SIZE));
	}
}

void overall_rules_write(const struct record_rules *rules, bool retrieval, struct buf *out)
{
	write_factors(rules, out);
	write_source(rules, out);
	if (retrieval)
		write_retrieval(rules->retrieval, out);
}

str_t overall_rules_without_retrieval(str_t text)
{
	const char *end = str_present(text) ? memmem(text.ptr, text.len, RETRIEVAL, strlen(RETRIEVAL)) : NULL;
	return end ? (str_t){ text.ptr, (size_t)(end - text.ptr) } : text;
}

bool overall_rules_hold(str_t text, const struct scored_query *scored)
{
	_cleanup_(buf_free) struct buf own = BUF_INIT;
	bool retrieval = scored->confidence.retrieval != NULL;
	if (!scored->rules)
		return true;
	overall_rules_write(scored->rules, retrieval, &own);
	return str_equal(buf_str(&own), retrieval ? text : overall_rules_without_retrieval(text));
}
