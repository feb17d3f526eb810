/*
 * Redrive plan: which dead letters are put back into the input topic, from what the dead-letter topic holds.
 *
 * All of its messages are added first, letters and receipts in any order of partitions; then it is settled,
 * and asked. A letter takes 24 bytes. What is planned follows from the messages and the choice alone, so that
 * a run that only says it and one that does it have the same plan. Messages are foreign. Pure; not
 * thread-safe.
 */
#pragma once

#include "common/cleanup.h"
#include "common/err.h"
#include "common/str.h"
#include "kafka/dead_letter.h"

/* Borrowed by the plan. */
struct redrive_choice {
	const char *const *reasons; /* any of them; none: all, likewise below */
	size_t reasons_count;
	const char *const *event_ids;
	size_t event_ids_count;
	const char *input_topic; /* letters of other topics are not put back */
	int64_t since_ms,
		until_ms;      /* written from the one on and before the other (since 1970); 0: any time */
	uint64_t limit;	       /* so many, the oldest first; 0: all */
	uint32_t max_redrives; /* what was put back so often is not put back again */
};

/* What becomes of a letter. */
enum redrive_fate {
	REDRIVE_CHOSEN,
	REDRIVE_DONE,	   /* it was put back before; counted apart from all others */
	REDRIVE_PASSED,	   /* not what the choice is about */
	REDRIVE_BEYOND,	   /* chosen, but above the limit */
	REDRIVE_CUT,	   /* chosen, but not whole */
	REDRIVE_TOO_OFTEN, /* chosen, but put back too often before */
	REDRIVE_ELSEWHERE, /* of another topic */
	REDRIVE_FATES_
};

/* "chosen", …; as JSON calls it. */
const char *redrive_fate_name(enum redrive_fate fate);

struct redrive_example {
	int32_t partition; /* −1: there is none */
	int64_t offset;
	char key[64], detail[200]; /* any bytes, cut; "" where they are not known */
};

/* All letters of one reason. */
struct redrive_reason {
	char name[65];
	uint64_t counts[REDRIVE_FATES_];
	int64_t oldest_ms, newest_ms;	/* of those that were not put back before; 0: there are none */
	struct redrive_example example; /* the newest of these, as a rule */
};

struct redrive_message {
	int32_t partition;
	int64_t offset, written_ms;
	str_t key, value;
	const rd_kafka_headers_t *headers; /* or NULL */
};

struct redrive_plan;

/* `partitions`: of the dead-letter topic. The caller owns it. */
struct redrive_plan *redrive_plan_new(const struct redrive_choice *choice, int partitions);
void redrive_plan_free(struct redrive_plan *plan); /* NULL is fine */

/* Nothing of the message is kept but copies. ERR_OFFSETS_METADATA: a receipt is damaged or of a later
 * version; ERR_USAGE: there are more letters than it takes, so that a choice of time is needed. */
err_t redrive_plan_add(struct redrive_plan *plan, const struct redrive_message *message,
		       struct err_detail *detail);

void redrive_plan_settle(struct redrive_plan *plan);

/* By their names. */
const struct redrive_reason *redrive_plan_reasons(const struct redrive_plan *plan, size_t *ret_count);

/* Of all reasons; and messages that are no dead letters of assayd's. */
uint64_t redrive_plan_count(const struct redrive_plan *plan, enum redrive_fate fate);
uint64_t redrive_plan_foreign(const struct redrive_plan *plan);

/* From the first letter of a partition that is chosen to behind the last; false: none is. */
bool redrive_plan_span(const struct redrive_plan *plan, int32_t partition, int64_t *ret_from,
		       int64_t *ret_until);

/* What becomes of the letter there; REDRIVE_FATES_: it is none that was added, or another one by now. */
enum redrive_fate redrive_plan_fate(const struct redrive_plan *plan, const struct redrive_message *message);

DEFINE_CLEANUP(struct redrive_plan, redrive_plan_cleanup, redrive_plan_free)
