#include "audit/verify/partition_check.h"

enum { RESYNCS_MAX = 1000, WIDER = 8 };

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
	uint64_t covered; /* records below the last claim that fits */
	bool failed;
	uint64_t failed_size, before_size; /* of the first claim that does not fit, and of the one before */
};

/* An upper tile of the database, while the tree below it grows. */
struct upper_tile {
	bool held, bad;
	uint64_t index;
	struct merkle_hash hashes[TILE_WIDTH];
};

/* Records in order of their offsets. */
struct run {
	uint64_t count;
	int64_t from, to;
};

struct partition_check {
	struct partition_check_options options;
	struct partition_check_result result;
	struct grower records, tiles;
	size_t next_mark;      /* of the tree of records */
	bool by_records;       /* it may be grown: no record of the log's beginning is known to be gone */
	bool gap_was_guessed;  /* its first leaf is a gap that nobody tells of */
	int64_t before_offset; /* of the record at the last claim that fitted, for the tree of records */
	int64_t failed_offset; /* and of the one at the first that did not */
	int64_t last_seen;
	int64_t log_end;      /* records from that offset on are not logged yet */
	struct run uncovered; /* behind the last claim that fits the tree of records */
	struct run held;      /* not logged yet, as it seems: at the end so far */

	struct pending *pending;
	size_t head, count, capacity;
	size_t window;
	bool anchored, lost, damaged, ended;
	int64_t previous;	/* offset of the last record that fitted; −1: none did */
	uint64_t previous_leaf; /* and its leaf */
	struct run extra;	/* behind the last leaf, and not new */
	unsigned resyncs;
	size_t next_row;
	uint64_t beginning_leaf; /* with what the topic of today has begun: the last time the log began again
				  */
	int64_t beginning_offset;
	struct merkle_hash tile[TILE_WIDTH]; /* held */
	uint64_t tile_index;
	unsigned tile_count;
	struct merkle_hash last_leaf; /* that was passed */
	struct upper_tile *upper[TILE_LEVELS];
	err_t upper_err; /* of their reader */
};

#define differ(check, ...) differences_add((check)->options.differences, __VA_ARGS__)

static void run_add(struct run *run, int64_t offset)
{
	if (run->count++ == 0)
		run->from = run->to = offset;
	run->from = offset < run->from ? offset : run->from;
	run->to = offset > run->to ? offset : run->to;
}

struct partition_check *partition_check_new(const struct partition_check_options *options)
{
	struct partition_check *check = calloc(1, sizeof *check);
	if (!check)
		abort();
	check->options = *options;
	check->by_records = true;
	check->window = PARTITION_CHECK_WINDOW;
	check->previous = check->last_seen = -1;
	check->before_offset = check->failed_offset = -1;
	check->result.first_offset = -1;
	check->log_end = options->next_offset;
	if (options->position && options->position->last_offset >= check->log_end)
		check->log_end = options->position->last_offset + 1;
	for (size_t i = 0; i < options->marks_count; i++) {
		const struct growth_mark *mark = &options->marks[i];
		if (mark->mark.kind != LEAF_MARK_BEGINS_AGAIN)
			continue;
		check->by_records = false; /* the records before it were another topic's */
		if (mark->index >= options->tiles_size)
			continue;
		check->beginning_leaf = mark->index;
		check->beginning_offset = mark->mark.to_offset;
		while (check->next_row < options->rows_count &&
		       options->rows[check->next_row].size <= mark->index)
			check->next_row++;
	}
	return check;
}

void partition_check_free(struct partition_check *check)
{
	if (!check)
		return;
	for (unsigned level = 0; level < TILE_LEVELS; level++)
		free(check->upper[level]);
	free(check->pending);
	free(check);
}

/* ---- trees ---- */

