/*
 * Comparison of two result sets: do they hold the same data? (ladder and rules: see compare_results)
 *
 * Pure and engine-neutral: cells come as text with a type class, so that the same data from different engines
 * is equal. Any thread; scratch memory comes from the arena of the call.
 */
#pragma once

#include "common/arena.h"

/* What a column holds, as far as comparing needs to know. */
enum cell_class {
	CELL_UNKNOWN, /* the engine does not say: what is written as databases write numbers is one, else
			 text */
	CELL_INTEGER,
	CELL_DECIMAL,
	CELL_FLOAT,
	CELL_BOOLEAN,
	CELL_TEXT,
	CELL_DATE,
	CELL_TIME,
	CELL_TIMESTAMP,	   /* without zone */
	CELL_TIMESTAMP_TZ, /* with zone */
	CELL_INTERVAL,
	CELL_BYTES, /* as lower-case hexadecimal */
	CELL_JSON,
	CELL_ARRAY,	 /* PostgreSQL's text form {…} */
	CELL_TEXT_ARRAY, /* the same, of texts: 007 in it is no number */
	CELL_MONEY,	 /* an amount with a currency and separators, as PostgreSQL's money */
	CELL_NULL,	 /* nothing but NULL was seen */
};

struct result_column {
	str_t name;
	enum cell_class type;
};

struct result_set {
	const struct result_column *columns;
	size_t columns_count;
	const str_t *cells; /* row by row; absent: NULL */
	size_t rows_count;
	bool truncated; /* more rows were there than were fetched */
};

/* A sort key of the ground truth that is one of its output columns. */
struct compare_order_key {
	size_t column; /* of the truth, from 0; behind its last one: of the whole's keyed rows */
};

/* What a truth's rows were cut from, in the same order, with the columns that it sorts by and does not
 * return. Tells which rows tie, and which others tie with those at either end of the truth. */
struct compare_whole {
	const struct result_set *rows;	/* columns as the truth's own; truncated: more were there */
	const struct result_set *keyed; /* the same rows with the hidden sort keys behind those columns */
	size_t first;			/* row that the truth begins with */
};

struct compare_options {
	bool ordered; /* the truth has a top-level ORDER BY */
	/* its leading sort keys that are output columns; a key that is not ends the list (ties cannot be told
	 * there) */
	const struct compare_order_key *order_keys;
	size_t order_keys_count;
	bool all_keys_visible; /* no sort key had to be left out */
	bool keys_any_case;    /* the database may sort texts without regard to case: such keys tie, which
				  is reported */
	bool keys_exact;       /* the database tells texts and times apart by their bytes: such keys tie only
				  where they are the same */
	const struct compare_whole *whole; /* that the truth fits (compare_whole_fit), or NULL */
	/* Without `whole`: rows at a cut through a tie whose sort keys are the truth's are believed to tie,
	 * which is reported. */
	bool limited;		   /* the truth has a top-level LIMIT */
	size_t limit;		   /* of how many rows; 0: not known */
	size_t offset;		   /* rows that it leaves out before */
	double absolute_tolerance; /* 0: 1e-4 */
	double relative_tolerance; /* 0: 1e-9 */
};

struct compare_verdict {
	double score; /* by the ladder: 0.1 schema, 0.3 row count, else by match rate */
	bool schema_match;
	bool row_count_match;
	double content_match_rate;	    /* matched rows / the larger count */
	size_t rows_matched, rows_compared; /* these two */
	bool ordering_matters;
	bool truncated;
	bool proven;	    /* nothing that was not fetched could change the score */
	bool limit_cut_tie; /* rows tied where the truth was cut differ: they count as matched */
	bool loose_tie;	   /* rows count as matched out of their places because sort keys that are not written
			      alike were taken for a tie: only the database knows */
	bool ties_certain; /* the sort keys are all known, and the database sees the ties that are seen here
			    */
};

/*
 * Columns: counts differ → schema mismatch, 0.1. Paired by name (lower-cased, trimmed), else by content, in
 * less than factorial time. Rows: bags, whole rows, duplicates count; with `ordered` by position up to ties
 * of the keys. Unequal counts → 0.3 (when truncated: where they are unequal however many rows were not
 * fetched). Match rate ≥ 0.99 → 1.0; ≥ 0.95 → 0.95; ≥ 0.80 →
 * 0.80; else the rate; empty against empty → 1.0. Numbers are equal within the absolute or relative
 * tolerance (compare_width: small ones are told apart), but two columns of whole numbers (keys, counts) are
 * equal exactly: the tolerance is for what was computed, and would make 1234567890123 and 1234567890124 the
 * same key. NULL equals only NULL.
 */
void compare_results(const struct result_set *generated, const struct result_set *truth,
		     const struct compare_options *options, struct arena *arena,
		     struct compare_verdict *ret_verdict);

/* The same, and which columns were paired: the pairing of the most rows in common, whose array is in the
 * arena; of results with different numbers of columns none. */
struct compare_pairing;
void compare_results_paired(const struct result_set *generated, const struct result_set *truth,
			    const struct compare_options *options, struct arena *arena,
			    struct compare_verdict *ret_verdict, struct compare_pairing *ret_pairing);

enum compare_fit {
	COMPARE_FITS_NOT, /* the truth is no part of the whole: ties were decided in another way, or its rows
			     change from run to run */
	COMPARE_FITS_PARTLY, /* of the rows that tie with its last one some may be missing: who has them is
				right, others are not proven wrong */
	COMPARE_FITS,
};

/* Whether the truth is what its cut leaves of the whole, up to ties. The keys, all of them, and the cut are
 * those of `options`, whose `whole` it may become. */
enum compare_fit compare_whole_fit(const struct result_set *truth, const struct compare_options *options,
				   const struct compare_whole *whole, struct arena *arena);

/* The ladder's score of a match rate. */
#define COMPARE_SCORE_OTHER_COUNT 0.3
double compare_ladder(double rate);

struct compare_tolerance {
	double absolute;
	double relative;
};

/* With the defaults in. */
struct compare_tolerance compare_tolerance_of(const struct compare_options *options);
