#include "command/audit_prove.h"

#include "audit/leaf.h"
#include "audit/proof.h"
#include "command/audit_log.h"
#include "common/hash.h"

#include <errno.h>
#include <fcntl.h>

/* Records of one event_id that are looked at. */
enum { FOUND_MAX = 1000 };

struct found {
	int32_t partition;
	int64_t offset;
	struct buf leaf; /* its data */
};

struct proving {
	const struct audit_prove_options *options;
	struct config *config;
	struct arena *arena;
	struct topic_reader *reader;
	struct audit_store *store;
	const char *topic;
	char name[NOTE_NAME_MAX + 1];
	struct note_key keys[NOTE_KEYS_MAX];
	size_t keys_count;
	struct found found[FOUND_MAX];
	size_t found_count;
	struct err_detail *detail;
};

static void proving_free(struct proving **proving)
{
	for (size_t i = 0; i < (*proving)->found_count; i++)
		buf_free(&(*proving)->found[i].leaf);
	topic_reader_free((*proving)->reader);
	audit_store_free((*proving)->store);
	config_unref((*proving)->config);
	free(*proving);
}

/* ---- the records ---- */

static err_t take_record(size_t span, const rd_kafka_message_t *message, void *context,
			 struct err_detail *detail)
{
	struct proving *proving = context;
	(void)span;
	if (!message->key || !str_is((str_t){ message->key, message->key_len }, proving->options->event_id))
		return ERR_OK;
	if (proving->found_count == FOUND_MAX)
		return err_fail(detail, ERR_AUDIT_RANGE, "more than %d records have that event_id",
				FOUND_MAX);
	struct found *found = &proving->found[proving->found_count++];
	found->partition = message->partition;
	found->offset = message->offset;
	leaf_encode(message->offset, (str_t){ message->key, message->key_len },
		    (str_t){ message->payload, message->len }, &found->leaf);
	return ERR_OK;
}

/* Reads one partition, or all but one (negative: all). */
static err_t read_partitions(struct proving *proving, const struct topic_span *all, size_t count,
			     int32_t only, int32_t without)
{
	struct topic_span *spans = ARENA_ARRAY(proving->arena, struct topic_span, count);
	size_t chosen = 0;
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < count; i++) {
		int64_t high;
		if ((only >= 0 && all[i].partition != only) || all[i].partition == without)
			continue;
		spans[chosen] = all[i];
		err = topic_reader_bounds(proving->reader, proving->topic, all[i].partition,
					  &spans[chosen++].from, &high, proving->detail);
	}
	return err ? err
		   : topic_reader_read(proving->reader, spans, chosen, take_record, proving, proving->detail);
}

/* Where the producer puts a key, unless kafka.properties say otherwise: CRC-32 modulo the partitions. */
static int32_t expected_partition(const struct proving *proving, size_t partitions)
{
	const char *id = proving->options->event_id;
	return (int32_t)(hash_crc32(id, strlen(id)) % (uint32_t)partitions);
}

static err_t find_records(struct proving *proving)
{
	struct topic_span *spans;
	size_t count;
	int32_t partition = -1;
	err_t err = topic_reader_spans(proving->reader, proving->topic, 0, proving->arena, &spans, &count,
				       proving->detail);
	if (!err && proving->options->partition)
		err = audit_log_partition(proving->options->partition, &partition, proving->detail);
	if (!err && partition >= 0)
		err = audit_log_find_partition(proving->reader, proving->topic, partition, proving->detail);
	if (err)
		return err;
	int32_t expected = partition >= 0 ? partition : expected_partition(proving, count);
	err = read_partitions(proving, spans, count, expected, -1);
	if (!err && proving->found_count == 0 && partition < 0) /* there were fewer partitions then, say */
		err = read_partitions(proving, spans, count, -1, expected);
	if (!err && proving->found_count == 0)
		err = err_fail(proving->detail, ERR_AUDIT_LOG_DIFFERS,
			       "%s has no record with the key \"%.100s\" any more", proving->topic,
			       proving->options->event_id);
	return err;
}

/* ---- the proofs ---- */

/* The newest checkpoint of the log that is signed by a trusted key. */
static err_t newest_checkpoint(struct proving *proving, const struct audit_store_log *log,
			       struct checkpoint *ret_checkpoint, str_t *ret_note)
{
	_cleanup_(buf_free) struct buf origin = BUF_INIT;
	struct audit_store_checkpoint *found;
	size_t count;
	err_t err = checkpoint_origin(str_from(proving->name), str_from(log->topic), log->partition, &origin);
	if (!err)
		err = audit_store_newest(proving->store, log, proving->arena, &found, &count,
					 proving->detail);
	if (!err && count == 0)
		err = err_fail(proving->detail, ERR_AUDIT_UNSIGNED,
			       "the log of partition %d of %s has no checkpoint yet", (int)log->partition,
			       log->topic);
	if (err)
		return err;
	*ret_note = found->note;
	return checkpoint_open(found->note, arena_str(proving->arena, buf_str(&origin)), proving->keys,
			       proving->keys_count, ret_checkpoint, NULL, proving->detail);
}

