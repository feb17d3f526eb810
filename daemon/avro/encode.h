/*
 * Our structs to Avro data, by the Avro library. Reading goes its own way (plan.h) because it deals with
 * foreign bytes; what is written here is ours, and the library keeps it to the schema. Each thread has values
 * of its own that are used again for every record. Safe in any thread.
 */
#pragma once

#include "avro/builtin.h"
#include "common/buf.h"

/* Appends the record's Avro data, without a frame. Invalid UTF-8 becomes U+FFFD. ERR_AVRO_CODEC (and nothing
 * appended) when an enumeration without a value stands where the schema wants one, or the library refuses. */
err_t encode_record(enum record_id id, const void *record, struct buf *out);
