#include "command/check_audit.h"

#include "audit/publish/checkpoint_file.h"
#include "command/audit_log.h"
#include "kafka/topics.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static const char what[] = "audit log";

static bool check_key(const struct config_audit *audit, char ret_name[NOTE_NAME_MAX + 1], struct arena *arena,
		      struct findings *findings)
{
	struct err_detail detail = { "" };
	struct stat status;
	err_t err = audit_log_name(audit, ret_name, &detail);
	findings_tried(findings, "audit log key", err, &detail);
	if (!err && stat(audit->key_file, &status) == 0 && status.st_mode & (S_IRWXO | S_IWGRP))
		findings_lines(findings, FINDING_WARNING, "audit log key",
			       arena_printf(arena,
					    "%s is open to others (mode %03o), and whoever has it can sign "
					    "another log; chmod 600, and make another key",
					    audit->key_file, (unsigned)(status.st_mode & 0777)));
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

/* Whether both names are of one file. */
static bool is_same_file(const char *path, const char *other)
{
	struct stat one, two;
	return other && (strcmp(path, other) == 0 || (stat(path, &one) == 0 && stat(other, &two) == 0 &&
						      one.st_dev == two.st_dev && one.st_ino == two.st_ino));
}

static void check_file(const struct config_audit *audit, struct arena *arena, struct findings *findings)
{
	const char *path = audit->checkpoint_file;
	struct err_detail detail = { "" }, reason = { "" };
	bool there = false;
	err_t err = checkpoint_file_try(path, &there, &reason);
	if (err)
		err_fail(&detail, err, "audit.checkpoint_file: %s", reason.message);
	else if (is_same_file(path, audit->key_file))
		err = err_fail(&detail, ERR_CONFIG_RANGE,
			       "audit.checkpoint_file: %s is the file of the key; name one of its own", path);
	findings_tried(findings, "audit log file", err, &detail);
	if (!err && there && !is_append_only(path))
		findings_lines(
			findings, FINDING_NOTE, "audit log file",
			arena_printf(arena,
				     "%s can be rewritten by the daemon: \"chattr +a\" (as root) leaves it "
				     "appending alone",
				     path));
}

bool check_audit_files(const struct config_audit *audit, bool key, bool file,
		       char ret_name[NOTE_NAME_MAX + 1], struct findings *findings)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	bool good = key && check_key(audit, ret_name, arena, findings);
	if (file && audit->checkpoint_file)
		check_file(audit, arena, findings);
	return good;
}

void check_audit_log(const struct config *config, struct arena *arena, struct findings *findings)
{
	char name[NOTE_NAME_MAX + 1];
	if (!config->audit.log) {
		findings_none(findings, what, "none is configured");
		return;
	}
	if (check_audit_files(&config->audit, true, true, name, findings))
		check_database(config, name, arena, findings);
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
