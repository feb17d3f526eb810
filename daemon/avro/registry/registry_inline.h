/*
 * One schema from a schema and those that it refers to: the definition of a type stands where it is first
 * used, under its full name, as in a schema that never had references. Pure.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"

/* Appends the JSON text of `texts[0]` with the definitions of the others in it. ERR_JSON_SYNTAX: one of them
 * is no JSON. ERR_SCHEMA_INCOMPATIBLE: nested too deeply, or two define the same type. */
err_t registry_inline(const str_t *texts, size_t count, struct buf *out, struct err_detail *detail);
