#include "kafka/board.h"

#include <stdlib.h>
#include <string.h>

void board_init(struct board *board)
{
	*board = (struct board){ 0 };
	pthread_mutex_init(&board->mutex, NULL);
}

void board_destroy(struct board *board)
{
	pthread_mutex_destroy(&board->mutex);
}

static int compare_standings(const void *a, const void *b)
{
	const struct partition_standing *left = a, *right = b;
	if (left->state != right->state)
		return left->state < right->state ? -1 : 1;
	if (left->oldest_ms != right->oldest_ms)
		return left->oldest_ms < right->oldest_ms ? -1 : 1;
	if (left->fill < right->fill || left->fill > right->fill)
		return left->fill > right->fill ? -1 : 1;
	if (left->behind != right->behind)
		return left->behind > right->behind ? -1 : 1;
	return left->partition < right->partition ? -1 : left->partition > right->partition;
}

void board_write(struct board *board, struct partition_standing *standings, size_t count)
{
	if (count > 0)
		qsort(standings, count, sizeof *standings, compare_standings);
	pthread_mutex_lock(&board->mutex);
	board->count = count < BOARD_PARTITIONS ? count : BOARD_PARTITIONS;
	if (count > 0)
		memcpy(board->worst, standings, board->count * sizeof *standings);
	pthread_mutex_unlock(&board->mutex);
}

size_t board_read(struct board *board, struct partition_standing ret_worst[BOARD_PARTITIONS])
{
	pthread_mutex_lock(&board->mutex);
	size_t count = board->count;
	memcpy(ret_worst, board->worst, count * sizeof *ret_worst);
	pthread_mutex_unlock(&board->mutex);
	return count;
}

const char *board_state_name(enum partition_state state)
{
	static const char *const names[] = {
		[PARTITION_STOPPED] = "stopped", [PARTITION_WAITS] = "waits", [PARTITION_READ] = "read"
	};
	return names[state];
}
