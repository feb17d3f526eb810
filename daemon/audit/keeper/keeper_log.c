#include "audit/keeper/keeper_log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
#define LOG_STATE(symbol, name, meaning) name,
#include "audit/keeper/log_state.def"
#undef LOG_STATE
};

const char *keeper_log_state_name(enum keeper_log_state state)
{
	return names[state];
}

bool keeper_log_allowed(enum keeper_log_state from, enum keeper_log_state to)
{
	static const bool table[KEEPER_LOG_STATE_COUNT_][KEEPER_LOG_STATE_COUNT_] = {
#define LOG_TRANSITION(before, after) [KEEPER_LOG_##before][KEEPER_LOG_##after] = true,
#include "audit/keeper/log_state.def"
#undef LOG_TRANSITION
	};
	return to == KEEPER_LOG_UNKNOWN || table[from][to];
}

static void set_state(struct keeper_log *log, enum keeper_log_state state)
{
	assert(keeper_log_allowed(log->state, state));
	log->state = state;
}

__attribute__((format(printf, 2, 3))) static void set_reason(struct keeper_log *log, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(log->reason, sizeof log->reason, format, arguments);
	va_end(arguments);
}

void keeper_log_init(struct keeper_log *log, int32_t partition)
{
	*log = (struct keeper_log){ .partition = partition, .growth = GROWTH_INIT };
}

void keeper_log_free(struct keeper_log *log)
{
	growth_free(&log->growth);
}

void keeper_log_forget(struct keeper_log *log)
{
	const struct growth_position none = GROWTH_START;
	set_state(log, KEEPER_LOG_UNKNOWN);
	growth_begin(&log->growth, &none);
	log->was_stopped = log->lifts_stop = log->at_end = false;
}

void keeper_log_open(struct keeper_log *log, const struct growth_position *position, const char *stopped)
{
	set_state(log, KEEPER_LOG_KNOWN);
	growth_begin(&log->growth, position);
	log->was_stopped = *stopped != 0;
	if (log->was_stopped)
		set_reason(log, "%s", stopped);
}

void keeper_log_stop(struct keeper_log *log, const char *reason)
{
	set_state(log, KEEPER_LOG_STOPPED);
	log->was_stopped = true;
	set_reason(log, "%s", reason);
}

void keeper_log_damage(struct keeper_log *log, const char *reason)
{
	set_state(log, KEEPER_LOG_DAMAGED);
	set_reason(log, "%s", reason);
}

/* The topic is not the one that was logged, as it seems: `text` says why. One that was stopped for that is
 * just what it was. */
static void doubt(struct keeper_log *log, int64_t now_us, const char *text)
{
	if (log->was_stopped) {
		set_state(log, KEEPER_LOG_STOPPED);
		return;
	}
	set_state(log, KEEPER_LOG_DOUBTFUL);
	set_reason(log, "%s", text);
	log->doubts++;
	log->doubted_us = now_us;
}

static void go_on(struct keeper_log *log)
{
	set_state(log, KEEPER_LOG_GROWING);
	log->doubts = 0;
	log->lifts_stop = log->was_stopped;
}

bool keeper_log_look(struct keeper_log *log, int64_t low, int64_t end, int64_t now_us, int64_t *ret_offset)
{
	struct growth_position *to = &log->growth.to;
	char text[256];
	log->at_end = false;
	if (to->next_offset > end) {
		snprintf(text, sizeof text,
			 "the topic ends at offset %lld, and the log has come to %lld: it is another topic "
			 "under the name, or its end was lost",
			 (long long)end, (long long)to->next_offset);
		doubt(log, now_us, text);
		return false;
	}
	if (to->last_offset != GROWTH_OFFSET_NONE && to->last_offset >= low) {
		set_state(log, KEEPER_LOG_PROVING);
		*ret_offset = to->last_offset;
		return true;
	}
	if (log->was_stopped) { /* there is nothing left that could tell */
		set_state(log, KEEPER_LOG_STOPPED);
		return false;
	}
	go_on(log);
	if (to->next_offset < low)
		growth_add_gap(&log->growth,
			       low); /* refused of a full tree alone: it does not grow any more */
	*ret_offset = to->next_offset;
	return true;
}

/* Whether the record is the one that was read last. */
static bool prove(struct keeper_log *log, int64_t offset, str_t key, str_t value, int64_t now_us)
{
	const struct growth_position *to = &log->growth.to;
	struct merkle_hash leaf;
	char text[256];
	leaf_hash(offset, key, value, &leaf);
	if (offset == to->last_offset && merkle_hash_equal(&leaf, &to->last_leaf)) {
		go_on(log);
		return true;
	}
	snprintf(text, sizeof text,
		 "the record at offset %lld is not the one that was logged there: it is another topic under "
		 "the "
		 "name, or a record was replaced or removed",
		 (long long)to->last_offset);
	doubt(log, now_us, text);
	return false;
}

bool keeper_log_take(struct keeper_log *log, int64_t offset, str_t key, str_t value, int64_t now_us)
{
	log->at_end = false;
	if (log->state == KEEPER_LOG_PROVING)
		return offset < log->growth.to.last_offset || prove(log, offset, key, value, now_us);
	if (log->state != KEEPER_LOG_GROWING)
		return false;
	growth_add_record(&log->growth, offset, key, value); /* refused: it was read before */
	return true;
}

bool keeper_log_end(struct keeper_log *log, int64_t end, int64_t now_us)
{
	char text[256];
	if (log->state == KEEPER_LOG_GROWING) {
		log->at_end = true;
		growth_skip_to(&log->growth, end); /* refused: it is behind that */
		return true;
	}
	if (log->state != KEEPER_LOG_PROVING)
		return false;
	snprintf(text, sizeof text,
		 "there is no record at offset %lld, where one was logged: it is another topic under the "
		 "name, or "
		 "a record was removed",
		 (long long)log->growth.to.last_offset);
	doubt(log, now_us, text);
	return false;
}

bool keeper_log_doubt_is_due(const struct keeper_log *log, int64_t now_us)
{
	return log->state == KEEPER_LOG_DOUBTFUL &&
	       now_us - log->doubted_us >= INT64_C(1000) * KEEPER_LOG_AGAIN_MS;
}

bool keeper_log_moved(const struct keeper_log *log)
{
	const struct growth *growth = &log->growth;
	return log->state == KEEPER_LOG_GROWING &&
	       (growth->from.next_offset != growth->to.next_offset ||
		growth->from.range.size != growth->to.range.size || log->lifts_stop);
}

void keeper_log_stored(struct keeper_log *log, int64_t signed_at_ms)
{
	const struct growth_position reached = log->growth.to;
	if (signed_at_ms) {
		log->signed_size = reached.range.size;
		log->signed_at_ms = signed_at_ms;
		log->unsigned_since_ms = 0;
	}
	log->was_stopped = log->lifts_stop = false;
	growth_begin(&log->growth, &reached);
}
