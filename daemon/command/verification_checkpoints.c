#include "audit/publish/checkpoint_reader.h"
#include "audit/verify/claims_batch.h"
#include "command/verification.h"

enum { PAGE = 1000, DOUBTFUL_MAX = 100, DOUBTFUL_BYTES = 4096, WIDE_MAX = 5 };

static void count_bad(struct verification_part *part, const char *place, const char *reason)
{
	if (part->bad++ == 0)
		snprintf(part->first_bad, sizeof part->first_bad, "in the %s: %s", place, reason);
}

/* One of a partition, or of nobody's. */
static void take_claim(struct verification *verification, int32_t partition, const struct log_claim *claim,
		       enum log_claims_place place)
{
	struct verification_part *part = partition < 0 ? NULL : verification_part_of(verification, partition);
	if (!part) {
		verification->others++;
		return;
	}
	struct log_claim placed = *claim;
	placed.places = (unsigned)place;
	log_claims_add(&part->claims, &placed);
}

/* ---- files ---- */

/* What is no note that verifies, and may be the beginning of one: an append that was interrupted, behind
 * which the same note was appended again. */
struct doubtful {
	str_t text;	   /* without newlines at its end; in the arena */
	int32_t partition; /* whose note it says that it is; negative: nobody's */
	bool is_torn;	   /* by its form, and there is nothing behind it */
	bool settled;
	char reason[256];
};

struct verification_files {
	struct verification *verification;
	struct log_claims_reader reader;
	struct claims_batch *batch;
	struct doubtful doubtful[DOUBTFUL_MAX];
	size_t doubtful_count;
	uint64_t garbage;
	char first_garbage[256];
};

static void files_free(struct verification_files **files)
{
	claims_batch_free((*files)->batch);
	free(*files);
}

/* What is not the beginning of another note. */
static void refuse(struct verification_files *files, const struct doubtful *found)
{
	struct verification_part *part =
		found->partition < 0 ? NULL : verification_part_of(files->verification, found->partition);
	if (part)
		count_bad(part, "file", found->reason);
	else if (files->garbage++ == 0)
		snprintf(files->first_garbage, sizeof files->first_garbage, "%s", found->reason);
}

static void doubt(struct verification_files *files, str_t text, struct doubtful found)
{
	while (text.len > 0 && text.ptr[text.len - 1] == '\n')
		text.len--;
	if (files->doubtful_count == DOUBTFUL_MAX || text.len > DOUBTFUL_BYTES) {
		refuse(files, &found);
		return;
	}
	found.text = arena_str(files->verification->arena, text);
	files->doubtful[files->doubtful_count++] = found;
}

/* Here is a whole note: doubtful ones may have been its beginning. */
static void settle(struct verification_files *files, str_t note)
{
	for (size_t i = 0; i < files->doubtful_count; i++) {
		struct doubtful *found = &files->doubtful[i];
		if (!found->settled && found->text.len < note.len &&
		    memcmp(found->text.ptr, note.ptr, found->text.len) == 0) {
			found->settled = true;
			files->verification->torn++;
		}
	}
}

/* The tag says whether there is something behind it. */
static void take_file_note(void *context, const struct claims_batch_note *note)
{
	struct verification_files *files = context;
	if (!note->err) {
		settle(files, note->text);
		take_claim(files->verification, note->partition, &note->claim, LOG_CLAIMS_FILE);
		return;
	}
	struct doubtful found = { .partition = note->partition,
				  .is_torn = note->tag && note->text.ptr[note->text.len - 1] != '\n' };
	snprintf(found.reason, sizeof found.reason, "%s", err_message(note->err, &note->detail));
	doubt(files, note->text, found);
}

static void take_fragment(struct verification_files *files, const char *path,
			  const struct checkpoint_reader_item *item)
{
	struct doubtful found = { .partition = -1,
				  .is_torn =
					  item->is_last && log_claims_may_begin(&files->reader, item->text) };
	snprintf(found.reason, sizeof found.reason, "%s, byte %llu", path, (unsigned long long)item->at);
	doubt(files, item->text, found);
}

static err_t read_file(struct verification_files *files, const char *path)
{
	_cleanup_(checkpoint_reader_cleanup) struct checkpoint_reader *reader = NULL;
	struct err_detail *detail = files->verification->detail;
	struct checkpoint_reader_item item = { .is_last = false };
	err_t err = checkpoint_reader_open(path, &reader, detail);
	while (!err && !(err = checkpoint_reader_next(reader, &item, detail)) &&
	       item.kind != CHECKPOINT_READER_END) {
		if (item.kind == CHECKPOINT_READER_NOTE)
			claims_batch_add(files->batch, item.text, item.is_last);
		else
			take_fragment(files, path, &item);
	}
	if (!err)
		claims_batch_end(files->batch);
	return err;
}

