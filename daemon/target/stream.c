#include "target/stream.h"

#define SAMPLE_ROWS	4096
#define SAMPLE_BYTES	((size_t)8 << 20)
#define MAX_CORRECTIONS 1

struct stream_side {
	struct stream_query *query;
	struct result_set columns; /* names and classes as known by now */
	struct compare_columns *bags;
	struct compare_digest *digest;
	struct fingerprint fingerprint; /* of the run that goes on or went last */
};

/* What the query returns of a row, without the keys that were added to it. */
static void take_for_fingerprint(struct stream_side *side, const str_t *cells)
{
	fingerprint_row(&side->fingerprint, cells, side->columns.columns_count);
}

/* One comparison in progress. */
struct stream {
	struct tries *tries;
	const struct engine *engine;
	void *session;
	const struct target_settings *settings;
	const struct compare_options *options;
	struct arena *arena;
	struct hash_key key;
	struct compare_pairing pairing;
	struct compare_tie_starts *tie_starts;
	struct stream_side generated, truth;
	struct stream_comparison result;
};

static bool take_for_both(void *context, const str_t *cells, size_t cells_count)
{
	struct stream_side *side = context;
	(void)cells_count;
	take_for_fingerprint(side, cells);
	compare_columns_row(side->bags, cells);
	compare_digest_row(side->digest, cells);
	return true;
}

static bool take_for_digest(void *context, const str_t *cells, size_t cells_count)
{
	struct stream_side *side = context;
	(void)cells_count;
	take_for_fingerprint(side, cells);
	compare_digest_row(side->digest, cells);
	return true;
}

/* Takes over what the run has shown of the columns' classes. True when they are not what was believed. */
static bool learn_types(struct stream *stream, struct stream_side *side, const struct query_run *run)
{
	struct result_column *columns =
		ARENA_ARRAY(stream->arena, struct result_column, side->columns.columns_count);
	bool changed = false;
	for (size_t i = 0; i < side->columns.columns_count; i++) {
		columns[i] = side->columns.columns[i];
		changed = changed || columns[i].type != run->result.columns[i].type;
		columns[i].type = run->result.columns[i].type;
	}
	side->columns.columns = columns;
	return changed;
}

static void note_failure(struct stream *stream, const struct stream_side *side, const struct query_run *run)
{
	struct stream_comparison *result = &stream->result;
	result->outcome = run->outcome == QUERY_FAILED ? STREAM_FAILED : STREAM_ENDLESS;
	result->generated_failed = side == &stream->generated;
	result->truth_failed = side == &stream->truth;
	result->failed = (struct query_run){ .outcome = run->outcome, .execution = run->execution };
	result->failed.message = arena_str(stream->arena, run->message);
}

/* Runs a side's query in full. `ret_changed`: see learn_types. What ends it early is in the result, and true
 * is not returned. */
static err_t read_side(struct stream *stream, struct stream_side *side,
		       bool (*take)(void *context, const str_t *cells, size_t cells_count), bool *ret_ended,
		       bool *ret_changed, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct query_run run = { .result = { .arena = arena,
					     .sink = { take, side },
					     .max_bytes = stream->settings->max_result_bytes } };
	fingerprint_reset(&side->fingerprint);
	err_t err = tries_run(stream->tries, stream->engine, stream->session, side->query->sql, &run, detail);
	bool whole = !err && run.outcome == QUERY_RETURNED && !run.result.truncated &&
		     run.result.columns_count == side->columns.columns_count + side->query->added;
	if (whole) {
		*ret_changed |= learn_types(stream, side, &run);
		side->query->execution = run.execution;
		fingerprint_hex(&side->fingerprint, side->query->execution.digest);
	} else if (!err) {
		note_failure(stream, side, &run);
	}
	*ret_ended = whole;
	result_free(&run.result);
	return err;
}

/* --- which columns belong together --- */

