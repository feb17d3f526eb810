/*
 * Texts of the audit log from anybody: proofs, signed notes, checkpoints, keys, states. What is read is
 * within its limits and is written as it was read; nothing is signed by a key that did not sign it.
 */
#include "audit/proof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Texts are read from memory of exactly their size, so that reading beyond them is seen. */
static void read_checkpoint(str_t text)
{
	struct checkpoint checkpoint;
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	if (checkpoint_parse(text, &checkpoint, NULL) != ERR_OK)
		return;
	check(checkpoint.size <= MERKLE_SIZE_MAX && checkpoint.origin.len <= CHECKPOINT_ORIGIN_MAX);
	check(checkpoint_write(&checkpoint, &again) == ERR_OK);
	check(str_equal(buf_str(&again), text));
}

static void read_note(str_t text, const struct note_key *keys)
{
	struct err_detail detail = { "" };
	struct checkpoint checkpoint;
	uint64_t by = 0;
	str_t body;
	err_t err = note_open(text, keys, 2, &body, &by, &detail);
	if (err) {
		check(err == ERR_AUDIT_MALFORMED || err == ERR_AUDIT_UNVERIFIED);
		check(detail.message[0] != '\0');
		return;
	}
	check(by > 0 && by <= 3 && body.len > 0 && body.len < text.len && body.ptr == text.ptr);
	(void)checkpoint_open(text, STR("n"), keys, 2, &checkpoint, &by, &detail);
}

static void read_proof(str_t text, const struct note_key *keys)
{
	static const struct merkle_hash from = { { 1 } };
	struct proof proof;
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	if (proof_parse(text, &proof, NULL) != ERR_OK)
		return;
	check(proof.path.count <= MERKLE_PROOF_MAX && proof.extra_bytes <= PROOF_EXTRA_MAX);
	proof_write(&proof, &again);
	check(str_equal(buf_str(&again), text));
	read_note(proof.checkpoint, keys);
	struct checkpoint checkpoint = { .size = proof.position + proof.path.count };
	(void)proof_holds(&proof, &from, &checkpoint);
	checkpoint.size = MERKLE_SIZE_MAX;
	(void)proof_holds(&proof, &from, &checkpoint);
}

/* What a key signed opens as it was, and not with one bit of it changed. */
static void read_signed(str_t text, const struct note_signer *signer)
{
	_cleanup_(buf_free) struct buf note = BUF_INIT;
	str_t body;
	if (note_sign(text, signer, 1, &note) != ERR_OK)
		return;
	check(note_open(buf_str(&note), &signer->key, 1, &body, NULL, NULL) == ERR_OK);
	check(str_equal(body, text));
	for (size_t i = 0; i < text.len; i += 1 + text.len / 4) {
		note.data[i] ^= 1;
		check(note_open(buf_str(&note), &signer->key, 1, &body, NULL, NULL) != ERR_OK);
		note.data[i] ^= 1;
	}
}

static void read_keys_and_states(str_t text)
{
	struct note_key key;
	struct note_signer signer;
	struct merkle_range range;
	_cleanup_(buf_free) struct buf again = BUF_INIT;
	if (note_key_parse(text, &key, NULL) == ERR_OK) {
		note_key_write(&key, &again);
		check(str_equal(buf_str(&again), text));
		buf_reset(&again);
	}
	if (note_signer_parse(text, &signer, NULL) == ERR_OK) {
		note_signer_write(&signer, &again);
		check(str_equal(buf_str(&again), text));
		buf_reset(&again);
	}
	if (merkle_range_decode(text, &range) == ERR_OK) {
		merkle_range_encode(&range, &again);
		check(str_equal(buf_str(&again), text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char seeds[2][NOTE_KEY_BYTES] = { { 7 }, { 8 } };
	static struct note_signer signers[2];
	static bool made;
	if (!made) {
		check(note_signer_make(STR("n"), seeds[0], &signers[0]) == ERR_OK);
		check(note_signer_make(STR("m"), seeds[1], &signers[1]) == ERR_OK);
		made = true;
	}
	const struct note_key keys[] = { signers[0].key, signers[1].key };
	char *copy = malloc(size ? size : 1);
	check(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	str_t text = { copy, size };
	read_checkpoint(text);
	read_note(text, keys);
	read_proof(text, keys);
	read_keys_and_states(text);
	read_signed(text, &signers[0]);
	free(copy);
	return 0;
}
