#include "command/audit_begin_again.h"

#include "audit/checkpoint.h"
#include "command/audit_log.h"
#include "common/terminal.h"

/* Only a log that was stopped: one that grows knows its topic. */
static err_t open_stopped(struct audit_store *store, const struct audit_store_log *log, const char *name,
			  struct audit_store_position *ret_position, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf origin = BUF_INIT;
	err_t err = checkpoint_origin(str_from(name), str_from(log->topic), log->partition, &origin);
	if (!err)
		err = audit_store_open(store, log, origin.data, ret_position, detail);
	if (err)
		return err;
	if (!*ret_position->stopped)
		return err_fail(detail, ERR_USAGE,
				"the audit log of partition %d of %s is not stopped: it goes on by itself",
				(int)log->partition, log->topic);
	if (!ret_position->known)
		return err_fail(
			detail, ERR_AUDIT_DAMAGED,
			"the rows of the audit log of partition %d of %s do not fit each other: restore "
			"them from a backup, or give the log another database",
			(int)log->partition, log->topic);
	return ERR_OK;
}

static err_t begin_again(struct audit_store *store, const struct audit_store_log *log,
			 const struct audit_store_position *position, int64_t low, const char *reason,
			 struct err_detail *detail)
{
	struct growth growth = GROWTH_INIT;
	const struct audit_store_step step = { *log, &growth, NULL, true };
	size_t failed;
	growth_begin(&growth, &position->growth);
	err_t err = growth_begin_again(&growth, low, str_from(reason));
	if (err)
		err = err_fail(detail, ERR_USAGE, "--reason: at most %d bytes of UTF-8", LEAF_REASON_MAX);
	else
		err = audit_store_apply(store, &step, 1, &failed, detail);
	if (!err)
		terminal_print_line(
			stdout,
			"The audit log of partition %d of %s begins again at offset %lld: leaf %llu says so. "
			"It "
			"was stopped: %s",
			(int)log->partition, log->topic, (long long)low,
			(unsigned long long)growth.from.range.size, position->stopped);
	growth_free(&growth);
	return err;
}

err_t audit_begin_again_run(const char *config_file, const char *partition, const char *reason,
			    struct err_detail *detail)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(audit_store_cleanup) struct audit_store *store = NULL;
	_cleanup_(topic_reader_cleanup) struct topic_reader *reader = NULL;
	struct audit_store_position position;
	struct audit_store_log log = { NULL, 0 };
	char name[NOTE_NAME_MAX + 1];
	int64_t low, high;
	err_t err = audit_log_partition(partition, &log.partition, detail);
	if (!err)
		err = config_load(config_file, &config, detail);
	if (!err)
		err = audit_log_name(&config->audit, name, detail);
	if (!err)
		err = audit_log_store(config, false, &store, detail);
	if (err)
		return err;
	log.topic = config->kafka.scored_topic;
	err = audit_log_reader(config, arena, &reader, detail);
	if (!err) /* first: a log is begun where it is not there */
		err = audit_log_find_partition(reader, log.topic, log.partition, detail);
	if (!err)
		err = open_stopped(store, &log, name, &position, detail);
	if (!err)
		err = topic_reader_bounds(reader, log.topic, log.partition, &low, &high, detail);
	return err ? err : begin_again(store, &log, &position, low, reason, detail);
}
