/*
 * Signed notes and their keys, as C2SP signed-note has them, with Ed25519 (OpenSSL's): a text, an empty line,
 * and a line for each signature: "— NAME BASE64", the bytes being the key's id (4, most significant first)
 * and the signature of the text with its last newline.
 *
 * Keys have names, without white space and '+'. A key's id is the beginning of SHA-256(NAME "\n" 0x01 public
 * key). The texts of keys are those of Go's sumdb/note: "NAME+ID+BASE64" for who verifies and
 * "PRIVATE+KEY+NAME+ID+BASE64" for who signs, the id in 8 hexadecimal digits, the bytes 0x01 and the public
 * key, or the seed of the private one.
 *
 * Pure; any thread. All texts may be anybody's.
 */
#pragma once

#include "common/buf.h"

#define NOTE_NAME_MAX	    255	      /* bytes of a key's name */
#define NOTE_BYTES_MAX	    (1 << 18) /* of a whole note */
#define NOTE_SIGNATURES_MAX 100	      /* of a note */
#define NOTE_KEYS_MAX	    64	      /* that somebody trusts or signs with */
#define NOTE_KEY_BYTES	    32	      /* of a public key, and of the seed of a private one */

/* Who verifies. */
struct note_key {
	char name[NOTE_NAME_MAX + 1];
	uint32_t id;
	unsigned char public_key[NOTE_KEY_BYTES];
};

/* Who signs: a secret, to be wiped when it is not needed any more. */
struct note_signer {
	struct note_key key;
	unsigned char seed[NOTE_KEY_BYTES];
};

/* Whether that can be a key's name: 1 to NOTE_NAME_MAX bytes of UTF-8 without white space, control characters
 * and
 * '+'. */
bool note_name_valid(str_t name);

/* The signer of that name whose private key comes from that seed (RFC 8032), 32 random bytes.
 * ERR_AUDIT_MALFORMED: the name is not valid. */
err_t note_signer_make(str_t name, const unsigned char seed[NOTE_KEY_BYTES], struct note_signer *ret_signer);

void note_signer_wipe(struct note_signer *signer);

/* Reads the text of a key, which is that text alone. ERR_AUDIT_MALFORMED: it is none, or the id is not the
 * key's; the detail says what, and shows nothing of a secret. */
err_t note_signer_parse(str_t text, struct note_signer *ret_signer, struct err_detail *detail);
err_t note_key_parse(str_t text, struct note_key *ret_key, struct err_detail *detail);

/* Appends the text of a key. */
void note_signer_write(const struct note_signer *signer, struct buf *out);
void note_key_write(const struct note_key *key, struct buf *out);

/* Appends the note: the text with a signature of each signer. ERR_AUDIT_MALFORMED: the text does not end in a
 * newline, is not UTF-8, has control characters or is too long. */
err_t note_sign(str_t text, const struct note_signer *signers, size_t count, struct buf *out);

/*
 * Verifies a note. The text of it lies in the note; `*ret_signed` (may be NULL) has a bit for each of the
 * trusted keys that signed it, the first being bit 0. Signatures of others are ignored.
 *
 * ERR_AUDIT_MALFORMED: that is no note. ERR_AUDIT_UNVERIFIED: no trusted key has signed it, or a signature in
 * the name of one is not its; the text must not be used.
 */
err_t note_open(str_t note, const struct note_key *trusted, size_t count, str_t *ret_text,
		uint64_t *ret_signed, struct err_detail *detail);
