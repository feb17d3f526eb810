#include "command/audit_verify.h"

#include "audit/verify/export_file.h"
#include "command/verification.h"

#include <errno.h>

/* ---- records ---- */

static void begin_check(struct verification_part *part)
{
	const struct partition_check_options options = {
		.claims = &part->claims,
		.tiles = part->has_tiles ? audit_store_read_tile : NULL,
		.tiles_context = &part->tiles,
		.tiles_detail = &part->tiles_detail,
		.tiles_size = part->tiles_size,
		.next_offset = part->next_offset,
		.position = part->knows_position ? &part->position : NULL,
		.rows = part->rows.items,
		.rows_count = part->rows.count,
		.marks = part->marks,
		.marks_count = part->marks_count,
		.low = part->low,
		.differences = &part->differences,
	};
	part->check = partition_check_new(&options);
}

static err_t add_record(struct verification *verification, struct verification_part *part, int64_t offset,
			str_t key, str_t value)
{
	err_t err = partition_check_add(part->check, offset, key, value);
	if (err)
		*verification->detail = part->tiles_detail;
	return err;
}

static err_t take_record(size_t span, const rd_kafka_message_t *message, void *context,
			 struct err_detail *detail)
{
	struct verification *verification = context;
	struct verification_part *part = verification_part_of(verification, message->partition);
	(void)span;
	(void)detail;
	return add_record(verification, part, message->offset, (str_t){ message->key, message->key_len },
			  (str_t){ message->payload, message->len });
}

static void take_bounds(struct verification_part *part, int64_t low, int64_t high)
{
	part->low = low;
	if (part->has_tiles && part->next_offset > high)
		differences_add(
			&part->differences, DIFFERENCE_LOG, -1, -1,
			"the row of the log says that it has come to offset %lld, and the topic ends at "
			"%lld",
			(long long)part->next_offset, (long long)high);
}

static err_t read_records(struct verification *verification)
{
	struct topic_span *spans;
	size_t count;
	err_t err = topic_reader_spans(verification->reader, verification->topic, 0, verification->arena,
				       &spans, &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++) {
		int64_t high;
		err = topic_reader_bounds(verification->reader, verification->topic, spans[i].partition,
					  &spans[i].from, &high, verification->detail);
		if (!err)
			take_bounds(verification_part_of(verification, spans[i].partition), spans[i].from,
				    high);
	}
	for (size_t i = 0; !err && i < verification->parts_count; i++)
		begin_check(verification->parts[i]);
	return err ? err
		   : topic_reader_read(verification->reader, spans, count, take_record, verification,
				       verification->detail);
}

static void add_mark(struct verification *verification, struct verification_part *part,
		     const struct growth_mark *mark)
{
	if (part->has_tiles) /* the database's are there already */
		return;
	if (part->marks_count == part->marks_capacity) {
		size_t capacity = part->marks_capacity ? 2 * part->marks_capacity : 8;
		struct growth_mark *grown = ARENA_ARRAY(verification->arena, struct growth_mark, capacity);
		if (part->marks_count)
			memcpy(grown, part->marks, part->marks_count * sizeof *grown);
		part->marks = grown;
		part->marks_capacity = capacity;
	}
	struct growth_mark *kept = &part->marks[part->marks_count++];
	*kept = *mark;
	snprintf(kept->reason, sizeof kept->reason, "%.*s", (int)mark->mark.reason.len,
		 mark->mark.reason.ptr);
	kept->mark.reason = arena_str(verification->arena, mark->mark.reason);
}

static err_t take_line(struct verification *verification, const struct export_file_line *line, long number)
{
	if (!str_is(line->topic, verification->topic))
		return err_fail(verification->detail, ERR_JSON_SHAPE, "line %ld is of topic %.*s, not %s",
				number, (int)line->topic.len, line->topic.ptr, verification->topic);
	struct verification_part *part = verification_part_of(verification, line->partition);
	if (!part || (line->is_mark && part->check))
		return err_fail(verification->detail, ERR_JSON_SHAPE,
				"line %ld: a mark behind records, or too many partitions", number);
	if (line->is_mark) {
		add_mark(verification, part, &line->mark);
		return ERR_OK;
	}
	if (!part->check) { /* what is before the first one may be gone */
		part->low = part->has_tiles ? PARTITION_CHECK_LOW_UNKNOWN : 0;
		begin_check(part);
	}
	return add_record(verification, part, line->offset, line->key, line->value);
}

/* Of which Kafka makes names. */
static bool is_topic(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	return *name && !name[strspn(name, letters)];
}

DEFINE_CLEANUP(FILE, stream_cleanup, fclose)

