/* Frames of the supervisor and its workers: what goes in comes out, and foreign bytes do no harm. */
#include "target/message.h"

#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct message only_message(const struct buf *frame)
{
	struct message message;
	bool complete;
	assert_int_equal(message_peek(buf_str(frame), &complete, &message), ERR_OK);
	assert_true(complete);
	assert_int_equal(message.frame_bytes, frame->len);
	return message;
}

static void settings_come_out_as_they_went_in(void **state)
{
	(void)state;
	const struct worker_settings settings = {
		.target = { .name = "sales",
			    .engine = TARGET_SQLITE,
			    .path = "/srv/ä.db",
			    .statement_timeout_ms = 10000,
			    .lock_timeout_ms = 1000,
			    .max_rows = 10000,
			    .max_result_bytes = 67108864,
			    .stream_large_results = true,
			    .worker_memory_bytes = 536870912,
			    .connections = 7,
			    .truth_cache_bytes = 16777216,
			    .sample_documents = 77,
			    .truth_cache_ttl_s = 60 },
		.password = STR("s3cret"),
	};
	struct buf frame = BUF_INIT;
	struct worker_settings got;
	struct arena *arena = arena_new();
	assert_int_equal(message_put_settings(&frame, &settings), ERR_OK);
	struct message message = only_message(&frame);
	assert_int_equal(message.kind, MESSAGE_SETTINGS);
	assert_int_equal(message_get_settings(message.payload, arena, &got), ERR_OK);
	assert_string_equal(got.target.name, "sales");
	assert_int_equal(got.target.engine, TARGET_SQLITE);
	assert_null(got.target.dsn);
	assert_string_equal(got.target.path, "/srv/ä.db");
	assert_string_equal(got.password.ptr, "s3cret");
	assert_int_equal(got.target.statement_timeout_ms, 10000);
	assert_true(got.target.stream_large_results);
	assert_int_equal(got.target.worker_memory_bytes, 536870912);
	assert_int_equal(got.target.connections, 7);
	assert_int_equal(got.target.truth_cache_bytes, 16777216);
	assert_int_equal(got.target.sample_documents, 77);
	assert_int_equal(got.target.truth_cache_ttl_s, 60);
	arena_free(arena);
	buf_free(&frame);
}

