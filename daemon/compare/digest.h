/*
 * Comparison of results that are too large to keep: digests that do not depend on the order of rows.
 *
 * Rows go through one by one and are forgotten; memory stays constant (one row, and the sample, which is
 * bounded in rows and bytes). Each value is brought into its only form (1.10, 1.1 and 11e-1 are one number),
 * so equal digests prove equal results. Unequal ones prove nothing, since numbers that differ within the
 * tolerance have digests of their own: the caller compares within its limits then, and the sample says how
 * much may match.
 *
 * The digest of a bag of rows is the sum modulo 2^128 of a keyed 128-bit hash of every row (SipHash-2-4-128
 * by Aumasson and Bernstein 2012; sum: MSet-Add-Hash of Clarke, Devadas, van Dijk, Gassend and Suh 2003). The
 * sum counts duplicates, and nobody without the key can make up rows that cancel each other out: a key is
 * used for one validation.
 *
 * How to compare two large results:
 * 1. Where names differ (or classes are known only at the end), both queries run through compare_columns_new
 *    / _row first, and compare_columns_pair pairs the columns by name, then by equal contents, then by how
 *    alike they are. compare_columns_guess says so before the generated rows have run, so that most often
 *    step 2 needs no run of its own.
 * 2. Both run through compare_digest_new / _row, with the columns of either side in the order of the truth's,
 *    and the mode of each pair. Where order matters, the truth goes first and notes where its ties begin
 *    (compare_tie_starts), to which the generated rows are held by their places: a tie is part of the row, in
 *    digest and sample, so that nothing of the order has to be kept.
 * 3. compare_digest_judge. Not proven equal: compare_results on what fits, compare_digest_estimate for the
 *    record.
 * Not thread-safe; no I/O.
 */
#pragma once

#include "common/hash.h"
#include "compare/columns.h"

/* --- first pass: which columns belong together --- */

struct compare_columns;

/* Digests of the values of every column alone, and samples of them; the caller owns them. `types`:
 * CELL_UNKNOWN where the engine tells a class only at the end. Copied. */
struct compare_columns *compare_columns_new(const struct hash_key *key, const enum cell_class *types,
					    size_t columns_count);

/* Takes a row: all its cells, of which nothing is kept. */
void compare_columns_row(struct compare_columns *columns, const str_t *cells);

void compare_columns_free(struct compare_columns *columns);

/* Guesses the pairing from some rows of the generated result and all of the truth's, by which values are
 * among the truth's. */
void compare_columns_guess(const struct result_set *generated,
			   const struct compare_columns *generated_columns, const struct result_set *truth,
			   const struct compare_columns *truth_columns, struct arena *arena,
			   struct compare_pairing *ret_pairing);

DEFINE_CLEANUP(struct compare_columns, compare_columns_cleanup, compare_columns_free)

enum compare_columns_pairing {
	COMPARE_PAIRED,		  /* by names and contents */
	COMPARE_PAIRED_BY_CHANCE, /* columns that hold the same bag of values could be paired in other ways */
	COMPARE_NOT_PAIRED,	  /* some columns have no partner that holds the same to the last digit;
				     `ret_pairing` pairs what is left by how alike their values are */
};

/* Pairs the columns of two results with equally many of them: by unique names, then by equal digests
 * (of several the one whose values stand in the same rows), then by how alike their values are. The sets need
 * names and classes only (classes as known by now). Both sides had the same key. */
enum compare_columns_pairing compare_columns_pair(const struct result_set *generated,
						  const struct compare_columns *generated_columns,
						  const struct result_set *truth,
						  const struct compare_columns *truth_columns,
						  struct arena *arena, struct compare_pairing *ret_pairing);

/* --- second pass: the rows --- */

/* A column of a side, in the order of the truth's columns. */
struct compare_digest_column {
	size_t column;
	enum compare_mode mode;
};

/* Where the ties of a truth begin: one bit a row. */
struct compare_tie_starts;

/* The caller owns them. */
struct compare_tie_starts *compare_tie_starts_new(void);
void compare_tie_starts_free(struct compare_tie_starts *starts);

DEFINE_CLEANUP(struct compare_tie_starts, compare_tie_starts_cleanup, compare_tie_starts_free)

struct compare_digest_settings {
	struct hash_key key; /* the same for both sides */
	const struct compare_pairing *pairing;
	bool is_truth; /* which side this is */
	/* Read of it: ordered, order_keys, order_keys_count, all_keys_visible, keys_any_case, limited, limit;
	 * of the truth, for both sides. */
	const struct compare_options *options;
	/* Where order matters: written by the truth's digest, read by that of the generated rows, which are
	 * taken behind all of the truth's; of the truth, keys may stand behind the columns of the pairing
	 * then. NULL: each side's ties are those of its own keys, and the sample does not see the order. */
	struct compare_tie_starts *tie_starts;
	size_t sample_rows;  /* 0: no sample */
	size_t sample_bytes; /* of the sample's texts and their places; at most twice as much is held */
};

struct compare_digest;

/* The caller owns the digest. Settings are copied. */
struct compare_digest *compare_digest_new(const struct compare_digest_settings *settings);

/* Takes a row: all cells of this side's result, in its own order. Nothing of it is kept by reference. */
void compare_digest_row(struct compare_digest *digest, const str_t *cells);

/* How many rows it has taken. */
uint64_t compare_digest_rows(const struct compare_digest *digest);

/* The bag of all rows so far. */
struct hash_128 compare_digest_bag(const struct compare_digest *digest);

void compare_digest_free(struct compare_digest *digest);

DEFINE_CLEANUP(struct compare_digest, compare_digest_cleanup, compare_digest_free)

enum compare_digest_verdict {
	COMPARE_DIGEST_EQUAL, /* the same rows, and in the truth's order up to ties where order matters */
	COMPARE_DIGEST_EQUAL_TO_CUT, /* the same up to rows tied where the truth's LIMIT cut: counts as equal
				      */
	COMPARE_DIGEST_UNEQUAL,	     /* not proven equal */
};

/* Both digests saw their results to the end. */
enum compare_digest_verdict compare_digest_judge(const struct compare_digest *generated,
						 const struct compare_digest *truth);

/* What the samples say about the match rate of all rows as bags. */
struct compare_estimate {
	bool known;	  /* false: the sample holds nothing that could be compared */
	double rate;	  /* matched rows / the larger count */
	double low, high; /* 95 % interval: Wilson 1927, with as many draws as Kish's effective sample size
			     (1965) gives for groups of unequal size */
	size_t rows;	  /* sampled on the larger side */
};

/* Rows are sampled by the hash of what has no tolerance in them, so that partners are in both samples or in
 * none. Both sides had the same key, pairing and limits. */
void compare_digest_estimate(const struct compare_digest *generated, const struct compare_digest *truth,
			     const struct compare_tolerance *tolerance, struct arena *arena,
			     struct compare_estimate *ret_estimate);
