/* The rules of a record's numbers that others need, too. Any thread. */
#pragma once

#include "common/buf.h"
#include "config/config.h"

/* Appends what overall confidence follows from by these settings (avro/overall_rules.h). */
void record_rules_of_overall(const struct config *config, struct buf *out);
