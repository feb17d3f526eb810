/*
 * Pairs of queries on a real server that speaks MongoDB's protocol: what means the same scores 1.0, what the
 * server itself answers in another way scores less, and queries of the same canonical form have the same
 * result. What means the same is so by how a plan is written (mongodb_queries.h), and what differs is told by
 * the documents that the server returns to this program, never by the comparator.
 *
 * ASSAYD_METAMORPHIC_ROUNDS: so many times with other data and queries (default 1, in a long run 10).
 */
#include "mongodb_queries.h" // first: it calls what banned.h forbids

#include "mongodb_server.h"

#include "common/hash.h"
#include "tests/harness/fixtures/long_run.h"

#define IN_FLIGHT   8
#define WAYS	    4 /* of writing a plan besides the truth's */
#define CHANGES	    4
#define MAX_ROWS    2000
#define PLANS	    250
#define FORM_PLANS  350
#define FORM_SEEDS  500000
#define MAX_FAILED  10
#define ABSENT_TEXT "-"

static struct targets *targets;
static mongoc_client_t *client;
static struct {
	unsigned plans, kept, changed, alike, forms, failed;
} counts;

/* --- what the server says --- */

struct answer {
	struct arena *arena;
	str_t rows[MAX_ROWS];	/* by place: what a comparison may look at */
	str_t wholes[MAX_ROWS]; /* the same, if any documents may come out */
	str_t exacts[MAX_ROWS]; /* by name */
	str_t cells[MAX_ROWS][QUERY_OUTPUTS + 1];
	bool present[QUERY_OUTPUTS + 1];
	size_t count;
	bool failed;
};

static void put_value(struct buf *to, const bson_iter_t *iter);

static int by_text(const void *a, const void *b)
{
	return strcmp(((const str_t *)a)->ptr, ((const str_t *)b)->ptr);
}

static void put_sorted(struct buf *to, str_t *members, size_t count)
{
	qsort(members, count, sizeof *members, by_text);
	for (size_t i = 0; i < count; i++)
		buf_printf(to, "%s|", members[i].ptr);
}

/* Documents are the same in whatever order their fields are. */
static void put_members(struct buf *to, bson_iter_t *iter, bool array)
{
	str_t members[64];
	size_t count = 0;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	while (bson_iter_next(iter)) {
		_cleanup_(buf_free) struct buf member = BUF_INIT;
		if (!array)
			buf_printf(&member, "%s=", bson_iter_key(iter));
		put_value(&member, iter);
		if (array)
			buf_printf(to, "%s|", member.data);
		else if (count < 64)
			members[count++] = arena_str(arena, buf_str(&member));
	}
	if (!array)
		put_sorted(to, members, count);
}

static void put_number(struct buf *to, const bson_iter_t *iter)
{
	char text[BSON_DECIMAL128_STRING];
	bson_decimal128_t decimal;
	double number;
	if (BSON_ITER_HOLDS_DECIMAL128(iter)) {
		bson_iter_decimal128(iter, &decimal);
		bson_decimal128_to_string(&decimal, text);
		number = strtod(text, NULL);
	} else {
		number = bson_iter_as_double(iter);
	}
	buf_printf(to, "%.3f", number + 0.0);
}

static void put_value(struct buf *to, const bson_iter_t *iter)
{
	char id[25];
	bson_iter_t members;
	switch (bson_iter_type(iter)) {
	case BSON_TYPE_INT32:
	case BSON_TYPE_INT64:
	case BSON_TYPE_DOUBLE:
	case BSON_TYPE_DECIMAL128:
		put_number(to, iter);
		return;
	case BSON_TYPE_UTF8:
		buf_printf(to, "'%s'", bson_iter_utf8(iter, NULL));
		return;
	case BSON_TYPE_BOOL: /* to the comparator they are the numbers that other databases have for them */
		buf_append_text(to, bson_iter_bool(iter) ? "1.000" : "0.000");
		return;
	case BSON_TYPE_DATE_TIME:
		buf_printf(to, "date %lld", (long long)bson_iter_date_time(iter));
		return;
	case BSON_TYPE_OID:
		bson_oid_to_string(bson_iter_oid(iter), id);
		buf_printf(to, "id %s", id);
		return;
	case BSON_TYPE_DOCUMENT:
	case BSON_TYPE_ARRAY:
		bson_iter_recurse(iter, &members);
		buf_append_char(to, BSON_ITER_HOLDS_ARRAY(iter) ? '[' : '{');
		put_members(to, &members, BSON_ITER_HOLDS_ARRAY(iter));
		buf_append_char(to, BSON_ITER_HOLDS_ARRAY(iter) ? ']' : '}');
		return;
	default:
		buf_append_text(to, ABSENT_TEXT);
		return;
	}
}