static void a_request_comes_out_as_it_went_in(void **state)
{
	(void)state;
	const struct sql_order_key keys[] = { { 2, true, false }, { -1, false, true } };
	const struct result_column columns[] = { { STR("a"), CELL_TEXT }, { STR(""), CELL_BOOLEAN } };
	const str_t cells[] = { STR("x"), STR_NONE, STR(""), STR("true") };
	const struct result_set table = { columns, 2, cells, 2, false };
	const str_t asked[] = { STR("a"), STR("") };
	const struct inner_cut cuts[] = {
		{ .distinct_on = true },
		{ .ordered = true,
		  .shown = { .sql = STR("SELECT 3"), .keys = keys, .keys_count = 2, .cut = { true, 0, 5 } } },
	};
	const struct validation_truth truths[] = {
		{ .sql = STR("SELECT 1"), .ordered = true, .order_keys = keys, .order_keys_count = 2 },
		{ .table = &table, .ordered = true },
		{ .sql = STR(""),
		  .limited = true,
		  .shown = { .sql = STR("SELECT 2"),
			     .added = 1,
			     .keys = keys,
			     .keys_count = 1,
			     .documents = true,
			     .cut = { true, 7, -1 } },
		  .inner_cuts = cuts,
		  .inner_cuts_count = 2 },
	};
	const struct validation_request request = { STR("SELECT 2"),
						    STR("abc"),
						    truths,
						    3,
						    { asked, 2, true, 0.25, 7 },
						    { asked, 2, truths[0], 2500, 99 } };
	struct buf frame = BUF_INIT;
	struct validation_request got;
	struct arena *arena = arena_new();
	assert_int_equal(message_put_validate(&frame, &request), ERR_OK);
	assert_int_equal(message_get_validate(only_message(&frame).payload, arena, &got), ERR_OK);
	assert_true(str_is(got.generated_sql, "SELECT 2"));
	assert_true(str_is(got.catalog_digest, "abc"));
	assert_int_equal(got.truths_count, 3);
	assert_int_equal(got.candidates.count, 2);
	assert_true(str_is(got.candidates.texts[0], "a"));
	assert_true(got.candidates.answer.ordered);
	assert_int_equal(got.candidates.answer.order_keys_count, 2);
	assert_int_equal(got.candidates.budget_ms, 2500);
	assert_int_equal(got.candidates.max_rows, 99);
	assert_true(str_is(got.truths[0].sql, "SELECT 1"));
	assert_true(got.truths[0].ordered);
	assert_false(got.truths[0].limited);
	assert_int_equal(got.truths[0].order_keys_count, 2);
	assert_int_equal(got.truths[0].order_keys[0].column, 2);
	assert_true(got.truths[0].order_keys[0].descending);
	assert_int_equal(got.truths[0].order_keys[1].column, -1);
	assert_true(got.truths[0].order_keys[1].nulls_first);
	assert_true(str_is(got.truths[2].sql, ""));
	assert_true(got.truths[2].limited);
	assert_true(str_is(got.truths[2].shown.sql, "SELECT 2"));
	assert_int_equal(got.truths[2].shown.added, 1);
	assert_true(got.truths[2].shown.documents && !got.truths[1].shown.documents);
	assert_int_equal(got.truths[2].shown.keys_count, 1);
	assert_true(got.truths[2].shown.cut.known);
	assert_int_equal(got.truths[2].shown.cut.offset, 7);
	assert_int_equal(got.truths[2].shown.cut.limit, -1);
	assert_int_equal(got.truths[0].inner_cuts_count, 0);
	assert_int_equal(got.truths[2].inner_cuts_count, 2);
	const struct inner_cut *got_cuts = got.truths[2].inner_cuts;
	assert_true(got_cuts[0].distinct_on && !got_cuts[0].ordered && !str_present(got_cuts[0].shown.sql));
	assert_true(!got_cuts[1].distinct_on && got_cuts[1].ordered &&
		    str_is(got_cuts[1].shown.sql, "SELECT 3"));
	assert_int_equal(got_cuts[1].shown.keys_count, 2);
	assert_int_equal(got_cuts[1].shown.cut.limit, 5);
	assert_null(got.truths[0].table);
	const struct result_set *got_table = got.truths[1].table;
	assert_true(!str_present(got.truths[1].sql) && got.truths[1].ordered);
	assert_int_equal(got_table->columns_count, 2);
	assert_int_equal(got_table->rows_count, 2);
	assert_true(str_is(got_table->columns[0].name, "a") && got_table->columns[1].type == CELL_BOOLEAN);
	assert_true(str_is(got_table->cells[0], "x") && !str_present(got_table->cells[1]));
	assert_true(str_is(got_table->cells[2], "") && str_is(got_table->cells[3], "true"));
	assert_int_equal(got.comparing.columns_count, 2);
	assert_true(str_is(got.comparing.columns[0], "a"));
	assert_true(got.comparing.ignore_order && got.comparing.absolute_tolerance == 0.25 &&
		    got.comparing.sample_rows == 7);
	for (size_t len = 0; len + 5 < frame.len; len++)
		assert_int_equal(message_get_validate((str_t){ frame.data + 5, len }, arena, &got),
				 ERR_TARGET_PROTOCOL);
	arena_free(arena);
	buf_free(&frame);
}

/* Rows without columns would take no bytes. */
static void a_table_without_columns_is_refused(void **state)
{
	(void)state;
	const struct result_set table = { .rows_count = 1000000 };
	const struct validation_truth truth = { .table = &table };
	const struct validation_request request = { .generated_sql = STR("x"),
						    .truths = &truth,
						    .truths_count = 1 };
	struct buf frame = BUF_INIT;
	struct validation_request got;
	struct arena *arena = arena_new();
	message_put_validate(&frame, &request);
	assert_int_equal(message_get_validate(only_message(&frame).payload, arena, &got),
			 ERR_TARGET_PROTOCOL);
	arena_free(arena);
	buf_free(&frame);
}

