/*
 * Sequences in the calibration database: for each segment and label source the state of the sequential test
 * of whether it has changed (statistics/source_sequence.h), a row of calibration_sequences.
 *
 * Who owns a row: nobody for long. Whoever counts cases feeds them, in the transaction that counts them and
 * moves the positions, under the row's lock; several instances that count partitions of one segment take
 * turns. Rows are locked in the order of their keys, after everything else of the transaction. Drift is
 * judged (drift/update.h) from what is committed, and only `reported` is written then.
 *
 * What happens when a step dies: before the commit nothing has happened, neither counts nor positions nor
 * sequences. After it, whoever knows of it or not, the positions keep the same cases from coming again. A
 * change that was found and not yet judged is still there: `changes` is above `reported`, and all segments
 * are judged once after a start. An episode and `reported` are written in one transaction.
 *
 * Order: a test of what comes when depends on the order of cases. Those of one transaction are fed by the
 * times at which they were scored, then by partition and offset, whatever order they were read in; those of
 * different transactions as they were committed. So a recount would find other sums, none of them wrong.
 *
 * What a rebuild does: it leaves the sequences as they are. They have seen every case once, in about the
 * order of time, and reading a log partition by partition would make a change of every end of a partition.
 * Where it replaces counts, sequences that have not seen as many cases are compared no more (`whole`).
 *
 * What a verification compares: how many cases a sequence was fed, which no order changes, with how many are
 * counted; and that with the log. Only rows that were fed from their segment's first case on, by instances
 * that all feed (calibration_positions.fed_since), and of which nothing was deleted for its age. Corrected
 * feedback is not fed again.
 *
 * The other test, of outcomes against published probabilities (statistics/claims_sequence.h), is not fed. Its
 * cases are kept (claims.h) and looked at when drift is judged; columns claims_… of the same row say what was
 * decided last, and change with the episode. What it looks at does not depend on any order, so a verification
 * compares it, and a rebuild replaces it, case by case.
 *
 * Both tests see a case, so each has half of the false alarms that are set (sequences_alarms).
 *
 * A row that was not fed for as long as buckets are kept is deleted (retention.h).
 *
 * Needs an open connection with the tables; for the thread that uses it, blocks within its deadlines.
 */
#pragma once

#include "calibration/statistics/claims_sequence.h"
#include "calibration/statistics/source_sequence.h"
#include "calibration/store/segments.h"
#include "common/arena.h"
#include "database/database.h"

/* One outcome. Texts are the caller's. */
struct sequence_case {
	struct calibration_segment segment;
	bool placed; /* the segment is as it is counted; else it may be among others */
	int label_source;
	int64_t scored_at_ms;
	int32_t partition;
	int64_t offset;
	int bin;
	bool correct;
	size_t row; /* for sequences_feed */
};

/* What a transaction has counted; zeroed but for the arena: nothing. */
struct sequence_cases {
	struct arena *arena;
	struct sequence_case *items;
	size_t count, capacity;
};

void sequences_add_case(struct sequence_cases *cases, const struct sequence_case *item);

/* Feeds the cases, whose order changes; the last thing of the transaction under way. */
err_t sequences_feed(struct database *database, struct sequence_cases *cases, double threshold,
		     struct err_detail *detail);

/* The share of the set false alarms that each of the two tests has; without probabilities there is one. */
double sequences_alarms(double false_alarms_per_10k, bool claims);

enum sequence_notice { NOTICED_NOTHING, NOTICED_BY_PAST, NOTICED_BY_PROBABILITY };

/* A change that is there, or that was not reported yet; or one that has just ended. */
struct sequence_news {
	struct calibration_segment segment; /* in the caller's arena */
	int label_source;
	bool open;		      /* for one of the tests at least */
	bool unreported;	      /* one of them has found a change that had no episode yet */
	enum sequence_notice noticed; /* the test that the stretch is of: of both the past's */
	struct drift_stretch stretch; /* not of NOTICED_NOTHING */
	int64_t changes;	      /* of the past's */
	bool moved;		      /* `claims` is not what is stored */
	struct claims_sequence claims;
};

/* The news of those segments, by segment and label source. Looks at their claims with that threshold
 * (claims_sequence_threshold); 0: nothing is claimed any more, what was open is over. */
err_t sequences_read(struct database *database, const struct calibration_segment *segments, size_t count,
		     double claims_threshold, struct arena *arena, struct sequence_news **ret_news,
		     size_t *ret_count, struct err_detail *detail);

/* All changes of the news have their episodes, and its claims are stored. Called in the order of
 * sequences_read. */
err_t sequences_set_reported(struct database *database, const struct sequence_news *news,
			     struct err_detail *detail);

/* How many sequences were fed another number of cases than are counted; of those that can be compared, where
 * buckets are kept since that time. */
err_t sequences_compare(struct database *database, int64_t kept_since_ms, int64_t *ret_differing,
			struct err_detail *detail);

/* Counts were replaced: sequences that differ from them are compared no more. */
err_t sequences_doubt(struct database *database, struct err_detail *detail);

/* "LOWER" or "HIGHER": how tables name a direction; static. */
const char *sequences_direction_name(enum drift_direction direction);

/* The direction of that name; of another text the first. */
enum drift_direction sequences_direction_of(const char *name);