static str_t cell_of(const bson_t *document, const char *name, struct arena *arena)
{
	_cleanup_(buf_free) struct buf cell = BUF_INIT;
	bson_iter_t iter;
	if (!bson_iter_init_find(&iter, document, name))
		return STR(ABSENT_TEXT);
	put_value(&cell, &iter);
	return arena_str(arena, buf_str(&cell));
}

static str_t exact_of(const bson_t *document, struct arena *arena)
{
	_cleanup_(buf_free) struct buf row = BUF_INIT;
	bson_iter_t iter;
	bson_iter_init(&iter, document);
	put_members(&row, &iter, false);
	return arena_str(arena, buf_str(&row));
}

static void take_document(struct answer *answer, const bson_t *document, const struct query_text *text)
{
	assert_true(answer->count < MAX_ROWS);
	for (size_t i = 0; i < text->names_count; i++) {
		str_t *cell = &answer->cells[answer->count][i];
		*cell = cell_of(document, text->names[i], answer->arena);
		answer->present[i] |= !str_is(*cell, ABSENT_TEXT);
	}
	answer->exacts[answer->count++] = exact_of(document, answer->arena);
}

/* The cells in the order in which the plan has its outputs; of whole documents, all fields. `all`: also those
 * that none of the documents has, which are no columns. */
static str_t row_of(const struct answer *answer, size_t row, size_t names, bool all)
{
	_cleanup_(buf_free) struct buf cells = BUF_INIT;
	if (names == 0)
		return answer->exacts[row];
	for (size_t i = 0; i < names; i++)
		if (all || answer->present[i])
			buf_printf(&cells, "%s\n", answer->cells[row][i].ptr);
	return arena_str(answer->arena, buf_str(&cells));
}

static void make_rows(struct answer *answer, const struct query_text *text)
{
	for (size_t row = 0; row < answer->count; row++) {
		answer->rows[row] = row_of(answer, row, text->names_count, false);
		answer->wholes[row] = row_of(answer, row, text->names_count, true);
	}
}

/* The documents of a cursor's first batch, or a document for each value, or one with the count. */
static void take_reply(struct answer *answer, const bson_t *reply, const struct query_text *text)
{
	bson_iter_t iter, list, item;
	bson_t document;
	const uint8_t *data;
	uint32_t len;
	bool values = text->key != NULL;
	if (text->counts) {
		bson_init(&document);
		assert_true(bson_iter_init_find(&iter, reply, "n"));
		bson_append_iter(&document, "n", -1, &iter);
		take_document(answer, &document, text);
		bson_destroy(&document);
		return;
	}
	assert_true(bson_iter_init(&iter, reply));
	assert_true(bson_iter_find_descendant(&iter, values ? "values" : "cursor.firstBatch", &list));
	bson_iter_recurse(&list, &item);
	while (bson_iter_next(&item)) {
		if (values) {
			bson_init(&document);
			bson_append_iter(&document, text->key, -1, &item);
		} else {
			bson_iter_document(&item, &len, &data);
			bson_init_static(&document, data, len);
		}
		take_document(answer, &document, text);
		bson_destroy(&document);
	}
}

/* The caller frees its arena. */
static void ask(const struct query_text *text, struct answer *ret_answer)
{
	bson_t *command = query_command(text), reply;
	bson_error_t error = { 0 };
	ret_answer->arena = arena_new();
	ret_answer->count = 0;
	if (!text->aggregates && !text->counts && !text->key)
		BSON_APPEND_INT32(command, "batchSize", MAX_ROWS);
	ret_answer->failed = !mongoc_client_command_simple(client, "shop", command, NULL, &reply, &error);
	if (ret_answer->failed) {
		char *json = bson_as_relaxed_extended_json(command, NULL);
		fail_msg("%s: %s", json, error.message);
	} else {
		take_reply(ret_answer, &reply, text);
		make_rows(ret_answer, text);
	}
	bson_destroy(&reply);
	bson_destroy(command);
}

