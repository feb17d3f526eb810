/*
 * Checkpoints of the log as C2SP tlog-checkpoint has them: a signed note (note.h) whose lines are the origin,
 * the size in decimal and the root in base 64, and then, if there are some, lines of extensions.
 *
 * Each partition of a topic is a log with an origin of its own, NAME/TOPIC/PARTITION, the name being that of
 * the key. A checkpoint says: whoever has this key saw a log of that size with that root, and every record in
 * it had its place. It does not say when, nor that the records are true: time comes from whoever else signs
 * it or keeps it.
 *
 * Pure; any thread. All texts may be anybody's.
 */
#pragma once

#include "audit/merkle.h"
#include "audit/note.h"

#define CHECKPOINT_ORIGIN_MAX	  1024 /* bytes */
#define CHECKPOINT_EXTENSIONS_MAX 4096 /* bytes of all of them */

struct checkpoint {
	str_t origin;
	uint64_t size;
	struct merkle_hash root;
	str_t extensions; /* lines with something in them, each with its newline; empty: none */
};

/* Appends the origin of a partition's log. ERR_AUDIT_MALFORMED: the name is none of a key, or the topic is
 * not of letters, digits, '.', '_' and '-', of which Kafka makes names. */
err_t checkpoint_origin(str_t name, str_t topic, int32_t partition, struct buf *out);

/* The name of the key in the origin of that partition's log, within it; absent: it is no such origin. */
str_t checkpoint_origin_name(str_t origin, str_t topic, int32_t partition);

/* Appends the text that is to be signed. ERR_AUDIT_MALFORMED: origin or extensions are not lines of such a
 * text, the size is above MERKLE_SIZE_MAX, or it is 0 and the root is not that of an empty tree. */
err_t checkpoint_write(const struct checkpoint *checkpoint, struct buf *out);

/* The same with signatures (note_sign). */
err_t checkpoint_sign(const struct checkpoint *checkpoint, const struct note_signer *signers, size_t count,
		      struct buf *out);

/* Reads what was signed; texts lie in it. ERR_AUDIT_MALFORMED with a detail. */
err_t checkpoint_parse(str_t text, struct checkpoint *ret_checkpoint, struct err_detail *detail);

/* Verifies and reads a checkpoint of the log with that origin. ERR_AUDIT_UNVERIFIED: it is another log's, or
 * as note_open has it. */
err_t checkpoint_open(str_t note, str_t origin, const struct note_key *trusted, size_t count,
		      struct checkpoint *ret_checkpoint, uint64_t *ret_signed, struct err_detail *detail);
