/*
 * Analyses of texts that come again: generators write the same query for many questions.
 *
 * An analysis follows from its request alone, so what was found once holds for every equal request: the same
 * text, byte for byte, the same dialect, the same compiled catalog (catalog_serial) and the same policy. A
 * text is kept from its second time on, whatever it was asked about before: those that come once cost a
 * hash, and push out nothing. Bounded: what
 * was not asked for the longest goes first, about (second chance). Any thread; short locks.
 */
#pragma once

#include "sql/findings/analysis.h"

struct analysis_cache;

/* A cache that holds about `limit_bytes` at most, of which a sixteenth, touched as texts come, tells which
 * were there before. 0: none, NULL. */
struct analysis_cache *analysis_cache_new(size_t limit_bytes);

/* Nobody may use it any more. NULL is fine. */
void analysis_cache_free(struct analysis_cache *cache);

/* What sql_analyse says of the request, in the same way in memory of the arena. Policies are told apart by
 * their address: while the cache lives, none may take the place of another one. NULL: no cache. */
void analysis_cache_analyse(struct analysis_cache *cache, const struct sql_request *request,
			    struct arena *arena, struct sql_analysis *ret_analysis);

struct analysis_cache_statistics {
	uint64_t hits, misses; /* texts whose analysis was there, and those that were analysed */
	size_t entries, bytes; /* kept now */
};

/* All zero of NULL. */
struct analysis_cache_statistics analysis_cache_statistics(struct analysis_cache *cache);
