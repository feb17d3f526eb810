/* The log of a partition: what it goes through, and that it grows by no other topic than the one that was
 * logged. */
#include "audit/keeper/keeper_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KEY   STR("key")
#define VALUE STR("value")

static void states_change_along_the_table(void **state)
{
	(void)state;
	static const struct {
		enum keeper_log_state from, to;
		bool allowed;
	} cases[] = {
		{ KEEPER_LOG_UNKNOWN, KEEPER_LOG_KNOWN, true },
		{ KEEPER_LOG_UNKNOWN, KEEPER_LOG_GROWING, false },
		{ KEEPER_LOG_KNOWN, KEEPER_LOG_PROVING, true },
		{ KEEPER_LOG_PROVING, KEEPER_LOG_GROWING, true },
		{ KEEPER_LOG_GROWING, KEEPER_LOG_STOPPED, false },
		{ KEEPER_LOG_STOPPED, KEEPER_LOG_GROWING, false },
		{ KEEPER_LOG_DOUBTFUL, KEEPER_LOG_GROWING, false },
		{ KEEPER_LOG_DAMAGED, KEEPER_LOG_GROWING, false },
		{ KEEPER_LOG_STOPPED, KEEPER_LOG_UNKNOWN, true },
		{ KEEPER_LOG_DAMAGED, KEEPER_LOG_UNKNOWN, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(keeper_log_allowed(cases[i].from, cases[i].to), cases[i].allowed);
	assert_string_equal(keeper_log_state_name(KEEPER_LOG_DOUBTFUL), "doubtful");
}

/* A log in which records at 0, 1 and 4 were logged, and 5 was reached, as the database tells it. */
static struct growth_position logged(void)
{
	struct growth growth = GROWTH_INIT;
	const struct growth_position none = GROWTH_START;
	growth_begin(&growth, &none);
	for (int64_t offset = 0; offset <= 4; offset += offset ? 3 : 1)
		assert_int_equal(growth_add_record(&growth, offset, KEY, VALUE), ERR_OK);
	struct growth_position position = growth.to;
	growth_free(&growth);
	return position;
}

enum event { OPEN, OPEN_STOPPED, OPEN_EMPTY, LOOK, RECORD, OTHER, END };

struct step {
	enum event event;
	int64_t offset, end; /* of a look: the first offset and the end */
	bool goes_on;
	enum keeper_log_state state;
	int64_t from; /* of a look that goes on */
};

static bool take(struct keeper_log *log, const struct step *step)
{
	struct growth_position position = logged(), empty = GROWTH_START;
	int64_t from = -1;
	bool on = true;
	switch (step->event) {
	case OPEN:
	case OPEN_STOPPED:
		keeper_log_open(log, &position, step->event == OPEN ? "" : "another topic");
		break;
	case OPEN_EMPTY:
		keeper_log_open(log, &empty, "");
		break;
	case LOOK:
		on = keeper_log_look(log, step->offset, step->end, 0, &from);
		if (on)
			assert_int_equal(from, step->from);
		break;
	case RECORD:
	case OTHER:
		on = keeper_log_take(log, step->offset, KEY, step->event == RECORD ? VALUE : STR("other"), 0);
		break;
	case END:
		on = keeper_log_end(log, step->offset, 0);
		break;
	}
	return on;
}

static void a_log_goes_through_these_steps(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct step steps[7];
		uint64_t size; /* of the tree in the end */
		int64_t next;
	} cases[] = {
		{ "an empty log of a new topic",
		  { { OPEN_EMPTY, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 0, true, KEEPER_LOG_GROWING, 0 },
		    { RECORD, 0, 0, true, KEEPER_LOG_GROWING, 0 },
		    { RECORD, 2, 0, true, KEEPER_LOG_GROWING, 0 },
		    { RECORD, 2, 0, true, KEEPER_LOG_GROWING, 0 }, /* twice */
		    { END, 4, 0, true, KEEPER_LOG_GROWING, 0 } },
		  2,
		  4 },
		{ "an empty log of a topic that has forgotten its beginning",
		  { { OPEN_EMPTY, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 7, 9, true, KEEPER_LOG_GROWING, 7 },
		    { RECORD, 8, 0, true, KEEPER_LOG_GROWING, 0 } },
		  2,
		  9 },
		{ "the last record is there",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 6, true, KEEPER_LOG_PROVING, 4 },
		    { RECORD, 4, 0, true, KEEPER_LOG_GROWING, 0 },
		    { RECORD, 5, 0, true, KEEPER_LOG_GROWING, 0 } },
		  4,
		  6 },
		{ "the last record is gone by age, and one that was not read with it",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 6, 6, true, KEEPER_LOG_GROWING, 6 },
		    { RECORD, 6, 0, true, KEEPER_LOG_GROWING, 0 } },
		  5,
		  7 },
		{ "the last record is gone by age, and no other",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 5, 6, true, KEEPER_LOG_GROWING, 5 },
		    { RECORD, 5, 0, true, KEEPER_LOG_GROWING, 0 } },
		  4,
		  6 },
		{ "the topic is shorter",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 4, false, KEEPER_LOG_DOUBTFUL, 0 } },
		  3,
		  5 },
		{ "another record is in that place",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 6, true, KEEPER_LOG_PROVING, 4 },
		    { OTHER, 4, 0, false, KEEPER_LOG_DOUBTFUL, 0 },
		    { RECORD, 5, 0, false, KEEPER_LOG_DOUBTFUL, 0 } },
		  3,
		  5 },
		{ "the next record comes instead",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 6, true, KEEPER_LOG_PROVING, 4 },
		    { RECORD, 5, 0, false, KEEPER_LOG_DOUBTFUL, 0 } },
		  3,
		  5 },
		{ "the end comes instead",
		  { { OPEN, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 6, true, KEEPER_LOG_PROVING, 4 },
		    { END, 6, 0, false, KEEPER_LOG_DOUBTFUL, 0 } },
		  3,
		  5 },
		{ "stopped, and it is the logged one after all",
		  { { OPEN_STOPPED, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 6, true, KEEPER_LOG_PROVING, 4 },
		    { RECORD, 4, 0, true, KEEPER_LOG_GROWING, 0 } },
		  3,
		  5 },
		{ "stopped, and it still is another one",
		  { { OPEN_STOPPED, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 0, 6, true, KEEPER_LOG_PROVING, 4 },
		    { OTHER, 4, 0, false, KEEPER_LOG_STOPPED, 0 } },
		  3,
		  5 },
		{ "stopped, and nothing can tell any more",
		  { { OPEN_STOPPED, 0, 0, true, KEEPER_LOG_KNOWN, 0 },
		    { LOOK, 5, 9, false, KEEPER_LOG_STOPPED, 0 } },
		  3,
		  5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct keeper_log log;
		keeper_log_init(&log, 0);
		for (const struct step *step = cases[i].steps; step->event || step == cases[i].steps;
		     step++) {
			bool on = take(&log, step);
			if (on != step->goes_on || log.state != step->state)
				fail_msg("%s: step %d is %s", cases[i].name, (int)(step - cases[i].steps),
					 keeper_log_state_name(log.state));
		}
		if (log.growth.to.range.size != cases[i].size || log.growth.to.next_offset != cases[i].next)
			fail_msg("%s: size %d, next %d", cases[i].name, (int)log.growth.to.range.size,
				 (int)log.growth.to.next_offset);
		keeper_log_free(&log);
	}
}

