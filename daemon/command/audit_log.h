/*
 * What the commands of the tamper-evident log have in common: its settings, its tables, its topic. Main
 * thread.
 */
#pragma once

#include "audit/log/reading.h"
#include "audit/publish/key_file.h"
#include "config/config.h"
#include "kafka/topic_reader.h"

/* Opens the tables that the configuration names. ERR_CONFIG_MISSING: it names none. The caller frees the
 * store. */
err_t audit_log_store(const struct config *config, bool reads_only, struct audit_store **ret_store,
		      struct err_detail *detail);

/* The name of the key that signs, which is in the origins of the logs. */
err_t audit_log_name(const struct config_audit *audit, char ret_name[NOTE_NAME_MAX + 1],
		     struct err_detail *detail);

/* A reader of the scored topic, in the group of the log's keeper; the caller frees it. What it was made of is
 * in the arena. */
err_t audit_log_reader(const struct config *config, struct arena *arena, struct topic_reader **ret_reader,
		       struct err_detail *detail);

/* A number of a partition; ERR_USAGE. */
err_t audit_log_partition(const char *text, int32_t *ret_partition, struct err_detail *detail);

/* Whether the topic has that partition; ERR_USAGE: it has not. */
err_t audit_log_find_partition(struct topic_reader *reader, const char *topic, int32_t partition,
			       struct err_detail *detail);