static bool same_rows(const str_t *a, size_t a_count, const str_t *b, size_t b_count, bool in_order)
{
	static str_t left[MAX_ROWS], right[MAX_ROWS];
	if (a_count != b_count)
		return false;
	memcpy(left, a, a_count * sizeof *a);
	memcpy(right, b, b_count * sizeof *b);
	if (!in_order) {
		qsort(left, a_count, sizeof *left, by_text);
		qsort(right, b_count, sizeof *right, by_text);
	}
	for (size_t i = 0; i < a_count; i++)
		if (strcmp(left[i].ptr, right[i].ptr) != 0)
			return false;
	return true;
}

/* Whether all rows are among the others, each as often at most. */
static bool among(const str_t *rows, size_t count, const str_t *others, size_t others_count)
{
	static str_t left[MAX_ROWS], right[MAX_ROWS];
	size_t at = 0;
	memcpy(left, rows, count * sizeof *left);
	memcpy(right, others, others_count * sizeof *right);
	qsort(left, count, sizeof *left, by_text);
	qsort(right, others_count, sizeof *right, by_text);
	for (size_t i = 0; i < count; i++, at++) {
		while (at < others_count && strcmp(right[at].ptr, left[i].ptr) < 0)
			at++;
		if (at == others_count || strcmp(right[at].ptr, left[i].ptr) != 0)
			return false;
	}
	return true;
}

/* --- validations --- */

struct written {
	struct query_text text;
	struct buf spelled;
	struct answer *answer;
	struct arena *arena;
	str_t canonical;
};

struct pair {
	struct test_call test;
	struct buf truth, generated;
	const char *what;
	uint64_t seed;
	bool equal; /* as it has to be */
};

static struct pair in_flight[IN_FLIGHT];
static size_t in_flight_count;

/* One row of a hundred is forgiven by the score, and not by the rate. */
static void judge(struct pair *pair)
{
	const struct validation_result *result = test_call_wait(&pair->test);
	bool equal = result->score == 1.0 && result->content_match_rate == 1.0;
	if (result->status != VALIDATION_COMPARED || equal != pair->equal) {
		counts.failed++;
		print_error("seed %llu: %s: %s, score %g: " STR_FMT "\n  truth  %s\n  query  %s\n",
			    (unsigned long long)pair->seed, pair->what,
			    target_validation_status_name(result->status), result->score,
			    STR_ARG(result->message), pair->truth.data, pair->generated.data);
	}
	test_call_free(&pair->test);
	buf_free(&pair->truth);
	buf_free(&pair->generated);
}

static void judge_all(void)
{
	for (size_t i = 0; i < in_flight_count; i++)
		judge(&in_flight[i]);
	in_flight_count = 0;
}

static void submit(const struct written *truth, const struct written *generated, const char *what, bool equal,
		   uint64_t seed)
{
	if (in_flight_count == IN_FLIGHT)
		judge_all();
	struct pair *pair = &in_flight[in_flight_count++];
	*pair = (struct pair){ .what = what, .seed = seed, .equal = equal };
	buf_append_str(&pair->truth, buf_str(&truth->spelled));
	buf_append_str(&pair->generated, buf_str(&generated->spelled));
	test_call_init(&pair->test, "shop", pair->generated.data, pair->truth.data);
	describe_truth(&pair->test, SQL_MONGODB);
	targets_submit(targets, &pair->test.call);
}

/* --- canonical forms --- */

/* The first query of each form, and what the server said to it. */
struct form {
	str_t text, rows;
};

static struct arena *forms_arena;
static struct hash_map forms;

/* All rows in one text, in no order but where the form has one without ties. */
static str_t rows_text(const struct written *written, bool in_order)
{
	_cleanup_(buf_free) struct buf all = BUF_INIT;
	struct answer *answer = written->answer;
	str_t *rows = ARENA_ARRAY(written->arena, str_t, answer->count);
	for (size_t i = 0; i < answer->count; i++)
		rows[i] = answer->exacts[i];
	if (!in_order)
		qsort(rows, answer->count, sizeof *rows, by_text);
	for (size_t i = 0; i < answer->count; i++)
		buf_printf(&all, "%s\n", rows[i].ptr);
	return arena_str(forms_arena, buf_str(&all));
}

