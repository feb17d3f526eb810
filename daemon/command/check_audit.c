#include "command/check_audit.h"

#include "command/audit_log.h"
#include "kafka/topics.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

static const char what[] = "audit log";

static bool check_key(const struct config *config, char ret_name[NOTE_NAME_MAX + 1],
		      struct findings *findings)
{
	struct err_detail detail = { "" };
	err_t err = audit_log_name(config, ret_name, &detail);
	findings_tried(findings, "audit log key", err, &detail);
	return !err;
}

/* Whether the log is of that name, and what of it stands still. */
static void check_rows(const struct audit_store_row *rows, size_t count, const char *name,
		       struct arena *arena, struct findings *findings)
{
	struct err_detail detail = { "" };
	size_t len = strlen(name);
	for (size_t i = 0; i < count; i++) {
		const struct audit_store_row *row = &rows[i];
		if (row->origin.len <= len || memcmp(row->origin.ptr, name, len) != 0 ||
		    row->origin.ptr[len] != '/') {
			err_t err = err_fail(&detail, ERR_CONFIG_RANGE,
					     "audit.key_file: the key is called \"%s\", and the log in the "
					     "database is %.*s; use a key of that name, or another database",
					     name, (int)row->origin.len, row->origin.ptr);
			findings_tried(findings, what, err, &detail);
			return;
		}
		if (str_present(row->stopped))
			findings_lines(
				findings, FINDING_WARNING, what,
				arena_printf(arena,
					     "partition %d is stopped: %.*s; correct the configuration if "
					     "it names another topic, or see \"assayd audit begin-again\"",
					     (int)row->partition, (int)row->stopped.len, row->stopped.ptr));
	}
}

static void check_database(const struct config *config, const char *name, struct arena *arena,
			   struct findings *findings)
{
	_cleanup_(audit_store_cleanup) struct audit_store *store = NULL;
	struct audit_store_row *rows;
	size_t count;
	struct err_detail detail = { "" };
	err_t err = audit_log_store(config, true, &store, &detail);
	if (!err)
		err = audit_store_rows(store, config->kafka.scored_topic, arena, &rows, &count, &detail);
	if (err == ERR_DATABASE_REFUSED && strstr(detail.message, "audit_logs") &&
	    strstr(detail.message, "does not exist")) {
		findings_lines(
			findings, FINDING_NOTE, what,
			STR("there are no tables of it in its database yet: the first start makes them"));
		return;
	}
	findings_tried(findings, what, err, &detail);
	if (!err)
		check_rows(rows, count, name, arena, findings);
}

/* Whether the system lets everybody append alone; not known counts as yes. */
static bool is_append_only(const char *path)
{
	int flags = 0;
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 || flags & FS_APPEND_FL;
}

static void check_file(const char *path, struct arena *arena, struct findings *findings)
{
	struct err_detail detail = { "" };
	bool there = access(path, F_OK) == 0;
	const char *tried = there ? path : dirname((char *)(uintptr_t)arena_strdup(arena, path));
	err_t err = ERR_OK;
	if (access(tried, there ? W_OK : W_OK | X_OK) != 0)
		err = err_fail(&detail, ERR_IO, "audit.checkpoint_file: %s: %s", tried, strerror(errno));
	findings_tried(findings, "audit log file", err, &detail);
	if (!err && there && !is_append_only(path))
		findings_lines(
			findings, FINDING_NOTE, "audit log file",
			arena_printf(arena,
				     "%s can be rewritten by the daemon: \"chattr +a\" (as root) leaves it "
				     "appending alone",
				     path));
}

void check_audit_log(const struct config *config, struct arena *arena, struct findings *findings)
{
	char name[NOTE_NAME_MAX + 1];
	if (!config->audit.log) {
		findings_none(findings, what, "none is configured");
		return;
	}
	if (check_key(config, name, findings))
		check_database(config, name, arena, findings);
	if (config->audit.checkpoint_file)
		check_file(config->audit.checkpoint_file, arena, findings);
	if (!config->audit.checkpoint_topic && !config->audit.checkpoint_file)
		findings_lines(findings, FINDING_WARNING, what,
			       STR("its checkpoints are in its database alone, which whoever writes there "
				   "can change "
				   "with them; set audit.checkpoint_topic or audit.checkpoint_file"));
}

bool check_audit_topic(const struct kafka_settings *settings, int timeout_ms, struct findings *findings)
{
	struct err_detail detail = { "" };
	bool compacted = false;
	if (!settings->audits || !settings->checkpoint_topic)
		return true;
	err_t err = topics_check_checkpoints(settings, timeout_ms, &compacted, &detail);
	findings_tried(findings, "audit log topic", err, &detail);
	if (!err && !compacted)
		findings_lines(findings, FINDING_WARNING, "audit log topic",
			       STR("audit.checkpoint_topic: it has not cleanup.policy = compact: checkpoints "
				   "of logs "
				   "that do not grow any more expire; set compact"));
	return !err;
}
