/*
 * The keys of the log in files. A private one has a line for each key that signs, "PRIVATE+KEY+…", all of one
 * name: a key that takes the place of another one is added and signs beside it for as long as auditors need
 * to learn of it, then the old line is removed. The name is in the origin of every log and stays. A file of
 * public keys has a line for each key that is trusted, of any names.
 *
 * Files are read when the keys are needed, so that they may be replaced meanwhile. Blocks; any thread.
 */
#pragma once

#include "audit/note.h"

#define KEY_FILE_SIGNERS_MAX 8

struct key_file {
	size_t count;
	struct note_signer signers[KEY_FILE_SIGNERS_MAX];
};

/* Reads a private file; the caller wipes it. ERR_FILE_UNREADABLE, or ERR_AUDIT_MALFORMED: there is a line
 * that is no key, or keys have several names; details show nothing of a secret. */
err_t key_file_read(const char *path, struct key_file *ret_file, struct err_detail *detail);
void key_file_wipe(struct key_file *file);

/* Makes a key of that name from the system's randomness and writes it to a file that is not there yet, with
 * mode 0600. */
err_t key_file_make(const char *path, str_t name, struct note_key *ret_key, struct err_detail *detail);

/* Keys that are trusted, NOTE_KEYS_MAX at most: `text` is a public key itself, or else names a file of them;
 * they are added to those that are there. */
err_t key_file_trusted(const char *text, struct note_key *keys, size_t *count, struct err_detail *detail);
