/*
 * Messages between the supervisor and a worker process, over a socketpair.
 *
 * A frame is a little-endian u32 (the length of what follows), one byte of kind, and fields in a fixed order:
 * u8, u32, u64, double (as u64), text (u32 length, UINT32_MAX: absent, then the bytes). Both ends are the
 * same binary, so there is no version. What a worker sends is foreign to the supervisor all the same (a
 * client library may have been subverted): every length is checked and a bad frame only costs the worker.
 * Any thread; a buffer or descriptor is one thread's at a time.
 */
#pragma once

#include "common/buf.h"
#include "target/target.h"

#define MESSAGE_MAX_BYTES ((size_t)256 << 20)

enum message_kind {
	MESSAGE_SETTINGS = 1, /* first message to a worker: what it works on, and the password */
	MESSAGE_VALIDATE,
	MESSAGE_CATALOG,
	MESSAGE_CHECK,
	MESSAGE_WITHDRAW,  /* the VALIDATE before it is not wanted any more; no answer of its own */
	MESSAGE_VALIDATED, /* the answers */
	MESSAGE_WITHDRAWN, /* to a VALIDATE that has not been run */
	MESSAGE_TEXT,
};

/* What a worker works on. */
struct worker_settings {
	struct target_settings target;
	str_t password; /* or absent */
};

struct validation_request {
	str_t generated_sql;
	str_t catalog_digest; /* of the catalog in force, or absent */
	const struct validation_truth *truths;
	size_t truths_count;
	struct validation_comparing comparing;
	struct validation_candidates candidates;
};

/* Answer to CATALOG and CHECK: the text, or an error and what is wrong. */
struct text_reply {
	err_t error;
	str_t text;
};

/* A frame inside a buffer; lives as long as the buffer is not changed. */
struct message {
	enum message_kind kind;
	str_t payload;
	size_t frame_bytes;
};

/* Frames that arrive on a descriptor, one or several at a time. */
struct message_inbox {
	int fd;
	struct buf bytes;
	size_t taken; /* of them; what stands behind is to come */
};

/* Append one frame each. A frame larger than MESSAGE_MAX_BYTES is refused: ERR_TARGET_PROTOCOL. */
err_t message_put_settings(struct buf *out, const struct worker_settings *settings);
err_t message_put_validate(struct buf *out, const struct validation_request *request);
err_t message_put_request(struct buf *out, enum message_kind kind);
err_t message_put_validated(struct buf *out, const struct validation_result *result);
err_t message_put_text(struct buf *out, const struct text_reply *reply);

/* Looks at the first frame of `in`. `ret_complete` is false when bytes are still missing. A length out of
 * bounds is ERR_TARGET_PROTOCOL. */
err_t message_peek(str_t in, bool *ret_complete, struct message *ret_message);

/* Decode a payload into the arena; ERR_TARGET_PROTOCOL when it is not exactly one of its kind. */
err_t message_get_settings(str_t payload, struct arena *arena, struct worker_settings *ret_settings);
err_t message_get_validate(str_t payload, struct arena *arena, struct validation_request *ret_request);
err_t message_get_validated(str_t payload, struct arena *arena, struct validation_result *ret_result);
err_t message_get_text(str_t payload, struct arena *arena, struct text_reply *ret_reply);

/* Blocking, for the worker and for one-off checks. `timeout_ms` −1: no limit. ERR_IO: the other end is gone;
 * ERR_TIMEOUT. After a receive, `buffer` holds exactly the frame. */
err_t message_send(int fd, const struct buf *frame);
err_t message_receive(int fd, int64_t timeout_ms, struct buf *buffer, struct message *ret_message);

/* Reads what has arrived, a part at least; where nothing has, waits for it if `wait`. ERR_IO: the other end
 * is gone. Frames that were seen before lie elsewhere then. */
err_t message_inbox_fill(struct message_inbox *inbox, bool wait);
/* The bytes that are not taken yet; message_peek finds the frames there. */
str_t message_inbox_rest(const struct message_inbox *inbox);
/* The frame stays readable until the next fill. */
void message_inbox_take(struct message_inbox *inbox, const struct message *message);
