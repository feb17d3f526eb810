/*
 * An exchange: one distinct request to the language model, from its first sending to its verdict, and the
 * calls that wait for it. Decides what an answer means and what comes next; sending and waiting are the
 * judge's. Everything belongs to the judge's thread.
 */
#pragma once

#include "common/backoff.h"
#include "judge/digest_table.h"
#include "judge/endpoint.h"
#include "judge/fault.h"
#include "judge/shared_cache.h"
#include "judge/transport.h"

enum exchange_step {
	EXCHANGE_DONE,	/* `verdict` holds */
	EXCHANGE_AGAIN, /* send once more, at once */
	EXCHANGE_LATER, /* send once more at `due_us` */
};

struct exchange {
	struct list_node node;	   /* in the judge's list for its state */
	struct digest_node by_key; /* among the open ones */
	struct list calls;	   /* never empty while the exchange is open */
	struct arena *arena;	   /* NULL until an answer is read */
	struct prompts *prompts;   /* those that its key was made with */
	struct shared_lookup lookup;
	struct transfer transfer;
	struct fault fault; /* of the last transfer; ERR_OK: it was answered */
	struct buf request;
	char nonce[PROMPT_NONCE_SIZE];
	enum structured_output structured; /* as the request was written */
	int64_t sent_us;		   /* for the first time; 0 until then */
	int64_t asked_us;		   /* likewise, for the last time */
	int64_t timeout_us;	  /* of its calls: from that time, or from when they joined it later */
	int64_t deadline_us;	  /* of the last of them */
	int64_t waiting_since_us; /* for a slot */
	int64_t due_us;
	unsigned attempts;
	unsigned max_attempts;
	bool resampled;
	unsigned key_generation; /* of the key that the request was sent with */
	struct backoff backoff;
	struct judge_verdict verdict; /* texts in `arena` */
};

/* Key of what a call asks of the endpoint with these prompts: calls of one key have one answer. Any thread,
 * of the endpoint it takes what never changes. */
void exchange_key(const struct endpoint *endpoint, const struct prompts *prompts,
		  const struct judge_call *call, unsigned char ret_key[DIGEST_BYTES]);

/* The caller owns the exchange. */
struct exchange *exchange_new(const struct endpoint *endpoint, const unsigned char key[DIGEST_BYTES],
			      unsigned max_attempts);
void exchange_free(struct exchange *exchange);

/* When that call of the exchange, which was sent, has waited too long. Calls that came later have later ones.
 */
int64_t exchange_deadline_us(const struct exchange *exchange, const struct judge_call *call);

/* Writes the request with a fresh nonce. ERR_JUDGE_REFUSED, and the verdict says why, when it cannot be
 * written. */
err_t exchange_write(struct exchange *exchange, struct endpoint *endpoint);

/* Reads how the transfer ended and decides. A request that took too long is sent anew for calls that joined
 * it late and have half of their time left at least. May note in the endpoint what the server does not take.
 */
enum exchange_step exchange_read(struct exchange *exchange, struct endpoint *endpoint, int64_t now_us);

/* What it can be expected to take, by the length of its texts. */
int64_t exchange_expected_tokens(const struct exchange *exchange);

/* What the answer to its last transfer took, for the limits: as the server has reported, or by its length
 * where the server does not tell. */
int64_t exchange_tokens(const struct exchange *exchange, int64_t reported);

/* Ends it with an error; the message is the error's own text. */
void exchange_fail(struct exchange *exchange, err_t err);
