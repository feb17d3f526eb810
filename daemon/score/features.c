#include "score/features.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#include "score/question.h"
#include "score/sketch.h"

const struct feature_info FEATURE_INFO[FEATURE_COUNT_] = {
#define FEATURE(symbol, name, group, scale, sentence)                                                        \
	{ name, sizeof(name) - 1, FEATURES_##group, scale, sentence },
#include "score/features.def"
#undef FEATURE
};

/* What is read once and used by all groups. */
struct features_work {
	const struct features_input *input;
	struct question question;
	struct sketch sketch;
	double *values;
};

static void set(struct features_work *work, enum feature feature, double value)
{
	double least = value > -FEATURES_BOUND ? value : -FEATURES_BOUND;
	work->values[feature] = !isfinite(value) ? 0 : least < FEATURES_BOUND ? least : FEATURES_BOUND;
}

static void set_at_most(struct features_work *work, enum feature feature, size_t value, size_t most)
{
	set(work, feature, (double)(value < most ? value : most));
}

static bool asks(const struct features_work *work, unsigned sense)
{
	return (work->question.senses & sense) != 0;
}

static unsigned has(const struct features_work *work, enum sketch_word word)
{
	return work->sketch.words[word];
}

/* Sets a sign and adds it to its sum. */
static void sign(struct features_work *work, enum feature feature, enum feature sum, bool value)
{
	set(work, feature, value);
	set(work, sum, work->values[sum] + value);
}

static void fill_question(struct features_work *work)
{
	const struct question *question = &work->question;
	set(work, FEATURE_QUESTION_LENGTH, log1p(question->words));
	set_at_most(work, FEATURE_QUESTION_SENTENCES, question->sentences, 3);
	set_at_most(work, FEATURE_QUESTION_OUTPUTS, question->asked, 4);
	int calculations = asks(work, ASKS_PERCENTAGE) + asks(work, ASKS_AVERAGE) +
			   asks(work, ASKS_DIFFERENCE) + asks(work, ASKS_RATIO) + asks(work, ASKS_EACH) +
			   asks(work, ASKS_CHOICE);
	set(work, FEATURE_QUESTION_CALCULATIONS, calculations);
	set(work, FEATURE_QUESTION_OPERATIONS,
	    calculations + asks(work, ASKS_SUPERLATIVE) + asks(work, ASKS_COMPARISON) +
		    asks(work, ASKS_NEGATION));
	set_at_most(work, FEATURE_QUESTION_NUMBERS, question->numbers, 4);
	set_at_most(work, FEATURE_QUESTION_NAMES, question->names, 6);
	set(work, FEATURE_QUESTION_PERCENTAGE, asks(work, ASKS_PERCENTAGE));
	set(work, FEATURE_QUESTION_AVERAGE, asks(work, ASKS_AVERAGE));
	set(work, FEATURE_QUESTION_DIFFERENCE, asks(work, ASKS_DIFFERENCE | ASKS_RATIO));
	set(work, FEATURE_QUESTION_SUPERLATIVE, asks(work, ASKS_SUPERLATIVE));
	set(work, FEATURE_QUESTION_COMPARISON, asks(work, ASKS_COMPARISON));
	set(work, FEATURE_QUESTION_NEGATION, asks(work, ASKS_NEGATION));
	set(work, FEATURE_QUESTION_COUNT, asks(work, ASKS_COUNT));
}

static bool contains(str_t text, str_t part)
{
	return part.len > 0 && part.len <= text.len && memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

/* Same number: 1,000 and 1000, 05 and 5, 2.50 and 2.5. */
static double number_of(str_t text)
{
	char digits[32];
	size_t len = 0;
	uint64_t whole = 0;
	for (size_t i = 0; i < text.len && i < 15; i++) {
		if (!isdigit((unsigned char)text.ptr[i]))
			break;
		whole = whole * 10 + (uint64_t)(text.ptr[i] - '0');
		if (i + 1 == text.len)
			return (double)whole;
	}
	for (size_t i = 0; i < text.len && len + 1 < sizeof digits; i++)
		if (text.ptr[i] != ',')
			digits[len++] = text.ptr[i];
	digits[len] = '\0';
	return strtod(digits, NULL);
}

/* Whether the text has the number as a run of digits of its own. */
static bool has_number(str_t text, double number)
{
	for (size_t i = 0; i < text.len;) {
		if (!isdigit((unsigned char)text.ptr[i])) {
			i++;
			continue;
		}
		size_t end = i;
		while (end < text.len && (isdigit((unsigned char)text.ptr[end]) ||
					  (text.ptr[end] == '.' && end + 1 < text.len &&
					   isdigit((unsigned char)text.ptr[end + 1]))))
			end++;
		if (number_of((str_t){ text.ptr + i, end - i }) == number)
			return true;
		i = end;
	}
	return false;
}

static bool query_has_number(const struct sketch *sketch, str_t digits)
{
	double number = number_of(digits);
	for (size_t i = 0; i < sketch->literals_count; i++)
		if (has_number(sketch->literals[i].text, number) ||
		    (digits.len > 1 && contains(sketch->literals[i].text, digits)))
			return true;
	return false;
}

static bool question_has_number(const struct question *question, str_t literal)
{
	static const char *const spelt[] = { "zero", "one",   "two",   "three", "four", "five",
					     "six",  "seven", "eight", "nine",	"ten" };
	static const char *const ordinals[] = { "first", "second", "third" };
	double number = number_of(literal);
	for (size_t i = 0; i < question->count; i++)
		if (question->parts[i].kind == QUESTION_NUMBER &&
		    number_of(question->parts[i].text) == number)
			return true;
	for (int i = 0; i <= 10; i++)
		if (number == i && word_set_has(&question->set, word_stem(spelt[i], strlen(spelt[i]))))
			return true;
	for (int i = 0; i < 3; i++)
		if (number == i + 1 &&
		    word_set_has(&question->set, word_stem(ordinals[i], strlen(ordinals[i]))))
			return true;
	return false;
}

enum { LITERAL_WORDS = 16 };

/* Whether the words stand in the question one behind the other. */
static bool question_has_words(const struct question *question, const word_id *ids, size_t count)
{
	for (size_t i = 0; count > 0 && i + count <= question->count; i++) {
		size_t same = 0;
		while (same < count && question->parts[i + same].id == ids[same])
			same++;
		if (same == count)
			return true;
	}
	return false;
}

/* A format of a date: %Y-%m. */
static bool is_format(str_t text)
{
	if (text.len < 2)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '%' && i + 1 < text.len && isalpha((unsigned char)text.ptr[i + 1]))
			i++;
		else if (!strchr("-/ :.", text.ptr[i]))
			return false;
	return true;
}

static str_t without_wildcards(str_t text)
{
	while (text.len > 0 && text.ptr[0] == '%')
		text = (str_t){ text.ptr + 1, text.len - 1 };
	while (text.len > 0 && text.ptr[text.len - 1] == '%')
		text.len--;
	return text;
}

/* A number that queries need whatever is asked. */
static bool is_usual_number(double number)
{
	return number == 0 || number == 1 || number == 100;
}

struct literals {
	size_t exact, respelt, partial, absent, extra;
};

static void count_literal(const struct features_work *work, const struct sketch_literal *literal,
			  struct literals *counts)
{
	const struct question *question = &work->question;
	if (literal->is_number) {
		counts->extra += !is_usual_number(number_of(literal->text)) &&
				 !question_has_number(question, literal->text);
		return;
	}
	if (is_format(literal->text))
		return;
	word_id ids[LITERAL_WORDS];
	str_t text = without_wildcards(literal->text);
	size_t count = words_of_name(text, ids, LITERAL_WORDS);
	size_t known = 0;
	for (size_t i = 0; i < count; i++)
		known += word_set_has(&question->set, ids[i]);
	if (contains(question->text, text))
		counts->exact++;
	else if (question_has_words(question, ids, count))
		counts->respelt++;
	else if (known > 0)
		counts->partial++;
	else
		counts->absent++;
}

static bool is_content(const struct question_part *part)
{
	return part->kind == QUESTION_WORD && !(part->senses & WORD_STOP) && part->text.len > 1;
}

static void fill_values(struct features_work *work)
{
	const struct question *question = &work->question;
	const struct sketch *sketch = &work->sketch;
	struct literals literals = { 0 };
	for (size_t i = 0; i < sketch->literals_count; i++)
		count_literal(work, &sketch->literals[i], &literals);
	size_t numbers_missing = 0, names_missing = 0, quoted_missing = 0, content = 0, uncovered = 0;
	for (size_t i = 0; i < question->count; i++) {
		const struct question_part *part = &question->parts[i];
		bool known = word_set_has(&sketch->set, part->id);
		if (part->kind == QUESTION_NUMBER) {
			numbers_missing += !query_has_number(sketch, part->text);
			continue;
		}
		names_missing += part->kind == QUESTION_WORD && part->capital && !part->begins && !known;
		quoted_missing += part->quoted && part->kind == QUESTION_WORD && !known;
		content += is_content(part);
		uncovered += is_content(part) && !known;
	}
	size_t numbers_found = question->numbers - numbers_missing;
	size_t found = literals.exact + literals.respelt;
	size_t least = numbers_missing < 3 ? numbers_missing : 3;
	set(work, FEATURE_ANCHORS,
	    (double)((found < 3 ? found : 3) + (numbers_found < 3 ? numbers_found : 3)));
	set(work, FEATURE_MISSING,
	    (double)(least + (names_missing < 4 ? names_missing : 4) + (quoted_missing > 0)));
	set_at_most(work, FEATURE_STRANGE, (literals.absent < 3 ? literals.absent : 3) + literals.extra, 6);
	set(work, FEATURE_NAMES_MISSING, question->names ? (double)names_missing / question->names : 0);
	set(work, FEATURE_WORDS_MISSING, content ? (double)uncovered / (double)content : 0);
	set_at_most(work, FEATURE_LITERALS_RESPELT, literals.respelt, 3);
}

static bool has_decimals(const struct sketch *sketch)
{
	for (size_t i = 0; i < sketch->literals_count; i++)
		if (sketch->literals[i].is_number &&
		    memchr(sketch->literals[i].text.ptr, '.', sketch->literals[i].text.len))
			return true;
	return false;
}

static bool has_literal_number(const struct sketch *sketch, double number)
{
	for (size_t i = 0; i < sketch->literals_count; i++)
		if (sketch->literals[i].is_number && number_of(sketch->literals[i].text) == number)
			return true;
	return false;
}

static bool asks_percent(const struct question *question)
{
	for (size_t i = 0; i < question->count; i++)
		if (question->parts[i].text.len >= 7 &&
		    strncasecmp(question->parts[i].text.ptr, "percent", 7) == 0)
			return true;
	return memchr(question->text.ptr, '%', question->text.len) != NULL;
}

static void fill_operations(struct features_work *work)
{
	const struct sketch *sketch = &work->sketch;
	bool counts = has(work, SKETCH_COUNT), adds = has(work, SKETCH_SUM) || has(work, SKETCH_TOTAL);
	bool orders = has(work, SKETCH_ORDER), limits = has(work, SKETCH_LIMIT) || has(work, SKETCH_FETCH);
	bool groups = has(work, SKETCH_GROUP), negates = has(work, SKETCH_NOT) || sketch->negates;
	bool compares = sketch->compares || has(work, SKETCH_BETWEEN);
	bool extreme = has(work, SKETCH_MAX) || has(work, SKETCH_MIN) || has(work, SKETCH_RANK) ||
		       has(work, SKETCH_DENSE_RANK) || has(work, SKETCH_ROW_NUMBER);
	bool share = asks(work, ASKS_PERCENTAGE), distinct = has(work, SKETCH_DISTINCT);
	enum feature sum = FEATURE_ASKED_NOT_DONE;
	sign(work, FEATURE_COUNT_NOT_DONE, sum, work->question.how_many && !counts && !adds);
	sign(work, FEATURE_SUPERLATIVE_NOT_DONE, sum, asks(work, ASKS_SUPERLATIVE) && !orders && !extreme);
	sign(work, FEATURE_AVERAGE_NOT_DONE, sum,
	     asks(work, ASKS_AVERAGE) && !has(work, SKETCH_AVG) && !sketch->divides);
	sign(work, FEATURE_SHARE_NOT_DONE, sum, share && !sketch->divides);
	sign(work, FEATURE_SHARE_NOT_SCALED, sum,
	     share && asks_percent(&work->question) && !has_literal_number(sketch, 100));
	sign(work, FEATURE_NEGATION_NOT_DONE, sum,
	     asks(work, ASKS_NEGATION) && !negates && !has(work, SKETCH_EXCEPT) && !has(work, SKETCH_NULL) &&
		     !has_literal_number(sketch, 0));
	sign(work, FEATURE_COMPARISON_NOT_DONE, sum,
	     asks(work, ASKS_COMPARISON) && !compares && !orders && !asks(work, ASKS_DIFFERENCE));
	sign(work, FEATURE_DISTINCT_NOT_DONE, sum, asks(work, ASKS_DISTINCT) && !distinct && !groups);
	sign(work, FEATURE_EACH_NOT_DONE, sum, asks(work, ASKS_EACH) && !groups);
	sign(work, FEATURE_DIVIDES_INTEGERS, sum,
	     sketch->divides && !has(work, SKETCH_CAST) && !has(work, SKETCH_AVG) && !has_decimals(sketch));
	sign(work, FEATURE_LIMIT_WITHOUT_ORDER, sum, limits && !orders);
	bool counting =
		asks(work, ASKS_COUNT | ASKS_PERCENTAGE | ASKS_RATIO | ASKS_AVERAGE | ASKS_DIFFERENCE);
	set(work, FEATURE_DONE_NOT_ASKED,
	    (compares && !asks(work, ASKS_COMPARISON)) + (groups && !asks(work, ASKS_EACH)) +
		    (limits && !asks(work, ASKS_SUPERLATIVE)) +
		    (negates && !has(work, SKETCH_NULL) && !asks(work, ASKS_NEGATION)) +
		    (distinct && !asks(work, ASKS_DISTINCT)) + (counts && !counting));
}

static bool text_has(str_t text, const char *part)
{
	size_t len = strlen(part);
	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp(text.ptr + i, part, len) == 0)
			return true;
	return false;
}

