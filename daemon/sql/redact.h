/*
 * SQL texts without their literals, for records and logs: what the texts say stays readable, values do not.
 *
 * Every literal becomes `?` and every comment one that says nothing; all other bytes stay. A text that its
 * dialect's grammar refuses becomes a single `?`. Numbers in types and clauses (numeric(10, 2), LIMIT 5) are
 * literals, too. Of SQLite's "…", which is a text where it is no name, what is compared with counts as one.
 * Pure, any thread with POOL_STACK_BYTES of stack; results live in the arena.
 */
#pragma once

#include "common/arena.h"
#include "sql/dialect.h"
#include "sql/redact.h"

/* A piece of the text that something shorter stands for. */
struct sql_cut {
	size_t offset;	     /* in the text as given */
	size_t len;	     /* there */
	size_t replaced_len; /* in the redacted text */
	bool is_comment;
};

struct sql_redaction {
	str_t sql;  /* as given: borrowed */
	str_t text; /* redacted; absent when there is none */
	bool whole; /* it does not parse: nothing is left of it */
	struct sql_cut *cuts;
	size_t cuts_count;
	size_t cuts_capacity;
};

/* The cuts are in order of the text. */
void sql_redact(str_t sql, enum sql_dialect dialect, struct arena *arena,
		struct sql_redaction *ret_redaction);

/* Where a byte of the text as given is in the redacted one; inside of what was cut: where that was. */
int64_t sql_redaction_offset(const struct sql_redaction *redaction, int64_t offset);

/* A message about the text without what it quotes of the text's literals. */
str_t sql_redaction_message(const struct sql_redaction *redaction, str_t message, struct arena *arena);

/* A message without what it quotes, which may be any value: all from the first quote to the last becomes one
 * `"?"`, for what is quoted may hold quotes. */
str_t sql_redaction_quotations(str_t message, struct arena *arena);

/* The statement with every literal replaced by `?`, keeping all other bytes; for records and logs. SQL that
 * does not parse is replaced as a whole. */
str_t sql_redact_literals(str_t sql, enum sql_dialect dialect, struct arena *arena);
