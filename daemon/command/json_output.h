/* What commands print as JSON for programs. Any thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* A text of others; bytes that are no UTF-8 are written as a terminal would show them. The caller owns it. */
json_t *json_output_text(const char *text);

/* Prints the object, a line of its own, and takes it over; on a terminal what that would obey is escaped.
 * Whether all of it arrives, output_end tells. */
void json_output_print(json_t *object, bool to_terminal);
