/*
 * Log ends: up to where the partitions of a topic are written, be it committed or not. Who has to know all
 * that is committed reads up to there: what is committed may lie behind a transaction that is still open, and
 * ends that leave open transactions out (topic_reader.h) come before it.
 */
#pragma once

#include "kafka/client.h"

/* Asks for `count` partitions, from 0 on. Connects anew, and blocks. ERR_KAFKA_UNAVAILABLE with a sentence.
 */
err_t log_ends_ask(const struct kafka_settings *settings, const char *topic, int count, int timeout_ms,
		   int64_t *ret_ends, struct err_detail *detail);
