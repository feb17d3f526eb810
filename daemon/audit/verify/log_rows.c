#include "audit/verify/log_rows.h"

void log_rows_free(struct log_rows *rows)
{
	free(rows->items);
	*rows = (struct log_rows){ .items = NULL };
}

static void append(struct log_rows *rows, const struct partition_check_row *row)
{
	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity ? 2 * rows->capacity : 64;
		rows->items = reallocarray(rows->items, rows->capacity, sizeof *rows->items);
		if (!rows->items)
			abort();
	}
	rows->items[rows->count++] = *row;
}

/* The state that the row has is that of the tree whose root was signed. */
static bool is_state(const struct log_rows_checkpoint *row, const struct log_claim *claim)
{
	struct merkle_range range;
	struct merkle_hash root;
	if (!str_present(row->state) || merkle_range_decode(row->state, &range) != ERR_OK ||
	    range.size != claim->size)
		return false;
	merkle_range_root(&range, &root);
	return merkle_hash_equal(&root, &claim->root);
}

void log_rows_add(struct log_rows *rows, const struct log_rows_checkpoint *row, const struct log_claim *claim,
		  struct differences *differences)
{
	const struct partition_check_row added = { claim->size, row->next_offset };
	if (row->size < 0 || (uint64_t)row->size != claim->size) {
		differences_add(differences, DIFFERENCE_CHECKPOINT, -1, -1,
				"the row of the checkpoint of size %lld has the note of one of size %llu",
				(long long)row->size, (unsigned long long)claim->size);
		return;
	}
	if (!is_state(row, claim))
		differences_add(differences, DIFFERENCE_CHECKPOINT, -1, -1,
				"the state in the row of the checkpoint of size %lld is not that of its note",
				(long long)row->size);
	append(rows, &added);
}

/* Whether the log began again between those sizes. */
static bool began_again(const struct growth_mark *marks, size_t count, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < count; i++)
		if (marks[i].mark.kind == LEAF_MARK_BEGINS_AGAIN && marks[i].index >= from &&
		    marks[i].index < to)
			return true;
	return false;
}

void log_rows_judge_order(const struct log_rows *rows, const struct growth_mark *marks, size_t count,
			  struct differences *differences)
{
	for (size_t i = 1; i < rows->count; i++) {
		const struct partition_check_row *before = &rows->items[i - 1], *row = &rows->items[i];
		if (row->next_offset < before->next_offset &&
		    !began_again(marks, count, before->size, row->size))
			differences_add(differences, DIFFERENCE_CHECKPOINT, -1, -1,
					"the rows of the checkpoints of sizes %llu and %llu say that the log "
					"had come to offset %lld, and then to %lld",
					(unsigned long long)before->size, (unsigned long long)row->size,
					(long long)before->next_offset, (long long)row->next_offset);
	}
}

/* ---- the log ---- */

static bool is_origin(str_t origin, const struct log_claims_reader *reader, int32_t partition)
{
	for (size_t i = 0; i < reader->keys_count; i++) {
		_cleanup_(buf_free) struct buf expected = BUF_INIT;
		if (checkpoint_origin(str_from(reader->keys[i].name), str_from(reader->topic), partition,
				      &expected) == ERR_OK &&
		    str_equal(buf_str(&expected), origin))
			return true;
	}
	return false;
}

/* It has not come further than the newest checkpoint says, where that is one of the whole. */
static void judge_end(const struct log_rows *rows, const struct log_rows_log *log,
		      struct differences *differences)
{
	const struct partition_check_row *newest = rows->count ? &rows->items[rows->count - 1] : NULL;
	if (log->last_offset >= log->next_offset)
		differences_add(
			differences, DIFFERENCE_LOG, -1, -1,
			"the row of the log says that it has come to offset %lld, and its last record "
			"is at %lld",
			(long long)log->next_offset, (long long)log->last_offset);
	if (newest && log->size >= 0 && newest->size == (uint64_t)log->size &&
	    newest->next_offset > log->next_offset)
		differences_add(differences, DIFFERENCE_LOG, -1, -1,
				"the row of the log says that it has come to offset %lld, and the row of its "
				"checkpoint of size %llu to %lld",
				(long long)log->next_offset, (unsigned long long)newest->size,
				(long long)newest->next_offset);
}