/* Names among the outputs: how many are names of somebody, and whether one is an identifier. */
static void read_outputs(const struct sketch *sketch, unsigned *ret_names, bool *ret_key)
{
	*ret_names = 0;
	*ret_key = false;
	for (size_t i = sketch->outputs_from; i < sketch->outputs_to; i++) {
		if (!sketch_is_name(sketch, i))
			continue;
		str_t name = sketch_name(sketch, &sketch->tokens[i]);
		*ret_names += text_has(name, "name");
		*ret_key |= name.len >= 2 && strncasecmp(name.ptr + name.len - 2, "id", 2) == 0;
	}
}

static bool lists(const struct question *question)
{
	for (size_t i = 0; i < question->count; i++)
		if (question->parts[i].kind == QUESTION_COMMA || question->parts[i].key == WORD_KEY("and"))
			return true;
	return false;
}

static void fill_outputs(struct features_work *work)
{
	const struct sketch *sketch = &work->sketch;
	unsigned names, outputs = sketch->outputs;
	bool key;
	read_outputs(sketch, &names, &key);
	/* first and last name answer for one */
	unsigned things = outputs > 1 && names > 1 ? outputs - 1 : outputs;
	unsigned asked = work->question.asked;
	enum feature sum = FEATURE_OUTPUTS_NOT_ASKED;
	sign(work, FEATURE_OUTPUTS_EXCESS, sum, things > asked);
	sign(work, FEATURE_OUTPUTS_UNLISTED, sum, outputs > 1 && !lists(&work->question));
	sign(work, FEATURE_OUTPUTS_BESIDE_COUNT, sum, outputs > 1 && work->question.how_many);
	sign(work, FEATURE_OUTPUTS_BESIDE_SUPERLATIVE, sum,
	     outputs > 1 && sketch->puts_out_aggregate && asks(work, ASKS_SUPERLATIVE) &&
		     !asks(work, ASKS_COUNT | ASKS_AVERAGE));
	set_at_most(work, FEATURE_OUTPUTS_LACKING, things < asked ? asked - things : 0, 2);
	set(work, FEATURE_KEY_NOT_ASKED, key && !asks(work, ASKS_KEY));
	set_at_most(work, FEATURE_OUTPUTS, outputs, 6);
}

