/*
 * JSON documents and PostgreSQL arrays as comparable values: members in the order of their names, the last of
 * two members of one name counts, strings decoded, numbers taken out. Nesting is limited. Pure; any thread.
 */
#pragma once

#include "compare/reading.h"

/* Append a document to the reading; false (and nothing appended): the text is none. */
bool compare_read_json(struct compare_reading *reading, str_t text);
bool compare_read_array(struct compare_reading *reading, str_t text);

/* An array whose elements are texts even where they look like numbers. */
bool compare_read_text_array(struct compare_reading *reading, str_t text);
