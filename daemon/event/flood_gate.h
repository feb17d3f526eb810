/*
 * Tames floods of advisories: at most so many a minute per kind and segment; the ones held back are counted
 * and the next one that passes says how many they were. Bounded; any thread.
 */
#pragma once

#include "common/str.h"

struct flood_gate;

/* The caller owns the gate; freeing NULL is fine. */
struct flood_gate *flood_gate_new(void);
void flood_gate_free(struct flood_gate *gate);

/* Whether an advisory of `kind` and `segment` may pass at `now_us`; `*ret_suppressed`: how many were held
 * back before. */
bool flood_gate_pass(struct flood_gate *gate, int kind, str_t segment, unsigned most_a_minute, int64_t now_us,
		     int64_t *ret_suppressed);
