/*
 * Our structs to Avro's binary encoding, by the tables that the schemas are checked against (codec_new).
 *
 * Written here and not by the Avro library, whose generic values copy every text twice and cost five times as
 * much (tests/bench/bench_avro). Pure; safe in any thread.
 */
#pragma once

#include "avro/fields.h"
#include "avro/schema_tree.h"
#include "common/buf.h"

/* Appends the record's Avro data, without a frame. Invalid UTF-8 becomes U+FFFD. ERR_AVRO_CODEC when an
 * enumeration without a value stands where the schema wants one; what was appended is the caller's to drop.
 */
err_t encode_record(const struct record_type *type, const void *record, struct buf *out);

/* Whether that data is of the schema: the same fields in the same order, each of its own type. */
bool encode_matches(const struct schema_node *schema, const struct record_type *type);
