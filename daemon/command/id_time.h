/* When an id was made, as some kinds of ids say. Pure. */
#pragma once

#include "common/str.h"

#include <stdint.h>

/* Milliseconds since 1970 of a UUID of version 7 (RFC 9562) or a ULID; 0: the id does not tell. */
int64_t id_time_ms(str_t id);
