#include "audit/verify/partition_check.h"

#include <stdarg.h>
#include <stdio.h>

enum { WINDOW = PARTITION_CHECK_WINDOW, SLOTS = 8 * WINDOW, RESYNCS_MAX = 1000 };

/* A record whose leaf is still to be found. */
struct pending {
	int64_t offset;
	struct merkle_hash leaf;
};

/* A tree that is grown beside the claims of its roots. */
struct grower {
	struct merkle_range range;
	size_t next; /* of the claims */
	uint64_t fitting, fitting_size;
	bool failed;
	uint64_t failed_size, before_size; /* of the first claim that does not fit, and of the one before */
};

struct partition_check {
	struct partition_check_options options;
	struct partition_check_result result;
	struct grower records, tiles;
	size_t next_mark;      /* of the tree of records */
	bool by_records;       /* it may be grown: no record of the log's beginning is known to be gone */
	int64_t before_offset; /* of the record at the last claim that fitted, for the tree of records */
	int64_t failed_offset; /* and of the one at the first that did not */
	int64_t last_seen;

	struct pending *pending;
	size_t head, count, capacity;
	bool anchored, lost, ended;
	int64_t previous; /* offset of the last record that fitted; −1: none did */
	unsigned resyncs;
	struct merkle_hash tile[TILE_WIDTH]; /* held */
	uint64_t tile_index;
	unsigned tile_count;
};

const char *partition_check_kind_name(enum partition_check_kind kind)
{
	static const char *const names[] = {
		[CHECK_CHANGED] = "changed",	 [CHECK_REMOVED] = "removed", [CHECK_INSERTED] = "inserted",
		[CHECK_REORDERED] = "reordered", [CHECK_LOST] = "lost",	      [CHECK_ROOT] = "root",
		[CHECK_DATABASE] = "database",	 [CHECK_FORK] = "fork",
	};
	return names[kind];
}

__attribute__((format(printf, 5, 6))) static void differ(struct partition_check *check,
							 enum partition_check_kind kind, int64_t from,
							 int64_t to, const char *format, ...)
{
	struct partition_check_result *result = &check->result;
	if (result->differences_count++ >= PARTITION_CHECK_DIFFERENCES)
		return;
	struct partition_check_difference *difference = &result->differences[result->differences_count - 1];
	va_list arguments;
	*difference =
		(struct partition_check_difference){ .kind = kind, .from_offset = from, .to_offset = to };
	va_start(arguments, format);
	vsnprintf(difference->text, sizeof difference->text, format, arguments);
	va_end(arguments);
}

struct partition_check *partition_check_new(const struct partition_check_options *options)
{
	struct partition_check *check = calloc(1, sizeof *check);
	if (!check)
		abort();
	check->options = *options;
	check->by_records = true;
	check->previous = check->last_seen = -1;
	check->before_offset = check->failed_offset = -1;
	check->result.first_offset = -1;
	for (size_t i = 0; i < options->marks_count; i++)
		if (options->marks[i].mark.kind == LEAF_MARK_BEGINS_AGAIN)
			check->by_records = false; /* the records before it were another topic's */
	return check;
}

void partition_check_free(struct partition_check *check)
{
	if (!check)
		return;
	free(check->pending);
	free(check);
}

/* ---- trees ---- */

static bool grow(struct partition_check *check, struct grower *grower, const struct merkle_hash *leaf)
{
	const struct log_claims *claims = check->options.claims;
	struct merkle_hash root;
	bool reached = false;
	merkle_range_append(&grower->range, leaf, NULL, NULL);
	while (grower->next < claims->count && claims->items[grower->next].size < grower->range.size)
		grower->next++; /* of nothing, or not in order */
	while (grower->next < claims->count && claims->items[grower->next].size == grower->range.size) {
		const struct log_claim *claim = &claims->items[grower->next++];
		merkle_range_root(&grower->range, &root);
		if (merkle_hash_equal(&root, &claim->root)) {
			grower->fitting++;
			grower->fitting_size = claim->size;
		} else if (!grower->failed) {
			grower->failed = true;
			grower->failed_size = claim->size;
			grower->before_size = grower->fitting_size;
		}
		reached = true;
	}
	return reached;
}

/* The marks that stand before the next record. Where the topic has forgotten its beginning and nobody tells
 * of marks, the log may have begun with a gap. */