static err_t make_proof(struct proving *proving, const struct found *found, struct buf *out,
			uint64_t *ret_index, uint64_t *ret_size)
{
	const struct audit_store_log log = { proving->topic, found->partition };
	struct audit_store_tiles context = { proving->store, log, proving->detail };
	struct merkle_hash leaf;
	struct checkpoint checkpoint;
	struct proof proof = { .kind = PROOF_INCLUSION };
	bool there = false;
	merkle_hash_leaf(found->leaf.data, found->leaf.len, &leaf);
	err_t err = newest_checkpoint(proving, &log, &checkpoint, &proof.checkpoint);
	if (!err)
		err = audit_store_find_leaf(proving->store, &log, &leaf, &there, &proof.position,
					    proving->detail);
	if (err)
		return err;
	if (!there)
		return err_fail(
			proving->detail, ERR_AUDIT_LOG_DIFFERS,
			"partition %d, offset %lld: this record is not in the log: it was not logged yet, "
			"or is not the one that was",
			(int)found->partition, (long long)found->offset);
	if (proof.position >= checkpoint.size)
		return err_fail(
			proving->detail, ERR_AUDIT_UNSIGNED,
			"partition %d, offset %lld: logged, and below no checkpoint yet; one is made every "
			"%lld s",
			(int)found->partition, (long long)found->offset,
			(long long)proving->config->audit.checkpoint_interval_s);
	struct tile_source tiles = { .read = audit_store_read_tile,
				     .context = &context,
				     .size = checkpoint.size };
	const struct merkle_source source = { tile_source_node, &tiles };
	err = merkle_prove_inclusion(&source, proof.position, checkpoint.size, &proof.path);
	if (!err && !proof_holds(&proof, &leaf, &checkpoint))
		err = err_fail(
			proving->detail, ERR_AUDIT_DAMAGED,
			"partition %d of %s: the tiles of the database do not lead to the signed root; "
			"\"assayd audit verify\" says what differs",
			(int)log.partition, log.topic);
	if (err)
		return err;
	proof.extra_bytes =
		(size_t)snprintf((char *)proof.extra, sizeof proof.extra, "partition %d offset %lld",
				 (int)found->partition, (long long)found->offset);
	proof_write(&proof, out);
	*ret_index = proof.position;
	*ret_size = checkpoint.size;
	return ERR_OK;
}

static err_t write_file(const char *path, const struct buf *content, struct err_detail *detail)
{
	_cleanup_(cleanup_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0 || write(fd, content->data, content->len) != (ssize_t)content->len)
		return err_fail(detail, ERR_IO, "%s: %s", path, strerror(errno));
	return ERR_OK;
}

static err_t prove(struct proving *proving, const struct found *found)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	const char *folder = proving->options->folder ? proving->options->folder : ".";
	uint64_t index, size;
	const char *path = arena_printf(proving->arena, "%s/%s-%d-%lld", folder, proving->topic,
					(int)found->partition, (long long)found->offset)
				   .ptr;
	err_t err = make_proof(proving, found, &text, &index, &size);
	if (!err)
		err = write_file(arena_printf(proving->arena, "%s.tlog-proof", path).ptr, &text,
				 proving->detail);
	if (!err)
		err = write_file(arena_printf(proving->arena, "%s.leaf", path).ptr, &found->leaf,
				 proving->detail);
	if (!err)
		printf("%s.tlog-proof: leaf %llu of %llu of %s/%s/%d; its data are in %s.leaf\n", path,
		       (unsigned long long)index, (unsigned long long)size, proving->name, proving->topic,
		       (int)found->partition, path);
	return err;
}

/* ---- all ---- */

static err_t read_keys(struct proving *proving)
{
	struct key_file own;
	err_t err = audit_log_name(&proving->config->audit, proving->name, proving->detail);
	for (size_t i = 0; !err && i < proving->options->keys_count; i++)
		err = key_file_trusted(proving->options->keys[i], proving->keys, &proving->keys_count,
				       proving->detail);
	if (err || proving->options->keys_count)
		return err;
	err = key_file_read(proving->config->audit.key_file, &own, proving->detail);
	for (size_t i = 0; !err && i < own.count; i++)
		proving->keys[proving->keys_count++] = own.signers[i].key;
	key_file_wipe(&own);
	return err;
}

err_t audit_prove_run(const struct audit_prove_options *options, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(proving_free) struct proving *proving = calloc(1, sizeof *proving);
	if (!proving)
		abort();
	proving->options = options;
	proving->arena = arena;
	proving->detail = detail;
	err_t err = config_load(options->config_file, &proving->config, detail);
	if (!err)
		err = read_keys(proving);
	if (err)
		return err;
	proving->topic = proving->config->kafka.scored_topic;
	err = audit_log_store(proving->config, true, &proving->store, detail);
	if (!err)
		err = audit_log_reader(proving->config, arena, &proving->reader, detail);
	if (!err)
		err = find_records(proving);
	for (size_t i = 0; !err && i < proving->found_count; i++)
		err = prove(proving, &proving->found[i]);
	return err;
}