/* The upper tile that the place is in; NULL: it cannot be read, which was said. */
static const struct upper_tile *hold_upper(struct partition_check *check, const struct tile_place *place)
{
	const struct partition_check_options *options = &check->options;
	struct upper_tile **slot = &check->upper[place->level];
	if (!*slot && !(*slot = calloc(1, sizeof **slot)))
		abort();
	struct upper_tile *tile = *slot;
	if (tile->held && tile->index == place->index)
		return tile->bad ? NULL : tile;
	unsigned width = tile_width(place->level, place->index, options->tiles_size);
	err_t err = options->tiles(options->tiles_context, place->level, place->index, width, tile->hashes);
	tile->held = true;
	tile->index = place->index;
	tile->bad = err != ERR_OK;
	if (err == ERR_AUDIT_DAMAGED)
		differ(check, DIFFERENCE_TILE, -1, -1, "tile %llu of level %u is missing or too short",
		       (unsigned long long)place->index, place->level);
	else if (err)
		check->upper_err = err;
	return tile->bad ? NULL : tile;
}

/* Holds a node against the tile that has it: the visitor of merkle_range_append. */
static void check_node(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	struct partition_check *check = context;
	struct tile_place place;
	if (!tile_place(level, index, &place) || place.level == 0)
		return;
	const struct upper_tile *tile = hold_upper(check, &place);
	if (!tile || merkle_hash_equal(&tile->hashes[place.position], hash))
		return;
	check->upper[place.level]->bad = true; /* said once */
	differ(check, DIFFERENCE_TILE, -1, -1,
	       "hash %u of tile %llu of level %u is not that of the leaves below it", place.position,
	       (unsigned long long)place.index, place.level);
}

