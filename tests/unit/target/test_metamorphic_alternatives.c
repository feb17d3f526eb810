/*
 * Accepted answers to one question against each other: the defog corpus names several statements for some
 * questions, and columns to choose from for many ({a,b}: any of them, at least one). Each is validated
 * against each other one as the truth through real worker processes; how many score 1.0 and why others do not
 * is printed, and every verdict has to be what a server says that both have in common.
 *
 * ASSAYD_METAMORPHIC_LIST: a file for all pairs that are not alike, with the reason. See metamorphic.md.
 * Skipped, by name, where the corpus or PostgreSQL is not there.
 */
#include "tests/harness/fixtures/truths.h"
#include "tests/harness/oracles/oracle_fixture.h"
#include "tests/unit/target/metamorphic_trial.h"

enum { MAX_CHOICES = 4, MAX_ALTERNATIVES = 64 };

/* Why two accepted answers are not alike. */
enum reason {
	ALIKE,
	OTHER_COUNT_OF_COLUMNS,
	OTHER_CHOICE, /* as many columns, but others were chosen */
	OTHER_COUNT_OF_ROWS,
	OTHER_ORDER, /* the same rows */
	OTHER_VALUES,
	OTHER_TYPES,
	REASONS,
};

static const char *const reason_names[REASONS] = {
	[ALIKE] = "1.0",
	[OTHER_COUNT_OF_COLUMNS] = "another number of columns",
	[OTHER_CHOICE] = "other columns chosen",
	[OTHER_COUNT_OF_ROWS] = "another number of rows",
	[OTHER_ORDER] = "the same rows in another order",
	[OTHER_VALUES] = "other values",
	[OTHER_TYPES] = "values of other types",
};

/* The columns that a statement offers to choose from. */
struct choices {
	str_t names[MAX_CHOICES];
	size_t count;
};

struct alternative {
	str_t sql;
	unsigned statement; /* of the question */
	struct choices choices;
	unsigned chosen; /* bits of the choices */
	struct result_source source;
	struct sort_keys keys;
};

struct question {
	const char *database;
	unsigned number;
	struct alternative alternatives[MAX_ALTERNATIVES];
	size_t count;
};

struct event_metrics {
	unsigned questions, alternatives, failed;
	unsigned pairs[2][REASONS];  /* of one statement with other choices; of different statements */
	unsigned answers, confirmed; /* of questions with several statements: by another statement */
	unsigned wrong;
};

static struct event_metrics event_metrics;
static FILE *list;
static unsigned shapes_tried;

/* ---- Reading ---- */

/* Of the first choice; further ones repeat it. */
static struct choices first_choices(str_t written)
{
	struct choices choices = { .count = 0 };
	const char *open = memchr(written.ptr, '{', written.len), *end = written.ptr + written.len;
	if (!open || open + 1 == end || open[1] == '}')
		return choices;
	const char *start = open + 1;
	for (const char *at = start; at < end && choices.count < MAX_CHOICES; at++) {
		if (*at != ',' && *at != '}')
			continue;
		choices.names[choices.count++] = (str_t){ start, (size_t)(at - start) };
		start = at + 1;
		if (*at == '}')
			break;
	}
	return choices;
}

static void append_chosen(struct buf *sql, const struct choices *choices, unsigned chosen)
{
	bool any = false;
	for (size_t i = 0; i < choices->count; i++) {
		if (!(chosen >> i & 1))
			continue;
		buf_append_text(sql, any ? ", " : "");
		buf_append_str(sql, choices->names[i]);
		any = true;
	}
}

/* Writes the choice wherever it is offered or repeated. */
static str_t choose(str_t written, const struct choices *choices, unsigned chosen, struct arena *arena)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	for (size_t i = 0; i < written.len; i++) {
		const char *close =
			written.ptr[i] == '{' ? memchr(written.ptr + i, '}', written.len - i) : NULL;
		if (!close) {
			buf_append_char(&sql, written.ptr[i]);
			continue;
		}
		append_chosen(&sql, choices, chosen);
		i = (size_t)(close - written.ptr);
	}
	return arena_str(arena, buf_str(&sql));
}

