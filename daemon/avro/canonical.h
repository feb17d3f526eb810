/*
 * Parsing Canonical Form of a schema, and its fingerprint (CRC-64-AVRO), by which single-object messages name
 * their writer's schema. Source: Apache Avro specification 1.11, "Transforming into Parsing Canonical Form"
 * and "Schema Fingerprints". Pure.
 */
#pragma once

#include "avro/schema_tree.h"
#include "common/buf.h"

/* Appends the canonical JSON text. */
void canonical_form(const struct schema *schema, struct buf *out);

/* The same with the units of timestamps, which it leaves out: schemas of one such text are read alike. It is
 * no schema. */
void canonical_form_timed(const struct schema *schema, struct buf *out);

/* 64-bit Rabin fingerprint of any bytes. */
uint64_t canonical_rabin(const void *data, size_t len);

/* Fingerprint of the schema's canonical form. */
uint64_t canonical_fingerprint(const struct schema *schema);
