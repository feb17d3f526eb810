#include "support.h"

#include "avro/overall_rules.h"

#define FORMULA                                                                                              \
	{                                                                                                    \
		0.30, 0.20, 0.15, 0.15, 0.10, 0.05, 0.05                                                     \
	}

static const struct record_retrieval_rules formula = { FORMULA, 1, 0.75, 0.3, 0.2, { 0.85, 0.7, 0.5 } };
static const struct record_retrieval_rules thresholds = { FORMULA, 1, 0.75, 0.3, 0.2, { 0.9, 0.8, 0.1 } };
static const struct record_retrieval_rules others = {
	{ 0.40, 0.10, 0.15, 0.15, 0.10, 0.05, 0.05 }, 30, 0.75, 0.3, 0.2, { 0.85, 0.7, 0.5 }
};
static const struct record_retrieval_rules infinite = { FORMULA, 1.0 / 0.0, 0.75, 0.3, 0.2, { 0, 0, 0 } };

static const struct rules_case {
	int factors[8];
	size_t factors_count;
	int source, technical_alone;
	const struct record_retrieval_rules *retrieval;
	const char *text;
} rules_cases[] = {
	{ { RECORD_FACTOR_TECHNICAL, RECORD_FACTOR_ADVISORY, RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY },
	  3,
	  RECORD_SOURCE_OWN,
	  LEVEL_MEDIUM,
	  NULL,
	  "factors=technical,advisory,retrieval_without_advisory source=own retrieval=formula" },
	{ { RECORD_FACTOR_TECHNICAL },
	  1,
	  RECORD_SOURCE_OWN,
	  LEVEL_MEDIUM,
	  &formula,
	  "factors=technical source=own retrieval=formula" },
	/* what makes the level is no part */
	{ { RECORD_FACTOR_TECHNICAL },
	  1,
	  RECORD_SOURCE_OWN,
	  LEVEL_HIGH,
	  &thresholds,
	  "factors=technical source=own retrieval=formula" },
	/* order and repetition say nothing, nor does what another factor says already */
	{ { RECORD_FACTOR_AGREEMENT, RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY, RECORD_FACTOR_GENERATOR,
	    RECORD_FACTOR_RETRIEVAL, RECORD_FACTOR_GENERATOR },
	  5,
	  RECORD_SOURCE_WORST,
	  LEVEL_MEDIUM,
	  NULL,
	  "factors=retrieval,generator,agreement source=worst retrieval=formula" },
	{ { RECORD_FACTOR_OTHER, 77, -1, RECORD_FACTOR_TECHNICAL },
	  4,
	  9,
	  LEVEL_MEDIUM,
	  NULL,
	  "factors=technical,other source=other retrieval=formula" },
	{ { RECORD_FACTOR_TECHNICAL },
	  1,
	  RECORD_SOURCE_EVENT,
	  LEVEL_MEDIUM,
	  &others,
	  "factors=technical source=event retrieval=0.4,0.1,0.15,0.15,0.1,0.05,0.05,30,0.75,0.3,0.2" },
	{ { RECORD_FACTOR_TECHNICAL },
	  1,
	  RECORD_SOURCE_OWN,
	  LEVEL_MEDIUM,
	  &infinite,
	  "factors=technical source=own retrieval=0.3,0.2,0.15,0.15,0.1,0.05,0.05,,0.75,0.3,0.2" },
};

static void texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rules_cases); i++) {
		const struct rules_case *expected = &rules_cases[i];
		_cleanup_(buf_free) struct buf text = BUF_INIT, without = BUF_INIT;
		struct rules_case changed = *expected;
		struct record_retrieval_rules retrieval;
		struct record_rules rules = { .diagnostic_source = expected->source,
					      .technical_alone = expected->technical_alone,
					      .factors = changed.factors,
					      .factors_count = expected->factors_count };
		if (expected->retrieval) {
			retrieval = *expected->retrieval;
			rules.retrieval = &retrieval;
		}
		overall_rules_write(&rules, true, &text);
		assert_string_equal(text.data, expected->text);
		overall_rules_write(&rules, false, &without);
		str_t begin = overall_rules_without_retrieval(buf_str(&text));
		assert_true(str_equal(begin, buf_str(&without)));
		assert_true(begin.len < text.len);
		/* cut off once, there is nothing to cut off */
		assert_true(str_equal(overall_rules_without_retrieval(begin), begin));
	}
	assert_false(str_present(overall_rules_without_retrieval(STR_NONE)));
}

/* A record without retrieval is the same whatever is weighed in it. */
static void records(void **state)
{
	(void)state;
	int factor = RECORD_FACTOR_TECHNICAL;
	struct record_rules rules = { .factors = &factor, .factors_count = 1 };
	struct record_retrieval retrieval = { .confidence = 0.5 };
	struct scored_query with = { .confidence = { .retrieval = &retrieval }, .rules = &rules };
	const struct scored_query without = { .rules = &rules }, old = { .rules = NULL };
	const str_t own = STR("factors=technical source=own retrieval=formula");
	const str_t weighed = STR("factors=technical source=own retrieval=1,0,0,0,0,0,0,1,0.75,0.3,0.2");
	const str_t other = STR("factors=generator source=own retrieval=formula");
	assert_true(overall_rules_hold(own, &with));
	assert_true(overall_rules_hold(own, &without));
	assert_false(overall_rules_hold(weighed, &with));
	assert_true(overall_rules_hold(weighed, &without));
	assert_false(overall_rules_hold(other, &with));
	assert_false(overall_rules_hold(other, &without));
	assert_true(overall_rules_hold(other, &old));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(texts), cmocka_unit_test(records) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
