/*
 * Board: how the assigned partitions stand, for whoever looks. The source's thread writes it about once a
 * second, any thread reads; the functions lock.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOARD_PARTITIONS = 32 };

enum partition_state {
	PARTITION_STOPPED, /* stands still for another reason than load */
	PARTITION_WAITS,   /* for its prefix: its completion map is full */
	PARTITION_READ,
};

struct partition_standing {
	int32_t partition;
	enum partition_state state;
	int64_t oldest_ms; /* since when the oldest unfinished event waits, or the partition stands still
			      (wall clock); INT64_MAX: neither */
	double fill;	   /* of the completion map: share of its limit */
	uint64_t behind;   /* offsets from the prefix that is done to the end, as far as is known */
};

struct board {
	pthread_mutex_t mutex;
	struct partition_standing worst[BOARD_PARTITIONS];
	size_t count;
};

void board_init(struct board *board);
void board_destroy(struct board *board);

/* Keeps the worst of these: stopped ones first, then those that wait, then the oldest, the fullest, and those
 * that are furthest behind. Sorts them. */
void board_write(struct board *board, struct partition_standing *standings, size_t count);

/* The worst first; how many there are in all is source_lag's to say. */
size_t board_read(struct board *board, struct partition_standing ret_worst[BOARD_PARTITIONS]);

/* "stopped", "waits", "read"; static. */
const char *board_state_name(enum partition_state state);