static void doubts_are_counted_until_the_log_grows(void **state)
{
	(void)state;
	struct keeper_log log;
	struct growth_position position = logged();
	int64_t from;
	keeper_log_init(&log, 3);
	for (unsigned look = 1; look <= KEEPER_LOG_DOUBTS; look++) {
		keeper_log_open(&log, &position, "");
		assert_false(keeper_log_look(&log, 0, 2, look, &from));
		assert_int_equal(log.doubts, look);
		assert_false(keeper_log_doubt_is_due(&log, look));
		assert_true(keeper_log_doubt_is_due(&log, look + INT64_C(1000) * KEEPER_LOG_AGAIN_MS));
		assert_non_null(strstr(log.reason, "ends at offset 2, and the log has come to 5"));
		assert_false(keeper_log_moved(&log));
		keeper_log_forget(&log);
	}
	keeper_log_open(&log, &position, "");
	assert_true(keeper_log_look(&log, 0, 5, 9, &from));
	assert_true(keeper_log_take(&log, 4, KEY, VALUE, 9));
	assert_int_equal(log.doubts, 0);
	keeper_log_free(&log);
}

static void what_is_lifted_and_signed_is_stored_once(void **state)
{
	(void)state;
	struct keeper_log log;
	struct growth_position position = logged();
	int64_t from;
	keeper_log_init(&log, 0);
	keeper_log_open(&log, &position, "another topic");
	assert_true(keeper_log_look(&log, 0, 5, 0, &from));
	assert_false(keeper_log_moved(&log));
	assert_true(keeper_log_take(&log, 4, KEY, VALUE, 0));
	assert_true(log.lifts_stop && keeper_log_moved(&log));
	log.unsigned_since_ms = 5;
	keeper_log_stored(&log, 77);
	assert_false(log.lifts_stop || keeper_log_moved(&log));
	assert_true(log.signed_size == 3 && log.signed_at_ms == 77 && log.unsigned_since_ms == 0);
	assert_true(keeper_log_end(&log, 8, 0));
	assert_true(keeper_log_moved(&log));
	keeper_log_stored(&log, 0);
	assert_true(log.signed_size == 3 && log.growth.from.next_offset == 8);
	keeper_log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_change_along_the_table),
		cmocka_unit_test(a_log_goes_through_these_steps),
		cmocka_unit_test(doubts_are_counted_until_the_log_grows),
		cmocka_unit_test(what_is_lifted_and_signed_is_stored_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