bool log_rows_judge_log(const struct log_rows *rows, const struct log_rows_log *log,
			const struct log_claims_reader *reader, int32_t partition,
			struct differences *differences, struct growth_position *ret_position)
{
	struct growth_position position = GROWTH_START;
	if (!is_origin(log->origin, reader, partition))
		differences_add(differences, DIFFERENCE_LOG, -1, -1,
				"the row of the log has the origin \"%.*s\", which is that of no trusted key "
				"and this partition",
				(int)(log->origin.len < 100 ? log->origin.len : 100),
				log->origin.len ? log->origin.ptr : "");
	judge_end(rows, log, differences);
	if (!str_present(log->state) || merkle_range_decode(log->state, &position.range) != ERR_OK ||
	    log->size < 0 || position.range.size != (uint64_t)log->size) {
		differences_add(differences, DIFFERENCE_LOG, -1, -1,
				"the state in the row of the log is damaged, or not that of its size, %lld",
				(long long)log->size);
		return false;
	}
	position.next_offset = log->next_offset;
	if (str_present(log->last_leaf) && log->last_leaf.len == sizeof position.last_leaf.bytes) {
		position.last_offset = log->last_offset;
		memcpy(position.last_leaf.bytes, log->last_leaf.ptr, sizeof position.last_leaf.bytes);
	}
	*ret_position = position;
	return true;
}

/* ---- places ---- */

/* Checkpoints that are missing at a place, by their sizes. */
struct missing {
	uint64_t count, from, to;
};

static void add_missing(struct missing *missing, uint64_t size)
{
	if (missing->count++ == 0)
		missing->from = size;
	missing->to = size;
}

/* The least and the largest size of what is at any of these places. */
static bool bounds_of(const struct log_claims *claims, unsigned places, uint64_t *ret_least,
		      uint64_t *ret_largest)
{
	bool found = false;
	for (size_t i = 0; i < claims->count; i++) {
		if (!(claims->items[i].places & places))
			continue;
		if (!found)
			*ret_least = claims->items[i].size;
		*ret_largest = claims->items[i].size;
		found = true;
	}
	return found;
}

static void judge_database(const struct log_claims *claims, struct differences *differences,
			   struct log_rows_spare *spare)
{
	struct missing missing = { 0 };
	uint64_t least = 0, largest;
	bool has_some = bounds_of(claims, LOG_CLAIMS_DATABASE, &least, &largest);
	for (size_t i = 0; i < claims->count; i++) {
		const struct log_claim *claim = &claims->items[i];
		if (claim->places & LOG_CLAIMS_DATABASE)
			continue;
		if (has_some && claim->size < least)
			spare->older++;
		else
			add_missing(&missing, claim->size);
	}
	if (missing.count)
		differences_add(differences, DIFFERENCE_CHECKPOINT, -1, -1,
				"%llu checkpoints, of sizes %llu to %llu, are not in the database, which had "
				"them before anybody else",
				(unsigned long long)missing.count, (unsigned long long)missing.from,
				(unsigned long long)missing.to);
}

static void judge_file(const struct log_claims *claims, bool copy, struct differences *differences,
		       struct log_rows_spare *spare)
{
	struct missing missing = { 0 };
	uint64_t least, largest = 0;
	bool has_some = bounds_of(claims, LOG_CLAIMS_FILE, &least, &largest);
	for (size_t i = 0; i < claims->count; i++) {
		const struct log_claim *claim = &claims->items[i];
		if (!(claim->places & LOG_CLAIMS_SAID_FILE) || claim->places & LOG_CLAIMS_FILE)
			continue;
		if (copy && has_some && claim->size > largest)
			spare->newer++;
		else
			add_missing(&missing, claim->size);
	}
	if (missing.count)
		differences_add(differences, DIFFERENCE_FILE, -1, -1,
				"%llu checkpoints, of sizes %llu to %llu, are not in the file, where the "
				"database says that they are; --checkpoints takes files of all instances and "
				"those that were put away",
				(unsigned long long)missing.count, (unsigned long long)missing.from,
				(unsigned long long)missing.to);
}

/* Of a compacted topic only the newest one stays. */
static void judge_topic(const struct log_claims *claims, struct differences *differences)
{
	uint64_t least, said = 0, largest = 0;
	if (!bounds_of(claims, LOG_CLAIMS_SAID_TOPIC, &least, &said))
		return;
	bool has_some = bounds_of(claims, LOG_CLAIMS_TOPIC, &least, &largest);
	if (!has_some)
		differences_add(
			differences, DIFFERENCE_TOPIC, -1, -1,
			"the topic of checkpoints has none of this log, and the database says that it "
			"has that of size %llu",
			(unsigned long long)said);
	else if (largest < said)
		differences_add(
			differences, DIFFERENCE_TOPIC, -1, -1,
			"the newest checkpoint in the topic has size %llu, and the database says that "
			"it has that of size %llu",
			(unsigned long long)largest, (unsigned long long)said);
}

void log_rows_judge_places(const struct log_claims *claims, const struct log_rows_elsewhere *elsewhere,
			   struct differences *differences, struct log_rows_spare *ret_spare)
{
	*ret_spare = (struct log_rows_spare){ 0 };
	judge_database(claims, differences, ret_spare);
	if (elsewhere->file)
		judge_file(claims, elsewhere->copy, differences, ret_spare);
	if (elsewhere->topic)
		judge_topic(claims, differences);
}