static struct compare_names some_pair = { STR("a"), STR("b") };
static str_t some_names[] = { STR("total"), STR("n") };
static const str_t some_cells[] = { STR("x"), { NULL, 0 } };
static struct compare_cells some_rows[] = { { some_cells, 2 }, { some_cells + 1, 1 } };

static const struct candidate_result some_outcomes[] = { { CANDIDATE_EQUAL, 0 },
							 { CANDIDATE_FAILED, 1 },
							 { CANDIDATE_DIFFERENT, 1 } };

static const struct validation_broken some_broken[] = {
	{ 2, ERR_GROUND_TRUTH_FAILED, { "no such table: t", 16 } },
	{ 63, ERR_TARGET_DENIED, { NULL, 0 } },
};

static struct compare_explanation some_explanation = { .generated_columns = 3,
						       .truth_columns = 2,
						       .paired = &some_pair,
						       .paired_count = 1,
						       .missing = some_names,
						       .missing_count = 1,
						       .extra = some_names + 1,
						       .extra_count = 1,
						       .missing_rows = some_rows,
						       .missing_rows_count = 1,
						       .extra_rows = some_rows + 1,
						       .extra_rows_count = 1,
						       .other_order = true,
						       .shortened = true,
						       .estimated = true,
						       .generated_more = false,
						       .truth_more = true };

static struct validation_result some_result(void)
{
	return (struct validation_result){
		.status = VALIDATION_COMPARED,
		.error = ERR_OK,
		.message = STR("why"),
		.score = 0.95,
		.truth_index = 3,
		.schema_match = true,
		.row_count_match = true,
		.content_match_rate = 0.9625,
		.rows_matched = 77,
		.rows_compared = 80,
		.nondeterministic = true,
		.doubt = VALIDATION_INNER_TIE,
		.doubted_truth = 1,
		.limit_cut_tie = true,
		.truth_cached = true,
		.apart = true,
		.match_rate_low = { true, 0.0 },
		.ordering_matters = true,
		.generated = { 12, 3.5, "", 0, false, "00112233445566778899aabbccddeeff" },
		.truth = { 13, 0.25, "42P01", -7, true },
		.explanation = &some_explanation,
		.broken = some_broken,
		.broken_count = 2,
		.candidates = some_outcomes,
		.candidates_count = 3,
		.candidates_error = ERR_TARGET_LOST,
		.candidates_message = STR("gone"),
	};
}

static void a_result_comes_out_as_it_went_in(void **state)
{
	(void)state;
	const struct validation_result result = some_result();
	struct buf frame = BUF_INIT;
	struct validation_result got;
	struct arena *arena = arena_new();
	assert_int_equal(message_put_validated(&frame, &result), ERR_OK);
	assert_int_equal(message_get_validated(only_message(&frame).payload, arena, &got), ERR_OK);
	assert_int_equal(got.status, VALIDATION_COMPARED);
	assert_true(str_is(got.message, "why"));
	assert_true(got.score == 0.95 && got.content_match_rate == 0.9625);
	assert_int_equal(got.truth_index, 3);
	assert_true(got.schema_match && got.row_count_match && got.ordering_matters && !got.truncated &&
		    got.nondeterministic && !got.conclusive && got.limit_cut_tie && got.truth_cached &&
		    got.apart);
	assert_int_equal(got.doubt, VALIDATION_INNER_TIE);
	assert_int_equal(got.doubted_truth, 1);
	assert_true(got.match_rate_low.set && got.match_rate_low.value == 0 && !got.match_rate_high.set);
	assert_int_equal(got.generated.rows, 12);
	assert_true(got.generated.time_ms == 3.5);
	assert_string_equal(got.generated.sqlstate, "");
	assert_string_equal(got.truth.sqlstate, "42P01");
	assert_string_equal(got.generated.digest, "00112233445566778899aabbccddeeff");
	assert_string_equal(got.truth.digest, "");
	assert_int_equal(got.truth.code, -7);
	assert_true(got.rows_matched == 77 && got.rows_compared == 80);
	assert_true(got.truth.more && !got.generated.more);
	assert_int_equal(got.broken_count, 2);
	assert_int_equal(got.candidates_count, 3);
	assert_memory_equal(got.candidates, some_outcomes, sizeof some_outcomes);
	assert_int_equal(got.candidates_error, ERR_TARGET_LOST);
	assert_true(str_is(got.candidates_message, "gone"));
	assert_true(got.broken[0].truth_index == 2 && got.broken[0].error == ERR_GROUND_TRUTH_FAILED &&
		    str_equal(got.broken[0].message, some_broken[0].message));
	assert_true(got.broken[1].truth_index == 63 && got.broken[1].error == ERR_TARGET_DENIED &&
		    !str_present(got.broken[1].message));
	const struct compare_explanation *why = got.explanation;
	assert_true(why->estimated && !why->generated_more && why->truth_more);
	assert_true(why->generated_columns == 3 && why->truth_columns == 2 && why->other_order &&
		    why->shortened);
	assert_true(why->paired_count == 1 && str_is(why->paired[0].truth, "a") &&
		    str_is(why->paired[0].generated, "b"));
	assert_true(why->missing_count == 1 && str_is(why->missing[0], "total"));
	assert_true(why->extra_count == 1 && str_is(why->extra[0], "n"));
	assert_true(why->missing_rows_count == 1 && why->missing_rows[0].count == 2 &&
		    str_is(why->missing_rows[0].items[0], "x") &&
		    !str_present(why->missing_rows[0].items[1]));
	assert_true(why->extra_rows_count == 1 && why->extra_rows[0].count == 1);
	arena_free(arena);
	buf_free(&frame);
}

