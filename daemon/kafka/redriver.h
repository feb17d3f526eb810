/*
 * Redriver: puts the events of dead letters back into the input topic, each exactly once, whatever is killed
 * when.
 *
 * A transaction has the events of some letters, untouched, and for each partition of letters a receipt beside
 * them (receipts.h). So a letter is either put back and has a receipt, or neither is true, for all who read
 * committed messages; the receipts are the whole state.
 *
 * Owner: whoever has claimed the transactional id last, which is made of the dead-letter topic's name, so
 * that there is one for all who work on that topic. The claim comes before all reading: it waits until what
 * the owner before had begun is committed or aborted, marks in all partitions included, and nothing of his
 * can be committed later. Receipts that are read afterwards, up to the end of the log as it is then
 * (log_ends.h; not up to what is committed, which other transactions hold back), are therefore all that there
 * are.
 *
 * Deaths: before a commit is asked for, or before the broker has decided it, the transaction is aborted, by
 * the next claim or its timeout, and its letters have no receipt; after that, they have one. A commit without
 * an answer is asked for again; if that is of no use, the next run reads what became of it. An owner that a
 * later one has replaced learns it from the broker (ERR_KAFKA_FENCED) and has done no harm.
 *
 * An event that the topic refuses aborts its transaction, which is cut in halves until it is alone; it stays
 * a dead letter. Bounded by the transaction's limits. Not thread-safe; callbacks come from within its calls.
 */
#pragma once

#include "common/buf.h"
#include "kafka/client.h"
#include "kafka/dead_letter.h"

struct redriver_options {
	const struct kafka_settings *settings; /* outlive the redriver */
	int patience_ms;		       /* for which a transaction is tried */
	bool (*stopping)(void);		       /* whether waiting for the broker is to end soon */
	/* What became of a letter, by its place in the dead-letter topic: `refused` NULL: it is put back, and
	 * that is committed; else why the input topic does not take it. */
	void (*report)(int32_t partition, int64_t offset, const char *refused, void *context);
	void *context;
};

struct redriver;

/* Claims the id; waits up to `timeout_ms` for the broker. ERR_KAFKA_UNAVAILABLE, ERR_KAFKA_TOPIC (no
 * permission, no such topic), ERR_KAFKA_CONFIG. The caller owns it. */
err_t redriver_new(const struct redriver_options *options, int timeout_ms, struct redriver **ret_redriver,
		   struct err_detail *detail);

/* What is added and not committed stays a dead letter. NULL is fine. */
void redriver_free(struct redriver *redriver);

/* Adds the event of a letter, which is copied; commits when there is enough of them. Letters of a partition
 * come in the order of their offsets. After an error no more can be added: ERR_KAFKA_FENCED: another redrive
 * has taken over; ERR_KAFKA_UNAVAILABLE, ERR_KAFKA_TOPIC, ERR_KAFKA_FATAL. */
err_t redriver_add(struct redriver *redriver, const rd_kafka_message_t *message,
		   const struct dead_letter *letter, struct err_detail *detail);

/* Commits what was added. Errors likewise. */
err_t redriver_commit(struct redriver *redriver, struct err_detail *detail);

/* Whether the last error has left open if its transaction was committed: the next run finds out. */
bool redriver_is_in_doubt(const struct redriver *redriver);

/* Appends the transactional id. */
void redriver_id(const struct kafka_settings *settings, struct buf *out);

DEFINE_CLEANUP(struct redriver, redriver_cleanup, redriver_free)