static struct compare_columns *bags_new(const struct stream *stream, const struct stream_side *side)
{
	enum cell_class *types = ARENA_ARRAY(stream->arena, enum cell_class, side->columns.columns_count);
	for (size_t i = 0; i < side->columns.columns_count; i++)
		types[i] = stream->engine->classes_at_end ? CELL_UNKNOWN : side->columns.columns[i].type;
	return compare_columns_new(&stream->key, types, side->columns.columns_count);
}

static void init_pairing(struct stream *stream)
{
	size_t count = stream->truth.columns.columns_count;
	stream->pairing = (struct compare_pairing){
		.pairs = ARENA_ARRAY(stream->arena, struct compare_pair, count),
		.count = count,
		.choices = 1,
	};
}

static bool pair_by_names(struct stream *stream)
{
	bool *taken = ARENA_ARRAY(stream->arena, bool, stream->truth.columns.columns_count);
	init_pairing(stream);
	return compare_pair_names(&stream->generated.columns, &stream->truth.columns, &stream->pairing, taken,
				  stream->arena) == 0;
}

/* Reads the modes of the pairs anew from classes that have changed. True when one of them is another. */
static bool renew_pairs(struct stream *stream)
{
	struct compare_pairing before = stream->pairing;
	bool changed = false;
	init_pairing(stream);
	for (size_t i = 0; i < before.count; i++) {
		compare_set_pair(&stream->pairing, &stream->generated.columns, &stream->truth.columns, i,
				 before.pairs[i].generated);
		changed |= stream->pairing.pairs[i].mode != before.pairs[i].mode;
	}
	return changed;
}

/* Before it is known which columns belong together: the truth's as they would be read beside their own kind.
 */
static void guess_pairs(struct stream *stream)
{
	init_pairing(stream);
	for (size_t i = 0; i < stream->pairing.count; i++)
		compare_set_pair(&stream->pairing, &stream->truth.columns, &stream->truth.columns, i, i);
}

/* --- the rows --- */

static struct compare_digest *digest_new(const struct stream *stream, bool is_truth)
{
	size_t sample_bytes = (size_t)stream->settings->max_result_bytes / 8;
	return compare_digest_new(&(struct compare_digest_settings){
		.key = stream->key,
		.pairing = &stream->pairing,
		.is_truth = is_truth,
		.options = stream->options,
		.tie_starts = stream->tie_starts,
		.sample_rows = SAMPLE_ROWS,
		.sample_bytes = sample_bytes < SAMPLE_BYTES ? sample_bytes : SAMPLE_BYTES,
	});
}

static void forget(struct stream_side *side)
{
	compare_digest_free(side->digest);
	compare_columns_free(side->bags);
	fingerprint_reset(&side->fingerprint);
	side->digest = NULL;
	side->bags = NULL;
}

static void judge(struct stream *stream)
{
	struct stream_comparison *result = &stream->result;
	const struct compare_digest *generated = stream->generated.digest, *truth = stream->truth.digest;
	const struct compare_tolerance tolerance = compare_tolerance_of(stream->options);
	result->outcome = STREAM_READ;
	result->verdict = compare_digest_judge(generated, truth);
	result->same_count = compare_digest_rows(generated) == compare_digest_rows(truth);
	if (result->verdict == COMPARE_DIGEST_UNEQUAL && result->paired)
		compare_digest_estimate(generated, truth, &tolerance, stream->arena, &result->estimate);
}

static bool same_modes(const struct compare_pairing *a, const struct compare_pairing *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->pairs[i].mode != b->pairs[i].mode)
			return false;
	return true;
}

static bool same_partners(const struct compare_pairing *a, const struct compare_pairing *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->pairs[i].generated != b->pairs[i].generated)
			return false;
	return true;
}

/* Both run once, for the digests of their columns and, with the pairing that is guessed, of their rows.
 * `ret_truth_stands`, `ret_judged`: what of the latter was guessed right. */