/* Every prefix of a payload lacks something; every longer one has something left. */
static void a_payload_of_the_wrong_length_is_refused(void **state)
{
	(void)state;
	const struct validation_result result = some_result();
	struct buf frame = BUF_INIT;
	struct validation_result got;
	struct arena *arena = arena_new();
	message_put_validated(&frame, &result);
	str_t payload = only_message(&frame).payload;
	for (size_t len = 0; len < payload.len; len++)
		assert_int_equal(message_get_validated((str_t){ payload.ptr, len }, arena, &got),
				 ERR_TARGET_PROTOCOL);
	buf_append_char(&frame, 'x');
	payload = (str_t){ frame.data + 5, frame.len - 5 };
	assert_int_equal(message_get_validated(payload, arena, &got), ERR_TARGET_PROTOCOL);
	arena_free(arena);
	buf_free(&frame);
}

/* A worker that was subverted cannot fill records. */
static void a_long_explanation_is_refused(void **state)
{
	(void)state;
	char text[COMPARE_EXPLAIN_TEXT + 8];
	str_t names[COMPARE_EXPLAIN_NAMES + 1] = { 0 };
	struct compare_cells rows[COMPARE_EXPLAIN_ROWS + 1] = { 0 };
	memset(text, 'x', sizeof text);
	str_t longer = { text, sizeof text };
	const struct compare_explanation explanations[] = {
		{ .missing = &longer, .missing_count = 1 },
		{ .extra = names, .extra_count = COMPARE_EXPLAIN_NAMES + 1 },
		{ .extra_rows = rows, .extra_rows_count = COMPARE_EXPLAIN_ROWS + 1 },
	};
	for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++) {
		struct compare_explanation explanation = explanations[i];
		struct validation_result result = some_result(), got;
		struct buf frame = BUF_INIT;
		struct arena *arena = arena_new();
		result.explanation = &explanation;
		message_put_validated(&frame, &result);
		assert_int_equal(message_get_validated(only_message(&frame).payload, arena, &got),
				 ERR_TARGET_PROTOCOL);
		arena_free(arena);
		buf_free(&frame);
	}
}

static void values_out_of_range_are_refused(void **state)
{
	(void)state;
	struct validation_result results[6];
	struct arena *arena = arena_new();
	for (size_t i = 0; i < 6; i++)
		results[i] = some_result();
	results[0].status = VALIDATION_STATUS_COUNT_;
	results[1].error = ERR_COUNT_;
	results[2].score = 1.5;
	results[3].score = __builtin_nan("");
	results[4].content_match_rate = -0.1;
	results[5].match_rate_high = opt_double(1.25);
	for (size_t i = 0; i < 6; i++) {
		struct buf frame = BUF_INIT;
		struct validation_result got;
		message_put_validated(&frame, &results[i]);
		assert_int_equal(message_get_validated(only_message(&frame).payload, arena, &got),
				 ERR_TARGET_PROTOCOL);
		buf_free(&frame);
	}
	arena_free(arena);
}

