/* Texts of others in HTML: they stay text. Pure. */
#pragma once

#include "common/buf.h"

/* Appends the text as it may stand between tags or in a quoted attribute: what HTML reads is written as
 * character references, what is invisible or turns the direction of writing as in common/terminal.h. */
void markup_append(struct buf *out, const char *text);
