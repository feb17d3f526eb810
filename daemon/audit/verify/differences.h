/*
 * What a verification has found to be wrong: of what kind, which records it is about, and a sentence. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So many are described; the others are counted. */
#define DIFFERENCES_MAX 20

enum difference_kind {
	DIFFERENCE_CHANGED,    /* records are not those that were logged in their place */
	DIFFERENCE_REMOVED,    /* logged records are not there */
	DIFFERENCE_INSERTED,   /* records are there that were not logged */
	DIFFERENCE_REORDERED,  /* records are there in another order than they were logged */
	DIFFERENCE_LOST,       /* from here on nothing fits */
	DIFFERENCE_ROOT,       /* the tree of the records has not the root that a checkpoint claims */
	DIFFERENCE_FORK,       /* two checkpoints of one size have different roots */
	DIFFERENCE_DATABASE,   /* leaves of the database are not those that were signed, or are not there */
	DIFFERENCE_TILE,       /* tiles of the database are missing, too short, too long or do not fit */
	DIFFERENCE_LOG,	       /* the database's row of the log does not fit its leaves, or is not there */
	DIFFERENCE_CHECKPOINT, /* rows of the database's checkpoints do not fit, or are not there */
	DIFFERENCE_MARK,       /* marks of the database are not those of the leaves */
	DIFFERENCE_FILE,       /* the file of checkpoints has lost some, or was damaged */
	DIFFERENCE_TOPIC,      /* likewise their topic */
	DIFFERENCE_STOPPED,    /* the log was stopped: nothing is added to it */
	DIFFERENCE_KINDS_
};

const char *difference_kind_name(enum difference_kind kind);

struct difference {
	enum difference_kind kind;
	int64_t from_offset, to_offset; /* of the records that it is about; −1: not known */
	char text[320];
};

/* Begins zeroed. */
struct differences {
	uint64_t count;
	struct difference items[DIFFERENCES_MAX];
};

__attribute__((format(printf, 5, 6))) void differences_add(struct differences *differences,
							   enum difference_kind kind, int64_t from_offset,
							   int64_t to_offset, const char *format, ...);

/* How many of them are described. */
static inline unsigned differences_described(const struct differences *differences)
{
	return differences->count < DIFFERENCES_MAX ? (unsigned)differences->count : DIFFERENCES_MAX;
}
