/*
 * Which offsets of one partition are done: the contiguous prefix that can be committed, and a compact map of
 * what is committed above it, so that a slow event holds up nobody and nothing is done twice.
 *
 * Goes by arrival, since offsets have gaps (control records, compaction): a range that spans absent offsets
 * is fine, because these never come. Holds only the unfinished offsets, so its memory is bounded by what is
 * in flight. Pure; not thread-safe: the owner of the assignment serialises.
 *
 * States of an arrived offset: unfinished → in the open transaction → done, or back to unfinished when the
 * transaction is aborted. The map of a transaction holds what is done and what is in that very transaction.
 */
#pragma once

#include "common/buf.h"
#include "kafka/witness.h"

struct offsets;

/* Largest metadata of a commit that a broker takes by default (offset.metadata.max.bytes). */
#define OFFSETS_METADATA_BYTES 4096

/* Less than this is of no use for a map. */
#define OFFSETS_METADATA_BYTES_LEAST 128

/* Where a partition starts when nothing was ever committed: the first arrival tells. */
#define OFFSETS_UNKNOWN (-1)

/* New tracker of a partition whose next offset is `start` or OFFSETS_UNKNOWN. */
struct offsets *offsets_new(int64_t start);
void offsets_free(struct offsets *offsets);

/*
 * Tracker from what was committed: the offset and the map in its metadata. Metadata without our mark, none at
 * all, or a map that belongs to another offset mean that somebody else has set the offset: it counts, there
 * is no map, and `*ret_foreign` is set. A map of an unknown version or a damaged one: ERR_OFFSETS_METADATA,
 * the partition must not be consumed.
 */
err_t offsets_restore(int64_t committed, str_t metadata, struct offsets **ret_offsets, bool *ret_foreign);

enum offsets_arrival {
	OFFSETS_FRESH, /* to be processed, and unfinished from now on */
	OFFSETS_DONE,  /* finished by an earlier owner: skip it */
	OFFSETS_STALE, /* below the prefix or seen already: skip it */
};

/* `since_ms`: the time from which the offset's age counts; `sign`: the record's (see witness.h), or 0. */
enum offsets_arrival offsets_arrive(struct offsets *offsets, int64_t offset, int64_t since_ms, uint64_t sign);

/* Everything below `end` has come by that ever will: what is absent at the end of a log (marks of
 * transactions, aborted records, what compaction took) holds the prefix up no longer. Only behind a record
 * that was seen, which stays the witness: a prefix without one would be taken for that of any log. True: that
 * was not known. */
bool offsets_pass(struct offsets *offsets, int64_t end);

/* The offset joins the open transaction, or leaves it again before it was committed. It must have arrived. */
void offsets_join(struct offsets *offsets, int64_t offset);
void offsets_withdraw(struct offsets *offsets, int64_t offset);

/* The transaction's outcome: all that joined are done, or all are unfinished again. */
void offsets_end(struct offsets *offsets, bool committed);

/* The offset to commit: the first that is neither done nor in the open transaction; OFFSETS_UNKNOWN before
 * any arrival on a partition without a commit. */
int64_t offsets_prefix(const struct offsets *offsets);

/* The last record that came before the prefix; its sign is 0 where that is not known. */
struct witness offsets_witness(const struct offsets *offsets);

/* Appends the metadata for that commit: our mark, and a map with that record's sign when something is done
 * above the prefix or the sign is known (and the map is not too large for one). Empty before any arrival on a
 * partition without a commit. */
void offsets_encode(const struct offsets *offsets, struct buf *out);

/* Length of that metadata. */
size_t offsets_metadata_bytes(const struct offsets *offsets);

/*
 * New tracker for a topic that was deleted and made again while `former` tracked it: it begins at `start`,
 * and what arrived from offset `since` on was of the new topic already. What of that is finished is done.
 */
struct offsets *offsets_begin_again(const struct offsets *former, int64_t start, int64_t since);

/* Offsets that an earlier owner finished have yet to come by: what arrives meanwhile fills holes of its map
 * and adds none. */
bool offsets_restoring(const struct offsets *offsets);

/* Arrived and not done, in the open transaction or not. */
size_t offsets_unfinished(const struct offsets *offsets);

/* The earliest `since_ms` of what is unfinished; INT64_MAX: nothing is. */
int64_t offsets_oldest_ms(const struct offsets *offsets);
