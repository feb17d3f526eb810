#include "command/audit_verify.h"

#include "audit/publish/checkpoint_file.h"
#include "audit/verify/export_file.h"
#include "audit/verify/partition_check.h"
#include "command/audit_log.h"
#include "common/output.h"
#include "common/terminal.h"

#include <errno.h>
#include <jansson.h>

enum { PAGE = 1000, PARTITIONS_MAX = 100000 };

/* One partition: what is claimed of it, and the check that goes through its records. */
struct part {
	int32_t partition;
	struct log_claims claims;
	unsigned bad; /* notes that say that they are of its log, and are not signed or make no sense */
	char first_bad[256];
	bool has_tiles;
	struct audit_store_tiles tiles;
	uint64_t tiles_size;
	int64_t next_offset, low;
	struct growth_mark *marks;
	size_t marks_count, marks_capacity;
	str_t stopped;		       /* absent: it was not */
	struct partition_check *check; /* NULL: no record was seen yet */
	struct partition_check_result result;
};

struct verification {
	const struct audit_verify_options *options;
	struct config *config; /* or NULL */
	struct arena *arena;
	const char *topic; /* NULL: the export says it first */
	struct note_key keys[NOTE_KEYS_MAX];
	size_t keys_count;
	struct audit_store *store;   /* or NULL */
	struct topic_reader *reader; /* or NULL */
	struct part **parts;	     /* each in the arena: checks point into it */
	size_t parts_count, parts_capacity;
	unsigned others, fragments; /* notes of other logs, and what is no note */
	struct err_detail *detail;
};

static void verification_end(struct verification *verification)
{
	for (size_t i = 0; i < verification->parts_count; i++) {
		log_claims_free(&verification->parts[i]->claims);
		partition_check_free(verification->parts[i]->check);
	}
	free(verification->parts);
	topic_reader_free(verification->reader);
	audit_store_free(verification->store);
	config_unref(verification->config);
}

static struct part *part_of(struct verification *verification, int32_t partition)
{
	for (size_t i = 0; i < verification->parts_count; i++)
		if (verification->parts[i]->partition == partition)
			return verification->parts[i];
	if (verification->parts_count == PARTITIONS_MAX)
		return NULL;
	if (verification->parts_count == verification->parts_capacity) {
		verification->parts_capacity =
			verification->parts_capacity ? 2 * verification->parts_capacity : 64;
		verification->parts = reallocarray(verification->parts, verification->parts_capacity,
						   sizeof *verification->parts);
		if (!verification->parts)
			abort();
	}
	struct part *part = ARENA_NEW(verification->arena, struct part);
	verification->parts[verification->parts_count++] = part;
	*part = (struct part){ .partition = partition, .next_offset = -1 };
	return part;
}

/* ---- checkpoints ---- */

static void take_note(struct verification *verification, str_t note, enum log_claims_place place)
{
	const struct log_claims_reader reader = { verification->keys, verification->keys_count,
						  verification->topic };
	struct err_detail reason = { "" };
	struct merkle_hash root;
	int32_t partition;
	uint64_t size;
	err_t err = log_claims_read(&reader, note, &partition, &size, &root, &reason);
	struct part *part = partition < 0 ? NULL : part_of(verification, partition);
	if (!part) {
		verification->others++;
	} else if (!err) {
		log_claims_add(&part->claims, size, &root, place);
	} else if (part->bad++ == 0) {
		snprintf(part->first_bad, sizeof part->first_bad, "in the %s: %s",
			 log_claims_place_name(place), err_message(err, &reason));
	}
}

static err_t read_file(struct verification *verification, const char *path)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	err_t err = checkpoint_file_read(path, &text, verification->detail);
	str_t rest = buf_str(&text), note;
	while (!err && checkpoint_file_next(&rest, &note, &verification->fragments))
		take_note(verification, note, LOG_CLAIMS_FILE);
	return err;
}

static err_t take_checkpoint(size_t span, const rd_kafka_message_t *message, void *context,
			     struct err_detail *detail)
{
	(void)span;
	(void)detail;
	if (message->payload)
		take_note(context, (str_t){ message->payload, message->len }, LOG_CLAIMS_TOPIC);
	return ERR_OK;
}

static err_t read_topic(struct verification *verification, const char *topic)
{
	struct topic_span *spans;
	size_t count;
	err_t err = topic_reader_spans(verification->reader, topic, 0, verification->arena, &spans, &count,
				       verification->detail);
	for (size_t i = 0; !err && i < count; i++) { /* whatever its messages say of their times */
		int64_t high;
		err = topic_reader_bounds(verification->reader, topic, spans[i].partition, &spans[i].from,
					  &high, verification->detail);
	}
	return err ? err
		   : topic_reader_read(verification->reader, spans, count, take_checkpoint, verification,
				       verification->detail);
}