static err_t read_files(struct verification *verification, const char *const *paths, size_t count)
{
	_cleanup_(files_free) struct verification_files *files = calloc(1, sizeof *files);
	err_t err = ERR_OK;
	if (!files)
		abort();
	files->verification = verification;
	files->reader = (struct log_claims_reader){ verification->keys, verification->keys_count,
						    verification->topic };
	files->batch = claims_batch_new(&files->reader, take_file_note, files);
	for (size_t i = 0; !err && i < count; i++)
		err = read_file(files, paths[i]);
	if (err)
		return err;
	for (size_t i = 0; i < files->doubtful_count; i++)
		if (!files->doubtful[i].settled && files->doubtful[i].is_torn)
			verification->torn++;
		else if (!files->doubtful[i].settled)
			refuse(files, &files->doubtful[i]);
	if (files->garbage)
		differences_add(&verification->differences, DIFFERENCE_FILE, -1, -1,
				"%llu parts of the file of checkpoints are neither that nor the beginning of "
				"one; the first: %s",
				(unsigned long long)files->garbage, files->first_garbage);
	return ERR_OK;
}

/* ---- the topic ---- */

struct topic_notes {
	struct verification *verification;
	struct log_claims_reader reader;
	struct claims_batch *batch;
};

/* The tag is the partition that the key says, counted from 1; 0: none. */
static void take_topic_note(void *context, const struct claims_batch_note *note)
{
	struct topic_notes *notes = context;
	int32_t keyed = (int32_t)note->tag - 1, partition = keyed >= 0 ? keyed : note->partition;
	struct verification_part *part =
		partition < 0 ? NULL : verification_part_of(notes->verification, partition);
	if (note->err && part)
		count_bad(part, "topic", err_message(note->err, &note->detail));
	else if (note->err)
		differences_add(&notes->verification->differences, DIFFERENCE_TOPIC, -1, -1,
				"a message of the topic of checkpoints was damaged: %s",
				err_message(note->err, &note->detail));
	else if (part && note->partition != partition)
		differences_add(
			&part->differences, DIFFERENCE_TOPIC, -1, -1,
			"the topic of checkpoints has a message with the key of this log that is none "
			"of its checkpoints");
	else
		take_claim(notes->verification, note->partition, &note->claim, LOG_CLAIMS_TOPIC);
}

static err_t take_message(size_t span, const rd_kafka_message_t *message, void *context,
			  struct err_detail *detail)
{
	struct topic_notes *notes = context;
	int32_t keyed =
		message->key ? log_claims_partition(&notes->reader, (str_t){ message->key, message->key_len })
			     : -1;
	struct verification_part *part = keyed < 0 ? NULL : verification_part_of(notes->verification, keyed);
	(void)span;
	(void)detail;
	if (message->payload)
		claims_batch_add(notes->batch, (str_t){ message->payload, message->len },
				 part ? (unsigned)keyed + 1 : 0);
	else if (part)
		differences_add(
			&part->differences, DIFFERENCE_TOPIC, -1, -1,
			"the topic of checkpoints has a message without content at offset %lld, which "
			"deletes the checkpoints of this log",
			(long long)message->offset);
	return ERR_OK;
}

static err_t read_topic(struct verification *verification, const char *topic)
{
	struct topic_notes notes = { .verification = verification,
				     .reader = { verification->keys, verification->keys_count,
						 verification->topic } };
	struct topic_span *spans;
	size_t count;
	err_t err = topic_reader_spans(verification->reader, topic, 0, verification->arena, &spans, &count,
				       verification->detail);
	for (size_t i = 0; !err && i < count; i++) { /* whatever its messages say of their times */
		int64_t high;
		err = topic_reader_bounds(verification->reader, topic, spans[i].partition, &spans[i].from,
					  &high, verification->detail);
	}
	if (err)
		return err;
	_cleanup_(claims_batch_cleanup) struct claims_batch *batch =
		claims_batch_new(&notes.reader, take_topic_note, &notes);
	notes.batch = batch;
	err = topic_reader_read(verification->reader, spans, count, take_message, &notes,
				verification->detail);
	if (!err)
		claims_batch_end(batch);
	return err;
}

/* ---- the database ---- */

/* Rows of checkpoints, and what their notes are. */
struct stored {
	struct verification *verification;
	struct claims_batch *batch;
	struct log_claims added; /* that were found nowhere else */
	struct claims_batch_note outcomes[PAGE];
};

static void stored_free(struct stored **stored)
{
	claims_batch_free((*stored)->batch);
	log_claims_free(&(*stored)->added);
	free(*stored);
}

/* The tag is the row. */
static void take_stored_note(void *context, const struct claims_batch_note *note)
{
	struct stored *stored = context;
	stored->outcomes[note->tag] = *note;
}