static void fill_shape(struct features_work *work)
{
	const struct sketch *sketch = &work->sketch;
	unsigned selects = has(work, SKETCH_SELECT), subqueries = selects > 1 ? selects - 1 : 0;
	bool groups = has(work, SKETCH_GROUP);
	unsigned complexity =
		(subqueries < 4 ? subqueries : 4) + groups + (has(work, SKETCH_HAVING) > 0) +
		(has(work, SKETCH_CASE) || has(work, SKETCH_IIF) || has(work, SKETCH_IF)) +
		(has(work, SKETCH_UNION) || has(work, SKETCH_INTERSECT) || has(work, SKETCH_EXCEPT)) +
		(has(work, SKETCH_OVER) > 0) + (has(work, SKETCH_WITH) > 0) + sketch->divides;
	set(work, FEATURE_COMPLEXITY, complexity);
	set(work, FEATURE_PLAIN_LOOKUP, complexity == 0 && sketch->outputs == 1);
	set(work, FEATURE_LENGTH, log1p((double)sketch->count));
	set(work, FEATURE_SELF_JOIN, sketch->self_join);
	set_at_most(work, FEATURE_ODD_KEYS, sketch->odd_keys, 2);
	set_at_most(work, FEATURE_RANGES, sketch->ranges_count, 6);
	set_at_most(work, FEATURE_SUBQUERIES, subqueries, 4);
	set_at_most(work, FEATURE_DEPTH, sketch->depth, 6);
	set_at_most(work, FEATURE_CONDITIONS, has(work, SKETCH_AND), 6);
	set(work, FEATURE_ALTERNATIVES, has(work, SKETCH_OR) > 0);
	set_at_most(work, FEATURE_AGGREGATES, sketch->aggregates, 4);
	set(work, FEATURE_GROUPS, groups);
	set(work, FEATURE_ORDERS, has(work, SKETCH_ORDER) > 0);
	set(work, FEATURE_DISTINCT, has(work, SKETCH_DISTINCT) > 0);
	set(work, FEATURE_STAR, sketch->puts_out_star);
	set(work, FEATURE_CASTS, has(work, SKETCH_CAST) > 0);
	set(work, FEATURE_PATTERNS, has(work, SKETCH_LIKE) || has(work, SKETCH_ILIKE));
	set(work, FEATURE_TESTS_NULL, has(work, SKETCH_NULL) > 0);
	set(work, FEATURE_OUTER_JOINS,
	    has(work, SKETCH_LEFT) || has(work, SKETCH_RIGHT) || has(work, SKETCH_FULL));
	static const enum sketch_word dates[] = { SKETCH_STRFTIME,  SKETCH_DATE,       SKETCH_DATETIME,
						  SKETCH_JULIANDAY, SKETCH_YEAR,       SKETCH_MONTH,
						  SKETCH_DATE_PART, SKETCH_DATE_TRUNC, SKETCH_TO_CHAR,
						  SKETCH_EXTRACT,   SKETCH_SUBSTR,     SKETCH_SUBSTRING };
	unsigned calls = 0;
	for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++)
		calls += has(work, dates[i]);
	set(work, FEATURE_DATES, calls > 0);
}

