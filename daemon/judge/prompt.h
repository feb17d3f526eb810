/*
 * Prompts: template files with named placeholders, checked when they are loaded.
 *
 * A template has a [system] and a [user] section, each begun by a line of that name. Placeholders are
 * {{question}}, {{sql}}, {{truth_sql}} (correctness only), {{dialect}} and {{nonce}}, all of which must
 * occur, and {{schema}}, which may. The texts among them are hostile data: they may stand only in the user
 * section, and the placeholders just before and just after each must be {{nonce}}, which is a code drawn anew
 * for every call that does not occur in the data. So no data can end its own section. Words that end a turn
 * in models' chat templates are broken up in data, since some servers take them for what they say wherever
 * they stand.
 */
#pragma once

#include "common/buf.h"
#include "common/str.h"
#include "judge/judge.h"

#define PROMPT_NONCE_SIZE 33 /* 128 random bits in hexadecimal, and a NUL */
#define PROMPT_FILE_MAX	  ((size_t)64 * 1024)

struct prompts;

struct prompt_values {
	str_t question;
	str_t sql;
	str_t truth_sql; /* correctness */
	str_t schema;	 /* or absent: not known */
	const char *dialect;
};

/* Loads relevance.txt and correctness.txt of `directory`, or the built-in ones when it is NULL. The caller
 * owns the prompts. ERR_FILE_UNREADABLE, or ERR_CONFIG_SYNTAX with file and line in `detail`. */
err_t prompts_load(const char *directory, struct prompts **ret_prompts, struct err_detail *detail);

/* The prompts are shared by counting, among any threads: each holder gives its share back. NULL is fine. */
struct prompts *prompts_share(struct prompts *prompts);
void prompts_free(struct prompts *prompts);

DEFINE_CLEANUP(struct prompts, prompts_cleanup, prompts_free)

/* SHA-256 of prompts_text, in hexadecimal. */
const char *prompts_digest(const struct prompts *prompts);

/* Both templates, each behind a line with the name of its file and its length in bytes; as long as they live.
 */
str_t prompts_text(const struct prompts *prompts);

/* Draws a nonce that occurs in none of the values. `draw` fills 16 random bytes; NULL: the system's. */
void prompt_draw_nonce(const struct prompt_values *values, void (*draw)(unsigned char bytes[16]),
		       char ret_nonce[PROMPT_NONCE_SIZE]);

/* Appends the two messages of a call. */
void prompt_render(const struct prompts *prompts, enum judge_question kind,
		   const struct prompt_values *values, const char *nonce, struct buf *system,
		   struct buf *user);

/* Appends what the rendered prompt follows from except the nonce: the template's digest, and every value that
 * it uses with its length. Two calls have the same image only if they ask the same, however their texts
 * imitate the template. For cache keys. */
void prompt_image(const struct prompts *prompts, enum judge_question kind, const struct prompt_values *values,
		  struct buf *image);