struct reading {
	struct arena *arena;
	struct question *questions;
	size_t count, capacity;
	unsigned first; /* number of the file's first question, less 1 */
};

static void add_alternatives(void *context, const struct truth *truth)
{
	struct reading *reading = context;
	unsigned number = reading->first + truth->question;
	if (reading->count == 0 || reading->questions[reading->count - 1].number != number)
		ARENA_PUSH(reading->arena, reading->questions, reading->count, reading->capacity,
			   (struct question){ .number = number,
					      .database = arena_strdup(reading->arena, truth->database) });
	struct question *question = &reading->questions[reading->count - 1];
	struct choices choices = first_choices(truth->written);
	unsigned last = choices.count ? (1u << choices.count) - 1 : 1;
	for (unsigned chosen = 1; chosen <= last && question->count < MAX_ALTERNATIVES; chosen++)
		question->alternatives[question->count++] = (struct alternative){
			.sql = choose(truth->written, &choices, chosen, reading->arena),
			.statement = truth->alternative,
			.choices = choices,
			.chosen = chosen,
		};
}

static void read_questions(struct reading *reading)
{
	static const char *const files[] = { "questions_gen_postgres.csv", "instruct_basic_postgres.csv" };
	const char *corpora = getenv("ASSAYD_CORPORA");
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/defog/%s",
			 corpora ? corpora : ASSAYD_SOURCE_DIR "/../shared/corpora", files[i]);
		_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
		assert_non_null(file);
		reading->first = reading->count ? reading->questions[reading->count - 1].number : 0;
		truths_read(file, reading->arena, add_alternatives, reading);
	}
}

/* ---- Pairs ---- */

/* The column's name without its table. */
static str_t bare_name(str_t name)
{
	while (name.len > 0 && name.ptr[0] == ' ')
		name = (str_t){ name.ptr + 1, name.len - 1 };
	const char *dot = memrchr(name.ptr, '.', name.len);
	return dot ? (str_t){ dot + 1, (size_t)(name.ptr + name.len - dot) - 1 } : name;
}

static bool is_chosen(const struct alternative *alternative, str_t name)
{
	for (size_t i = 0; i < alternative->choices.count; i++)
		if ((alternative->chosen >> i & 1) &&
		    str_equal(bare_name(alternative->choices.names[i]), name))
			return true;
	return false;
}

static bool chose_all_of(const struct alternative *a, const struct alternative *b)
{
	for (size_t i = 0; i < b->choices.count; i++)
		if ((b->chosen >> i & 1) && !is_chosen(a, bare_name(b->choices.names[i])))
			return false;
	return true;
}

static enum reason reason_of(const struct trial *trial, const struct alternative *answer,
			     const struct alternative *truth, struct arena *arena)
{
	if (trial->result.score >= 1.0)
		return ALIKE;
	if (trial->likeness.known == RESULT_OTHER_SHAPE)
		return OTHER_COUNT_OF_COLUMNS;
	if (!chose_all_of(answer, truth) || !chose_all_of(truth, answer))
		return OTHER_CHOICE;
	if (trial->likeness.known != RESULT_KNOWN)
		return OTHER_TYPES;
	if (trial->likeness.rows != trial->likeness.truth_rows)
		return OTHER_COUNT_OF_ROWS;
	struct result_source bag = truth->source;
	bag.ordered = false;
	struct result_likeness likeness =
		result_likeness(trial->database->connection, &bag, trial->sql, MAX_TRIAL_ROWS, arena);
	return trial_equal(trial_rate(&likeness), 1.0) ? OTHER_ORDER : OTHER_VALUES;
}