static void check_form(struct written *written, bool total, uint64_t seed)
{
	const struct sql_request request = { .sql = buf_str(&written->spelled), .dialect = SQL_MONGODB };
	struct sql_analysis analysis;
	sql_analyse(&request, written->arena, &analysis);
	written->canonical = analysis.canonical;
	if (analysis.verdict != SQL_SAFE)
		fail_msg("seed %llu: not safe: %s", (unsigned long long)seed, written->spelled.data);
	str_t key = arena_printf(forms_arena, "%d " STR_FMT, total, STR_ARG(analysis.canonical));
	struct form *known = hash_map_get(&forms, key);
	str_t rows = rows_text(written, total);
	if (!known) {
		known = ARENA_NEW(forms_arena, struct form);
		*known = (struct form){ arena_str(forms_arena, buf_str(&written->spelled)), rows };
		hash_map_set(&forms, key, known);
		return;
	}
	counts.forms += !str_equal(known->text, buf_str(&written->spelled));
	if (str_equal(known->rows, rows))
		return;
	counts.failed++;
	print_error("seed %llu: one form, two results: %s\n  %s\n  %s\n  %s\n  %s\n",
		    (unsigned long long)seed, analysis.canonical.ptr, known->text.ptr, written->spelled.data,
		    known->rows.ptr, rows.ptr);
}

/* --- plans --- */

static void write_down(const struct query_plan *plan, struct dice *dice, struct written *ret_written,
		       uint64_t seed)
{
	query_write(plan, dice, &ret_written->text);
	ret_written->arena = arena_new();
	ret_written->answer = ARENA_NEW(ret_written->arena, struct answer);
	query_spell(&ret_written->text, dice, &ret_written->spelled);
	ask(&ret_written->text, ret_written->answer);
	check_form(ret_written, plan->total, seed);
}

static void forget(struct written *written)
{
	query_text_free(&written->text);
	buf_free(&written->spelled);
	arena_free(written->answer->arena);
	arena_free(written->arena);
	*written = (struct written){ 0 };
}

/* A count of nothing is a document for some and none for others. */
static bool counts_nothing(const struct query_plan *plan, const struct written *written)
{
	return plan->kind == COUNTED &&
	       (written->answer->count == 0 || strcmp(written->answer->rows[0].ptr, "0.000\n") == 0);
}

static void try_ways(const struct query_plan *plan, const struct written *truth, struct dice *dice,
		     uint64_t seed)
{
	struct query_plan way = *plan;
	way.breaks_ties = true;
	for (int i = 0; i < WAYS; i++) {
		struct written other = { 0 };
		write_down(&way, dice, &other, seed);
		const struct answer *a = truth->answer, *b = other.answer;
		bool same = same_rows(a->rows, a->count, b->rows, b->count, plan->total);
		if (!same && !query_is_open(plan))
			fail_msg("seed %llu: the server tells two ways apart:\n  %s\n  %s",
				 (unsigned long long)seed, truth->spelled.data, other.spelled.data);
		submit(truth, &other, "another way", true, seed);
		counts.kept++;
		forget(&other);
	}
}

/* Whether other rows were right, too: any of those that the truth has without its limit. */
static bool might_be_right(const struct query_plan *plan, const struct written *truth,
			   const struct written *other)
{
	struct query_plan whole = *plan;
	struct dice dice = { .plain = true };
	struct query_text text;
	struct answer *all = calloc(1, sizeof *all);
	whole.limit = 0;
	query_write(&whole, &dice, &text);
	ask(&text, all);
	const struct answer *answer = other->answer;
	bool might = answer->count == truth->answer->count &&
		     (among(answer->wholes, answer->count, all->wholes, all->count) ||
		      among(answer->exacts, answer->count, all->exacts, all->count));
	arena_free(all->arena);
	free(all);
	query_text_free(&text);
	return might;
}

static void try_changes(const struct query_plan *plan, const struct written *truth, struct dice *dice,
			uint64_t seed)
{
	for (int i = 0; i < CHANGES; i++) {
		struct query_plan changed = *plan;
		const char *what = query_change(&changed, dice);
		if (!what)
			continue;
		struct written other = { 0 };
		write_down(&changed, dice, &other, seed);
		const struct answer *a = truth->answer, *b = other.answer;
		if (same_rows(a->rows, a->count, b->rows, b->count, plan->total) ||
		    (query_is_open(plan) && might_be_right(plan, truth, &other))) {
			counts.alike++;
		} else {
			submit(truth, &other, what, false, seed);
			counts.changed++;
		}
		forget(&other);
	}
}