/* How many of the name's words the question has; "id" counts for nothing. */
static size_t named(const struct features_work *work, const struct name_words *name, word_id id,
		    size_t *ret_words)
{
	size_t found = 0, words = 0;
	for (size_t i = 0; i < name->count; i++) {
		words += name->ids[i] != id;
		found += name->ids[i] != id && word_set_has(&work->question.set, name->ids[i]);
	}
	*ret_words = words;
	return found;
}

/* Whether the question has the name's first word. */
static bool begins_named(const struct features_work *work, const struct name_words *name, word_id id)
{
	return name->count > 0 && (name->ids[0] == id || word_set_has(&work->question.set, name->ids[0]));
}

static void add_used_names(const struct sketch *sketch, struct word_set *used)
{
	char lower[WORD_BYTES_MAX];
	for (size_t i = 0; i < sketch->count; i++)
		if (sketch_is_name(sketch, i)) {
			str_t name = sketch_name(sketch, &sketch->tokens[i]);
			word_set_add(used, word_stem(lower, word_lower(name, lower)));
		}
}

static void fill_schema(struct features_work *work)
{
	const struct features_input *input = work->input;
	size_t columns = 0, unused = 0, unnamed = 0, relations = 0;
	const word_id id = word_stem("id", 2);
	struct word_set used;
	word_set_clear(&used);
	if (input->relations_count)
		add_used_names(&work->sketch, &used);
	for (size_t i = 0; i < input->relations_count; i++) {
		const struct features_relation *relation = &input->relations[i];
		size_t words;
		relations += named(work, relation->name, id, &words) == 0;
		for (size_t j = 0; j < relation->columns_count && columns < FEATURES_MAX_COLUMNS;
		     j++, columns++) {
			const struct name_words *name = &relation->columns[j];
			bool is_used = word_set_has(&used, name->whole);
			if (!is_used && !begins_named(work, name, id)) /* most of them */
				continue;
			size_t found = named(work, name, id, &words);
			unused += !is_used && words > 0 && found == words;
			unnamed += is_used && found == 0;
		}
	}
	set_at_most(work, FEATURE_COLUMNS_UNUSED, unused, 4);
	set_at_most(work, FEATURE_COLUMNS_UNNAMED, unnamed, 6);
	set_at_most(work, FEATURE_RELATIONS_UNNAMED, relations, 4);
	set(work, FEATURE_COLUMNS, log1p((double)columns));
	set(work, FEATURE_LITERALS_CHECKED, input->literals_absent.set);
	if (input->literals_absent.set)
		set(work, FEATURE_LITERALS_ABSENT, fmin(input->literals_absent.value, 3));
}