/* Returns whether they are alike. */
static bool try_pair(const struct oracle_database *database, const struct alternative *answer,
		     const struct alternative *truth, struct targets *targets)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	if (PQnfields(answer->source.result) != PQnfields(truth->source.result) && shapes_tried++ % 8) {
		event_metrics.pairs[answer->statement != truth->statement][OTHER_COUNT_OF_COLUMNS]++;
		return false; /* there are many of them */
	}
	struct trial trial = { .database = database,
			       .truth = &truth->source,
			       .keys = &truth->keys,
			       .name = "alternative",
			       .promise = RESULT_MAYBE,
			       .sql = answer->source.sql };
	trial_run(&trial, targets, arena);
	enum reason reason = reason_of(&trial, answer, truth, arena);
	event_metrics.pairs[answer->statement != truth->statement][reason]++;
	if (list && reason != ALIKE)
		trial_show(list, &trial, reason_names[reason]);
	if (trial.wrong) {
		event_metrics.wrong++;
		trial_show(stderr, &trial, trial.wrong);
		trial_show_rows(&trial);
	}
	return reason == ALIKE;
}

static void run_alternatives(struct question *question, const struct oracle_database *database,
			     struct arena *arena)
{
	size_t kept = 0;
	for (size_t i = 0; i < question->count; i++) {
		struct alternative alternative = question->alternatives[i];
		bool repeated = false;
		for (size_t k = 0; k < kept; k++)
			repeated |= str_equal(question->alternatives[k].sql, alternative.sql);
		if (repeated)
			continue;
		if (trial_truth(database, alternative.sql, arena, &alternative.source, &alternative.keys))
			question->alternatives[kept++] = alternative;
		else
			event_metrics.failed++;
	}
	question->count = kept;
}

static void try_question(struct question *question, const struct oracle_database *database,
			 struct targets *targets)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	run_alternatives(question, database, arena);
	bool several = question->count > 0 && question->alternatives[question->count - 1].statement > 0;
	for (size_t i = 0; i < question->count; i++) {
		bool confirmed = false;
		for (size_t k = 0; k < question->count; k++) {
			const struct alternative *answer = &question->alternatives[i],
						 *truth = &question->alternatives[k];
			if (i != k && try_pair(database, answer, truth, targets))
				confirmed |= answer->statement != truth->statement;
		}
		event_metrics.answers += several;
		event_metrics.confirmed += confirmed;
	}
	event_metrics.questions++;
	event_metrics.alternatives += (unsigned)question->count;
	for (size_t i = 0; i < question->count; i++)
		PQclear(question->alternatives[i].source.result);
}

static void print_event_metrics(void)
{
	print_message("%u questions, %u answers accepted in all (%u more do not run)\n",
		      event_metrics.questions, event_metrics.alternatives, event_metrics.failed);
	print_message("%-34s %14s %14s\n", "pairs of one question", "other choice", "other statement");
	for (size_t i = 0; i < REASONS; i++)
		print_message("%-34s %14u %14u\n", reason_names[i], event_metrics.pairs[0][i],
			      event_metrics.pairs[1][i]);
	print_message("where there are several statements, %u of %u answers score 1.0 against another one\n",
		      event_metrics.confirmed, event_metrics.answers);
	print_message("scored wrongly: %u\n", event_metrics.wrong);
}

static void alternatives_score_what_they_return(void **state)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct reading reading = { .arena = arena };
	const char *path = getenv("ASSAYD_METAMORPHIC_LIST");
	(void)state;
	list = path ? fopen(path, "w") : NULL;
	read_questions(&reading);
	for (size_t i = 0; i < oracle.count; i++) {
		const struct oracle_database *database = &oracle.databases[i];
		if (!database->is_corpus)
			continue;
		struct targets *targets = trial_target(&oracle, database);
		for (size_t k = 0; k < reading.count; k++)
			if (strcmp(reading.questions[k].database, database->name) == 0)
				try_question(&reading.questions[k], database, targets);
		targets_stop(targets);
	}
	if (list)
		fclose(list);
	print_event_metrics();
	assert_int_equal(event_metrics.wrong, 0);
	assert_true(event_metrics.questions >= 250 && event_metrics.pairs[1][ALIKE] > 0);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = { cmocka_unit_test(alternatives_score_what_they_return) };
	return cmocka_run_group_tests(tests, load_oracle, free_oracle);
}