static void grow_marks(struct partition_check *check)
{
	const struct partition_check_options *options = &check->options;
	struct merkle_hash leaf;
	if (check->records.range.size == 0 && options->marks_count == 0 && options->low > 0) {
		const struct leaf_mark gap = { LEAF_MARK_GAP, 0, options->low, STR_NONE };
		leaf_mark_hash(&gap, &leaf);
		grow(check, &check->records, &leaf);
	}
	while (check->next_mark < options->marks_count &&
	       options->marks[check->next_mark].index == check->records.range.size) {
		leaf_mark_hash(&options->marks[check->next_mark++].mark, &leaf);
		grow(check, &check->records, &leaf);
	}
}

static void grow_record(struct partition_check *check, int64_t offset, const struct merkle_hash *leaf)
{
	struct grower *grower = &check->records;
	bool had_failed = grower->failed;
	if (!check->by_records)
		return;
	grow_marks(check);
	if (grow(check, grower, leaf)) {
		if (!grower->failed)
			check->before_offset = offset;
		else if (!had_failed)
			check->failed_offset = offset;
	}
	grow_marks(check);
}

/* ---- leaves of the database ---- */

static err_t leaf_at(struct partition_check *check, uint64_t index, struct merkle_hash *ret_leaf)
{
	uint64_t tile = index / TILE_WIDTH;
	if (check->tile_count == 0 || check->tile_index != tile) {
		unsigned width = tile_width(0, tile, check->options.tiles_size);
		err_t err = check->options.tiles(check->options.tiles_context, 0, tile, width, check->tile);
		if (err)
			return err;
		check->tile_index = tile;
		check->tile_count = width;
	}
	*ret_leaf = check->tile[index % TILE_WIDTH];
	return ERR_OK;
}