static void fill_diagnostics(struct features_work *work)
{
	static const struct {
		const char *code, *sub_code;
		enum feature feature;
	} known[] = {
		{ "syntax_error", NULL, FEATURE_DIAGNOSED_SYNTAX },
		{ "unknown_table", NULL, FEATURE_DIAGNOSED_TABLE },
		{ "unknown_column", NULL, FEATURE_DIAGNOSED_COLUMN },
		{ "ambiguous_column", NULL, FEATURE_DIAGNOSED_AMBIGUOUS },
		{ "unknown_function", NULL, FEATURE_DIAGNOSED_FUNCTION },
		{ "markdown_fence", NULL, FEATURE_DIAGNOSED_FENCE },
		{ "type_mismatch", NULL, FEATURE_DIAGNOSED_TYPES },
		{ "risky_pattern", "cartesian_product", FEATURE_DIAGNOSED_PRODUCT },
		{ "missing_limit", NULL, FEATURE_DIAGNOSED_NO_LIMIT },
	};
	const struct features_input *input = work->input;
	size_t errors = 0, warnings = 0;
	for (size_t i = 0; i < input->diagnostics_count; i++) {
		const struct features_diagnostic *found = &input->diagnostics[i];
		bool fence = strcmp(found->code, "markdown_fence") == 0;
		errors += found->error && !fence;
		warnings += !found->error && strcmp(found->code, "missing_limit") != 0;
		for (size_t j = 0; j < sizeof known / sizeof known[0]; j++)
			if (strcmp(found->code, known[j].code) == 0 &&
			    (!known[j].sub_code ||
			     (found->sub_code && strcmp(found->sub_code, known[j].sub_code) == 0)))
				set(work, known[j].feature, 1);
	}
	set_at_most(work, FEATURE_ERRORS, errors, 3);
	set_at_most(work, FEATURE_WARNINGS, warnings, 3);
	set(work, FEATURE_TECHNICAL, input->technical.set ? input->technical.value / 100 : 0);
	set(work, FEATURE_DIAGNOSED_NOT_SAFE, !input->safe);
}

