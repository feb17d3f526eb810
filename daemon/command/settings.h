/*
 * From the configuration to what each room asks for. All results live in the arena and point into the
 * configuration, which has to outlive them. Any thread.
 */
#pragma once

#include "config/config.h"
#include "judge/judge.h"
#include "kafka/client.h"
#include "target/target.h"

/* Reads the secrets that properties name: ERR_FILE_UNREADABLE says which cannot be had. Blocks. */
err_t settings_kafka(const struct config *config, struct arena *arena, struct kafka_settings *ret_settings,
		     struct err_detail *detail);

/* Of the memory for events in flight, what messages may take that are fetched before there is room for them:
 * an eighth. The rest is for the events. */
size_t settings_read_ahead_bytes(const struct config *config);

/* One target, with the policy for what its queries may call; all of them. */
void settings_target(const struct config *config, size_t index, struct arena *arena,
		     struct target_settings *ret_settings);
void settings_targets(const struct config *config, struct arena *arena, struct targets_options *ret_options);

/* As `assayd score` needs it: without a shared cache unless one is named, and without a budget file. */
void settings_judge(const struct config *config, struct judge_settings *ret_settings);

/* What is a daemon's besides: where the budget is kept, and that without a database of its own the judge's
 * cache is in the calibration's. */
void settings_judge_daemon(const struct config *config, struct arena *arena, struct judge_settings *settings);