static void try_plan(uint64_t seed)
{
	struct dice dice = { .state = seed * UINT64_C(0x9E3779B97F4A7C15) };
	struct query_plan plan = query_draw(&dice);
	struct written truth = { 0 };
	write_down(&plan, &dice, &truth, seed);
	counts.plans++;
	if (!counts_nothing(&plan, &truth)) {
		try_ways(&plan, &truth, &dice, seed);
		try_changes(&plan, &truth, &dice, seed);
	}
	forget(&truth);
}

static void fill(uint64_t seed)
{
	struct buf items = BUF_INIT, orders = BUF_INIT;
	mongodb_admin("shop", "{\"dropDatabase\": 1}");
	mongodb_queries_data(seed, &items, &orders);
	mongodb_admin("shop", items.data);
	mongodb_admin("shop", orders.data);
	buf_free(&items);
	buf_free(&orders);
}

static size_t rounds(void)
{
	const char *setting = getenv("ASSAYD_METAMORPHIC_ROUNDS");
	return setting ? strtoul(setting, NULL, 10) : whole_or(10, 1);
}

static void begin_round(uint64_t round)
{
	fill(round);
	forms_arena = arena_new();
	hash_map_init(&forms, forms_arena, 0);
}

static void pairs_are_told_apart(void **state)
{
	(void)state;
	memset(&counts, 0, sizeof counts);
	for (uint64_t round = 1; round <= rounds(); round++) {
		struct target_settings settings = mongodb_settings();
		settings.connections = 2;
		begin_round(round);
		targets = start_targets(&settings, 1, NULL);
		for (uint64_t i = 0; i < PLANS && counts.failed < MAX_FAILED; i++)
			try_plan(round * 1000000 + i);
		judge_all();
		arena_free(forms_arena);
		targets_stop(targets);
	}
	print_message("%u plans: %u pairs that mean the same, %u that do not; %u changes that the data do "
		      "not show\n",
		      counts.plans, counts.kept, counts.changed, counts.alike);
	assert_int_equal(counts.failed, 0);
	assert_true(counts.kept > PLANS * 3 && counts.changed > PLANS);
}

static void look_at_form(const struct query_plan *plan, struct dice dice, uint64_t seed)
{
	struct written written = { 0 };
	write_down(plan, &dice, &written, seed);
	forget(&written);
}

/* A plan in several ways, and with several changes, each of them written as one of the ways is: that the
 * change is all that differs. */
static void try_forms(uint64_t seed)
{
	struct dice dice = { .state = seed * UINT64_C(0x9E3779B97F4A7C15) };
	struct query_plan plan = query_draw(&dice);
	for (uint64_t i = 0; i < WAYS + 2 * CHANGES; i++) {
		struct query_plan changed = plan;
		if (i >= WAYS)
			(void)query_change(&changed, &dice);
		look_at_form(&changed, (struct dice){ .state = seed + i % WAYS }, seed);
	}
}

static void equal_forms_have_equal_results(void **state)
{
	(void)state;
	memset(&counts, 0, sizeof counts);
	for (uint64_t round = 1; round <= rounds(); round++) {
		begin_round(round + 1000);
		for (uint64_t i = 0; i < FORM_PLANS && counts.failed < MAX_FAILED; i++)
			try_forms(round * 1000000 + FORM_SEEDS + i);
		arena_free(forms_arena);
	}
	print_message("%u pairs of one canonical form, executed\n", counts.forms);
	assert_int_equal(counts.failed, 0);
	assert_true(counts.forms > FORM_PLANS / 2);
}

static int set_up(void **state)
{
	char uri[64];
	(void)state;
	snprintf(uri, sizeof uri, "mongodb://127.0.0.1:%d", documents_server.port);
	client = mongoc_client_new(uri);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	mongoc_client_destroy(client);
	return 0;
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = mongodb_start_shop();
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = { cmocka_unit_test(pairs_are_told_apart),
					    cmocka_unit_test(equal_forms_have_equal_results) };
	int failed = cmocka_run_group_tests(tests, set_up, tear_down);
	test_mongodb_stop(&documents_server);
	return failed;
}