static err_t read_stored(struct verification *verification, const struct audit_store_log *log)
{
	uint64_t above = 0;
	for (size_t count = PAGE; count == PAGE;) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct audit_store_checkpoint *checkpoints;
		err_t err = audit_store_checkpoints(verification->store, log, above, PAGE, arena,
						    &checkpoints, &count, verification->detail);
		if (err)
			return err;
		for (size_t i = 0; i < count; i++)
			take_note(verification, checkpoints[i].note, LOG_CLAIMS_DATABASE);
		above = count ? checkpoints[count - 1].size : above;
	}
	return ERR_OK;
}

/* First the checkpoints, then what the tiles are of: these may have grown meanwhile, but not shrunk. */
static err_t read_database(struct verification *verification)
{
	struct audit_store_row *rows;
	size_t count;
	err_t err = audit_store_rows(verification->store, verification->topic, verification->arena, &rows,
				     &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++) {
		const struct audit_store_log log = { verification->topic, rows[i].partition };
		struct part *part = part_of(verification, rows[i].partition);
		err = read_stored(verification, &log);
		if (!err)
			err = audit_store_marks(verification->store, &log, verification->arena, &part->marks,
						&part->marks_count, verification->detail);
	}
	if (!err)
		err = audit_store_rows(verification->store, verification->topic, verification->arena, &rows,
				       &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++) {
		struct part *part = part_of(verification, rows[i].partition);
		part->has_tiles = true;
		part->tiles = (struct audit_store_tiles){ verification->store,
							  { verification->topic, rows[i].partition },
							  verification->detail };
		part->tiles_size = rows[i].size;
		part->next_offset = rows[i].next_offset;
		part->stopped = arena_str(verification->arena, rows[i].stopped);
	}
	return err;
}

static err_t read_checkpoints(struct verification *verification)
{
	const struct audit_verify_options *options = verification->options;
	const struct config_audit *audit = verification->config ? &verification->config->audit : NULL;
	const char *file = options->checkpoints_file;
	err_t err = ERR_OK;
	if (!file && audit && audit->checkpoint_file && access(audit->checkpoint_file, F_OK) == 0)
		file = audit->checkpoint_file;
	if (file)
		err = read_file(verification, file);
	if (!err && verification->reader && audit->checkpoint_topic)
		err = read_topic(verification, audit->checkpoint_topic);
	if (!err && verification->store)
		err = read_database(verification);
	for (size_t i = 0; i < verification->parts_count; i++)
		log_claims_sort(&verification->parts[i]->claims);
	return err;
}

/* ---- records ---- */

static void begin_check(struct part *part)
{
	const struct partition_check_options options = {
		.claims = &part->claims,
		.tiles = part->has_tiles ? audit_store_read_tile : NULL,
		.tiles_context = &part->tiles,
		.tiles_size = part->tiles_size,
		.next_offset = part->next_offset,
		.marks = part->marks,
		.marks_count = part->marks_count,
		.low = part->low,
	};
	part->check = partition_check_new(&options);
}

static err_t take_record(size_t span, const rd_kafka_message_t *message, void *context,
			 struct err_detail *detail)
{
	struct verification *verification = context;
	struct part *part = part_of(verification, message->partition);
	(void)span;
	(void)detail;
	return partition_check_add(part->check, message->offset, (str_t){ message->key, message->key_len },
				   (str_t){ message->payload, message->len });
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
			part_of(verification, spans[i].partition)->low = spans[i].from;
	}
	for (size_t i = 0; !err && i < verification->parts_count; i++)
		begin_check(verification->parts[i]);
	return err ? err
		   : topic_reader_read(verification->reader, spans, count, take_record, verification,
				       verification->detail);
}

static void add_mark(struct verification *verification, struct part *part, const struct growth_mark *mark)
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
	struct part *part = part_of(verification, line->partition);
	if (!part || (line->is_mark && part->check))
		return err_fail(verification->detail, ERR_JSON_SHAPE,
				"line %ld: a mark behind records, or too many partitions", number);
	if (line->is_mark) {
		add_mark(verification, part, &line->mark);
		return ERR_OK;
	}
	if (!part->check) { /* what is before the first one may be gone */
		part->low = part->has_tiles ? line->offset : 0;
		begin_check(part);
	}
	return partition_check_add(part->check, line->offset, line->key, line->value);
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
				      ? read_checkpoints(verification)
				      : err_fail(verification->detail, ERR_JSON_SHAPE,
						 "%s: line %ld: that is no name of a topic", path, number);
		}
		if (!err)
			err = take_line(verification, &line, number);
	}
	free(text);
	for (size_t i = 0; !err && i < verification->parts_count; i++)
		if (!verification->parts[i]->check)
			begin_check(verification->parts[i]);
	return err;
}

