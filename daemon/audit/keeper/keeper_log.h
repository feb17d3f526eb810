/*
 * The log of one assigned partition, as its keeper goes through it: a state (log_state.def has the table),
 * what it grows by, and the question whether the topic still is the one that was logged. Pure; one thread.
 *
 * The table in words. An assigned log is opened: the database says where it stands. Then the topic is looked
 * at. Where the record that was read last is still kept, it is read again, and its leaf has to be the one
 * that was logged: only then records are added. Records that were deleted before they were read become a gap,
 * a mark in the tree. Where the topic ends before the log does, or has another record in that place, it is
 * another topic under the name, or its end was lost: that is looked at three times, within some seconds, and
 * then the log is stopped, in the database, so that no owner goes on with a history that does not continue
 * the signed one. A log that was stopped is looked at in the same way whenever it is assigned: where the
 * topic is the logged one after all (the configuration named another cluster, say), it goes on by itself.
 * Else an operator's word makes it begin again with a mark (assayd audit begin-again).
 *
 * The same is done after each wait for the database and whenever a broker was away. What this cannot notice:
 * a topic that is deleted, made again and filled beyond the log's end between two fetches that both succeed.
 * A verification does.
 */
#pragma once

#include "audit/growth.h"

enum keeper_log_state {
#define LOG_STATE(symbol, name, meaning) KEEPER_LOG_##symbol,
#include "audit/keeper/log_state.def"
#undef LOG_STATE
	KEEPER_LOG_STATE_COUNT_
};

const char *keeper_log_state_name(enum keeper_log_state state);

/* Whether a log may go from the one state to the other. */
bool keeper_log_allowed(enum keeper_log_state from, enum keeper_log_state to);

/* After so many looks that found another topic it is stopped, each so long after the one before. */
#define KEEPER_LOG_DOUBTS   3
#define KEEPER_LOG_AGAIN_MS 3000

#define KEEPER_LOG_REASON_MAX 1024

struct keeper_log {
	int32_t partition;
	enum keeper_log_state state;
	struct growth growth;
	bool was_stopped;		    /* the database has it stopped */
	bool lifts_stop;		    /* it is proven to be the logged one: the next batch lifts that */
	unsigned doubts;		    /* looks that found another topic, one after the other */
	int64_t doubted_us;		    /* when the last one did (monotonic) */
	char reason[KEEPER_LOG_REASON_MAX]; /* of a doubt, a stop or a damage */
	bool at_end;
	uint64_t signed_size;	   /* of the newest checkpoint */
	int64_t signed_at_ms;	   /* when that was made (wall clock); 0: never */
	int64_t unsigned_since_ms; /* since when there are leaves behind it, as far as is known; 0: none */
};

/* Begins a log as unknown; the caller frees it. */
void keeper_log_init(struct keeper_log *log, int32_t partition);
void keeper_log_free(struct keeper_log *log);

/* Positions are read anew: what was not stored is forgotten, doubts are not. */
void keeper_log_forget(struct keeper_log *log);

/* The database told where it stands. `stopped`: "" where it is not. */
void keeper_log_open(struct keeper_log *log, const struct growth_position *position, const char *stopped);

/* It is stopped and cannot be gone on with, or its rows are damaged. */
void keeper_log_stop(struct keeper_log *log, const char *reason);
void keeper_log_damage(struct keeper_log *log, const char *reason);

/* What a look at the topic has found: its first offset and its end. True: it is to be read from
 * `*ret_offset`; false: it is not to be read. */
bool keeper_log_look(struct keeper_log *log, int64_t low, int64_t end, int64_t now_us, int64_t *ret_offset);

/* A record was read. False: from here on the log is not read any more (doubtful or stopped). */
bool keeper_log_take(struct keeper_log *log, int64_t offset, str_t key, str_t value, int64_t now_us);

/* There are no more records before that offset. Likewise. */
bool keeper_log_end(struct keeper_log *log, int64_t end, int64_t now_us);

/* Whether it is time to look at it again. */
bool keeper_log_doubt_is_due(const struct keeper_log *log, int64_t now_us);

/* Whether there is something to be stored. */
bool keeper_log_moved(const struct keeper_log *log);

/* What was to be stored is; with a checkpoint, made at `signed_at_ms`, or 0. */
void keeper_log_stored(struct keeper_log *log, int64_t signed_at_ms);