static void take_row(struct stored *stored, struct verification_part *part,
		     const struct audit_snapshot_checkpoint *row, struct log_claim *known,
		     const struct claims_batch_note *outcome)
{
	const unsigned places = LOG_CLAIMS_DATABASE | (row->in_topic ? LOG_CLAIMS_SAID_TOPIC : 0u) |
				(row->in_file ? LOG_CLAIMS_SAID_FILE : 0u);
	const struct log_rows_checkpoint stated = { row->size, row->next_offset, row->state };
	struct log_claim claim;
	if (known) {
		known->places |= places;
		claim = *known;
	} else if (outcome->err) {
		count_bad(part, "database", err_message(outcome->err, &outcome->detail));
		return;
	} else if (outcome->partition != part->partition) {
		differences_add(&part->differences, DIFFERENCE_CHECKPOINT, -1, -1,
				"the row of the checkpoint of size %lld has a note that is not of this log",
				(long long)row->size);
		return;
	} else {
		claim = outcome->claim;
		claim.places = places;
		log_claims_add(&stored->added, &claim);
	}
	log_rows_add(&part->rows, &stated, &claim, &part->differences);
}

/* A note that was found elsewhere has been verified already. */
static void take_page(struct stored *stored, struct verification_part *part,
		      const struct audit_snapshot_checkpoint *rows, size_t count)
{
	struct log_claim *known[PAGE];
	for (size_t i = 0; i < count; i++) {
		str_t note = str_present(rows[i].note) ? rows[i].note : STR("");
		known[i] = rows[i].size < 0 ? NULL
					    : log_claims_find(&part->claims, (uint64_t)rows[i].size,
							      log_claims_digest(note));
		if (!known[i])
			claims_batch_add(stored->batch, note, (unsigned)i);
	}
	claims_batch_end(stored->batch);
	for (size_t i = 0; i < count; i++)
		take_row(stored, part, &rows[i], known[i], &stored->outcomes[i]);
}

static err_t read_stored(struct stored *stored, struct verification_part *part, const char *time)
{
	struct verification *verification = stored->verification;
	const struct audit_store_log log = { verification->topic, part->partition };
	int64_t above = INT64_MIN;
	for (size_t count = PAGE; count == PAGE;) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct audit_snapshot_checkpoint *rows;
		err_t err = audit_snapshot_checkpoints(verification->store, &log, above, time, PAGE, arena,
						       &rows, &count, verification->detail);
		if (err)
			return err;
		take_page(stored, part, rows, count);
		above = count ? rows[count - 1].size : above;
	}
	for (size_t i = 0; i < stored->added.count; i++)
		log_claims_add(&part->claims, &stored->added.items[i]);
	stored->added.count = 0;
	return ERR_OK;
}

static err_t read_marks(struct verification *verification, struct verification_part *part)
{
	const struct audit_store_log log = { verification->topic, part->partition };
	err_t err = audit_store_marks(verification->store, &log, verification->arena, &part->marks,
				      &part->marks_count, verification->detail);
	if (err == ERR_AUDIT_DAMAGED) {
		differences_add(&part->differences, DIFFERENCE_MARK, -1, -1, "%s",
				verification->detail->message);
		err = ERR_OK;
	}
	if (!err)
		log_rows_judge_order(&part->rows, part->marks, part->marks_count, &part->differences);
	return err;
}

static err_t read_wide_tiles(struct verification *verification, struct verification_part *part)
{
	const struct audit_store_log log = { verification->topic, part->partition };
	struct audit_snapshot_tile *tiles;
	size_t count = 0;
	err_t err = audit_snapshot_wide_tiles(verification->store, &log, WIDE_MAX, verification->arena,
					      &tiles, &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++)
		differences_add(&part->differences, DIFFERENCE_TILE, -1, -1,
				"tile %llu of level %u has %u hashes, and the tree has %u there",
				(unsigned long long)tiles[i].index, tiles[i].level, tiles[i].width,
				tiles[i].wanted);
	return err;
}

