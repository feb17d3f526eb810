#include "kafka/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Each is worse than the next one. */
static const struct partition_standing by_rank[] = {
	{ .partition = 9, .state = PARTITION_STOPPED, .oldest_ms = 500 },
	{ .partition = 1, .state = PARTITION_STOPPED, .oldest_ms = INT64_MAX },
	{ .partition = 7, .state = PARTITION_WAITS, .oldest_ms = 100, .fill = 0.8 },
	{ .partition = 3, .state = PARTITION_READ, .oldest_ms = 50 },
	{ .partition = 2, .state = PARTITION_READ, .oldest_ms = 60, .fill = 0.5 },
	{ .partition = 4, .state = PARTITION_READ, .oldest_ms = 60, .fill = 0.25 },
	{ .partition = 8, .state = PARTITION_READ, .oldest_ms = INT64_MAX, .behind = 9 },
	{ .partition = 5, .state = PARTITION_READ, .oldest_ms = INT64_MAX },
	{ .partition = 6, .state = PARTITION_READ, .oldest_ms = INT64_MAX },
};

enum { RANKS = sizeof by_rank / sizeof *by_rank };

static void the_worst_comes_first(void **state)
{
	(void)state;
	struct board board;
	struct partition_standing worst[BOARD_PARTITIONS];
	board_init(&board);
	assert_int_equal(board_read(&board, worst), 0);
	for (size_t turn = 0; turn < RANKS; turn++) {
		struct partition_standing standings[RANKS];
		for (size_t i = 0; i < RANKS; i++) /* in another order each time */
			standings[i] = by_rank[(i * 4 + turn) % RANKS];
		board_write(&board, standings, RANKS);
		assert_int_equal(board_read(&board, worst), RANKS);
		for (size_t i = 0; i < RANKS; i++)
			assert_int_equal(worst[i].partition, by_rank[i].partition);
	}
	board_write(&board, NULL, 0);
	assert_int_equal(board_read(&board, worst), 0);
	board_destroy(&board);
}

static void the_rest_of_many_is_left_out(void **state)
{
	(void)state;
	struct board board;
	struct partition_standing standings[1000], worst[BOARD_PARTITIONS];
	for (int i = 0; i < 1000; i++)
		standings[i] = (struct partition_standing){ .partition = i,
							    .state = PARTITION_READ,
							    .oldest_ms = 10000 - i };
	board_init(&board);
	board_write(&board, standings, 1000);
	assert_int_equal(board_read(&board, worst), BOARD_PARTITIONS);
	for (int i = 0; i < BOARD_PARTITIONS; i++)
		assert_int_equal(worst[i].partition, 999 - i);
	board_destroy(&board);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_worst_comes_first),
					    cmocka_unit_test(the_rest_of_many_is_left_out) };
	return cmocka_run_group_tests_name("board", tests, NULL, NULL);
}
