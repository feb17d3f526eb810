#include "score/features.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "score/question.h"
#include "score/sketch.h"

#define SOME(x)                                                                                              \
	{                                                                                                    \
		true, (x)                                                                                    \
	}

/* A text of one byte in SQL stands for a query that does not matter. */
static const struct {
	enum feature feature;
	const char *question;
	const char *sql;
	double expected;
} texts[] = {
	{ FEATURE_QUESTION_LENGTH, "Two words", "", 1.0986122886681098 },
	{ FEATURE_QUESTION_LENGTH, "", "", 0 },
	{ FEATURE_QUESTION_SENTENCES, "Who won? Where? Why? When?", "", 3 },
	{ FEATURE_QUESTION_SENTENCES, "Who won with 1.5 points", "", 1 },
	{ FEATURE_QUESTION_OUTPUTS, "What is the name of the driver?", "", 1 },
	{ FEATURE_QUESTION_OUTPUTS, "List the name, birthday and phone of the driver.", "", 3 },
	{ FEATURE_QUESTION_OUTPUTS, "List the drivers in Rome and state how they drive.", "", 2 },
	{ FEATURE_QUESTION_OUTPUTS, "List the drivers from \"Rome and Paris\" along with their cars.", "",
	  2 },
	{ FEATURE_QUESTION_OPERATIONS, "Which is the highest average of those not above 5?", "", 4 },
	{ FEATURE_QUESTION_OPERATIONS, "Which drivers are there?", "", 0 },
	{ FEATURE_QUESTION_CALCULATIONS, "What percentage of each group?", "", 2 },
	{ FEATURE_QUESTION_CALCULATIONS, "Is it red?", "", 1 },
	{ FEATURE_QUESTION_CALCULATIONS, "Which is the highest?", "", 0 },
	{ FEATURE_QUESTION_NUMBERS, "From 1,000 to 2.5 in 2012", "", 3 },
	{ FEATURE_QUESTION_NUMBERS, "From one to two", "", 0 },
	{ FEATURE_QUESTION_NAMES, "Did Lewis Hamilton win in Monza?", "", 3 },
	{ FEATURE_QUESTION_NAMES, "Who won? Name the winner.", "", 0 },
	{ FEATURE_QUESTION_PERCENTAGE, "How many % of them?", "", 1 },
	{ FEATURE_QUESTION_PERCENTAGE, "How many of them?", "", 0 },
	{ FEATURE_QUESTION_AVERAGE, "The Average age", "", 1 },
	{ FEATURE_QUESTION_AVERAGE, "The age", "", 0 },
	{ FEATURE_QUESTION_DIFFERENCE, "How many more wins has she?", "", 1 },
	{ FEATURE_QUESTION_DIFFERENCE, "How many wins has she?", "", 0 },
	{ FEATURE_QUESTION_SUPERLATIVE, "The strangest thing", "", 1 },
	{ FEATURE_QUESTION_SUPERLATIVE, "An interest in the forest", "", 0 },
	{ FEATURE_QUESTION_COMPARISON, "Those born after 1990", "", 1 },
	{ FEATURE_QUESTION_COMPARISON, "From 1990 to 1995", "", 1 },
	{ FEATURE_QUESTION_COMPARISON, "Those born in 1990", "", 0 },
	{ FEATURE_QUESTION_NEGATION, "Who didn't win?", "", 1 },
	{ FEATURE_QUESTION_NEGATION, "Who didn\xE2\x80\x99t win?", "", 1 },
	{ FEATURE_QUESTION_NEGATION, "The driver's black car", "", 0 },
	{ FEATURE_QUESTION_COUNT, "The number of cars", "", 1 },
	{ FEATURE_QUESTION_COUNT, "The number on the car", "", 0 },

	{ FEATURE_ANCHORS, "Wins of Hamilton in 2012", "SELECT 1 WHERE a = 'Hamilton' AND y = 2012", 2 },
	{ FEATURE_ANCHORS, "Wins of Hamilton", "SELECT 1 WHERE a = 'Alonso'", 0 },
	{ FEATURE_ANCHORS, "Wins in 1,000", "SELECT 1 WHERE y = 1000", 1 },
	{ FEATURE_MISSING, "Did Hamilton win \"the cup\" in 2012?", "SELECT win FROM t", 3 },
	{ FEATURE_MISSING, "Did Hamilton win in 2012?", "SELECT w FROM hamiltons WHERE d LIKE '2012-%'", 0 },
	{ FEATURE_STRANGE, "Who is blue?", "SELECT a FROM t WHERE c = 'red' AND n = 77", 2 },
	{ FEATURE_STRANGE, "Who of three is blue?", "SELECT a FROM t WHERE c = 'Blue' LIMIT 3", 0 },
	{ FEATURE_STRANGE, "When?", "SELECT strftime('%Y-%m', d) FROM t WHERE x > 0", 0 },
	{ FEATURE_NAMES_MISSING, "Is Ann or Bob there?", "SELECT 1 WHERE n = 'Ann'", 0.5 },
	{ FEATURE_NAMES_MISSING, "Is Ann there?", "SELECT 1 WHERE n = 'ANN'", 0 },
	{ FEATURE_WORDS_MISSING, "List schools with meals", "SELECT school FROM t", 0.5 },
	{ FEATURE_WORDS_MISSING, "List schools with meals", "SELECT school, FreeMealCount FROM t", 0 },
	{ FEATURE_LITERALS_RESPELT, "Those with blue eyes", "SELECT a WHERE c = 'Blue-Eyes'", 1 },
	{ FEATURE_LITERALS_RESPELT, "Those with Blue-Eyes", "SELECT a WHERE c = 'Blue-Eyes'", 0 },
	{ FEATURE_ASKED_NOT_DONE, "How many percent are there on average?", "SELECT a FROM t", 4 },
	{ FEATURE_ASKED_NOT_DONE, "How many are there?", "SELECT count(*) FROM t", 0 },
	{ FEATURE_COUNT_NOT_DONE, "How many are there?", "SELECT n FROM t", 1 },
	{ FEATURE_COUNT_NOT_DONE, "How many are there?", "SELECT sum(n) FROM t", 0 },
	{ FEATURE_SUPERLATIVE_NOT_DONE, "Who is the oldest?", "SELECT a FROM t", 1 },
	{ FEATURE_SUPERLATIVE_NOT_DONE, "Who is the oldest?", "SELECT a FROM t ORDER BY b LIMIT 1", 0 },
	{ FEATURE_AVERAGE_NOT_DONE, "The average age", "SELECT age FROM t", 1 },
	{ FEATURE_AVERAGE_NOT_DONE, "The average age", "SELECT sum(age) / count(*) FROM t", 0 },
	{ FEATURE_SHARE_NOT_DONE, "The percentage of a", "SELECT count(*) FROM t", 1 },
	{ FEATURE_SHARE_NOT_DONE, "The percentage of a", "SELECT 100.0 * sum(a) / count(*) FROM t", 0 },
	{ FEATURE_SHARE_NOT_SCALED, "The percentage of a", "SELECT sum(a) / count(*) FROM t", 1 },
	{ FEATURE_SHARE_NOT_SCALED, "The proportion of a", "SELECT sum(a) / count(*) FROM t", 0 },
	{ FEATURE_NEGATION_NOT_DONE, "Who has no car?", "SELECT a FROM t", 1 },
	{ FEATURE_NEGATION_NOT_DONE, "Who has no car?", "SELECT a FROM t WHERE c <> 1", 0 },
	{ FEATURE_NEGATION_NOT_DONE, "Who has no car?", "SELECT a FROM t WHERE c IS NULL", 0 },
	{ FEATURE_COMPARISON_NOT_DONE, "Who has more than 3 cars?", "SELECT a FROM t", 1 },
	{ FEATURE_COMPARISON_NOT_DONE, "Who has more than 3 cars?", "SELECT a FROM t WHERE c > 3", 0 },
	{ FEATURE_COMPARISON_NOT_DONE, "Who has more than 3 cars?", "SELECT a->'b' FROM t", 1 },
	{ FEATURE_DISTINCT_NOT_DONE, "The different colours", "SELECT c FROM t", 1 },
	{ FEATURE_DISTINCT_NOT_DONE, "The different colours", "SELECT DISTINCT c FROM t", 0 },
	{ FEATURE_EACH_NOT_DONE, "Wins of each driver", "SELECT sum(w) FROM t", 1 },
	{ FEATURE_EACH_NOT_DONE, "Wins of each driver", "SELECT d, sum(w) FROM t GROUP BY d", 0 },
	{ FEATURE_DIVIDES_INTEGERS, "", "SELECT sum(a) / count(*) FROM t", 1 },
	{ FEATURE_DIVIDES_INTEGERS, "", "SELECT sum(a) * 1.0 / count(*) FROM t", 0 },
	{ FEATURE_DIVIDES_INTEGERS, "", "SELECT CAST(sum(a) AS real) / count(*) FROM t", 0 },
	{ FEATURE_LIMIT_WITHOUT_ORDER, "", "SELECT a FROM t LIMIT 1", 1 },
	{ FEATURE_LIMIT_WITHOUT_ORDER, "", "SELECT a FROM t ORDER BY a LIMIT 1", 0 },
	{ FEATURE_DONE_NOT_ASKED, "The cars", "SELECT DISTINCT a FROM t WHERE b > 1 GROUP BY a LIMIT 5", 4 },
	{ FEATURE_DONE_NOT_ASKED, "The cars", "SELECT a FROM t", 0 },
	{ FEATURE_OUTPUTS_NOT_ASKED, "How many cars?", "SELECT maker, count(*) FROM t", 3 },
	{ FEATURE_OUTPUTS_NOT_ASKED, "How many cars?", "SELECT count(*) FROM t", 0 },
	{ FEATURE_OUTPUTS_EXCESS, "The age of Ann", "SELECT age, height FROM t", 1 },
	{ FEATURE_OUTPUTS_EXCESS, "Who is Ann?", "SELECT forename, surname FROM t", 0 },
	{ FEATURE_OUTPUTS_UNLISTED, "The ages of these", "SELECT age, height FROM t", 1 },
	{ FEATURE_OUTPUTS_UNLISTED, "The ages and heights of these", "SELECT age, height FROM t", 0 },
	{ FEATURE_OUTPUTS_BESIDE_COUNT, "How many cars?", "SELECT c, count(*) FROM t", 1 },
	{ FEATURE_OUTPUTS_BESIDE_COUNT, "How many cars?", "SELECT count(*) FROM t", 0 },
	{ FEATURE_OUTPUTS_BESIDE_SUPERLATIVE, "Who is the oldest?", "SELECT n, max(age) FROM t", 1 },
	{ FEATURE_OUTPUTS_BESIDE_SUPERLATIVE, "Who is the oldest?",
	  "SELECT n FROM t WHERE age = (SELECT max(age) FROM t)", 0 },
	{ FEATURE_OUTPUTS_LACKING, "List the name, age and phone of Ann.", "SELECT name FROM t", 2 },
	{ FEATURE_OUTPUTS_LACKING, "List the name of Ann.", "SELECT name FROM t", 0 },
	{ FEATURE_KEY_NOT_ASKED, "Which drivers won?", "SELECT driverId FROM t", 1 },
	{ FEATURE_KEY_NOT_ASKED, "Which driver ids won?", "SELECT driverId FROM t", 0 },
	{ FEATURE_KEY_NOT_ASKED, "Which drivers won?", "SELECT name FROM t WHERE driverId = 1", 0 },

	{ FEATURE_PLAIN_LOOKUP, "", "SELECT a FROM t WHERE b = 1", 1 },
	{ FEATURE_PLAIN_LOOKUP, "", "SELECT a FROM t WHERE b IN (SELECT c FROM u)", 0 },
	{ FEATURE_PLAIN_LOOKUP, "", "SELECT a, b FROM t", 0 },
	{ FEATURE_COMPLEXITY, "",
	  "WITH x AS (SELECT a / 2 AS a FROM t GROUP BY a HAVING 1) SELECT CASE a WHEN 1 THEN 2 END FROM x "
	  "UNION "
	  "SELECT rank() OVER (ORDER BY a) FROM x",
	  9 },
	{ FEATURE_COMPLEXITY, "", "SELECT a FROM t", 0 },
	{ FEATURE_OUTPUTS, "", "SELECT a, f(b, c), (SELECT 1, 2) FROM t", 3 },
	{ FEATURE_OUTPUTS, "", "WITH x AS (SELECT a, b FROM t) SELECT a FROM x", 1 },
	{ FEATURE_OUTPUTS, "", "", 0 },
	{ FEATURE_LENGTH, "", "SELECT /* x */ 1", 1.0986122886681098 },
	{ FEATURE_LENGTH, "", "", 0 },
	{ FEATURE_SELF_JOIN, "", "SELECT 1 FROM t AS a JOIN s.\"T\" b ON a.x = b.x", 1 },
	{ FEATURE_SELF_JOIN, "", "SELECT 1 FROM t AS a JOIN u b ON a.x = b.x", 0 },
	{ FEATURE_ODD_KEYS, "", "SELECT 1 FROM a JOIN b ON a.x = b.y", 1 },
	{ FEATURE_ODD_KEYS, "", "SELECT 1 FROM a JOIN b ON a.b_id = b.id AND a.raceId = b.raceId", 0 },
	{ FEATURE_RANGES, "", "SELECT 1 FROM a x, b AS y JOIN c.d ON true", 3 },
	{ FEATURE_RANGES, "", "SELECT extract(year FROM a), x IS DISTINCT FROM y", 0 },
	{ FEATURE_SUBQUERIES, "", "SELECT (SELECT 1), (SELECT 2)", 2 },
	{ FEATURE_SUBQUERIES, "", "SELECT 1", 0 },
	{ FEATURE_DEPTH, "", "SELECT ((1)) FROM f(x)", 2 },
	{ FEATURE_DEPTH, "", "SELECT ')('", 0 },
	{ FEATURE_CONDITIONS, "", "SELECT 1 WHERE a AND b AND c", 2 },
	{ FEATURE_CONDITIONS, "", "SELECT 'a AND b'", 0 },
	{ FEATURE_ALTERNATIVES, "", "SELECT 1 WHERE a or b", 1 },
	{ FEATURE_ALTERNATIVES, "", "SELECT 1 WHERE a", 0 },
	{ FEATURE_AGGREGATES, "", "SELECT count(*), MAX(a)", 2 },
	{ FEATURE_AGGREGATES, "", "SELECT count, total FROM t", 0 },
	{ FEATURE_GROUPS, "", "SELECT a FROM t GROUP BY a", 1 },
	{ FEATURE_GROUPS, "", "SELECT \"group\" FROM t", 0 },
	{ FEATURE_ORDERS, "", "SELECT a FROM t ORDER BY a", 1 },
	{ FEATURE_ORDERS, "", "SELECT a FROM t", 0 },
	{ FEATURE_DISTINCT, "", "SELECT count(DISTINCT a) FROM t", 1 },
	{ FEATURE_DISTINCT, "", "SELECT count(a) FROM t", 0 },
	{ FEATURE_STAR, "", "SELECT t.* FROM t", 1 },
	{ FEATURE_STAR, "", "SELECT count(*), a * 2 FROM t", 0 },
	{ FEATURE_CASTS, "", "SELECT CAST(a AS int) FROM t", 1 },
	{ FEATURE_CASTS, "", "SELECT a FROM t", 0 },
	{ FEATURE_PATTERNS, "", "SELECT a FROM t WHERE b LIKE 'x'", 1 },
	{ FEATURE_PATTERNS, "", "SELECT a FROM t WHERE b = 'x'", 0 },
	{ FEATURE_TESTS_NULL, "", "SELECT a FROM t WHERE b IS NOT NULL", 1 },
	{ FEATURE_TESTS_NULL, "", "SELECT a FROM t", 0 },
	{ FEATURE_OUTER_JOINS, "", "SELECT a FROM t LEFT JOIN u ON true", 1 },
	{ FEATURE_OUTER_JOINS, "", "SELECT a FROM t JOIN u ON true", 0 },
	{ FEATURE_DATES, "", "SELECT date(a) FROM t", 1 },
	{ FEATURE_DATES, "", "SELECT date FROM t", 0 },
};

