/* What recomputing found, as lines for people or JSON, one object a line. Pure but for the last one. */
#pragma once

#include "audit/recompute/stream.h"

/* Appends what differs in one record. */
void recompute_print_differences(bool json, const struct recompute_place *place,
				 const struct scored_query *scored, const struct recompute_report *report,
				 struct buf *out);

/* Appends that something is no record, and why. */
void recompute_print_fault(bool json, const struct recompute_place *place, const char *why, struct buf *out);

void recompute_print_totals(bool json, const struct recompute_totals *totals, FILE *out);