static bool grow(struct partition_check *check, struct grower *grower, const struct merkle_hash *leaf)
{
	const struct log_claims *claims = check->options.claims;
	bool of_tiles = grower == &check->tiles, reached = false;
	struct merkle_hash root;
	merkle_range_append(&grower->range, leaf, of_tiles ? check_node : NULL, check);
	while (grower->next < claims->count && claims->items[grower->next].size < grower->range.size)
		grower->next++; /* of nothing, or not in order */
	while (grower->next < claims->count && claims->items[grower->next].size == grower->range.size) {
		const struct log_claim *claim = &claims->items[grower->next++];
		merkle_range_root(&grower->range, &root);
		if (merkle_hash_equal(&root, &claim->root)) {
			grower->fitting++;
			grower->fitting_size = claim->size;
			grower->covered = of_tiles ? check->result.compared : check->result.records;
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
		check->gap_was_guessed = true;
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
	uint64_t fitting = grower->fitting;
	if (!check->by_records) {
		run_add(&check->uncovered, offset);
		return;
	}
	grow_marks(check);
	if (grow(check, grower, leaf)) {
		if (!grower->failed)
			check->before_offset = offset;
		else if (!had_failed)
			check->failed_offset = offset;
	}
	if (grower->fitting > fitting)
		check->uncovered = (struct run){ 0 };
	else
		run_add(&check->uncovered, offset);
	grow_marks(check);
}

/* ---- leaves of the database ---- */

static err_t leaf_at(struct partition_check *check, uint64_t index, struct merkle_hash *ret_leaf)
{
	const struct partition_check_options *options = &check->options;
	uint64_t tile = index / TILE_WIDTH;
	if (check->tile_count == 0 || check->tile_index != tile) {
		unsigned width = tile_width(0, tile, options->tiles_size);
		err_t err = options->tiles(options->tiles_context, 0, tile, width, check->tile);
		if (err == ERR_AUDIT_DAMAGED && !check->damaged) {
			check->damaged = true;
			differ(check, DIFFERENCE_TILE, -1, -1,
			       "tile %llu of level 0 is missing or too short: the leaves from %llu on cannot "
			       "be read%s%s",
			       (unsigned long long)tile, (unsigned long long)tile * TILE_WIDTH,
			       options->tiles_detail ? "; " : "",
			       options->tiles_detail ? options->tiles_detail->message : "");
		}
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

static uint64_t next_leaf(const struct partition_check *check)
{
	return check->tiles.range.size;
}

static bool are_leaves_left(const struct partition_check *check)
{
	return next_leaf(check) < check->options.tiles_size;
}

/* Goes on to the next leaf, which is not to be held against a record any more; whether it is one's. */
static bool pass_leaf(struct partition_check *check, const struct merkle_hash *leaf)
{
	const struct growth_mark *mark = mark_at(check, next_leaf(check));
	struct merkle_hash marked;
	if (mark) {
		leaf_mark_hash(&mark->mark, &marked);
		if (!merkle_hash_equal(&marked, leaf))
			differ(check, DIFFERENCE_MARK, mark->mark.from_offset, mark->mark.to_offset,
			       "the mark of leaf %llu in the database is not the one that is in the tree",
			       (unsigned long long)mark->index);
	}
	check->last_leaf = *leaf;
	grow(check, &check->tiles, leaf);
	return !mark;
}

/* Passes marks. */
static err_t pass_marks(struct partition_check *check)
{
	struct merkle_hash leaf;
	err_t err = ERR_OK;
	while (!err && are_leaves_left(check) && mark_at(check, next_leaf(check)) &&
	       !(err = leaf_at(check, next_leaf(check), &leaf)))
		pass_leaf(check, &leaf);
	return err;
}

/* Passes leaves up to that one, and says how many are of records. */
static err_t skip_leaves(struct partition_check *check, uint64_t to, uint64_t *ret_records)
{
	struct merkle_hash leaf;
	uint64_t records = 0;
	err_t err = ERR_OK;
	while (!err && next_leaf(check) < to)
		if (!(err = leaf_at(check, next_leaf(check), &leaf)))
			records += pass_leaf(check, &leaf);
	*ret_records = records;
	return err;
}

/* ---- finding leaves among records ---- */

/* The first records that are pending, by their leaves. */
struct lookup {
	uint32_t *slots; /* positions counted from 1; 0: free */
	size_t mask;
	const struct pending *items;
	size_t count;
};

static size_t slot_of(const struct lookup *lookup, const struct merkle_hash *leaf)
{
	uint32_t number;
	memcpy(&number, leaf->bytes, sizeof number);
	return number & lookup->mask;
}

static void *need(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);
	if (!memory)
		abort();
	return memory;
}

static struct lookup make_lookup(const struct partition_check *check)
{
	struct lookup lookup = { .items = &check->pending[check->head], .count = check->count - check->head };
	size_t slots = 64;
	if (lookup.count > check->window)
		lookup.count = check->window;
	while (slots < 4 * lookup.count)
		slots *= 2;
	lookup.mask = slots - 1;
	lookup.slots = need(slots, sizeof *lookup.slots);
	for (size_t i = 0; i < lookup.count; i++) {
		const struct merkle_hash *leaf = &lookup.items[i].leaf;
		size_t slot = slot_of(&lookup, leaf);
		while (lookup.slots[slot] &&
		       !merkle_hash_equal(&lookup.items[lookup.slots[slot] - 1].leaf, leaf))
			slot = (slot + 1) & lookup.mask;
		if (!lookup.slots[slot]) /* else the same record twice, of which the first counts */
			lookup.slots[slot] = (uint32_t)i + 1;
	}
	return lookup;
}

/* The position of the record with that leaf; `count`: there is none. */
static size_t find(const struct lookup *lookup, const struct merkle_hash *leaf)
{
	for (size_t slot = slot_of(lookup, leaf); lookup->slots[slot]; slot = (slot + 1) & lookup->mask) {
		size_t at = lookup->slots[slot] - 1;
		if (merkle_hash_equal(&lookup->items[at].leaf, leaf))
			return at;
	}
	return lookup->count;
}

static void lookup_end(struct lookup *lookup)
{
	free(lookup->slots);
}

/* Which leaves of a window have which records; −1: none. */
struct matches {
	int *record_of, *leaf_of;
	int leaves, records; /* how many there are */
};

static void matches_end(struct matches *matches)
{
	free(matches->record_of);
	free(matches->leaf_of);
}

static err_t match(struct partition_check *check, struct matches *matches)
{
	_cleanup_(lookup_end) struct lookup lookup = make_lookup(check);
	uint64_t left = check->options.tiles_size - next_leaf(check);
	struct merkle_hash leaf;
	matches->leaves = (int)(left < check->window ? left : check->window);
	matches->records = (int)lookup.count;
	matches->record_of = need((size_t)matches->leaves, sizeof *matches->record_of);
	matches->leaf_of = need(lookup.count, sizeof *matches->leaf_of);
	for (int i = 0; i < matches->records; i++)
		matches->leaf_of[i] = -1;
	for (int i = 0; i < matches->leaves; i++) {
		err_t err = leaf_at(check, next_leaf(check) + (uint64_t)i, &leaf);
		if (err)
			return err;
		size_t at = find(&lookup, &leaf);
		matches->record_of[i] = at == lookup.count ? -1 : (int)at;
		if (at < lookup.count)
			matches->leaf_of[at] = i;
	}
	return ERR_OK;
}

/*
 * Where leaves and records fit again: behind the first `*ret_leaves` leaves and `*ret_records` records, of
 * which none has its match behind that. False: nowhere. `*ret_crossed`: some of them match, in another order.
 */
static bool find_fit(const struct matches *matches, int *ret_leaves, int *ret_records, bool *ret_crossed)
{
	_cleanup_(cleanup_free) int *furthest = need((size_t)matches->records + 1, sizeof *furthest);
	int last_record = -1; /* of the leaves before */
	furthest[0] = -1;     /* the last leaf of the records before */
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

/* ---- differences ---- */

static int64_t offset_at(const struct partition_check *check, size_t position)
{
	size_t at = check->head + position;
	return at < check->count ? check->pending[at].offset : -1;
}

static void report_removed(struct partition_check *check, uint64_t leaves, int64_t next)
{
	int64_t before = check->previous;
	char behind[48] = "", until[48] = "";
	if (before >= 0)
		snprintf(behind, sizeof behind, " behind offset %lld", (long long)before);
	if (next >= 0)
		snprintf(until, sizeof until, "%s before offset %lld", before >= 0 ? " and" : "",
			 (long long)next);
	differ(check, DIFFERENCE_REMOVED, before + 1, next >= 0 ? next - 1 : -1,
	       "%llu logged records are missing%s%s", (unsigned long long)leaves, behind,
	       next >= 0 ? until : ", at the end");
}

/* `leaves` leaves of records have no record, and the first `records` pending ones no leaf; behind them both
 * fit again. */
static void report(struct partition_check *check, uint64_t leaves, size_t records, bool crossed)
{
	struct run run = { 0 };
	for (size_t i = 0; i < records; i++)
		run_add(&run, offset_at(check, i));
	const long long from = run.from, to = run.to;
	if (records == 0 && leaves == 0)
		return; /* a mark that is told by itself */
	if (records == 0)
		report_removed(check, leaves, offset_at(check, 0));
	else if (crossed)
		differ(check, DIFFERENCE_REORDERED, from, to,
		       "%zu records from offset %lld to %lld are in another order than the %llu that were "
		       "logged there",
		       records, from, to, (unsigned long long)leaves);
	else if (leaves == 0 && to <= check->previous)
		differ(check, DIFFERENCE_REORDERED, from, to,
		       "%zu records from offset %lld to %lld stand behind offset %lld, out of their order",
		       records, from, to, (long long)check->previous);
	else if (leaves == 0)
		differ(check, DIFFERENCE_INSERTED, from, to,
		       "%zu records from offset %lld to %lld were never logged", records, from, to);
	else if (leaves == records)
		differ(check, DIFFERENCE_CHANGED, from, to,
		       "%zu records from offset %lld to %lld are not those that were logged there", records,
		       from, to);
	else
		differ(check, DIFFERENCE_CHANGED, from, to,
		       "%zu records from offset %lld to %lld stand in the place of %llu logged ones", records,
		       from, to, (unsigned long long)leaves);
}

static void lose(struct partition_check *check)
{
	differ(check, DIFFERENCE_LOST, offset_at(check, 0), -1,
	       "from offset %lld on, records are not those that were logged", (long long)offset_at(check, 0));
	check->lost = true;
	check->head = check->count = 0;
}

/* Whether nothing lies beyond the window. */
static bool is_all(const struct partition_check *check)
{
	return check->ended && check->count - check->head <= check->window &&
	       check->options.tiles_size - next_leaf(check) <= check->window;
}

/* Looks further, once there is so much; false: that is all there is, or the most that is looked at. */
static bool widen(struct partition_check *check)
{
	if (is_all(check) || check->window >= PARTITION_CHECK_WINDOW_MAX)
		return false;
	check->window *= WIDER;
	return true;
}

/* Nothing fits as far as was looked: at the end that is all there is, else all that follows. */
static err_t give_up(struct partition_check *check, const struct matches *matches)
{
	uint64_t leaves;
	bool crossed = false;
	if (!is_all(check)) {
		lose(check);
		return ERR_OK;
	}
	for (int i = 0; i < matches->leaves; i++)
		crossed |= matches->record_of[i] >= 0;
	err_t err = skip_leaves(check, check->options.tiles_size, &leaves);
	if (!err)
		report(check, leaves, (size_t)matches->records, crossed);
	check->head = check->count;
	return err;
}

/* The next leaf is not that of the next record. */
static err_t resync(struct partition_check *check)
{
	_cleanup_(matches_end) struct matches matches = { 0 };
	int leaves = 0, records = 0;
	uint64_t logged;
	bool crossed = false;
	err_t err = match(check, &matches);
	if (err)
		return err;
	if (check->resyncs >= RESYNCS_MAX) {
		lose(check);
		return ERR_OK;
	}
	if (!find_fit(&matches, &leaves, &records, &crossed))
		return widen(check) ? ERR_OK : give_up(check, &matches);
	check->resyncs++;
	check->window = PARTITION_CHECK_WINDOW;
	err = skip_leaves(check, next_leaf(check) + (uint64_t)leaves, &logged);
	if (err)
		return err;
	report(check, logged, (size_t)records, crossed);
	check->head += (size_t)records;
	return ERR_OK;
}

/* ---- the first record ---- */

/* The first leaf from `*at` on that is that of a record; tiles_size: none is. */
static err_t find_first(struct partition_check *check, uint64_t *at, size_t *ret_record)
{
	_cleanup_(lookup_end) struct lookup lookup = make_lookup(check);
	struct merkle_hash leaf;
	for (; *at < check->options.tiles_size; (*at)++) {
		err_t err = leaf_at(check, *at, &leaf);
		if (err)
			return err;
		*ret_record = find(&lookup, &leaf);
		if (*ret_record < lookup.count)
			return ERR_OK;
	}
	return ERR_OK;
}

/* The first `records` records stand before the first one that has a leaf; of `passed` leaves before that
 * nobody knows whether their records are gone, or were replaced by those. */
static err_t judge_first(struct partition_check *check, uint64_t passed, size_t records)
{
	_cleanup_(matches_end) struct matches matches = { 0 };
	uint64_t replaced = passed < records ? passed : records;
	err_t err = records && are_leaves_left(check) ? match(check, &matches) : ERR_OK;
	check->result.gone += passed;
	for (size_t i = 0; !err && i < records && (int)i < matches.records; i++)
		if (matches.leaf_of[i] >= 0)
			return ERR_OK; /* only in another order: as any other difference */
	if (err || records == 0)
		return err;
	check->result.gone -= replaced;
	report(check, replaced, records, false);
	check->head += records;
	return ERR_OK;
}

/* Leaves are passed until one of them is that of a record: those before are of records that are gone. Where
 * none can be gone, the first leaf is the first record's. */
static err_t find_anchor(struct partition_check *check)
{
	uint64_t at = check->beginning_leaf, passed;
	size_t record = 0;
	err_t err = skip_leaves(check, at, &passed);
	if (err)
		return err;
	check->result.gone += passed;
	bool whole = check->options.low != PARTITION_CHECK_LOW_UNKNOWN &&
		     check->options.low <= check->beginning_offset;
	if (!whole)
		err = find_first(check, &at, &record);
	if (err)
		return err;
	if (at == check->options.tiles_size && !whole) { /* no record has a leaf */
		if (widen(check))
			return ERR_OK;
		if (!is_all(check)) {
			lose(check);
			return ERR_OK;
		}
		record = check->count - check->head;
	}
	check->anchored = true;
	check->window = PARTITION_CHECK_WINDOW;
	err = skip_leaves(check, at, &passed);
	return err || whole ? err : judge_first(check, passed, record);
}

/* ---- records ---- */

/* What the database says of where its checkpoints lie: the log had not come further than to the record of the
 * leaf behind one, and behind that of its last leaf. */
static void check_rows(struct partition_check *check, int64_t offset)
{
	const struct partition_check_options *options = &check->options;
	uint64_t index = next_leaf(check);
	for (; check->next_row < options->rows_count && options->rows[check->next_row].size <= index;
	     check->next_row++) {
		const struct partition_check_row *row = &options->rows[check->next_row];
		if (row->next_offset > offset)
			differ(check, DIFFERENCE_CHECKPOINT, -1, -1,
			       "the row of the checkpoint of size %llu says that the log had come to offset "
			       "%lld, and the record at offset %lld is behind it",
			       (unsigned long long)row->size, (long long)row->next_offset, (long long)offset);
	}
	if (check->next_row >= options->rows_count || options->rows[check->next_row].size != index + 1)
		return;
	const struct partition_check_row *row = &options->rows[check->next_row];
	if (row->next_offset <= offset)
		differ(check, DIFFERENCE_CHECKPOINT, -1, -1,
		       "the row of the checkpoint of size %llu says that the log had come to offset %lld, "
		       "and "
		       "the record at offset %lld is below it",
		       (unsigned long long)row->size, (long long)row->next_offset, (long long)offset);
}

/* The next record is that of the next leaf. */
static void fit(struct partition_check *check, const struct merkle_hash *leaf)
{
	struct partition_check_result *result = &check->result;
	int64_t offset = check->pending[check->head++].offset;
	if (result->first_offset < 0)
		result->first_offset = offset;
	check_rows(check, offset);
	check->previous = offset;
	check->previous_leaf = next_leaf(check);
	result->compared++;
	pass_leaf(check, leaf);
}

/* All leaves have been held against records: what else there is below the end of the log was not logged, or
 * stands in the wrong place. */
static void drain(struct partition_check *check)
{
	for (; check->head < check->count; check->head++) {
		int64_t offset = check->pending[check->head].offset;
		if (offset <= check->previous)
			differ(check, DIFFERENCE_REORDERED, offset, offset,
			       "the record at offset %lld stands behind that at offset %lld",
			       (long long)offset, (long long)check->previous);
		else
			run_add(&check->extra, offset);
	}
}

/* Holds records against leaves, keeping a window of them for what may differ. */
static err_t compare(struct partition_check *check)
{
	err_t err = ERR_OK;
	while (!err && !check->lost && check->count - check->head > (check->ended ? 0 : check->window)) {
		struct merkle_hash leaf;
		if (!check->anchored) {
			err = find_anchor(check);
			continue;
		}
		err = pass_marks(check);
		if (err)
			break;
		if (!are_leaves_left(check)) {
			drain(check);
			break;
		}
		err = leaf_at(check, next_leaf(check), &leaf);
		if (err)
			break;
		if (merkle_hash_equal(&leaf, &check->pending[check->head].leaf))
			fit(check, &leaf);
		else
			err = resync(check);
	}
	if (check->head > 4 * (size_t)PARTITION_CHECK_WINDOW ||
	    (check->head > 0 && check->head == check->count)) {
		memmove(check->pending, check->pending + check->head,
			(check->count - check->head) * sizeof *check->pending);
		check->count -= check->head;
		check->head = 0;
	}
	err = err ? err : check->upper_err;
	return err == ERR_AUDIT_DAMAGED && check->damaged ? ERR_OK : err;
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

/* A record that the log has not come to. */
static void hold(struct partition_check *check, int64_t offset)
{
	if (check->held.count && offset <= check->held.to)
		differ(check, DIFFERENCE_REORDERED, offset, offset,
		       "the record at offset %lld stands behind that at offset %lld", (long long)offset,
		       (long long)check->held.to);
	else
		run_add(&check->held, offset);
}

/* A logged one follows: those were not at the end. */
static void judge_held(struct partition_check *check, int64_t offset)
{
	if (check->held.count)
		differ(check, DIFFERENCE_INSERTED, check->held.from, check->held.to,
		       "%llu records from offset %lld to %lld stand before offset %lld and were never "
		       "logged: "
		       "the log has come to offset %lld",
		       (unsigned long long)check->held.count, (long long)check->held.from,
		       (long long)check->held.to, (long long)offset, (long long)check->log_end);
	check->held = (struct run){ 0 };
}

err_t partition_check_add(struct partition_check *check, int64_t offset, str_t key, str_t value)
{
	struct merkle_hash leaf;
	leaf_hash(offset, key, value, &leaf);
	check->result.records++;
	if (offset <= check->last_seen && !check->options.tiles)
		differ(check, DIFFERENCE_REORDERED, offset, offset,
		       "the record at offset %lld stands behind that at offset %lld", (long long)offset,
		       (long long)check->last_seen);
	check->last_seen = offset;
	grow_record(check, offset, &leaf);
	if (!check->options.tiles)
		return ERR_OK;
	if (offset >= check->log_end) {
		hold(check, offset);
		return ERR_OK;
	}
	judge_held(check, offset);
	if (check->lost || check->damaged)
		return ERR_OK;
	push(check, offset, &leaf);
	return check->count - check->head > 2 * check->window ? compare(check) : ERR_OK;
}

/* ---- the end ---- */

/* The rest of the leaves, whose records are not there. */
static err_t end_tiles(struct partition_check *check)
{
	const struct partition_check_options *options = &check->options;
	uint64_t missing;
	err_t err = skip_leaves(check, options->tiles_size, &missing);
	if (err || check->lost)
		return err;
	if (check->extra.count)
		differ(check, DIFFERENCE_INSERTED, check->extra.from, check->extra.to,
		       "%llu records from offset %lld to %lld were never logged",
		       (unsigned long long)check->extra.count, (long long)check->extra.from,
		       (long long)check->extra.to);
	if (missing == 0)
		return ERR_OK;
	int64_t last = options->position ? options->position->last_offset : GROWTH_OFFSET_NONE;
	bool may_be_gone = options->low == PARTITION_CHECK_LOW_UNKNOWN ||
			   options->low >= (last == GROWTH_OFFSET_NONE ? check->log_end : last + 1);
	if (!check->anchored && may_be_gone)
		check->result.gone += missing;
	else
		report_removed(check, missing, check->held.count ? check->held.from : -1);
	return ERR_OK;
}

/* What the database's row says of the end of its log. */
static void judge_position(struct partition_check *check)
{
	const struct growth_position *position = check->options.position;
	const struct grower *tiles = &check->tiles;
	struct merkle_hash said, grown;
	uint64_t size = check->options.tiles_size;
	if (!position || tiles->failed)
		return;
	merkle_range_root(&position->range, &said);
	merkle_range_root(&tiles->range, &grown);
	if (!merkle_hash_equal(&said, &grown))
		differ(check, DIFFERENCE_LOG, -1, -1,
		       "the state in the row of the log is not that of its %llu leaves",
		       (unsigned long long)size);
	bool has_last = size > 0 && !mark_at(check, size - 1);
	if (has_last != (position->last_offset != GROWTH_OFFSET_NONE) ||
	    (has_last && !merkle_hash_equal(&position->last_leaf, &check->last_leaf)))
		differ(check, DIFFERENCE_LOG, -1, -1,
		       "the last leaf in the row of the log is not that of its tiles");
	else if (has_last && check->previous >= 0 && check->previous_leaf == size - 1 &&
		 check->previous != position->last_offset)
		differ(check, DIFFERENCE_LOG, check->previous, position->last_offset,
		       "the last offset in the row of the log is %lld, and that record is at offset %lld",
		       (long long)position->last_offset, (long long)check->previous);
}

static void judge_tiles(struct partition_check *check)
{
	const struct grower *tiles = &check->tiles;
	const struct partition_check_options *options = &check->options;
	const struct log_claims *claims = options->claims;
	if (tiles->failed)
		differ(check, DIFFERENCE_DATABASE, -1, -1,
		       "the leaves of the database between %llu and %llu are not those that were signed",
		       (unsigned long long)tiles->before_size, (unsigned long long)tiles->failed_size);
	if (claims->count && claims->items[claims->count - 1].size > options->tiles_size)
		differ(check, DIFFERENCE_DATABASE, -1, -1,
		       "the database's log has %llu leaves, and a checkpoint claims %llu: it was set back",
		       (unsigned long long)options->tiles_size,
		       (unsigned long long)claims->items[claims->count - 1].size);
	if (options->marks_count && options->marks[options->marks_count - 1].index >= options->tiles_size)
		differ(check, DIFFERENCE_MARK, -1, -1, "there is a mark of leaf %llu, and there are %llu",
		       (unsigned long long)options->marks[options->marks_count - 1].index,
		       (unsigned long long)options->tiles_size);
}

/* Without leaves to hold records against, roots tell where a difference lies. */
static void judge_records(struct partition_check *check)
{
	const struct grower *records = &check->records;
	const struct log_claims *claims = check->options.claims;
	uint64_t last = claims->count ? claims->items[claims->count - 1].size : 0;
	bool differs = records->failed || last > records->range.size;
	if (differs && check->options.low > 0 && records->fitting == 0)
		differ(check, DIFFERENCE_ROOT, -1, -1,
		       "records before offset %lld are gone: without the leaves of the database nothing can "
		       "be verified",
		       (long long)check->options.low);
	else if (records->failed)
		differ(check, DIFFERENCE_ROOT, check->before_offset + 1, check->failed_offset,
		       "a record from offset %lld to %lld was changed, removed or inserted: leaves up to "
		       "%llu fit, those up to %llu do not",
		       (long long)check->before_offset + 1, (long long)check->failed_offset,
		       (unsigned long long)records->before_size, (unsigned long long)records->failed_size);
	else if (differs)
		differ(check, DIFFERENCE_REMOVED, check->last_seen + 1, -1,
		       "%llu logged records are missing: a checkpoint claims %llu leaves, and there are %llu",
		       (unsigned long long)(last - records->range.size), (unsigned long long)last,
		       (unsigned long long)records->range.size);
}

/* What was shown of which records. */
static void count(struct partition_check *check)
{
	struct partition_check_result *result = &check->result;
	bool by_tiles = check->options.tiles && !check->damaged;
	const struct grower *grower = by_tiles ? &check->tiles : &check->records;
	const struct run *rest = check->options.tiles ? &check->held : &check->uncovered;
	result->claims_count = check->options.claims->count;
	result->claims_fitting = grower->fitting;
	result->verified_size = grower->fitting_size;
	result->covered = grower->covered;
	result->logged = by_tiles ? result->compared - grower->covered : 0;
	result->unlogged = rest->count;
	result->unlogged_from = rest->count ? rest->from : -1;
	result->unlogged_to = rest->count ? rest->to : -1;
}

err_t partition_check_finish(struct partition_check *check, struct partition_check_result *ret_result)
{
	const struct log_claims *claims = check->options.claims;
	err_t err = ERR_OK;
	check->ended = true;
	if (check->by_records)
		grow_marks(check);
	if (check->options.tiles && !check->damaged)
		err = compare(check);
	if (!err && check->options.tiles && !check->damaged)
		err = end_tiles(check);
	err = err ? err : check->upper_err;
	if (err && !(err == ERR_AUDIT_DAMAGED && check->damaged))
		return err;
	if (claims->forked)
		differ(check, DIFFERENCE_FORK, -1, -1,
		       "two checkpoints of size %llu have different roots: the key has signed two histories",
		       (unsigned long long)claims->forked_size);
	check->result.whole = claims->count > 0 && check->by_records && !check->records.failed &&
			      check->records.fitting_size == claims->items[claims->count - 1].size;
	if (check->options.tiles)
		judge_tiles(check);
	if (check->options.tiles && !check->damaged)
		judge_position(check);
	if (check->by_records && (!check->options.tiles || check->damaged))
		judge_records(check);
	count(check);
	*ret_result = check->result;
	return ERR_OK;
}