/* A value where there is one, and the sign that there is. */
static void set_given(struct features_work *work, enum feature given, enum feature feature,
		      opt_double_t value)
{
	set(work, given, value.set);
	set(work, feature, value.set ? value.value : 0);
}

static void fill_event(struct features_work *work)
{
	const struct features_input *input = work->input;
	set_given(work, FEATURE_GENERATOR_GIVEN, FEATURE_GENERATOR_CONFIDENCE, input->generator);
	set_given(work, FEATURE_RETRIEVAL_GIVEN, FEATURE_RETRIEVAL_CONFIDENCE, input->retrieval);
	set(work, FEATURE_RETRIEVAL_TOP, input->retrieval_top.set ? input->retrieval_top.value : 0);
	set_given(work, FEATURE_CANDIDATES_GIVEN, FEATURE_AGREEMENT_FORM, input->agreement_form);
	if (!input->agreement_results.set)
		return;
	set(work, FEATURE_AGREEMENT_EXECUTED, input->agreement_executed);
	set(work, FEATURE_AGREEMENT_RESULTS, input->agreement_results.value);
	set(work, FEATURE_AGREEMENT_LEAD, input->agreement_results.value - input->agreement_other);
	set(work, FEATURE_AGREEMENT_ALONE, input->agreement_alone);
}

static void fill_panel(struct features_work *work)
{
	opt_double_t apart = work->input->disagreement;
	set_given(work, FEATURE_PANEL_GIVEN, FEATURE_PANEL_DISAGREEMENT,
		  apart.set ? opt_double(apart.value / 100) : apart);
}

void features_fill(const struct features_input *input, double ret_values[FEATURE_COUNT_])
{
	struct features_work work;
	memset(ret_values, 0, FEATURE_COUNT_ * sizeof ret_values[0]);
	work.input = input;
	work.values = ret_values;
	question_read(input->question, &work.question);
	sketch_read(input->sql, input->dialect, &work.sketch);
	fill_question(&work);
	fill_values(&work);
	fill_operations(&work);
	fill_outputs(&work);
	fill_shape(&work);
	fill_schema(&work);
	fill_diagnostics(&work);
	fill_event(&work);
	fill_panel(&work);
}
