/*
 * What Apache's own library for C makes of a schema: it has to read the same tree in its text as we do. A
 * schema that two parsers understand differently would have data read as what they are not.
 *
 * The library trusts what it reads, and loses memory of what it refuses: our own parser, with its limits,
 * comes first. Some valid schemas it cannot take, and is not asked about: those of records without fields,
 * enumerations without symbols, unions without branches, and names without a namespace within one.
 *
 * Any thread; the library keeps its errors for all of them, so that one asks at a time.
 */
#pragma once

#include "avro/schema_tree.h"

/* Whether the library reads `schema` in the text, too. ERR_SCHEMA_INCOMPATIBLE, with what it says, if not. */
err_t second_opinion_ask(const struct schema *schema, str_t text, struct err_detail *detail);