static struct name_words school_name, school_columns[3];
static const struct features_relation schools[] = { { &school_name, school_columns, 3 } };

static void name_schools(struct arena *arena)
{
	school_name = words_keep(STR("schools"), arena);
	school_columns[0] = words_keep(STR("School Name"), arena);
	school_columns[1] = words_keep(STR("FreeMealCount"), arena);
	school_columns[2] = words_keep(STR("city_id"), arena);
}

#define SCHOOLS .relations = schools, .relations_count = 1
#define FOUND(...)                                                                                           \
	.diagnostics = (const struct features_diagnostic[]){ __VA_ARGS__ },                                  \
	.diagnostics_count = sizeof((const struct features_diagnostic[]){ __VA_ARGS__ }) /                   \
			     sizeof(struct features_diagnostic)

static const struct {
	enum feature feature;
	const char *question;
	const char *sql;
	struct features_input input;
	double expected;
} events[] = {
	{ FEATURE_COLUMNS_UNUSED, "free meal counts", "SELECT city_id FROM schools", { SCHOOLS }, 1 },
	{ FEATURE_COLUMNS_UNUSED, "free meal counts", "SELECT freemealcount FROM schools", { SCHOOLS }, 0 },
	{ FEATURE_COLUMNS_UNNAMED,
	  "the pupils",
	  "SELECT \"School Name\", city_id FROM schools",
	  { SCHOOLS },
	  2 },
	{ FEATURE_COLUMNS_UNNAMED,
	  "schools by city",
	  "SELECT \"School Name\", city_id FROM schools",
	  { SCHOOLS },
	  0 },
	{ FEATURE_RELATIONS_UNNAMED, "the pupils", "SELECT 1 FROM schools", { SCHOOLS }, 1 },
	{ FEATURE_RELATIONS_UNNAMED, "the school", "SELECT 1 FROM schools", { SCHOOLS }, 0 },
	{ FEATURE_COLUMNS, "", "", { SCHOOLS }, 1.3862943611198906 },
	{ FEATURE_COLUMNS, "", "", { .safe = true }, 0 },
	{ FEATURE_LITERALS_CHECKED, "", "", { .literals_absent = SOME(0) }, 1 },
	{ FEATURE_LITERALS_CHECKED, "", "", { .safe = true }, 0 },
	{ FEATURE_LITERALS_ABSENT, "", "", { .literals_absent = SOME(5) }, 3 },
	{ FEATURE_LITERALS_ABSENT, "", "", { .literals_absent = { false, 5 } }, 0 },
	{ FEATURE_TECHNICAL, "", "", { .technical = SOME(80) }, 0.8 },
	{ FEATURE_TECHNICAL, "", "", { .technical = { false, 80 } }, 0 },
	{ FEATURE_ERRORS,
	  "",
	  "",
	  { FOUND({ "unknown_column", NULL, true }, { "markdown_fence", NULL, true }) },
	  1 },
	{ FEATURE_ERRORS, "", "", { FOUND({ "type_mismatch", NULL, false }) }, 0 },
	{ FEATURE_WARNINGS,
	  "",
	  "",
	  { FOUND({ "type_mismatch", NULL, false }, { "missing_limit", NULL, false }) },
	  1 },
	{ FEATURE_WARNINGS, "", "", { FOUND({ "unknown_column", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_SYNTAX, "", "", { FOUND({ "syntax_error", NULL, true }) }, 1 },
	{ FEATURE_DIAGNOSED_SYNTAX, "", "", { FOUND({ "unknown_column", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_TABLE, "", "", { FOUND({ "unknown_table", NULL, true }) }, 1 },
	{ FEATURE_DIAGNOSED_TABLE, "", "", { FOUND({ "unknown_column", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_COLUMN, "", "", { FOUND({ "unknown_column", NULL, true }) }, 1 },
	{ FEATURE_DIAGNOSED_COLUMN, "", "", { FOUND({ "unknown_table", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_AMBIGUOUS, "", "", { FOUND({ "ambiguous_column", NULL, true }) }, 1 },
	{ FEATURE_DIAGNOSED_AMBIGUOUS, "", "", { FOUND({ "unknown_table", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_FUNCTION, "", "", { FOUND({ "unknown_function", NULL, true }) }, 1 },
	{ FEATURE_DIAGNOSED_FUNCTION, "", "", { FOUND({ "unknown_table", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_FENCE, "", "", { FOUND({ "markdown_fence", NULL, true }) }, 1 },
	{ FEATURE_DIAGNOSED_FENCE, "", "", { FOUND({ "unknown_table", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_TYPES, "", "", { FOUND({ "type_mismatch", NULL, false }) }, 1 },
	{ FEATURE_DIAGNOSED_TYPES, "", "", { FOUND({ "unknown_table", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_PRODUCT, "", "", { FOUND({ "risky_pattern", "cartesian_product", false }) }, 1 },
	{ FEATURE_DIAGNOSED_PRODUCT, "", "", { FOUND({ "risky_pattern", "select_star", false }) }, 0 },
	{ FEATURE_DIAGNOSED_NO_LIMIT, "", "", { FOUND({ "missing_limit", NULL, false }) }, 1 },
	{ FEATURE_DIAGNOSED_NO_LIMIT, "", "", { FOUND({ "unknown_table", NULL, true }) }, 0 },
	{ FEATURE_DIAGNOSED_NOT_SAFE, "", "", { .safe = false }, 1 },
	{ FEATURE_DIAGNOSED_NOT_SAFE, "", "", { .safe = true }, 0 },
	{ FEATURE_GENERATOR_GIVEN, "", "", { .generator = SOME(0) }, 1 },
	{ FEATURE_GENERATOR_GIVEN, "", "", { .safe = true }, 0 },
	{ FEATURE_GENERATOR_CONFIDENCE, "", "", { .generator = SOME(0.7) }, 0.7 },
	{ FEATURE_GENERATOR_CONFIDENCE, "", "", { .generator = { false, 0.7 } }, 0 },
	{ FEATURE_GENERATOR_CONFIDENCE, "", "", { .generator = SOME(NAN) }, 0 },
	{ FEATURE_GENERATOR_CONFIDENCE, "", "", { .generator = SOME(1e300) }, FEATURES_BOUND },
	{ FEATURE_RETRIEVAL_GIVEN, "", "", { .retrieval = SOME(0) }, 1 },
	{ FEATURE_RETRIEVAL_GIVEN, "", "", { .safe = true }, 0 },
	{ FEATURE_RETRIEVAL_CONFIDENCE, "", "", { .retrieval = SOME(0.6) }, 0.6 },
	{ FEATURE_RETRIEVAL_CONFIDENCE, "", "", { .safe = true }, 0 },
	{ FEATURE_RETRIEVAL_TOP, "", "", { .retrieval_top = SOME(0.9) }, 0.9 },
	{ FEATURE_RETRIEVAL_TOP, "", "", { .safe = true }, 0 },
	{ FEATURE_CANDIDATES_GIVEN, "", "", { .agreement_form = SOME(0.1) }, 1 },
	{ FEATURE_CANDIDATES_GIVEN, "", "", { .safe = true }, 0 },
	{ FEATURE_AGREEMENT_FORM, "", "", { .agreement_form = SOME(0.25) }, 0.25 },
	{ FEATURE_AGREEMENT_FORM, "", "", { .safe = true }, 0 },
	{ FEATURE_AGREEMENT_EXECUTED,
	  "",
	  "",
	  { .agreement_results = SOME(0.1), .agreement_executed = true },
	  1 },
	{ FEATURE_AGREEMENT_EXECUTED, "", "", { .agreement_results = SOME(0.1) }, 0 },
	{ FEATURE_AGREEMENT_EXECUTED, "", "", { .agreement_executed = true }, 0 },
	{ FEATURE_AGREEMENT_RESULTS, "", "", { .agreement_results = SOME(0.5) }, 0.5 },
	{ FEATURE_AGREEMENT_RESULTS, "", "", { .agreement_form = SOME(0.5) }, 0 },
	{ FEATURE_AGREEMENT_ALONE, "", "", { .agreement_results = SOME(0.1), .agreement_alone = true }, 1 },
	{ FEATURE_AGREEMENT_ALONE, "", "", { .agreement_results = SOME(0.1) }, 0 },
	{ FEATURE_AGREEMENT_ALONE, "", "", { .agreement_alone = true }, 0 },
	{ FEATURE_AGREEMENT_LEAD,
	  "",
	  "",
	  { .agreement_results = SOME(0.25), .agreement_other = 0.75 },
	  -0.5 },
	{ FEATURE_AGREEMENT_LEAD, "", "", { .agreement_other = 0.75 }, 0 },
	{ FEATURE_PANEL_GIVEN, "", "", { .disagreement = SOME(0) }, 1 },
	{ FEATURE_PANEL_GIVEN, "", "", { .safe = true }, 0 },
	{ FEATURE_PANEL_DISAGREEMENT, "", "", { .disagreement = SOME(25) }, 0.25 },
	{ FEATURE_PANEL_DISAGREEMENT, "", "", { .safe = true }, 0 },
};

enum { TEXTS = sizeof texts / sizeof texts[0], EVENTS = sizeof events / sizeof events[0] };

static double value_of(struct features_input input, enum feature feature, str_t question, str_t sql)
{
	double values[FEATURE_COUNT_];
	input.question = question;
	input.sql = sql;
	features_fill(&input, values);
	return values[feature];
}

static void expect(enum feature feature, const char *question, const char *sql, double found, double expected)
{
	if (fabs(found - expected) > 1e-12)
		fail_msg("%s of \"%s\" and \"%s\": %g, expected %g", FEATURE_INFO[feature].name, question,
			 sql, found, expected);
}

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEXTS; i++) {
		struct features_input input = { .dialect = SQL_POSTGRESQL, .safe = true };
		expect(texts[i].feature, texts[i].question, texts[i].sql,
		       value_of(input, texts[i].feature, str_from(texts[i].question), str_from(texts[i].sql)),
		       texts[i].expected);
	}
	for (size_t i = 0; i < EVENTS; i++)
		expect(events[i].feature, events[i].question, events[i].sql,
		       value_of(events[i].input, events[i].feature, str_from(events[i].question),
				str_from(events[i].sql)),
		       events[i].expected);
}

/* Each has cases here with and without it; names are unique and all is told. */
static void test_every_feature_has_cases(void **state)
{
	(void)state;
	for (int feature = 0; feature < FEATURE_COUNT_; feature++) {
		bool zero = false, other = false;
		for (size_t i = 0; i < TEXTS; i++)
			if ((int)texts[i].feature == feature)
				*(texts[i].expected != 0 ? &other : &zero) = true;
		for (size_t i = 0; i < EVENTS; i++)
			if ((int)events[i].feature == feature)
				*(events[i].expected != 0 ? &other : &zero) = true;
		bool always = feature == FEATURE_QUESTION_OUTPUTS || feature == FEATURE_QUESTION_SENTENCES;
		if (!other || (!zero && !always))
			fail_msg("%s lacks a case", FEATURE_INFO[feature].name);
		assert_true(FEATURE_INFO[feature].scale > 0 && strlen(FEATURE_INFO[feature].sentence) > 5);
		for (int j = 0; j < feature; j++)
			assert_string_not_equal(FEATURE_INFO[feature].name, FEATURE_INFO[j].name);
	}
}

static void test_dialects(void **state)
{
	(void)state;
	static const struct {
		enum sql_dialect dialect;
		const char *sql;
		double anchors;
	} cases[] = {
		{ SQL_SQLITE, "SELECT a FROM t WHERE b = \"Ann\"", 1 },
		{ SQL_SQLITE, "SELECT \"Ann\" FROM t", 0 },
		{ SQL_MYSQL, "SELECT a FROM t WHERE b = \"Ann\"", 1 },
		{ SQL_POSTGRESQL, "SELECT a FROM t WHERE b = \"Ann\"", 0 },
		{ SQL_POSTGRESQL, "SELECT a FROM t WHERE b = $$Ann$$", 1 },
		{ SQL_POSTGRESQL, "SELECT a FROM t WHERE b = E'Ann'", 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct features_input input = { .dialect = cases[i].dialect };
		expect(FEATURE_ANCHORS, "Is Ann there?", cases[i].sql,
		       value_of(input, FEATURE_ANCHORS, STR("Is Ann there?"), str_from(cases[i].sql)),
		       cases[i].anchors);
	}
}

static void expect_bounded(str_t question, str_t sql)
{
	double values[FEATURE_COUNT_];
	const struct features_input input = { .question = question, .sql = sql, .dialect = SQL_SQLITE };
	features_fill(&input, values);
	for (int i = 0; i < FEATURE_COUNT_; i++)
		assert_true(isfinite(values[i]) && fabs(values[i]) <= FEATURES_BOUND);
}

static void test_hostile_texts(void **state)
{
	(void)state;
	static const char *const parts[] = {
		"(",
		")",
		"'",
		"\"",
		"1 ",
		"9",
		"a,",
		"SELECT ",
		"FROM x,",
		"a.b=c.d ",
		"%",
		"\xC3",
		"\xE2\x80\x9C",
		"\xFF",
		". ",
		"and ",
		"A",
		"what ",
		"(SELECT FROM ",
		"it's ",
		"\xF0\x9F\x98\x80",
	};
	enum { SIZE = 300000 };
	char *text = malloc(SIZE + 1);
	expect_bounded(STR_NONE, STR_NONE);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		size_t len = strlen(parts[i]);
		for (size_t j = 0; j < SIZE; j++)
			text[j] = parts[i][j % len];
		text[SIZE] = '\0';
		expect_bounded((str_t){ text, SIZE }, (str_t){ text, SIZE });
	}
	uint32_t random = 1;
	for (int round = 0; round < 200; round++) {
		size_t len = 0;
		while (len < 2000) {
			random = random * 1664525 + 1013904223;
			const char *part = parts[(random >> 16) % (sizeof parts / sizeof parts[0])];
			memcpy(text + len, part, strlen(part));
			len += strlen(part);
		}
		text[len] = '\0';
		expect_bounded((str_t){ text, len }, (str_t){ text, len });
	}
	free(text);
}

/* Both tables are searched by halves. */
static void test_tables_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned senses;
	} senses[] = {
#define WORD(text, senses) { text, senses },
#include "score/question_words.def"
#undef WORD
	};
	for (size_t i = 0; i < sizeof senses / sizeof senses[0]; i++)
		if (question_senses(senses[i].text, strlen(senses[i].text)) != senses[i].senses)
			fail_msg("%s is not found", senses[i].text);
	assert_int_equal(question_senses("zebra", 5), 0);
	assert_int_equal(question_senses("th", 2), 0);
	static const char *const words[] = {
#define SKETCH_WORD(symbol, text) text,
#include "score/sketch_words.def"
#undef SKETCH_WORD
	};
	struct sketch *sketch = test_malloc(sizeof *sketch);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		sketch_read(str_from(words[i]), SQL_POSTGRESQL, sketch);
		if (sketch->count != 1 || sketch->tokens[0].word != (enum sketch_word)i)
			fail_msg("%s is not found", words[i]);
	}
	test_free(sketch);
}

int main(void)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	name_schools(arena);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),		 cmocka_unit_test(test_every_feature_has_cases),
		cmocka_unit_test(test_dialects),	 cmocka_unit_test(test_hostile_texts),
		cmocka_unit_test(test_tables_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