static err_t read_log(struct stored *stored, const struct audit_snapshot_log *row, const char *time)
{
	struct verification *verification = stored->verification;
	struct verification_part *part = verification_part_of(verification, row->partition);
	const struct log_claims_reader reader = { verification->keys, verification->keys_count,
						  verification->topic };
	const struct log_rows_log stated = { row->origin,      row->state,	 row->size,
					     row->next_offset, row->last_offset, row->last_leaf };
	if (!part)
		return ERR_OK;
	part->has_row = part->in_database = true;
	err_t err = read_stored(stored, part, time);
	if (!err)
		err = read_marks(verification, part);
	if (!err)
		err = read_wide_tiles(verification, part);
	if (err)
		return err;
	part->stopped = row->stopped;
	if (str_present(row->stopped))
		differences_add(&part->differences, DIFFERENCE_STOPPED, -1, -1,
				"the log was stopped, and nothing is added to it: %.*s",
				(int)row->stopped.len, row->stopped.ptr);
	part->knows_position = log_rows_judge_log(&part->rows, &stated, &reader, row->partition,
						  &part->differences, &part->position);
	if (row->size < 0 || (uint64_t)row->size > MERKLE_SIZE_MAX)
		return ERR_OK;
	part->has_tiles = true;
	part->tiles_size = (uint64_t)row->size;
	part->next_offset = row->next_offset;
	part->tiles = (struct audit_store_tiles){ verification->store,
						  { verification->topic, row->partition },
						  &part->tiles_detail };
	return ERR_OK;
}

/* Partitions whose log has no row, and of which there is something else. */
static err_t read_others(struct stored *stored, const char *time)
{
	struct verification *verification = stored->verification;
	int32_t *partitions;
	size_t count = 0;
	err_t err = audit_snapshot_partitions(verification->store, verification->topic, verification->arena,
					      &partitions, &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++) {
		struct verification_part *part = verification_part_of(verification, partitions[i]);
		if (!part || part->has_row)
			continue;
		differences_add(&part->differences, DIFFERENCE_LOG, -1, -1,
				"the database has tiles, checkpoints or marks of this log, and no row of the "
				"log itself");
		part->in_database = true;
		err = read_stored(stored, part, time);
	}
	for (size_t i = 0; !err && i < verification->parts_count; i++) {
		struct verification_part *part = verification->parts[i];
		if (!part->in_database && part->claims.count > 0)
			differences_add(&part->differences, DIFFERENCE_LOG, -1, -1,
					"the database has nothing of this log, and elsewhere there are "
					"checkpoints of it");
	}
	return err;
}

static err_t read_database(struct verification *verification, const char *time)
{
	const struct log_claims_reader reader = { verification->keys, verification->keys_count,
						  verification->topic };
	_cleanup_(stored_free) struct stored *stored = calloc(1, sizeof *stored);
	struct audit_snapshot_log *logs;
	size_t count = 0;
	if (!stored)
		abort();
	stored->verification = verification;
	stored->batch = claims_batch_new(&reader, take_stored_note, stored);
	err_t err = audit_snapshot_begin(verification->store, verification->detail);
	if (!err)
		err = audit_snapshot_logs(verification->store, verification->topic, verification->arena,
					  &logs, &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++)
		err = read_log(stored, &logs[i], time);
	if (!err)
		err = read_others(stored, time);
	return err ? err : audit_snapshot_end(verification->store, verification->detail);
}

/* ---- all ---- */

static void sort_claims(struct verification *verification)
{
	for (size_t i = 0; i < verification->parts_count; i++)
		log_claims_sort(&verification->parts[i]->claims);
}

/* The files, and whether they are those that the daemon appends to now. */
static err_t read_elsewhere(struct verification *verification, struct log_rows_elsewhere *ret_elsewhere)
{
	const struct audit_verify_options *options = verification->options;
	const struct config_audit *audit = verification->config ? &verification->config->audit : NULL;
	const char *own = audit ? audit->checkpoint_file : NULL;
	struct log_rows_elsewhere elsewhere = { .copy = options->checkpoints_count > 0 };
	err_t err = ERR_OK;
	elsewhere.file = elsewhere.copy || own;
	if (elsewhere.copy)
		err = read_files(verification, options->checkpoints, options->checkpoints_count);
	else if (own && access(own, F_OK) == 0)
		err = read_files(verification, &own, 1);
	if (!err && verification->reader && audit->checkpoint_topic) {
		elsewhere.topic = true;
		err = read_topic(verification, audit->checkpoint_topic);
	}
	*ret_elsewhere = elsewhere;
	return err;
}

/* What the database says to be elsewhere is from before that is looked at, and what is found there is in the
 * database when that is read. */
err_t verification_read_checkpoints(struct verification *verification)
{
	char time[AUDIT_SNAPSHOT_TIME_SIZE] = "";
	struct log_rows_elsewhere elsewhere;
	err_t err = verification->store ? audit_snapshot_time(verification->store, time, verification->detail)
					: ERR_OK;
	if (!err)
		err = read_elsewhere(verification, &elsewhere);
	if (err)
		return err;
	sort_claims(verification);
	if (!verification->store)
		return ERR_OK;
	err = read_database(verification, time);
	if (err)
		return err;
	sort_claims(verification);
	for (size_t i = 0; i < verification->parts_count; i++) {
		struct verification_part *part = verification->parts[i];
		if (part->in_database)
			log_rows_judge_places(&part->claims, &elsewhere, &part->differences, &part->spare);
	}
	return ERR_OK;
}
