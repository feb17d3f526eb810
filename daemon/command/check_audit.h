/* What `assayd check` looks at of the tamper-evident log. Main thread or one of its threads. */
#pragma once

#include "audit/note.h"
#include "command/findings.h"
#include "config/config.h"
#include "kafka/settings.h"

/* The key, the database with its logs, the file of checkpoints. Reaches the database. */
void check_audit_log(const struct config *config, struct arena *arena, struct findings *findings);

/* Of the files alone those that are asked for: the key and where checkpoints are appended. True: the key was
 * asked for and can be read, and `ret_name` is its name. */
bool check_audit_files(const struct config_audit *audit, bool key, bool file,
		       char ret_name[NOTE_NAME_MAX + 1], struct findings *findings);

/* The topic of checkpoints, where one is configured: false where it cannot be written to for want of it. */
bool check_audit_topic(const struct kafka_settings *settings, int timeout_ms, struct findings *findings);
