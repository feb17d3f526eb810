/*
 * Texts of proofs, each with the checkpoint that it leads to.
 *
 * That a leaf is in a log (C2SP tlog-proof, a file that stands for itself):
 *
 *     c2sp.org/tlog-proof@v1
 *     extra BASE64             whatever is needed to find the leaf; may be absent
 *     index 73894
 *     BASE64                   for each hash
 *                              an empty line
 *     the checkpoint
 *
 * That a log begins with an older one (the request of C2SP tlog-witness):
 *
 *     old 20852014
 *     BASE64 …, an empty line, the checkpoint
 *
 * Pure; any thread. Texts to be read may be anybody's; limits are strict.
 */
#pragma once

#include "audit/checkpoint.h"

#define PROOF_EXTRA_MAX 1024 /* bytes */
#define PROOF_BYTES_MAX (NOTE_BYTES_MAX + 8192)

enum proof_kind {
	PROOF_INCLUSION,
	PROOF_CONSISTENCY,
};

struct proof {
	enum proof_kind kind;
	uint64_t position; /* the index of the leaf, or the size of the older log */
	struct merkle_proof path;
	size_t extra_bytes; /* of inclusion; 0: no such line */
	unsigned char extra[PROOF_EXTRA_MAX];
	str_t checkpoint; /* a signed note, as it is: still to be verified */
};

/* Appends the text. */
void proof_write(const struct proof *proof, struct buf *out);

/* Reads the text of a proof of either kind; the checkpoint lies in it. ERR_AUDIT_MALFORMED with a detail. */
err_t proof_parse(str_t text, struct proof *ret_proof, struct err_detail *detail);

/* Whether the proof leads from that to the checkpoint, which was verified: the hash of the leaf, or the older
 * log's root. */
bool proof_holds(const struct proof *proof, const struct merkle_hash *from,
		 const struct checkpoint *checkpoint);