static err_t pair_by_contents(struct stream *stream, bool *ret_ended, bool *ret_truth_stands,
			      bool *ret_judged, struct err_detail *detail)
{
	struct stream_side *generated = &stream->generated, *truth = &stream->truth;
	bool changed = false;
	guess_pairs(stream);
	const struct compare_pairing alone = stream->pairing;
	truth->bags = bags_new(stream, truth);
	truth->digest = digest_new(stream, true);
	generated->bags = bags_new(stream, generated);
	err_t err = read_side(stream, truth, take_for_both, ret_ended, &changed, detail);
	if (err || !*ret_ended)
		return err;
	compare_columns_guess(&generated->columns, generated->bags, &truth->columns, truth->bags,
			      stream->arena, &stream->pairing);
	const struct compare_pairing guessed = stream->pairing;
	generated->digest = digest_new(stream, false);
	err = read_side(stream, generated, take_for_both, ret_ended, &changed, detail);
	if (err || !*ret_ended)
		return err;
	stream->result.paired =
		compare_columns_pair(&generated->columns, generated->bags, &truth->columns, truth->bags,
				     stream->arena, &stream->pairing) != COMPARE_PAIRED_BY_CHANCE;
	*ret_truth_stands = same_modes(&stream->pairing, &alone);
	*ret_judged = *ret_truth_stands && same_modes(&stream->pairing, &guessed) &&
		      same_partners(&stream->pairing, &guessed);
	return ERR_OK;
}

/* `again`: what was read of the truth before was read in other ways. */
static err_t read_rows(struct stream *stream, bool again, bool *ret_ended, bool *ret_changed,
		       struct err_detail *detail)
{
	struct stream_side *generated = &stream->generated, *truth = &stream->truth;
	err_t err = ERR_OK;
	*ret_changed = false;
	forget(generated);
	if (again) {
		forget(truth);
		compare_tie_starts_free(stream->tie_starts);
		stream->tie_starts = compare_tie_starts_new();
		truth->digest = digest_new(stream, true);
		err = read_side(stream, truth, take_for_digest, ret_ended, ret_changed, detail);
	}
	if (err || !*ret_ended)
		return err;
	generated->digest = digest_new(stream, false);
	err = read_side(stream, generated, take_for_digest, ret_ended, ret_changed, detail);
	if (!err && *ret_ended)
		judge(stream);
	return err;
}

/* Classes that turn out otherwise at the end of a result make the digests anew: of columns that hold what
 * they like. */
static err_t compare(struct stream *stream, struct err_detail *detail)
{
	err_t err = ERR_OK;
	bool ended = true, again = true, changed = false, truth_stands = false, judged = false;
	stream->result.paired = pair_by_names(stream);
	if (!stream->result.paired)
		err = pair_by_contents(stream, &ended, &truth_stands, &judged, detail);
	if (!err && ended && judged) {
		judge(stream);
		return ERR_OK;
	}
	again = !truth_stands;
	for (int round = 0; !err && ended && round <= MAX_CORRECTIONS; round++) {
		err = read_rows(stream, again, &ended, &changed, detail);
		again = changed && renew_pairs(stream);
		if (!again)
			break;
	}
	return err;
}

err_t stream_compare(struct tries *tries, const struct engine *engine, void *session,
		     const struct target_settings *settings, struct stream_query *generated,
		     struct stream_query *truth, const struct compare_options *options, struct arena *arena,
		     struct stream_comparison *ret_comparison, struct err_detail *detail)
{
	struct stream stream = {
		.tries = tries,
		.engine = engine,
		.session = session,
		.settings = settings,
		.options = options,
		.arena = arena,
		.tie_starts = compare_tie_starts_new(),
		.generated = { .query = generated, .columns = *generated->fetched },
		.truth = { .query = truth, .columns = *truth->fetched },
	};
	hash_key_make(&stream.key);
	err_t err = compare(&stream, detail);
	forget(&stream.generated);
	forget(&stream.truth);
	compare_tie_starts_free(stream.tie_starts);
	if (!err)
		*ret_comparison = stream.result;
	return err;
}
