/*
 * Key finder: where the newest messages with a key lie, without an index.
 *
 * Spans are looked through one after the other, each backwards from its end in parts, by several consumers at
 * a time. The first part that has the key ends the search: what lies behind it in that order is not looked
 * at. Only places are kept, so that memory is bounded by what the consumers read ahead. One search at a time;
 * the thread that asks.
 */
#pragma once

#include "command/progress.h"
#include "kafka/topic_reader.h"

struct key_finder;

/* Connects when first asked, with as many consumers as there are processors, up to four; the settings are
 * read here only. The caller owns it. */
err_t key_finder_new(const struct kafka_settings *settings, struct key_finder **ret_finder,
		     struct err_detail *detail);
void key_finder_free(struct key_finder *finder);

/* Looks for the key in the spans. `ret_found`: the part of a span from the first to the last message of the
 * key that was found, between which others may lie; its `from` is its `until` where there is none. Shows how
 * far it is. Errors as of topic_reader_read. */
err_t key_finder_run(struct key_finder *finder, str_t key, const struct topic_span *spans, size_t count,
		     struct progress *progress, struct topic_span *ret_found, struct err_detail *detail);

/* Messages that were looked at so far, in all searches. */
uint64_t key_finder_looked_at(const struct key_finder *finder);

DEFINE_CLEANUP(struct key_finder, key_finder_cleanup, key_finder_free)
