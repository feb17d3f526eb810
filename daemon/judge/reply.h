/*
 * Reads a judge's reply as a verdict. Pure: no I/O, no state, safe in any thread.
 *
 * The reply is foreign text that hostile input may have steered, so the rule is strict: exactly one JSON
 * object stands somewhere in the text, it holds no further object, and its verdict is of the right type and
 * range. Words or a markdown fence around it are fine. A brace that begins like an object and is none makes
 * the whole reply unreadable: guessing which part is meant would let a forged part win.
 */
#pragma once

#include "common/arena.h"

#define REPLY_SIZE_MAX	 ((size_t)64 * 1024) /* longer replies are refused unread */
#define REPLY_REASON_MAX ((size_t)2000)	     /* bytes; a longer reason is cut at a character's bound */
#define REPLY_DEPTH_MAX	 8		     /* arrays inside the object */

struct reply {
	double score; /* relevance: whole, 0..100; correctness: 0.0, 0.5 or 1.0 */
	str_t reason; /* in the arena; absent where the reply gave none */
};

/* {"score": 0..100, "reason": "…"}. ERR_JUDGE_REPLY with a detail (may be NULL) that quotes nothing of the
 * text. */
err_t reply_read_relevance(str_t text, struct arena *arena, struct reply *ret_reply,
			   struct err_detail *detail);

/* {"verdict": "correct" | "partial" | "incorrect", "reason": "…"}. Errors as above. */
err_t reply_read_correctness(str_t text, struct arena *arena, struct reply *ret_reply,
			     struct err_detail *detail);
