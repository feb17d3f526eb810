/*
 * Reads what was appended to a file of checkpoints (checkpoint_file.h), or to several that were put one
 * behind the other, note by note: of however large a file only some hundred kilobytes are in memory. What is
 * no note comes as a fragment. Blocks; one thread.
 */
#pragma once

#include "common/buf.h"

enum checkpoint_reader_kind { CHECKPOINT_READER_END, CHECKPOINT_READER_NOTE, CHECKPOINT_READER_FRAGMENT };

struct checkpoint_reader_item {
	enum checkpoint_reader_kind kind;
	str_t text;   /* until the next one is read; whether a note is signed nobody has looked */
	uint64_t at;  /* where it begins in the file */
	bool is_last; /* there is nothing behind it */
};

struct checkpoint_reader;

/* ERR_FILE_UNREADABLE, likewise below. The caller frees the reader. */
err_t checkpoint_reader_open(const char *path, struct checkpoint_reader **ret_reader,
			     struct err_detail *detail);
void checkpoint_reader_free(struct checkpoint_reader *reader);

/* The next note, or what is none. */
err_t checkpoint_reader_next(struct checkpoint_reader *reader, struct checkpoint_reader_item *ret_item,
			     struct err_detail *detail);

DEFINE_CLEANUP(struct checkpoint_reader, checkpoint_reader_cleanup, checkpoint_reader_free)