static const struct growth_mark *mark_at(const struct partition_check *check, uint64_t index)
{
	const struct growth_mark *marks = check->options.marks;
	size_t low = 0, high = check->options.marks_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (marks[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < check->options.marks_count && marks[low].index == index ? &marks[low] : NULL;
}

/* Goes on to the next leaf, which is not to be held against a record any more. */
static void pass_leaf(struct partition_check *check, const struct merkle_hash *leaf)
{
	const struct growth_mark *mark = mark_at(check, check->tiles.range.size);
	struct merkle_hash marked;
	if (mark) {
		leaf_mark_hash(&mark->mark, &marked);
		if (!merkle_hash_equal(&marked, leaf))
			differ(check, CHECK_DATABASE, mark->mark.from_offset, mark->mark.to_offset,
			       "the mark of leaf %llu in the database is not the one that is in the tree",
			       (unsigned long long)mark->index);
	}
	grow(check, &check->tiles, leaf);
}

static uint64_t next_leaf(const struct partition_check *check)
{
	return check->tiles.range.size;
}

/* Passes marks; false: there are no more leaves. */
static err_t pass_marks(struct partition_check *check, bool *ret_left)
{
	struct merkle_hash leaf;
	err_t err = ERR_OK;
	while (!err && next_leaf(check) < check->options.tiles_size && mark_at(check, next_leaf(check)) &&
	       !(err = leaf_at(check, next_leaf(check), &leaf)))
		pass_leaf(check, &leaf);
	*ret_left = next_leaf(check) < check->options.tiles_size;
	return err;
}

/* ---- finding leaves among records ---- */

/* The first records that are pending, by their leaves. */
struct lookup {
	uint32_t slots[SLOTS]; /* positions counted from 1; 0: free */
	const struct pending *items;
	size_t count;
};

static size_t slot_of(const struct merkle_hash *leaf)
{
	uint32_t number;
	memcpy(&number, leaf->bytes, sizeof number);
	return number % SLOTS;
}

static struct lookup *make_lookup(const struct partition_check *check)
{
	struct lookup *lookup = calloc(1, sizeof *lookup);
	if (!lookup)
		abort();
	lookup->items = &check->pending[check->head];
	lookup->count = check->count - check->head;
	if (lookup->count > WINDOW)
		lookup->count = WINDOW;
	for (size_t i = 0; i < lookup->count; i++) {
		size_t slot = slot_of(&lookup->items[i].leaf);
		while (lookup->slots[slot])
			slot = (slot + 1) % SLOTS;
		lookup->slots[slot] = (uint32_t)i + 1;
	}
	return lookup;
}

/* The position of the record with that leaf; `count`: there is none. */
static size_t find(const struct lookup *lookup, const struct merkle_hash *leaf)
{
	for (size_t slot = slot_of(leaf); lookup->slots[slot]; slot = (slot + 1) % SLOTS) {
		size_t at = lookup->slots[slot] - 1;
		if (merkle_hash_equal(&lookup->items[at].leaf, leaf))
			return at;
	}
	return lookup->count;
}

DEFINE_CLEANUP(struct lookup, lookup_cleanup, free)

/* ---- differences ---- */

static int64_t offset_at(const struct partition_check *check, size_t position)
{
	size_t at = check->head + position;
	return at < check->count ? check->pending[at].offset : -1;
}

/* `leaves` leaves have no record, and `records` records no leaf; behind them both fit again. */
static void report(struct partition_check *check, uint64_t leaves, size_t records, bool crossed)
{
	int64_t first = offset_at(check, 0), last = records ? offset_at(check, records - 1) : -1;
	int64_t next = offset_at(check, records), before = check->previous;
	if (crossed)
		differ(check, CHECK_REORDERED, first, last,
		       "the records from offset %lld to %lld are logged in another order", (long long)first,
		       (long long)last);
	else if (records == 0)
		differ(check, CHECK_REMOVED, before + 1, next - 1,
		       "%llu logged records are missing behind offset %lld and before %lld",
		       (unsigned long long)leaves, (long long)before, (long long)next);
	else if (leaves == 0)
		differ(check, CHECK_INSERTED, first, last,
		       "%zu records from offset %lld to %lld were never logged", records, (long long)first,
		       (long long)last);
	else if (leaves == records)
		differ(check, CHECK_CHANGED, first, last,
		       "%zu records from offset %lld to %lld are not those that were logged there", records,
		       (long long)first, (long long)last);
	else
		differ(check, CHECK_CHANGED, first, last,
		       "%zu records from offset %lld to %lld stand in the place of %llu logged ones", records,
		       (long long)first, (long long)last, (unsigned long long)leaves);
}

static err_t skip_leaves(struct partition_check *check, uint64_t count)
{
	struct merkle_hash leaf;
	err_t err = ERR_OK;
	for (; !err && count > 0; count--)
		if (!(err = leaf_at(check, next_leaf(check), &leaf)))
			pass_leaf(check, &leaf);
	return err;
}

/* Which leaves of a window have which records; −1: none. */
struct matches {
	int record_of[WINDOW], leaf_of[WINDOW];
	int leaves, records; /* how many there are */
};

static err_t match(struct partition_check *check, struct matches *ret_matches)
{
	_cleanup_(lookup_cleanup) struct lookup *lookup = make_lookup(check);
	uint64_t left = check->options.tiles_size - next_leaf(check);
	struct merkle_hash leaf;
	memset(ret_matches, 0xff, sizeof *ret_matches);
	ret_matches->leaves = left < WINDOW ? (int)left : WINDOW;
	ret_matches->records = (int)lookup->count;
	for (int i = 0; i < ret_matches->leaves; i++) {
		err_t err = leaf_at(check, next_leaf(check) + (uint64_t)i, &leaf);
		if (err)
			return err;
		size_t at = find(lookup, &leaf);
		if (at == lookup->count)
			continue;
		ret_matches->record_of[i] = (int)at;
		ret_matches->leaf_of[at] = i;
	}
	return ERR_OK;
}

/*
 * Where leaves and records fit again: behind the first `*ret_leaves` leaves and `*ret_records` records, of
 * which none has its match behind that. False: nowhere. `*ret_crossed`: some of them match, in another order.
 */
static bool find_fit(const struct matches *matches, int *ret_leaves, int *ret_records, bool *ret_crossed)
{
	int furthest[WINDOW + 1]; /* the last leaf of the records before */
	int last_record = -1;	  /* of the leaves before */
	furthest[0] = -1;
	for (int i = 0; i < matches->records; i++)
		furthest[i + 1] = matches->leaf_of[i] > furthest[i] ? matches->leaf_of[i] : furthest[i];
	for (int i = 0; i < matches->leaves; i++) {
		int at = matches->record_of[i];
		if (at < 0)
			continue;
		if (at > last_record && furthest[at] < i) {
			*ret_leaves = i;
			*ret_records = at;
			*ret_crossed = last_record >= 0;
			return true;
		}
		last_record = at > last_record ? at : last_record;
	}
	return false;
}

/* Nothing fits as far as was looked: at the end that is all there is, else all that follows. */
static err_t give_up(struct partition_check *check, const struct matches *matches)
{
	uint64_t left = check->options.tiles_size - next_leaf(check);
	bool at_end = check->ended && left < WINDOW && check->count - check->head < WINDOW;
	bool crossed = false;
	for (int i = 0; i < matches->leaves; i++)
		crossed |= matches->record_of[i] >= 0;
	if (at_end) {
		report(check, left, (size_t)matches->records, crossed);
	} else {
		differ(check, CHECK_LOST, offset_at(check, 0), -1,
		       "from offset %lld on, records are not those that were logged",
		       (long long)offset_at(check, 0));
		check->lost = true;
	}
	check->head = at_end ? check->count : check->head;
	return at_end ? skip_leaves(check, left) : ERR_OK;
}

/* The next leaf is not that of the next record. */
static err_t resync(struct partition_check *check)
{
	static _Thread_local struct matches matches;
	int leaves = 0, records = 0;
	bool crossed = false;
	err_t err = match(check, &matches);
	if (err)
		return err;
	if (check->resyncs++ >= RESYNCS_MAX || !find_fit(&matches, &leaves, &records, &crossed))
		return give_up(check, &matches);
	report(check, (uint64_t)leaves, (size_t)records, crossed);
	err = skip_leaves(check, (uint64_t)leaves);
	check->head += (size_t)records;
	return err;
}

/* ---- the first record ---- */

/* Leaves are passed until one of them is that of a record: those before are of records that are gone. */
static err_t find_anchor(struct partition_check *check)
{
	_cleanup_(lookup_cleanup) struct lookup *lookup = make_lookup(check);
	uint64_t from = 0, passed = 0;
	struct merkle_hash leaf;
	for (size_t i = 0; i < check->options.marks_count; i++)
		if (check->options.marks[i].mark.kind == LEAF_MARK_BEGINS_AGAIN)
			from = check->options.marks[i].index; /* what is before is of another topic */
	while (next_leaf(check) < check->options.tiles_size) {
		err_t err = leaf_at(check, next_leaf(check), &leaf);
		if (err)
			return err;
		size_t at = next_leaf(check) < from ? lookup->count : find(lookup, &leaf);
		if (at < lookup->count) {
			if (at > 0 || (passed > 0 && check->options.low == 0))
				report(check, check->options.low == 0 ? passed : at, at, false);
			check->result.gone += check->options.low == 0 ? 0 : passed;
			check->head += at;
			check->anchored = true;
			return ERR_OK;
		}
		if (next_leaf(check) >= from && !mark_at(check, next_leaf(check)))
			passed++;
		else if (!mark_at(check, next_leaf(check)))
			check->result.gone++;
		pass_leaf(check, &leaf);
	}
	check->result.gone += passed; /* of none of these records */
	return ERR_OK;
}

/* ---- records ---- */

static void fit(struct partition_check *check)
{
	struct partition_check_result *result = &check->result;
	int64_t offset = check->pending[check->head++].offset;
	if (result->first_offset < 0)
		result->first_offset = offset;
	check->previous = offset;
	result->compared++;
}

/* Holds records against leaves, keeping a window of them for what may differ. */
static err_t compare(struct partition_check *check)
{
	size_t keep = check->ended ? 0 : WINDOW;
	err_t err = ERR_OK;
	if (!check->anchored && check->count - check->head > keep)
		err = find_anchor(check);
	while (!err && check->anchored && !check->lost && check->count - check->head > keep) {
		struct merkle_hash leaf;
		bool left;
		err = pass_marks(check, &left);
		if (err || !left)
			break;
		err = leaf_at(check, next_leaf(check), &leaf);
		if (err)
			break;
		if (!merkle_hash_equal(&leaf, &check->pending[check->head].leaf)) {
			err = resync(check);
			continue;
		}
		pass_leaf(check, &leaf);
		fit(check);
	}
	if (check->head > 4 * WINDOW) {
		memmove(check->pending, check->pending + check->head,
			(check->count - check->head) * sizeof *check->pending);
		check->count -= check->head;
		check->head = 0;
	}
	return err;
}

static void push(struct partition_check *check, int64_t offset, const struct merkle_hash *leaf)
{
	if (check->count == check->capacity) {
		check->capacity = check->capacity ? 2 * check->capacity : 4096;
		check->pending = reallocarray(check->pending, check->capacity, sizeof *check->pending);
		if (!check->pending)
			abort();
	}
	check->pending[check->count++] = (struct pending){ offset, *leaf };
}

err_t partition_check_add(struct partition_check *check, int64_t offset, str_t key, str_t value)
{
	struct merkle_hash leaf;
	leaf_hash(offset, key, value, &leaf);
	check->result.records++;
	if (offset <= check->last_seen && !check->options.tiles)
		differ(check, CHECK_REORDERED, offset, offset,
		       "the record at offset %lld stands behind that at offset %lld", (long long)offset,
		       (long long)check->last_seen);
	check->last_seen = offset;
	grow_record(check, offset, &leaf);
	bool is_new = check->options.next_offset >= 0 && offset >= check->options.next_offset;
	if (!check->options.tiles || is_new || check->lost)
		return ERR_OK;
	push(check, offset, &leaf);
	return check->count - check->head > (size_t)2 * WINDOW ? compare(check) : ERR_OK;
}

/* ---- the end ---- */

/* The rest of the leaves, whose records are not there. */
static err_t end_tiles(struct partition_check *check)
{
	uint64_t missing = 0;
	struct merkle_hash leaf;
	while (next_leaf(check) < check->options.tiles_size) {
		err_t err = leaf_at(check, next_leaf(check), &leaf);
		if (err)
			return err;
		missing += !mark_at(check, next_leaf(check));
		pass_leaf(check, &leaf);
	}
	if (check->lost)
		return ERR_OK;
	if (missing > 0 && check->anchored)
		differ(check, CHECK_REMOVED, check->previous + 1, -1,
		       "%llu logged records are missing behind offset %lld, at the end",
		       (unsigned long long)missing, (long long)check->previous);
	if (check->count > check->head)
		differ(check, CHECK_INSERTED, check->pending[check->head].offset,
		       check->pending[check->count - 1].offset,
		       "%zu records from offset %lld to %lld were never logged", check->count - check->head,
		       (long long)check->pending[check->head].offset,
		       (long long)check->pending[check->count - 1].offset);
	return ERR_OK;
}

static void judge_tiles(struct partition_check *check)
{
	const struct grower *tiles = &check->tiles;
	const struct log_claims *claims = check->options.claims;
	if (tiles->failed)
		differ(check, CHECK_DATABASE, -1, -1,
		       "the leaves of the database between %llu and %llu are not those that were signed",
		       (unsigned long long)tiles->before_size, (unsigned long long)tiles->failed_size);
	if (claims->count && claims->items[claims->count - 1].size > check->options.tiles_size)
		differ(check, CHECK_DATABASE, -1, -1,
		       "the database's log has %llu leaves, and a checkpoint claims %llu: it was set back",
		       (unsigned long long)check->options.tiles_size,
		       (unsigned long long)claims->items[claims->count - 1].size);
}

/* Without leaves to hold records against, roots tell where a difference lies. */
static void judge_records(struct partition_check *check)
{
	const struct grower *records = &check->records;
	const struct log_claims *claims = check->options.claims;
	uint64_t last = claims->count ? claims->items[claims->count - 1].size : 0;
	if (records->failed && check->options.low > 0 && records->fitting == 0)
		differ(check, CHECK_ROOT, -1, -1,
		       "records before offset %lld are gone: without the leaves of the database nothing can "
		       "be "
		       "verified",
		       (long long)check->options.low);
	else if (records->failed)
		differ(check, CHECK_ROOT, check->before_offset + 1, check->failed_offset,
		       "a record from offset %lld to %lld was changed, removed or inserted: leaves up to "
		       "%llu "
		       "fit, those up to %llu do not",
		       (long long)check->before_offset + 1, (long long)check->failed_offset,
		       (unsigned long long)records->before_size, (unsigned long long)records->failed_size);
	else if (last > records->range.size)
		differ(check, CHECK_REMOVED, check->last_seen + 1, -1,
		       "%llu logged records are missing: a checkpoint claims %llu leaves, and there are %llu",
		       (unsigned long long)(last - records->range.size), (unsigned long long)last,
		       (unsigned long long)records->range.size);
}

err_t partition_check_finish(struct partition_check *check, struct partition_check_result *ret_result)
{
	struct partition_check_result *result = &check->result;
	const struct log_claims *claims = check->options.claims;
	err_t err = ERR_OK;
	check->ended = true;
	if (check->by_records)
		grow_marks(check);
	if (check->options.tiles)
		err = compare(check);
	if (!err && check->options.tiles)
		err = end_tiles(check);
	if (err)
		return err;
	if (claims->forked)
		differ(check, CHECK_FORK, -1, -1,
		       "two checkpoints of size %llu have different roots: the key has signed two histories",
		       (unsigned long long)claims->forked_size);
	bool last_fits = claims->count > 0 && check->by_records && !check->records.failed &&
			 check->records.fitting_size == claims->items[claims->count - 1].size;
	result->whole = last_fits;
	if (check->options.tiles)
		judge_tiles(check);
	else if (check->by_records)
		judge_records(check);
	const struct grower *grower = check->options.tiles ? &check->tiles : &check->records;
	result->claims_count = claims->count;
	result->claims_fitting = grower->fitting;
	result->verified_size = grower->fitting_size;
	*ret_result = *result;
	return ERR_OK;
}