static err_t read_export(struct verification *verification, const char *path)
{
	_cleanup_(stream_cleanup) FILE *stream = fopen(path, "re");
	char *text = NULL;
	size_t capacity = 0;
	ssize_t len;
	err_t err = ERR_OK;
	if (!stream)
		return err_fail(verification->detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	for (long number = 1; !err && (len = getline(&text, &capacity, stream)) > 0; number++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct export_file_line line;
		struct err_detail reason = { "" };
		err = export_file_parse((str_t){ text, (size_t)len }, arena, &line, &reason);
		if (err)
			err = err_fail(verification->detail, err, "%s: line %ld: %s", path, number,
				       reason.message);
		if (!err && !verification->topic) {
			verification->topic = arena_str(verification->arena, line.topic).ptr;
			err = is_topic(verification->topic)
				      ? verification_read_checkpoints(verification)
				      : err_fail(verification->detail, ERR_JSON_SHAPE,
						 "%s: line %ld: that is no name of a topic", path, number);
		}
		if (!err)
			err = take_line(verification, &line, number);
	}
	free(text);
	for (size_t i = 0; !err && i < verification->parts_count; i++) {
		struct verification_part *part = verification->parts[i];
		part->low = part->has_tiles ? PARTITION_CHECK_LOW_UNKNOWN : 0;
		if (!part->check)
			begin_check(part);
	}
	return err;
}

/* ---- what was found ---- */

static int by_partition(const void *a, const void *b)
{
	const struct verification_part *left = *(struct verification_part *const *)a,
				       *right = *(struct verification_part *const *)b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

static err_t conclude(struct verification *verification)
{
	const struct audit_verify_options *options = verification->options;
	size_t failed = 0, verified = 0, uncovered = 0, gone = 0;
	for (size_t i = 0; i < verification->parts_count; i++) {
		struct verification_part *part = verification->parts[i];
		err_t err = partition_check_finish(part->check, &part->result);
		if (err) {
			*verification->detail = part->tiles_detail;
			return err;
		}
		verified += verification_is_verified(part);
		failed += !verification_is_verified(part) && !verification_is_empty(part);
		uncovered += !verification_is_covered(part);
		gone += !verification_is_kept(part);
	}
	qsort(verification->parts, verification->parts_count, sizeof *verification->parts, by_partition);
	verification_print(verification);
	if (failed || !verified)
		return err_fail(verification->detail, ERR_AUDIT_LOG_DIFFERS,
				failed ? "%zu of %zu partitions are not verified"
				       : "nothing was verified (%zu of %zu partitions have something)",
				failed, verification->parts_count);
	if (verification->differences.count)
		return err_fail(verification->detail, ERR_AUDIT_LOG_DIFFERS,
				"partitions are verified, and checkpoints were damaged");
	if (options->all_covered && uncovered)
		return err_fail(verification->detail, ERR_AUDIT_LOG_DIFFERS,
				"%zu partitions have records that no checkpoint covers", uncovered);
	if (options->all_kept && gone)
		return err_fail(verification->detail, ERR_AUDIT_LOG_DIFFERS,
				"%zu partitions have leaves whose records are not kept", gone);
	return ERR_OK;
}

/* ---- all ---- */

static err_t read_keys(struct verification *verification)
{
	const struct audit_verify_options *options = verification->options;
	struct key_file own;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < options->keys_count; i++)
		err = key_file_trusted(options->keys[i], verification->keys, &verification->keys_count,
				       verification->detail);
	if (err || options->keys_count)
		return err;
	if (!verification->config || !verification->config->audit.key_file)
		return err_fail(verification->detail, ERR_USAGE,
				"--key is missing: which public key is to be trusted; see assayd --help");
	err = key_file_read(verification->config->audit.key_file, &own, verification->detail);
	for (size_t i = 0; !err && i < own.count; i++)
		verification->keys[verification->keys_count++] = own.signers[i].key;
	key_file_wipe(&own);
	return err;
}

static err_t prepare(struct verification *verification)
{
	const struct audit_verify_options *options = verification->options;
	struct config_database database;
	err_t err = ERR_OK;
	if (options->config_file)
		err = config_load(options->config_file, &verification->config, verification->detail);
	if (!err)
		err = read_keys(verification);
	if (err || !verification->config)
		return err;
	verification->topic = verification->config->kafka.scored_topic;
	if (!options->no_database && config_audit_database(verification->config, &database))
		err = audit_log_store(verification->config, true, &verification->store, verification->detail);
	if (!err && !options->export_file)
		err = audit_log_reader(verification->config, verification->arena, &verification->reader,
				       verification->detail);
	return err;
}

err_t audit_verify_run(const struct audit_verify_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(verification_end) struct verification verification = { .options = options,
									 .arena = arena,
									 .detail = detail };
	err_t err = prepare(&verification);
	if (!err && verification.topic)
		err = verification_read_checkpoints(&verification);
	if (!err)
		err = options->export_file ? read_export(&verification, options->export_file)
					   : read_records(&verification);
	return err ? err : conclude(&verification);
}