/* ---- what was found ---- */

static bool is_verified(const struct part *part)
{
	return part->result.differences_count == 0 && part->bad == 0 && part->result.claims_fitting > 0;
}

/* A partition without records, checkpoints and log has nothing to be verified. */
static bool is_empty(const struct part *part)
{
	return part->result.records == 0 && part->claims.count == 0 && part->bad == 0 &&
	       part->tiles_size == 0;
}

static void print_part(const struct verification *verification, const struct part *part)
{
	const struct partition_check_result *result = &part->result;
	printf("partition %d of %s: ", (int)part->partition, verification->topic);
	if (is_empty(part)) {
		puts("nothing yet");
		return;
	}
	printf("%s: %llu records", is_verified(part) ? "verified" : "NOT VERIFIED",
	       (unsigned long long)result->records);
	if (result->claims_fitting)
		printf(", %llu leaves below %llu of %llu checkpoints",
		       (unsigned long long)result->verified_size, (unsigned long long)result->claims_fitting,
		       (unsigned long long)result->claims_count);
	else
		printf(", and none of %llu checkpoints fits", (unsigned long long)result->claims_count);
	if (result->gone)
		printf("; the records of %llu leaves are not kept any more",
		       (unsigned long long)result->gone);
	puts(result->whole ? "; the tree follows from the records alone" : "");
	if (str_present(part->stopped))
		terminal_print_line(stdout, "  stopped: %.*s", (int)part->stopped.len, part->stopped.ptr);
	for (size_t i = 0; i < part->marks_count; i++)
		terminal_print_line(
			stdout, "  mark: leaf %llu: %s from offset %lld to %lld%s%s",
			(unsigned long long)part->marks[i].index,
			part->marks[i].mark.kind == LEAF_MARK_GAP ? "deleted unread" : "the log begins again",
			(long long)part->marks[i].mark.from_offset, (long long)part->marks[i].mark.to_offset,
			*part->marks[i].reason ? ": " : "", part->marks[i].reason);
	if (part->bad)
		terminal_print_line(stdout, "  checkpoint: %u are not signed by a trusted key, the first %s",
				    part->bad, part->first_bad);
	for (uint64_t i = 0; i < result->differences_count && i < PARTITION_CHECK_DIFFERENCES; i++)
		terminal_print_line(stdout, "  %s: %s",
				    partition_check_kind_name(result->differences[i].kind),
				    result->differences[i].text);
	if (result->differences_count > PARTITION_CHECK_DIFFERENCES)
		printf("  and %llu more differences\n",
		       (unsigned long long)result->differences_count - PARTITION_CHECK_DIFFERENCES);
}

static json_t *part_json(const struct part *part)
{
	const struct partition_check_result *result = &part->result;
	json_t *differences = json_array();
	for (uint64_t i = 0; i < result->differences_count && i < PARTITION_CHECK_DIFFERENCES; i++) {
		const struct partition_check_difference *found = &result->differences[i];
		json_array_append_new(differences,
				      json_pack("{s:s, s:I, s:I, s:s}", "kind",
						partition_check_kind_name(found->kind), "from_offset",
						(json_int_t)found->from_offset, "to_offset",
						(json_int_t)found->to_offset, "text", found->text));
	}
	return json_pack("{s:i, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:i, s:I, s:o}", "partition",
			 (int)part->partition, "verified", is_verified(part), "records",
			 (json_int_t)result->records, "records_compared", (json_int_t)result->compared,
			 "leaves_verified", (json_int_t)result->verified_size, "leaves_gone",
			 (json_int_t)result->gone, "checkpoints_fitting", (json_int_t)result->claims_fitting,
			 "checkpoints", (json_int_t)result->claims_count, "from_records_alone", result->whole,
			 "checkpoints_unsigned", (int)part->bad, "differences_count",
			 (json_int_t)result->differences_count, "differences", differences);
}