/* A count that the bytes behind it cannot hold must not be believed: it would cost memory. */
static void announced_counts_are_checked(void **state)
{
	(void)state;
	const char lie[] = "\x01\0\0\0q\xff\xff\xff\xff\xff\xff\xff\x7f";
	struct validation_request got;
	struct arena *arena = arena_new();
	assert_int_equal(message_get_validate((str_t){ lie, sizeof lie - 1 }, arena, &got),
			 ERR_TARGET_PROTOCOL);
	assert_true(arena_size_bytes(arena) < 65536);
	arena_free(arena);
}

static void frames_are_seen_when_they_are_complete(void **state)
{
	(void)state;
	const struct {
		str_t bytes;
		err_t err;
		bool complete;
	} cases[] = {
		{ STR(""), ERR_OK, false },
		{ STR("\x02\0\0"), ERR_OK, false },
		{ STR("\x02\0\0\0\x06"), ERR_OK, false },
		{ STR("\x02\0\0\0\x06x"), ERR_OK, true },
		{ STR("\x02\0\0\0\x06xyz"), ERR_OK, true },
		{ STR("\0\0\0\0"), ERR_TARGET_PROTOCOL, false },
		{ STR("\x01\0\0\x10"), ERR_TARGET_PROTOCOL, false },
		{ STR("\xff\xff\xff\xff"), ERR_TARGET_PROTOCOL, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct message message;
		bool complete;
		assert_int_equal(message_peek(cases[i].bytes, &complete, &message), cases[i].err);
		assert_int_equal(complete, cases[i].complete);
	}
}

/* Frames of all sizes, cut anywhere by how they are sent, come out whole and in order. */
static void frames_come_out_however_they_arrive(void **state)
{
	enum { FRAMES = 40 };
	static const size_t pieces[] = { 1, 2, 3, 5, 7, 100, 1000000 };
	(void)state;
	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		struct message_inbox inbox = { 0 };
		struct buf out = BUF_INIT;
		int pair[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		inbox.fd = pair[1];
		for (size_t j = 0; j < FRAMES; j++) {
			buf_append_u32(&out, (uint32_t)(1 + j * 10));
			buf_append_char(&out, MESSAGE_VALIDATE);
			for (size_t k = 0; k < j * 10; k++)
				buf_append_char(&out, (char)j);
		}
		assert_int_equal(message_inbox_fill(&inbox, false), ERR_OK);
		assert_int_equal(message_inbox_rest(&inbox).len, 0);
		size_t sent = 0, seen = 0;
		while (sent < out.len) {
			size_t left = out.len - sent, step = pieces[i] < left ? pieces[i] : left;
			assert_int_equal(send(pair[0], out.data + sent, step, 0), step);
			sent += step;
			assert_int_equal(message_inbox_fill(&inbox, true), ERR_OK);
			struct message message;
			bool complete;
			while (message_peek(message_inbox_rest(&inbox), &complete, &message) == ERR_OK &&
			       complete) {
				assert_int_equal(message.payload.len, seen * 10);
				message_inbox_take(&inbox, &message);
				for (size_t k = 0; k < message.payload.len; k++)
					assert_int_equal(message.payload.ptr[k], (char)seen);
				seen++;
			}
		}
		assert_int_equal(seen, FRAMES);
		close(pair[0]);
		assert_int_equal(message_inbox_fill(&inbox, false), ERR_IO);
		close(pair[1]);
		buf_free(&inbox.bytes);
		buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_come_out_as_they_went_in),
		cmocka_unit_test(a_request_comes_out_as_it_went_in),
		cmocka_unit_test(a_table_without_columns_is_refused),
		cmocka_unit_test(a_result_comes_out_as_it_went_in),
		cmocka_unit_test(a_payload_of_the_wrong_length_is_refused),
		cmocka_unit_test(a_long_explanation_is_refused),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(announced_counts_are_checked),
		cmocka_unit_test(frames_are_seen_when_they_are_complete),
		cmocka_unit_test(frames_come_out_however_they_arrive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
