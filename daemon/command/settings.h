/*
 * From the configuration to what each room asks for. All results live in the arena and point into the
 * configuration, which has to outlive them. Any thread.
 */
#pragma once

#include "avro/registry/registry_subjects.h"
#include "config/config.h"
#include "judge/judge.h"
#include "kafka/client.h"
#include "target/target.h"

/* Reads the secrets that properties name: ERR_FILE_UNREADABLE says which cannot be had. Blocks. */
err_t settings_kafka(const struct config *config, struct arena *arena, struct kafka_settings *ret_settings,
		     struct err_detail *detail);

/* NULL: no registry is configured. The state directory is the daemon's. */
const struct registry_settings *settings_registry(const struct config *config, struct arena *arena);

/* The subject of records of that kind in their topic, in the arena. */
const char *settings_subject(const struct config *config, enum record_id record, struct arena *arena);

/* How outputs are framed. */
enum wire_format settings_output(const struct config *config);

/* Tells the codec the ids that scored records and advisories are written with (registry_written_id), and
 * keeps them in the state directory: for the daemon. Blocks. */
err_t settings_written_ids(const struct config *config, struct codec *codec, struct err_detail *detail);

/* A codec for a command, which looks for the schemas that messages name, where a registry is configured,
 * among those that the daemon on this host has kept, and asks the registry for others; with
 * kafka.wire_format, if `writes`, for events. Writes nothing to the disk. The configuration outlives it. As
 * codec_new, and as registry_written_id. Blocks. */
err_t settings_codec(const struct config *config, size_t max_message_bytes, bool writes,
		     struct codec **ret_codec, struct err_detail *detail);

/* Of the memory for events in flight, what messages may take that are fetched before there is room for them:
 * an eighth. The rest is for the events. */
size_t settings_read_ahead_bytes(const struct config *config);

/* One target, with the policy for what its queries may call; all of them. */
void settings_target(const struct config *config, size_t index, struct arena *arena,
		     struct target_settings *ret_settings);
void settings_targets(const struct config *config, struct arena *arena, struct targets_options *ret_options);

/* Of all judges, as `assayd score` needs them: without a shared cache unless one is named, and without budget
 * files. Returns how many there are. */
size_t settings_judges(const struct config *config, struct arena *arena,
		       struct judge_settings **ret_settings);

/* What a judge is called in what is told of the configuration: `judge`, `judge "NAME"`. */
const char *settings_judge_title(const struct judge_settings *settings, struct arena *arena);

/* What is a daemon's besides: where the budgets are kept, and that without a database of its own the judges'
 * cache is in the calibration's. */
void settings_judges_daemon(const struct config *config, struct arena *arena, struct judge_settings *settings,
			    size_t count);
