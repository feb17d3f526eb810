/*
 * A file of past records, read one by one in bounded memory: an Avro object container (Avro
 * specification 1.11, "Object Container Files"; without compression or with deflate), or JSON texts, one a
 * line, as `assayd score` prints them. Which of them it is, its first bytes tell. Nothing of it is trusted.
 * Not thread-safe.
 */
#pragma once

#include "avro/codec.h"

struct replay_file;

/* `path` "-" is standard input. The codec learns the container's schema: nobody else may be using it. Both
 * outlive the file. ERR_FILE_UNREADABLE; ERR_AVRO_VALUE: it is compressed as a whole; or why the head of a
 * container cannot be read. */
err_t replay_file_open(const char *path, struct codec *codec, size_t max_record_bytes,
		       struct replay_file **ret_file, struct err_detail *detail);
void replay_file_close(struct replay_file *file); /* NULL is fine */

DEFINE_CLEANUP(struct replay_file, replay_file_cleanup, replay_file_close)

/* The next record into the arena, or NULL at the end. With ERR_OK for `*ret_fault` it could be read, else
 * that says why it could not, with the detail, and the next one may be. An error of the function: nothing
 * after this can be read. Empty lines are passed over. */
err_t replay_file_next(struct replay_file *file, struct arena *arena, struct scored_query **ret_scored,
		       bool *ret_end, err_t *ret_fault, struct err_detail *detail);

/* The same, but for decoding: the message that codec_decode_scored reads, which lives until the next call. */
err_t replay_file_next_message(struct replay_file *file, str_t *ret_message, bool *ret_end, err_t *ret_fault,
			       struct err_detail *detail);

/* Whether it is a container of records; else it has lines. */
bool replay_file_is_container(const struct replay_file *file);

/* Of the last record: its line, or its number in the container, from 1. */
int64_t replay_file_place(const struct replay_file *file);