static void print_json(const struct verification *verification)
{
	json_t *partitions = json_array(), *all;
	for (size_t i = 0; i < verification->parts_count; i++)
		json_array_append_new(partitions, part_json(verification->parts[i]));
	all = json_pack("{s:s, s:i, s:i, s:o}", "topic", verification->topic, "checkpoints_of_others",
			(int)verification->others, "fragments", (int)verification->fragments, "partitions",
			partitions);
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	puts("");
	json_decref(all);
}

static int by_partition(const void *a, const void *b)
{
	const struct part *left = *(struct part *const *)a, *right = *(struct part *const *)b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

static err_t conclude(struct verification *verification)
{
	size_t failed = 0, verified = 0;
	for (size_t i = 0; i < verification->parts_count; i++) {
		struct part *part = verification->parts[i];
		err_t err = partition_check_finish(part->check, &part->result);
		if (err)
			return err;
		verified += is_verified(part);
		failed += !is_verified(part) && !is_empty(part);
	}
	qsort(verification->parts, verification->parts_count, sizeof *verification->parts, by_partition);
	if (verification->options->json)
		print_json(verification);
	for (size_t i = 0; !verification->options->json && i < verification->parts_count; i++)
		print_part(verification, verification->parts[i]);
	if (verification->fragments)
		fprintf(stderr,
			"assayd: %u fragments in the file are no checkpoints, as interrupted appends leave "
			"them\n",
			verification->fragments);
	if (failed || !verified)
		return err_fail(verification->detail, ERR_AUDIT_LOG_DIFFERS,
				failed ? "%zu of %zu partitions are not verified"
				       : "nothing was verified (%zu of %zu partitions have something)",
				failed, verification->parts_count);
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
		err = read_checkpoints(&verification);
	if (!err)
		err = options->export_file ? read_export(&verification, options->export_file)
					   : read_records(&verification);
	return err ? err : conclude(&verification);
}

/* ---- export ---- */

struct exporting {
	const char *topic;
	struct buf line;
};

static err_t export_record(size_t span, const rd_kafka_message_t *message, void *context,
			   struct err_detail *detail)
{
	struct exporting *exporting = context;
	(void)span;
	buf_reset(&exporting->line);
	export_file_write(exporting->topic, message->partition, message->offset,
			  (str_t){ message->key, message->key_len },
			  (str_t){ message->payload, message->len }, &exporting->line);
	if (fwrite(exporting->line.data, 1, exporting->line.len, stdout) != exporting->line.len)
		return output_end(detail);
	return ERR_OK;
}

static err_t export_marks(struct verification *verification)
{
	struct audit_store_row *rows;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	size_t count;
	err_t err = audit_store_rows(verification->store, verification->topic, verification->arena, &rows,
				     &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++) {
		const struct audit_store_log log = { verification->topic, rows[i].partition };
		struct growth_mark *marks;
		size_t marks_count = 0;
		err = audit_store_marks(verification->store, &log, verification->arena, &marks, &marks_count,
					verification->detail);
		for (size_t m = 0; !err && m < marks_count; m++)
			export_file_write_mark(verification->topic, log.partition, &marks[m], &text);
	}
	if (!err && text.len)
		fwrite(text.data, 1, text.len, stdout);
	return err;
}

static err_t export_records(struct verification *verification)
{
	struct exporting exporting = { verification->topic, BUF_INIT };
	struct topic_span *spans;
	size_t count;
	err_t err = topic_reader_spans(verification->reader, verification->topic, 0, verification->arena,
				       &spans, &count, verification->detail);
	for (size_t i = 0; !err && i < count; i++) { /* one by one, so that the file is in order */
		int64_t high;
		err = topic_reader_bounds(verification->reader, verification->topic, spans[i].partition,
					  &spans[i].from, &high, verification->detail);
		if (!err)
			err = topic_reader_read(verification->reader, &spans[i], 1, export_record, &exporting,
						verification->detail);
	}
	buf_free(&exporting.line);
	return err;
}

err_t audit_verify_export(const char *config_file, bool no_database, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct audit_verify_options options = { .config_file = config_file,
						      .no_database = no_database };
	_cleanup_(verification_end) struct verification verification = { .options = &options,
									 .arena = arena,
									 .detail = detail };
	struct config_database database;
	err_t err = config_load(config_file, &verification.config, detail);
	if (err)
		return err;
	verification.topic = verification.config->kafka.scored_topic;
	if (!no_database && config_audit_database(verification.config, &database)) {
		err = audit_log_store(verification.config, true, &verification.store, detail);
		if (!err)
			err = export_marks(&verification);
	}
	if (!err)
		err = audit_log_reader(verification.config, arena, &verification.reader, detail);
	return err ? err : export_records(&verification);
}
