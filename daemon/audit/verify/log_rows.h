/*
 * What the database's rows say of a log, held against each other, against what its notes claim, and against
 * the checkpoints that were found elsewhere: nobody has to trust them, and who changes them is found out.
 * Pure; one thread.
 */
#pragma once

#include "audit/verify/partition_check.h"

/* The row of a log; its texts may be anything. */
struct log_rows_log {
	str_t origin, state;
	int64_t size, next_offset, last_offset; /* GROWTH_OFFSET_NONE: there is none */
	str_t last_leaf;			/* absent: there is none */
};

/* The row of a checkpoint. */
struct log_rows_checkpoint {
	int64_t size, next_offset;
	str_t state;
};

/* The rows of the checkpoints of a partition; begins zeroed. */
struct log_rows {
	struct partition_check_row *items; /* by size */
	size_t count, capacity;
};

void log_rows_free(struct log_rows *rows);

/* Adds a row, in order of size, and the claim of its note. What does not fit is a difference. */
void log_rows_add(struct log_rows *rows, const struct log_rows_checkpoint *row, const struct log_claim *claim,
		  struct differences *differences);

/* The log has never gone back, but where it began again. */
void log_rows_judge_order(const struct log_rows *rows, const struct growth_mark *marks, size_t count,
			  struct differences *differences);

/* Judges the row of the log of a partition, behind the rows of its checkpoints. False: where it stands cannot
 * be said. `reader` knows whose log it may be. */
bool log_rows_judge_log(const struct log_rows *rows, const struct log_rows_log *log,
			const struct log_claims_reader *reader, int32_t partition,
			struct differences *differences, struct growth_position *ret_position);

/* What was read besides the database. */
struct log_rows_elsewhere {
	bool file, topic;
	bool copy; /* the file is one that somebody has put away: it may be older than the database */
};

/* Checkpoints that are only there where they need not be anywhere else. */
struct log_rows_spare {
	uint64_t older; /* than all that the database keeps */
	uint64_t newer; /* than all that the copy of the file has, which the database says is in the file */
};

/* Holds what the database has against what was found elsewhere; the claims are sorted. */
void log_rows_judge_places(const struct log_claims *claims, const struct log_rows_elsewhere *elsewhere,
			   struct differences *differences, struct log_rows_spare *ret_spare);
